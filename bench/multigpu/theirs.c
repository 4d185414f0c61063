/* What a user would write today, in one stream: ncclAllGather gathers all rows of X on every GPU, in place,
 * then cuSPARSE multiplies the block of rows. The ranks own even parts of X, whatever the blocks of A are, so
 * that the all-gather is one call; X is padded to a multiple of the number of ranks. A column-major X is
 * gathered by one such call per column, in a group.
 *
 * With --pair, every rank has all of X, and its block twice: cuSPARSE multiplies the rows, then the stored
 * transpose by the rows of Y, and ncclAllReduce adds the results, in place. */
#include <nccl.h>
#include <string.h>

#include "base/memory.h"
#include "base/value_type.h"
#include "comm/comm.h"
#include "device/device.h"
#include "kernels/peers/peer_load.h"
#include "pair.h"

#define FORM(name, layout)       \
    {                            \
        name, layout, 1, 1, 1, 1 \
    }
static const peer_form forms[] = {FORM("alg1 row", PEER_ROW),       FORM("alg2 row", PEER_ROW),
                                  FORM("alg3 row", PEER_ROW),       FORM("alg1 column", PEER_COLUMN),
                                  FORM("alg2 column", PEER_COLUMN), FORM("alg3 column", PEER_COLUMN),
                                  FORM("spmv alg1", PEER_COLUMN),   FORM("spmv alg2", PEER_COLUMN),
                                  FORM("spmvop alg1", PEER_COLUMN), FORM("spmvop alg2", PEER_COLUMN)};
enum { FORMS = sizeof forms / sizeof *forms };
/* for each form, the form of cuSPARSE's adaptor that it uses, with the same layout */
static const char *const names[FORMS] = {
    "cusparse_csr_alg1",    "cusparse_csr_alg2",   "cusparse_csr_alg3",      "cusparse_csr_alg1",
    "cusparse_csr_alg2",    "cusparse_csr_alg3",   "cusparse_spmv_csr_alg1", "cusparse_spmv_csr_alg2",
    "cusparse_spmvop_alg1", "cusparse_spmvop_alg2"};

static const peer_adaptor *cusparse;
static ncclComm_t comm;
static int rank, size;

typedef struct matrix {
    peer_matrix a;
    void *on_gpu[2][3];
    /* the adaptor's matrices: this rank's rows, all rows of the gathered X as columns; with --pair the
     * transpose of its rows */
    void *product_of[2];
    int32_t *start; /* row starts of the transpose */
} matrix;

