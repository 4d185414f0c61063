/** Decides whether the ranks of a node keep X in common memory, and allocates X accordingly. */
#ifndef SP_SHARE_X_H
#define SP_SHARE_X_H

#include "product/product.h"

/** Where options and ranks allow it, makes the ranks of each node share X: sets p->node, makes p->halo the
 *  halo of p->node, and creates p->exchange, to which p->grid, p->halo, p->k, p->precision and p->threads
 *  must be set. Otherwise changes nothing, and rows of X move by messages. SPMM_TRANSPORT_AUTO shares X
 *  between CPUs if two ranks of a process column or more are on one node, unless all are and need few,
 *  scattered rows of each other. On GPUs, sets p->relays, and makes p->halo theirs, where ranks hand rows on
 *  (relays/relays.h).
 *
 *  Collective over the grid.
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (SPMM_TRANSPORT_SHARED was asked for, and
 *          cannot be; SPMM_EXCHANGE_BACKEND), _MEMORY, _LIMIT, _DEVICE, _MPI */
spmm_status sp_share_x(const spmm_block *block, const spmm_plan_options *options, sp_product *product);

#endif
