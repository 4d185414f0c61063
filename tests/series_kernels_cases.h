/** Tests of the kernels on series, on either device; run by test_series_kernels.c and test_gpu_series.c. */
#ifndef SP_SERIES_KERNELS_CASES_H
#define SP_SERIES_KERNELS_CASES_H

#include <float.h>
#include <math.h>

#include "base/memory.h"
#include "base/random.h"
#include "device/device.h"
#include "formats/multivector.h"
#include "kernels/series/philox.h"
#include "kernels/series/series.h"
#include "sample.h"
#include "test.h"

/* ---- helpers ---- */

/** Tells whether to skip the next of many cases: on an emulated GPU, which is slow, one case in `every` is
 *  run. All values of a parameter occur if `every` and the number of these values are coprime. *number counts
 *  the cases. */
static int left_out(const sp_series_kernel *k, int every, int *number)
{
    return k->device == SPMM_CUDA && sample_gpu_is_emulated() && (*number)++ % every != 0;
}

/** Value i of series m. */
typedef double (*value_fn)(int64_t m, int64_t i);

/** Allocates series; exits on failure. */
static sp_series make(int64_t count, int64_t length, sp_series_order layout, spmm_precision p,
                      spmm_device space)
{
    sp_series x = {count, length, 0, layout, {0}};
    const int rows = layout == SP_SERIES_MAJOR;
    if (spmm_multivector_create(rows ? count : length, rows ? length : count, p, space, &x.v) != SPMM_OK) {
        printf("  %s\n", spmm_error_message());
        exit(2);
    }
    return x;
}

static void put_value(sp_series *x, int64_t m, int64_t i, double value)
{
    const int64_t at = x->layout == SP_SERIES_MAJOR ? m * x->v.ld + i : i * x->v.ld + m;
    sample_set(x->v.data, x->v.precision, at, value);
}

static double get_value(const sp_series *x, int64_t m, int64_t i)
{
    return x->layout == SP_SERIES_MAJOR ? sp_multivector_get(&x->v, m, i) : sp_multivector_get(&x->v, i, m);
}

/** Copies series to the memory of `space`. */
static sp_series moved(const sp_series *x, spmm_device space)
{
    sp_series to = make(x->count, x->length, x->layout, x->v.precision, space);
    to.first = x->first;
    CHECK_INT(spmm_multivector_copy(&x->v, &to.v), SPMM_OK);
    return to;
}

/** Makes series of the given values in host memory. */
static sp_series filled(int64_t count, int64_t length, sp_series_order layout, spmm_precision p,
                        value_fn value)
{
    sp_series x = make(count, length, layout, p, SPMM_CPU);
    for (int64_t m = 0; m < count; m++)
        for (int64_t i = 0; i < length; i++) put_value(&x, m, i, value(m, i));
    return x;
}

static double small_integer(int64_t m, int64_t i)
{
    return (double)(sp_random(3, (uint64_t)m, (uint64_t)i) % 17) - 5;
}
static double unit_real(int64_t m, int64_t i) { return 10 + sp_random_unit(7, (uint64_t)m, (uint64_t)i); }

/** Allocates zeroed memory of a device; exits on failure. */
static void *device_memory(spmm_device space, int64_t bytes)
{
    void *p = NULL;
    if (space == SPMM_CPU) {
        if (sp_alloc_zero(&p, bytes, 1, "test") != SPMM_OK) exit(2);
    } else {
        if (sp_device_alloc(&p, bytes, "test") != SPMM_OK || sp_device_zero(p, bytes) != SPMM_OK) exit(2);
    }
    return p;
}

static void device_release(spmm_device space, void *p)
{
    if (space == SPMM_CPU)
        sp_free(p);
    else
        sp_device_free(p);
}

static void to_host(spmm_device space, void *to, const void *from, int64_t bytes)
{
    if (space == SPMM_CPU)
        memcpy(to, from, (size_t)bytes);
    else
        CHECK_INT(sp_device_download(to, from, bytes), SPMM_OK);
}

static void from_host(spmm_device space, void *to, const void *from, int64_t bytes)
{
    if (space == SPMM_CPU)
        memcpy(to, from, (size_t)bytes);
    else
        CHECK_INT(sp_device_upload(to, from, bytes), SPMM_OK);
}

