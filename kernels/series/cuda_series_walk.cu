/** Generates series on the GPU with random numbers from cuRAND's Philox4x32-10 (see sp_walk in series.h). */
/* This include must come before cuRAND's header, which includes the system's <memory.h>: the project's own
 * memory.h must not be taken for the system's. */
#include "kernels/series/cuda_series.cuh"

#include <curand_kernel.h>

namespace {

/** Converts a word, read as a signed 32-bit integer, to type T, correctly rounded. Conversion to f64 is slow
 *  on some GPUs. So the word is put into the mantissa of 2^52 + 2^31 + word, and 2^52 + 2^31 is
 *  subtracted. */
__device__ inline double number_of(unsigned word, double)
{
    return __hiloint2double(0x43300000, (int)(word ^ 0x80000000u)) - (0x1p52 + 0x1p31);
}
__device__ inline float number_of(unsigned word, float) { return (float)(int)word; }

/** Returns the value that follows x in a series; `share` is the relative change. */
__device__ inline double step(double x, double share) { return fma(x, share, x); }
__device__ inline float step(float x, float share) { return fmaf(x, share, x); }

/* ---- kernels walk_thread, walk_constant: one thread per series ---- */

/** The parameters of generation: the first value, the factor that turns a word into a share, and cuRAND's
 *  seed. */
template <typename T> struct walk_constants {
    T start, scale;
    unsigned long long seed;
};

template <typename T> walk_constants<T> constants_of(const sp_walk *w)
{
    return {(T)w->start, (T)w->epsilon * (T)0x1p-31, w->seed};
}

template <typename T> __device__ inline void walk_thread(const series_view<T> &s, const walk_constants<T> &w)
{
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t m = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; m < s.count; m += stride) {
        curandStatePhilox4_32_10_t state;
        curand_init(w.seed, (unsigned long long)(s.first + m), 0, &state);
        T *to = s.v + m * s.across;
        T value = w.start;
        for (int64_t i = 0; i < s.length; i += 4) {
            const uint4 random = curand4(&state);
            const T share[4] = {w.scale * number_of(random.x, T()), w.scale * number_of(random.y, T()),
                                w.scale * number_of(random.z, T()), w.scale * number_of(random.w, T())};
#pragma unroll
            for (int j = 0; j < 4; j++) {
                if (i + j >= s.length) break;
                if (i + j > 0) value = step(value, share[j]);
                *to = value;
                to += s.along;
            }
        }
    }
}

template <typename T>
__global__ void __launch_bounds__(MAX_BLOCK)
    walk_thread_kernel(const series_view<T> s, const walk_constants<T> w)
{
    walk_thread(s, w);
}

template <typename T> spmm_status run_thread(const sp_series_launch *l, cudaStream_t stream)
{
    int block;
    TRY(series_block(l, walk_thread_kernel<T>, 0, &block));
    walk_thread_kernel<T>
        <<<grid_of(l->x->count, block), block, 0, stream>>>(view_of<T>(l->x), constants_of<T>(l->walk));
    return sp_device_launched("walk_thread");
}

/** The constants of both precisions: an object in constant memory cannot be a template. */
struct any_constants {
    walk_constants<double> f64;
    walk_constants<float> f32;
};
__constant__ any_constants constant_memory;
__device__ inline const walk_constants<double> &constants_in_memory(double) { return constant_memory.f64; }
__device__ inline const walk_constants<float> &constants_in_memory(float) { return constant_memory.f32; }

template <typename T>
__global__ void __launch_bounds__(MAX_BLOCK) walk_constant_kernel(const series_view<T> s)
{
    walk_thread(s, constants_in_memory(T()));
}

template <typename T> spmm_status run_constant(const sp_series_launch *l, cudaStream_t stream)
{
    const any_constants constants = {constants_of<double>(l->walk), constants_of<float>(l->walk)};
    int block;
    TRY(series_block(l, walk_constant_kernel<T>, 0, &block));
    TRY(cuda_check(cudaMemcpyToSymbolAsync(constant_memory, &constants, sizeof constants, 0,
                                           cudaMemcpyHostToDevice, stream),
                   "walk_constant"));
    walk_constant_kernel<T><<<grid_of(l->x->count, block), block, 0, stream>>>(view_of<T>(l->x));
    return sp_device_launched("walk_constant");
}

