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

/** y := A x by the serial product. */
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
    test_special_values();
    return test_end();
}
