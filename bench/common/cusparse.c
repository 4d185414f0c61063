/** cuSPARSE by its generic interface. */
#include "cusparse.h"

#include <string.h>

#include "device/device.h"

#define CUSPARSE(call, what) TRY(cusparse_checked((call), (what)))

static cusparseHandle_t handle;
static const cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;

spmm_status cusparse_checked(cusparseStatus_t status, const char *what)
{
    const char *const text = cusparseGetErrorString(status);
    switch (status) {
    case CUSPARSE_STATUS_SUCCESS: return SPMM_OK;
    case CUSPARSE_STATUS_NOT_SUPPORTED: return sp_fail(SPMM_ERR_UNSUPPORTED, "%s: %s", what, text);
    case CUSPARSE_STATUS_ALLOC_FAILED:
    case CUSPARSE_STATUS_INSUFFICIENT_RESOURCES: return sp_fail(SPMM_ERR_MEMORY, "%s: %s", what, text);
    default: return sp_fail(SPMM_ERR_DEVICE, "%s: %s", what, text);
    }
}

spmm_status cusparse_open(void)
{
    CUSPARSE(cusparseCreate(&handle), "cusparseCreate");
    return cusparse_checked(cusparseSetStream(handle, sp_device_stream(SP_STREAM_MAIN)), "cusparseSetStream");
}

void cusparse_close(void)
{
    if (handle) (void)cusparseDestroy(handle);
    handle = NULL;
}

spmm_status cusparse_upload(void *device, const void *host, int64_t bytes)
{
    TRY(sp_device_alloc(device, bytes, "a peer's matrix"));
    return sp_device_upload(*(void **)device, host, bytes);
}

static cudaDataType type_of(int f32) { return f32 ? CUDA_R_32F : CUDA_R_64F; }

static const void *number(const cusparse_product *q, int one)
{
    static const double f64[] = {0, 1};
    static const float f32[] = {0, 1};
    return q->f32 ? (const void *)&f32[one] : &f64[one];
}

spmm_status cusparse_describe(const peer_matrix *a, int64_t cols, void *start, void *col, void *val,
                              cusparse_product *q)
{
    return cusparse_checked(cusparseCreateCsr(&q->a, a->rows, cols, a->nnz, start, col, val,
                                              CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                              CUSPARSE_INDEX_BASE_ZERO, type_of(a->f32)),
                            "cusparseCreateCsr");
}

static spmm_status prepare_vectors(cusparse_product *q, const spmm_multivector *x, const spmm_multivector *y)
{
    size_t bytes = 0;
    const cudaDataType type = type_of(q->f32);
    const cusparseSpMVAlg_t algorithm = (cusparseSpMVAlg_t)q->algorithm;
    CUSPARSE(cusparseCreateDnVec(&q->vx, x->rows, x->data, type), "cusparseCreateDnVec");
    CUSPARSE(cusparseCreateDnVec(&q->vy, y->rows, y->data, type), "cusparseCreateDnVec");
    CUSPARSE(cusparseSpMV_bufferSize(handle, as_is, number(q, 1), q->a, q->vx, number(q, 0), q->vy, type,
                                     algorithm, &bytes),
             "cusparseSpMV_bufferSize");
    TRY(sp_device_alloc(&q->workspace, (int64_t)bytes, "cuSPARSE's workspace"));
#if CUSPARSE_IS_RECENT
    const cusparseStatus_t s = cusparseSpMV_preprocess(handle, as_is, number(q, 1), q->a, q->vx, number(q, 0),
                                                       q->vy, type, algorithm, q->workspace);
    if (s != CUSPARSE_STATUS_NOT_SUPPORTED) TRY(cusparse_checked(s, "cusparseSpMV_preprocess"));
#endif
    return sp_device_sync();
}

spmm_status cusparse_prepare(cusparse_product *q, const spmm_multivector *x, const spmm_multivector *y,
                             peer_layout layout)
{
    size_t bytes = 0;
    const cusparseOrder_t order = layout == PEER_ROW ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
    const cusparseSpMMAlg_t algorithm = (cusparseSpMMAlg_t)q->algorithm;
    q->f32 = x->precision == SPMM_F32;
    if (q->vector) return prepare_vectors(q, x, y);
    const cudaDataType type = type_of(q->f32);
    CUSPARSE(cusparseCreateDnMat(&q->x, x->rows, x->k, x->ld, x->data, type, order), "cusparseCreateDnMat");
    CUSPARSE(cusparseCreateDnMat(&q->y, y->rows, y->k, y->ld, y->data, type, order), "cusparseCreateDnMat");
    CUSPARSE(cusparseSpMM_bufferSize(handle, as_is, as_is, number(q, 1), q->a, q->x, number(q, 0), q->y, type,
                                     algorithm, &bytes),
             "cusparseSpMM_bufferSize");
    TRY(sp_device_alloc(&q->workspace, (int64_t)bytes, "cuSPARSE's workspace"));
    const cusparseStatus_t s = cusparseSpMM_preprocess(handle, as_is, as_is, number(q, 1), q->a, q->x,
                                                       number(q, 0), q->y, type, algorithm, q->workspace);
    /* optional, and not there for every algorithm */
    if (s != CUSPARSE_STATUS_NOT_SUPPORTED) TRY(cusparse_checked(s, "cusparseSpMM_preprocess"));
    return sp_device_sync();
}

spmm_status cusparse_multiply(const cusparse_product *q)
{
    if (q->vector)
        return cusparse_checked(cusparseSpMV(handle, as_is, number(q, 1), q->a, q->vx, number(q, 0), q->vy,
                                             type_of(q->f32), (cusparseSpMVAlg_t)q->algorithm, q->workspace),
                                "cusparseSpMV");
    return cusparse_checked(cusparseSpMM(handle, as_is, as_is, number(q, 1), q->a, q->x, number(q, 0), q->y,
                                         type_of(q->f32), (cusparseSpMMAlg_t)q->algorithm, q->workspace),
                            "cusparseSpMM");
}

void cusparse_release(cusparse_product *q)
{
    if (q->a) (void)cusparseDestroySpMat(q->a);
    if (q->x) (void)cusparseDestroyDnMat(q->x);
    if (q->y) (void)cusparseDestroyDnMat(q->y);
    if (q->vx) (void)cusparseDestroyDnVec(q->vx);
    if (q->vy) (void)cusparseDestroyDnVec(q->vy);
    sp_device_free(q->workspace);
    memset(q, 0, sizeof *q);
}