/* ---- kernel walk_tiles: random numbers are computed in parallel, only the walk is sequential ---- */

/* A tile contains TILE values of each of SIDE series. In each block, MAKERS warps compute shares (the
 * relative changes of the values) and write results, and one more warp walks along the series. A thread
 * processes 16 bytes at a time: four f32 or two f64 values of one series. Earlier versions processed one
 * value at a time and called cuRAND's function, which computes its round keys anew for each counter: they
 * needed twice as many instructions. */
enum { SIDE = WARP, STAGES = 3, ROUNDS = 10 };

/** Keys of all Philox rounds, computed once on the host. They are passed as kernel parameters, which
 *  instructions can use as operands at no cost. */
struct round_keys {
    unsigned x[ROUNDS], y[ROUNDS];
};

round_keys keys_of(uint64_t seed)
{
    round_keys k;
    for (int r = 0; r < ROUNDS; r++) {
        k.x[r] = (unsigned)seed + (unsigned)r * PHILOX_W32_0;
        k.y[r] = (unsigned)(seed >> 32) + (unsigned)r * PHILOX_W32_1;
    }
    return k;
}

/** Those intermediate results of the first two Philox rounds that depend only on the number of the series. */
struct first_rounds {
    unsigned x, y, high; /* x, y: words 0 and 1 after round 0; high: upper half of the series' number */
    uint64_t product;    /* product of word 0 and its multiplier in round 1 */
};

__device__ inline first_rounds begin_rounds(uint64_t number, const round_keys &key)
{
    const uint64_t b = (uint64_t)(unsigned)number * PHILOX_M4x32_1;
    const unsigned x = (unsigned)(b >> 32) ^ key.x[0];
    return {x, (unsigned)b, (unsigned)(number >> 32), (uint64_t)x * PHILOX_M4x32_0};
}

/** Returns the random words of curand_Philox4x32_10() for the counter whose words are `block`, 0 and the two
 *  halves of a series' number; f is the result of begin_rounds() for that number. */
__device__ inline uint4 philox(unsigned block, const first_rounds &f, const round_keys &key)
{
    const uint64_t first = (uint64_t)block * PHILOX_M4x32_0;
    const uint64_t second = (uint64_t)((unsigned)(first >> 32) ^ f.high ^ key.y[0]) * PHILOX_M4x32_1;
    uint4 c = make_uint4((unsigned)(second >> 32) ^ f.y ^ key.x[1], (unsigned)second,
                         (unsigned)(f.product >> 32) ^ (unsigned)first ^ key.y[1], (unsigned)f.product);
#pragma unroll
    for (int r = 2; r < ROUNDS; r++) {
        const uint64_t a = (uint64_t)c.x * PHILOX_M4x32_0, b = (uint64_t)c.z * PHILOX_M4x32_1;
        c = make_uint4((unsigned)(b >> 32) ^ c.y ^ key.x[r], (unsigned)b,
                       (unsigned)(a >> 32) ^ c.w ^ key.y[r], (unsigned)a);
    }
    return c;
}

/** 16 bytes of consecutive values (or shares) of one series, as one vector or as single values. */
template <typename T> union some_of {
    enum { WIDE = VECTOR_BYTES / sizeof(T) };
    typename vector_of<T, WIDE>::type vector;
    T value[WIDE];
};

/** A tile in shared memory: row r belongs to series r of the block. It first contains the relative changes
 *  from value to value ("shares", see step()), which walk() overwrites with the values of the series. Each
 *  row is padded by 16 bytes, so that lanes that access different rows access different banks. */
template <typename T, int TILE> struct tile_of {
    enum { WIDE = VECTOR_BYTES / sizeof(T), PITCH = TILE / WIDE + 1 };
    some_of<T> row[SIDE][PITCH];
};

