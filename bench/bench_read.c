/** Times reading a Matrix Market file into COO: sp_read_coo against the fscanf loop of the format's
 *  example program, interleaved, on the same files with a warm page cache: bench_read --help.
 *
 *  Without FILEs (coordinate, plain text) three are written into DIR and removed afterwards: values of 17 digits,
 *  short values, a pattern. */
#include <inttypes.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.h"
#include "io/mtx_read.h"
#include "mmio.h"
#include "common/bench.h"

enum { MAX_READERS = 8 };

typedef struct reader {
    int threads; /* 0: the fscanf loop */
    double seconds[MAX_REPEAT];
} reader;

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

static void report(const settings *s, const char *label, int64_t bytes, int64_t entries, reader *m,
                   int readers)
{
    FILE *const json = s->json ? fopen(s->json, "a") : NULL;
    double base = 0;
    char date[32];
    date_text(date, sizeof date, 0);
    for (int k = 0; k < readers; k++) {
        const sp_stats t = sp_stats_of(m[k].seconds, s->repeat);
        char name[32] = "fscanf loop";
        if (k == 0) base = t.median;
        if (k > 0)
            snprintf(name, sizeof name, "sp_read_coo, %d thread%s", m[k].threads,
                     m[k].threads == 1 ? "" : "s");
        printf("%-22.22s %-22s %8.3f %8.3f %8.3f %9.1f %10.2f %7.2f\n", label, name, t.median, t.min, t.max,
               1e-6 * (double)bytes / t.median, 1e-6 * (double)entries / t.median, base / t.median);
        if (json)
            fprintf(json,
                    "{\"bench\":\"read\",\"date\":\"%s\",\"file\":\"%s\",\"bytes\":%" PRId64
                    ",\"entries\":%" PRId64
                    ",\"method\":\"%s\",\"threads\":%d,\"repeats\":%d,\"median_s\":%.6f,\"min_s\":%.6f,"
                    "\"max_s\":%.6f,\"ratio\":%.3f}\n",
                    date, label, bytes, entries, k ? "sp_read_coo" : "fscanf", k ? m[k].threads : 1,
                    s->repeat, t.median, t.min, t.max, base / t.median);
    }
    if (json) fclose(json);
}

static int measure(const settings *s, const char *label, const char *path)
{
    static reader m[MAX_READERS];
    struct stat info;
    int readers = 0;
    int64_t entries = 0, found;
    if (stat(path, &info) != 0) return 0;
    for (int t = 0; t <= s->threads && readers < MAX_READERS; t = t ? 2 * t : 1) m[readers++].threads = t;
    for (int k = -1; k < s->repeat; k++) { /* the first round warms the cache and is dropped */
        double expected = 0, seconds;
        for (int i = 0; i < readers; i++) {
            if (i == 0) {
                const double start = omp_get_wtime();
                expected = read_by_fscanf(path, &entries);
                seconds = omp_get_wtime() - start;
            } else if (read_by_ours(path, m[i].threads, &found, &seconds) != expected || found != entries) {
                fprintf(stderr, "%s: the readers differ\n", path);
                return 0;
            }
            if (k >= 0) m[i].seconds[k] = seconds;
        }
    }
    report(s, label, (int64_t)info.st_size, entries, m, readers);
    return 1;
}

static int measure_made(const settings *s)
{
    static const char *const labels[] = {"real, 17 digits", "real, short", "pattern"};
    for (int kind = 0; kind < 3; kind++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/bench_read.%ld.mtx", s->dir, (long)getpid());
        const int ok = write_file(path, kind, s->mb * INT64_C(1000000)) && measure(s, labels[kind], path);
        unlink(path);
        if (ok) continue;
        fprintf(stderr, "bench_read: %s failed\n", path);
        return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    const char *const tmp = getenv("TMPDIR");
    const settings defaults = {.mb = 150, .repeat = 5, .threads = 2, .dir = tmp ? tmp : "/tmp"};
    settings s;
    if (!settings_ready(OF_READ, "bench_read [OPTIONS] [FILE...]", argc, argv, &defaults, &s))
        return s.help ? 0 : 2;
    printf("%-22s %-22s %8s %8s %8s %9s %10s %7s\n", "file", "method", "median s", "min", "max", "MB/s",
           "M entry/s", "ratio");
    if (s.matrices == 0) return measure_made(&s) ? 0 : 1;
    for (int k = 0; k < s.matrices; k++) {
        const char *const slash = strrchr(s.matrix[k], '/');
        if (!measure(&s, slash ? slash + 1 : s.matrix[k], s.matrix[k])) return 1;
    }
    return 0;
}
