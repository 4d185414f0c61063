/** Products whose ghost rows travel as f32, on CPUs (test_rounded) and GPUs (test_gpu_rounded). */
#ifndef SP_ROUNDED_CASES_H
#define SP_ROUNDED_CASES_H

#include <math.h>

#include "formats/matrix.h"
#include "formats/multivector.h"
#include "formats/serial.h"
#include "planned.h"
#include "sample.h"

static int size;
static spmm_device device;

/** The elements of X: reals, most of which f32 cannot represent; small integers, which are exact in f32 and
 *  whose sums are exact; reals with some numbers beyond f32's range, NaN and infinity. */
typedef enum elements { REALS, INTEGERS, EXTREMES } elements;

static double element(elements kind, int version, int64_t row, int64_t column)
{
    static const double extreme[] = {1e300, -1e39,    1e-45, -1e-320, 3.4028235677973366e38,
                                     NAN,   INFINITY, -0.0};
    const int64_t n = (row * 37 + column * 11 + version * 29) % 101;
    if (kind == EXTREMES && n < 8) return extreme[n];
    return kind == INTEGERS ? (double)(n - 50) : (double)n / 63 - 0.7;
}

/** Fills this rank's rows of X, in host or GPU memory. \param [in] first  global index of the first row */
static void fill(elements kind, int version, int64_t first, spmm_multivector *x)
{
    spmm_multivector host;
    CHECK_INT(spmm_multivector_create(x->rows, x->k, x->precision, SPMM_CPU, &host), SPMM_OK);
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < x->k; j++)
            sample_set(host.data, x->precision, i * host.ld + j, element(kind, version, first + i, j));
    CHECK_INT(spmm_multivector_copy(&host, x), SPMM_OK);
    spmm_multivector_destroy(&host);
}

static int same(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 || a == b || (isnan(a) && isnan(b));
}

/** Checks that owned rows of X, in any memory, have the elements that fill() wrote. */
static void check_x(elements kind, int version, int64_t first, const spmm_multivector *x)
{
    spmm_multivector host;
    int right = 1;
    CHECK_INT(spmm_multivector_create(x->rows, x->k, x->precision, SPMM_CPU, &host), SPMM_OK);
    CHECK_INT(spmm_multivector_copy(x, &host), SPMM_OK);
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < x->k; j++)
            right &= same(sp_multivector_get(&host, i, j), element(kind, version, first + i, j));
    CHECK(right);
    spmm_multivector_destroy(&host);
}

/** Checks that y has the bits of the serial product with an X in which all rows except this rank's owned rows
 *  are rounded to f32. */
static void check_y(const spmm_csr *a, const spmm_block *b, elements kind, int version,
                    const spmm_multivector *y)
{
    spmm_multivector x, all, host;
    sp_matrix m;
    int right = 1;
    CHECK_INT(spmm_multivector_create(a->cols, y->k, SPMM_F64, SPMM_CPU, &x), SPMM_OK);
    CHECK_INT(spmm_multivector_create(a->rows, y->k, SPMM_F64, SPMM_CPU, &all), SPMM_OK);
    CHECK_INT(spmm_multivector_create(y->rows, y->k, SPMM_F64, SPMM_CPU, &host), SPMM_OK);
    CHECK_INT(spmm_multivector_copy(y, &host), SPMM_OK);
    for (int64_t i = 0; i < a->cols; i++)
        for (int64_t j = 0; j < y->k; j++) {
            const double value = element(kind, version, i, j);
            const int owned = i >= b->x_begin && i < b->x_begin + b->x_rows;
            sample_set(x.data, SPMM_F64, i * x.ld + j, owned ? value : (double)(float)value);
        }
    sp_matrix_view_csr(a, &m);
    sp_serial_product(&m, 0, a->rows, &x, &all);
    for (int64_t i = 0; i < y->rows; i++)
        for (int64_t j = 0; j < y->k; j++)
            right &= same(sp_multivector_get(&host, i, j), sp_multivector_get(&all, b->row_begin + i, j));
    CHECK(right);
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&all);
    spmm_multivector_destroy(&host);
}

/** Checks successive products of one plan: with two X of the plan, and with an X without room for ghost
 *  rows. */
static void check_products(const spmm_csr *a, const spmm_block *b, elements kind, spmm_plan *plan, int64_t k)
{
    spmm_multivector x[3], y, wide;
    for (int i = 0; i < 2; i++) CHECK_INT(spmm_plan_x_create(plan, &x[i]), SPMM_OK);
    CHECK_INT(spmm_multivector_create(b->x_rows, k + 5, SPMM_F64, device, &wide), SPMM_OK);
    CHECK_INT(spmm_plan_y_create(plan, &y), SPMM_OK);
    x[2] = wide;
    x[2].k = k;
    for (int n = 0; n < 7; n++) {
        fill(kind, n, b->x_begin, &x[n % 3]);
        CHECK_INT(spmm_apply(plan, 1, &x[n % 3], 0, &y), SPMM_OK);
        check_y(a, b, kind, n, &y);
        check_x(kind, n, b->x_begin, &x[n % 3]);
    }
    for (int i = 0; i < 2; i++) spmm_multivector_destroy(&x[i]);
    spmm_multivector_destroy(&wide);
    spmm_multivector_destroy(&y);
}

