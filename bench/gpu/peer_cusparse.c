/* cuSPARSE: SpMM on CSR (and on blocks, where A is made of them), and for one column SpMV on CSR, sliced ELLPACK and
 * blocks. 32-bit row starts, as it wants them beside 32-bit columns. */
#include <omp.h>
#include <stdio.h>

#include "base/memory.h"
#include "device/device.h"
#include "../common/cusparse.h"
#include "peer_formats.h"

enum { BLOCK_MOST = 8 };
static const double SELL_LIMIT = 3.0; /* stored entries over the matrix's */

typedef enum storage { IN_CSR, IN_SLICES, IN_BLOCKS, STORAGES } storage;

typedef struct form {
    peer_form shown; /* the first member */
    int vector;
    storage storage;
    int algorithm;
} form;

#define FORM(name, layout, vector, storage, algorithm)         \
    {                                                          \
        {name, layout, 1, 1, 1, 0}, vector, storage, algorithm \
    }
/* row-major ones first: the contenders of a layout stand together */
static const form forms[] = {
    FORM("cusparse_csr_alg1", PEER_ROW, 0, IN_CSR, CUSPARSE_SPMM_CSR_ALG1),
    FORM("cusparse_csr_alg2", PEER_ROW, 0, IN_CSR, CUSPARSE_SPMM_CSR_ALG2),
    FORM("cusparse_csr_alg3", PEER_ROW, 0, IN_CSR, CUSPARSE_SPMM_CSR_ALG3),
#if CUSPARSE_IS_RECENT
    FORM("cusparse_bsr", PEER_ROW, 0, IN_BLOCKS, CUSPARSE_SPMM_BSR_ALG1),
    FORM("cusparse_bsr", PEER_COLUMN, 0, IN_BLOCKS, CUSPARSE_SPMM_BSR_ALG1),
    FORM("cusparse_spmv_bsr", PEER_COLUMN, 1, IN_BLOCKS, CUSPARSE_SPMV_BSR_ALG1),
#endif
    FORM("cusparse_csr_alg1", PEER_COLUMN, 0, IN_CSR, CUSPARSE_SPMM_CSR_ALG1),
    FORM("cusparse_csr_alg2", PEER_COLUMN, 0, IN_CSR, CUSPARSE_SPMM_CSR_ALG2),
    FORM("cusparse_csr_alg3", PEER_COLUMN, 0, IN_CSR, CUSPARSE_SPMM_CSR_ALG3),
    FORM("cusparse_spmv_csr_alg1", PEER_COLUMN, 1, IN_CSR, CUSPARSE_SPMV_CSR_ALG1),
    FORM("cusparse_spmv_csr_alg2", PEER_COLUMN, 1, IN_CSR, CUSPARSE_SPMV_CSR_ALG2),
    FORM("cusparse_spmv_sell", PEER_COLUMN, 1, IN_SLICES, CUSPARSE_SPMV_SELL_ALG1),
};
enum { FORMS = sizeof forms / sizeof *forms };
static peer_form shown[FORMS];

typedef struct matrix {
    peer_matrix a;
    struct {
        int tried;
        spmm_status status;
        double seconds;
        int64_t groups, stored, block;
        void *start, *col, *val;
    } in[STORAGES];
} matrix;

typedef struct product {
    peer_product p;
    cusparse_product c;
} product;

/* ---- A ---- */

static spmm_status upload(void **device, const void *host, int64_t bytes)
{
    TRY(sp_device_alloc(device, bytes, "a peer's matrix"));
    return sp_device_upload(*device, host, bytes);
}

static spmm_status make(matrix *m, storage s)
{
    const spmm_csr *const a = &((const spmm_block *)m->a.block)->csr;
    const int64_t size = (int64_t)sp_value_size(a->precision);
    peer_arrays host = {a->rows, a->nnz, 1, (int32_t *)m->a.row_start, a->ja, a->as};
    if (s == IN_SLICES) TRY(peer_sell(a, omp_get_max_threads(), SELL_LIMIT, &host));
    if (s == IN_BLOCKS) TRY(peer_blocks(a, omp_get_max_threads(), BLOCK_MOST, &host));
    if (!host.start)
        return sp_fail(SPMM_ERR_LIMIT, "%lld entries: the peer is given 32-bit row starts",
                       (long long)a->nnz);
    m->in[s].groups = host.groups;
    m->in[s].stored = host.stored;
    m->in[s].block = host.block;
    spmm_status status = upload(&m->in[s].start, host.start, (host.groups + 1) * (int64_t)sizeof(int32_t));
    if (status == SPMM_OK) status = upload(&m->in[s].col, host.col, host.stored * (int64_t)sizeof(int32_t));
    if (status == SPMM_OK)
        status = upload(&m->in[s].val, host.val, host.stored * host.block * host.block * size);
    if (s != IN_CSR) peer_arrays_destroy(&host);
    return status;
}

