/* MPI: 1
 * Products without a plan: their bits are those of a plan, for every width of indices, layout and factor. */
#include <stdlib.h>

#include "planned.h"
#include "sample.h"

static const char *const specs[] = {"lap3d27:6", "rmat:8,6", "longrows:300,2,1,290", "longrows:3000,2,2,2900",
                                    "uniform:200,3"};

/** Copies row starts (count = rows + 1) or column indices to integers of `bytes` bytes. */
static void *as_integers(const void *from, int from_bytes, int64_t count, int bytes)
{
    char *const to = malloc((size_t)(count > 0 ? count : 1) * (size_t)bytes);
    for (int64_t i = 0; i < count; i++) {
        const int64_t value = from_bytes == 8 ? ((const int64_t *)from)[i] : ((const int32_t *)from)[i];
        if (bytes == 8)
            ((int64_t *)to)[i] = value;
        else
            ((int32_t *)to)[i] = (int32_t)value;
    }
    return to;
}

static spmm_rows rows_of(const spmm_csr *a)
{
    return (spmm_rows){.irp = a->irp, .ja = a->ja, .as = a->as, .irp_bytes = 8, .ja_bytes = 4};
}

/** Computes y := alpha A x + beta y by a plan. */
static void by_plan(const spmm_csr *a, double alpha, const spmm_multivector *x, double beta,
                    spmm_multivector *y)
{
    const spmm_block block = {.csr = *a, .rows = a->rows, .cols = a->cols, .x_rows = a->cols, .p = 1, .q = 1};
    spmm_plan *plan;
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, x->k, NULL, &plan), SPMM_OK);
    CHECK_INT(spmm_apply(plan, alpha, x, beta, y), SPMM_OK);
    spmm_plan_destroy(plan);
}

/** Compares products with a plan's for all widths of indices and numbers of threads. */
static void check_widths(const spmm_csr *a, const spmm_multivector *x, double alpha, double beta,
                         spmm_layout layout)
{
    const int64_t k = x->k;
    spmm_multivector expected = sample_multivector(a->rows, k, k + 1, a->precision), start = expected;
    start = sample_multivector(a->rows, k, k + 1, a->precision);
    sample_fill(&start, SAMPLE_REALS, 5);
    CHECK_INT(spmm_multivector_copy(&start, &expected), SPMM_OK);
    by_plan(a, alpha, x, beta, &expected);
    for (int n = 0; n < 8; n++) {
        const int irp_bytes = n & 1 ? 4 : 8, ja_bytes = n & 2 ? 8 : 4;
        spmm_rows rows = rows_of(a);
        spmm_multivector y = sample_multivector(layout == SPMM_ROW_MAJOR ? a->rows : k,
                                                layout == SPMM_ROW_MAJOR ? k : a->rows,
                                                layout == SPMM_ROW_MAJOR ? k + 1 : a->rows + 3, a->precision);
        spmm_multivector back = sample_multivector(a->rows, k, k + 1, a->precision);
        y.rows = a->rows;
        y.k = k;
        y.layout = layout;
        rows.irp = as_integers(a->irp, 8, a->rows + 1, irp_bytes);
        rows.ja = as_integers(a->ja, 4, a->nnz, ja_bytes);
        rows.irp_bytes = irp_bytes;
        rows.ja_bytes = ja_bytes;
        CHECK_INT(spmm_multivector_copy(&start, &y), SPMM_OK);
        CHECK_INT(spmm_rows_apply(&rows, alpha, x, beta, &y, n & 4 ? 3 : 0), SPMM_OK);
        CHECK_INT(spmm_multivector_copy(&y, &back), SPMM_OK);
        CHECK(sample_same(&back, &expected));
        free((void *)(uintptr_t)rows.irp);
        free((void *)(uintptr_t)rows.ja);
        free(y.data);
        free(back.data);
    }
    free(expected.data);
    free(start.data);
}

static void check_products(spmm_precision precision)
{
    static const int64_t ks[] = {1, 3, 8, 13, 64};
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
        for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
            spmm_csr a;
            CHECK_INT(spmm_csr_generate(specs[s], precision, &a), SPMM_OK);
            for (int64_t e = 0; e < a.nnz; e++)
                sample_set(a.as, precision, e, sample_value(SAMPLE_REALS, 3, (uint64_t)e, 0));
            spmm_multivector x = sample_multivector(a.cols, ks[i], ks[i] + 2 * (i % 2), precision);
            sample_fill(&x, SAMPLE_REALS, 9);
            check_widths(&a, &x, 1, 0, SPMM_ROW_MAJOR);
            check_widths(&a, &x, -0.7, i % 2 ? 0.3 : 1, s % 2 ? SPMM_ROW_MAJOR : SPMM_COLUMN_MAJOR);
            free(x.data);
            spmm_csr_destroy(&a);
        }
}

