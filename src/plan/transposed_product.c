/** Computes products with the transpose of a plan's matrix, as products with the transposed blocks. */
#include "plan/transposed_product.h"

#include <string.h>

#include "base/status.h"
#include "base/memory.h"
#include "device/device.h"
#include "device/device_ops.h"
#include "halo/transposed.h"
#include "plan/decide.h"
#include "formats/multivector.h"

struct sp_transposed {
    const sp_product *of;
    sp_grid grid; /* the grid of the product `of`, but with Q = 1, because each process column computes its
                        rows of Y without the other process columns */
    sp_ghosted_block forward; /* the block without the joint exchange, if the product has it; else zeroed */
    sp_ghosted_block transposed;
    spmm_csr there;        /* the transpose in GPU memory, if the matrix is there, else zeroed; gpu_map[0] has
                              the places of its values */
    sp_transposed_map map; /* the map for new values; all zero until the first update */
    /* The arrays of `map` in GPU memory, if the GPU copies new values to the transpose; else NULL. */
    sp_value_place *gpu_map[SP_TRANSPOSED_PARTS];
    int old; /* 1: the values of `transposed` in host memory are older than those with which products are
                         computed */
    spmm_block block; /* the transpose of this rank's block; its arrays belong to `transposed` */
    sp_product *product;
    /* Copies of all rows of X of the process row, used if only its first rank is given X: x in the memory of
     * the device, and staged, for a GPU, in host memory. */
    spmm_multivector x, staged;
};

/* ---- set-up ---- */

/** Returns the options for the transpose. Kernel and format are left to the library, because those of the
 *  product may not suit the transpose. */
static spmm_plan_options options_of(const sp_product *p)
{
    spmm_plan_options o = p->options;
    o.kernel = NULL;
    o.format = SPMM_FORMAT_AUTO;
    o.column_blocks = 0;
    o.reduce = SPMM_REDUCE_AUTO;
    o.exchange_precision = SPMM_F64; /* partial rows are not rounded */
    if (sp_transport_has(o.transport, SP_TRANSPORT_IN_PLACE))
        o.transport = SPMM_TRANSPORT_AUTO; /* partial rows are sent by messages */
    return o;
}

static const sp_ghosted_block *forward(const sp_transposed *t)
{
    return t->of->given->joint ? &t->forward : t->of->given;
}

/** Transposes a matrix that is in GPU memory. */
static spmm_status transpose_there(sp_transposed *t)
{
    const spmm_csr *const a = &t->there;
    sp_rows_facts found;
    TRY(sp_cuda_csr_transpose(t->of->given->on_gpu, &t->there, &t->gpu_map[0]));
    const spmm_rows rows = {
        .irp = a->irp, .ja = a->ja, .irp_bytes = sizeof *a->irp, .ja_bytes = sizeof *a->ja};
    TRY(sp_cuda_check_rows(&rows, a->rows, a->cols, NULL, &found));
    t->block.csr = (spmm_csr){a->rows, a->cols, a->nnz, a->precision, NULL, NULL, NULL};
    t->block.x_rows = a->cols;
    return sp_ghosted_block_create_whole(&t->grid, &t->block, a, found.longest, &t->transposed);
}

static spmm_status transpose(sp_transposed *t)
{
    const sp_product *const p = t->of;
    if (sp_product_is_there(p)) return transpose_there(t);
    if (p->given->joint)
        TRY(sp_ghosted_block_create(p->grid, p->block, SPMM_EXCHANGE_HALO, p->threads, &t->forward));
    return sp_ghosted_block_transpose(forward(t), p->threads, &t->transposed);
}

int sp_product_is_there(const sp_product *of)
{
    const spmm_csr *const a = of->given->on_gpu;
    return a && a->nnz > 0 && a->nnz < SP_NOWHERE && a->rows <= INT32_MAX;
}

spmm_status sp_transposed_use_stream(sp_transposed *t, void *stream)
{
    TRY(sp_product_wait(t->product));
    t->product->stream = stream;
    return SPMM_OK;
}

int sp_transposed_shares_x(const sp_transposed *t)
{
    return t->of->grid->dims[1] > 1 && !sp_reduce_everywhere(sp_reduction_method(t->of->reduction));
}

static spmm_status create_x(sp_transposed *t)
{
    const sp_product *const p = t->of;
    const int64_t rows = t->transposed.moves.own;
    if (!sp_transposed_shares_x(t)) return SPMM_OK;
    TRY(spmm_multivector_create(rows, p->widths.most, p->precision, p->space, &t->x));
    return p->space == SPMM_CPU
               ? SPMM_OK
               : spmm_multivector_create(rows, p->widths.most, p->precision, SPMM_CPU, &t->staged);
}

