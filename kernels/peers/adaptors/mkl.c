/* MKL's inspector-executor: mkl_sparse_?_mm after a hint and mkl_sparse_optimize, row-major and
 * column-major; at K = 1 the column-major form is mkl_sparse_?_mv. Linked to MKL's layer for GNU OpenMP, so
 * that the process has one OpenMP runtime. */
#include <dlfcn.h>
#include <mkl.h>
#include <stdio.h>

#include "kernels/peers/peer.h"

enum { MANY_CALLS = 1000 };

typedef struct mkl_product {
    peer_product p;
    sparse_matrix_t m;
} mkl_product;

static const struct matrix_descr general = {.type = SPARSE_MATRIX_TYPE_GENERAL};
static const peer_form forms[] = {{"mkl", PEER_ROW, 1, 1, 0, 0}, {"mkl", PEER_COLUMN, 1, 1, 0, 0}};

static const char *mkl_open(int threads, const char *folder, char *version, size_t size)
{
    (void)folder;
    /* libmkl_core itself loads a library for this processor. That library needs symbols of libmkl_core, and
     * looks for them only among the global symbols, not among those of an adaptor's private libraries */
    if (!dlopen(MKL_CORE, RTLD_NOW | RTLD_GLOBAL)) return dlerror();
    mkl_set_dynamic(0);
    mkl_set_num_threads(threads);
    MKLVersion v;
    mkl_get_version(&v);
    snprintf(version, size, "MKL %d.%d, %s", v.MajorVersion, v.UpdateVersion, v.Processor);
    return NULL;
}

/** Creates MKL's matrix on the arrays of A. MKL never writes to these arrays, so const may be cast away. */
static sparse_status_t mkl_create(mkl_product *q)
{
    const peer_matrix *const a = q->p.a;
    int32_t *const start = (int32_t *)a->row_start, *const col = (int32_t *)a->col;
    return a->f32 ? mkl_sparse_s_create_csr(&q->m, SPARSE_INDEX_BASE_ZERO, (MKL_INT)a->rows, (MKL_INT)a->cols,
                                            start, start + 1, col, (float *)a->val)
                  : mkl_sparse_d_create_csr(&q->m, SPARSE_INDEX_BASE_ZERO, (MKL_INT)a->rows, (MKL_INT)a->cols,
                                            start, start + 1, col, (double *)a->val);
}

static sparse_layout_t layout(const mkl_product *q)
{
    return q->p.form->layout == PEER_ROW ? SPARSE_LAYOUT_ROW_MAJOR : SPARSE_LAYOUT_COLUMN_MAJOR;
}

static int is_vector(const mkl_product *q) { return q->p.k == 1 && q->p.form->layout == PEER_COLUMN; }

static const char *mkl_begin(void *handle)
{
    mkl_product *const q = handle;
    if (mkl_create(q) != SPARSE_STATUS_SUCCESS) return "mkl_sparse_create_csr failed";
    const sparse_operation_t n = SPARSE_OPERATION_NON_TRANSPOSE;
    /* an unsupported hint is no error: MKL then optimizes without it */
    if (is_vector(q))
        mkl_sparse_set_mv_hint(q->m, n, general, MANY_CALLS);
    else
        mkl_sparse_set_mm_hint(q->m, n, general, layout(q), (MKL_INT)q->p.k, MANY_CALLS);
    mkl_sparse_set_memory_hint(q->m, SPARSE_MEMORY_AGGRESSIVE);
    return mkl_sparse_optimize(q->m) == SPARSE_STATUS_SUCCESS ? NULL : "mkl_sparse_optimize failed";
}

static void mkl_end(void *handle)
{
    mkl_product *const q = handle;
    if (q->m) mkl_sparse_destroy(q->m);
}

static const char *mkl_run(void *handle)
{
    const mkl_product *const q = handle;
    const sparse_operation_t n = SPARSE_OPERATION_NON_TRANSPOSE;
    const int f32 = q->p.a->f32;
    const MKL_INT k = (MKL_INT)q->p.k, ldx = (MKL_INT)q->p.ldx, ldy = (MKL_INT)q->p.ldy;
    sparse_status_t status;
    if (f32 && is_vector(q))
        status = mkl_sparse_s_mv(n, 1, q->m, general, q->p.x, 0, q->p.y);
    else if (f32)
        status = mkl_sparse_s_mm(n, 1, q->m, general, layout(q), q->p.x, k, ldx, 0, q->p.y, ldy);
    else if (is_vector(q))
        status = mkl_sparse_d_mv(n, 1, q->m, general, q->p.x, 0, q->p.y);
    else
        status = mkl_sparse_d_mm(n, 1, q->m, general, layout(q), q->p.x, k, ldx, 0, q->p.y, ldy);
    return status == SPARSE_STATUS_SUCCESS ? NULL : "mkl_sparse_mm failed";
}

static const char *mkl_way(const void *handle)
{
    const mkl_product *const q = handle;
    if (is_vector(q)) return q->p.a->f32 ? "mkl_sparse_s_mv" : "mkl_sparse_d_mv";
    return q->p.a->f32 ? "mkl_sparse_s_mm" : "mkl_sparse_d_mm";
}

const peer_adaptor spmm_peer = {.package = "mkl",
                                .forms = forms,
                                .form_count = sizeof forms / sizeof *forms,
                                .product_bytes = sizeof(mkl_product),
                                .open = mkl_open,
                                .begin = mkl_begin,
                                .end = mkl_end,
                                .run = mkl_run,
                                .rebinds = 1,
                                .way = mkl_way};
