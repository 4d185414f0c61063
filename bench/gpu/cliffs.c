#include <math.h>

#include "bench.h"

enum { STEP = 8, TRIPLE = 3 };
static const double CLIFF = 1.15;

/** The kernel that auto takes for K columns, ready to run. */
static spmm_status prepare_auto(problem *p, int64_t k, contender *c)
{
    *c = (contender){.is_auto = 1};
    TRY(sp_choose(&p->features, k, p->csr.precision, SPMM_CUDA, SPMM_FORMAT_AUTO, &c->kernel, NULL, 0));
    c->name = c->kernel->id;
    return contender_prepare(p, k, c);
}

/** A line: the three times, and how far K + 1 is above what the next multiple of 8 takes. */
static void show(const problem *p, const contender *c)
{
    const double ratio = c[1].time.median / c[2].time.median;
    printf("%-20.20s %-4s", p->name, precision_name(p->csr.precision));
    for (int i = 0; i < TRIPLE; i++)
        printf("  %5lld %-13s %9.4f", (long long)c[i].x.k, c[i].name, c[i].time.median * 1e3);
    printf("  %6.2f%s\n", ratio, ratio > CLIFF ? "  CLIFF" : "");
    fflush(stdout);
}

static spmm_status run_triple(problem *p, int64_t k, report *r, int *cliffs)
{
    contender c[TRIPLE];
    const int64_t columns[TRIPLE] = {k, k + 1, (k / STEP + 1) * STEP};
    int n = 0;
    spmm_status status = SPMM_OK;
    while (n < TRIPLE && status == SPMM_OK) {
        status = prepare_auto(p, columns[n], &c[n]);
        if (status == SPMM_OK) n++;
    }
    if (n == TRIPLE) status = contenders_time(c, &n);
    if (n == TRIPLE && status == SPMM_OK) {
        show(p, c);
        report_csv(r, c, n);
        *cliffs += c[1].time.median > CLIFF * c[2].time.median;
    }
    for (int i = 0; i < n; i++) contender_release(&c[i]);
    return status;
}

spmm_status cliffs_run(problem *p, report *r)
{
    const settings *const s = r->settings;
    int cliffs = 0;
    for (int i = 0; i < s->column_count; i++) TRY(run_triple(p, s->columns[i], r, &cliffs));
    printf("%-20.20s %-4s  %d of %d K have a K + 1 that takes more than %.2f of the next multiple of %d\n",
           p->name, precision_name(p->csr.precision), cliffs, s->column_count, CLIFF, STEP);
    return SPMM_OK;
}
