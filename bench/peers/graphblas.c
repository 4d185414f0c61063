/* SuiteSparse:GraphBLAS: C += A * X, its fastest form, with full matrices C and X stored by rows or by
 * columns. It adds to C, while other libraries overwrite Y. C is set to zero only at begin, which is
 * not timed, so that only the first product can be checked. */
#include <GraphBLAS.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/peers/peer.h"

typedef struct matrix {
    peer_matrix a;
    GrB_Matrix m;
} matrix;

typedef struct product {
    peer_product p;
    GrB_Matrix x, y;
} product;

static const peer_form forms[] = {{"graphblas", PEER_ROW, 1, 1, 0, 0},
                                  {"graphblas", PEER_COLUMN, 1, 1, 0, 0}};

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

/** GraphBLAS takes ownership of the arrays and frees them. Thus these are copies. */
static const char *pack_csr(matrix *m)
{
    const peer_matrix *const a = &m->a;
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

static GrB_Info create(const peer_matrix *a, int64_t rows, int64_t cols, GrB_Matrix *m)
{
    return GrB_Matrix_new(m, a->f32 ? GrB_FP32 : GrB_FP64, (GrB_Index)rows, (GrB_Index)cols);
}

static const char *load_grb(void *handle)
{
    matrix *const m = handle;
    if (create(&m->a, m->a.rows, m->a.cols, &m->m) != GrB_SUCCESS) return "GrB_Matrix_new failed";
    return pack_csr(m);
}

static void unload_grb(void *handle) { GrB_Matrix_free(&((matrix *)handle)->m); }

static GrB_Index bytes_of(const product *q, int64_t rows)
{
    return (GrB_Index)(rows * q->p.k) * (q->p.a->f32 ? sizeof(float) : sizeof(double));
}

/** Creates a full matrix from a copy of the values, or of zeros if `from` is NULL. */
static const char *pack_full(const product *q, int64_t rows, const void *from, GrB_Matrix *m)
{
    const GrB_Index bytes = bytes_of(q, rows);
    void *values = from ? malloc(bytes) : calloc(bytes, 1);
    if (!values) return "no memory";
    if (from) memcpy(values, from, bytes);
    GrB_Info info = create(q->p.a, rows, q->p.k, m);
    if (info == GrB_SUCCESS)
        info = q->p.form->layout == PEER_ROW ? GxB_Matrix_pack_FullR(*m, &values, bytes, false, NULL)
                                             : GxB_Matrix_pack_FullC(*m, &values, bytes, false, NULL);
    free(values);
    return info == GrB_SUCCESS ? NULL : "GxB_Matrix_pack_Full failed";
}

static const char *begin_grb(void *handle)
{
    product *const q = handle;
    const char *const problem = pack_full(q, q->p.a->cols, q->p.x, &q->x);
    return problem ? problem : pack_full(q, q->p.a->rows, NULL, &q->y);
}

static void end_grb(void *handle)
{
    product *const q = handle;
    GrB_Matrix_free(&q->x);
    GrB_Matrix_free(&q->y);
}

static const char *run_grb(void *handle)
{
    const product *const q = handle;
    const int f32 = q->p.a->f32;
    const GrB_Info info = GrB_mxm(q->y, NULL, f32 ? GrB_PLUS_FP32 : GrB_PLUS_FP64,
                                  f32 ? GrB_PLUS_TIMES_SEMIRING_FP32 : GrB_PLUS_TIMES_SEMIRING_FP64,
                                  ((const matrix *)q->p.a)->m, q->x, NULL);
    return info == GrB_SUCCESS ? NULL : "GrB_mxm failed";
}

static const char *move_grb(void *handle, int in)
{
    (void)in;
    product *const q = handle;
    const int row = q->p.form->layout == PEER_ROW;
    void *values = NULL;
    GrB_Index bytes;
    bool iso;
    GrB_Info info = row ? GxB_Matrix_unpack_FullR(q->y, &values, &bytes, &iso, NULL)
                        : GxB_Matrix_unpack_FullC(q->y, &values, &bytes, &iso, NULL);
    if (info != GrB_SUCCESS || iso) return "Y is not full";
    memcpy(q->p.y, values, bytes_of(q, q->p.a->rows));
    info = row ? GxB_Matrix_pack_FullR(q->y, &values, bytes, false, NULL)
               : GxB_Matrix_pack_FullC(q->y, &values, bytes, false, NULL);
    return info == GrB_SUCCESS ? NULL : "GxB_Matrix_pack_Full failed";
}

static void close_grb(void) { GrB_finalize(); }

const peer_adaptor spmm_peer = {.package = "graphblas",
                                .forms = forms,
                                .form_count = sizeof forms / sizeof *forms,
                                .matrix_bytes = sizeof(matrix),
                                .product_bytes = sizeof(product),
                                .open = open_grb,
                                .load = load_grb,
                                .unload = unload_grb,
                                .begin = begin_grb,
                                .end = end_grb,
                                .run = run_grb,
                                .move = move_grb,
                                .adds = 1,
                                .close = close_grb};