/** Checks products of k columns with these options, then of fewer columns. */
static void check_case(const char *spec, elements kind, int64_t k, spmm_plan_options options)
{
    const int failed = test_.failed;
    spmm_csr a;
    spmm_block block;
    spmm_plan *plan;
    options.device = device;
    options.exchange_precision = SPMM_F32;
    CHECK_INT(spmm_csr_generate(spec, SPMM_F64, &a), SPMM_OK);
    for (int64_t e = 0; kind == INTEGERS && e < a.nnz; e++)
        sample_set(a.as, SPMM_F64, e, (double)(e % 7 - 3));
    CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, &a, 0, 0, &block), SPMM_OK);
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, k, &options, &plan), SPMM_OK);
    if (plan) {
        check_products(&a, &block, kind, plan, k);
        for (int64_t fewer = k - 1; fewer > 0; fewer = (fewer - 1) / 2) {
            CHECK_INT(spmm_plan_set_k(plan, fewer), SPMM_OK);
            check_products(&a, &block, kind, plan, fewer);
        }
        CHECK_INT(spmm_plan_set_k(plan, k), SPMM_OK);
        check_products(&a, &block, kind, plan, k);
    }
    spmm_plan_destroy(plan);
    spmm_block_destroy(&block);
    spmm_csr_destroy(&a);
    if (test_.failed > failed && failed < 5)
        printf("  (rank %d: %s, K = %lld, transport %d, exchange %d, column blocks %d, no overlap %d)\n",
               test_.rank, spec, (long long)k, (int)options.transport, (int)options.exchange,
               options.column_blocks, options.no_overlap);
}

/** Matrices for which rows of X travel scattered, contiguous, in both directions, or not at all; a matrix
 *  with fewer rows than ranks; a matrix with long rows. */
static const char *const specs[] = {"uniform:120,5", "lap2d5:12",   "band:90,5,31",      "rmat:7,8",
                                    "lap2d5:1",      "uniform:2,1", "longrows:60,2,3,50"};
static const int64_t columns[] = {1, 2, 3, 4, 7, 16, 33};

/** Checks every matrix and number of columns with a transport; on GPUs, where plans take long, a third of
 *  them. */
static void check_transport(spmm_transport transport)
{
    int turn = 0;
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++, turn++) {
            const spmm_plan_options options = {.transport = transport,
                                               .exchange = turn % 5 < 3 ? SPMM_EXCHANGE_HALO
                                                                        : SPMM_EXCHANGE_BCAST,
                                               .no_overlap = turn % 4 == 0,
                                               .products = turn % 2 ? 1 : 1000};
            if (device == SPMM_CPU || (turn + (int)transport) % 3 == 0)
                check_case(specs[s], (elements)(turn / 3 % 3), columns[c], options);
        }
    check_case("uniform:150,6", REALS, 16, (spmm_plan_options){.transport = transport, .column_blocks = 4});
    check_case("band:90,5,31", REALS, 64, (spmm_plan_options){.transport = transport, .column_blocks = 2});
    check_case("uniform:150,6", INTEGERS, 5,
               (spmm_plan_options){.transport = transport, .exchange = SPMM_EXCHANGE_JOINT});
}

/** Checks that two plans, with exchange_precision f64 and f32, compute the same Y by `apply`. */
static void check_no_effect(spmm_precision precision, int q,
                            spmm_status (*apply)(spmm_plan *, double, const spmm_multivector *, double,
                                                 spmm_multivector *))
{
    const int transposed = apply == spmm_apply_transposed;
    spmm_csr a;
    spmm_block block;
    spmm_multivector y[2], host[2];
    int right = 1;
    CHECK_INT(spmm_csr_generate("uniform:90,5", precision, &a), SPMM_OK);
    CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, &a, size / q, q, &block), SPMM_OK);
    for (int i = 0; i < 2; i++) {
        const spmm_plan_options options = {
            .device = device, .format = SPMM_CSR, .exchange_precision = i ? SPMM_F32 : SPMM_F64};
        spmm_plan *plan;
        spmm_multivector x;
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, 3, &options, &plan), SPMM_OK);
        CHECK_INT((transposed ? spmm_plan_y_create : spmm_plan_x_create)(plan, &x), SPMM_OK);
        CHECK_INT((transposed ? spmm_plan_x_create : spmm_plan_y_create)(plan, &y[i]), SPMM_OK);
        fill(REALS, 1, transposed ? block.row_begin : block.x_begin, &x);
        CHECK_INT(apply(plan, 1, &x, 0, &y[i]), SPMM_OK);
        CHECK_INT(spmm_multivector_create(y[i].rows, 3, precision, SPMM_CPU, &host[i]), SPMM_OK);
        CHECK_INT(spmm_multivector_copy(&y[i], &host[i]), SPMM_OK);
        spmm_multivector_destroy(&x);
        spmm_multivector_destroy(&y[i]);
        spmm_plan_destroy(plan);
    }
    for (int64_t i = 0; i < host[0].rows; i++)
        for (int64_t j = 0; j < 3; j++)
            right &= same(sp_multivector_get(&host[0], i, j), sp_multivector_get(&host[1], i, j));
    CHECK(right);
    for (int i = 0; i < 2; i++) spmm_multivector_destroy(&host[i]);
    spmm_block_destroy(&block);
    spmm_csr_destroy(&a);
}

static void test_what_stays(void)
{
    TEST("f32 matrices and products with the transpose are as without it") {
        check_no_effect(SPMM_F32, 1, spmm_apply);
        check_no_effect(SPMM_F64, 1, spmm_apply_transposed);
        check_no_effect(SPMM_F64, size, spmm_apply_transposed);
    }
}

#endif
