#define TEST_TRAPS 0 /* wrong results: NaN, infinity */
#include <math.h>

#include "formats/matrix.h"
#include "formats/multivector.h"
#include "formats/serial.h"
#include "io/generators.h"
#include "sample.h"
#include "spmm_mpi/verify.h"
#include "test.h"

static spmm_csr a;
static spmm_multivector x, y;

/** Makes A and X, and Y := A X by the serial product. */
static void make(const char *spec, spmm_precision p, int64_t k)
{
    sp_matrix m;
    CHECK_INT(sp_gen_csr(spec, p, 2, &a), SPMM_OK);
    CHECK_INT(spmm_multivector_create(a.cols, k, p, SPMM_CPU, &x), SPMM_OK);
    CHECK_INT(spmm_multivector_create(a.rows, k, p, SPMM_CPU, &y), SPMM_OK);
    sp_multivector_generate(&x, SP_X_UNIFORM, 3, 0, 2);
    sp_matrix_view_csr(&a, &m);
    sp_serial_product(&m, 0, m.rows, &x, &y);
}

static void unmake(void)
{
    spmm_csr_destroy(&a);
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
}

static sp_error check(int threads)
{
    sp_error e;
    CHECK_INT(sp_verify(&a, &x, &y, NULL, threads, &e), SPMM_OK);
    return e;
}

static void test_right(void)
{
    TEST("the serial product itself has no error, in both precisions") {
        for (int p = 0; p < 2; p++) {
            make("uniform:500,9", (spmm_precision)p, 7);
            const sp_error e = check(3);
            CHECK(e.wrong == 0 && e.different == 0 && e.max_relative == 0 && e.mean_relative == 0 &&
                  e.row == -1);
            CHECK_INT(e.checked, 3500);
            unmake();
        }
    }
    TEST("a matrix without rows verifies") {
        spmm_csr none = {0};
        CHECK_INT(sp_csr_create(0, 5, 0, SPMM_F64, &a), SPMM_OK);
        CHECK_INT(spmm_multivector_create(5, 2, SPMM_F64, SPMM_CPU, &x), SPMM_OK);
        CHECK_INT(spmm_multivector_create(0, 2, SPMM_F64, SPMM_CPU, &y), SPMM_OK);
        const sp_error e = check(2);
        CHECK(e.wrong == 0 && e.checked == 0 && e.mean_relative == 0);
        unmake();
        a = none;
    }
}

static void test_long_rows(void)
{
    TEST("in long rows bits are compared with the canonical order, and errors are those against one chain") {
        for (int p = 0; p < 2; p++) {
            sp_matrix m;
            make("longrows:500,5,3,300", (spmm_precision)p, 7);
            sp_matrix_view_csr(&a, &m);
            for (int64_t e = 0; e < a.nnz; e++) sample_set(a.as, a.precision, e, 1.0 / (double)(e + 1));
            sp_serial_product(&m, 0, m.rows, &x, &y);
            const sp_error canonical = check(2);
            CHECK(canonical.wrong == 0 && canonical.different == 0 && canonical.max_relative > 0);
            sp_serial_plain_product(&m, 0, m.rows, &x, &y);
            const sp_error plain = check(2);
            CHECK(plain.wrong == 0 && plain.different > 0 && plain.different <= 3 * 7);
            CHECK(plain.max_relative == 0 && plain.mean_relative == 0);
            unmake();
        }
    }
}

