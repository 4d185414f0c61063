/** A combination of two exchanges, one between nodes and one inside a node, and the data of node sums.
 *  Private to src/relays. */
#ifndef SP_TWO_STEPS_H
#define SP_TWO_STEPS_H

#include "halo/joint.h"
#include "exchange/exchange.h"

/** The exchange of the partial rows of an sp_joint in two steps. The partial rows form a multivector S: first
 *  the rows (moves.own) that this rank computes, in the order of sp_joint, then the rows received from ranks
 *  of this node, then the rows received from other nodes, each in rank order. Both halos use this numbering,
 *  with ghost_low 0, so that one S serves both exchanges. */
typedef struct sp_node_sums {
    MPI_Comm comm; /**< ranks of the process column on this node, in the column's order */
    spmm_precision precision;
    /** First step: sends rows for ranks of this node, and rows that these ranks add to partial rows that they
     *  compute. Ranks are numbered as in comm. */
    sp_halo inside;
    /** The sums after the first step. This rank has received rows that it must add to one of its owned rows.
     *  It adds the owned row, and then the received rows except the first, in rank order, to the first
     *  received row. So owned rows are not changed, and an exchange can be repeated. `row`, which contains
     *  the first received rows, is not in increasing order. */
    sp_sum_lists to_first;
    /** Second step: sends owned rows and these sums to ranks of other nodes, one row per node for each row of
     *  Y. between.all_moved rows cross the network. */
    sp_halo between;
    /** At the end: the rows of S that are added to rows of joint->rest, first those from ranks of this node,
     *  then those from other nodes, each in rank order. */
    sp_sum_lists to_y;
} sp_node_sums;

/** Determines which ranks of a node compute partial rows for the same row of Y, and which of them adds these
 *  rows: they take turns. If each node has one rank of a process column, or one node has all, there is
 *  nothing to add.
 *
 *  Collective over grid->comm.
 *  \param [in]  joint  from sp_joint_create() or sp_halo_transpose(); must outlive *sums
 *  \param [out] sums   the caller destroys it; NULL on failure, and on all ranks if nothing can be added
 *                      inside a node: then partial rows travel by joint->moves, in one step
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _LIMIT (2^31 rows of S on a rank or
 *          more), _MPI */
spmm_status sp_node_sums_create(const sp_grid *grid, const sp_joint *joint, sp_node_sums **sums);

/** Frees the object, its lists and the communicator; accepts NULL. Collective over the ranks of comm. */
void sp_node_sums_destroy(sp_node_sums *sums);

/** Creates a combination of two exchanges. Without `sums`, the exchange between nodes comes first. With
 *  `sums`, the exchange inside the node comes first, and the rows that it delivers are added before the
 *  second exchange begins: on CPUs in sp_exchange_begin(), which waits for ranks of the node, on GPUs in
 *  sp_exchange_end().
 *
 *  Collective over grid->comm.
 *  \param [in]     comm             ranks of the process column on this node; `inside` numbers ranks as in
 *                                   comm
 *  \param [in]     between, inside  with the same numbering of rows; must outlive the exchange
 *  \param [in]     options          as for sp_relays_exchange(); on GPUs the transport applies between nodes
 *                                   only
 *  \param [in,out] sums             NULL, or the owner of `between` and `inside`; the exchange takes
 *                                   ownership of it, also on failure
 *  \param [out]    exchange         the caller destroys it; NULL on failure
 *  \return the same status on every rank: SPMM_OK, or the errors of sp_exchange_create() */
spmm_status sp_two_steps_create(const sp_grid *grid, MPI_Comm comm, const sp_halo *between,
                                const sp_halo *inside, const sp_exchange_options *options, sp_node_sums *sums,
                                sp_exchange **exchange);

#endif
