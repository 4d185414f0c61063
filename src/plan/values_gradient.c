/** The gradient of the values of a plan's matrix: exchanges rows of X as a product does, but always by a halo
 *  exchange or a broadcast, in the precision of X, and with its own buffers. */
#include <inttypes.h>
#include <stdio.h>

#include "base/enum_words.h"
#include "base/fp_environment.h"
#include "base/memory.h"
#include "base/threads.h"
#include "device/device.h"
#include "device/device_ops.h"
#include "formats/multivector.h"
#include "plan/plan_struct.h"

/** The operands of a call. */
typedef struct gradient_call {
    const spmm_multivector *g, *x;
    spmm_multivector *values;
    int captured; /* 1: the stream is being captured in a CUDA graph, so nothing can be allocated */
} gradient_call;

/* ---- checks ---- */

static spmm_status gradient_check(const sp_product *p, int64_t k, gradient_call *c)
{
    if (sp_is_complex(p->precision))
        return sp_fail(SPMM_ERR_USAGE, "%s: the matrix is %s, expected f64 or f32", p->function,
                       sp_precision_word(p->precision));
    if (p->grid->dims[1] > 1)
        return sp_fail(SPMM_ERR_USAGE,
                       "%s: the grid is %d x %d, expected P x 1, so that a rank has whole rows of G and X",
                       p->function, p->grid->dims[0], p->grid->dims[1]);
    TRY(sp_product_check_operand(p, c->x, p->given->moves.own, k, "x"));
    TRY(sp_product_check_operand(p, c->g, p->y_rows, k, "g"));
    TRY(sp_product_check_operand(p, c->values, p->block->csr.nnz, 1, "values"));
    TRY(sp_multivector_apart(c->x, c->values, p->function, "x", "values"));
    TRY(sp_multivector_apart(c->g, c->values, p->function, "g", "values"));
    return p->stream ? sp_device_captures(p->stream, &c->captured) : SPMM_OK;
}

static spmm_status may_allocate(const sp_product *p, const gradient_call *c)
{
    if (!c->captured) return SPMM_OK;
    return sp_fail(
        SPMM_ERR_USAGE,
        "%s: the stream is being captured in a CUDA graph, expected one rank and the same call before the "
        "capture",
        p->function);
}

/* ---- set-up ---- */

/** Returns the block with the rows of X that gradients exchange, without the joint exchange. */
static const sp_ghosted_block *block_of(const spmm_plan *plan)
{
    const sp_ghosted_block *const given = plan->forward->given;
    return given->joint ? &plan->gradient.halo : given;
}

/** Fills the places of the entries from a CSR in host memory. */
static spmm_status upload_places(const spmm_csr *a, int32_t *rows, int32_t *columns)
{
    const int64_t bytes = (a->rows + 1) * (int64_t)sizeof *a->irp;
    void *starts;
    TRY(sp_device_alloc(&starts, bytes, "row starts"));
    spmm_status status = sp_device_upload(starts, a->irp, bytes);
    if (status == SPMM_OK) status = sp_device_upload(columns, a->ja, a->nnz * (int64_t)sizeof *columns);
    if (status == SPMM_OK) status = sp_cuda_find_rows(starts, a->rows, a->nnz, rows);
    sp_device_free(starts);
    return status;
}

/** Determines the places of the entries in GPU memory, once. */
static spmm_status find_places(spmm_plan *plan, const gradient_call *c)
{
    sp_values_gradient *const v = &plan->gradient;
    const sp_ghosted_block *const block = block_of(plan);
    const spmm_csr *const a = &block->local.csr, *const there = block->on_gpu;
    if (plan->forward->space == SPMM_CPU || a->nnz == 0 || v->entry_rows) return SPMM_OK;
    if (a->rows > INT32_MAX)
        return sp_fail(SPMM_ERR_USAGE, "%s: the rank has %" PRId64 " rows, expected at most %d on a GPU",
                       plan->forward->function, a->rows, INT32_MAX);
    TRY(may_allocate(plan->forward, c));
    const int64_t bytes = (there ? 1 : 2) * a->nnz * (int64_t)sizeof *v->entry_rows;
    TRY(sp_device_alloc((void **)&v->entry_rows, bytes, "places of entries"));
    v->entry_columns = there ? there->ja : v->entry_rows + a->nnz;
    const spmm_status status = there ? sp_cuda_find_rows(there->irp, a->rows, a->nnz, v->entry_rows)
                                     : upload_places(a, v->entry_rows, v->entry_rows + a->nnz);
    if (status != SPMM_OK) sp_device_free(v->entry_rows), v->entry_rows = NULL;
    return status;
}

