/** Work lists of a CSR block: its short rows, and the sections of its long rows (summation.h). They are used
 *  by sliced ELLPACK and by the CUDA kernels. */
#ifndef SP_SELL_H
#define SP_SELL_H

#include "formats/matrix.h"
#include "formats/summation.h"

/** A row that is summed as a whole. */
typedef struct sp_short_row {
    int64_t begin;  /**< index of the first entry in the arrays of the matrix */
    int32_t length; /**< number of entries, at most SP_CHAIN */
    int32_t row;    /**< row of Y */
} sp_short_row;

/** Maximum number of entries of a matrix whose long rows are staged in shared memory in products with two
 *  16-byte vectors per row of X. All blocks of a launch get the shared memory of the staging blocks, which
 *  reduces the L1 cache; in larger matrices this costs more than staging gains (measured on an H200). With
 *  one vector per row, which needs half the memory, long rows are always staged. */
enum { SP_STAGED_ENTRIES = 1 << 20 };

/** Returns the maximum number of entries of a row that is listed as short: SP_CHAIN in general. With few
 *  columns of X, one lane sums a short row, and waits for each of its loads of X. In this case the limit is
 *  SP_LEAF, so that rows of more than SP_LEAF entries become sections: all threads of a thread block load the
 *  rows of X for a section. This takes more instructions, but no additional time if there are few sections.
 *  The limit therefore stays SP_CHAIN if many entries are in rows of SP_LEAF + 1 to SP_CHAIN entries.
 *  Local. */
int64_t sp_short_row_limit(const spmm_csr *a, int64_t k);

/** Like sp_short_row_limit(), for a matrix of `entries` entries, of which `medium` are in rows of more than
 *  SP_LEAF and up to SP_CHAIN entries. */
int64_t sp_short_row_limit_for(int64_t medium, int64_t entries, int64_t k, spmm_precision precision);

/** Order of short rows. SP_ORDER_ROWS: as in the matrix. SP_ORDER_LENGTHS: longest first. SP_ORDER_CLASSES:
 *  longest first, where lengths between the same powers of two count as equal. Rows of equal length stay in
 *  the matrix's order. */
typedef enum sp_order { SP_ORDER_ROWS, SP_ORDER_CLASSES, SP_ORDER_LENGTHS } sp_order;

/** Windows of sp_cuda_row_lists(), as logarithms to base 2 of numbers of rows: SP_WINDOW_ALL puts all rows in
 *  one window; SP_WINDOW is for about the number of rows that a multiprocessor processes at a time. */
enum { SP_WINDOW_ALL = 31, SP_WINDOW = 10 };

/** Returns the order of the rows of sliced ELLPACK: SP_ORDER_ROWS if the slices have little padding in this
 *  order, else SP_ORDER_LENGTHS. Local.
 *  \param [in] padded   number of entries of the slices in the matrix's order, padding included
 *  \param [in] entries  number of entries of these rows */
sp_order sp_slice_order(int64_t padded, int64_t entries);

/** Lists the rows of up to `limit` entries, also the empty ones. Local.
 *
 *  \param [in]  a      in host memory
 *  \param [in]  limit  at most SP_CHAIN
 *  \param [out] list   [*count] in host memory; the caller frees it with sp_free(); NULL on failure
 *  \param [out] count  number of rows listed
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_short_rows_create(const spmm_csr *a, int64_t limit, sp_order order, sp_short_row **list,
                                 int64_t *count);

/** The sections, in packs, of the rows of a matrix that are not listed as short. The arrays are in host
 *  memory if sp_sections_create() created them. */
typedef struct sp_sections {
    int64_t count;
    int64_t partials;    /**< number of sections of rows that have several sections; these sections come first
                              in the list */
    int64_t entries;     /**< number of entries in all sections */
    sp_section *section; /**< [count] first those that `partials` counts, then the others by decreasing number
                              of segments */
    int64_t packs;
    int32_t *pack;       /**< [packs + 1] pack p contains the sections [pack[p], pack[p + 1]) */
    sp_segment *segment; /**< [packs * SP_SEGMENTS] segments of each pack */
} sp_sections;

