/** The kernel csr_scalar3, CSR: one thread per element of Y, like csr_scalar2, but the begin and end of the
 *  row are read only once. */
#include "kernels/baseline/cuda_baseline_elements.cuh"

namespace {

struct bounds_once {
    template <typename T> static __device__ void element(const product<T> &a, int64_t row, const T *x, T *y)
    {
        const int64_t begin = a.row_start[row], end = a.row_start[row + 1];
        T sum = T(0);
        for (int64_t j = begin; j < end; j++) multiply_add(sum, a.val[j], x[a.col[j] * a.ldx]);
        *y = sum;
    }
};

spmm_status run(const sp_launch *l) { return run_scalar<bounds_once>(l, "csr_scalar3"); }

} // namespace

const sp_kernel_ops sp_kernel_csr_scalar3 = {run, baseline_prepare<fill_scalar<bounds_once>>,
                                             baseline_release};
