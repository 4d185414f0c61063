/** Exchange backend for GPUs of several nodes, made of two exchanges: a row of X that several ranks of a node need crosses the
 *  network once, to one of them, in the first one, and is handed on inside the node by the second one, together with the rows that
 *  ranks of the node own. Which rows go where, sp_node_relays_create() has found. The transport is chosen for each of the two. */
#include <stdio.h>

#include "base/memory.h"
#include "distribute/node_rows.h"
#include "exchange/exchange_backend.h"

typedef struct relayed {
    sp_grid node; /* the ranks of this one's node */
    sp_exchange *between, *inside;
    char name[64];
} relayed;

static spmm_status create(sp_exchange *x)
{
    relayed *r;
    TRY(sp_alloc_zero((void **)&r, 1, sizeof *r, "an exchange"));
    x->state = r;
    return SPMM_OK;
}

static spmm_status connect(sp_exchange *x)
{
    relayed *const r = x->state;
    const sp_node_rows *const node = x->halo->node;
    sp_exchange_options o = x->options;
    r->node = sp_grid_of_column(x->grid, node->comm);
    /* the second exchange follows the first one in its stream */
    o.alone = 0;
    o.pitch = 0;
    TRY(sp_exchange_create(x->grid, &node->between, &o, &r->between));
    o.transport = SPMM_TRANSPORT_AUTO;
    TRY(sp_exchange_create(&r->node, &node->inside, &o, &r->inside));
    x->transport = sp_exchange_transport(r->between);
    x->queues = sp_exchange_queues(r->between) && sp_exchange_queues(r->inside);
    snprintf(r->name, sizeof r->name, "%s+%s", sp_exchange_backend(r->between),
             sp_exchange_backend(r->inside));
    x->backend = r->name;
    return SPMM_OK;
}

static void destroy(sp_exchange *x)
{
    relayed *const r = x->state;
    if (!r) return;
    sp_exchange_destroy(r->inside);
    sp_exchange_destroy(r->between);
    sp_free(r);
    x->state = NULL;
}

static void *own_rows(const sp_exchange *x) { return x->base + x->halo->ghost_low * x->pitch; }

static spmm_status begin(sp_exchange *x)
{
    const relayed *const r = x->state;
    const spmm_status status = sp_exchange_begin(r->between, own_rows(x));
    if (status != SPMM_OK) sp_exchange_skip(r->inside);
    return status;
}

/** Ends the first exchange and makes the second one. Every rank waits for the first before it takes part in the second, so that
 *  neither waits for the other. */
static spmm_status end(sp_exchange *x)
{
    const relayed *const r = x->state;
    const spmm_status status = sp_exchange_end(r->between);
    if (status != SPMM_OK) sp_exchange_skip(r->inside);
    TRY(status);
    TRY(sp_exchange_begin(r->inside, own_rows(x)));
    return sp_exchange_end(r->inside);
}

static spmm_status settle(sp_exchange *x)
{
    const relayed *const r = x->state;
    const spmm_status between = sp_exchange_settle(r->between), inside = sp_exchange_settle(r->inside);
    return between == SPMM_OK ? inside : between;
}

static void skip(sp_exchange *x)
{
    const relayed *const r = x->state;
    sp_exchange_skip(r->between);
    sp_exchange_skip(r->inside);
}

/* X lies where the exchange inside the node wants it: that between nodes is by messages, from and to any memory. */

static spmm_status alloc(sp_exchange *x, int64_t bytes, void **memory)
{
    return sp_exchange_alloc(((const relayed *)x->state)->inside, bytes, memory);
}

static int takes(const sp_exchange *x, const void *row)
{
    return sp_exchange_takes(((const relayed *)x->state)->inside, row);
}

static void forget(sp_exchange *x)
{
    sp_exchange *const inside = ((const relayed *)x->state)->inside;
    if (inside->ops->forget) inside->ops->forget(inside);
}

const sp_exchange_ops sp_exchange_relayed = {.begin = begin,
                                             .end = end,
                                             .create = create,
                                             .destroy = destroy,
                                             .connect = connect,
                                             .settle = settle,
                                             .skip = skip,
                                             .alloc = alloc,
                                             .takes = takes,
                                             .forget = forget,
                                             .by_mpi = 1};
