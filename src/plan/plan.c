/** Creates plans for the product Y := alpha A X + beta Y distributed over all ranks; apply.c computes the
 *  products. */
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/arguments.h"
#include "base/memory.h"
#include "base/threads.h"
#include "device/device.h"
#include "distribute/joint.h"
#include "formats/csr.h"
#include "formats/multivector.h"
#include "plan/plan_check.h"
#include "plan/product.h"
#include "plan/share_x.h"
#include "plan/variants.h"

/** Multiply-adds of a rank: with fewer, kernels are not compared. */
static const double LITTLE_WORK = 8192;

static int threads_of(int asked) { return asked > 0 ? asked : sp_threads_default(); }

spmm_status sp_plan_features(MPI_Comm comm, const spmm_block *block, int threads, sp_features *f)
{
    sp_features_of(&block->csr, block->row_begin - block->col_begin, threads_of(threads), f);
    TRY(sp_sum(comm, (double *)&f->sum, sizeof f->sum / sizeof(double)));
    /* of the members after the sums, all double, the greatest counts */
    return sp_slowest(comm, &f->longest, (sizeof *f - sizeof f->sum) / sizeof(double));
}

/* ---- set-up ---- */

static spmm_status named_kernel(const spmm_plan_options *o, const sp_kernel **kernel)
{
    *kernel = sp_kernel_find(o->kernel);
    if (!*kernel) return sp_fail(SPMM_ERR_USAGE, "no kernel %s: see --list-kernels", o->kernel);
    if ((*kernel)->device != o->device || (o->format != SPMM_FORMAT_AUTO && (*kernel)->format != o->format))
        return sp_fail(SPMM_ERR_USAGE, "kernel %s is for another device or format: see --list-kernels",
                       (*kernel)->id);
    return SPMM_OK;
}

/** Lists the kernels that are tried: the named one, or those that are expected to be fast.
 *  \param [in] f  features of the matrix; NULL if o->kernel names the kernel */
static spmm_status list_kernels(const spmm_plan_options *o, const sp_features *f, int64_t k, spmm_plan *p,
                                const sp_kernel *list[SP_MAX_CANDIDATES], int *count)
{
    *count = 1;
    snprintf(p->why, sizeof p->why, "named");
    if (!f) return named_kernel(o, &list[0]);
    *count = sp_order_kernels(f, k, o->products, p->precision, o->device, o->format, p->all_kernels, list,
                              p->why, sizeof p->why);
    if (*count == 0)
        return sp_fail(SPMM_ERR_USAGE, "no kernel has that format on that device: see --list-kernels");
    /* so few multiply-adds take no time in any kernel */
    const int little = f->sum.nnz * (double)k < LITTLE_WORK * fmax(f->sum.blocks, 1);
    if (!p->all_kernels && (little || !sp_plan_tries(o))) *count = 1;
    return SPMM_OK;
}

/** Chooses the kernel and converts the block to its format. Collective over the grid.
 *  \param [in] f  as for list_kernels() */
static spmm_status build(const spmm_plan_options *o, const sp_features *f, spmm_plan *p)
{
    const sp_kernel *list[SP_MAX_CANDIDATES];
    const int blocks = p->column_blocks.count;
    sp_kernel_trial t = {.comm = p->grid->comm,
                         .halo = p->halo, /* numbers columns otherwise than `given`, and has the same rows */
                         .list = list,
                         .k = p->k / blocks, /* number of columns that one kernel launch computes */
                         .ell_limit = o->ell_limit,
                         .threads = p->threads,
                         .shape = p->shape,
                         .products = p->all_kernels ? INFINITY : (double)sp_products_of(o->products)};
    spmm_status status = sp_shape_check(p->shape);
    if (status == SPMM_OK) status = list_kernels(o, f, t.k, p, list, &t.count);
    TRY(sp_agree(p->grid->comm, "plan", status));
    p->parts.slice = p->given->joint ? NULL : p->given->slice; /* those of the joint exchange lack entries */
    TRY(sp_kernel_trial_run(&t, &p->parts, &p->kernel_trial));
    sp_trial_words(&p->kernel_trial, p->why, sizeof p->why);
    p->space = p->parts.kernel->device;
    /* boundary rows run concurrently with interior rows: in the stream of the exchange, which precedes
     * them; but where partial rows have to be exchanged in it meanwhile */
    if (p->space == SPMM_CUDA && sp_row_blocks_both_kinds(&p->parts) && !p->given->joint)
        p->boundary_stream = SP_STREAM_MOVE;
    return SPMM_OK;
}

