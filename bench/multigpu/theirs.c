/* What a user would write today, in one stream: ncclAllGather gathers all rows of X on every GPU, in place,
 * then cuSPARSE multiplies the block of rows. The ranks own even parts of X, whatever the blocks of A are, so
 * that the all-gather is one call; X is padded to a multiple of the number of ranks. A column-major X is
 * gathered by one such call per column, in a group. */
#include <nccl.h>
#include <string.h>

#include "base/memory.h"
#include "base/value_type.h"
#include "comm/comm.h"
#include "device/device.h"
#include "kernels/peers/peer_load.h"
#include "../common/bench.h"

#define FORM(name, layout)       \
    {                            \
        name, layout, 1, 1, 1, 1 \
    }
static const peer_form forms[] = {FORM("alg1 row", PEER_ROW),       FORM("alg2 row", PEER_ROW),
                                  FORM("alg3 row", PEER_ROW),       FORM("alg1 column", PEER_COLUMN),
                                  FORM("alg2 column", PEER_COLUMN), FORM("alg3 column", PEER_COLUMN)};
enum { FORMS = sizeof forms / sizeof *forms };
/* for each form, the form of cuSPARSE's adaptor that it uses, with the same layout */
static const char *const names[FORMS] = {"cusparse_csr_alg1", "cusparse_csr_alg2", "cusparse_csr_alg3",
                                         "cusparse_csr_alg1", "cusparse_csr_alg2", "cusparse_csr_alg3"};

static const peer_adaptor *cusparse;
static ncclComm_t comm;
static int rank, size;

typedef struct matrix {
    peer_matrix a;
    void *on_gpu[3];
    void *product_of; /* the adaptor's matrix: this rank's rows, all rows of the gathered X as columns */
} matrix;

typedef struct theirs {
    peer_product p;
    int column;            /* 1: X and Y by columns */
    int64_t part;          /* rows of X that a rank owns */
    spmm_multivector x, y; /* x: the rows of all ranks, >= A's columns */
    void *product;         /* the adaptor's product; NULL: this rank's rows have no entries */
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
    const char *other = "";
    (void)folder;
    memset(&id, 0, sizeof id);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    (void)ncclGetVersion(&nccl);
    const char *line = failed(sp_peer_open("cusparse", threads, &cusparse, &other));
    snprintf(version, bytes, "NCCL %d.%d.%d, %s", nccl / 10000, nccl / 100 % 100, nccl % 100, other);
    if (!line && rank == 0) line = failed(nccl_checked(ncclGetUniqueId(&id), "ncclGetUniqueId"));
    line = agree(line);
    if (line) return line;
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    return failed(nccl_checked(ncclCommInitRank(&comm, size, id, rank), "ncclCommInitRank"));
}

static void theirs_close(void)
{
    if (comm) (void)ncclCommDestroy(comm);
    sp_peers_close();
}

/* ---- A, X and Y ---- */

/** Returns the number of rows of X that each rank owns: an even part, rounded up. */
static int64_t part_of(const peer_matrix *a) { return (a->cols + size - 1) / size; }

static spmm_status load(matrix *m)
{
    TRY(bench_upload(&m->a, m->on_gpu));
    TRY(sp_alloc_zero(&m->product_of, 1, cusparse->matrix_bytes + sizeof m->a, "cuSPARSE's matrix"));
    peer_matrix *const a = m->product_of;
    *a = m->a;
    a->cols = a->x_rows = part_of(&m->a) * size;
    a->gpu = &bench_peer_gpu;
    a->gpu_row_start = m->on_gpu[0];
    a->gpu_col = m->on_gpu[1];
    a->gpu_val = m->on_gpu[2];
    return SPMM_OK;
}

static const char *theirs_load(void *handle) { return failed(load(handle)); }

static void theirs_unload(void *handle)
{
    matrix *const m = handle;
    if (m->product_of) cusparse->unload(m->product_of);
    sp_free(m->product_of);
    for (int i = 0; i < 3; i++) sp_device_free(m->on_gpu[i]);
}

/** Fills this rank's part of X. */
static spmm_status fill(theirs *t)
{
    const int64_t n = t->p.a->cols, k = t->p.k, first = t->part * rank,
                  value = (int64_t)sp_value_size(t->x.precision);
    const int64_t rows = first >= n ? 0 : first + t->part <= n ? t->part : n - first;
    void *host;
    if (rows == 0) return SPMM_OK;
    TRY(sp_alloc(&host, rows * k, (size_t)value, "a part of X"));
    const dense_view view = {host, t->x.precision, t->column ? 1 : k, t->column ? rows : 1};
    dense_fill(&view, first, rows, k);
    const int64_t wide = (t->column ? rows : k) * value;
    char *const to = (char *)t->x.data + first * (t->column ? 1 : k) * value;
    const spmm_status status = sp_device_copy_2d(to, t->x.ld * value, host, wide, wide, t->column ? k : rows,
                                                 0);
    sp_free(host);
    return status;
}

static const peer_form *form_of(int64_t index)
{
    const peer_form *f = cusparse->forms;
    for (int i = 0; i < cusparse->form_count; i++)
        if (strcmp(f[i].contender, names[index]) == 0 && f[i].layout == forms[index].layout) return &f[i];
    return NULL;
}

