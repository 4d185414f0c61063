/** Products without a plan (spmm_rows_apply), and copying a matrix to GPU memory (spmm_csr_upload). */
#include "base/enum_words.h"
#include "base/fp_environment.h"
#include "base/memory.h"
#include "base/threads.h"
#include "device/device.h"
#include "device/device_ops.h"
#include "formats/multivector.h"
#include "kernels/kernel.h"
#include "spmm_extended.h"

static const char function[] = "spmm_rows_apply";

/** The matrix of a product: the caller's arrays, or copies of those whose indices have other widths. */
typedef struct matrix_at_once {
    spmm_device space;
    spmm_csr csr;
    int64_t *irp;    /* owned; NULL: csr.irp is the caller's */
    int32_t *ja;     /* owned; NULL: csr.ja is the caller's */
    int64_t longest; /* number of entries of the longest row */
    int threads;     /* 1 on a GPU */
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
    if (x->space != y->space)
        return sp_fail(SPMM_ERR_USAGE, "%s: x is in %s memory and y in %s memory, expected the same",
                       function, sp_memory_word(x->space), sp_memory_word(y->space));
    TRY(sp_multivector_apart(x, y, function, "x", "y"));
    TRY(sp_given(function, "a", a, "the rows of a matrix"));
    TRY(sp_given(function, "a->irp", a->irp, "row starts, [y->rows + 1]"));
    if ((a->irp_bytes != 4 && a->irp_bytes != 8) || (a->ja_bytes != 4 && a->ja_bytes != 8))
        return sp_fail(SPMM_ERR_USAGE, "%s: irp_bytes is %d and ja_bytes %d, expected 4 or 8", function,
                       a->irp_bytes, a->ja_bytes);
    if (a->map || a->first_column != 0)
        return sp_fail(SPMM_ERR_USAGE, "%s: a has a map or a first_column other than 0, expected neither",
                       function);
    const void *const array[] = {a->irp, a->ja, a->as};
    for (int i = 0; i < 3; i++) {
        const sp_reach reach = array[i] ? sp_device_reach(array[i]) : SP_REACH_ANY;
        if (reach == (x->space == SPMM_CUDA ? SP_REACH_HOST : SP_REACH_GPU))
            return sp_fail(SPMM_ERR_USAGE, "%s: a is in %s memory and x in %s memory, expected the same",
                           function, sp_memory_word(x->space == SPMM_CUDA ? SPMM_CPU : SPMM_CUDA),
                           sp_memory_word(x->space));
    }
    return SPMM_OK;
}

/** Checks the number of entries that follows from the row starts. */
static spmm_status check_entries(const spmm_rows *a, const spmm_csr *csr)
{
    TRY(sp_csr_check_sizes(csr));
    if (a->nnz == 0 || csr->nnz <= a->nnz) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE, "%s: the row starts end with %lld, expected at most a->nnz = %lld",
                   function, (long long)csr->nnz, (long long)a->nnz);
}

/* ---- host memory ---- */

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

/** Checks the indices, copies indices of other widths, and finds the longest row.
 *  \return SPMM_OK, SPMM_ERR_USAGE */
static spmm_status take_indices(const spmm_rows *a, matrix_at_once *m)
{
    enum { ROWS = 1024 };
    const int64_t rows = m->csr.rows;
    int64_t most = 0;
    int starts = 1, columns = 1;
#pragma omp parallel num_threads(m->threads)
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
    m->longest = most;
    if (starts && columns) return SPMM_OK;
    return starts ? sp_csr_check(&m->csr, m->threads) : sp_csr_check_starts(&m->csr, m->threads);
}

static spmm_status take_on_host(const spmm_rows *a, matrix_at_once *m)
{
    spmm_csr *const csr = &m->csr;
    if (index_at(a->irp, a->irp_bytes, 0) != 0)
        return sp_fail(SPMM_ERR_USAGE, "%s: a->irp[0] is %lld, expected 0", function,
                       (long long)index_at(a->irp, a->irp_bytes, 0));
    csr->nnz = index_at(a->irp, a->irp_bytes, csr->rows);
    TRY(check_entries(a, csr));
    if (a->irp_bytes == 4) {
        TRY(sp_alloc((void **)&m->irp, csr->rows + 1, sizeof *m->irp, "row starts"));
        csr->irp = m->irp;
    }
    if (a->ja_bytes == 8) {
        TRY(sp_alloc((void **)&m->ja, csr->nnz, sizeof *m->ja, "column indices"));
        csr->ja = m->ja;
    }
    return take_indices(a, m);
}

/* ---- GPU memory ---- */

static spmm_status check_sound(const char *name, const sp_rows_facts *found, int64_t cols)
{
    if (!found->starts_sound)
        return sp_fail(SPMM_ERR_USAGE, "%s: found row starts that do not begin with 0, or decrease", name);
    if (found->in_range && found->increasing) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE,
                   "%s: found column indices that do not increase in a row, or are outside 0 to %lld", name,
                   (long long)cols - 1);
}

static spmm_status take_on_gpu(const spmm_rows *a, matrix_at_once *m)
{
    spmm_csr *const csr = &m->csr;
    sp_rows_facts found;
    if (a->irp_bytes == 4)
        TRY(sp_device_alloc((void **)&m->irp, (csr->rows + 1) * (int64_t)sizeof *m->irp, "row starts"));
    TRY(sp_cuda_check_rows(a, csr->rows, csr->cols, m->irp, &found));
    csr->nnz = found.starts_sound ? found.nnz : 0;
    m->longest = found.longest;
    TRY(check_entries(a, csr));
    TRY(check_sound(function, &found, csr->cols));
    if (m->irp) csr->irp = m->irp;
    if (a->ja_bytes == 4) return SPMM_OK;
    TRY(sp_device_alloc((void **)&m->ja, csr->nnz * (int64_t)sizeof *m->ja, "column indices"));
    csr->ja = m->ja;
    return sp_cuda_narrow_columns(a->ja, csr->nnz, m->ja);
}