/** Determines the row blocks and the number of column blocks, which is the same on all ranks. Collective over
 *  the grid. If o->column_blocks is not 0, X is split into that many column blocks. If it is 0, X is not
 *  split on CPUs. On GPUs, if rows of X are exchanged (but not by
 *  the joint exchange), overlap is not disabled, and fewer than half of the rows of all ranks' blocks are interior, X is split into
 *  sp_column_blocks_best() column blocks, and interior rows are not computed apart. */
static spmm_status find_parts(const spmm_plan_options *o, spmm_plan *p)
{
    spmm_status status = SPMM_OK;
    double rows[2];
    p->column_blocks.count = 1;
    if (o->column_blocks != 0 && !sp_column_blocks_fit(p->k, p->precision, o->column_blocks))
        status = sp_fail(
            SPMM_ERR_USAGE,
            "%d column blocks of K = %lld: expected a divisor up to %d that leaves multiples of 32 bytes",
            o->column_blocks, (long long)p->k, SP_MOST_COLUMN_BLOCKS);
    TRY(sp_agree(p->grid->comm, "plan", status));
    if (o->column_blocks > 0) p->column_blocks.count = o->column_blocks;
    sp_row_blocks_find(p->halo, !o->no_overlap && o->column_blocks < 2, &p->parts);
    if (o->column_blocks > 0 || o->no_overlap || o->device == SPMM_CPU || p->halo->all_moved == 0 ||
        p->given->joint)
        return SPMM_OK;
    rows[0] = (double)sp_row_blocks_interior_rows(&p->parts);
    rows[1] = (double)p->halo->local.rows;
    TRY(sp_sum(p->grid->comm, rows, 2));
    if (2 * rows[0] >= rows[1]) return SPMM_OK;
    double ghosts = (double)(p->halo->ghost_low + p->halo->ghost_high);
    TRY(sp_slowest(p->grid->comm, &ghosts, 1));
    p->column_blocks.count = sp_column_blocks_best(p->k, p->precision, (int64_t)ghosts);
    /* few interior rows hide little, and cost a launch with its tail */
    sp_row_blocks_find(p->halo, 0, &p->parts);
    return SPMM_OK;
}

/** Does the collective part of sp_plan_create(): creates the exchange, the reduction and the column
 *  blocks. */
static spmm_status connect(const spmm_plan_options *o, spmm_plan *p)
{
    const int64_t ld = sp_multivector_ld(p->k, p->precision), rows = p->halo->local.rows;
    const int64_t size = sp_value_size(p->precision);
    const sp_exchange_options move = {
        .row_bytes = sp_multivector_ld(p->k / p->column_blocks.count, p->precision) * size,
        .pitch = ld * size,
        .space = p->space,
        .transport = o->transport,
        .queued = o->stream != NULL,
        .untimed = !sp_plan_tries(o),
        /* nothing that has been queued before the exchange ends is to run beside it */
        .alone = p->parts.interior == 0 && p->column_blocks.count == 1 && !p->given->joint,
        .threads = p->threads};
    const int moves = p->halo->all_moved > 0;
    /* even if no row is exchanged, it is an error to request a transport that is not available */
    const int named = o->transport != SPMM_TRANSPORT_AUTO &&
                      (o->transport != SPMM_TRANSPORT_SHARED || p->space != SPMM_CPU);
    if (!p->exchange && (moves || named)) TRY(sp_exchange_create(p->grid, p->halo, &move, &p->exchange));
    if (!moves && !sp_exchange_shares(p->exchange)) {
        sp_exchange_destroy(p->exchange);
        p->exchange = NULL;
    }
    if (p->given->joint && p->given->joint->moves.all_moved > 0)
        TRY(sp_partial_rows_create(p->grid, p->given, o, o->kernel ? p->parts.kernel : NULL, p->k, p->threads,
                                   &p->partial));
    /* two partial Y have the same sum by every method; in the caller's stream NCCL queues the sum, the others do not */
    const int timed = sp_plan_tries(o) && !o->stream && (o->any_order || p->grid->dims[1] == 2);
    TRY(sp_reduction_create(p->grid, rows * ld, p->precision, p->space, o->reduce, p->threads,
                            timed ? &p->reduce_trial : NULL, &p->reduction));
    p->y_rows = p->grid->coords[1] == 0 || sp_reduce_everywhere(sp_reduction_method(p->reduction)) ? rows : 0;
    spmm_status status = sp_column_blocks_create(p->halo, p->k, p->precision, p->space, p->exchange,
                                                 p->column_blocks.count, &p->column_blocks);
    if (status == SPMM_OK && p->y_rows != rows)
        status = spmm_multivector_create(rows, p->k, p->precision, p->space, &p->y);
    sp_steps_list(p);
    return sp_agree(p->grid->comm, "convert", status);
}

