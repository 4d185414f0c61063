/** The joint exchange of a block: of the entries whose columns other ranks own, some are multiplied here with
 *  rows of X that travel, others by the owner of the rows of X, whose partial sums of rows of Y travel. */
#ifndef SP_JOINT_H
#define SP_JOINT_H

#include "halo/halo.h"

/** Which rows are added to which. Zeroed: none are. */
typedef struct sp_sum_lists {
    int64_t count;   /**< number of rows to which others are added */
    int32_t *row;    /**< [count] these rows, increasing */
    int64_t *start;  /**< [count + 1] the first member of `addend` of each */
    int32_t *addend; /**< the rows of S that are added, in increasing order for each */
} sp_sum_lists;

/** Lists to which rows the ghost rows of a multivector S are added. Local.
 *  \param [in]  row   [low + high] the row that each ghost row is added to, in the order of S; -1: to none
 *  \param [in]  low   number of ghost rows before the own rows of S
 *  \param [in]  own   number of own rows
 *  \param [in]  high  number of ghost rows after them
 *  \param [in]  rows  number of rows that there are to add to
 *  \param [out] sums  sp_sum_lists_destroy() frees it, also on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_sum_lists_create(const int32_t *row, int64_t low, int64_t own, int64_t high, int64_t rows,
                                sp_sum_lists *sums);

/** Frees the arrays and zeroes *sums; accepts a zeroed object. Local. */
void sp_sum_lists_destroy(sp_sum_lists *sums);

/** What the joint exchange adds to a halo. A partial row is a row of A restricted to entries of one rank's
 *  columns, times X. The partial rows of a rank form a multivector S, numbered like X in sp_halo:
 *  `moves.ghost_low` rows that come from lower ranks, `moves.own` rows that this rank computes for others, in
 *  the order of the ranks they are for, and `moves.ghost_high` rows that come from higher ranks. */
struct sp_joint {
    spmm_csr rest; /**< the block without the entries that other ranks multiply, in arrays of its own */
    /** How partial rows travel, as if they were rows of X. moves.local is the matrix of the rows that this
     *  rank computes, [moves.own] x this rank's owned rows of X. */
    sp_halo moves;
    /** [moves.ghost_low + moves.ghost_high] the row of `rest` that each partial row of another rank is added
     *  to, in the order of S; increasing for each of these ranks */
    int32_t *row;
    /** Which rows of S are added to which rows of `rest`, in the order of the ranks they come from. */
    sp_sum_lists sums;
};

/** Splits a block, whose column indices have been checked, by sp_joint_cover_create(), and sends the entries
 *  that other ranks are to multiply to them. Afterwards the fewest rows travel that serve all entries:
 *  moves.all_moved of Y, and those of X that joint->rest needs.
 *
 *  Collective over grid->comm.
 *  \param [in]  first    [P + 1] owners of the block's columns, from sp_blocks_fit()
 *  \param [in]  threads  OpenMP threads of this rank
 *  \param [out] joint    the caller destroys it; NULL on failure
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _LIMIT (2^31 partial rows on a rank or
 *          more), _MPI */
spmm_status sp_joint_create(const sp_grid *grid, const spmm_block *block, const int64_t *first, int threads,
                            sp_joint **joint);

/** Sets joint->sums, by joint->moves, joint->row and the number of rows of joint->rest. Local.
 *  \param [in,out] joint  the caller destroys it, also on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_joint_list_sums(sp_joint *joint);

/** Takes over the values that the block has now, on the same pattern, and sends those that other ranks
 *  multiply to them.
 *
 *  Collective over grid->comm.
 *  \param [in] block  as in sp_joint_create()
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _MPI */
spmm_status sp_joint_update(const sp_grid *grid, const spmm_block *block, sp_joint *joint);

/** Frees the object and its arrays; accepts NULL. Local. */
void sp_joint_destroy(sp_joint *joint);

#endif
