/** Times reading Matrix Market files with a warm page cache: into COO by sp_read_coo(), into CSR by
 *  sp_read_csr() as spmm_mpi does, and into COO by the fscanf loop of the format's example program. The
 *  readers take turns on each file. See bench_read --help.
 *
 *  FILEs are coordinate files. Compressed files are read without the fscanf loop; ratios are then relative to
 *  the first reader, and MB/s count the decompressed text. Without FILEs three plain files are written into
 *  DIR and removed afterwards: values of 17 digits, short values, a pattern. */
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "io/mtx_read.h"
#include "mmio.h"
#include "common/bench.h"

enum { MAX_READERS = 16 };

typedef enum read_method { BY_FSCANF, BY_READ_COO, BY_READ_CSR } read_method;

static const char *const method_name[] = {"fscanf", "sp_read_coo", "sp_read_csr"};

typedef struct reader {
    read_method by;
    int threads;
    double seconds[MAX_REPEAT];
} reader;

/* ---- the files ---- */

static void write_value(FILE *f, int kind, uint64_t k)
{
    const uint64_t bits = sp_random(2, k, 0);
    if (kind == 0) fprintf(f, " %.16e", ((double)(bits >> 11) * 0x1p-53 - 0.5) * 10);
    if (kind == 1) fprintf(f, " %d.%d", (int)(bits % 21) - 10, (int)(bits >> 33) % 100);
}

/** Writes about `bytes` bytes of entries in column order, with indices of 1 to 7 digits. `kind` selects
 *  the values: 0: with 17 digits, 1: short, 2: none (a pattern). */
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

/* ---- the readers ---- */

/** What a reader found, for comparison: the number of entries in the file; the sum of value * (1 + row +
 *  column) over them, which, except for rounding, depends neither on their order nor on whether duplicates
 *  were summed; and the sum of these terms' magnitudes. */
typedef struct found {
    int64_t entries;
    double sum, size;
} found;

static inline void add_entry(found *f, int64_t i, int64_t j, double value)
{
    const double term = value * (double)(1 + i + j);
    f->sum += term;
    f->size += fabs(term);
}

/** Reads with the loop of the NIST example, into arrays of the same types as ours. Sets *seconds to the time
 *  to read. */
static found read_by_fscanf(const char *path, double *seconds)
{
    MM_typecode code;
    int rows, cols, nnz;
    found all = {-1, 0, 0};
    const double start = omp_get_wtime();
    FILE *const f = fopen(path, "r");
    if (!f) return all;
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
        *seconds = omp_get_wtime() - start;
        for (int k = 0; k < nnz && ok; k++) add_entry(&all, i[k], j[k], v[k]);
        all.entries = ok ? nnz : -1;
        free(i);
        free(j);
        free(v);
    }
    fclose(f);
    return all;
}

static spmm_status read_coo(const char *path, const sp_read_options *options, found *all, double *seconds)
{
    sp_coo a = {0};
    const double start = omp_get_wtime();
    const spmm_status status = sp_read_coo(path, options, &a, NULL);
    const double *const v = a.val;
    *seconds = omp_get_wtime() - start;
    for (int64_t k = 0; k < a.nnz; k++) add_entry(all, a.I[k], a.J[k], v ? v[k] : 1);
    all->entries = a.nnz;
    sp_coo_destroy(&a);
    return status;
}

/** As read_coo(), into CSR. Of a symmetric matrix, counts the lower triangle, which is all that the file
 *  contains. */
static spmm_status read_csr(const char *path, const sp_read_options *options, found *all, double *seconds)
{
    spmm_csr a = {0};
    sp_mtx_info info;
    const double start = omp_get_wtime();
    const spmm_status status = sp_read_csr(path, options, &a, &info, &all->entries, NULL);
    const double *const v = a.as;
    const int general = strcmp(info.symmetry, "general") == 0;
    *seconds = omp_get_wtime() - start;
    for (int64_t i = 0; i < a.rows && status == SPMM_OK; i++)
        for (int64_t k = a.irp[i]; k < a.irp[i + 1]; k++)
            if (general || a.ja[k] <= i) add_entry(all, i, a.ja[k], v[k]);
    spmm_csr_destroy(&a);
    return status;
}

