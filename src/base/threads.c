/** Limits the number of OpenMP threads of a rank; reads OMP_NUM_THREADS and CPU quotas. */
#include "base/threads.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/memory.h"
#include "base/words.h"

atomic_int sp_fork_state = SP_FORK_UNWATCHED;

static void in_forked(void) { atomic_store(&sp_fork_state, SP_FORKED); }

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, in_forked);
    atomic_store(&sp_fork_state, SP_FORK_WATCHED);
}

spmm_status sp_fork_refuse(const char *function)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    if (!sp_is_forked()) return SPMM_OK;
    return sp_fail(
        SPMM_ERR_USAGE,
        "%s: this process was forked from one that uses libspmm, so libspmm's threads and MPI are missing: "
        "expected a call in the parent process, or in a process started with exec or spawn",
        function);
}

/** Returns the number of cores of the machine that are online. Reads it once, because that reads a file. */
static int online_cores(void)
{
    static atomic_int cores;
    if (cores == 0) cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    return cores;
}

/** Returns the maximum number of threads of a rank, without regard to OMP_THREAD_LIMIT. */
static int bound(void)
{
    const int cores = online_cores();
    return cores * SP_THREADS_PER_CORE > SP_THREADS_LEAST ? cores * SP_THREADS_PER_CORE : SP_THREADS_LEAST;
}

int sp_threads_most(void) { return omp_get_thread_limit() < bound() ? omp_get_thread_limit() : bound(); }

/** Returns the number for node `node` in SLURM's list of tasks per node, e.g. "4(x2),3"; 0 if the list has no
 *  such number. */
static int tasks_of_node(const char *list, int node)
{
    while (list) {
        int tasks, times = 1, end = 0;
        if (sscanf(list, "%9d%n", &tasks, &end) != 1) return 0;
        list += end;
        if (sscanf(list, "(x%9d)%n", &times, &end) == 1 && end > 0) list += end;
        if (node < times) return tasks;
        node -= times;
        list = *list == ',' ? list + 1 : NULL;
    }
    return 0;
}

int sp_threads_local_ranks(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                        "MV2_COMM_WORLD_LOCAL_SIZE"};
    int ranks = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && ranks < 1; i++)
        if (getenv(names[i])) ranks = atoi(getenv(names[i]));
    /* outside a job step, the variable of the step is not set */
    const char *const tasks = getenv("SLURM_STEP_TASKS_PER_NODE"), *const node = getenv("SLURM_NODEID");
    if (ranks < 1 && tasks) ranks = tasks_of_node(tasks, node ? atoi(node) : 0);
    return ranks > 1 ? ranks : 1;
}

int sp_threads_share(int cores, int quota, int node_cores, int ranks)
{
    const int limited = quota > 0 && quota < cores; /* all ranks of the control group share the quota */
    const int64_t sharers = limited || node_cores < 1
                                ? ranks
                                : ((int64_t)ranks * cores + node_cores - 1) / node_cores;
    const int64_t share = (limited ? quota : cores) / (sharers > 1 ? sharers : 1);
    return share > 1 ? (int)share : 1;
}

static int share_of_rank;

static void find_share(void)
{
    share_of_rank = sp_threads_share(omp_get_num_procs(), sp_cgroup_cores("/"), online_cores(),
                                     sp_threads_local_ranks());
}

int sp_threads_of_rank(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_share);
    return share_of_rank;
}

int sp_threads_default(void)
{
    const char *const told = getenv("OMP_NUM_THREADS");
    const int most = sp_threads_most();
    int asked = omp_get_max_threads();
    /* if neither the program nor the variable set a number, the runtime's default is all cores, on every
     * rank */
    if ((!told || !*told) && asked == omp_get_num_procs()) asked = sp_threads_of_rank();
    return asked < 1 ? 1 : asked < most ? asked : most;
}

/** Returns the number of threads of all processes that are running or waiting for a core; 0: unknown. */
static int running_threads(void)
{
    int running = 0;
    FILE *const f = fopen("/proc/loadavg", "r"); /* "0.20 0.18 0.12 2/80 11206" */
    if (f && fscanf(f, "%*f %*f %*f %d", &running) != 1) running = 0;
    if (f) fclose(f);
    return running;
}

static int64_t coarse_nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/** Returns the number of cores that other processes leave to a team that now has `team` threads; INT_MAX if
 *  this process did not have to wait. Processes in other cpusets may keep all cores of the system busy and
 *  take none from this process, so their number counts only if threads of this process had to leave a
 *  core. */
static int cores_left(int team)
{
    enum { OFTEN = 2 };
    static _Atomic long switches;
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    const long forced = use.ru_nivcsw - atomic_exchange(&switches, use.ru_nivcsw);
    return forced < OFTEN ? INT_MAX : online_cores() + team - running_threads();
}

static int is_fixed; /* 1: OMP_DYNAMIC is false */

static void find_fixed(void)
{
    const char *const told = getenv("OMP_DYNAMIC");
    is_fixed = told && strcasecmp(told, "false") == 0;
}

/* Two looks must agree, and an eighth of the cores must be taken: daemons run for moments, and a team whose
 * size changes takes time to start. */
int sp_threads_now(int planned)
{
    enum { PERIOD = 10000000 };
    static _Atomic int64_t last;
    static atomic_int limit = INT_MAX, earlier = INT_MAX;
    const int64_t now = coarse_nanoseconds();
    int64_t before = last;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_fixed);
    if (is_fixed) return planned;
    const int team = planned < limit ? planned : limit;
    if (planned < 2 || now - before < PERIOD || !atomic_compare_exchange_strong(&last, &before, now))
        return team;
    const int left = cores_left(team), first = atomic_exchange(&earlier, left);
    const int most = left > first ? left : first;
    limit = 8.0 * most > 7.0 * planned ? INT_MAX : most > 1 ? most : 1;
    return planned < limit ? planned : limit;
}

