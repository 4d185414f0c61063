/** The kernels csr_vector_by_row and csr_vector_by_row_shuffle, CSR: X is transposed first, then one warp
 *  computes one row of Y. The columns of the row are divided among the sub-warps of the warp: 8 sub-warps of
 *  4 lanes, unless the user sets another size. The sums of the lanes are added in shared memory or, in the
 *  second kernel, by shuffles. */
#include "kernels/baseline/cuda_baseline_columns.cuh"

namespace {

enum { LANES = 4 };

template <bool shuffle, typename T>
__global__ void __launch_bounds__(MAX_BLOCK) by_row_kernel(const product<T> a, int lanes)
{
    const int lane = (int)threadIdx.x & (lanes - 1), sub = (int)threadIdx.x % WARP / lanes;
    const int64_t per_block = (int)blockDim.x / WARP;
    for (int64_t row = blockIdx.x * per_block + (int)threadIdx.x / WARP; row < a.rows;
         row += gridDim.x * per_block)
        row_by_subwarps<shuffle>(a, row, sub, WARP / lanes, lane, lanes);
}

template <bool shuffle> spmm_status fill(const sp_setup *setup, baseline_state *s)
{
    s->lanes = setup->shape.subwarp ? setup->shape.subwarp : LANES;
    TRY(make_transposed(setup, s));
    return choose_typed_block(setup, by_row_kernel<shuffle, double>, by_row_kernel<shuffle, float>, !shuffle,
                              MAX_BLOCK, &s->block);
}

template <bool shuffle, typename T> void launch(const sp_launch *l, cudaStream_t stream)
{
    const baseline_state *const s = (const baseline_state *)l->state;
    const product<T> a = transpose_x<T>(l, stream);
    const unsigned grid = grid_of(a.rows, s->block / WARP);
    const size_t shared = shuffle ? 0 : s->block * sizeof(T);
    sp_device_note_launch((const void *)by_row_kernel<shuffle, T>,
                          launch_shape(grid, s->block, shared, s->lanes));
    by_row_kernel<shuffle, T><<<grid, s->block, shared, stream>>>(a, s->lanes);
}

template <bool shuffle> spmm_status run(const sp_launch *l)
{
    const char *const id = shuffle ? "csr_vector_by_row_shuffle" : "csr_vector_by_row";
    return launch_transposed<launch<shuffle, double>, launch<shuffle, float>>(l, id);
}

} // namespace

SP_KERNEL(csr_vector_by_row) = {run<false>, baseline_prepare<fill<false>>, baseline_release, NULL, NULL,
                                NULL};
SP_KERNEL(csr_vector_by_row_shuffle) = {run<true>, baseline_prepare<fill<true>>, baseline_release, NULL, NULL,
                                        NULL};
