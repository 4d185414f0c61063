/** The kernel csr_adaptive_subblocks (CSR-Adaptive by sub-blocks): X is transposed first, then one block of
 *  threads computes one row of Y. The columns of the row are divided among the sub-blocks of the block; the
 *  sums of the lanes of a sub-block are added in shared memory.
 *
 *  A sub-block has as many lanes as a row of A has entries on average, rounded up to a power of two, at most
 *  a warp. A block has no more sub-blocks than X has columns, rounded up to whole warps. The user can set
 *  both sizes. */
#include "kernels/baseline/cuda_baseline_columns.cuh"

namespace {

template <typename T>
__global__ void __launch_bounds__(MAX_BLOCK) subblocks_kernel(const product<T> a, int lanes)
{
    const int lane = (int)threadIdx.x & (lanes - 1), sub = (int)threadIdx.x / lanes,
              subs = (int)blockDim.x / lanes;
    for (int64_t row = blockIdx.x; row < a.rows; row += gridDim.x)
        row_by_subwarps<false>(a, row, sub, subs, lane, lanes);
}

int mean_lanes(const sp_matrix *a)
{
    int lanes = 1;
    while (lanes < WARP && lanes * a->rows < a->nnz) lanes *= 2;
    return lanes;
}

spmm_status fill(const sp_setup *setup, baseline_state *s)
{
    s->lanes = setup->shape.subwarp ? setup->shape.subwarp : mean_lanes(setup->a);
    int limit = MAX_BLOCK;
    if (setup->k < MAX_BLOCK / s->lanes) limit = ((int)setup->k * s->lanes + WARP - 1) / WARP * WARP;
    TRY(make_transposed(setup, s));
    return choose_typed_block(setup, subblocks_kernel<double>, subblocks_kernel<float>, true, limit,
                              &s->block);
}

template <typename T> void launch(const sp_launch *l, cudaStream_t stream)
{
    const baseline_state *const s = (const baseline_state *)l->state;
    const product<T> a = transpose_x<T>(l, stream);
    const size_t shared = s->block * sizeof(T);
    const unsigned grid = grid_of(a.rows, 1);
    sp_device_note_launch((const void *)subblocks_kernel<T>, launch_shape(grid, s->block, shared, s->lanes));
    subblocks_kernel<T><<<grid, s->block, shared, stream>>>(a, s->lanes);
}

spmm_status run(const sp_launch *l)
{
    return launch_transposed<launch<double>, launch<float>>(l, "csr_adaptive_subblocks");
}

} // namespace

SP_KERNEL(csr_adaptive_subblocks) = {run, baseline_prepare<fill>, baseline_release, NULL, NULL, NULL};
