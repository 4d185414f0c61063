/** Tests of Pearson coefficients over ranks, on either device; run by test_series_pearson.c and
 *  test_gpu_pearson.c. */
#ifndef SP_SERIES_PEARSON_CASES_H
#define SP_SERIES_PEARSON_CASES_H

#include <math.h>

#include "base/memory.h"
#include "base/random.h"
#include "comm/grid.h"
#include "device/device.h"
#include "order/partition.h"
#include "formats/multivector.h"
#include "sample.h"
#include "series_mpi/pearson.h"
#include "test_mpi.h"

/** A case's data on this rank. One grid serves all cases, because on GPUs creating it starts NCCL, which
 *  takes a second. */
typedef struct fixture {
    sp_grid grid;
    int64_t count, length, *begin; /* series of all ranks, values per series, first series of each rank */
    sp_series x;
    sp_spread *spread;
    sp_pearson *pearson;
} fixture;

/** Value i of series m. Series 2 is constant; series 4 and 5 are 3 and -1 times (series 1 minus 1). */
static double value_of(int64_t m, int64_t i)
{
    if (m == 2) return 0.1;
    const double v = sp_random_unit(21, (uint64_t)(m == 4 || m == 5 ? 1 : m), (uint64_t)i) + (double)m;
    return m == 4 ? 3 * (v - 4) : m == 5 ? -(v - 5) : v;
}

/** The coefficient of series a and b of n values, in long double. */
static double right_coefficient(int64_t a, int64_t b, int64_t n)
{
    long double ma = 0, mb = 0, sab = 0, saa = 0, sbb = 0;
    for (int64_t i = 0; i < n; i++) {
        ma += value_of(a, i);
        mb += value_of(b, i);
    }
    ma /= n;
    mb /= n;
    for (int64_t i = 0; i < n; i++) {
        const long double x = value_of(a, i) - ma, y = value_of(b, i) - mb;
        sab += x * y;
        saa += x * x;
        sbb += y * y;
    }
    return (double)(sab / sqrtl(saa * sbb));
}

/** Allocates device or host memory; aborts on failure. */
static void *room(spmm_device space, int64_t bytes)
{
    void *p = NULL;
    const spmm_status status = space == SPMM_CPU ? sp_alloc(&p, bytes, 1, "test")
                                                 : sp_device_alloc(&p, bytes, "test");
    if (status != SPMM_OK) MPI_Abort(MPI_COMM_WORLD, 2);
    return p;
}

/** Frees what room() allocated. */
static void done_with(spmm_device space, void *p)
{
    if (space == SPMM_CPU)
        sp_free(p);
    else
        sp_device_free(p);
}

/** Sets this rank's series to value_of(). */
static void fill(fixture *f)
{
    sp_series host = f->x;
    CHECK_INT(spmm_multivector_create(f->x.count, f->length, f->x.v.precision, SPMM_CPU, &host.v), SPMM_OK);
    for (int64_t m = 0; m < f->x.count; m++)
        for (int64_t i = 0; i < f->length; i++) {
            const double v = value_of(f->x.first + m, i);
            sample_set(host.v.data, f->x.v.precision, m * host.v.ld + i, v);
        }
    CHECK_INT(spmm_multivector_copy(&host.v, &f->x.v), SPMM_OK);
    spmm_multivector_destroy(&host.v);
}

