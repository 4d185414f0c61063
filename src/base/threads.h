/** How many OpenMP threads a rank may have: what is asked for is held against a bound here, because the OpenMP runtime ends
 *  the process where threads cannot be started. No MPI. */
#ifndef SP_THREADS_H
#define SP_THREADS_H

#include "base/status.h"

/** Most threads of a rank: SP_THREADS_PER_CORE of them per core of this machine, SP_THREADS_LEAST where that is less, and
 *  never more than OMP_THREAD_LIMIT. */
enum { SP_THREADS_PER_CORE = 4, SP_THREADS_LEAST = 256 };
int sp_threads_most(void);

/** Threads where nobody says how many: omp_get_max_threads(), within the bound. */
int sp_threads_default(void);

/** \param [in] what  asks for them, for the message: "--threads 8"
 *  \return SPMM_OK, or SPMM_ERR_USAGE for less than 1 and for more than sp_threads_most() */
spmm_status sp_threads_check(const char *what, int64_t threads);

/** What OMP_NUM_THREADS says: of a list, as for nested regions, its first number.
 *  \param [out] threads  within OMP_THREAD_LIMIT, which the OpenMP runtime heeds without a word; 0: it is not set, or empty
 *  \return SPMM_OK; SPMM_ERR_USAGE where it is no such list, or beyond the bound */
spmm_status sp_threads_told(int *threads);

/** Cores' worth of time that a control group grants.
 *  \param [in] path  its cpu.max; NULL: /sys/fs/cgroup/cpu.max, a container's own
 *  \return whole cores, rounded up; 0: no limit is known */
int sp_threads_quota(const char *path);

#endif