void sp_values_gradient_destroy(spmm_plan *plan)
{
    sp_values_gradient *const v = &plan->gradient;
    if (sp_mpi_runs()) (void)sp_product_wait(plan->forward); /* without a stream gradients are complete */
    spmm_multivector_destroy(&v->x);
    spmm_multivector_destroy(&v->g);
    sp_exchange_destroy(v->exchange);
    sp_ghosted_block_destroy(&v->halo);
    sp_device_free(v->entry_rows);
}

/** Creates the exchange, and the X that it moves, for k columns and fewer. Collective. */
static spmm_status gradient_connect(spmm_plan *plan, int64_t k)
{
    sp_values_gradient *const v = &plan->gradient;
    const sp_product *const p = plan->forward;
    const sp_moves *const m = &block_of(plan)->moves;
    const spmm_transport transport = sp_product_transport(p);
    const sp_exchange_options options = {
        .row_bytes = sp_multivector_ld(k, p->precision) * sp_value_size(p->precision),
        .space = p->space,
        .transport = sp_transport_has(transport, SP_TRANSPORT_IN_PLACE) ? SPMM_TRANSPORT_AUTO : transport,
        .queued = p->stream != NULL,
        .untimed = 1,
        .alone = 1,
        .threads = p->threads};
    void *memory = NULL;
    spmm_status status = p->space == SPMM_CUDA ? sp_device_sync() : SPMM_OK;
    TRY(sp_agree(p->grid->comm, "gradient", status));
    spmm_multivector_destroy(&v->x);
    sp_exchange_destroy(v->exchange);
    v->exchange = NULL;
    v->k = 0;
    TRY(sp_exchange_create(p->grid, m, &options, &v->exchange));
    status = p->space == SPMM_CPU
                 ? sp_multivector_create(m->ghost_low, m->own, m->ghost_high, k, p->precision, SPMM_CPU,
                                         &v->x)
                 : sp_exchange_alloc(v->exchange, sp_moves_rows(m) * options.row_bytes, &memory);
    if (memory)
        v->x = sp_multivector_in(memory, m->ghost_low, m->own, m->ghost_high, k, p->precision, SPMM_CUDA);
    status = sp_agree(p->grid->comm, "gradient", status);
    if (status == SPMM_OK) v->k = k;
    return status;
}

/** Prepares the exchange of k columns. Collective, with the same k on all ranks. */
static spmm_status prepare_exchange(spmm_plan *plan, int64_t k)
{
    sp_values_gradient *const v = &plan->gradient;
    const sp_product *const p = plan->forward;
    if (p->given->joint && !v->halo.grid)
        TRY(sp_ghosted_block_create(p->grid, p->block, SPMM_EXCHANGE_HALO, p->threads, &v->halo));
    if (block_of(plan)->moves.all_moved == 0 || k == v->k) return SPMM_OK;
    if (v->k == 0 || k > v->x.k) return gradient_connect(plan, k);
    v->k = k;
    return sp_exchange_set_rows(v->exchange, sp_multivector_ld(k, p->precision) * sp_value_size(p->precision),
                                0);
}

/* ---- gradients ---- */

/** Copies an operand to *copy, which is allocated if it has too few columns; on a GPU the copy is queued.
 *  \param [out] rows  the copy, row-major */
static spmm_status copy_operand(const sp_product *p, const gradient_call *c, const spmm_multivector *from,
                                spmm_multivector *copy, spmm_multivector *rows)
{
    if (copy->k < from->k) {
        TRY(may_allocate(p, c));
        spmm_multivector_destroy(copy);
        TRY(spmm_multivector_create(from->rows, from->k, p->precision, p->space, copy));
    }
    *rows = sp_multivector_with_k(copy, from->k);
    return sp_multivector_axpby(sp_value_of(1, p->precision), from, (sp_value){0}, rows, p->threads);
}

