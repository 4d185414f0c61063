/** Memory limits set by control groups (cgroups), as containers and batch systems use them. */
#ifndef SP_CGROUP_H
#define SP_CGROUP_H

#include <stdint.h>

/** What the control groups of this process leave it. */
typedef struct sp_cgroup_room {
    int64_t bytes;  /**< the least that any of its groups leaves: the limit minus what is in use and cannot be
                         reclaimed; INT64_MAX: none of them has a limit */
    uint64_t group; /**< number of the group that leaves the least, the same for all its processes; 0: none */
} sp_cgroup_room;

/** Evaluates the limits of the process's own group and of every group above it, in cgroup v2 (memory.max,
 *  memory.high) and v1 (memory.limit_in_bytes). Files that cannot be read set no limit. Page cache that is not mapped
 *  counts as free: the kernel reclaims it before it refuses an allocation. Local.
 *  \param [in] root  the folder that contains proc/ and the mount points: "/" except in tests */
sp_cgroup_room sp_cgroup_look(const char *root);

#endif
