/** Prints the report of series_mpi, and appends its records to JSON Lines and CSV files. */
#include "series_mpi/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/words.h"

/* ---- text output ---- */

void sp_series_report_head(FILE *out, const sp_series_record *r)
{
    fprintf(out, "series_mpi %s: Pearson's coefficients of series of measurements\n", SPMM_VERSION);
    fprintf(out, "series     %s, %lld series of %lld values, %s, by %s\n", SHOWN_WHOLE(r->series.source),
            (long long)r->series.count, (long long)r->series.length, r->run.precision, r->series.layout);
    if (strcmp(r->series.source, "generated") == 0)
        fprintf(out, "           from %g on, each value within %g %% of the one before, seed %lld\n",
                r->series.start, 100 * r->series.epsilon, (long long)r->series.seed);
    else
        fprintf(out, "read       %.3f s, sending out included\n", r->series.read_seconds);
    fprintf(out, "ranks      %d\n", r->run.ranks);
    sp_binding_print(out, r->run.binding);
    if (strcmp(r->run.memory, "device") != 0)
        fprintf(out, "memory     %s: where the values lie\n", r->run.memory);
    if (r->copy_bandwidth > 0)
        fprintf(out, "copies     %.4g GB/s, read and written by all ranks; `share` is relative to it\n",
                r->copy_bandwidth / 1e9);
}

double sp_series_share(const sp_series_record *r)
{
    return r->copy_bandwidth > 0 && r->seconds.median > 0 ? r->bytes / r->seconds.median / r->copy_bandwidth
                                                          : NAN;
}

/** Returns a quantile of the coefficients: the value that a fraction `share` of the pairs does not exceed,
 *  interpolated within its histogram bin. Returns NaN if the histogram has no pairs. */
static double histogram_quantile(const sp_histogram *t, double share)
{
    const double wanted = share * (double)t->pairs;
    double before = 0;
    if (t->pairs == 0) return NAN;
    if (share <= 0) return t->low;
    if (share >= 1) return t->high;
    for (int b = 0; b < SP_BINS; b++) {
        const double here = (double)t->bin[b];
        if (here > 0 && before + here >= wanted) {
            const double at = 2.0 * (b + (wanted - before) / here) / SP_BINS - 1;
            return at < t->low ? t->low : at > t->high ? t->high : at;
        }
        before += here;
    }
    return t->high;
}

static void histogram(FILE *out, const sp_histogram *t)
{
    enum { ROWS = 20, WIDTH = 50, EACH = SP_BINS / ROWS };
    int64_t row[ROWS] = {0}, most = 1;
    for (int b = 0; b < SP_BINS; b++) {
        const int at = (int)((int64_t)b * ROWS / SP_BINS);
        row[at] += t->bin[b];
        if (row[at] > most) most = row[at];
    }
    for (int i = 0; i < ROWS; i++) {
        const int width = (int)((double)row[i] / (double)most * WIDTH + 0.5);
        fprintf(out, "  %5.2f .. %5.2f %12lld  %.*s\n", -1 + 2.0 * i / ROWS, -1 + 2.0 * (i + 1) / ROWS,
                (long long)row[i], width > 0 ? width : row[i] > 0,
                "##################################################");
    }
}

static void pairs(FILE *out, const char *what, const sp_pair *pair, int count)
{
    if (count == 0) return;
    fprintf(out, "%s\n", what);
    for (int i = 0; i < count; i++)
        fprintf(out, "  series %8lld and %8lld  %+.9f\n", (long long)pair[i].i, (long long)pair[i].j,
                pair[i].r);
}

typedef struct outsider {
    double mean;
    int64_t series;
} outsider;

static int by_mean(const void *a, const void *b)
{
    const outsider *const x = a, *const y = b;
    if (x->mean != y->mean) return x->mean < y->mean ? -1 : 1;
    return (x->series > y->series) - (x->series < y->series);
}

/** Prints the series whose mean coefficient is below o->bound, those with the lowest mean first; at most
 *  o->top series. */
static void outsiders(FILE *out, const sp_series_options *o, const sp_pearson_result *result, int64_t count)
{
    outsider *list;
    /* `live` counts the series that are not constant. A constant series has a mean coefficient of NaN, which
       is below no bound. */
    int64_t below = 0, live = 0;
    if (sp_alloc((void **)&list, count, sizeof *list, "series that stand apart") != SPMM_OK) return;
    for (int64_t m = 0; m < count; m++) {
        if (result->mean[m] < o->bound) list[below++] = (outsider){result->mean[m], m};
        live += !isnan(result->mean[m]);
    }
    qsort(list, (size_t)below, sizeof *list, by_mean);
    fprintf(out, "series that stand apart, with a mean coefficient below %g: %lld of %lld\n", o->bound,
            (long long)below, (long long)live);
    for (int64_t i = 0; i < o->top && i < below; i++)
        fprintf(out, "  series %8lld  %+.9f\n", (long long)list[i].series, list[i].mean);
    sp_free(list);
}

void sp_series_report_pairs(FILE *out, const sp_series_options *o, const sp_series_record *r,
                            const sp_pearson_result *result, int64_t count)
{
    const sp_histogram *const t = &r->histogram;
    fprintf(out, "\ncoefficients of %lld pairs", (long long)t->pairs);
    if (r->pearson.constant)
        fprintf(out, "; constant series, which have none: %lld", (long long)r->pearson.constant);
    fprintf(out, "\n");
    if (t->pairs == 0) return;
    fprintf(
        out,
        "  minimum %+.6f  5 %% %+.4f  25 %% %+.4f  median %+.4f  75 %% %+.4f  95 %% %+.4f  maximum %+.6f\n",
        t->low, histogram_quantile(t, 0.05), histogram_quantile(t, 0.25), histogram_quantile(t, 0.5),
        histogram_quantile(t, 0.75), histogram_quantile(t, 0.95), t->high);
    histogram(out, t);
    pairs(out, "most alike", result->most, result->most_count);
    pairs(out, "least alike", result->least, result->least_count);
    outsiders(out, o, result, count);
}