/** Runs a kernel of SP_MEAN or SP_DEVIATION twice: the second run must work with the workspace that the first
 *  one left.
 *  \param [in]  l     the kernel's arguments, except series and memory
 *  \param [in]  mean  [count], host memory, for SP_DEVIATION; else NULL
 *  \param [out] out   the result, of `bytes` bytes, host memory */
static void run_with(const sp_series_kernel *k, const sp_series *host, sp_series_launch l, const double *mean,
                     void *out, int64_t bytes)
{
    sp_series x = moved(host, k->device);
    double *const means = device_memory(k->device, x.count * 8);
    void *const result = device_memory(k->device, bytes);
    l.x = &x;
    l.mean = k->step == SP_MEAN ? result : means;
    l.spread = result;
    l.threads = 2;
    l.work = device_memory(k->device, k->ops->work_bytes ? k->ops->work_bytes(&l) : 0);
    if (mean) from_host(k->device, means, mean, x.count * 8);
    for (int i = 0; i < 2; i++) CHECK_INT(k->ops->run(&l), SPMM_OK);
    if (k->device == SPMM_CUDA) CHECK_INT(sp_device_sync(), SPMM_OK);
    to_host(k->device, out, result, bytes);
    spmm_multivector_destroy(&x.v);
    device_release(k->device, means);
    device_release(k->device, result);
    device_release(k->device, l.work);
}

static void run_step(const sp_series_kernel *k, const sp_series *host, double divisor, const double *mean,
                     int block, void *out, int64_t bytes)
{
    run_with(k, host, (sp_series_launch){.divisor = divisor, .block = block}, mean, out, bytes);
}

/** The error constant of a sum of n terms: n u / (1 - n u), where u is the unit round-off. */
static double gamma_n(int64_t n, spmm_precision p)
{
    const double nu = (double)n * (p == SPMM_F64 ? 0x1p-53 : 0x1p-24);
    return nu / (1 - nu);
}

/* ---- generation ---- */

/** Runs a kernel of SP_GENERATE and returns the series in host memory. */
static sp_series walked(const sp_series_kernel *k, int64_t count, int64_t length, int64_t first,
                        sp_series_order layout, spmm_precision p, const sp_walk *w, int block)
{
    sp_series x = make(count, length, layout, p, k->device);
    x.first = first;
    const sp_series_launch l = {.x = &x, .walk = w, .threads = 2, .block = block};
    CHECK_INT(k->ops->run(&l), SPMM_OK);
    if (k->device == SPMM_CPU) return x;
    CHECK_INT(sp_device_sync(), SPMM_OK);
    sp_series host = moved(&x, SPMM_CPU);
    spmm_multivector_destroy(&x.v);
    return host;
}

/** Counts the values of a and b that differ in any bit; the layouts may differ. */
static int64_t different(const sp_series *a, const sp_series *b)
{
    int64_t count = 0;
    for (int64_t m = 0; m < a->count; m++)
        for (int64_t i = 0; i < a->length; i++) {
            const double x = get_value(a, m, i), y = get_value(b, m, i);
            count += memcmp(&x, &y, sizeof x) != 0;
        }
    return count;
}

static void test_generation(const sp_series_kernel *k)
{
    static const int64_t lengths[] = {1, 2, 3, 4, 5, 31, 32, 63, 64, 65, 127, 128, 129, 300, 1001},
                         counts[] = {1, 5, 16, 31, 32, 33, 70};
    const sp_walk w = {.start = 100, .epsilon = 0.03, .seed = UINT64_C(0x123456789abcdef0)};
    const sp_series_kernel *const reference = sp_series_find("cpu_walk_serial");
    int number = 0;
    TEST(test_name("%s makes the sequential program's series, bit for bit", k->id)) {
        for (int p = 0; p < 2; p++)
            for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++)
                for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
                    for (int layout = 0; layout < 2; layout++) {
                        if (left_out(k, 11, &number)) continue;
                        const int block = k->device == SPMM_CUDA ? (int)(n % 3) * 32 : 0;
                        const int64_t first = (int64_t)c * 1000 + (c == 3) * (INT64_C(1) << 33);
                        sp_series a = walked(reference, counts[c], lengths[n], first, SP_SERIES_MAJOR,
                                             (spmm_precision)p, &w, 0),
                                  b = walked(k, counts[c], lengths[n], first, (sp_series_order)layout,
                                             (spmm_precision)p, &w, block);
                        CHECK_INT(different(&a, &b), 0);
                        spmm_multivector_destroy(&a.v);
                        spmm_multivector_destroy(&b.v);
                    }
    }
}

