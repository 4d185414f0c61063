/** The number of OpenMP threads of a rank: its maximum and its default. Requests are checked against the
 *  maximum because the OpenMP runtime ends the process if it cannot start a thread. A forked process must not
 *  use threads: libgomp would wait forever for the threads of the parent process. Without MPI. */
#ifndef SP_THREADS_H
#define SP_THREADS_H

#include <stdatomic.h>

#include "base/status.h"

/** State of the fork detection, for the two functions below: whether it is installed, and whether this
 *  process was forked. */
extern atomic_int sp_fork_state;
enum { SP_FORK_UNWATCHED, SP_FORK_WATCHED, SP_FORKED };

/** Returns 1 if this process was forked from a process in which sp_fork_check() had been called. Local. */
static inline int sp_is_forked(void)
{
    return atomic_load_explicit(&sp_fork_state, memory_order_relaxed) == SP_FORKED;
}

/** Implements sp_fork_check() for the first call, and in a forked process. Local. */
spmm_status sp_fork_refuse(const char *function);

/** Checks that this process was not forked from a process in which sp_fork_check() had been called: functions
 *  that use threads or MPI cannot run in such a process. Local.
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

/** Returns the number of ranks that the launcher started on this node, according to its environment variables
 *  (Open MPI, MPICH's and Intel's Hydra, MVAPICH, srun); 1 if none is set. Local. */
int sp_threads_local_ranks(void);

/** Returns the number of threads of a rank, at least 1, such that each thread on the node has its own core if
 *  there are enough cores. The number of ranks that share this rank's cores is not known here; the ranks are
 *  assumed to be spread evenly over the cores of the node. Local.
 *  \param [in] cores       number of cores to which the rank is bound
 *  \param [in] quota       CPU quota of the ranks' control group in cores; 0: none
 *  \param [in] node_cores  cores of the node
 *  \param [in] ranks       ranks on the node */
int sp_threads_share(int cores, int quota, int node_cores, int ranks);

/** Returns sp_threads_share() for this process, as determined in the first call. Local. */
int sp_threads_of_rank(void);

/** Returns the default number of threads of a rank, at most sp_threads_most(). It is omp_get_max_threads() if
 *  OMP_NUM_THREADS is set, or if omp_get_max_threads() differs from the number of cores to which the process
 *  is bound, because then the program has set it. Otherwise it is sp_threads_of_rank(). Local. */
int sp_threads_default(void);

/** Returns the requested number of threads, or sp_threads_default() if `asked` is 0. Local. */
static inline int sp_threads_of(int asked) { return asked > 0 ? asked : sp_threads_default(); }

/** Checks that a number of threads is in 1 .. sp_threads_most(). Local.
 *  \param [in] what  where the number comes from, for the message, e.g. "--threads 8"
 *  \return SPMM_OK, SPMM_ERR_USAGE */
spmm_status sp_threads_check(const char *what, int64_t threads);

/** Reads the environment variable OMP_NUM_THREADS. If the value is a list, as for nested parallel regions,
 *  the first number counts. Local.
 *  \param [out] threads  the number, but at most OMP_THREAD_LIMIT, as in the OpenMP runtime; 0: the variable
 *                        is unset or empty
 *  \return SPMM_OK; SPMM_ERR_USAGE if the value is neither a number nor a list of numbers, or if the first
 *          number is less than 1 or greater than sp_threads_most() would be without OMP_THREAD_LIMIT */
spmm_status sp_threads_told(int *threads);

/** Stack size in bytes that is sufficient for the threads of all kernels. */
enum { SP_STACK_LEAST = 256 << 10 };

/** Starts threads - 1 threads together, as the OpenMP runtime will, and ends them. Failures are reported;
 *  the runtime would end the process, with the exit code of a failed verification. Local.
 *  \return SPMM_OK; SPMM_ERR_USAGE if OMP_STACKSIZE is less than SP_STACK_LEAST, or if threads with stacks of
 *          that size cannot be started; SPMM_ERR_LIMIT if threads with stacks of the default size cannot be
 *          started */
spmm_status sp_threads_try(int threads);

/** Returns how many of a team's `planned` threads should compute now: fewer if other processes keep cores
 *  busy and have kept this process waiting, because a team is as slow as its last thread. All of them if the
 *  environment variable OMP_DYNAMIC is "false". Looks at the system every 10 milliseconds at most. Local; any
 *  thread may call it. */
int sp_threads_now(int planned);

#endif
