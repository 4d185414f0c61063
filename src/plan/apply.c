/** Computes products Y := alpha A X + beta Y by a plan. */
#include <stdio.h>
#include <string.h>

#include "base/arguments.h"
#include "base/enum_words.h"
#include "formats/multivector.h"
#include "plan/plan_struct.h"
#include "plan/share_x.h"

/* ---- operands ---- */

spmm_status sp_plan_check_operand(const spmm_plan *p, const spmm_multivector *v, int64_t rows,
                                  const char *name)
{
    TRY(sp_multivector_check_any(v, p->function, name));
    if (v->rows == rows && v->k == p->k && v->precision == p->precision && v->space == p->space)
        return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE,
                   "%s: %s is %lld x %lld %s in %s memory, expected %lld x %lld %s in %s memory", p->function,
                   name, (long long)v->rows, (long long)v->k, sp_precision_word(v->precision),
                   sp_memory_word(v->space), (long long)rows, (long long)p->k,
                   sp_precision_word(p->precision), sp_memory_word(p->space));
}

static spmm_status check_operands(const spmm_plan *p, const spmm_multivector *x, const spmm_multivector *y)
{
    TRY(sp_plan_check_operand(p, x, p->halo->own, "x"));
    TRY(sp_plan_check_operand(p, y, p->y_rows, "y"));
    return sp_multivector_apart(x, y, p->function, "x", "y");
}

/** Returns 1 if the caller's X can be used as it is: it is row-major, and can receive the ghost rows, or need not. */
static int receives_ghost_rows(const spmm_plan *p, const spmm_multivector *x)
{
    const sp_halo *const h = p->halo;
    if (x->layout == SPMM_COLUMN_MAJOR) return 0;
    if (!p->column_blocks.in_x || (h->ghost_low + h->ghost_high == 0 && !p->exchange)) return 1;
    return x->ld == sp_multivector_ld(p->k, p->precision) && x->ghost_low >= h->ghost_low &&
           x->ghost_high >= h->ghost_high &&
           (!p->exchange || sp_exchange_takes(p->exchange, sp_row(x, -h->ghost_low)));
}

/** Checks that a buffer which this product needs may be allocated: not while a stream is captured. */
static spmm_status check_allocation(const spmm_plan *p)
{
    if (!p->pending.captured) return SPMM_OK;
    return sp_fail(
        SPMM_ERR_USAGE,
        "%s: the stream is being captured in a CUDA graph, and this product needs memory for a copy of x or y that "
        "no product before needed: expected one with such x, y and beta before the capture",
        p->function);
}

/** Copies X into the plan's; on a GPU that is queued. */
static spmm_status copy_x(spmm_plan *p, const spmm_multivector *x)
{
    if (x->layout == SPMM_COLUMN_MAJOR) return sp_multivector_axpby(1, x, 0, &p->x, p->threads);
    if (p->space == SPMM_CPU) return spmm_multivector_copy(x, &p->x);
    return sp_stream_copy_2d(p->x.data, sp_row_bytes(&p->x), x->data, sp_row_bytes(x),
                             x->k * sp_value_size(x->precision), x->rows, SP_STREAM_MAIN);
}

/** Sets the plan's column blocks to those of the caller's X, or of a copy of it if the caller's X cannot
 *  be used as it is.
 *  \param [in] exchange  the exchange that will move them; NULL: none */
static spmm_status set_x(spmm_plan *p, const spmm_multivector *x, const sp_exchange *exchange)
{
    if (!receives_ghost_rows(p, x)) {
        if (!p->x.data) {
            TRY(check_allocation(p));
            TRY(sp_plan_x_create(p, 1, &p->x));
        }
        TRY(copy_x(p, x));
        x = &p->x;
    }
    p->pending.x = *x;
    return sp_column_blocks_set(&p->column_blocks, x, exchange, p->threads);
}

