/** The kernel csr_rows: runs the sub-warp kernel of cuda_rows.cuh on CSR. */
#include "kernels/cuda/cuda_rows.cuh"

static spmm_status run(const sp_launch *l)
{
    TRY(check_pitch(l, "csr_rows"));
    return launch_product<run_typed<FROM_CSR, double>, run_typed<FROM_CSR, float>, sp_cuda_rows_complex<c128>,
                          sp_cuda_rows_complex<c64>>(l, "csr_rows");
}

SP_KERNEL(csr_rows) = {run, sp_cuda_prepare_csr, sp_cuda_release_lists, NULL, sp_kernel_any_k, NULL};