static spmm_status create(const sp_grid *grid, const spmm_block *block, const sp_halo *halo, int64_t k,
                          const spmm_plan_options *o, int all_kernels, spmm_plan *p)
{
    sp_features f;
    p->grid = grid;
    p->halo = p->given = halo;
    p->block = block;
    p->options = *o;
    p->function = "spmm_apply";
    p->product = "Y := A X";
    p->k = k;
    p->precision = block->csr.precision;
    p->shape = (sp_shape){o->block_size, o->subwarp};
    p->threads = threads_of(o->threads);
    p->all_kernels = all_kernels;
    if (!o->kernel) TRY(sp_plan_features(grid->comm, block, o->threads, &f));
    TRY(sp_share_x(block, o, p));
    TRY(sp_relay_x(block, o, p));
    TRY(find_parts(o, p));
    TRY(build(o, o->kernel ? NULL : &f, p));
    return connect(o, p);
}

spmm_status sp_plan_create(const sp_grid *grid, const spmm_block *block, const sp_halo *halo, int64_t k,
                           const spmm_plan_options *options, int all_kernels, spmm_plan **plan)
{
    spmm_plan *p = NULL;
    *plan = NULL;
    spmm_status status = sp_agree(grid->comm, "plan", sp_alloc_zero((void **)&p, 1, sizeof *p, "a plan"));
    if (status == SPMM_OK) status = create(grid, block, halo, k, options, all_kernels, p);
    if (status != SPMM_OK) {
        spmm_plan_destroy(p);
        return status;
    }
    *plan = p;
    return SPMM_OK;
}

static void destroy_own(sp_plan_own *own)
{
    if (!own) return;
    sp_halo_destroy(&own->halo);
    sp_halo_destroy(&own->joint);
    spmm_csr_destroy(&own->host.csr);
    sp_grid_destroy(&own->grid);
    sp_free(own);
}

/** Copies a block whose CSR is in GPU memory to host memory, where planning looks at it. */
static spmm_status fetch(const spmm_block *block, const spmm_plan_options *o, sp_plan_own *own)
{
    int on_gpu;
    TRY(sp_precision_check("block.csr", block->csr.precision));
    TRY(sp_csr_on_gpu(&block->csr, &on_gpu));
    if (!on_gpu) return SPMM_OK;
    if (o->device == SPMM_CPU)
        return sp_fail(SPMM_ERR_USAGE,
                       "block.csr is in GPU memory, expected host memory with options.device SPMM_CPU");
    own->host = *block;
    own->host.csr = (spmm_csr){0};
    if (o->stream) TRY(sp_device_take_stream(o->stream));
    const spmm_status status = sp_csr_download(&block->csr, &own->host.csr);
    if (o->stream) TRY(sp_device_return_stream());
    own->on_gpu = status == SPMM_OK ? block : NULL;
    return status;
}

