/** Renumbers the rows and columns of a square CSR matrix. */
#include <string.h>

#include "base/memory.h"
#include "formats/csr.h"
#include "formats/csr_sort.h"

/** Inverts a permutation: old[perm[i]] = i. Fails if perm is not a permutation of 0 .. n - 1. */
static spmm_status invert(const int64_t *perm, int64_t n, int64_t *old)
{
    for (int64_t i = 0; i < n; i++) old[i] = -1;
    for (int64_t i = 0; i < n; i++) {
        if (perm[i] < 0 || perm[i] >= n || old[perm[i]] >= 0)
            return sp_fail(SPMM_ERR_USAGE, "no permutation of %lld rows: row %lld goes to %lld%s",
                           (long long)n, (long long)i, (long long)perm[i],
                           perm[i] < 0 || perm[i] >= n ? "" : ", as another one does");
        old[perm[i]] = i;
    }
    return SPMM_OK;
}

/** Copies the rows of `a` to b in their new order. Column indices are renumbered but not yet sorted. */
static void move_rows(const spmm_csr *a, const int64_t *perm, const int64_t *old, int threads, spmm_csr *b)
{
    for (int64_t i = 0; i < b->rows; i++) b->irp[i + 1] = b->irp[i] + a->irp[old[i] + 1] - a->irp[old[i]];
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < b->rows; i++) {
        const int64_t from = a->irp[old[i]], to = b->irp[i], count = b->irp[i + 1] - to;
        for (int64_t e = 0; e < count; e++) b->ja[to + e] = (int32_t)perm[a->ja[from + e]];
        sp_values_copy(a->precision, a->as, from, count, b->as, to);
    }
}

spmm_status sp_csr_permute(const spmm_csr *a, const int64_t *perm, int threads, spmm_csr *b)
{
    memset(b, 0, sizeof *b);
    if (a->rows != a->cols)
        return sp_fail(SPMM_ERR_USAGE,
                       "rows and columns renumbered alike: a %lld x %lld matrix is not square",
                       (long long)a->rows, (long long)a->cols);
    int64_t *old, none;
    spmm_status status;
    TRY(sp_alloc((void **)&old, a->rows, sizeof *old, "the inverse permutation"));
    TRY_GOTO(invert(perm, a->rows, old), done);
    TRY_GOTO(sp_csr_create(a->rows, a->cols, a->nnz, a->precision, b), done);
    move_rows(a, perm, old, threads, b);
    status = sp_csr_sort_sum_duplicates(b, threads, &none);
    if (status != SPMM_OK) spmm_csr_destroy(b);
done:
    sp_free(old);
    return status;
}
