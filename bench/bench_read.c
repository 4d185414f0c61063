/** Times reading a Matrix Market file into COO: sp_read_coo against the fscanf loop of the format's
 *  example program, interleaved, on the same files with a warm page cache.
 *
 *      bench_read [--mb N] [--repeats N] [--threads N] [--dir DIR] [--json FILE] [FILE...]
 *
 *  Without FILEs (coordinate, plain text) three are written into DIR (default: $TMPDIR or /tmp) and
 *  removed afterwards: values of 17 digits, short values, a pattern. */
#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/stats.h"
#include "io/mtx_read.h"
#include "mmio.h"

enum { MAX_REPEATS = 101, MAX_FILES = 16, MAX_METHODS = 8 };

typedef struct settings {
    int64_t mb;
    int repeats, max_threads;
    const char *dir, *json;
} settings;

typedef struct method {
    int threads; /* 0: the fscanf loop */
    double seconds[MAX_REPEATS];
} method;

/* ---- the files ---- */

static void write_value(FILE *f, int kind, uint64_t k)
{
    const uint64_t bits = sp_random(2, k, 0);
    if (kind == 0) fprintf(f, " %.16e", ((double)(bits >> 11) * 0x1p-53 - 0.5) * 10);
    if (kind == 1) fprintf(f, " %d.%d", (int)(bits % 21) - 10, (int)(bits >> 33) % 100);
}

/** About `bytes` of entries in column order, indices of 1 to 7 digits. */
static int write_file(const char *path, int kind, int64_t bytes)
{
    static const int64_t line_bytes[] = {39, 20, 15};
    const int64_t n = 1000000, entries = bytes / line_bytes[kind];
    FILE *const f = fopen(path, "w");
    if (!f) return 0;
    fprintf(f, "%%%%MatrixMarket matrix coordinate %s general\n", kind == 2 ? "pattern" : "real");
    fprintf(f, "%" PRId64 " %" PRId64 " %" PRId64 "\n", n, n, entries);
    for (int64_t k = 0; k < entries; k++) {
        const int64_t row = (int64_t)(sp_random(1, (uint64_t)k, 0) % (uint64_t)n);
        fprintf(f, "%" PRId64 " %" PRId64, row + 1, (int64_t)((double)k / (double)entries * (double)n) + 1);
        write_value(f, kind, (uint64_t)k);
        fputc('\n', f);
    }
    return fclose(f) == 0;
}

/* ---- the two readers ---- */

/** The loop of the NIST example, into arrays of the same types as ours. Returns the sum of all. */
static double read_by_fscanf(const char *path, int64_t *entries)
{
    MM_typecode code;
    int rows, cols, nnz;
    FILE *const f = fopen(path, "r");
    double sum = 0;
    *entries = -1;
    if (!f) return 0;
    if (mm_read_banner(f, &code) == 0 && mm_read_mtx_crd_size(f, &rows, &cols, &nnz) == 0) {
        int *const i = malloc((size_t)nnz * sizeof *i), *const j = malloc((size_t)nnz * sizeof *j);
        double *const v = malloc((size_t)nnz * sizeof *v);
        int ok = i && j && v;
        for (int k = 0; k < nnz && ok; k++) {
            v[k] = 1;
            ok = mm_is_pattern(code) ? fscanf(f, "%d %d\n", &i[k], &j[k]) == 2
                                     : fscanf(f, "%d %d %lg\n", &i[k], &j[k], &v[k]) == 3;
            i[k]--;
            j[k]--;
        }
        for (int k = 0; k < nnz && ok; k++) sum += i[k] + j[k] + v[k];
        *entries = ok ? nnz : -1;
        free(i);
        free(j);
        free(v);
    }
    fclose(f);
    return sum;
}

static double read_by_ours(const char *path, int threads, int64_t *entries, double *seconds)
{
    const sp_read_options options = {.precision = SPMM_F64, .threads = threads};
    sp_coo coo;
    double sum = 0;
    const double start = omp_get_wtime();
    *entries = -1;
    const spmm_status status = sp_read_coo(path, &options, &coo, NULL);
    *seconds = omp_get_wtime() - start;
    if (status != SPMM_OK) {
        fprintf(stderr, "%s\n", spmm_error_message());
        return 0;
    }
    const double *const v = coo.val;
    for (int64_t k = 0; k < coo.nnz; k++) sum += coo.I[k] + coo.J[k] + (v ? v[k] : 1);
    *entries = coo.nnz;
    sp_coo_destroy(&coo);
    return sum;
}

/* ---- measuring ---- */

