/** Computes the numerators of Pearson's coefficients with a BLAS library, through CBLAS. To BLAS, a row-major
 *  matrix of series is a column-major matrix with one series per column. So the product is c := a^T b. */
#include <cblas.h>

#include "base/status.h"
#include "base/value_type.h"
#include "kernels/series/series.h"

/* openblas_set_num_threads() exists in OpenBLAS only; other BLAS libraries take their number of threads from
 * OpenMP or the environment. */
extern void openblas_set_num_threads(int threads) __attribute__((weak));

#define MULTIPLY(name, syrk, gemm)                                                                     \
    static void name(const sp_dots *d, int m, int n, int k, int ld)                                    \
    {                                                                                                  \
        if (d->triangle)                                                                               \
            syrk(CblasColMajor, CblasUpper, CblasTrans, m, k, 1, d->a, ld, 0, d->c, m);                \
        else                                                                                           \
            gemm(CblasColMajor, CblasTrans, CblasNoTrans, m, n, k, 1, d->a, ld, d->b, ld, 0, d->c, m); \
    }
MULTIPLY(multiply_f64, cblas_dsyrk, cblas_dgemm)
MULTIPLY(multiply_f32, cblas_ssyrk, cblas_sgemm)

static spmm_status dots(const sp_dots *d)
{
    const int m = (int)d->rows, n = (int)d->cols, k = (int)d->length, ld = (int)d->ld;
    if (d->rows > INT32_MAX || d->cols > INT32_MAX || d->length > INT32_MAX || d->ld > INT32_MAX)
        return sp_fail(SPMM_ERR_LIMIT,
                       "series of %lld values: a size exceeds 2^31 - 1, the limit of the BLAS",
                       (long long)d->length);
    if (openblas_set_num_threads) openblas_set_num_threads(d->threads);
    SP_OF_REAL(multiply, d->precision)(d, m, n, k, ld);
    return SPMM_OK;
}

const sp_series_ops sp_series_cpu_blas = {.dots = dots};
