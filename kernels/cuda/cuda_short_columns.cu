/** Column indices of sliced ELLPACK in 16 bits. */
#include "kernels/cuda/cuda_long_rows.cuh"
#include "kernels/cuda/cuda_passes.cuh"

namespace {

/** Index of this warp in the grid, and number of warps of the grid. */
__device__ inline int64_t first_warp() { return first_item() / WARP; }
__device__ inline int64_t all_warps() { return grid_size() / WARP; }

/** Finds the least column index of each slice, with a warp per slice, and the widest range of a slice.
 *  \param [out]    base   [slices]
 *  \param [in,out] widest  greatest column index minus the least one */
__global__ void __launch_bounds__(THREADS)
    find_bases(const int64_t *slice_start, const int32_t *col, int64_t slices, int32_t *base, int *widest)
{
    int range = 0;
    for (int64_t slice = first_warp(); slice < slices; slice += all_warps()) {
        int least = INT32_MAX, most = 0;
        for (int64_t e = slice_start[slice] + threadIdx.x % WARP; e < slice_start[slice + 1]; e += WARP)
            if (col[e] >= 0) {
                least = min(least, col[e]);
                most = max(most, col[e]);
            }
        for (int step = WARP / 2; step > 0; step /= 2) {
            least = min(least, __shfl_xor_sync(ALL_LANES, least, step));
            most = max(most, __shfl_xor_sync(ALL_LANES, most, step));
        }
        if (least > most) least = most;
        if (threadIdx.x % WARP == 0) base[slice] = least;
        range = max(range, most - least);
    }
    if (threadIdx.x % WARP == 0) atomicMax(widest, range);
}

/** Returns a column index relative to the slice's least one. */
__device__ inline uint32_t relative(int32_t col, int32_t base)
{
    return col < 0 ? (uint32_t)SP_NO_COLUMN : (uint32_t)(col - base);
}

/** Stores the columns of each slice, with a warp per slice and a lane per row. */
__global__ void __launch_bounds__(THREADS)
    store_pairs(const int64_t *slice_start, const int32_t *col, int64_t slices, const int32_t *base,
                uint32_t *column_pair)
{
    for (int64_t slice = first_warp(); slice < slices; slice += all_warps()) {
        const int64_t start = slice_start[slice], end = slice_start[slice + 1];
        uint32_t *to = column_pair + (start + slice * SP_SLICE) / 2 + threadIdx.x % WARP;
        for (int64_t e = start + threadIdx.x % WARP; e < end; e += 2 * SP_SLICE, to += SP_SLICE) {
            const int32_t second = e + SP_SLICE < end ? col[e + SP_SLICE] : -1;
            *to = relative(col[e], base[slice]) | relative(second, base[slice]) << 16;
        }
    }
}

/** Finds the bases. \param [out] possible  1: all columns relative to the bases fit 16 bits */
spmm_status make_bases(const sp_matrix *m, unsigned blocks, cudaStream_t stream, int32_t *base, int *possible)
{
    int *widest = NULL, range = 0;
    spmm_status status;
    TRY(sp_device_alloc((void **)&widest, sizeof *widest, "ranges of columns"));
    TRY_GOTO(sp_device_zero(widest, sizeof *widest), done);
    find_bases<<<blocks, THREADS, 0, stream>>>(m->row_start, m->col, m->groups, base, widest);
    TRY_GOTO(sp_device_launched("ranges of columns"), done);
    TRY_GOTO(sp_device_download(&range, widest, sizeof range), done);
    *possible = range < SP_NO_COLUMN;
done:
    sp_device_free(widest);
    return status;
}

spmm_status make_pairs(const sp_matrix *m, unsigned blocks, cudaStream_t stream, sp_work_lists *s)
{
    int64_t end;
    TRY(sp_device_download(&end, m->row_start + m->groups, sizeof end));
    TRY(sp_device_alloc((void **)&s->column_pair,
                        (end + m->groups * SP_SLICE) / 2 * (int64_t)sizeof *s->column_pair, "short columns"));
    store_pairs<<<blocks, THREADS, 0, stream>>>(m->row_start, m->col, m->groups, s->base, s->column_pair);
    TRY(sp_device_launched("short columns"));
    return sp_device_sync();
}

} // namespace

spmm_status sp_cuda_short_columns(const sp_setup *setup, sp_work_lists *s)
{
    const sp_matrix *const m = setup->a;
    const unsigned blocks = blocks_for(m->groups * WARP);
    cudaStream_t stream = (cudaStream_t)sp_device_stream(SP_STREAM_MAIN);
    int possible = 0;
    if (!stream) return SPMM_ERR_NO_DEVICE; /* sp_device_stream() has set the message */
    if (setup->k != 1 || m->groups == 0) return SPMM_OK;
    spmm_status status = sp_device_alloc((void **)&s->base, m->groups * (int64_t)sizeof *s->base,
                                         "short columns");
    if (status == SPMM_OK) status = make_bases(m, blocks, stream, s->base, &possible);
    if (status == SPMM_OK && possible) status = make_pairs(m, blocks, stream, s);
    if (status == SPMM_OK && possible) return SPMM_OK;
    sp_device_free(s->base);
    sp_device_free(s->column_pair);
    s->base = NULL;
    s->column_pair = NULL;
    return status == SPMM_ERR_MEMORY ? SPMM_OK : status;
}
