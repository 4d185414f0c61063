/** Limits of memory and CPU time set by control groups (cgroups), e.g. by containers and batch systems. */
#ifndef SP_CGROUP_H
#define SP_CGROUP_H

#include <stdint.h>

/** The memory that the limits of this process's control groups leave available. */
typedef struct sp_cgroup_room {
    int64_t bytes;  /**< number of bytes that the most restrictive group leaves: its limit minus the bytes in
                         use that cannot be reclaimed; INT64_MAX: no group has a limit */
    uint64_t group; /**< number of that group, the same in all its processes; 0: no group has a limit */
} sp_cgroup_room;

/** Evaluates the limits of this process's control group and of every group above it, in cgroup v2
 *  (memory.max, memory.high) and v1 (memory.limit_in_bytes). A file that cannot be read sets no limit. Page
 *  cache that is not mapped counts as free, because the kernel reclaims it before it refuses an allocation.
 *  Local.
 *  \param [in] root  the folder that contains proc/ and the mount points: "/" except in tests */
sp_cgroup_room sp_cgroup_look(const char *root);

/** Returns the least quota of CPU time of this process's control group and of every group above it, in cgroup
 *  v2 (cpu.max) and v1 (cpu.cfs_quota_us), in cores, rounded up; 0: there is none. Local.
 *  \param [in] root  as for sp_cgroup_look() */
int sp_cgroup_cores(const char *root);

#endif
