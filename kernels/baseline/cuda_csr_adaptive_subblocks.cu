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
    const int is_double = setup->a->precision == SPMM_F64;
    s->lanes = setup->shape.subwarp ? setup->shape.subwarp : mean_lanes(setup->a);
    int limit = MAX_BLOCK;
    if (setup->k < MAX_BLOCK / s->lanes) limit = ((int)setup->k * s->lanes + WARP - 1) / WARP * WARP;
    TRY(make_transposed(setup, s));
    return choose_block(
        setup, is_double ? (const void *)subblocks_kernel<double> : (const void *)subblocks_kernel<float>,
        sp_value_size(setup->a->precision), limit, &s->block);
}

template <typename T> spmm_status run_typed(const sp_launch *l, const char *id)
{
    const baseline_state *const s = (const baseline_state *)l->state;
    const cudaStream_t stream = (cudaStream_t)sp_device_stream();
    if (!stream) return SPMM_ERR_NO_DEVICE;
    product<T> a = product_of<T>(l);
    TRY(transpose_x(l, stream, id, &a));
    const unsigned grid = grid_of(a.rows, 1);
    const size_t shared = s->block * sizeof(T);
    subblocks_kernel<T><<<grid, s->block, shared, stream>>>(a, s->lanes);
    return sp_device_launched(id);
}

spmm_status run(const sp_launch *l)
{
    static const char id[] = "csr_adaptive_subblocks";
    if (l->a->rows == 0) return SPMM_OK;
    return l->a->precision == SPMM_F64 ? run_typed<double>(l, id) : run_typed<float>(l, id);
}

} // namespace

const sp_kernel_ops sp_kernel_csr_adaptive_subblocks = {run, baseline_prepare<fill>, baseline_release};
