/* Times every CUDA kernel of the registry beside cuSPARSE, checked, in one process: bench_gpu --help,
 * docs/PERFORMANCE.md. */
#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "gpu.h"

enum { COPIES = 9, STEP = 8, TRIPLE = 3 };
static const int64_t COPY_BYTES = INT64_C(4) << 30; /* starting a copy and waiting for it count little then */
static const double CLIFF = 1.15;

/* where it was found */
extern const peer cusparse_peer __attribute__((weak));

static sp_device_info gpu;
static double copy; /* bytes a second, read + written, of a copy in device memory */
static char peer_text[128];

/* ---- the head ---- */

typedef struct arrays {
    void *to, *from;
    int64_t bytes;
} arrays;

static const char *copy_once(void *of, double *unused)
{
    const arrays *const a = of;
    (void)unused;
    return failed(sp_device_copy(a->to, a->from, a->bytes));
}

static spmm_status measure_copy(void)
{
    arrays a = {.bytes = gpu.free_bytes / 4 < COPY_BYTES ? gpu.free_bytes / 4 : COPY_BYTES};
    double seconds[COPIES];
    const gpu_call call = copy_once;
    const char *line = NULL;
    spmm_status status;
    TRY_GOTO(sp_device_alloc(&a.to, a.bytes, "a copy"), done);
    TRY_GOTO(sp_device_alloc(&a.from, a.bytes, "a copy"), done);
    TRY_GOTO(sp_device_zero(a.from, a.bytes), done);
    for (int i = -1; i < COPIES && !line; i++) line = gpu_seconds(&call, 1, &a, 1, &seconds[i < 0 ? 0 : i]);
    if (line) status = sp_fail(SPMM_ERR_DEVICE, "%s", line);
    copy = 2 * (double)a.bytes / sp_stats_of(seconds, COPIES).median;
done:
    sp_device_free(a.to);
    sp_device_free(a.from);
    return status;
}

/** Each name of --own is one of our CUDA kernels'. */
static spmm_status check_own(const char *list)
{
    if (strcmp(list, "all") == 0 || strcmp(list, "auto") == 0 || strcmp(list, "ours") == 0) return SPMM_OK;
    for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(p, ","), p);
        const sp_kernel *const kernel = sp_kernel_find(name);
        if (!kernel || kernel->device != SPMM_CUDA)
            return sp_fail(SPMM_ERR_USAGE, "--own %s: \"%s\" is none of our CUDA kernels", list, name);
    }
    return SPMM_OK;
}

static spmm_status open_gpu(run *r)
{
    const char *why;
    int count;
    const settings *const s = &r->settings;
    TRY(check_own(s->own));
    if (sp_device_count(&why) == 0) return sp_fail(SPMM_ERR_NO_DEVICE, "no GPU: %s", why);
    TRY(sp_device_open(0));
    library *const own = run_add_library(r, &own_kernels_peer);
    const sp_kernel *const kernels = sp_kernels(&count);
    for (int i = 0; i < count; i++)
        if (kernels[i].device == SPMM_CUDA) run_add(r, own, &own_kernels_peer.forms[i], kernels[i].id);
    const peer *const other = &cusparse_peer;
    snprintf(peer_text, sizeof peer_text, other ? "none" : "none, built without");
    if (other && !s->no_peers && !s->cliffs) {
        const char *const line = other->open(1, "", peer_text, sizeof peer_text);
        if (line) return sp_fail(SPMM_ERR_DEVICE, "%s", line);
        run_add_forms(r, run_add_library(r, other), -1);
    }
    TRY(sp_device_describe(0, &gpu));
    TRY(measure_copy());
    printf("%s, a copy reads and writes %.2f TB/s; peer: %s\n", gpu.name, copy / 1e12, peer_text);
    if (s->cliffs) return SPMM_OK;
    printf(
        "ms are medians; ratio: the peer's time over ours; bound: of the copy's speed at the least traffic, of our "
        "best; gather: TB/s of rows of X; r, c: row- and column-major X and Y\n");
    printf("%-27s %-4s %4s  %-13s %9s  %-13s %9s  %-19s %9s  %6s %6s %6s %7s\n", "matrix", "", "K", "ours",
           "ms", "auto", "ms", r->libraries > 1 ? peer_text : "-", "ms", "ratio", "auto's", "bound",
           "gather");
    return SPMM_OK;
}

static void close_gpu(run *r)
{
    (void)r;
    sp_device_close();
}

/** --cliffs: three K of each. The matrices are small enough for thousands of columns, and fill the GPU at few. */
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
static int is_vector(const contender *c) { return strncmp(c->name, "cusparse_spmv", 13) == 0; }

/** TB/s of rows of X, each fetched for each entry. */
static double gather_rate(const run *r, const contender *c)
{
    return (double)r->matrix.nnz * (double)r->k * (double)sp_value_size(r->matrix.precision) /
           c->time.median / 1e12;
}

