/** The number of OpenMP threads of a rank: its bound and its default. Requests are checked against the bound
 *  because the OpenMP runtime ends the process when it cannot start a thread. No MPI. */
#ifndef SP_THREADS_H
#define SP_THREADS_H

#include "base/status.h"

enum { SP_THREADS_PER_CORE = 4, SP_THREADS_LEAST = 256 };
/** Returns the maximum number of threads of a rank: SP_THREADS_PER_CORE per core of this machine or
 *  SP_THREADS_LEAST, whichever is more, but never more than OMP_THREAD_LIMIT. Local. */
int sp_threads_most(void);

/** Returns the default number of threads of a rank: omp_get_max_threads(), at most sp_threads_most().
 *  Local. */
int sp_threads_default(void);

/** Checks that a number of threads is in 1 .. sp_threads_most(). Local.
 *  \param [in] what  where the number comes from, for the message, e.g. "--threads 8"
 *  \return SPMM_OK, SPMM_ERR_USAGE */
spmm_status sp_threads_check(const char *what, int64_t threads);

/** Reads the environment variable OMP_NUM_THREADS. If the value is a list, as for nested parallel regions,
 *  the first number counts. Local.
 *  \param [out] threads  the number, but at most OMP_THREAD_LIMIT, as in the OpenMP runtime; 0: the variable
 *                        is unset or empty
 *  \return SPMM_OK; SPMM_ERR_USAGE if the value is neither a whole number nor a list of whole numbers, or
 *          is greater than sp_threads_most() would be without OMP_THREAD_LIMIT */
spmm_status sp_threads_told(int *threads);

/** Returns the CPU quota of a control group in cores, rounded up; 0 if no limit is known. Local.
 *  \param [in] path  the group's file cpu.max; NULL: /sys/fs/cgroup/cpu.max, which in a container is that of
 *                    its own group */
int sp_threads_quota(const char *path);

#endif