/** Determines where the kernels write A X: to the caller's y if possible, else to p->y. */
static spmm_status find_y(spmm_plan *p, double beta, const spmm_multivector *y, spmm_multivector *product)
{
    const int64_t rows = p->halo->local.rows;
    const int direct = p->y_rows == rows && beta == 0 && y->layout == SPMM_ROW_MAJOR &&
                       (!p->reduction || y->ld == sp_multivector_ld(p->k, p->precision));
    if (!direct && !p->y.data) TRY(check_allocation(p));
    if (!direct && !p->y.data) TRY(spmm_multivector_create(rows, p->k, p->precision, p->space, &p->y));
    *product = direct ? *y : p->y;
    return SPMM_OK;
}

/* ---- products ---- */

/** Runs the kernel on the interior rows or on the boundary rows, for column block s. */
static spmm_status run(spmm_plan *p, const sp_exchange *exchange, sp_phase phase, int s,
                       const spmm_multivector *y)
{
    const int interior = phase == SP_PHASE_INTERIOR;
    const int begin = interior ? 0 : p->parts.interior, end = interior ? p->parts.interior : p->parts.count;
    const sp_stream stream = interior ? SP_STREAM_MAIN : p->boundary_stream;
    spmm_multivector xs = sp_column_blocks_x(&p->column_blocks, s);
    const spmm_multivector ys = sp_column_blocks_y(&p->column_blocks, s, y);
    if (begin == end) return SPMM_OK;
    if (exchange) xs.data = sp_exchange_reads_at(exchange);
    TRY(sp_phase_begin(&p->phases, phase, s, stream));
    TRY(sp_row_blocks_run(&p->parts, begin, end, p->shape, &xs, &ys, stream));
    return sp_phase_end(&p->phases, phase, s, stream);
}

static spmm_status begin_exchange(const spmm_plan *p, sp_exchange *exchange, int s)
{
    /* nothing can be multiplied before the first column block is there */
    if (p->column_blocks.count > 1) sp_exchange_beside(exchange, s > 0 || p->partial != NULL);
    return sp_exchange_begin(exchange, p->column_blocks.x[s].data);
}

/** Ends what multiply_block() began, of column block s.
 *  \param [in] status  of its interior rows */
static spmm_status end_block(spmm_plan *p, sp_exchange *exchange, int s, const spmm_multivector *y,
                             spmm_status status)
{
    /* even after a failure: other ranks wait for this rank */
    const spmm_status ended = sp_exchange_end(exchange);
    if (status == SPMM_OK) status = ended;
    if (status == SPMM_OK) status = run(p, exchange, SP_PHASE_BOUNDARY, s, y);
    /* after the boundary rows of all column blocks, which need not wait for partial rows */
    const int last = s == p->column_blocks.count - 1;
    const spmm_status partial = last ? sp_partial_rows_end(p->partial) : SPMM_OK;
    if (status == SPMM_OK) status = partial;
    const spmm_status finished = sp_exchange_finish(exchange);
    return status == SPMM_OK ? finished : status;
}

/** Computes the columns of Y that belong to column block s of X. Interior rows overlap with the exchange; on
 *  a GPU, so do the kernels of the column blocks before, and boundary rows run beside interior rows. */
static spmm_status multiply_block(spmm_plan *p, sp_exchange *exchange, int s, const spmm_multivector *y)
{
    TRY(begin_exchange(p, exchange, s));
    return end_block(p, exchange, s, y, run(p, exchange, SP_PHASE_INTERIOR, s, y));
}

