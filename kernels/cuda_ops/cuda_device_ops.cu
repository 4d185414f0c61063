/** Implements the functions of device_ops.h that pack, widen, split, send and add rows in device memory, that
 *  copy elements, and that add multivectors. These kernels are limited by memory bandwidth, so a thread moves
 *  vectors that are as wide as the size of a row allows. */
#include <algorithm>
#include <type_traits>

#include "kernels/cuda/cuda_types.cuh"

extern "C" {
#include "device/device.h"
#include "formats/multivector.h"
#include "device/device_ops.h"
}

namespace {

constexpr int BLOCK = 256;
constexpr int64_t MOST_BLOCKS = 1 << 20; /* larger problems are covered by grid-stride loops */

unsigned blocks_for(int64_t threads)
{
    return (unsigned)std::min(std::max((threads + BLOCK - 1) / BLOCK, (int64_t)1), MOST_BLOCKS);
}

/* Four elements of f64, which are rounded to one float4 for sending, and widened from one after receiving. */
struct alignas(16) quad {
    double2 low, high;
};

/** Returns a vector of type W made of v: v itself, or its elements rounded to f32. */
template <typename W, typename V> __device__ inline W sent(const V &v)
{
    if constexpr (std::is_same<V, W>::value)
        return v;
    else if constexpr (std::is_same<V, double>::value)
        return (float)v;
    else if constexpr (std::is_same<V, double2>::value)
        return W{(float)v.x, (float)v.y};
    else
        return W{(float)v.low.x, (float)v.low.y, (float)v.high.x, (float)v.high.y};
}

__device__ inline double widened(float v) { return (double)v; }
__device__ inline double2 widened(const float2 &v) { return double2{(double)v.x, (double)v.y}; }
__device__ inline quad widened(const float4 &v)
{
    return quad{{(double)v.x, (double)v.y}, {(double)v.z, (double)v.w}};
}

/** Packs rows: row r of out := row list[r] of x. A row consists of `words` vectors of type V, of up to 16
 *  bytes (quad: 32), which are stored as type W. Each thread copies one vector at a time. */
template <typename V, typename W>
__global__ void __launch_bounds__(BLOCK)
    pack(const V *__restrict__ x, int64_t words, const int32_t *__restrict__ list, int64_t count,
         W *__restrict__ out)
{
    const int64_t all = count * words;
    for (int64_t i = blockIdx.x * (int64_t)BLOCK + threadIdx.x; i < all; i += gridDim.x * (int64_t)BLOCK) {
        const int64_t row = i / words;
        out[i] = sent<W>(x[list[row] * words + i - row * words]);
    }
}

template <typename V, typename W = V>
void launch_pack(const void *x, int64_t row_bytes, const int32_t *list, int64_t count, void *out,
                 cudaStream_t stream)
{
    const int64_t words = row_bytes / (int64_t)sizeof(V);
    pack<V, W><<<blocks_for(count * words), BLOCK, 0, stream>>>((const V *)x, words, list, count, (W *)out);
}

/** Widens rows of f32: row r of `from` becomes row r of x or, from row `low` on, row r + own. Rows consist of
 *  `words` vectors, and rows of x are `pitch` vectors apart. */
template <typename V, typename W>
__global__ void __launch_bounds__(BLOCK) widen(const W *__restrict__ from, int64_t low, int64_t own,
                                               int64_t count, int64_t words, int64_t pitch, V *__restrict__ x)
{
    const int64_t all = count * words;
    for (int64_t i = blockIdx.x * (int64_t)BLOCK + threadIdx.x; i < all; i += gridDim.x * (int64_t)BLOCK) {
        const int64_t row = i / words;
        x[(row < low ? row : row + own) * pitch + i - row * words] = widened(from[i]);
    }
}

template <typename V, typename W>
void launch_widen(const void *from, int64_t low, int64_t own, int64_t high, int64_t row_bytes, int64_t pitch,
                  void *x, cudaStream_t stream)
{
    const int64_t words = row_bytes / (int64_t)sizeof(V), count = low + high;
    widen<V, W><<<blocks_for(count * words), BLOCK, 0, stream>>>((const W *)from, low, own, count, words,
                                                                 pitch / (int64_t)sizeof(V), (V *)x);
}

/** Returns log2 of the number of threads that copy one row of `words` vectors; at most 5, for a whole
 *  warp. */
int lane_bits_for(int64_t words)
{
    int bits = 0;
    while (bits < 5 && (1 << bits) < words) bits++;
    return bits;
}

/** Splits each row of x into column blocks. 2^lane_bits threads copy a row; each thread copies one vector at
 *  a time. All lengths are numbers of vectors: `words` is the length of a row of x, `width` that of a row of
 *  a column block, `pitch` the distance between rows of x, `slice` the distance between column blocks in
 *  out. */
__global__ void __launch_bounds__(BLOCK)
    split(const uint4 *__restrict__ x, int64_t pitch, int64_t rows, int words, int width, int lane_bits,
          uint4 *__restrict__ out, int64_t slice)
{
    const int lanes = 1 << lane_bits;
    const int64_t step = (int64_t)gridDim.x * (BLOCK >> lane_bits);
    for (int64_t i = blockIdx.x * (int64_t)(BLOCK >> lane_bits) + (threadIdx.x >> lane_bits); i < rows;
         i += step)
        for (int w = threadIdx.x & (lanes - 1); w < words; w += lanes)
            out[w / width * slice + i * width + w % width] = x[i * pitch + w];
}

/* A thread of push() waits for its reads, but not for its stores to another GPU. So each thread has as many
 * reads in flight as its registers can hold. Few blocks with many threads leave most multiprocessors to a
 * kernel that runs concurrently. If no other kernel runs, four times as many blocks are faster
 * (bench/records/HISTORY.md). */
constexpr int PUSH_BLOCK = 1024, PUSH_BLOCKS = 16, PUSH_ALONE = 4, PUSH_DEPTH = 4, PUSH_MOST = 32;

/** The receivers of one launch of push(), passed to push() by value. */
struct pushes {
    sp_push to[PUSH_MOST];
};

/** Copies rows of x, which are `pitch` vectors apart, to their receivers, where they have the same pitch or,
 *  if they are rounded from V to W, no gaps. 2^lane_bits threads copy a row; each thread copies one vector at
 *  a time. blockIdx.y is the index of the receiver. */
template <typename V, typename W>
__global__ void __launch_bounds__(PUSH_BLOCK) push(const V *__restrict__ x, int64_t pitch, int64_t words,
                                                   int lane_bits, __grid_constant__ const pushes all)
{
    const sp_push &p = all.to[blockIdx.y];
    const int lanes = 1 << lane_bits, lane = threadIdx.x & (lanes - 1);
    const int64_t step = (int64_t)gridDim.x * (PUSH_BLOCK >> lane_bits);
    const int64_t to_pitch = std::is_same<V, W>::value ? pitch : words;
    W *const to = (W *)p.to;
    for (int64_t i = blockIdx.x * (int64_t)(PUSH_BLOCK >> lane_bits) + (threadIdx.x >> lane_bits); i < p.rows;
         i += PUSH_DEPTH * step) {
        const V *from[PUSH_DEPTH];
#pragma unroll
        for (int d = 0; d < PUSH_DEPTH; d++) {
            const int64_t row = i + d * step;
            if (row < p.rows) from[d] = x + (p.list ? p.list[row] : p.first + row) * pitch;
        }
        for (int64_t w = lane; w < words; w += lanes) {
            V value[PUSH_DEPTH];
#pragma unroll
            for (int d = 0; d < PUSH_DEPTH; d++)
                if (i + d * step < p.rows) value[d] = from[d][w];
#pragma unroll
            for (int d = 0; d < PUSH_DEPTH; d++)
                if (i + d * step < p.rows) to[(i + d * step) * to_pitch + w] = sent<W>(value[d]);
        }
    }
}

template <typename V, typename W = V>
void launch_push(const void *x, int64_t pitch, int64_t row_bytes, const sp_push *list, int count, int alone,
                 cudaStream_t stream)
{
    const int64_t blocks = alone ? PUSH_ALONE * PUSH_BLOCKS : PUSH_BLOCKS;
    const int64_t words = row_bytes / (int64_t)sizeof(V);
    const int lane_bits = lane_bits_for(words);
    for (int at = 0; at < count; at += PUSH_MOST) {
        const int n = std::min(count - at, PUSH_MOST);
        pushes all = {};
        int64_t most = 0;
        for (int i = 0; i < n; i++) {
            all.to[i] = list[at + i];
            most = std::max(most, list[at + i].rows);
        }
        if (most == 0) continue;
        const int64_t rows_a_block = PUSH_DEPTH * (PUSH_BLOCK >> lane_bits);
        const dim3 grid((unsigned)std::min((most - 1) / rows_a_block + 1, blocks), (unsigned)n);
        push<V, W><<<grid, PUSH_BLOCK, 0, stream>>>((const V *)x, pitch / (int64_t)sizeof(V), words,
                                                    lane_bits, all);
    }
}

/* A block transposes tiles of TILE x TILE elements through shared memory. Lines in shared memory have one
 * more element, so that the threads of a warp, which read a column, access different banks. */
constexpr int TILE = 32, TILE_LINES = 8, MOST_TILES = 1 << 20;

/** Computes y := alpha x^T + beta y; x is row-major [lines x length], y [length x lines]. */
template <typename T>
__global__ void __launch_bounds__(TILE *TILE_LINES)
    transpose(T alpha, const T *x, int64_t ldx, T beta, T *y, int64_t ldy, int64_t lines, int64_t length)
{
    __shared__ T tile[TILE][TILE + 1];
    const int64_t wide = (length - 1) / TILE + 1, all = ((lines - 1) / TILE + 1) * wide;
    for (int64_t t = blockIdx.x; t < all; t += gridDim.x) {
        const int64_t line = t / wide * TILE, at = t % wide * TILE;
        for (int r = threadIdx.y; r < TILE; r += TILE_LINES)
            if (line + r < lines && at + threadIdx.x < length)
                tile[r][threadIdx.x] = alpha * x[(line + r) * ldx + at + threadIdx.x];
        __syncthreads();
        for (int r = threadIdx.y; r < TILE; r += TILE_LINES)
            if (at + r < length && line + threadIdx.x < lines) {
                T *const to = y + (at + r) * ldy + line + threadIdx.x;
                const T ax = tile[threadIdx.x][r];
                *to = beta == 0 ? ax : scaled_sum(beta, *to, ax);
            }
        __syncthreads();
    }
}

template <typename T>
__global__ void __launch_bounds__(BLOCK)
    axpby(T alpha, const T *x, int64_t ldx, T beta, T *y, int64_t ldy, int64_t rows, int64_t k)
{
    const int64_t all = rows * k;
    for (int64_t e = blockIdx.x * (int64_t)BLOCK + threadIdx.x; e < all; e += gridDim.x * (int64_t)BLOCK) {
        const int64_t i = e / k, j = e - i * k;
        T *const to = y + i * ldy + j;
        const T ax = alpha * x[i * ldx + j];
        *to = beta == 0 ? ax : scaled_sum(beta, *to, ax);
    }
}

template <typename T>
__global__ void __launch_bounds__(BLOCK)
    add_rows(sp_row_sums sums, const T *s, int64_t lds, T *y, int64_t ldy, int64_t k)
{
    const int64_t all = sums.count * k;
    for (int64_t e = blockIdx.x * (int64_t)BLOCK + threadIdx.x; e < all; e += gridDim.x * (int64_t)BLOCK) {
        const int64_t n = e / k, j = e - n * k;
        T *const to = y + sums.row[n] * ldy + j;
        T sum = *to;
        for (int64_t a = sums.start[n]; a < sums.start[n + 1]; a++) sum += s[sums.addend[a] * lds + j];
        *to = sum;
    }
}

template <typename T>
__global__ void __launch_bounds__(BLOCK) gather(const uint32_t *from, int64_t count, const T *values, T *to)
{
    for (int64_t i = blockIdx.x * (int64_t)BLOCK + threadIdx.x; i < count; i += gridDim.x * (int64_t)BLOCK)
        if (from[i] != UINT32_MAX) to[i] = values[from[i]];
}

template <typename T> __global__ void __launch_bounds__(BLOCK) number(T *to, int64_t count)
{
    for (int64_t i = blockIdx.x * (int64_t)BLOCK + threadIdx.x; i < count; i += gridDim.x * (int64_t)BLOCK)
        to[i] = (T)(i + 1);
}

template <typename T>
__global__ void __launch_bounds__(BLOCK)
    find_places(const T *number, int64_t count, int64_t most, uint32_t *place, unsigned *disordered)
{
    for (int64_t i = blockIdx.x * (int64_t)BLOCK + threadIdx.x; i < count; i += gridDim.x * (int64_t)BLOCK) {
        /* padding is zero, or not a number up to `most` */
        const uint64_t n = (uint64_t)number[i];
        place[i] = n > (uint64_t)most ? UINT32_MAX : (uint32_t)(n - 1);
        if (place[i] != (i < most ? (uint32_t)i : UINT32_MAX)) *disordered = 1;
    }
}

/** Calls f(B()), where B is a type of `size` bytes, 4, 8 or 16. */
template <typename F> void with_bits(int size, F f)
{
    if (size == 16)
        f(bits_of_16());
    else if (size == 8)
        f(uint64_t());
    else
        f(uint32_t());
}

} // namespace

