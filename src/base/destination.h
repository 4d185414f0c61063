/** The destination that an output's name denotes: a new file, an existing file, or a stream (a device, a
 *  pipe, standard output or standard error). The functions also check, before the computation starts, that
 *  the destination can be written. Without MPI. */
#ifndef SP_DESTINATION_H
#define SP_DESTINATION_H

#include <limits.h>
#include <sys/types.h>

#include "base/status.h"

typedef struct sp_destination {
    const char *path; /**< the name as the user gave it, "-" is standard output; must outlive this struct */
    enum {
        SP_TO_NEW,   /**< a file that does not exist yet */
        SP_TO_OLD,   /**< an existing regular file that may be written */
        SP_TO_STREAM /**< a device, a pipe or a standard stream: never replaced and never locked */
    } kind;
    char target[PATH_MAX]; /**< the file's name with symbolic links followed; unused for a stream */
    int standard;          /**< 1: the stream is standard output, 2: it is standard error, 0: neither */
    dev_t device;          /**< device number of the file or stream; of the folder if kind is SP_TO_NEW */
    ino_t inode;           /**< inode number of the file or stream; of the folder if kind is SP_TO_NEW */
    uid_t owner;           /**< owner of the existing file (SP_TO_OLD) */
    gid_t group;           /**< group of the existing file (SP_TO_OLD) */
    mode_t mode;           /**< permission bits of the existing file (SP_TO_OLD) */
} sp_destination;

/** Determines the destination that a path denotes, and whether it can be written; changes nothing. Opens a
 *  regular file for writing and closes it again, so that the system's own rules about links and permissions
 *  apply. A symbolic link is followed, even to a file that does not exist yet. Local.
 *  \return SPMM_OK, SPMM_ERR_OUTPUT (the message has the path and the reason, e.g. that the path is a
 *          folder) */
spmm_status sp_destination_find(const char *path, sp_destination *to);

/** Creates a new empty file named TARGET.part-XXXXXXXX in the folder of the target. It gets the permissions
 *  of the file that it will replace or, if there is none, 0666 less the umask. Follows no link and
 *  opens no existing file. Calls sp_writing_begin(part) before it creates the file; after success, the
 *  caller must call sp_writing_end(). Local.
 *  \param [out] part  name of the new file, [PATH_MAX]
 *  \param [out] fd    file descriptor, open for writing; the caller closes it, and removes or renames the
 *                     file
 *  \return SPMM_OK, SPMM_ERR_OUTPUT */
spmm_status sp_destination_part(const sp_destination *to, char *part, int *fd);

/** Opens /dev/null for standard streams that were closed when the program was started, so that no other file
 *  gets their numbers. Writes to such a standard output fail. Writes to such a standard error are lost.
 *  Local; must be called first in main(). */
void sp_open_standard_streams(void);

/** Reserves standard output for outputs whose name is "-". Later output of the program to standard output
 *  goes to standard error. Local; must be called once, before anything is printed.
 *  \return SPMM_OK, SPMM_ERR_OUTPUT */
spmm_status sp_reserve_standard_output(void);

/** Opens a stream for writing. A standard stream is flushed and duplicated, so that earlier and later output
 *  of the program stays in order. Opening a pipe blocks until the pipe has a reader. Local.
 *  \param [out] fd  file descriptor; the caller closes it
 *  \return SPMM_OK, SPMM_ERR_OUTPUT */
spmm_status sp_destination_stream(const sp_destination *to, int *fd);

/** Sets the error message "PATH: cannot write: " plus the text for errno. Local. \return SPMM_ERR_OUTPUT */
spmm_status sp_cannot_write(const char *path);

/** Changes the signal handlers until sp_writing_end() is called. A write to a pipe without a reader, or
 *  beyond the file size limit, then sets errno instead of killing the process. A signal that ends the program
 *  (hangup, interrupt, termination, alarm) removes the file `part` first. Handlers that other code installed
 *  before still run. Calls do not nest. Local.
 *  \param [in] part  name of the file to remove; NULL: none */
void sp_writing_begin(const char *part);
/** Restores the signal handlers that sp_writing_begin() replaced. Local. */
void sp_writing_end(void);

/** A file that an option or an operand of the program names. */
typedef struct sp_named_file {
    const char *name; /**< name of the option or operand, for messages */
    const char *path; /**< name of the file; NULL: the user gave none */
    enum {
        SP_REPLACED,   /**< written as a whole file */
        SP_COMPRESSED, /**< written as a whole file, compressed if its name ends in .gz, .bz2, .xz or .zst */
        SP_APPENDED,   /**< lines are appended */
        SP_READ
    } use;
} sp_named_file;

/** Checks, before anything is read, that all outputs can be written, and that none would destroy an input or
 *  another output. Files are the same if their devices and inodes are equal, whatever their names. Changes no
 *  file and leaves none behind. Two outputs may be the same stream. A name with the suffix of a compressed
 *  file is rejected if the output would not be compressed in that way. Local.
 *  \param [in] files  all inputs and outputs, [count]
 *  \return SPMM_OK, SPMM_ERR_OUTPUT (the message has the file's name and the reason), SPMM_ERR_USAGE (two
 *          names for the same file, a compressed file that cannot be written) */
spmm_status sp_outputs_check(const sp_named_file *files, int count);

#endif
