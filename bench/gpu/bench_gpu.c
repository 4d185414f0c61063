/* Times every CUDA kernel of the registry beside cuSPARSE and checks the results, in one process. See
 * bench_gpu --help, bench/records/METHODS.md. */
#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "base/value_type.h"
#include "cli/copy_bandwidth.h"
#include "kernels/peers/peer_load.h"
#include "gpu.h"

enum { STEP = 8, TRIPLE = 3 };
static const double CLIFF = 1.15;

static sp_binding binding;
static double copy;         /* bytes per second, read plus written, of a copy in device memory */
static char peer_text[128]; /* name and version of the library that is the peer */

/* indices of a result's value[], ratios of times: of cuSPARSE's SpMM (PEER), or of the faster of its SpMM and
 * SpMV (VECTOR), over our best kernel (BEST) or the kernel of auto (AUTO); of our best kernel over that of
 * auto */
enum { PEER_BEST, PEER_AUTO, VECTOR_BEST, VECTOR_AUTO, BEST_AUTO };

/* ---- the head ---- */

/** Checks that each name of --own is the name of one of our CUDA kernels. */
static spmm_status check_own(const char *list)
{
    for (const char *p = listed("all,auto,ours", list, 0) ? "" : list; *p;
         p += strcspn(p, ","), p += *p == ',') {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(p, ","), p);
        const sp_kernel *const kernel = sp_kernel_find(name);
        if (!kernel || kernel->device != SPMM_CUDA)
            return sp_fail(SPMM_ERR_USAGE, "--own %s: \"%s\" is not one of our CUDA kernels", list, name);
    }
    return SPMM_OK;
}

static spmm_status open_cusparse(run *r)
{
    char path[SP_MESSAGE_BYTES];
    const char *version;
    const peer_adaptor *other;
    const int found = sp_peer_find("cusparse", path, sizeof path);
    snprintf(peer_text, sizeof peer_text, found ? "none" : "none, built without");
    if (!found || r->settings.no_peers || r->settings.cliffs) return SPMM_OK;
    TRY(sp_peer_open("cusparse", 1, &other, &version));
    snprintf(peer_text, sizeof peer_text, "%s", version);
    run_add_forms(r, run_add_library(r, other), -1);
    return SPMM_OK;
}

static int has_form(const run *r, const char *name)
{
    for (const contender *c = r->contender; c < r->contender + r->contenders; c++)
        if (strcmp(c->name, name) == 0) return 1;
    return 0;
}

static spmm_status open_gpu(run *r)
{
    const char *why;
    sp_grid grid;
    int count;
    const settings *const s = &r->settings;
    TRY(check_own(s->own));
    if (sp_device_count(&why) == 0) return sp_fail(SPMM_ERR_NO_DEVICE, "no GPU: %s", why);
    TRY(sp_grid_create(MPI_COMM_WORLD, 0, 0, &grid));
    TRY(sp_bind_rank(grid.comm, SP_DEVICE_CUDA, 0, &binding));
    TRY(sp_copy_bandwidth(&grid, &binding, &copy));
    sp_grid_destroy(&grid);
    library *const own = run_add_library(r, &own_kernels_peer);
    const sp_kernel *const kernels = sp_kernels(&count);
    for (int i = 0; i < count; i++)
        if (kernels[i].device == SPMM_CUDA) run_add(r, own, &own_kernels_peer.forms[i], kernels[i].id);
    TRY(open_cusparse(r));
    printf("%s, a copy reads and writes %.2f TB/s; peer: %s%s\n", binding.gpu.name, copy / 1e12, peer_text,
           r->libraries > 1 && !has_form(r, "cusparse_spmvop_alg1") ? ", too old for SpMVOp" : "");
    if (s->cliffs) return SPMM_OK;
    printf(
        "ms are medians; ratio: the peer's time over ours; of our best: bound: of the copy's speed at the least "
        "traffic, gather: of the speed of caches if each entry fetches its row of X; r, c: row- and column-major "
        "X and Y\n");
    printf("%-27s %-4s %4s  %-13s %9s  %-13s %9s  %-19s %9s  %6s %6s %6s %6s\n", "matrix", "", "K", "ours",
           "ms", "auto", "ms", r->libraries > 1 ? peer_text : "-", "ms", "ratio", "auto's", "bound",
           "gather");
    return SPMM_OK;
}

