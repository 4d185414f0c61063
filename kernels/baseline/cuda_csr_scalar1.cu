/** The kernel csr_scalar1, CSR: one thread per element of Y, which keeps its running sum in Y itself, in
 *  global memory. The thread accesses Y and the row starts as volatile data for each entry; otherwise the
 *  compiler would turn this kernel into csr_scalar3. */
#include "kernels/baseline/cuda_baseline_elements.cuh"

namespace {

struct in_memory {
    template <typename T>
    static __device__ void element(const product<T> &a, int64_t row, const T *x, volatile T *y)
    {
        const volatile int64_t *const row_start = a.row_start;
        *y = T(0);
        for (int64_t j = row_start[row]; j < row_start[row + 1]; j++) {
            T sum = *y;
            multiply_add(sum, a.val[j], x[a.col[j] * a.ldx]);
            *y = sum;
        }
    }
};

spmm_status run(const sp_launch *l) { return run_scalar<in_memory>(l, "csr_scalar1"); }

} // namespace

const sp_kernel_ops sp_kernel_csr_scalar1 = {run, baseline_prepare<fill_scalar<in_memory>>, baseline_release};
