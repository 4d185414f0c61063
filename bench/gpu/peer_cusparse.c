/* cuSPARSE: SpMM on CSR (and on blocks, where A is made of them), and for one column SpMV on CSR, sliced ELLPACK and
 * blocks. 32-bit row starts, as it wants them beside 32-bit columns. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "device/device.h"
#include "../common/cusparse.h"

enum { BLOCK_MOST = 8, SLICE = 32 /* rows of a slice of sliced ELLPACK */ };
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

/** A in a format, with 32-bit starts. */
typedef struct arrays {
    int64_t groups, stored,
        block; /* rows, block rows or slices; entries, blocks or entries with padding; rows of a block */
    int32_t *start, *col; /* [groups + 1] in the unit of `stored`; [stored] */
    void *val;            /* [stored * block^2] */
} arrays;

typedef struct matrix {
    peer_matrix a;
    struct {
        int tried;
        spmm_status status;
        double seconds;
        arrays gpu;
    } in[STORAGES];
} matrix;

typedef struct product {
    peer_product p;
    cusparse_product c;
} product;

/* ---- A ---- */

static int64_t length(const spmm_csr *a, int64_t row) { return a->irp[row + 1] - a->irp[row]; }

static spmm_status alloc(const spmm_csr *a, arrays *p)
{
    TRY(sp_alloc((void **)&p->col, p->stored, sizeof *p->col, "a peer's columns"));
    return sp_alloc(&p->val, p->stored * p->block * p->block, sp_value_size(a->precision), "a peer's values");
}

static void copy_values(const spmm_csr *a, int64_t from, int64_t count, void *val, int64_t to)
{
    const size_t size = sp_value_size(a->precision);
    memcpy((char *)val + (size_t)to * size, (const char *)a->as + (size_t)from * size, (size_t)count * size);
}

/** Sliced ELLPACK, rows in their order: slices stored by columns, padded by column -1. */
static spmm_status make_slices(const spmm_csr *a, arrays *p)
{
    p->groups = (a->rows + SLICE - 1) / SLICE;
    p->stored = 0;
    TRY(sp_alloc((void **)&p->start, p->groups + 1, sizeof *p->start, "slices"));
    for (int64_t s = 0; s <= p->groups; s++) {
        int64_t longest = 0;
        p->start[s] = (int32_t)p->stored;
        for (int64_t i = s * SLICE; i < (s + 1) * SLICE && i < a->rows; i++)
            longest = length(a, i) > longest ? length(a, i) : longest;
        p->stored += longest * SLICE;
        if (p->stored > INT32_MAX || (double)p->stored > SELL_LIMIT * (double)a->nnz + SLICE)
            return sp_fail(SPMM_ERR_UNSUPPORTED,
                           "slices of %d rows would pad the entries more than %.1f-fold", SLICE, SELL_LIMIT);
    }
    TRY(alloc(a, p));
    memset(p->col, 0xff, (size_t)p->stored * sizeof *p->col);
    memset(p->val, 0, (size_t)p->stored * sp_value_size(a->precision));
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t e = 0; e < length(a, i); e++) {
            const int64_t to = p->start[i / SLICE] + e * SLICE + i % SLICE;
            p->col[to] = a->ja[a->irp[i] + e];
            copy_values(a, a->irp[i] + e, 1, p->val, to);
        }
    return SPMM_OK;
}

/** 1 when the b rows from `row` on have the same columns, in whole blocks of b. */
static int is_block_row(const spmm_csr *a, int64_t row, int64_t b)
{
    const int64_t n = length(a, row);
    const int32_t *const col = a->ja + a->irp[row];
    int is = n % b == 0;
    for (int64_t e = 0; is && e < n; e += b) is = col[e] % b == 0 && col[e + b - 1] == col[e] + b - 1;
    for (int64_t i = 1; is && i < b; i++)
        is = length(a, row + i) == n && memcmp(a->ja + a->irp[row + i], col, (size_t)n * sizeof *col) == 0;
    return is;
}

static int64_t find_block(const spmm_csr *a)
{
    for (int64_t b = BLOCK_MOST; b > 1; b--) {
        int64_t row = 0;
        if (a->rows % b != 0 || a->cols % b != 0 || a->nnz == 0) continue;
        while (row < a->rows && is_block_row(a, row, b)) row += b;
        if (row == a->rows) return b;
    }
    return 0;
}