spmm_status spmm_plan_create(MPI_Comm comm, const spmm_block *block, int64_t k,
                             const spmm_plan_options *options, spmm_plan **plan)
{
    static const spmm_plan_options defaults;
    const spmm_plan_options *o = options ? options : &defaults;
    sp_plan_own *own = NULL;
    spmm_status status;
    if (plan) *plan = NULL;
    TRY(sp_comm_check(comm, __func__));
    const double start = MPI_Wtime(); /* MPICH ends a program that asks before MPI_Init() */
    TRY(sp_plan_check(comm, block, k, o, plan));
    TRY(sp_agree(comm, "plan", sp_alloc_zero((void **)&own, 1, sizeof *own, "a plan")));
    TRY_GOTO(sp_agree(comm, "plan", fetch(block, o, own)), failed);
    if (own->on_gpu) block = &own->host;
    TRY_GOTO(sp_grid_create(comm, block->p, block->q, &own->grid), failed);
    TRY_GOTO(sp_halo_create(&own->grid, block, o->exchange, threads_of(o->threads), &own->halo), failed);
    TRY_GOTO(sp_joint_halo_create(&own->grid, block, &own->halo, o, &own->joint), failed);
    TRY_GOTO(sp_plan_create_fastest(&own->grid, block, &own->halo, own->joint.joint ? &own->joint : NULL, k,
                                    o, 0, plan),
             failed);
    (*plan)->own = own;
    if (o->stream)
        (void)sp_device_sync();  /* products do not wait for what was queued here, and report errors */
    (*plan)->stream = o->stream; /* trials were waited for */
    (*plan)->times = (sp_plan_times){.created = MPI_Wtime() - start}; /* without the products of trials */
    return SPMM_OK;
failed:
    destroy_own(own);
    return status == SPMM_ERR_USAGE ? sp_fail(status, "%s: %s", __func__, spmm_error_message()) : status;
}

void spmm_plan_destroy(spmm_plan *p)
{
    if (!p) return;
    while (!sp_plan_try(p)) sched_yield(); /* the call of another thread returns first */
    if (p->pending.open && sp_mpi_runs()) (void)sp_plan_end(p);
    if (sp_mpi_runs()) (void)sp_plan_wait(p);
    sp_transposed_plan_destroy(p->transposed);
    sp_exchange_destroy(p->exchange);
    sp_partial_rows_destroy(p->partial);
    sp_reduction_destroy(p->reduction);
    sp_row_blocks_destroy(&p->parts);
    sp_phases_destroy(&p->phases);
    sp_column_blocks_destroy(&p->column_blocks);
    spmm_multivector_destroy(&p->x);
    spmm_multivector_destroy(&p->y);
    sp_node_rows_destroy(&p->node);
    destroy_own(p->own);
    sp_free(p);
}

const char *spmm_plan_kernel(const spmm_plan *plan) { return plan ? plan->parts.kernel->id : ""; }

/* ---- new values ---- */

spmm_status sp_plan_refresh(sp_plan_own *own)
{
    const spmm_csr *const to = &own->host.csr;
    if (!own->stale) return SPMM_OK;
    TRY(sp_device_download(to->as, own->on_gpu->csr.as, to->nnz * sp_value_size(to->precision)));
    own->stale = 0;
    return SPMM_OK;
}

/** Finds out whether all new values can be copied to their places within the GPU, those of the transpose, too.
 *  \param [out] all  0: some have to be in host memory */
static spmm_status map_values(spmm_plan *p, int *all)
{
    *all = 0;
    if (p->space != SPMM_CUDA || p->given->joint) return SPMM_OK;
    TRY(sp_row_blocks_map(&p->parts, all));
    return *all && p->transposed ? sp_transposed_plan_map(p->transposed, all) : SPMM_OK;
}

/** Copies the values of the host to the GPU. Without memory for that, the kernels' arrays are written one by one.
 *  \param [out] copy  the caller frees it; NULL without memory */
static spmm_status upload_values(const spmm_csr *a, void **copy)
{
    const int64_t bytes = a->nnz * sp_value_size(a->precision);
    const spmm_status status = sp_device_alloc(copy, bytes, "new values");
    if (status == SPMM_ERR_MEMORY) return SPMM_OK;
    return status == SPMM_OK ? sp_device_upload(*copy, a->as, bytes) : status;
}

