/** The kernels sum_nested and sum_full_shared, in which each block launches a second kernel for its own
 *  series. sum_nested is like sum_global in cuda_series_sum_baseline.cu: its partial sums are in global
 *  memory. The partial sums of sum_full_shared are in shared memory; but a kernel cannot access the shared
 *  memory of the kernel that launched it, so they are copied to global memory and from there to the second
 *  kernel's shared memory. This dynamic parallelism needs relocatable device code; only this file is compiled
 *  and linked that way (mk/series.mk). */
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

/** Adds the partial sums of the block's threads in one thread, after it failed to launch the second
 *  kernel. */
template <typename T> __device__ inline void add_partial(const T *partial, T divisor, double *mean)
{
    T total = 0;
    for (unsigned t = 0; t < blockDim.x; t++) total += partial[t];
    *mean = (double)(total / divisor);
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
    add_partial(work + m * blockDim.x, divisor, mean + m);
}

/** Copies the n partial sums of one series to shared memory and adds them there, the second half to the
 *  first, and divides the total by `divisor`. The block needs at least n / 2 threads. */
template <typename T>
__global__ void __launch_bounds__(MAX_BLOCK)
    full_shared_rest_kernel(const T *partial, unsigned n, const T divisor, double *mean)
{
    T *const all = shared_memory<T>();
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) all[i] = partial[i];
    __syncthreads();
    for (unsigned left = n; left > 1; left = (left + 1) / 2) {
        const unsigned half = (left + 1) / 2;
        if (threadIdx.x < left - half) all[threadIdx.x] += all[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) *mean = (double)(all[0] / divisor);
}

/** Like nested_kernel(), but each thread's partial sum is in shared memory until the second kernel needs
 *  it. */
template <typename T>
__global__ void __launch_bounds__(MAX_BLOCK)
    full_shared_kernel(const series_view<T> s, int64_t from, T *work, const T divisor, double *mean)
{
    const int64_t m = from + blockIdx.x;
    volatile T *const sum = shared_memory<T>() + threadIdx.x;
    T *const partial = work + m * blockDim.x;
    *sum = 0;
    for (int64_t i = threadIdx.x; i < s.length; i += blockDim.x) *sum = *sum + s.v[m * s.across + i];
    partial[threadIdx.x] = *sum;
    __threadfence(); /* as in nested_kernel() */
    __syncthreads();
    if (threadIdx.x != 0) return;
    full_shared_rest_kernel<T><<<1, (blockDim.x + 1) / 2, blockDim.x * sizeof(T), cudaStreamFireAndForget>>>(
        partial, blockDim.x, divisor, mean + m);
    if (cudaGetLastError() == cudaSuccess) return;
    add_partial(partial, divisor, mean + m);
}

int64_t nested_bytes(const sp_series_launch *l)
{
    return l->x->count * (l->block ? l->block : NESTED_THREADS) * sp_value_size(l->x->v.precision);
}

/** Launches nested_kernel or full_shared_kernel for at most PENDING series at a time: each series causes one
 *  pending child launch. */
template <bool shared, typename T> spmm_status run_blocks(const sp_series_launch *l, cudaStream_t stream)
{
    const int block = l->block ? l->block : NESTED_THREADS;
    for (int64_t from = 0; from < l->x->count; from += PENDING) {
        const int64_t left = l->x->count - from;
        const unsigned grid = left < (int64_t)PENDING ? (unsigned)left : (unsigned)PENDING;
        if (shared)
            full_shared_kernel<T><<<grid, block, block * sizeof(T), stream>>>(
                view_of<T>(l->x), from, (T *)l->work, (T)l->divisor, l->mean);
        else
            nested_kernel<T>
                <<<grid, block, 0, stream>>>(view_of<T>(l->x), from, (T *)l->work, (T)l->divisor, l->mean);
        TRY(sp_device_launched(shared ? "sum_full_shared" : "sum_nested"));
    }
    return SPMM_OK;
}

template <typename T> spmm_status run_nested(const sp_series_launch *l, cudaStream_t stream)
{
    return run_blocks<false, T>(l, stream);
}

template <typename T> spmm_status run_full_shared(const sp_series_launch *l, cudaStream_t stream)
{
    return run_blocks<true, T>(l, stream);
}

} // namespace

SERIES_KERNEL(sum_nested, run_nested, nested_bytes)
SERIES_KERNEL(sum_full_shared, run_full_shared, nested_bytes)
