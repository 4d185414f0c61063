/** Computes sums, deviations and centered copies of series on the CPU. */
#include <math.h>

#include "formats/multivector.h"
#include "kernels/series/series.h"

typedef enum way { LANES_WAY, SERIAL_WAY, PAIRWISE_WAY, COMPENSATED_WAY } way;

#define T double
#define NAME(x) x##_f64
#include "kernels/series/series_sum_impl.h"
#define T float
#define NAME(x) x##_f32
#include "kernels/series/series_sum_impl.h"

/* ---- means (kernels of step SP_MEAN) ---- */

static void sum_series(const sp_series_launch *l, way how, int threads)
{
    const sp_series *const x = l->x;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t m = 0; m < x->count; m++)
        l->mean[m] = SP_OF_REAL(one, x->v.precision)(x, how, m, l->divisor);
}

static spmm_status lanes(const sp_series_launch *l) { return sum_series(l, LANES_WAY, l->threads), SPMM_OK; }

/** Reduces by any operator, value after value. */
static spmm_status ordered(const sp_series_launch *l, int threads)
{
    const sp_series *const x = l->x;
    if (l->op == SP_SUM) return sum_series(l, SERIAL_WAY, threads), SPMM_OK;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t m = 0; m < x->count; m++) SP_OF_REAL(reduce, x->v.precision)(x, l->op, m, l->mean + m);
    return SPMM_OK;
}
static spmm_status serial(const sp_series_launch *l) { return ordered(l, 1); }
static spmm_status by_threads(const sp_series_launch *l) { return ordered(l, l->threads); }
static spmm_status pairwise(const sp_series_launch *l)
{
    return sum_series(l, PAIRWISE_WAY, l->threads), SPMM_OK;
}
static spmm_status compensated(const sp_series_launch *l)
{
    return sum_series(l, COMPENSATED_WAY, l->threads), SPMM_OK;
}

static spmm_status columns(const sp_series_launch *l)
{
    const int64_t count = l->x->count;
    const int parts = l->threads;
#pragma omp parallel for schedule(static) num_threads(l->threads)
    for (int p = 0; p < parts; p++) {
        const int64_t from = count * p / parts, to = count * (p + 1) / parts;
        SP_OF_REAL(columns, l->x->v.precision)(l->x, from, to, l->divisor, l->mean);
    }
    return SPMM_OK;
}

const sp_series_ops sp_series_cpu_sum = {.run = lanes};
const sp_series_ops sp_series_cpu_sum_columns = {.run = columns};
const sp_series_ops sp_series_cpu_sum_serial = {.run = serial};
const sp_series_ops sp_series_cpu_sum_ordered = {.run = by_threads};
const sp_series_ops sp_series_cpu_sum_pairwise = {.run = pairwise};
const sp_series_ops sp_series_cpu_sum_compensated = {.run = compensated};

/* ---- deviations (kernels of step SP_DEVIATION) ---- */

static void spread(const sp_series_launch *l, int wide, int threads)
{
    const sp_series *const x = l->x;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t m = 0; m < x->count; m++)
        l->spread[m] = SP_OF_REAL(spread, x->v.precision)(sp_row(&x->v, m), x->length, l->mean[m], wide);
}

static spmm_status spread_by_threads(const sp_series_launch *l) { return spread(l, 32, l->threads), SPMM_OK; }
static spmm_status spread_by_one(const sp_series_launch *l) { return spread(l, 1, 1), SPMM_OK; }

const sp_series_ops sp_series_cpu_spread = {.run = spread_by_threads};
const sp_series_ops sp_series_cpu_spread_serial = {.run = spread_by_one};

/* ---- centered copies (called by sp_series_center() in series_tile.c) ---- */

void sp_cpu_center(const sp_series *x, const sp_spread *s, spmm_multivector *z, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t m = 0; m < x->count; m++)
        SP_OF_REAL(center, x->v.precision)(sp_row(&x->v, m), x->length, &s[m], sp_row(z, m));
}
