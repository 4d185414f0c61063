/** Baseline kernels for the reduction of series, kept for comparison with those of cuda_series_sum.cu. They
 *  come from an earlier course report, with which docs/SERIES.md compares this project. One block works on
 *  one series at a time. O is the operator (cuda_operators.cuh). The kernels accept any length of the series
 *  and any block size, not only powers of two. */
#include "kernels/series/cuda_series.cuh"

namespace {

/* ---- reductions of one element per thread over a block; join() returns the result in thread 0 ---- */

/** Reduction that combines neighbors at distance 1, 2, 4, ..., which preserves the order of the threads. */
template <bool ORDERED> struct by_neighbors {
    static const bool ordered = ORDERED;
    template <typename O> static __device__ typename O::element join(typename O::element mine)
    {
        return block_neighbors<O>(mine);
    }
};
/** The order of the values is not preserved, because each thread first reduces every blockDim.x-th value. */
typedef by_neighbors<false> neighbored;
/** For operators that do not commute: each thread combines consecutive values, then the results of adjacent
 *  threads are combined. */
typedef by_neighbors<true> in_order;

/** Reduction that combines the first half of the values with the second half until one value is left. */
struct interleaved {
    static const bool ordered = false;
    template <typename O> static __device__ typename O::element join(typename O::element mine)
    {
        auto *const all = put_shared(mine);
        for (unsigned n = blockDim.x; n > 1; n = (n + 1) / 2) {
            const unsigned half = (n + 1) / 2;
            if (threadIdx.x < n - half) all[threadIdx.x] = O::join(all[threadIdx.x], all[threadIdx.x + half]);
            __syncthreads();
        }
        return all[0];
    }
};

/** Reduction like `interleaved`, with every step written out if the block size is a power of two; for other
 *  block sizes it is `interleaved`. The last steps use one warp only and need no block barrier. */
struct unrolled {
    static const bool ordered = false;
    template <typename O> static __device__ typename O::element join(typename O::element mine)
    {
        auto *const all = put_shared(mine);
        const unsigned n = blockDim.x, t = threadIdx.x;
        if (n & (n - 1)) return interleaved::join<O>(mine);
        if (n >= 1024 && t < 512) all[t] = O::join(all[t], all[t + 512]);
        __syncthreads();
        if (n >= 512 && t < 256) all[t] = O::join(all[t], all[t + 256]);
        __syncthreads();
        if (n >= 256 && t < 128) all[t] = O::join(all[t], all[t + 128]);
        __syncthreads();
        if (n >= 128 && t < 64) all[t] = O::join(all[t], all[t + 64]);
        __syncthreads();
        if (t >= WARP) return mine;
        if (n >= 64) all[t] = O::join(all[t], all[t + 32]);
        return warp_halves<O>(all);
    }
};

struct shuffled {
    static const bool ordered = false;
    template <typename O> static __device__ typename O::element join(typename O::element mine)
    {
        return shuffled_join<O>(mine);
    }
};

/** Reduces series with one block per series; W is the reduction over the block. */
template <typename W, typename O, typename T>
__global__ void __launch_bounds__(MAX_BLOCK)
    series_kernel(const series_view<T> s, const T divisor, double *mean)
{
    for (int64_t m = blockIdx.x; m < s.count; m += gridDim.x) {
        const T *const v = s.v + m * s.across;
        const auto all = W::template join<O>(W::ordered ? consecutive<O>(v, 0, s.length)
                                                        : strided<O>(v, 0, s.length));
        if (threadIdx.x == 0) O::put(all, divisor, mean + m, s.count);
    }
}

template <typename W> struct by_blocks {
    template <typename O> static spmm_status run(const sp_series_launch *l, cudaStream_t stream)
    {
        typedef typename O::value T;
        const size_t each = sizeof(typename O::element);
        int block;
        TRY(series_block(l, series_kernel<W, O, T>, each, &block));
        series_kernel<W, O, T><<<grid_of(l->x->count, 1), block, block * each, stream>>>(
            view_of<T>(l->x), (T)l->divisor, l->mean);
        return sp_device_launched("a reduction by blocks");
    }
};

/* ---- resident blocks that take series from a work queue ---- */

template <typename O, typename T>
__global__ void __launch_bounds__(MAX_BLOCK)
    queue_kernel(const series_view<T> s, const T divisor, double *mean, work_queue *queue)
{
    __shared__ unsigned long long taken;
    for (;;) {
        if (threadIdx.x == 0) taken = atomicAdd(&queue->next, 1ull);
        __syncthreads();
        const int64_t m = (int64_t)taken;
        __syncthreads(); /* wait until all threads have read `taken` */
        if (m >= s.count) break;
        const auto all = shuffled_join<O>(strided<O>(s.v + m * s.across, 0, s.length));
        if (threadIdx.x == 0) O::put(all, divisor, mean + m, s.count);
    }
    /* the last block to find the queue empty resets it for the next launch */
    if (threadIdx.x == 0 && atomicAdd(&queue->left, 1u) == gridDim.x - 1) {
        queue->next = 0;
        queue->left = 0;
    }
}

int64_t queue_bytes(const sp_series_launch *l)
{
    (void)l;
    return (int64_t)sizeof(work_queue);
}

struct by_queue {
    template <typename O> static spmm_status run(const sp_series_launch *l, cudaStream_t stream)
    {
        typedef typename O::value T;
        int block, resident;
        TRY(series_block(l, queue_kernel<O, T>, 0, &block));
        TRY(count_resident((const void *)queue_kernel<O, T>, block, 0, &resident));
        queue_kernel<O, T>
            <<<resident, block, 0, stream>>>(view_of<T>(l->x), (T)l->divisor, l->mean, (work_queue *)l->work);
        return sp_device_launched("sum_queue");
    }
};

/* ---- compensated sums: Knuth's two-sum keeps rounding errors (sources: series_sum_impl.h) ---- */

/** A sum in two parts, with the value sum + rest; `rest` collects rounding errors. */
template <typename T> struct exact {
    T sum, rest;
};

/** Adds x + rest to e. The rounding error of e.sum + x is added to e.rest. */
template <typename T> __device__ inline void two_sum(exact<T> &e, T x, T rest)
{
    const T total = e.sum + x, big = total - e.sum;
    e.rest += ((e.sum - (total - big)) + (x - big)) + rest;
    e.sum = total;
}

template <typename T>
__global__ void __launch_bounds__(MAX_BLOCK)
    compensated_kernel(const series_view<T> s, const T divisor, double *mean)
{
    exact<T> *const all = shared_memory<exact<T>>();
    for (int64_t m = blockIdx.x; m < s.count; m += gridDim.x) {
        const T *const v = s.v + m * s.across;
        exact<T> mine = {0, 0};
        for (int64_t i = threadIdx.x; i < s.length; i += blockDim.x) two_sum(mine, v[i], T(0));
        __syncthreads();
        all[threadIdx.x] = mine;
        __syncthreads();
        for (unsigned n = blockDim.x; n > 1; n = (n + 1) / 2) {
            const unsigned half = (n + 1) / 2;
            if (threadIdx.x < n - half)
                two_sum(all[threadIdx.x], all[threadIdx.x + half].sum, all[threadIdx.x + half].rest);
            __syncthreads();
        }
        if (threadIdx.x == 0) mean[m] = (double)((all[0].sum + all[0].rest) / divisor);
    }
}

template <typename T> spmm_status run_compensated(const sp_series_launch *l, cudaStream_t stream)
{
    int block;
    TRY(series_block(l, compensated_kernel<T>, sizeof(exact<T>), &block));
    compensated_kernel<T><<<grid_of(l->x->count, 1), block, block * sizeof(exact<T>), stream>>>(
        view_of<T>(l->x), (T)l->divisor, l->mean);
    return sp_device_launched("sum_compensated");
}

/* ---- partial sums in global memory, added by a second kernel launch ---- */

/** work[m * blockDim.x + t] := thread t's partial sum of series m. It is updated in global memory for every
 *  value, not kept in a register. */
template <typename T>
__global__ void __launch_bounds__(MAX_BLOCK) global_kernel(const series_view<T> s, T *work)
{
    for (int64_t m = blockIdx.x; m < s.count; m += gridDim.x) {
        volatile T *const sum = work + m * blockDim.x + threadIdx.x;
        *sum = 0;
        for (int64_t i = threadIdx.x; i < s.length; i += blockDim.x) *sum = *sum + s.v[m * s.across + i];
    }
}

/** Adds the n partial sums of each series in global memory, by repeatedly adding the second half to the
 *  first. A block needs at least n / 2 threads. */
template <typename T>
__global__ void __launch_bounds__(MAX_BLOCK)
    global_rest_kernel(T *work, int64_t count, unsigned n, const T divisor, double *mean)
{
    for (int64_t m = blockIdx.x; m < count; m += gridDim.x) {
        T *const all = work + m * n;
        for (unsigned left = n; left > 1; left = (left + 1) / 2) {
            const unsigned half = (left + 1) / 2;
            if (threadIdx.x < left - half) all[threadIdx.x] += all[threadIdx.x + half];
            __syncthreads();
        }
        if (threadIdx.x == 0) mean[m] = (double)(all[0] / divisor);
    }
}

enum { GLOBAL_THREADS = MAX_BLOCK }; /* the block size in the course report */

int64_t global_bytes(const sp_series_launch *l)
{
    return l->x->count * (l->block ? l->block : GLOBAL_THREADS) * sp_value_size(l->x->v.precision);
}

template <typename T> spmm_status run_global(const sp_series_launch *l, cudaStream_t stream)
{
    const int block = l->block ? l->block : GLOBAL_THREADS;
    const unsigned grid = grid_of(l->x->count, 1);
    global_kernel<T><<<grid, block, 0, stream>>>(view_of<T>(l->x), (T *)l->work);
    TRY(sp_device_launched("sum_global"));
    global_rest_kernel<T>
        <<<grid, block, 0, stream>>>((T *)l->work, l->x->count, (unsigned)block, (T)l->divisor, l->mean);
    return sp_device_launched("sum_global");
}

} // namespace

REDUCTION_KERNEL(sum_neighboured, by_blocks<neighbored>, false, NULL, 0)
/* The registry does not offer sum_interleaved for matrices: it is compiled for them so that tests can check
 * that a changed order changes the product. */
REDUCTION_KERNEL(sum_interleaved, by_blocks<interleaved>, true, NULL, 0)
REDUCTION_KERNEL(sum_unrolled, by_blocks<unrolled>, false, NULL, 0)
REDUCTION_KERNEL(sum_shuffle, by_blocks<shuffled>, false, NULL, 0)
REDUCTION_KERNEL(sum_ordered, by_blocks<in_order>, true, NULL, 0)
REDUCTION_KERNEL(sum_queue, by_queue, false, queue_bytes, 0)
SERIES_KERNEL(sum_compensated, run_compensated, NULL)
SERIES_KERNEL(sum_global, run_global, global_bytes)
