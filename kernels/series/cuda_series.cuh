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
#include "kernels/series/cuda_operators.cuh"

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

/** Implements sp_series_ops.run: calls the launcher for the type of the series' values. `launchers` are in
 *  the order of value_type.def. */
template <spmm_status (*...launchers)(const sp_series_launch *, cudaStream_t)>
spmm_status series_run(const sp_series_launch *l)
{
    const cudaStream_t stream = main_stream();
    if (!stream) return SPMM_ERR_NO_DEVICE;
    if (l->x->count == 0) return SPMM_OK;
    return of_type<launchers...>(l->x->v.precision)(l, stream);
}

/** Combines a value of each lane of the warp by the commutative operator O (cuda_operators.cuh). All lanes
 *  must call this; only lane 0 gets the result. */
template <typename O> __device__ inline typename O::element warp_join(typename O::element mine)
{
    for (int away = WARP / 2; away > 0; away /= 2) mine = O::join(mine, lane_down(mine, away));
    return mine;
}

/** Combines a value of each thread of the block by the commutative operator O, by shuffles in each warp and
 *  then over the results of the warps. All threads must call this; only thread 0 gets the result. */
template <typename O> __device__ inline typename O::element shuffled_join(typename O::element mine)
{
    __shared__ typename O::element of_warp[MAX_BLOCK / WARP];
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    mine = warp_join<O>(mine);
    __syncthreads(); /* threads of the previous call may still be reading of_warp */
    if (lane == 0) of_warp[warp] = mine;
    __syncthreads();
    if (warp == 0) mine = warp_join<O>(lane < (int)(blockDim.x / WARP) ? of_warp[lane] : O::identity());
    return mine;
}

/** Stores one element per thread in shared memory, and returns the array of all of them. */
template <typename E> __device__ inline E *put_shared(E mine)
{
    E *const all = shared_memory<E>();
    __syncthreads(); /* all threads must have read the result of the previous series */
    all[threadIdx.x] = mine;
    __syncthreads();
    return all;
}

/** Combines the 32 elements all[0 .. 31] of shared memory, the first half with the second half until one is
 *  left. All lanes of one warp must call this; only lane 0 gets the result. Since Volta, the threads of a
 *  warp do not run in lockstep: `volatile` without __syncwarp(), as in the course report
 *  (docs/SERIES.md), would be a data race. */
template <typename O> __device__ inline typename O::element warp_halves(typename O::element *all)
{
    const int lane = threadIdx.x % WARP;
    __syncwarp();
#pragma unroll
    for (int away = WARP / 2; away > 0; away /= 2) {
        if (lane < away) all[lane] = O::join(all[lane], all[lane + away]);
        __syncwarp();
    }
    return all[0];
}

/** Combines one element per thread of the block, in the order of the threads: neighbors at distance 1, 2, 4,
 *  ... All threads must call this. Returns the result. */
template <typename O> __device__ inline typename O::element block_neighbors(typename O::element mine)
{
    auto *const all = put_shared(mine);
    for (unsigned away = 1; away < blockDim.x; away *= 2) {
        if (threadIdx.x % (2 * away) == 0 && threadIdx.x + away < blockDim.x)
            all[threadIdx.x] = O::join(all[threadIdx.x], all[threadIdx.x + away]);
        __syncthreads();
    }
    return all[0];
}

/** Reduces this thread's values of v[from .. to - 1]: every blockDim.x-th value. */
template <typename O>
__device__ inline typename O::element strided(const typename O::value *v, int64_t from, int64_t to)
{
    auto mine = O::identity();
    for (int64_t i = from + threadIdx.x; i < to; i += blockDim.x) mine = O::join(mine, O::from(v[i]));
    return mine;
}

/** Reduces this thread's values of v[from .. to - 1]: thread t reduces contiguous part t of blockDim.x. */
template <typename O>
__device__ inline typename O::element consecutive(const typename O::value *v, int64_t from, int64_t to)
{
    const int64_t each = (to - from + blockDim.x - 1) / blockDim.x, first = from + threadIdx.x * each;
    auto mine = O::identity();
    for (int64_t i = first; i < first + each && i < to; i++) mine = O::join(mine, O::from(v[i]));
    return mine;
}

/** Sums a value over the block. All threads must call this; only thread 0 gets the sum. */
template <typename T> __device__ inline T shuffled_sum(T mine) { return shuffled_join<sum_of<T>>(mine); }

} // namespace

/** Defines the functions of the kernel `id`: the launchers are launch<double> and launch<float>. */
#define SERIES_KERNEL(id, launch, work_bytes)                                                             \
    const sp_series_ops sp_series_##id = {series_run<launch<double>, launch<float>>, NULL, work_bytes, 0, \
                                          NULL};

/** Defines the functions of the kernel `id`, which reduces by operators: K::run<O>() launches it for operator
 *  O. `any` is true if K::run<O>() exists for SP_MATRIX, too. `divides` is the member of sp_series_ops. */
#define REDUCTION_KERNEL(id, K, any, work_bytes, divides)                                               \
    const sp_series_ops sp_series_##id = {                                                              \
        series_run<by_operator<K, double, any>, by_operator<K, float, any>>, NULL, work_bytes, divides, \
        NULL};

#endif
