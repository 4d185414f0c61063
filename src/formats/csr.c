/** Creates, checks and copies CSR matrices, and builds them from a caller's triplets. */
#include "formats/csr.h"

#include <string.h>

#include "base/status.h"
#include "base/memory.h"
#include "base/threads.h"
#include "device/device.h"

spmm_status sp_csr_create(int64_t rows, int64_t cols, int64_t nnz, spmm_precision precision, spmm_csr *a)
{
    memset(a, 0, sizeof *a);
    if (rows < 0 || cols < 0 || nnz < 0)
        return sp_fail(SPMM_ERR_USAGE,
                       "a matrix of %lld x %lld with %lld entries: expected no negative number",
                       (long long)rows, (long long)cols, (long long)nnz);
    if (cols > INT32_MAX || rows == INT64_MAX)
        return sp_fail(SPMM_ERR_LIMIT, "a matrix of %lld x %lld: expected fewer than 2^31 columns",
                       (long long)rows, (long long)cols);
    *a = (spmm_csr){.rows = rows, .cols = cols, .nnz = nnz, .precision = precision};
    spmm_status status = SPMM_OK;
    TRY_GOTO(sp_alloc((void **)&a->irp, rows + 1, sizeof *a->irp, "row starts"), done);
    TRY_GOTO(sp_alloc((void **)&a->ja, nnz, sizeof *a->ja, "column indices"), done);
    TRY_GOTO(sp_alloc(&a->as, nnz, sp_value_size(precision), "values"), done);
    memset(a->irp, 0,
           (size_t)(rows + 1) * sizeof *a->irp); /* last, so that a failed allocation touches no page */
done:
    if (status != SPMM_OK) spmm_csr_destroy(a);
    return status;
}

spmm_status sp_csr_on_gpu(const spmm_csr *a, int *on_gpu)
{
    const void *const array[] = {a->irp, a->nnz > 0 ? a->ja : NULL, a->nnz > 0 ? a->as : NULL};
    static const char *const name[] = {"irp", "ja", "as"};
    int first = -1;
    *on_gpu = 0;
    for (int i = 0; i < 3; i++) {
        const int here = array[i] && sp_device_reach(array[i]) == SP_REACH_GPU;
        if (!array[i]) continue;
        if (first >= 0 && here != *on_gpu)
            return sp_fail(
                SPMM_ERR_USAGE,
                "csr.%s is in %s memory, but csr.%s is not: expected all arrays in the same memory",
                name[here ? i : first], "GPU", name[here ? first : i]);
        if (first < 0) first = i;
        *on_gpu = here;
    }
    return SPMM_OK;
}

spmm_status sp_csr_download(const spmm_csr *a, spmm_csr *b)
{
    spmm_status status;
    TRY(sp_csr_create(a->rows, a->cols, a->nnz, a->precision, b));
    TRY_GOTO(sp_device_download(b->irp, a->irp, (a->rows + 1) * (int64_t)sizeof *a->irp), failed);
    TRY_GOTO(sp_device_download(b->ja, a->ja, a->nnz * (int64_t)sizeof *a->ja), failed);
    TRY_GOTO(sp_device_download(b->as, a->as, a->nnz * sp_value_size(a->precision)), failed);
    return SPMM_OK;
failed:
    spmm_csr_destroy(b);
    return status;
}

void spmm_csr_destroy(spmm_csr *a)
{
    if (!a) return;
    const int on_gpu = a->irp && sp_device_reach(a->irp) == SP_REACH_GPU;
    void (*const drop)(void *) = on_gpu ? sp_device_free : sp_free;
    drop(a->irp);
    drop(a->ja);
    drop(a->as);
    memset(a, 0, sizeof *a);
}

int64_t sp_csr_bytes(const spmm_csr *a)
{
    return 8 * (a->rows + 1) + a->nnz * (4 + sp_value_size(a->precision));
}

double sp_csr_bytes_of(const sp_sizes *s, spmm_precision precision)
{
    return 8 * ((double)s->rows + 1) + (double)s->entries * (4 + (double)sp_value_size(precision));
}

