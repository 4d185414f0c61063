/** What the name of an output denotes: a new file, an existing one, or a device, pipe or standard stream, which is
 *  written to as it is. Whether it can be written is determined here, before the computation starts. No MPI. */
#ifndef SP_DESTINATION_H
#define SP_DESTINATION_H

#include <limits.h>
#include <sys/types.h>

#include "base/status.h"

typedef struct sp_destination {
    const char *path; /**< as the user gave it; must outlive this */
    enum {
        SP_TO_NEW,   /**< there is no such file yet */
        SP_TO_OLD,   /**< a regular file that may be written */
        SP_TO_STREAM /**< a device, pipe or standard stream: never replaced and never locked */
    } kind;
    char target[PATH_MAX]; /**< the file's name with symbolic links followed; unused for a stream */
    int standard;          /**< the file descriptor, 1 or 2, that is this very stream; 0: neither is */
    dev_t device;          /**< with inode: identifies the file or stream; for SP_TO_NEW its folder */
    ino_t inode;
    uid_t owner; /**< owner, group and mode of the existing file (SP_TO_OLD) */
    gid_t group;
    mode_t mode;
} sp_destination;

/** Determines what a path denotes and whether it can be written; changes nothing. Opens a regular file for writing
 *  and closes it again, so that the system's own rules about links and permissions apply. A symbolic link is
 *  followed, also to a file that does not exist yet. Local.
 *  \return SPMM_OK, SPMM_ERR_OUTPUT with the name and the reason (e.g. that it is a folder) */
spmm_status sp_destination_find(const char *path, sp_destination *to);

/** Creates a new empty file in the target's folder under a name of its own, TARGET.part-XXXXXXXX, with the
 *  permissions of the file that it will replace, else those of the umask. Follows no link and opens no existing file.
 *  On success sp_writing_begin(part) was called before the file was created; the caller calls sp_writing_end().
 *  Local.
 *  \param [out] part  the new file's name, [PATH_MAX]
 *  \param [out] fd    open for writing; the caller closes it, and removes or renames the file
 *  \return SPMM_OK, SPMM_ERR_OUTPUT */
spmm_status sp_destination_part(const sp_destination *to, char *part, int *fd);

/** Opens a stream for writing. A standard stream is flushed and duplicated, so that what was printed before comes
 *  first and what is printed later comes after; opening a pipe blocks until it has a reader. Local.
 *  \param [out] fd  the caller closes it
 *  \return SPMM_OK, SPMM_ERR_OUTPUT */
spmm_status sp_destination_stream(const sp_destination *to, int *fd);

/** Sets the message "PATH: cannot write: " plus the text of errno. Local. \return SPMM_ERR_OUTPUT */
spmm_status sp_cannot_write(const char *path);

/** From this call to sp_writing_end(), a write to a pipe without a reader or beyond the file size limit sets errno
 *  instead of killing the process, and a signal that ends the program (hangup, interrupt, termination) first removes
 *  a file. Handlers that somebody else installed still run. Calls do not nest. Local.
 *  \param [in] part  the file to remove; NULL: none */
void sp_writing_begin(const char *part);
/** Restores the signal handlers that sp_writing_begin() replaced. Local. */
void sp_writing_end(void);

/** A file that an option or an operand names. */
typedef struct sp_named_file {
    const char *name; /**< the option's name, as the user writes it */
    const char *path; /**< NULL: not given */
    enum { SP_REPLACED, SP_APPENDED, SP_READ } use;
} sp_named_file;

/** Checks, before the computation starts, that all outputs can be written. Leaves no file behind and changes none.
 *  Two outputs may share a stream but not a file; an input may be replaced, because it has been read by then, but not
 *  appended to. Local.
 *  \param [in] files  [count]
 *  \return SPMM_OK, SPMM_ERR_OUTPUT with the file's name and the reason, SPMM_ERR_USAGE for one file with two uses */
spmm_status sp_outputs_check(const sp_named_file *files, int count);

#endif
