/** The kernel cpu_ell_nopad: runs the CPU products of cpu_rows.h on ELLPACK without padding. */
#include "base/memory.h"
#include "kernels/cpu/cpu_rows.h"

static spmm_status cpu_ell_nopad_prepare(const sp_setup *setup, void **state)
{
    const sp_matrix *const a = setup->a;
    int64_t *end = NULL;
    *state = NULL;
    TRY(sp_alloc((void **)&end, a->rows, sizeof *end, "row ends"));
#pragma omp parallel for schedule(static) num_threads(setup->threads)
    for (int64_t i = 0; i < a->rows; i++) end[i] = a->row_start[i] + a->nz_per_row[i];
    return sp_rows_create(setup, a->row_start, end, end, state);
}

SP_KERNEL(cpu_ell_nopad) = {sp_rows_run,    cpu_ell_nopad_prepare, sp_rows_destroy,
                            sp_rows_values, sp_rows_set_k,         sp_rows_new_values};
