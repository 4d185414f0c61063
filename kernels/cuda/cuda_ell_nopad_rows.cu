/** The kernel ell_nopad_rows: runs the sub-warp kernel of cuda_rows.cuh on ELLPACK without padding. */
#include "kernels/cuda/cuda_rows.cuh"

static spmm_status run(const sp_launch *l) { return run_rows<FROM_ELL_NOPAD>(l, "ell_nopad_rows"); }

const sp_kernel_ops sp_kernel_ell_nopad_rows = {run, NULL, NULL};
