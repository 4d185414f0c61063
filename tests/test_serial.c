/* limit: 60 */
#include "formats/matrix.h"
#include "formats/serial.h"
#include "canonical.h"
#include "test.h"

typedef void product(const sp_matrix *m, int64_t begin, int64_t end, const spmm_multivector *x,
                     spmm_multivector *y);

/** Checks the product of m, which is matrix `a` in another format, computed in two pieces. */
static void check_product(const spmm_csr *a, const sp_matrix *m, sample_values kind, int64_t k,
                          product *serial)
{
    spmm_multivector x = sample_multivector(a->cols, k, k + 3, a->precision);
    spmm_multivector y = sample_multivector(a->rows, k, k + 1, a->precision);
    sample_fill(&x, kind, 3);
    const spmm_multivector expected = naive_product(a, &x, serial == sp_serial_plain_product);
    serial(m, a->rows / 3, a->rows, &x, &y);
    for (int64_t e = 0; e < a->rows / 3 * y.ld; e++) CHECK(isnan(sample_get(y.data, y.precision, e)));
    serial(m, 0, a->rows / 3, &x, &y);
    CHECK(sample_same(&y, &expected));
    free(x.data);
    free(y.data);
    free(expected.data);
}

/** Checks both products of a in all formats. */
static void check_formats(const spmm_csr *a, sample_values kind, int64_t k)
{
    static product *const serial[] = {sp_serial_product, sp_serial_plain_product};
    sp_matrix m[3];
    sp_matrix_view_csr(a, &m[0]);
    CHECK_INT(sp_matrix_create(a, SPMM_ELL, SPMM_CPU, 1e9, 0, 1, &m[1]), SPMM_OK);
    CHECK_INT(sp_matrix_create(a, SPMM_ELL_NOPAD, SPMM_CPU, 0, 0, 1, &m[2]), SPMM_OK);
    for (int n = 0; n < 6; n++) check_product(a, &m[n / 2], kind, k, serial[n % 2]);
    for (int n = 0; n < 3; n++) sp_matrix_destroy(&m[n]);
}

static void check_all(sample_values kind)
{
    static const int64_t ks[] = {1, 2, 3, 7, 8, 33};
    for (int s = 0; s < SAMPLES; s++)
        for (int p = 0; p < 2; p++)
            for (int n = 0; n < 6; n++) {
                spmm_csr a;
                sample_csr((sample)s, kind, p ? SPMM_F32 : SPMM_F64, &a);
                check_formats(&a, kind, ks[n]);
                spmm_csr_destroy(&a);
            }
}

static void test_bits(void)
{
    TEST("products of small integers are exact") { check_all(SAMPLE_INTEGERS); }
    TEST("products of reals have the canonical order or one fma chain a row, bit for bit, in all formats") {
        check_all(SAMPLE_REALS);
        static const int64_t ks[] = {1, 5, 63, 64, 65, 130};
        for (int p = 0; p < 2; p++) {
            spmm_csr a;
            sample_lengths(canonical_lengths, CANONICAL_LENGTHS, p ? SPMM_F32 : SPMM_F64, &a);
            for (int n = 0; n < 6; n++) check_formats(&a, SAMPLE_REALS, ks[n]);
            spmm_csr_destroy(&a);
        }
    }
    TEST("a sum of negative zeros is -0 in a long row, too") {
        spmm_csr a;
        static const int64_t length[] = {1, 128, 129, 1025};
        sample_lengths(length, 4, SPMM_F64, &a);
        for (int64_t e = 0; e < a.nnz; e++) ((double *)a.as)[e] = -1e-300;
        spmm_multivector x = sample_multivector(a.cols, 1, 1, SPMM_F64),
                         y = sample_multivector(4, 1, 1, SPMM_F64);
        for (int64_t i = 0; i < a.cols; i++) ((double *)x.data)[i] = 1e-300;
        sp_matrix m;
        sp_matrix_view_csr(&a, &m);
        sp_serial_product(&m, 0, 4, &x, &y);
        for (int i = 0; i < 4; i++) CHECK(((double *)y.data)[i] == 0 && signbit(((double *)y.data)[i]));
        free(x.data);
        free(y.data);
        spmm_csr_destroy(&a);
    }
}

static void test_sums(void)
{
    TEST("an integer product is what the sums over the dense matrix give") {
        spmm_csr a;
        sp_matrix m;
        sample_csr(SAMPLE_RANDOM, SAMPLE_INTEGERS, SPMM_F32, &a);
        sp_matrix_view_csr(&a, &m);
        int dense[150][150] = {{0}};
        for (int64_t i = 0; i < 150; i++)
            for (int64_t e = a.irp[i]; e < a.irp[i + 1]; e++) dense[i][a.ja[e]] += (int)((float *)a.as)[e];
        spmm_multivector x = sample_multivector(150, 5, 8, SPMM_F32),
                         y = sample_multivector(150, 5, 8, SPMM_F32);
        sample_fill(&x, SAMPLE_INTEGERS, 4);
        sp_serial_product(&m, 0, 150, &x, &y);
        for (int i = 0; i < 150; i++)
            for (int j = 0; j < 5; j++) {
                int sum = 0;
                for (int c = 0; c < 150; c++)
                    if (dense[i][c]) sum += dense[i][c] * (int)((float *)x.data)[c * 8 + j];
                CHECK_INT(((float *)y.data)[i * 8 + j], sum);
            }
        free(x.data);
        free(y.data);
        spmm_csr_destroy(&a);
    }
}

static void test_bound(void)
{
    TEST("the bound sums |a| |x| in double, and an empty row's is 0") {
        for (int p = 0; p < 2; p++) {
            spmm_csr a;
            sp_matrix m;
            sample_csr(SAMPLE_EMPTY_ROWS, SAMPLE_REALS, p ? SPMM_F32 : SPMM_F64, &a);
            sp_matrix_view_csr(&a, &m);
            spmm_multivector x = sample_multivector(a.cols, 3, 4, a.precision);
            sample_fill(&x, SAMPLE_REALS, 5);
            double bound[90 * 3];
            sp_serial_bound(&m, 0, 90, &x, bound);
            for (int64_t i = 0; i < 90; i++)
                for (int64_t j = 0; j < 3; j++) {
                    double sum = 0;
                    for (int64_t e = a.irp[i]; e < a.irp[i + 1]; e++)
                        sum += fabs(sample_get(a.as, a.precision, e)) *
                               fabs(sample_get(x.data, a.precision, a.ja[e] * 4 + j));
                    CHECK(bound[i * 3 + j] == sum);
                }
            free(x.data);
            spmm_csr_destroy(&a);
        }
    }
}

int main(void)
{
    test_bits();
    test_sums();
    test_bound();
    return test_end();
}
