/** The kernel cpu_csr: runs the CPU products of cpu_rows.h on CSR. */
#include "kernels/cpu/cpu_rows.h"

static spmm_status cpu_csr_prepare(const sp_setup *setup, void **state)
{
    return sp_rows_create(setup, setup->a->row_start, setup->a->row_start + 1, NULL, state);
}

SP_KERNEL(cpu_csr) = {sp_rows_run,    cpu_csr_prepare, sp_rows_destroy,
                      sp_rows_values, sp_rows_set_k,   sp_rows_new_values};
