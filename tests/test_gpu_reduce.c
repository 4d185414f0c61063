/* Norms and differences of multivectors in GPU memory, against a serial loop. */
#include "test.h"

#include <math.h>

#include "base/memory.h"
#include "base/random.h"
#include "device/device.h"
#include "device/difference.h"
#include "formats/multivector.h"
#include "sample.h"

typedef struct shape {
    int64_t rows, k, ld, ld_ref;
} shape;

static const shape shapes[] = {{1, 1, 1, 1},     {3, 5, 8, 5},
                               {33, 32, 32, 35}, {1, 70001, 70001, 70008},
                               {70001, 1, 1, 3}, {20011, 17, 20, 17}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/** Copies v, including padding, to the GPU, one element past an aligned address. */
static void to_gpu(const spmm_multivector *v, void **memory, spmm_multivector *g)
{
    const int64_t size = (int64_t)sp_value_size(v->precision), bytes = v->rows * v->ld * size;
    CHECK(sp_device_alloc(memory, bytes + size, "a test") == SPMM_OK);
    *g = *v;
    g->space = SPMM_CUDA;
    g->data = (char *)*memory + size;
    CHECK(sp_device_upload(g->data, v->data, bytes) == SPMM_OK);
}

/** The difference as defined in difference.h, element by element. */
static sp_difference serial_difference(const spmm_multivector *y, const spmm_multivector *ref)
{
    sp_difference d = {0};
    double sum = 0, squares = 0, squares_ref = 0;
    for (int64_t n = 0; n < y->rows * y->k; n++) {
        const double a = sp_multivector_get(y, n / y->k, n % y->k),
                     b = sp_multivector_get(ref, n / y->k, n % y->k);
        const int same = memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
        d.different += !same;
        if (!isfinite(a) || !isfinite(b)) {
            d.unmatched += !same;
            continue;
        }
        const double difference = fabs(a - b), relative = b == 0 ? difference : difference / fabs(b);
        d.max_absolute = fmax(d.max_absolute, difference);
        d.max_relative = fmax(d.max_relative, relative);
        d.max_reference = fmax(d.max_reference, fabs(b));
        sum += relative;
        squares += difference * difference;
        squares_ref += b * b;
    }
    d.mean_relative = sum / (double)(y->rows * y->k);
    d.norm = sqrt(squares);
    d.norm_reference = sqrt(squares_ref);
    return d;
}

/** Whether two sums are equal up to the order of summation. */
static int close_to(double found, double expected)
{
    return fabs(found - expected) <= 1e-11 * fabs(expected);
}

static void check_difference(const sp_difference *found, const sp_difference *expected)
{
    CHECK_INT(found->different, expected->different);
    CHECK_INT(found->unmatched, expected->unmatched);
    CHECK(found->max_absolute == expected->max_absolute);
    CHECK(found->max_relative == expected->max_relative);
    CHECK(found->max_reference == expected->max_reference);
    CHECK(close_to(found->mean_relative, expected->mean_relative));
    CHECK(close_to(found->norm, expected->norm));
    CHECK(close_to(found->norm_reference, expected->norm_reference));
}

/** Makes y equal to ref except every seventh element; padding is NaN. */
static void make_pair(const shape *s, spmm_precision precision, int special, spmm_multivector *y,
                      spmm_multivector *ref)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0};
    *y = sample_multivector(s->rows, s->k, s->ld, precision);
    *ref = sample_multivector(s->rows, s->k, s->ld_ref, precision);
    for (int64_t n = 0; n < s->rows * s->k; n++) {
        const int64_t i = n / s->k, j = n % s->k;
        double b = sp_random_unit(3, (uint64_t)n, 0),
               a = n % 7 ? b : b + 1e-3 * sp_random_unit(4, (uint64_t)n, 1);
        if (special && n % 11 == 0) b = values[n / 11 % 5];
        if (special && n % 13 == 0) a = values[n / 13 % 5];
        sample_set(y->data, precision, i * s->ld + j, a);
        sample_set(ref->data, precision, i * s->ld_ref + j, b);
    }
}

