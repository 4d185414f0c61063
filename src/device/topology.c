/** Determines the size of the last-level cache. */
#include "device/topology.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

/** Returns the number of the first core in the affinity mask; 0 if unknown. */
static int first_bound_core(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 0;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set)) return i;
    return 0;
}

/** Returns the size in bytes of a core's last-level cache; 0 if the system does not provide it. sysconf() is
 *  not used, because on some systems it returns the sum over all sockets. */
static int64_t read_cache_bytes(int core)
{
    for (int index = 3; index >= 2; index--) {
        char path[80], unit = 0;
        long long n = 0;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/size", core, index);
        FILE *const f = fopen(path, "r");
        const int found = f ? fscanf(f, "%lld%c", &n, &unit) : 0;
        if (f) fclose(f);
        if (found == 2 && n > 0) return (int64_t)n << (unit == 'M' ? 20 : unit == 'K' ? 10 : 0);
    }
    return 0;
}

int64_t sp_last_cache_bytes(void)
{
    enum { UNKNOWN = 32 << 20 };
    static atomic_llong known;
    int64_t bytes = known;
    if (bytes == 0) bytes = read_cache_bytes(first_bound_core());
    if (bytes == 0) bytes = UNKNOWN;
    known = bytes;
    return bytes;
}
