/** Runs every input of tests/fuzz/corpus.tar.gz, which the build unpacks, through its fuzz target: past
 *  failures stay tested, with any compiler. A target aborts on an error; then the input's name is printed.
 *  limit: 300 */
#define TEST_TRAPS 0 /* files contain NaNs */
#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "test.h"

static char input[512];

/** Prints the name of the input; async-signal-safe. */
static void name_input(int signal_number)
{
    static const char before[] = "the input is ";
    (void)!write(1, before, sizeof before - 1);
    (void)!write(1, input, strlen(input));
    (void)!write(1, "\n", 1);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void run_file(int (*target)(const uint8_t *, size_t))
{
    static uint8_t data[1 << 20];
    FILE *const f = fopen(input, "rb");
    CHECK(f != NULL);
    if (!f) return;
    const size_t n = fread(data, 1, sizeof data, f);
    fclose(f);
    CHECK(n < sizeof data);
    /* an array of exactly this length, so that a sanitizer reports reads behind it */
    uint8_t *const exact = malloc(n ? n : 1);
    CHECK(exact != NULL);
    if (!exact) return;
    memcpy(exact, data, n);
    target(exact, n);
    free(exact);
}

static void run_folder(const char *name, int (*target)(const uint8_t *, size_t))
{
    char folder[256];
    snprintf(folder, sizeof folder, "%s/fuzz-corpus/%s", getenv("BUILD") ? getenv("BUILD") : "build/cpu",
             name);
    TEST(test_name("%s gets through its corpus", name)) {
        int files = 0;
        DIR *const d = opendir(folder);
        for (struct dirent *e; d && (e = readdir(d));) {
            if (e->d_name[0] == '.') continue;
            snprintf(input, sizeof input, "%s/%s", folder, e->d_name);
            run_file(target);
            files++;
        }
        if (d) closedir(d);
        CHECK(files > 0);
    }
}

/** Runs inputs of 0 bytes up to a whole head: a target must accept any input. */
static void run_short(int (*target)(const uint8_t *, size_t))
{
    static const uint8_t data[] = "000@";
    for (size_t n = 0; n <= FUZZ_HEAD; n++) {
        snprintf(input, sizeof input, "%zu bytes", n);
        target(data, n);
    }
}

int main(void)
{
    signal(SIGABRT, name_input);
    signal(SIGSEGV, name_input);
    signal(SIGFPE, name_input);
#define RUN(name)                           \
    run_folder("fuzz_" #name, fuzz_##name); \
    run_short(fuzz_##name);
    FUZZ_TARGETS(RUN)
    return test_end();
}
