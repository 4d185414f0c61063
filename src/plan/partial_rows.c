/** Computes, moves and adds partial rows of Y. */
#include "plan/partial_rows.h"

#include "base/memory.h"
#include "device/device_ops.h"
#include "distribute/node_sums.h"
#include "formats/multivector.h"
#include "plan/choose.h"
#include "exchange/exchange.h"
#include "plan/plan.h"

struct sp_partial_rows {
    const sp_joint *joint;
    sp_grid
        grid; /* the plan's, with a process column of its own, so that messages of X are not taken for partial rows */
    int threads;
    sp_shape shape;
    sp_row_blocks parts; /* one row block: the rows for other ranks */
    sp_node_sums *node;  /* NULL: rows travel to the ranks that they are for in one step */
    sp_grid node_grid;   /* with `node`: its ranks */
    sp_exchange *inside; /* with `node`: of rows within the node, before the other one; else NULL */
    sp_exchange *exchange;
    sp_move_state inside_state, state; /* of these */
    sp_event *computed;                /* on a GPU: the rows for other ranks are */
    spmm_multivector s;                /* the partial rows: those of other ranks are its ghost rows */
    /* what is added to Y and, with `node`, within S: on a GPU in memory of their own, else arrays of the joint or of `node` */
    sp_row_sums sums, node_sums;
    int64_t message_rows;
};

/* ---- set-up ---- */

static spmm_status choose(const sp_partial_rows *r, const spmm_plan_options *o, int64_t k,
                          const sp_kernel **kernel)
{
    const spmm_block rows = {.csr = r->joint->moves.local};
    sp_features f;
    TRY(sp_plan_features(r->grid.comm, &rows, r->threads, &f));
    return sp_choose(&f, k, o->products, rows.csr.precision, o->device, o->format, kernel, NULL, 0);
}

static spmm_status upload(void *host, int64_t bytes, const void **device)
{
    void *memory = NULL;
    TRY(sp_device_alloc(&memory, bytes, "lists of partial rows"));
    *device = memory;
    return sp_device_upload(memory, host, bytes);
}

/** Makes the lists that the adding reads, in the memory where rows are added. */
static spmm_status create_sums(const sp_partial_rows *r, const sp_sum_lists *l, sp_row_sums *sums)
{
    if (r->parts.kernel->device == SPMM_CPU) {
        *sums = (sp_row_sums){l->count, l->row, l->start, l->addend};
        return SPMM_OK;
    }
    sums->count = l->count;
    TRY(upload(l->row, l->count * 4, (const void **)&sums->row));
    TRY(upload(l->start, (l->count + 1) * 8, (const void **)&sums->start));
    return upload(l->addend, l->start[l->count] * 4, (const void **)&sums->addend);
}

static void free_sums(const sp_partial_rows *r, const sp_row_sums *sums)
{
    if (!r->parts.kernel || r->parts.kernel->device == SPMM_CPU) return;
    sp_device_free((void *)(uintptr_t)sums->row);
    sp_device_free((void *)(uintptr_t)sums->start);
    sp_device_free((void *)(uintptr_t)sums->addend);
}

static spmm_status create_all_sums(sp_partial_rows *r)
{
    if (!r->node) return create_sums(r, &r->joint->sums, &r->sums);
    TRY(create_sums(r, &r->node->to_own, &r->node_sums));
    return create_sums(r, &r->node->to_y, &r->sums);
}

static spmm_status create_s(sp_partial_rows *r, int64_t k)
{
    const sp_halo *const h = r->node ? &r->node->between : &r->joint->moves;
    const spmm_precision precision = r->joint->moves.local.precision;
    void *memory = NULL;
    int64_t bytes = 0;
    if (r->parts.kernel->device == SPMM_CPU)
        return sp_multivector_create(h->ghost_low, h->own, h->ghost_high, k, precision, SPMM_CPU, &r->s);
    TRY(sp_multivector_size(sp_halo_rows(h), k, precision, &bytes));
    TRY(sp_event_create(&r->computed));
    /* an exchange between nodes is by messages, from and to any memory */
    TRY(sp_exchange_alloc(r->inside ? r->inside : r->exchange, bytes, &memory));
    r->s = sp_multivector_in(memory, h->ghost_low, h->own, h->ghost_high, k, precision, SPMM_CUDA);
    return SPMM_OK;
}

