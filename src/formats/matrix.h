/** A block of A in the storage format that a kernel needs, in host or GPU memory. */
#ifndef SP_MATRIX_H
#define SP_MATRIX_H

#include "formats/csr.h"
#include "spmm_types.h"

enum {
    SP_FIRST_FORMAT = SPMM_FORMAT_AUTO +
                      1, /**< a matrix has a format from SP_FIRST_FORMAT to SP_FORMATS - 1 */
    SP_FORMATS = SPMM_FORMAT_COUNT,
    SP_SLICE = 32,       /**< rows per slice of SPMM_SELL: as many as a warp has lanes */
    SP_PANEL = 8,        /**< rows per panel of SPMM_PANEL: the rows of an FP64 tensor-core operand */
    SP_TILE_COLUMNS = 4, /**< columns per tile of SPMM_PANEL: the columns of an FP64 tensor-core operand */
    SP_LEAF_PACK = 8,    /**< sections per pack of long rows of SPMM_PANEL */
    SP_PANEL_PADDING = 4 /**< number of elements of val after the last value of SPMM_PANEL: at least 16 bytes,
                              because a GPU copies values to shared memory in units of 16 bytes */
};

/** A section of a long row (summation.h), the unit of work with which the CUDA kernels sum long rows.
 *  Sections are packed: a pack has up to SP_SEGMENTS segments, of one section or of several short ones. An
 *  sp_section has 16 bytes, which a GPU loads in one access. */
typedef struct sp_section {
    int32_t row;    /**< row of Y */
    int32_t index;  /**< the section is number `index` of its row's sections, which are listed in order */
    int32_t count;  /**< number of sections of the row */
    int16_t length; /**< number of entries, at most SP_SECTION */
    uint8_t slot;   /**< number of segments before the section in its pack */
    uint8_t chain;  /**< 1: the entries are one chain, because the row has at most SP_CHAIN entries; 0: they
                         are divided into leaves */
} sp_section;

/** A segment of a pack. */
typedef struct sp_segment {
    int64_t begin;  /**< index of its first entry in the arrays of the matrix */
    int32_t length; /**< number of entries, at most SP_SEGMENT; 0: the pack has no such segment */
    int32_t chain;  /**< the `chain` of its section */
} sp_segment;

/** A long row of panels (summation.h), whose leaves are rows of panels. */
typedef struct sp_leaves {
    int32_t row;     /**< row of Y */
    int32_t leaf;    /**< index of its first leaf among all leaves */
    int32_t section; /**< index of its first section among all sections */
} sp_leaves;

enum { SP_BORROWED = 1, SP_BORROWED_VALUES = 2 }; /**< values of sp_matrix.borrowed other than 0 */

/** The arrays that a format may have; sp_matrix contains a pointer to each array, and the array's size. */
typedef enum sp_array {
    SP_ROW_START,
    SP_NZ_PER_ROW,
    SP_COL,
    SP_VAL,
    SP_TARGET,
    SP_LONG_ROWS,
    SP_PACK,
    SP_PACKED,
    SP_TILE_START,
    SP_MASK,
    SP_UNIT_START,
    SP_LEAF_LIST,
    SP_ARRAYS
} sp_array;

