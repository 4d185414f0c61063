/** Computes deviations and centered copies of series, and transposes series, on the GPU. */
#include "kernels/cuda/cuda_transpose.cuh"
#include "kernels/series/cuda_series.cuh"

namespace {

/* ---- deviations (kernel of step SP_DEVIATION) ---- */

enum { SPREAD_THREADS = 256 };

/** Reduces `high` to its maximum and `low` to its minimum over the block; all threads get the results. */
template <typename T> __device__ inline void block_extent(T &high, T &low)
{
    __shared__ T highs[MAX_BLOCK / WARP], lows[MAX_BLOCK / WARP];
    for (int away = WARP / 2; away > 0; away /= 2) {
        high = fmax(high, __shfl_xor_sync(ALL_LANES, high, away));
        low = fmin(low, __shfl_xor_sync(ALL_LANES, low, away));
    }
    __syncthreads(); /* all threads must have read the extremes of the previous series */
    if (threadIdx.x % WARP == 0) {
        highs[threadIdx.x / WARP] = high;
        lows[threadIdx.x / WARP] = low;
    }
    __syncthreads();
    for (unsigned w = 0; w < blockDim.x / WARP; w++) {
        high = fmax(high, highs[w]);
        low = fmin(low, lows[w]);
    }
}

/** Returns the value of thread 0 to all threads of the block. */
template <typename T> __device__ inline T of_first(T value)
{
    __shared__ T first;
    __syncthreads();
    if (threadIdx.x == 0) first = value;
    __syncthreads();
    return first;
}

/** Calls each(value) for those of the n values that this thread processes: every blockDim.x-th 16-byte
 *  vector, and every blockDim.x-th value after the last whole vector. */
template <typename T, typename F> __device__ inline void for_values(const T *v, int64_t n, F each)
{
    enum { WIDE = VECTOR_BYTES / sizeof(T) };
    using vector = typename vector_of<T, WIDE>::type;
    const int64_t vectors = n / WIDE;
#pragma unroll 4
    for (int64_t i = threadIdx.x; i < vectors; i += blockDim.x) {
        union {
            vector v;
            T t[WIDE];
        } x;
        x.v = ((const vector *)v)[i];
#pragma unroll
        for (int j = 0; j < WIDE; j++) each(x.t[j]);
    }
    for (int64_t i = vectors * WIDE + threadIdx.x; i < n; i += blockDim.x) each(v[i]);
}

/** Computes deviations, one block per series. The first pass determines the extremes and the center; the
 *  second sums scaled squares. */
template <typename T>
__global__ void __launch_bounds__(MAX_BLOCK)
    spread_kernel(const series_view<T> s, const double *mean, sp_spread *spread)
{
    for (int64_t m = blockIdx.x; m < s.count; m += gridDim.x) {
        const T *const v = s.v + m * s.across, about = (T)mean[m];
        T high = v[0], low = v[0], off = 0, square = 0;
        for_values(v, s.length, [&](T x) {
            high = fmax(high, x);
            low = fmin(low, x);
            off += x - about;
        });
        block_extent(high, low);
        const T center = about + of_first(shuffled_sum(off)) / (T)s.length;
        sp_spread of = {(double)center, 0, 0, 0};
        if (high == low) {
            of.center = (double)low;
            of.constant = 1;
        } else {
            of.exponent = ilogb(fmax(center - low, high - center));
            const T one = (T)sp_scale(of.exponent, 0), two = (T)sp_scale(of.exponent, 1);
            for_values(v, s.length, [&](T x) {
                const T d = (x - center) * one * two;
                square += d * d;
            });
            of.deviation = sqrt((double)shuffled_sum(square));
        }
        if (threadIdx.x == 0) spread[m] = of;
    }
}

template <typename T> spmm_status run_spread(const sp_series_launch *l, cudaStream_t stream)
{
    const int block = l->block ? l->block : SPREAD_THREADS;
    spread_kernel<T><<<grid_of(l->x->count, 1), block, 0, stream>>>(view_of<T>(l->x), l->mean, l->spread);
    return sp_device_launched("spread_block");
}

/* ---- centered copies ---- */

enum { CENTER_THREADS = 256 };

template <typename T>
__global__ void __launch_bounds__(CENTER_THREADS)
    center_kernel(const series_view<T> s, const sp_spread *spread, T *z, int64_t ldz)
{
    enum { WIDE = VECTOR_BYTES / sizeof(T) };
    using vector = typename vector_of<T, WIDE>::type;
    for (int64_t m = blockIdx.x; m < s.count; m += gridDim.x) {
        const sp_spread of = spread[m];
        const T about = (T)of.center, one = (T)sp_scale(of.exponent, 0), two = (T)sp_scale(of.exponent, 1);
        const T *const from = s.v + m * s.across;
        T *const to = z + m * ldz;
        const int64_t vectors = s.length / WIDE;
#pragma unroll 4
        for (int64_t i = threadIdx.x; i < vectors; i += CENTER_THREADS) {
            union {
                vector v;
                T t[WIDE];
            } x;
            x.v = ((const vector *)from)[i];
            for (int j = 0; j < WIDE; j++) x.t[j] = of.constant ? T(0) : (x.t[j] - about) * one * two;
            ((vector *)to)[i] = x.v;
        }
        for (int64_t i = vectors * WIDE + threadIdx.x; i < s.length; i += CENTER_THREADS)
            to[i] = of.constant ? T(0) : (from[i] - about) * one * two;
    }
}

template <typename T>
void center(const sp_series *x, const sp_spread *spread, spmm_multivector *z, cudaStream_t stream)
{
    center_kernel<T>
        <<<grid_of(x->count, 1), CENTER_THREADS, 0, stream>>>(view_of<T>(x), spread, (T *)z->data, z->ld);
}

/* ---- transposition to the other layout ---- */

template <typename T> void transpose(const spmm_multivector *from, spmm_multivector *to, cudaStream_t stream)
{
    launch_transpose((const T *)from->data, from->ld, from->rows, from->k, (T *)to->data, to->ld, stream);
}

} // namespace

SERIES_KERNEL(spread_block, run_spread, NULL)

spmm_status sp_cuda_center(const sp_series *x, const sp_spread *spread, spmm_multivector *z)
{
    const cudaStream_t stream = main_stream();
    if (!stream) return SPMM_ERR_NO_DEVICE;
    if (x->count == 0) return SPMM_OK;
    with_real(x->v.precision, [&](auto value) { center<decltype(value)>(x, spread, z, stream); });
    return sp_device_launched("centered series");
}

spmm_status sp_cuda_transpose(const sp_series *from, sp_series *to)
{
    const cudaStream_t stream = main_stream();
    if (!stream) return SPMM_ERR_NO_DEVICE;
    if (from->v.rows == 0 || from->v.k == 0) return SPMM_OK;
    with_real(from->v.precision, [&](auto value) { transpose<decltype(value)>(&from->v, &to->v, stream); });
    return sp_device_launched("transposed series");
}
