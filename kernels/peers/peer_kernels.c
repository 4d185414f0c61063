/** Turns adaptors to other libraries into kernels. A kernel's state, one for each row block, contains an
 *  adaptor's matrix and product. */
#include "kernels/peers/peer_kernels.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/trial.h"
#include "device/device.h"
#include "formats/multivector.h"
#include "kernels/peers/peer_load.h"

typedef struct peer_state {
    const peer_adaptor *peer;
    void *matrix;   /* the adaptor's matrix; the first member is a peer_matrix */
    void *product;  /* the adaptor's product, of the fastest form; the first member is a peer_product */
    int32_t *start; /* row starts in 32 bits; gpu_start: on a GPU, the same in GPU memory */
    void *gpu_start;
    char way[64];
    /* Libraries are not called for a block without entries: the default kernel for CSR multiplies it. */
    const sp_kernel *own;
    void *own_state;
} peer_state;

/* ---- functions that an adaptor for GPUs calls ---- */

static const char *line_of(spmm_status status) { return status == SPMM_OK ? NULL : spmm_error_message(); }
static const char *gpu_alloc(void **p, int64_t bytes)
{
    return line_of(sp_device_alloc(p, bytes, "another library's kernel"));
}
static const char *gpu_upload(void *to, const void *from, int64_t bytes)
{
    return line_of(sp_device_upload(to, from, bytes));
}
static const char *gpu_wait(void) { return line_of(sp_device_sync()); }

static const peer_gpu gpu = {gpu_alloc, sp_device_free, gpu_upload, gpu_wait};

/* ---- set-up ---- */

static spmm_status refused(const peer_state *s, const char *line)
{
    return sp_fail(SPMM_ERR_LIMIT, "%s: %s", s->peer->package,
                   line ? line : "the library has no product for these options");
}

/** Makes the adaptor's matrix from the arrays of this row block. The row starts are converted to 32 bits. */
static spmm_status load_matrix(peer_state *s, const sp_setup *setup)
{
    const spmm_csr *const csr = setup->csr;
    const int on_gpu = setup->a->space == SPMM_CUDA;
    if (csr->nnz > INT32_MAX)
        return sp_fail(SPMM_ERR_LIMIT,
                       "%s supports up to 2^31 - 1 entries, but a block of rows has %lld: use more ranks",
                       s->peer->package, (long long)csr->nnz);
    TRY(sp_alloc((void **)&s->start, csr->rows + 1, sizeof *s->start, "row starts in 32 bits"));
#pragma omp parallel for schedule(static) num_threads(setup->threads)
    for (int64_t i = 0; i <= csr->rows; i++) s->start[i] = (int32_t)csr->irp[i];
    if (on_gpu) {
        const int64_t bytes = (csr->rows + 1) * (int64_t)sizeof *s->start;
        TRY(sp_device_alloc(&s->gpu_start, bytes, "row starts in 32 bits"));
        TRY(sp_device_upload(s->gpu_start, s->start, bytes));
    }
    TRY(sp_alloc_zero(&s->matrix, 1, s->peer->matrix_bytes + sizeof(peer_matrix),
                      "another library's matrix"));
    *(peer_matrix *)s->matrix = (peer_matrix){.f32 = csr->precision == SPMM_F32,
                                              .rows = csr->rows,
                                              .cols = csr->cols,
                                              .nnz = csr->nnz,
                                              .row_start = s->start,
                                              .col = csr->ja,
                                              .val = csr->as,
                                              .all_rows = csr->rows,
                                              .x_rows = csr->cols,
                                              .gpu = on_gpu ? &gpu : NULL,
                                              .gpu_row_start = s->gpu_start,
                                              .gpu_col = on_gpu ? setup->a->col : NULL,
                                              .gpu_val = on_gpu ? setup->a->val : NULL};
    const char *const line = s->peer->load ? s->peer->load(s->matrix) : NULL;
    return line ? refused(s, line) : SPMM_OK;
}

static void end_product(const peer_state *s, void *product)
{
    if (product && s->peer->end) s->peer->end(product);
    sp_free(product);
}

