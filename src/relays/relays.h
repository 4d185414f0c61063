/** Relays and node sums, for rows that ranks of a node do not have in common memory. `make RELAYS=1` builds
 *  them. Otherwise relays_none.c is linked, and each rank sends and receives its rows itself.
 *
 *  Relays: a row of X that several ranks of a node need crosses the network once, and the rank that
 *  receives it forwards it. Node sums: partial rows of Y that several ranks of a node compute for the same
 *  row of another node are added on the first node, and the sum crosses the network. Each of the two
 *  combines two exchanges, one between nodes and one inside a node. */
#ifndef SP_RELAYS_H
#define SP_RELAYS_H

#include "halo/joint.h"
#include "exchange/exchange.h"

/** Returns 1 if this build contains relays and node sums. Local. */
int sp_relays_built(void);

/** Which rows of X are forwarded, and by whom. */
typedef struct sp_relays sp_relays;

/** Determines whether rows are forwarded: they are if clearly fewer rows then cross between nodes, unless the
 *  environment variable SPMM_EXCHANGE_BACKEND names a backend other than `relayed`.
 *
 *  Collective over grid->comm.
 *  \param [in]     block    must outlive *relays
 *  \param [in]     asked    the transport that the caller requested; with SPMM_TRANSPORT_PEER, rows are not
 *                           forwarded
 *  \param [in]     threads  OpenMP threads of this rank
 *  \param [in,out] halo     on entry the halo of the block; on return, if rows are forwarded, the halo of
 *                           *relays. Its ghost rows are the rows that this rank needs or forwards. Columns
 *                           keep their order, so that sums keep their bits; all_moved is the number of rows
 *                           that cross between nodes
 *  \param [out]    relays   the caller destroys it; NULL: rows are not forwarded
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (SPMM_EXCHANGE_BACKEND), _MEMORY, _MPI */
spmm_status sp_relays_create(const sp_grid *grid, const spmm_block *block, spmm_transport asked, int threads,
                             const sp_halo **halo, sp_relays **relays);

/** Creates the exchange for the halo of *relays, as sp_exchange_create() does; *relays must outlive the
 *  exchange. options.pitch is ignored. The backend name of the exchange consists of the backend names of the
 *  two exchanges that it combines, joined by +. */
spmm_status sp_relays_exchange(const sp_relays *relays, const sp_exchange_options *options,
                               sp_exchange **exchange);

/** Frees the object; accepts NULL, but only if all ranks pass NULL. Collective over the grid. */
void sp_relays_destroy(sp_relays *relays);

/** Creates an exchange of partial rows that adds them inside nodes, if fewer rows then cross between nodes.
 *  On CPUs, none is created if `asked` is SPMM_TRANSPORT_MPI. On GPUs, none is created if `asked` is
 *  SPMM_TRANSPORT_PEER, or if SPMM_EXCHANGE_BACKEND names a backend other than `relayed`.
 *
 *  On CPUs, sp_exchange_begin() of this exchange waits for ranks of the node. So a rank that failed must
 *  first end or skip this exchange, and only then skip the exchange of X.
 *
 *  Collective over grid->comm.
 *  \param [in]     joint     must outlive the exchange
 *  \param [in]     asked     the transport that the caller requested
 *  \param [in]     move      options of the exchange of partial rows that joint->moves describes
 *  \param [out]    exchange  the caller destroys it; NULL: partial rows are not added inside nodes, and
 *                            *moves and *lists are not changed
 *  \param [in,out] moves     on return, the numbering of the partial rows that the exchange moves (the
 *                            multivector S of sp_joint); the exchange owns it. all_moved is the number of
 *                            rows that cross between nodes
 *  \param [in,out] lists     on return, the rows of S that are added to rows of joint->rest after the
 *                            exchange, which owns the lists
 *  \return the same status on every rank: SPMM_OK, or the errors of sp_node_sums_create() and
 *          sp_exchange_create() */
spmm_status sp_node_sums_exchange(const sp_grid *grid, const sp_joint *joint, spmm_transport asked,
                                  const sp_exchange_options *move, sp_exchange **exchange,
                                  const sp_halo **moves, const sp_sum_lists **lists);

#endif
