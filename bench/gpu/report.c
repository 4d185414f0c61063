#include "bench.h"

#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "spmm_mpi/dram_bound.h"

enum { COPIES = 9 };
static const int64_t COPY_BYTES = INT64_C(4) << 30; /* starting a copy and waiting for it count little then */

const char *precision_name(spmm_precision precision) { return precision == SPMM_F64 ? "f64" : "f32"; }

/* ---- the copy ---- */

static spmm_status time_copies(void *to, const void *from, int64_t bytes, double *bandwidth)
{
    double seconds[COPIES];
    sp_timer *timer;
    spmm_status status = SPMM_OK;
    TRY(sp_timer_create(&timer));
    for (int i = -1; i < COPIES; i++) { /* -1: warm-up */
        TRY_GOTO(sp_timer_start(timer, SP_STREAM_MAIN), done);
        TRY_GOTO(sp_device_copy(to, from, bytes), done);
        TRY_GOTO(sp_timer_stop(timer, SP_STREAM_MAIN), done);
        TRY_GOTO(sp_timer_seconds(timer, &seconds[i < 0 ? 0 : i]), done);
    }
    *bandwidth = 2 * (double)bytes / sp_stats_of(seconds, COPIES).median;
done:
    sp_timer_destroy(timer);
    return status;
}

static spmm_status measure_copy(const sp_device_info *gpu, double *bandwidth)
{
    const int64_t bytes = gpu->free_bytes / 4 < COPY_BYTES ? gpu->free_bytes / 4 : COPY_BYTES;
    void *to = NULL, *from = NULL;
    spmm_status status;
    TRY_GOTO(sp_device_alloc(&to, bytes, "a copy"), done);
    TRY_GOTO(sp_device_alloc(&from, bytes, "a copy"), done);
    TRY_GOTO(sp_device_zero(from, bytes), done);
    TRY_GOTO(time_copies(to, from, bytes, bandwidth), done);
done:
    sp_device_free(to);
    sp_device_free(from);
    return status;
}

/* ---- the CSV ---- */

static const char csv_heading[] =
    "date,commit,gpu,matrix,rows,cols,nnz,precision,k,contender,kernel,layout,median_ms,min_ms,max_ms,rounds,"
    "gflops,dram_bound_share,gather_tbs,prepare_ms,ok,auto,copy_tbs";

static spmm_status open_csv(const char *path, FILE **f)
{
    *f = fopen(path, "a");
    if (!*f || fseek(*f, 0, SEEK_END) != 0) return sp_fail(SPMM_ERR_OUTPUT, "cannot write %s", path);
    if (ftell(*f) == 0) fprintf(*f, "%s\n", csv_heading);
    return SPMM_OK;
}

/** Seconds that the least traffic takes at the copy's speed. */
static double dram_seconds(const report *r, const problem *p, int64_t k)
{
    return sp_dram_bytes(&p->csr, p->touched, k) / r->copy;
}

/** TB/s of rows of X, each fetched for each entry. */
static double gather_rate(const contender *c)
{
    const double bytes = (double)c->problem->csr.nnz * (double)c->x.k * (double)sp_value_size(c->x.precision);
    return bytes / c->time.median / 1e12;
}

static void csv_line(const report *r, const contender *c)
{
    const spmm_csr *const a = &c->problem->csr;
    const double flop = 2.0 * (double)a->nnz * (double)c->x.k;
    fprintf(r->csv, "%s,%s,%s,\"%s\",%lld,%lld,%lld,%s,%lld,", r->date, r->settings->commit, r->gpu.name,
            c->problem->name, (long long)a->rows, (long long)a->cols, (long long)a->nnz,
            precision_name(a->precision), (long long)c->x.k);
    fprintf(r->csv, "%s,%s,%s,%.6f,%.6f,%.6f,%d,%.3f,%.4f,%.4f,%.3f,%d,%d,%.4f\n",
            c->kernel ? "own" : "cusparse", c->name, c->layout == ROW_MAJOR ? "row" : "column",
            c->time.median * 1e3, c->time.min * 1e3, c->time.max * 1e3, c->rounds,
            flop / c->time.median / 1e9, dram_seconds(r, c->problem, c->x.k) / c->time.median, gather_rate(c),
            c->prepare * 1e3, c->ok, c->is_auto, r->copy / 1e12);
}

void report_csv(report *r, const contender *c, int n)
{
    for (int i = 0; i < n; i++) r->wrong += !c[i].ok;
    for (int i = 0; i < n && r->csv; i++)
        if (c[i].rounds > 0) csv_line(r, &c[i]);
    if (r->csv) fflush(r->csv); /* what is measured stays when the run is cut off */
}

/* ---- opening ---- */