static void test_refused(void)
{
    spmm_csr a;
    CHECK_INT(spmm_csr_generate("lap2d5:9", SPMM_F64, &a), SPMM_OK);
    spmm_multivector x = sample_multivector(a.cols, 2, 2, SPMM_F64),
                     y = sample_multivector(a.rows, 2, 2, SPMM_F64);
    const spmm_rows good = rows_of(&a);
    spmm_rows rows = good;
    sample_fill(&x, SAMPLE_REALS, 1);
#define REFUSED(part) CHECK_ERROR(spmm_rows_apply(&rows, 1, &x, 0, &y, 0), SPMM_ERR_USAGE, part)
    TEST(
        "columns that do not increase or are out of range, and starts that decrease, are refused with their row") {
        const int32_t last = a.ja[a.nnz - 1], first = a.ja[0];
        a.ja[a.nnz - 1] = a.ja[a.nnz - 2];
        REFUSED("row 80: column");
        a.ja[a.nnz - 1] = (int32_t)a.cols;
        REFUSED("row 80 has column 81, expected 0 to 80");
        a.ja[a.nnz - 1] = last;
        a.ja[0] = -1;
        REFUSED("row 0 has column -1");
        a.ja[0] = first;
        int64_t *const wide = as_integers(a.ja, 4, a.nnz, 8);
        rows.ja = wide;
        rows.ja_bytes = 8;
        wide[2] += (int64_t)1 << 32;
        REFUSED("row 0 has column -1");
        free(wide);
        rows = good;
        a.irp[3] += 40;
        REFUSED("row starts must not decrease");
        a.irp[3] -= 40;
        CHECK_INT(spmm_rows_apply(&rows, 1, &x, 0, &y, 0), SPMM_OK);
    }
    TEST("arguments that do not fit are refused by name") {
        rows.irp_bytes = 2;
        REFUSED("irp_bytes is 2");
        rows = good;
        rows.first_column = 1;
        REFUSED("first_column");
        rows = good;
        rows.irp = NULL;
        REFUSED("irp");
        rows = good;
        CHECK_ERROR(spmm_rows_apply(NULL, 1, &x, 0, &y, 0), SPMM_ERR_USAGE, "a");
        CHECK_ERROR(spmm_rows_apply(&rows, 1, NULL, 0, &y, 0), SPMM_ERR_USAGE, "x");
        CHECK_ERROR(spmm_rows_apply(&rows, 1, &x, 0, &x, 0), SPMM_ERR_USAGE, "overlap");
        CHECK_ERROR(spmm_rows_apply(&rows, 1, &x, 0, &y, -1), SPMM_ERR_USAGE, "threads");
        y.k = 1;
        REFUSED("columns");
        y.k = 2;
        x.rows--;
        REFUSED("row 71 has column 80, expected 0 to 79");
        x.rows++;
    }
    TEST("without columns, rows or entries there is nothing to compute, or zeros") {
        spmm_multivector none = {.precision = SPMM_F64};
        const int64_t start[2] = {0, 0};
        rows = (spmm_rows){.irp = start, .irp_bytes = 8, .ja_bytes = 4};
        CHECK_INT(spmm_rows_apply(&rows, 1, &none, 0, &none, 0), SPMM_OK);
        y.rows = 1;
        CHECK_INT(spmm_rows_apply(&rows, 1, &x, 0, &y, 0), SPMM_OK);
        CHECK(sample_get(y.data, SPMM_F64, 0) == 0 && sample_get(y.data, SPMM_F64, 1) == 0);
    }
    free(x.data);
    free(y.data);
    spmm_csr_destroy(&a);
}

int main(int argc, char **argv)
{
    int size;
    test_mpi_begin(&argc, &argv, &size);
    TEST("a product at once has the bits of a plan's, in f64") { check_products(SPMM_F64); }
    TEST("a product at once has the bits of a plan's, in f32") { check_products(SPMM_F32); }
    test_refused();
    return test_mpi_end();
}