/** Begins to compute Y = A X on this rank's block: the first exchanges and, on a GPU, the interior rows. */
static spmm_status start(spmm_plan *p)
{
    sp_pending *const d = &p->pending;
    sp_exchange *const exchange = d->moves ? p->exchange : NULL;
    const int aside = p->boundary_stream != SP_STREAM_MAIN;
    spmm_status status = sp_phase_begin(&p->phases, SP_PHASE_KERNELS, 0, SP_STREAM_MAIN);
    if (status == SPMM_OK && aside && !exchange) status = sp_stream_wait(p->boundary_stream, SP_STREAM_MAIN);
    if (status == SPMM_OK) {
        d->blocks = 1;
        status = begin_exchange(p, exchange, 0);
        d->exchanging = status == SPMM_OK;
    }
    TRY(status);
    /* rows of X travel while partial rows are computed */
    d->partial = 1;
    TRY(sp_partial_rows_begin(p->partial, &d->x, d->moves, &p->phases));
    return p->space == SPMM_CUDA ? run(p, exchange, SP_PHASE_INTERIOR, 0, &d->product) : SPMM_OK;
}

/** Computes what is left after start(). After a failure, this rank still takes part in the exchange of the
 *  remaining column blocks and of partial rows, because other ranks wait for it. */
static spmm_status multiply(spmm_plan *p)
{
    sp_pending *const d = &p->pending;
    sp_exchange *const exchange = d->moves ? p->exchange : NULL;
    spmm_status status = d->status;
    const spmm_status passed = d->partial ? sp_partial_rows_pass_on(p->partial, &p->phases) : SPMM_OK;
    if (status == SPMM_OK) status = passed;
    if (d->moves && !d->partial) sp_partial_rows_skip(p->partial);
    if (d->exchanging && p->space == SPMM_CPU && status == SPMM_OK)
        status = run(p, exchange, SP_PHASE_INTERIOR, 0, &d->product);
    if (d->exchanging) status = end_block(p, exchange, 0, &d->product, status);
    for (int s = d->blocks; s < p->column_blocks.count; s++)
        if (status == SPMM_OK)
            status = multiply_block(p, exchange, s, &d->product);
        else
            sp_exchange_skip(exchange);
    (void)sp_partial_rows_end(p->partial); /* after a failure before the last column block */
    if (p->boundary_stream != SP_STREAM_MAIN && status == SPMM_OK)
        status = sp_stream_wait(SP_STREAM_MAIN, p->boundary_stream);
    if (status == SPMM_OK) status = sp_partial_rows_add(p->partial, &d->product, &p->phases);
    return status == SPMM_OK ? sp_phase_end(&p->phases, SP_PHASE_KERNELS, 0, SP_STREAM_MAIN) : status;
}

/** Fills this rank's partial product with NaNs after a failure, so that nobody mistakes the sum for a
 *  result. */
static void poison(const spmm_multivector *product)
{
    const int64_t bytes = sp_multivector_bytes(product);
    if (product->space == SPMM_CPU)
        memset(product->data, 0xff, (size_t)bytes);
    else
        (void)sp_device_nan(product->data, bytes);
}

/** Sums the partial products of the process row.
 *  \param [in] multiplied  status of this rank's product; after a failure it contributes NaNs, because other
 *                          ranks wait */
static spmm_status reduce(spmm_plan *p, const spmm_multivector *product, spmm_status multiplied)
{
    if (!p->reduction) return SPMM_OK;
    if (multiplied != SPMM_OK) poison(product);
    (void)sp_phase_begin(&p->phases, SP_PHASE_REDUCE, 0, SP_STREAM_MAIN); /* later calls report errors */
    TRY(sp_reduction_run(p->reduction, product->data));
    return sp_phase_end(&p->phases, SP_PHASE_REDUCE, 0, SP_STREAM_MAIN);
}

/** Returns 1 if skip() can be called: to tell of a failure by NCCL takes memory and waiting, which would break a capture. */
static int may_skip(const spmm_plan *p)
{
    return !p->pending.captured || (sp_plan_transport(p) != SPMM_TRANSPORT_NCCL &&
                                    sp_reduction_method(p->reduction) != SPMM_REDUCE_NCCL);
}