/** Returns 1 if a kernel can use the form for products with this matrix and K: it supports the precision, is
 *  not for distributed matrices, and does not always use several threads. X and Y are row-major; with K = 1
 *  they are column-major, too. */
static int peer_kernels_fits(const peer_form *form, const sp_setup *setup)
{
    return (setup->csr->precision == SPMM_F32 ? form->f32 : form->f64) && form->threads <= 1 &&
           !form->distributed && (form->layout == PEER_ROW || setup->k == 1);
}

/** The forms of an adaptor that are timed, all with the X and Y of `like`. */
typedef struct way_trials {
    const peer_state *s;
    peer_product like;
    const peer_form *form[SP_MOST_TRIED];
} way_trials;

static spmm_status make_product(void *of, int i, void **made)
{
    const way_trials *const t = of;
    TRY(sp_alloc_zero(made, 1, t->s->peer->product_bytes + sizeof t->like, "another library's product"));
    peer_product *const q = *made;
    *q = t->like;
    q->form = t->form[i];
    if (q->form->layout == PEER_COLUMN) q->ldx = q->a->cols, q->ldy = q->a->rows;
    const char *const line = t->s->peer->begin(q);
    return line || q->left_out ? refused(t->s, line) : SPMM_OK;
}

static spmm_status run_product(void *of, void *made)
{
    const way_trials *const t = of;
    const char *const line = t->s->peer->run(made);
    return line ? refused(t->s, line) : SPMM_OK;
}

static spmm_status wait_for_gpu(void *of)
{
    const way_trials *const t = of;
    const char *const line = t->like.a->gpu ? gpu_wait() : NULL;
    return line ? refused(t->s, line) : SPMM_OK;
}

static void destroy_product(void *of, void *made)
{
    const way_trials *const t = of;
    end_product(t->s, made);
}

/** Times the forms, and keeps a product of the fastest one. */
static spmm_status try_forms(peer_state *s, const sp_setup *setup, const peer_product *like)
{
    static const sp_trial_ops ops = {"peer", make_product, run_product, wait_for_gpu, destroy_product, 1};
    way_trials t = {.s = s, .like = *like};
    sp_trial trial = {.count = 0};
    for (int i = 0; i < s->peer->form_count && trial.count < SP_MOST_TRIED; i++)
        if (peer_kernels_fits(&s->peer->forms[i], setup)) {
            t.form[trial.count] = &s->peer->forms[i];
            sp_trial_add(&trial, s->peer->forms[i].contender);
        }
    if (trial.count == 0) return refused(s, NULL);
    TRY(sp_trial_run(NULL, &ops, &t, 0, &trial, &s->product));
    const char *const way = s->peer->way ? s->peer->way(s->product) : t.form[trial.chosen]->contender;
    snprintf(s->way, sizeof s->way, "%s", way);
    return SPMM_OK;
}

/** Makes X and Y of zeros for the trials, of the size that products will have. */
static spmm_status make_operands(const sp_setup *setup, spmm_multivector *x, spmm_multivector *y)
{
    const spmm_csr *const a = setup->csr;
    TRY(spmm_multivector_create(a->cols, setup->k, a->precision, setup->a->space, x));
    TRY(spmm_multivector_create(a->rows, setup->k, a->precision, setup->a->space, y));
    if (x->space == SPMM_CPU) memset(x->data, 0, (size_t)sp_multivector_bytes(x)); /* allocates its pages */
    return SPMM_OK;
}

static spmm_status choose_way(peer_state *s, const sp_setup *setup)
{
    spmm_multivector x = {0}, y = {0};
    spmm_status status = make_operands(setup, &x, &y);
    const peer_product like = {.a = s->matrix,
                               .k = setup->k,
                               .x = x.data,
                               .y = y.data,
                               .ldx = x.ld,
                               .ldy = y.ld,
                               .stream = x.space == SPMM_CUDA ? sp_device_stream(SP_STREAM_MAIN) : NULL};
    if (status == SPMM_OK) status = try_forms(s, setup, &like);
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
    return status;
}

