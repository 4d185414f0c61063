/* Kernels of cuSPARSE, called by its generic interface: SpMM on CSR, on the CSR of A^T with the transposed
 * operation, and on blocks if A consists of them; for one column SpMV on CSR, sliced ELLPACK and blocks, and
 * SpMVOp on CSR. Row starts have 32 bits: cuSPARSE requires the same size as for column indices. */
#define CUSPARSE_ENABLE_EXPERIMENTAL_API /* declares SpMVOp */
#include <cusparse.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/peers/peer.h"

/* SpMM and SpMV on blocks, and the analysis for SpMV, exist from this version on */
#define IS_RECENT (CUSPARSE_VERSION >= 12600)
/* SpMVOp with a choice of algorithms exists from this version on */
#define HAS_SPMVOP (CUSPARSE_VERSION >= 12904)

enum { BLOCK_MOST = 8, SLICE = 32 /* rows of a slice of sliced ELLPACK */ };
/* maximum ratio of the stored entries, padding included, to the entries of the matrix */
static const double SLICES_LIMIT = 3.0, BLOCKS_LIMIT = 1.5;

typedef enum storage { IN_CSR, IN_TRANSPOSE, IN_SLICES, IN_BLOCKS, STORAGES } storage;
typedef enum routine { SPMM, SPMV, SPMVOP } routine;

typedef struct form {
    peer_form shown; /* the part that drivers see */
    const char *way;
    routine routine;
    storage storage;
    int algorithm;
} form;

#define FORM(name, layout, way, routine, storage, algorithm)         \
    {                                                                \
        {name, layout, 1, 1, 1, 0}, way, routine, storage, algorithm \
    }
/* row-major forms first, so that tables list the contenders of a layout together */
static const form forms[] = {
    FORM("cusparse_csr_alg1", PEER_ROW, "SpMM CSR_ALG1", SPMM, IN_CSR, CUSPARSE_SPMM_CSR_ALG1),
    FORM("cusparse_csr_alg2", PEER_ROW, "SpMM CSR_ALG2", SPMM, IN_CSR, CUSPARSE_SPMM_CSR_ALG2),
    FORM("cusparse_csr_alg3", PEER_ROW, "SpMM CSR_ALG3", SPMM, IN_CSR, CUSPARSE_SPMM_CSR_ALG3),
    FORM("cusparse_transposed_alg1", PEER_ROW, "SpMM^T CSR_ALG1", SPMM, IN_TRANSPOSE, CUSPARSE_SPMM_CSR_ALG1),
    FORM("cusparse_transposed_alg2", PEER_ROW, "SpMM^T CSR_ALG2", SPMM, IN_TRANSPOSE, CUSPARSE_SPMM_CSR_ALG2),
#if IS_RECENT
    FORM("cusparse_bsr", PEER_ROW, "SpMM BSR_ALG1", SPMM, IN_BLOCKS, CUSPARSE_SPMM_BSR_ALG1),
    FORM("cusparse_bsr", PEER_COLUMN, "SpMM BSR_ALG1", SPMM, IN_BLOCKS, CUSPARSE_SPMM_BSR_ALG1),
    FORM("cusparse_spmv_bsr", PEER_COLUMN, "SpMV BSR_ALG1", SPMV, IN_BLOCKS, CUSPARSE_SPMV_BSR_ALG1),
#endif
    FORM("cusparse_csr_alg1", PEER_COLUMN, "SpMM CSR_ALG1", SPMM, IN_CSR, CUSPARSE_SPMM_CSR_ALG1),
    FORM("cusparse_csr_alg2", PEER_COLUMN, "SpMM CSR_ALG2", SPMM, IN_CSR, CUSPARSE_SPMM_CSR_ALG2),
    FORM("cusparse_csr_alg3", PEER_COLUMN, "SpMM CSR_ALG3", SPMM, IN_CSR, CUSPARSE_SPMM_CSR_ALG3),
    FORM("cusparse_transposed_alg1", PEER_COLUMN, "SpMM^T CSR_ALG1", SPMM, IN_TRANSPOSE,
         CUSPARSE_SPMM_CSR_ALG1),
    FORM("cusparse_transposed_alg2", PEER_COLUMN, "SpMM^T CSR_ALG2", SPMM, IN_TRANSPOSE,
         CUSPARSE_SPMM_CSR_ALG2),
    FORM("cusparse_spmv_csr_alg1", PEER_COLUMN, "SpMV CSR_ALG1", SPMV, IN_CSR, CUSPARSE_SPMV_CSR_ALG1),
    FORM("cusparse_spmv_csr_alg2", PEER_COLUMN, "SpMV CSR_ALG2", SPMV, IN_CSR, CUSPARSE_SPMV_CSR_ALG2),
    FORM("cusparse_spmv_sell", PEER_COLUMN, "SpMV SELL_ALG1", SPMV, IN_SLICES, CUSPARSE_SPMV_SELL_ALG1),
#if HAS_SPMVOP
    FORM("cusparse_spmvop_alg1", PEER_COLUMN, "SpMVOp ALG1", SPMVOP, IN_CSR, CUSPARSE_SPMVOP_ALG1),
    FORM("cusparse_spmvop_alg2", PEER_COLUMN, "SpMVOp ALG2", SPMVOP, IN_CSR, CUSPARSE_SPMVOP_ALG2),
#endif
};
enum { FORMS = sizeof forms / sizeof *forms };
static peer_form shown[FORMS];

