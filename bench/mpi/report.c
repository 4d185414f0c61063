/* The table of a case, its rows of the CSV file, and the summary of all cases. Ratios: the other's median / ours. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

/* the bar that PETSc / ours is held against */
static const double MEAN = 3.0, LEAST = 1.0;

/** The faster of the peer's ways over ours. */
typedef struct ratio {
    const char *matrix;
    int64_t k;
    double value, least; /**< of the medians, of the least times */
    double first;        /* by medians, of the peer's first contender: its product of matrices */
} ratio;
static ratio ratios[MAX_LIST * MAX_LIST];
static const char *first_name = "";
static int ratio_count;
static char date[32], host[64], processor[96] = "unknown processor";

static void find_machine(void)
{
    char line[256];
    const time_t now = time(NULL);
    FILE *const f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "model name : %95[^\n,]", processor) == 1) break;
    if (f) fclose(f);
    gethostname(host, sizeof host - 1);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
}

int report_open(const settings *s, FILE **csv)
{
    *csv = NULL;
    if (!s->csv) return 1;
    *csv = fopen(s->csv, "a");
    if (!*csv) {
        perror(s->csv);
        return 0;
    }
    if (fseek(*csv, 0, SEEK_END) == 0 && ftell(*csv) == 0)
        fprintf(*csv,
                "date,commit,host,cpu,ranks,threads,matrix,rows,cols,nnz,k,contender,kernel,median_ms,min_ms,"
                "max_ms,gflops,error,ok\n");
    return 1;
}

void report_header(const settings *s, const char *peer_text)
{
    find_machine();
    printf("bench_mpi: %s, %s, %d rank%s of %d thread%s, f64, median of %d\n", host, processor, s->ranks,
           s->ranks == 1 ? "" : "s", s->threads, s->threads == 1 ? "" : "s", s->repeat);
    printf("%s\n\n", peer_text);
}

static double per_second(double flop, double seconds) { return seconds > 0 ? flop / seconds / 1e9 : 0; }

static void csv_row(FILE *csv, const settings *s, const char *matrix, const spmm_block *block, long long nnz,
                    int64_t k, const trial *t)
{
    const char *const commit = getenv("COMMIT");
    const int ok = !t->wrong && !t->problem[0];
    fprintf(csv, "%s,%s,%s,%s,%d,%d,\"%s\",%" PRId64 ",%" PRId64 ",%lld,%" PRId64, date, commit ? commit : "",
            host, processor, s->ranks, s->threads, matrix, block->rows, block->cols, nnz, k);
    fprintf(csv, ",%s,%s,%.6f,%.6f,%.6f,%.4f,%.3g,%d\n", t->c->name,
            t->problem[0] ? "" : t->c->kernel(t->state), t->median * 1e3, t->min * 1e3, t->max * 1e3,
            per_second(2.0 * (double)nnz * (double)k, t->median), t->error, ok);
}

static void table_row(const trial *t, double flop, double ours)
{
    if (t->problem[0]) {
        printf("  %-17s FAILED: %s\n", t->c->name, t->problem);
        return;
    }
    printf("  %-17s %-14s %11.4f %10.4f %10.4f %9.2f %9.1e", t->c->name, t->c->kernel(t->state),
           t->median * 1e3, t->min * 1e3, t->max * 1e3, per_second(flop, t->median), t->error);
    if (t->wrong)
        printf("  WRONG: %lld elements\n", t->wrong);
    else
        printf(ours > 0 ? " %8.2f\n" : "\n", t->median / ours);
}

/** Keeps the case for the summary. */
static void keep(const char *matrix, int64_t k, const outcome *o)
{
    double median = INFINITY, least = INFINITY;
    for (const trial *t = o->trial + 1; t < o->trial + o->count; t++)
        if (!t->problem[0] && !t->wrong) {
            median = fmin(median, t->median);
            least = fmin(least, t->min);
        }
    if (o->trial->problem[0] || o->trial->wrong || !(o->trial->min > 0) || isinf(median)) return;
    ratios[ratio_count++] = (ratio){matrix, k, median / o->trial->median, least / o->trial->min,
                                    o->trial[1].median / o->trial->median};
    first_name = o->trial[1].c->name;
}

