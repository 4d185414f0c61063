/** CSR matrices: creation, checks, conversion from COO, selection and permutation of rows, transposition. */
#ifndef SP_CSR_H
#define SP_CSR_H

#include "formats/coo.h"

/** Creates a CSR matrix of the given sizes. Row starts are zeroed; column indices and values are allocated
 *  but not set. Local.
 *  \param [out] a  the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_USAGE (a negative size), SPMM_ERR_LIMIT (2^31 or more columns),
 *          SPMM_ERR_MEMORY */
spmm_status sp_csr_create(int64_t rows, int64_t cols, int64_t nnz, spmm_precision precision, spmm_csr *a);

/** Converts COO to CSR by a parallel counting sort without critical sections or atomics. Rows are sorted by
 *  column, duplicates are summed in increasing order of value, and entries that symmetry implies are stored.
 *  The result is the same for any number of threads.
 *
 *  Local. coo is CONSUMED: each of its arrays is freed after its last use, and on return, also on failure,
 *  *coo is destroyed. The memory peak is 2.0 times the size of the CSR matrix (12 bytes per entry in f64): it
 *  is reached while I, J and val of coo exist together with the values of *a.
 *
 *  \param [in]  threads     OpenMP threads, >= 1
 *  \param [out] a           the caller destroys it; zeroed on failure
 *  \param [out] duplicates  number of entries that were added to another entry (may be NULL)
 *  \return SPMM_OK, SPMM_ERR_USAGE (threads < 1), SPMM_ERR_MEMORY */
spmm_status sp_csr_from_coo(sp_coo *coo, int threads, spmm_csr *a, int64_t *duplicates);

/** Returns 1 if the n column indices ja[0 .. n - 1] of a row increase strictly and lie in [0, cols), else
 *  0. */
static inline int sp_columns_sound(const int32_t *ja, int64_t n, int64_t cols)
{
    int bad = 0;
    for (int64_t e = 1; e < n; e++) bad |= ja[e] <= ja[e - 1];
    return n == 0 || (!bad && ja[0] >= 0 && ja[n - 1] < cols);
}

/** Returns 1 if sp_columns_sound() returns 1 for each of the rows begin .. end - 1. The row starts must be
 *  sound. Local. */
int sp_csr_rows_sound(const spmm_csr *a, int64_t begin, int64_t end);

/** Checks the sizes and precision of `a`, and that it has arrays. Local.
 *  \return SPMM_OK, SPMM_ERR_USAGE (the message says what is wrong) */
spmm_status sp_csr_check_sizes(const spmm_csr *a);

/** Checks the sizes, precision, arrays and row starts of `a`: irp[0] is 0, the row starts do not decrease,
 *  and irp[rows] is nnz. If the check succeeds, the rows can be read safely. Empty arrays may be NULL. Local.
 *  \param [in] threads  OpenMP threads
 *  \return SPMM_OK, SPMM_ERR_USAGE (the message says what is wrong, and where) */
spmm_status sp_csr_check_starts(const spmm_csr *a, int threads);

/** Checks all that sp_csr_check_starts() checks, and the column indices: each is in range, and they increase
 *  strictly within each row. Local.
 *  \param [in] threads  OpenMP threads
 *  \return SPMM_OK, SPMM_ERR_USAGE (the message says what is wrong, and where) */
spmm_status sp_csr_check(const spmm_csr *a, int threads);

/** Determines whether the arrays of `a` are in GPU memory. Empty arrays are ignored. Reads no array. Local.
 *  \param [out] on_gpu  1: all are; 0: none is, or no GPU is open
 *  \return SPMM_OK, SPMM_ERR_USAGE (only some are) */
spmm_status sp_csr_on_gpu(const spmm_csr *a, int *on_gpu);

