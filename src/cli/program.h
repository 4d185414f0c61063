/** Functions that all programs of this project use: they print errors and warnings, determine the rank before
 *  MPI_Init(), and check the standard output at the end. Messages start with the program's name as called. No
 *  MPI. */
#ifndef SP_PROGRAM_H
#define SP_PROGRAM_H

#include "base/status.h"

/** Values of --verify: how much of the result is compared with the serial result. */
typedef enum sp_verify_mode { SP_VERIFY_FULL, SP_VERIFY_SAMPLE, SP_VERIFY_NONE } sp_verify_mode;

/** The arguments that --verify accepts, indexed by sp_verify_mode; NULL after the last. */
extern const char *const sp_verify_words[];

/** Prints spmm_error_message() on stderr and, for SPMM_ERR_USAGE, a second line that points to --help. Prints
 *  on rank 0 only, since the message is the same on all ranks. Local. */
void sp_program_print_error(int rank, spmm_status status);

/** Prints the warning `text` on stderr. Prints nothing if rank is not 0, if text is "", or if verbosity is
 *  below 0 (--quiet). Local. */
void sp_program_warn(int rank, int verbosity, const char *text);

/** Returns the rank of this process from the launcher's environment variables, without calling MPI; 0 if
 *  there is no launcher. Local. */
int sp_program_rank(void);

/** Flushes stdout and checks for write errors, so that the program does not report success when a full disk
 *  has lost its output. Local.
 *  \param [in] status  the program's status so far
 *  \return `status`, or SPMM_ERR_OUTPUT if `status` is SPMM_OK but the output could not be written */
spmm_status sp_program_flushed(spmm_status status);

#endif