/** A in a format, made at the first call. \param [out] seconds  that an earlier call took */
static spmm_status have(matrix *m, storage s, double *seconds)
{
    const double start = omp_get_wtime();
    *seconds = m->in[s].seconds;
    if (m->in[s].tried && m->in[s].status != SPMM_OK)
        return sp_fail(m->in[s].status, "the format was refused before");
    if (m->in[s].tried) return SPMM_OK;
    m->in[s].tried = 1;
    m->in[s].status = make(m, s);
    const double took = omp_get_wtime() - start;
    if (s == IN_CSR)
        *seconds = -took; /* everybody starts from CSR */
    else
        m->in[s].seconds = took;
    return m->in[s].status;
}

static void cusparse_unload(void *handle)
{
    matrix *const m = handle;
    for (int s = 0; s < STORAGES; s++) {
        sp_device_free(m->in[s].start);
        sp_device_free(m->in[s].col);
        sp_device_free(m->in[s].val);
    }
}

/** A descriptor of this product's own: it keeps what preprocess made for one algorithm. */
static spmm_status describe_a(const matrix *m, storage s, cusparse_product *q)
{
    const cusparseIndexType_t i32 = CUSPARSE_INDEX_32I;
    const cudaDataType type = m->a.f32 ? CUDA_R_32F : CUDA_R_64F;
    const int64_t rows = m->a.rows, cols = m->a.cols, block = m->in[s].block;
    void *const start = m->in[s].start, *const col = m->in[s].col, *const val = m->in[s].val;
    if (s == IN_SLICES)
        return cusparse_checked(cusparseCreateSlicedEll(&q->a, rows, cols, m->a.nnz, m->in[s].stored,
                                                        PEER_SLICE, start, col, val, i32, i32,
                                                        CUSPARSE_INDEX_BASE_ZERO, type),
                                "cusparseCreateSlicedEll");
#if CUSPARSE_IS_RECENT
    if (s == IN_BLOCKS)
        return cusparse_checked(cusparseCreateBsr(&q->a, m->in[s].groups, cols / block, m->in[s].stored,
                                                  block, block, start, col, val, i32, i32,
                                                  CUSPARSE_INDEX_BASE_ZERO, type, CUSPARSE_ORDER_ROW),
                                "cusparseCreateBsr");
#endif
    (void)block;
    return cusparse_describe(&m->a, cols, start, col, val, q);
}

/* ---- products ---- */

static spmm_status set_up(product *q)
{
    const form *const f = &forms[q->p.form - shown];
    matrix *const m = (matrix *)q->p.a;
    const spmm_precision precision = m->a.f32 ? SPMM_F32 : SPMM_F64;
    const spmm_multivector x = {m->a.cols, q->p.k, q->p.ldx, precision, SPMM_CUDA, (void *)q->p.x, 0, 0};
    const spmm_multivector y = {m->a.rows, q->p.k, q->p.ldy, precision, SPMM_CUDA, q->p.y, 0, 0};
    TRY(have(m, f->storage, &q->p.earlier));
    q->c.algorithm = f->algorithm;
    q->c.vector = f->vector;
    TRY(describe_a(m, f->storage, &q->c));
    return cusparse_prepare(&q->c, &x, &y, f->shown.layout);
}

/** What the library cannot do, or what would be padded too much, is no failure of the bench. */
static const char *cusparse_begin(void *handle)
{
    product *const q = handle;
    const int vector = forms[q->p.form - shown].vector;
    q->p.left_out = (vector && q->p.k != 1) || set_up(q) != SPMM_OK;
    return q->p.left_out && !(vector && q->p.k != 1) ? spmm_error_message() : NULL;
}

static void cusparse_end(void *handle) { cusparse_release(&((product *)handle)->c); }

static const char *cusparse_run(void *handle, double *seconds)
{
    (void)seconds;
    return cusparse_multiply(&((const product *)handle)->c) == SPMM_OK ? NULL : spmm_error_message();
}

static const char *cusparse_version(int threads, const char *folder, char *version, size_t size)
{
    (void)threads, (void)folder;
    for (int i = 0; i < FORMS; i++) shown[i] = forms[i].shown;
    snprintf(version, size, "cuSPARSE %d.%d.%d", CUSPARSE_VER_MAJOR, CUSPARSE_VER_MINOR, CUSPARSE_VER_PATCH);
    return cusparse_open() == SPMM_OK ? NULL : spmm_error_message();
}

const peer cusparse_peer = {.package = "cusparse",
                            .forms = shown,
                            .form_count = FORMS,
                            .matrix_bytes = sizeof(matrix),
                            .product_bytes = sizeof(product),
                            .open = cusparse_version,
                            .unload = cusparse_unload,
                            .begin = cusparse_begin,
                            .end = cusparse_end,
                            .run = cusparse_run,
                            .close = cusparse_close};