extern "C" spmm_status sp_cuda_number(int64_t count, int size, void *to)
{
    const cudaStream_t stream = (cudaStream_t)sp_device_stream(SP_STREAM_MAIN);
    if (!stream) return SPMM_ERR_NO_DEVICE; /* sp_device_stream() has set the message */
    with_bits(size, [&](auto bits) {
        using B = decltype(bits);
        number<B><<<blocks_for(count), BLOCK, 0, stream>>>((B *)to, count);
    });
    return sp_device_launched("number");
}

extern "C" spmm_status sp_cuda_find_places(const void *number, int64_t count, int size, int64_t most,
                                           uint32_t *place, int *in_order)
{
    const cudaStream_t stream = (cudaStream_t)sp_device_stream(SP_STREAM_MAIN);
    unsigned *there = NULL, disordered = 0;
    TRY(sp_device_alloc((void **)&there, sizeof *there, "places of values"));
    spmm_status status = sp_device_zero(there, sizeof *there);
    with_bits(size, [&](auto bits) {
        using B = decltype(bits);
        find_places<B><<<blocks_for(count), BLOCK, 0, stream>>>((const B *)number, count, most, place, there);
    });
    if (status == SPMM_OK) status = sp_device_launched("find_places");
    if (status == SPMM_OK) status = sp_device_download(&disordered, there, sizeof disordered);
    sp_device_free(there);
    *in_order = !disordered;
    return status;
}

