/* What a user would write today: X's rows gathered whole on every GPU by ncclAllGather, in place, then a product of
 * the block of rows by cuSPARSE, in one stream. X is owned in even parts whatever the blocks of A are, so that the
 * all-gather is one call without padding; a column-major X is gathered by one such call a column, in a group. */
#include <cuda_runtime.h>
#include <cusparse.h>
#include <nccl.h>
#include <string.h>

#include "bench.h"

enum { TRIALS = 3 };

typedef struct form {
    const char *name;
    int by_column; /* layout of X and Y */
    cusparseSpMMAlg_t algorithm;
} form;

static const form forms[] = {
    {"alg1 row", 0, CUSPARSE_SPMM_CSR_ALG1},    {"alg2 row", 0, CUSPARSE_SPMM_CSR_ALG2},
    {"alg3 row", 0, CUSPARSE_SPMM_CSR_ALG3},    {"alg1 column", 1, CUSPARSE_SPMM_CSR_ALG1},
    {"alg2 column", 1, CUSPARSE_SPMM_CSR_ALG2}, {"alg3 column", 1, CUSPARSE_SPMM_CSR_ALG3},
};
enum { FORMS = sizeof forms / sizeof *forms };

static struct {
    ncclComm_t comm;
    cudaStream_t stream;
    cusparseHandle_t handle;
    cudaEvent_t start, gathered, end;
} lib;

/** Descriptors and workspace for one form. */
typedef struct product {
    const form *form;
    cusparseSpMatDescr_t a;
    cusparseDnMatDescr_t x, y;
    void *workspace;
} product;

struct theirs {
    const problem *problem;
    int64_t k, part, x_rows; /* part: rows of X that a rank owns; x_rows: of all ranks, >= A's columns */
    void *start, *col, *val, *x, *y;
    int filled; /* X holds this rank's part: -1: no, 0: by row, 1: by column */
    product product;
};

/* ---- checked calls ---- */

static spmm_status cuda_checked(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return SPMM_OK;
    (void)cudaGetLastError();
    return sp_fail(error == cudaErrorMemoryAllocation ? SPMM_ERR_MEMORY : SPMM_ERR_DEVICE, "theirs: %s: %s",
                   what, cudaGetErrorString(error));
}

static spmm_status nccl_checked(ncclResult_t code, const char *what)
{
    if (code == ncclSuccess) return SPMM_OK;
    const char *const last = ncclGetLastError(NULL);
    return sp_fail(SPMM_ERR_DEVICE, "theirs: %s: %s: %.200s", what, ncclGetErrorString(code),
                   last ? last : "");
}

static spmm_status cusparse_checked(cusparseStatus_t status, const char *what)
{
    const char *const text = cusparseGetErrorString(status);
    switch (status) {
    case CUSPARSE_STATUS_SUCCESS: return SPMM_OK;
    case CUSPARSE_STATUS_NOT_SUPPORTED: return sp_fail(SPMM_ERR_UNSUPPORTED, "theirs: %s: %s", what, text);
    case CUSPARSE_STATUS_ALLOC_FAILED:
    case CUSPARSE_STATUS_INSUFFICIENT_RESOURCES:
        return sp_fail(SPMM_ERR_MEMORY, "theirs: %s: %s", what, text);
    default: return sp_fail(SPMM_ERR_DEVICE, "theirs: %s: %s", what, text);
    }
}

#define CUDA(call) TRY(cuda_checked((call), #call))
#define NCCL(call) TRY(nccl_checked((call), #call))
#define CUSPARSE(call) TRY(cusparse_checked((call), #call))

/* ---- the libraries ---- */

const char *theirs_libraries(void)
{
    static char text[64];
    int nccl = 0;
    (void)ncclGetVersion(&nccl);
    snprintf(text, sizeof text, "NCCL %d.%d.%d, cuSPARSE %d.%d.%d", nccl / 10000, nccl / 100 % 100,
             nccl % 100, CUSPARSE_VER_MAJOR, CUSPARSE_VER_MINOR, CUSPARSE_VER_PATCH);
    return text;
}

static spmm_status open_local(void)
{
    CUDA(cudaStreamCreateWithFlags(&lib.stream, cudaStreamNonBlocking));
    CUDA(cudaEventCreate(&lib.start));
    CUDA(cudaEventCreate(&lib.gathered));
    CUDA(cudaEventCreate(&lib.end));
    CUSPARSE(cusparseCreate(&lib.handle));
    CUSPARSE(cusparseSetStream(lib.handle, lib.stream));
    return SPMM_OK;
}