static inline void test_walk_itself(void)
{
    TEST("Philox4x32-10 gives the published numbers") {
        static const struct {
            uint32_t counter[4], key[2], random[4];
        } known[] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                     {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                     {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                      {0xa4093822, 0x299f31d0},
                      {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
        for (int i = 0; i < 3; i++) {
            uint32_t random[4], c[4][SP_PHILOX_LANES];
            sp_philox_one(known[i].counter, known[i].key[0], known[i].key[1], random);
            for (int w = 0; w < 4; w++)
                for (int l = 0; l < SP_PHILOX_LANES; l++) c[w][l] = known[i].counter[w] + (w == 0 && l != 5);
            sp_philox(c, known[i].key[0], known[i].key[1]);
            for (int w = 0; w < 4; w++) {
                CHECK_INT(random[w], known[i].random[w]);
                CHECK_INT(c[w][5], known[i].random[w]);
            }
        }
    }
    TEST("a value differs from the one before by epsilon at most, and by all of it somewhere") {
        const sp_walk w = {.start = -3, .epsilon = 0.25, .seed = 5};
        sp_series x = walked(sp_series_find("cpu_walk_serial"), 50, 1000, 0, SP_SERIES_MAJOR, SPMM_F64, &w,
                             0);
        double most = 0, least = 0;
        for (int64_t m = 0; m < 50; m++) {
            CHECK(get_value(&x, m, 0) == -3);
            for (int64_t i = 1; i < 1000; i++) {
                const double share = get_value(&x, m, i) / get_value(&x, m, i - 1) - 1;
                CHECK(fabs(share) <= 0.25 * (1 + 1e-12));
                most = fmax(most, share);
                least = fmin(least, share);
            }
        }
        CHECK(most > 0.2499 && least < -0.2499);
        spmm_multivector_destroy(&x.v);
    }
}

/* ---- sums ---- */

static void check_sums(const sp_series_kernel *k, const sp_series *x, int block, int exact)
{
    double *const sum = calloc((size_t)x->count, sizeof *sum), *const mean = calloc((size_t)x->count,
                                                                                    sizeof *mean);
    run_step(k, x, 1, NULL, block, sum, x->count * 8);
    run_step(k, x, (double)x->length, NULL, block, mean, x->count * 8);
    for (int64_t m = 0; m < x->count; m++) {
        long double right = 0, absolute = 0;
        for (int64_t i = 0; i < x->length; i++) {
            right += get_value(x, m, i);
            absolute += fabs(get_value(x, m, i));
        }
        const double bound = exact ? 0 : gamma_n(x->length, x->v.precision) * (double)absolute;
        CHECK(fabs(sum[m] - (double)right) <= bound + (exact ? 0 : 0x1p-52 * fabs(sum[m])));
        const double unit = x->v.precision == SPMM_F64 ? 0x1p-52 : 0x1p-23;
        CHECK(fabs(mean[m] - (double)right / (double)x->length) <=
              bound / (double)x->length + unit * fabs(mean[m]));
    }
    free(sum);
    free(mean);
}

static void test_sums(const sp_series_kernel *k)
{
    static const int64_t lengths[] = {1, 2, 3, 7, 31, 32, 33, 64, 100, 129, 1000, 1025, 4099, 20000},
                         counts[] = {1, 3, 40};
    static const int blocks[] = {0, 32, 64, 96, 256, 992, 1024};
    const int layout = k->layout == SP_INDEX_MAJOR, block_count = k->device == SPMM_CUDA ? 7 : 1;
    int number = 0;
    TEST(test_name("%s sums small integers exactly and reals within their bound, any length and block",
                   k->id)) {
        for (int p = 0; p < 2; p++)
            for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++)
                for (int c = 0; c < 3; c++)
                    for (int b = 0; b < block_count; b++) {
                        if (left_out(k, 41, &number) || (lengths[n] > 2000 && (c + b) % 2)) continue;
                        sp_series x = filled(counts[c], lengths[n], (sp_series_order)layout,
                                             (spmm_precision)p, small_integer),
                                  y = filled(counts[c], lengths[n], (sp_series_order)layout,
                                             (spmm_precision)p, unit_real);
                        check_sums(k, &x, blocks[b], 1);
                        check_sums(k, &y, blocks[b], 0);
                        spmm_multivector_destroy(&x.v);
                        spmm_multivector_destroy(&y.v);
                    }
    }
    if (strcmp(k->id, "sum_columns") == 0 || strcmp(k->id, "sum_nested") == 0 ||
        strcmp(k->id, "sum_full_shared") == 0)
        return;
    const char *const name = test_name("%s has a result for more series than a grid's second dimension",
                                       k->id);
    if (k->device == SPMM_CUDA && sample_gpu_is_emulated()) {
        SKIP(name, "the GPU is emulated");
        return;
    }
    TEST(name) {
        sp_series x = filled(70000, 3, (sp_series_order)layout, SPMM_F32, small_integer);
        check_sums(k, &x, 32, 1);
        spmm_multivector_destroy(&x.v);
    }
}

/** Values that cancel in the sum, except for ones, which plain sums lose. */
static double canceling(int64_t m, int64_t i)
{
    return i % 3 == 0 ? 1e17 + (double)m : i % 3 == 1 ? 1 : -1e17 - (double)m;
}

static void test_compensated(const sp_series_kernel *k)
{
    TEST(test_name("%s keeps what plain sums lose", k->id)) {
        sp_series x = filled(5, 3000, SP_SERIES_MAJOR, SPMM_F64, canceling);
        double sum[5];
        run_step(k, &x, 1, NULL, 0, sum, sizeof sum);
        for (int m = 0; m < 5; m++) CHECK(sum[m] == 1000);
        spmm_multivector_destroy(&x.v);
    }
}

/** The order of summation that sum_ordered promises: consecutive values per thread, then adjacent partial
 *  sums. */
static double in_order(const sp_series *x, int64_t m, int block)
{
    double part[1024] = {0};
    const int64_t each = (x->length + block - 1) / block;
    for (int t = 0; t < block; t++)
        for (int64_t i = t * each; i < (t + 1) * each && i < x->length; i++) part[t] += get_value(x, m, i);
    for (int away = 1; away < block; away *= 2)
        for (int t = 0; t + away < block; t += 2 * away) part[t] += part[t + away];
    return part[0];
}

static void test_order(const sp_series_kernel *k)
{
    TEST("sum_ordered adds neighbors only, in their order") {
        sp_series x = filled(7, 5003, SP_SERIES_MAJOR, SPMM_F64, unit_real);
        double sum[7];
        run_step(k, &x, 1, NULL, 96, sum, sizeof sum);
        for (int64_t m = 0; m < 7; m++) CHECK(sum[m] == in_order(&x, m, 96));
        spmm_multivector_destroy(&x.v);
    }
}

/* ---- deviations ---- */

static double of_scale; /* the scale of scaled_real() */
static double scaled_real(int64_t m, int64_t i)
{
    return m == 2 ? 0.1 * of_scale
                  : of_scale * (sp_random_unit(9, (uint64_t)m, (uint64_t)i) + (m == 3 ? 1000 : 0));
}

static void check_spreads(const sp_series_kernel *k, const sp_series *x)
{
    const double unit = x->v.precision == SPMM_F64 ? 0x1p-53 : 0x1p-24;
    double *const mean = calloc((size_t)x->count, sizeof *mean);
    sp_spread *const s = calloc((size_t)x->count, sizeof *s);
    long double *const right = calloc((size_t)x->count, sizeof *right), *const dev = calloc((size_t)x->count,
                                                                                            sizeof *dev);
    for (int64_t m = 0; m < x->count; m++) {
        for (int64_t i = 0; i < x->length; i++) right[m] += get_value(x, m, i);
        right[m] /= x->length;
        for (int64_t i = 0; i < x->length; i++)
            dev[m] += (get_value(x, m, i) - right[m]) * (get_value(x, m, i) - right[m]);
        dev[m] = sqrtl(dev[m]);
        mean[m] = x->v.precision == SPMM_F64 ? (double)right[m] * (1 + 1e-12) : (double)(float)right[m];
    }
    run_step(k, x, 1, mean, 0, s, x->count * (int64_t)sizeof *s);
    for (int64_t m = 0; m < x->count; m++) {
        const int same = x->length == 1 || m == 2;
        CHECK_INT(s[m].constant, same);
        if (same) {
            CHECK(s[m].deviation == 0 && s[m].center == get_value(x, m, 0));
            continue;
        }
        const double n = (double)x->length, off = 4 * n * unit * (fabs((double)right[m]) + (double)dev[m]);
        CHECK(fabsl(s[m].center - right[m]) <= off);
        const long double found = ldexpl(s[m].deviation, s[m].exponent);
        CHECK(fabsl(found - dev[m]) <= (4 * n * unit) * dev[m] + n * off * (off / dev[m]));
        CHECK(s[m].deviation < 2.01 * sqrt(n) && s[m].deviation >= 0.99);
    }
    free(mean);
    free(s);
    free(right);
    free(dev);
}

static void test_spread(const sp_series_kernel *k)
{
    static const int64_t lengths[] = {1, 2, 5, 33, 500, 2047};
    static const double scales[2][3] = {{1, 1e300, 1e-300}, {1, 1e30, 1e-30}};
    TEST(test_name("%s is right for values of 1, 1e300 and 1e-300, and finds what is constant", k->id)) {
        for (int p = 0; p < 2; p++)
            for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++)
                for (int i = 0; i < 3; i++) {
                    of_scale = scales[p][i];
                    sp_series x = filled(6, lengths[n], SP_SERIES_MAJOR, (spmm_precision)p, scaled_real);
                    check_spreads(k, &x);
                    spmm_multivector_destroy(&x.v);
                }
    }
}

/* ---- numerators ---- */

static void check_dots(const sp_series_kernel *k, int64_t rows, int64_t cols, int64_t length,
                       spmm_precision p, int triangle)
{
    sp_series a = filled(rows, length, SP_SERIES_MAJOR, p, small_integer),
              b = filled(cols, length, SP_SERIES_MAJOR, p, triangle ? small_integer : unit_real);
    for (int64_t m = 0; m < cols && !triangle; m++)
        for (int64_t i = 0; i < length; i++) put_value(&b, m, i, small_integer(m + 100, i));
    sp_series da = moved(&a, k->device), db = moved(&b, k->device);
    const int64_t size = (int64_t)sp_value_size(p);
    void *const c = device_memory(k->device, rows * cols * size), *const host = malloc(
                                                                      (size_t)(rows * cols * size));
    const sp_dots d = {
        da.v.data, triangle ? da.v.data : db.v.data, rows, cols, length, da.v.ld, p, c, triangle, 2};
    CHECK_INT(k->ops->dots(&d), SPMM_OK);
    if (k->device == SPMM_CUDA) CHECK_INT(sp_device_sync(), SPMM_OK);
    to_host(k->device, host, c, rows * cols * size);
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows && !(triangle && i > j); i++) {
            double right = 0;
            for (int64_t n = 0; n < length; n++)
                right += get_value(&a, i, n) * get_value(triangle ? &a : &b, j, n);
            CHECK(sample_get(host, p, j * rows + i) == right);
        }
    free(host);
    device_release(k->device, c);
    spmm_multivector_destroy(&a.v);
    spmm_multivector_destroy(&b.v);
    spmm_multivector_destroy(&da.v);
    spmm_multivector_destroy(&db.v);
}

