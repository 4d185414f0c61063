/** The tuning file: the input's first line is the key to look up, the rest the file. An added answer is
 *  found, whatever the file contained. */
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spmm_mpi/tune.h"

static spmm_status find(const char *path, const char *key, int *index, double *seconds)
{
    const sp_kernel *found = NULL;
    int count;
    const sp_kernel *const all = sp_kernels(&count);
    spmm_status status = sp_tune_find(path, key, SPMM_CPU, SPMM_FORMAT_AUTO, &found, seconds);
    if (status == SPMM_OK && !found)
        status = sp_tune_find(path, key, SPMM_CUDA, SPMM_FORMAT_AUTO, &found, seconds);
    *index = found ? (int)(found - all) : -1;
    FUZZ_CHECK(*index >= -1 && *index < count);
    if (*index >= 0) FUZZ_CHECK(*seconds >= 0 && isfinite(*seconds));
    return status;
}

static void check_faults(const fuzz_input *in, const char *path, const char *key, int expected)
{
    int index;
    double seconds = 0;
    fuzz_fault_on(in);
    const spmm_status status = find(path, key, &index, &seconds);
    fuzz_fault_off();
    if (status != SPMM_OK)
        fuzz_refused(status, path, FUZZ_ANY);
    else if (in->fault != FUZZ_CHANGE && in->fault != FUZZ_CUT)
        FUZZ_CHECK(index == expected);
    fuzz_fault_on(in);
    const spmm_status stored = sp_tune_store(path, "k", sp_kernels(&index)[0].id, 1);
    fuzz_fault_off();
    if (stored != SPMM_OK) fuzz_refused(stored, path, FUZZ_PATH);
    /* whatever failed, earlier answers are still there */
    FUZZ_CHECK(find(path, key, &index, &seconds) == SPMM_OK);
    if (expected >= 0) FUZZ_CHECK(index == expected || strcmp(key, "k") == 0);
}

static void check_store(const char *path, const char *key)
{
    int count, index;
    double seconds = 0;
    const sp_kernel *const all = sp_kernels(&count);
    FUZZ_CHECK(sp_tune_store(path, key, all[count / 2].id, 0.25) == SPMM_OK);
    FUZZ_CHECK(find(path, key, &index, &seconds) == SPMM_OK);
    FUZZ_CHECK(index == count / 2 && seconds == 0.25);
}

/** Checks sp_tune_path(): sets each of the environment variables that it reads to `text`, one at a time. The
 *  buffer may be too small for the path. */
static void check_path(const char *text)
{
    static const char *const names[] = {"SPMM_TUNE_CACHE", "XDG_CACHE_HOME", "HOME"};
    char path[32];
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++) unsetenv(names[i]);
        setenv(names[k], text, 1);
        const spmm_status status = sp_tune_path(path, sizeof path);
        if (status != SPMM_OK)
            fuzz_refused(status, NULL, FUZZ_ANY);
        else
            FUZZ_CHECK(k > 0 || strcmp(path, text) == 0);
    }
}

int fuzz_tune(const uint8_t *data, size_t size)
{
    fuzz_input in;
    char key[SP_TUNE_KEY_BYTES];
    int index;
    double seconds = 0;
    if (!fuzz_begin(&in, "tune", data, size)) return 0;
    const uint8_t *const newline = memchr(in.data, '\n', in.size);
    const size_t n = newline ? (size_t)(newline - in.data) : 0;
    if (!newline || n >= sizeof key || memchr(in.data, '\0', n)) return 0;
    memcpy(key, in.data, n);
    key[n] = '\0';
    check_path(key);
    const char *const path = fuzz_folder_file("tune");
    fuzz_put(path, newline + 1, in.size - n - 1);
    FUZZ_CHECK(find(path, key, &index, &seconds) == SPMM_OK);
    if (strchr(key, '\t'))
        FUZZ_CHECK(index == -1);
    else
        check_store(path, key);
    if (in.fault != FUZZ_NO_FAULT) {
        fuzz_put(path, newline + 1, in.size - n - 1);
        check_faults(&in, path, key, index);
    }
    FUZZ_CHECK(fuzz_folder_clean(path));
    return fuzz_end();
}