extern "C" spmm_status sp_cuda_gather(const uint32_t *from, int64_t count, int size, const void *values,
                                      void *to, void *stream)
{
    if (count == 0) return SPMM_OK;
    with_bits(size, [&](auto bits) {
        using B = decltype(bits);
        gather<B>
            <<<blocks_for(count), BLOCK, 0, (cudaStream_t)stream>>>(from, count, (const B *)values, (B *)to);
    });
    return sp_device_launched("gather");
}

extern "C" spmm_status sp_cuda_pack(const void *x, int64_t row_bytes, const int32_t *list, int64_t count,
                                    void *out, void *stream)
{
    if (count == 0) return SPMM_OK;
    const auto launch = row_bytes % 16 == 0  ? launch_pack<uint4>
                        : row_bytes % 8 == 0 ? launch_pack<uint2>
                                             : launch_pack<uint32_t>;
    launch(x, row_bytes, list, count, out, (cudaStream_t)stream);
    return sp_device_launched("pack");
}

extern "C" spmm_status sp_cuda_pack_rounded(const void *x, int64_t row_bytes, const int32_t *list,
                                            int64_t count, void *out, void *stream)
{
    if (count == 0) return SPMM_OK;
    const auto launch = row_bytes % 32 == 0   ? launch_pack<quad, float4>
                        : row_bytes % 16 == 0 ? launch_pack<double2, float2>
                                              : launch_pack<double, float>;
    launch(x, row_bytes, list, count, out, (cudaStream_t)stream);
    return sp_device_launched("pack");
}

