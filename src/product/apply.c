/** Computes products Y := alpha A X + beta Y: operands, begin and end, the caller's stream. */
#include <stdio.h>

#include "base/enum_words.h"
#include "formats/multivector.h"
#include "product/steps.h"

spmm_transport sp_product_transport(const sp_product *p)
{
    if (p->exchange) return sp_exchange_transport(p->exchange);
    return p->partial ? sp_partial_rows_transport(p->partial) : SPMM_TRANSPORT_AUTO;
}

/* ---- operands ---- */

spmm_status sp_product_check_operand(const sp_product *p, const spmm_multivector *v, int64_t rows, int64_t k,
                                     const char *name)
{
    TRY(sp_multivector_check_any(v, p->function, name));
    if (v->rows == rows && v->k == k && v->precision == p->precision && v->space == p->space) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE,
                   "%s: %s is %lld x %lld %s in %s memory, expected %lld x %lld %s in %s memory", p->function,
                   name, (long long)v->rows, (long long)v->k, sp_precision_word(v->precision),
                   sp_memory_word(v->space), (long long)rows, (long long)k, sp_precision_word(p->precision),
                   sp_memory_word(p->space));
}

/** Returns 1 if the caller's X can be used in place. X must be row-major. If the column blocks are parts of X
 *  and this product exchanges rows, X must also have memory for the ghost rows and the plan's distance
 *  between rows, and the exchange must accept the address of X. */
static int receives_ghost_rows(const sp_product *p, const spmm_multivector *x)
{
    const sp_moves *const m = p->moves;
    if (x->layout == SPMM_COLUMN_MAJOR) return 0;
    if (!p->column_blocks.in_x || (m->ghost_low + m->ghost_high == 0 && !p->exchange)) return 1;
    return x->ld == sp_multivector_ld(p->k, p->precision) && x->ghost_low >= m->ghost_low &&
           x->ghost_high >= m->ghost_high &&
           (!p->exchange || sp_exchange_takes(p->exchange, sp_row(x, -m->ghost_low)));
}

/** Checks that a buffer which this product needs may be allocated: allocation is forbidden while a stream is
 *  captured. */
static spmm_status check_allocation(const sp_product *p)
{
    if (!p->pending.captured) return SPMM_OK;
    return sp_fail(
        SPMM_ERR_USAGE,
        "%s: the stream is being captured in a CUDA graph, and this product must allocate a copy of x or "
        "y: expected a product with the same x, y and beta before the capture",
        p->function);
}

/** Copies X into the plan's X; on a GPU the copy is queued. */
static spmm_status copy_x(sp_product *p, const spmm_multivector *x)
{
    if (x->layout == SPMM_COLUMN_MAJOR)
        return sp_multivector_axpby(sp_value_of(1, p->precision), x, (sp_value){0}, &p->x, p->threads);
    if (p->space == SPMM_CPU) return spmm_multivector_copy(x, &p->x);
    return sp_stream_copy_2d(p->x.data, sp_row_bytes(&p->x), x->data, sp_row_bytes(x),
                             x->k * sp_value_size(x->precision), x->rows, SP_STREAM_MAIN);
}

/** Sets the plan's column blocks to those of the caller's X. If the caller's X cannot be used in place, it is
 *  first copied to the plan's X, and the column blocks are those of the copy.
 *  \param [in] exchange  the exchange that will move the column blocks; NULL: they are not exchanged */
static spmm_status set_x(sp_product *p, const spmm_multivector *x, const sp_exchange *exchange)
{
    if (!receives_ghost_rows(p, x)) {
        if (!p->x.data) {
            TRY(check_allocation(p));
            TRY(sp_product_create_copy(p));
        }
        TRY(copy_x(p, x));
        x = &p->x;
    }
    p->pending.x = *x;
    return sp_column_blocks_set(&p->column_blocks, x, exchange, p->threads);
}

/* ---- products ---- */

/** Checks the operands of a product with 0 columns. Such a product does nothing else. */
static spmm_status check_empty(const sp_product *p, const spmm_multivector *x, const spmm_multivector *y)
{
    TRY(sp_product_check_operand(p, x, p->moves->own, p->k, "x"));
    return p->pending.kinds & SP_STEP_COMPUTES ? sp_product_check_operand(p, y, p->y_rows, p->k, "y")
                                               : SPMM_OK;
}

/** Checks that a product can be captured in a CUDA graph. */
static spmm_status check_capture(const sp_product *p)
{
    static const char captured[] = "the stream is being captured in a CUDA graph";
    const int sums = sp_exchange_queues(p->exchange) && sp_partial_rows_queue(p->partial);
    if (!sp_product_queues(p))
        return sp_fail(SPMM_ERR_USAGE, "%s: %s, and %s %s needs the host: choose another one", p->function,
                       captured, sums ? "reduce" : "transport",
                       sums ? sp_reduce_word(sp_reduction_method(p->reduction))
                            : sp_transport_word(sp_product_transport(p)));
    if (p->times.products + p->times.queued == 0)
        return sp_fail(SPMM_ERR_USAGE, "%s: %s, expected a product of the plan before the capture",
                       p->function, captured);
    return SPMM_OK;
}