static spmm_status set_up(theirs *t)
{
    const matrix *const m = (const matrix *)t->p.a;
    const int64_t value = (int64_t)sp_value_size(t->x.precision), x_bytes = t->x.rows * t->p.k * value;
    const int64_t y_bytes = t->y.rows * t->p.k * value;
    TRY(sp_device_alloc_exchanged(&t->x.data, x_bytes, "X"));
    TRY(sp_device_alloc_exchanged(&t->y.data, y_bytes, "Y"));
    TRY(sp_device_zero(t->x.data, x_bytes));
    TRY(sp_device_zero(t->y.data, y_bytes));
    TRY(fill(t));
    if (m->a.nnz == 0) return SPMM_OK; /* Y stays zero */
    TRY(sp_alloc_zero(&t->product, 1, cusparse->product_bytes + sizeof t->p, "cuSPARSE's product"));
    peer_product *const q = t->product;
    *q = (peer_product){.form = form_of(t->p.form - forms),
                        .a = m->product_of,
                        .k = t->p.k,
                        .x = t->x.data,
                        .y = t->y.data,
                        .ldx = t->x.ld,
                        .ldy = t->y.ld,
                        .stream = sp_device_stream(SP_STREAM_MAIN)};
    const char *const line = q->form ? cusparse->begin(q) : "cuSPARSE's adaptor lacks the form";
    return line ? sp_fail(q->left_out ? SPMM_ERR_UNSUPPORTED : SPMM_ERR_DEVICE, "%s", line) : SPMM_OK;
}

static const char *theirs_begin(void *handle)
{
    theirs *const t = handle;
    const int64_t k = t->p.k, rows = t->p.a->rows;
    const spmm_precision precision = t->p.a->f32 ? SPMM_F32 : SPMM_F64;
    t->column = t->p.form->layout == PEER_COLUMN;
    t->part = part_of(t->p.a);
    t->x = (spmm_multivector){
        t->part * size, k, t->column ? t->part * size : k, precision, SPMM_CUDA, NULL, 0, 0, SPMM_ROW_MAJOR};
    t->y = (spmm_multivector){rows, k, t->column ? rows : k, precision, SPMM_CUDA, NULL,
                              0,    0, SPMM_ROW_MAJOR};
    const spmm_status status = sp_agree(MPI_COMM_WORLD, "theirs", set_up(t));
    t->p.left_out = status == SPMM_ERR_UNSUPPORTED;
    return failed(status);
}

static void theirs_end(void *handle)
{
    theirs *const t = handle;
    if (t->product) cusparse->end(t->product);
    sp_free(t->product);
    sp_device_free(t->x.data);
    sp_device_free(t->y.data);
}

static const char *theirs_move(void *handle, int in)
{
    theirs *const t = handle;
    const int64_t bytes = t->y.rows * t->y.k * (int64_t)sp_value_size(t->y.precision);
    if (in) return t->product ? failed(sp_device_upload(t->y.data, t->p.y, bytes)) : NULL;
    return failed(sp_device_download(t->p.y, t->y.data, bytes));
}

/* ---- a product ---- */

static const char *theirs_gather(void *handle)
{
    const theirs *const t = handle;
    const size_t part = (size_t)t->part, value = sp_value_size(t->x.precision), k = (size_t)t->p.k;
    /* how many numbers one call gathers from each rank, and the number of calls */
    const size_t count = t->column ? part : part * k, calls = t->column ? k : 1;
    spmm_status status = nccl_checked(ncclGroupStart(), "ncclGroupStart");
    for (size_t j = 0; j < calls && status == SPMM_OK; j++) {
        char *const x = (char *)t->x.data + j * (size_t)t->x.rows * value;
        status = nccl_checked(ncclAllGather(x + (size_t)rank * count * value, x, count,
                                            t->p.a->f32 ? ncclFloat32 : ncclFloat64, comm,
                                            sp_device_stream(SP_STREAM_MAIN)),
                              "ncclAllGather");
    }
    const spmm_status ended = nccl_checked(ncclGroupEnd(), "ncclGroupEnd");
    return failed(status != SPMM_OK ? status : ended);
}

static const char *theirs_multiply(void *handle)
{
    const theirs *const t = handle;
    return t->product ? cusparse->run(t->product) : NULL;
}

static const char *theirs_run(void *handle)
{
    const char *line = theirs_gather(handle);
    if (!line) line = theirs_multiply(handle);
    return line ? line : failed(sp_device_sync());
}

const peer_adaptor spmm_peer = {.package = "theirs",
                                .forms = forms,
                                .form_count = FORMS,
                                .matrix_bytes = sizeof(matrix),
                                .product_bytes = sizeof(theirs),
                                .open = theirs_open,
                                .load = theirs_load,
                                .unload = theirs_unload,
                                .begin = theirs_begin,
                                .end = theirs_end,
                                .run = theirs_run,
                                .move = theirs_move,
                                .part = {theirs_gather, theirs_multiply},
                                .close = theirs_close};