extern "C" spmm_status sp_cuda_widen(const void *from, int64_t low, int64_t own, int64_t high,
                                     int64_t row_bytes, int64_t pitch, void *x, void *stream)
{
    if (low + high == 0) return SPMM_OK;
    const auto launch = row_bytes % 32 == 0   ? launch_widen<quad, float4>
                        : row_bytes % 16 == 0 ? launch_widen<double2, float2>
                                              : launch_widen<double, float>;
    launch(from, low, own, high, row_bytes, pitch, x, (cudaStream_t)stream);
    return sp_device_launched("widen");
}

extern "C" spmm_status sp_cuda_add_rows(const sp_row_sums *sums, const spmm_multivector *s,
                                        spmm_multivector *y, void *stream)
{
    const spmm_multivector from = sp_multivector_reals(s), to = sp_multivector_reals(y);
    const unsigned blocks = blocks_for(sums->count * to.k);
    const int64_t ghost = from.ghost_low * from.ld;
    if (sums->count == 0) return SPMM_OK;
    with_real(to.precision, [&](auto value) {
        using T = decltype(value);
        add_rows<T><<<blocks, BLOCK, 0, (cudaStream_t)stream>>>(*sums, (const T *)from.data - ghost, from.ld,
                                                                (T *)to.data, to.ld, to.k);
    });
    return sp_device_launched("add_rows");
}

