/** Baseline kernels for the means of series, kept for comparison with those of cuda_series_sum.cu. They come
 *  from an earlier course report, with which docs/SERIES.md compares this project. One block works on one
 *  series at a time, except in sum_blocks. The kernels accept any length of the series and any block size,
 *  not only powers of two. */
#include "kernels/series/cuda_series.cuh"

namespace {

/** Returns the sum of this thread's values of v[from .. to - 1]: every blockDim.x-th value. */
template <typename T> __device__ inline T strided(const T *v, int64_t from, int64_t to)
{
    T sum = 0;
    for (int64_t i = from + threadIdx.x; i < to; i += blockDim.x) sum += v[i];
    return sum;
}

/** Stores one value per thread in shared memory, and returns the array of all values. */
template <typename T> __device__ inline T *put_shared(T mine)
{
    T *const all = shared_memory<T>();
    __syncthreads(); /* all threads must have read the sum of the previous series */
    all[threadIdx.x] = mine;
    __syncthreads();
    return all;
}

/* ---- reductions of one value per thread over a block; add() returns the sum in thread 0 ---- */

/** Reduction that adds neighbors at distance 1, 2, 4, ..., which preserves the order of the values. */
struct neighboured {
    static const bool ordered = false;
    template <typename T> static __device__ T add(T mine)
    {
        T *const all = put_shared(mine);
        for (unsigned away = 1; away < blockDim.x; away *= 2) {
            if (threadIdx.x % (2 * away) == 0 && threadIdx.x + away < blockDim.x)
                all[threadIdx.x] += all[threadIdx.x + away];
            __syncthreads();
        }
        return all[0];
    }
};

/** Reduction that adds the second half of the values to the first half until one value is left. */
struct interleaved {
    static const bool ordered = false;
    template <typename T> static __device__ T add(T mine)
    {
        T *const all = put_shared(mine);
        for (unsigned n = blockDim.x; n > 1; n = (n + 1) / 2) {
            const unsigned half = (n + 1) / 2;
            if (threadIdx.x < n - half) all[threadIdx.x] += all[threadIdx.x + half];
            __syncthreads();
        }
        return all[0];
    }
};

/** Reduction like `interleaved`, for block sizes that are powers of two, with every step written out. The
 *  last steps use one warp only and need no block barrier. */
struct unrolled {
    static const bool ordered = false;
    template <typename T> static __device__ T add(T mine)
    {
        T *const all = put_shared(mine);
        const unsigned n = blockDim.x, t = threadIdx.x;
        if (n & (n - 1)) return interleaved::add(mine);
        if (n >= 1024 && t < 512) all[t] += all[t + 512];
        __syncthreads();
        if (n >= 512 && t < 256) all[t] += all[t + 256];
        __syncthreads();
        if (n >= 256 && t < 128) all[t] += all[t + 128];
        __syncthreads();
        if (n >= 128 && t < 64) all[t] += all[t + 64];
        __syncthreads();
        if (t >= WARP) return T(0);
        /* Since Volta, the threads of a warp do not run in lockstep: `volatile` alone, as in the course
           report, would be a data race. */
        T sum = n >= 64 ? all[t] + all[t + 32] : all[t];
#pragma unroll
        for (int away = WARP / 2; away > 0; away /= 2) {
            all[t] = sum;
            __syncwarp();
            if ((int)t < away) sum += all[t + away];
            __syncwarp();
        }
        return sum;
    }
};

struct shuffled {
    static const bool ordered = false;
    template <typename T> static __device__ T add(T mine) { return shuffled_sum(mine); }
};

/** Reduction for operations that do not commute: each thread sums consecutive values, then the sums of
 *  adjacent threads are added. */
struct in_order {
    static const bool ordered = true;
    template <typename T> static __device__ T add(T mine) { return neighboured::add(mine); }
};

/** Computes means with one block per series; W is the reduction over the block. */
template <typename W, typename T>
__global__ void __launch_bounds__(MAX_BLOCK)
    series_kernel(const series_view<T> s, const T divisor, double *mean)
{
    for (int64_t m = blockIdx.x; m < s.count; m += gridDim.x) {
        const T *const v = s.v + m * s.across;
        T mine = 0;
        if (W::ordered) {
            const int64_t each = (s.length + blockDim.x - 1) / blockDim.x, from = threadIdx.x * each;
            for (int64_t i = from; i < from + each && i < s.length; i++) mine += v[i];
        } else {
            mine = strided(v, 0, s.length);
        }
        const T sum = W::add(mine);
        if (threadIdx.x == 0) mean[m] = (double)(sum / divisor);
    }
}

template <typename W, typename T> spmm_status run_series(const sp_series_launch *l, cudaStream_t stream)
{
    int block;
    TRY(series_block(l, series_kernel<W, T>, sizeof(T), &block));
    series_kernel<W, T><<<grid_of(l->x->count, 1), block, block * sizeof(T), stream>>>(
        view_of<T>(l->x), (T)l->divisor, l->mean);
    return sp_device_launched("a sum by blocks");
}

/* ---- several blocks per series: the last block to finish a series adds the partial sums ---- */

enum { PARTS = 4 };

template <typename T> struct parts_of {
    T sum[PARTS];
    unsigned finished; /* number of blocks that have finished this series; 0 between launches */
};

template <typename T>
__global__ void __launch_bounds__(MAX_BLOCK)
    blocks_kernel(const series_view<T> s, const T divisor, double *mean, parts_of<T> *parts)
{
    __shared__ int last;
    const int p = blockIdx.y;
    const int64_t from = s.length * p / PARTS, to = s.length * (p + 1) / PARTS;
    for (int64_t m = blockIdx.x; m < s.count; m += gridDim.x) {
        const T sum = shuffled_sum(strided(s.v + m * s.across, from, to));
        if (threadIdx.x == 0) {
            parts[m].sum[p] = sum;
            __threadfence(); /* makes the partial sum visible before the counter is incremented */
            last = atomicAdd(&parts[m].finished, 1u) == PARTS - 1;
            if (last) {
                T total = 0;
                __threadfence();
                for (int q = 0; q < PARTS; q++) total += *(volatile T *)&parts[m].sum[q];
                mean[m] = (double)(total / divisor);
                parts[m].finished = 0;
            }
        }
    }
}

int64_t blocks_bytes(const sp_series *x, int block)
{
    (void)block;
    return x->count * (int64_t)sizeof(parts_of<double>);
}

template <typename T> spmm_status run_blocks(const sp_series_launch *l, cudaStream_t stream)
{
    int block;
    TRY(series_block(l, blocks_kernel<T>, 0, &block));
    blocks_kernel<T><<<dim3(grid_of(l->x->count, 1), PARTS), block, 0, stream>>>(
        view_of<T>(l->x), (T)l->divisor, l->mean, (parts_of<T> *)l->work);
    return sp_device_launched("sum_blocks");
}

/* ---- resident blocks that take series from a work queue ---- */

template <typename T>
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
        const T sum = shuffled_sum(strided(s.v + m * s.across, 0, s.length));
        if (threadIdx.x == 0) mean[m] = (double)(sum / divisor);
    }
    /* the last block to find the queue empty resets it for the next launch */
    if (threadIdx.x == 0 && atomicAdd(&queue->left, 1u) == gridDim.x - 1) {
        queue->next = 0;
        queue->left = 0;
    }
}

