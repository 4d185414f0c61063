/** The diagonal of a plan's matrix and rows scaled by numbers, on CPUs (test_diagonal) and GPUs
 *  (test_gpu_diagonal). */
#ifndef SP_DIAGONAL_CASES_H
#define SP_DIAGONAL_CASES_H

#include <math.h>

#include "distributed.h"
#include "formats/multivector.h"

/* ---- the diagonal ---- */

/** Checks the diagonal in host memory `d`, whose first row is row `first` of A, and that nothing else was
 *  written. */
static void check_elements(const spmm_csr *a, const spmm_multivector *d, int64_t stride, int64_t first)
{
    for (int64_t i = 0; i < d->rows * stride; i++) {
        const int64_t row = first + i / stride;
        const double found = sample_get(d->data, d->precision, i);
        CHECK(i % stride == 0 ? found == sample_entry(a, row, row) : isnan(found));
    }
}

/** Reads the diagonal into host memory with gaps, in either layout, and checks it. */
static void check_on_host(const distributed *of, spmm_plan *plan, int64_t rows, spmm_layout layout)
{
    const int64_t stride = layout == SPMM_ROW_MAJOR ? 3 : 1;
    spmm_multivector d = sample_multivector(rows, 1, stride, of->a.precision);
    d.layout = layout;
    if (layout == SPMM_COLUMN_MAJOR) d.ld = rows + 1;
    CHECK_INT(spmm_plan_diagonal(plan, &d), SPMM_OK);
    check_elements(&of->a, &d, stride, of->block.row_begin);
    free(d.data);
}

static inline void check_on_gpu(const distributed *of, spmm_plan *plan, int64_t rows)
{
    spmm_multivector d, host;
    CHECK_INT(spmm_multivector_create(rows, 1, of->a.precision, SPMM_CUDA, &d), SPMM_OK);
    CHECK_INT(spmm_multivector_create(rows, 1, of->a.precision, SPMM_CPU, &host), SPMM_OK);
    CHECK_INT(spmm_plan_diagonal(plan, &d), SPMM_OK);
    CHECK_INT(spmm_multivector_copy(&d, &host), SPMM_OK);
    check_elements(&of->a, &host, 1, of->block.row_begin);
    spmm_multivector_destroy(&d);
    spmm_multivector_destroy(&host);
}

static void check_diagonal(const distributed *of, spmm_plan *plan)
{
    spmm_multivector y;
    CHECK_INT(spmm_plan_y_create(plan, &y), SPMM_OK);
    check_on_host(of, plan, y.rows, SPMM_ROW_MAJOR);
    check_on_host(of, plan, y.rows, SPMM_COLUMN_MAJOR);
    if (device == SPMM_CUDA) check_on_gpu(of, plan, y.rows);
    spmm_multivector_destroy(&y);
}

/** Checks the diagonal of a matrix with its first values and after two updates. */
static void check_plan(const char *spec, spmm_precision precision, int q, const spmm_plan_options *options)
{
    distributed d;
    spmm_plan *plan;
    distributed_create(spec, precision, q, &d);
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &d.block, 16, options, &plan), SPMM_OK);
    check_diagonal(&d, plan);
    for (int version = 1; version < 3; version++) {
        change_values(&d, version);
        CHECK_INT(spmm_plan_update_values(plan), SPMM_OK);
        check_diagonal(&d, plan);
    }
    spmm_plan_destroy(plan);
    distributed_destroy(&d);
}

static void test_diagonals(void)
{
    static const char *const specs[] = {"uniform:40,6", "lap2d5:9", "rmat:7,8",
                                        "uniform:3,2",  "lap2d5:1", "band:50,5,9"};
    TEST("the diagonal has A's values, 0 where there is none, on every grid, by every exchange and reduction")
        for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
            for (int q = 1; q <= size; q++)
                for (int e = SPMM_EXCHANGE_AUTO; e <= SPMM_EXCHANGE_JOINT; e++) {
                    const spmm_plan_options options = {.device = device,
                                                       .format = SPMM_FORMAT_AUTO,
                                                       .exchange = (spmm_exchange)e,
                                                       .reduce = e % 2 || q & (q - 1) ? SPMM_REDUCE_AUTO
                                                                                      : SPMM_REDUCE_BUTTERFLY,
                                                       .column_blocks = e == SPMM_EXCHANGE_HALO ? 2 : 0};
                    if (size % q == 0)
                        check_plan(specs[s], (s + (size_t)e) % 2 ? SPMM_F32 : SPMM_F64, q, &options);
                }
}

/** Checks that all ranks are refused if d of the last rank is wrong: `bad`, or NULL if `bad` is NULL. */
static void refused_on_all(spmm_plan *plan, const spmm_multivector *good, const spmm_multivector *bad,
                           const char *said)
{
    spmm_multivector d = *good, wrong = bad ? *bad : *good;
    const int last = test_.rank == size - 1;
    CHECK_ERROR(spmm_plan_diagonal(plan, !last ? &d : bad ? &wrong : NULL), SPMM_ERR_USAGE, said);
}

