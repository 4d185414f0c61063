/** The number of OpenMP threads of a rank: its bound and its default. Requests are checked against the bound
 *  because the OpenMP runtime ends the process when it cannot start a thread. A forked process may have no
 *  threads: libgomp waits there forever for the threads of the other process. No MPI. */
#ifndef SP_THREADS_H
#define SP_THREADS_H

#include <stdatomic.h>

#include "base/status.h"

/** Whether forks are watched for, and whether this process comes from one. For the two functions below. */
extern atomic_int sp_fork_state;
enum { SP_FORK_UNWATCHED, SP_FORK_WATCHED, SP_FORKED };

/** Returns 1 if this process was forked from one in which sp_fork_check() had been called. Local. */
static inline int sp_is_forked(void)
{
    return atomic_load_explicit(&sp_fork_state, memory_order_relaxed) == SP_FORKED;
}

/** What sp_fork_check() does where it is called first, or in a forked process. Local. */
spmm_status sp_fork_refuse(const char *function);

/** Checks that this process was not forked from one in which sp_fork_check() had been called: a function that
 *  uses threads or MPI cannot run there. Local.
 *  \param [in] function  name of the public function (its __func__), for the message
 *  \return SPMM_OK, SPMM_ERR_USAGE */
static inline spmm_status sp_fork_check(const char *function)
{
    if (atomic_load_explicit(&sp_fork_state, memory_order_relaxed) == SP_FORK_WATCHED) return SPMM_OK;
    return sp_fork_refuse(function);
}

enum { SP_THREADS_PER_CORE = 4, SP_THREADS_LEAST = 256 };
/** Returns the maximum number of threads of a rank: SP_THREADS_PER_CORE per core of this machine or
 *  SP_THREADS_LEAST, whichever is more, but never more than OMP_THREAD_LIMIT. Local. */
int sp_threads_most(void);

/** Returns the number of ranks that the launcher started on this node, as its environment variables say (Open
 *  MPI, MPICH's and Intel's Hydra, MVAPICH, srun); 1 if none is set. Local. */
int sp_threads_local_ranks(void);

/** Returns a rank's number of threads, at least 1. With it, all threads on the node have a core each, if
 *  there are enough cores. A rank that is bound to some of the node's cores shares them with a number of
 *  ranks that is not known here: the ranks are assumed to be spread evenly over the cores. Local.
 *  \param [in] cores       cores that the rank is bound to
 *  \param [in] quota       CPU quota of the ranks' control group in cores; 0: none
 *  \param [in] node_cores  cores of the node
 *  \param [in] ranks       ranks on the node */
int sp_threads_share(int cores, int quota, int node_cores, int ranks);

/** Returns sp_threads_share() of this process, as it was when first asked for. Local. */
int sp_threads_of_rank(void);

/** Returns the default number of threads of a rank, at most sp_threads_most(). It is omp_get_max_threads() if
 *  OMP_NUM_THREADS is set, or if that number is not the number of cores that the process is bound to, because
 *  then the program chose it; else it is sp_threads_of_rank(). Local. */
int sp_threads_default(void);

/** Returns the number of threads that was asked for, or sp_threads_default() if that is 0. Local. */
static inline int sp_threads_of(int asked) { return asked > 0 ? asked : sp_threads_default(); }

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

/** Bytes of a thread's stack that kernels may need, with room to spare. */
enum { SP_STACK_LEAST = 256 << 10 };

/** Starts threads - 1 threads together, as the OpenMP runtime will, and ends them. Where the runtime cannot
 *  start a thread, it ends the process with the exit code of a failed verification. Local.
 *  \return SPMM_OK; SPMM_ERR_USAGE if OMP_STACKSIZE is less than SP_STACK_LEAST, or threads with stacks of
 *          that size cannot be started; SPMM_ERR_LIMIT if threads with stacks of the default size cannot */
spmm_status sp_threads_try(int threads);

/** Returns the CPU quota of a control group in cores, rounded up; 0 if no limit is known. Local.
 *  \param [in] path  the group's file cpu.max; NULL: /sys/fs/cgroup/cpu.max, which in a container is that of
 *                    its own group */
int sp_threads_quota(const char *path);

#endif
