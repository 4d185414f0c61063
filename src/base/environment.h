/** Checks and reads the environment variables SPMM_*, which are listed in a table in environment.c. Without
 *  MPI. */
#ifndef SP_ENVIRONMENT_H
#define SP_ENVIRONMENT_H

#include "base/status.h"

/** Checks the values of all environment variables in the table, so that no invalid value is silently ignored.
 *  An empty value counts as unset. Local: the environments of ranks may differ, so the caller must make the
 *  ranks agree on the status.
 *  \return SPMM_OK, or SPMM_ERR_USAGE with a message that names the variable and its valid values */
spmm_status sp_environment_check(void);

/** Returns the value of the environment variable `name`, whose values are whole numbers; returns `otherwise`
 *  if the variable is unset or invalid. Local. */
int64_t sp_environment_number(const char *name, int64_t otherwise);

/** Lists the variables that must have the same value on every rank: returns the name of the variable with
 *  number `index`, from 0 on; NULL if there are not that many. Local. */
const char *sp_environment_common(int index);

#endif
