/** The gradient of the values of a plan's matrix, on CPUs (test_values_gradient) and GPUs
 *  (test_gpu_values_gradient). */
#ifndef SP_VALUES_GRADIENT_CASES_H
#define SP_VALUES_GRADIENT_CASES_H

#include "distributed.h"
#include "formats/multivector.h"

/** An element of G or X: in f32 its products are rounded, and some are -0 after an underflow. */
static double real_of(spmm_precision precision, uint64_t key, int64_t row, int64_t column)
{
    const double v = 2 * sp_random_unit(key, (uint64_t)row, (uint64_t)column) - 1;
    const double least = precision == SPMM_F64 ? 1e-200 : 1e-30;
    if (row % 5 == 3) return (key == 1 ? least : -least) * fabs(v);
    return precision == SPMM_F64 ? v : (double)(float)v;
}

enum { KEY_G = 1, KEY_X = 2, GAP = 3 };

/** The gradient for entry (i, j), from the description in spmm_extended.h. */
static double naive_gradient(spmm_precision precision, int64_t i, int64_t j, int64_t k)
{
    double s[32] = {0};
    for (int64_t c = 0; c < k; c++) {
        const double g = real_of(precision, KEY_G, i, c), x = real_of(precision, KEY_X, j, c);
        s[c % 32] = precision == SPMM_F64 ? fma(g, x, s[c % 32])
                                          : (double)fmaf((float)g, (float)x, (float)s[c % 32]);
    }
    for (int half = 16; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            s[l] = precision == SPMM_F64 ? s[l] + s[l + half] : (double)((float)s[l] + (float)s[l + half]);
    return s[0];
}

/** Makes an operand in the memory of the device, with gaps of NaNs behind rows and columns unless `dense`.
 *  key 0: all are NaN. */
static void operand_create(int64_t rows, int64_t k, spmm_precision precision, spmm_layout layout, int dense,
                           uint64_t key, int64_t first, spmm_multivector *v)
{
    const int by_rows = layout == SPMM_ROW_MAJOR;
    const int64_t lines = by_rows ? rows : k, least = by_rows ? k : rows;
    const int64_t ld = least + (!dense ? GAP : least == 0);
    *v = sample_multivector(lines, ld, ld, precision);
    for (int64_t i = 0; key > 0 && i < rows; i++)
        for (int64_t c = 0; c < k; c++)
            sample_set(v->data, precision, by_rows ? i * ld + c : c * ld + i,
                       real_of(precision, key, first + i, c));
    v->rows = rows, v->k = k, v->ld = ld, v->layout = layout;
    if (device == SPMM_CPU) return;
    const int64_t bytes = lines * ld * (int64_t)sp_value_size(precision);
    void *const host = v->data;
    CHECK_INT(sp_device_alloc(&v->data, bytes, "a test"), SPMM_OK);
    if (bytes > 0) CHECK_INT(sp_device_upload(v->data, host, bytes), SPMM_OK);
    v->space = device;
    free(host);
}

static void operand_destroy(spmm_multivector *v)
{
    if (v->space == SPMM_CUDA)
        sp_device_free(v->data);
    else
        free(v->data);
}

/** Checks the bits of a gradient, and that nothing is written between its elements. */
static void check_values(const spmm_block *b, const int32_t *columns, const spmm_multivector *values,
                         int64_t k)
{
    const spmm_csr *const a = &b->csr;
    const int64_t stride = values->layout == SPMM_ROW_MAJOR ? values->ld : 1;
    const size_t bytes = sp_value_size(a->precision);
    char *host = values->data;
    char expected[8] = {0};
    if (device == SPMM_CUDA) {
        host = malloc((size_t)(a->nnz * stride) * bytes + 1);
        CHECK_INT(sp_device_download(host, values->data, a->nnz * stride * (int64_t)bytes), SPMM_OK);
    }
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++) {
            sample_set(expected, a->precision, 0,
                       naive_gradient(a->precision, b->row_begin + i, columns[e], k));
            CHECK(memcmp(host + (size_t)(e * stride) * bytes, expected, bytes) == 0);
            if (stride > 1) CHECK(isnan(sample_get(host, a->precision, e * stride + 1)));
        }
    if (device == SPMM_CUDA) free(host);
}

