/** A file that is written as a whole. It appears under its name complete or not at all: it is written under a name of
 *  its own in the same folder, brought to the disk and renamed, so that readers and other writers of the same name
 *  never see half a file. No MPI.
 *
 *  An older file keeps its permissions, and as far as the system lets it its owner; a symbolic link stays, and what it
 *  points to is replaced. A device, a pipe and a standard stream are never replaced but written into, from beginning
 *  to end. What a killed process leaves is named TARGET.part-XXXXXXXX. */
#ifndef SP_OUTPUT_FILE_H
#define SP_OUTPUT_FILE_H

#include <stdio.h>

#include "base/destination.h"

typedef struct sp_output_file {
    FILE *file; /**< to be written from beginning to end, without seeking: it may be a pipe */
    sp_destination to;
    char part[PATH_MAX]; /**< the name that it has meanwhile; "" where it has none */
} sp_output_file;

/** Local. path must outlive it. One can be open at a time.
 *  \return SPMM_OK, then sp_output_file_close() must follow; SPMM_ERR_OUTPUT with the name and the reason */
spmm_status sp_output_file_open(const char *path, sp_output_file *out);

/** Local. Completes the file, or with a status that is not SPMM_OK takes it back; so does a write that failed.
 *  \return status; else SPMM_OK, or SPMM_ERR_OUTPUT with the name and the reason */
spmm_status sp_output_file_close(sp_output_file *out, spmm_status status);

#endif