static void write_rows(const run *r)
{
    const bench_matrix *const m = &r->matrix;
    for (const contender *c = r->contender; c < r->contender + r->contenders && r->csv; c++) {
        if (!c->time.n) continue;
        fprintf(r->csv, "%s,%s,%s,\"%s\",%lld,%lld,%lld,%s,%lld,", r->date, r->settings.commit, gpu.name,
                m->name, (long long)m->block.rows, (long long)m->block.cols, (long long)m->nnz,
                sp_precision_word(m->precision), (long long)r->k);
        fprintf(r->csv, "%s,%s,%s,%.6f,%.6f,%.6f,%d,%.3f,%.4f,%.4f,%.3f,%d,%d,%.4f\n",
                is_own(c) ? "own" : "cusparse", c->name, c->form->layout == PEER_ROW ? "row" : "column",
                c->time.median * 1e3, c->time.min * 1e3, c->time.max * 1e3, c->count,
                per_second(r, c->time.median), gpu_dram_seconds(r, copy) / c->time.median, gather_rate(r, c),
                c->set_up * 1e3, c->ok, c->is_auto, copy / 1e12);
    }
    if (r->csv) fflush(r->csv); /* what is measured stays when the run is cut off */
}

/** The fastest of ours (own 1) or of the peer's by SpMM (vector 0) or SpMV (1); NULL: none that is right. */
static const contender *fastest(const run *r, int own, int vector)
{
    const contender *best = NULL;
    for (const contender *c = r->contender; c < r->contender + r->contenders; c++)
        if (c->ok && is_own(c) == own && is_vector(c) == vector &&
            (!best || c->time.median < best->time.median))
            best = c;
    return best;
}

static const contender *automatic(const run *r)
{
    for (const contender *c = r->contender; c < r->contender + r->contenders; c++)
        if (c->is_auto && c->ok) return c;
    return NULL;
}

static double ms(const contender *c) { return c ? c->time.median * 1e3 : 0; }

/** A name, of a peer's without the library's, which the heading has, and a time in columns of a table. */
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

/** A ratio; blank for none. */
static void print_ratio(double ratio)
{
    if (ratio > 0)
        printf(" %6.2f", ratio);
    else
        printf(" %6s", "-");
}

/** Every third case of --cliffs: the three times, and how far K + 1 is above what the next multiple of 8 takes. */
static void report_cliff(const run *r)
{
    static struct {
        char name[64];
        int64_t k;
        double ms;
    } seen[TRIPLE];
    static int count, cliffs, triples, cases;
    const contender *const c = automatic(r);
    seen[count].k = r->k;
    seen[count].ms = ms(c);
    snprintf(seen[count++].name, sizeof seen->name, "%s", c ? c->name : "-");
    if (++cases % TRIPLE == 0) {
        const double ratio = over(seen[1].ms, seen[2].ms);
        printf("%-20.20s %-4s", r->matrix.name, sp_precision_word(r->matrix.precision));
        for (int i = 0; i < TRIPLE; i++)
            printf("  %5lld %-13s %9.4f", (long long)seen[i].k, seen[i].name, seen[i].ms);
        printf("  %6.2f%s\n", ratio, ratio > CLIFF ? "  CLIFF" : "");
        fflush(stdout);
        cliffs += ratio > CLIFF;
        triples++;
        count = 0;
    }
    if (cases < r->settings.column_count) return;
    printf("%-20.20s %-4s  %d of %d K have a K + 1 that takes more than %.2f of the next multiple of %d\n",
           r->matrix.name, sp_precision_word(r->matrix.precision), cliffs, triples, CLIFF, STEP);
    count = cliffs = triples = cases = 0;
}

static void report_gpu(run *r)
{
    const contender *const own = fastest(r, 1, 0), *const spmv = fastest(r, 0, 1),
                           *const spmm = fastest(r, 0, 0);
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
    printf(" %7.2f\n", own ? gather_rate(r, own) : 0);
    if (spmv) {
        printf("%-27s %-4s %4s  %-13s %9s  %-13s %9s", "", "", "", "", "", "", "");
        print_contender(spmv, 19);
        printf(" ");
        print_ratio(over(vector, best));
        print_ratio(over(vector, chosen));
        printf("\n");
    }
    fflush(stdout);
    double *const value = result_add(r)->value;
    value[PEER_BEST] = over(theirs, best);
    value[PEER_AUTO] = over(theirs, chosen);
    value[VECTOR_BEST] = spmv ? over(any, best) : 0;
    value[VECTOR_AUTO] = spmv ? over(any, chosen) : 0;
    value[BEST_AUTO] = over(best, chosen);
}

static const bench gpu_bench = {
    .name = "bench_gpu",
    .usage = "bench_gpu [OPTIONS] [MATRIX...]",
    .csv =
        "date,commit,gpu,matrix,rows,cols,nnz,precision,k,contender,kernel,layout,median_ms,min_ms,max_ms,rounds,"
        "gflops,dram_bound_share,gather_tbs,prepare_ms,ok,auto,copy_tbs",
    .program = OF_GPU,
    .failure = 4,
    .defaults = {.matrix = {"lap3d7:140", "lap3d27:90", "fem3:56", "lap2d5:1000", "band:1000000,16,4000",
                            "uniform:1000000,16", "rmat:20,12", "longrows:1000000,5,4,500000"},
                 .matrices = 8,
                 .columns = {1, 2, 3, 4, 8, 9, 16, 32, 33, 64, 100, 128, 256},
                 .column_count = 13,
                 .precision = 2,
                 .own = "ours"},
    .method = {.rounds = 9, .least = 1, .most = 1, .enough = 60e-3, .few = 1, .hopeless = 20, .gpu_clock = 1},
    .adjust = adjust_gpu,
    .open = open_gpu,
    .close = close_gpu,
    .load = gpu_load,
    .unload = gpu_unload,
    .choose = gpu_choose,
    .arrays = gpu_arrays,
    .check = gpu_check,
    .report = report_gpu,
    .summary = summary_print,
};

int main(int argc, char **argv) { return bench_main(&gpu_bench, argc, argv); }
