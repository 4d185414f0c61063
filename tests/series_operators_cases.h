/** Tests of the operators with which kernels reduce series, on either device; run by test_series_kernels.c
 *  and test_gpu_series.c. */
#ifndef SP_SERIES_OPERATORS_CASES_H
#define SP_SERIES_OPERATORS_CASES_H

#include "series_kernels_cases.h"

static const char *const operator_names[] = {"sum",     "minimum",     "maximum",
                                             "product", "dot product", "matrices"};

/** Reals of both signs; series 1 has some near the ends of the range of f32, series 2 a zero. */
static double any_real(int64_t m, int64_t i)
{
    const double x = sp_random_unit(13, (uint64_t)m, (uint64_t)i) - 0.5;
    if (m == 2 && i == 17) return 0;
    return m == 1 && i % 50 == 7 ? ldexp(x, i % 100 == 7 ? 60 : -120) : x;
}

/** Multiplies the 2 x 2 matrices of a series from left to right, by the definition. */
static void multiply(const sp_series *x, int64_t m, double out[4])
{
    uint32_t all[2][2] = {{1, 0}, {0, 1}};
    for (int64_t n = 0; n < x->length; n++) {
        const sp_square s = sp_square_of(get_value(x, m, n));
        const uint32_t one[2][2] = {{s.a, s.b}, {s.c, s.d}};
        uint32_t next[2][2] = {{0, 0}, {0, 0}};
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++)
                for (int k = 0; k < 2; k++) next[i][j] += all[i][k] * one[k][j];
        memcpy(all, next, sizeof all);
    }
    for (int c = 0; c < 4; c++) out[c] = all[c / 2][c % 2];
}

/** Checks the result of an operator for series m: out[c * x->count] is component c. */
static void check_result(const sp_series *x, sp_operator op, int64_t m, const double *out)
{
    long double sum = 0, absolute = 0, product = 1;
    double low = INFINITY, high = -INFINITY, right[4];
    int64_t exponent = 0;
    for (int64_t i = 0; i < x->length; i++) {
        const long double v = get_value(x, m, i), term = op == SP_DOT ? v * v : v;
        int two;
        sum += term;
        absolute += fabsl(term);
        low = fmin(low, (double)v);
        high = fmax(high, (double)v);
        product = frexpl(product * v, &two);
        exponent += two;
    }
    const double gamma = gamma_n(x->length + 1, x->v.precision);
    const int64_t count = x->count;
    if (op == SP_SUM || op == SP_DOT) CHECK(fabsl(out[0] - sum) <= gamma * absolute);
    if (op == SP_MINIMUM) CHECK(out[0] == low);
    if (op == SP_MAXIMUM) CHECK(out[0] == high);
    if (op == SP_PRODUCT && product == 0) CHECK(out[0] == 0 && out[count] == 0);
    if (op == SP_PRODUCT && product != 0) {
        CHECK(fabs(out[0]) >= 0.5 && fabs(out[0]) < 1);
        CHECK(fabsl(ldexpl(out[0], (int)out[count] - (int)exponent) - product) <= gamma * fabsl(product));
    }
    if (op != SP_MATRIX) return;
    multiply(x, m, right);
    for (int c = 0; c < 4; c++) CHECK(out[c * count] == right[c]);
}

static void check_operator(const sp_series_kernel *k, const sp_series *x, sp_operator op, int block,
                           int parts)
{
    const int64_t bytes = x->count * sp_operator_width(op) * 8;
    double *const out = malloc((size_t)bytes);
    run_with(k, x, (sp_series_launch){.divisor = 1, .op = op, .block = block, .parts = parts}, NULL, out,
             bytes);
    for (int64_t m = 0; m < x->count; m++) check_result(x, op, m, out + m);
    free(out);
}

