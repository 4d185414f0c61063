/** Computes products Y := alpha A X + beta Y by a plan. */
#include <string.h>

#include "base/arguments.h"
#include "base/enum_words.h"
#include "formats/multivector.h"
#include "plan/plan_struct.h"

/* ---- operands ---- */

static const char *space_word(spmm_device space) { return space == SPMM_CPU ? "host" : "GPU"; }

/** Checks the shape, precision and memory of operand v. Error messages name spmm_apply() as the function,
 *  whichever function calls this one.
 *  \param [in] name  name of the operand in error messages */
static spmm_status check_operand(const spmm_plan *p, const spmm_multivector *v, int64_t rows,
                                 const char *name)
{
    TRY(sp_multivector_check(v, "spmm_apply", name));
    if (v->rows == rows && v->k == p->k && v->precision == p->precision && v->space == p->space)
        return SPMM_OK;
    return sp_fail(
        SPMM_ERR_USAGE, "spmm_apply: %s is %lld x %lld %s in %s memory, expected %lld x %lld %s in %s memory",
        name, (long long)v->rows, (long long)v->k, sp_precision_word(v->precision), space_word(v->space),
        (long long)rows, (long long)p->k, sp_precision_word(p->precision), space_word(p->space));
}

static spmm_status check_operands(const spmm_plan *p, const spmm_multivector *x, const spmm_multivector *y)
{
    TRY(check_operand(p, x, p->halo->own, "x"));
    TRY(check_operand(p, y, p->y_rows, "y"));
    return sp_multivector_apart(x, y, "spmm_apply", "x", "y");
}

/** Returns 1 if the caller's X can receive the ghost rows, or need not. */
static int receives_ghost_rows(const spmm_plan *p, const spmm_multivector *x)
{
    const sp_halo *const h = p->halo;
    if (p->column_blocks.count > 1 || (h->ghost_low + h->ghost_high == 0 && !p->exchange)) return 1;
    return x->ld == sp_multivector_ld(p->k, p->precision) && x->ghost_low >= h->ghost_low &&
           x->ghost_high >= h->ghost_high &&
           (!p->exchange || sp_exchange_takes(p->exchange, sp_row(x, -h->ghost_low)));
}

/** Sets the plan's column blocks to those of the caller's X, or of a copy of it if the caller's X cannot
 *  receive the ghost rows.
 *  \param [in] exchange  the exchange that will move them; NULL: none */
static spmm_status set_x(spmm_plan *p, const spmm_multivector *x, const sp_exchange *exchange)
{
    if (!receives_ghost_rows(p, x)) {
        if (!p->x.data) TRY(spmm_plan_x_create(p, &p->x));
        TRY(spmm_multivector_copy(x, &p->x));
        x = &p->x;
    }
    return sp_column_blocks_set(&p->column_blocks, x, exchange, p->threads);
}

/** Determines where the kernels write A X: to the caller's y if possible, else to p->y. */
static spmm_status find_y(spmm_plan *p, double beta, const spmm_multivector *y, spmm_multivector *product)
{
    const int64_t rows = p->halo->local.rows;
    const int direct = p->y_rows == rows && beta == 0 &&
                       (!p->reduction || y->ld == sp_multivector_ld(p->k, p->precision));
    if (!direct && !p->y.data) TRY(spmm_multivector_create(rows, p->k, p->precision, p->space, &p->y));
    *product = direct ? *y : p->y;
    return SPMM_OK;
}

/* ---- products ---- */

/** Runs the kernel on the interior rows or on the boundary rows, for column block s. */
static spmm_status run(spmm_plan *p, sp_phase phase, int s, const spmm_multivector *y)
{
    const int interior = phase == SP_PHASE_INTERIOR;
    const int begin = interior ? 0 : p->parts.interior, end = interior ? p->parts.interior : p->parts.count;
    const sp_stream stream = interior ? SP_STREAM_MAIN : p->boundary_stream;
    const spmm_multivector xs = sp_column_blocks_x(&p->column_blocks, s),
                           ys = sp_column_blocks_y(&p->column_blocks, s, y);
    if (begin == end) return SPMM_OK;
    TRY(sp_phase_begin(&p->phases, phase, s, stream));
    TRY(sp_row_blocks_run(&p->parts, begin, end, p->shape, &xs, &ys, stream));
    return sp_phase_end(&p->phases, phase, s, stream);
}

static spmm_status begin_exchange(const sp_column_blocks *b, sp_exchange *exchange, int s)
{
    return sp_exchange_begin(exchange, b->x[s].data, b->from[s], b->pitch);
}

/** Computes the columns of Y that belong to column block s of X. Interior rows overlap with the exchange; on
 *  a GPU, so do the kernels of the column blocks before, and boundary rows run beside interior rows. */
static spmm_status multiply_block(spmm_plan *p, sp_exchange *exchange, int s, const spmm_multivector *y)
{
    TRY(begin_exchange(&p->column_blocks, exchange, s));
    const spmm_status interior = run(p, SP_PHASE_INTERIOR, s, y);
    TRY(sp_exchange_end(exchange)); /* even after a failure: other ranks wait for this rank */
    TRY(interior);
    return run(p, SP_PHASE_BOUNDARY, s, y);
}

