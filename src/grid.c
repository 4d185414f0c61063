#include "grid.h"

#include <string.h>

spmm_status sp_grid_create(MPI_Comm comm, int p, int q, sp_grid *grid)
{
    memset(grid, 0, sizeof *grid);
    grid->comm = MPI_COMM_NULL;
    int size;
    TRY(SP_MPI(MPI_Comm_size(comm, &size)));
    if (p == 0 && q == 0) {
        p = size;
        q = 1;
    }
    if (q != 1)
        return sp_fail(SPMM_ERR_USAGE, "grid %dx%d: this version distributes by row blocks only; use %dx1", p,
                       q, size);
    if ((int64_t)p * q != size)
        return sp_fail(SPMM_ERR_USAGE,
                       "grid %dx%d needs %lld ranks, and there are %d: use %dx1, or mpirun -np %lld", p, q,
                       (long long)p * q, size, size, (long long)p * q);
    const int dims[2] = {p, q}, periodic[2] = {0, 0};
    TRY(SP_MPI(MPI_Cart_create(comm, 2, dims, periodic, 0, &grid->comm)));
    MPI_Comm_rank(grid->comm, &grid->rank);
    grid->size = size;
    grid->dims[0] = p;
    grid->dims[1] = q;
    return SP_MPI(MPI_Cart_coords(grid->comm, grid->rank, 2, grid->coords));
}

void sp_grid_destroy(sp_grid *grid)
{
    if (grid->size > 0 && grid->comm != MPI_COMM_NULL) MPI_Comm_free(&grid->comm);
    memset(grid, 0, sizeof *grid);
    grid->comm = MPI_COMM_NULL;
}
