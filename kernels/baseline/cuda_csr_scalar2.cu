/** The kernel csr_scalar2, CSR: one thread per element of Y, like csr_scalar1, but with the sum in a
 *  register. The end of the row is still read again for each entry: row_start is volatile, or the compiler
 *  would read it once. */
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
