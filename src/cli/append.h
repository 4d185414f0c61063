/** Appends lines to a file, each one completely or not at all, even if other processes also append to the
 *  file. Without MPI.
 *
 *  A line is appended by a single write, while the file is locked. If the disk is full, the file is
 *  truncated to its previous length. Damage from an earlier crash is repaired: a last line without newline
 *  is removed if the caller takes it for the beginning of one of its lines; otherwise it gets one. */
#ifndef SP_APPEND_H
#define SP_APPEND_H

#include <stddef.h>

#include "base/status.h"

/** Decides whether the last line of a file, which lacks its newline, is the beginning of one of the caller's
 *  lines and must be removed. Local.
 *  \param [in] line  the last line, [bytes], not zero-terminated
 *  \return 1: remove the line, 0: keep it */
typedef int (*sp_append_cut)(const char *line, size_t bytes);

/** Appends a line to a file, which is created if it does not exist, or writes the line to a device, a pipe
 *  or a standard stream. Streams stay open until the program ends, so that the reader of a pipe sees no end
 *  of file between two lines.
 *
 *  Local. Waits up to three seconds for the lock of the file. If it does not get the lock, it appends without
 *  the lock.
 *  \param [in] head  heading, newline included; written first to an empty file and to a new stream. NULL: no
 *                    heading
 *  \param [in] cut   decides whether a last line without newline is removed; NULL: it never is
 *  \param [in] line  text of the line, [bytes], newline included
 *  \return SPMM_OK, SPMM_ERR_OUTPUT (the message has the file's name and the reason), SPMM_ERR_MEMORY */
spmm_status sp_append(const char *path, const char *head, sp_append_cut cut, const char *line, size_t bytes);

#endif
