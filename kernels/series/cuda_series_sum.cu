/** Computes means of series on the GPU: the default kernels of both layouts (sum_stream and sum_columns), and
 *  sum_thread. */
#include "kernels/series/cuda_series.cuh"

namespace {

/* ---- means of series-major series ---- */

enum { STREAM_THREADS = 256, STREAM_AHEAD = 4, SHORT_BYTES = 4096 };

__device__ inline double sum_of(const double2 &v) { return v.x + v.y; }
__device__ inline float sum_of(const float4 &v) { return (v.x + v.y) + (v.z + v.w); }

/** Returns the sum of one thread's share of the n values of a series. Thread number `thread` of `threads`
 *  threads sums every threads-th vector, with several loads in flight. */
template <typename T> __device__ inline T part_of(const T *v, int64_t n, int thread, int threads)
{
    enum { WIDE = VECTOR_BYTES / sizeof(T) };
    using vector = typename vector_of<T, WIDE>::type;
    const vector *const at = (const vector *)v;
    const int64_t vectors = n / WIDE;
    T sum[STREAM_AHEAD] = {};
    int64_t i = thread;
    for (; i + (STREAM_AHEAD - 1) * threads < vectors; i += STREAM_AHEAD * threads) {
        vector read[STREAM_AHEAD];
#pragma unroll
        for (int j = 0; j < STREAM_AHEAD; j++) read[j] = __ldcs(at + i + j * threads);
#pragma unroll
        for (int j = 0; j < STREAM_AHEAD; j++) sum[j] += sum_of(read[j]);
    }
    for (; i < vectors; i += threads) sum[0] += sum_of(__ldcs(at + i));
    for (int64_t k = vectors * WIDE + thread; k < n; k += threads) sum[1] += v[k];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/** Computes means with one block per series. */
template <typename T>
__global__ void __launch_bounds__(MAX_BLOCK)
    stream_kernel(const series_view<T> s, const T divisor, double *mean)
{
    for (int64_t m = blockIdx.x; m < s.count; m += gridDim.x) {
        const T sum = shuffled_sum(part_of(s.v + m * s.across, s.length, threadIdx.x, blockDim.x));
        if (threadIdx.x == 0) mean[m] = (double)(sum / divisor);
    }
}

/** Computes means with one warp per series, because a short series does not keep a block busy. */
template <typename T>
__global__ void __launch_bounds__(MAX_BLOCK)
    stream_short_kernel(const series_view<T> s, const T divisor, double *mean)
{
    const int lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    for (int64_t m = (int64_t)blockIdx.x * warps + threadIdx.x / WARP; m < s.count;
         m += (int64_t)gridDim.x * warps) {
        const T sum = warp_sum(part_of(s.v + m * s.across, s.length, lane, WARP));
        if (lane == 0) mean[m] = (double)(sum / divisor);
    }
}

template <typename T> spmm_status run_stream(const sp_series_launch *l, cudaStream_t stream)
{
    const series_view<T> s = view_of<T>(l->x);
    const int block = l->block ? l->block : STREAM_THREADS;
    if (s.length * (int64_t)sizeof(T) <= SHORT_BYTES)
        stream_short_kernel<T>
            <<<grid_of(s.count, block / WARP), block, 0, stream>>>(s, (T)l->divisor, l->mean);
    else
        stream_kernel<T><<<grid_of(s.count, 1), block, 0, stream>>>(s, (T)l->divisor, l->mean);
    return sp_device_launched("sum_stream");
}

/* ---- means of index-major series: adjacent threads sum adjacent series ---- */

template <typename T>
__global__ void __launch_bounds__(MAX_BLOCK)
    thread_kernel(const series_view<T> s, const T divisor, double *mean)
{
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t m = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; m < s.count; m += stride) {
        T sum = 0;
        for (int64_t i = 0; i < s.length; i++) sum += s.v[i * s.along + m];
        mean[m] = (double)(sum / divisor);
    }
}

template <typename T> spmm_status run_thread(const sp_series_launch *l, cudaStream_t stream)
{
    int block;
    TRY(series_block(l, thread_kernel<T>, 0, &block));
    thread_kernel<T>
        <<<grid_of(l->x->count, block), block, 0, stream>>>(view_of<T>(l->x), (T)l->divisor, l->mean);
    return sp_device_launched("sum_thread");
}

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

int64_t columns_bytes(const sp_series *x, int block)
{
    (void)block;
    return COLUMN_PARTS * x->count * sp_value_size(x->v.precision);
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

SERIES_KERNEL(sum_stream, run_stream, NULL)
SERIES_KERNEL(sum_thread, run_thread, NULL)
SERIES_KERNEL(sum_columns, run_columns, columns_bytes)