int64_t queue_bytes(const sp_series *x, int block)
{
    (void)x, (void)block;
    return (int64_t)sizeof(work_queue);
}

template <typename T> spmm_status run_queue(const sp_series_launch *l, cudaStream_t stream)
{
    int block, resident;
    TRY(series_block(l, queue_kernel<T>, 0, &block));
    TRY(count_resident((const void *)queue_kernel<T>, block, 0, &resident));
    queue_kernel<T>
        <<<resident, block, 0, stream>>>(view_of<T>(l->x), (T)l->divisor, l->mean, (work_queue *)l->work);
    return sp_device_launched("sum_queue");
}

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

int64_t global_bytes(const sp_series *x, int block)
{
    return x->count * (block ? block : GLOBAL_THREADS) * sp_value_size(x->v.precision);
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

#define BY_BLOCKS(id, way)                                                                                   \
    const sp_series_ops sp_series_##id = {series_run<run_series<way, double>, run_series<way, float>>, NULL, \
                                          NULL, NULL};
BY_BLOCKS(sum_neighboured, neighboured)
BY_BLOCKS(sum_interleaved, interleaved)
BY_BLOCKS(sum_unrolled, unrolled)
BY_BLOCKS(sum_shuffle, shuffled)
BY_BLOCKS(sum_ordered, in_order)
SERIES_KERNEL(sum_blocks, run_blocks, blocks_bytes)
SERIES_KERNEL(sum_queue, run_queue, queue_bytes)
SERIES_KERNEL(sum_compensated, run_compensated, NULL)
SERIES_KERNEL(sum_global, run_global, global_bytes)
