/** CSR: create, check, destroy, convert from COO. */
#ifndef SP_CSR_H
#define SP_CSR_H

#include "formats/coo.h"

/** Allocates irp (zeroed), ja and as for the given sizes. */
spmm_status sp_csr_create(int64_t rows, int64_t cols, int64_t nnz, spmm_precision precision, spmm_csr *a);

/** COO to CSR by a parallel counting sort: no critical section, no atomics; rows sorted by column,
 *  duplicates summed in increasing order of value, symmetric parts expanded. The result is the same for any
 *  number of threads.
 *
 *  Memory: coo is CONSUMED: each of its arrays is freed as soon as it is not needed, so that the
 *  peak is I + J + val + as, i.e. 2.0 times the CSR (12 bytes an entry in f64); on return, also on
 *  failure, *coo is destroyed.
 *
 *  \param [in]  threads     OpenMP threads, >= 1
 *  \param [out] a           the caller destroys it
 *  \param [out] duplicates  entries that were added onto another one (may be NULL)
 */
spmm_status sp_csr_from_coo(sp_coo *coo, int threads, spmm_csr *a, int64_t *duplicates);

/** 1 where a row's columns increase strictly and lie in [0, cols). */
static inline int sp_columns_sound(const int32_t *ja, int64_t n, int64_t cols)
{
    int bad = 0;
    for (int64_t e = 1; e < n; e++) bad |= ja[e] <= ja[e - 1];
    return n == 0 || (!bad && ja[0] >= 0 && ja[n - 1] < cols);
}

/** Sizes, precision, arrays and row starts: irp[0] = 0, none decreases, irp[rows] = nnz. After that, rows may be
 *  read. Arrays without elements may be NULL.
 *  \return SPMM_OK, SPMM_ERR_USAGE (says what is wrong where) */
spmm_status sp_csr_check_starts(const spmm_csr *a, int threads);

/** The same, and the columns: in range and strictly increasing within each row. By all OpenMP threads. */
spmm_status sp_csr_check(const spmm_csr *a);

/** Bytes of the three arrays. */
int64_t sp_csr_bytes(const spmm_csr *a);

/** The same of a matrix that is not there yet; a double, since sizes that are claimed may not fit 64 bits. */
double sp_csr_bytes_of(const sp_sizes *sizes, spmm_precision precision);

/** A copy of rows [begin, end); the caller destroys it. */
spmm_status sp_csr_rows(const spmm_csr *a, int64_t begin, int64_t end, spmm_csr *rows);

/** A copy of the listed rows, in that order. */
spmm_status sp_csr_pick(const spmm_csr *a, const int64_t *row_index, int64_t count, spmm_csr *rows);

/** b = P A P^T: rows and columns of a square matrix renumbered alike; row i of a is row perm[i] of b, its
 *  columns increase again.
 *
 *  \param [in]  perm     a permutation of 0 .. rows-1, [rows]; perm[i] is the new number of old row i
 *  \param [in]  threads  OpenMP threads, >= 1; the result is the same for any number
 *  \param [out] b        the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_USAGE (not square, no permutation), SPMM_ERR_MEMORY */
spmm_status sp_csr_permute(const spmm_csr *a, const int64_t *perm, int threads, spmm_csr *b);

#endif
