/** The kernel ell_rows: runs the sub-warp kernel of cuda_rows.cuh on padded ELLPACK; the first column index
 *  -1 ends a row. */
#include "kernels/cuda/cuda_rows.cuh"

static spmm_status run(const sp_launch *l) { return run_rows<FROM_ELL>(l, "ell_rows"); }

const sp_kernel_ops sp_kernel_ell_rows = {run, NULL, NULL};
