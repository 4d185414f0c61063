/* cuSPARSE by its generic interface: SpMM on CSR (and on blocks, where A is made of them), and for one column
 * SpMV on CSR, sliced ELLPACK and blocks. 32-bit row starts, as it wants them beside 32-bit columns. */
#include <cusparse.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "device/device.h"
#include "gpu_peer.h"
#include "peer_formats.h"

/* products on blocks, and an analysis for SpMV, came with later versions */
#define IS_RECENT (CUSPARSE_VERSION >= 12600)

enum { BLOCK_MOST = 8 };
static const double SELL_LIMIT = 3.0; /* stored entries over the matrix's */

typedef enum storage { IN_CSR, IN_SLICES, IN_BLOCKS, STORAGES } storage;

typedef struct form {
    peer_form shown; /* the first member: peer_product_create() goes back from it to the form */
    storage storage;
    int algorithm;
} form;

/* row-major ones first: the contenders of a layout stand together */
static const form forms[] = {
    {{"cusparse_csr_alg1", ROW_MAJOR, 0}, IN_CSR, CUSPARSE_SPMM_CSR_ALG1},
    {{"cusparse_csr_alg2", ROW_MAJOR, 0}, IN_CSR, CUSPARSE_SPMM_CSR_ALG2},
    {{"cusparse_csr_alg3", ROW_MAJOR, 0}, IN_CSR, CUSPARSE_SPMM_CSR_ALG3},
#if IS_RECENT
    {{"cusparse_bsr", ROW_MAJOR, 0}, IN_BLOCKS, CUSPARSE_SPMM_BSR_ALG1},
    {{"cusparse_bsr", COLUMN_MAJOR, 0}, IN_BLOCKS, CUSPARSE_SPMM_BSR_ALG1},
    {{"cusparse_spmv_bsr", COLUMN_MAJOR, 1}, IN_BLOCKS, CUSPARSE_SPMV_BSR_ALG1},
#endif
    {{"cusparse_csr_alg1", COLUMN_MAJOR, 0}, IN_CSR, CUSPARSE_SPMM_CSR_ALG1},
    {{"cusparse_csr_alg2", COLUMN_MAJOR, 0}, IN_CSR, CUSPARSE_SPMM_CSR_ALG2},
    {{"cusparse_csr_alg3", COLUMN_MAJOR, 0}, IN_CSR, CUSPARSE_SPMM_CSR_ALG3},
    {{"cusparse_spmv_csr_alg1", COLUMN_MAJOR, 1}, IN_CSR, CUSPARSE_SPMV_CSR_ALG1},
    {{"cusparse_spmv_csr_alg2", COLUMN_MAJOR, 1}, IN_CSR, CUSPARSE_SPMV_CSR_ALG2},
    {{"cusparse_spmv_sell", COLUMN_MAJOR, 1}, IN_SLICES, CUSPARSE_SPMV_SELL_ALG1},
};
enum { FORMS = sizeof forms / sizeof *forms };

struct peer_matrix {
    const spmm_csr *host;
    const sp_matrix *csr;
    int threads;
    struct {
        int tried;
        spmm_status status;
        double seconds;
        int64_t groups, stored, block;
        void *start, *col, *val; /* col and val: NULL where CSR's are used */
    } in[STORAGES];
};

struct peer_product {
    const form *form;
    cusparseSpMatDescr_t a;
    cusparseDnMatDescr_t x, y;   /* SpMM */
    cusparseDnVecDescr_t vx, vy; /* SpMV */
    cudaDataType type;
    const void *one, *zero;
    void *workspace;
};

static cusparseHandle_t handle;

/** Status of a call; what the library does not offer is no failure of the bench. */
static spmm_status checked(cusparseStatus_t s, const char *what)
{
    const char *const text = cusparseGetErrorString(s);
    switch (s) {
    case CUSPARSE_STATUS_SUCCESS: return SPMM_OK;
    case CUSPARSE_STATUS_NOT_SUPPORTED: return sp_fail(SPMM_ERR_UNSUPPORTED, "%s: %s", what, text);
    case CUSPARSE_STATUS_ALLOC_FAILED:
    case CUSPARSE_STATUS_INSUFFICIENT_RESOURCES: return sp_fail(SPMM_ERR_MEMORY, "%s: %s", what, text);
    default: return sp_fail(SPMM_ERR_DEVICE, "%s: %s", what, text);
    }
}
#define CUSPARSE(call, what) TRY(checked((call), (what)))

const char *peer_library(void)
{
    static char text[48];
    snprintf(text, sizeof text, "cuSPARSE %d.%d.%d", CUSPARSE_VER_MAJOR, CUSPARSE_VER_MINOR,
             CUSPARSE_VER_PATCH);
    return text;
}

const peer_form *peer_form_at(int i) { return i < FORMS ? &forms[i].shown : NULL; }

spmm_status peer_open(void)
{
    CUSPARSE(cusparseCreate(&handle), "cusparseCreate");
    CUSPARSE(cusparseSetStream(handle, sp_device_stream(SP_STREAM_MAIN)), "cusparseSetStream");
    return SPMM_OK;
}