/** Computes Y = A X on this rank's block. After a failure, this rank still takes part in the exchange of the
 *  remaining column blocks, because other ranks wait for it. */
static spmm_status multiply(spmm_plan *p, sp_exchange *exchange, const spmm_multivector *y)
{
    const int aside = p->boundary_stream != SP_STREAM_MAIN;
    spmm_status status = sp_phase_begin(&p->phases, SP_PHASE_KERNELS, 0, SP_STREAM_MAIN);
    if (status == SPMM_OK && aside && !exchange) status = sp_stream_wait(p->boundary_stream, SP_STREAM_MAIN);
    for (int s = 0; s < p->column_blocks.count; s++)
        if (status == SPMM_OK)
            status = multiply_block(p, exchange, s, y);
        else
            sp_exchange_skip(exchange);
    if (aside && status == SPMM_OK) status = sp_stream_wait(SP_STREAM_MAIN, p->boundary_stream);
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

/** Takes the place of apply() on a rank that failed before. Preserves this rank's error message. */
static void skip(spmm_plan *p, sp_exchange *exchange)
{
    char text[SP_MESSAGE_BYTES];
    const char *const why = spmm_error_message();
    memcpy(text, why, strlen(why) + 1); /* the calls below may overwrite the message of the first error */
    for (int s = 0; s < p->column_blocks.count; s++) sp_exchange_skip(exchange);
    if (p->reduction) sp_reduction_skip(p->reduction);
    sp_set_message(text);
}

/** Computes a product.
 *  \param [in] exchange  p->exchange; NULL: the ghost rows of X are used as they are */
static spmm_status apply(spmm_plan *p, sp_exchange *exchange, double alpha, const spmm_multivector *x,
                         double beta, spmm_multivector *y)
{
    spmm_multivector product;
    spmm_status status = check_operands(p, x, y);
    if (status == SPMM_OK) status = find_y(p, beta, y, &product);
    if (status == SPMM_OK) status = set_x(p, x, exchange);
    sp_phases_clear(&p->phases);
    if (status != SPMM_OK) {
        skip(p, exchange);
        return status;
    }
    status = multiply(p, exchange, &product);
    const spmm_status summed = reduce(p, &product, status);
    /* after a failure, kernels queued before it may still read X */
    if (status != SPMM_OK && p->space == SPMM_CUDA) (void)sp_device_sync();
    TRY(status);
    TRY(summed);
    if (p->y_rows > 0 && (alpha != 1 || product.data != y->data))
        TRY(sp_multivector_axpby(alpha, &product, beta, y, p->threads));
    return p->space == SPMM_CUDA ? sp_device_sync() : SPMM_OK;
}

spmm_status sp_plan_apply(spmm_plan *p, double alpha, const spmm_multivector *x, double beta,
                          spmm_multivector *y)
{
    return apply(p, p->exchange, alpha, x, beta, y);
}

spmm_status sp_plan_apply_local(spmm_plan *p, const spmm_multivector *x, spmm_multivector *y)
{
    return apply(p, NULL, 1, x, 0, y);
}

spmm_status spmm_apply(spmm_plan *plan, double alpha, const spmm_multivector *x, double beta,
                       spmm_multivector *y)
{
    TRY(sp_given(__func__, "plan", plan, "a plan of spmm_plan_create()"));
    TRY(sp_comm_check(plan->grid->comm, __func__));
    return sp_plan_apply(plan, alpha, x, beta, y);
}

void sp_plan_skip(spmm_plan *p) { skip(p, p->exchange); }

static spmm_status exchange_block(spmm_plan *p, int s)
{
    TRY(begin_exchange(&p->column_blocks, p->exchange, s));
    return sp_exchange_end(p->exchange);
}

spmm_status sp_plan_exchange(spmm_plan *p, const spmm_multivector *x)
{
    if (!p->exchange) return SPMM_OK;
    spmm_status status = check_operand(p, x, p->halo->own, "x");
    if (status == SPMM_OK) status = set_x(p, x, p->exchange);
    for (int s = 0; s < p->column_blocks.count; s++)
        if (status == SPMM_OK)
            status = exchange_block(p, s);
        else
            sp_exchange_skip(p->exchange);
    return status == SPMM_OK && p->space == SPMM_CUDA ? sp_device_sync() : status;
}

void sp_plan_skip_exchange(spmm_plan *p)
{
    for (int s = 0; s < p->column_blocks.count; s++) sp_exchange_skip(p->exchange);
}

/* ---- times ---- */

spmm_status sp_plan_measure(spmm_plan *p)
{
    return p->phases.on ? SPMM_OK : sp_phases_create(p->space, p->column_blocks.count, &p->phases);
}

spmm_status sp_plan_seconds(const spmm_plan *p, sp_apply_seconds *s)
{
    TRY(sp_phase_seconds(&p->phases, SP_PHASE_INTERIOR, &s->interior));
    TRY(sp_phase_seconds(&p->phases, SP_PHASE_BOUNDARY, &s->boundary));
    TRY(sp_phase_seconds(&p->phases, SP_PHASE_REDUCE, &s->reduce));
    s->kernel = s->interior + s->boundary;
    return p->boundary_stream == SP_STREAM_MAIN ? SPMM_OK
                                                : sp_phase_seconds(&p->phases, SP_PHASE_KERNELS, &s->kernel);
}
