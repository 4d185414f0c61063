/** Decides whether the ranks of a node keep X in common memory, and allocates X accordingly. */
#ifndef SP_SHARE_X_H
#define SP_SHARE_X_H

#include "product/product.h"

/** If options and ranks allow it, makes the ranks of each node share X: sets p->node, sets p->moves and
 *  p->local to those of p->node, and creates p->exchange. (p->given, p->grid, p->block, p->moves, p->k,
 *  p->precision and p->threads must be set.) Otherwise changes nothing, and rows of X are sent by messages.
 *  SPMM_TRANSPORT_AUTO shares X between CPUs if at least two ranks of a process column are on one node,
 *  unless all ranks are on one node and need only few, scattered rows from each other, or rows travel as f32
 *  (sp_plan_rounds()).
 *
 *  Collective over the grid.
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (SPMM_TRANSPORT_SHARED was requested but is
 *          not possible; a wrong SPMM_EXCHANGE_BACKEND), _MEMORY, _LIMIT, _DEVICE, _MPI */
spmm_status sp_share_x(const spmm_plan_options *options, sp_product *product);

#endif
