/** The P x Q cartesian process grid. */
#ifndef SP_GRID_H
#define SP_GRID_H

#include "comm/comm.h"

typedef struct sp_grid {
    MPI_Comm comm;     /**< cartesian, P x Q, not periodic, ranks in row-major order: p*Q + q */
    MPI_Comm row_comm; /**< the Q ranks of this process row; this rank is number q */
    MPI_Comm col_comm; /**< the P ranks of this process column; this rank is number p */
    int rank, size;    /**< rank: this rank's number in comm; size: number of ranks in comm */
    int dims[2];       /**< {P, Q} */
    int coords[2];     /**< {p, q}: this rank's position in the grid */
} sp_grid;

/** Arranges all ranks of comm in a P x Q grid; ranks keep their numbers.
 *
 *  Collective over comm.
 *  \param [in]  p, q  size of the grid, P x Q; 0 x 0 stands for (number of ranks) x 1
 *  \param [out] grid  the caller destroys it; on failure zeroed, with the communicators set to MPI_COMM_NULL
 *  \return SPMM_OK; SPMM_ERR_USAGE on every rank if p*q is not the number of ranks (the message lists the
 *          possible grids); SPMM_ERR_MPI */
spmm_status sp_grid_create(MPI_Comm comm, int p, int q, sp_grid *grid);

/** Arranges the ranks of a process column in a ring, a periodic cartesian grid of one dimension; ranks keep
 *  their numbers in the process column.
 *
 *  Collective over grid->col_comm.
 *  \param [out] ring  the caller frees it with sp_ring_destroy(); MPI_COMM_NULL on failure
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_ring_create(const sp_grid *grid, MPI_Comm *ring);

/** Determines the partners of a circular shift by `steps` ranks toward lower ranks: this rank sends to rank
 *  `to`, which is `steps` ranks lower, and receives from rank `from`, which is `steps` ranks higher. Local.
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_ring_shift(MPI_Comm ring, int steps, int *from, int *to);

/** Frees a ring; accepts MPI_COMM_NULL. Collective over the ring. */
void sp_ring_destroy(MPI_Comm *ring);

/** Frees the communicators of the grid; accepts a zeroed grid. Collective over the ranks of the grid. */
void sp_grid_destroy(sp_grid *grid);

#endif
