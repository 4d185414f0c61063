/** Reads binary files of PETSc (MatView() and VecView() on a binary viewer): an AIJ matrix, a dense matrix, a
 *  vector; of real scalars, with indices of 32 or 64 bits. Does not use MPI.
 *
 *  Layout of a file, with big-endian numbers; an index is an int32, or an int64 if PETSc was built with
 *  64-bit indices:
 *
 *      Mat          index [4]: 1211216, rows, columns, entries (-1 for a dense matrix)
 *        AIJ        index [rows]: row lengths; index [entries]: columns; f64, f32 or c128 [entries]: values
 *        dense      f64, f32 or c128 [rows x columns], row by row
 *      Vec          index [2]: 1211214, rows; f64, f32 or c128 [rows]
 *
 *  The type of the values is not stored; it follows from the length of the file. Only the first object is
 *  read. If its values are f64, other objects may follow it. */
#ifndef SP_PETSC_FILE_H
#define SP_PETSC_FILE_H

#include "files/csr_file.h"

extern const sp_matrix_format sp_file_format_petsc; /**< an AIJ matrix */

/** Returns 1 if the file `fd` begins like a binary file of PETSc; 0 if it does not, or if fd < 0. Local. */
int sp_petsc_file_is(int fd);

/** Reads only the sizes of a matrix, or of a vector, which has 1 column; the number of entries is set to 0.
 *  Local.
 *  \param [in] fd  the result of sp_input_descriptor(path); the function owns it, also on failure
 *  \return as sp_petsc_file_dense() */
spmm_status sp_petsc_file_sizes(const char *path, int fd, sp_sizes *sizes);

/** Reads a dense matrix, a vector or an AIJ matrix into host memory. MatView() writes a dense matrix as AIJ
 *  unless the viewer's format is PETSC_VIEWER_NATIVE. Elements that AIJ does not store are 0; duplicates are
 *  summed. Local.
 *  \param [in]  fd  the result of sp_input_descriptor(path); the function owns it, also on failure
 *  \param [out] x   [rows x columns], a vector has 1 column; the caller destroys it; on failure it is empty
 *  \return SPMM_OK, SPMM_ERR_OPEN, SPMM_ERR_SYNTAX (also 0 columns, or a value that options->allow_nonfinite
 *          forbids), SPMM_ERR_UNSUPPORTED (complex values, more than 2^31 - 1 rows or columns),
 *          SPMM_ERR_MEMORY */
spmm_status sp_petsc_file_dense(const char *path, int fd, const sp_read_options *options,
                                spmm_multivector *x);

#endif
