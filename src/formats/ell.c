/** Converts CSR blocks to ELLPACK, with and without padding. */
#include <string.h>

#include "base/memory.h"
#include "formats/csr.h"
#include "formats/format.h"
#include "formats/thread_ranges.h"

static int64_t longest_row(const spmm_csr *a)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < a->rows; i++)
        if (a->irp[i + 1] - a->irp[i] > longest) longest = a->irp[i + 1] - a->irp[i];
    return longest;
}

/** Returns the size in bytes of the column indices and values of `rows` rows padded to `width` entries;
 *  INT64_MAX if that exceeds 64 bits. */
static int64_t padded_bytes(int64_t rows, int64_t width, spmm_precision precision)
{
    const int64_t entry = (int64_t)sizeof(int32_t) + sp_value_size(precision);
    int64_t bytes;
    if (__builtin_mul_overflow(rows, width, &bytes) || __builtin_mul_overflow(bytes, entry, &bytes))
        return INT64_MAX;
    return bytes;
}

spmm_status sp_ell_check(const sp_sizes *sizes, spmm_precision precision, int64_t width, double ell_limit)
{
    const double limit = ell_limit > 0 ? ell_limit : 3.0;
    const int64_t padded = padded_bytes(sizes->rows, width, precision);
    const double ratio = (double)padded / sp_csr_bytes_of(sizes, precision);
    if (ratio <= limit) return SPMM_OK;
    char bytes[32];
    return sp_fail(SPMM_ERR_LIMIT,
                   "padded ELLPACK would take %s%s, %.3g times the CSR (longest row %lld entries, mean %.1f; "
                   "limit %g): use --format csr or ell-nopad, or raise --ell-limit",
                   padded == INT64_MAX ? "more than " : "",
                   sp_bytes_text(bytes, sizeof bytes, (double)padded), ratio, (long long)width,
                   (double)sizes->entries / (double)sizes->rows, limit);
}

void sp_ell_put_row(const spmm_csr *a, int64_t from, int64_t n, int64_t first_column, int64_t width,
                    int64_t to, int32_t *col, void *val)
{
    const int64_t size = sp_value_size(a->precision);
    for (int64_t j = 0; j < n; j++) col[to + j] = (int32_t)(a->ja[from + j] - first_column);
    sp_values_copy(a->precision, a->as, from, n, val, to);
    for (int64_t j = n; j < width; j++) col[to + j] = -1;
    if (n < width) memset((char *)val + (to + n) * size, 0, (size_t)((width - n) * size));
}

/** Allocates m->col and m->val for `entries` entries and copies all rows; each thread copies the rows that it
 *  will multiply. If m->row_start has been allocated, also sets m->row_start and m->nz_per_row. */
static spmm_status ell_copy_rows(const spmm_csr *a, int64_t entries, int threads, sp_matrix *m)
{
    sp_thread_ranges w;
    TRY(sp_matrix_alloc(m, SP_COL, entries, "ELLPACK column indices"));
    TRY(sp_matrix_alloc(m, SP_VAL, entries, "ELLPACK values"));
    TRY(sp_thread_ranges_create(a->irp, a->rows, threads, &w));
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int t = 0; t < threads; t++)
        for (int64_t i = w.begin[t]; i < w.begin[t + 1]; i++) {
            sp_ell_put_row(a, a->irp[i], a->irp[i + 1] - a->irp[i], 0, m->width,
                           m->row_start ? a->irp[i] : i * m->width, m->col, m->val);
            if (!m->row_start) continue;
            m->row_start[i] = a->irp[i];
            m->nz_per_row[i] = (int32_t)(a->irp[i + 1] - a->irp[i]);
        }
    sp_thread_ranges_destroy(&w);
    return SPMM_OK;
}

static spmm_status convert_padded(const spmm_csr *a, double ell_limit, int64_t k, int threads, sp_matrix *m)
{
    (void)k;
    int64_t entries;
    m->width = longest_row(a);
    const sp_sizes sizes = {a->rows, a->cols, a->nnz};
    TRY(sp_ell_check(&sizes, a->precision, m->width, ell_limit));
    if (__builtin_mul_overflow(a->rows, m->width, &entries))
        entries = INT64_MAX; /* the allocation then fails */
    return ell_copy_rows(a, entries, threads, m);
}

