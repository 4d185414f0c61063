/** Lines that are added to a file, each whole or not at all, whoever else adds to it. No MPI.
 *
 *  A line is one write under the file's lock. Where the disk is full, the file gets back the length that it had. What
 *  was cut off before, by a crash, is dealt with: half of one of our own lines is removed, and after anything else that
 *  lacks its newline one is added. */
#ifndef SP_APPEND_H
#define SP_APPEND_H

#include <stddef.h>

#include "base/status.h"

/** Whether the last line of a file, which lacks its newline, is the beginning of one of ours that must go.
 *  \param [in] head  as sp_append() has it
 *  \param [in] line  [bytes], not terminated */
typedef int (*sp_append_cut)(const char *head, const char *line, size_t bytes);

/** Adds a line to a file, which is made where there is none, or writes it to a device, a pipe or a standard stream; those
 *  stay open until the program ends, so that who reads from a pipe finds no end between two lines.
 *
 *  Local. Waits for a lock up to three seconds; where nobody gives one, it goes without.
 *  \param [in] head   what an empty file gets first, its newline included, and a stream before the first line; in a file
 *                     that begins otherwise no line is ours. NULL: none
 *  \param [in] cut    NULL: no line is ours
 *  \param [in] line   [bytes], its newline included
 *  \return SPMM_OK, SPMM_ERR_OUTPUT with the file's name and the reason, SPMM_ERR_MEMORY */
spmm_status sp_append(const char *path, const char *head, sp_append_cut cut, const char *line, size_t bytes);

#endif
