/** The lines of a report about cores and GPUs, on the machine of tests/topology.xml.
 *  MPI: 1 3 */
#define TEST_TRAPS 0 /* hwloc reads XML by libxml2, which computes a NaN */
#include <sched.h>

#include "comm/binding.h"
#include "test_mpi.h"

/** The machine's GPUs: one near cores 0 to 3, one near cores 4 to 7. */
static const char *const PCI[] = {"0000:01:00.0", "0000:00:00.0"};

/** Binds this process to its first core. Returns the core's number; -1 if it is unknown. */
static int bind_to_first(void)
{
    cpu_set_t set, one;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return -1;
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, &set)) continue;
        CPU_ZERO(&one);
        CPU_SET(i, &one);
        return sched_setaffinity(0, sizeof one, &one) == 0 ? i : -1;
    }
    return -1;
}

/** Returns the text of the report, in static storage. */
static const char *report(const sp_binding *binding)
{
    static char text[1024];
    memset(text, 0, sizeof text);
    FILE *const out = fmemopen(text, sizeof text, "w");
    if (!out) return "";
    sp_binding_print(out, binding);
    fclose(out);
    return text;
}

static void test_cores(void)
{
    sp_binding b = {.cores = 1, .core_sharers = 1, .threads = 1, .device = SPMM_CPU};
    TEST("a report counts cores, where it counts hardware threads it says so, and what is oversubscribed") {
        CHECK_TEXT(report(&b), "device     cpu: 1 thread on 1 core per rank\n");
        b = (sp_binding){.cores = 2, .core_sharers = 3, .threads = 2, .device = SPMM_CPU};
        if (sp_topology_built())
            CHECK_TEXT(report(&b),
                       "per rank, 3 ranks share 2 hardware threads of 1 core; oversubscribed: 6 threads\n");
        else
            CHECK_TEXT(report(&b), "per rank, 3 ranks share 2 cores; oversubscribed: 6 threads\n");
    }
}

/** \param [in] package  the processor package to which this rank is bound */
static void test_far(int package, int size)
{
    char expected[256];
    sp_binding b = {.device = SPMM_CUDA, .gpu = {.name = "GPU"}, .gpu_sharers = 1};
    TEST("ranks near their GPU are not mentioned, nor are those without one") {
        snprintf(b.gpu.pci, sizeof b.gpu.pci, "%s", PCI[package]);
        CHECK_INT(sp_find_far_ranks(MPI_COMM_WORLD, &b), SPMM_OK);
        CHECK_INT(b.far.count, 0);
        CHECK(strcmp(report(&b), "device     cuda: GPU\n") == 0);
        b.device = SPMM_CPU;
        CHECK_INT(sp_find_far_ranks(MPI_COMM_WORLD, &b), SPMM_OK);
        CHECK_INT(b.far.count, 0);
    }
    TEST("ranks far from their GPU are counted on all ranks, and the first one's cores and GPU are told") {
        /* the far ranks are all ranks but rank 0; if rank 0 is the only rank, it is far */
        const int first = size > 1, far = test_.rank >= first;
        int theirs = package;
        MPI_Bcast(&theirs, 1, MPI_INT, first, MPI_COMM_WORLD);
        b.device = SPMM_CUDA;
        snprintf(b.gpu.pci, sizeof b.gpu.pci, "%s", PCI[far ? !package : package]);
        CHECK_INT(sp_find_far_ranks(MPI_COMM_WORLD, &b), SPMM_OK);
        CHECK_INT(b.far.count, size - first);
        snprintf(expected, sizeof expected,
                 "far from their GPU: %d of %d rank%s; rank %d is on cores %s, its GPU near cores %s",
                 size - first, size, size == 1 ? "" : "s", first, b.far.near.bound,
                 theirs ? "0-3 (NUMA 0)" : "4-7 (NUMA 1)");
        CHECK_TEXT(report(&b), expected);
    }
}

int main(int argc, char **argv)
{
    int size;
    test_mpi_begin(&argc, &argv, &size);
    unsetenv("HWLOC_COMPONENTS"); /* set by tests/env.sh; it would override HWLOC_XMLFILE */
    setenv("HWLOC_XMLFILE", "tests/topology.xml", 1);
    setenv("HWLOC_THISSYSTEM", "1", 1);
    const int core = bind_to_first();
    if (core < 0 || core > 7) {
        SKIP("what a report says about cores and GPUs", "the first core here is none of tests/topology.xml");
        return test_mpi_end();
    }
    test_cores();
    if (sp_topology_built())
        test_far(core / 4, size);
    else
        SKIP("what a report says about ranks that are far from their GPU", "this build is without hwloc");
    return test_mpi_end();
}