/** Computes the shares of the tile that starts at value index `from`. A thread computes four shares at a
 *  time, from the four random words of one counter. */
template <int MAKERS, typename T, int TILE>
__device__ inline void make_shares(tile_of<T, TILE> &tile, const first_rounds &number, int64_t from, T scale,
                                   const round_keys &key)
{
    enum { WIDE = tile_of<T, TILE>::WIDE };
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
#pragma unroll
    for (int b = warp; b < TILE / 4; b += MAKERS) {
        const uint4 random = philox((unsigned)(from / 4) + b, number, key);
        const unsigned word[4] = {random.x, random.y, random.z, random.w};
#pragma unroll
        for (int v = 0; v < 4; v += WIDE) {
            some_of<T> share;
#pragma unroll
            for (int w = 0; w < WIDE; w++) share.value[w] = scale * number_of(word[v + w], T());
            tile.row[lane][(4 * b + v) / WIDE].vector = share.vector;
        }
    }
}

/** Turns the shares of a tile into values: each lane of one warp walks along one series. `value` is the last
 *  value of the series before this tile, or the start value if `starts` is true (first tile of a series).
 *  Returns the last value of the series in this tile. */
template <typename T, int TILE> __device__ inline T walk(tile_of<T, TILE> &tile, T value, bool starts)
{
    enum { WIDE = tile_of<T, TILE>::WIDE, AHEAD = 4 };
    some_of<T> *const row = tile.row[threadIdx.x % WARP];
    if (starts) row[0].value[0] = 0; /* a share of 0 keeps value 0 at `start` */
#pragma unroll 1
    for (int i = 0; i < TILE / WIDE; i += AHEAD) {
        some_of<T> share[AHEAD];
#pragma unroll
        for (int j = 0; j < AHEAD; j++) share[j].vector = row[i + j].vector;
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
#pragma unroll
            for (int w = 0; w < WIDE; w++) share[j].value[w] = value = step(value, share[j].value[w]);
            row[i + j].vector = share[j].vector;
        }
    }
    return value;
}

/** Writes the values of a tile to the memory of the series. If `rows` is true, adjacent lanes write adjacent
 *  values of one series; otherwise they write values with the same index of adjacent series. The last tile of
 *  a series may be shorter, and is written value by value. */
template <bool rows, int MAKERS, typename T, int TILE>
__device__ inline void write_tile(const tile_of<T, TILE> &tile, const series_view<T> &s, int64_t m,
                                  int64_t from)
{
    enum { WIDE = tile_of<T, TILE>::WIDE, VECTORS = TILE / WIDE };
    using vector = typename vector_of<T, WIDE>::type;
    static_assert(SIDE % MAKERS == 0 && VECTORS % WARP == 0 && VECTORS % MAKERS == 0,
                  "as much for every warp");
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int series = s.count - m < SIDE ? (int)(s.count - m) : SIDE;
    if (s.length - from < TILE) {
        const int values = (int)(s.length - from);
        T *const to = s.v + m * s.across + from * s.along;
#pragma unroll 1
        for (int n = threadIdx.x; n < SIDE * VECTORS; n += MAKERS * WARP) {
            const int r = rows ? n / VECTORS : n % SIDE, i = rows ? n % VECTORS : n / SIDE;
            const some_of<T> some = tile.row[r][i];
#pragma unroll
            for (int w = 0; w < WIDE; w++) /* constant loop bounds keep `some` in registers */
                if (r < series && i * WIDE + w < values)
                    to[r * s.across + (i * WIDE + w) * s.along] = some.value[w];
        }
    } else if (rows) {
        T *to = s.v + (m + warp) * s.across + from + lane * WIDE;
#pragma unroll
        for (int r = 0; r < SIDE / MAKERS; r++, to += MAKERS * s.across)
#pragma unroll
            for (int i = 0; i < VECTORS && warp + r * MAKERS < series; i += WARP)
                __stcs((vector *)(to + i * WIDE), tile.row[warp + r * MAKERS][lane + i].vector);
    } else if (lane < series) {
        T *to = s.v + (from + warp * WIDE) * s.along + m + lane;
#pragma unroll
        for (int i = 0; i < VECTORS / MAKERS; i++, to += MAKERS * WIDE * s.along) {
            const some_of<T> some = tile.row[lane][warp + i * MAKERS];
#pragma unroll
            for (int w = 0; w < WIDE; w++) __stcs(to + w * s.along, some.value[w]);
        }
    }
}

