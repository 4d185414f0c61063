/** Decides whether the ranks of a node keep X in common memory, and allocates X accordingly. */
#include "product/deciders.h"

#include <stdlib.h>

#include "formats/multivector.h"

/** Creates the exchange for X in common memory. If the system has no such memory, that is an error only if
 *  the caller requested this transport. */
static spmm_status share_x_connect(sp_product *p, sp_decision *row)
{
    const int64_t row_bytes = sp_multivector_ld(p->k, p->precision) * sp_value_size(p->precision);
    const sp_exchange_options move = {.row_bytes = row_bytes,
                                      .space = SPMM_CPU,
                                      .transport = SPMM_TRANSPORT_SHARED,
                                      .node = &p->node,
                                      .threads = p->threads};
    const spmm_status status = sp_exchange_create(p->grid, &p->node.moves, &move, &p->exchange);
    if (status == SPMM_OK) {
        p->moves = &p->node.moves;
        p->local = &p->node.local;
        sp_decided(row, "ranks of a node read each other's rows", "common");
        return SPMM_OK;
    }
    sp_node_rows_destroy(&p->node);
    const int lacks = status == SPMM_ERR_MEMORY || status == SPMM_ERR_LIMIT;
    sp_decided(row, "the node has too little shared memory", "own");
    return p->options.transport == SPMM_TRANSPORT_AUTO && lacks ? SPMM_OK : status;
}

/** FEW: rows are few if less than one in FEW of the owned rows is sent to other ranks. */
enum { FEW = 20 };

/** Determines whether messages are better than common memory. This is the case if all ranks are on one node
 *  and the rows that they need from each other are few and scattered: such rows share cache lines and pages
 *  with rows of other ranks, and copying them is cheap (bench/records/HISTORY.md). Collective. */
static spmm_status few_and_scattered(const sp_product *p, int *few)
{
    double rows[3] = {(double)p->moves->packed, (double)p->moves->own,
                      (double)(p->node.size < p->grid->dims[0])};
    TRY(sp_sum(p->grid->comm, rows, 3));
    *few = rows[0] > 0 && FEW * rows[0] < rows[1] && rows[2] == 0;
    return SPMM_OK;
}

/** Returns why, by the options or the block, each rank keeps X in its own memory; NULL: there is no
 *  reason. */
static const char *own_memory(const sp_product *p, int named)
{
    const spmm_plan_options *const o = &p->options;
    if (o->device != SPMM_CPU) return "X is in GPU memory";
    if (p->moves->all_moved == 0) return "no rows of X are exchanged";
    /* in common memory rows are not rounded */
    if (sp_plan_rounds(o, p->precision)) return "rows of X travel as f32";
    if (!named && o->transport != SPMM_TRANSPORT_AUTO) return "another transport is named";
    return NULL;
}

spmm_status sp_decide_memory(sp_product *p, sp_decision *row)
{
    const int named = sp_transport_has(p->options.transport, SP_TRANSPORT_IN_PLACE);
    const char *why = own_memory(p, named);
    int together = 0, few = 0;
    spmm_block here = *p->block;
    sp_decided(row, why ? why : "", "own");
    if (why) return SPMM_OK;
    /* with the joint exchange, other ranks multiply some entries, which need no rows of X here */
    if (p->given->joint) here.csr = p->given->joint->rest;
    if (p->options.column_blocks > 1)
        why = "X is cut into blocks of columns";
    else
        TRY(sp_node_rows_create(p->grid, &here, p->moves, p->threads, &p->node, &why, &together));
    if (why && named) return sp_fail(SPMM_ERR_USAGE, "transport shared: %s", why);
    if (!why && together && !named) TRY(few_and_scattered(p, &few));
    if (!why && !together && !named) why = "no two ranks of a process column are on one node";
    if (few) why = "ranks need few, scattered rows of each other";
    if (!why) return share_x_connect(p, row);
    sp_node_rows_destroy(&p->node);
    sp_decided(row, why, "own");
    return SPMM_OK;
}

/** Allocates an X in common memory. If no area is left, allocates an X that the plan will copy into common
 *  memory. */
static spmm_status create_shared(const sp_product *p, int64_t k, int for_copies, spmm_multivector *x)
{
    const sp_moves *const m = p->moves;
    const int64_t row_bytes = sp_multivector_ld(k, p->precision) * sp_value_size(p->precision);
    void *memory;
    TRY(sp_exchange_share(p->exchange, row_bytes, for_copies, &memory));
    if (!memory) return sp_multivector_create(0, m->own, 0, k, p->precision, SPMM_CPU, x);
    *x = sp_multivector_in(memory, m->ghost_low, m->own, m->ghost_high, k, p->precision, SPMM_CPU);
    return SPMM_OK;
}

spmm_status sp_product_x_create(const sp_product *p, int64_t k, int for_copies, spmm_multivector *x)
{
    const sp_moves *const m = p->moves;
    void *memory = NULL;
    int64_t bytes = 0;
    if (k == 0) return spmm_multivector_create(m->own, 0, p->precision, p->space, x);
    if (sp_exchange_shares(p->exchange)) return create_shared(p, k, for_copies, x);
    if (!p->exchange || !p->column_blocks.in_x || p->space == SPMM_CPU)
        return sp_multivector_create(m->ghost_low, m->own, m->ghost_high, k, p->precision, p->space, x);
    TRY(sp_multivector_size(sp_moves_rows(m), k, p->precision, &bytes));
    TRY(sp_exchange_alloc(p->exchange, bytes, &memory));
    *x = sp_multivector_in(memory, m->ghost_low, m->own, m->ghost_high, k, p->precision, SPMM_CUDA);
    return SPMM_OK;
}