static void test_wrong(void)
{
    TEST("one spoiled element is found, whichever it is, and named") {
        make("uniform:500,9", SPMM_F64, 3);
        for (int64_t i = 0; i < 500; i += 71) {
            double *const e = &((double *)y.data)[i * y.ld + 2], old = *e;
            *e = old + 1e-6;
            const sp_error error = check(2);
            CHECK(error.wrong == 1 && error.different == 1 && error.row == i && error.column == 2);
            CHECK(error.found == old + 1e-6 && error.expected == old && error.bound < 1e-12);
            CHECK(error.max_relative > 0);
            *e = old;
        }
        unmake();
    }
    TEST("the last bit counts as different, not as wrong") {
        make("uniform:500,9", SPMM_F64, 3);
        ((double *)y.data)[5 * y.ld] = nextafter(((double *)y.data)[5 * y.ld], 1e9);
        const sp_error e = check(2);
        CHECK(e.wrong == 0 && e.different == 1 && e.max_relative > 0 && e.max_relative < 1e-14);
        CHECK(fabs(e.mean_relative - e.max_relative / 1500) < 1e-20);
        unmake();
    }
    TEST("an error just beyond the bound is wrong, and just within it is not") {
        for (int p = 0; p < 2; p++) {
            make("lap2d5:20", (spmm_precision)p, 2);
            double sum = 0;
            for (int64_t e = a.irp[100]; e < a.irp[101]; e++)
                sum += (a.ja[e] == 100 ? 4 : 1) * fabs(sp_multivector_get(&x, a.ja[e], 1));
            const double u = p == SPMM_F64 ? 0x1p-53 : 0x1p-24, bound = 2 * 5 * u / (1 - 5 * u) * sum;
            const double old = sp_multivector_get(&y, 100, 1);
            for (int beyond = 0; beyond < 2; beyond++) {
                const double value = old + bound * (beyond ? 1.3 : 0.7);
                sample_set(y.data, y.precision, 100 * y.ld + 1, value);
                CHECK_INT(check(1).wrong, beyond);
            }
            unmake();
        }
    }
}

/** Two process rows, each of which owns half of the rows of X, and two process columns, of 150 and 250
 *  columns. */
static void test_rounded_rows(void)
{
    int64_t row_begin[] = {0, 200, 400}, col_begin[] = {0, 150, 400}, x_begin[] = {0, 75, 150, 150, 275, 400};
    const int64_t sampled[] = {100, 230};
    const sp_ranges ranges = {2, 2, row_begin, col_begin, x_begin};
    const sp_ghosts_rounded whole = {&ranges, NULL}, rows = {&ranges, sampled};
    TEST("rounding of rows that a process row does not own adds to the bound, and of no others") {
        make("lap2d5:20", SPMM_F64, 2);
        for (int n = 0; n < 2; n++) {
            const int64_t i = sampled[n];
            double sum = 0, rounding = 0;
            sp_error e;
            ((double *)x.data)[(i + 1) * x.ld + 1] = n ? 1e-60 : 0.37; /* row 101 belongs to process row 1 */
            sp_matrix m;
            sp_matrix_view_csr(&a, &m);
            sp_serial_product(&m, 0, m.rows, &x, &y);
            for (int64_t k = a.irp[i]; k < a.irp[i + 1]; k++) {
                const int64_t j = a.ja[k];
                const int owner = (j >= 75 && j < 150) || j >= 275;
                const double value = fabs(sp_multivector_get(&x, j, 1));
                sum += (j == i ? 4 : 1) * value;
                if (owner != n) rounding += (j == i ? 4 : 1) * fmax(0x1p-24 * value, 0x1p-150);
            }
            CHECK(rounding > 0);
            const double old = sp_multivector_get(&y, i, 1), bound = 10 * 0x1p-53 * sum + rounding;
            for (int beyond = 0; beyond < 2; beyond++) {
                sample_set(y.data, SPMM_F64, i * y.ld + 1, old + bound * (beyond ? 1.001 : 0.999));
                CHECK_INT(sp_verify(&a, &x, &y, &whole, 2, &e), SPMM_OK);
                CHECK_INT(e.wrong, beyond);
                CHECK(fabs(e.of_bound - (beyond ? 1.001 : 0.999)) < 1e-6);
                CHECK(e.rounding >= rounding && e.rounding < 1);
                CHECK_INT(check(2).wrong, 1);
            }
            sample_set(y.data, SPMM_F64, i * y.ld + 1, old);
        }
        unmake();
    }
    TEST("of sampled rows, too") {
        make("lap2d5:20", SPMM_F64, 1);
        spmm_csr two = {.rows = 2, .cols = 400, .precision = SPMM_F64};
        int64_t starts[] = {0, a.irp[101] - a.irp[100], 0};
        int32_t ja[10];
        double as[10];
        sp_error all, some;
        spmm_multivector found;
        starts[2] = starts[1] + a.irp[231] - a.irp[230];
        for (int n = 0; n < 2; n++)
            for (int64_t e = starts[n]; e < starts[n + 1]; e++) {
                ja[e] = a.ja[a.irp[sampled[n]] + e - starts[n]];
                as[e] = ((double *)a.as)[a.irp[sampled[n]] + e - starts[n]];
            }
        two.nnz = starts[2];
        two.irp = starts;
        two.ja = ja;
        two.as = as;
        CHECK_INT(spmm_multivector_create(2, 1, SPMM_F64, SPMM_CPU, &found), SPMM_OK);
        for (int64_t i = 0; i < y.rows; i++) /* only these two rows differ */
            sample_set(y.data, SPMM_F64, i * y.ld,
                       sp_multivector_get(&y, i, 0) + (i == 100 || i == 230 ? 1e-9 : 0));
        for (int n = 0; n < 2; n++)
            sample_set(found.data, SPMM_F64, n * found.ld, sp_multivector_get(&y, sampled[n], 0));
        CHECK_INT(sp_verify(&a, &x, &y, &whole, 2, &all), SPMM_OK);
        CHECK_INT(sp_verify(&two, &x, &found, &rows, 2, &some), SPMM_OK);
        CHECK(all.of_bound > 0 && all.of_bound == some.of_bound);
        CHECK(some.rounding > 0 && some.rounding <= all.rounding);
        spmm_multivector_destroy(&found);
        unmake();
    }
}

