/** What the kernels of the course reports share: what they see of a launch, their launch shapes, and
 *  reductions inside a sub-warp and inside a block. docs/KERNELS.md has a table of them.
 *
 *  Elements, rows and entries are counted in 64 bits. Grids are as large as the work, as in the reports, up
 *  to the limit of a grid; loops over the grid do the rest. Every kernel is compiled for blocks of up to
 *  MAX_BLOCK threads, so that whatever block size is asked for can be launched. */
#ifndef SP_SEED_CUH
#define SP_SEED_CUH

#include "kernels/cuda/cuda_vector.cuh"

namespace {

enum { MAX_BLOCK = 1024 };

/** Y := A X as a kernel sees it. */
template <typename T> struct product {
    const int64_t *row_start; /* SPMM_CSR */
    const int32_t *col;
    const T *val;
    int64_t rows, cols, k;
    int64_t width; /* SPMM_ELL */
    const T *x;    /* element (i, j) at x[i * ldx + j]; of X transposed at x[j * ldx + i] */
    int64_t ldx;
    T *y;
    int64_t ldy;
};

template <typename T> product<T> product_of(const sp_launch *l)
{
    const sp_matrix *const a = l->a;
    return {a->row_start,          a->col,   (const T *)a->val, a->rows, a->cols, l->x->k, a->width,
            (const T *)l->x->data, l->x->ld, (T *)l->y->data,   l->y->ld};
}

/** The global queue of work items, both 0 between launches. */
struct work_queue {
    unsigned long long next; /* item that nobody has taken yet */
    unsigned left;           /* blocks that found the queue empty */
};

/** What prepare() makes; each kernel uses what it needs. */
struct seed_state {
    int block;          /* threads of a block */
    int lanes;          /* of a sub-warp (sub-block) */
    int resident;       /* blocks that the GPU runs at the same time */
    int64_t k;          /* columns of X in the products to come */
    void *xt;           /* X transposed, [k x cols] */
    int64_t *first_row; /* of each row block, [row_blocks + 1] */
    int64_t row_blocks;
    work_queue *queue;
};

inline void seed_release(void *state)
{
    seed_state *const s = (seed_state *)state;
    if (!s) return;
    sp_device_free(s->xt);
    sp_device_free(s->first_row);
    sp_device_free(s->queue);
    sp_free(s);
}

/** A kernel's prepare(): makes a state and lets `fill` do the kernel's part. */
template <spmm_status (*fill)(const sp_setup *, seed_state *)>
spmm_status seed_prepare(const sp_setup *setup, void **state)
{
    void *p = NULL;
    *state = NULL;
    if (!sp_device_stream()) return SPMM_ERR_NO_DEVICE; /* the message is sp_device_stream's */
    TRY(sp_alloc_zero(&p, 1, sizeof(seed_state), "a kernel's state"));
    ((seed_state *)p)->k = setup->k;
    const spmm_status status = fill(setup, (seed_state *)p);
    if (status != SPMM_OK) {
        seed_release(p);
        return status;
    }
    *state = p;
    return SPMM_OK;
}

inline spmm_status seed_check(cudaError_t error, const char *what)
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
    TRY(seed_check(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, block, kernel,
                                                                  shared_bytes{shared_per_thread}, limit),
                   "the occupancy calculator"));
    *block = *block < WARP ? WARP : *block / WARP * WARP;
    return SPMM_OK;
}

/** Blocks that run at the same time on all multiprocessors. */
inline spmm_status count_resident(const void *kernel, int block, size_t shared, int *resident)
{
    int device = 0, processors = 0, each = 0;
    TRY(seed_check(cudaGetDevice(&device), "the current GPU"));
    TRY(seed_check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
                   "multiprocessors"));
    TRY(seed_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, block, shared),
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
    extern __shared__ double seed_shared[];
    return (T *)seed_shared;
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
