#define TEST_TRAPS 0 /* times that are NaN */
#include <sys/stat.h>
#include <sys/wait.h>

#include "files.h"
#include "io/generators.h"
#include "spmm_mpi/tune.h"
#include "sample.h"
#include "test.h"

static const sp_kernel *list[2];

/** Returns the index in `list` of the kernel stored for the key, -1 if there is none. Checks its seconds. */
static int found(const char *key, double seconds)
{
    const sp_kernel *kernel;
    double s = 0;
    CHECK_INT(sp_tune_find(path, key, SPMM_CPU, SPMM_FORMAT_AUTO, &kernel, &s), SPMM_OK);
    if (kernel) CHECK(s == seconds);
    return !kernel ? -1 : kernel == list[0] ? 0 : kernel == list[1] ? 1 : -2;
}

static uint64_t hash_of_parts(const spmm_csr *a, int64_t rows, int threads)
{
    uint64_t sum = 0;
    for (int64_t begin = 0; begin < a->rows; begin += rows) {
        spmm_csr part;
        const int64_t end = begin + rows < a->rows ? begin + rows : a->rows;
        if (sp_csr_rows(a, begin, end, &part) != SPMM_OK) abort();
        sum += sp_structure_hash(&part, begin, threads);
        spmm_csr_destroy(&part);
    }
    return sum;
}

/** Runs 4 processes that store 50 lines each. */
static void crowd(void)
{
    for (int p = 0; p < 4; p++)
        if (fork() == 0) {
            char key[32];
            int bad = 0;
            for (int i = 0; i < 50; i++) {
                snprintf(key, sizeof key, "key %d of %d", i, p);
                bad |= sp_tune_store(path, key, list[p % 2]->id, 1 + i) != SPMM_OK;
            }
            _exit(bad);
        }
    for (int p = 0, status; p < 4; p++) CHECK(wait(&status) > 0 && status == 0);
}

static void test_hash(void)
{
    spmm_csr a = {0};
    TEST("the structure's hash is the same however the rows are cut, and by any number of threads") {
        CHECK_INT(sp_gen_csr("rmat:9,5", SPMM_F64, 1, &a), SPMM_OK);
        const uint64_t whole = sp_structure_hash(&a, 0, 1);
        CHECK(hash_of_parts(&a, 100, 3) == whole && hash_of_parts(&a, 1, 1) == whole);
    }
    TEST("one moved entry, an entry in another row or two exchanged rows change it") {
        const uint64_t whole = sp_structure_hash(&a, 0, 1);
        int64_t i = 0;
        while (a.irp[i + 1] - a.irp[i] < 2 || a.irp[i + 2] == a.irp[i + 1]) i++;
        a.ja[a.irp[i + 1] - 1] ^= 1;
        CHECK(sp_structure_hash(&a, 0, 1) != whole);
        a.ja[a.irp[i + 1] - 1] ^= 1;
        a.irp[i + 1]--;
        CHECK(sp_structure_hash(&a, 0, 1) != whole);
        a.irp[i + 1]++;
        CHECK(sp_structure_hash(&a, 0, 1) == whole && sp_structure_hash(&a, 1, 1) != whole);
        spmm_csr_destroy(&a);
    }
}

static void test_answers(void)
{
    TEST("without a file nothing is known, and nothing is wrong") { CHECK_INT(found("key", 0), -1); }
    TEST("an answer is found again by its whole key alone, the last one counts") {
        CHECK_INT(sp_tune_store(path, "key 1", "cpu_ell", 0.125), SPMM_OK);
        CHECK_INT(sp_tune_store(path, "key 2", "cpu_csr", 3), SPMM_OK);
        CHECK_INT(found("key 1", 0.125), 1);
        CHECK_INT(found("key 2", 3), 0);
        CHECK_INT(found("key", 0), -1);
        CHECK_INT(found("key 11", 0), -1);
        CHECK_INT(sp_tune_store(path, "key 1", "cpu_csr", 0.0625), SPMM_OK);
        CHECK_INT(found("key 1", 0.0625), 0);
    }
    TEST("a kernel for another device or format is no answer") {
        const sp_kernel *kernel;
        double s;
        CHECK_INT(sp_tune_find(path, "key 2", SPMM_CPU, SPMM_CSR, &kernel, &s), SPMM_OK);
        CHECK(kernel == list[0]);
        CHECK_INT(sp_tune_find(path, "key 2", SPMM_CPU, SPMM_ELL, &kernel, &s), SPMM_OK);
        CHECK(kernel == NULL);
        CHECK_INT(sp_tune_find(path, "key 2", SPMM_CUDA, SPMM_FORMAT_AUTO, &kernel, &s), SPMM_OK);
        CHECK(kernel == NULL);
    }
    TEST("damaged lines are as if not there, and what is added behind half a line is whole") {
        static const char *const damaged[] = {"",
                                              "\n\n\n",
                                              "key\n",
                                              "key\tcpu_csr\n",
                                              "key\tcpu_csr\t\n",
                                              "key\t\t",
                                              "key\tcpu_csr\tx\n",
                                              "key\tcpu_csr\t-1\n",
                                              "key\tcpu_csr\tnan\n",
                                              "key\tno_such\t1\n",
                                              "key\tcpu_",
                                              "key\tcpu_csr\t1",
                                              "\tcpu_csr\t1\n",
                                              "key\tcpu_csr\t1\tmore\n",
                                              "key\tcpu_csr\t1e999\n"};
        for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
            write_bytes(damaged[i], strlen(damaged[i]));
            CHECK_INT(found("key", 0), -1);
            CHECK_INT(sp_tune_store(path, "key", "cpu_ell", 2), SPMM_OK);
            CHECK_INT(found("key", 2), 1);
        }
        FILE *f = fopen(path, "w");
        for (int i = 0; i < 5000; i++) fputc(i * 7919 % 256, f);
        fclose(f);
        CHECK_INT(sp_tune_store(path, "key", "cpu_ell", 2), SPMM_OK);
        CHECK_INT(found("key", 2), 1);
    }
}

