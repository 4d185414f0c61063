/** Partial rows of Y that are added inside a node before they travel (node sums): where several ranks of a node compute partial
 *  rows for the same row of a rank on another node, one of them adds the others' to its own, and sends the sum. */
#ifndef SP_NODE_SUMS_H
#define SP_NODE_SUMS_H

#include "distribute/joint.h"

/** How the partial rows of an sp_joint travel in two steps. They form a multivector S: the moves.own rows that this rank
 *  computes, in their order, then those that come from ranks of this node, then those that come from other nodes, each in the
 *  order of the ranks. Both halos have this numbering, without ghost_low, so that one S serves both exchanges. */
typedef struct sp_node_sums {
    MPI_Comm comm; /**< ranks of the process column on this node, in its order */
    /** First step: rows for ranks of this node, and those that these are to add to rows of theirs. Ranks are numbered as in comm. */
    sp_halo inside;
    /** After it: which rows of S are added to which own rows of S, in the order of the ranks. */
    sp_sum_lists to_own;
    /** Second step: rows for ranks of other nodes, of each node one for a row of Y. between.all_moved rows cross the network. */
    sp_halo between;
    /** At the end: which rows of S are added to which rows of joint->rest, those of this node's ranks first, each in the order
     *  of the ranks. */
    sp_sum_lists to_y;
} sp_node_sums;

/** Finds out which ranks compute partial rows for the same rows, and who adds them: in turn the ranks that compute one. With
 *  one rank of a process column on each node, or all on one, there is nothing to add.
 *
 *  Collective over grid->comm.
 *  \param [in]  joint         from sp_joint_create() or sp_halo_transpose(); must outlive *sums
 *  \param [out] sums          the caller destroys it; NULL on failure, and on all ranks if nothing can be added inside a node:
 *                             then partial rows travel by joint->moves, in one step
 *  \param [out] message_rows  number of partial rows that cross between nodes, of all ranks together, where a node has
 *                             several ranks of a process column and others are elsewhere; otherwise of all that travel
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _LIMIT (2^31 rows of S on a rank or more), _MPI */
spmm_status sp_node_sums_create(const sp_grid *grid, const sp_joint *joint, sp_node_sums **sums,
                                int64_t *message_rows);

/** Frees the object, its lists and the communicator; accepts NULL. Collective over the ranks of comm. */
void sp_node_sums_destroy(sp_node_sums *sums);

#endif
