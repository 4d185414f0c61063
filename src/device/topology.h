/** Where cores, caches and GPUs lie in this machine, as hwloc knows it. Builds with hwloc link
 *  topology_hwloc.c; builds without, topology_none.c, which knows nothing.
 *
 *  All functions are local and may be called by several threads. None fails: what is not known is 0 or "".
 *  "Bound" means the affinity mask of the calling thread. Cores in lists have the numbers of Linux, which
 *  `taskset -c` takes: those of hardware threads. The first call that needs hwloc makes it look at the
 *  machine, which took 4 to 8 ms with 2 cores, and 30 once; the first one about a GPU makes it look again, at
 *  PCI devices too: 12 to 28 ms. More cores take longer. */
#ifndef SP_TOPOLOGY_H
#define SP_TOPOLOGY_H

#include <stdint.h>

/** Returns the size in bytes of the last-level cache, of which a processor may have several: that of the
 *  first core that the first caller is bound to, by what the system says, else by hwloc; 32 MiB if neither
 *  knows. */
int64_t sp_last_cache_bytes(void);

/** Returns 1 if this build contains hwloc, else 0. */
int sp_topology_built(void);

/** Returns what hwloc says is the size in bytes of the last-level cache of the first core that the caller is
 *  bound to; 0: not known. */
int64_t sp_topology_cache_bytes(void);

/** Returns the number of cores that the caller is bound to, of which each may be several hardware threads;
 *  0: not known. */
int sp_topology_cores(void);

/** Which cores are nearest to a GPU, and where the caller is; plain data without pointers. A list that does
 *  not fit ends in "..". */
typedef struct sp_nearness {
    char cores[96]; /**< the nearest cores, e.g. "0-15,64-79" */
    char numa[32];  /**< their NUMA nodes, e.g. "0" */
    char bound[96]; /**< the cores that the caller is bound to */
    int far;        /**< 1: none of the nearest cores is among these */
} sp_nearness;

/** Finds the cores that are nearest to a GPU.
 *  \param [in]  pci   PCI bus id, as in sp_device_info
 *  \param [out] near  zeroed if the result is 0
 *  \return 1; 0: not known, or no core of the machine is nearer than another */
int sp_topology_near(const char *pci, sp_nearness *near);

#endif