static void test_dots(const sp_series_kernel *k)
{
    static const int64_t sizes[] = {1, 3, 4, 5, 17, 40}, lengths[] = {1, 2, 7, 8, 16, 33, 257};
    int number = 0;
    TEST(test_name("%s multiplies small integers exactly, whatever the shape", k->id)) {
        for (int p = 0; p < 2; p++)
            for (int r = 0; r < 6; r++)
                for (int n = 0; n < 7; n++) {
                    if (left_out(k, 5, &number)) continue;
                    check_dots(k, sizes[r], sizes[r], lengths[n], (spmm_precision)p, 1);
                    check_dots(k, sizes[r], sizes[(r + 2) % 6], lengths[n], (spmm_precision)p, 0);
                }
    }
}

/* ---- operations that have one implementation per device ---- */

enum { TILE_ROWS = 37, TILE_COLS = 29 };

/** A tile of numerators, and the weights of its rows and columns; in a triangle these are the same. */
typedef struct tile_case {
    sp_tile tile;
    double numerator[TILE_COLS][TILE_ROWS], weight[TILE_ROWS + TILE_COLS];
    void *weights; /* a copy of `weight` on the tile's device */
} tile_case;

static void tile_create(spmm_device space, spmm_precision p, int triangle, tile_case *c)
{
    const int rows = triangle ? TILE_COLS : TILE_ROWS;
    const int64_t bytes = TILE_COLS * rows * (int64_t)sp_value_size(p);
    double host[TILE_COLS * TILE_ROWS];
    for (int i = 0; i < TILE_ROWS + TILE_COLS; i++) c->weight[i] = i % 7 == 3 ? 0 : 0.5;
    for (int j = 0; j < TILE_COLS; j++)
        for (int i = 0; i < rows; i++) {
            const double v = 4.0 * (float)(1.01 * sp_random_unit(11, (uint64_t)i, (uint64_t)j));
            c->numerator[j][i] = v;
            sample_set(host, p, j * rows + i, v);
        }
    c->tile = (sp_tile){.rows = rows,
                        .cols = TILE_COLS,
                        .first_row = 100,
                        .first_col = triangle ? 100 : 50,
                        .precision = p,
                        .space = space,
                        .triangle = triangle,
                        .threads = 2};
    c->tile.c = device_memory(space, bytes);
    c->weights = device_memory(space, sizeof c->weight);
    from_host(space, c->tile.c, host, bytes);
    from_host(space, c->weights, c->weight, sizeof c->weight);
    c->tile.wrow = c->weights;
    c->tile.wcol = (double *)c->weights + (triangle ? 0 : TILE_ROWS);
}

