/** Reduces series on the GPU: the default kernels of both layouts (sum_stream and sum_columns), and
 *  sum_thread. O is the operator (cuda_operators.cuh). */
#include "kernels/series/cuda_series.cuh"

namespace {

/* ---- series-major series ---- */

enum { STREAM_THREADS = 256, STREAM_AHEAD = 4, SHORT_BYTES = 4096 };

template <typename O> __device__ inline typename O::element join_of(const double2 &v)
{
    return O::join(O::from(v.x), O::from(v.y));
}
template <typename O> __device__ inline typename O::element join_of(const float4 &v)
{
    return O::join(O::join(O::from(v.x), O::from(v.y)), O::join(O::from(v.z), O::from(v.w)));
}

/** Reduces one thread's share of the n values of a series. Thread number `thread` of `threads` threads takes
 *  every threads-th vector, with several loads in flight. */
template <typename O>
__device__ inline typename O::element part_of(const typename O::value *v, int64_t n, int thread, int threads)
{
    typedef typename O::value T;
    enum { WIDE = VECTOR_BYTES / sizeof(T) };
    using vector = typename vector_of<T, WIDE>::type;
    const vector *const at = (const vector *)v;
    const int64_t vectors = n / WIDE;
    typename O::element part[STREAM_AHEAD];
#pragma unroll
    for (int j = 0; j < STREAM_AHEAD; j++) part[j] = O::identity();
    int64_t i = thread;
    for (; i + (STREAM_AHEAD - 1) * threads < vectors; i += STREAM_AHEAD * threads) {
        vector read[STREAM_AHEAD];
#pragma unroll
        for (int j = 0; j < STREAM_AHEAD; j++) read[j] = __ldcs(at + i + j * threads);
#pragma unroll
        for (int j = 0; j < STREAM_AHEAD; j++) part[j] = O::join(part[j], join_of<O>(read[j]));
    }
    for (; i < vectors; i += threads) part[0] = O::join(part[0], join_of<O>(__ldcs(at + i)));
    for (int64_t k = vectors * WIDE + thread; k < n; k += threads) part[1] = O::join(part[1], O::from(v[k]));
    return O::join(O::join(part[0], part[1]), O::join(part[2], part[3]));
}

/** Reduces series with one block per series. */
template <typename O, typename T>
__global__ void __launch_bounds__(MAX_BLOCK)
    stream_kernel(const series_view<T> s, const T divisor, double *mean)
{
    for (int64_t m = blockIdx.x; m < s.count; m += gridDim.x) {
        const auto all = shuffled_join<O>(part_of<O>(s.v + m * s.across, s.length, threadIdx.x, blockDim.x));
        if (threadIdx.x == 0) O::put(all, divisor, mean + m, s.count);
    }
}

/** Reduces series with one warp per series, because a short series does not keep a block busy. */
template <typename O, typename T>
__global__ void __launch_bounds__(MAX_BLOCK)
    stream_short_kernel(const series_view<T> s, const T divisor, double *mean)
{
    const int lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    for (int64_t m = (int64_t)blockIdx.x * warps + threadIdx.x / WARP; m < s.count;
         m += (int64_t)gridDim.x * warps) {
        const auto all = warp_join<O>(part_of<O>(s.v + m * s.across, s.length, lane, WARP));
        if (lane == 0) O::put(all, divisor, mean + m, s.count);
    }
}

struct by_stream {
    template <typename O> static spmm_status run(const sp_series_launch *l, cudaStream_t stream)
    {
        typedef typename O::value T;
        const series_view<T> s = view_of<T>(l->x);
        const int block = l->block ? l->block : STREAM_THREADS;
        if (s.length * (int64_t)sizeof(T) <= SHORT_BYTES)
            stream_short_kernel<O, T>
                <<<grid_of(s.count, block / WARP), block, 0, stream>>>(s, (T)l->divisor, l->mean);
        else
            stream_kernel<O, T><<<grid_of(s.count, 1), block, 0, stream>>>(s, (T)l->divisor, l->mean);
        return sp_device_launched("sum_stream");
    }
};

/* ---- index-major series: adjacent threads reduce adjacent series ---- */

template <typename O, typename T>
__global__ void __launch_bounds__(MAX_BLOCK)
    thread_kernel(const series_view<T> s, const T divisor, double *mean)
{
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t m = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; m < s.count; m += stride) {
        auto all = O::identity();
        for (int64_t i = 0; i < s.length; i++) all = O::join(all, O::from(s.v[i * s.along + m]));
        O::put(all, divisor, mean + m, s.count);
    }
}