/** Takes the place of a product on a rank that failed before. Preserves this rank's error message. */
static void skip(spmm_plan *p, int moves)
{
    char text[SP_MESSAGE_BYTES];
    const char *const why = spmm_error_message();
    memcpy(text, why, strlen(why) + 1); /* the calls below may overwrite the message of the first error */
    if (moves && may_skip(p)) {
        sp_plan_skip_exchange(p);
        if (p->reduction) sp_reduction_skip(p->reduction);
    }
    sp_set_message(text);
}

/** Waits until the exchanges are done.
 *  \param [in] moves   0: there were none
 *  \param [in] status  of this rank's part in them; a failure is passed on, with its message */
static spmm_status settle(spmm_plan *p, int moves, spmm_status status)
{
    char text[SP_MESSAGE_BYTES];
    const char *const why = spmm_error_message();
    if (!moves) return status;
    memcpy(text, why, strlen(why) + 1);
    spmm_status settled = sp_exchange_settle(p->exchange);
    const spmm_status partial = sp_partial_rows_settle(p->partial);
    if (settled == SPMM_OK) settled = partial;
    if (status == SPMM_OK) return settled;
    sp_set_message(text);
    return status;
}

/** Checks that a product can be captured in a CUDA graph. */
static spmm_status check_capture(const spmm_plan *p)
{
    static const char captured[] = "the stream is being captured in a CUDA graph";
    const int sums = sp_exchange_queues(p->exchange) && sp_partial_rows_queue(p->partial);
    if (!sp_plan_queues(p))
        return sp_fail(SPMM_ERR_USAGE, "%s: %s, and %s %s needs the host: expected another", p->function,
                       captured, sums ? "reduce" : "transport",
                       sums ? sp_reduce_word(sp_reduction_method(p->reduction))
                            : sp_transport_word(sp_plan_transport(p)));
    if (p->times.products + p->times.queued == 0)
        return sp_fail(SPMM_ERR_USAGE, "%s: %s, expected a product by the plan before the capture",
                       p->function, captured);
    return SPMM_OK;
}

/** Does or queues what start() left, up to alpha and beta.
 *  \param [in] whole  1: nothing is waited for */
static spmm_status complete(spmm_plan *p, int whole)
{
    sp_pending *const d = &p->pending;
    spmm_status status = multiply(p);
    if (!whole) status = settle(p, d->moves, status);
    const spmm_status summed = reduce(p, &d->product, status);
    /* after a failure, kernels queued before it may still read X */
    if (status != SPMM_OK && p->space == SPMM_CUDA && !whole) (void)sp_device_sync();
    TRY(status);
    TRY(summed);
    if (p->y_rows > 0 && (d->alpha != 1 || d->product.data != d->y.data))
        TRY(sp_multivector_axpby(d->alpha, &d->product, d->beta, &d->y, p->threads));
    return SPMM_OK;
}

/** Returns v, or the row-major multivector that a column-major one of a single column is as well. */
static spmm_multivector by_rows(const spmm_multivector *v)
{
    spmm_multivector r = *v;
    if (v->k == 1 && v->layout == SPMM_COLUMN_MAJOR) {
        r.layout = SPMM_ROW_MAJOR;
        r.ld = 1;
    }
    return r;
}

/** Begins a product: does what needs not wait for another rank or for a GPU.
 *  \param [in] moves  0: nothing is exchanged, ghost rows and partial rows of other ranks are used as they are
 *  \return this rank's status so far, which end() returns, too: it must follow in any case */
