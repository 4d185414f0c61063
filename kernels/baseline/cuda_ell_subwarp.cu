/** The kernels ell_subwarp and ell_subwarp_shuffle, padded ELLPACK: one sub-warp per element of Y, with 2
 *  lanes unless the user sets another size. The sums of the lanes are added in shared memory or, in the
 *  second kernel, by shuffles. */
#include "kernels/baseline/cuda_baseline_elements.cuh"

namespace {

enum { LANES = 2 };

template <bool shuffle> spmm_status run(const sp_launch *l)
{
    return run_subwarp<SPMM_ELL, shuffle, LANES>(l, shuffle ? "ell_subwarp_shuffle" : "ell_subwarp");
}

} // namespace

const sp_kernel_ops sp_kernel_ell_subwarp = {
    run<false>, baseline_prepare<fill_subwarp<SPMM_ELL, false, LANES>>, baseline_release};
const sp_kernel_ops sp_kernel_ell_subwarp_shuffle = {
    run<true>, baseline_prepare<fill_subwarp<SPMM_ELL, true, LANES>>, baseline_release};