/* ---- both ---- */

static spmm_status take_matrix(const spmm_rows *a, const spmm_multivector *x, const spmm_multivector *y,
                               matrix_at_once *m)
{
    m->csr = (spmm_csr){.rows = y->rows,
                        .cols = x->rows,
                        .precision = x->precision,
                        .irp = (int64_t *)(uintptr_t)a->irp,
                        .ja = (int32_t *)(uintptr_t)a->ja,
                        .as = (void *)(uintptr_t)a->as};
    return m->space == SPMM_CUDA ? take_on_gpu(a, m) : take_on_host(a, m);
}

static void drop_matrix(matrix_at_once *m)
{
    void (*const drop)(void *) = m->space == SPMM_CUDA ? sp_device_free : sp_free;
    drop(m->irp);
    drop(m->ja);
}

/** Computes y := a x with a kernel whose preparation examines few rows. On a GPU queues it. */
static spmm_status multiply(const matrix_at_once *m, const spmm_multivector *x, spmm_multivector *y)
{
    const int on_gpu = m->space == SPMM_CUDA;
    const sp_kernel_ops *const ops = sp_kernel_find(on_gpu ? "csr_rows" : "cpu_csr")->ops;
    sp_matrix view;
    sp_thread_ranges ranges = {0};
    void *state = NULL;
    sp_matrix_view_csr(&m->csr, &view);
    view.space = m->space;
    if (!on_gpu) TRY(sp_thread_ranges_create_for(m->csr.irp, m->csr.rows, m->longest, m->threads, &ranges));
    const sp_setup setup = {.a = &view,
                            .csr = on_gpu ? NULL : &m->csr,
                            .k = x->k,
                            .threads = m->threads,
                            .most = x->k,
                            .longest = m->longest > 0 ? m->longest : 1};
    spmm_status status = ops->prepare(&setup, &state);
    const sp_launch launch = {.a = &view,
                              .ranges = on_gpu ? NULL : &ranges,
                              .state = state,
                              .x = x,
                              .y = y,
                              .stream = on_gpu ? sp_device_stream(SP_STREAM_MAIN) : NULL};
    if (status == SPMM_OK) status = ops->run(&launch);
    ops->release(state);
    sp_thread_ranges_destroy(&ranges);
    return status;
}

/** Computes y := alpha a x + beta y via row-major copies of x and of the product if these are needed. */
static spmm_status apply_at_once(const matrix_at_once *m, double alpha, const spmm_multivector *x,
                                 double beta, spmm_multivector *y)
{
    const spmm_precision precision = m->csr.precision;
    spmm_multivector rows = {.rows = 0}, product = {.rows = 0};
    const spmm_multivector *from = x;
    spmm_status status;
    if (x->layout != SPMM_ROW_MAJOR) {
        TRY(spmm_multivector_create(x->rows, x->k, precision, m->space, &rows));
        TRY_GOTO(spmm_multivector_copy(x, &rows), done);
        from = &rows;
    }
    if (alpha == 1 && beta == 0 && y->layout == SPMM_ROW_MAJOR) {
        status = multiply(m, from, y);
        goto done;
    }
    TRY_GOTO(spmm_multivector_create(y->rows, y->k, precision, m->space, &product), done);
    TRY_GOTO(multiply(m, from, &product), done);
    status = sp_multivector_axpby(sp_value_of(alpha, precision), &product, sp_value_of(beta, precision), y,
                                  m->threads);
done:
    if (status == SPMM_OK && m->space == SPMM_CUDA) status = sp_device_sync();
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
    matrix_at_once m = {.threads = 1};
    TRY(sp_fork_check(function));
    if (threads != 0) TRY(sp_threads_check("threads", threads));
    TRY(check_operands(a, x, y));
    m.space = x->space;
    if (m.space == SPMM_CPU) m.threads = threads_for(a, x, y, threads);
    spmm_status status = take_matrix(a, x, y, &m);
    if (status == SPMM_OK && x->k > 0) status = apply_at_once(&m, alpha, x, beta, y);
    drop_matrix(&m);
    return status;
}

/* ---- copies ---- */

/** Copies the arrays of a matrix, and checks the copy. */
static spmm_status upload_all(const spmm_csr *a, spmm_csr *gpu)
{
    sp_matrix view, there;
    sp_rows_facts found;
    sp_matrix_view_csr(a, &view);
    TRY(sp_matrix_upload(&view, &there));
    gpu->irp = there.row_start;
    gpu->ja = there.col;
    gpu->as = there.val;
    const spmm_rows rows = {
        .irp = gpu->irp, .ja = gpu->ja, .as = gpu->as, .irp_bytes = 8, .ja_bytes = 4, .nnz = a->nnz};
    TRY(sp_cuda_check_rows(&rows, a->rows, a->cols, NULL, &found));
    return check_sound("spmm_csr_upload", &found, a->cols);
}

spmm_status spmm_csr_upload(const spmm_csr *a, spmm_csr *gpu)
{
    SP_DEFAULT_FP;
    TRY(sp_given(__func__, "gpu", gpu, "a place for the matrix"));
    *gpu = (spmm_csr){0};
    TRY(sp_given(__func__, "a", a, "a matrix"));
    TRY(sp_csr_check_sizes(a));
    *gpu = (spmm_csr){a->rows, a->cols, a->nnz, a->precision, NULL, NULL, NULL};
    const spmm_status status = upload_all(a, gpu);
    if (status != SPMM_OK) spmm_csr_destroy(gpu);
    return status;
}
