/** Collects distributed data on rank 0: the rows of Y, and the blocks of a matrix. */
#ifndef SP_GATHER_H
#define SP_GATHER_H

#include "comm/grid.h"

/** Collects the row blocks of Y on rank 0.
 *
 *  Collective over grid->comm.
 *  \param [in]  block  this rank's rows (possibly none), in host memory, with the leading dimension that
 *                      spmm_multivector_create() gives for its k
 *  \param [in]  rows   rows of all blocks together: those of Y, or fewer if only a selection of rows is gathered
 *  \param [out] y      on rank 0: [rows x k], host memory, the blocks in rank order; the caller
 *                      destroys it. Elsewhere zeroed.
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _MPI */
spmm_status sp_gather(const sp_grid *grid, const spmm_multivector *block, int64_t rows, spmm_multivector *y);

/** Assembles a matrix on rank 0 from blocks of rows: each process row contributes some rows, and all of its ranks
 *  contribute the same ones.
 *
 *  Collective over grid->comm.
 *  \param [in]  piece      this rank's rows, column indices relative to col_begin[q]
 *  \param [in]  col_begin  [Q + 1], global first columns of the column blocks
 *  \param [out] a          on rank 0: the rows in the order of the process rows, with global column indices; the
 *                          caller destroys it. Elsewhere zeroed
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _MPI */
spmm_status sp_gather_csr(const sp_grid *grid, const spmm_csr *piece, const int64_t *col_begin, spmm_csr *a);

#endif