/** A in one of the storage formats (enum storage), with 32-bit starts. */
typedef struct arrays {
    /* groups: rows (CSR), block rows (blocks) or slices; stored: entries (CSR), blocks, or entries with
     * padding (slices); block: rows of a block, 1 for CSR and slices */
    int64_t groups, stored, block;
    int32_t *start, *col; /* start: [groups + 1], in the unit of `stored`; col: [stored] */
    void *val;            /* [stored * block^2] */
} arrays;

/** A in a format in GPU memory; made when it is first needed. */
typedef struct converted {
    int tried;
    char problem[128]; /* "": there is none */
    double seconds;
    arrays gpu;
} converted;

typedef struct cusparse_matrix {
    peer_matrix a;
    converted in[STORAGES]; /* in CSR: the driver's arrays */
} cusparse_matrix;

typedef struct cusparse_product {
    peer_product p;
    const form *form;
    /* not shared with other products: it contains the result of preprocessing for one algorithm */
    cusparseSpMatDescr_t a;
    cusparseDnMatDescr_t x, y;
    cusparseDnVecDescr_t vx, vy;
#if HAS_SPMVOP
    cusparseSpMVOpDescr_t op;
    cusparseSpMVOpPlan_t op_plan;
#endif
    int64_t ldx, ldy; /* leading dimensions in the descriptors x and y */
    void *workspace;
    size_t workspace_bytes;
    char way[48];
} cusparse_product;

static cusparseHandle_t handle;
static const cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;

#define TRY_LINE(call)                    \
    do {                                  \
        const char *const line_ = (call); \
        if (line_) return line_;          \
    } while (0)
#define CUSPARSE(call) TRY_LINE(checked((call), #call))

/** \param [in] call  the source text of the call; the message contains the part before the arguments */
static const char *checked(cusparseStatus_t status, const char *call)
{
    static char line[128];
    if (status == CUSPARSE_STATUS_SUCCESS) return NULL;
    snprintf(line, sizeof line, "%.*s: %s", (int)strcspn(call, "("), call, cusparseGetErrorString(status));
    return line;
}

static cudaDataType type_of(const peer_matrix *a)
{
    if (a->is_complex) return a->f32 ? CUDA_C_32F : CUDA_C_64F;
    return a->f32 ? CUDA_R_32F : CUDA_R_64F;
}

static const void *number(const peer_matrix *a, int one)
{
    static const double f64[][2] = {{0, 0}, {1, 0}}; /* with imaginary parts */
    static const float f32[][2] = {{0, 0}, {1, 0}};
    return a->f32 ? (const void *)f32[one] : f64[one];
}

/* ---- A in other formats, made from the arrays in host memory ---- */

static int64_t length(const peer_matrix *a, int64_t row) { return a->row_start[row + 1] - a->row_start[row]; }

