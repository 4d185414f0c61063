/** Limits of memory that control groups (cgroups) set: containers and batch systems use them. */
#ifndef SP_CGROUP_H
#define SP_CGROUP_H

#include <stdint.h>

/** What the control groups of this process leave it. */
typedef struct sp_cgroup_room {
    int64_t
        bytes; /**< least room of its groups: limit less what is in use and cannot be reclaimed; INT64_MAX: none
                         of them has a limit */
    uint64_t
        group; /**< number of the group that leaves the least, the same for all processes in it; 0: none */
} sp_cgroup_room;

/** Looks at the process's own group and at every group above it, of cgroup v2 (memory.max, memory.high) and of v1
 *  (memory.limit_in_bytes). Files that cannot be read set no limit. Page cache that is not mapped counts as free: the
 *  kernel takes it back before it refuses anything. Local.
 *  \param [in] root  the folder that has proc/ and what is mounted, "/" but in tests */
sp_cgroup_room sp_cgroup_look(const char *root);

#endif
