/** Creates and destroys cartesian process grids. */
#include "comm/grid.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/** Makes MPI load its cartesian topologies. */
static void load_topologies(void)
{
    const int one = 1, periodic = 0;
    MPI_Comm comm = MPI_COMM_NULL;
    if (MPI_Cart_create(MPI_COMM_SELF, 1, &one, &periodic, 0, &comm) == MPI_SUCCESS) sp_comm_free(&comm);
}

/** Creates a cartesian communicator; ranks keep their numbers. Collective over comm. */
static spmm_status grid_create(MPI_Comm comm, int dimensions, const int *dims, const int *periodic,
                               MPI_Comm *cart)
{
    /* Open MPI 4 loads its topology modules in the process's first MPI_Cart_create(), without a lock. The
     * first call concerns this rank alone: a thread that waits for it does not wait for another rank. */
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_topologies);
    return SP_MPI(MPI_Cart_create(comm, dimensions, dims, periodic, 0, cart));
}

/** Writes all P x Q grids that have `size` ranks into text [n], e.g. "4x1, 2x2 or 1x4". */
static void list_grids(int size, char *text, size_t n)
{
    size_t at = 0;
    int left = 0;
    for (int q = 1; q <= size; q++) left += size % q == 0;
    text[0] = '\0';
    for (int q = 1; q <= size && at + 32 < n; q++) {
        if (size % q) continue;
        at += (size_t)snprintf(text + at, n - at, "%dx%d%s", size / q, q,
                               --left > 1  ? ", "
                               : left == 1 ? " or "
                                           : "");
    }
}

static spmm_status grid_check(int p, int q, int size)
{
    char grids[256];
    if (p < 1 || q < 1)
        return sp_fail(SPMM_ERR_USAGE,
                       "grid %dx%d: expected at least 1x1, and a product equal to the number of ranks, %d", p,
                       q, size);
    if ((int64_t)p * q == size) return SPMM_OK;
    list_grids(size, grids, sizeof grids);
    return sp_fail(SPMM_ERR_USAGE,
                   "grid %dx%d needs %lld ranks, but there are %d: use %s, or mpirun -np %lld", p, q,
                   (long long)p * q, size, grids, (long long)p * q);
}

spmm_status sp_grid_create(MPI_Comm comm, int p, int q, sp_grid *grid)
{
    int size;
    spmm_status status;
    memset(grid, 0, sizeof *grid);
    grid->comm = grid->row_comm = grid->col_comm = MPI_COMM_NULL;
    TRY(SP_MPI(MPI_Comm_size(comm, &size)));
    if (p == 0 && q == 0) {
        p = size;
        q = 1;
    }
    TRY(grid_check(p, q, size));
    const int dims[2] = {p, q}, periodic[2] = {0, 0}, along_row[2] = {0, 1}, along_column[2] = {1, 0};
    grid->size = size;
    grid->dims[0] = p;
    grid->dims[1] = q;
    TRY_GOTO(grid_create(comm, 2, dims, periodic, &grid->comm), done);
    TRY_GOTO(SP_MPI(MPI_Comm_rank(grid->comm, &grid->rank)), done);
    TRY_GOTO(SP_MPI(MPI_Cart_coords(grid->comm, grid->rank, 2, grid->coords)), done);
    TRY_GOTO(SP_MPI(MPI_Cart_sub(grid->comm, along_row, &grid->row_comm)), done);
    TRY_GOTO(SP_MPI(MPI_Cart_sub(grid->comm, along_column, &grid->col_comm)), done);
done:
    if (status != SPMM_OK) sp_grid_destroy(grid);
    return status;
}

spmm_status sp_ring_create(const sp_grid *grid, MPI_Comm *ring)
{
    const int periodic = 1;
    *ring = MPI_COMM_NULL;
    return grid_create(grid->col_comm, 1, &grid->dims[0], &periodic, ring);
}

spmm_status sp_ring_shift(MPI_Comm ring, int steps, int *from, int *to)
{
    return SP_MPI(MPI_Cart_shift(ring, 0, -steps, from, to));
}

void sp_ring_destroy(MPI_Comm *ring) { sp_comm_free(ring); }

void sp_grid_destroy(sp_grid *grid)
{
    /* skip a zeroed grid; in some MPI libraries a zeroed MPI_Comm is not MPI_COMM_NULL */
    if (grid->size > 0) {
        sp_comm_free(&grid->row_comm);
        sp_comm_free(&grid->col_comm);
        sp_comm_free(&grid->comm);
    }
    memset(grid, 0, sizeof *grid);
    grid->comm = grid->row_comm = grid->col_comm = MPI_COMM_NULL;
}