/** Computes the histogram by definition. Returns the number of coefficients that are at most -0.5 or at least
 *  0.75. */
static int64_t tile_expected(const tile_case *c, sp_histogram *h)
{
    const int triangle = c->tile.triangle;
    int64_t extreme = 0;
    *h = (sp_histogram){.low = 2, .high = -2};
    for (int j = 0; j < TILE_COLS; j++)
        for (int i = 0; i < c->tile.rows; i++) {
            const double weight = c->weight[i] * c->weight[triangle ? j : TILE_ROWS + j];
            if (weight == 0 || (triangle && i >= j)) continue;
            const double r = fmin(fmax(c->numerator[j][i] * weight, -1), 1);
            h->pairs++;
            h->bin[sp_bin(r)]++;
            h->low = fmin(h->low, r);
            h->high = fmax(h->high, r);
            extreme += r <= -0.5 || r >= 0.75;
        }
    return extreme;
}

static void check_tile(const tile_case *c)
{
    enum { MOST = TILE_COLS * TILE_ROWS };
    const spmm_device space = c->tile.space;
    sp_histogram *histogram, found, right;
    sp_pair pair[MOST];
    int64_t count;
    CHECK_INT(sp_histogram_create(space, &histogram), SPMM_OK);
    CHECK_INT(sp_tile_histogram(&c->tile, histogram), SPMM_OK);
    if (space == SPMM_CUDA) CHECK_INT(sp_device_sync(), SPMM_OK);
    to_host(space, &found, histogram, sizeof found);
    sp_histogram_destroy(space, histogram);
    const int64_t extreme = tile_expected(c, &right);
    CHECK_INT(found.pairs, right.pairs);
    CHECK(found.low == right.low && found.high == right.high);
    CHECK(memcmp(found.bin, right.bin, sizeof right.bin) == 0);
    CHECK_INT(sp_tile_find(&c->tile, -0.5, 0.75, pair, MOST, &count), SPMM_OK);
    CHECK_INT(count, extreme);
    for (int64_t n = 0; n < count; n++) {
        CHECK(pair[n].i < pair[n].j || !c->tile.triangle);
        CHECK(pair[n].r <= -0.5 || pair[n].r >= 0.75);
    }
    CHECK_INT(sp_tile_find(&c->tile, -0.5, 0.75, pair, 3, &count), SPMM_OK);
    CHECK_INT(count, extreme);
}

