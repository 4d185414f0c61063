/** Reductions by one warp per series, which takes 32 consecutive values at a time and combines them in shared
 *  memory or in registers. The forms whose shared memory is padded need no condition on the lane number: all
 *  lanes combine elements, also those whose results are not needed. O is the operator
 *  (cuda_operators.cuh). */
#include "kernels/series/cuda_series.cuh"

namespace {

/* Elements of a warp in shared memory. Those behind the first 32 are the identity: a padded form combines an
 * element with the one up to 16 places further on. */
enum { ROOM = WARP + WARP / 2 };

/* ---- reductions of one element per lane over a warp; join() returns the result in lane 0 ---- */

/** Combines the first half of the elements with the second half until one is left. */
struct halves {
    template <typename O>
    static __device__ typename O::element join(typename O::element mine, typename O::element *all)
    {
        all[threadIdx.x % WARP] = mine;
        return warp_halves<O>(all);
    }
};

/** Combines each element with the one `away` places further on, in every lane. */
template <typename O>
__device__ inline void join_every_lane(typename O::element *all, typename O::element *mine, int away)
{
    const int lane = threadIdx.x % WARP;
    all[lane] = *mine;
    __syncwarp();
    *mine = O::join(*mine, all[lane + away]);
    __syncwarp(); /* all lanes have read before any writes again */
}

struct halves_padded {
    template <typename O>
    static __device__ typename O::element join(typename O::element mine, typename O::element *all)
    {
#pragma unroll
        for (int away = WARP / 2; away > 0; away /= 2) join_every_lane<O>(all, &mine, away);
        return mine;
    }
};

/** Combines neighbors at distance 1, 2, 4, 8 and 16, which keeps the order. */
struct neighbors {
    template <typename O>
    static __device__ typename O::element join(typename O::element mine, typename O::element *all)
    {
        const int lane = threadIdx.x % WARP;
        all[lane] = mine;
        __syncwarp();
#pragma unroll
        for (int away = 1; away < WARP; away *= 2) {
            if (lane % (2 * away) == 0) all[lane] = O::join(all[lane], all[lane + away]);
            __syncwarp();
        }
        return all[0];
    }
};

struct neighbors_padded {
    template <typename O>
    static __device__ typename O::element join(typename O::element mine, typename O::element *all)
    {
#pragma unroll
        for (int away = 1; away < WARP; away *= 2) join_every_lane<O>(all, &mine, away);
        return mine;
    }
};

struct neighbors_shuffled {
    template <typename O>
    static __device__ typename O::element join(typename O::element mine, typename O::element *all)
    {
        (void)all;
#pragma unroll
        for (int away = 1; away < WARP; away *= 2) mine = O::join(mine, lane_down(mine, away));
        return mine;
    }
};

/** Reduces series with one warp per series; W is the reduction over the warp. */
template <typename W, typename O, typename T>
__global__ void __launch_bounds__(MAX_BLOCK)
    warp_kernel(const series_view<T> s, const T divisor, double *mean)
{
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    auto *const all = shared_memory<typename O::element>() + warp * ROOM;
    if (lane < ROOM - WARP) all[WARP + lane] = O::identity();
    for (int64_t m = (int64_t)blockIdx.x * warps + warp; m < s.count; m += (int64_t)gridDim.x * warps) {
        const T *const v = s.v + m * s.across;
        auto total = O::identity();
        for (int64_t i = lane; i - lane < s.length; i += WARP) {
            __syncwarp(); /* all lanes have read the result of the previous 32 values */
            total = O::join(total, W::template join<O>(i < s.length ? O::from(v[i]) : O::identity(), all));
        }
        if (lane == 0) O::put(total, divisor, mean + m, s.count);
    }
}

template <typename W> struct by_warps {
    template <typename O> static spmm_status run(const sp_series_launch *l, cudaStream_t stream)
    {
        typedef typename O::value T;
        const size_t each = sizeof(typename O::element) * ROOM / WARP;
        int block;
        TRY(series_block(l, warp_kernel<W, O, T>, each, &block));
        warp_kernel<W, O, T><<<grid_of(l->x->count, block / WARP), block, block * each, stream>>>(
            view_of<T>(l->x), (T)l->divisor, l->mean);
        return sp_device_launched("a reduction by warps");
    }
};

} // namespace

REDUCTION_KERNEL(sum_warp, by_warps<halves>, false, NULL, 0)
REDUCTION_KERNEL(sum_warp_padded, by_warps<halves_padded>, false, NULL, 0)
REDUCTION_KERNEL(sum_ordered_warp, by_warps<neighbors>, true, NULL, 0)
REDUCTION_KERNEL(sum_ordered_warp_padded, by_warps<neighbors_padded>, true, NULL, 0)
REDUCTION_KERNEL(sum_ordered_warp_shuffle, by_warps<neighbors_shuffled>, true, NULL, 0)
