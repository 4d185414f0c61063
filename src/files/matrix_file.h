/** A matrix file of any format. The file is opened once and its header is read once, so that the sizes are
 *  known before the matrix is read. Does not use MPI. */
#ifndef SP_MATRIX_FILE_H
#define SP_MATRIX_FILE_H

#include "files/matrix_format.h"

/** A matrix file whose header has been read. */
typedef struct sp_matrix_file {
    const sp_matrix_format
        *format; /**< the recognized format; set even if opening the file fails; NULL: *this is zeroed */
    const char *path;
    sp_read_options options;
    void *file; /**< the object that format->open() created; NULL: closed */
} sp_matrix_file;

/** Opens the file and reads its header. The format is recognized by the file's first bytes, not by its name.
 *  Edge lists are the only exception: a file is read as an edge list if options->edges is not 0.
 *
 *  Local.
 *  \param [in]  path  must remain valid until sp_matrix_file_close()
 *  \param [out] file  the caller closes it by sp_matrix_file_close(); on failure it is closed
 *  \return SPMM_OK, SPMM_ERR_OPEN, _SYNTAX, _UNSUPPORTED (also for more than 2^31 - 1 rows or columns),
 *          _MEMORY */
spmm_status sp_matrix_file_open(const char *path, const sp_read_options *options, sp_matrix_file *file);

/** Returns the sizes of the matrix that the header of an open file states. The number of entries is smaller
 *  than the header states if the file is too short for so many entries. It is 0 if the file is an array,
 *  whose number of nonzeros is not known yet. Local. */
sp_sizes sp_matrix_file_sizes(const sp_matrix_file *file);

/** Reads the whole matrix and closes the file. Local.
 *  \param [out] a           the caller destroys it
 *  \param [out] info        data from the file's header; may be NULL
 *  \param [out] stored      number of entries (in an array, of nonzeros) in the file; may be NULL
 *  \param [out] duplicates  number of these entries that were added to another entry; may be NULL
 *  \return as sp_matrix_file_open() */
spmm_status sp_matrix_file_read(sp_matrix_file *file, spmm_csr *a, sp_mtx_info *info, int64_t *stored,
                                int64_t *duplicates);

/** Returns 1 if the file is binary (sp_matrix_format); 0 if it is text or *file is zeroed. Local. */
int sp_matrix_file_binary(const sp_matrix_file *file);

/** Returns how all ranks can read the file; SP_FILE_TEXT if *file is zeroed. Local. */
sp_file_way sp_matrix_file_way(const sp_matrix_file *file);

/** Closes the file and frees its buffers; accepts zeroed and closed objects. Local. */
void sp_matrix_file_close(sp_matrix_file *file);

#endif