static spmm_status transposed_product_build(sp_transposed *t)
{
    const spmm_block *const b = t->of->block;
    const spmm_plan_options options = options_of(t->of);
    t->block = (spmm_block){.rows = b->cols,
                            .cols = b->rows,
                            .row_begin = b->x_begin,
                            .col_begin = b->row_begin,
                            .p = b->p,
                            .q = 1};
    TRY(transpose(t));
    t->block.csr = t->transposed.local.csr;
    t->transposed.grid = &t->grid;
    t->transposed.block = &t->block;
    TRY(sp_product_create(&t->transposed, NULL, t->of->widths.most, &options, &t->of->study, &t->product));
    t->product->formula = "Y := A^T X";
    TRY(sp_agree(t->grid.comm, "convert", create_x(t)));
    TRY(sp_transposed_set_k(t, t->of->k));
    sp_product_use_stream(t->product, t->of->stream); /* the trials of the set-up are complete */
    return SPMM_OK;
}

spmm_status sp_transposed_create(const sp_product *of, sp_transposed **transposed)
{
    const double start = MPI_Wtime();
    sp_transposed *t = NULL;
    *transposed = NULL;
    TRY(sp_agree(of->grid->comm, "plan",
                 sp_alloc_zero((void **)&t, 1, sizeof *t, "a product with the transpose")));
    t->of = of;
    t->grid = *of->grid;
    t->grid.dims[1] = 1;
    t->grid.coords[1] = 0;
    const spmm_status status = transposed_product_build(t);
    if (status != SPMM_OK) {
        sp_transposed_destroy(t);
        return status;
    }
    t->product->times.created = MPI_Wtime() - start;
    *transposed = t;
    return SPMM_OK;
}

spmm_status sp_transposed_set_k(sp_transposed *t, int64_t k)
{
    spmm_status status = SPMM_OK;
    if (t->old && sp_product_converts(t->product, k)) {
        status = sp_ghosted_block_transpose_values(forward(t), t->of->threads, &t->map, &t->transposed);
        t->old = status != SPMM_OK;
    }
    TRY(sp_agree(t->grid.comm, "convert", status));
    TRY(sp_product_set_k(t->product, k));
    if (k == 0) return SPMM_OK;
    t->x = sp_multivector_with_k(&t->x, k);
    t->staged = sp_multivector_with_k(&t->staged, k);
    return SPMM_OK;
}

int sp_transposed_converts(const sp_transposed *t, int64_t k) { return sp_product_converts(t->product, k); }

const sp_product *sp_transposed_product(const sp_transposed *t) { return t->product; }

/** Returns matrix number `part` of those into which the transpose is split, see sp_transposed_map. */
static const spmm_csr *part_of(const sp_transposed *t, int part)
{
    return part == 0 ? &t->transposed.joint->rest : &t->transposed.joint->partial;
}

static spmm_status upload_map(sp_transposed *t)
{
    TRY(sp_transposed_map_make(forward(t), t->of->threads, &t->map));
    for (int n = 0; n < SP_TRANSPOSED_PARTS; n++) {
        const int64_t bytes = part_of(t, n)->nnz * (int64_t)sizeof *t->gpu_map[n];
        TRY(sp_device_alloc((void **)&t->gpu_map[n], bytes, "places of values"));
        TRY(sp_device_upload(t->gpu_map[n], t->map.from[n], bytes));
    }
    sp_transposed_map_destroy(&t->map);
    return SPMM_OK;
}

static void free_gpu_map(sp_transposed *t)
{
    for (int n = 0; n < SP_TRANSPOSED_PARTS; n++) {
        sp_device_free(t->gpu_map[n]);
        t->gpu_map[n] = NULL;
    }
}

spmm_status sp_transposed_map_values(sp_transposed *t, int *all)
{
    int partial = 0;
    TRY(sp_product_map_values(t->product, all));
    if (t->there.nnz > 0) return SPMM_OK;
    TRY(sp_partial_rows_map(t->product->partial, &partial));
    *all = *all && partial;
    if (!*all || t->gpu_map[SP_TRANSPOSED_PARTS - 1]) return SPMM_OK;
    const spmm_status status = upload_map(t);
    if (status == SPMM_OK) return SPMM_OK;
    free_gpu_map(t);
    *all = 0;
    return status == SPMM_ERR_MEMORY ? SPMM_OK : status;
}

/** Gathers the values of part n of the transpose from `values` into `to`, which are both in GPU memory, and
 *  updates the product with the gathered values. */
