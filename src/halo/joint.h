/** The joint exchange of a block. Consider the entries whose columns other ranks own. Some of them are
 *  multiplied on this rank, which receives rows of X. The others are multiplied by the owner of the rows of
 *  X, which sends partial sums of rows of Y. */
#ifndef SP_JOINT_H
#define SP_JOINT_H

#include "halo/moves.h"

/** Lists of rows that are added to other rows. Zeroed: nothing is added. */
typedef struct sp_sum_lists {
    int64_t count;   /**< number of rows to which rows are added */
    int32_t *row;    /**< [count] the rows to which rows are added, increasing */
    int64_t *start;  /**< [count + 1] index in `addend` of the first addend of each row */
    int32_t *addend; /**< the addends: rows of a multivector S, in increasing order for each row */
} sp_sum_lists;

/** The additional data of a block for the joint exchange. A partial row is the product of X and a row of A
 *  restricted to the columns that one rank owns. The partial rows on a rank form a multivector S. Its rows
 *  have the order of `moves`: `moves.ghost_low` rows received from lower ranks, `moves.own` rows that this
 *  rank computes for others, in the order of their receivers, and `moves.ghost_high` rows received from
 *  higher ranks. */
typedef struct sp_joint {
    spmm_csr rest;    /**< the block without the entries that other ranks multiply, in separate arrays */
    sp_moves moves;   /**< the exchange of partial rows */
    spmm_csr partial; /**< the rows that this rank computes for others, [moves.own] x [owned rows of X] */
    /** [moves.ghost_low + moves.ghost_high] for each received partial row, in the order of S, the row of
     *  `rest` to which it is added; these rows increase for each sender */
    int32_t *row;
    /** The lists by which rows of S are added to rows of `rest`, in the order of their senders. */
    sp_sum_lists sums;
} sp_joint;

/** Splits a block by sp_joint_cover_create(); the column indices of the block must have been checked. Sends
 *  entries to the ranks that multiply them. Afterwards the number of exchanged rows is the minimum that
 *  covers all entries: moves.all_moved partial rows of Y, and the rows of X that joint->rest needs.
 *
 *  Collective over grid->comm.
 *  \param [in]  first    [P + 1] from sp_blocks_fit(): rank p of the process column, which has P ranks, owns
 *                        the block's columns first[p] to first[p + 1] - 1
 *  \param [in]  threads  OpenMP threads of this rank
 *  \param [out] joint    the caller destroys it; NULL on failure
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _LIMIT (2^31 partial rows on a rank or
 *          more), _MPI */
spmm_status sp_joint_create(const sp_grid *grid, const spmm_block *block, const int64_t *first, int threads,
                            sp_joint **joint);

/** Sets joint->sums from joint->moves, joint->row and the number of rows of joint->rest. Local.
 *  \param [in,out] joint  the caller destroys it, also on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_joint_list_sums(sp_joint *joint);

/** Updates the joint exchange with the current values of the block, whose pattern has not changed, and sends
 *  values to the ranks that multiply them.
 *
 *  Collective over grid->comm.
 *  \param [in] block  as in sp_joint_create()
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _MPI */
spmm_status sp_joint_update(const sp_grid *grid, const spmm_block *block, sp_joint *joint);

/** Frees the object and its arrays; accepts NULL. Local. */
void sp_joint_destroy(sp_joint *joint);

#endif
