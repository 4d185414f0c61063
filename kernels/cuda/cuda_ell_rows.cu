/** Padded ELLPACK: the sub-warp kernel of cuda_rows.cuh; a row ends at its first column index -1. */
#include "kernels/cuda/cuda_rows.cuh"

static spmm_status run(const sp_launch *l) { return run_rows<FROM_ELL>(l, "ell_rows"); }

const sp_kernel_ops sp_kernel_ell_rows = {run, NULL, NULL};
