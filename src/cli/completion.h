/** Writes what a shell completes command lines by, from a program's table of options. */
#ifndef SP_COMPLETION_H
#define SP_COMPLETION_H

#include "cli/option_table.h"

/** The shells that sp_completion_write() knows, indexed by their number; NULL after the last. */
extern const char *const sp_completion_shells[];

/** Writes a script for the shell: names of options, words that an option takes, and files. Local.
 *  \param [in] program  name of the command
 *  \param [in] operand  what the operand is called, e.g. "matrix"
 *  \param [in] shell    index in sp_completion_shells
 *  \param [in] out      receives the script: for bash to be sourced, for zsh a function of a folder of fpath,
 *                       for fish a file of a folder of completions */
void sp_completion_write(const sp_option_table *table, const char *program, const char *operand, int shell,
                         FILE *out);

#endif