static const char *room(const peer_matrix *a, arrays *p)
{
    const size_t values = (size_t)(p->stored * p->block * p->block);
    p->col = malloc((size_t)p->stored * sizeof *p->col + 1);
    p->val = calloc(values + 1, peer_value_bytes(a));
    return p->col && p->val ? NULL : "no memory for a copy in another format";
}

static void copy_value(const peer_matrix *a, int64_t from, void *val, int64_t to)
{
    const size_t size = peer_value_bytes(a);
    memcpy((char *)val + (size_t)to * size, (const char *)a->val + (size_t)from * size, size);
}

/** Makes the CSR of A^T, whose columns increase within a row. */
static const char *make_transpose(const peer_matrix *a, arrays *p)
{
    p->groups = a->cols;
    p->stored = a->nnz;
    p->start = calloc((size_t)a->cols + 2, sizeof *p->start);
    if (!p->start) return "no memory for the transpose";
    TRY_LINE(room(a, p));
    int32_t *const next = p->start + 1; /* next[c]: at first the start of row c of A^T, after the loops its
                                           end, which is the start of row c + 1 */
    for (int64_t e = 0; e < a->nnz; e++) next[a->col[e] + 1]++;
    for (int64_t c = 1; c <= a->cols; c++) next[c] += next[c - 1];
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t e = a->row_start[i]; e < a->row_start[i + 1]; e++) {
            const int64_t to = next[a->col[e]]++;
            p->col[to] = (int32_t)i;
            copy_value(a, e, p->val, to);
        }
    return NULL;
}

/** Makes sliced ELLPACK without reordering rows. Each slice is stored column by column and padded with column
 *  index -1. */
static const char *make_slices(const peer_matrix *a, arrays *p)
{
    p->groups = (a->rows + SLICE - 1) / SLICE;
    p->start = malloc((size_t)(p->groups + 1) * sizeof *p->start);
    if (!p->start) return "no memory for slices";
    for (int64_t s = 0; s <= p->groups; s++) {
        int64_t longest = 0;
        p->start[s] = (int32_t)p->stored;
        for (int64_t i = s * SLICE; i < (s + 1) * SLICE && i < a->rows; i++)
            longest = length(a, i) > longest ? length(a, i) : longest;
        p->stored += longest * SLICE;
        if (p->stored > INT32_MAX || (double)p->stored > SLICES_LIMIT * (double)a->nnz + SLICE)
            return "slices of 32 rows would pad the entries more than 3-fold";
    }
    TRY_LINE(room(a, p));
    memset(p->col, 0xff, (size_t)p->stored * sizeof *p->col);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t e = 0; e < length(a, i); e++) {
            const int64_t to = p->start[i / SLICE] + e * SLICE + i % SLICE;
            p->col[to] = a->col[a->row_start[i] + e];
            copy_value(a, a->row_start[i] + e, p->val, to);
        }
    return NULL;
}

/** Lists the blocks of b x b elements in which the b rows from `row` on have entries, in increasing order of
 *  columns. Returns the number of blocks.
 *  \param [out] cols  the columns of the blocks, in units of b; NULL: the blocks are only counted */
static int64_t blocks_of(const peer_matrix *a, int64_t row, int64_t b, int32_t *cols)
{
    int64_t at[BLOCK_MOST], count = 0;
    for (int64_t i = 0; i < b; i++) at[i] = a->row_start[row + i];
    for (;;) {
        int64_t least = INT64_MAX;
        for (int64_t i = 0; i < b; i++)
            if (at[i] < a->row_start[row + i + 1] && a->col[at[i]] / b < least) least = a->col[at[i]] / b;
        if (least == INT64_MAX) return count;
        if (cols) cols[count] = (int32_t)least;
        count++;
        for (int64_t i = 0; i < b; i++)
            while (at[i] < a->row_start[row + i + 1] && a->col[at[i]] / b == least) at[i]++;
    }
}

/** Returns the block size that needs the least memory, among those with which at most BLOCKS_LIMIT times the
 *  entries are stored; 0 if there is none. Estimates from a sample of block rows; make_blocks() counts all of
 *  them.
 *
 *  The numbers of rows and columns must be multiples of the block size; otherwise the library would read X
 *  and write Y beyond their ends. */
