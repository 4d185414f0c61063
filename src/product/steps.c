/** The steps of a product, their order, and the loop that runs them. */
#include "product/steps.h"

#include <stdio.h>
#include <string.h>

#include "formats/multivector.h"

/* ---- exchange of X ---- */

/** Replaces the exchange of a column block that has not begun: notifies the neighbors of a failure. */
static spmm_status skip_x(sp_product *p)
{
    p->pending.x_state = SP_MOVE_OVER;
    sp_exchange_skip(p->exchange);
    return SPMM_OK;
}

static spmm_status begin_x(sp_product *p)
{
    sp_pending *const d = &p->pending;
    d->x_state = SP_MOVE_NOT_BEGUN;
    if (d->status != SPMM_OK) return SPMM_OK;
    /* Tells the exchange whether a kernel runs concurrently. With column blocks there are no interior rows,
     * so while the first column block is exchanged, only the kernel for partial rows can run. */
    if (p->column_blocks.count > 1) sp_exchange_beside(p->exchange, d->block > 0 || p->partial != NULL);
    const spmm_status begun = sp_exchange_begin(p->exchange, p->column_blocks.x[d->block].data);
    d->x_state = begun == SPMM_OK ? SP_MOVE_BEGUN : SP_MOVE_OVER;
    return begun;
}

/** On GPUs, a rank that failed before notifies the neighbors here, before the exchange of partial rows ends,
 *  because the neighbors may wait for X first. */
static spmm_status end_x(sp_product *p)
{
    if (p->pending.x_state == SP_MOVE_BEGUN) return sp_exchange_end(p->exchange);
    return p->pending.x_state == SP_MOVE_NOT_BEGUN && p->space == SPMM_CUDA ? skip_x(p) : SPMM_OK;
}

/** On CPUs, a rank that failed before notifies the neighbors here, and not in end_x(): in common memory the
 *  notification waits until the neighbors have read X, and before that they may wait for partial rows. */
static spmm_status finish_x(sp_product *p)
{
    if (p->pending.x_state == SP_MOVE_BEGUN) return sp_exchange_finish(p->exchange);
    return p->pending.x_state == SP_MOVE_NOT_BEGUN ? skip_x(p) : SPMM_OK;
}

/* ---- kernels ---- */

static spmm_status start(sp_product *p)
{
    /* 1: the boundary stream waits already: sp_column_blocks_set() */
    const int waits = p->exchange && (p->pending.kinds & SP_STEP_MOVES);
    TRY(sp_phase_begin(&p->phases, SP_PHASE_KERNELS, 0, SP_STREAM_MAIN));
    return p->boundary_stream == SP_STREAM_MAIN || waits ? SPMM_OK
                                                         : sp_stream_wait(p->boundary_stream, SP_STREAM_MAIN);
}

/** Runs the kernel on row blocks begin to end - 1, for the step's column block. */
static spmm_status run_rows(sp_product *p, sp_phase phase, int begin, int end, sp_stream stream)
{
    const int s = p->pending.block;
    spmm_multivector xs = sp_column_blocks_x(&p->column_blocks, s);
    const spmm_multivector ys = sp_column_blocks_y(&p->column_blocks, s, &p->pending.product);
    if (begin == end) return SPMM_OK;
    if (p->exchange && (p->pending.kinds & SP_STEP_MOVES)) xs.data = sp_exchange_reads_at(p->exchange);
    TRY(sp_phase_begin(&p->phases, phase, s, stream));
    TRY(sp_row_blocks_run(&p->parts, begin, end, p->shape, p->conjugate, &xs, &ys, stream));
    return sp_phase_end(&p->phases, phase, s, stream);
}

static spmm_status interior(sp_product *p)
{
    return run_rows(p, SP_PHASE_INTERIOR, 0, p->parts.interior, SP_STREAM_MAIN);
}

static spmm_status boundary(sp_product *p)
{
    return run_rows(p, SP_PHASE_BOUNDARY, p->parts.interior, p->parts.count, p->boundary_stream);
}

