/** An exchange made of two, one between nodes and one inside, and what node sums are. Private to
 *  src/relays. */
#ifndef SP_TWO_STEPS_H
#define SP_TWO_STEPS_H

#include "halo/joint.h"
#include "exchange/exchange.h"

/** How the partial rows of an sp_joint travel in two steps. They form a multivector S: the moves.owned rows
 *  that this rank computes, in their order, then those that come from ranks of this node, then those that
 *  come from other nodes, each in the order of the ranks. Both halos have this numbering, without ghost_low,
 *  so that one S serves both exchanges. */
typedef struct sp_node_sums {
    MPI_Comm comm; /**< ranks of the process column on this node, in its order */
    spmm_precision precision;
    /** First step: rows for ranks of this node, and those that these are to add to rows of theirs. Ranks are
     *  numbered as in comm. */
    sp_halo inside;
    /** After it: an own row of S, and then the rows that came for it, in the order of the ranks, are added to
     *  the first of these. The owned rows stay as they are, so that an exchange can be repeated. `row` does
     *  not increase. */
    sp_sum_lists to_first;
    /** Second step: owned rows and these sums, for ranks of other nodes, of each node one for a row of Y.
     *  between.all_moved rows cross the network. */
    sp_halo between;
    /** At the end: which rows of S are added to which rows of joint->rest, those of this node's ranks first,
     *  each in the order of the ranks. */
    sp_sum_lists to_y;
} sp_node_sums;

/** Finds out which ranks compute partial rows for the same rows, and who adds them: in turn the ranks that
 *  compute one. With one rank of a process column on each node, or all on one, there is nothing to add.
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

/** Creates such an exchange. Without `sums` the one between nodes comes first. With them the one inside does,
 *  and rows that it has brought are added before the other one begins: on CPUs in sp_exchange_begin(), which
 *  waits for ranks of the node, on GPUs in sp_exchange_end().
 *
 *  Collective over grid->comm.
 *  \param [in]     comm             ranks of the process column on this node, by which `inside` numbers them
 *  \param [in]     between, inside  of the same numbering of rows; must outlive the exchange
 *  \param [in]     options          as of sp_relays_exchange(); on GPUs the transport is that between nodes
 *  \param [in,out] sums             NULL, or what `between` and `inside` belong to; the exchange takes it
 *                                   over, also on failure
 *  \param [out]    exchange         the caller destroys it; NULL on failure
 *  \return the same status on every rank: those of sp_exchange_create() */
spmm_status sp_two_steps_create(const sp_grid *grid, MPI_Comm comm, const sp_halo *between,
                                const sp_halo *inside, const sp_exchange_options *options, sp_node_sums *sums,
                                sp_exchange **exchange);

#endif
