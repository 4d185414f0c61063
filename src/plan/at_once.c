/** Products without a plan. */
#include "base/fp_environment.h"
#include "base/memory.h"
#include "base/threads.h"
#include "formats/multivector.h"
#include "kernels/kernel.h"
#include "spmm.h"

static const char function[] = "spmm_rows_apply";

/** The matrix of a product: the caller's arrays, or copies of those whose indices have other widths. */
typedef struct matrix_at_once {
    spmm_csr csr;
    int64_t *irp; /* owned; NULL: csr.irp is the caller's */
    int32_t *ja;  /* owned; NULL: csr.ja is the caller's */
} matrix_at_once;

static int64_t index_at(const void *array, int bytes, int64_t i)
{
    return bytes == 4 ? ((const int32_t *)array)[i] : ((const int64_t *)array)[i];
}

static spmm_status check_operands(const spmm_rows *a, const spmm_multivector *x, const spmm_multivector *y)
{
    TRY(sp_multivector_check_any(x, function, "x"));
    TRY(sp_multivector_check_any(y, function, "y"));
    if (x->k != y->k || x->precision != y->precision)
        return sp_fail(SPMM_ERR_USAGE, "%s: x and y differ in columns or precision, expected the same",
                       function);
    if (x->space != SPMM_CPU || y->space != SPMM_CPU)
        return sp_fail(SPMM_ERR_USAGE, "%s: x or y is in GPU memory, expected host memory", function);
    TRY(sp_multivector_apart(x, y, function, "x", "y"));
    TRY(sp_given(function, "a", a, "the rows of a matrix"));
    TRY(sp_given(function, "a->irp", a->irp, "row starts, [y->rows + 1]"));
    if ((a->irp_bytes != 4 && a->irp_bytes != 8) || (a->ja_bytes != 4 && a->ja_bytes != 8))
        return sp_fail(SPMM_ERR_USAGE, "%s: irp_bytes is %d and ja_bytes %d, expected 4 or 8", function,
                       a->irp_bytes, a->ja_bytes);
    if (a->map || a->first_column != 0 || index_at(a->irp, a->irp_bytes, 0) != 0)
        return sp_fail(SPMM_ERR_USAGE,
                       "%s: a has a map, a first_column or an irp[0] other than 0, expected none of these",
                       function);
    return SPMM_OK;
}

/** Returns 1 if the starts of rows begin .. end do not decrease and are from 0 to nnz, else 0.
 *  \param [out] longest  number of entries of the longest of these rows */
static int check_starts(const spmm_csr *a, int64_t begin, int64_t end, int64_t *longest)
{
    int sound = a->irp[begin] >= 0 && a->irp[end] <= a->nnz;
    *longest = 0;
    for (int64_t i = begin; i < end; i++) {
        const int64_t length = a->irp[i + 1] - a->irp[i];
        sound &= length >= 0;
        if (length > *longest) *longest = length;
    }
    return sound;
}

/** Copies column indices of 64 bits to m->ja. One beyond 32 bits becomes -1, which no matrix has. */
static void take_columns(const spmm_rows *a, int64_t begin, int64_t end, matrix_at_once *m)
{
    const int64_t *const from = a->ja;
    if (!m->ja) return;
    for (int64_t e = begin; e < end; e++) m->ja[e] = from[e] == (int32_t)from[e] ? (int32_t)from[e] : -1;
}

/** Checks the indices, and copies indices of other widths.
 *  \param [out] longest  number of entries of the longest row
 *  \return SPMM_OK, SPMM_ERR_USAGE */
static spmm_status take_indices(const spmm_rows *a, int threads, matrix_at_once *m, int64_t *longest)
{
    enum { ROWS = 1024 };
    const int64_t rows = m->csr.rows;
    int64_t most = 0;
    int starts = 1, columns = 1;
#pragma omp parallel num_threads(threads)
    {
        if (m->irp) {
#pragma omp for schedule(static)
            for (int64_t i = 0; i <= rows; i++) m->irp[i] = ((const int32_t *)a->irp)[i];
        }
#pragma omp for schedule(static) reduction(&& : starts, columns) reduction(max : most)
        for (int64_t begin = 0; begin < rows; begin += ROWS) {
            const int64_t end = rows - begin < ROWS ? rows : begin + ROWS;
            int64_t here;
            if (check_starts(&m->csr, begin, end, &here)) {
                take_columns(a, m->csr.irp[begin], m->csr.irp[end], m);
                columns = columns && sp_csr_rows_sound(&m->csr, begin, end);
            } else {
                starts = 0;
            }
            if (here > most) most = here;
        }
    }
    *longest = most;
    if (starts && columns) return SPMM_OK;
    return starts ? sp_csr_check(&m->csr, threads) : sp_csr_check_starts(&m->csr, threads);
}