typedef struct theirs {
    peer_product p;
    int column;            /* 1: X and Y by columns */
    int64_t part;          /* rows of X that a rank owns */
    spmm_multivector x, y; /* x: the rows of all ranks, >= A's columns */
    spmm_multivector z;    /* with --pair: A^T Y, all rows */
    void *product[2];      /* the adaptor's products; NULL: this rank's rows have no entries, or no --pair */
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

/** Uploads matrix i, and makes it one of the adaptor's with `cols` columns. */
static spmm_status load_one(matrix *m, int i, const peer_matrix *from, int64_t cols)
{
    TRY(bench_upload(from, m->on_gpu[i]));
    TRY(sp_alloc_zero(&m->product_of[i], 1, cusparse->matrix_bytes + sizeof *from, "cuSPARSE's matrix"));
    peer_matrix *const a = m->product_of[i];
    *a = *from;
    a->cols = a->x_rows = cols;
    a->gpu = &bench_peer_gpu;
    a->gpu_row_start = m->on_gpu[i][0];
    a->gpu_col = m->on_gpu[i][1];
    a->gpu_val = m->on_gpu[i][2];
    return SPMM_OK;
}

static spmm_status load(matrix *m)
{
    const spmm_csr *const t = pair_transpose;
    peer_matrix transpose = m->a;
    TRY(load_one(m, 0, &m->a, part_of(&m->a) * size));
    if (!t) return SPMM_OK;
    TRY(sp_alloc((void **)&m->start, t->rows + 1, sizeof *m->start, "row starts"));
    for (int64_t i = 0; i <= t->rows; i++) m->start[i] = (int32_t)t->irp[i];
    transpose.rows = transpose.all_rows = t->rows;
    transpose.row_start = m->start;
    transpose.col = t->ja;
    transpose.val = t->as;
    return load_one(m, 1, &transpose, t->cols);
}

static const char *theirs_load(void *handle) { return failed(load(handle)); }

static void theirs_unload(void *handle)
{
    matrix *const m = handle;
    for (int i = 0; i < 2; i++) {
        if (m->product_of[i]) cusparse->unload(m->product_of[i]);
        sp_free(m->product_of[i]);
        for (int j = 0; j < 3; j++) sp_device_free(m->on_gpu[i][j]);
    }
    sp_free(m->start);
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

static int64_t bytes_of(const spmm_multivector *v)
{
    return v->rows * v->k * (int64_t)sp_value_size(v->precision);
}

static spmm_status allocate(spmm_multivector *v, const char *what)
{
    TRY(sp_device_alloc_exchanged(&v->data, bytes_of(v), what));
    return sp_device_zero(v->data, bytes_of(v));
}

/** Begins the adaptor's product y := A x or, for i = 1, y := A^T x. */
static spmm_status begin_one(theirs *t, int i, const spmm_multivector *x, const spmm_multivector *y)
{
    TRY(sp_alloc_zero(&t->product[i], 1, cusparse->product_bytes + sizeof t->p, "cuSPARSE's product"));
    peer_product *const q = t->product[i];
    *q = (peer_product){.form = form_of(t->p.form - forms),
                        .a = ((const matrix *)t->p.a)->product_of[i],
                        .k = t->p.k,
                        .x = x->data,
                        .y = y->data,
                        .ldx = x->ld,
                        .ldy = y->ld,
                        .stream = sp_device_stream(SP_STREAM_MAIN)};
    const char *const line = q->form ? cusparse->begin(q) : "cuSPARSE's adaptor lacks the form";
    return line ? sp_fail(q->left_out || !q->form ? SPMM_ERR_UNSUPPORTED : SPMM_ERR_DEVICE, "%s", line)
                : SPMM_OK;
}

static spmm_status set_up(theirs *t)
{
    TRY(allocate(&t->x, "X"));
    TRY(allocate(&t->y, "Y"));
    if (pair_transpose) TRY(allocate(&t->z, "Z"));
    TRY(fill(t));
    if (t->p.a->nnz == 0) return SPMM_OK; /* Y stays zero */
    TRY(begin_one(t, 0, &t->x, &t->y));
    return pair_transpose ? begin_one(t, 1, &t->y, &t->z) : SPMM_OK;
}

static ncclDataType_t type_of(const theirs *t) { return t->p.a->f32 ? ncclFloat32 : ncclFloat64; }

static const char *theirs_gather(const theirs *t)
{
    const size_t part = (size_t)t->part, value = sp_value_size(t->x.precision), k = (size_t)t->p.k;
    /* how many numbers one call gathers from each rank, and the number of calls */
    const size_t count = t->column ? part : part * k, calls = t->column ? k : 1;
    spmm_status status = nccl_checked(ncclGroupStart(), "ncclGroupStart");
    for (size_t j = 0; j < calls && status == SPMM_OK; j++) {
        char *const x = (char *)t->x.data + j * (size_t)t->x.rows * value;
        status = nccl_checked(ncclAllGather(x + (size_t)rank * count * value, x, count, type_of(t), comm,
                                            sp_device_stream(SP_STREAM_MAIN)),
                              "ncclAllGather");
    }
    const spmm_status ended = nccl_checked(ncclGroupEnd(), "ncclGroupEnd");
    return failed(status != SPMM_OK ? status : ended);
}

static const char *theirs_begin(void *handle)
{
    theirs *const t = handle;
    const int64_t k = t->p.k, rows = t->p.a->rows, cols = t->p.a->cols;
    t->p.left_out = k > 1 && strncmp(names[t->p.form - forms], "cusparse_spmv", 13) == 0;
    if (t->p.left_out) return NULL;
    const spmm_precision precision = t->p.a->f32 ? SPMM_F32 : SPMM_F64;
    t->column = t->p.form->layout == PEER_COLUMN;
    t->part = part_of(t->p.a);
    t->x = (spmm_multivector){
        t->part * size, k, t->column ? t->part * size : k, precision, SPMM_CUDA, NULL, 0, 0, SPMM_ROW_MAJOR};
    t->y = (spmm_multivector){rows, k, t->column ? rows : k, precision, SPMM_CUDA, NULL,
                              0,    0, SPMM_ROW_MAJOR};
    t->z = (spmm_multivector){cols,      k,         t->column ? cols : k,
                              precision, SPMM_CUDA, NULL,
                              0,         0,         t->column ? SPMM_COLUMN_MAJOR : SPMM_ROW_MAJOR};
    const spmm_status status = sp_agree(MPI_COMM_WORLD, "theirs", set_up(t));
    t->p.left_out = status == SPMM_ERR_UNSUPPORTED;
    return status == SPMM_OK && pair_transpose ? theirs_gather(t) : failed(status);
}

static void theirs_end(void *handle)
{
    theirs *const t = handle;
    for (int i = 0; i < 2; i++) {
        if (t->product[i]) cusparse->end(t->product[i]);
        sp_free(t->product[i]);
    }
    sp_device_free(t->x.data);
    sp_device_free(t->y.data);
    sp_device_free(t->z.data);
}

static const char *theirs_move(void *handle, int in)
{
    theirs *const t = handle;
    if (in) return t->product[0] ? failed(sp_device_upload(t->y.data, t->p.y, bytes_of(&t->y))) : NULL;
    return failed(sp_device_download(t->p.y, t->y.data, bytes_of(&t->y)));
}

/* ---- a product ---- */

/** Gathers X or, with --pair, adds up Z. */
static const char *theirs_move_rows(void *handle)
{
    const theirs *const t = handle;
    if (!pair_transpose) return theirs_gather(t);
    if (size == 1) return NULL;
    return failed(nccl_checked(ncclAllReduce(t->z.data, t->z.data, (size_t)(t->z.rows * t->z.k), type_of(t),
                                             ncclSum, comm, sp_device_stream(SP_STREAM_MAIN)),
                               "ncclAllReduce"));
}

static const char *theirs_multiply(void *handle)
{
    const theirs *const t = handle;
    const char *line = NULL;
    for (int i = 0; i < 2 && !line; i++) line = t->product[i] ? cusparse->run(t->product[i]) : NULL;
    if (line || t->product[0] || !pair_transpose) return line;
    return failed(sp_device_zero(t->z.data, bytes_of(&t->z))); /* it contains the sums of all ranks */
}

static const char *theirs_run(void *handle)
{
    const timed_call first = pair_transpose ? theirs_multiply : theirs_move_rows,
                     second = pair_transpose ? theirs_move_rows : theirs_multiply;
    const char *line = first(handle);
    if (!line) line = second(handle);
    return line ? line : failed(sp_device_sync());
}

const spmm_multivector *theirs_z(const void *product) { return &((const theirs *)product)->z; }

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
                                .part = {theirs_move_rows, theirs_multiply},
                                .close = theirs_close};
