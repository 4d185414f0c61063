/** Computes, exchanges and adds partial rows of Y. */
#include "product/partial_rows.h"

#include "base/memory.h"
#include "halo/row_sums.h"
#include "formats/multivector.h"
#include "product/choose.h"
#include "exchange/exchange.h"

struct sp_partial_rows {
    const sp_joint *joint;
    sp_grid grid; /* the plan's grid with a separate communicator of the process column, so that messages with
                     partial rows cannot be confused with messages with rows of X */
    int threads;
    sp_shape shape;
    sp_row_blocks parts; /* one row block: the partial rows for other ranks */
    sp_exchange *exchange;
    sp_move_state state;
    sp_event *computed; /* on a GPU: the partial rows for other ranks have been computed */
    spmm_multivector s; /* the partial rows; the rows of other ranks are its ghost rows */
    sp_row_sums sums;   /* joint->sums in the memory where rows are added */
};

/* ---- set-up ---- */

static spmm_status partial_rows_choose(const sp_partial_rows *r, const spmm_plan_options *o, int64_t k,
                                       const sp_kernel **kernel)
{
    const spmm_block rows = {.csr = r->joint->partial};
    sp_features f;
    TRY(sp_features_of_blocks(r->grid.comm, &rows, NULL, r->threads, &f));
    return sp_choose(&f, k, o->products, rows.csr.precision, o->device, o->format, kernel, NULL, 0);
}

static spmm_status create_s(sp_partial_rows *r, int64_t k)
{
    const sp_moves *const m = &r->joint->moves;
    const spmm_precision precision = r->joint->partial.precision;
    void *memory = NULL;
    int64_t bytes = 0;
    if (r->parts.kernel->device == SPMM_CPU)
        return sp_multivector_create(m->ghost_low, m->own, m->ghost_high, k, precision, SPMM_CPU, &r->s);
    TRY(sp_multivector_size(sp_moves_rows(m), k, precision, &bytes));
    TRY(sp_event_create(&r->computed));
    TRY(sp_exchange_alloc(r->exchange, bytes, &memory));
    r->s = sp_multivector_in(memory, m->ghost_low, m->own, m->ghost_high, k, precision, SPMM_CUDA);
    return SPMM_OK;
}

static spmm_status create_exchange(sp_partial_rows *r, const spmm_plan_options *o,
                                   const spmm_plan_study *study, int64_t k)
{
    const spmm_precision precision = r->joint->partial.precision;
    const spmm_device space = r->parts.kernel->device;
    /* on CPUs, o->transport is not used: partial rows are never in common memory, and are sent by messages */
    const spmm_transport transport = space == SPMM_CPU ? SPMM_TRANSPORT_AUTO : o->transport;
    const sp_exchange_options move = {.row_bytes = sp_multivector_ld(k, precision) * sp_value_size(precision),
                                      .space = space,
                                      .transport = transport,
                                      .queued = o->stream != NULL,
                                      .untimed = !sp_plan_tries(o, study),
                                      .threads = r->threads};
    return sp_exchange_create(&r->grid, &r->joint->moves, &move, &r->exchange);
}

static spmm_status partial_rows_build(sp_partial_rows *r, const spmm_plan_options *o,
                                      const spmm_plan_study *study, const sp_kernel *kernel, int64_t k)
{
    const sp_local_block rows = {.csr = r->joint->partial, .own = r->joint->partial.cols};
    MPI_Comm comm = r->grid.comm;
    if (!kernel) TRY(partial_rows_choose(r, o, k, &kernel));
    sp_row_blocks_find(&rows, 0, &r->parts);
    TRY(sp_agree(comm, "convert",
                 sp_row_blocks_create(&rows.csr, kernel, k, k, (sp_conversion){.limit = study->ell_limit},
                                      r->threads, r->shape, &r->parts)));
    TRY(create_exchange(r, o, study, k));
    spmm_status status = create_s(r, k);
    if (status == SPMM_OK) status = sp_row_sums_create(&r->joint->sums, kernel->device, &r->sums);
    return sp_agree(comm, "convert", status);
}

spmm_status sp_partial_rows_create(const sp_grid *grid, const sp_joint *joint,
                                   const spmm_plan_options *options, const spmm_plan_study *study,
                                   const sp_kernel *kernel, int64_t k, int threads, sp_partial_rows **rows)
{
    sp_partial_rows *r = NULL;
    *rows = NULL;
    TRY(sp_agree(grid->comm, "convert", sp_alloc_zero((void **)&r, 1, sizeof *r, "partial rows")));
    r->joint = joint;
    r->grid = *grid;
    r->grid.col_comm = MPI_COMM_NULL;
    r->threads = threads;
    r->shape = (sp_shape){study->block_size, study->subwarp};
    spmm_status status = SP_MPI(MPI_Comm_dup(grid->col_comm, &r->grid.col_comm));
    if (status == SPMM_OK) status = partial_rows_build(r, options, study, kernel, k);
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
    if (r->parts.kernel) sp_row_sums_destroy(r->parts.kernel->device, &r->sums);
    sp_exchange_destroy(r->exchange);
    sp_event_destroy(r->computed);
    spmm_multivector_destroy(&r->s);
    sp_row_blocks_destroy(&r->parts);
    sp_comm_free(&r->grid.col_comm);
    sp_free(r);
}