/** Checks the gradient for k columns. `form` selects layouts and gaps. */
static void check_gradient(spmm_plan *plan, const distributed *d, int64_t k, int form)
{
    const spmm_block *const b = &d->block;
    const spmm_precision precision = b->csr.precision;
    spmm_multivector g, x, values;
    operand_create(b->csr.rows, k, precision, form & 1 ? SPMM_COLUMN_MAJOR : SPMM_ROW_MAJOR, !(form & 2),
                   KEY_G, b->row_begin, &g);
    operand_create(b->x_rows, k, precision, form & 4 ? SPMM_COLUMN_MAJOR : SPMM_ROW_MAJOR, !(form & 2), KEY_X,
                   b->x_begin, &x);
    operand_create(b->csr.nnz, 1, precision, form & 8 ? SPMM_COLUMN_MAJOR : SPMM_ROW_MAJOR, !(form & 2), 0, 0,
                   &values);
    CHECK_INT(spmm_plan_values_gradient(plan, &g, &x, &values), SPMM_OK);
    check_values(b, b->csr.ja, &values, k);
    operand_destroy(&g);
    operand_destroy(&x);
    operand_destroy(&values);
}

static const int64_t widths[] = {33, 1, 3, 8, 0, 12, 31, 32, 64, 16, 100, 5};

/** Checks gradients for all widths, before, between and after products. */
static void check_all(const distributed *d, const spmm_plan_options *options)
{
    spmm_plan *plan;
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &d->block, 16, options, &plan), SPMM_OK);
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        check_gradient(plan, d, widths[w], (int)(5 * w % 16));
        if (w % 4 == 1) check_products(plan, &d->a, &d->block);
        if (w % 4 == 2) CHECK_INT(spmm_plan_set_k(plan, w == 2 ? 3 : 16), SPMM_OK);
    }
    spmm_plan_destroy(plan);
}

static void test_gradients(void)
{
    static const char *const specs[] = {"uniform:40,6", "rmat:7,8", "lap2d5:1", "band:50,5,9"};
    TEST("the gradient has the bits of its description, for all widths, layouts and exchanges")
        for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
            for (int e = SPMM_EXCHANGE_AUTO; e <= SPMM_EXCHANGE_JOINT; e++) {
                const spmm_plan_options options = {.device = device,
                                                   .exchange = (spmm_exchange)e,
                                                   .threads = device == SPMM_CPU ? 1 + e : 0,
                                                   .format = s == 1 ? SPMM_CSR : SPMM_FORMAT_AUTO,
                                                   .transport = device == SPMM_CPU && e == SPMM_EXCHANGE_BCAST
                                                                    ? SPMM_TRANSPORT_MPI
                                                                    : SPMM_TRANSPORT_AUTO};
                distributed d;
                distributed_create(specs[s], (s + (size_t)e) % 2 ? SPMM_F32 : SPMM_F64, 1, &d);
                check_all(&d, &options);
                distributed_destroy(&d);
            }
    TEST("the gradient of rectangular matrices, with empty and long rows")
        for (int s = 0; s < SAMPLES; s++) {
            const spmm_plan_options options = {.device = device, .threads = device == SPMM_CPU ? 3 : 0};
            distributed d;
            sample_csr((sample)s, SAMPLE_INTEGERS, s % 2 ? SPMM_F32 : SPMM_F64, &d.a);
            CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, &d.a, 0, 0, &d.block), SPMM_OK);
            if (d.block.q == 1) check_all(&d, &options);
            distributed_destroy(&d);
        }
}

/** Checks that all ranks are refused if an operand of the last rank is wrong; NULL: as it should be. */
static void refused(spmm_plan *plan, const spmm_multivector *g, const spmm_multivector *x,
                    spmm_multivector *values, const spmm_multivector *good, const char *said)
{
    const int last = test_.rank == size - 1;
    spmm_multivector v = good[2];
    CHECK_ERROR(spmm_plan_values_gradient(plan, last && g ? g : &good[0], last && x ? x : &good[1],
                                          last && values ? values : &v),
                SPMM_ERR_USAGE, said);
}

