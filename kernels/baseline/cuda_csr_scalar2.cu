/** CSR: csr_scalar1 with the sum in a register; the row's end is still read for each entry (volatile, as the compiler
 *  would read it once). */
#include "kernels/baseline/cuda_baseline_elements.cuh"

namespace {

struct in_register {
    template <typename T> static __device__ void element(const product<T> &a, int64_t row, const T *x, T *y)
    {
        const volatile int64_t *const row_start = a.row_start;
        T sum = T(0);
        for (int64_t j = row_start[row]; j < row_start[row + 1]; j++)
            multiply_add(sum, a.val[j], x[a.col[j] * a.ldx]);
        *y = sum;
    }
};

spmm_status run(const sp_launch *l) { return run_scalar<in_register>(l, "csr_scalar2"); }

} // namespace

const sp_kernel_ops sp_kernel_csr_scalar2 = {run, baseline_prepare<fill_scalar<in_register>>,
                                             baseline_release};