static void report(const settings *s, const char *label, int64_t bytes, int64_t entries, method *m,
                   int methods)
{
    FILE *const json = s->json ? fopen(s->json, "a") : NULL;
    double base = 0;
    char date[32];
    const time_t t = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&t));
    for (int k = 0; k < methods; k++) {
        const sp_stats stats = sp_stats_of(m[k].seconds, s->repeats);
        const double median = stats.median, least = stats.min, most = stats.max;
        char name[32];
        if (k == 0) base = median;
        snprintf(name, sizeof name, m[k].threads ? "sp_read_coo, %d thread%s" : "fscanf loop", m[k].threads,
                 m[k].threads == 1 ? "" : "s");
        printf("%-22.22s %-22s %8.3f %8.3f %8.3f %9.1f %10.2f %7.2f\n", label, name, median, least, most,
               1e-6 * (double)bytes / median, 1e-6 * (double)entries / median, base / median);
        if (json)
            fprintf(json,
                    "{\"bench\":\"read\",\"date\":\"%s\",\"file\":\"%s\",\"bytes\":%" PRId64
                    ",\"entries\":%" PRId64
                    ",\"method\":\"%s\",\"threads\":%d,\"repeats\":%d,\"median_s\":%.6f,\"min_s\":%.6f,"
                    "\"max_s\":%.6f,\"ratio\":%.3f}\n",
                    date, label, bytes, entries, m[k].threads ? "sp_read_coo" : "fscanf",
                    m[k].threads ? m[k].threads : 1, s->repeats, median, least, most, base / median);
    }
    if (json) fclose(json);
}

static int measure(const settings *s, const char *label, const char *path)
{
    static method m[MAX_METHODS];
    struct stat info;
    int methods = 0;
    int64_t entries = 0, found;
    if (stat(path, &info) != 0) return 0;
    for (int threads = 0; threads <= s->max_threads && methods < MAX_METHODS;
         threads = threads ? 2 * threads : 1)
        m[methods++].threads = threads;
    for (int k = -1; k < s->repeats; k++) { /* the first round warms the cache and is dropped */
        double expected = 0;
        for (int i = 0; i < methods; i++) {
            double seconds;
            const double start = omp_get_wtime();
            double sum;
            if (m[i].threads == 0) {
                sum = expected = read_by_fscanf(path, &entries);
                seconds = omp_get_wtime() - start;
            } else {
                sum = read_by_ours(path, m[i].threads, &found, &seconds);
                if (found != entries || sum != expected) {
                    fprintf(stderr, "%s: the readers differ\n", path);
                    return 0;
                }
            }
            if (k >= 0) m[i].seconds[k] = seconds;
        }
    }
    report(s, label, (int64_t)info.st_size, entries, m, methods);
    return 1;
}

static int measure_made(const settings *s)
{
    static const char *const labels[] = {"real, 17 digits", "real, short", "pattern"};
    for (int kind = 0; kind < 3; kind++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/bench_read.%ld.mtx", s->dir, (long)getpid());
        const int ok = write_file(path, kind, s->mb * 1000000) && measure(s, labels[kind], path);
        unlink(path);
        if (!ok) {
            fprintf(stderr, "bench_read: %s failed\n", path);
            return 0;
        }
    }
    return 1;
}

static int usage(const char *program)
{
    fprintf(stderr, "usage: %s [--mb N] [--repeats N] [--threads N] [--dir DIR] [--json FILE] [FILE...]\n",
            program);
    return 2;
}

int main(int argc, char **argv)
{
    const char *const tmp = getenv("TMPDIR");
    settings s = {.mb = 150, .repeats = 5, .max_threads = 2, .dir = tmp ? tmp : "/tmp"};
    const char *files[MAX_FILES];
    int n = 0;
    for (int k = 1; k < argc; k++) {
        const int is_option = strncmp(argv[k], "--", 2) == 0;
        const char *const value = is_option && k + 1 < argc ? argv[++k] : NULL;
        if (!is_option && n < MAX_FILES)
            files[n++] = argv[k];
        else if (!value)
            return usage(argv[0]);
        else if (!strcmp(argv[k - 1], "--mb"))
            s.mb = atoll(value);
        else if (!strcmp(argv[k - 1], "--repeats"))
            s.repeats = atoi(value);
        else if (!strcmp(argv[k - 1], "--threads"))
            s.max_threads = atoi(value);
        else if (!strcmp(argv[k - 1], "--dir"))
            s.dir = value;
        else if (!strcmp(argv[k - 1], "--json"))
            s.json = value;
        else
            return usage(argv[0]);
    }
    if (s.mb < 1 || s.repeats < 1 || s.repeats > MAX_REPEATS || s.max_threads < 1) return usage(argv[0]);
    printf("%-22s %-22s %8s %8s %8s %9s %10s %7s\n", "file", "method", "median s", "min", "max", "MB/s",
           "M entry/s", "ratio");
    if (n == 0) return measure_made(&s) ? 0 : 1;
    for (int k = 0; k < n; k++) {
        const char *const name = strrchr(files[k], '/') ? strrchr(files[k], '/') + 1 : files[k];
        if (!measure(&s, name, files[k])) return 1;
    }
    return 0;
}
