/** CSR: the sub-warp kernel of cuda_rows.cuh on compressed sparse rows. */
#include "cuda_rows.cuh"

extern "C" spmm_status sp_kernel_csr_rows(const sp_launch *l) { return run_rows<SPMM_CSR>(l, "csr_rows"); }
