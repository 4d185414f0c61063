/** Writes command-line completions for shells from a program's table of options. */
#ifndef SP_COMPLETION_H
#define SP_COMPLETION_H

#include "cli/option_table.h"

/** The shells that sp_completion_write() supports, by index; NULL after the last. */
extern const char *const sp_completion_shells[];

/** Writes a script for the shell: it completes names of options, words that an option accepts, and files.
 *  Local.
 *  \param [in] program  name of the command
 *  \param [in] operand  name of the operand, e.g. "matrix"
 *  \param [in] shell    index in sp_completion_shells
 *  \param [in] out      receives the script: for bash a file to be sourced, for zsh a function for a folder
 *                       in fpath, for fish a file for a folder of completions */
void sp_completion_write(const sp_option_table *table, const char *program, const char *operand, int shell,
                         FILE *out);

#endif