/** A block of A in one storage format, with its arrays in the memory of the device `space`.
 *
 *  SPMM_CSR        row_start [rows+1], col [nnz], val [nnz].
 *  SPMM_ELL        padded ELLPACK, row-major: entry j of row i is at i*width + j. Rows shorter than width are
 *                  padded with col = -1, val = 0. A kernel stops at the first -1, so that a non-finite X is
 *                  never multiplied by a padding zero. The baseline kernels use the same layout for their
 *                  arrays values and col_indices.
 *  SPMM_ELL_NOPAD  rows without padding: row i has nz_per_row[i] entries, starting at row_start[i];
 *                  row_start, nz_per_row [rows].
 *  SPMM_SELL       sliced ELLPACK (Kreutzer et al.: SIAM J. Sci. Comput. 36(5), 2014) of the short rows
 *                  (sp_short_row_limit()). A slice consists of SP_SLICE rows, stored by columns: entry j of
 *                  row r of slice s is at row_start[s] + j*SP_SLICE + r. Rows are padded with col = -1 to the
 *                  length of the longest row of the slice; row_start [groups+1]. target [groups*SP_SLICE] is
 *                  the row of Y for each of these rows, or INT32_MIN for an empty row that fills up the last
 *                  slice. The entries of the longer rows follow, starting at row_start[groups], row by row;
 *                  section [sections], pack [packs+1], segment [packs*SP_SEGMENTS].
 *  SPMM_PANEL      a panel consists of SP_PANEL rows that share one list of their distinct columns (after
 *                  Wang et al.: TC-GNN, USENIX ATC 2023). The rows are consecutive; if target is not NULL,
 *                  they are the rows target[SP_PANEL*p .. SP_PANEL*p + SP_PANEL-1] for panel p. The list has
 *                  the order in which the columns occur in every row; if rows contradict each other, some
 *                  columns are listed several times. The list is cut into tiles of SP_TILE_COLUMNS columns.
 *                  Panel p has the tiles [tile_start[p], tile_start[p+1]). The columns of tile t are
 *                  col[4t .. 4t+3] (the last tile of a panel repeats its last column). Bit 4*row + column of
 *                  mask[t] is set if the tile has that entry. The values of panel p are stored tile by tile,
 *                  within a tile in the order of the bits, beginning at val[row_start[p]]; row_start,
 *                  tile_start [groups+1]. Rows of more than SP_CHAIN entries are cut into leaves, which are
 *                  rows of panels: their target is the number of rows of Y plus the number of the leaf. leaf
 *                  lists the long rows; one more element has the numbers of all leaves and sections. Pack p
 *                  contains the long rows [pack[p], pack[p+1]), whose first sections are [SP_LEAF_PACK*p,
 *                  SP_LEAF_PACK*(p+1)); pack [packs+1].
 *  SPMM_STAGED     as SPMM_PANEL, with rows in an order in which consecutive rows need the same rows of X,
 *                  for a kernel that keeps rows of X in shared memory. If the order is that of a grid, the
 *                  matrix has units: one thread block processes the panels [unit_start[u], unit_start[u+1])
 *                  of unit u, and blocks that run at the same time process consecutive units; unit_start
 *                  [units+1]. */
typedef struct sp_matrix {
    spmm_format format;
    spmm_precision precision;
    spmm_device space;
    int borrowed; /**< SP_BORROWED: another object owns the arrays; they are not freed. SP_BORROWED_VALUES:
                       another object owns val */
    int64_t rows, cols, nnz;
    int64_t width;       /**< SPMM_ELL: number of entries of the longest row; other formats: 0 */
    int64_t groups;      /**< SPMM_SELL: number of slices; SPMM_PANEL, _STAGED: number of panels; others: 0 */
    int64_t sections;    /**< SPMM_SELL, _PANEL, _STAGED: number of sections of long rows */
    int64_t partials;    /**< SPMM_SELL: number of sections of rows that have several sections */
    int64_t packs;       /**< number of packs: SPMM_SELL: of sections; SPMM_PANEL, _STAGED: of long rows */
    int64_t leaves;      /**< SPMM_PANEL, _STAGED: number of leaves of long rows */
    int64_t units;       /**< SPMM_STAGED: number of units; 0: a block may process any consecutive panels */
    int64_t unit_groups; /**< SPMM_STAGED: number of panels of the largest unit */
    int64_t *row_start;  /**< index in val of the start of each row, slice or panel; SPMM_ELL: NULL */
    int32_t *nz_per_row; /**< SPMM_ELL_NOPAD: number of entries per row */
    int32_t *col;    /**< column indices, in the order of summation of a row: increasing, except in matrices
                              that sp_csr_permute_in_order() made */
    void *val;       /**< values, in `precision` */
    int32_t *target; /**< SPMM_SELL: the row of Y for each row of a slice; SPMM_PANEL, _STAGED: for each row
                              of a panel, INT32_MIN after the last row; NULL: rows are in the order of Y */
    /* The next three arrays are NULL in a matrix without sections. */
    sp_section *section; /**< SPMM_SELL: the sections of long rows; rows of several sections come first */
    int32_t *pack;       /**< SPMM_SELL: [packs+1] the first section of each pack; SPMM_PANEL, _STAGED: the
                              first long row of each pack */
    sp_segment *segment; /**< SPMM_SELL: [packs*SP_SEGMENTS] the segments of each pack */
    int64_t *tile_start; /**< SPMM_PANEL, _STAGED: first tile of each panel */
    uint32_t *mask;      /**< SPMM_PANEL, _STAGED: bit set of the stored entries of each tile */
    int32_t *unit_start; /**< SPMM_STAGED: first panel of each unit; NULL without units */
    sp_leaves *leaf;     /**< SPMM_PANEL, _STAGED: the leaves of each long row; NULL without long rows */
    int64_t bytes[SP_ARRAYS]; /**< sizes of the arrays, padding included; 0 for arrays that the format does
                                   not have */
} sp_matrix;

