/** The P x Q cartesian process grid. Today Q is 1: blocks of rows. */
#ifndef SP_GRID_H
#define SP_GRID_H

#include "comm.h"

typedef struct sp_grid {
    MPI_Comm comm;  /**< cartesian, P x Q, not periodic, ranks in row-major order */
    int rank, size; /**< in comm */
    int dims[2];    /**< P, Q */
    int coords[2];  /**< this rank's */
} sp_grid;

/** Makes the grid over all ranks of comm.
 *
 *  Collective. \param [in] p, q  process rows and columns; 0 x 0: the default, size x 1
 *  \return SPMM_OK, or SPMM_ERR_USAGE on every rank when p*q is not the number of ranks or q is
 *          not 1 (the message says what would do) */
spmm_status sp_grid_create(MPI_Comm comm, int p, int q, sp_grid *grid);

/** Frees the communicator; accepts a zeroed grid. Collective. */
void sp_grid_destroy(sp_grid *grid);

#endif
