/** Helpers for conversions on the GPU, which are passes over rows or entries: loops over a grid, and
 *  temporary memory. */
#ifndef SP_CUDA_PASSES_CUH
#define SP_CUDA_PASSES_CUH

#include "kernels/cuda/cuda_types.cuh"

extern "C" {
#include "base/memory.h"
#include "device/device.h"
#include "formats/matrix.h"
}

namespace {

constexpr int THREADS = 256;

/** Index of this thread in the grid, and number of threads of the grid. */
__device__ inline int64_t first_item() { return (int64_t)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline int64_t grid_size() { return (int64_t)gridDim.x * blockDim.x; }

/** Returns the number of blocks for n items with one thread per item, limited to the number that fills a
 *  GPU. */
inline unsigned blocks_for(int64_t n)
{
    constexpr int64_t MOST = 4096;
    const int64_t blocks = (n + THREADS - 1) / THREADS;
    return (unsigned)(blocks < 1 ? 1 : blocks < MOST ? blocks : MOST);
}

/** Adds a number of each thread to *to; all threads of a warp must call it. */
__device__ inline void add_up(unsigned long long *to, unsigned long long mine)
{
    for (int d = 16; d > 0; d /= 2) mine += __shfl_xor_sync(0xffffffffu, mine, d);
    if (threadIdx.x % 32 == 0 && mine > 0) atomicAdd(to, mine);
}

/** Returns the index at which the search for a key begins in a hash table of size N (Knuth: The Art of
 *  Computer Programming, volume 3, multiplicative hashing). */
template <int N> __device__ inline int table_start(int32_t key)
{
    return (int)((uint32_t)key * 2654435769u % N);
}

/** Returns the index of a key in a hash table; inserts the key if it is not in the table. Empty elements
 *  contain `none`, which is not a valid key. The table must not become full. \param [out] added true if this
 *  call has inserted the key */
template <int N>
__device__ inline int table_place(int32_t (&table)[N], int32_t key, int32_t none, bool *added)
{
    for (int p = table_start<N>(key);; p = (p + 1) % N) {
        const int32_t there = atomicCAS(&table[p], none, key);
        *added = there == none;
        if (*added || there == key) return p;
    }
}

/** Returns the number of bits that hold the numbers below n; at least 1. */
inline int bits_of(int64_t n)
{
    int bits = 1;
    while (n > (int64_t)1 << bits) bits++;
    return bits;
}

/** Temporary GPU memory from a single allocation. Its arrays are requested twice: first to compute the total
 *  size, then, after arena_open(), to get their addresses. */
struct arena {
    char *base;
    int64_t used; /* bytes requested so far */
};

/** Returns an array of `count` elements; NULL while sizes are only summed. */
template <typename T> T *take(arena *a, int64_t count)
{
    T *const p = a->base ? (T *)(a->base + a->used) : NULL;
    a->used += (count * (int64_t)sizeof(T) + 255) / 256 * 256;
    return p;
}

/** Allocates the memory whose size was computed. \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_DEVICE */
inline spmm_status arena_open(arena *a, const char *what)
{
    TRY(sp_device_alloc((void **)&a->base, a->used, what));
    a->used = 0;
    return SPMM_OK;
}

inline void arena_close(arena *a)
{
    sp_device_free(a->base);
    *a = {};
}

/** Returns a matrix in GPU memory with the sizes of `csr`, without arrays. */
inline sp_matrix converted(const sp_matrix *csr, spmm_format format)
{
    sp_matrix m = {};
    m.format = format;
    m.precision = csr->precision;
    m.space = SPMM_CUDA;
    m.rows = csr->rows;
    m.cols = csr->cols;
    m.nnz = csr->nnz;
    return m;
}

/** Allocates an array of m with `count` elements of `size` bytes in GPU memory.
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_DEVICE */
template <typename E> spmm_status allocate(sp_matrix *m, sp_array array, E **p, int64_t count, int64_t size)
{
    m->bytes[array] = count * size;
    return sp_device_alloc((void **)p, m->bytes[array], m->format == SPMM_SELL ? "sliced ELLPACK" : "panels");
}

} // namespace

#endif