static void check_shape(const shape *s, spmm_precision precision, int special)
{
    spmm_multivector y, ref, y_gpu, ref_gpu;
    void *y_memory, *ref_memory;
    sp_difference found, again;
    sp_norms norms;
    make_pair(s, precision, special, &y, &ref);
    to_gpu(&y, &y_memory, &y_gpu);
    to_gpu(&ref, &ref_memory, &ref_gpu);
    const sp_difference expected = serial_difference(&y, &ref);
    CHECK(sp_device_compare(&y_gpu, &ref_gpu, &found) == SPMM_OK);
    check_difference(&found, &expected);
    CHECK(sp_device_compare(&y_gpu, &ref_gpu, &again) == SPMM_OK);
    CHECK(memcmp(&found, &again, sizeof found) == 0);
    CHECK(sp_device_compare(&y_gpu, &y_gpu, &found) == SPMM_OK);
    CHECK(found.different == 0 && found.unmatched == 0 && found.max_absolute == 0 && found.norm == 0);

    const sp_difference self = serial_difference(&y, &y);
    int64_t not_finite = 0;
    for (int64_t n = 0; n < s->rows * s->k; n++)
        not_finite += !isfinite(sp_multivector_get(&y, n / s->k, n % s->k));
    CHECK(sp_device_norms(&y_gpu, &norms) == SPMM_OK);
    CHECK_INT(norms.not_finite, not_finite);
    CHECK(norms.max == self.max_reference && close_to(norms.norm, self.norm_reference));
    sp_device_free(y_memory);
    sp_device_free(ref_memory);
    free(y.data);
    free(ref.data);
}

static void test_refusals(void)
{
    double host[4] = {0};
    sp_difference d;
    sp_norms norms;
    spmm_multivector y, other, in_host = {2, 2, 2, SPMM_F64, SPMM_CPU, host, 0, 0, SPMM_ROW_MAJOR};
    CHECK(spmm_multivector_create(2, 2, SPMM_F64, SPMM_CUDA, &y) == SPMM_OK);
    CHECK(sp_device_compare(&y, &in_host, &d) == SPMM_ERR_USAGE);
    CHECK(sp_device_norms(&in_host, &norms) == SPMM_ERR_USAGE);
    CHECK(spmm_multivector_create(2, 3, SPMM_F64, SPMM_CUDA, &other) == SPMM_OK);
    CHECK(sp_device_compare(&y, &other, &d) == SPMM_ERR_USAGE);
    CHECK_TEXT(spmm_error_message(), "2 x 2");
    spmm_multivector_destroy(&other);
    CHECK(spmm_multivector_create(2, 2, SPMM_F32, SPMM_CUDA, &other) == SPMM_OK);
    CHECK(sp_device_compare(&y, &other, &d) == SPMM_ERR_USAGE);
    spmm_multivector_destroy(&other);
    spmm_multivector_destroy(&y);
}

static int without_gpu(const char *why)
{
    TEST("without a GPU a reduction refuses") {
        double x = 1;
        sp_difference d;
        sp_norms norms;
        const spmm_multivector v = {1, 1, 1, SPMM_F64, SPMM_CUDA, &x, 0, 0, SPMM_ROW_MAJOR};
        CHECK(sp_device_compare(&v, &v, &d) == SPMM_ERR_NO_DEVICE && d.different == 0);
        CHECK(sp_device_norms(&v, &norms) == SPMM_ERR_NO_DEVICE && norms.max == 0);
    }
    SKIP("differences and norms on the GPU are those of a serial loop", why);
    return test_end();
}

int main(void)
{
    const char *why;
    if (sp_device_count(&why) == 0) return without_gpu(why);
    TEST("a GPU is opened") { CHECK(sp_device_open(0) == SPMM_OK); }
    if (!sp_device_stream(SP_STREAM_MAIN)) return test_end();
    TEST("differences and norms on the GPU are those of a serial loop, and the same bits every time: f64") {
        for (int s = 0; s < SHAPES; s++) check_shape(&shapes[s], SPMM_F64, 0);
    }
    TEST("differences and norms on the GPU are those of a serial loop, and the same bits every time: f32") {
        for (int s = 0; s < SHAPES; s++) check_shape(&shapes[s], SPMM_F32, 0);
    }
    TEST("infinities and NaN are counted, and in no norm; +0 and -0 are different") {
        for (int s = 0; s < SHAPES; s++) check_shape(&shapes[s], SPMM_F64, 1);
        for (int s = 0; s < SHAPES; s++) check_shape(&shapes[s], SPMM_F32, 1);
    }
    TEST("a multivector without rows has no differences") {
        spmm_multivector y;
        sp_difference d;
        CHECK(spmm_multivector_create(0, 5, SPMM_F64, SPMM_CUDA, &y) == SPMM_OK);
        CHECK(sp_device_compare(&y, &y, &d) == SPMM_OK);
        CHECK(d.different == 0 && d.max_reference == 0 && d.mean_relative == 0);
        spmm_multivector_destroy(&y);
    }
    TEST("other shapes, precisions and host memory are refused") { test_refusals(); }
    sp_device_close();
    return test_end();
}
