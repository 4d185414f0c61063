/** Writes matrices to files, in formats that can also be read: Matrix Market text, .npz and PETSc
 *  binary. Does not use MPI. */
#ifndef SP_MATRIX_WRITE_H
#define SP_MATRIX_WRITE_H

#include "formats/csr.h"

/** The endings of file names that sp_matrix_write() supports, for messages. */
#define SP_MATRIX_ENDINGS ".mtx, .mtx.gz, .npz or .petsc"

/** Returns 1 if sp_matrix_write() supports the ending of the name, else 0. Upper and lower case are the same.
 *  Local. */
int sp_matrix_write_knows(const char *path);

/** Writes a matrix to a file; the ending of its name selects the format. The file appears complete or not at
 *  all (base/output_file.h) and replaces an existing file. Reading the new file returns the same pattern,
 *  and values with the same bits. The PETSc format stores only f64, to which f32 values are widened.
 *
 *  - .mtx: coordinate real general, values with 17 digits (9 in f32)
 *  - .npz: CSR, uncompressed, for SciPy's load_npz(); each rank can read a part of the rows
 *  - .petsc: AIJ; indices of 32 bits, or of 64 if there are 2^31 entries or more
 *
 *  Local. \return SPMM_OK, SPMM_ERR_OUTPUT, SPMM_ERR_MEMORY, SPMM_ERR_USAGE (an unknown ending) */
spmm_status sp_matrix_write(const char *path, const spmm_csr *a);

#endif
