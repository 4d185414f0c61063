/** What kernels that work by blocks share: launch shapes, reductions inside a sub-warp and inside a block, the last
 *  block's guard, a queue of work items. */
#ifndef SP_CUDA_BLOCK_CUH
#define SP_CUDA_BLOCK_CUH

#include "kernels/cuda/cuda_vector.cuh"

namespace {

enum { MAX_BLOCK = 1024 };

/** The global queue of work items, both 0 between launches. */
struct work_queue {
    unsigned long long next; /* item that nobody has taken yet */
    unsigned left;           /* blocks that found the queue empty */
};

inline spmm_status cuda_check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return SPMM_OK;
    (void)cudaGetLastError();
    return sp_fail(SPMM_ERR_DEVICE, "%s: %s", what, cudaGetErrorString(error));
}

/** Shared memory of a block, for the occupancy calculator. */
struct shared_bytes {
    size_t per_thread;
    __host__ __device__ size_t operator()(int threads) const { return threads * per_thread; }
};

/** Threads of a block: what the user asked for, else what the occupancy calculator says fills a
 *  multiprocessor best, of at most `limit`. For prepare(): the answer is the same for all products. */
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

/** Blocks that run at the same time on all multiprocessors. */
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

/** Blocks for that much work, at least one; a grid's limit is 2^31 - 1. */
inline unsigned grid_of(int64_t work, int64_t per_block)
{
    const int64_t blocks = (work - 1) / per_block + 1;
    return (unsigned)(blocks < 1 ? 1 : blocks < INT32_MAX ? blocks : INT32_MAX);
}

struct position {
    int64_t row, column;
};

/** Number n, counted along rows of k. 64-bit division is several times slower than 32-bit. */
__device__ inline position position_of(int64_t n, int64_t k)
{
    if (((uint64_t)n | (uint64_t)k) >> 32) return {n / k, n % k};
    return {(int64_t)((uint32_t)n / (uint32_t)k), (int64_t)((uint32_t)n % (uint32_t)k)};
}

/** The block's dynamic shared memory: an element per thread, where the kernel has any. */
template <typename T> __device__ inline T *shared_memory()
{
    extern __shared__ double shared_elements[];
    return (T *)shared_elements;
}

/** The sum over the lanes of each sub-warp, in its lane 0; other lanes get something else. A tree over
 *  halves, in shared memory as the reports have it or by shuffles: the same order, so the same bits. All
 *  lanes of a warp call it. */
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

/** part[c] becomes the sum of part[g * columns + c] over the groups g; a tree, in shared memory. All threads
 *  of the block call it after writing their own element, part[threadIdx.x]; thread c may read part[c]
 *  after it. */
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

/** The last block guard: true in all threads of the block that comes here last, which then sees what the
 *  others wrote before. All threads of all blocks call it, once; *count is 0 before, gridDim.x after. */
__device__ inline bool last_block(unsigned *count)
{
    __threadfence(); /* what this thread wrote comes before the count ... */
    __syncthreads(); /* ... for all threads of the block */
    const int last = threadIdx.x == 0 && atomicAdd(count, 1u) == gridDim.x - 1;
    const bool is_last = __syncthreads_or(last) != 0;
    __threadfence(); /* and nothing is read ahead of it */
    return is_last;
}

} // namespace

#endif
