/** Creates plans and updates their values; product/product.c creates their products. */
#include <sched.h>
#include <string.h>

#include "base/status.h"
#include "base/fp_environment.h"
#include "base/memory.h"
#include "base/threads.h"
#include "device/device.h"
#include "device/device_ops.h"
#include "formats/csr.h"
#include "formats/multivector.h"
#include "plan/plan_check.h"
#include "plan/plan_struct.h"

/* ---- set-up ---- */

spmm_status sp_plan_create(const sp_ghosted_block *a, const sp_ghosted_block *joint, const sp_matrix *slice,
                           int64_t k, const spmm_plan_options *options, const spmm_plan_study *study,
                           spmm_plan **plan)
{
    static const spmm_plan_study none;
    spmm_plan *p = NULL;
    *plan = NULL;
    spmm_status status = sp_agree(a->grid->comm, "plan", sp_alloc_zero((void **)&p, 1, sizeof *p, "a plan"));
    if (status == SPMM_OK)
        status = sp_product_create_fastest(a, joint, slice, k, options, study ? study : &none, &p->forward);
    if (status != SPMM_OK) {
        sp_free(p);
        return status;
    }
    p->k_max = k;
    *plan = p;
    return SPMM_OK;
}

static void destroy_own(sp_plan_own *own)
{
    if (!own) return;
    sp_ghosted_block_destroy(&own->ghosted);
    sp_ghosted_block_destroy(&own->joint);
    spmm_csr_destroy(&own->host.csr);
    for (int i = 0; i < 3; i++) sp_drop(&own->kept[i]);
    sp_device_host_free(own->found);
    sp_event_destroy(own->compared_event);
    sp_grid_destroy(&own->grid);
    sp_free(own);
}

/** Takes the caller's block and keeps its arrays, which the caller may free before the plan. */
static void keep(const spmm_block *block, sp_plan_own *own)
{
    void *const array[] = {block->csr.irp, block->csr.ja, block->csr.as};
    own->given = *block;
    for (int i = 0; i < 3; i++) sp_keep(&own->kept[i], array[i]);
}

/** Returns 1 if a plan needs no copy of a matrix in GPU memory on the host: one rank has the whole matrix,
 *  and no option requires a conversion on the host. */
static int plans_there(const spmm_block *b, const spmm_plan_options *o, const spmm_plan_study *s)
{
    const int format = o->format != SPMM_ELL && o->format != SPMM_ELL_NOPAD;
    return b->p * b->q == 1 && !o->kernel && format && !b->any_order && o->column_blocks < 2 &&
           !s->all_kernels;
}

/** Sets own->host to the block without arrays, if its matrix in GPU memory is sound. */
static spmm_status leave_there(sp_plan_own *own)
{
    const spmm_csr *const a = &own->on_gpu->csr;
    const spmm_rows rows = {.irp = a->irp, .ja = a->ja, .as = a->as, .irp_bytes = 8, .ja_bytes = 4};
    sp_rows_facts found;
    TRY(sp_cuda_check_rows(&rows, a->rows, a->cols, NULL, &found));
    own->stale = found.starts_sound && found.in_range && found.increasing && found.nnz == a->nnz;
    own->longest = found.longest;
    if (own->stale) own->host.csr = (spmm_csr){a->rows, a->cols, a->nnz, a->precision, NULL, NULL, NULL};
    return SPMM_OK;
}

/** Copies a block whose CSR is in GPU memory to host memory, unless the plan leaves it there. */
static spmm_status plan_fetch(const spmm_plan_options *o, const spmm_plan_study *s, sp_plan_own *own)
{
    const spmm_block *const block = &own->given;
    int on_gpu;
    TRY(sp_precision_check("block.csr", block->csr.precision));
    TRY(sp_csr_on_gpu(&block->csr, &on_gpu));
    if (!on_gpu) return SPMM_OK;
    if (o->device == SPMM_CPU)
        return sp_fail(SPMM_ERR_USAGE,
                       "block.csr is in GPU memory, expected host memory with options.device SPMM_CPU");
    own->on_gpu = block;
    own->host = *block;
    own->host.csr = (spmm_csr){0};
    if (o->stream) TRY(sp_device_take_stream(o->stream));
    spmm_status status = plans_there(block, o, s) ? leave_there(own) : SPMM_OK;
    if (status == SPMM_OK && !own->stale) status = sp_csr_download(&block->csr, &own->host.csr);
    if (o->stream) TRY(sp_device_return_stream());
    return status;
}

