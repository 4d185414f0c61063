/* limit: 60 */
#include "formats/matrix.h"
#include "sample.h"
#include "test.h"

/** Checks that row i of m is row i of a, and that padding is column -1 and value +0. */
static void check_same(const spmm_csr *a, const sp_matrix *m)
{
    CHECK_INT(m->rows, a->rows);
    CHECK_INT(m->cols, a->cols);
    CHECK_INT(m->nnz, a->nnz);
    CHECK_INT(m->precision, a->precision);
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t n = a->irp[i + 1] - a->irp[i];
        const int64_t from = m->format == SPMM_ELL ? i * m->width : m->row_start[i];
        if (m->format == SPMM_ELL_NOPAD) CHECK_INT(m->nz_per_row[i], n);
        for (int64_t j = 0; j < (m->format == SPMM_ELL ? m->width : n); j++) {
            const double v = sample_get(m->val, m->precision, from + j);
            CHECK_INT(m->col[from + j], j < n ? a->ja[a->irp[i] + j] : -1);
            CHECK(j < n ? v == sample_get(a->as, a->precision, a->irp[i] + j) : v == 0 && !signbit(v));
        }
    }
}

int main(void)
{
    spmm_csr a;
    sp_matrix m;

    TEST("every sample becomes padded ELLPACK and ELLPACK without padding, in both precisions") {
        for (int s = 0; s < SAMPLES; s++)
            for (int p = 0; p < 2; p++)
                for (int threads = 1; threads <= 5; threads += 2) {
                    sample_csr((sample)s, SAMPLE_REALS, p ? SPMM_F32 : SPMM_F64, &a);
                    CHECK_INT(sp_matrix_create(&a, SPMM_ELL, SPMM_CPU, 1e9, 0, threads, &m), SPMM_OK);
                    CHECK_INT(m.format, SPMM_ELL);
                    check_same(&a, &m);
                    sp_matrix_destroy(&m);
                    CHECK_INT(sp_matrix_create(&a, SPMM_ELL_NOPAD, SPMM_CPU, 0, 0, threads, &m), SPMM_OK);
                    CHECK_INT(m.format, SPMM_ELL_NOPAD);
                    check_same(&a, &m);
                    sp_matrix_destroy(&m);
                    spmm_csr_destroy(&a);
                }
    }
    TEST("a view of CSR shares the arrays") {
        sample_csr(SAMPLE_RANDOM, SAMPLE_REALS, SPMM_F32, &a);
        sp_matrix_view_csr(&a, &m);
        CHECK(m.row_start == a.irp && m.col == a.ja && m.val == a.as);
        CHECK(m.format == SPMM_CSR && m.space == SPMM_CPU && m.precision == SPMM_F32 && m.width == 0);
        CHECK(m.rows == 150 && m.cols == 150 && m.nnz == a.nnz);
        spmm_csr_destroy(&a);
    }
    TEST("padding beyond the limit is refused, with the figures and the way out") {
        sample_csr(SAMPLE_DENSE_ROW, SAMPLE_REALS, SPMM_F64, &a);
        CHECK_ERROR(sp_matrix_create(&a, SPMM_ELL, SPMM_CPU, 3, 0, 1, &m), SPMM_ERR_LIMIT,
                    "padded ELLPACK would take 14");
        CHECK_TEXT(spmm_error_message(), " kB, ");
        CHECK_TEXT(spmm_error_message(), " times the CSR (longest row 20");
        CHECK_TEXT(spmm_error_message(), "; limit 3): use --format csr or ell-nopad, or raise --ell-limit");
        CHECK(!m.col && !m.val);
        spmm_csr_destroy(&a);
    }
    TEST("a size that overflows 64 bits is refused, not allocated") {
        /* 3 rows, one of 2^59 entries that do not exist: the size is computed from the row starts alone */
        int64_t irp[4] = {0, INT64_C(1) << 40, INT64_C(1) << 40, INT64_C(1) << 40};
        spmm_csr huge = {.rows = 3, .cols = INT32_MAX, .nnz = irp[3], .precision = SPMM_F64, .irp = irp};
        irp[1] = irp[2] = irp[3] = huge.nnz = INT64_MAX / 16;
        CHECK_ERROR(sp_matrix_create(&huge, SPMM_ELL, SPMM_CPU, 1e-3, 0, 1, &m), SPMM_ERR_LIMIT,
                    "more than ");
        CHECK_ERROR(sp_matrix_create(&huge, SPMM_ELL_NOPAD, SPMM_CPU, 0, 0, 1, &m), SPMM_ERR_LIMIT, "2^31");
    }
    sp_matrix_destroy(NULL);
    memset(&m, 0, sizeof m);
    sp_matrix_destroy(&m);
    return test_end();
}
