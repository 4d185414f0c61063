/* MPI: 1 2 3 */
#include "comm.h"
#include "multivector.h"
#include "plan.h"
#include "test_mpi.h"

/** Y = A X through the public interface, checked against the rows' definition on small integers. */
static void multiply(const spmm_csr *block, const spmm_plan_options *options, int64_t k)
{
    spmm_plan *plan;
    spmm_multivector x, y;
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, block, k, options, &plan), SPMM_OK);
    CHECK_INT(spmm_multivector_create(block->cols, k, block->precision, SPMM_CPU, &x), SPMM_OK);
    CHECK_INT(spmm_multivector_create(block->rows, k, block->precision, SPMM_CPU, &y), SPMM_OK);
    sp_multivector_generate(&x, SP_X_INDEX, 0, 0, 1);
    for (int again = 0; again < 2; again++) {
        memset(y.data, 0xff, (size_t)sp_multivector_bytes(&y));
        CHECK_INT(spmm_apply(plan, &x, &y), SPMM_OK);
        for (int64_t i = 0; i < block->rows; i++)
            for (int64_t j = 0; j < k; j++) {
                double sum = 0;
                for (int64_t e = block->irp[i]; e < block->irp[i + 1]; e++) {
                    const double a = block->precision == SPMM_F64 ? ((double *)block->as)[e]
                                                                  : (double)((float *)block->as)[e];
                    sum += a * sp_multivector_get(&x, block->ja[e], j);
                }
                CHECK(sp_multivector_get(&y, i, j) == sum);
            }
    }
    spmm_plan_destroy(plan);
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
}

int main(int argc, char **argv)
{
    int size;
    spmm_csr a = {0}, block;
    int64_t row_begin;
    test_mpi_begin(&argc, &argv, &size);

    TEST("a plan of any CPU format multiplies right, and again") {
        for (int p = 0; p < 2; p++) {
            CHECK_INT(spmm_csr_generate("lap2d5:9", (spmm_precision)p, &a), SPMM_OK);
            CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, &a, &block, &row_begin), SPMM_OK);
            for (int f = SPMM_CSR; f <= SPMM_ELL_NOPAD; f++)
                for (int64_t k = 1; k <= 9; k += 2)
                    multiply(&block, &(spmm_plan_options){.format = (spmm_format)f, .threads = 2}, k);
            multiply(&block, NULL, 4);
            multiply(&block, &(spmm_plan_options){.format = SPMM_FORMAT_AUTO}, 1);
            multiply(&block, &(spmm_plan_options){.format = SPMM_FORMAT_AUTO, .kernel = "cpu_ell"}, 5);
            spmm_csr_destroy(&block);
            spmm_csr_destroy(&a);
        }
    }
    CHECK_INT(spmm_csr_generate("lap2d5:9", SPMM_F64, &a), SPMM_OK);
    CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, &a, &block, &row_begin), SPMM_OK);
    TEST("a wrong kernel, K or format is every rank's error, and leaves no plan") {
        const spmm_plan_options wrong[] = {
            {.kernel = "no_such"}, {.kernel = "cpu_ell"}, {.kernel = "csr_rows"}};
        spmm_plan *plan;
        for (int i = 0; i < 3; i++) {
            CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, 3, &wrong[i], &plan), SPMM_ERR_USAGE);
            CHECK(plan == NULL);
        }
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, 0, NULL, &plan), SPMM_ERR_USAGE);
        const spmm_plan_options tight = {.format = SPMM_ELL, .ell_limit = 0.01};
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, 3, &tight, &plan), SPMM_ERR_LIMIT);
        CHECK_TEXT(spmm_error_message(), "ell-nopad");
        spmm_plan_destroy(NULL);
    }
    TEST("a plan chooses a kernel of its format, of any for auto, and a named kernel's format follows") {
        static const struct {
            spmm_plan_options options;
            const char *kernel;
        } plans[] = {{{.format = SPMM_CSR}, "cpu_csr"},
                     {{.format = SPMM_ELL}, "cpu_ell"},
                     {{.format = SPMM_FORMAT_AUTO}, "cpu_csr"},
                     {{.format = SPMM_FORMAT_AUTO, .kernel = "cpu_ell_nopad"}, "cpu_ell_nopad"}};
        spmm_plan *plan;
        for (int i = 0; i < 4; i++) {
            CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, 8, &plans[i].options, &plan), SPMM_OK);
            CHECK_TEXT(spmm_plan_kernel(plan), plans[i].kernel);
            spmm_plan_destroy(plan);
        }
        const spmm_plan_options none = {.format = SPMM_PANEL};
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, 8, &none, &plan), SPMM_ERR_USAGE);
    }
    TEST("every rank knows the facts of the whole matrix") {
        sp_features whole;
        CHECK_INT(sp_plan_features(MPI_COMM_WORLD, &block, 1, &whole), SPMM_OK);
        CHECK(whole.sum.rows == 81 && whole.sum.nnz == 369 && whole.longest == 5);
    }
    TEST("a fault in one rank's conversion is every rank's, and nobody hangs") {
        spmm_plan *plan;
        char fault[32];
        snprintf(fault, sizeof fault, "convert:%d", size - 1);
        setenv("SPMM_FAULT", fault, 1);
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, 3, NULL, &plan), SPMM_ERR_INTERNAL);
        CHECK(plan == NULL);
        unsetenv("SPMM_FAULT");
    }
    TEST("X or Y of another shape is refused with both shapes") {
        spmm_plan *plan;
        spmm_multivector x, y;
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, 3, NULL, &plan), SPMM_OK);
        CHECK_INT(spmm_multivector_create(block.cols, 4, SPMM_F64, SPMM_CPU, &x), SPMM_OK);
        CHECK_INT(spmm_multivector_create(block.rows, 3, SPMM_F64, SPMM_CPU, &y), SPMM_OK);
        CHECK_INT(spmm_apply(plan, &x, &y), SPMM_ERR_USAGE);
        CHECK_TEXT(spmm_error_message(), "81 x 4");
        CHECK_TEXT(spmm_error_message(), "81 x 3");
        spmm_multivector_destroy(&x);
        spmm_multivector_destroy(&y);
        spmm_plan_destroy(plan);
    }
    spmm_csr_destroy(&block);
    spmm_csr_destroy(&a);
    return test_mpi_end();
}