/** Makes a case: series, their deviations, and the coefficients' object. Collective over the grid. */
static void set_up(fixture *f, const sp_grid *grid, int64_t count, int64_t length, spmm_precision p,
                   const sp_series_kernel *k)
{
    const spmm_device space = k->device;
    memset(f, 0, sizeof *f);
    f->grid = *grid;
    f->count = count;
    f->length = length;
    f->begin = calloc((size_t)f->grid.size + 1, sizeof *f->begin);
    sp_partition_even(count, f->grid.size, f->begin);
    f->x.first = f->begin[f->grid.rank];
    f->x.count = f->begin[f->grid.rank + 1] - f->x.first;
    f->x.length = length;
    CHECK_INT(spmm_multivector_create(f->x.count, length, p, space, &f->x.v), SPMM_OK);
    fill(f);
    double *const mean = room(space, f->x.count * 8);
    f->spread = room(space, f->x.count * (int64_t)sizeof *f->spread);
    const sp_series_launch l = {
        .x = &f->x, .divisor = (double)length, .mean = mean, .spread = f->spread, .threads = 1};
    CHECK_INT(sp_series_default(SP_MEAN, space, SP_SERIES_MAJOR, SP_SUM)->ops->run(&l), SPMM_OK);
    CHECK_INT(sp_series_default(SP_DEVIATION, space, SP_SERIES_MAJOR, SP_SUM)->ops->run(&l), SPMM_OK);
    if (space == SPMM_CUDA) CHECK_INT(sp_device_sync(), SPMM_OK);
    done_with(space, mean);
    const spmm_status status = sp_pearson_create(&f->grid, &f->x, f->begin, k, 1, &f->pearson);
    if (status != SPMM_OK && f->grid.rank == 0) printf("  %s\n", spmm_error_message());
    CHECK_INT(status, SPMM_OK);
}

static void tear_down(fixture *f)
{
    sp_pearson_destroy(f->pearson);
    done_with(f->x.v.space, f->spread);
    spmm_multivector_destroy(&f->x.v);
    free(f->begin);
}

static int is_constant(const fixture *f, int64_t m) { return f->length == 1 || m == 2; }