/** Converts a CSR block to a storage format, with the result in the memory of the device `space`.
 *
 *  Local.
 *  \param [in]  block      in host memory; the caller keeps it. For CSR on the CPU, *m shares the arrays of
 *                          block, so block must outlive *m
 *  \param [in]  format     SPMM_FORMAT_AUTO means SPMM_CSR here
 *  \param [in]  ell_limit  padded ELLPACK fails if it takes more than ell_limit times the memory of the CSR
 *                          block; <= 0: 3.0 times
 *  \param [in]  k          number of columns of X in later products, on which the layout of SPMM_SELL depends
 *  \param [in]  threads    OpenMP threads of the conversion
 *  \param [out] m          the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT (the block would be too large in this format), _NO_DEVICE,
 *          _DEVICE */
spmm_status sp_matrix_create(const spmm_csr *block, spmm_format format, spmm_device space, double ell_limit,
                             int64_t k, int threads, sp_matrix *m);

/** Checks whether padded ELLPACK would take more than ell_limit times the memory of the CSR. Local.
 *  \param [in] width      number of entries of the longest row
 *  \param [in] ell_limit  <= 0: 3.0
 *  \return SPMM_OK; SPMM_ERR_LIMIT with a message that contains both sizes and a remedy */
spmm_status sp_ell_check(const sp_sizes *sizes, spmm_precision precision, int64_t width, double ell_limit);

/** Writes entries [from, from + n) of `a` as a row of padded ELLPACK, in host memory. Local.
 *  \param [in]  first_column  column of `a` that is column 0 of the ELLPACK
 *  \param [in]  width         number of entries of the row with its padding; if at most n, nothing is padded
 *  \param [out] col, val      elements `to` to `to` + max(n, width) - 1 are set */
void sp_ell_put_row(const spmm_csr *a, int64_t from, int64_t n, int64_t first_column, int64_t width,
                    int64_t to, int32_t *col, void *val);

/** Converts padded ELLPACK to CSR, both in host memory. Local.
 *  \param [in]     m  SPMM_ELL
 *  \param [in,out] a  from sp_csr_create() with the sizes and the precision of m */
void sp_ell_to_csr(const sp_matrix *m, int threads, spmm_csr *a);

/** Makes padded ELLPACK from consecutive rows of a slice, with renumbered columns. Each row has the width of
 *  the slice. Local.
 *  \param [in]  slice  SPMM_ELL, in host memory, with the old columns
 *  \param [in]  first  first of the rows, as a row of the slice
 *  \param [in]  a      the rows [first, first + a->rows) of the slice as CSR, in host memory, with the new
 *                      columns; each row has as many entries as in the slice. Its values are not read
 *  \param [out] m      in the memory `space`; in host memory it shares the values of the slice, which must
 *                      outlive it. The caller destroys it, also on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT, _NO_DEVICE, _DEVICE */
spmm_status sp_ell_of_slice(const sp_matrix *slice, int64_t first, const spmm_csr *a, spmm_device space,
                            int threads, sp_matrix *m);

/** Makes *m a view of a CSR matrix in host memory: *m shares the arrays of `a` and must not outlive `a`.
 *  Local. */
void sp_matrix_view_csr(const spmm_csr *a, sp_matrix *m);

/** Converts a CSR matrix in GPU memory there. For CSR, *m is a view of it. Local.
 *  \param [out] m  the caller destroys it; zeroed on failure
 *  \return as sp_matrix_create(). SPMM_ERR_MEMORY also if only the host can convert to the format */
spmm_status sp_matrix_create_there(const spmm_csr *on_gpu, spmm_format format, int64_t k, sp_matrix *m);

/** Allocates an array of a matrix in host memory for a conversion, and records the array's size. The contents
 *  are undefined. Local.
 *  \param [in,out] m      owns the array; sp_matrix_destroy() frees it
 *  \param [in]     count  number of elements
 *  \param [in]     what   what the memory is for, in the error message
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_LIMIT */
spmm_status sp_matrix_alloc(sp_matrix *m, sp_array array, int64_t count, const char *what);

/** Copies a matrix from host memory to the open GPU; the copy is complete on return. Local.
 *  \param [in]  host    the matrix in host memory; the caller keeps it
 *  \param [out] device  the copy; the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_LIMIT, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_matrix_upload(const sp_matrix *host, sp_matrix *device);

/** Frees the arrays of m, in host or GPU memory, unless they are borrowed, and zeroes *m; accepts NULL and
 *  zeroed objects. Local. */
void sp_matrix_destroy(sp_matrix *m);

#endif