/** Returns v in row-major form: a column-major multivector with one column is also row-major. */
static spmm_multivector by_rows(const spmm_multivector *v)
{
    spmm_multivector r = *v;
    if (v->k == 1 && v->layout == SPMM_COLUMN_MAJOR) {
        r.layout = SPMM_ROW_MAJOR;
        r.ld = 1;
    }
    return r;
}

/** Checks Y, checks that X and Y do not overlap, and determines where the kernels write A X: to the caller's
 *  y if possible, else to p->y. */
static spmm_status set_y(sp_product *p, const spmm_multivector *x, sp_value beta, const spmm_multivector *y)
{
    TRY(sp_product_check_operand(p, y, p->y_rows, p->k, "y"));
    TRY(sp_multivector_apart(x, y, p->function, "x", "y"));
    const spmm_multivector *const to = &p->pending.y;
    const int64_t rows = p->local->csr.rows;
    p->pending.y = by_rows(y);
    const int direct = p->y_rows == rows && sp_value_is(beta, p->precision, 0) &&
                       to->layout == SPMM_ROW_MAJOR &&
                       (!p->reduction || to->ld == sp_multivector_ld(p->k, p->precision));
    if (!direct && !p->y.data) {
        TRY(check_allocation(p));
        TRY(spmm_multivector_create(rows, p->widths.most, p->precision, p->space, &p->y));
        p->y = sp_multivector_with_k(&p->y, p->k);
    }
    p->pending.product = direct ? *to : p->y;
    return SPMM_OK;
}

/** Checks the operands, and determines where kernels read X and write A X. */
static spmm_status apply_prepare(sp_product *p, const spmm_multivector *x, sp_value beta,
                                 const spmm_multivector *y)
{
    sp_pending *const d = &p->pending;
    if (p->stream) TRY(sp_device_captures(p->stream, &d->captured));
    if (d->captured) TRY(check_capture(p));
    TRY(sp_product_check_operand(p, x, p->moves->own, p->k, "x"));
    if (d->kinds & SP_STEP_COMPUTES) TRY(set_y(p, x, beta, y));
    const spmm_multivector rows = by_rows(x);
    return set_x(p, &rows, d->kinds & SP_STEP_MOVES ? p->exchange : NULL);
}

/** Begins a product: runs the steps that do not wait for another rank or for a GPU. If the whole product can
 *  be queued on the GPU (sp_product_queues()), queues all steps.
 *  \param [in] kinds  kinds of the steps to run; without SP_STEP_MOVES, the current ghost rows and partial
 *                     rows of other ranks are used
 *  \return this rank's status so far, which apply_end() also returns; apply_end() must follow in any case */
static spmm_status apply_begin(sp_product *p, int kinds, sp_value alpha, const spmm_multivector *x,
                               sp_value beta, const spmm_multivector *y)
{
    sp_pending *const d = &p->pending;
    *d = (sp_pending){.open = 1, .kinds = kinds, .alpha = alpha, .beta = beta};
    d->status = p->k > 0 ? apply_prepare(p, x, beta, y) : check_empty(p, x, y);
    sp_phases_clear(&p->phases);
    d->prepared = d->status == SPMM_OK && p->k > 0;
    d->whole = d->prepared && sp_product_queues(p);
    if (d->prepared) d->status = sp_steps_run(p, 0, d->whole ? p->steps.count : p->steps.begins, SPMM_OK);
    if (d->status != SPMM_OK) snprintf(d->message, sizeof d->message, "%s", spmm_error_message());
    return d->status;
}

/** Returns 1 if a rank that failed before its first step can notify the other ranks. It cannot if the
 *  notification waits for the GPU while a CUDA graph is captured. */
static int may_tell(const sp_product *p)
{
    const int waits = sp_exchange_skip_waits(p->exchange) || sp_partial_rows_skip_waits(p->partial) ||
                      sp_reduction_method(p->reduction) == SPMM_REDUCE_NCCL;
    return !p->pending.captured || !waits;
}

/** Runs the steps that apply_begin() has not run. */
static spmm_status apply_finish(sp_product *p)
{
    const sp_pending *const d = &p->pending;
    if (p->k == 0) return d->status; /* with 0 columns no other rank waits */
    if (!d->prepared) return may_tell(p) ? sp_steps_run(p, 0, p->steps.count, d->status) : d->status;
    if (!d->whole) return sp_steps_run(p, p->steps.begins, p->steps.count, d->status);
    const int waits = (d->kinds & SP_STEP_MOVES) && !d->captured;
    const spmm_status settled = waits ? sp_steps_settle(p) : SPMM_OK;
    if (d->status == SPMM_OK) return settled;
    sp_set_message(d->message);
    return d->status;
}

