/** How many OpenMP threads a rank may have. Requests are checked against a bound here because the OpenMP runtime ends
 *  the process when it cannot start a thread. No MPI. */
#ifndef SP_THREADS_H
#define SP_THREADS_H

#include "base/status.h"

enum { SP_THREADS_PER_CORE = 4, SP_THREADS_LEAST = 256 };
/** Returns the most threads that a rank may have: SP_THREADS_PER_CORE per core of this machine or SP_THREADS_LEAST,
 *  whichever is more, but never more than OMP_THREAD_LIMIT. Local. */
int sp_threads_most(void);

/** Returns the number of threads if none is asked for: omp_get_max_threads(), within the bound. Local. */
int sp_threads_default(void);

/** Checks a number of threads against 1 .. sp_threads_most(). Local.
 *  \param [in] what  where the number comes from, for the message: "--threads 8"
 *  \return SPMM_OK, SPMM_ERR_USAGE */
spmm_status sp_threads_check(const char *what, int64_t threads);

/** Reads OMP_NUM_THREADS; of a list, as for nested regions, the first number. Local.
 *  \param [out] threads  capped by OMP_THREAD_LIMIT, as the OpenMP runtime does silently; 0: the variable is unset or
 *                        empty
 *  \return SPMM_OK; SPMM_ERR_USAGE if it is not such a list, or beyond the bound */
spmm_status sp_threads_told(int *threads);

/** Returns the CPU quota of a control group in cores, rounded up; 0 if no limit is known. Local.
 *  \param [in] path  its cpu.max; NULL: /sys/fs/cgroup/cpu.max, a container's own */
int sp_threads_quota(const char *path);

#endif
