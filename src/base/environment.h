/** The environment variables SPMM_*: one table, checked where work begins. No MPI. */
#ifndef SP_ENVIRONMENT_H
#define SP_ENVIRONMENT_H

#include "base/status.h"

/** Checks the values of all variables, so that none is ignored in silence, and that no name is nearly one of theirs. An empty
 *  value is as good as none. Ranks may have different environments: the caller agrees on the status.
 *  \return SPMM_OK, or SPMM_ERR_USAGE with a message that names the variable and what it takes */
spmm_status sp_environment_check(void);

/** The value of a variable of the table that takes a whole number, or `otherwise` where it has none that is valid. */
int64_t sp_environment_number(const char *name, int64_t otherwise);

#endif
