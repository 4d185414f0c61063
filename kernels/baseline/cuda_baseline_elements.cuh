/** Kernels with one thread or one sub-warp per element of Y. Element n of Y is in row n / K and column n % K,
 *  so that adjacent threads or sub-warps compute adjacent columns of a row. */
#ifndef SP_CUDA_BASELINE_ELEMENTS_CUH
#define SP_CUDA_BASELINE_ELEMENTS_CUH

#include "kernels/baseline/cuda_baseline.cuh"

namespace {

/* ---- one thread per element of Y, which Sum::element() computes ---- */

template <class Sum, typename T>
__global__ void __launch_bounds__(MAX_BLOCK) scalar_kernel(const product<T> a)
{
    const int64_t elements = a.rows * a.k, stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t n = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; n < elements; n += stride) {
        const position p = position_of(n, a.k);
        Sum::element(a, p.row, a.x + p.column, a.y + p.row * a.ldy + p.column);
    }
}

template <class Sum> spmm_status fill_scalar(const sp_setup *setup, baseline_state *s)
{
    return choose_typed_block(setup, scalar_kernel<Sum, double>, scalar_kernel<Sum, float>, false, MAX_BLOCK,
                              &s->block);
}

template <class Sum, typename T> void launch_scalar(const sp_launch *l, cudaStream_t stream)
{
    const int block = ((const baseline_state *)l->state)->block;
    const product<T> a = product_of<T>(l);
    const unsigned grid = grid_of(a.rows * a.k, block);
    scalar_kernel<Sum, T><<<grid, block, 0, stream>>>(a);
}

template <class Sum> spmm_status run_scalar(const sp_launch *l, const char *id)
{
    return launch_product<launch_scalar<Sum, double>, launch_scalar<Sum, float>>(l, id);
}

/* ---- one sub-warp per element of Y ---- */

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
    kernel<<<grid, s->block, shared, stream>>>(a, s->lanes);
}

/** Queues the product of a kernel with one sub-warp per element of Y.
 *  \tparam L  number of lanes per sub-warp, unless the user sets another; if L is WARP, the user cannot
 *             change it */
template <spmm_format F, bool shuffle, int L> spmm_status run_subwarp(const sp_launch *l, const char *id)
{
    return launch_product<launch_subwarp<F, shuffle, L, double>, launch_subwarp<F, shuffle, L, float>>(l, id);
}

} // namespace

#endif