static spmm_status set_up(const char *name, const sp_setup *setup, peer_state *s)
{
    const sp_kernel *const own = sp_kernel_default(setup->a->space, SPMM_CSR);
    TRY(sp_peer_open(name, setup->threads, &s->peer, NULL));
    if (!s->peer->rebinds) return refused(s, "the adaptor cannot multiply again with another X and Y");
    if (setup->csr->nnz > 0) {
        TRY(load_matrix(s, setup));
        return choose_way(s, setup);
    }
    if (own->ops->prepare) TRY(own->ops->prepare(setup, &s->own_state));
    s->own = own;
    return SPMM_OK;
}

static void release(void *state)
{
    peer_state *const s = state;
    if (!s) return;
    end_product(s, s->product);
    if (s->matrix && s->peer->unload) s->peer->unload(s->matrix);
    sp_free(s->matrix);
    sp_free(s->start);
    sp_device_free(s->gpu_start);
    if (s->own && s->own->ops->release) s->own->ops->release(s->own_state);
    sp_free(s);
}

static spmm_status peer_kernels_prepare(const char *name, const sp_setup *setup, void **state)
{
    peer_state *s = NULL;
    *state = NULL;
    TRY(sp_alloc_zero((void **)&s, 1, sizeof *s, "another library's kernel"));
    const spmm_status status = set_up(name, setup, s);
    if (status == SPMM_OK)
        *state = s;
    else
        release(s);
    return status;
}

/** Returns -1: where the library stores copies of the values is unknown, so new values need a new state. */
static int values(void *state, sp_value_copy *copies)
{
    (void)state, (void)copies;
    return -1;
}

/* ---- products ---- */

static spmm_status peer_kernels_run(const sp_launch *launch)
{
    const peer_state *const s = launch->state;
    if (s->own) {
        sp_launch own = *launch;
        own.state = s->own_state;
        return s->own->ops->run(&own);
    }
    peer_product *const q = s->product;
    const int row = q->form->layout == PEER_ROW;
    if (!row && (launch->x->ld != 1 || launch->y->ld != 1))
        return sp_fail(SPMM_ERR_UNSUPPORTED,
                       "%s: found a vector with a leading dimension above 1, expected 1", s->peer->package);
    q->x = launch->x->data;
    q->y = launch->y->data;
    if (row) q->ldx = launch->x->ld, q->ldy = launch->y->ld;
    q->stream = launch->stream;
    const char *const line = s->peer->run(q);
    return line ? sp_fail(SPMM_ERR_DEVICE, "%s: %.400s", s->peer->package, line) : SPMM_OK;
}

/* ---- the registry ---- */

#define PEER(id, device, library, what)                                  \
    static spmm_status prepare_##id(const sp_setup *setup, void **state) \
    {                                                                    \
        return peer_kernels_prepare(#id, setup, state);                  \
    }                                                                    \
    static const sp_kernel_ops id##_ops = {peer_kernels_run, prepare_##id, release, values, NULL, NULL};
#include "kernels/peers/peers.def"
#undef PEER

void sp_peer_kernels_add(void)
{
    static const sp_kernel kernels[] = {
#define PEER(id, device, library, what) \
    {#id, SPMM_##device, SPMM_CSR, SP_TYPES_REAL, SP_EXACT_NO, SP_AUTO_NO, NULL, what, &id##_ops, library},
#include "kernels/peers/peers.def"
#undef PEER
    };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) sp_kernels_add(&kernels[i]);
}

int sp_peer_kernel_found(const sp_kernel *kernel, char *path, size_t size)
{
    return sp_peer_find(kernel->id, path, size);
}

spmm_status sp_peer_kernel_open(const sp_kernel *kernel, int threads, const char **version)
{
    const peer_adaptor *p;
    return sp_peer_open(kernel->id, threads, &p, version);
}

const char *sp_peer_kernel_way(const void *state)
{
    const peer_state *const s = state;
    return !s ? "" : s->own ? s->own->id : s->way;
}