static spmm_status join(sp_product *p) { return sp_stream_wait(SP_STREAM_MAIN, p->boundary_stream); }

static spmm_status stop(sp_product *p)
{
    return sp_phase_end(&p->phases, SP_PHASE_KERNELS, 0, SP_STREAM_MAIN);
}

static spmm_status scale(sp_product *p)
{
    sp_pending *const d = &p->pending;
    if (p->y_rows == 0 || (sp_value_is(d->alpha, p->precision, 1) && d->product.data == d->y.data))
        return SPMM_OK;
    return sp_multivector_axpby(d->alpha, &d->product, d->beta, &d->y, p->threads);
}

/* ---- partial rows ---- */

static spmm_status partial(sp_product *p)
{
    return sp_partial_rows_compute(p->partial, p->conjugate, &p->pending.x, &p->phases);
}

static spmm_status begin_partial(sp_product *p)
{
    return sp_partial_rows_begin(p->partial, p->pending.status);
}

static spmm_status end_partial(sp_product *p) { return sp_partial_rows_end(p->partial); }

static spmm_status steps_add(sp_product *p)
{
    return sp_partial_rows_add(p->partial, &p->pending.product, &p->phases);
}

/* ---- sums over the process row ---- */

/** Waits for the exchanges, so that a rank that learns of a failure adds NaNs; does not wait if the whole
 *  product is queued. */
static spmm_status settle(sp_product *p)
{
    return p->pending.whole || !p->pending.prepared ? SPMM_OK : sp_steps_settle(p);
}

/** Fills this rank's partial product with NaNs after a failure, so that the sum cannot be used as a
 *  result. */
static void poison(const spmm_multivector *product)
{
    const int64_t bytes = sp_multivector_bytes(product);
    if (product->space == SPMM_CPU)
        memset(product->data, 0xff, (size_t)bytes);
    else
        (void)sp_device_nan(product->data, bytes);
}

static spmm_status reduce(sp_product *p)
{
    const spmm_multivector *const product = &p->pending.product;
    if (!p->pending.prepared) {
        sp_reduction_skip(p->reduction);
        return SPMM_OK;
    }
    if (p->pending.status != SPMM_OK) poison(product);
    (void)sp_phase_begin(&p->phases, SP_PHASE_REDUCE, 0, SP_STREAM_MAIN); /* later calls report errors */
    TRY(sp_reduction_run(p->reduction, product->data));
    return sp_phase_end(&p->phases, SP_PHASE_REDUCE, 0, SP_STREAM_MAIN);
}

/* ---- the list ---- */

/** The steps: name in the code, human-readable name (NULL: none), kind, function. */
#define STEPS(STEP)                                            \
    STEP(START, NULL, COMPUTES, start)                         \
    STEP(BEGIN_X, "begin X", MOVES, begin_x)                   \
    STEP(PARTIAL, "partial rows", COMPUTES, partial)           \
    STEP(BEGIN_PARTIAL, "begin partial", MOVES, begin_partial) \
    STEP(INTERIOR, "interior rows", COMPUTES, interior)        \
    STEP(END_X, "end X", MOVES, end_x)                         \
    STEP(BOUNDARY, "boundary rows", COMPUTES, boundary)        \
    STEP(END_PARTIAL, "end partial", MOVES, end_partial)       \
    STEP(FINISH_X, "finish X", MOVES, finish_x)                \
    STEP(JOIN, NULL, COMPUTES, join)                           \
    STEP(ADD, "add partial", COMPUTES, steps_add)              \
    STEP(STOP, NULL, COMPUTES, stop)                           \
    STEP(SETTLE, NULL, MOVES, settle)                          \
    STEP(REDUCE, "reduce", SUMS, reduce)                       \
    STEP(SCALE, "alpha, beta", COMPUTES, scale)

#define ID(id, name, kind, run) id,
enum { STEPS(ID) STEP_COUNT };
_Static_assert(STEP_COUNT <= SP_MOST_STEPS / SP_MOST_COLUMN_BLOCKS,
               "sp_steps.list has room for each step once for each column block");

