/** What kernels share that work by whole blocks: launch shapes, reductions within a sub-warp and within a block,
 *  detection of the last block, a work queue. */
#ifndef SP_CUDA_BLOCK_CUH
#define SP_CUDA_BLOCK_CUH

#include "kernels/cuda/cuda_vector.cuh"

namespace {

enum { MAX_BLOCK = 1024 };

/** A work queue in global memory; both counters are 0 between launches. */
struct work_queue {
    unsigned long long next; /* first item that no block has taken */
    unsigned left;           /* blocks that have found the queue empty */
};

/** Fails with CUDA's message for `what`, and clears the error from the runtime. */
inline spmm_status cuda_check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return SPMM_OK;
    (void)cudaGetLastError();
    return sp_fail(SPMM_ERR_DEVICE, "%s: %s", what, cudaGetErrorString(error));
}

/** The dynamic shared memory of a block as a function of its threads, for the occupancy calculator. */
struct shared_bytes {
    size_t per_thread;
    __host__ __device__ size_t operator()(int threads) const { return threads * per_thread; }
};

/** Chooses the threads per block: what the user asked for, else the size of at most `limit` that by the occupancy
 *  calculator fills a multiprocessor best, in whole warps. To be called by prepare(), once for all products. */
inline spmm_status choose_block(const sp_setup *s, const void *kernel, size_t shared_per_thread, int limit,
                                int *block)
{
    int grid = 0;
    *block = s->shape.block;
    if (*block > 0) return SPMM_OK;
    TRY(cuda_check(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, block, kernel,
                                                                  shared_bytes{shared_per_thread}, limit),
                   "the occupancy calculator"));
    *block = *block < WARP ? WARP : *block / WARP * WARP;
    return SPMM_OK;
}

/** Counts the blocks that are resident at the same time on all multiprocessors; at least 1. */
inline spmm_status count_resident(const void *kernel, int block, size_t shared, int *resident)
{
    int device = 0, processors = 0, each = 0;
    TRY(cuda_check(cudaGetDevice(&device), "the current GPU"));
    TRY(cuda_check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
                   "multiprocessors"));
    TRY(cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, block, shared),
                   "the occupancy calculator"));
    *resident = each > 0 ? each * processors : 1;
    return SPMM_OK;
}

/** Returns the blocks for `work` items, `per_block` each: at least one, at most 2^31 - 1, the limit of a grid. */
inline unsigned grid_of(int64_t work, int64_t per_block)
{
    const int64_t blocks = (work - 1) / per_block + 1;
    return (unsigned)(blocks < 1 ? 1 : blocks < INT32_MAX ? blocks : INT32_MAX);
}

/** An element of a row-major array. */
struct position {
    int64_t row, column;
};

/** The position of element n in rows of k elements. Divides in 32 bits if it can: 64 bits are several times
 *  slower. */
__device__ inline position position_of(int64_t n, int64_t k)
{
    if (((uint64_t)n | (uint64_t)k) >> 32) return {n / k, n % k};
    return {(int64_t)((uint32_t)n / (uint32_t)k), (int64_t)((uint32_t)n % (uint32_t)k)};
}

/** The block's dynamic shared memory: one element per thread, in kernels that use it. */
template <typename T> __device__ inline T *shared_memory()
{
    extern __shared__ double shared_elements[];
    return (T *)shared_elements;
}

/** Returns the sum over the lanes of each sub-warp in its lane 0; the other lanes' result is undefined. Adds by
 *  halves in a tree, in shared memory as in the course reports or by shuffles: in the same order, hence with the
 *  same bits. All lanes of a warp call it. */
template <bool shuffle, typename T> __device__ inline T subwarp_sum(T sum, int lane, int lanes)
{
    if constexpr (shuffle) {
        for (int half = lanes / 2; half > 0; half /= 2) sum += __shfl_down_sync(ALL_LANES, sum, half, lanes);
        return sum;
    } else {
        T *const mine = shared_memory<T>() + threadIdx.x;
        *mine = sum;
        __syncwarp();
        for (int half = lanes / 2; half > 0; half /= 2) {
            if (lane < half) *mine += mine[half];
            __syncwarp();
        }
        return *mine;
    }
}

/** Sums part[g * columns + c] over the groups g into part[c], by a tree in shared memory. All threads of the block
 *  call it after writing their own element, part[threadIdx.x]; after it thread c may read part[c]. */
template <typename T> __device__ inline void block_sum(T *part, int groups, int columns)
{
    const int group = (int)threadIdx.x / columns;
    for (int n = groups; n > 1;) {
        const int half = (n + 1) / 2;
        __syncthreads();
        if (group < n - half) part[threadIdx.x] += part[threadIdx.x + half * columns];
        n = half;
    }
    __syncthreads();
}

/** Returns true in all threads of the block that calls it last, which then sees what the other blocks wrote before.
 *  All threads of all blocks call it once; *count is 0 before the first call and gridDim.x after the last. */
__device__ inline bool last_block(unsigned *count)
{
    __threadfence(); /* this thread's writes precede the count ... */
    __syncthreads(); /* ... and so do those of the whole block */
    const int last = threadIdx.x == 0 && atomicAdd(count, 1u) == gridDim.x - 1;
    const bool is_last = __syncthreads_or(last) != 0;
    __threadfence(); /* nothing after it is read before the count */
    return is_last;
}

} // namespace

#endif
