/** Collects distributed data on rank 0: the rows of Y, and the blocks of a matrix. */
#ifndef SP_GATHER_H
#define SP_GATHER_H

#include "comm/grid.h"

/** Collects the row blocks of Y on rank 0.
 *
 *  Collective over grid->comm.
 *  \param [in]  block  this rank's rows (possibly none), in host memory, with the leading dimension that
 *                      spmm_multivector_create() chooses for block->k
 *  \param [in]  rows   total number of rows of all blocks: the rows of Y, or fewer if only selected rows are
 *                      gathered
 *  \param [out] y      on rank 0: the blocks in rank order, [rows x k], in host memory; the caller destroys
 *                      it. On other ranks zeroed
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _MPI */
spmm_status sp_gather(const sp_grid *grid, const spmm_multivector *block, int64_t rows, spmm_multivector *y);

/** Assembles a matrix on rank 0 from the blocks of all ranks. The ranks of a process row contribute the same
 *  rows, each rank with the columns of its column block.
 *
 *  Collective over grid->comm.
 *  \param [in]  piece      the block of this rank (p, q), with column indices relative to col_begin[q]
 *  \param [in]  col_begin  [Q + 1], global first columns of the column blocks
 *  \param [out] a          on rank 0: the rows in the order of the process rows, with global column indices;
 *                          the caller destroys it. On other ranks zeroed
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _MPI */
spmm_status sp_gather_csr(const sp_grid *grid, const spmm_csr *piece, const int64_t *col_begin, spmm_csr *a);

#endif
