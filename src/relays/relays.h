/** Where ranks of a node have no common memory for rows: relays and node sums, which `make RELAYS=1`
 *  builds. Without it, relays_none.c is linked, and each rank sends and receives messages of its own.
 *
 *  Relays: a row of X that several ranks of a node need crosses the network once, and the rank that
 *  receives it hands it on. Node sums: partial rows of Y that several ranks of a node compute for the same
 *  row of another node are added there, and the sum crosses the network. Both are exchanges made of two,
 *  one between nodes and one inside. */
#ifndef SP_RELAYS_H
#define SP_RELAYS_H

#include "halo/joint.h"
#include "exchange/exchange.h"

/** Returns 1 if this build has relays and node sums. Local. */
int sp_relays_built(void);

/** Which rows of X are forwarded, and by whom. */
typedef struct sp_relays sp_relays;

/** Finds out whether rows are to be forwarded: where clearly fewer of them then cross between nodes, unless
 *  the environment variable SPMM_EXCHANGE_BACKEND names another backend than `relayed`.
 *
 *  Collective over grid->comm.
 *  \param [in]     block    must outlive *relays
 *  \param [in]     asked    the transport that the caller asked for: with SPMM_TRANSPORT_PEER none are
 *  \param [in]     threads  OpenMP threads of this rank
 *  \param [in,out] halo     that of the block; with relays, their halo: its ghost rows are those that this
 *                           rank needs and those that it forwards. Columns keep their order, so that sums
 *                           keep their bits; all_moved are the rows that cross between nodes
 *  \param [out]    relays   the caller destroys it; NULL: rows are not forwarded
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (SPMM_EXCHANGE_BACKEND), _MEMORY, _MPI */
spmm_status sp_relays_create(const sp_grid *grid, const spmm_block *block, spmm_transport asked, int threads,
                             const sp_halo **halo, sp_relays **relays);

/** Creates the exchange for that halo, as sp_exchange_create() does; *relays must outlive it. options.pitch
 *  is left out of account. The name of its backend has both, with a + between. */
spmm_status sp_relays_exchange(const sp_relays *relays, const sp_exchange_options *options,
                               sp_exchange **exchange);

/** Frees the object; accepts NULL, but only if all ranks pass NULL. Collective over the grid. */
void sp_relays_destroy(sp_relays *relays);

/** Creates an exchange of partial rows that adds them inside nodes, where that can be: on CPUs unless
 *  `asked` is SPMM_TRANSPORT_MPI, and on GPUs as of sp_relays_create(), unless it is SPMM_TRANSPORT_PEER.
 *  On CPUs sp_exchange_begin() then waits for ranks of the node, and a rank that failed ends, or skips, the
 *  exchange before it tells neighbors of the exchange of X.
 *
 *  Collective over grid->comm.
 *  \param [in]     joint     must outlive the exchange
 *  \param [in]     asked     the transport that the caller asked for
 *  \param [in]     move      of an exchange of partial rows by joint->moves
 *  \param [out]    exchange  the caller destroys it; NULL: partial rows are not added inside nodes, and
 *                            *moves and *lists stay as they are
 *  \param [in,out] moves     the numbering of the S that the exchange moves, to which it belongs; all_moved
 *                            are the rows that cross between nodes
 *  \param [in,out] lists     which rows of S are then added to which rows of joint->rest; belongs to the
 *                            exchange
 *  \return the same status on every rank: as of sp_relays_create() */
spmm_status sp_node_sums_exchange(const sp_grid *grid, const sp_joint *joint, spmm_transport asked,
                                  const sp_exchange_options *move, sp_exchange **exchange,
                                  const sp_halo **moves, const sp_sum_lists **lists);

#endif