void report_case(const settings *s, const char *matrix, const spmm_block *block, long long nnz, int64_t k,
                 const outcome *o, FILE *csv)
{
    const double flop = 2.0 * (double)nnz * (double)k;
    printf("%s: %" PRId64 " x %" PRId64 ", %lld entries, K = %" PRId64 "\n", matrix, block->rows, block->cols,
           nnz, k);
    printf("  %-17s %-14s %11s %10s %10s %9s %9s %8s\n", "contender", "kernel", "median ms", "min", "max",
           "GFLOP/s", "error", "/ ours");
    for (const trial *t = o->trial; t < o->trial + o->count; t++) {
        table_row(t, flop, o->trial->problem[0] ? 0 : o->trial->median);
        if (csv) csv_row(csv, s, matrix, block, nnz, k, t);
    }
    if (o->disturbed)
        printf("  other processes disturbed %d of %d timed products to the last\n", o->disturbed, o->timed);
    printf("\n");
    fflush(stdout);
    if (csv) fflush(csv);
    keep(matrix, k, o);
}

/* ---- the summary ---- */

/** "lap2d5" of "lap2d5:700", "A.mtx" of "folder/A.mtx"; \return its length */
static int structure(const char *matrix, const char **name)
{
    const size_t n = strcspn(matrix, ":");
    const char *const slash = matrix[n] ? NULL : strrchr(matrix, '/');
    *name = slash ? slash + 1 : matrix;
    return (int)(matrix + n - *name);
}

static int same_structure(const char *a, const char *b)
{
    const char *x, *y;
    const int n = structure(a, &x);
    return n == structure(b, &y) && strncmp(x, y, (size_t)n) == 0;
}

/** Geometric mean of the cases of that K (0: any) and structure (NULL: any); 0 where there are none. */
static double mean(int64_t k, const char *matrix, int by_least)
{
    double sum = 0;
    int n = 0;
    for (const ratio *r = ratios; r < ratios + ratio_count; r++) {
        if ((k && r->k != k) || (matrix && !same_structure(r->matrix, matrix))) continue;
        sum += log(by_least ? r->least : r->value);
        n++;
    }
    return n ? exp(sum / n) : 0;
}

/** A line of geometric means: of a structure, or of all (NULL). */
static void means(const settings *s, const char *matrix, int by_least)
{
    const char *name = by_least ? "all, by min" : "all";
    const int length = matrix ? structure(matrix, &name) : (int)strlen(name);
    printf("  %-16.*s", length, name);
    for (int j = 0; j < s->column_count; j++) printf("%10.2f ", mean(s->columns[j], matrix, by_least));
    printf("%10.2f\n", mean(0, matrix, by_least));
}

static void table_of_means(const settings *s)
{
    printf("  %-16s", "");
    for (int i = 0; i < s->column_count; i++) printf("%7s%-4" PRId64, "K = ", s->columns[i]);
    printf("%10s\n", "all");
    for (int i = 0; i < s->matrices; i++) {
        int seen = 0;
        for (int j = 0; j < i; j++) seen |= same_structure(s->matrix[j], s->matrix[i]);
        if (!seen && mean(0, s->matrix[i], 0) > 0) means(s, s->matrix[i], 0);
    }
    means(s, NULL, 0);
    means(s, NULL, 1);
}

/** The product of matrices held against ours for every K, also where products of vectors were faster. */
static void first_alone(void)
{
    double sum = 0, least = INFINITY;
    for (const ratio *r = ratios; r < ratios + ratio_count; r++) {
        sum += log(r->first);
        least = fmin(least, r->first);
    }
    printf("%s for every K: geometric mean %.2f, worst %.2f\n", first_name, exp(sum / ratio_count), least);
}

void report_summary(const settings *s)
{
    if (ratio_count == 0) return;
    const ratio *worst = ratios, *worst_least = ratios;
    int low = 0;
    for (const ratio *r = ratios; r < ratios + ratio_count; r++) {
        if (r->value < worst->value) worst = r;
        if (r->least < worst_least->least) worst_least = r;
        low += r->value < LEAST;
    }
    const double all = mean(0, NULL, 0);
    printf("%s / ours, its faster way, medians; geometric means by structure and K:\n", spmm_peer.name);
    table_of_means(s);
    printf("the worst of %d cases: %.2f (%s, K = %" PRId64 "); by min: %.2f (%s, K = %" PRId64 ")\n",
           ratio_count, worst->value, worst->matrix, worst->k, worst_least->least, worst_least->matrix,
           worst_least->k);
    first_alone();
    printf("bar: geometric mean %.1f, no case under %.1f: %s (%.2f, %d under %.1f)\n", MEAN, LEAST,
           all >= MEAN && low == 0 ? "reached" : "not reached", all, low, LEAST);
}