void peer_close(void)
{
    if (handle) (void)cusparseDestroy(handle);
    handle = NULL;
}

/* ---- A ---- */

static spmm_status convert(const peer_matrix *m, storage s, peer_arrays *host)
{
    switch (s) {
    case IN_SLICES: return peer_sell(m->host, m->threads, SELL_LIMIT, host);
    case IN_BLOCKS: return peer_blocks(m->host, m->threads, BLOCK_MOST, host);
    case IN_CSR:
    case STORAGES: break;
    }
    return peer_starts(m->host, m->threads, host);
}

static spmm_status upload(void **device, const void *host, int64_t bytes)
{
    if (!host) return SPMM_OK;
    TRY(sp_device_alloc(device, bytes, "a peer's matrix"));
    return sp_device_upload(*device, host, bytes);
}

static spmm_status make(peer_matrix *m, storage s)
{
    peer_arrays host;
    const int64_t size = (int64_t)sp_value_size(m->host->precision);
    TRY(convert(m, s, &host));
    m->in[s].groups = host.groups;
    m->in[s].stored = host.stored;
    m->in[s].block = host.block;
    spmm_status status = upload(&m->in[s].start, host.start, (host.groups + 1) * (int64_t)sizeof(int32_t));
    if (status == SPMM_OK) status = upload(&m->in[s].col, host.col, host.stored * (int64_t)sizeof(int32_t));
    if (status == SPMM_OK)
        status = upload(&m->in[s].val, host.val, host.stored * host.block * host.block * size);
    peer_arrays_destroy(&host);
    return status;
}

/** A in a format, made at the first call. */
static spmm_status have(peer_matrix *m, storage s)
{
    const double start = omp_get_wtime();
    if (m->in[s].tried && m->in[s].status != SPMM_OK)
        return sp_fail(m->in[s].status, "the format was refused before");
    if (m->in[s].tried) return SPMM_OK;
    m->in[s].tried = 1;
    m->in[s].status = make(m, s);
    if (s != IN_CSR) m->in[s].seconds = omp_get_wtime() - start;
    return m->in[s].status;
}

spmm_status peer_matrix_create(const spmm_csr *host, const sp_matrix *csr, int threads, peer_matrix **m)
{
    TRY(sp_alloc_zero((void **)m, 1, sizeof **m, "a peer's matrix"));
    (*m)->host = host;
    (*m)->csr = csr;
    (*m)->threads = threads;
    const spmm_status status = have(*m, IN_CSR);
    if (status == SPMM_OK) return SPMM_OK;
    peer_matrix_destroy(*m);
    *m = NULL;
    return status;
}

void peer_matrix_destroy(peer_matrix *m)
{
    if (!m) return;
    for (int s = 0; s < STORAGES; s++) {
        sp_device_free(m->in[s].start);
        sp_device_free(m->in[s].col);
        sp_device_free(m->in[s].val);
    }
    sp_free(m);
}

/** A descriptor of this product's own: it keeps what preprocess made for one algorithm. */
static spmm_status describe_a(const peer_matrix *m, peer_product *p)
{
    const storage s = p->form->storage;
    const cusparseIndexType_t i32 = CUSPARSE_INDEX_32I;
    const cusparseIndexBase_t base = CUSPARSE_INDEX_BASE_ZERO;
    const int64_t rows = m->host->rows, cols = m->host->cols, nnz = m->host->nnz, block = m->in[s].block;
    switch (s) {
    case IN_SLICES:
        return checked(cusparseCreateSlicedEll(&p->a, rows, cols, nnz, m->in[s].stored, PEER_SLICE,
                                               m->in[s].start, m->in[s].col, m->in[s].val, i32, i32, base,
                                               p->type),
                       "cusparseCreateSlicedEll");
#if IS_RECENT
    case IN_BLOCKS:
        return checked(cusparseCreateBsr(&p->a, m->in[s].groups, cols / block, m->in[s].stored, block, block,
                                         m->in[s].start, m->in[s].col, m->in[s].val, i32, i32, base, p->type,
                                         CUSPARSE_ORDER_ROW),
                       "cusparseCreateBsr");
#endif
    default: break;
    }
    (void)block;
    return checked(cusparseCreateCsr(&p->a, rows, cols, nnz, m->in[IN_CSR].start, m->csr->col, m->csr->val,
                                     i32, i32, base, p->type),
                   "cusparseCreateCsr");
}

/* ---- products ---- */

static const cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;

static spmm_status describe_dense(const spmm_multivector *v, const peer_product *p, cusparseDnMatDescr_t *d)
{
    const cusparseOrder_t order = p->form->shown.layout == ROW_MAJOR ? CUSPARSE_ORDER_ROW
                                                                     : CUSPARSE_ORDER_COL;
    return checked(cusparseCreateDnMat(d, v->rows, v->k, v->ld, v->data, p->type, order),
                   "cusparseCreateDnMat");
}