/** Dense square blocks, row-major inside, where A consists of them without a gap; the largest that do. */
static spmm_status make_blocks(const spmm_csr *a, arrays *p)
{
    const int64_t b = find_block(a);
    if (b == 0) return sp_fail(SPMM_ERR_USAGE, "the matrix is not made of dense blocks");
    *p = (arrays){.groups = a->rows / b, .stored = a->nnz / (b * b), .block = b};
    TRY(sp_alloc((void **)&p->start, p->groups + 1, sizeof *p->start, "block starts"));
    TRY(alloc(a, p));
    for (int64_t g = 0; g <= p->groups; g++) p->start[g] = (int32_t)(a->irp[g * b] / (b * b));
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < a->rows; row++)
        for (int64_t t = p->start[row / b], from = a->irp[row]; t < p->start[row / b + 1]; t++, from += b) {
            if (row % b == 0) p->col[t] = (int32_t)(a->ja[from] / b);
            copy_values(a, from, b, p->val, (t * b + row % b) * b);
        }
    return SPMM_OK;
}

static spmm_status upload(const arrays *from, int64_t value, arrays *to)
{
    *to = (arrays){from->groups, from->stored, from->block, NULL, NULL, NULL};
    TRY(cusparse_upload(&to->start, from->start, (from->groups + 1) * (int64_t)sizeof(int32_t)));
    TRY(cusparse_upload(&to->col, from->col, from->stored * (int64_t)sizeof(int32_t)));
    return cusparse_upload(&to->val, from->val, from->stored * from->block * from->block * value);
}

static spmm_status make(matrix *m, storage s)
{
    const spmm_csr *const a = &((const spmm_block *)m->a.block)->csr;
    const int64_t value = (int64_t)sp_value_size(a->precision);
    const arrays csr = {a->rows, a->nnz, 1, (int32_t *)m->a.row_start, a->ja, a->as};
    arrays host = {0, 0, 1, NULL, NULL, NULL};
    if (!csr.start) return sp_fail(SPMM_ERR_LIMIT, "too many entries: the peer is given 32-bit row starts");
    if (s == IN_CSR) return upload(&csr, value, &m->in[s].gpu);
    spmm_status status = s == IN_SLICES ? make_slices(a, &host) : make_blocks(a, &host);
    if (status == SPMM_OK) status = upload(&host, value, &m->in[s].gpu);
    sp_free(host.start);
    sp_free(host.col);
    sp_free(host.val);
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
        sp_device_free(m->in[s].gpu.start);
        sp_device_free(m->in[s].gpu.col);
        sp_device_free(m->in[s].gpu.val);
    }
}

/** A descriptor of this product's own: it keeps what preprocess made for one algorithm. */
static spmm_status describe_a(const matrix *m, storage s, cusparse_product *q)
{
    const arrays *const p = &m->in[s].gpu;
    const cusparseIndexType_t i32 = CUSPARSE_INDEX_32I;
    const cudaDataType type = m->a.f32 ? CUDA_R_32F : CUDA_R_64F;
    if (s == IN_SLICES)
        return cusparse_checked(cusparseCreateSlicedEll(&q->a, m->a.rows, m->a.cols, m->a.nnz, p->stored,
                                                        SLICE, p->start, p->col, p->val, i32, i32,
                                                        CUSPARSE_INDEX_BASE_ZERO, type),
                                "cusparseCreateSlicedEll");
#if CUSPARSE_IS_RECENT
    if (s == IN_BLOCKS)
        return cusparse_checked(cusparseCreateBsr(&q->a, p->groups, m->a.cols / p->block, p->stored, p->block,
                                                  p->block, p->start, p->col, p->val, i32, i32,
                                                  CUSPARSE_INDEX_BASE_ZERO, type, CUSPARSE_ORDER_ROW),
                                "cusparseCreateBsr");
#endif
    return cusparse_describe(&m->a, m->a.cols, p->start, p->col, p->val, q);
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

static const char *cusparse_run(void *handle)
{
    return cusparse_multiply(&((const product *)handle)->c) == SPMM_OK ? NULL : spmm_error_message();
}

static const char *cusparse_version(int threads, const char *folder, char *version, size_t size)
{
    (void)threads, (void)folder;
    for (int i = 0; i < FORMS; i++) shown[i] = forms[i].shown;
    snprintf(version, size, "cuSPARSE %d.%d.%d", CUSPARSE_VER_MAJOR, CUSPARSE_VER_MINOR, CUSPARSE_VER_PATCH);
    return cusparse_open() == SPMM_OK ? NULL : spmm_error_message();
}

const peer spmm_peer = {.package = "cusparse",
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
