/** The kernels csr_vector_subwarp and csr_vector_subwarp_shuffle, CSR: one sub-warp per element of Y, with 2
 *  lanes unless the user sets another size. The sums of the lanes are added in shared memory or, in the
 *  second kernel, by shuffles. */
#include "kernels/baseline/cuda_baseline_elements.cuh"

namespace {

enum { LANES = 2 };

template <bool shuffle> spmm_status run(const sp_launch *l)
{
    return run_subwarp<SPMM_CSR, shuffle, LANES>(l, shuffle ? "csr_vector_subwarp_shuffle"
                                                            : "csr_vector_subwarp");
}

} // namespace

const sp_kernel_ops sp_kernel_csr_vector_subwarp = {
    run<false>, baseline_prepare<fill_subwarp<SPMM_CSR, false, LANES>>, baseline_release};
const sp_kernel_ops sp_kernel_csr_vector_subwarp_shuffle = {
    run<true>, baseline_prepare<fill_subwarp<SPMM_CSR, true, LANES>>, baseline_release};
