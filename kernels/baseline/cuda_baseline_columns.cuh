/** Helpers of csr_vector_by_row, csr_adaptive and csr_adaptive_subblocks: they transpose X, and compute a row
 *  of Y by sub-warps among which the columns of Y are divided. In X transposed each column of X is
 *  contiguous, so that lanes whose entries are in adjacent columns of A read adjacent memory. */
#ifndef SP_CUDA_BASELINE_COLUMNS_CUH
#define SP_CUDA_BASELINE_COLUMNS_CUH

#include "kernels/baseline/cuda_baseline.cuh"
#include "kernels/cuda/cuda_transpose.cuh"

namespace {

/** Allocates s->xt, the workspace for X transposed, once for all products. */
inline spmm_status make_transposed(const sp_setup *setup, baseline_state *s)
{
    const int64_t size = sp_value_size(setup->a->precision);
    int64_t bytes;
    if (__builtin_mul_overflow(setup->k, setup->a->cols * size, &bytes))
        return sp_fail(SPMM_ERR_LIMIT, "X transposed, %lld x %lld, does not fit 64-bit sizes",
                       (long long)setup->k, (long long)setup->a->cols);
    return sp_device_alloc(&s->xt, bytes, "X transposed");
}

/** Queues the transposition of X, which is part of the product and of its measured time. Returns the
 *  arguments of the product, with X transposed. */
template <typename T> product<T> transpose_x(const sp_launch *l, cudaStream_t stream)
{
    product<T> a = product_of<T>(l);
    T *const xt = (T *)((const baseline_state *)l->state)->xt;
    launch_transpose(a.x, a.ldx, a.cols, a.k, xt, a.cols, stream);
    a.x = xt;
    a.ldx = a.cols;
    return a;
}

/** Like launch_product(), for kernels with a workspace for X transposed. The workspace is for one K only. */
template <product_launcher f64, product_launcher f32>
spmm_status launch_transposed(const sp_launch *l, const char *id)
{
    const int64_t k = ((const baseline_state *)l->state)->k;
    if (l->x->k != k)
        return sp_fail(SPMM_ERR_INTERNAL, "kernel %s was prepared for K = %lld, not %lld", id, (long long)k,
                       (long long)l->x->k);
    return launch_product<f64, f32>(l, id);
}

/** Computes one row of Y with `subs` sub-warps, which belong to one warp or one block: sub-warp number `sub`
 *  computes columns sub, sub + subs, sub + 2 * subs and so on. All lanes of a warp must call it with the same
 *  row. */
template <bool shuffle, typename T>
__device__ inline void row_by_subwarps(const product<T> &a, int64_t row, int sub, int subs, int lane,
                                       int lanes)
{
    const int64_t begin = a.row_start[row], end = a.row_start[row + 1];
    for (int64_t first = 0; first < a.k; first += subs) {
        const int64_t column = first + sub;
        const T *const x = a.x + column * a.ldx;
        T sum = T(0);
        if (column < a.k)
            for (int64_t j = begin + lane; j < end; j += lanes) multiply_add(sum, a.val[j], x[a.col[j]]);
        sum = subwarp_sum<shuffle>(sum, lane, lanes);
        if (column < a.k && lane == 0) a.y[row * a.ldy + column] = sum;
    }
}

} // namespace

#endif
