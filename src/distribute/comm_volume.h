/** What a distribution over P x Q processes moves and computes: counted from the pattern of the whole
 *  matrix, on one process, before anything is sent. Pure. */
#ifndef SP_COMM_VOLUME_H
#define SP_COMM_VOLUME_H

#include "base/status.h"

/** Of one rank; "rows" of X are rows of the multivector: K values each. */
typedef struct sp_rank_count {
    int64_t rows;          /**< of its block of A, the process row's */
    int64_t nnz;           /**< entries of its block */
    int64_t x_rows;        /**< rows of X that it owns */
    int64_t halo_rows;     /**< rows of X that it receives: distinct columns of its block that others own */
    int64_t sent_rows;     /**< rows of X that it sends, once for each rank that needs them */
    int64_t partial_rows;  /**< rows of Y that are summed over its process row: `rows`, 0 when Q == 1 */
    int64_t boundary_rows; /**< rows of its block with an entry in a halo column: they wait for the halo */
    int receives_from;     /**< ranks that its halo comes from */
    int sends_to;          /**< ranks that need rows of X which it owns */
} sp_rank_count;

/** Counts for every rank. Rank r = p*Q + q holds the entries of rows [row_begin[p], row_begin[p+1]) and
 *  columns [col_begin[q], col_begin[q+1]); the rows of X of column block q belong to the P ranks of
 *  process column q, in order: those from x_begin[q*(P+1) + p] to x_begin[q*(P+1) + p+1] to rank (p, q).
 *  Whoever exchanges what is therefore settled within each process column.
 *
 *  Memory: 4 bytes a column and 12 bytes a rank for each thread that has a process row to count.
 *  \param [in]  a          the whole matrix; its values are not looked at
 *  \param [in]  row_begin  [P + 1], from 0 to a->rows
 *  \param [in]  col_begin  [Q + 1], from 0 to a->cols
 *  \param [in]  x_begin    [Q * (P + 1)], global rows of X; column block q's go from col_begin[q] to
 *                          col_begin[q+1] (sp_x_ranges() makes them)
 *  \param [in]  threads    OpenMP threads, >= 1; they share the process rows, the counts stay the same
 *  \param [out] counts     [P * Q]
 *  \return SPMM_OK, SPMM_ERR_USAGE (boundaries that do not cover the matrix in order), _LIMIT, _MEMORY */
spmm_status sp_comm_volume(const spmm_csr *a, int P, int Q, const int64_t *row_begin,
                           const int64_t *col_begin, const int64_t *x_begin, int threads,
                           sp_rank_count *counts);

#endif