spmm_status sp_threads_check(const char *what, int64_t threads)
{
    if (threads >= 1 && threads <= sp_threads_most()) return SPMM_OK;
    if (threads > 1 && threads <= bound())
        return sp_fail(SPMM_ERR_USAGE, "%s: expected at most %d threads, which is OMP_THREAD_LIMIT", what,
                       sp_threads_most());
    return sp_fail(SPMM_ERR_USAGE,
                   "%s: expected 1 to %d threads per rank, the larger of %d per core of the machine and %d",
                   what, sp_threads_most(), SP_THREADS_PER_CORE, SP_THREADS_LEAST);
}

/** Reads a whole number with optional blanks around it.
 *  \return the text after the number and the blanks, or NULL if the text does not begin with a number */
static const char *read_number(const char *text, long long *value)
{
    char *end;
    while (isspace((unsigned char)*text)) text++;
    if (!isdigit((unsigned char)*text)) return NULL;
    *value = strtoll(text, &end, 10); /* LLONG_MAX on overflow, which is beyond the bound too */
    while (isspace((unsigned char)*end)) end++;
    return end;
}

spmm_status sp_threads_told(int *threads)
{
    const char *const text = getenv("OMP_NUM_THREADS");
    char what[64];
    long long first = 0;
    *threads = 0;
    if (!text || !*text) return SPMM_OK;
    const char *rest = read_number(text, &first);
    for (long long next; rest && *rest == ',';) rest = read_number(rest + 1, &next);
    if (!rest || *rest)
        return sp_fail(
            SPMM_ERR_USAGE,
            "OMP_NUM_THREADS=%s: expected a whole number of at least 1, or a list of them such as 4,2",
            SHOWN(text));
    if (first < 1 || first > bound()) {
        snprintf(what, sizeof what, "OMP_NUM_THREADS=%.40s", text);
        return sp_threads_check(what, first);
    }
    *threads = first < sp_threads_most() ? (int)first : sp_threads_most();
    return SPMM_OK;
}

/** Reads OMP_STACKSIZE or, if that is not set, GOMP_STACKSIZE, as the OpenMP runtime does: a number of
 *  kilobytes, or a number with the unit B, K, M or G.
 *  \param [out] name  name of the variable that was used
 *  \return the size in bytes; 0: neither is set, or the value is invalid (the runtime then prints a
 *  warning) */
static size_t told_stack(const char **name)
{
    static const char letters[] = "bkmg";
    *name = getenv("OMP_STACKSIZE") ? "OMP_STACKSIZE" : "GOMP_STACKSIZE";
    const char *const text = getenv(*name), *rest;
    long long value = 0;
    if (!text || !(rest = read_number(text, &value))) return 0;
    const char *const letter = *rest ? strchr(letters, tolower((unsigned char)*rest)) : letters + 1;
    if (!letter || rest[*rest ? 1 + strspn(rest + 1, " \t") : 0]) return 0;
    const int shift = 10 * (int)(letter - letters);
    return value > INT64_MAX >> shift ? (size_t)INT64_MAX : value == 0 ? 1 : (size_t)value << shift;
}

/** The function of the threads of start_all(): returns once start_all() has started all threads and unlocks
 *  the mutex. */
static void *wait_for_all(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

/** Starts `count` threads, which all exist at the same time, and then waits until they have ended.
 *  \param [out] thread  [count]
 *  \return 0, or the errno of the first failure to start a thread */
static int start_all(const pthread_attr_t *attributes, int count, pthread_t *thread)
{
    pthread_mutex_t all_started = PTHREAD_MUTEX_INITIALIZER;
    int failed = 0, started = 0;
    pthread_mutex_lock(&all_started);
    while (!failed && started < count) {
        failed = pthread_create(&thread[started], attributes, wait_for_all, &all_started);
        started += !failed;
    }
    pthread_mutex_unlock(&all_started);
    while (started > 0) pthread_join(thread[--started], NULL);
    return failed;
}

spmm_status sp_threads_try(int threads)
{
    const char *name;
    const size_t stack = told_stack(&name);
    pthread_attr_t attributes;
    pthread_t *thread;
    if (threads < 2) return SPMM_OK;
    if (stack > 0 && stack < SP_STACK_LEAST)
        return sp_fail(SPMM_ERR_USAGE, "%s=%s: expected at least %dK, the stack that a thread may need", name,
                       SHOWN(getenv(name)), SP_STACK_LEAST >> 10);
    TRY(sp_alloc((void **)&thread, threads, sizeof *thread, "threads"));
    pthread_attr_init(&attributes);
    int failed = stack > 0 ? pthread_attr_setstacksize(&attributes, stack) : 0;
    if (!failed) failed = start_all(&attributes, threads - 1, thread);
    pthread_attr_destroy(&attributes);
    sp_free(thread);
    if (failed && stack > 0)
        return sp_fail(SPMM_ERR_USAGE, "%s=%s: cannot start %d threads with stacks of this size: %s", name,
                       SHOWN(getenv(name)), threads, strerror(failed));
    return failed ? sp_fail(SPMM_ERR_LIMIT, "cannot start %d threads: %s", threads, strerror(failed))
                  : SPMM_OK;
}
