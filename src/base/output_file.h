/** An output file that appears under its name only when it is complete. It is written under a temporary name
 *  in the same folder, synced to disk and then renamed, so that readers and other writers of the same name
 *  never see an incomplete file. Without MPI.
 *
 *  The new file gets the permissions of the file that it replaces and, as far as the system allows, its
 *  owner. If the name is a symbolic link, the link stays and the file that it points to is replaced. A
 *  device, a pipe or a standard stream is not replaced but written directly. A killed process may leave a
 *  file named TARGET.part-XXXXXXXX. */
#ifndef SP_OUTPUT_FILE_H
#define SP_OUTPUT_FILE_H

#include <stdio.h>

#include "base/destination.h"
#include "codec/codec.h"

typedef struct sp_output_file {
    FILE *file; /**< the caller writes it sequentially, without seeking, because it may be a pipe */
    int fd;     /**< descriptor of the file or stream; `file` writes to a duplicate of this descriptor or,
                     if compressed, through an encoder */
    sp_destination to;
    char part[PATH_MAX]; /**< the temporary name of the file; "" for a stream */
} sp_output_file;

/** Opens an output file. A process can have only one open at a time. Local.
 *  \param [in] path   must outlive *out
 *  \param [in] codec  the codec that compresses the file, with support for writing (encoder->create); NULL:
 *                     no compression
 *  \return SPMM_OK (then sp_output_file_close() must follow), SPMM_ERR_OUTPUT (the message has the path and
 *          the reason) */
spmm_status sp_output_file_open(const char *path, const sp_codec *codec, sp_output_file *out);

/** Completes the file and renames it; if status is not SPMM_OK or a write has failed, removes the file
 *  instead. Local.
 *  \param [in] status  outcome of the work that wrote the file
 *  \return status if it is not SPMM_OK; else SPMM_OK, or SPMM_ERR_OUTPUT (the message has the path and the
 *          reason) */
spmm_status sp_output_file_close(sp_output_file *out, spmm_status status);

#endif
