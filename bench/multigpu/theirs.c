/* What a user would write today: X's rows gathered whole on every GPU by ncclAllGather, in place, then a product of
 * the block of rows by cuSPARSE, in one stream. X is owned in even parts whatever the blocks of A are, so that the
 * all-gather is one call without padding; a column-major X is gathered by one such call a column, in a group. */
#include "theirs.h"

#include <nccl.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "comm/comm.h"
#include "device/device.h"
#include "../common/cusparse.h"

enum { TRIALS = 3 };

typedef struct way {
    const char *name;
    peer_layout layout; /* of X and Y */
    int algorithm;
} way;

static const way ways[] = {
    {"alg1 row", PEER_ROW, CUSPARSE_SPMM_CSR_ALG1},
    {"alg2 row", PEER_ROW, CUSPARSE_SPMM_CSR_ALG2},
    {"alg3 row", PEER_ROW, CUSPARSE_SPMM_CSR_ALG3},
    {"alg1 column", PEER_COLUMN, CUSPARSE_SPMM_CSR_ALG1},
    {"alg2 column", PEER_COLUMN, CUSPARSE_SPMM_CSR_ALG2},
    {"alg3 column", PEER_COLUMN, CUSPARSE_SPMM_CSR_ALG3},
};
enum { WAYS = sizeof ways / sizeof *ways };

static ncclComm_t comm;
static int rank, size;

typedef struct matrix {
    peer_matrix a;
    void *start, *col, *val;
} matrix;

typedef struct theirs {
    peer_product p;
    int64_t part, x_rows; /* part: rows of X that a rank owns; x_rows: of all ranks, >= A's columns */
    int64_t value;        /* bytes of a value */
    spmm_multivector x, y;
    const way *way, *filled; /* filled: whose layout X has; NULL: none yet */
    cusparse_product c;
} theirs;

static spmm_status nccl_checked(ncclResult_t code, const char *what)
{
    if (code == ncclSuccess) return SPMM_OK;
    const char *const last = ncclGetLastError(NULL);
    return sp_fail(SPMM_ERR_DEVICE, "theirs: %s: %s: %.200s", what, ncclGetErrorString(code),
                   last ? last : "");
}

static const char *theirs_open(int threads, const char *folder, char *version, size_t bytes)
{
    ncclUniqueId id;
    int nccl = 0;
    (void)threads, (void)folder;
    memset(&id, 0, sizeof id);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    (void)ncclGetVersion(&nccl);
    snprintf(version, bytes, "NCCL %d.%d.%d, cuSPARSE %d.%d.%d", nccl / 10000, nccl / 100 % 100, nccl % 100,
             CUSPARSE_VER_MAJOR, CUSPARSE_VER_MINOR, CUSPARSE_VER_PATCH);
    const char *line = failed(cusparse_open());
    if (!line && rank == 0) line = failed(nccl_checked(ncclGetUniqueId(&id), "ncclGetUniqueId"));
    line = agree(line);
    if (line) return line;
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    return failed(nccl_checked(ncclCommInitRank(&comm, size, id, rank), "ncclCommInitRank"));
}

static void theirs_close(void)
{
    if (comm) (void)ncclCommDestroy(comm);
    cusparse_close();
}

/* ---- A, X and Y ---- */

static spmm_status upload(void **to, const void *from, int64_t bytes)
{
    TRY(sp_device_alloc(to, bytes, "theirs"));
    return sp_device_upload(*to, from, bytes);
}

static const char *theirs_load(void *handle)
{
    matrix *const m = handle;
    const peer_matrix *const a = &m->a;
    if (!a->row_start) return "too many entries on a GPU for cuSPARSE";
    spmm_status status = upload(&m->start, a->row_start, (a->rows + 1) * (int64_t)sizeof *a->row_start);
    if (status == SPMM_OK) status = upload(&m->col, a->col, a->nnz * (int64_t)sizeof *a->col);
    if (status == SPMM_OK) status = upload(&m->val, a->val, a->nnz * (a->f32 ? 4 : 8));
    return failed(status);
}