static void test_sharing(void)
{
    TEST("processes that write at the same time do not spoil each other's lines") {
        write_bytes("", 0);
        crowd();
        for (int p = 0; p < 4; p++)
            for (int i = 0; i < 50; i++) {
                char key[32];
                snprintf(key, sizeof key, "key %d of %d", i, p);
                CHECK_INT(found(key, 1 + i), p % 2);
            }
    }
    TEST("folders are made; a folder, a pipe and a file beyond any use are refused by name") {
        char deep[400];
        const sp_kernel *kernel;
        double s;
        snprintf(deep, sizeof deep, "%s/a/b/tune", folder);
        CHECK_INT(sp_tune_store(deep, "key", "cpu_csr", 1), SPMM_OK);
        CHECK_INT(sp_tune_find(deep, "key", SPMM_CPU, SPMM_FORMAT_AUTO, &kernel, &s), SPMM_OK);
        CHECK(kernel == list[0]);
        remove(deep);
        CHECK_INT(mkfifo(deep, 0600), 0);
        CHECK_INT(sp_tune_find(deep, "key", SPMM_CPU, SPMM_FORMAT_AUTO, &kernel, &s), SPMM_ERR_OPEN);
        CHECK_INT(sp_tune_store(deep, "key", "cpu_csr", 1), SPMM_ERR_OUTPUT);
        CHECK_TEXT(spmm_error_message(), deep);
        CHECK_INT(sp_tune_find(folder, "key", SPMM_CPU, SPMM_FORMAT_AUTO, &kernel, &s), SPMM_ERR_OPEN);
        CHECK_INT(sp_tune_store(folder, "key", "cpu_csr", 1), SPMM_ERR_OUTPUT);
        CHECK_INT(sp_tune_store("/proc/no/such", "key", "cpu_csr", 1), SPMM_ERR_OUTPUT);
        CHECK_INT(truncate(path, 1 << 30), 0);
        CHECK_INT(sp_tune_find(path, "key", SPMM_CPU, SPMM_FORMAT_AUTO, &kernel, &s), SPMM_ERR_LIMIT);
    }
}

static void test_names(void)
{
    TEST("the file is SPMM_TUNE_CACHE, or under XDG_CACHE_HOME, or under HOME") {
        char text[64];
        unsetenv("SPMM_TUNE_CACHE");
        unsetenv("XDG_CACHE_HOME");
        setenv("HOME", "/h", 1);
        CHECK(sp_tune_path(text, sizeof text) == SPMM_OK && strcmp(text, "/h/.cache/spmm_mpi/tune") == 0);
        setenv("XDG_CACHE_HOME", "relative", 1);
        CHECK(sp_tune_path(text, sizeof text) == SPMM_OK && strcmp(text, "/h/.cache/spmm_mpi/tune") == 0);
        setenv("XDG_CACHE_HOME", "/x", 1);
        CHECK(sp_tune_path(text, sizeof text) == SPMM_OK && strcmp(text, "/x/spmm_mpi/tune") == 0);
        setenv("SPMM_TUNE_CACHE", "f", 1);
        CHECK(sp_tune_path(text, sizeof text) == SPMM_OK && strcmp(text, "f") == 0);
        setenv("SPMM_TUNE_CACHE", "", 1);
        CHECK(sp_tune_path(text, sizeof text) == SPMM_OK && text[0] == '\0');
        unsetenv("SPMM_TUNE_CACHE");
        unsetenv("XDG_CACHE_HOME");
        unsetenv("HOME");
        CHECK_INT(sp_tune_path(text, sizeof text), SPMM_ERR_OPEN);
        setenv("HOME", "relative/home", 1);
        CHECK_INT(sp_tune_path(text, sizeof text), SPMM_ERR_OPEN);
        setenv("HOME", "/a/name/that/is/far/too/long/for/the/place/that/was/made/for/it", 1);
        CHECK_INT(sp_tune_path(text, sizeof text), SPMM_ERR_OPEN);
    }
    TEST("the processor has a name of one line") {
        char name[128];
        CHECK(sp_cpu_name(name, sizeof name)[0] && !strpbrk(name, "\t\n"));
    }
}

int main(void)
{
    files_begin("tune");
    list[0] = sp_kernel_find("cpu_csr");
    list[1] = sp_kernel_find("cpu_ell");
    test_hash();
    test_answers();
    test_sharing();
    test_names();
    files_end();
    return test_end();
}