/* ---- JSON Lines and CSV output ---- */

static void visit_sum(sp_writer *s, const sp_series_record *r)
{
    const int there = r->sum.reduce != NULL;
    sp_writer_open(s, "sum");
    sp_writer_text(s, "reduce", there ? r->sum.reduce : "none");
    sp_writer_int(s, "steps", r->sum.steps);
    sp_writer_double(s, "calc_seconds", there ? r->sum.calc : NAN);
    sp_writer_double(s, "com_seconds", there ? r->sum.com : NAN);
    sp_writer_double(s, "model_seconds", there ? r->sum.model : NAN);
    sp_writer_double(s, "combine_seconds", there ? r->sum.combine : NAN);
    sp_writer_double(s, "value", there ? r->sum.value : NAN);
    sp_writer_close(s);
}

static void visit_pearson(sp_writer *s, const sp_series_record *r)
{
    const sp_histogram *const t = &r->histogram;
    const int pairs_there = t->pairs > 0;
    sp_writer_open(s, "pearson");
    sp_writer_text(s, "transport", r->step == SP_PEARSON ? r->pearson.transport : "none");
    sp_writer_double(s, "received_bytes", r->step == SP_PEARSON ? r->pearson.received_bytes : NAN);
    sp_writer_int(s, "pairs", t->pairs);
    sp_writer_int(s, "constant_series", r->pearson.constant);
    sp_writer_double(s, "min", pairs_there ? t->low : NAN);
    sp_writer_double(s, "q05", histogram_quantile(t, 0.05));
    sp_writer_double(s, "q25", histogram_quantile(t, 0.25));
    sp_writer_double(s, "q50", histogram_quantile(t, 0.5));
    sp_writer_double(s, "q75", histogram_quantile(t, 0.75));
    sp_writer_double(s, "q95", histogram_quantile(t, 0.95));
    sp_writer_double(s, "max", pairs_there ? t->high : NAN);
    sp_writer_close(s);
}

static void visit(sp_writer *s, const void *record)
{
    const sp_series_record *const r = record;
    sp_writer_text(s, "program", "series_mpi");
    sp_writer_text(s, "version", SPMM_VERSION);
    sp_writer_open(s, "series");
    sp_writer_text(s, "source", r->series.source);
    sp_writer_int(s, "count", r->series.count);
    sp_writer_int(s, "length", r->series.length);
    sp_writer_double(s, "start", r->series.start);
    sp_writer_double(s, "epsilon", r->series.epsilon);
    sp_writer_int(s, "seed", r->series.seed);
    sp_writer_text(s, "layout", r->series.layout);
    sp_writer_close(s);
    sp_writer_open(s, "run");
    sp_writer_int(s, "ranks", r->run.ranks);
    sp_program_write_binding(s, r->run.binding);
    sp_writer_text(s, "precision", r->run.precision);
    sp_writer_text(s, "memory", r->run.memory);
    sp_writer_int(s, "block", r->run.block);
    sp_writer_int(s, "blocks_per_series", r->run.parts);
    sp_writer_text(s, "operator", sp_operator_word(r->run.op));
    sp_writer_int(s, "repeat", r->run.repeat);
    sp_writer_int(s, "warmup", r->run.warmup);
    sp_writer_int(s, "batch", r->run.batch);
    sp_writer_text(s, "verify", r->run.verify);
    sp_writer_close(s);
    sp_writer_text(s, "step", sp_step_word(r->step));
    sp_writer_text(s, "kernel", r->kernel);
    sp_writer_open(s, "seconds");
    sp_writer_stats(s, &r->seconds);
    sp_writer_double(s, "sequential", r->sequential);
    sp_writer_double(s, "sequential_measured_share", isfinite(r->sequential) ? r->measured : NAN);
    for (int p = 0; p < SP_PEARSON_PARTS; p++)
        sp_writer_double(s, sp_pearson_part_words[p], r->step == SP_PEARSON ? r->pearson.seconds[p] : NAN);
    sp_writer_double(s, "total", r->step == SP_ARRAY_SUM ? NAN : r->total);
    sp_writer_close(s);
    sp_writer_open(s, "roofline");
    sp_writer_double(s, "bytes", r->bytes);
    sp_writer_double(s, "flops", r->flops);
    sp_writer_double(s, "copy_bytes_per_second", r->copy_bandwidth > 0 ? r->copy_bandwidth : NAN);
    sp_writer_double(s, "copy_share", sp_series_share(r));
    sp_writer_double(s, "gflops", r->seconds.median > 0 ? r->flops / r->seconds.median / 1e9 : NAN);
    sp_writer_close(s);
    sp_writer_open(s, "check");
    sp_writer_int(s, "checked", r->check.checked);
    sp_writer_int(s, "wrong", r->check.wrong);
    sp_writer_double(s, "worst_of_bound", r->check.done ? r->check.worst : NAN);
    sp_writer_bool(s, "passed", r->check.done && r->check.wrong == 0);
    sp_writer_close(s);
    visit_pearson(s, r);
    visit_sum(s, r);
    sp_writer_schema(s);
    sp_writer_text(s, "warning", sp_program_warning());
    sp_program_write_measured(s);
}

spmm_status sp_series_report_files(const sp_series_options *o, const sp_series_record *r)
{
    return sp_writer_files(o->json, o->csv, visit, r);
}
