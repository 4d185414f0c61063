/** The kernel cpu_clustered: runs the CPU products of cpu_rows.h on CSR, on a copy whose rows are in clusters that share
 *  columns (formats/row_clusters.h). For X larger than the caches, and rows numbered so that neighbours are far apart. */
#include <string.h>

#include "base/memory.h"
#include "formats/row_clusters.h"
#include "kernels/cpu/cpu_rows.h"

/** Copies the rows of a in the order `row`. The threads write the rows that they are to compute.
 *  \param [out] copy  the caller destroys it; zeroed on failure */
static spmm_status copy_rows(const spmm_csr *a, const int32_t *row, int threads, spmm_csr *copy)
{
    const size_t size = (size_t)sp_value_size(a->precision);
    spmm_status status;
    *copy = (spmm_csr){.rows = a->rows, .cols = a->cols, .nnz = a->nnz, .precision = a->precision};
    TRY_GOTO(sp_alloc((void **)&copy->irp, a->rows + 1, sizeof *copy->irp, "rows in clusters"), failed);
    TRY_GOTO(sp_alloc((void **)&copy->ja, a->nnz, sizeof *copy->ja, "rows in clusters"), failed);
    TRY_GOTO(sp_alloc(&copy->as, a->nnz, size, "rows in clusters"), failed);
    copy->irp[0] = 0;
    for (int64_t i = 0; i < a->rows; i++)
        copy->irp[i + 1] = copy->irp[i] + a->irp[row[i] + 1] - a->irp[row[i]];
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t from = a->irp[row[i]], to = copy->irp[i], n = copy->irp[i + 1] - to;
        memcpy(copy->ja + to, a->ja + from, (size_t)n * sizeof *copy->ja);
        sp_values_copy(a->precision, a->as, from, n, copy->as, to);
    }
    return SPMM_OK;
failed:
    spmm_csr_destroy(copy);
    return status;
}

static spmm_status prepare(const sp_setup *setup, void **state)
{
    int32_t *row;
    spmm_csr copy;
    *state = NULL;
    TRY(sp_alloc((void **)&row, setup->csr->rows, sizeof *row, "order of rows"));
    spmm_status status = sp_cluster_rows(setup->csr, setup->threads, row);
    if (status == SPMM_OK) status = copy_rows(setup->csr, row, setup->threads, &copy);
    if (status == SPMM_OK) return sp_rows_create_ordered(setup, &copy, row, state);
    sp_free(row);
    return status;
}

const sp_kernel_ops sp_kernel_cpu_clustered = {sp_rows_run, prepare, sp_rows_destroy};