spmm_status theirs_open(MPI_Comm comm)
{
    ncclUniqueId id;
    int rank, size;
    memset(&id, 0, sizeof id);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    spmm_status status = open_local();
    if (status == SPMM_OK && rank == 0) status = nccl_checked(ncclGetUniqueId(&id), "ncclGetUniqueId");
    TRY(sp_agree(comm, "theirs", status));
    TRY(sp_bcast(comm, 0, &id, sizeof id));
    return sp_agree(comm, "theirs",
                    nccl_checked(ncclCommInitRank(&lib.comm, size, id, rank), "ncclCommInitRank"));
}

void theirs_close(void)
{
    if (lib.comm) (void)ncclCommDestroy(lib.comm);
    if (lib.handle) (void)cusparseDestroy(lib.handle);
    if (lib.start) (void)cudaEventDestroy(lib.start);
    if (lib.gathered) (void)cudaEventDestroy(lib.gathered);
    if (lib.end) (void)cudaEventDestroy(lib.end);
    if (lib.stream) (void)cudaStreamDestroy(lib.stream);
    memset(&lib, 0, sizeof lib);
}

/* ---- A, X and Y ---- */

static cudaDataType type_of(const theirs *t)
{
    return t->problem->precision == SPMM_F64 ? CUDA_R_64F : CUDA_R_32F;
}

static const void *number(const theirs *t, int one)
{
    static const double f64[] = {0, 1};
    static const float f32[] = {0, 1};
    return t->problem->precision == SPMM_F64 ? (const void *)&f64[one] : &f32[one];
}

/** Row starts as cuSPARSE wants them beside 32-bit columns. */
static spmm_status upload_starts(theirs *t, const spmm_csr *a)
{
    int32_t *start;
    if (a->nnz > INT32_MAX)
        return sp_fail(SPMM_ERR_LIMIT, "theirs: %lld entries on a GPU are too many for cuSPARSE",
                       (long long)a->nnz);
    TRY(sp_alloc((void **)&start, a->rows + 1, sizeof *start, "row starts"));
    for (int64_t i = 0; i <= a->rows; i++) start[i] = (int32_t)a->irp[i];
    const size_t bytes = (size_t)(a->rows + 1) * sizeof *start;
    const spmm_status status = cuda_checked(cudaMemcpy(t->start, start, bytes, cudaMemcpyHostToDevice),
                                            "copy of row starts");
    sp_free(start);
    return status;
}