/** Ends a product that apply_begin() began. */
static spmm_status apply_end(sp_product *p)
{
    sp_pending *const d = &p->pending;
    d->open = 0;
    if (d->status != SPMM_OK) sp_set_message(d->message); /* other calls may have failed since */
    const spmm_status status = apply_finish(p);
    if (p->space == SPMM_CPU || d->captured || !d->prepared) return status;
    const spmm_status done =
        sp_device_sync(); /* even after a failure, because kernels queued before it may still read X */
    return status == SPMM_OK ? done : status;
}

/** Counts a product that took `seconds`. */
static void apply_count(sp_product_times *t, double seconds)
{
    t->least = t->products == 0 || seconds < t->least ? seconds : t->least;
    t->greatest = seconds > t->greatest ? seconds : t->greatest;
    t->seconds += seconds;
    t->last[t->products++ % SP_LAST_TIMES] = seconds;
}

spmm_status sp_product_begin(sp_product *p, sp_value alpha, const spmm_multivector *x, sp_value beta,
                             const spmm_multivector *y)
{
    const double now = MPI_Wtime();
    const spmm_status taken = p->stream ? sp_device_take_stream(p->stream) : SPMM_OK;
    const spmm_status status = apply_begin(p, SP_STEP_ALL, alpha, x, beta, y);
    const spmm_status returned = p->stream ? sp_device_return_stream() : SPMM_OK;
    p->pending.seconds = MPI_Wtime() - now;
    if (status != SPMM_OK) return status;
    return taken == SPMM_OK ? returned : taken;
}

spmm_status sp_product_end(sp_product *p)
{
    const double now = MPI_Wtime();
    if (p->stream) TRY(sp_device_take_stream(p->stream));
    const spmm_status status = apply_end(p);
    if (p->stream) (void)sp_device_return_stream(); /* later calls report errors of the stream */
    TRY(status);
    apply_count(&p->times, p->pending.seconds + MPI_Wtime() - now);
    return SPMM_OK;
}

spmm_status sp_product_apply(sp_product *p, sp_value alpha, const spmm_multivector *x, sp_value beta,
                             const spmm_multivector *y)
{
    const spmm_status status = sp_product_begin(p, alpha, x, beta, y);
    if (!p->stream || !p->pending.whole || status != SPMM_OK) return sp_product_end(p);
    p->pending.open = 0;
    p->times.queued += !p->pending.captured;
    return SPMM_OK;
}

int sp_product_queues(const sp_product *p)
{
    /* A rank whose exchange fails must add NaNs to the sum over the process row. So without a caller's stream
     * the host waits for the exchange before the sum, and a product with a sum cannot be queued as a
     * whole. */
    const int sums = !p->reduction || (p->stream && sp_reduction_method(p->reduction) == SPMM_REDUCE_NCCL);
    return p->space == SPMM_CUDA && sums && sp_exchange_queues(p->exchange) &&
           sp_partial_rows_queue(p->partial);
}

spmm_status sp_product_wait(sp_product *p)
{
    if (!p->stream) return SPMM_OK;
    TRY(sp_device_take_stream(p->stream));
    const spmm_status status = sp_steps_settle(p);
    const spmm_status done = sp_device_sync();
    (void)sp_device_return_stream();
    return status == SPMM_OK ? done : status;
}

spmm_status sp_product_run(sp_product *p, int kinds, const spmm_multivector *x, const spmm_multivector *y)
{
    if (kinds == SP_STEP_MOVES && !p->exchange && !p->partial) return SPMM_OK;
    (void)apply_begin(p, kinds, sp_value_of(1, p->precision), x, (sp_value){0}, y);
    return apply_end(p);
}

void sp_product_skip(sp_product *p, int kinds)
{
    p->pending = (sp_pending){.kinds = kinds};
    if (p->k > 0) (void)sp_steps_run(p, 0, p->steps.count, SPMM_ERR_INTERNAL);
}

/* ---- times ---- */

spmm_status sp_product_measure(sp_product *p)
{
    return p->phases.on ? SPMM_OK : sp_phases_create(p->space, p->column_blocks.count, &p->phases);
}

spmm_status sp_product_seconds(const sp_product *p, sp_apply_seconds *s)
{
    double partial, add;
    TRY(sp_phase_seconds(&p->phases, SP_PHASE_INTERIOR, &s->interior));
    TRY(sp_phase_seconds(&p->phases, SP_PHASE_BOUNDARY, &s->boundary));
    TRY(sp_phase_seconds(&p->phases, SP_PHASE_REDUCE, &s->reduce));
    TRY(sp_phase_seconds(&p->phases, SP_PHASE_PARTIAL, &partial));
    TRY(sp_phase_seconds(&p->phases, SP_PHASE_ADD, &add));
    s->kernel = s->interior + s->boundary + partial + add;
    return p->boundary_stream == SP_STREAM_MAIN ? SPMM_OK
                                                : sp_phase_seconds(&p->phases, SP_PHASE_KERNELS, &s->kernel);
}
