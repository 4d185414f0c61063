/** A rank's block of a distributed matrix with its ghost rows: the entries that the rank multiplies, and the
 *  rows that the ranks of its process column send each other for a product. Created once per block; nothing
 *  here depends on K. */
#ifndef SP_GHOSTED_BLOCK_H
#define SP_GHOSTED_BLOCK_H

#include "halo/joint.h"
#include "halo/local_block.h"
#include "halo/moves.h"

/** A block with its ghost rows. Members are read-only except for the creator. */
typedef struct sp_ghosted_block {
    const sp_grid *grid;
    const spmm_block *block; /**< the block; it has all columns of its process column */
    spmm_exchange kind;      /**< SPMM_EXCHANGE_HALO, _BCAST or _JOINT, never _AUTO */
    sp_moves moves;          /**< the rows of X that are exchanged */
    int64_t all_bcast;       /**< number of rows of X that all ranks would receive in a broadcast */
    sp_local_block local;    /**< its columns are the rows of X in the numbering of `moves` */
    const spmm_csr *on_gpu;  /**< the block's matrix in GPU memory, which kernels read there; NULL: none */
    int64_t longest;         /**< number of entries of the longest row; only set with on_gpu */
    sp_joint *joint; /**< data of the joint exchange: the rest of the block, which `local` contains, and the
                          partial rows that ranks compute for each other. NULL unless `kind` is
                          SPMM_EXCHANGE_JOINT and the process column has several ranks */
} sp_ghosted_block;

/** Determines which rows of X this rank receives from each owner and which rows it sends to each rank, and
 *  renumbers the columns of the block accordingly. Checks the blocks first (sp_block_check(),
 *  sp_blocks_fit(), and the column indices).
 *
 *  Collective over grid->comm.
 *  \param [in]  grid, block  must outlive the result
 *  \param [in]  kind     SPMM_EXCHANGE_AUTO: a halo exchange if it moves clearly fewer rows of X than a
 *                        broadcast, summed over all ranks; otherwise a broadcast; never the joint exchange
 *  \param [in]  threads  OpenMP threads of this rank
 *  \param [out] ghosted  the caller destroys it; zeroed on failure
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (a block is invalid, or the blocks do not
 *          fit together), _MEMORY, _MPI */
spmm_status sp_ghosted_block_create(const sp_grid *grid, const spmm_block *block, spmm_exchange kind,
                                    int threads, sp_ghosted_block *ghosted);

/** Creates the block of a rank that has the whole matrix, in GPU memory: one rank has all rows of X, and so
 *  needs no column indices. The arrays of block->csr and of ghosted->local.csr may be NULL until something
 *  reads them. Collective over grid->comm, of one rank.
 *  \param [in]  grid, block, on_gpu  must outlive the result
 *  \param [in]  longest  number of entries of the longest row
 *  \param [out] ghosted  the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_USAGE, _MEMORY, _MPI */
spmm_status sp_ghosted_block_create_whole(const sp_grid *grid, const spmm_block *block,
                                          const spmm_csr *on_gpu, int64_t longest, sp_ghosted_block *ghosted);

/** Returns the number of rows that all ranks receive in an exchange: rows of X and partial rows of Y.
 *  Local. */
int64_t sp_ghosted_block_moved(const sp_ghosted_block *ghosted);

/** Frees the members of *ghosted, also its joint exchange, and zeroes *ghosted; accepts zeroed objects.
 *  Local. */
void sp_ghosted_block_destroy(sp_ghosted_block *ghosted);

#endif
