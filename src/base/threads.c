/** Bounds the number of OpenMP threads of a rank; reads OMP_NUM_THREADS and CPU quotas. */
#include "base/threads.h"

#include <ctype.h>
#include <errno.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/words.h"

/** Returns the maximum number of threads of a rank, apart from OMP_THREAD_LIMIT. */
static int bound(void)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores * SP_THREADS_PER_CORE > SP_THREADS_LEAST ? (int)cores * SP_THREADS_PER_CORE
                                                          : SP_THREADS_LEAST;
}

int sp_threads_most(void) { return omp_get_thread_limit() < bound() ? omp_get_thread_limit() : bound(); }

int sp_threads_default(void)
{
    const int asked = omp_get_max_threads(), most = sp_threads_most();
    return asked < 1 ? 1 : asked < most ? asked : most;
}

spmm_status sp_threads_check(const char *what, int64_t threads)
{
    if (threads >= 1 && threads <= sp_threads_most()) return SPMM_OK;
    if (threads > 1 && threads <= bound())
        return sp_fail(SPMM_ERR_USAGE, "%s: expected at most %d threads, which is OMP_THREAD_LIMIT", what,
                       sp_threads_most());
    return sp_fail(
        SPMM_ERR_USAGE,
        "%s: expected 1 to %d threads per rank: %d per core of the machine, or %d where that is more", what,
        sp_threads_most(), SP_THREADS_PER_CORE, SP_THREADS_LEAST);
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

int sp_threads_quota(const char *path)
{
    double quota, period; /* the file contains "max" instead of the quota if there is no limit */
    FILE *const f = fopen(path ? path : "/sys/fs/cgroup/cpu.max", "r");
    const int both = f && fscanf(f, "%lf %lf", &quota, &period) == 2;
    if (f) fclose(f);
    if (!both || !(quota > 0) || !(period > 0) || quota > period * 1e6) return 0;
    const int whole = (int)(quota / period);
    return whole * period < quota ? whole + 1 : whole;
}
