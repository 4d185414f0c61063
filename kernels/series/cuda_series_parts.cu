/** Reductions of each series by several blocks: sum_blocks and sum_ordered_blocks, in which the last block
 *  combines the results of all, sum_two_launches, in which a second launch does, and sum_host, in which the
 *  host does. O is the operator (cuda_operators.cuh). */
#include "kernels/series/cuda_series.cuh"
extern "C" {
#include "base/memory.h"
}

namespace {

enum { ELEMENT_BYTES = 16 }; /* largest size of an operator's element */

int parts_of(const sp_series_launch *l) { return l->parts ? l->parts : SP_PARTS; }

/** Size of the results of all blocks. */
int64_t part_bytes(const sp_series_launch *l) { return l->x->count * parts_of(l) * ELEMENT_BYTES; }

/** Reduces part blockIdx.y of a series over the block. Thread 0 gets the result. With `ordered`, the order of
 *  the values is kept, and the block needs shared memory for one element per thread. */
template <typename O, bool ordered>
__device__ inline typename O::element part_of_series(const typename O::value *v, int64_t length)
{
    const int64_t parts = gridDim.y, p = blockIdx.y, from = length * p / parts, to = length * (p + 1) / parts;
    if constexpr (ordered) return block_neighbors<O>(consecutive<O>(v, from, to));
    return shuffled_join<O>(strided<O>(v, from, to));
}

/* ---- one launch: the last block to finish a series combines the results ---- */

/** part[m * parts + p] := the result of block p of series m, and mean := the result of series m, which the
 *  last of the blocks writes. finished[m] is the number of blocks that have finished series m; 0 between
 *  launches. */
template <typename O, bool ordered, typename T>
__global__ void __launch_bounds__(MAX_BLOCK)
    blocks_kernel(const series_view<T> s, const T divisor, double *mean, typename O::element *part,
                  unsigned *finished)
{
    for (int64_t m = blockIdx.x; m < s.count; m += gridDim.x) {
        const auto mine = part_of_series<O, ordered>(s.v + m * s.across, s.length);
        if (threadIdx.x != 0) continue;
        part[m * gridDim.y + blockIdx.y] = mine;
        __threadfence(); /* makes the result visible before the counter is incremented */
        if (atomicAdd(&finished[m], 1u) != gridDim.y - 1) continue;
        __threadfence(); /* the results read below are those stored before the increments */
        auto all = part[m * gridDim.y];
        for (unsigned p = 1; p < gridDim.y; p++) all = O::join(all, part[m * gridDim.y + p]);
        O::put(all, divisor, mean + m, s.count);
        finished[m] = 0;
    }
}

int64_t blocks_bytes(const sp_series_launch *l)
{
    return part_bytes(l) + l->x->count * (int64_t)sizeof(unsigned);
}

template <bool ordered> struct by_last_block {
    template <typename O> static spmm_status run(const sp_series_launch *l, cudaStream_t stream)
    {
        typedef typename O::value T;
        typedef typename O::element E;
        const size_t each = ordered ? sizeof(E) : 0;
        int block;
        TRY(series_block(l, blocks_kernel<O, ordered, T>, each, &block));
        blocks_kernel<O, ordered, T>
            <<<dim3(grid_of(l->x->count, 1), parts_of(l)), block, block * each, stream>>>(
                view_of<T>(l->x), (T)l->divisor, l->mean, (E *)l->work,
                (unsigned *)((char *)l->work + part_bytes(l)));
        return sp_device_launched("a reduction by several blocks");
    }
};

/* ---- a second launch, or the host, combines the results ---- */

template <typename O, typename T>
__global__ void __launch_bounds__(MAX_BLOCK) parts_kernel(const series_view<T> s, typename O::element *part)
{
    for (int64_t m = blockIdx.x; m < s.count; m += gridDim.x) {
        const auto mine = part_of_series<O, false>(s.v + m * s.across, s.length);
        if (threadIdx.x == 0) part[m * gridDim.y + blockIdx.y] = mine;
    }
}

/** Combines the `parts` results of each series, with one block per series. */
template <typename O, typename T>
__global__ void __launch_bounds__(MAX_BLOCK) join_parts_kernel(const typename O::element *part, int64_t count,
                                                               int parts, const T divisor, double *mean)
{
    for (int64_t m = blockIdx.x; m < count; m += gridDim.x) {
        auto mine = O::identity();
        for (int p = threadIdx.x; p < parts; p += blockDim.x) mine = O::join(mine, part[m * parts + p]);
        const auto all = shuffled_join<O>(mine);
        if (threadIdx.x == 0) O::put(all, divisor, mean + m, count);
    }
}

template <typename O> spmm_status run_parts(const sp_series_launch *l, cudaStream_t stream)
{
    typedef typename O::value T;
    int block;
    TRY(series_block(l, parts_kernel<O, T>, 0, &block));
    parts_kernel<O, T><<<dim3(grid_of(l->x->count, 1), parts_of(l)), block, 0, stream>>>(
        view_of<T>(l->x), (typename O::element *)l->work);
    return sp_device_launched("a reduction by several blocks");
}

struct by_second_launch {
    template <typename O> static spmm_status run(const sp_series_launch *l, cudaStream_t stream)
    {
        typedef typename O::value T;
        const int64_t count = l->x->count;
        TRY(run_parts<O>(l, stream));
        join_parts_kernel<O, T><<<grid_of(count, 1), WARP, 0, stream>>>(
            (const typename O::element *)l->work, count, parts_of(l), (T)l->divisor, l->mean);
        return sp_device_launched("sum_two_launches");
    }
};

/** Combines the results of the blocks on the host.
 *  \param [in]  part  [count x parts] the results
 *  \param [out] mean  [sp_operator_width(l->op) x count] the results of the series */
template <typename O>
void join_on_host(const sp_series_launch *l, const typename O::element *part, double *mean)
{
    const int64_t count = l->x->count;
    const int parts = parts_of(l);
    for (int64_t m = 0; m < count; m++) {
        auto all = part[m * parts];
        for (int p = 1; p < parts; p++) all = O::join(all, part[m * parts + p]);
        O::put(all, (typename O::value)l->divisor, mean + m, count);
    }
}

struct by_host {
    template <typename O> static spmm_status run(const sp_series_launch *l, cudaStream_t stream)
    {
        typedef typename O::element E;
        const int64_t bytes = l->x->count * parts_of(l) * (int64_t)sizeof(E),
                      results = l->x->count * sp_operator_width(l->op) * 8;
        void *host = NULL;
        TRY(run_parts<O>(l, stream));
        TRY(sp_alloc(&host, results + bytes, 1, "sums of blocks"));
        E *const part = (E *)((char *)host + results);
        spmm_status status = sp_device_download(part, l->work, bytes); /* waits for the kernel */
        if (status == SPMM_OK) {
            join_on_host<O>(l, part, (double *)host);
            status = sp_device_upload(l->mean, host, results);
        }
        sp_free(host);
        return status;
    }
};

} // namespace

REDUCTION_KERNEL(sum_blocks, by_last_block<false>, false, blocks_bytes, 1)
REDUCTION_KERNEL(sum_ordered_blocks, by_last_block<true>, true, blocks_bytes, 1)
REDUCTION_KERNEL(sum_two_launches, by_second_launch, false, part_bytes, 1)
REDUCTION_KERNEL(sum_host, by_host, false, part_bytes, 1)
