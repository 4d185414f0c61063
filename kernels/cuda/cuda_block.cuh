/** Helpers for kernels in which all threads of a block cooperate: launch shapes, reductions within a sub-warp
 *  and within a block, detection of the last block to finish, and a work queue. */
#ifndef SP_CUDA_BLOCK_CUH
#define SP_CUDA_BLOCK_CUH

#include "kernels/cuda/cuda_vector.cuh"

namespace {

enum { MAX_BLOCK = 1024 };

/** A work queue in global memory. Both counters are 0 between launches. */
struct work_queue {
    unsigned long long next; /* number of the first item that no block has taken */
    unsigned left;           /* number of blocks that have found the queue empty */
};

/** Returns SPMM_OK if `error` is cudaSuccess. Otherwise sets the message "what: CUDA's text", clears the
 *  error in the CUDA runtime, and returns SPMM_ERR_DEVICE. */
inline spmm_status cuda_check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return SPMM_OK;
    (void)cudaGetLastError();
    return sp_fail(SPMM_ERR_DEVICE, "%s: %s", what, cudaGetErrorString(error));
}

/** Function object for CUDA's occupancy calculator: returns the size in bytes of a block's dynamic shared
 *  memory for a number of threads. */
struct shared_bytes {
    size_t per_thread;
    __host__ __device__ size_t operator()(int threads) const { return threads * per_thread; }
};

/** Sets *block to the number of threads per block. If the user has not set it, CUDA's occupancy calculator
 *  determines the number, up to `limit`, at which a multiprocessor runs the most threads; it is rounded to
 *  whole warps. A kernel's prepare() calls this function once for all products. */
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

/** Sets *resident to the number of blocks of the kernel that the GPU can run at the same time; at least 1. */
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

/** Row and column of an element of a row-major array. */
struct position {
    int64_t row, column;
};

/** Returns the row and column of element n of a row-major array with k columns. Divides 32-bit numbers if n
 *  and k allow it: 64-bit division is several times slower. */
__device__ inline position position_of(int64_t n, int64_t k)
{
    if (((uint64_t)n | (uint64_t)k) >> 32) return {n / k, n % k};
    return {(int64_t)((uint32_t)n / (uint32_t)k), (int64_t)((uint32_t)n % (uint32_t)k)};
}

/** Returns the dynamic shared memory of the block. Kernels that use it store one element per thread there. */
template <typename T> __device__ inline T *shared_memory()
{
    extern __shared__ double shared_elements[];
    return (T *)shared_elements;
}

/** Returns in lane 0 of each sub-warp the sum over its lanes; the result in the other lanes is undefined. The
 *  values are added in a binary tree, by shuffles or in shared memory. Both ways add in the same order, and
 *  so give the same bits. All lanes of a warp must call it. */
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

/** Sums part[g * columns + c] over all groups g into part[c], by a tree in shared memory. All threads of the
 *  block must call it after writing their own elements, part[threadIdx.x]. After the call thread c may read
 *  part[c]. */
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

/** Returns true in all threads of the last block that calls it. This block can then read everything that the
 *  other blocks wrote before their calls. All threads of all blocks must call it once; *count must be 0
 *  before the first call, and is gridDim.x after the last call. */
__device__ inline bool last_block(unsigned *count)
{
    __threadfence(); /* what this thread wrote is visible before *count grows ... */
    __syncthreads(); /* ... and so is what the other threads of the block wrote */
    const int last = threadIdx.x == 0 && atomicAdd(count, 1u) == gridDim.x - 1;
    const bool is_last = __syncthreads_or(last) != 0;
    __threadfence(); /* later reads of this thread come after the read of *count */
    return is_last;
}

} // namespace

#endif
