/** The functions that take the decisions of a product while it is created. plan/decide.c calls them in the
 *  order of decisions.h. */
#ifndef SP_DECIDERS_H
#define SP_DECIDERS_H

#include "product/product.h"

/** Takes one decision, stores it in its row of p->decisions, and creates the parts of the product that follow
 *  from it. The block (p->given, p->block, p->moves, p->local), p->k, p->precision, p->options, p->study and
 *  p->threads must be set.
 *
 *  Collective over p->grid->comm.
 *  \return the same status on every rank, as for sp_product_create() */
typedef spmm_status sp_decider(sp_product *p, sp_decision *row);

/** Decides whether the ranks of each node share X. If they do, sets p->node, points p->moves and p->local
 *  into it, and creates p->exchange. SPMM_TRANSPORT_AUTO shares X between CPUs if at least two ranks
 *  of a process column are on one node, unless all ranks are on one node and need only few, scattered rows
 *  from each other, or rows travel as f32 (sp_plan_rounds()). */
sp_decider sp_decide_memory;

/** Determines the number of column blocks, the same on all ranks, and the row blocks. If
 *  options.column_blocks is not 0, X is split into that many. If it is 0, X is not split on CPUs. On GPUs, if
 *  rows of X are exchanged (but not by the joint exchange), overlap is not disabled, and fewer than half of
 *  the rows of all ranks' blocks are interior, X is split into sp_column_blocks_best() column blocks, and
 *  interior rows are not computed separately. */
sp_decider sp_decide_columns;

/** Chooses the kernel and converts the row blocks to its format. */
sp_decider sp_decide_kernel;

/** Creates the exchanges of X and of partial rows. */
sp_decider sp_decide_transport;

/** Creates the reduction, if the grid has several process columns. */
sp_decider sp_decide_reduce;

#endif