static int by_greatest(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/** Compares all of a result with the correct values; for rank 0. */
static void check_result(const fixture *f, const sp_pearson_result *r, int top, double tolerance)
{
    double *const sorted = calloc((size_t)(f->count * f->count + 1), sizeof *sorted);
    double *const sum = calloc((size_t)f->count, sizeof *sum);
    int64_t pairs = 0, constant = 0, counted = 0;
    for (int64_t i = 0; i < f->count; i++) constant += is_constant(f, i);
    for (int64_t i = 0; i < f->count; i++)
        for (int64_t j = 0; j < f->count; j++) {
            const double found = sp_multivector_get(&r->coefficients, i, j);
            const int none = is_constant(f, i) || is_constant(f, j);
            const double right = none ? 0 : i == j ? 1 : right_coefficient(i, j, f->length);
            CHECK(fabs(found - right) <= tolerance && fabs(found) <= 1);
            if (none || i == j) continue;
            sum[i] += right;
            if (i < j) sorted[pairs++] = right;
        }
    qsort(sorted, (size_t)pairs, sizeof *sorted, by_greatest);
    CHECK_INT(r->constant, constant);
    CHECK_INT(r->histogram.pairs, pairs);
    for (int b = 0; b < SP_BINS; b++) counted += r->histogram.bin[b];
    CHECK_INT(counted, pairs);
    CHECK_INT(r->most_count, pairs < top ? pairs : top);
    CHECK_INT(r->least_count, pairs < top ? pairs : top);
    for (int n = 0; n < r->most_count; n++) {
        const sp_pair *const most = &r->most[n], *const least = &r->least[n];
        CHECK(fabs(most->r - sorted[n]) <= tolerance && fabs(least->r - sorted[pairs - 1 - n]) <= tolerance);
        CHECK(most->i < most->j && least->i < least->j);
        CHECK(fabs(most->r - right_coefficient(most->i, most->j, f->length)) <= tolerance);
        CHECK(fabs(least->r - right_coefficient(least->i, least->j, f->length)) <= tolerance);
    }
    if (pairs > 0)
        CHECK(fabs(r->histogram.high - sorted[0]) <= tolerance &&
              fabs(r->histogram.low - sorted[pairs - 1]) <= tolerance);
    const double others = (double)(f->count - constant - 1);
    for (int64_t m = 0; m < f->count; m++) {
        const int none = is_constant(f, m) || others < 1;
        CHECK(none ? isnan(r->mean[m]) : fabs(r->mean[m] - sum[m] / others) <= tolerance * 4);
    }
    free(sorted);
    free(sum);
}

/** Checks one case; the second pass must work with the state that the first one left. Collective over the
 *  grid. */
static void check_case(const sp_grid *grid, int64_t count, int64_t length, spmm_precision p,
                       const sp_series_kernel *k, int top)
{
    fixture f;
    sp_pearson_result result;
    int64_t *const all = calloc((size_t)count, sizeof *all);
    for (int64_t m = 0; m < count; m++) all[m] = m;
    const sp_pearson_wanted wanted = {count, all, top};
    set_up(&f, grid, count, length, p, k);
    for (int i = 0; i < 2; i++) CHECK_INT(sp_pearson_pass(f.pearson, f.spread, NULL), SPMM_OK);
    CHECK_INT(sp_pearson_collect(f.pearson, f.spread, &wanted, &result), SPMM_OK);
    if (f.grid.rank == 0) check_result(&f, &result, top, p == SPMM_F64 ? 1e-13 : 2e-5);
    sp_pearson_result_destroy(&result);
    tear_down(&f);
    free(all);
}

/** Checks more equal coefficients than fit into a list of candidates. Collective over the grid. */
static void check_ties(const sp_grid *grid, const sp_series_kernel *k)
{
    fixture f;
    sp_pearson_result result;
    const sp_pearson_wanted wanted = {0, NULL, 3};
    enum { COUNT = 420, LENGTH = 4 };
    set_up(&f, grid, COUNT, LENGTH, SPMM_F64, k);
    double host[LENGTH] = {1, 2, 4, 3};
    for (int64_t m = 0; m < f.x.count; m++) {
        double *const to = (double *)f.x.v.data + m * f.x.v.ld;
        if (k->device == SPMM_CPU) memcpy(to, host, sizeof host);
        if (k->device == SPMM_CUDA) CHECK_INT(sp_device_upload(to, host, sizeof host), SPMM_OK);
    }
    double *const mean = room(k->device, f.x.count * 8);
    const sp_series_launch l = {.x = &f.x, .divisor = LENGTH, .mean = mean, .spread = f.spread, .threads = 1};
    CHECK_INT(sp_series_default(SP_MEAN, k->device, SP_SERIES_MAJOR, SP_SUM)->ops->run(&l), SPMM_OK);
    CHECK_INT(sp_series_default(SP_DEVIATION, k->device, SP_SERIES_MAJOR, SP_SUM)->ops->run(&l), SPMM_OK);
    CHECK_INT(sp_pearson_collect(f.pearson, f.spread, &wanted, &result), SPMM_OK);
    done_with(k->device, mean);
    if (f.grid.rank == 0) {
        CHECK_INT(result.histogram.pairs, COUNT * (COUNT - 1) / 2);
        CHECK_INT(result.most_count, 3);
        for (int n = 0; n < 3; n++)
            CHECK(fabs(result.most[n].r - 1) < 1e-12 && fabs(result.least[n].r - 1) < 1e-12);
    }
    sp_pearson_result_destroy(&result);
    tear_down(&f);
}

/** Tests every kernel of a device. Collective over MPI_COMM_WORLD. */
static void test_pearson(spmm_device device)
{
    static const int64_t counts[] = {1, 2, 3, 6, 7, 13, 30}, lengths[] = {1, 2, 9, 100};
    static const char *const edges[] = {"0", "1", "3"};
    int kernels;
    sp_grid grid;
    const sp_series_kernel *const k = sp_series_kernels(&kernels);
    if (sp_grid_create(MPI_COMM_WORLD, 0, 0, &grid) != SPMM_OK) MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; i < kernels; i++) {
        if (k[i].step != SP_PEARSON || k[i].device != device) continue;
        if (k[i].ops->missing) {
            SKIP(k[i].id, k[i].ops->missing);
            continue;
        }
        TEST(test_name("%s: coefficients, extremes and means are right for any share of the series",
                       k[i].id)) {
            for (int c = 0; c < 7; c++)
                for (int n = 0; n < 4; n++)
                    for (int p = 0; p < 2; p++) {
                        /* length 2 and rounding in f32 make coefficients of +-1 without special series */
                        setenv("SPMM_TILE_EDGE", edges[(c + n) % 3], 1);
                        check_case(&grid, counts[c], lengths[n], (spmm_precision)p, &k[i],
                                   1 + (c * 7 + n) % 40);
                    }
            unsetenv("SPMM_TILE_EDGE");
        }
        TEST(test_name("%s: more equal coefficients than are looked at together", k[i].id)) {
            check_ties(&grid, &k[i]);
        }
    }
    sp_grid_destroy(&grid);
}

#endif