int sp_partial_rows_made_anew(const sp_partial_rows *r, int64_t k)
{
    return r && sp_row_blocks_made_anew(&r->parts, k);
}

spmm_status sp_partial_rows_set_k(sp_partial_rows *r, int64_t k)
{
    if (!r) return SPMM_OK;
    r->s = sp_multivector_with_k(&r->s, k);
    TRY(sp_agree(r->grid.comm, "convert", sp_row_blocks_set_k(&r->parts, k)));
    return sp_exchange_set_rows(r->exchange, sp_row_bytes(&r->s), 0);
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

spmm_status sp_partial_rows_compute(sp_partial_rows *r, int conjugate, const spmm_multivector *x,
                                    sp_phases *phases)
{
    spmm_multivector own = *x, y = r->s;
    own.ghost_low = own.ghost_high = y.ghost_low = y.ghost_high = 0;
    TRY(sp_phase_begin(phases, SP_PHASE_PARTIAL, 0, SP_STREAM_MAIN));
    TRY(sp_row_blocks_run(&r->parts, 0, r->parts.count, r->shape, conjugate, &own, &y, SP_STREAM_MAIN));
    TRY(sp_phase_end(phases, SP_PHASE_PARTIAL, 0, SP_STREAM_MAIN));
    return r->computed ? sp_event_record(r->computed, SP_STREAM_MAIN) : SPMM_OK;
}

/** Makes the exchange's stream wait on the GPU until the rows that it sends have been computed. This is
 *  queued as late as possible, because rows of X are exchanged in the same stream.
 *  \param [in] late  1: called before sp_exchange_end(), 0: called before sp_exchange_begin() */
static spmm_status wait_for_rows(const sp_partial_rows *r, int late)
{
    if (!r->computed || sp_exchange_starts_late(r->exchange) != late) return SPMM_OK;
    return sp_stream_wait_event(r->computed, sp_exchange_stream(r->exchange));
}

spmm_status sp_partial_rows_begin(sp_partial_rows *r, spmm_status status)
{
    r->state = SP_MOVE_NOT_BEGUN;
    if (status != SPMM_OK) return SPMM_OK;
    TRY(wait_for_rows(r, 0));
    r->state = SP_MOVE_OVER; /* sp_exchange_begin() notifies the neighbors if it fails */
    TRY(sp_exchange_begin(r->exchange, r->s.data));
    r->state = SP_MOVE_BEGUN;
    return SPMM_OK;
}

spmm_status sp_partial_rows_end(sp_partial_rows *r)
{
    const sp_move_state was = r->state;
    r->state = SP_MOVE_OVER;
    if (was == SP_MOVE_NOT_BEGUN) sp_exchange_skip(r->exchange);
    if (was != SP_MOVE_BEGUN) return SPMM_OK;
    const spmm_status waits = wait_for_rows(r, 1);
    const spmm_status ended = sp_exchange_end(r->exchange), finished = sp_exchange_finish(r->exchange);
    TRY(waits);
    return ended == SPMM_OK ? finished : ended;
}

spmm_status sp_partial_rows_settle(sp_partial_rows *r)
{
    return r ? sp_exchange_settle(r->exchange) : SPMM_OK;
}

spmm_status sp_partial_rows_add(const sp_partial_rows *r, spmm_multivector *y, sp_phases *phases)
{
    TRY(sp_phase_begin(phases, SP_PHASE_ADD, 0, SP_STREAM_MAIN));
    TRY(sp_row_sums_add(&r->sums, &r->s, r->threads, y));
    return sp_phase_end(phases, SP_PHASE_ADD, 0, SP_STREAM_MAIN);
}

int sp_partial_rows_queue(const sp_partial_rows *r) { return !r || sp_exchange_queues(r->exchange); }

int sp_partial_rows_skip_waits(const sp_partial_rows *r) { return r && sp_exchange_skip_waits(r->exchange); }

spmm_transport sp_partial_rows_transport(const sp_partial_rows *r)
{
    return sp_exchange_transport(r->exchange);
}

int64_t sp_partial_rows_messages(const sp_partial_rows *r) { return r ? r->joint->moves.all_moved : 0; }