static spmm_status begin(spmm_plan *p, int moves, double alpha, const spmm_multivector *x, double beta,
                         const spmm_multivector *y)
{
    sp_pending *const d = &p->pending;
    *d = (sp_pending){.open = 1, .moves = moves, .alpha = alpha, .beta = beta};
    spmm_status status = p->stream ? sp_device_captures(p->stream, &d->captured) : SPMM_OK;
    if (status == SPMM_OK && d->captured) status = check_capture(p);
    if (status == SPMM_OK) status = check_operands(p, x, y);
    if (status == SPMM_OK) {
        d->y = by_rows(y);
        status = find_y(p, beta, &d->y, &d->product);
    }
    if (status == SPMM_OK) {
        const spmm_multivector rows = by_rows(x);
        status = set_x(p, &rows, moves ? p->exchange : NULL);
    }
    sp_phases_clear(&p->phases);
    d->started = status == SPMM_OK;
    if (d->started) d->status = status = start(p);
    d->whole = d->started && sp_plan_queues(p);
    if (d->whole) status = complete(p, 1);
    d->status = status;
    if (status != SPMM_OK) snprintf(d->message, sizeof d->message, "%s", spmm_error_message());
    return status;
}

/** Ends a product that begin() began. */
static spmm_status end(spmm_plan *p)
{
    sp_pending *const d = &p->pending;
    spmm_status status = d->status;
    d->open = 0;
    if (status != SPMM_OK) sp_set_message(d->message); /* other calls may have failed since */
    if (!d->started) {
        skip(p, d->moves);
        return status;
    }
    if (d->captured) return status;
    status = d->whole ? settle(p, d->moves, status) : complete(p, 0);
    if (status != SPMM_OK && p->space == SPMM_CUDA) (void)sp_device_sync();
    TRY(status);
    return p->space == SPMM_CUDA ? sp_device_sync() : SPMM_OK;
}

/** Counts a product that took so many seconds. */
static void count(sp_plan_times *t, double seconds)
{
    t->least = t->products == 0 || seconds < t->least ? seconds : t->least;
    t->greatest = seconds > t->greatest ? seconds : t->greatest;
    t->seconds += seconds;
    t->products++;
}

/** Begins a product in the caller's stream, if there is one. */
static spmm_status begin_in_stream(spmm_plan *p, double alpha, const spmm_multivector *x, double beta,
                                   const spmm_multivector *y)
{
    const spmm_status taken = p->stream ? sp_device_take_stream(p->stream) : SPMM_OK;
    const spmm_status status = begin(p, 1, alpha, x, beta, y);
    const spmm_status returned = p->stream ? sp_device_return_stream() : SPMM_OK;
    if (status != SPMM_OK) return status;
    return taken == SPMM_OK ? returned : taken;
}

spmm_status sp_plan_begin(spmm_plan *p, double alpha, const spmm_multivector *x, double beta,
                          spmm_multivector *y)
{
    const double now = MPI_Wtime();
    const spmm_status status = begin_in_stream(p, alpha, x, beta, y);
    p->pending.seconds = MPI_Wtime() - now;
    return status;
}

spmm_status sp_plan_end(spmm_plan *p)
{
    const double now = MPI_Wtime();
    if (p->stream) TRY(sp_device_take_stream(p->stream));
    const spmm_status status = end(p);
    if (p->stream) (void)sp_device_return_stream(); /* later calls report errors */
    TRY(status);
    count(&p->times, p->pending.seconds + MPI_Wtime() - now);
    return SPMM_OK;
}

spmm_status sp_plan_apply(spmm_plan *p, double alpha, const spmm_multivector *x, double beta,
                          spmm_multivector *y)
{
    const spmm_status status = sp_plan_begin(p, alpha, x, beta, y);
    if (!p->stream || !p->pending.whole || status != SPMM_OK) return sp_plan_end(p);
    p->pending.open = 0;
    p->times.queued += !p->pending.captured;
    return SPMM_OK;
}

int sp_plan_queues(const spmm_plan *p)
{
    /* a rank that fails in an exchange tells those that it adds with by NaNs: without a stream, the exchange is waited for first */
    const int sums = !p->reduction || (p->stream && sp_reduction_method(p->reduction) == SPMM_REDUCE_NCCL);
    return p->space == SPMM_CUDA && sums && sp_exchange_queues(p->exchange) &&
           sp_partial_rows_queue(p->partial);
}