static void destroy_exchanges(sp_partial_rows *r)
{
    sp_exchange_destroy(r->inside);
    sp_exchange_destroy(r->exchange);
    sp_node_sums_destroy(r->node);
    r->inside = r->exchange = NULL;
    r->node = NULL;
}

/** Creates the exchanges for rows that are added inside nodes.
 *  \param [in] move  of the exchange between nodes */
static spmm_status create_two_exchanges(sp_partial_rows *r, const sp_exchange_options *move)
{
    sp_exchange_options inside = *move;
    if (move->space == SPMM_CUDA) inside.transport = SPMM_TRANSPORT_AUTO;
    r->node_grid = sp_grid_of_column(&r->grid, r->node->comm);
    TRY(sp_exchange_create(&r->node_grid, &r->node->inside, &inside, &r->inside));
    return sp_exchange_create(&r->grid, &r->node->between, move, &r->exchange);
}

/** Determines whether rows are to be added inside nodes on GPUs, where that is possible: if both exchanges, which there are,
 *  take less time than one in which each rank sends its own.
 *  \param [out] faster  the same on every rank */
static spmm_status compare_ways(const sp_partial_rows *r, const sp_exchange_options *move, int *faster)
{
    double inside, between, each;
    TRY(sp_exchange_seconds(r->inside, &inside));
    TRY(sp_exchange_seconds(r->exchange, &between));
    TRY(sp_exchange_try(&r->grid, &r->joint->moves, move, &each));
    *faster = inside + between < each;
    return SPMM_OK;
}

/** Creates the exchanges: two if rows are added inside nodes, else one. On CPUs they are wherever they can be, unless every rank
 *  is to send its own messages (SPMM_TRANSPORT_MPI). */
static spmm_status create_exchanges(sp_partial_rows *r, const spmm_plan_options *o, int64_t k)
{
    const sp_joint *const j = r->joint;
    const spmm_precision precision = j->moves.local.precision;
    const spmm_device space = r->parts.kernel->device;
    /* partial rows do not lie in common memory */
    const spmm_transport transport = space == SPMM_CPU ? SPMM_TRANSPORT_MPI : o->transport;
    const sp_exchange_options move = {.row_bytes = sp_multivector_ld(k, precision) * sp_value_size(precision),
                                      .space = space,
                                      .transport = transport,
                                      .queued = o->stream != NULL,
                                      .untimed = !sp_plan_tries(o),
                                      .threads = r->threads};
    sp_relaying relaying = SP_RELAY_ALWAYS;
    if (space == SPMM_CUDA) TRY(sp_exchange_relaying(r->grid.comm, &relaying));
    const int direct = relaying == SP_RELAY_NEVER ||
                       o->transport == (space == SPMM_CPU ? SPMM_TRANSPORT_MPI : SPMM_TRANSPORT_PEER);
    r->message_rows = j->moves.all_moved;
    if (!direct) TRY(sp_node_sums_create(&r->grid, j, &r->node, &r->message_rows));
    if (r->node) {
        int faster = 1;
        TRY(create_two_exchanges(r, &move));
        if (relaying == SP_RELAY_FASTER && sp_plan_tries(o)) TRY(compare_ways(r, &move, &faster));
        if (faster) return SPMM_OK;
        destroy_exchanges(r);
        r->message_rows = j->moves.all_moved;
    }
    return sp_exchange_create(&r->grid, &j->moves, &move, &r->exchange);
}

static spmm_status build(sp_partial_rows *r, const spmm_plan_options *o, const sp_kernel *kernel, int64_t k)
{
    const sp_halo *const moves = &r->joint->moves;
    MPI_Comm comm = r->grid.comm;
    if (!kernel) TRY(choose(r, o, k, &kernel));
    sp_row_blocks_find(moves, 0, &r->parts);
    TRY(sp_agree(comm, "convert",
                 sp_row_blocks_create(moves, kernel, k, o->ell_limit, r->threads, r->shape, &r->parts)));
    TRY(create_exchanges(r, o, k));
    spmm_status status = create_s(r, k);
    if (status == SPMM_OK) status = create_all_sums(r);
    return sp_agree(comm, "convert", status);
}