static void test_tiles(spmm_device space, const char *where)
{
    TEST(test_name("coefficients of a tile are counted and found, on %s", where)) {
        for (int n = 0; n < 4; n++) {
            tile_case c;
            tile_create(space, (spmm_precision)(n / 2), n % 2, &c);
            check_tile(&c);
            device_release(space, c.tile.c);
            device_release(space, c.weights);
        }
    }
}

static void test_copies(spmm_device space, const char *where)
{
    TEST(test_name("transposed, centered and combined series are right, on %s", where)) {
        for (int p = 0; p < 2; p++) {
            sp_series host = filled(45, 131, SP_SERIES_MAJOR, (spmm_precision)p, small_integer),
                      x = moved(&host, space), y = make(45, 131, SP_INDEX_MAJOR, (spmm_precision)p, space),
                      z = make(45, 131, SP_SERIES_MAJOR, (spmm_precision)p, space);
            sp_spread s[45];
            double weight[45], sum[131], dot[45];
            CHECK_INT(sp_series_transpose(&x, &y, 2), SPMM_OK);
            for (int m = 0; m < 45; m++) {
                s[m] = (sp_spread){3, 1, m % 3, m == 7};
                weight[m] = m % 5;
            }
            sp_spread *const spread = device_memory(space, sizeof s);
            double *const w = device_memory(space, sizeof weight);
            from_host(space, spread, s, sizeof s);
            from_host(space, w, weight, sizeof weight);
            CHECK_INT(sp_series_center(&x, spread, &z.v, 2), SPMM_OK);
            CHECK_INT(sp_series_combine(&x.v, w, sum, 2), SPMM_OK);
            CHECK_INT(sp_series_project(&x.v, sum, dot, 2), SPMM_OK);
            if (space == SPMM_CUDA) CHECK_INT(sp_device_sync(), SPMM_OK);
            sp_series turned = moved(&y, SPMM_CPU), centered = moved(&z, SPMM_CPU);
            CHECK_INT(different(&host, &turned), 0);
            for (int m = 0; m < 45; m++)
                for (int i = 0; i < 131; i++)
                    CHECK(get_value(&centered, m, i) ==
                          (m == 7 ? 0 : (get_value(&host, m, i) - 3) * ldexp(1, -(m % 3))));
            for (int i = 0; i < 131; i++) {
                double right = 0;
                for (int m = 0; m < 45; m++) right += weight[m] * get_value(&host, m, i);
                CHECK(sum[i] == right);
            }
            for (int m = 0; m < 45; m++) {
                double right = 0;
                for (int i = 0; i < 131; i++) right += sum[i] * get_value(&host, m, i);
                CHECK(dot[m] == right);
            }
            device_release(space, spread);
            device_release(space, w);
            spmm_multivector_destroy(&host.v);
            spmm_multivector_destroy(&x.v);
            spmm_multivector_destroy(&y.v);
            spmm_multivector_destroy(&z.v);
            spmm_multivector_destroy(&turned.v);
            spmm_multivector_destroy(&centered.v);
        }
    }
}

/* ---- all kernels of a device ---- */

/** Tests every kernel of a device. */
static void test_device(spmm_device device)
{
    int count;
    const sp_series_kernel *const k = sp_series_kernels(&count);
    for (int i = 0; i < count; i++) {
        if (k[i].device != device) continue;
        if (k[i].ops->missing) {
            SKIP(k[i].id, k[i].ops->missing);
            continue;
        }
        if (k[i].step == SP_GENERATE) test_generation(&k[i]);
        if (k[i].step == SP_MEAN) test_sums(&k[i]);
        if (strstr(k[i].id, "compensated")) test_compensated(&k[i]);
        if (strcmp(k[i].id, "sum_ordered") == 0) test_order(&k[i]);
        if (k[i].step == SP_DEVIATION) test_spread(&k[i]);
        if (k[i].step == SP_PEARSON) test_dots(&k[i]);
    }
    const char *const where = device == SPMM_CUDA ? "the GPU" : "the CPU";
    test_tiles(device, where);
    test_copies(device, where);
}

#endif
