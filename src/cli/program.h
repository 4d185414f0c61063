/** What a program of this project says and does around its work, whichever it is: an error's line, its rank before MPI
 *  has started, its last look at the output. Messages start with the name that the program was called by. No MPI. */
#ifndef SP_PROGRAM_H
#define SP_PROGRAM_H

#include "base/status.h"

/** How much of a result --verify compares with the serial program's. */
typedef enum sp_verify_mode { SP_VERIFY_FULL, SP_VERIFY_SAMPLE, SP_VERIFY_NONE } sp_verify_mode;

/** By sp_verify_mode: "full", ..; NULL after the last. */
extern const char *const sp_verify_words[];

/** Prints rank 0's one line about an error to the standard error, from spmm_error_message(); a second one to --help
 *  where the status is SPMM_ERR_USAGE. Other ranks say nothing: the message is the same on all. */
void sp_program_print_error(int rank, spmm_status status);

/** Prints rank 0's one line about what is odd and no error to the standard error; nothing for "", nor where the program is to be
 *  quiet (verbosity below 0). */
void sp_program_warn(int rank, int verbosity, const char *text);

/** What the launcher says this process's rank is; 0 without one. For what is told without MPI. */
int sp_program_rank(void);

/** A last look at the standard output: a full disk must not pass for success.
 *  \param [in] status  of the work
 *  \return it, unless it is SPMM_OK and the output cannot be written: SPMM_ERR_OUTPUT */
spmm_status sp_program_flushed(spmm_status status);

#endif