/** Creates the products of a matrix that stays in GPU memory. For few products in f64, it is read as it is,
 *  because planning would take longer than it saves. In f32 another kernel could give other bits. */
static spmm_status create_there(sp_plan_own *own, int64_t k, const spmm_plan_options *o,
                                const spmm_plan_study *s, spmm_plan **plan)
{
    enum { FEW = 100 };
    const int few = o->products > 0 && o->products <= FEW && own->host.csr.precision == SPMM_F64 &&
                    (o->format == SPMM_FORMAT_AUTO || o->format == SPMM_CSR);
    spmm_plan_options with = *o;
    if (few) with.kernel = "csr_rows";
    TRY(sp_ghosted_block_create_whole(&own->grid, &own->host, &own->on_gpu->csr, own->longest,
                                      &own->ghosted));
    TRY(sp_plan_create(&own->ghosted, &own->joint, NULL, k, &with, s, plan));
    sp_decision *const row = &(*plan)->forward->decisions.row[SP_DECIDES_KERNEL];
    if (few) snprintf(row->why, sizeof row->why, "few products, of a matrix in GPU memory");
    return SPMM_OK;
}

/** Creates the products of a matrix in host memory. */
static spmm_status create_here(sp_plan_own *own, int64_t k, const spmm_plan_options *o,
                               const spmm_plan_study *s, spmm_plan **plan)
{
    const spmm_block *const block = own->on_gpu ? &own->host : &own->given;
    TRY(sp_ghosted_block_create(&own->grid, block, o->exchange, sp_threads_of(o->threads), &own->ghosted));
    TRY(sp_ghosted_block_create_joint(&own->ghosted, o, &own->joint));
    return sp_plan_create(&own->ghosted, &own->joint, NULL, k, o, s, plan);
}

/** Creates a plan on behalf of a public function, which messages name. */
static spmm_status plan_create(const char *function, MPI_Comm comm, const spmm_block *block, int64_t k,
                               const spmm_plan_options *options, const spmm_plan_study *study,
                               spmm_plan **plan)
{
    static const spmm_plan_options defaults;
    static const spmm_plan_study none;
    const spmm_plan_options *const o = options ? options : &defaults;
    const spmm_plan_study *const s = study ? study : &none;
    sp_plan_own *own = NULL;
    spmm_status status;
    if (plan) *plan = NULL;
    TRY(sp_comm_check(comm, function));
    const double start = MPI_Wtime(); /* under MPICH, MPI_Wtime() before MPI_Init() ends the program */
    TRY(sp_plan_check(function, comm, block, k, o, s, plan));
    TRY(sp_agree(comm, "plan", sp_alloc_zero((void **)&own, 1, sizeof *own, "a plan")));
    keep(block, own);
    TRY_GOTO(sp_agree(comm, "plan", plan_fetch(o, s, own)), failed);
    TRY_GOTO(sp_grid_create(comm, block->p, block->q, &own->grid), failed);
    TRY_GOTO((own->stale ? create_there : create_here)(own, k > 0 ? k : 1, o, s, plan), failed);
    (*plan)->own = own;
    (*plan)->k_max = (*plan)->forward->k = k;
    sp_product_use_stream((*plan)->forward, o->stream); /* the trials of the set-up are complete */
    (*plan)->forward->times.created = MPI_Wtime() - start;
    return SPMM_OK;
failed:
    destroy_own(own);
    return status == SPMM_ERR_USAGE ? sp_fail(status, "%s: %s", function, spmm_error_message()) : status;
}

spmm_status spmm_plan_create(MPI_Comm comm, const spmm_block *block, int64_t k,
                             const spmm_plan_options *options, spmm_plan **plan)
{
    SP_DEFAULT_FP;
    return plan_create(__func__, comm, block, k, options, NULL, plan);
}