static int64_t find_block(const peer_matrix *a)
{
    enum { SAMPLES = 512 };
    int64_t best = 0;
    double least = 0;
    for (int64_t b = 2; b <= BLOCK_MOST; b++) {
        double blocks = 0, entries = 0;
        if (a->rows % b != 0 || a->cols % b != 0) continue;
        const int64_t groups = a->rows / b, step = groups / SAMPLES + 1;
        for (int64_t g = 0; g < groups; g += step) {
            blocks += (double)blocks_of(a, g * b, b, NULL);
            entries += (double)(a->row_start[(g + 1) * b] - a->row_start[g * b]);
        }
        const double bytes = blocks * ((double)(b * b) * (double)peer_value_bytes(a) + sizeof(int32_t)) /
                             entries;
        if (entries == 0 || blocks * (double)(b * b) > BLOCKS_LIMIT * entries) continue;
        if (best == 0 || bytes < least) best = b, least = bytes;
    }
    return best;
}

/** Makes dense square blocks, each stored row-major. */
static const char *make_blocks(const peer_matrix *a, arrays *p)
{
    static const char none[] = "the matrix is not made of dense blocks";
    const int64_t b = find_block(a);
    if (b == 0) return none;
    *p = (arrays){.groups = a->rows / b, .block = b};
    p->start = malloc((size_t)(p->groups + 1) * sizeof *p->start);
    if (!p->start) return "no memory for blocks";
    p->start[0] = 0;
#pragma omp parallel for schedule(static)
    for (int64_t g = 0; g < p->groups; g++) p->start[g + 1] = (int32_t)blocks_of(a, g * b, b, NULL);
    for (int64_t g = 0; g < p->groups; g++) p->start[g + 1] += p->start[g]; /* <= a->nnz: no overflow */
    p->stored = p->start[p->groups];
    if ((double)(p->stored * b * b) > BLOCKS_LIMIT * (double)a->nnz) return none;
    TRY_LINE(room(a, p));
#pragma omp parallel for schedule(static)
    for (int64_t g = 0; g < p->groups; g++) {
        (void)blocks_of(a, g * b, b, p->col + p->start[g]);
        for (int64_t i = 0; i < b; i++) {
            int64_t t = p->start[g];
            for (int64_t e = a->row_start[g * b + i]; e < a->row_start[g * b + i + 1]; e++) {
                while (p->col[t] < a->col[e] / b) t++;
                copy_value(a, e, p->val, (t * b + i) * b + a->col[e] % b);
            }
        }
    }
    return NULL;
}

static const char *uploaded(const peer_gpu *gpu, void *to, const void *from, int64_t bytes)
{
    TRY_LINE(gpu->alloc(to, bytes));
    return gpu->upload(*(void **)to, from, bytes);
}

static const char *upload(const peer_matrix *a, const arrays *from, arrays *to)
{
    const int64_t i32 = sizeof(int32_t), values = from->stored * from->block * from->block;
    *to = (arrays){from->groups, from->stored, from->block, NULL, NULL, NULL};
    TRY_LINE(uploaded(a->gpu, &to->start, from->start, (from->groups + 1) * i32));
    TRY_LINE(uploaded(a->gpu, &to->col, from->col, from->stored * i32));
    return uploaded(a->gpu, &to->val, from->val, values * (int64_t)peer_value_bytes(a));
}

static const char *cusparse_convert(const peer_matrix *a, storage s, arrays *gpu)
{
    arrays host = {.block = 1};
    if (!a->row_start) return "too many entries for 32-bit row starts";
    if (s == IN_CSR) {
        *gpu = (arrays){a->rows,           a->nnz, 1, (int32_t *)a->gpu_row_start, (int32_t *)a->gpu_col,
                        (void *)a->gpu_val};
        return NULL;
    }
    const char *line = s == IN_TRANSPOSE ? make_transpose(a, &host)
                       : s == IN_SLICES  ? make_slices(a, &host)
                                         : make_blocks(a, &host);
    if (!line) line = upload(a, &host, gpu);
    free(host.start);
    free(host.col);
    free(host.val);
    return line;
}

/** Makes A in a format, at the first call for that format.
 *  \param [out] seconds  the seconds that an earlier call took to make it; 0 at the first call
 *  \return NULL, or why A is not available in the format */
