/** Helpers shared by the CUDA kernels on series: views of series, block sizes, choice of the precision, sums
 *  over warps and blocks. */
#ifndef SP_CUDA_SERIES_CUH
#define SP_CUDA_SERIES_CUH

#include <cmath>

#include "kernels/cuda/cuda_block.cuh"
#define SP_BOTH __host__ __device__
extern "C" {
#include "kernels/series/series.h"
}

namespace {

/** Series as a kernel accesses them: value i of series m is v[m * across + i * along]. */
template <typename T> struct series_view {
    T *v;
    int64_t count, length, first, along, across;
};

template <typename T> series_view<T> view_of(const sp_series *x)
{
    const bool rows = x->layout == SP_SERIES_MAJOR;
    return {(T *)x->v.data, x->count, x->length, x->first, rows ? 1 : x->v.ld, rows ? x->v.ld : 1};
}

/** Sets *block to the number of threads per block: l->block if that is not 0; otherwise the occupancy
 *  calculator determines the number. */
template <typename K>
spmm_status series_block(const sp_series_launch *l, K kernel, size_t shared_per_thread, int *block)
{
    sp_setup s = {};
    s.shape.block = l->block;
    return choose_block(&s, (const void *)kernel, shared_per_thread, MAX_BLOCK, block);
}

/** Returns the stream for the kernels; NULL, with the error message set, if no GPU is open. */
inline cudaStream_t main_stream() { return (cudaStream_t)sp_device_stream(SP_STREAM_MAIN); }

/** Implements sp_series_ops.run: calls launcher f64 or f32, depending on the precision of the series. */
template <spmm_status (*f64)(const sp_series_launch *, cudaStream_t),
          spmm_status (*f32)(const sp_series_launch *, cudaStream_t)>
spmm_status series_run(const sp_series_launch *l)
{
    const cudaStream_t stream = main_stream();
    if (!stream) return SPMM_ERR_NO_DEVICE;
    if (l->x->count == 0) return SPMM_OK;
    return (l->x->v.precision == SPMM_F64 ? f64 : f32)(l, stream);
}

/** Sums a value over the warp. All lanes must call this; only lane 0 gets the sum. */
template <typename T> __device__ inline T warp_sum(T sum)
{
    for (int away = WARP / 2; away > 0; away /= 2) sum += __shfl_down_sync(ALL_LANES, sum, away);
    return sum;
}

/** Sums a value over the block, by shuffles in each warp and then over the sums of the warps. All threads
 *  must call this; only thread 0 gets the sum. */
template <typename T> __device__ inline T shuffled_sum(T sum)
{
    __shared__ T of_warp[MAX_BLOCK / WARP];
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    sum = warp_sum(sum);
    __syncthreads(); /* threads of the previous call may still be reading of_warp */
    if (lane == 0) of_warp[warp] = sum;
    __syncthreads();
    if (warp == 0) sum = warp_sum(lane < (int)(blockDim.x / WARP) ? of_warp[lane] : T(0));
    return sum;
}

} // namespace

/** Defines the functions of the kernel `id`: the launchers are launch<double> and launch<float>. */
#define SERIES_KERNEL(id, launch, work_bytes) \
    const sp_series_ops sp_series_##id = {series_run<launch<double>, launch<float>>, NULL, work_bytes, NULL};

#endif
