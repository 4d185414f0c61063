/* librsb: rsb_spmm, row-major and column-major. The threads are set before the matrix is assembled. */
#include <rsb.h>
#include <stdio.h>

#include "kernels/peers/peer.h"

typedef struct matrix {
    peer_matrix a;
    struct rsb_mtx_t *m;
} matrix;

static const peer_form forms[] = {{"librsb", PEER_ROW, 1, 1, 0, 0}, {"librsb", PEER_COLUMN, 1, 1, 0, 0}};

static const char *open_rsb(int threads, const char *folder, char *version, size_t size)
{
    rsb_int_t executing = threads;
    (void)folder;
    if (rsb_lib_init(RSB_NULL_INIT_OPTIONS) != RSB_ERR_NO_ERROR) return "rsb_lib_init failed";
    if (rsb_lib_set_opt(RSB_IO_WANT_EXECUTING_THREADS, &executing) != RSB_ERR_NO_ERROR)
        return "cannot set its threads";
    snprintf(version, size, "librsb %s", RSB_LIBRSB_VER_STRING);
    return NULL;
}

static const char *load_rsb(void *handle)
{
    rsb_err_t error = RSB_ERR_NO_ERROR;
    matrix *const m = handle;
    const peer_matrix *const a = &m->a;
    m->m = rsb_mtx_alloc_from_csr_const(a->val, a->row_start, a->col, (rsb_nnz_idx_t)a->nnz,
                                        a->f32 ? RSB_NUMERICAL_TYPE_FLOAT : RSB_NUMERICAL_TYPE_DOUBLE,
                                        (rsb_coo_idx_t)a->rows, (rsb_coo_idx_t)a->cols, RSB_DEFAULT_BLOCKING,
                                        RSB_DEFAULT_BLOCKING, RSB_FLAG_NOFLAGS, &error);
    return m->m && error == RSB_ERR_NO_ERROR ? NULL : "rsb_mtx_alloc_from_csr_const failed";
}

static void unload_rsb(void *handle)
{
    matrix *const m = handle;
    if (m->m) rsb_mtx_free(m->m);
}

static const char *begin_rsb(void *handle) { return (void)handle, NULL; }

static const char *run_rsb(void *handle)
{
    const peer_product *const q = handle;
    const double one = 1, zero = 0;
    const float one_f32 = 1, zero_f32 = 0;
    const int row = q->form->layout == PEER_ROW, f32 = q->a->f32;
    const void *const alpha = f32 ? (const void *)&one_f32 : &one;
    const void *const beta = f32 ? (const void *)&zero_f32 : &zero;
    const rsb_err_t error = rsb_spmm(RSB_TRANSPOSITION_N, alpha, ((const matrix *)q->a)->m,
                                     (rsb_coo_idx_t)q->k,
                                     row ? RSB_FLAG_WANT_ROW_MAJOR_ORDER : RSB_FLAG_WANT_COLUMN_MAJOR_ORDER,
                                     q->x, q->ldx, beta, q->y, q->ldy);
    return error == RSB_ERR_NO_ERROR ? NULL : "rsb_spmm failed";
}

static void close_rsb(void) { rsb_lib_exit(RSB_NULL_EXIT_OPTIONS); }

const peer_adaptor spmm_peer = {.package = "librsb",
                                .forms = forms,
                                .form_count = sizeof forms / sizeof *forms,
                                .matrix_bytes = sizeof(matrix),
                                .open = open_rsb,
                                .load = load_rsb,
                                .unload = unload_rsb,
                                .begin = begin_rsb,
                                .run = run_rsb,
                                .close = close_rsb};
