/* Environment variables and numbers of threads: what is accepted, what is refused, and messages with what is
 * expected. */
#include <omp.h>

#include "base/cpu_isa.h"
#include "base/environment.h"
#include "base/threads.h"
#include "test.h"

static const char *const variables[] = {"SPMM_CHUNK_BYTES", "SPMM_READ_CHUNK_BYTES",
                                        "SPMM_TILE_EDGE",   "SPMM_MEMORY_CHECK",
                                        "SPMM_ISA",         "SPMM_FAULT"};

static void taken(const char *name, const char *value)
{
    setenv(name, value, 1);
    CHECK_INT(sp_environment_check(), SPMM_OK);
    unsetenv(name);
}

static void refused(const char *name, const char *value, const char *part)
{
    setenv(name, value, 1);
    CHECK_ERROR(sp_environment_check(), SPMM_ERR_USAGE, name);
    CHECK_TEXT(spmm_error_message(), part);
    unsetenv(name);
}

static void told(const char *text, int expected)
{
    int threads = -1;
    setenv("OMP_NUM_THREADS", text, 1);
    CHECK_INT(sp_threads_told(&threads), SPMM_OK);
    CHECK_INT(threads, expected);
}

static void mistold(const char *text, const char *part)
{
    int threads;
    setenv("OMP_NUM_THREADS", text, 1);
    CHECK_ERROR(sp_threads_told(&threads), SPMM_ERR_USAGE, "OMP_NUM_THREADS=");
    CHECK_TEXT(spmm_error_message(), part);
}

static void test_names(void)
{
    TEST("an empty value is none, and names of others are left alone") {
        for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) taken(variables[i], "");
        taken("SPMM_MPI", "/bin/true");
        taken("SPMM_HOME", "/opt/spmm");
        taken("SPMM_INC", "/opt/spmm/include");
    }
    TEST("the library's functions refuse it, too, before they read") {
        spmm_csr a;
        setenv("SPMM_READ_CHUNK_BYTES", "many", 1);
        CHECK_ERROR(spmm_csr_read("/no/such/file", SPMM_F64, &a), SPMM_ERR_USAGE,
                    "SPMM_READ_CHUNK_BYTES=many");
        unsetenv("SPMM_READ_CHUNK_BYTES");
        CHECK_INT(spmm_csr_read("/no/such/file", SPMM_F64, &a), SPMM_ERR_OPEN);
    }
}

static void test_values(void)
{
    TEST("numbers keep to their range, of which the message tells") {
        for (int i = 0; i < 3; i++) {
            taken(variables[i], "1");
            taken(variables[i], "1048576");
            refused(variables[i], "0", "=0: expected a whole number from 1 to 1");
            refused(variables[i], "-5", "expected a whole number");
            refused(variables[i], "1e6", "=1e6: expected");
            refused(variables[i], "4 MiB", "=\"4 MiB\": expected");
            refused(variables[i], "99999999999999999999", "expected a whole number");
        }
        refused("SPMM_CHUNK_BYTES", "1073741825", "from 1 to 1073741824");
        taken("SPMM_MEMORY_CHECK", "0");
        refused("SPMM_MEMORY_CHECK", "no", "from 0 to 1");
    }
    TEST("the value of a number is given, or what stands for none") {
        CHECK_INT(sp_environment_number("SPMM_TILE_EDGE", 7), 7);
        setenv("SPMM_TILE_EDGE", "16", 1);
        CHECK_INT(sp_environment_number("SPMM_TILE_EDGE", 7), 16);
        setenv("SPMM_TILE_EDGE", "16x", 1);
        CHECK_INT(sp_environment_number("SPMM_TILE_EDGE", 7), 7);
        unsetenv("SPMM_TILE_EDGE");
    }
    TEST("instructions are words, and those that the processor has") {
        for (int i = SP_ISA_GENERIC; i <= SP_ISA_AVX512; i++)
            if (i <= (int)sp_machine_isa())
                taken("SPMM_ISA", sp_isa_name((sp_isa)i));
            else
                refused("SPMM_ISA", sp_isa_name((sp_isa)i), sp_isa_name(sp_machine_isa()));
        refused("SPMM_ISA", "sse9", "=sse9: expected one of generic, avx2, avx512");
    }
    TEST("a fault has a stage and a rank") {
        taken("SPMM_FAULT", "place_x:2");
        taken("SPMM_FAULT", "apply:0:wrong");
        taken("SPMM_FAULT", "apply:10:kill");
        taken("SPMM_FAULT", "apply:0:stop");
        for (const char *const *bad = (const char *const[]){"apply", "apply:", ":0", "apply:x",
                                                            "apply:0:", "apply:0:explode", NULL};
             *bad; bad++)
            refused("SPMM_FAULT", *bad, "STAGE:RANK");
    }
}

