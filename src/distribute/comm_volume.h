/** Counts the communication and work of a distribution over P x Q processes, from the sparsity pattern of
 *  the whole matrix on one process before anything is sent. Pure functions. */
#ifndef SP_COMM_VOLUME_H
#define SP_COMM_VOLUME_H

#include "base/status.h"

/** Work and communication of one rank. A row of X or Y is a row of the multivector: K values. */
typedef struct sp_rank_count {
    int64_t rows;          /**< rows of the rank's block of A; the same in the whole process row */
    int64_t nnz;           /**< entries of the rank's block of A */
    int64_t x_rows;        /**< rows of X that the rank owns */
    int64_t halo_rows;     /**< rows of X that the rank receives: its block needs them, others own them */
    int64_t sent_rows;     /**< rows of X that the rank sends, counted once per receiving rank */
    int64_t partial_rows;  /**< rows of Y summed over the process row: equal to `rows`, or 0 if Q == 1 */
    int64_t boundary_rows; /**< rows of the block that need a row of X from another rank */
    int receives_from;     /**< number of ranks that send rows of X to this rank */
    int sends_to;          /**< number of ranks that receive rows of X from this rank */
} sp_rank_count;

/** Counts for every rank what the rank computes and communicates.
 *
 *  Rank r = p*Q + q holds the entries of rows [row_begin[p], row_begin[p+1]) and columns [col_begin[q],
 *  col_begin[q+1]); rank (p, q) owns rows [x_begin[q*(P+1) + p], x_begin[q*(P+1) + p+1]) of X. The rows of X
 *  of column block q thus belong to the P ranks of process column q, and the halo exchange takes place within
 *  each process column.
 *
 *  Local. Memory: per thread that has a process row to count, 4 bytes per column and 12 bytes per rank.
 *  \param [in]  a          the whole matrix; its values are not read
 *  \param [in]  row_begin  [P + 1], from 0 to a->rows
 *  \param [in]  col_begin  [Q + 1], from 0 to a->cols
 *  \param [in]  x_begin    [Q * (P + 1)], global rows of X as sp_x_ranges() computes them: the ranges of
 *                          column block q go from col_begin[q] to col_begin[q+1]
 *  \param [in]  threads    OpenMP threads, >= 1, among which the process rows are divided; the counts do not
 *                          depend on the number of threads
 *  \param [out] counts     [P * Q]
 *  \return SPMM_OK, SPMM_ERR_USAGE (boundaries that do not cover the matrix in order), _LIMIT, _MEMORY */
spmm_status sp_comm_volume(const spmm_csr *a, int P, int Q, const int64_t *row_begin,
                           const int64_t *col_begin, const int64_t *x_begin, int threads,
                           sp_rank_count *counts);

#endif
