/* MPI: 1 3, limit: 120. How much memory is left: limits of control groups in made-up trees, allocations that
 * are not touched, ranks that share a node. */
#include <malloc.h>
#include <pthread.h>
#include <sys/stat.h>

#include "base/budget.h"
#include "base/cgroup.h"
#include "base/memory.h"
#include "comm/comm.h"
#include "files.h"
#include "test_mpi.h"

static int ranks, trees;

#define MB(n) ((int64_t)(n)*1000000)

/* ---- control groups ---- */

/** Creates the root folder of a new tree of control groups, and writes its name to root[600]. */
static void new_tree(char *root)
{
    snprintf(root, 600, "%s/tree%d", folder, trees++);
    if (mkdir(root, 0700) != 0) exit(1);
}

/** Writes a file below root, with the folders that it needs. */
static void put(const char *root, const char *name, const char *text)
{
    char file[1400];
    snprintf(file, sizeof file, "%s/%s", root, name);
    for (char *p = file + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = 0;
        mkdir(file, 0700);
    }
    write_file(file, text, strlen(text));
}

/** Writes a group of version 2: its limit (text), use and page cache, in MB. */
static void put_v2(const char *root, const char *group, const char *most, int used, int cache)
{
    char name[600], text[200];
    snprintf(name, sizeof name, "sys/fs/cgroup%s/memory.max", group);
    put(root, name, most);
    snprintf(name, sizeof name, "sys/fs/cgroup%s/memory.current", group);
    snprintf(text, sizeof text, "%lld\n", (long long)MB(used));
    put(root, name, text);
    snprintf(name, sizeof name, "sys/fs/cgroup%s/memory.stat", group);
    snprintf(text, sizeof text, "anon 5\nfile 7\nfile_mapped 0\ninactive_file %lld\nactive_file 0\n",
             (long long)MB(cache));
    put(root, name, text);
}

static void put_v1(const char *root, const char *point, const char *group, const char *limit, int used,
                   const char *stat)
{
    char name[600], text[200];
    snprintf(name, sizeof name, "%s%s/memory.limit_in_bytes", point, group);
    put(root, name, limit);
    snprintf(name, sizeof name, "%s%s/memory.usage_in_bytes", point, group);
    snprintf(text, sizeof text, "%lld\n", (long long)MB(used));
    put(root, name, text);
    snprintf(name, sizeof name, "%s%s/memory.stat", point, group);
    put(root, name, stat);
}

static const char v2_mount[] =
    "24 1 0:22 / /proc rw,nosuid - proc proc rw\n"
    "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
static const char no_limit[] = "9223372036854771712\n";

static void test_v2(void)
{
    char root[600];
    new_tree(root);
    put(root, "proc/self/cgroup", "0::/slurm/job_7/step_0/user\n");
    put(root, "proc/self/mountinfo", v2_mount);
    put_v2(root, "/slurm/job_7/step_0/user", "max\n", 300, 0);
    TEST("without a limit in any group there is none") {
        const sp_cgroup_room room = sp_cgroup_look(root);
        CHECK(room.bytes == INT64_MAX && room.group == 0);
    }
    TEST("a limit of a group above the process's own one counts, and page cache is free") {
        put_v2(root, "/slurm/job_7", "1000000000\n", 600, 100);
        put_v2(root, "/slurm", "90000000000\n", 700, 100);
        CHECK_INT(sp_cgroup_look(root).bytes, MB(500));
        const uint64_t job = sp_cgroup_look(root).group;
        put_v2(root, "/slurm/job_7/step_0/user", "400000000\n", 300, 0);
        CHECK_INT(sp_cgroup_look(root).bytes, MB(100));
        CHECK(job != 0 && sp_cgroup_look(root).group != job);
        put_v2(root, "/slurm/job_7/step_0/user", "max\n", 300, 0);
        CHECK(sp_cgroup_look(root).group == job);
        put(root, "proc/self/cgroup", "0::/slurm/job_7/step_1\n"); /* another cgroup under the same limit */
        CHECK_INT(mkdir(strcat(strcpy((char[700]){0}, root), "/sys/fs/cgroup/slurm/job_7/step_1"), 0700), 0);
        CHECK(sp_cgroup_look(root).group == job);
    }
    TEST("memory.high is a limit too; what is over it leaves nothing") {
        put(root, "sys/fs/cgroup/slurm/job_7/memory.high", "650000000\n");
        CHECK_INT(sp_cgroup_look(root).bytes, MB(150));
        put(root, "sys/fs/cgroup/slurm/job_7/memory.high", "1000\n");
        CHECK_INT(sp_cgroup_look(root).bytes, 0);
        put_v2(root, "/slurm/job_7", "500000000\n", 600, 0);
        CHECK_INT(sp_cgroup_look(root).bytes, 0);
    }
    TEST("page cache that is in programs' maps is not free, other page cache is, however often it was read") {
        put(root, "sys/fs/cgroup/slurm/job_7/memory.high", "max\n");
        put_v2(root, "/slurm/job_7", "1000000000\n", 600, 0);
        put(root, "sys/fs/cgroup/slurm/job_7/memory.stat",
            "inactive_file 100000000\nactive_file 50000000\nfile_mapped 30000000\nworkingset 900000000\n");
        CHECK_INT(sp_cgroup_look(root).bytes, MB(520));
    }
    TEST("without the files, or with others' ones, there is no limit") {
        new_tree(root);
        CHECK(sp_cgroup_look(root).bytes == INT64_MAX);
        put(root, "proc/self/cgroup", "");
        put(root, "proc/self/mountinfo", "x\n - \n31 23 0:28 / /sys/fs/cgroup\n");
        CHECK(sp_cgroup_look(root).bytes == INT64_MAX);
        put(root, "proc/self/cgroup", "0::/a\n12\n:\n");
        put(root, "proc/self/mountinfo", v2_mount);
        CHECK(sp_cgroup_look(root).bytes == INT64_MAX);
    }
}

