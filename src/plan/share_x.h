/** Decides whether the ranks of a node keep X in common memory, or hand rows of it on, and allocates X accordingly. */
#ifndef SP_SHARE_X_H
#define SP_SHARE_X_H

#include "plan/plan_struct.h"

/** Where options and ranks allow it, makes the ranks of each node share X: sets p->node, makes p->halo the halo of
 *  p->node, and creates p->exchange, to which p->grid, p->halo, p->k, p->precision and p->threads must be set.
 *  Otherwise changes nothing, and rows of X move by messages. SPMM_TRANSPORT_AUTO shares X between CPUs if two
 *  ranks of a process column or more are on one node, unless all are and need few, scattered rows of each other.
 *
 *  Collective over the grid.
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (SPMM_TRANSPORT_SHARED was asked for, and cannot
 *          be), _MEMORY, _LIMIT, _MPI */
spmm_status sp_share_x(const spmm_block *block, const spmm_plan_options *options, spmm_plan *plan);

/** Where ranks on GPUs, several of a node, would receive the same rows of other nodes, makes one of them receive a row and hand it on
 *  to the others, if such an exchange takes less time: sets p->node, and makes p->halo the halo of p->node. With
 *  options.quick_plan it is not timed, and taken. Otherwise changes nothing. To be called after sp_share_x(). Collective over the
 *  grid.
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (SPMM_EXCHANGE_BACKEND), _MEMORY, _LIMIT, _DEVICE, _MPI */
spmm_status sp_relay_x(const spmm_block *block, const spmm_plan_options *options, spmm_plan *plan);

/** Allocates this rank's rows of X for spmm_plan_x_create(). Local.
 *  \param [in]  for_copies  1: for the plan's own copy of the caller's X
 *  \param [out] x           zeroed by the caller, who destroys it
 *  \return SPMM_OK, SPMM_ERR_USAGE, _MEMORY, _LIMIT, _NO_DEVICE, _DEVICE */
spmm_status sp_plan_x_create(const spmm_plan *plan, int for_copies, spmm_multivector *x);

#endif
