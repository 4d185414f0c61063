/** Temporary files of a test: a folder of its own, what is written into it, and what is left there. */
#ifndef SP_TEST_FILES_H
#define SP_TEST_FILES_H

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/random.h"

/** The test's folder, and the name of the file in it that write_bytes() and others write. */
static char folder[200], path[256];

/** Makes the folder, and sets `path` to the name of a file in it; exits on failure. */
static inline void files_begin(const char *name)
{
    const char *const tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/%s.XXXXXX", tmp ? tmp : "/tmp", program_invocation_short_name);
    if (!mkdtemp(folder)) {
        perror(folder);
        exit(2);
    }
    snprintf(path, sizeof path, "%.190s/%.60s", folder, name);
}

/** Removes the folder with all that is in it. */
static inline void files_end(void)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) printf("  left behind: %s\n", folder);
}

/** Writes a file; exits on failure. */
static inline void write_file(const char *name, const char *bytes, size_t n)
{
    FILE *const f = fopen(name, "wb");
    if (f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0) return;
    perror(name);
    exit(2);
}

/** Writes the file at `path`; exits on failure. */
static inline void write_bytes(const char *bytes, size_t n) { write_file(path, bytes, n); }

/** Returns a file's bytes and a terminating zero; the caller frees them. Exits on failure.
 *  \param [out] n  number of bytes */
static inline char *read_file(const char *name, size_t *n)
{
    struct stat s;
    FILE *const f = fopen(name, "rb");
    char *const bytes = f && fstat(fileno(f), &s) == 0 ? calloc((size_t)s.st_size + 1, 1) : NULL;
    if (!bytes) {
        perror(name);
        exit(2);
    }
    *n = fread(bytes, 1, (size_t)s.st_size, f);
    fclose(f);
    return bytes;
}

/** Writes the file at `path` as gzip members, each with `piece` bytes of the text; if `piece` is n, as one
 *  member. */
static inline void write_gzip(const char *text, size_t n, size_t piece)
{
    size_t at = 0;
    do {
        gzFile f = gzopen(path, at ? "ab6" : "wb6");
        gzwrite(f, text + at, (unsigned)(n - at < piece ? n - at : piece));
        gzclose(f);
    } while ((at += piece) < n);
}

/** Sets the number of bytes that a reader reads at a time; 0: its default. */
static inline void chunk_bytes(int64_t bytes)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)bytes);
    if (bytes > 0)
        setenv("SPMM_READ_CHUNK_BYTES", text, 1);
    else
        unsetenv("SPMM_READ_CHUNK_BYTES");
}

/** Returns the number of unfinished output files in a folder, which output_file.h names TARGET.part-XXXXXXXX;
 *  -1 if the folder cannot be read. */
static inline int parts_in(const char *name)
{
    DIR *const d = opendir(name);
    int count = 0;
    if (!d) return -1;
    for (const struct dirent *e = readdir(d); e; e = readdir(d)) count += strstr(e->d_name, ".part") != NULL;
    closedir(d);
    return count;
}

/** Returns an entry of /proc/self/status in bytes: VmHWM, VmRSS or VmSize; negative if it cannot be read. */
static inline int64_t status_bytes(const char *key)
{
    char line[256];
    long long kib = -1;
    FILE *const f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0) sscanf(line + strlen(key), ": %lld", &kib);
    if (f) fclose(f);
    return kib * 1024;
}

/* ---- Matrix Market files ---- */

/** The contents of a file to write. */
typedef struct mtx_kind {
    const char *what, *field, *symmetry;
    int rows, cols, entries;
    int copies;   /**< > 1: most entries are duplicates in the first rows; 1: duplicates are by chance */
    int long_row; /**< the row with half of the entries; 0: none */
} mtx_kind;

/** Writes entry k to `text`, with a value that makes sums depend on their order. Returns the number of
 *  characters. */
static inline int mtx_entry(const mtx_kind *t, uint64_t seed, uint64_t k, char *text)
{
    const uint64_t r = sp_random(seed, k, 0);
    int i = 1 + (int)(r % (uint64_t)t->rows), j = 1 + (int)((r >> 16) % (uint64_t)t->cols);
    if (t->long_row && r >> 63) i = t->long_row;
    if (t->copies > 1 && k % 4 != 0) { /* few places */
        i = 1 + (int)(k / 4 % 3);
        j = i == 1 ? 1 : 2;
    }
    if (t->symmetry[0] == 's' && i <= j) {
        i = j;
        j = 1 + (int)((r >> 40) % (uint64_t)i);
        if (t->symmetry[1] == 'k' && i == j) i = j == t->rows ? (j = 1, t->rows) : j + 1;
    }
    int n = sprintf(text, "%s%d%s%d", (r >> 20) % 7 ? "" : "  ", i, (r >> 23) % 5 ? " " : "\t ", j);
    if (t->field[0] == 'r')
        n += sprintf(text + n, " %.*g", (int)(r >> 27) % 17 + 1, ((double)(r >> 11) * 0x1p-53 - 0.5) * 100);
    if (t->field[0] == 'i') n += sprintf(text + n, " %d", (int)(r >> 33) % 2001 - 1000);
    return n + sprintf(text + n, "%s\n", (r >> 32) % 6 ? "" : " \r");
}

/** Writes a file with comments and blank lines to `text`; its last line has no newline if the seed is odd.
 *  Returns its length.
 *  \param [in] step  coprime to the number of entries; determines their order, which does not affect the
 *                    matrix */
static inline int mtx_text(const mtx_kind *t, uint64_t seed, int step, char *text)
{
    int n = sprintf(text, "%%%%MatrixMarket matrix coordinate %s %s\n%% c\n\n%d %d %d\n", t->field,
                    t->symmetry, t->rows, t->cols, t->entries);
    for (int k = 0; k < t->entries; k++) {
        const int which = (int)((int64_t)k * step % t->entries);
        if (which % 9 == 0)
            n += sprintf(text + n, "%s\n", which % 2 ? "% a comment that is as long as an entry" : " ");
        n += mtx_entry(t, seed, (uint64_t)which, text + n);
    }
    return n - (seed % 2 && t->entries > 0);
}

/** Spoils one to three bytes behind the banner. */
static inline void mtx_spoil(char *text, int n, uint64_t seed)
{
    for (uint64_t k = 0; k < 1 + seed % 3; k++) {
        const uint64_t r = sp_random(seed, k, 9);
        text[80 + r % (uint64_t)(n - 80)] = "x -.9e\n%\0010"[(r >> 40) % 10];
    }
}

#endif
