/** Is a rank's block sound in itself, and do all ranks' blocks make up the matrix? What a program filled in wrongly
 *  must end in a message here: later stages take all of this for granted. */
#ifndef SP_BLOCK_H
#define SP_BLOCK_H

#include "comm/grid.h"

/** This rank's block by itself: grid, sizes, places within the whole, precision, arrays and row starts. Not the columns of
 *  the entries: sp_halo_create() looks at them while it reads them. Local.
 *  \return SPMM_OK, SPMM_ERR_USAGE (says what was expected) */
spmm_status sp_block_check(const sp_grid *grid, const spmm_block *block, int threads);

/** Do the blocks, each of them sound, fit together: parts of the same matrix in the same precision, rows and columns
 *  alike along the process rows and columns and without gap or overlap across them, and the rows of X likewise?
 *
 *  Collective over grid->comm.
 *  \param [out] first  [P + 1] first rows of X of the ranks of the process column, relative to the block's columns
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (names the ranks that disagree), _MEMORY, _MPI */
spmm_status sp_blocks_fit(const sp_grid *grid, const spmm_block *block, int64_t *first);

#endif
