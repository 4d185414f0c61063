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

/** MKL's functions for a type of values, whose arrays it never changes, so that const may be cast away. */
typedef struct mkl_type {
    sparse_status_t (*create)(mkl_product *q);
    sparse_status_t (*run)(const mkl_product *q);
    const char *mv, *mm;
} mkl_type;

static sparse_layout_t layout(const mkl_product *q)
{
    return q->p.form->layout == PEER_ROW ? SPARSE_LAYOUT_ROW_MAJOR : SPARSE_LAYOUT_COLUMN_MAJOR;
}

static int is_vector(const mkl_product *q) { return q->p.k == 1 && q->p.form->layout == PEER_COLUMN; }

#define FUNCTIONS(letter, T, one, zero)                                                                      \
    static sparse_status_t create_##letter(mkl_product *q)                                                   \
    {                                                                                                        \
        const peer_matrix *const a = q->p.a;                                                                 \
        int32_t *const start = (int32_t *)a->row_start, *const col = (int32_t *)a->col;                      \
        return mkl_sparse_##letter##_create_csr(&q->m, SPARSE_INDEX_BASE_ZERO, (MKL_INT)a->rows,             \
                                                (MKL_INT)a->cols, start, start + 1, col, (T *)a->val);       \
    }                                                                                                        \
    static sparse_status_t run_##letter(const mkl_product *q)                                                \
    {                                                                                                        \
        const T *const x = q->p.x;                                                                           \
        const sparse_operation_t n = SPARSE_OPERATION_NON_TRANSPOSE;                                         \
        return is_vector(q) ? mkl_sparse_##letter##_mv(n, one, q->m, general, x, zero, q->p.y)               \
                            : mkl_sparse_##letter##_mm(n, one, q->m, general, layout(q), x, (MKL_INT)q->p.k, \
                                                       (MKL_INT)q->p.ldx, zero, q->p.y, (MKL_INT)q->p.ldy);  \
    }
FUNCTIONS(d, double, 1, 0)
FUNCTIONS(s, float, 1, 0)
FUNCTIONS(z, MKL_Complex16, ((MKL_Complex16){1, 0}), ((MKL_Complex16){0, 0}))
FUNCTIONS(c, MKL_Complex8, ((MKL_Complex8){1, 0}), ((MKL_Complex8){0, 0}))

#define TYPE(letter)                                                                            \
    {                                                                                           \
        create_##letter, run_##letter, "mkl_sparse_" #letter "_mv", "mkl_sparse_" #letter "_mm" \
    }
static const mkl_type *type_of(const mkl_product *q)
{
    static const mkl_type types[2][2] = {{TYPE(d), TYPE(s)}, {TYPE(z), TYPE(c)}};
    return &types[q->p.a->is_complex][q->p.a->f32];
}

static const char *mkl_begin(void *handle)
{
    mkl_product *const q = handle;
    if (type_of(q)->create(q) != SPARSE_STATUS_SUCCESS) return "mkl_sparse_create_csr failed";
    const sparse_operation_t n = SPARSE_OPERATION_NON_TRANSPOSE;
    /* an unsupported hint is not an error: MKL then optimizes without it */
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
    return type_of(handle)->run(handle) == SPARSE_STATUS_SUCCESS ? NULL : "mkl_sparse_mm failed";
}

static const char *mkl_way(const void *handle)
{
    return is_vector(handle) ? type_of(handle)->mv : type_of(handle)->mm;
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
                                .complex_values = 1,
                                .way = mkl_way};
