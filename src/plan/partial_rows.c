/** Computes, moves and adds partial rows of Y. */
#include "plan/partial_rows.h"

#include "base/memory.h"
#include "device/device_ops.h"
#include "distribute/joint.h"
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
    sp_exchange *exchange;
    sp_event *computed; /* on a GPU: the rows for other ranks are */
    int moving;         /* 1: the exchange has begun, and has not ended */
    int failed;         /* 1: there are no rows to send, which sp_partial_rows_end() tells the neighbours */
    spmm_multivector s; /* the partial rows: those of other ranks are its ghost rows */
    sp_row_sums sums;   /* on a GPU in memory of its own, else the joint's arrays */
};

/* ---- set-up ---- */

static spmm_status choose(const sp_partial_rows *r, const spmm_plan_options *o, int64_t k,
                          const sp_kernel **kernel)
{
    const spmm_block rows = {.csr = r->joint->moves.local};
    sp_features f;
    *kernel = o->kernel ? sp_kernel_find(o->kernel) : NULL;
    if (*kernel) return SPMM_OK;
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

static spmm_status create_sums(sp_partial_rows *r)
{
    const sp_joint *const j = r->joint;
    const int64_t addends = j->sum_start[j->sums];
    r->sums = (sp_row_sums){.count = j->sums};
    if (r->parts.kernel->device == SPMM_CPU) {
        r->sums = (sp_row_sums){j->sums, j->sum_row, j->sum_start, j->addend};
        return SPMM_OK;
    }
    TRY(upload(j->sum_row, j->sums * 4, (const void **)&r->sums.row));
    TRY(upload(j->sum_start, (j->sums + 1) * 8, (const void **)&r->sums.start));
    return upload(j->addend, addends * 4, (const void **)&r->sums.addend);
}

static spmm_status create_s(sp_partial_rows *r, int64_t k)
{
    const sp_halo *const h = &r->joint->moves;
    const spmm_precision precision = h->local.precision;
    void *memory = NULL;
    int64_t bytes = 0;
    if (r->parts.kernel->device == SPMM_CPU)
        return sp_multivector_create(h->ghost_low, h->own, h->ghost_high, k, precision, SPMM_CPU, &r->s);
    TRY(sp_multivector_size(sp_halo_rows(h), k, precision, &bytes));
    TRY(sp_event_create(&r->computed));
    TRY(sp_exchange_alloc(r->exchange, bytes, &memory));
    r->s = sp_multivector_in(memory, h->ghost_low, h->own, h->ghost_high, k, precision, SPMM_CUDA);
    return SPMM_OK;
}

static spmm_status build(sp_partial_rows *r, const spmm_plan_options *o, int64_t k)
{
    const sp_halo *const moves = &r->joint->moves;
    MPI_Comm comm = r->grid.comm;
    const sp_kernel *kernel = NULL;
    TRY(choose(r, o, k, &kernel));
    sp_row_blocks_find(moves, 0, &r->parts);
    TRY(sp_agree(comm, "convert",
                 sp_row_blocks_create(moves, kernel, k, o->ell_limit, r->threads, r->shape, &r->parts)));
    const int64_t row_bytes = sp_multivector_ld(k, moves->local.precision) *
                              sp_value_size(moves->local.precision);
    const sp_exchange_options move = {.row_bytes = row_bytes,
                                      .space = kernel->device,
                                      .transport = o->transport,
                                      .queued = o->stream != NULL,
                                      .threads = r->threads};
    TRY(sp_exchange_create(&r->grid, moves, &move, &r->exchange));
    spmm_status status = create_s(r, k);
    if (status == SPMM_OK) status = create_sums(r);
    return sp_agree(comm, "convert", status);
}

spmm_status sp_partial_rows_create(const sp_grid *grid, const sp_halo *halo, const spmm_plan_options *options,
                                   int64_t k, int threads, sp_partial_rows **rows)
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
    if (status == SPMM_OK) status = build(r, options, k);
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
    if (r->sums.row != r->joint->sum_row) {
        sp_device_free((void *)(uintptr_t)r->sums.row);
        sp_device_free((void *)(uintptr_t)r->sums.start);
        sp_device_free((void *)(uintptr_t)r->sums.addend);
    }
    sp_exchange_destroy(r->exchange);
    sp_event_destroy(r->computed);
    spmm_multivector_destroy(&r->s);
    sp_row_blocks_destroy(&r->parts);
    if (r->grid.col_comm != MPI_COMM_NULL) MPI_Comm_free(&r->grid.col_comm);
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

static spmm_status compute(sp_partial_rows *r, const spmm_multivector *x, sp_phases *phases)
{
    spmm_multivector own = *x, y = r->s;
    own.ghost_low = own.ghost_high = y.ghost_low = y.ghost_high = 0;
    TRY(sp_phase_begin(phases, SP_PHASE_PARTIAL, 0, SP_STREAM_MAIN));
    TRY(sp_row_blocks_run(&r->parts, 0, r->parts.count, r->shape, &own, &y, SP_STREAM_MAIN));
    TRY(sp_phase_end(phases, SP_PHASE_PARTIAL, 0, SP_STREAM_MAIN));
    return r->computed ? sp_event_record(r->computed, SP_STREAM_MAIN) : SPMM_OK;
}

/** Makes the exchange wait for the rows that it sends. As late as possible, because rows of X travel in the same stream.
 *  \param [in] late  1: in sp_exchange_end(), 0: in sp_exchange_begin() */
static spmm_status wait_for_rows(const sp_partial_rows *r, int late)
{
    if (!r->computed || sp_exchange_starts_late(r->exchange) != late) return SPMM_OK;
    return sp_stream_wait_event(r->computed, sp_exchange_stream(r->exchange));
}

static spmm_status begin_exchange(sp_partial_rows *r)
{
    TRY(wait_for_rows(r, 0));
    const spmm_status status = sp_exchange_begin(r->exchange, r->s.data);
    r->moving = status == SPMM_OK;
    return status;
}

spmm_status sp_partial_rows_begin(sp_partial_rows *r, const spmm_multivector *x, int moves, sp_phases *phases)
{
    if (!r) return SPMM_OK;
    const spmm_status status = compute(r, x, phases);
    if (!moves) return status;
    if (status == SPMM_OK) return begin_exchange(r);
    r->failed = 1;
    return status;
}

spmm_status sp_partial_rows_end(sp_partial_rows *r)
{
    if (r && r->failed) sp_partial_rows_skip(r);
    if (r) r->failed = 0;
    if (!r || !r->moving) return SPMM_OK;
    r->moving = 0;
    const spmm_status waits = wait_for_rows(r, 1);
    const spmm_status ended = sp_exchange_end(r->exchange), finished = sp_exchange_finish(r->exchange);
    TRY(waits);
    return ended == SPMM_OK ? finished : ended;
}

spmm_status sp_partial_rows_settle(sp_partial_rows *r)
{
    return r ? sp_exchange_settle(r->exchange) : SPMM_OK;
}

spmm_status sp_partial_rows_move(sp_partial_rows *r)
{
    if (!r) return SPMM_OK;
    TRY(begin_exchange(r));
    return sp_partial_rows_end(r);
}

#define ADD(T)                                                                     \
    {                                                                              \
        T *const to = sp_row(y, sums->row[n]);                                     \
        for (int64_t a = sums->start[n]; a < sums->start[n + 1]; a++) {            \
            const T *const from = sp_row(&r->s, sums->addend[a] - r->s.ghost_low); \
            for (int64_t j = 0; j < y->k; j++) to[j] += from[j];                   \
        }                                                                          \
    }

static void add_on_host(const sp_partial_rows *r, spmm_multivector *y)
{
    const sp_row_sums *const sums = &r->sums;
#pragma omp parallel for schedule(static) num_threads(r->threads)
    for (int64_t n = 0; n < sums->count; n++) {
        if (y->precision == SPMM_F64)
            ADD(double)
        else
            ADD(float)
    }
}

spmm_status sp_partial_rows_add(const sp_partial_rows *r, spmm_multivector *y, sp_phases *phases)
{
    if (!r) return SPMM_OK;
    TRY(sp_phase_begin(phases, SP_PHASE_ADD, 0, SP_STREAM_MAIN));
    if (y->space == SPMM_CPU)
        add_on_host(r, y);
    else
        TRY(sp_cuda_add_rows(&r->sums, &r->s, y, sp_device_stream(SP_STREAM_MAIN)));
    return sp_phase_end(phases, SP_PHASE_ADD, 0, SP_STREAM_MAIN);
}

int sp_partial_rows_queue(const sp_partial_rows *r) { return !r || sp_exchange_queues(r->exchange); }

spmm_transport sp_partial_rows_transport(const sp_partial_rows *r)
{
    return sp_exchange_transport(r->exchange);
}

void sp_partial_rows_skip(sp_partial_rows *r)
{
    if (r) sp_exchange_skip(r->exchange);
}