spmm_status sp_csr_check_sizes(const spmm_csr *a)
{
    if (a->rows < 0 || a->nnz < 0 || a->cols < 0 || a->cols > INT32_MAX)
        return sp_fail(
            SPMM_ERR_USAGE,
            "a CSR matrix of %lld x %lld with %lld entries: expected no negative number, and fewer than "
            "2^31 columns",
            (long long)a->rows, (long long)a->cols, (long long)a->nnz);
    TRY(sp_precision_check("a CSR matrix", a->precision));
    TRY(sp_given("a CSR matrix", "irp", a->irp, "row starts, [rows + 1]"));
    if (a->nnz == 0) return SPMM_OK;
    TRY(sp_given("a CSR matrix", "ja", a->ja, "column indices, [nnz]"));
    return sp_given("a CSR matrix", "as", a->as, "values, [nnz]");
}

spmm_status sp_csr_check_starts(const spmm_csr *a, int threads)
{
    int falls = 0;
    TRY(sp_csr_check_sizes(a));
    if (a->irp[0] != 0 || a->irp[a->rows] != a->nnz)
        return sp_fail(SPMM_ERR_USAGE, "row starts go from %lld to %lld, expected 0 to nnz = %lld",
                       (long long)a->irp[0], (long long)a->irp[a->rows], (long long)a->nnz);
#pragma omp parallel for schedule(static) num_threads(threads) reduction(| : falls)
    for (int64_t i = 0; i < a->rows; i++) falls |= a->irp[i] > a->irp[i + 1];
    for (int64_t i = 0; falls && i < a->rows; i++)
        if (a->irp[i] > a->irp[i + 1])
            return sp_fail(SPMM_ERR_USAGE,
                           "row %lld starts at %lld and ends at %lld: row starts must not decrease",
                           (long long)i, (long long)a->irp[i], (long long)a->irp[i + 1]);
    return SPMM_OK;
}

/** Fails with a message about the first invalid column index of row i. */
static spmm_status wrong_row(const spmm_csr *a, int64_t i)
{
    for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++) {
        if (a->ja[e] < 0 || a->ja[e] >= a->cols)
            return sp_fail(SPMM_ERR_USAGE, "row %lld has column %d, expected 0 to %lld", (long long)i,
                           a->ja[e], (long long)a->cols - 1);
        if (e > a->irp[i] && a->ja[e] <= a->ja[e - 1])
            return sp_fail(SPMM_ERR_USAGE,
                           "row %lld: column %d follows column %d, but columns must increase within a row",
                           (long long)i, a->ja[e], a->ja[e - 1]);
    }
    return SPMM_OK;
}

/* Compares all consecutive indices in a loop that the compiler vectorizes: where they do not increase, a row
 * must start. */
int sp_csr_rows_sound(const spmm_csr *a, int64_t begin, int64_t end)
{
    enum { ENTRIES = 4096 };
    const int64_t first = a->irp[begin], last = a->irp[end];
    int64_t falls = 0;
    int bad = 0;
    for (int64_t from = first + 1; from < last; from += ENTRIES) {
        const int count = last - from < ENTRIES ? (int)(last - from) : ENTRIES;
        const int32_t *const ja = a->ja + from;
        int here = 0;
        for (int e = 0; e < count; e++) here += ja[e] <= ja[e - 1];
        falls += here;
    }
    for (int64_t i = begin; i < end; i++) {
        const int64_t from = a->irp[i], to = a->irp[i + 1];
        if (from == to) continue;
        bad |= a->ja[from] < 0 || a->ja[to - 1] >= a->cols;
        falls -= from > first && a->ja[from] <= a->ja[from - 1];
    }
    return !bad && falls == 0;
}

