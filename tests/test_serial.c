/* limit: 60 */
#include "formats/matrix.h"
#include "formats/serial.h"
#include "sample.h"
#include "test.h"

/** The definition, entry by entry, with nothing but fma() of the C library. */
static double element(const spmm_csr *a, int64_t i, const spmm_multivector *x, int64_t j)
{
    if (a->precision == SPMM_F64) {
        double sum = 0;
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++)
            sum = fma(((const double *)a->as)[e], ((const double *)x->data)[a->ja[e] * x->ld + j], sum);
        return sum;
    }
    float sum = 0;
    for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++)
        sum = fmaf(((const float *)a->as)[e], ((const float *)x->data)[a->ja[e] * x->ld + j], sum);
    return (double)sum;
}

/** The product of m, which holds the same matrix as a, in two pieces. */
static void check_product(const spmm_csr *a, const sp_matrix *m, sample_values kind, int64_t k)
{
    spmm_multivector x = sample_multivector(a->cols, k, k + 3, a->precision);
    spmm_multivector y = sample_multivector(a->rows, k, k + 1, a->precision);
    sample_fill(&x, kind, 3);
    sp_serial_product(m, a->rows / 3, a->rows, &x, &y);
    for (int64_t e = 0; e < a->rows / 3 * y.ld; e++) CHECK(isnan(sample_get(y.data, y.precision, e)));
    sp_serial_product(m, 0, a->rows / 3, &x, &y);
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t j = 0; j < k; j++) {
            const double found = sample_get(y.data, y.precision, i * y.ld + j),
                         expected = element(a, i, &x, j);
            CHECK(found == expected && signbit(found) == signbit(expected));
        }
    free(x.data);
    free(y.data);
}

static void check_all(sample_values kind)
{
    static const int64_t ks[] = {1, 2, 3, 7, 8, 33};
    for (int s = 0; s < SAMPLES; s++)
        for (int p = 0; p < 2; p++)
            for (int n = 0; n < 6; n++) {
                spmm_csr a;
                sp_matrix csr, ell, nopad;
                sample_csr((sample)s, kind, p ? SPMM_F32 : SPMM_F64, &a);
                sp_matrix_view_csr(&a, &csr);
                CHECK_INT(sp_matrix_create(&a, SPMM_ELL, SPMM_CPU, 1e9, 1, &ell), SPMM_OK);
                CHECK_INT(sp_matrix_create(&a, SPMM_ELL_NOPAD, SPMM_CPU, 0, 1, &nopad), SPMM_OK);
                check_product(&a, &csr, kind, ks[n]);
                check_product(&a, &ell, kind, ks[n]);
                check_product(&a, &nopad, kind, ks[n]);
                sp_matrix_destroy(&ell);
                sp_matrix_destroy(&nopad);
                spmm_csr_destroy(&a);
            }
}

int main(void)
{
    TEST("products of small integers are exact") { check_all(SAMPLE_INTEGERS); }
    TEST("products of reals are one fma chain a row in column order, bit for bit, in all formats") {
        check_all(SAMPLE_REALS);
    }
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
    return test_end();
}
