/** The P x Q cartesian process grid. */
#ifndef SP_GRID_H
#define SP_GRID_H

#include "comm/comm.h"

typedef struct sp_grid {
    MPI_Comm comm;     /**< cartesian, P x Q, not periodic, ranks in row-major order: p*Q + q */
    MPI_Comm row_comm; /**< the Q ranks of this process row; rank q */
    MPI_Comm col_comm; /**< the P ranks of this process column; rank p */
    int rank, size;    /**< in comm */
    int dims[2];       /**< P, Q */
    int coords[2];     /**< this rank's p, q */
} sp_grid;

/** Arranges all ranks of comm in a P x Q grid; ranks keep their numbers.
 *
 *  Collective over comm.
 *  \param [in]  p, q  process rows and columns; 0 x 0: size x 1
 *  \param [out] grid  the caller destroys it; zeroed but for its communicators, MPI_COMM_NULL, on failure
 *  \return SPMM_OK; SPMM_ERR_USAGE on every rank when p*q is not the number of ranks (the message names the grids
 *          that fit); SPMM_ERR_MPI */
spmm_status sp_grid_create(MPI_Comm comm, int p, int q, sp_grid *grid);

/** Frees the communicators; accepts a zeroed grid. Collective over the grid. */
void sp_grid_destroy(sp_grid *grid);

#endif