/** Determines row-major operands, which are copies if they must be. */
static spmm_status gradient_prepare(spmm_plan *plan, const gradient_call *c, spmm_multivector *g,
                                    spmm_multivector *x)
{
    sp_values_gradient *const v = &plan->gradient;
    const sp_product *const p = plan->forward;
    *g = *c->g;
    *x = *c->x;
    TRY(find_places(plan, c));
    if (g->layout != SPMM_ROW_MAJOR) TRY(copy_operand(p, c, c->g, &v->g, g));
    if (v->exchange || x->layout != SPMM_ROW_MAJOR) TRY(copy_operand(p, c, c->x, &v->x, x));
    return v->exchange && p->space == SPMM_CUDA
               ? sp_stream_wait(sp_exchange_stream(v->exchange), SP_STREAM_MAIN)
               : SPMM_OK;
}

/** Receives rows of X and computes the gradient. Notifies the neighbors of a failure. */
static spmm_status gradient_run(spmm_plan *plan, const gradient_call *c)
{
    const sp_values_gradient *const v = &plan->gradient;
    const spmm_csr *const a = &block_of(plan)->local.csr;
    sp_exchange *const exchange = v->exchange;
    char message[SP_MESSAGE_BYTES];
    spmm_multivector g, x;
    spmm_status status = gradient_prepare(plan, c, &g, &x);
    if (status != SPMM_OK) {
        snprintf(message, sizeof message, "%s", spmm_error_message());
        sp_exchange_skip(exchange);
        sp_set_message(message);
        return status;
    }
    TRY(sp_exchange_begin(exchange, x.data));
    status = sp_exchange_end(exchange);
    if (exchange) x.data = sp_row(&x, -x.ghost_low); /* columns are numbered from the first ghost row */
    if (status == SPMM_OK && plan->forward->space == SPMM_CUDA)
        status = sp_cuda_values_gradient(a->nnz, v->entry_rows, v->entry_columns, &g, &x, c->values,
                                         sp_device_stream(SP_STREAM_MAIN));
    else if (status == SPMM_OK)
        sp_cpu_values_gradient(a, &g, &x, c->values, sp_threads_now(plan->forward->threads));
    const spmm_status finished = sp_exchange_finish(exchange);
    if (status == SPMM_OK) status = finished;
    const spmm_status settled = sp_exchange_settle(exchange);
    return status == SPMM_OK ? settled : status;
}

static spmm_status values_gradient(spmm_plan *plan, spmm_status status, gradient_call *c)
{
    const sp_product *const p = plan->forward;
    const int64_t k = c->x ? c->x->k : 0;
    if (status == SPMM_OK) status = gradient_check(p, k, c);
    if (status == SPMM_OK && p->grid->size > 1) status = may_allocate(p, c);
    TRY(sp_agree_common(p->grid->comm, "gradient", status, p->function, &(sp_common){"x->k", k, 1}, 1));
    if (k > 0) TRY(prepare_exchange(plan, k));
    const sp_value zero = {0};
    status = k > 0 ? gradient_run(plan, c)
                   : sp_multivector_axpby(zero, c->values, zero, c->values, p->threads);
    if (p->space == SPMM_CPU || p->stream) return status;
    const spmm_status done = sp_device_sync();
    return status == SPMM_OK ? done : status;
}

spmm_status spmm_plan_values_gradient(spmm_plan *plan, const spmm_multivector *g, const spmm_multivector *x,
                                      spmm_multivector *values)
{
    SP_DEFAULT_FP;
    gradient_call c = {g, x, values, 0};
    TRY(sp_plan_take(plan, __func__, 1));
    void *const stream = plan->forward->stream;
    plan->forward->function = __func__;
    const spmm_status taken = stream ? sp_device_take_stream(stream) : SPMM_OK;
    const spmm_status status = values_gradient(plan, taken, &c);
    const spmm_status returned = stream ? sp_device_return_stream() : SPMM_OK;
    return sp_plan_give(plan, status == SPMM_OK ? returned : status);
}
