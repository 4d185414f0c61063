/** Takes over the values of a matrix whose arrays may have changed: compares them with the block's arrays. */
#include <stdatomic.h>
#include <string.h>

#include "base/threads.h"
#include "base/status.h"
#include "base/fp_environment.h"
#include "base/memory.h"
#include "device/device.h"
#include "device/device_ops.h"
#include "plan/plan_struct.h"

/** Number of entries that a thread compares before it checks whether another thread has found a difference;
 *  also the number beyond which several threads are used. */
enum { PIECE = 1 << 14 };

/** What differs from the block. */
typedef struct unlike {
    atomic_int pattern, values;
} unlike;

/* ---- host memory ---- */

static int starts_differ(const spmm_csr *a, const spmm_rows *r, int64_t begin, int64_t end)
{
    int64_t bits = 0;
    if (r->irp_bytes == 8)
        return memcmp(a->irp + begin, (const int64_t *)r->irp + begin,
                      (size_t)(end - begin) * sizeof *a->irp) != 0;
    for (int64_t i = begin; i < end; i++) bits |= a->irp[i] ^ ((const int32_t *)r->irp)[i];
    return bits != 0;
}

static int columns_differ(const spmm_csr *a, const spmm_rows *r, int64_t begin, int64_t end)
{
    int64_t bits = 0;
    if (r->ja_bytes == 4)
        return memcmp(a->ja + begin, (const int32_t *)r->ja + begin, (size_t)(end - begin) * sizeof *a->ja) !=
               0;
    for (int64_t e = begin; e < end; e++) bits |= a->ja[e] ^ ((const int64_t *)r->ja)[e];
    return bits != 0;
}

static int values_differ(const spmm_csr *a, const spmm_rows *r, int64_t begin, int64_t end)
{
    const int64_t size = sp_value_size(a->precision);
    return memcmp((const char *)a->as + begin * size, (const char *)r->as + begin * size,
                  (size_t)((end - begin) * size)) != 0;
}

static void set(atomic_int *flag) { atomic_store_explicit(flag, 1, memory_order_relaxed); }

static int is_set(atomic_int *flag) { return atomic_load_explicit(flag, memory_order_relaxed); }

static void compare_entries(const spmm_csr *a, const spmm_rows *r, int64_t begin, int64_t end, unlike *found)
{
    if (r->irp && !is_set(&found->pattern) && columns_differ(a, r, begin, end)) set(&found->pattern);
    if (r->as && !is_set(&found->pattern) && !is_set(&found->values) && values_differ(a, r, begin, end))
        set(&found->values);
}

static int64_t end_of(int64_t begin, int64_t all) { return begin + PIECE < all ? begin + PIECE : all; }

static void compare_on_host(const spmm_csr *a, const spmm_rows *r, int threads, unlike *found)
{
    /* if r's first and last row start equal those of the block, r has as many entries as the block */
    if (r->irp && (starts_differ(a, r, 0, 1) || starts_differ(a, r, a->rows, a->rows + 1))) {
        set(&found->pattern);
        return;
    }
#pragma omp parallel num_threads(threads) if (a->nnz + a->rows > PIECE)
    {
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < a->rows; i += PIECE)
            if (r->irp && !is_set(&found->pattern) && starts_differ(a, r, i, end_of(i, a->rows)))
                set(&found->pattern);
#pragma omp for schedule(static)
        for (int64_t e = 0; e < a->nnz; e += PIECE) compare_entries(a, r, e, end_of(e, a->nnz), found);
    }
}

static void copy_on_host(const spmm_csr *a, const void *values, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads) if (a->nnz > PIECE)
    for (int64_t e = 0; e < a->nnz; e += PIECE)
        sp_values_copy(a->precision, values, e, end_of(e, a->nnz) - e, a->as, e);
}

/* ---- GPU memory ---- */

/** Queues a comparison, in one launch. Threads that find a difference write the number of the comparison to
 *  host memory, so that nothing needs to be cleared beforehand. */
static spmm_status queue_comparison(sp_plan_own *own, const spmm_rows *r)
{
    if (!own->found) {
        TRY(sp_device_host_alloc((void **)&own->found, 2 * (int64_t)sizeof *own->found, "a comparison"));
        own->found[0] = own->found[1] = own->compared = 0;
    }
    if (++own->compared == 0) own->compared = 1, own->found[0] = own->found[1] = 0;
    return sp_cuda_compare_rows(&own->on_gpu->csr, r, own->compared, own->found,
                                sp_device_stream(SP_STREAM_MAIN));
}

/** Reads the result of a complete comparison. */
static void read_comparison(const sp_plan_own *own, unlike *found)
{
    if (own->found[0] == own->compared) set(&found->pattern);
    if (own->found[1] == own->compared) set(&found->values);
}

static spmm_status compare_on_gpu(sp_plan_own *own, const spmm_rows *r, unlike *found)
{
    TRY(queue_comparison(own, r));
    TRY(sp_device_sync());
    read_comparison(own, found);
    return SPMM_OK;
}

/* ---- all ranks ---- */

static spmm_status check_array(const char *function, const char *name, const void *array, int bytes,
                               int on_gpu)
{
    if (bytes != 4 && bytes != 8)
        return sp_fail(SPMM_ERR_USAGE, "%s: a->%s_bytes is %d, expected 4 or 8", function, name, bytes);
    if (sp_device_reach(array) == (on_gpu ? SP_REACH_HOST : SP_REACH_GPU))
        return sp_fail(SPMM_ERR_USAGE,
                       "%s: a->%s is in %s memory, expected %s memory, where the plan's block is", function,
                       name, on_gpu ? "host" : "GPU", on_gpu ? "GPU" : "host");
    return SPMM_OK;
}

