/** Reads a dense multivector from a Matrix Market file or a PETSc binary file. Does not use MPI. */
#ifndef SP_DENSE_FILE_H
#define SP_DENSE_FILE_H

#include "io/mtx_read.h"

/** Reads only the sizes of a Matrix Market file or of a PETSc binary file, as sp_read_sizes() and
 *  sp_petsc_file_sizes() do. Local. */
spmm_status sp_dense_file_sizes(const char *path, sp_sizes *sizes);

/** Reads a multivector from a Matrix Market file or a PETSc binary file. Local.
 *  \param [out] x  the caller destroys it
 *  \return as sp_read_dense() and sp_petsc_file_dense() */
spmm_status sp_dense_file_read(const char *path, const sp_read_options *options, spmm_multivector *x);

#endif