/** The implementation of a step. run() returns the status of the step; p->pending has the status of the
 *  product so far and the current column block. */
static const struct step_ops {
    const char *name;
    int kind;
    spmm_status (*run)(sp_product *p);
} all_steps[] = {
#define OPS(id, name, kind, run) {name, SP_STEP_##kind, run},
    STEPS(OPS)};

/** Appends a step. A list contains each step at most once per column block. */
static void steps_append(sp_steps *l, int what, int block)
{
    l->list[l->count++] = (sp_product_step){(unsigned char)what, (unsigned char)block};
}

/** Lists the steps between "begin X" and "end X" of the first column block. Partial rows come first, because
 *  they are sent to other ranks. Sets l->begins. */
static void list_overlapped(const sp_product *p, sp_steps *l)
{
    const int gpu = p->space == SPMM_CUDA;
    if (p->partial) steps_append(l, PARTIAL, 0);
    if (p->partial) steps_append(l, BEGIN_PARTIAL, 0);
    if (gpu) steps_append(l, INTERIOR, 0); /* queued; the host continues at once */
    l->begins = l->count;
    if (!gpu) steps_append(l, INTERIOR, 0);
}

/** Writes the steps in words: "begin X | interior rows | end X | ..". */
static void write_words(sp_steps *l)
{
    size_t used = 0;
    for (int i = 0; i < l->count && used < sizeof l->words; i++) {
        const char *const name = all_steps[l->list[i].what].name;
        const int block = l->list[i].block;
        if (!name) continue;
        used += (size_t)snprintf(l->words + used, sizeof l->words - used, block > 0 ? "%s%s %d" : "%s%s",
                                 used > 0 ? " | " : "", name, block + 1);
    }
}

void sp_steps_list(sp_product *p)
{
    sp_steps *const l = &p->steps;
    l->count = 0;
    steps_append(l, START, 0);
    for (int s = 0; s < p->column_blocks.count; s++) {
        if (p->exchange) steps_append(l, BEGIN_X, s);
        if (s == 0)
            list_overlapped(p, l);
        else
            steps_append(l, INTERIOR, s);
        if (p->exchange) steps_append(l, END_X, s);
        steps_append(l, BOUNDARY, s);
        /* this comes after the boundary rows, which need not wait for partial rows */
        if (p->partial && s == p->column_blocks.count - 1) steps_append(l, END_PARTIAL, 0);
        if (p->exchange) steps_append(l, FINISH_X, s);
    }
    if (p->boundary_stream != SP_STREAM_MAIN) steps_append(l, JOIN, 0);
    if (p->partial) steps_append(l, ADD, 0);
    steps_append(l, STOP, 0);
    if (p->exchange || p->partial) steps_append(l, SETTLE, 0);
    if (p->reduction) steps_append(l, REDUCE, 0);
    steps_append(l, SCALE, 0);
    write_words(l);
}

spmm_status sp_steps_run(sp_product *p, int from, int to, spmm_status status)
{
    sp_pending *const d = &p->pending;
    char message[SP_MESSAGE_BYTES]; /* message of the first failure, because later steps may overwrite it */
    if (status != SPMM_OK) snprintf(message, sizeof message, "%s", spmm_error_message());
    d->status = status;
    for (int i = from; i < to; i++) {
        const struct step_ops *const ops = &all_steps[p->steps.list[i].what];
        if (!(ops->kind & d->kinds) || (d->status != SPMM_OK && ops->kind == SP_STEP_COMPUTES)) continue;
        d->block = p->steps.list[i].block;
        const spmm_status own = ops->run(p);
        if (d->status != SPMM_OK || own == SPMM_OK) continue;
        d->status = own;
        snprintf(message, sizeof message, "%s", spmm_error_message());
    }
    if (d->status != SPMM_OK) sp_set_message(message);
    return d->status;
}

spmm_status sp_steps_settle(sp_product *p)
{
    const spmm_status x = sp_exchange_settle(p->exchange), partial = sp_partial_rows_settle(p->partial);
    return x == SPMM_OK ? partial : x;
}
