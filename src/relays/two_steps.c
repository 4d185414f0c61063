/** A combination of two exchanges: the second one forwards rows that the first one delivers, or sends sums of
 *  them. The transport is chosen for each exchange separately. */
#include "relays/two_steps.h"

#include <stdio.h>

#include "base/memory.h"
#include "halo/row_sums.h"
#include "exchange/exchange_backend.h"
#include "formats/multivector.h"

typedef struct two_steps {
    sp_exchange exchange; /* the combination of `between` and `inside`; must be the first member */
    sp_grid node;         /* the ranks of this rank's node */
    sp_exchange *between, *inside;
    sp_exchange *first, *second; /* `between` and `inside` in the order in which they run */
    sp_node_sums *sums;          /* NULL: nothing is added */
    sp_row_sums row_sums;
    char name[64];
} two_steps;

static two_steps *steps_of(const sp_exchange *x) { return x->state; }

static void *own_rows(const sp_exchange *x) { return x->base + x->halo->ghost_low * x->pitch; }

static spmm_status begin(sp_exchange *x)
{
    const two_steps *const t = steps_of(x);
    const spmm_status status = sp_exchange_begin(t->first, own_rows(x));
    if (status != SPMM_OK) sp_exchange_skip(t->second);
    return status;
}

/** Adds owned rows and rows that the first exchange delivered. The second exchange sends the sums. */
static spmm_status add(const sp_exchange *x)
{
    const two_steps *const t = steps_of(x);
    const sp_halo *const h = x->halo;
    const int64_t k = x->row_bytes / sp_value_size(t->sums->precision);
    spmm_multivector s = sp_multivector_in(x->base, h->ghost_low, h->own, h->ghost_high, k,
                                           t->sums->precision, x->space);
    TRY(sp_row_sums_add(&t->row_sums, &s, x->options.threads, &s));
    return x->space == SPMM_CPU ? SPMM_OK : sp_stream_wait(sp_exchange_stream(t->second), SP_STREAM_MAIN);
}

/** Ends the first exchange and begins the second one. Every rank completes the first exchange before it takes
 *  part in the second, so that the two cannot deadlock. */
static spmm_status pass_on(sp_exchange *x)
{
    const two_steps *const t = steps_of(x);
    spmm_status status = sp_exchange_end(t->first);
    if (status == SPMM_OK && t->sums) status = add(x);
    if (status != SPMM_OK) sp_exchange_skip(t->second);
    return status == SPMM_OK ? sp_exchange_begin(t->second, own_rows(x)) : status;
}

static spmm_status begin_and_pass_on(sp_exchange *x)
{
    TRY(begin(x));
    return pass_on(x);
}

static spmm_status end(sp_exchange *x) { return sp_exchange_end(steps_of(x)->second); }

static spmm_status pass_on_and_end(sp_exchange *x)
{
    TRY(pass_on(x));
    return end(x);
}

static spmm_status make_both(sp_exchange *x)
{
    TRY(begin_and_pass_on(x));
    return end(x);
}

static spmm_status settle(sp_exchange *x)
{
    const spmm_status first = sp_exchange_settle(steps_of(x)->first),
                      second = sp_exchange_settle(steps_of(x)->second);
    return first == SPMM_OK ? second : first;
}

static void skip(sp_exchange *x)
{
    sp_exchange_skip(steps_of(x)->first);
    sp_exchange_skip(steps_of(x)->second);
}

/* The exchange inside the node determines in which memory X must be: the exchange between nodes uses
 * messages, which accept any memory. */

static spmm_status alloc(sp_exchange *x, int64_t bytes, void **memory)
{
    return sp_exchange_alloc(steps_of(x)->inside, bytes, memory);
}

static int takes(const sp_exchange *x, const void *row)
{
    return sp_exchange_takes(steps_of(x)->inside, row);
}

static void destroy(sp_exchange *x)
{
    two_steps *const t = steps_of(x);
    sp_exchange_destroy(t->inside);
    sp_exchange_destroy(t->between);
    sp_row_sums_destroy(x->space, &t->row_sums);
    sp_node_sums_destroy(t->sums);
}

static spmm_status set_rows(sp_exchange *x)
{
    TRY(sp_exchange_set_rows(steps_of(x)->between, x->row_bytes, 0));
    return sp_exchange_set_rows(steps_of(x)->inside, x->row_bytes, 0);
}

static const sp_exchange_memory memory = {.alloc = alloc, .takes = takes};

#define REST .destroy = destroy, .settle = settle, .skip = skip, .set_rows = set_rows, .memory = &memory
static const sp_exchange_ops handing_on = {.begin = begin, .end = pass_on_and_end, REST};
/* the second exchange starts in `begin`, so that sums travel while interior rows are computed */
static const sp_exchange_ops adding_on_cpus = {.begin = begin_and_pass_on, .end = end, REST};
/* both exchanges take place in `end`, because neighbors wait for X first */
static const sp_exchange_ops adding_on_gpus = {.end = make_both, REST};
#undef REST

static spmm_status connect(two_steps *t, MPI_Comm comm, const sp_halo *between, const sp_halo *inside)
{
    sp_exchange *const x = &t->exchange;
    sp_exchange_options o = x->options;
    t->node = sp_grid_of_column(x->grid, comm);
    /* both exchanges must use the same stream, so that the second one follows the first */
    o.alone = 0;
    o.pitch = 0;
    TRY(sp_exchange_create(x->grid, between, &o, &t->between));
    if (x->space == SPMM_CUDA) o.transport = SPMM_TRANSPORT_AUTO;
    TRY(sp_exchange_create(&t->node, inside, &o, &t->inside));
    if (t->sums)
        TRY(sp_agree(x->grid->comm, "exchange",
                     sp_row_sums_create(&t->sums->to_first, x->space, &t->row_sums)));
    t->first = t->sums ? t->inside : t->between;
    t->second = t->sums ? t->between : t->inside;
    x->transport = sp_exchange_transport(t->between);
    x->queues = sp_exchange_queues(t->between) && sp_exchange_queues(t->inside);
    x->skip_waits = sp_exchange_skip_waits(t->between) || sp_exchange_skip_waits(t->inside);
    snprintf(t->name, sizeof t->name, "%s+%s", sp_exchange_backend(t->between),
             sp_exchange_backend(t->inside));
    x->backend = t->name;
    return SPMM_OK;
}

spmm_status sp_two_steps_create(const sp_grid *grid, MPI_Comm comm, const sp_halo *between,
                                const sp_halo *inside, const sp_exchange_options *o, sp_node_sums *sums,
                                sp_exchange **exchange)
{
    two_steps *t = NULL;
    *exchange = NULL;
    spmm_status status = sp_agree(grid->comm, "exchange",
                                  sp_alloc_zero((void **)&t, 1, sizeof *t, "an exchange"));
    if (status != SPMM_OK) {
        sp_node_sums_destroy(sums);
        sp_free(t);
        return status;
    }
    t->sums = sums;
    t->exchange = (sp_exchange){.grid = grid,
                                .comm = grid->col_comm,
                                .halo = between,
                                .row_bytes = o->row_bytes,
                                .pitch = o->row_bytes,
                                .space = o->space,
                                .options = *o,
                                .stream = SP_STREAM_MOVE,
                                .ops = !sums                  ? &handing_on
                                       : o->space == SPMM_CPU ? &adding_on_cpus
                                                              : &adding_on_gpus,
                                .state = t};
    status = connect(t, comm, between, inside);
    if (status == SPMM_OK)
        *exchange = &t->exchange;
    else
        sp_exchange_destroy(&t->exchange);
    return status;
}
