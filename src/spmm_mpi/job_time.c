/** Times repeated products and exchanges, each by its slowest rank. */
#include <string.h>

#include "plan/plan.h"
#include "spmm_mpi/job.h"

static int shared_out(const sp_grid *grid) { return grid->size > 1; }

/** Ends the processes of all ranks if the GPU of this rank has failed during an exchange: the rank's
 *  neighbors would wait forever for its rows. */
static void end_all_where_stuck(const sp_grid *grid, spmm_status status)
{
    if ((status != SPMM_ERR_DEVICE && status != SPMM_ERR_NO_DEVICE) || !shared_out(grid)) return;
    sp_abandon(grid->comm, status);
}

static void job_time_put(double *list, int i, double value)
{
    if (list) list[i] = value;
}

static spmm_status slowest(const sp_grid *grid, double *list, int count)
{
    return list ? sp_slowest(grid->comm, list, count) : SPMM_OK;
}

spmm_status sp_job_time(const sp_grid *grid, spmm_plan *plan, const spmm_multivector *x, spmm_multivector *y,
                        int warmup, int repeat, const sp_job_times *times)
{
    spmm_status status = times->kernel ? sp_plan_measure(plan) : SPMM_OK;
    for (int i = -warmup; i < repeat; i++) {
        sp_apply_seconds s = {0};
        TRY(SP_MPI(MPI_Barrier(grid->comm)));
        const double start = MPI_Wtime();
        if (status == SPMM_OK) {
            status = sp_plan_apply(plan, 1, x, 0, y);
            if (status == SPMM_OK && times->kernel) status = sp_plan_seconds(plan, &s);
            end_all_where_stuck(grid, status);
        } else {
            sp_plan_skip(plan);
        }
        TRY(SP_MPI(MPI_Barrier(grid->comm)));
        if (i < 0) continue;
        job_time_put(times->apply, i, MPI_Wtime() - start);
        job_time_put(times->kernel, i, s.kernel);
        job_time_put(times->interior, i, s.interior);
        job_time_put(times->boundary, i, s.boundary);
        job_time_put(times->reduce, i, s.reduce);
        job_time_put(times->all_kernels, i, s.kernel);
    }
    TRY(sp_agree(grid->comm, "apply", status));
    if (times->all_kernels) TRY(sp_sum(grid->comm, times->all_kernels, repeat));
    TRY(slowest(grid, times->apply, repeat));
    TRY(slowest(grid, times->kernel, repeat));
    TRY(slowest(grid, times->interior, repeat));
    TRY(slowest(grid, times->boundary, repeat));
    return slowest(grid, times->reduce, repeat);
}

spmm_status sp_job_time_exchange(const sp_grid *grid, spmm_plan *plan, const spmm_multivector *x, int repeat,
                                 double *seconds)
{
    spmm_status status = SPMM_OK;
    for (int i = 0; i < repeat; i++) {
        TRY(SP_MPI(MPI_Barrier(grid->comm)));
        const double start = MPI_Wtime();
        if (status == SPMM_OK) {
            status = sp_plan_exchange(plan, x);
            end_all_where_stuck(grid, status);
        } else {
            sp_plan_skip_exchange(plan);
        }
        TRY(SP_MPI(MPI_Barrier(grid->comm)));
        seconds[i] = MPI_Wtime() - start;
    }
    TRY(sp_agree(grid->comm, "exchange", status));
    return sp_slowest(grid->comm, seconds, repeat);
}

spmm_status sp_job_time_local(const sp_grid *grid, spmm_plan *plan, const spmm_multivector *x,
                              spmm_multivector *y, int repeat, double *seconds)
{
    for (int i = 0; i < repeat; i++) {
        TRY(SP_MPI(MPI_Barrier(grid->comm)));
        const double start = MPI_Wtime();
        const spmm_status status = sp_plan_apply_local(plan, x, y);
        end_all_where_stuck(grid, status);
        TRY(SP_MPI(MPI_Barrier(grid->comm)));
        seconds[i] = MPI_Wtime() - start;
        TRY(sp_agree(grid->comm, "apply", status));
    }
    return sp_slowest(grid->comm, seconds, repeat);
}
