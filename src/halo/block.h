/** Checks that a rank's block is valid in itself and that the blocks of all ranks make up the matrix. A
 *  program that uses the library may fill in a block itself, so errors must be reported here: later stages do
 *  not check blocks again. */
#ifndef SP_BLOCK_H
#define SP_BLOCK_H

#include "comm/grid.h"

/** Checks this rank's block on its own except its matrix: its grid, sizes and ranges. Local.
 *  \return SPMM_OK, SPMM_ERR_USAGE (the message says what was expected) */
spmm_status sp_block_check_ranges(const sp_grid *grid, const spmm_block *block);

/** Checks this rank's block on its own: its grid, sizes, ranges within the whole matrix, precision, arrays
 *  and row starts. Column indices are checked by sp_ghosted_block_create(), which reads them. Local.
 *  \param [in] threads  OpenMP threads
 *  \return SPMM_OK, SPMM_ERR_USAGE (the message says what was expected) */
spmm_status sp_block_check(const sp_grid *grid, const spmm_block *block, int threads);

/** Checks that the blocks of all ranks fit together; each block must have passed sp_block_check(). All blocks
 *  must be parts of the same matrix, in the same precision. The blocks of a process row must have the same
 *  rows, and the blocks of a process column the same columns. The following ranges must be consecutive,
 *  without gap or overlap: the row ranges of the process rows, the column ranges of the process columns and,
 *  within each process column, the ranges of owned rows of X.
 *
 *  Collective over grid->comm.
 *  \param [out] first  [P + 1]; first[p] is the first row of X that rank p of the process column owns,
 *                      relative to the first column of the block; first[P] is the number of columns of the
 *                      block
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (the message names the ranks that
 *          disagree), _MEMORY, _MPI */
spmm_status sp_blocks_fit(const sp_grid *grid, const spmm_block *block, int64_t *first);

#endif
