/** The machine as described by hwloc 2.1 or newer. HWLOC_XMLFILE and HWLOC_SYNTHETIC make hwloc describe
 *  another machine, for tests. */
#include <hwloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "device/topology.h"

/** The machine, loaded once and kept until the process ends. A user of the topology holds `lock`. */
static struct {
    pthread_mutex_t lock;
    hwloc_topology_t topology; /* NULL: not loaded, or hwloc failed */
    /* tried: 1 after the first attempt to load; devices: 1 after an attempt to load with PCI devices */
    int tried, devices;
} machine = {.lock = PTHREAD_MUTEX_INITIALIZER};

static hwloc_topology_t topology_hwloc_load(int devices)
{
    hwloc_topology_t t;
    if (hwloc_topology_init(&t) != 0) return NULL;
    /* Keep the cores that the batch system denies to this process: a GPU may be near only these cores. */
    hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    /* Disable this component: it would move the thread to each core in turn, to get data that Linux provides
     * in files. */
    hwloc_topology_set_components(t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    /* Only PCI devices: for other devices hwloc would start OpenCL and CUDA. */
    if (devices) hwloc_topology_set_type_filter(t, HWLOC_OBJ_PCI_DEVICE, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(t) == 0) return t;
    hwloc_topology_destroy(t);
    return NULL;
}

/** Locks the topology; the caller must call leave().
 *  \param [in] devices  1: PCI devices are needed */
static hwloc_topology_t enter(int devices)
{
    pthread_mutex_lock(&machine.lock);
    if (!machine.tried || devices > machine.devices) {
        if (machine.topology) hwloc_topology_destroy(machine.topology);
        machine.topology = topology_hwloc_load(devices);
        machine.tried = 1;
        machine.devices = devices;
    }
    return machine.topology;
}

static void leave(void) { pthread_mutex_unlock(&machine.lock); }

/** Returns the hardware threads to which the calling thread is bound; the caller frees the bitmap. NULL:
 *  unknown. */
static hwloc_bitmap_t bound_threads(hwloc_topology_t t)
{
    hwloc_bitmap_t set = t ? hwloc_bitmap_alloc() : NULL;
    if (set && hwloc_get_cpubind(t, set, HWLOC_CPUBIND_THREAD) == 0) return set;
    hwloc_bitmap_free(set);
    return NULL;
}

int sp_topology_built(void) { return 1; }

int sp_topology_cores(void)
{
    int cores = 0;
    hwloc_topology_t t = enter(0);
    hwloc_bitmap_t bound = bound_threads(t);
    hwloc_obj_t core = NULL;
    if (bound)
        while ((core = hwloc_get_next_obj_covering_cpuset_by_type(t, bound, HWLOC_OBJ_CORE, core))) cores++;
    hwloc_bitmap_free(bound);
    leave();
    return cores;
}

int sp_topology_numa_nodes(void)
{
    int nodes = 0;
    hwloc_topology_t t = enter(0);
    hwloc_bitmap_t bound = bound_threads(t), set = hwloc_bitmap_alloc();
    if (bound && set) {
        hwloc_cpuset_to_nodeset(t, bound, set);
        nodes = hwloc_bitmap_weight(set);
    }
    hwloc_bitmap_free(set);
    hwloc_bitmap_free(bound);
    leave();
    return nodes > 0 ? nodes : 0;
}

/** Writes a set as a list, e.g. "0-15,64-79". */
static void list(char *text, size_t n, hwloc_const_bitmap_t set)
{
    if (hwloc_bitmap_list_snprintf(text, n, set) >= (int)n) memcpy(text + n - 3, "..", 3);
}

int sp_topology_near(const char *pci, sp_nearness *near)
{
    hwloc_topology_t t = enter(1);
    hwloc_bitmap_t bound = bound_threads(t);
    hwloc_obj_t gpu = bound ? hwloc_get_pcidev_by_busidstring(t, pci) : NULL;
    hwloc_obj_t place = gpu ? hwloc_get_non_io_ancestor_obj(t, gpu) : NULL;
    /* hwloc also attaches devices of unknown position to the whole machine */
    const int known = place && !hwloc_bitmap_isequal(place->cpuset, hwloc_topology_get_topology_cpuset(t));
    *near = (sp_nearness){.far = 0};
    if (known) {
        list(near->cores, sizeof near->cores, place->cpuset);
        list(near->numa, sizeof near->numa, place->nodeset);
        list(near->bound, sizeof near->bound, bound);
        near->far = !hwloc_bitmap_intersects(bound, place->cpuset);
    }
    hwloc_bitmap_free(bound);
    leave();
    return known;
}
