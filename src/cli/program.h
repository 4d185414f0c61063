/** What the programs of this project have in common around their work: printing errors and warnings, the rank before
 *  MPI has started, a final check of the output. Messages start with the name of the program as called. No MPI. */
#ifndef SP_PROGRAM_H
#define SP_PROGRAM_H

#include "base/status.h"

/** How much of a result --verify compares with the serial result. */
typedef enum sp_verify_mode { SP_VERIFY_FULL, SP_VERIFY_SAMPLE, SP_VERIFY_NONE } sp_verify_mode;

/** Words for --verify, indexed by sp_verify_mode; terminated by NULL. */
extern const char *const sp_verify_words[];

/** Prints a line with spmm_error_message() on the standard error, and a second one that points to --help where the
 *  status is SPMM_ERR_USAGE. Only rank 0 prints: the message is the same on all ranks. Local. */
void sp_program_print_error(int rank, spmm_status status);

/** Prints a warning on the standard error. Only rank 0 prints, and only where text is not "" and the program is not
 *  to be quiet (verbosity below 0). Local. */
void sp_program_warn(int rank, int verbosity, const char *text);

/** Returns this process's rank as the launcher's environment variables tell it, without MPI; 0 without a launcher.
 *  Local. */
int sp_program_rank(void);

/** Flushes and checks the standard output, so that a full disk does not pass for success. Local.
 *  \param [in] status  status of the program's work
 *  \return status; SPMM_ERR_OUTPUT where that is SPMM_OK but the output could not be written */
spmm_status sp_program_flushed(spmm_status status);

#endif
