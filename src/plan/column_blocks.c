#include "plan/column_blocks.h"

#include <string.h>

#include "base/memory.h"
#include "device/device_ops.h"
#include "formats/multivector.h"

enum { ALIGN = 32, LEAST_BYTES = 128, ENOUGH = 4, VECTOR = 16 };

int sp_slices_fit(int64_t k, spmm_precision precision, int count)
{
    if (count < 1 || count > SP_MOST_SLICES || k % count != 0) return 0;
    return count == 1 || k / count * (int64_t)sp_value_size(precision) % ALIGN == 0;
}

int sp_slices_best(int64_t k, spmm_precision precision)
{
    int best = 1;
    for (int n = 2; n <= ENOUGH; n++)
        if (sp_slices_fit(k, precision, n) && k / n * (int64_t)sp_value_size(precision) >= LEAST_BYTES)
            best = n;
    return best;
}

static spmm_status allocate(sp_exchange *exchange, spmm_device space, int64_t bytes, void **memory)
{
    if (exchange && space == SPMM_CUDA) return sp_exchange_alloc(exchange, bytes, memory);
    return space == SPMM_CPU ? sp_alloc(memory, bytes, 1, "slices of X")
                             : sp_device_alloc(memory, bytes, "slices of X");
}

spmm_status sp_slices_create(const sp_halo *halo, int64_t k, spmm_precision precision, spmm_device space,
                             sp_exchange *exchange, int count, sp_slices *slices)
{
    int64_t bytes = 0, all;
    memset(slices, 0, sizeof *slices);
    slices->count = count;
    slices->width = k / count;
    if (count == 1) return SPMM_OK;
    TRY(sp_multivector_size(sp_halo_rows(halo), slices->width, precision, &bytes));
    if (__builtin_mul_overflow(bytes, count, &all))
        return sp_fail(SPMM_ERR_LIMIT, "%d slices of %lld rows of X do not fit 64-bit sizes", count,
                       (long long)sp_halo_rows(halo));
    TRY(allocate(exchange, space, all, &slices->memory));
    for (int s = 0; s < count; s++)
        slices->x[s] = sp_multivector_in((char *)slices->memory + s * bytes, halo->before, halo->own,
                                         halo->behind, slices->width, precision, space);
    return SPMM_OK;
}

void sp_slices_destroy(sp_slices *slices)
{
    if (slices->x[0].space == SPMM_CPU)
        sp_free(slices->memory);
    else
        sp_device_free(slices->memory);
    memset(slices, 0, sizeof *slices);
}

static spmm_status fill_on_gpu(sp_slices *slices, const spmm_multivector *x, sp_queue queue)
{
    const int64_t size = (int64_t)sp_value_size(x->precision), bytes = slices->width * size;
    const int64_t apart = (char *)slices->x[1].data - (char *)slices->x[0].data;
    if ((uintptr_t)x->data % VECTOR == 0 && x->ld * size % VECTOR == 0)
        return sp_cuda_split(x->data, x->ld * size, x->rows, slices->count, bytes, slices->x[0].data, apart,
                             sp_device_queue(queue));
    for (int s = 0; s < slices->count; s++)
        TRY(sp_device_queue_copy_2d(slices->x[s].data, bytes, (const char *)x->data + s * bytes, x->ld * size,
                                    bytes, x->rows, queue));
    return SPMM_OK;
}

spmm_status sp_slices_fill(sp_slices *slices, const spmm_multivector *x, int threads, sp_queue queue)
{
    const int64_t size = (int64_t)sp_value_size(x->precision), bytes = slices->width * size;
    if (x->space == SPMM_CUDA) return fill_on_gpu(slices, x, queue);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < x->rows; i++)
        for (int s = 0; s < slices->count; s++)
            memcpy((char *)slices->x[s].data + i * bytes,
                   (const char *)x->data + i * x->ld * size + s * bytes, (size_t)bytes);
    return SPMM_OK;
}

spmm_multivector sp_slices_x(const sp_slices *slices, int s)
{
    spmm_multivector x = slices->x[s];
    x.data = (char *)x.data - x.before * x.ld * (int64_t)sp_value_size(x.precision);
    x.rows += x.before + x.behind;
    x.before = x.behind = 0;
    return x;
}

spmm_multivector sp_slices_y(const sp_slices *slices, int s, const spmm_multivector *y)
{
    spmm_multivector part = *y;
    part.k = slices->width;
    part.data = (char *)y->data + s * slices->width * (int64_t)sp_value_size(y->precision);
    return part;
}