spmm_status spmm_plan_create_extended(MPI_Comm comm, const spmm_block *block, int64_t k,
                                      const spmm_plan_options *options, const spmm_plan_study *study,
                                      spmm_plan **plan)
{
    SP_DEFAULT_FP;
    return plan_create(__func__, comm, block, k, options, study, plan);
}

void spmm_plan_destroy(spmm_plan *p)
{
    SP_DEFAULT_FP;
    if (!p) return;
    while (!sp_is_forked() && !sp_plan_try(p)) sched_yield(); /* waits for a call of another thread */
    sp_transposed_destroy(p->transposed);
    sp_values_gradient_destroy(p);
    sp_product_destroy(p->forward);
    destroy_own(p->own);
    sp_free(p);
}

const char *spmm_plan_kernel(const spmm_plan *plan) { return plan ? plan->forward->parts.kernel->id : ""; }

/* ---- numbers of columns ---- */

static spmm_status check_columns(const spmm_plan *p, int64_t k, const char *function)
{
    if (k >= 0 && k <= p->k_max) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE, "%s: k is %lld, expected 0 to %lld, for which the plan was made", function,
                   (long long)k, (long long)p->k_max);
}

static spmm_status check_k(const spmm_plan *p, int64_t k)
{
    static const char function[] = "spmm_plan_set_k";
    int captured = 0;
    TRY(check_columns(p, k, function));
    if (p->forward->stream) TRY(sp_device_captures(p->forward->stream, &captured));
    return captured
               ? sp_fail(SPMM_ERR_USAGE,
                         "%s: the stream is being captured in a CUDA graph, expected a call outside of the "
                         "capture",
                         function)
               : SPMM_OK;
}

/** Waits for queued products. Copies values to host memory if the matrix will be converted there again. */
static spmm_status get_ready(spmm_plan *p, int64_t k)
{
    TRY(sp_product_wait(p->forward));
    const int converts = sp_product_converts(p->forward, k) ||
                         (p->transposed && sp_transposed_converts(p->transposed, k));
    return converts && !sp_product_is_there(p->forward) ? sp_plan_refresh(p->own) : SPMM_OK;
}

static spmm_status plan_set_k(spmm_plan *p, int64_t k)
{
    MPI_Comm comm = p->forward->grid->comm;
    TRY(sp_agree_common(comm, "plan", check_k(p, k), "spmm_plan_set_k", &(sp_common){"k", k, 1}, 1));
    if (k == p->forward->k) return SPMM_OK;
    TRY(sp_agree(comm, "convert", get_ready(p, k)));
    spmm_status status = sp_product_set_k(p->forward, k);
    if (status == SPMM_OK && p->transposed) status = sp_transposed_set_k(p->transposed, k);
    if (status != SPMM_OK) p->forward->k = 0;
    return status;
}

spmm_status spmm_plan_set_k(spmm_plan *p, int64_t k)
{
    SP_DEFAULT_FP;
    TRY(sp_plan_take(p, __func__, 1));
    return sp_plan_give(p, plan_set_k(p, k));
}

/* ---- the stream ---- */

static spmm_status plan_set_stream(spmm_plan *p, void *stream)
{
    static const char function[] = "spmm_plan_set_stream";
    sp_product *const f = p->forward;
    if (f->grid->size > 1 || f->space != SPMM_CUDA)
        return sp_fail(SPMM_ERR_USAGE, "%s: the plan has %d ranks on %s, expected one rank on a GPU",
                       function, f->grid->size, f->space == SPMM_CUDA ? "GPUs" : "CPUs");
    if (stream == f->stream) return SPMM_OK;
    if (stream) TRY(sp_device_check_stream(stream));
    TRY(sp_product_wait(f));
    if (p->transposed) TRY(sp_transposed_use_stream(p->transposed, stream));
    f->stream = f->options.stream = stream;
    return SPMM_OK;
}

spmm_status spmm_plan_set_stream(spmm_plan *p, void *stream)
{
    SP_DEFAULT_FP;
    TRY(sp_plan_take(p, __func__, 1));
    return sp_plan_give(p, plan_set_stream(p, stream));
}

