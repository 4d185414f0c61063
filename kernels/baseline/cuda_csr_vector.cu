/** The kernels csr_vector and csr_vector_shuffle (CSR-Vector): one warp per element of Y. The sums of the
 *  lanes are added in shared memory or, in the second kernel, by shuffles. */
#include "kernels/baseline/cuda_baseline_elements.cuh"

namespace {

template <bool shuffle> spmm_status run(const sp_launch *l)
{
    return run_subwarp<SPMM_CSR, shuffle, WARP>(l, shuffle ? "csr_vector_shuffle" : "csr_vector");
}

} // namespace

const sp_kernel_ops sp_kernel_csr_vector = {run<false>, baseline_prepare<fill_subwarp<SPMM_CSR, false, WARP>>,
                                            baseline_release};
const sp_kernel_ops sp_kernel_csr_vector_shuffle = {
    run<true>, baseline_prepare<fill_subwarp<SPMM_CSR, true, WARP>>, baseline_release};
