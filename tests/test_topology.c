/** The topology of made-up machines: tests/topology.xml has two packages of two cores of two hardware
 *  threads, a GPU near each package and one near neither; the other machines are synthetic topologies of
 *  hwloc. */
#define TEST_TRAPS 0 /* hwloc reads XML by libxml2, which computes a NaN */
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/topology.h"
#include "test.h"

enum { MOST = 16 };
static const char XML[] = "HWLOC_XMLFILE", SYNTHETIC[] = "HWLOC_SYNTHETIC";

/** The answers of a forked process that has not examined the machine before. */
typedef struct answer {
    int64_t last;
    int cores, known;
    sp_nearness near; /* to `pci` */
} answer;

/** Asks a forked process about the machine that the environment variable describes; `variable` NULL: about
 *  this one.
 *  \param [in] cpu  this machine's CPU to which the process is bound; -1: it is unbound, on a made-up
 *                   machine */
static answer ask(const char *variable, const char *value, int cpu, const char *pci)
{
    answer a = {.last = -1};
    int ends[2];
    if (pipe(ends) != 0) return a;
    const pid_t child = fork();
    if (child == 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        unsetenv("HWLOC_COMPONENTS"); /* set by tests/env.sh; it would override the variable */
        if (variable) setenv(variable, value, 1);
        if (cpu >= 0) {
            CPU_SET(cpu, &set);
            setenv("HWLOC_THISSYSTEM", "1", 1);
            if (sched_setaffinity(0, sizeof set, &set) != 0) _exit(1);
        }
        a = (answer){sp_last_cache_bytes(), sp_topology_cores(), .known = 0};
        a.known = sp_topology_near(pci, &a.near);
        _exit(write(ends[1], &a, sizeof a) != sizeof a);
    }
    close(ends[1]);
    if (read(ends[0], &a, sizeof a) != sizeof a) a.last = -1;
    close(ends[0]);
    waitpid(child, NULL, 0);
    return a;
}

/** Returns the number of the first or the last core that this process may use. */
static int bound_core(int last)
{
    int found = -1;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return -1;
    for (int i = 0; i < CPU_SETSIZE && (last || found < 0); i++)
        if (CPU_ISSET(i, &set)) found = i;
    return found;
}

static int is_zero(const sp_nearness *near)
{
    const sp_nearness zero = {.far = 0};
    return memcmp(near, &zero, sizeof zero) == 0;
}

static void test_cores(void)
{
    TEST("cores are not their hardware threads") {
        answer a = ask(SYNTHETIC, "numa:2 l3:1(size=48MiB) l2:4(size=1MiB) core:1 pu:2", -1, "");
        CHECK_INT(a.cores, 8);
        a = ask(SYNTHETIC, "pack:2 l3:3(size=16MiB) core:4 pu:1", -1, "");
        CHECK_INT(a.cores, 24);
        a = ask(SYNTHETIC, "pack:1 l2:2(size=8MiB) l1i:1(size=64MiB) core:12 pu:4", -1, "");
        CHECK_INT(a.cores, 24);
    }
    TEST("without cores none are known") {
        const answer a = ask(SYNTHETIC, "numa:2 pu:4", -1, "");
        CHECK_INT(a.cores, 0);
        CHECK(a.last > 0);
    }
}

static void test_near(void)
{
    TEST("the cores near a GPU are those of its package, however its bus id is written") {
        answer a = ask(XML, "tests/topology.xml", -1, "0000:01:00.0");
        CHECK_INT(a.known, 1);
        CHECK(strcmp(a.near.cores, "0-3") == 0 && strcmp(a.near.numa, "0") == 0);
        CHECK(strcmp(a.near.bound, "0-7") == 0 && a.near.far == 0);
        a = ask(XML, "tests/topology.xml", -1, "00000000:00:00.0");
        CHECK_INT(a.known, 1);
        CHECK(strcmp(a.near.cores, "4-7") == 0 && strcmp(a.near.numa, "1") == 0);
        CHECK_INT(a.cores, 4);
    }
    TEST("of a GPU that is at no package, that is not there or that has no bus id nothing is known") {
        static const char *const pci[] = {"0000:81:00.0", "0000:02:00.0", "1:2", ""};
        for (int i = 0; i < 4; i++) {
            const answer a = ask(XML, "tests/topology.xml", -1, pci[i]);
            CHECK(a.last > 0 && a.known == 0 && is_zero(&a.near));
        }
    }
}

static void test_binding(int core)
{
    char text[MOST];
    snprintf(text, sizeof text, "%d", core);
    TEST("a process that is bound to one core has that one, and is far from the GPUs of other packages") {
        const answer zero = ask(XML, "tests/topology.xml", core, "0000:01:00.0");
        const answer one = ask(XML, "tests/topology.xml", core, "0000:00:00.0");
        CHECK_INT(zero.cores, 1);
        CHECK(strcmp(zero.near.bound, text) == 0 && strcmp(one.near.bound, text) == 0);
        CHECK_INT(zero.near.far, core > 3);
        CHECK_INT(one.near.far, core < 4);
    }
}

int main(void)
{
    const int core = bound_core(0);
    const answer here = ask(NULL, NULL, bound_core(1), "");
    TEST("this machine has a last-level cache of some size") {
        CHECK(here.last >= 64 << 10);
        CHECK_INT(here.known, 0);
        CHECK(is_zero(&here.near));
    }
    if (!sp_topology_built()) {
        SKIP("machines that hwloc makes up", "this build is without hwloc");
        return test_end();
    }
    TEST("a process that is bound to one core has no more") { CHECK(here.cores <= 1); }
    test_cores();
    test_near();
    if (core >= 0 && core < 8)
        test_binding(core);
    else
        SKIP("a process that is bound to one core has that one", "the first core here has a higher number");
    return test_end();
}
