/* SuiteSparse:GraphBLAS: C += A * X on a full C, its fastest form, C and X full by rows or by columns. It adds
 * onto Y where the others overwrite it; zeroing Y is not timed. */
#include <GraphBLAS.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../peer.h"

typedef struct matrix {
    const peer_matrix *a;
    GrB_Matrix m;
} matrix;

typedef struct product {
    const matrix *a;
    peer_product p;
    GrB_Matrix x, y;
} product;

static const peer_form forms[] = {{"graphblas", PEER_ROW, 1, 1, 0}, {"graphblas", PEER_COLUMN, 1, 1, 0}};

static const char *open_grb(int threads, const char *folder, char *version, size_t size)
{
    char *date;
    int number[3];
    (void)folder;
    if (GrB_init(GrB_BLOCKING) != GrB_SUCCESS) return "GrB_init failed";
    if (GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, threads) != GrB_SUCCESS) return "cannot set its threads";
    if (GxB_Global_Option_get(GxB_LIBRARY_DATE, &date) != GrB_SUCCESS) date = "";
    if (GxB_Global_Option_get(GxB_LIBRARY_VERSION, number) != GrB_SUCCESS) return "has no version";
    snprintf(version, size, "SuiteSparse:GraphBLAS %d.%d.%d", number[0], number[1], number[2]);
    return NULL;
}

/** GraphBLAS takes the arrays over and frees them: so these are copies. */
static const char *pack_csr(matrix *m)
{
    const peer_matrix *const a = m->a;
    const GrB_Index start_bytes = (GrB_Index)(a->rows + 1) * sizeof(GrB_Index);
    const GrB_Index col_bytes = (GrB_Index)a->nnz * sizeof(GrB_Index);
    const GrB_Index val_bytes = (GrB_Index)a->nnz * (a->f32 ? sizeof(float) : sizeof(double));
    GrB_Index *start = malloc(start_bytes), *col = malloc(col_bytes + 1);
    void *val = malloc(val_bytes + 1);
    GrB_Info info = GrB_OUT_OF_MEMORY;
    if (start && col && val) {
        for (int64_t i = 0; i <= a->rows; i++) start[i] = (GrB_Index)a->row_start[i];
        for (int64_t e = 0; e < a->nnz; e++) col[e] = (GrB_Index)a->col[e];
        memcpy(val, a->val, val_bytes);
        info = GxB_Matrix_pack_CSR(m->m, &start, &col, &val, start_bytes, col_bytes, val_bytes, false, false,
                                   NULL);
    }
    free(start);
    free(col);
    free(val);
    return info == GrB_SUCCESS ? NULL : "GxB_Matrix_pack_CSR failed";
}

static const char *load_grb(const peer_matrix *a, void **handle)
{
    matrix *const m = calloc(1, sizeof *m);
    *handle = m;
    if (!m) return "no memory";
    m->a = a;
    if (GrB_Matrix_new(&m->m, a->f32 ? GrB_FP32 : GrB_FP64, (GrB_Index)a->rows, (GrB_Index)a->cols) !=
        GrB_SUCCESS)
        return "GrB_Matrix_new failed";
    return pack_csr(m);
}

static void unload_grb(void *handle)
{
    matrix *const m = handle;
    if (m) GrB_Matrix_free(&m->m);
    free(m);
}

static GrB_Index bytes_of(const product *q, int64_t rows)
{
    return (GrB_Index)(rows * q->p.k) * (q->a->a->f32 ? sizeof(float) : sizeof(double));
}

/** A full matrix of a copy of the values, or of zeros. */
static const char *pack_full(const product *q, int64_t rows, const void *from, GrB_Matrix *m)
{
    const GrB_Index bytes = bytes_of(q, rows);
    void *values = from ? malloc(bytes) : calloc(bytes, 1);
    if (!values) return "no memory";
    if (from) memcpy(values, from, bytes);
    GrB_Info info = GrB_Matrix_new(m, q->a->a->f32 ? GrB_FP32 : GrB_FP64, (GrB_Index)rows, (GrB_Index)q->p.k);
    if (info == GrB_SUCCESS)
        info = q->p.form->layout == PEER_ROW ? GxB_Matrix_pack_FullR(*m, &values, bytes, false, NULL)
                                             : GxB_Matrix_pack_FullC(*m, &values, bytes, false, NULL);
    free(values);
    return info == GrB_SUCCESS ? NULL : "GxB_Matrix_pack_Full failed";
}

static const char *begin_grb(void *handle, const peer_product *p, void **out)
{
    product *const q = calloc(1, sizeof *q);
    *out = q;
    if (!q) return "no memory";
    q->a = handle;
    q->p = *p;
    const char *const problem = pack_full(q, q->a->a->cols, p->x, &q->x);
    return problem ? problem : pack_full(q, q->a->a->rows, NULL, &q->y);
}

static void end_grb(void *handle)
{
    product *const q = handle;
    if (!q) return;
    GrB_Matrix_free(&q->x);
    GrB_Matrix_free(&q->y);
    free(q);
}

static const char *run_grb(void *handle, double *seconds)
{
    const product *const q = handle;
    const int f32 = q->a->a->f32;
    (void)seconds;
    const GrB_Info info = GrB_mxm(q->y, NULL, f32 ? GrB_PLUS_FP32 : GrB_PLUS_FP64,
                                  f32 ? GrB_PLUS_TIMES_SEMIRING_FP32 : GrB_PLUS_TIMES_SEMIRING_FP64, q->a->m,
                                  q->x, NULL);
    return info == GrB_SUCCESS ? NULL : "GrB_mxm failed";
}

static const char *fetch_grb(void *handle)
{
    product *const q = handle;
    const int row = q->p.form->layout == PEER_ROW;
    void *values = NULL;
    GrB_Index bytes;
    bool iso;
    GrB_Info info = row ? GxB_Matrix_unpack_FullR(q->y, &values, &bytes, &iso, NULL)
                        : GxB_Matrix_unpack_FullC(q->y, &values, &bytes, &iso, NULL);
    if (info != GrB_SUCCESS || iso) return "Y is not full";
    memcpy(q->p.y, values, bytes_of(q, q->a->a->rows));
    info = row ? GxB_Matrix_pack_FullR(q->y, &values, bytes, false, NULL)
               : GxB_Matrix_pack_FullC(q->y, &values, bytes, false, NULL);
    return info == GrB_SUCCESS ? NULL : "GxB_Matrix_pack_Full failed";
}

static void close_grb(void) { GrB_finalize(); }

const peer spmm_peer = {.package = "graphblas",
                        .forms = forms,
                        .form_count = sizeof forms / sizeof *forms,
                        .open = open_grb,
                        .load = load_grb,
                        .unload = unload_grb,
                        .begin = begin_grb,
                        .end = end_grb,
                        .run = run_grb,
                        .fetch = fetch_grb,
                        .close = close_grb};
