/** The kernels with one sub-warp per element of Y: csr_vector (CSR-Vector), in which the sub-warp is a whole
 *  warp, and csr_vector_subwarp and ell_subwarp, in which it has 2 lanes unless the user sets another size.
 *  The sums of the lanes are added in shared memory or, in the kernels *_shuffle, by shuffles. Element n of Y
 *  is in row n / K and column n % K, so that adjacent sub-warps compute adjacent columns of a row. */
#include "kernels/baseline/cuda_baseline.cuh"

namespace {

enum { LANES = 2 };

/** Returns this lane's part of an element of Y: the sum over every lanes-th entry of the row, starting with
 *  entry number `lane`. In padded ELLPACK the first column index -1 ends a row. */
template <spmm_format F, typename T>
__device__ inline T lane_sum(const product<T> &a, int64_t row, const T *x, int lane, int lanes)
{
    T sum = T(0);
    const int64_t begin = F == SPMM_ELL ? row * a.width : a.row_start[row],
                  end = F == SPMM_ELL ? begin + a.width : a.row_start[row + 1];
    for (int64_t j = begin + lane; j < end; j += lanes) {
        const int32_t col = a.col[j];
        if (F == SPMM_ELL && col < 0) break;
        multiply_add(sum, a.val[j], x[col * a.ldx]);
    }
    return sum;
}

/** Computes one element of Y per sub-warp.
 *  \tparam L  number of lanes per sub-warp; if L is 0, the argument `asked` is that number */
template <spmm_format F, bool shuffle, int L, typename T>
__global__ void __launch_bounds__(MAX_BLOCK) subwarp_kernel(const product<T> a, int asked)
{
    const int lanes = L > 0 ? L : asked, lane = (int)threadIdx.x & (lanes - 1),
              in_warp = (int)threadIdx.x % WARP / lanes;
    const int64_t elements = a.rows * a.k, per_block = (int)blockDim.x / lanes,
                  stride = gridDim.x * per_block;
    /* `first`, the first element that the warp computes, is equal in all its lanes. So all lanes stay in the
     * loop and call subwarp_sum(), as they must. */
    for (int64_t first = blockIdx.x * per_block + (int)threadIdx.x / WARP * (WARP / lanes); first < elements;
         first += stride) {
        const int64_t n = first + in_warp;
        const position p = n < elements ? position_of(n, a.k) : position{0, 0};
        T sum = n < elements ? lane_sum<F>(a, p.row, a.x + p.column, lane, lanes) : T(0);
        sum = subwarp_sum<shuffle>(sum, lane, lanes);
        if (n < elements && lane == 0) a.y[p.row * a.ldy + p.column] = sum;
    }
}

template <typename T> using subwarp_function = void (*)(product<T>, int);

/** Returns the instance of subwarp_kernel for `lanes` lanes per sub-warp: the one compiled for L lanes, or
 *  the general one if `lanes` is not L. If L is WARP, `lanes` must be L. */
template <spmm_format F, bool shuffle, int L, typename T> subwarp_function<T> choose_subwarp(int lanes)
{
    if constexpr (L == WARP)
        return subwarp_kernel<F, shuffle, L, T>;
    else
        return lanes == L ? subwarp_kernel<F, shuffle, L, T> : subwarp_kernel<F, shuffle, 0, T>;
}

template <spmm_format F, bool shuffle, int L>
spmm_status fill_subwarp(const sp_setup *setup, baseline_state *s)
{
    s->lanes = L == WARP || setup->shape.subwarp == 0 ? L : setup->shape.subwarp;
    return choose_typed_block(setup, choose_subwarp<F, shuffle, L, double>(s->lanes),
                              choose_subwarp<F, shuffle, L, float>(s->lanes), !shuffle, MAX_BLOCK, &s->block);
}

template <spmm_format F, bool shuffle, int L, typename T>
void launch_subwarp(const sp_launch *l, cudaStream_t stream)
{
    const baseline_state *const s = (const baseline_state *)l->state;
    const product<T> a = product_of<T>(l);
    const subwarp_function<T> kernel = choose_subwarp<F, shuffle, L, T>(s->lanes);
    const unsigned grid = grid_of(a.rows * a.k, s->block / s->lanes);
    const size_t shared = shuffle ? 0 : s->block * sizeof(T);
    sp_device_note_launch((const void *)kernel, launch_shape(grid, s->block, shared, s->lanes));
    kernel<<<grid, s->block, shared, stream>>>(a, s->lanes);
}

} // namespace

/* L is the number of lanes per sub-warp, unless the user sets another; if L is WARP, the user cannot. */
#define SUBWARP_KERNEL(id, F, shuffle, L)                                                                   \
    static spmm_status run_##id(const sp_launch *l)                                                         \
    {                                                                                                       \
        return launch_product<launch_subwarp<F, shuffle, L, double>, launch_subwarp<F, shuffle, L, float>>( \
            l, #id);                                                                                        \
    }                                                                                                       \
    SP_KERNEL(id) = {run_##id, baseline_prepare<fill_subwarp<F, shuffle, L>>, baseline_release, NULL, NULL, \
                     NULL};
SUBWARP_KERNEL(csr_vector, SPMM_CSR, false, WARP)
SUBWARP_KERNEL(csr_vector_shuffle, SPMM_CSR, true, WARP)
SUBWARP_KERNEL(csr_vector_subwarp, SPMM_CSR, false, LANES)
SUBWARP_KERNEL(csr_vector_subwarp_shuffle, SPMM_CSR, true, LANES)
SUBWARP_KERNEL(ell_subwarp, SPMM_ELL, false, LANES)
SUBWARP_KERNEL(ell_subwarp_shuffle, SPMM_ELL, true, LANES)