/** Lists the sections of the rows of more than `limit` entries. Local.
 *
 *  \param [in]  a      in host memory
 *  \param [in]  limit  at most SP_CHAIN; a row of up to SP_CHAIN entries is one section
 *  \param [in]  start  index of the first entry of each row in the arrays to which sp_segment.begin refers;
 *                      NULL: i*width for row i, as in padded ELLPACK
 *  \param [out] p      the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_LIMIT (2^31 or more sections) */
spmm_status sp_sections_create(const spmm_csr *a, int64_t limit, const int64_t *start, int64_t width,
                               sp_sections *p);

/** Frees the list and zeroes *p; accepts NULL and zeroed objects. Local. */
void sp_sections_destroy(sp_sections *p);

/** Copies the entries of the rows of more than `limit` entries, row by row.
 *  \param [out] start  [a->rows]: index in col and val of the first entry of each such row; NULL: not needed
 *  \param [out] col    [entries of these rows]; NULL: only `start` is set
 *  \param [out] val    [entries of these rows] in the precision of a */
void sp_copy_long_rows(const spmm_csr *a, int64_t limit, int64_t *start, int32_t *col, void *val);

/** Returns 1 if some row has more than SP_CHAIN entries. Local; uses `threads` OpenMP threads. */
int sp_has_long_rows(const spmm_csr *a, int threads);

/* ---- the same lists and arrays, bit for bit, created on the GPU from a CSR matrix in GPU memory ---- */

/** Lists the short rows and the sections of a CSR matrix. If `given` is NULL and `window` is SP_WINDOW_ALL,
 *  sp_short_rows_create() and sp_sections_create() make the same lists. Local; complete on return.
 *
 *  \param [in]  a      SPMM_CSR in GPU memory
 *  \param [in]  k      number of columns of X in later products, for sp_short_row_limit()
 *  \param [in]  given  [a->rows] in GPU memory: a permutation of the rows; NULL: the matrix's order
 *  \param [in]  window  short rows are sorted within windows of 1 << window rows of that order, by `order`
 *  \param [out] row    [*rows] in GPU memory; the caller frees it with sp_device_free(); NULL on failure
 *  \param [out] rows   number of short rows
 *  \param [out] p      its arrays are in GPU memory; the caller frees them with sp_cuda_sections_destroy();
 *                      zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_LIMIT (2^31 or more sections), SPMM_ERR_NO_DEVICE,
 *          SPMM_ERR_DEVICE */
spmm_status sp_cuda_row_lists(const sp_matrix *a, int64_t k, const int32_t *given, int window, sp_order order,
                              sp_short_row **row, int64_t *rows, sp_sections *p);

/** Frees the arrays in GPU memory, and zeroes *p. Local. */
void sp_cuda_sections_destroy(sp_sections *p);

/** Lists the sections of the rows of more than SP_CHAIN entries; rows of several sections come first. The
 *  list is equal to that of sp_sections_create(). Local; complete on return.
 *  \param [in]  a  SPMM_CSR in GPU memory
 *  \param [out] p  as in sp_cuda_row_lists()
 *  \return as sp_cuda_row_lists() */
spmm_status sp_cuda_long_rows(const sp_matrix *a, sp_sections *p);

/** Converts a CSR matrix to SPMM_SELL. Local; complete on return.
 *  \param [in]  a  SPMM_CSR in GPU memory; the caller keeps it
 *  \param [in]  k  number of columns of X in later products
 *  \param [out] m  in GPU memory; the caller destroys it; zeroed on failure
 *  \return as sp_cuda_row_lists() */
spmm_status sp_cuda_sell(const sp_matrix *a, int64_t k, sp_matrix *m);

#endif
