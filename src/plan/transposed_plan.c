/** Computes products with the transpose of a plan's matrix, by a plan for the transposed blocks. */
#include "plan/transposed_plan.h"

#include <string.h>

#include "base/arguments.h"
#include "base/memory.h"
#include "device/device.h"
#include "device/device_ops.h"
#include "distribute/joint.h"
#include "distribute/transposed.h"
#include "formats/multivector.h"
#include "plan/plan_struct.h"

struct sp_transposed_plan {
    const spmm_plan *of;
    sp_grid grid;    /* the plan's, but each process column for itself: it sums its own rows of Y */
    sp_halo forward; /* of rows of X alone, if the plan's is the joint one; else zeroed */
    sp_halo halo;
    sp_transposed_map map; /* for new values; zeroed before the first update */
    /* the arrays of such a map in GPU memory, if values are gathered there: then those of the host grow old */
    sp_value_place *gpu_map[SP_TRANSPOSED_PARTS];
    spmm_block block; /* the transpose of this rank's block; its arrays are those of the halo */
    spmm_plan *plan;
    /* Of a process row, whose first rank alone is given X, all rows of X: in the memory of the device, and in host memory
     * if that is another. */
    spmm_multivector x, staged;
};

/* ---- set-up ---- */

/** Returns the options for the transpose: the kernel and the format of the plan may suit the matrix alone. */
static spmm_plan_options options_of(const spmm_plan *p)
{
    spmm_plan_options o = p->options;
    o.kernel = NULL;
    o.format = SPMM_FORMAT_AUTO;
    o.column_blocks = 0;
    o.reduce = SPMM_REDUCE_AUTO;
    if (o.transport == SPMM_TRANSPORT_SHARED)
        o.transport = SPMM_TRANSPORT_AUTO; /* partial rows go by messages */
    return o;
}

static const sp_halo *forward_halo(const sp_transposed_plan *t)
{
    return t->of->given->joint ? &t->forward : t->of->given;
}

static spmm_status transpose(sp_transposed_plan *t)
{
    const spmm_plan *const p = t->of;
    if (p->given->joint) TRY(sp_halo_create(p->grid, p->block, SPMM_EXCHANGE_HALO, p->threads, &t->forward));
    return sp_halo_transpose(p->grid, forward_halo(t), p->threads, &t->halo);
}

/** Returns 1 if the first rank of the process row alone is given X. */
static int shares_x(const sp_transposed_plan *t)
{
    return t->of->grid->dims[1] > 1 && !sp_reduce_everywhere(sp_reduction_method(t->of->reduction));
}

static spmm_status create_x(sp_transposed_plan *t)
{
    const spmm_plan *const p = t->of;
    const int64_t rows = t->halo.own;
    if (!shares_x(t)) return SPMM_OK;
    TRY(spmm_multivector_create(rows, p->k, p->precision, p->space, &t->x));
    return p->space == SPMM_CPU ? SPMM_OK
                                : spmm_multivector_create(rows, p->k, p->precision, SPMM_CPU, &t->staged);
}

static spmm_status build(sp_transposed_plan *t)
{
    const spmm_block *const b = t->of->block;
    const spmm_plan_options options = options_of(t->of);
    TRY(transpose(t));
    t->block = (spmm_block){.csr = t->halo.local,
                            .rows = b->cols,
                            .cols = b->rows,
                            .row_begin = b->x_begin,
                            .col_begin = b->row_begin,
                            .p = b->p,
                            .q = 1};
    TRY(sp_plan_create(&t->grid, &t->block, &t->halo, t->of->k, &options, t->of->all_kernels, &t->plan));
    t->plan->function = "spmm_apply_transposed";
    t->plan->product = "Y := A^T X";
    TRY(sp_agree(t->grid.comm, "convert", create_x(t)));
    if (t->of->stream)
        (void)sp_device_sync();      /* products do not wait for what was queued here, and report errors */
    t->plan->stream = t->of->stream; /* trials were waited for */
    return SPMM_OK;
}