static void test_wrong_diagonals(void)
{
    const spmm_plan_options options = {.device = device};
    distributed of;
    spmm_plan *plan;
    TEST("a wrong d of one rank is an error on all ranks") {
        double data[128];
        distributed_create("lap2d5:8", SPMM_F64, 1, &of);
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &of.block, 2, &options, &plan), SPMM_OK);
        const spmm_multivector d = {.rows = of.block.csr.rows, .k = 1, .ld = 1, .data = data};
        spmm_multivector bad = d;
        refused_on_all(plan, &d, NULL, "spmm_plan_diagonal: d is NULL");
        bad.rows++;
        refused_on_all(plan, &d, &bad, "x 1 f64: a column of Y");
        bad = d, bad.k = bad.ld = 2;
        refused_on_all(plan, &d, &bad, "x 2 f64, expected");
        bad = d, bad.precision = SPMM_F32;
        refused_on_all(plan, &d, &bad, "x 1 f32, expected");
        bad = d, bad.data = NULL;
        refused_on_all(plan, &d, &bad, "d.data is NULL");
        setenv("SPMM_FAULT", "diagonal:0", 1);
        bad = d;
        CHECK_INT(spmm_plan_diagonal(plan, &bad), SPMM_ERR_INTERNAL);
        unsetenv("SPMM_FAULT");
        CHECK_INT(spmm_plan_diagonal(plan, &bad), SPMM_OK);
        CHECK_INT(spmm_plan_diagonal(NULL, &bad), SPMM_ERR_USAGE);
        spmm_plan_destroy(plan);
        distributed_destroy(&of);
    }
    TEST("a matrix that is not square has no diagonal") {
        double data[1];
        spmm_multivector d = {.k = 1, .ld = 1, .data = data};
        sample_csr(SAMPLE_WIDE, SAMPLE_INTEGERS, SPMM_F64, &of.a);
        CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, &of.a, 0, 0, &of.block), SPMM_OK);
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &of.block, 2, &options, &plan), SPMM_OK);
        CHECK_ERROR(spmm_plan_diagonal(plan, &d), SPMM_ERR_USAGE,
                    "the matrix is 13 x 500, expected a square one");
        spmm_plan_destroy(plan);
        distributed_destroy(&of);
    }
}

/* ---- scaled rows ---- */

/** An operand and the memory around it: gaps and ghost rows, whose elements are NaN. */
typedef struct operand {
    spmm_multivector v;
    void *host, *gpu; /* the memory, and its copy on the GPU */
    int64_t elements;
} operand;

static int64_t place(const spmm_multivector *v, int64_t i, int64_t j)
{
    return v->layout == SPMM_COLUMN_MAJOR ? j * v->ld + i : (v->ghost_low + i) * v->ld + j;
}

static operand operand_create(int64_t rows, int64_t k, spmm_precision precision, spmm_layout layout,
                              int64_t more)
{
    const int by_columns = layout == SPMM_COLUMN_MAJOR;
    const int64_t ld = (by_columns ? (rows > 0 ? rows : 1) : k) + more, ghost = by_columns ? 0 : more;
    const int64_t lines = by_columns ? k : rows + 2 * ghost, bytes = sp_value_size(precision);
    operand o = {.v = {rows, k, ld, precision, SPMM_CPU, NULL, ghost, ghost, layout}};
    o.elements = lines * ld;
    o.host = malloc((size_t)(o.elements * bytes) + 1);
    for (int64_t e = 0; e < o.elements; e++) sample_set(o.host, precision, e, (double)NAN);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < k; j++)
            sample_set(o.host, precision, place(&o.v, i, j),
                       sp_random_unit(7 + (uint64_t)k, (uint64_t)i, (uint64_t)j));
    o.v.data = (char *)o.host + ghost * ld * bytes;
    if (device == SPMM_CUDA) {
        CHECK_INT(sp_device_alloc(&o.gpu, o.elements * bytes, "a test"), SPMM_OK);
        CHECK_INT(sp_device_upload(o.gpu, o.host, o.elements * bytes), SPMM_OK);
        o.v.data = (char *)o.gpu + ghost * ld * bytes;
        o.v.space = SPMM_CUDA;
    }
    return o;
}

static void operand_destroy(operand *o)
{
    free(o->host);
    sp_device_free(o->gpu);
}