static void theirs_unload(void *handle)
{
    matrix *const m = handle;
    sp_device_free(m->start);
    sp_device_free(m->col);
    sp_device_free(m->val);
}

static int is_by_column(const theirs *t) { return t->way->layout == PEER_COLUMN; }

/** Puts this rank's part of X in its place. */
static spmm_status fill(theirs *t)
{
    const int64_t n = t->p.a->cols, k = t->p.k, first = t->part * rank;
    const int64_t rows = first >= n ? 0 : first + t->part <= n ? t->part : n - first;
    const int column = is_by_column(t);
    void *host;
    if ((t->filled && t->filled->layout == t->way->layout) || rows == 0) return SPMM_OK;
    TRY(sp_alloc(&host, rows * k, (size_t)t->value, "a part of X"));
    const dense_view view = {host, t->x.precision, column ? 1 : k, column ? rows : 1};
    dense_fill(&view, first, rows, k);
    char *const to = (char *)t->x.data + first * (column ? 1 : k) * t->value;
    const int64_t wide = (column ? rows : rows * k) * t->value;
    const spmm_status status = sp_device_copy_2d(to, column ? t->x_rows * t->value : wide, host, wide, wide,
                                                 column ? k : 1, 0);
    sp_free(host);
    t->filled = t->way;
    return status;
}

/* ---- a product ---- */

const char *theirs_gather(void *handle, double *unused)
{
    const theirs *const t = handle;
    const ncclDataType_t type = t->p.a->f32 ? ncclFloat32 : ncclFloat64;
    const size_t part = (size_t)t->part, value = (size_t)t->value, k = (size_t)t->p.k;
    /* what one call gathers, and how many calls there are */
    const size_t count = is_by_column(t) ? part : part * k, calls = is_by_column(t) ? k : 1;
    const cudaStream_t stream = sp_device_stream(SP_STREAM_MAIN);
    (void)unused;
    spmm_status status = nccl_checked(ncclGroupStart(), "ncclGroupStart");
    for (size_t j = 0; j < calls && status == SPMM_OK; j++) {
        char *const x = (char *)t->x.data + j * (size_t)t->x_rows * value;
        status = nccl_checked(ncclAllGather(x + (size_t)rank * count * value, x, count, type, comm, stream),
                              "ncclAllGather");
    }
    const spmm_status ended = nccl_checked(ncclGroupEnd(), "ncclGroupEnd");
    return failed(status != SPMM_OK ? status : ended);
}

const char *theirs_multiply(void *handle, double *unused)
{
    const theirs *const t = handle;
    (void)unused;
    return t->c.a ? failed(cusparse_multiply(&t->c)) : NULL;
}

static const char *theirs_run(void *handle, double *unused)
{
    const char *line = theirs_gather(handle, unused);
    if (!line) line = theirs_multiply(handle, unused);
    return line ? line : failed(sp_device_sync());
}

/* ---- which way ---- */

static spmm_status set_up(theirs *t, const way *w)
{
    const matrix *const m = (const matrix *)t->p.a;
    t->way = w;
    t->x.ld = is_by_column(t) ? t->x_rows : t->p.k;
    t->y.ld = is_by_column(t) ? t->y.rows : t->p.k;
    TRY(fill(t));
    if (m->a.nnz == 0) return SPMM_OK; /* Y was zeroed */
    t->c.algorithm = w->algorithm;
    TRY(cusparse_describe(&m->a, t->x_rows, m->start, m->col, m->val, &t->c));
    return cusparse_prepare(&t->c, &t->x, &t->y, w->layout);
}

/** Sets up the same way on each rank. \return NULL; "": the library does not offer it; a problem */
static const char *set_up_everywhere(theirs *t, const way *w)
{
    const spmm_status status = sp_agree(MPI_COMM_WORLD, "theirs", set_up(t, w));
    return status == SPMM_ERR_UNSUPPORTED ? "" : failed(status);
}