spmm_status sp_csr_check(const spmm_csr *a, int threads)
{
    enum { ROWS = 1024 };
    int64_t wrong = INT64_MAX;
    TRY(sp_csr_check_starts(a, threads));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) reduction(min : wrong)
    for (int64_t begin = 0; begin < a->rows; begin += ROWS) {
        const int64_t end = a->rows - begin < ROWS ? a->rows : begin + ROWS;
        if (begin < wrong && !sp_csr_rows_sound(a, begin, end)) wrong = begin;
    }
    while (wrong < a->rows &&
           sp_columns_sound(a->ja + a->irp[wrong], a->irp[wrong + 1] - a->irp[wrong], a->cols))
        wrong++;
    return wrong < INT64_MAX ? wrong_row(a, wrong) : SPMM_OK;
}

/** Copies entries [from, from + count) of matrix a to entries [to, to + count) of matrix b. */
static void copy_entries(const spmm_csr *a, int64_t from, int64_t count, spmm_csr *b, int64_t to)
{
    memcpy(b->ja + to, a->ja + from, (size_t)count * sizeof *a->ja);
    sp_values_copy(a->precision, a->as, from, count, b->as, to);
}

spmm_status sp_csr_rows(const spmm_csr *a, int64_t begin, int64_t end, spmm_csr *rows)
{
    memset(rows, 0, sizeof *rows);
    if (begin < 0 || end < begin || end > a->rows)
        return sp_fail(SPMM_ERR_USAGE, "rows %lld to %lld, expected a range within 0 to %lld",
                       (long long)begin, (long long)end, (long long)a->rows);
    const int64_t first = a->irp[begin];
    TRY(sp_csr_create(end - begin, a->cols, a->irp[end] - first, a->precision, rows));
    for (int64_t i = begin; i <= end; i++) rows->irp[i - begin] = a->irp[i] - first;
    copy_entries(a, first, rows->nnz, rows, 0);
    return SPMM_OK;
}

spmm_status sp_csr_pick(const spmm_csr *a, const int64_t *row_index, int64_t count, spmm_csr *rows)
{
    memset(rows, 0, sizeof *rows);
    int64_t nnz = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t r = row_index[i];
        if (r < 0 || r >= a->rows)
            return sp_fail(SPMM_ERR_USAGE, "row index %lld, expected 0 to %lld", (long long)r,
                           (long long)a->rows - 1);
        nnz += a->irp[r + 1] - a->irp[r];
    }
    TRY(sp_csr_create(count, a->cols, nnz, a->precision, rows));
    for (int64_t i = 0; i < count; i++) {
        const int64_t r = row_index[i], n = a->irp[r + 1] - a->irp[r];
        copy_entries(a, a->irp[r], n, rows, rows->irp[i]);
        rows->irp[i + 1] = rows->irp[i] + n;
    }
    return SPMM_OK;
}

/* Source values of one row are contiguous in `from`, but the rows are in any order. A processor cannot
 * predict the addresses of their values, so the loop prefetches the value for element i + AHEAD. */
#define GATHER(T)                                                                                         \
    enum { AHEAD = 64 };                                                                                  \
    const int64_t last = count - 1;                                                                       \
    _Pragma("omp parallel for schedule(static) num_threads(threads)") for (int64_t i = 0; i < count; i++) \
    {                                                                                                     \
        const sp_value_place next = place[i + AHEAD < count ? i + AHEAD : last];                          \
        if (next != SP_NOWHERE) __builtin_prefetch((const T *)from + next);                               \
        if (place[i] != SP_NOWHERE) ((T *)to)[i] = ((const T *)from)[place[i]];                           \
    }

#define GATHER_FUNCTION(argument, word, id, T, ...)                                                      \
    static void gather_##word(const void *from, const sp_value_place *place, int64_t count, int threads, \
                              void *to)                                                                  \
    {                                                                                                    \
        GATHER(T)                                                                                        \
    }
SP_VALUE_TYPES(GATHER_FUNCTION, )
#undef GATHER_FUNCTION

void sp_values_gather(spmm_precision p, const void *from, const sp_value_place *place, int64_t count,
                      int threads, void *to)
{
    SP_OF_TYPE(gather, p)(from, place, count, threads, to);
}
