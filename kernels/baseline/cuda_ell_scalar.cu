/** The kernel ell_scalar, padded ELLPACK: one thread per element of Y, with the sum in a register. */
#include "kernels/baseline/cuda_baseline_elements.cuh"

namespace {

struct ell_row {
    template <typename T> static __device__ void element(const product<T> &a, int64_t row, const T *x, T *y)
    {
        const int64_t begin = row * a.width, end = begin + a.width;
        T sum = T(0);
        for (int64_t j = begin; j < end; j++) {
            const int32_t col = a.col[j];
            if (col < 0) break; /* the rest of the row is padding; 0 times an infinite x would be NaN */
            multiply_add(sum, a.val[j], x[col * a.ldx]);
        }
        *y = sum;
    }
};

spmm_status run(const sp_launch *l) { return run_scalar<ell_row>(l, "ell_scalar"); }

} // namespace

const sp_kernel_ops sp_kernel_ell_scalar = {run, baseline_prepare<fill_scalar<ell_row>>, baseline_release};
