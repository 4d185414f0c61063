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

/** Returns the size in bytes of the column indices and values of `a` with all rows padded to `width` entries;
 *  INT64_MAX if that exceeds 64 bits. */
static int64_t padded_bytes(const spmm_csr *a, int64_t width)
{
    const int64_t entry = (int64_t)sizeof *a->ja + sp_value_size(a->precision);
    int64_t bytes;
    if (__builtin_mul_overflow(a->rows, width, &bytes) || __builtin_mul_overflow(bytes, entry, &bytes))
        return INT64_MAX;
    return bytes;
}

/** Fails if `a` with rows of `width` entries would take more than `limit` times the memory of the CSR. */
static spmm_status refuse_beyond(const spmm_csr *a, int64_t width, double limit)
{
    const double ratio = (double)padded_bytes(a, width) / (double)sp_csr_bytes(a);
    if (ratio <= limit) return SPMM_OK;
    char bytes[32];
    return sp_fail(SPMM_ERR_LIMIT,
                   "padded ELLPACK would take %s%s, %.3g times the CSR (longest row %lld entries, mean %.1f; "
                   "limit %g): use --format csr or ell-nopad, or raise --ell-limit",
                   padded_bytes(a, width) == INT64_MAX ? "more than " : "",
                   sp_bytes_text(bytes, sizeof bytes, (double)padded_bytes(a, width)), ratio,
                   (long long)width, (double)a->nnz / (double)a->rows, limit);
}

/** Copies row i of `a` to position `to` of m, and pads it to `width` entries; no padding if width is 0. */
static void copy_row(const spmm_csr *a, int64_t i, sp_matrix *m, int64_t to, int64_t width)
{
    const int64_t size = sp_value_size(a->precision);
    const int64_t from = a->irp[i], n = a->irp[i + 1] - from;
    memcpy(m->col + to, a->ja + from, (size_t)n * sizeof *m->col);
    sp_values_copy(a->precision, a->as, from, n, m->val, to);
    for (int64_t j = n; j < width; j++) m->col[to + j] = -1;
    if (n < width) memset((char *)m->val + (to + n) * size, 0, (size_t)((width - n) * size));
}

/** Allocates m->col and m->val for `entries` entries and copies all rows, each thread those that it
 *  multiplies later. */
static spmm_status copy_rows(const spmm_csr *a, int64_t entries, int threads, sp_matrix *m)
{
    sp_thread_ranges w;
    TRY(sp_matrix_alloc(m, SP_COL, entries, "ELLPACK column indices"));
    TRY(sp_matrix_alloc(m, SP_VAL, entries, "ELLPACK values"));
    TRY(sp_thread_ranges_create(a->irp, a->rows, threads, &w));
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int t = 0; t < threads; t++)
        for (int64_t i = w.begin[t]; i < w.begin[t + 1]; i++) {
            copy_row(a, i, m, m->row_start ? a->irp[i] : i * m->width, m->width);
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
    TRY(refuse_beyond(a, m->width, ell_limit > 0 ? ell_limit : 3.0));
    if (__builtin_mul_overflow(a->rows, m->width, &entries))
        entries = INT64_MAX; /* the allocation then fails */
    return copy_rows(a, entries, threads, m);
}

static sp_row_range padded_row(const sp_matrix *m, int64_t i)
{
    sp_row_range r = {i * m->width, i * m->width};
    while (r.end < r.begin + m->width && m->col[r.end] >= 0) r.end++;
    return r;
}

const sp_format sp_format_ell = {convert_padded, NULL, padded_row};

static spmm_status convert_unpadded(const spmm_csr *a, double ell_limit, int64_t k, int threads, sp_matrix *m)
{
    (void)ell_limit;
    (void)k;
    const int64_t longest = longest_row(a);
    if (longest > INT32_MAX)
        return sp_fail(SPMM_ERR_LIMIT, "a row of %lld entries: ELLPACK without padding holds up to 2^31 - 1",
                       (long long)longest);
    TRY(sp_matrix_alloc(m, SP_ROW_START, a->rows, "ELLPACK row starts"));
    TRY(sp_matrix_alloc(m, SP_NZ_PER_ROW, a->rows, "ELLPACK row lengths"));
    return copy_rows(a, a->nnz, threads, m);
}

static sp_row_range unpadded_row(const sp_matrix *m, int64_t i)
{
    return (sp_row_range){m->row_start[i], m->row_start[i] + m->nz_per_row[i]};
}

const sp_format sp_format_ell_nopad = {convert_unpadded, NULL, unpadded_row};
