/** Computes the numerators of Pearson's coefficients with a BLAS library, through CBLAS. To BLAS, a row-major
 *  matrix of series is a column-major matrix with one series per column. So the product is c := a^T b. */
#include <cblas.h>

#include "base/status.h"
#include "kernels/series/series.h"

/* openblas_set_num_threads() exists in OpenBLAS only; other BLAS libraries take their number of threads from
 * OpenMP or the environment. */
extern void openblas_set_num_threads(int threads) __attribute__((weak));

static spmm_status dots(const sp_dots *d)
{
    const int m = (int)d->rows, n = (int)d->cols, k = (int)d->length, ld = (int)d->ld;
    if (d->rows > INT32_MAX || d->cols > INT32_MAX || d->length > INT32_MAX || d->ld > INT32_MAX)
        return sp_fail(SPMM_ERR_LIMIT, "series of %lld values: a size exceeds an int of the BLAS",
                       (long long)d->length);
    if (openblas_set_num_threads) openblas_set_num_threads(d->threads);
    if (d->triangle && d->precision == SPMM_F64)
        cblas_dsyrk(CblasColMajor, CblasUpper, CblasTrans, m, k, 1, d->a, ld, 0, d->c, m);
    else if (d->triangle)
        cblas_ssyrk(CblasColMajor, CblasUpper, CblasTrans, m, k, 1, d->a, ld, 0, d->c, m);
    else if (d->precision == SPMM_F64)
        cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, m, n, k, 1, d->a, ld, d->b, ld, 0, d->c, m);
    else
        cblas_sgemm(CblasColMajor, CblasTrans, CblasNoTrans, m, n, k, 1, d->a, ld, d->b, ld, 0, d->c, m);
    return SPMM_OK;
}

const sp_series_ops sp_series_cpu_blas = {.dots = dots};