static spmm_status take_matrix(const spmm_rows *a, const spmm_multivector *x, const spmm_multivector *y,
                               int threads, matrix_at_once *m, int64_t *longest)
{
    int on_gpu;
    spmm_csr *const csr = &m->csr;
    *csr = (spmm_csr){.rows = y->rows,
                      .cols = x->rows,
                      .nnz = index_at(a->irp, a->irp_bytes, y->rows),
                      .precision = x->precision,
                      .irp = (int64_t *)(uintptr_t)a->irp,
                      .ja = (int32_t *)(uintptr_t)a->ja,
                      .as = (void *)(uintptr_t)a->as};
    TRY(sp_csr_check_sizes(csr));
    TRY(sp_csr_on_gpu(csr, &on_gpu));
    if (on_gpu) return sp_fail(SPMM_ERR_USAGE, "%s: a is in GPU memory, expected host memory", function);
    if (a->irp_bytes == 4) {
        TRY(sp_alloc((void **)&m->irp, csr->rows + 1, sizeof *m->irp, "row starts"));
        csr->irp = m->irp;
    }
    if (a->ja_bytes == 8) {
        TRY(sp_alloc((void **)&m->ja, csr->nnz, sizeof *m->ja, "column indices"));
        csr->ja = m->ja;
    }
    return take_indices(a, threads, m, longest);
}

/** Computes y := a x with the kernel cpu_csr, whose preparation examines few rows.
 *  \param [in] longest  number of entries of the longest row */
static spmm_status multiply(const spmm_csr *a, int64_t longest, const spmm_multivector *x,
                            spmm_multivector *y, int threads)
{
    const sp_kernel_ops *const ops = sp_kernel_find("cpu_csr")->ops;
    sp_matrix view;
    sp_thread_ranges ranges;
    void *state = NULL;
    sp_matrix_view_csr(a, &view);
    TRY(sp_thread_ranges_create_for(a->irp, a->rows, longest, threads, &ranges));
    const sp_setup setup = {.a = &view,
                            .csr = a,
                            .k = x->k,
                            .threads = threads,
                            .most = x->k,
                            .longest = longest > 0 ? longest : 1};
    spmm_status status = ops->prepare(&setup, &state);
    const sp_launch launch = {.a = &view, .ranges = &ranges, .state = state, .x = x, .y = y};
    if (status == SPMM_OK) status = ops->run(&launch);
    ops->release(state);
    sp_thread_ranges_destroy(&ranges);
    return status;
}

/** Computes y := alpha a x + beta y via row-major copies of x and of the product, where these are needed. */
static spmm_status apply_at_once(const spmm_csr *a, int64_t longest, double alpha, const spmm_multivector *x,
                                 double beta, spmm_multivector *y, int threads)
{
    spmm_multivector rows = {.rows = 0}, product = {.rows = 0};
    const spmm_multivector *from = x;
    spmm_status status;
    if (x->layout != SPMM_ROW_MAJOR) {
        TRY(spmm_multivector_create(x->rows, x->k, x->precision, SPMM_CPU, &rows));
        TRY_GOTO(spmm_multivector_copy(x, &rows), done);
        from = &rows;
    }
    if (alpha == 1 && beta == 0 && y->layout == SPMM_ROW_MAJOR) {
        status = multiply(a, longest, from, y, threads);
        goto done;
    }
    TRY_GOTO(spmm_multivector_create(y->rows, y->k, y->precision, SPMM_CPU, &product), done);
    TRY_GOTO(multiply(a, longest, from, &product, threads), done);
    status = sp_multivector_axpby(sp_value_of(alpha, a->precision), &product, sp_value_of(beta, a->precision),
                                  y, threads);
done:
    spmm_multivector_destroy(&rows);
    spmm_multivector_destroy(&product);
    return status;
}

/** Returns the number of threads for a product: the requested one, or one per SHARE of the work, because
 *  starting a thread takes as long as some thousand entries. */
static int threads_for(const spmm_rows *a, const spmm_multivector *x, const spmm_multivector *y, int asked)
{
    enum { SHARE = 1 << 15 };
    const int64_t entries = index_at(a->irp, a->irp_bytes, y->rows);
    const double work = (double)entries * (double)(x->k + 2) + 4.0 * (double)y->rows;
    const int most = sp_threads_of(asked);
    if (asked == 0 && work < (double)SHARE * most) return work > SHARE ? (int)(work / SHARE) : 1;
    return sp_threads_now(most);
}

spmm_status spmm_rows_apply(const spmm_rows *a, double alpha, const spmm_multivector *x, double beta,
                            spmm_multivector *y, int threads)
{
    SP_DEFAULT_FP;
    matrix_at_once m = {.irp = NULL};
    int64_t longest = 0;
    TRY(sp_fork_check(function));
    if (threads != 0) TRY(sp_threads_check("threads", threads));
    TRY(check_operands(a, x, y));
    const int now = threads_for(a, x, y, threads);
    spmm_status status = take_matrix(a, x, y, now, &m, &longest);
    if (status == SPMM_OK && x->k > 0) status = apply_at_once(&m.csr, longest, alpha, x, beta, y, now);
    sp_free(m.irp);
    sp_free(m.ja);
    return status;
}
