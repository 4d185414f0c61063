/** What the name of an output stands for: a file, new or there already, or something that is written into as it is, a
 *  device, a pipe or a standard stream. Whether it can be written is found out here, before the work. No MPI. */
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
        SP_TO_STREAM /**< never replaced and never locked */
    } kind;
    char target[PATH_MAX]; /**< the file's name, symbolic links followed; not of a stream */
    int standard;          /**< the descriptor, 1 or 2, that is this very stream; 0: neither is */
    dev_t device;          /**< with inode: of the file or stream; of the folder where it is SP_TO_NEW */
    ino_t inode;
    uid_t owner; /**< the next three of SP_TO_OLD */
    gid_t group;
    mode_t mode;
} sp_destination;

/** Local. Opens a regular file for writing and closes it again, so that the system's own rules about links and
 *  permissions are kept; changes nothing. A symbolic link is followed, also to a file that is not there yet.
 *  \return SPMM_OK, SPMM_ERR_OUTPUT with the name and the reason (a folder among them) */
spmm_status sp_destination_find(const char *path, sp_destination *to);

/** Local. A new empty file in the target's folder, under a name of its own: TARGET.part-XXXXXXXX, with the permissions
 *  of the file that it will replace, else of the umask. Follows no link and opens nothing that is there. Where it
 *  succeeds, sp_writing_begin(part) has been called, before the file was there; sp_writing_end is the caller's.
 *  \param [out] part  its name, [PATH_MAX]
 *  \param [out] fd    open for writing; the caller closes it, and removes or renames the file
 *  \return SPMM_OK, SPMM_ERR_OUTPUT */
spmm_status sp_destination_part(const sp_destination *to, char *part, int *fd);

/** Local. Opens a stream for writing: a standard one is duplicated, so that what was printed stays before and what will
 *  be printed behind; a pipe is waited for until somebody reads it.
 *  \return SPMM_OK, SPMM_ERR_OUTPUT */
spmm_status sp_destination_stream(const sp_destination *to, int *fd);

/** "PATH: cannot write: " and errno's text. \return SPMM_ERR_OUTPUT */
spmm_status sp_cannot_write(const char *path);

/** Between these two calls a write that cannot be done is an error in errno, where a pipe without a reader or a limit
 *  of the file's size would otherwise kill the process, and a signal that ends the program (hangup, interrupt,
 *  termination) removes the file `part` first; NULL: none. Handlers that somebody else installed stay. The calls do not
 *  nest. */
void sp_writing_begin(const char *part);
void sp_writing_end(void);

/** A file that an option or an operand names. */
typedef struct sp_named_file {
    const char *name; /**< of the option, as the user writes it */
    const char *path; /**< NULL: not given */
    enum { SP_REPLACED, SP_APPENDED, SP_READ } use;
} sp_named_file;

/** Can all of these be written? Local; asked before the work. Leaves no file and changes none. Two outputs may share a
 *  stream, but not a file; an input may be replaced, since that happens when it has been read, but not appended to.
 *  \return SPMM_OK, SPMM_ERR_OUTPUT with the file's name and the reason, SPMM_ERR_USAGE for one file with two uses */
spmm_status sp_outputs_check(const sp_named_file *files, int count);

#endif