static spmm_status update_part(sp_transposed *t, int n, const void *values, void *to)
{
    const spmm_csr *const part = part_of(t, n);
    TRY(sp_cuda_gather(t->gpu_map[n], part->nnz, (int)sp_value_size(part->precision), values, to,
                       sp_device_stream(SP_STREAM_MAIN)));
    return n == 0 ? sp_product_update_values(t->product, to)
                  : sp_partial_rows_update(t->product->partial, to);
}

static spmm_status update_on_gpu(sp_transposed *t, const void *values)
{
    int64_t most = 0;
    void *to = NULL;
    for (int n = 0; n < SP_TRANSPOSED_PARTS; n++)
        if (part_of(t, n)->nnz > most) most = part_of(t, n)->nnz;
    spmm_status status = sp_device_alloc(&to, most * sp_value_size(t->transposed.joint->rest.precision),
                                         "new values");
    for (int n = 0; n < SP_TRANSPOSED_PARTS && status == SPMM_OK; n++)
        if (part_of(t, n)->nnz > 0) status = update_part(t, n, values, to);
    sp_device_free(to);
    return status;
}

/** Gathers the values of a transpose in GPU memory, and updates the product with them. */
static spmm_status update_there(sp_transposed *t)
{
    TRY(sp_cuda_gather(t->gpu_map[0], t->there.nnz, (int)sp_value_size(t->there.precision),
                       t->of->given->on_gpu->as, t->there.as, sp_device_stream(SP_STREAM_MAIN)));
    TRY(sp_device_sync()); /* products may be queued in another stream */
    return sp_product_update_values(t->product, t->there.as);
}

spmm_status sp_transposed_update(sp_transposed *t, const void *on_gpu)
{
    if (t->there.nnz > 0) return update_there(t);
    t->old = on_gpu != NULL;
    if (on_gpu) return update_on_gpu(t, on_gpu);
    TRY(sp_ghosted_block_transpose_values(forward(t), t->of->threads, &t->map, &t->transposed));
    TRY(sp_product_update_values(t->product, NULL));
    return sp_partial_rows_update(t->product->partial, NULL);
}

void sp_transposed_destroy(sp_transposed *t)
{
    if (!t) return;
    sp_product_destroy(t->product);
    sp_ghosted_block_destroy(&t->transposed);
    sp_ghosted_block_destroy(&t->forward);
    sp_transposed_map_destroy(&t->map);
    free_gpu_map(t);
    spmm_csr_destroy(&t->there);
    spmm_multivector_destroy(&t->x);
    spmm_multivector_destroy(&t->staged);
    sp_free(t);
}

/* ---- products ---- */

/** Checks Y, and X, which has no rows on ranks other than the first of a process row. */
static spmm_status check_operands(const sp_transposed *t, const spmm_multivector *x,
                                  const spmm_multivector *y)
{
    TRY(sp_product_check_operand(t->product, x, t->of->y_rows, t->product->k, "x"));
    TRY(sp_product_check_operand(t->product, y, t->product->y_rows, t->product->k, "y"));
    return sp_multivector_apart(x, y, t->product->function, "x", "y");
}

/** Copies X from the first rank of the process row to the others. */
static spmm_status spread(sp_transposed *t, const spmm_multivector *x, const spmm_multivector *y)
{
    const sp_grid *const grid = t->of->grid;
    spmm_multivector *const host = t->of->space == SPMM_CUDA ? &t->staged : &t->x;
    const int first = grid->coords[1] == 0;
    spmm_status status = check_operands(t, x, y);
    if (status == SPMM_OK && first && x->layout == SPMM_COLUMN_MAJOR) { /* converted in the space of X */
        status = spmm_multivector_copy(x, &t->x);
        x = &t->x;
    }
    if (status == SPMM_OK && first && x != host) status = spmm_multivector_copy(x, host);
    TRY(sp_agree(grid->row_comm, "apply", status));
    TRY(sp_bcast(grid->row_comm, 0, host->data, sp_multivector_bytes(host)));
    return host == &t->x ? SPMM_OK : spmm_multivector_copy(host, &t->x);
}

spmm_status sp_transposed_apply(sp_transposed *t, int conjugate, sp_value alpha, const spmm_multivector *x,
                                sp_value beta, spmm_multivector *y)
{
    t->product->function = t->of->function;
    t->product->conjugate = conjugate;
    if (!sp_transposed_shares_x(t)) return sp_product_apply(t->product, alpha, x, beta, y);
    if (t->product->k == 0) return check_operands(t, x, y);
    if (t->product->stream) TRY(sp_device_take_stream(t->product->stream));
    const spmm_status status = spread(t, x, y);
    if (t->product->stream) (void)sp_device_return_stream(); /* later calls report errors of the stream */
    if (status == SPMM_OK) return sp_product_apply(t->product, alpha, &t->x, beta, y);
    sp_product_skip(t->product, SP_STEP_ALL);
    return status;
}