struct by_thread {
    template <typename O> static spmm_status run(const sp_series_launch *l, cudaStream_t stream)
    {
        typedef typename O::value T;
        int block;
        TRY(series_block(l, thread_kernel<O, T>, 0, &block));
        thread_kernel<O, T>
            <<<grid_of(l->x->count, block), block, 0, stream>>>(view_of<T>(l->x), (T)l->divisor, l->mean);
        return sp_device_launched("sum_thread");
    }
};

/* The values of each series are divided into COLUMN_PARTS ranges of indices, which different blocks sum. The
 * number is large enough to keep all multiprocessors busy even if there are few series. */
enum { COLUMN_THREADS = 256, COLUMN_AHEAD = 8, COLUMN_PARTS = 64 };

/** part[p * count + m] := the sum of the values of series m in index range p; blockIdx.y is p. */
template <typename T>
__global__ void __launch_bounds__(MAX_BLOCK) columns_kernel(const series_view<T> s, T *part)
{
    const int64_t stride = (int64_t)gridDim.x * blockDim.x, p = blockIdx.y;
    const int64_t from = s.length * p / gridDim.y, to = s.length * (p + 1) / gridDim.y;
    for (int64_t m = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; m < s.count; m += stride) {
        T sum[COLUMN_AHEAD] = {};
        int64_t i = from;
        for (; i + COLUMN_AHEAD <= to; i += COLUMN_AHEAD)
#pragma unroll
            for (int j = 0; j < COLUMN_AHEAD; j++) sum[j] += __ldcs(s.v + (i + j) * s.along + m);
        for (; i < to; i++) sum[0] += s.v[i * s.along + m];
        part[p * s.count + m] = ((sum[0] + sum[1]) + (sum[2] + sum[3])) +
                                ((sum[4] + sum[5]) + (sum[6] + sum[7]));
    }
}

/** Adds the partial sums of each series, in order, and divides by `divisor`. */
template <typename T>
__global__ void __launch_bounds__(MAX_BLOCK)
    add_parts_kernel(const T *part, int64_t count, int parts, const T divisor, double *mean)
{
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t m = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; m < count; m += stride) {
        T sum = 0;
#pragma unroll 8
        for (int p = 0; p < parts; p++) sum += part[p * count + m];
        mean[m] = (double)(sum / divisor);
    }
}

int64_t columns_bytes(const sp_series_launch *l)
{
    return COLUMN_PARTS * l->x->count * sp_value_size(l->x->v.precision);
}

template <typename T> spmm_status run_columns(const sp_series_launch *l, cudaStream_t stream)
{
    const series_view<T> s = view_of<T>(l->x);
    const int block = l->block ? l->block : COLUMN_THREADS;
    const unsigned across = grid_of(s.count, block);
    columns_kernel<T><<<dim3(across, COLUMN_PARTS), block, 0, stream>>>(s, (T *)l->work);
    TRY(sp_device_launched("sum_columns"));
    add_parts_kernel<T>
        <<<across, block, 0, stream>>>((const T *)l->work, s.count, COLUMN_PARTS, (T)l->divisor, l->mean);
    return sp_device_launched("sum_columns");
}

} // namespace

REDUCTION_KERNEL(sum_stream, by_stream, false, NULL, 0)
REDUCTION_KERNEL(sum_thread, by_thread, true, NULL, 0)
SERIES_KERNEL(sum_columns, run_columns, columns_bytes)