static spmm_status allocate(theirs *t)
{
    const spmm_csr *const a = &t->problem->block.csr;
    const size_t size = sp_value_size(t->problem->precision), k = (size_t)t->k;
    CUDA(cudaMalloc(&t->start, (size_t)(a->rows + 1) * sizeof(int32_t)));
    CUDA(cudaMalloc(&t->col, (size_t)(a->nnz + 1) * sizeof(int32_t)));
    CUDA(cudaMalloc(&t->val, (size_t)(a->nnz + 1) * size));
    CUDA(cudaMalloc(&t->x, (size_t)t->x_rows * k * size));
    CUDA(cudaMalloc(&t->y, (size_t)(a->rows + 1) * k * size));
    TRY(upload_starts(t, a));
    CUDA(cudaMemcpy(t->col, a->ja, (size_t)a->nnz * sizeof(int32_t), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(t->val, a->as, (size_t)a->nnz * size, cudaMemcpyHostToDevice));
    CUDA(cudaMemset(t->x, 0, (size_t)t->x_rows * k * size));
    CUDA(cudaMemset(t->y, 0, (size_t)(a->rows + 1) * k * size));
    CUDA(cudaDeviceSynchronize()); /* the stream does not wait for memsets */
    return SPMM_OK;
}

/** Puts this rank's part of X in its place. */
static spmm_status fill(theirs *t, int by_column)
{
    const problem *const p = t->problem;
    const int64_t n = p->block.cols, size = (int64_t)sp_value_size(p->precision), first = t->part * p->rank;
    const int64_t rows = first >= n ? 0 : first + t->part <= n ? t->part : n - first;
    if (t->filled == by_column) return SPMM_OK;
    TRY(problem_fill(p, first, rows, t->k, by_column, by_column ? t->x_rows : t->k,
                     (char *)t->x + first * (by_column ? 1 : t->k) * size));
    t->filled = by_column;
    return SPMM_OK;
}

/* ---- a product ---- */

static spmm_status gather(const theirs *t)
{
    const ncclDataType_t type = t->problem->precision == SPMM_F64 ? ncclFloat64 : ncclFloat32;
    const size_t size = sp_value_size(t->problem->precision), part = (size_t)t->part, k = (size_t)t->k;
    const size_t rank = (size_t)t->problem->rank;
    char *const x = t->x;
    if (!t->product.form->by_column) {
        NCCL(ncclAllGather(x + rank * part * k * size, x, part * k, type, lib.comm, lib.stream));
        return SPMM_OK;
    }
    spmm_status status = nccl_checked(ncclGroupStart(), "ncclGroupStart");
    for (size_t j = 0; j < k && status == SPMM_OK; j++) {
        char *const column = x + j * (size_t)t->x_rows * size;
        status = nccl_checked(
            ncclAllGather(column + rank * part * size, column, part, type, lib.comm, lib.stream),
            "ncclAllGather");
    }
    const spmm_status ended = nccl_checked(ncclGroupEnd(), "ncclGroupEnd");
    return status != SPMM_OK ? status : ended;
}

static const cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;

static int is_empty(const theirs *t)
{
    const spmm_csr *const a = &t->problem->block.csr;
    return a->rows == 0 || a->nnz == 0; /* Y was zeroed */
}

static spmm_status multiply(const theirs *t)
{
    const product *const q = &t->product;
    if (is_empty(t)) return SPMM_OK;
    CUSPARSE(cusparseSpMM(lib.handle, as_is, as_is, number(t, 1), q->a, q->x, number(t, 0), q->y, type_of(t),
                          q->form->algorithm, q->workspace));
    return SPMM_OK;
}

spmm_status theirs_spoil(const theirs *t)
{
    const size_t bytes = (size_t)t->problem->block.csr.rows * (size_t)t->k *
                         sp_value_size(t->problem->precision);
    if (!is_empty(t)) CUDA(cudaMemsetAsync(t->y, 0xff, bytes, lib.stream));
    return SPMM_OK;
}

spmm_status theirs_run(const theirs *t)
{
    TRY(gather(t));
    TRY(multiply(t));
    CUDA(cudaStreamSynchronize(lib.stream));
    return SPMM_OK;
}

spmm_status theirs_run_parts(const theirs *t, double *gather_seconds, double *product_seconds)
{
    float ms[2] = {0, 0};
    CUDA(cudaEventRecord(lib.start, lib.stream));
    TRY(gather(t));
    CUDA(cudaEventRecord(lib.gathered, lib.stream));
    TRY(multiply(t));
    CUDA(cudaEventRecord(lib.end, lib.stream));
    CUDA(cudaEventSynchronize(lib.end));
    CUDA(cudaEventElapsedTime(&ms[0], lib.start, lib.gathered));
    CUDA(cudaEventElapsedTime(&ms[1], lib.gathered, lib.end));
    *gather_seconds = ms[0] * 1e-3;
    *product_seconds = ms[1] * 1e-3;
    return SPMM_OK;
}

/* ---- which form ---- */

static void release_product(product *q)
{
    if (q->a) (void)cusparseDestroySpMat(q->a);
    if (q->x) (void)cusparseDestroyDnMat(q->x);
    if (q->y) (void)cusparseDestroyDnMat(q->y);
    (void)cudaFree(q->workspace);
    memset(q, 0, sizeof *q);
}

static spmm_status set_up(theirs *t, const form *f)
{
    const spmm_csr *const a = &t->problem->block.csr;
    const cusparseOrder_t order = f->by_column ? CUSPARSE_ORDER_COL : CUSPARSE_ORDER_ROW;
    const cusparseIndexType_t i32 = CUSPARSE_INDEX_32I;
    const cudaDataType type = type_of(t);
    product *const q = &t->product;
    size_t bytes = 0;
    q->form = f;
    TRY(fill(t, f->by_column));
    if (is_empty(t)) return SPMM_OK;
    CUSPARSE(cusparseCreateCsr(&q->a, a->rows, t->x_rows, a->nnz, t->start, t->col, t->val, i32, i32,
                               CUSPARSE_INDEX_BASE_ZERO, type));
    CUSPARSE(cusparseCreateDnMat(&q->x, t->x_rows, t->k, f->by_column ? t->x_rows : t->k, t->x, type, order));
    CUSPARSE(cusparseCreateDnMat(&q->y, a->rows, t->k, f->by_column ? a->rows : t->k, t->y, type, order));
    CUSPARSE(cusparseSpMM_bufferSize(lib.handle, as_is, as_is, number(t, 1), q->a, q->x, number(t, 0), q->y,
                                     type, f->algorithm, &bytes));
    CUDA(cudaMalloc(&q->workspace, bytes > 0 ? bytes : 1));
    const cusparseStatus_t s = cusparseSpMM_preprocess(lib.handle, as_is, as_is, number(t, 1), q->a, q->x,
                                                       number(t, 0), q->y, type, f->algorithm, q->workspace);
    if (s != CUSPARSE_STATUS_NOT_SUPPORTED) TRY(cusparse_checked(s, "cusparseSpMM_preprocess"));
    CUDA(cudaStreamSynchronize(lib.stream));
    return SPMM_OK;
}

/** Seconds of the slowest rank, the least of a few after one to warm up. */
static spmm_status try_form(const theirs *t, double *seconds)
{
    const MPI_Comm comm = t->problem->comm;
    double took[TRIALS + 1];
    for (int i = 0; i <= TRIALS; i++) {
        TRY(SP_MPI(MPI_Barrier(comm)));
        took[i] = MPI_Wtime();
        TRY(sp_agree(comm, "theirs", theirs_run(t)));
        took[i] = MPI_Wtime() - took[i];
    }
    TRY(sp_slowest(comm, took, TRIALS + 1));
    *seconds = took[1];
    for (int i = 2; i <= TRIALS; i++)
        if (took[i] < *seconds) *seconds = took[i];
    return SPMM_OK;
}

/** Each form that the library offers is tried; the fastest is set up in the end. */
static spmm_status choose(theirs *t)
{
    const MPI_Comm comm = t->problem->comm;
    const form *best = NULL;
    double least = 0, seconds = 0;
    for (int i = 0; i < FORMS; i++) {
        spmm_status status = sp_agree(comm, "theirs", set_up(t, &forms[i]));
        if (status == SPMM_OK) status = try_form(t, &seconds);
        release_product(&t->product);
        if (status == SPMM_ERR_UNSUPPORTED) continue;
        TRY(status);
        if (best && seconds >= least) continue;
        best = &forms[i];
        least = seconds;
    }
    if (!best) return sp_fail(SPMM_ERR_UNSUPPORTED, "theirs: cuSPARSE offers no product");
    return sp_agree(comm, "theirs", set_up(t, best));
}

spmm_status theirs_create(const problem *p, int64_t k, theirs **t)
{
    *t = NULL;
    spmm_status status = sp_alloc_zero((void **)t, 1, sizeof **t, "theirs");
    if (status == SPMM_OK) {
        (*t)->problem = p;
        (*t)->k = k;
        (*t)->part = (p->block.cols + p->size - 1) / p->size;
        (*t)->x_rows = (*t)->part * p->size;
        (*t)->filled = -1;
        status = allocate(*t);
    }
    status = sp_agree(p->comm, "theirs", status);
    if (status == SPMM_OK) status = choose(*t);
    if (status == SPMM_OK) return SPMM_OK;
    theirs_destroy(*t);
    *t = NULL;
    return status;
}

void theirs_destroy(theirs *t)
{
    if (!t) return;
    release_product(&t->product);
    (void)cudaFree(t->start);
    (void)cudaFree(t->col);
    (void)cudaFree(t->val);
    (void)cudaFree(t->x);
    (void)cudaFree(t->y);
    sp_free(t);
}

const char *theirs_form(const theirs *t) { return t->product.form->name; }

spmm_multivector theirs_y(const theirs *t, int *by_column)
{
    const int64_t rows = t->problem->block.csr.rows;
    *by_column = t->product.form->by_column;
    return (spmm_multivector){*by_column ? t->k : rows,
                              *by_column ? rows : t->k,
                              *by_column ? rows : t->k,
                              t->problem->precision,
                              SPMM_CUDA,
                              t->y,
                              0,
                              0};
}