static spmm_status update_rows_check(const char *function, const spmm_csr *block, const spmm_rows *r,
                                     const int *same, int on_gpu)
{
    TRY(sp_given(function, "a", r, "the rows"));
    TRY(sp_given(function, "same", same, "a place for the answer"));
    if (r->map || r->first_column != 0)
        return sp_fail(SPMM_ERR_USAGE,
                       "%s: a->map is set or a->first_column is not 0, expected the block's column indices",
                       function);
    if (r->irp) TRY(check_array(function, "irp", r->irp, r->irp_bytes, on_gpu));
    if (r->irp && block->nnz > 0) {
        TRY(sp_given(function, "a->ja", r->ja, "column indices"));
        TRY(check_array(function, "ja", r->ja, r->ja_bytes, on_gpu));
    }
    return r->as ? check_array(function, "as", r->as, 8, on_gpu) : SPMM_OK;
}

static spmm_status update_rows_compare(spmm_plan *p, const spmm_rows *r, const int *same, unlike *found)
{
    static const char function[] = "spmm_plan_update_rows";
    const spmm_csr *const block = &p->forward->block->csr;
    const int on_gpu = p->own && p->own->on_gpu;
    TRY(update_rows_check(function, block, r, same, on_gpu));
    /* queued products read the values, and queued work may write arrays on a GPU */
    TRY(sp_product_wait(p->forward));
    if (on_gpu) return compare_on_gpu(p->own, r, found);
    compare_on_host(block, r, sp_threads_now(p->forward->threads), found);
    return SPMM_OK;
}

static spmm_status take_values(spmm_plan *p, const void *values)
{
    const spmm_csr *const block = &p->forward->block->csr;
    if (p->own && p->own->on_gpu)
        return sp_device_copy(p->own->on_gpu->csr.as, values, block->nnz * sp_value_size(block->precision));
    copy_on_host(block, values, sp_threads_now(p->forward->threads));
    return SPMM_OK;
}

static spmm_status update_rows(spmm_plan *p, const spmm_rows *r, int *same)
{
    MPI_Comm comm = p->forward->grid->comm;
    unlike found = {0, 0};
    int all = 0, none = 0;
    TRY(sp_agree(comm, "convert", update_rows_compare(p, r, same, &found)));
    *same = 0;
    TRY(sp_all(comm, !is_set(&found.pattern), &all));
    if (all) TRY(sp_all(comm, !is_set(&found.values), &none));
    if (all && !none) {
        const spmm_status status = is_set(&found.values) ? take_values(p, r->as) : SPMM_OK;
        TRY(sp_agree(comm, "convert", status));
        TRY(sp_plan_update_values(p));
    }
    *same = all;
    return SPMM_OK;
}

/* ---- with a product ---- */

/** Queues a comparison in the plan's stream. */
static spmm_status begin_comparison(spmm_plan *p, const spmm_rows *r)
{
    sp_plan_own *const own = p->own;
    int captured;
    TRY(sp_device_captures(p->forward->stream, &captured));
    if (captured)
        return sp_fail(
            SPMM_ERR_USAGE,
            "spmm_apply_rows: the stream is being captured in a CUDA graph: call spmm_apply() instead");
    if (!own->compared_event) TRY(sp_event_create(&own->compared_event));
    TRY(sp_device_take_stream(p->forward->stream));
    spmm_status status = queue_comparison(own, r);
    if (status == SPMM_OK) status = sp_event_record(own->compared_event, SP_STREAM_MAIN);
    (void)sp_device_return_stream(); /* the product reports errors of the stream */
    return status;
}

/** Queues a comparison and, without waiting for it, the product, which is computed again if values differ. */
static spmm_status apply_rows_queued(spmm_plan *p, const spmm_rows *r, const spmm_multivector *x,
                                     spmm_multivector *y, int *same)
{
    unlike found = {0, 0};
    TRY(update_rows_check("spmm_apply_rows", &p->forward->block->csr, r, same, 1));
    TRY(begin_comparison(p, r));
    TRY(sp_plan_apply(p, 1, x, 0, y));
    TRY(sp_event_wait(p->own->compared_event));
    read_comparison(p->own, &found);
    *same = !is_set(&found.pattern);
    if (!*same || !is_set(&found.values)) return SPMM_OK;
    TRY(sp_product_wait(p->forward));
    TRY(take_values(p, r->as));
    TRY(sp_plan_update_values(p));
    return sp_plan_apply(p, 1, x, 0, y);
}

static spmm_status apply_rows(spmm_plan *p, const spmm_rows *r, const spmm_multivector *x,
                              spmm_multivector *y, int *same)
{
    const sp_product *const f = p->forward;
    if (f->grid->size == 1 && f->stream && p->own && p->own->on_gpu)
        return apply_rows_queued(p, r, x, y, same);
    TRY(update_rows(p, r, same));
    return *same ? sp_plan_apply(p, 1, x, 0, y) : SPMM_OK;
}

spmm_status spmm_apply_rows(spmm_plan *p, const spmm_rows *a, const spmm_multivector *x, spmm_multivector *y,
                            int *same)
{
    SP_DEFAULT_FP;
    TRY(sp_plan_take(p, __func__, 1));
    p->forward->function = __func__;
    return sp_plan_give(p, apply_rows(p, a, x, y, same));
}

spmm_status spmm_plan_update_rows(spmm_plan *p, const spmm_rows *a, int *same)
{
    SP_DEFAULT_FP;
    TRY(sp_plan_take(p, __func__, 1));
    return sp_plan_give(p, update_rows(p, a, same));
}
