/** CSR: creation, checks, conversion from COO, selection and permutation of rows. */
#ifndef SP_CSR_H
#define SP_CSR_H

#include "formats/coo.h"

/** Allocates the row starts (zeroed), and the columns and values (not set) for the given sizes. Local.
 *  \param [out] a  the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_USAGE (a negative size), SPMM_ERR_LIMIT (2^31 columns), SPMM_ERR_MEMORY */
spmm_status sp_csr_create(int64_t rows, int64_t cols, int64_t nnz, spmm_precision precision, spmm_csr *a);

/** Converts COO to CSR by a parallel counting sort without critical sections or atomics: rows are sorted by column,
 *  duplicates are summed in increasing order of value, implied entries are stored. The result is the same for any
 *  number of threads.
 *
 *  Local. coo is CONSUMED: each of its arrays is freed as soon as it is not needed any more, so that the peak is
 *  I + J + val + as, i.e. 2.0 times the CSR (12 bytes per entry in f64). On return, also on failure, *coo is
 *  destroyed.
 *
 *  \param [in]  threads     OpenMP threads, >= 1
 *  \param [out] a           the caller destroys it; zeroed on failure
 *  \param [out] duplicates  entries that were added to another one (may be NULL)
 *  \return SPMM_OK, SPMM_ERR_USAGE (threads < 1), SPMM_ERR_MEMORY */
spmm_status sp_csr_from_coo(sp_coo *coo, int threads, spmm_csr *a, int64_t *duplicates);

/** Returns 1 when the n column indices of a row increase strictly and lie in [0, cols), else 0. */
static inline int sp_columns_sound(const int32_t *ja, int64_t n, int64_t cols)
{
    int bad = 0;
    for (int64_t e = 1; e < n; e++) bad |= ja[e] <= ja[e - 1];
    return n == 0 || (!bad && ja[0] >= 0 && ja[n - 1] < cols);
}

/** Checks sizes, precision, arrays and row starts (irp[0] = 0, none decreases, irp[rows] = nnz), so that it is safe
 *  to read the rows afterwards. Arrays without elements may be NULL. Local.
 *  \param [in] threads  OpenMP threads
 *  \return SPMM_OK, SPMM_ERR_USAGE (the message says what is wrong, and where) */
spmm_status sp_csr_check_starts(const spmm_csr *a, int threads);

/** Checks the same, and the columns: in range, and strictly increasing within each row. Uses all OpenMP threads.
 *  Local.
 *  \return as sp_csr_check_starts() */
spmm_status sp_csr_check(const spmm_csr *a);

/** Returns the bytes of the three arrays. Local. */
int64_t sp_csr_bytes(const spmm_csr *a);

/** Returns the bytes that the arrays of a matrix of these sizes would take; a double, because the sizes that a file
 *  claims may give more than 64 bits hold. Local. */
double sp_csr_bytes_of(const sp_sizes *sizes, spmm_precision precision);

/** Copies rows [begin, end). Local.
 *  \param [out] rows  the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_USAGE (no such rows), SPMM_ERR_MEMORY */
spmm_status sp_csr_rows(const spmm_csr *a, int64_t begin, int64_t end, spmm_csr *rows);

/** Copies the listed rows, in the order of the list; a row may be listed more than once. Local.
 *  \param [in]  row_index  [count]
 *  \param [out] rows       the caller destroys it; zeroed on failure
 *  \return as sp_csr_rows() */
spmm_status sp_csr_pick(const spmm_csr *a, const int64_t *row_index, int64_t count, spmm_csr *rows);

/** Renumbers rows and columns of a square matrix alike, b = P A P^T: row i of a becomes row perm[i] of b, with its
 *  columns sorted again. Local.
 *
 *  \param [in]  perm     a permutation of 0 .. rows-1, [rows]; perm[i] is the new number of old row i
 *  \param [in]  threads  OpenMP threads, >= 1; the result is the same for any number
 *  \param [out] b        the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_USAGE (a is not square, perm is no permutation), SPMM_ERR_MEMORY */
spmm_status sp_csr_permute(const spmm_csr *a, const int64_t *perm, int threads, spmm_csr *b);

#endif