spmm_status sp_plan_wait(spmm_plan *p)
{
    if (!p->stream) return SPMM_OK;
    TRY(sp_device_take_stream(p->stream));
    const spmm_status status = settle(p, 1, SPMM_OK);
    const spmm_status done = sp_device_sync();
    (void)sp_device_return_stream();
    return status == SPMM_OK ? done : status;
}

spmm_status sp_plan_apply_local(spmm_plan *p, const spmm_multivector *x, spmm_multivector *y)
{
    (void)begin(p, 0, 1, x, 0, y);
    return end(p);
}

/* ---- one thread at a time ---- */

/** The flag of a plan that is const to whoever reads it. */
static atomic_int *flag_of(const spmm_plan *p) { return &((spmm_plan *)(uintptr_t)p)->taken; }

/** Takes the plan if its flag is `from`. \return 1, or 0 */
static int take_from(const spmm_plan *p, int from)
{
    return atomic_compare_exchange_strong_explicit(flag_of(p), &from, SP_PLAN_TAKEN, memory_order_acquire,
                                                   memory_order_relaxed);
}

int sp_plan_try(const spmm_plan *p) { return take_from(p, SP_PLAN_FREE) || take_from(p, SP_PLAN_BEGUN); }

spmm_status sp_plan_give(const spmm_plan *p, spmm_status status)
{
    atomic_store_explicit(flag_of(p), p->pending.open ? SP_PLAN_BEGUN : SP_PLAN_FREE, memory_order_release);
    return status;
}

spmm_status sp_plan_refuse(const char *function)
{
    return sp_fail(
        SPMM_ERR_USAGE,
        "%s: another thread uses the plan, expected one at a time: this call of the function had no effect",
        function);
}

spmm_status sp_plan_take(const spmm_plan *p, const char *function, int idle)
{
    TRY(sp_given(function, "plan", p, "a plan of spmm_plan_create()"));
    /* before MPI is called, which may not allow it to two threads; and a plan whose product has begun is not even
     * taken, so that no thread gets between spmm_apply_begin() and spmm_apply_end() of another one */
    if (!(idle ? take_from(p, SP_PLAN_FREE) : sp_plan_try(p))) {
        if (atomic_load_explicit(flag_of(p), memory_order_relaxed) != SP_PLAN_BEGUN)
            return sp_plan_refuse(function);
        return sp_fail(SPMM_ERR_USAGE,
                       "%s: a product of the plan has begun, expected spmm_apply_end() before", function);
    }
    const spmm_status status = sp_comm_check(p->grid->comm, function);
    return status == SPMM_OK ? SPMM_OK : sp_plan_give(p, status);
}

/* ---- what programs call ---- */

spmm_status spmm_apply(spmm_plan *plan, double alpha, const spmm_multivector *x, double beta,
                       spmm_multivector *y)
{
    TRY(sp_plan_take(plan, __func__, 1));
    plan->function = __func__;
    return sp_plan_give(plan, sp_plan_apply(plan, alpha, x, beta, y));
}

/** Refuses the capture of half a product, whose other half is to wait. */
static spmm_status check_not_captured(const spmm_plan *p)
{
    int captured;
    TRY(sp_device_captures(p->stream, &captured));
    if (!captured) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE, "%s: the stream is being captured in a CUDA graph, expected spmm_apply()",
                   p->function);
}

spmm_status spmm_apply_begin(spmm_plan *plan, double alpha, const spmm_multivector *x, double beta,
                             spmm_multivector *y)
{
    TRY(sp_plan_take(plan, __func__, 1));
    plan->function = __func__;
    const spmm_status status = plan->stream ? check_not_captured(plan) : SPMM_OK;
    return sp_plan_give(plan, status == SPMM_OK ? sp_plan_begin(plan, alpha, x, beta, y) : status);
}

spmm_status spmm_apply_end(spmm_plan *plan)
{
    TRY(sp_plan_take(plan, __func__, 0));
    if (plan->pending.open) return sp_plan_give(plan, sp_plan_end(plan));
    return sp_plan_give(
        plan, sp_fail(SPMM_ERR_USAGE,
                      "%s: no product of the plan has begun, expected spmm_apply_begin() before", __func__));
}

