/** Computes the numerators of Pearson's coefficients with cuBLAS. To cuBLAS, a row-major matrix of series is
 *  a column-major matrix with one series per column. So the product is c := a^T b. */
#include "kernels/series/cuda_series.cuh"

#include <cublas_v2.h>

namespace {

cublasHandle_t handle = NULL; /* for the only GPU of the process; never destroyed, because creating it takes
                                 longer than a product */

spmm_status check(cublasStatus_t error, const char *what)
{
    if (error == CUBLAS_STATUS_SUCCESS) return SPMM_OK;
    return sp_fail(error == CUBLAS_STATUS_ALLOC_FAILED ? SPMM_ERR_MEMORY : SPMM_ERR_DEVICE, "%s: %s", what,
                   cublasGetStatusString(error));
}

spmm_status multiply(const sp_dots *d)
{
    const double one = 1, zero = 0;
    const float one_f = 1, zero_f = 0;
    const int64_t m = d->rows, n = d->cols, k = d->length, ld = d->ld;
    const bool wide = d->precision == SPMM_F64;
    if (d->triangle && wide)
        return check(cublasDsyrk_64(handle, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, m, k, &one,
                                    (const double *)d->a, ld, &zero, (double *)d->c, m),
                     "cublasDsyrk");
    if (d->triangle)
        return check(cublasSsyrk_64(handle, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, m, k, &one_f,
                                    (const float *)d->a, ld, &zero_f, (float *)d->c, m),
                     "cublasSsyrk");
    if (wide)
        return check(cublasDgemm_64(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, &one, (const double *)d->a, ld,
                                    (const double *)d->b, ld, &zero, (double *)d->c, m),
                     "cublasDgemm");
    return check(cublasSgemm_64(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, &one_f, (const float *)d->a, ld,
                                (const float *)d->b, ld, &zero_f, (float *)d->c, m),
                 "cublasSgemm");
}

spmm_status dots(const sp_dots *d)
{
    const cudaStream_t stream = main_stream();
    if (!stream) return SPMM_ERR_NO_DEVICE;
    if (!handle) TRY(check(cublasCreate(&handle), "cublasCreate"));
    TRY(check(cublasSetStream(handle, stream), "cublasSetStream"));
    return multiply(d);
}

} // namespace

const sp_series_ops sp_series_cublas = {NULL, dots, NULL, 0, NULL};