static void test_special_values(void)
{
    TEST("a nan, an inf and an unwritten element are wrong; nan where the product is nan is not") {
        make("uniform:500,9", SPMM_F64, 3);
        ((double *)y.data)[0] = NAN;
        ((double *)y.data)[y.ld] = INFINITY;
        ((double *)y.data)[2 * y.ld] = 0;
        CHECK_INT(check(2).wrong, 3);
        unmake();
        make("lap2d5:5", SPMM_F64, 1);
        ((double *)x.data)[0] = INFINITY; /* rows 0, 1 and 5 become infinite */
        for (int64_t i = 0; i < 25; i++)
            for (int64_t e = a.irp[i]; e < a.irp[i + 1]; e++)
                if (a.ja[e] == 0) ((double *)y.data)[i] = i == 0 ? INFINITY : -INFINITY;
        CHECK_INT(check(2).wrong, 0);
        ((double *)y.data)[5] = INFINITY;
        CHECK_INT(check(2).wrong, 1);
        ((double *)x.data)[0] = NAN;
        ((double *)y.data)[0] = ((double *)y.data)[1] = ((double *)y.data)[5] = NAN;
        const sp_error e = check(2);
        CHECK(e.wrong == 0 && e.different == 0);
        unmake();
    }
    TEST("where the product is 0, the relative error is the absolute one") {
        make("lap2d5:5", SPMM_F64, 1);
        memset(x.data, 0, (size_t)sp_multivector_bytes(&x));
        memset(y.data, 0, (size_t)sp_multivector_bytes(&y));
        ((double *)y.data)[7] = 0.25;
        const sp_error e = check(2);
        CHECK(e.max_relative == 0.25 && e.wrong == 1);
        unmake();
    }
}

int main(void)
{
    test_right();
    test_long_rows();
    test_wrong();
    test_rounded_rows();
    test_special_values();
    return test_end();
}