static void test_mounts(void)
{
    char root[600];
    TEST("in a container whose groups are a part of the host's, the part is where the mount says") {
        new_tree(root);
        put(root, "proc/self/cgroup", "0::/docker/abc/worker\n");
        put(root, "proc/self/mountinfo", "31 23 0:28 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
        put_v2(root, "/worker", "800000000\n", 300, 0);
        put_v2(root, "", "700000000\n", 400, 50);
        CHECK_INT(sp_cgroup_look(root).bytes, MB(350));
    }
    TEST("a group that cannot be seen is looked for at the mount point: other names, other namespaces") {
        static const char *const own[] = {"0::/docker/abc\n", "0::/../../other\n", "0::/abc/../..\n",
                                          "0::/\n"};
        new_tree(root);
        put(root, "proc/self/mountinfo", v2_mount);
        put_v2(root, "", "700000000\n", 400, 50);
        put_v2(root, "/other", "500000000\n", 400, 0); /* not this process's group */
        for (int k = 0; k < 4; k++) {
            put(root, "proc/self/cgroup", own[k]);
            CHECK_INT(sp_cgroup_look(root).bytes, MB(350));
        }
    }
}

static void test_v1(void)
{
    const char point[] = "mnt/a b",
               stat[] = "cache 1\ntotal_inactive_file 20000000\ntotal_active_file 10000000\n";
    char root[600];
    new_tree(root);
    put(root, "proc/self/cgroup", "9:name=systemd:/x\n4:hugetlb,memory:/pbs/12\n1:cpu:/y\n0::/\n");
    put(root, "proc/self/mountinfo",
        "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
        "35 31 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
        "36 31 0:32 / /mnt/a\\040b rw,relatime shared:3 - cgroup cgroup rw,hugetlb,memory\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n");
    TEST("version 1 has its limits where its memory controller is mounted, also beside version 2") {
        put_v1(root, point, "/pbs/12", no_limit, 100, stat);
        put_v1(root, point, "/pbs", no_limit, 100, stat);
        put_v1(root, point, "", no_limit, 100, stat);
        CHECK(sp_cgroup_look(root).bytes == INT64_MAX);
        put_v1(root, point, "/pbs", "900000000\n", 500, stat);
        CHECK_INT(sp_cgroup_look(root).bytes, MB(430));
        put_v1(root, point, "/pbs/12", "300000000\n", 100, stat);
        CHECK_INT(sp_cgroup_look(root).bytes, MB(230));
        put(root, "sys/fs/cgroup/unified/memory.max", "200000000\n");
        put(root, "sys/fs/cgroup/unified/memory.current", "50000000\n");
        CHECK_INT(sp_cgroup_look(root).bytes, MB(150));
        put(root, "sys/fs/cgroup/unified/memory.max", "max\n");
    }
    TEST("groups above the mount point show in hierarchical_memory_limit") {
        put_v1(root, point, "/pbs/12", no_limit, 100, "hierarchical_memory_limit 170000000\n");
        CHECK_INT(sp_cgroup_look(root).bytes, MB(70));
        put_v1(root, point, "/pbs/12", no_limit, 100, stat);
    }
    TEST("groups that do not count what is below them set no limit") {
        CHECK_INT(sp_cgroup_look(root).bytes, MB(430));
        put(root, "mnt/a b/pbs/memory.use_hierarchy", "1\n");
        CHECK_INT(sp_cgroup_look(root).bytes, MB(430));
        put(root, "mnt/a b/pbs/memory.use_hierarchy", "0\n");
        CHECK(sp_cgroup_look(root).bytes == INT64_MAX);
    }
}

/* ---- CPU time ---- */

static void quota(const char *root, const char *name, const char *text, int cores)
{
    put(root, name, text);
    CHECK_INT(sp_cgroup_cores(root), cores);
}

static void test_cores(void)
{
    char root[600];
    new_tree(root);
    put(root, "proc/self/mountinfo", v2_mount);
    put(root, "proc/self/cgroup", "0::/slurm/job_7/user\n");
    TEST("the least quota of CPU time of all groups above the process is whole cores, rounded up") {
        CHECK_INT(sp_cgroup_cores(root), 0);
        quota(root, "sys/fs/cgroup/slurm/job_7/user/cpu.max", "max 100000\n", 0);
        quota(root, "sys/fs/cgroup/slurm/cpu.max", "650000 100000\n", 7);
        quota(root, "sys/fs/cgroup/slurm/job_7/cpu.max", "150000 100000\n", 2);
        quota(root, "sys/fs/cgroup/slurm/job_7/user/cpu.max", "800000 100000\n", 2);
        quota(root, "sys/fs/cgroup/slurm/job_7/user/cpu.max", "10000 100000\n", 1);
        quota(root, "sys/fs/cgroup/slurm/job_7/user/cpu.max", "", 2);
        quota(root, "sys/fs/cgroup/slurm/job_7/user/cpu.max", "-1 100000\n", 2);
    }
    TEST("version 1 has it in two files, where its CPU controller is mounted") {
        new_tree(root);
        put(root, "proc/self/cgroup", "4:memory:/x\n1:cpu,cpuacct:/job/step\n0::/\n");
        put(root, "proc/self/mountinfo", "35 31 0:31 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
        put(root, "cg/cpu/job/cpu.cfs_period_us", "100000\n");
        quota(root, "cg/cpu/job/cpu.cfs_quota_us", "-1\n", 0);
        put(root, "cg/cpu/job/step/cpu.cfs_period_us", "50000\n");
        quota(root, "cg/cpu/job/step/cpu.cfs_quota_us", "200000\n", 4);
        quota(root, "cg/cpu/job/cpu.cfs_quota_us", "300000\n", 3);
    }
}

/* ---- allocations ---- */

/** Keeps and drops the same memory many times; several threads do this at once. */
static void *keep_often(void *p)
{
    for (int i = 0; i < 2000; i++) {
        sp_kept kept;
        sp_keep(&kept, p);
        sp_drop(&kept);
    }
    return NULL;
}

static void test_kept(void)
{
    enum { BYTES = 8 << 20 };
    sp_kept one, two, other;
    void *p, *q;
    TEST("kept memory is freed by the last of its users, in any order") {
        for (int last = 0; last < 3; last++) {
            CHECK_INT(sp_alloc_zero(&p, BYTES, 1, "a test"), SPMM_OK);
            const int64_t before = (int64_t)mallinfo2().hblkhd;
            sp_keep(&one, p);
            sp_keep(&two, p);
            if (last != 0) sp_free(p);
            if (last != 1) sp_drop(&one);
            if (last != 2) sp_drop(&two);
            if (!TEST_SANITIZED) CHECK_INT((int64_t)mallinfo2().hblkhd, before);
            CHECK(((char *)p)[BYTES - 1] == 0);
            if (last == 0) sp_free(p);
            if (last == 1) sp_drop(&one);
            if (last == 2) sp_drop(&two);
            if (!TEST_SANITIZED) CHECK((int64_t)mallinfo2().hblkhd <= before - BYTES);
        }
    }
    TEST("memory that sp_free() does not free, and NULL, are kept without effect") {
        char mine[8] = "mine";
        sp_keep(&one, mine);
        sp_keep(&two, NULL);
        CHECK_INT(sp_alloc(&q, 8, 1, "a test"), SPMM_OK);
        sp_keep(&other, q);
        sp_free(q);
        sp_drop(&one);
        sp_drop(&two);
        sp_drop(&other);
        sp_drop(&other);
        CHECK_TEXT(mine, "mine");
    }
    TEST("threads keep, drop and free the same memory") {
        pthread_t thread[3];
        CHECK_INT(sp_alloc_zero(&p, BYTES, 1, "a test"), SPMM_OK);
        sp_keep(&one, p);
        for (int i = 0; i < 3; i++) CHECK_INT(pthread_create(&thread[i], NULL, keep_often, p), 0);
        sp_free(p);
        for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);
        CHECK(((char *)p)[BYTES - 1] == 0);
        sp_drop(&one);
    }
}

/** Allocates this share of the memory that is left, and touches none of it. */
static spmm_status allocate(double room, double share, void **p)
{
    return sp_alloc(p, (int64_t)(room * share), 1, "a part of what is left");
}

static void test_untouched(void)
{
    const double room = (double)sp_available_bytes();
    void *p[3] = {NULL, NULL, NULL};
    TEST("what was allocated counts before it is touched, and no more when it is freed") {
        for (int round = 0; round < 3; round++) {
            CHECK_INT(allocate(room, 0.6, &p[0]), SPMM_OK);
            CHECK_ERROR(allocate(room, 0.6, &p[1]), SPMM_ERR_MEMORY, "for a part of what is left: ");
            CHECK_TEXT(spmm_error_message(), " are available (SPMM_MEMORY_CHECK=0 tries anyway)");
            CHECK(p[1] == NULL);
            CHECK((double)sp_available_bytes() < 0.5 * room);
            sp_free(p[0]);
            CHECK((double)sp_available_bytes() > 0.8 * room);
        }
    }
    TEST("many small pieces are held against what is left together") {
        enum { PIECES = 64 };
        void *piece[PIECES] = {NULL};
        int made = 0;
        while (made < PIECES && allocate(room, 0.03, &piece[made]) == SPMM_OK) made++;
        CHECK(made > 25 && made < 40);
        for (int k = 0; k < made; k++) sp_free(piece[k]);
    }
    TEST("the part that went back to the system counts no more, before the rest is freed and after") {
        CHECK_INT(allocate(room, 0.8, &p[0]), SPMM_OK);
        sp_release_tail(p[0], (size_t)(0.1 * room), (size_t)(0.8 * room));
        CHECK_INT(allocate(room, 0.6, &p[1]), SPMM_OK);
        CHECK_INT(allocate(room, 0.6, &p[2]), SPMM_ERR_MEMORY);
        sp_free(p[0]);
        sp_free(p[1]);
        CHECK((double)sp_available_bytes() > 0.8 * room);
        CHECK_INT(allocate(room, 0.6, &p[0]), SPMM_OK);
        CHECK_INT(allocate(room, 0.6, &p[1]), SPMM_ERR_MEMORY);
        sp_free(p[0]);
    }
    TEST("a step that says what it will need is refused at once, or not at all") {
        CHECK_INT(sp_memory_needs(0.7 * room, "three arrays"), SPMM_OK);
        CHECK_INT(sp_memory_needs(0.7 * room, "three arrays"), SPMM_OK); /* the first call reserved nothing */
        CHECK_ERROR(sp_memory_needs(1.2 * room, "three arrays"), SPMM_ERR_MEMORY, "for three arrays: ");
        CHECK_INT(sp_memory_needs(1e30, "three arrays"), SPMM_ERR_MEMORY);
        setenv("SPMM_MEMORY_CHECK", "0", 1);
        CHECK_INT(sp_memory_needs(1e30, "three arrays"), SPMM_OK);
        unsetenv("SPMM_MEMORY_CHECK");
    }
}

static void test_shared(void)
{
    sp_shared_memory memory = {0};
    void *p = NULL;
    int made, count;
    TEST("ranks that share a node share what is left of it, whoever asks first") {
        CHECK_INT(sp_share_memory(MPI_COMM_WORLD, &memory), SPMM_OK);
        CHECK_INT(sp_budget_sharers(), ranks);
        double room = (double)sp_available_bytes();
        MPI_Bcast(&room, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        for (int round = 0; round < 20; round++) {
            MPI_Barrier(MPI_COMM_WORLD);
            made = allocate(room, 0.4, &p) == SPMM_OK;
            MPI_Allreduce(&made, &count, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            CHECK_INT(count, ranks < 2 ? ranks : 2);
            if (made) sp_free(p);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK((double)sp_available_bytes() > 0.8 * room);
        sp_unshare_memory(&memory);
        CHECK_INT(sp_budget_sharers(), 1);
    }
}

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &ranks);
    files_begin("");
    test_v2();
    test_mounts();
    test_v1();
    test_cores();
    test_kept();
    if (TEST_SANITIZED) {
        SKIP("allocations are held against what is left", "the sanitizer has memory of its own");
    } else {
        if (ranks == 1) test_untouched();
        test_shared();
    }
    files_end();
    return test_mpi_end();
}