spmm_status sp_partial_rows_create(const sp_grid *grid, const sp_halo *halo, const spmm_plan_options *options,
                                   const sp_kernel *kernel, int64_t k, int threads, sp_partial_rows **rows)
{
    sp_partial_rows *r = NULL;
    *rows = NULL;
    TRY(sp_agree(grid->comm, "convert", sp_alloc_zero((void **)&r, 1, sizeof *r, "partial rows")));
    r->joint = halo->joint;
    r->grid = *grid;
    r->grid.col_comm = MPI_COMM_NULL;
    r->threads = threads;
    r->shape = (sp_shape){options->block_size, options->subwarp};
    spmm_status status = SP_MPI(MPI_Comm_dup(grid->col_comm, &r->grid.col_comm));
    if (status == SPMM_OK) status = build(r, options, kernel, k);
    if (status != SPMM_OK) {
        sp_partial_rows_destroy(r);
        return status;
    }
    *rows = r;
    return SPMM_OK;
}

void sp_partial_rows_destroy(sp_partial_rows *r)
{
    if (!r) return;
    free_sums(r, &r->sums);
    free_sums(r, &r->node_sums);
    destroy_exchanges(r);
    sp_event_destroy(r->computed);
    spmm_multivector_destroy(&r->s);
    sp_row_blocks_destroy(&r->parts);
    sp_comm_free(&r->grid.col_comm);
    sp_free(r);
}

spmm_status sp_partial_rows_map(sp_partial_rows *r, int *all)
{
    *all = 1;
    return r ? sp_row_blocks_map(&r->parts, all) : SPMM_OK;
}

spmm_status sp_partial_rows_update(sp_partial_rows *r, const void *on_gpu)
{
    return r ? sp_row_blocks_update(&r->parts, on_gpu) : SPMM_OK;
}

/* ---- products ---- */

spmm_status sp_partial_rows_compute(sp_partial_rows *r, const spmm_multivector *x, sp_phases *phases)
{
    spmm_multivector own = *x, y = r->s;
    own.ghost_low = own.ghost_high = y.ghost_low = y.ghost_high = 0;
    TRY(sp_phase_begin(phases, SP_PHASE_PARTIAL, 0, SP_STREAM_MAIN));
    TRY(sp_row_blocks_run(&r->parts, 0, r->parts.count, r->shape, &own, &y, SP_STREAM_MAIN));
    TRY(sp_phase_end(phases, SP_PHASE_PARTIAL, 0, SP_STREAM_MAIN));
    return r->computed ? sp_event_record(r->computed, SP_STREAM_MAIN) : SPMM_OK;
}

/** Makes an exchange wait for the rows that it sends. As late as possible, because rows of X travel in the same stream.
 *  \param [in] late  1: in sp_exchange_end(), 0: in sp_exchange_begin() */
static spmm_status wait_for_rows(const sp_partial_rows *r, const sp_exchange *exchange, int late)
{
    if (!r->computed || sp_exchange_starts_late(exchange) != late) return SPMM_OK;
    return sp_stream_wait_event(r->computed, sp_exchange_stream(exchange));
}

/** Begins an exchange, unless this rank has failed before. */
static spmm_status begin_move(const sp_partial_rows *r, sp_exchange *exchange, spmm_status status,
                              sp_move_state *state)
{
    *state = SP_MOVE_NOT_BEGUN;
    if (status != SPMM_OK) return SPMM_OK;
    TRY(wait_for_rows(r, exchange, 0));
    *state = SP_MOVE_OVER; /* after a failure the neighbours have been told */
    TRY(sp_exchange_begin(exchange, r->s.data));
    *state = SP_MOVE_BEGUN;
    return SPMM_OK;
}