/** Generates SIDE series per block at a time, in a pipeline: in step k, makes the shares of tile k, walks
 *  tile k - 1 and writes tile k - 2. */
template <bool rows, typename T, int MAKERS, int TILE>
__global__ void __launch_bounds__((MAKERS + 1) * WARP)
    walk_tiles_kernel(const series_view<T> s, const T start, const T scale, const round_keys key)
{
    extern __shared__ double2 tiles_shared[];
    tile_of<T, TILE> *const tile = (tile_of<T, TILE> *)tiles_shared; /* [STAGES] tiles, used in turn */
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const int64_t tiles = (s.length + TILE - 1) / TILE;
    for (int64_t m = (int64_t)blockIdx.x * SIDE; m < s.count; m += (int64_t)gridDim.x * SIDE) {
        const first_rounds number = begin_rounds((uint64_t)(s.first + m + lane), key);
        T value = start;
        int stage = 0; /* index in tile[] of tile k: k % STAGES */
        for (int64_t k = 0; k < tiles + 2; k++) {
            const int before = stage == 0 ? STAGES - 1 : stage - 1,
                      oldest = stage == STAGES - 1 ? 0 : stage + 1;
            if (warp == MAKERS) {
                if (k >= 1 && k <= tiles) value = walk(tile[before], value, k == 1);
            } else {
                if (k < tiles) make_shares<MAKERS>(tile[stage], number, k * TILE, scale, key);
                if (k >= 2) write_tile<rows, MAKERS>(tile[oldest], s, m, (k - 2) * TILE);
            }
            __syncthreads();
            stage = oldest;
        }
    }
}

template <bool rows, typename T, int MAKERS, int TILE>
spmm_status launch_tiles(const sp_series_launch *l, cudaStream_t stream)
{
    const int shared = STAGES * (int)sizeof(tile_of<T, TILE>);
    if (l->x->length > INT64_C(4) << 32)
        return sp_fail(SPMM_ERR_LIMIT, "walk_tiles: found series of %lld values, expected at most 2^34",
                       (long long)l->x->length);
    TRY(cuda_check(cudaFuncSetAttribute(walk_tiles_kernel<rows, T, MAKERS, TILE>,
                                        cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
                   "walk_tiles"));
    walk_tiles_kernel<rows, T, MAKERS, TILE>
        <<<grid_of(l->x->count, SIDE), (MAKERS + 1) * WARP, shared, stream>>>(
            view_of<T>(l->x), (T)l->walk->start, (T)l->walk->epsilon * (T)0x1p-31, keys_of(l->walk->seed));
    return sp_device_launched("walk_tiles");
}

/* The numbers of warps and values were measured on an H200. f64 tiles of 32 KB are fastest with few warps,
 * each with much work between barriers. For f32, random numbers rather than memory take the time, and more
 * warps and longer tiles are faster. */
template <bool rows> spmm_status of_type(const sp_series_launch *l, cudaStream_t stream, double)
{
    return launch_tiles<rows, double, 4, 128>(l, stream);
}
template <bool rows> spmm_status of_type(const sp_series_launch *l, cudaStream_t stream, float)
{
    return launch_tiles<rows, float, 8, 256>(l, stream);
}

template <typename T> spmm_status run_tiles(const sp_series_launch *l, cudaStream_t stream)
{
    return l->x->layout == SP_SERIES_MAJOR ? of_type<true>(l, stream, T()) : of_type<false>(l, stream, T());
}

} // namespace

SERIES_KERNEL(walk_thread, run_thread, NULL)
SERIES_KERNEL(walk_constant, run_constant, NULL)
SERIES_KERNEL(walk_tiles, run_tiles, NULL)