/** With --cliffs, replaces each K by three. The default matrices are small enough for thousands of columns,
 *  and fill the GPU with few columns. */
static void adjust_gpu(settings *s)
{
    static const int64_t columns[] = {1,  2,   4,   8,   12,  16,  24,   32,   48,  64,
                                      96, 128, 192, 256, 384, 512, 1024, 2048, 4088};
    enum { MANY = sizeof columns / sizeof *columns };
    if (!s->cliffs) return;
    if (s->matrices == 0) {
        s->matrix[s->matrices++] = "lap3d27:64";
        s->matrix[s->matrices++] = "uniform:200000,16";
    }
    if (s->column_count == 0) memcpy(s->columns, columns, sizeof columns);
    if (s->column_count == 0) s->column_count = MANY;
    if (s->column_count > MAX_LIST / TRIPLE) s->column_count = MAX_LIST / TRIPLE;
    for (int i = s->column_count - 1; i >= 0; i--) {
        const int64_t k = s->columns[i];
        s->columns[TRIPLE * i] = k;
        s->columns[TRIPLE * i + 1] = k + 1;
        s->columns[TRIPLE * i + 2] = (k / STEP + 1) * STEP;
    }
    s->column_count *= TRIPLE;
}

/* ---- a case ---- */

static int is_own(const contender *c) { return c->library->peer == &own_kernels_peer; }

/** Kinds of contenders, from which fastest() selects. */
typedef enum kind { OWN, SPMM, SPMV, TRANSPOSED } kind;

static kind kind_of(const contender *c)
{
    if (is_own(c)) return OWN;
    return gpu_is_transposed(c) ? TRANSPOSED : strncmp(c->name, "cusparse_spmv", 13) == 0 ? SPMV : SPMM;
}

/** Returns the bytes of a row of X. */
static double row_bytes(const run *r) { return (double)(r->k * sp_value_size(r->matrix.precision)); }

/** Returns the TB/s at which rows of X are fetched, one row per entry. */
static double gather_rate(const run *r, const contender *c)
{
    return (double)r->matrix.nnz * row_bytes(r) / c->time.median / 1e12;
}

/** Returns the share of the speed at which an H200 reads data of the size of X from its caches, measured on
 *  2026-11-21: 7.5 TB/s up to SMALL, what the L2 holds, 4.4 from LARGE on. */
static double gather_share(const run *r, const contender *c)
{
    const double SMALL = 48e6, LARGE = 128e6, FAST = 7.5, SLOW = 4.4;
    const double x = (double)r->matrix.block.cols * row_bytes(r);
    const double beyond = x < SMALL ? 0 : x < LARGE ? (x - SMALL) / (LARGE - SMALL) : 1;
    return gather_rate(r, c) / (FAST + beyond * (SLOW - FAST));
}

static void write_rows(const run *r)
{
    const bench_matrix *const m = &r->matrix;
    for (const contender *c = r->contender; c < r->contender + r->contenders && r->csv; c++) {
        if (!c->time.n) continue;
        fprintf(r->csv, "%s,%s,%s,\"%s\",%lld,%lld,%lld,%s,%lld,", r->date, r->settings.commit,
                binding.gpu.name, m->name, (long long)m->block.rows, (long long)m->block.cols,
                (long long)m->nnz, sp_precision_word(m->precision), (long long)r->k);
        fprintf(r->csv, "%s,%s,%s,%.6f,%.6f,%.6f,%d,%.3f,%.4f,%.4f,%.3f,%d,%d,%.4f",
                is_own(c) ? "own" : "cusparse", c->name, layout_word(c), c->time.median * 1e3,
                c->time.min * 1e3, c->time.max * 1e3, c->count, per_second(r, c->time.median),
                gpu_dram_seconds(r, copy) / c->time.median, gather_rate(r, c), c->set_up * 1e3, c->ok,
                c->is_auto, copy / 1e12);
        for (int t = 0; t < SP_TRAITS; t++)
            fprintf(r->csv, ",%.6g", sp_trait_of(gpu_features(), (sp_trait)t, r->k, m->precision));
        fprintf(r->csv, ",%.4f,%s\n", gather_share(r, c), peer_text);
    }
    if (r->csv) fflush(r->csv); /* keeps the results if the run is interrupted */
}

