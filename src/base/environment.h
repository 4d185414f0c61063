/** The environment variables SPMM_*: one table, checked before any work begins. No MPI. */
#ifndef SP_ENVIRONMENT_H
#define SP_ENVIRONMENT_H

#include "base/status.h"

/** Checks the values of all variables of the table, so that none is ignored silently, and that no other name looks
 *  like a misspelling of one of theirs. An empty value counts as unset. Local: ranks may have different environments,
 *  so the caller agrees on the status.
 *  \return SPMM_OK, or SPMM_ERR_USAGE with a message that names the variable and what it takes */
spmm_status sp_environment_check(void);

/** Returns the value of a variable of the table that takes a whole number, or `otherwise` if it is unset or invalid.
 *  Local. */
int64_t sp_environment_number(const char *name, int64_t otherwise);

#endif
