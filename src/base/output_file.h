/** Outputs of the programs. A file appears under its name only when it is complete: it is written under a
 *  temporary name in the same folder, synced to disk and renamed. It gets the permissions and, as far as the
 *  system allows, the owner of the file that it replaces. A symbolic link stays, and the file that it points
 *  to is replaced. A device, a pipe or a standard stream is written directly. Without MPI; all functions are
 *  local and, unless they say otherwise, return SPMM_OK or SPMM_ERR_OUTPUT (the message has the path and the
 *  reason). */
#ifndef SP_OUTPUT_FILE_H
#define SP_OUTPUT_FILE_H

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/status.h"

/** What an output's name denotes. */
typedef struct sp_destination {
    const char *path; /**< the name as the user gave it, "-" is standard output; must outlive this struct */
    enum { SP_TO_NEW, SP_TO_OLD /* a regular file */, SP_TO_STREAM } kind;
    char target[PATH_MAX]; /**< the file's name with symbolic links followed; unused for a stream */
    int standard;          /**< 1: the stream is standard output, 2: it is standard error, 0: neither */
    struct stat file;      /**< stat() of the file or stream, or of the file's folder if kind is SP_TO_NEW */
} sp_destination;

typedef struct sp_output_file {
    FILE *file; /**< the caller writes it sequentially, without seeking, because it may be a pipe */
    int fd;     /**< descriptor of the file or stream, to which `file` writes in its own way */
    sp_destination to;
    char part[PATH_MAX]; /**< the temporary name of the file; "" for a stream */
} sp_output_file;

/** A file that an option or an operand of the program names. */
typedef struct sp_named_file {
    const char *name; /**< name of the option or operand, for messages */
    const char *path; /**< name of the file; NULL: the user gave none */
    enum {
        SP_REPLACED,
        SP_COMPRESSED /* replaced, compressed if it ends in .gz */,
        SP_APPENDED,
        SP_READ
    } use;
} sp_named_file;

/** Opens an output file, compressed by gzip if its name ends in .gz; a process can have only one open at a
 *  time. sp_output_file_close() must follow.
 *  \param [in] path  must outlive *out */
spmm_status sp_output_file_open(const char *path, sp_output_file *out);

/** Completes the file and renames it; removes it instead if status is not SPMM_OK or a write has failed.
 *  \param [in] status  outcome of the work that wrote the file; returned if it is not SPMM_OK */
spmm_status sp_output_file_close(sp_output_file *out, spmm_status status);

/** Checks, before anything is read, that all outputs can be written and that none is an input or another
 *  output by whatever name, except that outputs may share a stream. Changes no file and leaves none behind.
 *  \param [in] files  all inputs and outputs, [count]; count is at most 8
 *  \return also SPMM_ERR_USAGE: two names for the same file, or a suffix of another compression */
spmm_status sp_outputs_check(const sp_named_file *files, int count);

/** Determines what a path denotes, and whether it can be written; changes nothing. */
spmm_status sp_destination_find(const char *path, sp_destination *to);
/** Creates a new file TARGET.part-XXXXXXXX. sp_writing_end() must follow after success.
 *  \param [out] part  name of the new file, [PATH_MAX]; the caller renames or removes it
 *  \param [out] fd    file descriptor, open for writing; the caller closes it */
spmm_status sp_destination_part(const sp_destination *to, char *part, int *fd);
/** Opens a stream for writing, after a flush if it is a standard stream; waits for the reader of a pipe. */
spmm_status sp_destination_stream(const sp_destination *to, int *fd);
/** Sets the error message "PATH: cannot write: " plus the text for errno. \return SPMM_ERR_OUTPUT */
spmm_status sp_cannot_write(const char *path);

/** Changes the default actions of signals until sp_writing_end(): a write to a pipe without a reader, or
 *  beyond the file size limit, sets errno; a signal that ends the program first removes the file `part`
 *  (NULL: none). Handlers of the program stay. Calls do not nest. */
void sp_writing_begin(const char *part);
void sp_writing_end(void);
/** Removes the file `part` of sp_writing_begin(): for a signal handler that ends the program. */
void sp_writing_remove(void);

/** Opens /dev/null for standard streams that were closed when the program was started, so that no other file
 *  gets their numbers. Writes to such a standard output fail. Must be called first in main(). */
void sp_open_standard_streams(void);
/** Reserves standard output for outputs named "-"; everything else that the program prints goes to standard
 *  error. Must be called once, before anything is printed. */
spmm_status sp_reserve_standard_output(void);

#endif
