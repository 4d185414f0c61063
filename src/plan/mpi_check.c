/** The symbol by which spmm.h refers to a library of the same MPI. */
#include "spmm.h"

const int SPMM_MPI_CHECK = 1;