/** Tests kernel k with each operator that it offers. */
static void test_operators(const sp_series_kernel *k)
{
    static const int64_t lengths[] = {1, 2, 31, 32, 33, 255, 256, 257, 1000, 20011};
    static const int blocks[] = {0, 32, 96, 1024}, parts[] = {0, 2, 8, 300};
    const int layout = k->layout == SP_INDEX_MAJOR, shapes = k->device == SPMM_CUDA ? 4 : 1;
    for (int op = SP_SUM; op < SP_OPERATORS; op++) {
        if (!sp_series_offers(k, (sp_operator)op)) continue;
        int number = 0;
        TEST(test_name("%s: %s, any length, block and number of blocks", k->id, operator_names[op])) {
            for (int p = 0; p < 2; p++)
                for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++) {
                    sp_series x = filled(3 + (int64_t)n % 3, lengths[n], (sp_series_order)layout,
                                         (spmm_precision)p, any_real);
                    for (int b = 0; b < shapes; b++)
                        if (!left_out(k, 7, &number))
                            check_operator(k, &x, (sp_operator)op, blocks[b],
                                           k->ops->divides ? parts[(b + (int)n) % 4] : 0);
                    spmm_multivector_destroy(&x.v);
                }
        }
    }
}

/** Runs kernel k on `run`. Returns how many of the matrix products are those of the series x. */
static int64_t right_products(const sp_series_kernel *k, const sp_series *run, const sp_series *x)
{
    double *const out = malloc((size_t)x->count * 32), right[4];
    int64_t same = 0;
    run_with(k, run, (sp_series_launch){.op = SP_MATRIX}, NULL, out, x->count * 32);
    for (int64_t m = 0; m < x->count; m++) {
        multiply(x, m, right);
        same += right[0] == out[m] && right[1] == out[x->count + m] && right[2] == out[2 * x->count + m] &&
                right[3] == out[3 * x->count + m];
    }
    free(out);
    return same;
}

/** Checks that matrix products depend on the order: exchanging any two neighbors changes every product. */
static void test_order_of_matrices(const sp_series_kernel *k)
{
    TEST(test_name("%s: products of matrices differ where two neighbors changed places", k->id)) {
        sp_series x = filled(4, 70, SP_SERIES_MAJOR, SPMM_F64, any_real);
        CHECK_INT(right_products(k, &x, &x), 4);
        for (int64_t i = 0; i + 1 < x.length; i++) {
            sp_series swapped = moved(&x, SPMM_CPU);
            for (int64_t m = 0; m < x.count; m++) {
                put_value(&swapped, m, i, get_value(&x, m, i + 1));
                put_value(&swapped, m, i + 1, get_value(&x, m, i));
            }
            CHECK_INT(right_products(k, &swapped, &x), 0);
            spmm_multivector_destroy(&swapped.v);
        }
        spmm_multivector_destroy(&x.v);
    }
}

/** Checks that sum_interleaved, which changes the order, fails the check of matrix products that other
 *  kernels pass; the registry does not offer it for SP_MATRIX. */
static void test_changed_order(void)
{
    const sp_series_kernel *const k = sp_series_find("sum_interleaved");
    if (k->ops->missing) return;
    TEST("sum_interleaved, which changes the order, fails the check of matrices") {
        sp_series x = filled(9, 1000, SP_SERIES_MAJOR, SPMM_F64, any_real);
        CHECK_INT(sp_series_offers(k, SP_MATRIX), 0);
        CHECK_INT(right_products(k, &x, &x), 0);
        spmm_multivector_destroy(&x.v);
    }
}

/** Tests the operators of every kernel of a device. */
static void test_operators_of(spmm_device device)
{
    int count;
    const sp_series_kernel *const k = sp_series_kernels(&count);
    for (int i = 0; i < count; i++) {
        if (k[i].device != device || k[i].step != SP_MEAN || k[i].ops->missing) continue;
        test_operators(&k[i]);
        if (sp_series_offers(&k[i], SP_MATRIX) && k[i].layout != SP_INDEX_MAJOR)
            test_order_of_matrices(&k[i]);
    }
    if (device == SPMM_CUDA) test_changed_order();
}

#endif
