/** Kernel sum_nested: like sum_global in cuda_series_sum_baseline.cu, but each block launches the second
 *  kernel for its own series. This dynamic parallelism needs relocatable device code; only this file is
 *  compiled and linked that way (mk/series.mk). */
#include "kernels/series/cuda_series.cuh"

namespace {

enum {
    NESTED_THREADS = MAX_BLOCK,
    PENDING = 2048 /* default limit of pending device-side launches on a GPU */
};

/** Adds the n partial sums of one series, by repeatedly adding the second half to the first, and divides the
 *  total by `divisor`. The block needs at least n / 2 threads. */
template <typename T>
__global__ void __launch_bounds__(MAX_BLOCK)
    nested_rest_kernel(T *all, unsigned n, const T divisor, double *mean)
{
    for (unsigned left = n; left > 1; left = (left + 1) / 2) {
        const unsigned half = (left + 1) / 2;
        if (threadIdx.x < left - half) all[threadIdx.x] += all[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) *mean = (double)(all[0] / divisor);
}

/** Sums one series per block, starting with series number `from`. Each thread has a partial sum in global
 *  memory. */
template <typename T>
__global__ void __launch_bounds__(MAX_BLOCK)
    nested_kernel(const series_view<T> s, int64_t from, T *work, const T divisor, double *mean)
{
    const int64_t m = from + blockIdx.x;
    volatile T *const sum = work + m * blockDim.x + threadIdx.x;
    *sum = 0;
    for (int64_t i = threadIdx.x; i < s.length; i += blockDim.x) *sum = *sum + s.v[m * s.across + i];
    __threadfence(); /* The child kernel sees the memory that thread 0 sees. This fence and the barrier make
                        the sums of all threads visible to thread 0. */
    __syncthreads();
    if (threadIdx.x != 0) return;
    nested_rest_kernel<T><<<1, (blockDim.x + 1) / 2, 0, cudaStreamFireAndForget>>>(
        work + m * blockDim.x, blockDim.x, divisor, mean + m);
    if (cudaGetLastError() == cudaSuccess) return;
    T total = 0; /* the child launch failed: thread 0 adds the partial sums itself */
    for (unsigned t = 0; t < blockDim.x; t++) total += work[m * blockDim.x + t];
    mean[m] = (double)(total / divisor);
}

int64_t nested_bytes(const sp_series *x, int block)
{
    return x->count * (block ? block : NESTED_THREADS) * sp_value_size(x->v.precision);
}

/** Launches nested_kernel for at most PENDING series at a time: each series causes one pending child
 *  launch. */
template <typename T> spmm_status run_nested(const sp_series_launch *l, cudaStream_t stream)
{
    const int block = l->block ? l->block : NESTED_THREADS;
    for (int64_t from = 0; from < l->x->count; from += PENDING) {
        const int64_t left = l->x->count - from;
        const unsigned grid = left < (int64_t)PENDING ? (unsigned)left : (unsigned)PENDING;
        nested_kernel<T>
            <<<grid, block, 0, stream>>>(view_of<T>(l->x), from, (T *)l->work, (T)l->divisor, l->mean);
        TRY(sp_device_launched("sum_nested"));
    }
    return SPMM_OK;
}

} // namespace

SERIES_KERNEL(sum_nested, run_nested, nested_bytes)