static const char *have(cusparse_matrix *m, storage s, double *seconds)
{
    converted *const c = &m->in[s];
    *seconds = c->seconds;
    if (!c->tried) {
        const double start = omp_get_wtime();
        const char *const line = cusparse_convert(&m->a, s, &c->gpu);
        c->tried = 1;
        if (line) snprintf(c->problem, sizeof c->problem, "%s", line);
        c->seconds = omp_get_wtime() - start;
    }
    return c->problem[0] ? c->problem : NULL;
}

static void cusparse_unload(void *of)
{
    cusparse_matrix *const m = of;
    for (int s = IN_CSR + 1; s < STORAGES; s++) {
        if (!m->in[s].tried) continue;
        m->a.gpu->free(m->in[s].gpu.start);
        m->a.gpu->free(m->in[s].gpu.col);
        m->a.gpu->free(m->in[s].gpu.val);
    }
}

/* ---- products ---- */

static const char *describe_a(cusparse_product *q)
{
    const peer_matrix *const a = q->p.a;
    const arrays *const p = &((const cusparse_matrix *)a)->in[q->form->storage].gpu;
    const cusparseIndexType_t i32 = CUSPARSE_INDEX_32I;
    const cusparseIndexBase_t zero = CUSPARSE_INDEX_BASE_ZERO;
    const cudaDataType type = type_of(a);
    if (q->form->storage == IN_SLICES)
        CUSPARSE(cusparseCreateSlicedEll(&q->a, a->rows, a->cols, a->nnz, p->stored, SLICE, p->start, p->col,
                                         p->val, i32, i32, zero, type));
    else if (q->form->storage == IN_TRANSPOSE)
        CUSPARSE(cusparseCreateCsr(&q->a, a->cols, a->rows, a->nnz, p->start, p->col, p->val, i32, i32, zero,
                                   type));
    else if (q->form->storage == IN_CSR)
        CUSPARSE(cusparseCreateCsr(&q->a, a->rows, a->cols, a->nnz, p->start, p->col, p->val, i32, i32, zero,
                                   type));
#if IS_RECENT
    else
        CUSPARSE(cusparseCreateBsr(&q->a, p->groups, a->cols / p->block, p->stored, p->block, p->block,
                                   p->start, p->col, p->val, i32, i32, zero, type, CUSPARSE_ORDER_ROW));
#endif
    return NULL;
}

static void destroy_dense(cusparse_product *q)
{
#if HAS_SPMVOP
    if (q->op_plan) (void)cusparseSpMVOp_destroyPlan(q->op_plan);
    if (q->op) (void)cusparseSpMVOp_destroyDescr(q->op);
    q->op_plan = NULL;
    q->op = NULL;
#endif
    if (q->x) (void)cusparseDestroyDnMat(q->x);
    if (q->y) (void)cusparseDestroyDnMat(q->y);
    if (q->vx) (void)cusparseDestroyDnVec(q->vx);
    if (q->vy) (void)cusparseDestroyDnVec(q->vy);
    q->x = q->y = NULL;
    q->vx = q->vy = NULL;
}

/** At begin, allocates the workspace; later only checks that it is large enough, because products must not
 *  allocate. */
static const char *reserve(cusparse_product *q, size_t bytes, int at_begin)
{
    if (at_begin) {
        q->workspace_bytes = bytes;
        return q->p.a->gpu->alloc(&q->workspace, (int64_t)bytes);
    }
    return bytes <= q->workspace_bytes ? NULL : "cuSPARSE needs a larger workspace than it did at set-up";
}

#if HAS_SPMVOP
/** Makes the plan of SpMVOp, for Y := 1 A X + 0 Y. cuSPARSE links the code of its kernel by libnvJitLink. */
static const char *plan_operation(cusparse_product *q, int at_begin)
{
    size_t bytes = 0;
    const cudaDataType type = type_of(q->p.a);
    const cusparseSpMVOpAlg_t algorithm = (cusparseSpMVOpAlg_t)q->form->algorithm;
    CUSPARSE(cusparseSpMVOp_bufferSize(handle, as_is, q->a, q->vx, q->vy, q->vy, type, algorithm, &bytes));
    TRY_LINE(reserve(q, bytes, at_begin));
    CUSPARSE(cusparseSpMVOp_createDescr(handle, &q->op, as_is, q->a, q->vx, q->vy, q->vy, type, algorithm,
                                        q->workspace));
    CUSPARSE(cusparseSpMVOp_createPlan(handle, q->op, &q->op_plan, NULL, 0));
    return NULL;
}
#endif