static spmm_status workspace(peer_product *p, size_t bytes)
{
    return sp_device_alloc(&p->workspace, (int64_t)bytes, "a peer's workspace");
}

static spmm_status set_up_matrix(peer_product *p, const spmm_multivector *x, const spmm_multivector *y)
{
    size_t bytes = 0;
    const cusparseSpMMAlg_t algorithm = (cusparseSpMMAlg_t)p->form->algorithm;
    TRY(describe_dense(x, p, &p->x));
    TRY(describe_dense(y, p, &p->y));
    CUSPARSE(cusparseSpMM_bufferSize(handle, as_is, as_is, p->one, p->a, p->x, p->zero, p->y, p->type,
                                     algorithm, &bytes),
             "cusparseSpMM_bufferSize");
    TRY(workspace(p, bytes));
    const cusparseStatus_t s = cusparseSpMM_preprocess(handle, as_is, as_is, p->one, p->a, p->x, p->zero,
                                                       p->y, p->type, algorithm, p->workspace);
    /* optional, and not there for every algorithm */
    return s == CUSPARSE_STATUS_NOT_SUPPORTED ? SPMM_OK : checked(s, "cusparseSpMM_preprocess");
}

static spmm_status set_up_vector(peer_product *p, const spmm_multivector *x, const spmm_multivector *y)
{
    size_t bytes = 0;
    const cusparseSpMVAlg_t algorithm = (cusparseSpMVAlg_t)p->form->algorithm;
    CUSPARSE(cusparseCreateDnVec(&p->vx, x->rows, x->data, p->type), "cusparseCreateDnVec");
    CUSPARSE(cusparseCreateDnVec(&p->vy, y->rows, y->data, p->type), "cusparseCreateDnVec");
    CUSPARSE(cusparseSpMV_bufferSize(handle, as_is, p->one, p->a, p->vx, p->zero, p->vy, p->type, algorithm,
                                     &bytes),
             "cusparseSpMV_bufferSize");
    TRY(workspace(p, bytes));
#if IS_RECENT
    const cusparseStatus_t s = cusparseSpMV_preprocess(handle, as_is, p->one, p->a, p->vx, p->zero, p->vy,
                                                       p->type, algorithm, p->workspace);
    if (s != CUSPARSE_STATUS_NOT_SUPPORTED) TRY(checked(s, "cusparseSpMV_preprocess"));
#endif
    return SPMM_OK;
}

static spmm_status set_up(peer_matrix *m, peer_product *p, const spmm_multivector *x,
                          const spmm_multivector *y)
{
    static const double one64 = 1, zero64 = 0;
    static const float one32 = 1, zero32 = 0;
    const int is_f64 = m->host->precision == SPMM_F64;
    p->type = is_f64 ? CUDA_R_64F : CUDA_R_32F;
    p->one = is_f64 ? (const void *)&one64 : &one32;
    p->zero = is_f64 ? (const void *)&zero64 : &zero32;
    TRY(describe_a(m, p));
    TRY(p->form->shown.vector ? set_up_vector(p, x, y) : set_up_matrix(p, x, y));
    return sp_device_sync();
}

spmm_status peer_product_create(peer_matrix *m, const peer_form *form_shown, const spmm_multivector *x,
                                const spmm_multivector *y, peer_product **p, double *seconds)
{
    const form *const f = (const form *)form_shown;
    *p = NULL;
    *seconds = 0;
    if (f->shown.vector && x->k != 1) return sp_fail(SPMM_ERR_USAGE, "for one column only");
    TRY(have(m, f->storage));
    TRY(sp_alloc_zero((void **)p, 1, sizeof **p, "a peer's product"));
    (*p)->form = f;
    const double start = omp_get_wtime();
    const spmm_status status = set_up(m, *p, x, y);
    *seconds = m->in[f->storage].seconds + omp_get_wtime() - start;
    if (status == SPMM_OK) return SPMM_OK;
    peer_product_destroy(*p);
    *p = NULL;
    return status;
}

void peer_product_destroy(peer_product *p)
{
    if (!p) return;
    if (p->a) (void)cusparseDestroySpMat(p->a);
    if (p->x) (void)cusparseDestroyDnMat(p->x);
    if (p->y) (void)cusparseDestroyDnMat(p->y);
    if (p->vx) (void)cusparseDestroyDnVec(p->vx);
    if (p->vy) (void)cusparseDestroyDnVec(p->vy);
    sp_device_free(p->workspace);
    sp_free(p);
}

spmm_status peer_product_run(const peer_product *p)
{
    if (p->form->shown.vector)
        return checked(cusparseSpMV(handle, as_is, p->one, p->a, p->vx, p->zero, p->vy, p->type,
                                    (cusparseSpMVAlg_t)p->form->algorithm, p->workspace),
                       "cusparseSpMV");
    return checked(cusparseSpMM(handle, as_is, as_is, p->one, p->a, p->x, p->zero, p->y, p->type,
                                (cusparseSpMMAlg_t)p->form->algorithm, p->workspace),
                   "cusparseSpMM");
}
