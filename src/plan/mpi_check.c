/** Defines the symbol with which spmm.h checks that program and library use the same mpi.h. */
#include "spmm.h"

const int SPMM_MPI_CHECK = 1;
