#include "copy_rate.h"

#include "floor.h"

/** The least time of a copy that all ranks do at once. */
static spmm_status time_copies(const sp_grid *grid, const sp_copy_probe *probe, double *least)
{
    enum { COPIES = 5 };
    spmm_status status = SPMM_OK;
    for (int i = 0; i < COPIES; i++) {
        TRY(SP_MPI(MPI_Barrier(grid->comm)));
        const double start = MPI_Wtime();
        if (status == SPMM_OK) status = sp_copy_probe_run(probe);
        TRY(SP_MPI(MPI_Barrier(grid->comm)));
        const double seconds = MPI_Wtime() - start;
        if (i == 0 || seconds < *least) *least = seconds;
    }
    return sp_agree(grid->comm, "floor", status);
}

spmm_status sp_copy_rate(const sp_grid *grid, const sp_place *place, double *rate)
{
    sp_copy_probe probe;
    int rank, sharers, there;
    double least = 0;
    *rate = 0;
    TRY(sp_node_rank(grid->comm, &rank, &sharers));
    if (place->device == SPMM_CUDA) sharers = place->gpu_sharers;
    spmm_status status = sp_copy_probe_create(place->device, place->threads, sharers, &probe);
    status = sp_all(grid->comm, status == SPMM_OK, &there);
    if (status == SPMM_OK && there) {
        status = time_copies(grid, &probe, &least);
        *rate = least > 0 ? 2 * (double)probe.bytes / least : 0;
    }
    sp_copy_probe_destroy(&probe);
    return status;
}
