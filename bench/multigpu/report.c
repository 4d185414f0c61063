#include <math.h>
#include <string.h>
#include <time.h>

#include "bench.h"

/* what is to be reached: docs/PERFORMANCE.md */
static const double MEAN = 4.0, LEAST = 1.3;

static const char csv_heading[] =
    "date,commit,host,gpu,ranks,matrix,rows,nnz,precision,k,contender,way,transport,overlap,median_ms,min_ms,"
    "max_ms,repeats,gather_ms,product_ms,exchange_ms,no_exchange_ms,set_up_s,ok";

static const char *precision_name(spmm_precision precision) { return precision == SPMM_F64 ? "f64" : "f32"; }

/* ---- the CSV ---- */

spmm_status report_open(const settings *s, const sp_binding *binding, int ranks, report *r)
{
    const time_t now = time(NULL);
    *r = (report){.settings = s, .binding = *binding, .ranks = ranks};
    strftime(r->date, sizeof r->date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    printf("%d ranks, %s on %s, %d threads each; theirs: %s, ncclAllGather of X and SpMM; commit %s, %s\n",
           ranks, binding->gpu.name, binding->host, binding->threads, theirs_libraries(),
           *s->commit ? s->commit : "-", r->date);
    printf(
        "ms of the slowest rank, barrier to barrier, median; ratio: theirs over ours; every Y is checked\n");
    printf("%-30s %-3s %4s  %8s = %8s + %8s  %-11s  %8s  %-17s %8s  %6s  %8s  %6s\n", "matrix", "", "K",
           "theirs", "gather", "product", "form", "ours", "by", "exchange", "hidden", "no ovlap", "ratio");
    if (!s->csv) return SPMM_OK;
    r->csv = fopen(s->csv, "a");
    if (!r->csv || fseek(r->csv, 0, SEEK_END) != 0)
        return sp_fail(SPMM_ERR_OUTPUT, "cannot write %s", s->csv);
    if (ftell(r->csv) == 0) fprintf(r->csv, "%s\n", csv_heading);
    return SPMM_OK;
}

spmm_status report_close(report *r)
{
    if (r->csv && (ferror(r->csv) | fclose(r->csv)))
        return sp_fail(SPMM_ERR_OUTPUT, "cannot write %s", r->settings->csv);
    r->csv = NULL;
    return SPMM_OK;
}

static void csv_line(const report *r, const problem *p, int64_t k, const contender *c)
{
    if (!r->csv) return;
    fprintf(r->csv, "%s,%s,%s,%s,%d,\"%s\",%lld,%lld,%s,%lld,", r->date, r->settings->commit, r->binding.host,
            r->binding.gpu.name, r->ranks, p->name, (long long)p->block.rows, (long long)p->nnz,
            precision_name(p->precision), (long long)k);
    fprintf(r->csv, "%s,%s,%s,%d,%.6f,%.6f,%.6f,%d,%.6f,%.6f,%.6f,%.6f,%.3f,%d\n", c->name, contender_way(c),
            contender_transport(c), !c->theirs && !c->no_overlap, c->time.median * 1e3, c->time.min * 1e3,
            c->time.max * 1e3, c->count, c->gather * 1e3, c->product * 1e3, c->exchange * 1e3,
            c->no_exchange * 1e3, c->set_up, c->ok);
    fflush(r->csv); /* what is measured stays when the run is cut off */
}

/* ---- on the screen ---- */

void report_matrix(const problem *p, double seconds)
{
    printf("%s: %lld rows, %lld entries, made and scattered in %.1f s\n", p->name, (long long)p->block.rows,
           (long long)p->nnz, seconds);
    fflush(stdout);
}

/** Of the exchange's time alone, the share that the product did not wait for. */
static double hidden_share(const contender *c)
{
    const double share = 1 - (c->time.median - c->no_exchange) / c->exchange;
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

static void print_case(const problem *p, int64_t k, const contender *c, int n, double ratio)
{
    char by[64];
    snprintf(by, sizeof by, "%s %s", contender_way(&c[1]), contender_transport(&c[1]));
    printf("%-30.30s %-3s %4lld  %8.3f = %8.3f + %8.3f  %-11s  %8.3f  %-17s %8.3f", p->name,
           precision_name(p->precision), (long long)k, c[0].time.median * 1e3, c[0].gather * 1e3,
           c[0].product * 1e3, contender_way(&c[0]), c[1].time.median * 1e3, by, c[1].exchange * 1e3);
    if (c[1].exchange > 0)
        printf("  %5.0f%%", 100 * hidden_share(&c[1]));
    else
        printf("  %6s", "-");
    if (n > 2)
        printf("  %8.3f", c[2].time.median * 1e3);
    else
        printf("  %8s", "-");
    printf("  %6.2f\n", ratio);
    fflush(stdout);
}

void report_case(report *r, const problem *p, int64_t k, const contender *c, int n)
{
    const double ratio = c[0].time.median / c[1].time.median;
    int right = 1;
    for (int i = 0; i < n; i++) {
        csv_line(r, p, k, &c[i]);
        r->wrong += !c[i].ok;
        right = right && c[i].ok;
    }
    print_case(p, k, c, n, ratio);
    if (right && r->count < MAX_RESULTS) r->results[r->count++] = (result){p->name, k, ratio};
}

void report_more(report *r, const problem *p, int64_t k, const contender *c)
{
    csv_line(r, p, k, c);
    r->wrong += !c->ok;
    printf("%-30s %3s %4s  ours, %s: %.3f, exchange %.3f, product without it %.3f\n", "", "", "",
           contender_transport(c), c->time.median * 1e3, c->exchange * 1e3, c->no_exchange * 1e3);
    fflush(stdout);
}

void report_summary(const report *r)
{
    double logs = 0;
    const result *worst = NULL;
    for (int i = 0; i < r->count; i++) {
        logs += log(r->results[i].ratio);
        if (!worst || r->results[i].ratio < worst->ratio) worst = &r->results[i];
    }
    if (r->wrong > 0) printf("%d results were WRONG\n", r->wrong);
    if (!worst) return;
    const double mean = exp(logs / r->count);
    printf(
        "%d ranks, %d cases: geometric mean of the ratio %.2f (bar %.1f: %s), least %.2f at %s K = %lld (bar "
        "%.1f: %s)\n",
        r->ranks, r->count, mean, MEAN, mean >= MEAN ? "reached" : "missed", worst->ratio, worst->matrix,
        (long long)worst->k, LEAST, worst->ratio >= LEAST ? "reached" : "missed");
}
