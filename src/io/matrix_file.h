/** A file that holds a matrix, Matrix Market or `.spmm`: opened once and its header read once, so that the
 *  sizes are known before the matrix is read. Does not use MPI. */
#ifndef SP_MATRIX_FILE_H
#define SP_MATRIX_FILE_H

#include "io/mtx_body.h"
#include "io/spmm_file.h"

/** A matrix file of which the header has been read. Must not be moved while it is open. */
typedef struct sp_matrix_file {
    sp_read_options options;
    int binary;         /**< 1: the file begins like a `.spmm` file; set even if opening it fails */
    sp_spmm_file *spmm; /**< a `.spmm` file that is open; else NULL */
    sp_reading text;    /**< a Matrix Market file that is open; else zeroed */
} sp_matrix_file;

/** Opens the file and reads its header. Its first bytes, not its name, tell the format.
 *
 *  Local.
 *  \param [in]  path  must remain valid until sp_matrix_file_close()
 *  \param [out] file  the caller closes it by sp_matrix_file_close(); on failure it is closed
 *  \return as sp_read_csr() and sp_spmm_file_open() */
spmm_status sp_matrix_file_open(const char *path, const sp_read_options *options, sp_matrix_file *file);

/** Returns the sizes of the matrix as the header of an open file has them. The number of entries is smaller
 *  if the file is too short for so many, and 0 if the file is an array, whose number of nonzeros is not
 *  known yet. Local. */
sp_sizes sp_matrix_file_sizes(const sp_matrix_file *file);

/** Reads the whole matrix and closes the file. Local.
 *  \param [out] a           the caller destroys it
 *  \param [out] info        header of the text that was read, or that the `.spmm` file was made of; may be
 *                           NULL
 *  \param [out] stored      number of entries of that text (for an array file, of nonzeros); may be NULL
 *  \param [out] duplicates  number of its entries that were added to another entry; may be NULL
 *  \return as sp_read_csr() and sp_spmm_file_read() */
spmm_status sp_matrix_file_read(sp_matrix_file *file, spmm_csr *a, sp_mtx_info *info, int64_t *stored,
                                int64_t *duplicates);

/** Closes the file and frees its buffers; accepts zeroed and closed objects. Local. */
void sp_matrix_file_close(sp_matrix_file *file);

#endif