/** Returns the fastest contender of a kind; NULL: none is right. */
static const contender *fastest(const run *r, kind of)
{
    const contender *best = NULL;
    for (const contender *c = r->contender; c < r->contender + r->contenders; c++)
        if (c->ok && kind_of(c) == of && (!best || c->time.median < best->time.median)) best = c;
    return best;
}

static const contender *automatic(const run *r)
{
    for (const contender *c = r->contender; c < r->contender + r->contenders; c++)
        if (c->is_auto && c->ok) return c;
    return NULL;
}

static double ms(const contender *c) { return c ? c->time.median * 1e3 : 0; }

/** Prints a contender's name and time as columns of a table. A peer's name is printed without the library,
 *  which the heading shows. */
static void print_contender(const contender *c, int width)
{
    char name[80] = "-";
    if (c && is_own(c))
        snprintf(name, sizeof name, "%s", c->name);
    else if (c)
        snprintf(name, sizeof name, "%s %s", strchr(c->name, '_') + 1,
                 c->form->layout == PEER_ROW ? "r" : "c");
    printf(c ? "  %-*s %9.4f" : "  %-*s          ", width, name, ms(c));
}

/** Prints a ratio; a dash if it is 0. */
static void print_ratio(double ratio) { printf(ratio > 0 ? " %6.2f" : "      -", ratio); }

/** With --cliffs, prints a line for three cases, which ends with the time for K + 1 over that for the next
 *  multiple of 8. */
static void report_cliff(const run *r)
{
    static int cliffs, cases;
    static double last;
    const contender *const c = automatic(r);
    const char *const precision = sp_precision_word(r->matrix.precision);
    const double ratio = over(last, ms(c));
    if (cases % TRIPLE == 0) printf("%-20.20s %-4s", r->matrix.name, precision);
    printf("  %5lld %-13s %9.4f", (long long)r->k, c ? c->name : "-", ms(c));
    last = ms(c);
    if (++cases % TRIPLE == 0) printf("  %6.2f%s\n", ratio, ratio > CLIFF ? "  CLIFF" : "");
    cliffs += cases % TRIPLE == 0 && ratio > CLIFF;
    fflush(stdout);
    if (cases < r->settings.column_count) return;
    printf("%-20.20s %-4s  %d of %d K have a K + 1 that takes more than %.2f of the next multiple of %d\n",
           r->matrix.name, precision, cliffs, cases / TRIPLE, CLIFF, STEP);
    cliffs = cases = 0;
}

/** Prints the time of the peer's SpMV or transposed operation, and its ratios to ours. */
static void print_further(const contender *c, double best, double chosen)
{
    if (!c) return;
    printf("%87s", "");
    print_contender(c, 19);
    printf(" ");
    print_ratio(over(ms(c), best));
    print_ratio(over(ms(c), chosen));
    printf("\n");
}

static void report_gpu(run *r)
{
    const contender *const own = fastest(r, OWN), *const spmv = fastest(r, SPMV),
                           *const spmm = fastest(r, SPMM);
    const double best = ms(own), chosen = ms(automatic(r)), theirs = ms(spmm), vector = ms(spmv);
    const double any = theirs > 0 && (theirs < vector || !spmv) ? theirs : vector;
    write_rows(r);
    if (r->settings.cliffs) {
        report_cliff(r);
        return;
    }
    printf("%-27.27s %-4s %4lld", r->matrix.name, sp_precision_word(r->matrix.precision), (long long)r->k);
    print_contender(own, 13);
    print_contender(automatic(r), 13);
    print_contender(spmm, 19);
    printf(" ");
    print_ratio(over(theirs, best));
    print_ratio(over(theirs, chosen));
    print_ratio(own ? gpu_dram_seconds(r, copy) / own->time.median : 0);
    print_ratio(own ? gather_share(r, own) : 0);
    printf("\n");
    print_further(spmv, best, chosen);
    print_further(fastest(r, TRANSPOSED), best, chosen);
    fflush(stdout);
    double *const value = result_add(r)->value;
    value[PEER_BEST] = over(theirs, best);
    value[PEER_AUTO] = over(theirs, chosen);
    value[VECTOR_BEST] = spmv ? over(any, best) : 0;
    value[VECTOR_AUTO] = spmv ? over(any, chosen) : 0;
    value[BEST_AUTO] = over(best, chosen);
}