/** Finds out where new values are read.
 *  \param [out] values  in GPU memory; NULL: they are in host memory, to which they have been brought
 *  \param [out] copy    memory that the caller frees, or NULL */
static spmm_status find_values(spmm_plan *p, const void **values, void **copy)
{
    const spmm_block *const on_gpu = p->own ? p->own->on_gpu : NULL;
    int all = 0;
    *values = *copy = NULL;
    if (on_gpu) p->own->stale = 1;
    /* without a transpose, values from the host go to each array by themselves */
    if (on_gpu || p->transposed) TRY(map_values(p, &all));
    if (!all) return on_gpu ? sp_plan_refresh(p->own) : SPMM_OK;
    if (!on_gpu) TRY(upload_values(&p->given->local, copy));
    *values = on_gpu ? on_gpu->csr.as : *copy;
    return SPMM_OK;
}

static spmm_status update(spmm_plan *p, const void *values)
{
    TRY(sp_row_blocks_update(&p->parts, values));
    TRY(sp_partial_rows_update(p->partial, NULL));
    return p->transposed ? sp_transposed_plan_update(p->transposed, values) : SPMM_OK;
}

static spmm_status update_all(spmm_plan *p)
{
    const void *values = NULL;
    void *copy = NULL;
    spmm_status status = sp_plan_wait(p);
    if (status == SPMM_OK) status = find_values(p, &values, &copy);
    TRY_GOTO(sp_agree(p->grid->comm, "convert", status), done);
    if (p->given->joint) TRY_GOTO(sp_joint_update(p->grid, p->block, p->given->joint), done);
    status = update(p, values);
    if (status == SPMM_OK && p->stream) status = sp_device_sync();
    status = sp_agree(p->grid->comm, "convert", status);
done:
    sp_device_free(copy);
    return status;
}

spmm_status spmm_plan_update_values(spmm_plan *p)
{
    TRY(sp_plan_take(p, __func__, 1));
    return sp_plan_give(p, update_all(p));
}

/* ---- facts ---- */

spmm_transport sp_plan_transport(const spmm_plan *p)
{
    if (p->exchange) return sp_exchange_transport(p->exchange);
    return p->partial ? sp_partial_rows_transport(p->partial) : SPMM_TRANSPORT_AUTO;
}

void sp_plan_facts_of(const spmm_plan *p, sp_plan_facts *facts)
{
    *facts = (sp_plan_facts){p->parts.kernel,
                             p->why,
                             &p->kernel_trial,
                             sp_plan_transport(p),
                             p->exchange ? sp_exchange_backend(p->exchange) : "",
                             sp_reduction_method(p->reduction),
                             (p->exchange ? p->halo->all_moved : 0) + sp_partial_rows_messages(p->partial),
                             sp_row_blocks_interior_rows(&p->parts),
                             p->column_blocks.count,
                             p->given,
                             &p->variants,
                             &p->reduce_trial,
                             p->steps.words,
                             p->parts.count > 0 ? p->parts.part[0].state : NULL};
}

spmm_status spmm_plan_x_create(const spmm_plan *p, spmm_multivector *x)
{
    TRY(sp_given(__func__, "x", x, "a place for the multivector"));
    memset(x, 0, sizeof *x);
    TRY(sp_given(__func__, "plan", p, "a plan of spmm_plan_create()"));
    if (!p->exchange) return sp_plan_x_create(p, 0, x);
    if (!sp_plan_try(p)) return sp_plan_refuse(__func__); /* the exchange keeps account of memory for X */
    return sp_plan_give(p, sp_plan_x_create(p, 0, x));
}

spmm_status spmm_plan_y_create(const spmm_plan *p, spmm_multivector *y)
{
    TRY(sp_given(__func__, "y", y, "a place for the multivector"));
    memset(y, 0, sizeof *y);
    TRY(sp_given(__func__, "plan", p, "a plan of spmm_plan_create()"));
    return spmm_multivector_create(p->y_rows, p->k, p->precision, p->space, y);
}
