/** Replaces topology_hwloc.c in builds without hwloc. */
#include "device/topology.h"

int sp_topology_built(void) { return 0; }

int sp_topology_cores(void) { return 0; }

int sp_topology_numa_nodes(void) { return 0; }

int sp_topology_near(const char *pci, sp_nearness *near)
{
    (void)pci;
    *near = (sp_nearness){.far = 0};
    return 0;
}