static const char *run_once(void *handle) { return theirs_run(handle, NULL); }

/** Each way that the library offers is tried; the fastest is set up in the end. */
static const char *choose(theirs *t)
{
    const way *best = NULL;
    double least = 0, seconds = 0;
    for (int i = 0; i < WAYS; i++) {
        const char *line = set_up_everywhere(t, &ways[i]);
        const int offered = !line || *line;
        if (!line) line = time_calls(run_once, t, TRIALS, &seconds);
        cusparse_release(&t->c);
        if (!offered) continue;
        if (line) return line;
        if (best && seconds >= least) continue;
        best = &ways[i];
        least = seconds;
    }
    return best ? set_up_everywhere(t, best) : "theirs: cuSPARSE offers no product";
}

static const char *theirs_begin(void *handle)
{
    theirs *const t = handle;
    const peer_matrix *const a = t->p.a;
    const spmm_precision precision = a->f32 ? SPMM_F32 : SPMM_F64;
    t->value = a->f32 ? 4 : 8;
    t->part = (a->cols + size - 1) / size;
    t->x_rows = t->part * size;
    t->x = (spmm_multivector){t->x_rows, t->p.k, 0, precision, SPMM_CUDA, NULL, 0, 0};
    t->y = (spmm_multivector){a->rows, t->p.k, 0, precision, SPMM_CUDA, NULL, 0, 0};
    const int64_t x_bytes = t->x_rows * t->p.k * t->value, y_bytes = a->rows * t->p.k * t->value;
    spmm_status status = sp_device_alloc(&t->x.data, x_bytes, "X");
    if (status == SPMM_OK) status = sp_device_alloc(&t->y.data, y_bytes, "Y");
    if (status == SPMM_OK) status = sp_device_zero(t->x.data, x_bytes);
    if (status == SPMM_OK) status = sp_device_zero(t->y.data, y_bytes);
    const char *const line = agree(failed(status));
    return line ? line : choose(t);
}

static void theirs_end(void *handle)
{
    theirs *const t = handle;
    cusparse_release(&t->c);
    sp_device_free(t->x.data);
    sp_device_free(t->y.data);
}

/** Y in host memory is by rows. NaNs, which are moved in, are the same in either layout. */
static const char *theirs_move(void *handle, int in)
{
    theirs *const t = handle;
    const int64_t rows = t->p.a->rows, k = t->p.k, bytes = rows * k * t->value;
    char *host, *const to = t->p.y;
    if (in) return t->c.a ? failed(sp_device_upload(t->y.data, t->p.y, bytes)) : NULL;
    if (!is_by_column(t)) return failed(sp_device_download(t->p.y, t->y.data, bytes));
    if (sp_alloc((void **)&host, bytes, 1, "Y by columns") != SPMM_OK) return spmm_error_message();
    const spmm_status status = sp_device_download(host, t->y.data, bytes);
#pragma omp parallel for
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < k; j++)
            memcpy(to + (i * k + j) * t->value, host + (j * rows + i) * t->value, (size_t)t->value);
    sp_free(host);
    return failed(status);
}

static const char *theirs_way(const void *handle)
{
    const theirs *const t = handle;
    return t->way ? t->way->name : "";
}

static const peer_form forms[] = {{"theirs", PEER_ROW, 1, 1, 1, 1}};

const peer theirs_peer = {.package = "theirs",
                          .forms = forms,
                          .form_count = 1,
                          .matrix_bytes = sizeof(matrix),
                          .product_bytes = sizeof(theirs),
                          .open = theirs_open,
                          .load = theirs_load,
                          .unload = theirs_unload,
                          .begin = theirs_begin,
                          .end = theirs_end,
                          .run = theirs_run,
                          .move = theirs_move,
                          .way = theirs_way,
                          .close = theirs_close};