static void test_threads(void)
{
    const int most = sp_threads_most();
    TEST("threads are bounded by four per core, or 256") {
        CHECK(most >= 256 && most >= 4 * omp_get_num_procs());
        CHECK_INT(sp_threads_check("--threads", 1), SPMM_OK);
        CHECK_INT(sp_threads_check("--threads", most), SPMM_OK);
        for (const int64_t *bad = (const int64_t[]){0, -1, most + 1, 100000, INT64_MAX, 7}; *bad != 7;
             bad++) {
            char bound[32];
            snprintf(bound, sizeof bound, "1 to %d threads", most);
            CHECK_ERROR(sp_threads_check("--threads X", *bad), SPMM_ERR_USAGE, "--threads X: expected");
            CHECK_TEXT(spmm_error_message(), bound);
        }
    }
    TEST("OMP_NUM_THREADS is a number or a list of them, and bounded, too") {
        told("", 0);
        told("3", 3);
        told(" 4 , 2 ", 4);
        told("2,1000000", 2);
        mistold("1000000", "1 to");
        mistold("99999999999999999999999", "1 to");
        mistold("0", "1 to");
        for (const char *const *bad =
                 (const char *const[]){"four", "4x", "4,", ",4", "-1", "4;2", "1.5", NULL};
             *bad; bad++)
            mistold(*bad, "expected a whole number of at least 1, or a list of them such as 4,2");
        unsetenv("OMP_NUM_THREADS");
        int threads = 9;
        CHECK_INT(sp_threads_told(&threads), SPMM_OK);
        CHECK_INT(threads, 0);
    }
    TEST("a program that sets an absurd number of threads reads and makes matrices all the same") {
        spmm_csr a;
        spmm_multivector v;
        const int before = omp_get_max_threads();
        omp_set_num_threads(1000000);
        CHECK_INT(sp_threads_default(), most);
        CHECK_INT(spmm_csr_generate("lap2d5:20", SPMM_F64, &a), SPMM_OK);
        spmm_csr_destroy(&a);
        CHECK_INT(spmm_csr_read("matrices/cage4.mtx", SPMM_F64, &a), SPMM_OK);
        spmm_csr_destroy(&a);
        CHECK_INT(spmm_multivector_create(1000, 3, SPMM_F64, SPMM_CPU, &v), SPMM_OK);
        spmm_multivector_destroy(&v);
        omp_set_num_threads(before);
        CHECK_INT(sp_threads_default(), before);
    }
    TEST("cores are divided among the ranks of a node, by what launchers say") {
        static const struct {
            int cores, quota, node, ranks, threads;
        } cases[] = {{2, 0, 2, 1, 2},    {2, 0, 2, 2, 1},    {2, 0, 2, 4, 1},    {64, 0, 64, 2, 32},
                     {32, 0, 64, 64, 1}, {32, 0, 64, 2, 32}, {32, 0, 64, 4, 16}, {1, 0, 64, 64, 1},
                     {16, 0, 64, 3, 16}, {64, 4, 64, 1, 4},  {64, 4, 64, 2, 2},  {64, 4, 64, 8, 1},
                     {8, 16, 64, 8, 8},  {48, 0, 48, 5, 9},  {4, 0, 0, 2, 2}};
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            CHECK_INT(sp_threads_share(cases[i].cores, cases[i].quota, cases[i].node, cases[i].ranks),
                      cases[i].threads);
        static const char *const launchers[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                                "MV2_COMM_WORLD_LOCAL_SIZE", "SLURM_STEP_TASKS_PER_NODE",
                                                "SLURM_NODEID"};
        char *kept[5];
        for (int i = 0; i < 5; i++) {
            kept[i] = getenv(launchers[i]) ? strdup(getenv(launchers[i])) : NULL;
            unsetenv(launchers[i]);
        }
        CHECK_INT(sp_threads_local_ranks(), 1);
        setenv("SLURM_STEP_TASKS_PER_NODE", "4(x2),3", 1);
        for (int node = 0; node < 4; node++) {
            setenv("SLURM_NODEID", (const char *[]){"0", "1", "2", "3"}[node], 1);
            CHECK_INT(sp_threads_local_ranks(), ((const int[]){4, 4, 3, 1})[node]);
        }
        setenv("SLURM_STEP_TASKS_PER_NODE", "many", 1);
        CHECK_INT(sp_threads_local_ranks(), 1);
        for (int i = 0; i < 3; i++) {
            setenv(launchers[i], "7", 1);
            CHECK_INT(sp_threads_local_ranks(), 7);
            unsetenv(launchers[i]);
        }
        for (int i = 0; i < 5; i++) {
            unsetenv(launchers[i]);
            if (kept[i]) setenv(launchers[i], kept[i], 1);
            free(kept[i]);
        }
    }
}

int main(void)
{
    test_names();
    test_values();
    test_threads();
    return test_end();
}