/** Copies a matrix from GPU memory to host memory, in SP_STREAM_MAIN. Local.
 *  \param [out] b  the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_USAGE (a negative size), SPMM_ERR_LIMIT, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_csr_download(const spmm_csr *a, spmm_csr *b);

/** Returns the total size in bytes of the three arrays of `a`. Local. */
int64_t sp_csr_bytes(const spmm_csr *a);

/** Returns the total size in bytes that the arrays of a CSR matrix with the given `sizes` would have. The
 *  result is a double, because sizes stated in a file may lead to a result beyond the range of 64-bit
 *  integers. Local. */
double sp_csr_bytes_of(const sp_sizes *sizes, spmm_precision precision);

/** Copies rows [begin, end) of `a` into a new matrix. Local.
 *  \param [out] rows  the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_USAGE (`a` has no such rows), SPMM_ERR_MEMORY */
spmm_status sp_csr_rows(const spmm_csr *a, int64_t begin, int64_t end, spmm_csr *rows);

/** Copies the listed rows of `a` into a new matrix, in the order of the list; a row may be listed more than
 *  once. Local.
 *  \param [in]  row_index  the list of rows, [count]
 *  \param [out] rows       the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_USAGE (`a` has no such rows), SPMM_ERR_MEMORY */
spmm_status sp_csr_pick(const spmm_csr *a, const int64_t *row_index, int64_t count, spmm_csr *rows);

/** Renumbers the rows and columns of a square matrix by the same permutation, b = P A P^T: row i of `a`
 *  becomes row perm[i] of b, and its entries are sorted by their new columns. Local.
 *
 *  \param [in]  perm     a permutation of 0 .. rows-1, [rows]; perm[i] is the new number of old row i
 *  \param [in]  threads  OpenMP threads, >= 1; the result is the same for any number of threads
 *  \param [out] b        the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_USAGE (`a` is not square, or perm is not a permutation), SPMM_ERR_MEMORY */
spmm_status sp_csr_permute(const spmm_csr *a, const int64_t *perm, int threads, spmm_csr *b);

/** As sp_csr_permute(), but the entries of a row keep their order, so that a product adds them in the order
 *  of `a`. The columns of a row of b thus need not increase. Local. */
spmm_status sp_csr_permute_in_order(const spmm_csr *a, const int64_t *perm, int threads, spmm_csr *b);

/** Adds images of a matrix and of its transpose: a = own(B) + mirrored(B^T), where entries on the diagonal
 *  of B are stored only once, as they are, if `own` is not SP_IMAGE_NONE. Duplicates are kept. In each row
 *  of a, entries of B keep their order, and entries of B^T are sorted by column. The entries of B come
 *  first, or last if B has entries above its diagonal. So rows of a are sorted if there is no image `own`,
 *  or if B is a triangle whose rows are sorted. Local.
 *
 *  In addition to a, the threads' offsets need at most 4 bytes per entry and 4 bytes per column of B.
 *  \param [in]  b         b->as may be NULL: all values are 1
 *  \param [in]  own       unless SP_IMAGE_NONE, B must be square
 *  \param [in]  mirrored  not SP_IMAGE_NONE
 *  \param [in]  threads   OpenMP threads, >= 1; the result is the same for any number of threads
 *  \param [out] a         the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_LIMIT (a row of 2^32 entries or more, duplicates counted) */
spmm_status sp_csr_add_transpose(const spmm_csr *b, sp_image own, sp_image mirrored, int threads,
                                 spmm_csr *a);

/** The source of an array element: the index of the value to copy. */
typedef uint32_t sp_value_place;

#define SP_NOWHERE UINT32_MAX /**< the sp_value_place of padding, to which no value is copied */

/** Sets to[i] = from[place[i]], by `threads` threads; `to` and `from` are arrays of values of precision p in
 *  host memory that do not overlap. Local.
 *  \param [in] place  [count] */
void sp_values_gather(spmm_precision p, const void *from, const sp_value_place *place, int64_t count,
                      int threads, void *to);

#endif
