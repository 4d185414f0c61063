#define ROW_BEGIN(a, i) ((a)->row_start[i])
#define ROW_END(a, i, begin) ((a)->row_start[(i) + 1])
#include "cpu_rows_impl.h"

spmm_status sp_kernel_cpu_csr(const sp_launch *launch);

spmm_status sp_kernel_cpu_csr(const sp_launch *launch)
{
    run_rows(launch);
    return SPMM_OK;
}