/** Ends an exchange; tells the neighbours of a failure before, if it has not begun. */
static spmm_status end_move(const sp_partial_rows *r, sp_exchange *exchange, sp_move_state *state)
{
    const sp_move_state was = *state;
    *state = SP_MOVE_OVER;
    if (was == SP_MOVE_NOT_BEGUN) sp_exchange_skip(exchange);
    if (was != SP_MOVE_BEGUN) return SPMM_OK;
    const spmm_status waits = wait_for_rows(r, exchange, 1);
    const spmm_status ended = sp_exchange_end(exchange), finished = sp_exchange_finish(exchange);
    TRY(waits);
    return ended == SPMM_OK ? finished : ended;
}

int sp_partial_rows_pass_on(const sp_partial_rows *r) { return r && r->node; }

spmm_status sp_partial_rows_begin(sp_partial_rows *r, spmm_status status)
{
    return r->node ? begin_move(r, r->inside, status, &r->inside_state)
                   : begin_move(r, r->exchange, status, &r->state);
}

spmm_status sp_partial_rows_end_inside(sp_partial_rows *r)
{
    return end_move(r, r->inside, &r->inside_state);
}

spmm_status sp_partial_rows_begin_between(sp_partial_rows *r, spmm_status status)
{
    return begin_move(r, r->exchange, status, &r->state);
}

spmm_status sp_partial_rows_end(sp_partial_rows *r) { return end_move(r, r->exchange, &r->state); }

#define ADD(T)                                                                     \
    {                                                                              \
        T *const to = sp_row(y, sums->row[n]);                                     \
        for (int64_t a = sums->start[n]; a < sums->start[n + 1]; a++) {            \
            const T *const from = sp_row(&r->s, sums->addend[a] - r->s.ghost_low); \
            for (int64_t j = 0; j < y->k; j++) to[j] += from[j];                   \
        }                                                                          \
    }

/** Adds rows of S to rows of y, which may be S, too, whose own rows are counted then. */
static void add_on_host(const sp_partial_rows *r, const sp_row_sums *sums, const spmm_multivector *y)
{
#pragma omp parallel for schedule(static) num_threads(r->threads)
    for (int64_t n = 0; n < sums->count; n++) {
        if (y->precision == SPMM_F64)
            ADD(double)
        else
            ADD(float)
    }
}

spmm_status sp_partial_rows_add_inside(sp_partial_rows *r, sp_phases *phases)
{
    TRY(sp_phase_begin(phases, SP_PHASE_NODE_SUMS, 0, SP_STREAM_MAIN));
    if (r->s.space == SPMM_CPU)
        add_on_host(r, &r->node_sums, &r->s);
    else
        TRY(sp_cuda_add_rows(&r->node_sums, &r->s, &r->s, sp_device_stream(SP_STREAM_MAIN)));
    TRY(sp_phase_end(phases, SP_PHASE_NODE_SUMS, 0, SP_STREAM_MAIN));
    return r->computed ? sp_event_record(r->computed, SP_STREAM_MAIN) : SPMM_OK;
}

spmm_status sp_partial_rows_settle(sp_partial_rows *r)
{
    if (!r) return SPMM_OK;
    const spmm_status inside = sp_exchange_settle(r->inside), last = sp_exchange_settle(r->exchange);
    return inside == SPMM_OK ? last : inside;
}

spmm_status sp_partial_rows_add(const sp_partial_rows *r, spmm_multivector *y, sp_phases *phases)
{
    TRY(sp_phase_begin(phases, SP_PHASE_ADD, 0, SP_STREAM_MAIN));
    if (y->space == SPMM_CPU)
        add_on_host(r, &r->sums, y);
    else
        TRY(sp_cuda_add_rows(&r->sums, &r->s, y, sp_device_stream(SP_STREAM_MAIN)));
    return sp_phase_end(phases, SP_PHASE_ADD, 0, SP_STREAM_MAIN);
}

int sp_partial_rows_queue(const sp_partial_rows *r)
{
    return !r || (sp_exchange_queues(r->inside) && sp_exchange_queues(r->exchange));
}

spmm_transport sp_partial_rows_transport(const sp_partial_rows *r)
{
    return sp_exchange_transport(r->exchange);
}

int64_t sp_partial_rows_messages(const sp_partial_rows *r) { return r ? r->message_rows : 0; }
