/** The kernel ell_rows: runs the sub-warp kernel of cuda_rows.cuh on padded ELLPACK. The first column index
 *  -1 ends a row. */
#include "kernels/cuda/cuda_rows.cuh"

static spmm_status prepare(const sp_setup *s, void **state)
{
    return sp_cuda_prepare_long_rows(s, NULL, state);
}

static spmm_status run(const sp_launch *l) { return run_rows<FROM_ELL>(l, "ell_rows"); }

SP_KERNEL(ell_rows) = {run, prepare, sp_cuda_release_lists, NULL, sp_kernel_any_k, NULL};