/* ---- the summary ---- */

static void line(const char *label, const selection *s, int which)
{
    static const char *const names[] = {"SpMM / our best", "SpMM / auto", "SpMM or SpMV / our best",
                                        "SpMM or SpMV / auto", "our best / auto"};
    const result *worst;
    double mean;
    const int n = results_mean(s, which, &mean, &worst);
    if (n > 0)
        printf("%-4s %-27.27s %-24s %4d  %7.2f  %7.2f  %s K = %lld\n", sp_precision_words[s->precision],
               label, names[which], n, mean, worst->value[which], worst->matrix, (long long)worst->k);
}

static void all_matrices(int precision)
{
    static const struct {
        const char *label;
        int64_t least, most;
        int which[4]; /* -1: no more */
    } ranges[] = {{"K = 4 .. 128", 4, 128, {PEER_BEST, PEER_AUTO, BEST_AUTO, -1}},
                  {"K = 1 .. 3", 1, 3, {PEER_BEST, PEER_AUTO, BEST_AUTO, -1}},
                  {"every K", 1, INT64_MAX, {PEER_BEST, PEER_AUTO, BEST_AUTO, -1}},
                  {"K = 1", 1, 1, {VECTOR_BEST, VECTOR_AUTO, -1, -1}}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        for (const int *which = ranges[i].which; *which >= 0; which++)
            line(ranges[i].label, &(selection){precision, ranges[i].least, ranges[i].most, NULL, 0}, *which);
}

static void per_matrix(const char *matrix, int precision)
{
    char label[64];
    for (int few = 0; few < 2; few++) {
        const selection s = {precision, few ? 1 : 4, few ? 3 : 128, matrix, 0};
        snprintf(label, sizeof label, "%.14s K = %s", matrix, few ? "1 .. 3" : "4 .. 128");
        line(label, &s, PEER_BEST);
        line(label, &s, PEER_AUTO);
    }
}

static void summary_gpu(run *r)
{
    if (result_count > 0)
        printf("\n%-4s %-27s %-24s %4s  %7s  %7s\n", "", "cases", "times", "n", "geomean", "worst");
    for (int precision = SPMM_F64; precision < SP_TYPES && result_count > 0; precision++)
        all_matrices(precision);
    for (int precision = SPMM_F64; precision < SP_TYPES; precision++)
        for (int i = 0; i < r->settings.matrices && result_count > 0; i++)
            per_matrix(r->settings.matrix[i], precision);
    printf("%.0f s\n", MPI_Wtime() - r->start);
}

static const bench gpu_bench = {
    .name = "bench_gpu",
    .usage = "bench_gpu [OPTIONS] [MATRIX...]",
    .csv =
        "date,commit,gpu,matrix,rows,cols,nnz,precision,k,contender,kernel,layout,median_ms,min_ms,max_ms,rounds,"
        "gflops,dram_bound_share,gather_tbs,prepare_ms,ok,auto,copy_tbs"
#define COLUMN(id, column, phrase) "," column
    SP_TRAIT_LIST(COLUMN) ",gather_bound_share,peer",
#undef COLUMN
    .program = OF_GPU,
    .failure = 4,
    .defaults = {.matrix = {"lap3d7:140", "lap3d27:90", "fem3:56", "lap2d5:1000", "band:1000000,16,4000",
                            "uniform:1000000,16", "rmat:20,12", "longrows:1000000,5,4,500000"},
                 .matrices = 8,
                 .columns = {1, 2, 3, 4, 8, 9, 16, 32, 33, 64, 100, 128, 256},
                 .column_count = 13,
                 .precision = BOTH_REAL,
                 .own = "ours"},
    .method = {.rounds = 9, .least = 1, .most = 1, .enough = 60e-3, .few = 1, .hopeless = 20, .gpu_clock = 1},
    .adjust = adjust_gpu,
    .open = open_gpu,
    .close = sp_device_close,
    .load = gpu_load,
    .unload = gpu_unload,
    .choose = gpu_choose,
    .arrays = gpu_arrays,
    .check = gpu_check,
    .report = report_gpu,
    .summary = summary_gpu,
};

int main(int argc, char **argv) { return bench_main(&gpu_bench, argc, argv); }