spmm_status sp_transposed_plan_create(const spmm_plan *plan, sp_transposed_plan **transposed)
{
    const double start = MPI_Wtime();
    sp_transposed_plan *t = NULL;
    *transposed = NULL;
    spmm_status status = sp_alloc_zero((void **)&t, 1, sizeof *t, "a transposed plan");
    if (status == SPMM_OK && plan->own) status = sp_plan_refresh(plan->own);
    status = sp_agree(plan->grid->comm, "plan", status);
    if (status != SPMM_OK) {
        sp_free(t);
        return status;
    }
    t->of = plan;
    t->grid = *plan->grid;
    t->grid.dims[1] = 1;
    t->grid.coords[1] = 0;
    status = build(t);
    if (status != SPMM_OK) {
        sp_transposed_plan_destroy(t);
        return status;
    }
    t->plan->times.created = MPI_Wtime() - start;
    *transposed = t;
    return SPMM_OK;
}

const spmm_plan *sp_transposed_plan_of(const sp_transposed_plan *t) { return t->plan; }

/** The matrices that the transpose is split into, as of sp_transposed_map. */
static const spmm_csr *part_of(const sp_transposed_plan *t, int part)
{
    return part == 0 ? &t->halo.joint->rest : &t->halo.joint->moves.local;
}

static spmm_status upload_map(sp_transposed_plan *t)
{
    TRY(sp_halo_transpose_map(forward_halo(t), t->of->threads, &t->map));
    for (int n = 0; n < SP_TRANSPOSED_PARTS; n++) {
        const int64_t bytes = part_of(t, n)->nnz * (int64_t)sizeof *t->gpu_map[n];
        TRY(sp_device_alloc((void **)&t->gpu_map[n], bytes, "places of values"));
        TRY(sp_device_upload(t->gpu_map[n], t->map.from[n], bytes));
    }
    sp_transposed_map_destroy(&t->map);
    return SPMM_OK;
}

static void free_gpu_map(sp_transposed_plan *t)
{
    for (int n = 0; n < SP_TRANSPOSED_PARTS; n++) {
        sp_device_free(t->gpu_map[n]);
        t->gpu_map[n] = NULL;
    }
}

spmm_status sp_transposed_plan_map(sp_transposed_plan *t, int *all)
{
    int partial = 0;
    TRY(sp_row_blocks_map(&t->plan->parts, all));
    TRY(sp_partial_rows_map(t->plan->partial, &partial));
    *all = *all && partial;
    if (!*all || t->gpu_map[SP_TRANSPOSED_PARTS - 1]) return SPMM_OK;
    const spmm_status status = upload_map(t);
    if (status == SPMM_OK) return SPMM_OK;
    free_gpu_map(t);
    *all = 0;
    return status == SPMM_ERR_MEMORY ? SPMM_OK : status;
}

/** Gathers the values of part n of the transpose in `to`, both in GPU memory, and takes them over. */
static spmm_status update_part(sp_transposed_plan *t, int n, const void *values, void *to)
{
    const spmm_csr *const part = part_of(t, n);
    TRY(sp_cuda_gather(t->gpu_map[n], part->nnz, (int)sp_value_size(part->precision), values, to,
                       sp_device_stream(SP_STREAM_MAIN)));
    return n == 0 ? sp_row_blocks_update(&t->plan->parts, to) : sp_partial_rows_update(t->plan->partial, to);
}

static spmm_status update_on_gpu(sp_transposed_plan *t, const void *values)
{
    int64_t most = 0;
    void *to = NULL;
    for (int n = 0; n < SP_TRANSPOSED_PARTS; n++)
        if (part_of(t, n)->nnz > most) most = part_of(t, n)->nnz;
    spmm_status status = sp_device_alloc(&to, most * sp_value_size(t->halo.joint->rest.precision),
                                         "new values");
    for (int n = 0; n < SP_TRANSPOSED_PARTS && status == SPMM_OK; n++)
        if (part_of(t, n)->nnz > 0) status = update_part(t, n, values, to);
    sp_device_free(to);
    return status;
}

