/** Owners -> root: blocks of rows of Y. */
#ifndef SP_GATHER_H
#define SP_GATHER_H

#include "comm/grid.h"

/** Collects the row blocks of Y on rank 0.
 *
 *  Collective over grid->comm.
 *  \param [in]  block  this rank's rows, host memory
 *  \param [in]  rows   rows of the whole Y (may be of a selection: the blocks' rows in rank order)
 *  \param [out] y      on rank 0: [rows x k], host memory, the blocks in rank order; the caller
 *                      destroys it. Elsewhere zeroed.
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_gather(const sp_grid *grid, const spmm_multivector *block, int64_t rows, spmm_multivector *y);

/** Puts blocks of a matrix together on rank 0: of each process row some rows, the same on all of its ranks.
 *
 *  Collective over grid->comm.
 *  \param [in]  piece      this rank's rows, columns relative to col_begin[q]
 *  \param [in]  col_begin  [Q + 1]
 *  \param [out] a          on rank 0: the rows in the order of p, columns global; the caller destroys it. Elsewhere
 *                          zeroed
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_gather_csr(const sp_grid *grid, const spmm_csr *piece, const int64_t *col_begin, spmm_csr *a);

#endif
