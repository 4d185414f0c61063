/* Times libspmm's distributed product beside PETSc's, in one MPI program on the same row blocks: bench_mpi
 * --help, bench/README.md. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "../common/bench.h"
#include "../common/own.h"

/* bars for PETSc / ours: the geometric mean, the least case */
static const double MEAN = 3.0, LEAST = 1.0;
/* indices of a result's value[], ratios peer / ours: of medians and of least times with the peer's faster
 * form; of medians with its first form */
enum { BY_MEDIAN, BY_LEAST, FIRST };

static own_form form = {{"spmm", PEER_ROW, 1, 0, 0, 1}, {.format = SPMM_FORMAT_AUTO}, 0};

/* the other library's adaptor; its address is NULL if it was not found */
extern const peer_adaptor spmm_peer __attribute__((weak));

static spmm_status open_mpi(run *r)
{
    char version[LINE] = "not found when bench_mpi was built (make bench-cpu-deps installs it)";
    const peer_adaptor *const other = &spmm_peer;
    const char *const name = other ? other->package : "petsc";
    form.options.threads = r->settings.threads;
    run_add(r, run_add_library(r, &own_peer), &form.shown, "spmm");
    const char *const missing = agree(other ? other->open(1, "", version, sizeof version) : version);
    if (!missing) run_add_forms(r, run_add_library(r, other), 1);
    if (r->rank > 0) return SPMM_OK;
    printf("bench_mpi: %s, %s, %d rank%s of %d thread%s, f64, median of %d\n", r->host, r->processor,
           r->ranks, r->ranks == 1 ? "" : "s", r->settings.threads, r->settings.threads == 1 ? "" : "s",
           r->settings.repeat);
    printf(missing ? "without %s: %s\n\n" : "%s: %s\n\n", name, missing ? missing : version);
    return SPMM_OK;
}

static void write_rows(const run *r)
{
    const bench_matrix *const p = &r->matrix;
    for (const contender *c = r->contender; c < r->contender + r->contenders && r->csv; c++) {
        if (c->left_out) continue;
        fprintf(r->csv, "%s,%s,%s,%s,%d,%d,\"%s\",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64, r->date,
                r->settings.commit, r->host, r->processor, r->ranks, r->settings.threads, p->name,
                p->block.rows, p->block.cols, p->nnz, r->k);
        fprintf(r->csv, ",%s,%s,%.6f,%.6f,%.6f,%.4f,%.3g,%d\n", c->name, contender_way(c),
                c->time.median * 1e3, c->time.min * 1e3, c->time.max * 1e3, per_second(r, c->time.median),
                c->difference.error, c->ok);
    }
    if (r->csv) fflush(r->csv);
}

static void report_mpi(run *r)
{
    const contender *const ours = r->contender;
    double median = INFINITY, least = INFINITY;
    report_table(r);
    write_rows(r);
    for (const contender *c = ours + 1; c < ours + r->contenders; c++)
        if (c->ok) {
            median = fmin(median, c->time.median);
            least = fmin(least, c->time.min);
        }
    if (!ours->ok || isinf(median)) return;
    double *const value = result_add(r)->value;
    value[BY_MEDIAN] = over(median, ours->time.median);
    value[BY_LEAST] = over(least, ours->time.min);
    value[FIRST] = over(ours[1].time.median, ours->time.median);
}

/* ---- the summary ---- */

static const selection all = {-1, 0, INT64_MAX, NULL, 1};

/** Prints a line of geometric means: for the structure of a matrix, or for all (NULL). */
static void means(const settings *s, const char *matrix, int which)
{
    const char *name = which == BY_LEAST ? "all, by min" : "all";
    const int length = matrix ? structure_of(matrix, &name) : (int)strlen(name);
    double mean;
    printf("  %-16.*s", length, name);
    for (int j = 0; j <= s->column_count; j++) {
        const int last = j == s->column_count;
        const selection one = {-1, last ? 0 : s->columns[j], last ? INT64_MAX : s->columns[j], matrix, 1};
        results_mean(&one, which, &mean, NULL);
        printf(last ? "%10.2f\n" : "%10.2f ", mean);
    }
}

static void table_of_means(const settings *s)
{
    printf("  %-16s", "");
    for (int i = 0; i < s->column_count; i++) printf("%7s%-4" PRId64, "K = ", s->columns[i]);
    printf("%10s\n", "all");
    for (int i = 0; i < s->matrices; i++) {
        int seen = 0;
        for (int j = 0; j < i; j++) seen |= same_structure(s->matrix[j], s->matrix[i]);
        if (!seen) means(s, s->matrix[i], BY_MEDIAN);
    }
    means(s, NULL, BY_MEDIAN);
    means(s, NULL, BY_LEAST);
}

static void summary_mpi(run *r)
{
    const result *worst, *worst_least, *worst_first;
    double mean, mean_least, mean_first;
    int low = 0;
    const int n = results_mean(&all, BY_MEDIAN, &mean, &worst);
    if (n == 0) return;
    results_mean(&all, BY_LEAST, &mean_least, &worst_least);
    results_mean(&all, FIRST, &mean_first, &worst_first);
    for (int i = 0; i < result_count; i++) low += results[i].value[BY_MEDIAN] < LEAST;
    printf("%s / ours, its faster way, medians; geometric means by structure and K:\n",
           r->library[1].peer->package);
    table_of_means(&r->settings);
    printf("the worst of %d cases: %.2f (%s, K = %" PRId64 "); by min: %.2f (%s, K = %" PRId64 ")\n", n,
           worst->value[BY_MEDIAN], worst->matrix, worst->k, worst_least->value[BY_LEAST],
           worst_least->matrix, worst_least->k);
    if (worst_first)
        printf("%s for every K: geometric mean %.2f, worst %.2f\n", r->contender[1].name, mean_first,
               worst_first->value[FIRST]);
    printf("bar: geometric mean %.1f, no case under %.1f: %s (%.2f, %d under %.1f)\n", MEAN, LEAST,
           mean >= MEAN && low == 0 ? "reached" : "not reached", mean, low, LEAST);
}

static const bench mpi = {
    .name = "bench_mpi",
    .usage = "mpirun -np N bench_mpi [OPTIONS] [MATRIX...]",
    .csv =
        "date,commit,host,cpu,ranks,threads,matrix,rows,cols,nnz,k,contender,kernel,median_ms,min_ms,max_ms,gflops,"
        "error,ok",
    .program = OF_MPI,
    .failure = 1,
    .defaults = {.matrix = {"lap2d5:700", "lap3d7:80", "lap3d27:56", "fem3:30", "band:500000,12,2000",
                            "uniform:400000,12", "rmat:19,10", "longrows:400000,8,20,50000"},
                 .matrices = 8,
                 .columns = {1, 8, 64},
                 .column_count = 3,
                 .threads = 1,
                 .repeat = 7},
    .method = {.least = 1, .most = 1, .watch = 1},
    .open = open_mpi,
    .report = report_mpi,
    .summary = summary_mpi,
};

int main(int argc, char **argv) { return bench_main(&mpi, argc, argv); }
