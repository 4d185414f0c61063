/** Appends lines to a file, each one whole or not at all even if other processes append too. No MPI.
 *
 *  A line is one write under the file's lock. If the disk is full, the file is truncated to its previous length.
 *  Damage from an earlier crash is repaired: the beginning of one of our own lines is removed, and any other last
 *  line without a newline gets one. */
#ifndef SP_APPEND_H
#define SP_APPEND_H

#include <stddef.h>

#include "base/status.h"

/** Decides whether the last line of a file, which lacks its newline, is the beginning of one of the caller's lines
 *  and must be removed. Local.
 *  \param [in] head  as passed to sp_append()
 *  \param [in] line  [bytes], not zero-terminated
 *  \return 1: remove it, 0: keep it */
typedef int (*sp_append_cut)(const char *head, const char *line, size_t bytes);

/** Appends a line to a file, which is created if it does not exist, or writes it to a device, a pipe or a standard
 *  stream. Streams stay open until the program ends, so that the reader of a pipe sees no end of file between two
 *  lines.
 *
 *  Local. Waits up to three seconds for the lock, and appends without it if it cannot be had.
 *  \param [in] head   first line of an empty file, and of a stream when it is first written to, newline included; in
 *                     a file that begins otherwise no line counts as the caller's. NULL: none
 *  \param [in] cut    NULL: no line counts as the caller's
 *  \param [in] line   [bytes], newline included
 *  \return SPMM_OK, SPMM_ERR_OUTPUT with the file's name and the reason, SPMM_ERR_MEMORY */
spmm_status sp_append(const char *path, const char *head, sp_append_cut cut, const char *line, size_t bytes);

#endif
