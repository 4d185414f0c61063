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

template <bool shuffle, typename T> size_t shared_of(int block) { return shuffle ? 0 : block * sizeof(T); }

template <bool shuffle> spmm_status fill(const sp_setup *setup, baseline_state *s)
{
    s->lanes = setup->shape.subwarp ? setup->shape.subwarp : LANES;
    TRY(make_transposed(setup, s));
    if (setup->a->precision == SPMM_F64)
        return choose_block(setup, (const void *)by_row_kernel<shuffle, double>,
                            shared_of<shuffle, double>(1), MAX_BLOCK, &s->block);
    return choose_block(setup, (const void *)by_row_kernel<shuffle, float>, shared_of<shuffle, float>(1),
                        MAX_BLOCK, &s->block);
}

template <bool shuffle, typename T> spmm_status run_typed(const sp_launch *l, const char *id)
{
    const baseline_state *const s = (const baseline_state *)l->state;
    const cudaStream_t stream = (cudaStream_t)sp_device_stream();
    if (!stream) return SPMM_ERR_NO_DEVICE;
    product<T> a = product_of<T>(l);
    TRY(transpose_x(l, stream, id, &a));
    const unsigned grid = grid_of(a.rows, s->block / WARP);
    const size_t shared = shared_of<shuffle, T>(s->block);
    by_row_kernel<shuffle, T><<<grid, s->block, shared, stream>>>(a, s->lanes);
    return sp_device_launched(id);
}

template <bool shuffle> spmm_status run(const sp_launch *l)
{
    const char *const id = shuffle ? "csr_vector_by_row_shuffle" : "csr_vector_by_row";
    if (l->a->rows == 0) return SPMM_OK;
    return l->a->precision == SPMM_F64 ? run_typed<shuffle, double>(l, id) : run_typed<shuffle, float>(l, id);
}

} // namespace

const sp_kernel_ops sp_kernel_csr_vector_by_row = {run<false>, baseline_prepare<fill<false>>,
                                                   baseline_release};
const sp_kernel_ops sp_kernel_csr_vector_by_row_shuffle = {run<true>, baseline_prepare<fill<true>>,
                                                           baseline_release};
