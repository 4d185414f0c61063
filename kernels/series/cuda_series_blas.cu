/** Computes the numerators of Pearson's coefficients with cuBLAS. To cuBLAS, a row-major matrix of series is
 *  a column-major matrix with one series per column. So the product is c := a^T b. */
#include "kernels/series/cuda_series.cuh"

#include <cublas_v2.h>

namespace {

/* handle for the only GPU of the process; never destroyed, because creating it takes longer than a product */
cublasHandle_t handle = NULL;

spmm_status check(cublasStatus_t error, const char *what)
{
    if (error == CUBLAS_STATUS_SUCCESS) return SPMM_OK;
    return sp_fail(error == CUBLAS_STATUS_ALLOC_FAILED ? SPMM_ERR_MEMORY : SPMM_ERR_DEVICE, "%s: %s", what,
                   cublasGetStatusString(error));
}

#define SYRK_AND_GEMM(T, cublas_syrk, cublas_gemm)                                                         \
    cublasStatus_t syrk(int64_t m, int64_t k, const T *one, const T *a, int64_t ld, const T *zero, T *c,   \
                        int64_t ldc)                                                                       \
    {                                                                                                      \
        return cublas_syrk(handle, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, m, k, one, a, ld, zero, c, ldc);   \
    }                                                                                                      \
    cublasStatus_t gemm(int64_t m, int64_t n, int64_t k, const T *one, const T *a, const T *b, int64_t ld, \
                        const T *zero, T *c, int64_t ldc)                                                  \
    {                                                                                                      \
        return cublas_gemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, one, a, ld, b, ld, zero, c, ldc);    \
    }
SYRK_AND_GEMM(double, cublasDsyrk_64, cublasDgemm_64)
SYRK_AND_GEMM(float, cublasSsyrk_64, cublasSgemm_64)

spmm_status multiply(const sp_dots *d)
{
    const int64_t m = d->rows, n = d->cols, k = d->length, ld = d->ld;
    return with_real(d->precision, [&](auto value) {
        using T = decltype(value);
        const T one = 1, zero = 0;
        const T *const a = (const T *)d->a, *const b = (const T *)d->b;
        if (d->triangle) return check(syrk(m, k, &one, a, ld, &zero, (T *)d->c, m), "syrk");
        return check(gemm(m, n, k, &one, a, b, ld, &zero, (T *)d->c, m), "gemm");
    });
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
