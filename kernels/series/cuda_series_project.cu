/** Computes weighted sums of series, and dot products of series with such a sum, on the GPU; series_tile.c
 *  is the CPU version. */
#include "kernels/series/cuda_series.cuh"

namespace {

enum { PROJECT_THREADS = 256, PARTS = 64 };

/** part[p * k + c] := weighted sum of column c of z over part p of the rows; blockIdx.y is p. */
template <typename T>
__global__ void __launch_bounds__(PROJECT_THREADS)
    combine_kernel(const T *z, int64_t ld, int64_t rows, int64_t k, const double *weight, double *part)
{
    const int64_t p = blockIdx.y, from = rows * p / PARTS, to = rows * (p + 1) / PARTS;
    for (int64_t c = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; c < k;
         c += (int64_t)gridDim.x * blockDim.x) {
        double sum = 0;
#pragma unroll 8
        for (int64_t m = from; m < to; m++) sum = fma(weight[m], (double)z[m * ld + c], sum);
        part[p * k + c] = sum;
    }
}

/** sum[c] := the sum of part[p * k + c] over all p, added in order. */
__global__ void __launch_bounds__(PROJECT_THREADS) add_kernel(const double *part, int64_t k, double *sum)
{
    for (int64_t c = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; c < k;
         c += (int64_t)gridDim.x * blockDim.x) {
        double all = 0;
        for (int p = 0; p < PARTS; p++) all += part[p * k + c];
        sum[c] = all;
    }
}

/** dot[m] := the dot product of row m of z with the vector `sum`. One block computes one row at a time. */
template <typename T>
__global__ void __launch_bounds__(PROJECT_THREADS)
    project_kernel(const T *z, int64_t ld, int64_t rows, int64_t k, const double *sum, double *dot)
{
    for (int64_t m = blockIdx.x; m < rows; m += gridDim.x) {
        double mine = 0;
#pragma unroll 4
        for (int64_t c = threadIdx.x; c < k; c += PROJECT_THREADS)
            mine = fma((double)z[m * ld + c], sum[c], mine);
        mine = shuffled_sum(mine);
        if (threadIdx.x == 0) dot[m] = mine;
    }
}

template <typename T>
spmm_status combine(const spmm_multivector *z, const double *weight, double *part, double *sum,
                    cudaStream_t stream)
{
    const unsigned across = grid_of(z->k, PROJECT_THREADS);
    combine_kernel<T><<<dim3(across, PARTS), PROJECT_THREADS, 0, stream>>>((const T *)z->data, z->ld, z->rows,
                                                                           z->k, weight, part);
    add_kernel<<<across, PROJECT_THREADS, 0, stream>>>(part, z->k, sum);
    return sp_device_launched("a sum over series");
}

template <typename T>
spmm_status project(const spmm_multivector *z, const double *sum, double *dot, cudaStream_t stream)
{
    if (z->rows == 0) return SPMM_OK;
    project_kernel<T><<<grid_of(z->rows, 1), PROJECT_THREADS, 0, stream>>>((const T *)z->data, z->ld, z->rows,
                                                                           z->k, sum, dot);
    return sp_device_launched("products with a sum over series");
}

} // namespace

spmm_status sp_cuda_combine(const spmm_multivector *z, const double *weight, double *sum)
{
    const cudaStream_t stream = main_stream();
    void *memory = NULL;
    if (!stream) return SPMM_ERR_NO_DEVICE;
    TRY(sp_device_alloc(&memory, (PARTS + 1) * z->k * 8, "a sum over series"));
    double *const part = (double *)memory, *const all = part + PARTS * z->k;
    spmm_status status = with_real(
        z->precision, [&](auto value) { return combine<decltype(value)>(z, weight, part, all, stream); });
    if (status == SPMM_OK) status = sp_device_download(sum, all, z->k * 8);
    sp_device_free(memory);
    return status;
}

spmm_status sp_cuda_project(const spmm_multivector *z, const double *sum, double *dot)
{
    const cudaStream_t stream = main_stream();
    void *memory = NULL;
    if (!stream) return SPMM_ERR_NO_DEVICE;
    TRY(sp_device_alloc(&memory, (z->k + z->rows) * 8, "a sum over series"));
    double *const all = (double *)memory, *const dots = all + z->k;
    spmm_status status = sp_device_upload(all, sum, z->k * 8);
    if (status == SPMM_OK)
        status = with_real(z->precision,
                           [&](auto value) { return project<decltype(value)>(z, all, dots, stream); });
    if (status == SPMM_OK) status = sp_device_download(dot, dots, z->rows * 8);
    sp_device_free(memory);
    return status;
}
