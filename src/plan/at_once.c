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

/** Copies row starts of 32 bits to 64. */
static spmm_status widen_starts(const int32_t *from, int64_t count, int threads, int64_t **to)
{
    TRY(sp_alloc((void **)to, count, sizeof **to, "row starts"));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < count; i++) (*to)[i] = from[i];
    return SPMM_OK;
}

/** Copies column indices of 64 bits to 32. An index beyond 32 bits becomes -1, which no matrix has. */
static spmm_status narrow_columns(const int64_t *from, int64_t count, int threads, int32_t **to)
{
    TRY(sp_alloc((void **)to, count, sizeof **to, "column indices"));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t e = 0; e < count; e++) (*to)[e] = from[e] == (int32_t)from[e] ? (int32_t)from[e] : -1;
    return SPMM_OK;
}

static spmm_status take_matrix(const spmm_rows *a, const spmm_multivector *x, const spmm_multivector *y,
                               int threads, matrix_at_once *m)
{
    int on_gpu;
    m->csr = (spmm_csr){.rows = y->rows,
                        .cols = x->rows,
                        .nnz = index_at(a->irp, a->irp_bytes, y->rows),
                        .precision = x->precision,
                        .irp = (int64_t *)(uintptr_t)a->irp,
                        .ja = (int32_t *)(uintptr_t)a->ja,
                        .as = (void *)(uintptr_t)a->as};
    TRY(sp_csr_on_gpu(&m->csr, &on_gpu));
    if (on_gpu) return sp_fail(SPMM_ERR_USAGE, "%s: a is in GPU memory, expected host memory", function);
    if (a->irp_bytes == 4) TRY(widen_starts(a->irp, y->rows + 1, threads, &m->irp));
    if (m->irp) m->csr.irp = m->irp;
    TRY(sp_csr_check_starts(&m->csr, threads));
    if (a->ja_bytes == 8) TRY(narrow_columns(a->ja, m->csr.nnz, threads, &m->ja));
    if (m->ja) m->csr.ja = m->ja;
    return sp_csr_check(&m->csr, threads);
}

/** Computes y := a x with the kernel cpu_csr, whose preparation examines row starts alone. */
static spmm_status multiply(const spmm_csr *a, const spmm_multivector *x, spmm_multivector *y, int threads)
{
    const sp_kernel_ops *const ops = sp_kernel_find("cpu_csr")->ops;
    sp_matrix view;
    sp_thread_ranges ranges;
    void *state = NULL;
    sp_matrix_view_csr(a, &view);
    TRY(sp_thread_ranges_create_by(a->irp, a->rows, threads, threads, &ranges));
    const sp_setup setup = {.a = &view, .csr = a, .k = x->k, .threads = threads, .most = x->k, .brief = 1};
    spmm_status status = ops->prepare(&setup, &state);
    const sp_launch launch = {.a = &view, .ranges = &ranges, .state = state, .x = x, .y = y};
    if (status == SPMM_OK) status = ops->run(&launch);
    ops->release(state);
    sp_thread_ranges_destroy(&ranges);
    return status;
}

/** Computes y := alpha a x + beta y via row-major copies of x and of the product, where these are needed. */
static spmm_status apply_at_once(const spmm_csr *a, double alpha, const spmm_multivector *x, double beta,
                                 spmm_multivector *y, int threads)
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
        status = multiply(a, from, y, threads);
        goto done;
    }
    TRY_GOTO(spmm_multivector_create(y->rows, y->k, y->precision, SPMM_CPU, &product), done);
    TRY_GOTO(multiply(a, from, &product, threads), done);
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
    TRY(sp_fork_check(function));
    if (threads != 0) TRY(sp_threads_check("threads", threads));
    TRY(check_operands(a, x, y));
    const int now = threads_for(a, x, y, threads);
    spmm_status status = take_matrix(a, x, y, now, &m);
    if (status == SPMM_OK && x->k > 0) status = apply_at_once(&m.csr, alpha, x, beta, y, now);
    sp_free(m.irp);
    sp_free(m.ja);
    return status;
}
