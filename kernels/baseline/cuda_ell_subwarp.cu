/** Padded ELLPACK: a sub-warp per element of Y, of 2 lanes unless the user sets another size; the lanes' sums are
 *  added in shared memory or by shuffles. */
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
