/** Operations on tiles of coefficients on the CPU. Also chooses between CPU and GPU for all operations that
 *  have one implementation per device. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/memory.h"
#include "base/value_type.h"
#include "formats/multivector.h"
#include "device/device.h"
#include "kernels/series/series.h"

#define T double
#define NAME(x) x##_f64
#include "kernels/series/series_tile_impl.h"
#define T float
#define NAME(x) x##_f32
#include "kernels/series/series_tile_impl.h"

spmm_status sp_histogram_clear(spmm_device space, sp_histogram *histogram)
{
    const sp_histogram none = {.low = 2, .high = -2};
    if (space == SPMM_CUDA) return sp_device_upload(histogram, &none, sizeof none);
    *histogram = none;
    return SPMM_OK;
}

spmm_status sp_histogram_read(spmm_device space, const sp_histogram *from, sp_histogram *to)
{
    if (space == SPMM_CUDA) return sp_device_download(to, from, sizeof *to);
    *to = *from;
    return SPMM_OK;
}

spmm_status sp_histogram_create(spmm_device space, sp_histogram **histogram)
{
    TRY(space == SPMM_CPU ? sp_alloc((void **)histogram, 1, sizeof **histogram, "a histogram")
                          : sp_device_alloc((void **)histogram, sizeof **histogram, "a histogram"));
    const spmm_status status = sp_histogram_clear(space, *histogram);
    if (status != SPMM_OK) {
        sp_histogram_destroy(space, *histogram);
        *histogram = NULL;
    }
    return status;
}

void sp_histogram_destroy(spmm_device space, sp_histogram *histogram)
{
    if (space == SPMM_CPU)
        sp_free(histogram);
    else
        sp_device_free(histogram);
}

void sp_histogram_add(sp_histogram *to, const sp_histogram *from)
{
    to->pairs += from->pairs;
    to->low = from->low < to->low ? from->low : to->low;
    to->high = from->high > to->high ? from->high : to->high;
    for (int b = 0; b < SP_BINS; b++) to->bin[b] += from->bin[b];
}

static spmm_status histogram_on_cpu(const sp_tile *t, sp_histogram *histogram)
{
    spmm_status status = SPMM_OK;
#pragma omp parallel num_threads(t->threads)
    {
        sp_histogram *mine;
        /* The histogram is allocated, because it is too large for the stacks of some threads. */
        const spmm_status made = sp_histogram_create(SPMM_CPU, &mine);
#pragma omp for schedule(static)
        for (int64_t j = 0; j < t->cols; j++) {
            if (made != SPMM_OK) continue;
            SP_OF_REAL(coefficients, t->precision)(t, j, mine);
        }
#pragma omp critical
        {
            if (made == SPMM_OK)
                sp_histogram_add(histogram, mine);
            else
                status = made;
        }
        sp_histogram_destroy(SPMM_CPU, mine);
    }
    return status == SPMM_OK ? SPMM_OK : sp_fail(status, "cannot allocate a thread's histogram");
}

static spmm_status find_on_cpu(const sp_tile *t, double low, double high, sp_pair *pair, int64_t room,
                               int64_t *found)
{
    for (int64_t j = 0; j < t->cols; j++) SP_OF_REAL(find, t->precision)(t, j, low, high, pair, room, found);
    return SPMM_OK;
}

static int on_gpu(const spmm_multivector *v) { return v->space == SPMM_CUDA; }

spmm_status sp_tile_histogram(const sp_tile *tile, sp_histogram *histogram)
{
    return tile->space == SPMM_CUDA ? sp_cuda_histogram(tile, histogram) : histogram_on_cpu(tile, histogram);
}

spmm_status sp_tile_find(const sp_tile *tile, double low, double high, sp_pair *pair, int64_t room,
                         int64_t *found)
{
    *found = 0;
    return tile->space == SPMM_CUDA ? sp_cuda_find(tile, low, high, pair, room, found)
                                    : find_on_cpu(tile, low, high, pair, room, found);
}

spmm_status sp_series_center(const sp_series *x, const sp_spread *spread, spmm_multivector *z, int threads)
{
    if (on_gpu(&x->v)) return sp_cuda_center(x, spread, z);
    sp_cpu_center(x, spread, z, threads);
    return SPMM_OK;
}

enum { EDGE = 32 }; /* edge of a square block; the block is transposed while it is in the cache */

#define TURN(T)                                               \
    for (int64_t r = i; r < from->rows && r < i + EDGE; r++)  \
        for (int64_t c = j; c < from->k && c < j + EDGE; c++) \
            ((T *)to->data)[c * to->ld + r] = ((const T *)from->data)[r * from->ld + c];

static void transpose_block(const spmm_multivector *from, spmm_multivector *to, int64_t i, int64_t j)
{
    SP_BY_REAL(from->precision, TURN);
}

spmm_status sp_series_transpose(const sp_series *from, sp_series *to, int threads)
{
    if (on_gpu(&from->v)) return sp_cuda_transpose(from, to);
#pragma omp parallel for schedule(static) collapse(2) num_threads(threads)
    for (int64_t i = 0; i < from->v.rows; i += EDGE)
        for (int64_t j = 0; j < from->v.k; j += EDGE) transpose_block(&from->v, &to->v, i, j);
    return SPMM_OK;
}

/* ---- weighted sums of series, and dot products with these sums, for mean coefficients ---- */

enum { STRIP = 512 }; /* columns that are summed at a time: their sums stay in the cache */

spmm_status sp_series_combine(const spmm_multivector *z, const double *weight, double *sum, int threads)
{
    if (z->space == SPMM_CUDA) return sp_cuda_combine(z, weight, sum);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t from = 0; from < z->k; from += STRIP) {
        const int64_t to = from + STRIP < z->k ? from + STRIP : z->k;
        for (int64_t k = from; k < to; k++) sum[k] = 0;
        for (int64_t m = 0; m < z->rows; m++)
            for (int64_t k = from; k < to; k++) sum[k] += weight[m] * sp_multivector_get(z, m, k);
    }
    return SPMM_OK;
}

spmm_status sp_series_project(const spmm_multivector *z, const double *sum, double *dot, int threads)
{
    if (z->space == SPMM_CUDA) return sp_cuda_project(z, sum, dot);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t m = 0; m < z->rows; m++) {
        dot[m] = 0;
        for (int64_t k = 0; k < z->k; k++) dot[m] += sp_multivector_get(z, m, k) * sum[k];
    }
    return SPMM_OK;
}
