#define ROW_BEGIN(a, i) ((a)->row_start[i])
#define ROW_END(a, i, begin) ((a)->row_start[(i) + 1])
#include "cpu_rows_impl.h"

static spmm_status run(const sp_launch *launch)
{
    run_rows(launch);
    return SPMM_OK;
}

const sp_kernel_ops sp_kernel_cpu_csr = {run, NULL, NULL};