/* ---- parts of products ---- */

void sp_plan_skip(spmm_plan *p) { skip(p, 1); }

/** Returns 1 if the exchange of partial rows ends before that of X. In common memory the latter ends when the neighbours have
 *  read X, and these may wait for partial rows before. */
static int ends_partial_first(const spmm_plan *p) { return p->space == SPMM_CPU; }

/** Exchanges column block s; with the first and the last one, partial rows as they are, in the order of a product. */
static spmm_status exchange_block(spmm_plan *p, int s)
{
    const int last = s == p->column_blocks.count - 1, first = ends_partial_first(p);
    const spmm_status begun = begin_exchange(p, p->exchange, s);
    if (begun != SPMM_OK && s == 0) sp_partial_rows_skip(p->partial);
    TRY(begun);
    const spmm_status partial = s == 0 ? sp_partial_rows_resend(p->partial) : SPMM_OK,
                      before = first && last ? sp_partial_rows_end(p->partial) : SPMM_OK;
    const spmm_status ended = sp_exchange_end(p->exchange), finished = sp_exchange_finish(p->exchange);
    TRY(partial);
    TRY(before);
    TRY(ended);
    return finished;
}

spmm_status sp_plan_exchange(spmm_plan *p, const spmm_multivector *x)
{
    if (!p->exchange && !p->partial) return SPMM_OK;
    spmm_status status = sp_plan_check_operand(p, x, p->halo->own, "x");
    if (status == SPMM_OK) status = set_x(p, x, p->exchange);
    if (status != SPMM_OK) {
        sp_plan_skip_exchange(p);
        return status;
    }
    for (int s = 0; s < p->column_blocks.count; s++)
        if (status == SPMM_OK)
            status = exchange_block(p, s);
        else
            sp_exchange_skip(p->exchange);
    const spmm_status partial = sp_partial_rows_end(p->partial);
    if (status == SPMM_OK) status = partial;
    status = settle(p, 1, status);
    return status == SPMM_OK && p->space == SPMM_CUDA ? sp_device_sync() : status;
}

void sp_plan_skip_exchange(spmm_plan *p)
{
    /* in the order of a product: with some transports, each exchange waits for the neighbours */
    sp_partial_rows_skip(p->partial);
    if (ends_partial_first(p)) (void)sp_partial_rows_end(p->partial);
    for (int s = 0; s < p->column_blocks.count; s++) sp_exchange_skip(p->exchange);
    (void)sp_partial_rows_end(p->partial);
}

/* ---- times ---- */

spmm_status sp_plan_measure(spmm_plan *p)
{
    return p->phases.on ? SPMM_OK : sp_phases_create(p->space, p->column_blocks.count, &p->phases);
}

spmm_status sp_plan_seconds(const spmm_plan *p, sp_apply_seconds *s)
{
    double partial, node_sums, add;
    TRY(sp_phase_seconds(&p->phases, SP_PHASE_INTERIOR, &s->interior));
    TRY(sp_phase_seconds(&p->phases, SP_PHASE_BOUNDARY, &s->boundary));
    TRY(sp_phase_seconds(&p->phases, SP_PHASE_REDUCE, &s->reduce));
    TRY(sp_phase_seconds(&p->phases, SP_PHASE_PARTIAL, &partial));
    TRY(sp_phase_seconds(&p->phases, SP_PHASE_NODE_SUMS, &node_sums));
    TRY(sp_phase_seconds(&p->phases, SP_PHASE_ADD, &add));
    s->kernel = s->interior + s->boundary + partial + node_sums + add;
    return p->boundary_stream == SP_STREAM_MAIN ? SPMM_OK
                                                : sp_phase_seconds(&p->phases, SP_PHASE_KERNELS, &s->kernel);
}
