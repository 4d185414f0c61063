/** CSR: a sub-warp per element of Y, of 2 lanes unless the user sets another size; the lanes' sums are
 *  added in shared memory or by shuffles. */
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
