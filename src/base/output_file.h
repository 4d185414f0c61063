/** A file that is written as a whole. It appears under its name complete or not at all: it is written under a
 *  temporary name in the same folder, synced to disk and renamed, so that readers and other writers of the same name
 *  never see half a file. No MPI.
 *
 *  A file that is replaced passes on its permissions and, as far as the system allows, its owner; a symbolic link
 *  stays, and what it points to is replaced. A device, a pipe or a standard stream is never replaced but written to
 *  from beginning to end. A killed process may leave a file named TARGET.part-XXXXXXXX. */
#ifndef SP_OUTPUT_FILE_H
#define SP_OUTPUT_FILE_H

#include <stdio.h>

#include "base/destination.h"

typedef struct sp_output_file {
    FILE *file; /**< to be written from beginning to end, without seeking: it may be a pipe */
    sp_destination to;
    char part[PATH_MAX]; /**< the temporary name; "" for a stream */
} sp_output_file;

/** Opens an output; only one can be open at a time. Local.
 *  \param [in] path  must outlive *out
 *  \return SPMM_OK, then sp_output_file_close() must follow; SPMM_ERR_OUTPUT with the name and the reason */
spmm_status sp_output_file_open(const char *path, sp_output_file *out);

/** Completes and renames the file; if status is not SPMM_OK or a write has failed, removes it instead. Local.
 *  \param [in] status  of the work that wrote the file
 *  \return status if it is not SPMM_OK; else SPMM_OK, or SPMM_ERR_OUTPUT with the name and the reason */
spmm_status sp_output_file_close(sp_output_file *out, spmm_status status);

#endif
