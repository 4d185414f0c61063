#include "slices.h"

#include <string.h>

#include "device.h"
#include "memory.h"
#include "multivector.h"

enum { ALIGN = 32, ENOUGH = 256 };

int sp_slices_fit(int64_t k, spmm_precision precision, int count)
{
    if (count < 1 || count > SP_MOST_SLICES || k % count != 0) return 0;
    return count == 1 || k / count * (int64_t)sp_value_size(precision) % ALIGN == 0;
}

int sp_slices_best(int64_t k, spmm_precision precision)
{
    int best = 1;
    for (int n = 2; n <= SP_MOST_SLICES; n++)
        if (sp_slices_fit(k, precision, n) && k / n * (int64_t)sp_value_size(precision) >= ENOUGH) best = n;
    return best;
}

spmm_status sp_slices_create(const sp_halo *halo, int64_t k, spmm_precision precision, spmm_device space,
                             int count, sp_slices *slices)
{
    memset(slices, 0, sizeof *slices);
    slices->count = count;
    slices->width = k / count;
    for (int s = 0; s < count && count > 1; s++)
        TRY(sp_multivector_create(halo->before, halo->own, halo->behind, slices->width, precision, space,
                                  &slices->x[s]));
    /* MPI, which may write there, knows nothing of the queue that the zeros are in */
    return space == SPMM_CUDA && count > 1 ? sp_device_sync() : SPMM_OK;
}

void sp_slices_destroy(sp_slices *slices)
{
    for (int s = 0; s < SP_MOST_SLICES; s++) spmm_multivector_destroy(&slices->x[s]);
    memset(slices, 0, sizeof *slices);
}

spmm_status sp_slices_fill(sp_slices *slices, int s, const spmm_multivector *x, int threads)
{
    const int64_t size = (int64_t)sp_value_size(x->precision), bytes = slices->width * size;
    spmm_multivector *const to = &slices->x[s];
    const char *const from = (const char *)x->data + s * bytes;
    if (x->space == SPMM_CUDA)
        return sp_device_queue_copy_2d(to->data, to->ld * size, from, x->ld * size, bytes, x->rows,
                                       SP_QUEUE_MOVE);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < x->rows; i++)
        memcpy((char *)to->data + i * to->ld * size, from + i * x->ld * size, (size_t)bytes);
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
