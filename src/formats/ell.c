/** Converts CSR blocks to ELLPACK, with and without padding. */
#include "formats/ell.h"

#include <string.h>

#include "base/memory.h"
#include "formats/matrix.h"
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

int64_t sp_ell_bytes(const spmm_csr *a) { return padded_bytes(a, longest_row(a)); }

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

/** Sets the sizes of *m, and allocates m->col and m->val for `entries` entries. The caller destroys *m, also
 *  on failure. */
static spmm_status create_entries(const spmm_csr *a, spmm_format format, int64_t entries, sp_matrix *m)
{
    *m = sp_matrix_like(a, format);
    TRY(sp_alloc((void **)&m->col, entries, sizeof *m->col, "ELLPACK column indices"));
    return sp_alloc(&m->val, entries, sp_value_size(a->precision), "ELLPACK values");
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

/** Copies all rows of `a` to m, padded to m->width entries if m->row_start is NULL. */
static spmm_status copy_rows(const spmm_csr *a, int threads, sp_matrix *m)
{
    sp_thread_ranges w;
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

spmm_status sp_ell_from_csr(const spmm_csr *a, double limit, int threads, sp_matrix *m)
{
    memset(m, 0, sizeof *m);
    const int64_t width = longest_row(a);
    TRY(refuse_beyond(a, width, limit));
    int64_t entries;
    if (__builtin_mul_overflow(a->rows, width, &entries)) entries = INT64_MAX; /* sp_alloc() then fails */
    spmm_status status = create_entries(a, SPMM_ELL, entries, m);
    m->width = width;
    if (status == SPMM_OK) status = copy_rows(a, threads, m);
    if (status != SPMM_OK) sp_matrix_destroy(m);
    return status;
}

spmm_status sp_ell_nopad_from_csr(const spmm_csr *a, int threads, sp_matrix *m)
{
    memset(m, 0, sizeof *m);
    const int64_t longest = longest_row(a);
    if (longest > INT32_MAX)
        return sp_fail(SPMM_ERR_LIMIT, "a row of %lld entries: ELLPACK without padding holds up to 2^31 - 1",
                       (long long)longest);
    spmm_status status;
    TRY_GOTO(create_entries(a, SPMM_ELL_NOPAD, a->nnz, m), done);
    TRY_GOTO(sp_alloc((void **)&m->row_start, a->rows, sizeof *m->row_start, "ELLPACK row starts"), done);
    TRY_GOTO(sp_alloc((void **)&m->nz_per_row, a->rows, sizeof *m->nz_per_row, "ELLPACK row lengths"), done);
    status = copy_rows(a, threads, m);
done:
    if (status != SPMM_OK) sp_matrix_destroy(m);
    return status;
}