/** Compares scaled rows with their definition, and checks that the memory around them is unchanged. */
static void check_scaled(int64_t rows, int64_t k, spmm_precision precision, int variant)
{
    const int64_t bytes = sp_value_size(precision);
    operand x = operand_create(rows, k, precision, variant & 1 ? SPMM_COLUMN_MAJOR : SPMM_ROW_MAJOR,
                               variant & 2 ? 3 : 0);
    operand d = operand_create(rows, 1, precision, variant & 4 ? SPMM_COLUMN_MAJOR : SPMM_ROW_MAJOR,
                               variant & 8 ? 2 : 0);
    void *const expected = malloc((size_t)(x.elements * bytes) + 1);
    memcpy(expected, x.host, (size_t)(x.elements * bytes));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < k; j++) {
            const int64_t at = place(&x.v, i, j);
            sample_set(expected, precision, at,
                       sample_get(x.host, precision, at) * sample_get(d.host, precision, place(&d.v, i, 0)));
        }
    CHECK_INT(spmm_multivector_scale_rows(&d.v, &x.v), SPMM_OK);
    if (x.gpu) CHECK_INT(sp_device_download(x.host, x.gpu, x.elements * bytes), SPMM_OK);
    for (int64_t e = 0; e < x.elements; e++) {
        const double found = sample_get(x.host, precision, e), right = sample_get(expected, precision, e);
        CHECK(isnan(right) ? isnan(found) : found == right);
    }
    free(expected);
    operand_destroy(&x);
    operand_destroy(&d);
}

static void test_scaled_rows(void)
{
    static const int64_t rows[] = {0, 1, 5, 1024, 2500}, ks[] = {1, 3, 8, 65};
    for (int p = SPMM_F64; p <= SPMM_F32; p++)
        TEST("rows are multiplied, in either layout, with gaps and ghost rows, which stay as they are")
            for (int r = 0; r < 5; r++)
                for (int k = 0; k < 4; k++)
                    for (int variant = 0; variant < 16; variant++)
                        check_scaled(rows[r], ks[k], (spmm_precision)p, variant);
    TEST("a factor of 0 and of an infinity is multiplied as any other") {
        operand x = operand_create(4, 1, SPMM_F64, SPMM_ROW_MAJOR, 0),
                d = operand_create(4, 1, SPMM_F64, SPMM_ROW_MAJOR, 0);
        const double of_x[4] = {NAN, INFINITY, -3, 2}, of_d[4] = {0, 0, 0, INFINITY};
        double found[4];
        if (device == SPMM_CUDA) {
            CHECK_INT(sp_device_upload(x.gpu, of_x, sizeof of_x), SPMM_OK);
            CHECK_INT(sp_device_upload(d.gpu, of_d, sizeof of_d), SPMM_OK);
        } else {
            memcpy(x.host, of_x, sizeof of_x);
            memcpy(d.host, of_d, sizeof of_d);
        }
        CHECK_INT(spmm_multivector_scale_rows(&d.v, &x.v), SPMM_OK);
        memcpy(found, x.host, sizeof found);
        if (x.gpu) CHECK_INT(sp_device_download(found, x.gpu, sizeof found), SPMM_OK);
        CHECK(isnan(found[0]) && isnan(found[1]) && found[2] == 0 && signbit(found[2]) && isinf(found[3]));
        operand_destroy(&x);
        operand_destroy(&d);
    }
}

static void test_wrong_rows(void)
{
    TEST("factors of other rows, columns, precision or memory, and such that overlap x, are refused") {
        operand x = operand_create(5, 3, SPMM_F64, SPMM_ROW_MAJOR, 1),
                d = operand_create(5, 1, SPMM_F64, SPMM_ROW_MAJOR, 0);
        spmm_multivector bad = d.v;
        double other[5];
        bad.rows = 4;
        CHECK_ERROR(spmm_multivector_scale_rows(&bad, &x.v), SPMM_ERR_USAGE,
                    "spmm_multivector_scale_rows: d is 4 x 1 f64 in ");
        CHECK_TEXT(spmm_error_message(), "expected 5 x 1 f64 in ");
        bad = d.v, bad.rows = 2, bad.k = bad.ld = 2;
        CHECK_ERROR(spmm_multivector_scale_rows(&bad, &x.v), SPMM_ERR_USAGE, "d is 2 x 2 f64");
        bad = d.v, bad.precision = SPMM_F32;
        CHECK_ERROR(spmm_multivector_scale_rows(&bad, &x.v), SPMM_ERR_USAGE, "d is 5 x 1 f32");
        bad = d.v, bad.data = x.v.data;
        CHECK_ERROR(spmm_multivector_scale_rows(&bad, &x.v), SPMM_ERR_USAGE,
                    "spmm_multivector_scale_rows: d and x overlap in memory");
        bad = d.v, bad.data = device == SPMM_CUDA ? other : NULL, bad.space = SPMM_CPU;
        CHECK_ERROR(spmm_multivector_scale_rows(&bad, &x.v), SPMM_ERR_USAGE,
                    device == SPMM_CUDA ? "d is 5 x 1 f64 in host memory" : "d.data is NULL");
        CHECK_INT(spmm_multivector_scale_rows(NULL, &x.v), SPMM_ERR_USAGE);
        CHECK_INT(spmm_multivector_scale_rows(&d.v, NULL), SPMM_ERR_USAGE);
        operand_destroy(&x);
        operand_destroy(&d);
    }
}

#endif
