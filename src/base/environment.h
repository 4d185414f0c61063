/** Checks and reads the environment variables SPMM_*, which a table in environment.c lists. No MPI. */
#ifndef SP_ENVIRONMENT_H
#define SP_ENVIRONMENT_H

#include "base/status.h"

/** Checks the values of all environment variables in the table, so that no invalid value is ignored
 *  silently, and checks that no other variable looks like a misspelling of one of them. An empty value
 *  counts as unset. Local: the environments of ranks may differ, so the caller must make the ranks agree on
 *  the status.
 *  \return SPMM_OK, or SPMM_ERR_USAGE with a message that names the variable and its valid values */
spmm_status sp_environment_check(void);

/** Returns the value of the environment variable `name`, whose values are whole numbers; returns `otherwise`
 *  if the variable is unset or invalid. Local. */
int64_t sp_environment_number(const char *name, int64_t otherwise);

/** Returns the name of a variable that has to have the same value on every rank, the one of number `index`
 *  from 0; NULL: there are fewer. Local. */
const char *sp_environment_common(int index);

#endif
