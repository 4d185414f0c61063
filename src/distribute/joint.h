/** The joint exchange of a block: of the entries whose columns other ranks own, some are multiplied here with rows of X
 *  that travel, others by the owner of the rows of X, whose partial sums of rows of Y travel. */
#ifndef SP_JOINT_H
#define SP_JOINT_H

#include "distribute/halo.h"

/** What the joint exchange adds to a halo. A partial row is a row of A restricted to entries of one rank's columns, times X.
 *  The partial rows of a rank form a multivector S, numbered like X in sp_halo: `moves.ghost_low` rows that come from
 *  lower ranks, `moves.own` rows that this rank computes for others, in the order of the ranks they are for, and
 *  `moves.ghost_high` rows that come from higher ranks. */
struct sp_joint {
    spmm_csr rest; /**< the block without the entries that other ranks multiply, in arrays of its own */
    /** How partial rows travel, as if they were rows of X. moves.local is the matrix of the rows that this rank
     *  computes, [moves.own] x this rank's owned rows of X. */
    sp_halo moves;
    int64_t sums;       /**< number of rows of Y to which partial rows of other ranks are added */
    int32_t *sum_row;   /**< [sums] these rows of the block, increasing */
    int64_t *sum_start; /**< [sums + 1] the first member of `addend` of each */
    int32_t *addend;    /**< the rows of S that are added, in the order of the ranks they come from */
};

/** Splits a block, whose column indices have been checked, by sp_joint_cover_create(), and sends the entries that other ranks
 *  are to multiply to them. Afterwards the fewest rows travel that serve all entries: moves.all_moved of Y, and
 *  those of X that joint->rest needs.
 *
 *  Collective over grid->comm.
 *  \param [in]  first    [P + 1] owners of the block's columns, from sp_blocks_fit()
 *  \param [in]  threads  OpenMP threads of this rank
 *  \param [out] joint    the caller destroys it; NULL on failure
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _LIMIT (2^31 partial rows on a rank or more), _MPI */
spmm_status sp_joint_create(const sp_grid *grid, const spmm_block *block, const int64_t *first, int threads,
                            sp_joint **joint);

/** Lists to which rows the partial rows that this rank receives are added, in the order of the ranks they come from: sets
 *  joint->sums and its arrays. Local.
 *  \param [in,out] joint  its `moves` are set; the caller destroys it, also on failure
 *  \param [in]     row    [moves.ghost_low + moves.ghost_high] the row that each is added to, in the order of S
 *  \param [in]     rows   number of rows that there are
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_joint_list_sums(sp_joint *joint, const int32_t *row, int64_t rows);

/** Takes over the values that the block has now, on the same pattern, and sends those that other ranks multiply to
 *  them.
 *
 *  Collective over grid->comm.
 *  \param [in] block  as in sp_joint_create()
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _MPI */
spmm_status sp_joint_update(const sp_grid *grid, const spmm_block *block, sp_joint *joint);

/** Frees the object and its arrays; accepts NULL. Local. */
void sp_joint_destroy(sp_joint *joint);

#endif
