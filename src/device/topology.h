/** The size of a cache, and from hwloc the positions of cores and GPUs in this machine. Builds with hwloc
 *  link topology_hwloc.c; other builds link topology_none.c, which returns "unknown".
 *
 *  All functions are local and may be called by several threads. They do not fail: unknown values are 0 or
 *  "". "Bound" refers to the affinity mask of the calling thread. Cores in lists have the numbers of Linux,
 *  as used by `taskset -c`, i.e. the numbers of hardware threads. The first call that needs hwloc makes it
 *  examine the machine, and the first call about a GPU makes it examine PCI devices; each takes some
 *  milliseconds, and more with many cores. */
#ifndef SP_TOPOLOGY_H
#define SP_TOPOLOGY_H

#include <stdint.h>

/** Returns the size in bytes of the last-level cache of the first core to which the first caller is bound; 32
 *  MiB if the system does not provide it. A processor may have several such caches. */
int64_t sp_last_cache_bytes(void);

/** Returns 1 if this build contains hwloc, else 0. */
int sp_topology_built(void);

/** Returns the number of cores to which the caller is bound; each may have several hardware threads. 0:
 *  unknown. */
int sp_topology_cores(void);

/** Returns the number of NUMA nodes whose cores the caller is bound to. 0: unknown. */
int sp_topology_numa_nodes(void);

/** The cores nearest to a GPU, and the cores to which the caller is bound. Without pointers. A list that does
 *  not fit ends with "..". */
typedef struct sp_nearness {
    char cores[96]; /**< the nearest cores, e.g. "0-15,64-79" */
    char numa[32];  /**< their NUMA nodes, e.g. "0" */
    char bound[96]; /**< the cores to which the caller is bound */
    int far;        /**< 1: the caller is bound to none of the nearest cores */
} sp_nearness;

/** Finds the cores that are nearest to a GPU.
 *  \param [in]  pci   PCI bus id, as in sp_device_info
 *  \param [out] near  zeroed if the result is 0
 *  \return 1; 0: unknown, or all cores are equally near */
int sp_topology_near(const char *pci, sp_nearness *near);

#endif
