/** Implements spmm_csr_scatter(): distributes a matrix in CSR. */
#include <string.h>

#include "base/status.h"
#include "base/fp_environment.h"
#include "base/threads.h"
#include "distribute/scatter.h"
#include "formats/csr.h"
#include "order/partition.h"

spmm_status sp_root_matrix_check(const char *function, MPI_Comm comm, int root, const spmm_csr *a)
{
    int rank, size, on_gpu;
    TRY(SP_MPI(MPI_Comm_rank(comm, &rank)));
    TRY(SP_MPI(MPI_Comm_size(comm, &size)));
    if (root < 0 || root >= size)
        return sp_fail(SPMM_ERR_USAGE, "%s: root is %d, expected a rank of comm, 0 to %d", function, root,
                       size - 1);
    if (rank != root) return SPMM_OK;
    TRY(sp_given(function, "a", a, "the matrix, on root"));
    if (sp_csr_on_gpu(a, &on_gpu) != SPMM_OK || (!on_gpu && sp_csr_check(a, sp_threads_default()) != SPMM_OK))
        return sp_fail(SPMM_ERR_USAGE, "%s: %s", function, spmm_error_message());
    if (!on_gpu) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE, "%s: a is in GPU memory, expected host memory", function);
}

/** Checks the arguments of spmm_csr_scatter(): each rank checks its own arguments, then the ranks check that
 *  root, p and q are the same on all of them. Collective. */
static spmm_status check_arguments(MPI_Comm comm, int root, const spmm_csr *a, int p, int q,
                                   const spmm_block *block)
{
    static const char function[] = "spmm_csr_scatter";
    const sp_common common[] = {{"root", root, 1}, {"p", p, 1}, {"q", q, 1}};
    spmm_status status = sp_given(function, "block", block, "a place for the block");
    if (status == SPMM_OK) status = sp_root_matrix_check(function, comm, root, a);
    TRY(sp_agree(comm, "scatter", status));
    return sp_check_common(comm, function, common, 3);
}

spmm_status spmm_csr_scatter(MPI_Comm comm, int root, const spmm_csr *a, int p, int q, spmm_block *block)
{
    SP_DEFAULT_FP;
    sp_grid grid = {.size = 0};
    sp_ranges ranges = {.p = 0};
    int64_t shape[2] = {0, 0};
    spmm_status status;
    if (block) memset(block, 0, sizeof *block);
    TRY(sp_comm_check(comm, __func__));
    TRY(check_arguments(comm, root, a, p, q, block));
    TRY_GOTO(sp_grid_create(comm, p, q, &grid), done);
    status = sp_ranges_create(grid.dims[0], grid.dims[1], &ranges);
    if (status == SPMM_OK && grid.rank == root) {
        sp_partition_entries(a->irp, a->rows, ranges.p, ranges.row_begin);
        status = sp_partition_columns(a, 1, ranges.q, ranges.col_begin);
        shape[0] = a->rows;
        shape[1] = a->cols;
    }
    TRY_GOTO(sp_agree(comm, "scatter", status), done);
    TRY_GOTO(sp_bcast(comm, root, shape, sizeof shape), done);
    TRY_GOTO(sp_ranges_share(&grid, root, shape[0], shape[1], &ranges), done);
    /* SP_SCATTER_COPY does not write to the matrix, so const may be cast away */
    const sp_scatter_options options = {.mode = SP_SCATTER_COPY};
    status = sp_scatter(&grid, root, (spmm_csr *)(uintptr_t)a, &ranges, &options, block, NULL, NULL);
done:
    sp_ranges_destroy(&ranges);
    sp_grid_destroy(&grid);
    return status;
}