extern "C" spmm_status sp_cuda_push(const void *x, int64_t pitch, int64_t row_bytes, const sp_push *list,
                                    int count, int alone, void *stream)
{
    const auto launch = row_bytes % 16 == 0  ? launch_push<uint4>
                        : row_bytes % 8 == 0 ? launch_push<uint2>
                                             : launch_push<uint32_t>;
    launch(x, pitch, row_bytes, list, count, alone, (cudaStream_t)stream);
    return sp_device_launched("push");
}

extern "C" spmm_status sp_cuda_push_rounded(const void *x, int64_t pitch, int64_t row_bytes,
                                            const sp_push *list, int count, int alone, void *stream)
{
    const auto launch = row_bytes % 32 == 0   ? launch_push<quad, float4>
                        : row_bytes % 16 == 0 ? launch_push<double2, float2>
                                              : launch_push<double, float>;
    launch(x, pitch, row_bytes, list, count, alone, (cudaStream_t)stream);
    return sp_device_launched("push");
}

extern "C" spmm_status sp_cuda_split(const void *x, int64_t x_pitch, int64_t rows, int count, int64_t width,
                                     void *out, int64_t slice_bytes, void *stream)
{
    constexpr int V = sizeof(uint4);
    const int64_t words = count * width / V;
    if (rows == 0) return SPMM_OK;
    split<<<blocks_for(rows << lane_bits_for(words)), BLOCK, 0, (cudaStream_t)stream>>>(
        (const uint4 *)x, x_pitch / V, rows, (int)words, (int)(width / V), lane_bits_for(words), (uint4 *)out,
        slice_bytes / V);
    return sp_device_launched("split");
}

/** Launches transpose() for y := alpha x + beta y, where exactly one of x and y is column-major. x is passed
 *  as a row-major matrix of `lines` lines. */
template <typename T>
void launch_transpose(sp_value alpha, const spmm_multivector *x, sp_value beta, spmm_multivector *y,
                      cudaStream_t stream)
{
    const int by_columns = x->layout == SPMM_COLUMN_MAJOR;
    const int64_t lines = by_columns ? x->k : x->rows, length = by_columns ? x->rows : x->k;
    const int64_t tiles = ((lines - 1) / TILE + 1) * ((length - 1) / TILE + 1);
    transpose<T><<<(unsigned)std::min(tiles, (int64_t)MOST_TILES), dim3(TILE, TILE_LINES), 0, stream>>>(
        value_in<T>(alpha), (const T *)x->data, x->ld, value_in<T>(beta), (T *)y->data, y->ld, lines, length);
}

extern "C" spmm_status sp_cuda_axpby(sp_value alpha, const spmm_multivector *x, sp_value beta,
                                     spmm_multivector *y, void *stream)
{
    const unsigned blocks = blocks_for(y->rows * y->k);
    if (y->rows == 0) return SPMM_OK;
    if (x->layout != y->layout) {
        with_type(y->precision, [&](auto value) {
            launch_transpose<decltype(value)>(alpha, x, beta, y, (cudaStream_t)stream);
        });
        return sp_device_launched("transpose");
    }
    with_type(y->precision, [&](auto value) {
        using T = decltype(value);
        axpby<T><<<blocks, BLOCK, 0, (cudaStream_t)stream>>>(value_in<T>(alpha), (const T *)x->data, x->ld,
                                                             value_in<T>(beta), (T *)y->data, y->ld, y->rows,
                                                             y->k);
    });
    return sp_device_launched("axpby");
}