spmm_status sp_transposed_plan_update(sp_transposed_plan *t, const void *on_gpu)
{
    if (on_gpu) return update_on_gpu(t, on_gpu);
    TRY(sp_halo_transpose_values(forward_halo(t), t->of->threads, &t->map, &t->halo));
    TRY(sp_row_blocks_update(&t->plan->parts, NULL));
    return sp_partial_rows_update(t->plan->partial, NULL);
}

void sp_transposed_plan_destroy(sp_transposed_plan *t)
{
    if (!t) return;
    spmm_plan_destroy(t->plan);
    sp_halo_destroy(&t->halo);
    sp_halo_destroy(&t->forward);
    sp_transposed_map_destroy(&t->map);
    free_gpu_map(t);
    spmm_multivector_destroy(&t->x);
    spmm_multivector_destroy(&t->staged);
    sp_free(t);
}

/* ---- products ---- */

/** Checks X, of which ranks other than the first of a process row have no rows, and Y. */
static spmm_status check_operands(const sp_transposed_plan *t, const spmm_multivector *x,
                                  const spmm_multivector *y)
{
    TRY(sp_plan_check_operand(t->plan, x, t->of->y_rows, "x"));
    TRY(sp_plan_check_operand(t->plan, y, t->plan->y_rows, "y"));
    return sp_multivector_apart(x, y, t->plan->function, "x", "y");
}

/** Copies X from the first rank of the process row to the others. */
static spmm_status spread(sp_transposed_plan *t, const spmm_multivector *x, const spmm_multivector *y)
{
    const sp_grid *const grid = t->of->grid;
    spmm_multivector *const host = t->of->space == SPMM_CUDA ? &t->staged : &t->x;
    const int first = grid->coords[1] == 0;
    spmm_status status = check_operands(t, x, y);
    if (status == SPMM_OK && first && x->layout == SPMM_COLUMN_MAJOR) { /* which is converted where it is */
        status = spmm_multivector_copy(x, &t->x);
        x = &t->x;
    }
    if (status == SPMM_OK && first && x != host) status = spmm_multivector_copy(x, host);
    TRY(sp_agree(grid->row_comm, "apply", status));
    TRY(sp_bcast(grid->row_comm, 0, host->data, sp_multivector_bytes(host)));
    return host == &t->x ? SPMM_OK : spmm_multivector_copy(host, &t->x);
}

spmm_status sp_transposed_plan_apply(sp_transposed_plan *t, double alpha, const spmm_multivector *x,
                                     double beta, spmm_multivector *y)
{
    if (!shares_x(t)) return sp_plan_apply(t->plan, alpha, x, beta, y);
    if (t->plan->stream) TRY(sp_device_take_stream(t->plan->stream));
    const spmm_status status = spread(t, x, y);
    if (t->plan->stream) (void)sp_device_return_stream(); /* later calls report errors */
    if (status == SPMM_OK) return sp_plan_apply(t->plan, alpha, &t->x, beta, y);
    sp_plan_skip(t->plan);
    return status;
}

/** Refuses the capture in a CUDA graph of what needs the host. */
static spmm_status check_capture(const spmm_plan *p)
{
    int captured;
    TRY(sp_device_captures(p->stream, &captured));
    if (!captured || (p->transposed && !shares_x(p->transposed))) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE, "spmm_apply_transposed: the stream is being captured in a CUDA graph, %s",
                   p->transposed ? "and X travels over the process row by the hosts"
                                 : "expected a product with the transpose before the capture");
}

static spmm_status apply(spmm_plan *plan, double alpha, const spmm_multivector *x, double beta,
                         spmm_multivector *y)
{
    if (plan->stream) TRY(check_capture(plan));
    if (!plan->transposed) TRY(sp_transposed_plan_create(plan, &plan->transposed));
    return sp_transposed_plan_apply(plan->transposed, alpha, x, beta, y);
}

spmm_status spmm_apply_transposed(spmm_plan *plan, double alpha, const spmm_multivector *x, double beta,
                                  spmm_multivector *y)
{
    TRY(sp_plan_take(plan, __func__, 1));
    return sp_plan_give(plan, apply(plan, alpha, x, beta, y));
}