static sp_row_range padded_row(const sp_matrix *m, int64_t i)
{
    sp_row_range r = {i * m->width, i * m->width};
    while (r.end < r.begin + m->width && m->col[r.end] >= 0) r.end++;
    return r;
}

const sp_format sp_format_ell = {convert_padded, NULL, padded_row};

/* ---- slices: padded ELLPACK from another rank ---- */

void sp_ell_to_csr(const sp_matrix *m, int threads, spmm_csr *a)
{
    a->irp[0] = 0;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < m->rows; i++) {
        const sp_row_range r = padded_row(m, i);
        a->irp[i + 1] = r.end - r.begin;
    }
    for (int64_t i = 0; i < m->rows; i++) a->irp[i + 1] += a->irp[i];
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < m->rows; i++) {
        const int64_t n = a->irp[i + 1] - a->irp[i];
        if (n == 0) continue; /* a matrix without entries may have no arrays */
        memcpy(a->ja + a->irp[i], m->col + i * m->width, (size_t)n * sizeof *a->ja);
        sp_values_copy(m->precision, m->val, i * m->width, n, a->as, a->irp[i]);
    }
}

/** Allocates m->col, and sets it to the columns of `a`, row by row, padded with -1. */
static spmm_status set_columns(const spmm_csr *a, int threads, sp_matrix *m)
{
    sp_thread_ranges w;
    TRY(sp_matrix_alloc(m, SP_COL, m->rows * m->width, "ELLPACK column indices"));
    TRY(sp_thread_ranges_create(a->irp, a->rows, threads, &w));
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int t = 0; t < threads; t++)
        for (int64_t i = w.begin[t]; i < w.begin[t + 1]; i++) {
            const int64_t n = a->irp[i + 1] - a->irp[i];
            int32_t *const row = m->col + i * m->width;
            if (n > 0) memcpy(row, a->ja + a->irp[i], (size_t)n * sizeof *row);
            for (int64_t j = n; j < m->width; j++) row[j] = -1;
        }
    sp_thread_ranges_destroy(&w);
    return SPMM_OK;
}

spmm_status sp_ell_of_slice(const sp_matrix *slice, int64_t first, const spmm_csr *a, spmm_device space,
                            int threads, sp_matrix *m)
{
    const int64_t size = sp_value_size(slice->precision), entries = a->rows * slice->width;
    *m = (sp_matrix){.format = SPMM_ELL,
                     .precision = slice->precision,
                     .space = SPMM_CPU,
                     .borrowed = SP_BORROWED_VALUES,
                     .rows = a->rows,
                     .cols = a->cols,
                     .nnz = a->nnz,
                     .width = slice->width};
    m->val = (char *)slice->val + first * slice->width * size;
    m->bytes[SP_VAL] = entries * size;
    spmm_status status = set_columns(a, threads, m);
    if (status == SPMM_OK && space == SPMM_CPU) return SPMM_OK;
    sp_matrix host = *m;
    *m = (sp_matrix){.format = SPMM_ELL};
    if (status == SPMM_OK) status = sp_matrix_upload(&host, m);
    sp_matrix_destroy(&host);
    return status;
}

static spmm_status convert_unpadded(const spmm_csr *a, double ell_limit, int64_t k, int threads, sp_matrix *m)
{
    (void)ell_limit;
    (void)k;
    const int64_t longest = longest_row(a);
    if (longest > INT32_MAX)
        return sp_fail(SPMM_ERR_LIMIT,
                       "a row of %lld entries: ELLPACK without padding supports at most 2^31 - 1 per row",
                       (long long)longest);
    TRY(sp_matrix_alloc(m, SP_ROW_START, a->rows, "ELLPACK row starts"));
    TRY(sp_matrix_alloc(m, SP_NZ_PER_ROW, a->rows, "ELLPACK row lengths"));
    return ell_copy_rows(a, a->nnz, threads, m);
}

static sp_row_range unpadded_row(const sp_matrix *m, int64_t i)
{
    return (sp_row_range){m->row_start[i], m->row_start[i] + m->nz_per_row[i]};
}

const sp_format sp_format_ell_nopad = {convert_unpadded, NULL, unpadded_row};