static const char *analyze_vectors(cusparse_product *q, int at_begin)
{
    size_t bytes = 0;
    const peer_matrix *const a = q->p.a;
    const void *const one = number(a, 1), *const zero = number(a, 0);
    const cudaDataType type = type_of(a);
    const cusparseSpMVAlg_t algorithm = (cusparseSpMVAlg_t)q->form->algorithm;
    CUSPARSE(cusparseCreateDnVec(&q->vx, a->cols, (void *)q->p.x, type));
    CUSPARSE(cusparseCreateDnVec(&q->vy, a->rows, q->p.y, type));
#if HAS_SPMVOP
    if (q->form->routine == SPMVOP) return plan_operation(q, at_begin);
#endif
    CUSPARSE(cusparseSpMV_bufferSize(handle, as_is, one, q->a, q->vx, zero, q->vy, type, algorithm, &bytes));
    TRY_LINE(reserve(q, bytes, at_begin));
#if IS_RECENT
    const cusparseStatus_t status = cusparseSpMV_preprocess(handle, as_is, one, q->a, q->vx, zero, q->vy,
                                                            type, algorithm, q->workspace);
    if (status != CUSPARSE_STATUS_NOT_SUPPORTED) return checked(status, "cusparseSpMV_preprocess");
#endif
    return NULL;
}

static cusparseOperation_t operation(const cusparse_product *q)
{
    return q->form->storage == IN_TRANSPOSE ? CUSPARSE_OPERATION_TRANSPOSE : as_is;
}

static const char *analyze_matrices(cusparse_product *q, int at_begin)
{
    size_t bytes = 0;
    const peer_matrix *const a = q->p.a;
    const void *const one = number(a, 1), *const zero = number(a, 0);
    const cudaDataType type = type_of(a);
    const cusparseOrder_t order = q->form->shown.layout == PEER_ROW ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
    const cusparseSpMMAlg_t algorithm = (cusparseSpMMAlg_t)q->form->algorithm;
    CUSPARSE(cusparseCreateDnMat(&q->x, a->cols, q->p.k, q->p.ldx, (void *)q->p.x, type, order));
    CUSPARSE(cusparseCreateDnMat(&q->y, a->rows, q->p.k, q->p.ldy, q->p.y, type, order));
    CUSPARSE(cusparseSpMM_bufferSize(handle, operation(q), as_is, one, q->a, q->x, zero, q->y, type,
                                     algorithm, &bytes));
    TRY_LINE(reserve(q, bytes, at_begin));
    const cusparseStatus_t status = cusparseSpMM_preprocess(handle, operation(q), as_is, one, q->a, q->x,
                                                            zero, q->y, type, algorithm, q->workspace);
    /* preprocessing is optional, and not supported for every algorithm */
    return status == CUSPARSE_STATUS_NOT_SUPPORTED ? NULL : checked(status, "cusparseSpMM_preprocess");
}

/** Creates descriptors of X and Y, and lets cuSPARSE analyze A for products with them. */
static const char *analyze(cusparse_product *q, int at_begin)
{
    destroy_dense(q);
    q->ldx = q->p.ldx;
    q->ldy = q->p.ldy;
    return q->form->routine == SPMM ? analyze_matrices(q, at_begin) : analyze_vectors(q, at_begin);
}

static const char *set_up(cusparse_product *q)
{
    if (!handle) CUSPARSE(cusparseCreate(&handle));
    CUSPARSE(cusparseSetStream(handle, (cudaStream_t)q->p.stream));
    TRY_LINE(have((cusparse_matrix *)q->p.a, q->form->storage, &q->p.earlier));
    TRY_LINE(describe_a(q));
    TRY_LINE(analyze(q, 1));
    const arrays *const p = &((const cusparse_matrix *)q->p.a)->in[q->form->storage].gpu;
    snprintf(q->way, sizeof q->way, q->form->storage == IN_BLOCKS ? "%s, blocks of %d" : "%s", q->form->way,
             (int)p->block);
    return q->p.a->gpu->wait();
}