/* ---- new values ---- */

spmm_status sp_plan_refresh(sp_plan_own *own)
{
    if (!own || !own->stale) return SPMM_OK;
    spmm_csr *const to = &own->host.csr;
    if (!to->irp) {
        TRY(sp_csr_download(&own->on_gpu->csr, to));
        own->ghosted.local.csr = *to;
        own->stale = 0;
        return SPMM_OK;
    }
    TRY(sp_device_download(to->as, own->on_gpu->csr.as, to->nnz * sp_value_size(to->precision)));
    own->stale = 0;
    return SPMM_OK;
}

/** Determines whether all new values, including those of the transpose, can be copied to their places by the
 *  GPU alone.
 *  \param [out] all  0: some values are needed in host memory */
static spmm_status map_values(spmm_plan *p, int *all)
{
    *all = 0;
    if (p->forward->space != SPMM_CUDA || p->forward->given->joint) return SPMM_OK;
    TRY(sp_product_map_values(p->forward, all));
    return *all && p->transposed ? sp_transposed_map_values(p->transposed, all) : SPMM_OK;
}

/** Copies the values in host memory to the GPU. If there is no memory for the copy, the kernels' arrays are
 *  written one by one.
 *  \param [out] copy  the caller frees it; NULL if there is no memory */
static spmm_status upload_values(const spmm_csr *a, void **copy)
{
    const int64_t bytes = a->nnz * sp_value_size(a->precision);
    const spmm_status status = sp_device_alloc(copy, bytes, "new values");
    if (status == SPMM_ERR_MEMORY) return SPMM_OK;
    return status == SPMM_OK ? sp_device_upload(*copy, a->as, bytes) : status;
}

/** Determines where new values are read from.
 *  \param [out] values  in GPU memory; NULL: they are in host memory, to which this function has copied them
 *                       if necessary
 *  \param [out] copy    memory that the caller frees, or NULL */
static spmm_status find_values(spmm_plan *p, const void **values, void **copy)
{
    const spmm_block *const on_gpu = p->own ? p->own->on_gpu : NULL;
    int all = 0;
    *values = *copy = NULL;
    if (on_gpu) p->own->stale = 1;
    /* without a transpose, values in host memory are copied to each array separately */
    if (on_gpu || p->transposed) TRY(map_values(p, &all));
    if (!all && !sp_product_is_there(p->forward)) return on_gpu ? sp_plan_refresh(p->own) : SPMM_OK;
    if (!on_gpu) TRY(upload_values(&p->forward->given->local.csr, copy));
    *values = on_gpu ? on_gpu->csr.as : *copy;
    return SPMM_OK;
}

static spmm_status update(spmm_plan *p, const void *values)
{
    TRY(sp_product_update_values(p->forward, values));
    TRY(sp_partial_rows_update(p->forward->partial, NULL));
    return p->transposed ? sp_transposed_update(p->transposed, values) : SPMM_OK;
}

spmm_status sp_plan_update_values(spmm_plan *p)
{
    const sp_product *const f = p->forward;
    const void *values = NULL;
    void *copy = NULL;
    spmm_status status = sp_product_wait(p->forward);
    if (status == SPMM_OK) status = find_values(p, &values, &copy);
    TRY_GOTO(sp_agree(f->grid->comm, "convert", status), done);
    if (f->given->joint) TRY_GOTO(sp_joint_update(f->grid, f->block, f->given->joint), done);
    status = update(p, values);
    if (status == SPMM_OK && f->stream) status = sp_device_sync();
    status = sp_agree(f->grid->comm, "convert", status);
done:
    sp_device_free(copy);
    return status;
}

spmm_status spmm_plan_update_values(spmm_plan *p)
{
    SP_DEFAULT_FP;
    TRY(sp_plan_take(p, __func__, 1));
    return sp_plan_give(p, sp_plan_update_values(p));
}

/* ---- products, for the program spmm_mpi ---- */

spmm_status sp_plan_apply(spmm_plan *p, double alpha, const spmm_multivector *x, double beta,
                          spmm_multivector *y)
{
    return sp_product_apply(p->forward, sp_value_of(alpha, p->forward->precision), x,
                            sp_value_of(beta, p->forward->precision), y);
}