spmm_status report_open(const settings *s, report *r)
{
    const time_t now = time(NULL);
    *r = (report){.settings = s};
    strftime(r->date, sizeof r->date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    TRY(sp_device_describe(0, &r->gpu));
    TRY(measure_copy(&r->gpu, &r->copy));
    printf("%s, a copy reads and writes %.2f TB/s; peer: %s\n", r->gpu.name, r->copy / 1e12,
           !peer_library()          ? "none, built without"
           : s->peers && !s->cliffs ? peer_library()
                                    : "none");
    return s->csv ? open_csv(s->csv, &r->csv) : SPMM_OK;
}

spmm_status report_close(report *r)
{
    if (r->csv && (ferror(r->csv) | fclose(r->csv)))
        return sp_fail(SPMM_ERR_OUTPUT, "cannot write %s", r->settings->csv);
    return SPMM_OK;
}

/* ---- a case ---- */

void report_heading(const report *r)
{
    printf(
        "ms are medians; ratio: the peer's time over ours; bound: of the copy's speed at the least traffic, "
        "of our best; gather: TB/s of rows of X%s\n",
        r->settings->peers ? "; r, c: row- and column-major X and Y" : "");
    printf("%-27s %-4s %4s  %-13s %9s  %-13s %9s  %-19s %9s  %6s %6s %6s %7s\n", "matrix", "", "K", "ours",
           "ms", "auto", "ms", r->settings->peers && peer_library() ? peer_library() : "-", "ms", "ratio",
           "auto's", "bound", "gather");
}

/** The fastest of ours (own 1) or of the peer's by SpMM (vector 0) or SpMV (1); NULL: none that is right. */
static const contender *fastest(const contender *c, int n, int own, int vector)
{
    const contender *best = NULL;
    for (int i = 0; i < n; i++) {
        if (!c[i].ok || (c[i].kernel != NULL) != own) continue;
        if (!own && c[i].form->vector != vector) continue;
        if (!best || c[i].time.median < best->time.median) best = &c[i];
    }
    return best;
}

static const contender *automatic(const contender *c, int n)
{
    for (int i = 0; i < n; i++)
        if (c[i].is_auto && c[i].ok) return &c[i];
    return NULL;
}

static double ms(const contender *c) { return c ? c->time.median * 1e3 : 0; }
static double over(double a, double b) { return a > 0 && b > 0 ? a / b : 0; }

/** A name, of a peer's without the library's, which the heading has, and a time in columns of a table. */
static void print_contender(const contender *c, int width)
{
    char name[64];
    if (!c) {
        printf("  %-*s %9s", width, "-", "");
        return;
    }
    const char *const underscore = c->kernel ? NULL : strchr(c->name, '_');
    snprintf(name, sizeof name, "%s%s", underscore ? underscore + 1 : c->name,
             c->kernel                ? ""
             : c->layout == ROW_MAJOR ? " r"
                                      : " c");
    printf("  %-*s %9.4f", width, name, ms(c));
}

/** A ratio; blank for none. */
static void print_ratio(double ratio)
{
    if (ratio > 0)
        printf(" %6.2f", ratio);
    else
        printf(" %6s", "-");
}

static void print_case(const report *r, const problem *p, const contender *c, int n, const result *s)
{
    const contender *const own = fastest(c, n, 1, 0), *const vector = fastest(c, n, 0, 1);
    printf("%-27.27s %-4s %4lld", p->name, precision_name(s->precision), (long long)s->k);
    print_contender(own, 13);
    print_contender(automatic(c, n), 13);
    print_contender(fastest(c, n, 0, 0), 19);
    printf(" ");
    print_ratio(over(s->peer, s->best));
    print_ratio(over(s->peer, s->automatic));
    print_ratio(own ? dram_seconds(r, p, s->k) / own->time.median : 0);
    printf(" %7.2f\n", own ? gather_rate(own) : 0);
    if (vector) {
        printf("%-27s %-4s %4s  %-13s %9s  %-13s %9s", "", "", "", "", "", "", "");
        print_contender(vector, 19);
        printf(" ");
        print_ratio(over(s->vector, s->best));
        print_ratio(over(s->vector, s->automatic));
        printf("\n");
    }
    fflush(stdout);
}

void report_case(report *r, const problem *p, const contender *c, int n)
{
    if (n == 0) return;
    const result s = {p->name,
                      p->csr.precision,
                      c->x.k,
                      ms(fastest(c, n, 1, 0)),
                      ms(automatic(c, n)),
                      ms(fastest(c, n, 0, 0)),
                      ms(fastest(c, n, 0, 1))};
    report_csv(r, c, n);
    print_case(r, p, c, n, &s);
    if (r->count < MAX_RESULTS) r->results[r->count++] = s;
}
