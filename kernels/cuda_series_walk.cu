/** Making series on the GPU, with cuRAND's Philox4x32-10 (series.h: sp_walk). */
/* ours first: cuRAND asks for the system's <memory.h>, and finds the one in src/ */
#include "cuda_series.cuh"

#include <curand_kernel.h>

namespace {

/** The signed 32-bit word as a T, correctly rounded. The conversion to f64 is slow on some GPUs: 2^52 + 2^31 + word has
 *  a known exponent. */
__device__ inline double number_of(unsigned word, double)
{
    return __hiloint2double(0x43300000, (int)(word ^ 0x80000000u)) - (0x1p52 + 0x1p31);
}
__device__ inline float number_of(unsigned word, float) { return (float)(int)word; }

__device__ inline double step(double x, double share) { return fma(x, share, x); }
__device__ inline float step(float x, float share) { return fmaf(x, share, x); }

/* ---- a thread a series ---- */

template <typename T>
__global__ void __launch_bounds__(MAX_BLOCK)
    walk_thread_kernel(const series_view<T> s, const T start, const T scale, const unsigned long long seed)
{
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t m = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; m < s.count; m += stride) {
        curandStatePhilox4_32_10_t state;
        curand_init(seed, (unsigned long long)(s.first + m), 0, &state);
        T *to = s.v + m * s.across;
        T value = start;
        for (int64_t i = 0; i < s.length; i += 4) {
            const uint4 random = curand4(&state);
            const T share[4] = {scale * number_of(random.x, T()), scale * number_of(random.y, T()),
                                scale * number_of(random.z, T()), scale * number_of(random.w, T())};
#pragma unroll
            for (int w = 0; w < 4; w++) {
                if (i + w >= s.length) break;
                if (i + w > 0) value = step(value, share[w]);
                *to = value;
                to += s.along;
            }
        }
    }
}

template <typename T> spmm_status run_thread(const sp_series_launch *l, cudaStream_t stream)
{
    int block;
    TRY(series_block(l, walk_thread_kernel<T>, 0, &block));
    walk_thread_kernel<T><<<grid_of(l->x->count, block), block, 0, stream>>>(
        view_of<T>(l->x), (T)l->walk->start, (T)l->walk->epsilon * (T)0x1p-31, l->walk->seed);
    return sp_device_launched("walk_thread");
}

/* ---- tiles: random numbers need no order, only the walk does ---- */

/* SIDE series at a time, TILE values of each; MAKERS warps make shares and write results, one more warp walks */
enum {
    SIDE = WARP,
    TILE = 64,
    MAKERS = 8,
    TILE_PITCH = SIDE + 1,
    TILE_THREADS = (MAKERS + 1) * WARP,
    STAGES = 3
};

template <typename T> struct tile_of {
    T share[TILE][TILE_PITCH]; /* and in its place the value */
};

/** Shares of a tile from index `from` on. A thread makes four at a time, those of one counter. */
template <typename T>
__device__ inline void make_shares(tile_of<T> &tile, uint64_t number, int64_t from, T scale, uint2 key)
{
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
#pragma unroll
    for (int b = warp; b < TILE / 4; b += MAKERS) {
        const uint64_t block = (uint64_t)from / 4 + b;
        const uint4 random = curand_Philox4x32_10(
            make_uint4((unsigned)block, (unsigned)(block >> 32), (unsigned)number, (unsigned)(number >> 32)),
            key);
        tile.share[4 * b][lane] = scale * number_of(random.x, T());
        tile.share[4 * b + 1][lane] = scale * number_of(random.y, T());
        tile.share[4 * b + 2][lane] = scale * number_of(random.z, T());
        tile.share[4 * b + 3][lane] = scale * number_of(random.w, T());
    }
}

/** One warp: a lane walks its series. */
template <typename T> __device__ inline T walk(tile_of<T> &tile, T value, bool starts)
{
    enum { AHEAD = 16 };
    const int lane = threadIdx.x % WARP;
    if (starts) tile.share[0][lane] = 0; /* value 0 is the start */
#pragma unroll 1
    for (int i = 0; i < TILE; i += AHEAD) {
        T share[AHEAD];
#pragma unroll
        for (int j = 0; j < AHEAD; j++) share[j] = tile.share[i + j][lane];
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            value = step(value, share[j]);
            tile.share[i + j][lane] = value;
        }
    }
    return value;
}

/** Values of a tile to where they belong, neighbours by neighbouring lanes. */
template <typename T>
__device__ inline void write_tile(const tile_of<T> &tile, const series_view<T> &s, int64_t m, int64_t from)
{
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int64_t values = s.length - from, series = s.count - m;
    if (s.along == 1) {
        using pair = typename vector_of<T, 2>::type;
#pragma unroll
        for (int r = warp; r < SIDE; r += MAKERS) {
            T *const to = s.v + (m + r) * s.across + from + 2 * lane;
            const T a = tile.share[2 * lane][r], b = tile.share[2 * lane + 1][r];
            if (r < series && 2 * lane + 1 < values) __stcs((pair *)to, pair{a, b});
            if (r < series && 2 * lane + 1 == values) *to = a;
        }
    } else {
#pragma unroll
        for (int i = warp; i < TILE; i += MAKERS)
            if (i < values && lane < series)
                __stcs(s.v + (from + i) * s.along + m + lane, tile.share[i][lane]);
    }
}

/** In step k tile k is made, tile k - 1 walked and tile k - 2 written. */
template <typename T>
__global__ void __launch_bounds__(TILE_THREADS)
    walk_tiles_kernel(const series_view<T> s, const T start, const T scale, const uint2 key)
{
    extern __shared__ double tiles_shared[];
    tile_of<T> *const tile = (tile_of<T> *)tiles_shared; /* [STAGES] */
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const int64_t tiles = (s.length + TILE - 1) / TILE;
    for (int64_t m = (int64_t)blockIdx.x * SIDE; m < s.count; m += (int64_t)gridDim.x * SIDE) {
        T value = start;
        int stage = 0; /* k % STAGES */
        for (int64_t k = 0; k < tiles + 2; k++) {
            const int before = stage == 0 ? STAGES - 1 : stage - 1,
                      oldest = stage == STAGES - 1 ? 0 : stage + 1;
            if (warp == MAKERS) {
                if (k >= 1 && k <= tiles) value = walk(tile[before], value, k == 1);
            } else {
                if (k < tiles) make_shares(tile[stage], (uint64_t)(s.first + m + lane), k * TILE, scale, key);
                if (k >= 2) write_tile(tile[oldest], s, m, (k - 2) * TILE);
            }
            __syncthreads();
            stage = oldest;
        }
    }
}

template <typename T> spmm_status run_tiles(const sp_series_launch *l, cudaStream_t stream)
{
    const int shared = STAGES * (int)sizeof(tile_of<T>);
    const uint2 key = make_uint2((unsigned)l->walk->seed, (unsigned)(l->walk->seed >> 32));
    TRY(seed_check(
        cudaFuncSetAttribute(walk_tiles_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
        "walk_tiles"));
    walk_tiles_kernel<T><<<grid_of(l->x->count, SIDE), TILE_THREADS, shared, stream>>>(
        view_of<T>(l->x), (T)l->walk->start, (T)l->walk->epsilon * (T)0x1p-31, key);
    return sp_device_launched("walk_tiles");
}

} // namespace

const sp_series_ops sp_series_walk_thread = {series_run<run_thread<double>, run_thread<float>>, NULL, NULL,
                                             NULL};
const sp_series_ops sp_series_walk_tiles = {series_run<run_tiles<double>, run_tiles<float>>, NULL, NULL,
                                            NULL};