spmm_status sp_plan_apply_local(spmm_plan *p, const spmm_multivector *x, spmm_multivector *y)
{
    return sp_product_run(p->forward, SP_STEP_COMPUTES | SP_STEP_SUMS, x, y);
}

spmm_status sp_plan_exchange(spmm_plan *p, const spmm_multivector *x)
{
    return sp_product_run(p->forward, SP_STEP_MOVES, x, NULL);
}

void sp_plan_skip(spmm_plan *p) { sp_product_skip(p->forward, SP_STEP_ALL); }

void sp_plan_skip_exchange(spmm_plan *p) { sp_product_skip(p->forward, SP_STEP_MOVES); }

spmm_status sp_plan_measure(spmm_plan *p) { return sp_product_measure(p->forward); }

spmm_status sp_plan_seconds(const spmm_plan *p, sp_apply_seconds *seconds)
{
    return sp_product_seconds(p->forward, seconds);
}

/* ---- facts ---- */

void sp_plan_facts_of(const spmm_plan *plan, sp_plan_facts *facts)
{
    const sp_product *const p = plan->forward;
    *facts = (sp_plan_facts){p->parts.kernel,
                             &p->decisions,
                             sp_product_transport(p),
                             p->exchange ? sp_exchange_backend(p->exchange) : "",
                             sp_reduction_method(p->reduction),
                             (p->exchange ? p->moves->all_moved : 0) + sp_partial_rows_messages(p->partial),
                             sp_row_blocks_interior_rows(&p->parts),
                             p->column_blocks.count,
                             p->overlap,
                             p->given,
                             p->steps.words,
                             p->parts.count > 0 ? p->parts.part[0].state : NULL};
}

/* ---- multivectors ---- */

static spmm_status create_x(const spmm_plan *p, int64_t k, const char *function, spmm_multivector *x)
{
    TRY(sp_fork_check(function));
    TRY(check_columns(p, k, function));
    if (!p->forward->exchange) return sp_product_x_create(p->forward, k, 0, x);
    if (!sp_plan_try(p)) return sp_plan_refuse(function); /* the exchange keeps a list of memory for X */
    return sp_plan_give(p, sp_product_x_create(p->forward, k, 0, x));
}

spmm_status spmm_plan_x_create(const spmm_plan *p, spmm_multivector *x)
{
    SP_DEFAULT_FP;
    TRY(sp_given(__func__, "x", x, "the address of a multivector"));
    memset(x, 0, sizeof *x);
    TRY(sp_given(__func__, "plan", p, "a plan of spmm_plan_create()"));
    return create_x(p, p->forward->k, __func__, x);
}

spmm_status spmm_plan_x_create_k(const spmm_plan *p, int64_t k, spmm_multivector *x)
{
    SP_DEFAULT_FP;
    TRY(sp_given(__func__, "x", x, "the address of a multivector"));
    memset(x, 0, sizeof *x);
    TRY(sp_given(__func__, "plan", p, "a plan of spmm_plan_create()"));
    return create_x(p, k, __func__, x);
}

spmm_status spmm_plan_y_create(const spmm_plan *p, spmm_multivector *y)
{
    SP_DEFAULT_FP;
    TRY(sp_given(__func__, "y", y, "the address of a multivector"));
    memset(y, 0, sizeof *y);
    TRY(sp_given(__func__, "plan", p, "a plan of spmm_plan_create()"));
    const sp_product *const f = p->forward;
    return spmm_multivector_create(f->y_rows, f->k, f->precision, f->space, y);
}

spmm_status spmm_plan_y_create_k(const spmm_plan *p, int64_t k, spmm_multivector *y)
{
    SP_DEFAULT_FP;
    TRY(sp_given(__func__, "y", y, "the address of a multivector"));
    memset(y, 0, sizeof *y);
    TRY(sp_given(__func__, "plan", p, "a plan of spmm_plan_create()"));
    TRY(check_columns(p, k, __func__));
    const sp_product *const f = p->forward;
    return spmm_multivector_create(f->y_rows, k, f->precision, f->space, y);
}
