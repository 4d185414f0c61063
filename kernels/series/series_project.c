/** Computes weighted sums of series, and dot products of series with such a sum. From these dot products
 *  follows the mean coefficient of each series. */
#include "formats/multivector.h"
#include "kernels/series/series.h"

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