static void test_wrong_gradients(void)
{
    const spmm_plan_options options = {.device = device};
    distributed of;
    spmm_plan *plan;
    TEST("wrong operands of one rank are an error on all ranks") {
        spmm_multivector good[3], bad;
        distributed_create("lap2d5:8", SPMM_F64, 1, &of);
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &of.block, 2, &options, &plan), SPMM_OK);
        operand_create(of.block.csr.rows, 4, SPMM_F64, SPMM_ROW_MAJOR, 1, KEY_G, 0, &good[0]);
        operand_create(of.block.x_rows, 4, SPMM_F64, SPMM_ROW_MAJOR, 1, KEY_X, 0, &good[1]);
        operand_create(of.block.csr.nnz, 1, SPMM_F64, SPMM_ROW_MAJOR, 1, 0, 0, &good[2]);
        bad = good[0], bad.rows++;
        refused(plan, &bad, NULL, NULL, good, "spmm_plan_values_gradient: g is ");
        bad = good[0], bad.k = 3;
        refused(plan, &bad, NULL, NULL, good, "x 3 f64 in");
        bad = good[1], bad.precision = SPMM_F32;
        refused(plan, NULL, &bad, NULL, good, "x 4 f32 in");
        bad = good[2], bad.rows--;
        refused(plan, NULL, NULL, &bad, good, "values is ");
        bad = good[2], bad.data = good[0].data;
        refused(plan, NULL, NULL, &bad, good, "overlap");
        if (size > 1) {
            const int last = test_.rank == size - 1;
            spmm_multivector g = good[0], x = good[1];
            g.k = x.k = last ? 3 : 4;
            CHECK_ERROR(spmm_plan_values_gradient(plan, &g, &x, &good[2]), SPMM_ERR_USAGE, "x->k");
        }
        CHECK_INT(spmm_plan_values_gradient(NULL, &good[0], &good[1], &good[2]), SPMM_ERR_USAGE);
        CHECK_ERROR(spmm_plan_values_gradient(plan, &good[0], NULL, &good[2]), SPMM_ERR_USAGE, "x is NULL");
        setenv("SPMM_FAULT", "gradient:0", 1);
        CHECK_INT(spmm_plan_values_gradient(plan, &good[0], &good[1], &good[2]), SPMM_ERR_INTERNAL);
        unsetenv("SPMM_FAULT");
        CHECK_INT(spmm_plan_values_gradient(plan, &good[0], &good[1], &good[2]), SPMM_OK);
        for (int i = 0; i < 3; i++) operand_destroy(&good[i]);
        check_gradient(plan, &of, 8, 0);
        spmm_plan_destroy(plan);
        distributed_destroy(&of);
    }
    TEST("a grid with several columns and complex values are refused") {
        spmm_multivector v = {.k = 0};
        for (int q = 2; q <= size; q++) {
            if (size % q != 0) continue;
            distributed_create("lap2d5:8", SPMM_F64, q, &of);
            CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &of.block, 2, &options, &plan), SPMM_OK);
            CHECK_ERROR(spmm_plan_values_gradient(plan, &v, &v, &v), SPMM_ERR_USAGE, "expected P x 1");
            spmm_plan_destroy(plan);
            distributed_destroy(&of);
        }
        CHECK_INT(spmm_csr_generate("lap2d5:8", SPMM_C64, &of.a), SPMM_OK);
        CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, &of.a, size, 1, &of.block), SPMM_OK);
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &of.block, 2, &options, &plan), SPMM_OK);
        CHECK_ERROR(spmm_plan_values_gradient(plan, &v, &v, &v), SPMM_ERR_USAGE, "expected f64 or f32");
        spmm_plan_destroy(plan);
        distributed_destroy(&of);
    }
}

#endif
