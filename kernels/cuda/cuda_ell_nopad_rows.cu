/** The kernel ell_nopad_rows: runs the sub-warp kernel of cuda_rows.cuh on ELLPACK without padding. */
#include "kernels/cuda/cuda_rows.cuh"

static spmm_status prepare(const sp_setup *s, void **state)
{
    return sp_cuda_prepare_long_rows(s, s->csr->irp, state);
}

static spmm_status run(const sp_launch *l) { return run_rows<FROM_ELL_NOPAD>(l, "ell_nopad_rows"); }

SP_KERNEL(ell_nopad_rows) = {run, prepare, sp_cuda_release_lists, NULL, sp_kernel_any_k, NULL};