/** If the library does not support a form, or would need too much padding, the form is left out. */
static const char *cusparse_begin(void *of)
{
    cusparse_product *const q = of;
    q->form = &forms[q->p.form - shown];
    if (q->form->routine != SPMM && q->p.k != 1) {
        q->p.left_out = 1;
        return NULL;
    }
    const char *const line = set_up(q);
    q->p.left_out = line != NULL;
    return line;
}

static void cusparse_end(void *of)
{
    cusparse_product *const q = of;
    destroy_dense(q);
    if (q->a) (void)cusparseDestroySpMat(q->a);
    q->p.a->gpu->free(q->workspace);
}

/** Sets the current X and Y. Analyzes A again if a leading dimension has changed, as it does if the caller
 *  multiplies a block of columns of X. */
static const char *bind(cusparse_product *q)
{
    if (q->ldx != q->p.ldx || q->ldy != q->p.ldy) return analyze(q, 0);
    if (q->form->routine != SPMM) {
        CUSPARSE(cusparseDnVecSetValues(q->vx, (void *)q->p.x));
        CUSPARSE(cusparseDnVecSetValues(q->vy, q->p.y));
    } else {
        CUSPARSE(cusparseDnMatSetValues(q->x, (void *)q->p.x));
        CUSPARSE(cusparseDnMatSetValues(q->y, q->p.y));
    }
    return NULL;
}

static const char *cusparse_run(void *of)
{
    cusparse_product *const q = of;
    const peer_matrix *const a = q->p.a;
    const void *const one = number(a, 1), *const zero = number(a, 0);
    const cudaDataType type = type_of(a);
    CUSPARSE(cusparseSetStream(handle, (cudaStream_t)q->p.stream));
    TRY_LINE(bind(q));
#if HAS_SPMVOP
    if (q->form->routine == SPMVOP) {
        CUSPARSE(cusparseSpMVOp(handle, q->op_plan, one, zero, q->vx, q->vy, q->vy));
        return NULL;
    }
#endif
    if (q->form->routine == SPMV)
        CUSPARSE(cusparseSpMV(handle, as_is, one, q->a, q->vx, zero, q->vy, type,
                              (cusparseSpMVAlg_t)q->form->algorithm, q->workspace));
    else
        CUSPARSE(cusparseSpMM(handle, operation(q), as_is, one, q->a, q->x, zero, q->y, type,
                              (cusparseSpMMAlg_t)q->form->algorithm, q->workspace));
    return NULL;
}

static const char *cusparse_way(const void *of) { return ((const cusparse_product *)of)->way; }

/** Stores the version of the loaded library, which may differ from that of the header. */
static const char *cusparse_open(int threads, const char *folder, char *version, size_t size)
{
    int major, minor, patch;
    (void)threads, (void)folder;
    for (int i = 0; i < FORMS; i++) shown[i] = forms[i].shown;
    CUSPARSE(cusparseGetProperty(MAJOR_VERSION, &major));
    CUSPARSE(cusparseGetProperty(MINOR_VERSION, &minor));
    CUSPARSE(cusparseGetProperty(PATCH_LEVEL, &patch));
    snprintf(version, size, "cuSPARSE %d.%d.%d", major, minor, patch);
    return NULL;
}

static void cusparse_close(void)
{
    if (handle) (void)cusparseDestroy(handle);
    handle = NULL;
}

const peer_adaptor spmm_peer = {.package = "cusparse",
                                .forms = shown,
                                .form_count = FORMS,
                                .matrix_bytes = sizeof(cusparse_matrix),
                                .product_bytes = sizeof(cusparse_product),
                                .open = cusparse_open,
                                .unload = cusparse_unload,
                                .begin = cusparse_begin,
                                .end = cusparse_end,
                                .run = cusparse_run,
                                .rebinds = 1,
                                .complex_values = 1,
                                .way = cusparse_way,
                                .close = cusparse_close};
