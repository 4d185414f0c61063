/** Implements the cache of --autotune: hash of a sparsity pattern, path, lookup and appending. */
#include "spmm_mpi/tune.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/append.h"
#include "base/memory.h"
#include "base/random.h"

enum { MOST_BYTES = 4 << 20 };

uint64_t sp_structure_hash(const spmm_csr *block, int64_t row_begin, int threads)
{
    uint64_t sum = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : sum)
    for (int64_t i = 0; i < block->rows; i++) {
        uint64_t row = (uint64_t)(block->irp[i + 1] - block->irp[i]);
        for (int64_t e = block->irp[i]; e < block->irp[i + 1]; e++)
            row = row * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)block->ja[e] + 1;
        sum += sp_mix(sp_mix((uint64_t)(row_begin + i)) ^ row);
    }
    return sum;
}

const char *sp_cpu_name(char *text, size_t n)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    snprintf(text, n, "cpu");
    while (f && fgets(line, sizeof line, f)) {
        const char *const colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        snprintf(text, n, "%.*s", (int)strcspn(colon + 1 + strspn(colon + 1, " \t"), "\t\n"),
                 colon + 1 + strspn(colon + 1, " \t"));
        break;
    }
    if (f) fclose(f);
    return text;
}

spmm_status sp_tune_path(char *path, size_t n)
{
    const char *const file = getenv("SPMM_TUNE_CACHE"), *const cache = getenv("XDG_CACHE_HOME"),
                      *const home = getenv("HOME");
    int length;
    if (file)
        length = snprintf(path, n, "%s", file);
    else if (cache && cache[0] == '/') /* the XDG specification says to ignore relative paths */
        length = snprintf(path, n, "%s/spmm_mpi/tune", cache);
    else if (home && home[0] == '/')
        length = snprintf(path, n, "%s/.cache/spmm_mpi/tune", home);
    else
        return sp_fail(SPMM_ERR_OPEN,
                       "--autotune has no file: set SPMM_TUNE_CACHE to a file, or HOME to an absolute path");
    if (length < 0 || (size_t)length >= n) return sp_fail(SPMM_ERR_OPEN, "%.200s...: too long a name", path);
    return SPMM_OK;
}

/* ---- lookup ---- */

/** Reads the next tab-separated field of a line. Sets *text to the beginning of the field and *at to the
 *  beginning of the next field.
 *  \return the length of the field */
static size_t field(const char **at, const char *end, const char **text)
{
    const char *const tab = memchr(*at, '\t', (size_t)(end - *at));
    const char *const stop = tab ? tab : end;
    *text = *at;
    *at = tab ? tab + 1 : end;
    return (size_t)(stop - *text);
}

/** Parses a line of the cache. Returns the kernel that the line names; NULL if the line has another key,
 *  names no kernel of this program, or is damaged. */
static const sp_kernel *answer(const char *line, const char *end, const char *key, double *seconds)
{
    const char *text;
    char number[32], name[64], *stop;
    size_t n = field(&line, end, &text);
    if (n != strlen(key) || memcmp(text, key, n) != 0) return NULL;
    n = field(&line, end, &text);
    snprintf(name, sizeof name, "%.*s", n < sizeof name ? (int)n : 0, text);
    const sp_kernel *const kernel = strlen(name) == n ? sp_kernel_find(name) : NULL;
    n = field(&line, end, &text);
    if (!kernel || n == 0 || n >= sizeof number || line != end) return NULL;
    memcpy(number, text, n);
    number[n] = '\0';
    const double value = strtod(number, &stop);
    if (*stop || !isfinite(value) || value < 0) return NULL;
    *seconds = value;
    return kernel;
}

/** Reads a whole file into *text, which the caller frees. If the file does not exist, *bytes is 0. */
static spmm_status read_all(const char *path, char **text, size_t *bytes)
{
    struct stat info;
    *bytes = 0;
    /* O_NONBLOCK: if path is a pipe, open() does not wait for a writer */
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 && errno == ENOENT) return SPMM_OK;
    if (file < 0) return sp_fail(SPMM_ERR_OPEN, "%s: cannot read: %s", path, strerror(errno));
    spmm_status status = SPMM_OK;
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode))
        status = sp_fail(SPMM_ERR_OPEN, "%s: cannot read: it is not a file", path);
    else if (info.st_size > MOST_BYTES)
        status = sp_fail(SPMM_ERR_LIMIT, "%s: not read: it has more than %d MiB", path, MOST_BYTES >> 20);
    if (status == SPMM_OK) status = sp_alloc((void **)text, (int64_t)info.st_size, 1, "the tuning file");
    while (status == SPMM_OK && *bytes < (size_t)info.st_size) {
        const ssize_t n = read(file, *text + *bytes, (size_t)info.st_size - *bytes);
        if (n < 0) status = sp_fail(SPMM_ERR_OPEN, "%s: cannot read: %s", path, strerror(errno));
        if (n <= 0) break;
        *bytes += (size_t)n;
    }
    close(file);
    return status;
}

spmm_status sp_tune_find(const char *path, const char *key, spmm_device device, spmm_format format,
                         const sp_kernel **kernel, double *seconds)
{
    char *text = NULL;
    size_t bytes;
    *kernel = NULL;
    const spmm_status status = read_all(path, &text, &bytes);
    for (const char *line = text, *const end = text ? text + bytes : NULL; status == SPMM_OK && line < end;) {
        const char *const stop = memchr(line, '\n', (size_t)(end - line));
        double took;
        if (!stop) break; /* the last line is incomplete: ignore it */
        const sp_kernel *const found = answer(line, stop, key, &took);
        if (found && found->device == device && (format == SPMM_FORMAT_AUTO || found->format == format)) {
            *kernel = found;
            *seconds = took;
        }
        line = stop + 1;
    }
    sp_free(text);
    return status;
}

/* ---- storing ---- */

/** Creates the missing parent directories of the file `path`.
 *  \return SPMM_OK, or SPMM_ERR_OUTPUT with a message that names the directory that cannot be created */
static spmm_status make_folders(const char *path)
{
    char folder[4096];
    struct stat info;
    snprintf(folder, sizeof folder, "%s", path);
    for (char *p = folder + 1; *p; p++) {
        if (*p != '/') continue;
        *p = '\0';
        /* if the directory exists, mkdir() fails with EEXIST, EROFS or another error: ask stat() instead */
        if (mkdir(folder, 0700) != 0) {
            const int reason = errno;
            if (stat(folder, &info) != 0)
                return sp_fail(SPMM_ERR_OUTPUT, "%s: cannot write: cannot create its folder %s: %s", path,
                               folder, strerror(reason));
        }
        *p = '/';
    }
    return SPMM_OK;
}

spmm_status sp_tune_store(const char *path, const char *key, const char *kernel, double seconds)
{
    char line[SP_TUNE_KEY_BYTES + 128];
    struct stat info;
    TRY(make_folders(path));
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return sp_fail(SPMM_ERR_OUTPUT, "%s: cannot write: it is not a file", path);
    const int n = snprintf(line, sizeof line, "%s\t%s\t%.9g\n", key, kernel, seconds);
    return sp_append(path, NULL, NULL, line, (size_t)n);
}