static found read_by(const reader *m, const char *path, double *seconds)
{
    const sp_read_options options = {.precision = SPMM_F64, .threads = m->threads};
    found all = {-1, 0, 0};
    if (m->by == BY_FSCANF) return read_by_fscanf(path, seconds);
    const spmm_status status = (m->by == BY_READ_COO ? read_coo : read_csr)(path, &options, &all, seconds);
    if (status != SPMM_OK) fprintf(stderr, "%s\n", spmm_error_message());
    return all;
}

static int same(const found *a, const found *b)
{
    return a->entries >= 0 && a->entries == b->entries && fabs(a->sum - b->sum) <= 1e-9 * a->size;
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
        char name[32];
        if (k == 0) base = t.median;
        snprintf(name, sizeof name, "%s, %d thread%s", method_name[m[k].by], m[k].threads,
                 m[k].threads == 1 ? "" : "s");
        printf("%-22.22s %-22s %8.3f %8.3f %8.3f %9.1f %10.2f %7.2f\n", label, name, t.median, t.min, t.max,
               1e-6 * (double)bytes / t.median, 1e-6 * (double)entries / t.median, base / t.median);
        if (json)
            fprintf(json,
                    "{\"bench\":\"read\",\"date\":\"%s\",\"file\":\"%s\",\"bytes\":%" PRId64
                    ",\"entries\":%" PRId64
                    ",\"method\":\"%s\",\"threads\":%d,\"repeats\":%d,\"median_s\":%.6f,\"min_s\":%.6f,"
                    "\"max_s\":%.6f,\"ratio\":%.3f}\n",
                    date, label, bytes, entries, method_name[m[k].by], m[k].threads, s->repeat, t.median,
                    t.min, t.max, base / t.median);
    }
    if (json) fclose(json);
}

static int add_readers(reader *m, int readers, read_method by, int threads)
{
    for (int t = 1; t <= threads && readers < MAX_READERS; t *= 2) {
        m[readers].by = by;
        m[readers++].threads = t;
    }
    return readers;
}

/** Returns 1 if the file begins like plain text, 0 if it is compressed; sets *bytes to the length of its
 *  text. */
static int is_plain(const char *path, int64_t *bytes)
{
    const sp_read_options options = {.precision = SPMM_F64, .threads = 1};
    sp_coo a;
    sp_mtx_info info = {0};
    FILE *const f = fopen(path, "r");
    const int plain = f && fgetc(f) == '%';
    if (f) fclose(f);
    if (sp_read_coo(path, &options, &a, &info) == SPMM_OK) sp_coo_destroy(&a);
    *bytes = info.bytes;
    return plain;
}

static int measure(const settings *s, const char *label, const char *path)
{
    static reader m[MAX_READERS];
    int64_t bytes;
    int readers = 0;
    found expected = {0};
    if (is_plain(path, &bytes)) readers = add_readers(m, readers, BY_FSCANF, 1);
    readers = add_readers(m, readers, BY_READ_COO, s->threads);
    readers = add_readers(m, readers, BY_READ_CSR, s->threads);
    for (int k = -1; k < s->repeat; k++) { /* the first round warms the cache and is dropped */
        for (int i = 0; i < readers; i++) {
            double seconds = 0;
            const found here = read_by(&m[i], path, &seconds);
            if (i == 0) expected = here;
            if (!same(&expected, &here)) {
                fprintf(stderr, "%s: the readers differ\n", path);
                return 0;
            }
            if (k >= 0) m[i].seconds[k] = seconds;
        }
    }
    report(s, label, bytes, expected.entries, m, readers);
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
