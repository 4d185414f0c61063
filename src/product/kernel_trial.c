/** Times kernels on the row blocks of a plan. */
#include "product/choose.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "formats/multivector.h"

/** A trial is worth its time only if all expected products take at least this many seconds: converting for
 *  two more kernels takes a millisecond or more, and the trial may save about a tenth of the time of the
 *  products. */
static const double WORTH = 2e-3;

typedef struct timed_kernels {
    const sp_kernel_trial *t;
    const sp_row_blocks *found; /* the row blocks before conversion */
    spmm_multivector x, y;
} timed_kernels;

static spmm_status kernel_trial_make(void *of, int i, void **made)
{
    const timed_kernels *const d = of;
    const sp_kernel_trial *const t = d->t;
    sp_row_blocks *blocks = NULL;
    spmm_status status = sp_alloc((void **)&blocks, 1, sizeof *blocks, "row blocks");
    if (status == SPMM_OK) {
        *blocks = *d->found;
        status = sp_row_blocks_create(t->a, t->list[i], t->k, t->most, t->conversion, t->threads, t->shape,
                                      blocks);
    }
    *made = blocks;
    return sp_agree(t->comm, "convert", status);
}

static spmm_status kernel_trial_run(void *of, void *made)
{
    timed_kernels *const d = of;
    const sp_row_blocks *const blocks = made;
    return sp_row_blocks_run(blocks, 0, blocks->count, d->t->shape, 0, &d->x, &d->y, SP_STREAM_MAIN);
}

static spmm_status wait_for_gpu(void *of)
{
    const timed_kernels *const d = of;
    return d->x.space == SPMM_CUDA ? sp_device_sync() : SPMM_OK;
}

static void kernel_trial_destroy(void *of, void *made)
{
    (void)of;
    if (!made) return;
    sp_row_blocks_destroy(made);
    sp_free(made);
}

/** Allocates X and Y for a kernel launch. On a CPU, X gets random values; on a GPU, X keeps the zeros that
 *  spmm_multivector_create() writes. */
static spmm_status make_x_and_y(timed_kernels *d, spmm_device space)
{
    const sp_kernel_trial *const t = d->t;
    const spmm_csr *const a = t->a;
    TRY(spmm_multivector_create(a->cols, t->k, a->precision, space, &d->x));
    TRY(spmm_multivector_create(a->rows, t->k, a->precision, space, &d->y));
    if (space == SPMM_CPU) sp_multivector_generate(&d->x, SP_X_UNIFORM, 1, 0, t->threads);
    return SPMM_OK;
}

static spmm_status compare(const sp_kernel_trial *t, sp_row_blocks *parts, sp_trial *trial)
{
    static const sp_trial_ops ops = {"convert",    kernel_trial_make,    kernel_trial_run,
                                     wait_for_gpu, kernel_trial_destroy, 0};
    timed_kernels d = {.t = t, .found = parts};
    void *best = NULL;
    sp_kernel_trial own = *t;
    const sp_together all = sp_ranks_together(&own.comm);
    int count = t->count;
    *trial = (sp_trial){.count = 0};
    if (count > 1) {
        int there;
        const spmm_status lacks = make_x_and_y(&d, t->list[0]->device);
        TRY(sp_all(t->comm, lacks == SPMM_OK, &there));
        if (!there) count = 1;
    }
    for (int i = 0; i < count; i++) sp_trial_add(trial, t->list[i]->id);
    const spmm_status status = sp_trial_run(&all, &ops, &d, WORTH / t->products, trial, &best);
    spmm_multivector_destroy(&d.x);
    spmm_multivector_destroy(&d.y);
    TRY(status);
    *parts = *(sp_row_blocks *)best;
    sp_free(best);
    return SPMM_OK;
}

/** Cuts a share of the rows out of `a`, from its middle. The least of their columns becomes column 0.
 *  \param [out] sample  shares the values of a
 *  \return 1; 0 if memory is lacking, or if these rows may not be typical, because they have more or fewer
 *            entries than the others, or more columns than neighbors in a mesh have */
static int cut_sample(const spmm_csr *a, double share, int threads, spmm_csr *sample)
{
    const int64_t rows = (int64_t)(share * (double)a->rows), *const start = a->irp + (a->rows - rows) / 2,
                  nnz = start[rows] - start[0];
    const int32_t *const ja = a->ja + start[0];
    int32_t least = INT32_MAX, most = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(min : least) reduction(max : most)
    for (int64_t e = 0; e < nnz; e++) {
        least = ja[e] < least ? ja[e] : least;
        most = ja[e] > most ? ja[e] : most;
    }
    *sample = (spmm_csr){.rows = rows, .cols = most - least + 1, .nnz = nnz, .precision = a->precision};
    if ((double)sample->cols >= 2 * share * (double)a->cols ||
        fabs((double)nnz - share * (double)a->nnz) >= share * (double)a->nnz / 4 ||
        sp_alloc((void **)&sample->irp, rows + 1, sizeof *sample->irp, "a sample of rows") != SPMM_OK ||
        sp_alloc((void **)&sample->ja, nnz, sizeof *sample->ja, "a sample of rows") != SPMM_OK)
        return 0;
    sample->as = (char *)a->as + start[0] * sp_value_size(a->precision);
    for (int64_t i = 0; i <= rows; i++) sample->irp[i] = start[i] - start[0];
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t e = 0; e < nnz; e++) sample->ja[e] = ja[e] - least;
    return 1;
}

spmm_status sp_kernel_trial_run(const sp_kernel_trial *t, sp_row_blocks *parts, sp_trial *trial)
{
    enum { SAMPLE = 1 << 21 }; /* entries per thread */
    double entries[2] = {(double)t->threads * SAMPLE, (double)t->a->nnz};
    sp_kernel_trial some = *t;
    sp_trial untimed;
    spmm_csr rows = {0};
    int sampled = 0;
    if (t->count == 1 || t->list[0]->device != SPMM_CPU || isinf(t->products))
        return compare(t, parts, trial);
    TRY(sp_sum(t->comm, entries, 2));
    const double share = entries[0] / entries[1];
    if (share < 0.5) TRY(sp_all(t->comm, cut_sample(t->a, share, t->threads, &rows), &sampled));
    sp_row_blocks blocks = {.count = 1, .part[0].rows = rows.rows};
    some.a = &rows;
    const spmm_status status = sampled ? compare(&some, &blocks, trial) : compare(t, parts, trial);
    sp_row_blocks_destroy(&blocks);
    sp_free(rows.irp);
    sp_free(rows.ja);
    if (status != SPMM_OK || !sampled) return status;
    for (int i = 0; i < trial->count; i++) trial->tried[i].seconds /= share;
    some.a = t->a;
    some.list = &t->list[trial->chosen];
    some.count = 1;
    return compare(&some, parts, &untimed);
}

int sp_kernel_trial_pays(const sp_kernel_trial *t, double seconds) { return seconds >= WORTH / t->products; }

spmm_status sp_kernel_trial_time(const sp_kernel_trial *t, sp_row_blocks *parts, double *seconds)
{
    static const sp_trial_ops ops = {.stage = "convert", .run = kernel_trial_run, .wait = wait_for_gpu};
    timed_kernels d = {.t = t};
    MPI_Comm comm = t->comm;
    const sp_together all = sp_ranks_together(&comm);
    spmm_status status = sp_agree(t->comm, "convert", make_x_and_y(&d, parts->kernel->device));
    if (status == SPMM_OK) status = sp_trial_time(&all, &ops, &d, parts, seconds);
    spmm_multivector_destroy(&d.x);
    spmm_multivector_destroy(&d.y);
    return status;
}
