/** Renumbers the rows and columns of a square CSR matrix, and adds a matrix and its transpose. */
#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "formats/csr.h"
#include "formats/csr_sort.h"

/** Fails with a message about the first row whose new number is out of range, or is also the new number of an
 *  earlier row. \param old [n] workspace */
static spmm_status csr_rearrange_refuse(const int64_t *perm, int64_t n, int64_t *old)
{
    int64_t i = 0;
    int inside = 1;
    for (int64_t j = 0; j < n; j++) old[j] = -1;
    for (; i < n; old[perm[i]] = i, i++) {
        inside = perm[i] >= 0 && perm[i] < n;
        if (!inside || old[perm[i]] >= 0) break;
    }
    return sp_fail(SPMM_ERR_USAGE, "not a permutation of %lld rows: row %lld goes to %lld%s", (long long)n,
                   (long long)i, (long long)perm[i], inside ? ", as another row does" : "");
}

/** Inverts a permutation: old[perm[i]] = i. Fails if perm is not a permutation of 0 .. n - 1. If several rows
 *  have the same new number, `old` contains only one of them, by which the second loop finds the others. */
static spmm_status invert(const int64_t *perm, int64_t n, int threads, int64_t *old)
{
    int wrong = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(| : wrong)
    for (int64_t i = 0; i < n; i++) {
        const int inside = perm[i] >= 0 && perm[i] < n;
        wrong |= !inside;
        if (inside) {
#pragma omp atomic write
            old[perm[i]] = i;
        }
    }
    if (wrong) return csr_rearrange_refuse(perm, n, old);
#pragma omp parallel for schedule(static) num_threads(threads) reduction(| : wrong)
    for (int64_t i = 0; i < n; i++) wrong |= old[perm[i]] != i;
    return wrong ? csr_rearrange_refuse(perm, n, old) : SPMM_OK;
}

/** Copies the rows of `a` to b in their new order. Column indices are renumbered but not yet sorted. */
static void move_rows(const spmm_csr *a, const int64_t *perm, const int64_t *old, int threads, spmm_csr *b)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < b->rows; i++) b->irp[i + 1] = a->irp[old[i] + 1] - a->irp[old[i]];
    for (int64_t i = 0; i < b->rows; i++) b->irp[i + 1] += b->irp[i];
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < b->rows; i++) {
        const int64_t from = a->irp[old[i]], to = b->irp[i], count = b->irp[i + 1] - to;
        for (int64_t e = 0; e < count; e++) b->ja[to + e] = (int32_t)perm[a->ja[from + e]];
        sp_values_copy(a->precision, a->as, from, count, b->as, to);
    }
}

spmm_status sp_csr_permute_in_order(const spmm_csr *a, const int64_t *perm, int threads, spmm_csr *b)
{
    memset(b, 0, sizeof *b);
    if (a->rows != a->cols)
        return sp_fail(SPMM_ERR_USAGE,
                       "cannot renumber rows and columns together: a %lld x %lld matrix is not square",
                       (long long)a->rows, (long long)a->cols);
    int64_t *old;
    spmm_status status;
    TRY(sp_alloc((void **)&old, a->rows, sizeof *old, "the inverse permutation"));
    TRY_GOTO(invert(perm, a->rows, threads, old), done);
    TRY_GOTO(sp_csr_create(a->rows, a->cols, a->nnz, a->precision, b), done);
    move_rows(a, perm, old, threads, b);
done:
    sp_free(old);
    return status;
}

spmm_status sp_csr_permute(const spmm_csr *a, const int64_t *perm, int threads, spmm_csr *b)
{
    int64_t none;
    TRY(sp_csr_permute_in_order(a, perm, threads, b));
    const spmm_status status = sp_csr_sort_sum_duplicates(b, threads, &none);
    if (status != SPMM_OK) spmm_csr_destroy(b);
    return status;
}

/* ---- transposes ---- */

/** How entry (i, k) of b is stored in a: its image `own` as (i, k), and its image `mirrored` as (k, i),
 *  unless it is a diagonal entry that is stored already. */
typedef struct transposition {
    const spmm_csr *b;
    spmm_csr *a;
    sp_image own, mirrored;
    int own_first;  /* 1: in each row of a, entries of b come before mirrored entries; 0: after them. It is 1
                       if there is an image `own` and b has no entries above its diagonal */
    int parts;      /* b is cut into parts of consecutive rows */
    int64_t *first; /* the first row of each part, [parts + 1] */
    /* [parts][a->rows]: number of mirrored entries of a part in each row of a; later, the position of the
     * next mirrored entry of the part, relative to the beginning of the row */
    uint32_t *offset;
} transposition;

static uint32_t *offsets_of(const transposition *t, int part) { return t->offset + part * t->a->rows; }

static int64_t own_entries(const transposition *t, int64_t i)
{
    return t->own ? t->b->irp[i + 1] - t->b->irp[i] : 0;
}

/** Counts the mirrored entries of a part for each row of a, and returns their number. Sets *upper to 1 if an
 *  entry of the part is above the diagonal. */
static int64_t count_mirrored(const transposition *t, int part, int *upper)
{
    const int64_t *const irp = t->b->irp;
    const int32_t *const ja = t->b->ja;
    const int own = t->own != SP_IMAGE_NONE;
    uint32_t *const count = offsets_of(t, part);
    int64_t mirrored = 0;
    for (int64_t i = t->first[part]; i < t->first[part + 1]; i++)
        for (int64_t e = irp[i]; e < irp[i + 1]; e++) {
            const int counts = !own || ja[e] != i;
            *upper |= ja[e] > i;
            count[ja[e]] += counts;
            mirrored += counts;
        }
    return mirrored;
}

/** Sets the row starts of a, and turns the counts into offsets. */
static void find_offsets(const transposition *t)
{
    const spmm_csr *const a = t->a;
#pragma omp parallel for schedule(static) num_threads(t->parts)
    for (int64_t i = 0; i < a->rows; i++) {
        int64_t sum = t->own_first ? own_entries(t, i) : 0;
        for (int part = 0; part < t->parts; part++) {
            uint32_t *const offset = offsets_of(t, part) + i;
            const uint32_t count = *offset;
            *offset = (uint32_t)sum;
            sum += count;
        }
        a->irp[i + 1] = t->own_first ? sum : sum + own_entries(t, i);
    }
    for (int64_t i = 0; i < a->rows; i++) a->irp[i + 1] += a->irp[i];
}

/* Stores the entries of a part of b in a, both directly and mirrored. */
#define STORE(argument, word, id, type, ...)                                                    \
    static void store_##word(const transposition *t, int part)                                  \
    {                                                                                           \
        const int64_t *const irp = t->b->irp, *const start = t->a->irp;                         \
        const int32_t *const from = t->b->ja;                                                   \
        const type *const value = t->b->as;                                                     \
        int32_t *const ja = t->a->ja;                                                           \
        type *const as = t->a->as;                                                              \
        uint32_t *const offset = offsets_of(t, part);                                           \
        const sp_image own = t->own, mirrored = t->mirrored;                                    \
        for (int64_t i = t->first[part]; i < t->first[part + 1]; i++) {                         \
            int64_t to = !own ? 0 : t->own_first ? start[i] : start[i + 1] - own_entries(t, i); \
            for (int64_t e = irp[i]; e < irp[i + 1]; e++) {                                     \
                const int32_t k = from[e];                                                      \
                const type v = value ? value[e] : (type)1;                                      \
                if (own) {                                                                      \
                    ja[to] = k;                                                                 \
                    as[to++] = k == i ? v : SP_VALUE_OF_IMAGE(v, own);                          \
                    if (k == i) continue;                                                       \
                }                                                                               \
                const int64_t at = start[k] + offset[k]++;                                      \
                ja[at] = (int32_t)i;                                                            \
                as[at] = SP_VALUE_OF_IMAGE(v, mirrored);                                        \
            }                                                                                   \
        }                                                                                       \
    }
SP_VALUE_TYPES(STORE, )
#undef STORE

/** Cuts b into at most `threads` parts of about the same number of entries. */
static spmm_status csr_rearrange_cut(transposition *t, int threads)
{
    const spmm_csr *const b = t->b;
    /* limit the number of parts, so that the offsets need at most 4 bytes per entry and per column of b */
    const int64_t most = b->nnz / (t->a->rows + 1) + 1;
    t->parts = threads < most ? threads : (int)most;
    TRY(sp_alloc((void **)&t->first, t->parts + 1, sizeof *t->first, "parts of a matrix"));
    for (int part = 0; part < t->parts; part++)
        t->first[part] = sp_lower_bound(b->irp, 0, b->rows, sp_partition_share(b->nnz, t->parts, part));
    t->first[0] = 0;
    t->first[t->parts] = b->rows;
    return sp_alloc_zero((void **)&t->offset, t->parts * t->a->rows, sizeof *t->offset,
                         "offsets of a transpose");
}

/** Fails if a row of a has 2^32 entries or more, because offsets within this row overflow. If a count of a
 *  part overflowed before, the last row start differs from the `expected` number of entries. */
static spmm_status check_offsets(const transposition *t, int64_t expected)
{
    const spmm_csr *const a = t->a;
    int64_t longest = 0;
    for (int64_t i = 0; i < a->rows; i++)
        if (a->irp[i + 1] - a->irp[i] > longest) longest = a->irp[i + 1] - a->irp[i];
    return expected == a->irp[a->rows] && longest <= UINT32_MAX
               ? SPMM_OK
               : sp_fail(SPMM_ERR_LIMIT, "a row of the transpose has 2^32 entries or more, expected fewer");
}

spmm_status sp_csr_add_transpose(const spmm_csr *b, sp_image own, sp_image mirrored, int threads, spmm_csr *a)
{
    transposition t = {.b = b, .a = a, .own = own, .mirrored = mirrored};
    spmm_status status;
    int upper = 0;
    int64_t entries = own ? b->nnz : 0;
    *a = (spmm_csr){.rows = b->cols, .cols = b->rows, .precision = b->precision};
    TRY_GOTO(csr_rearrange_cut(&t, threads), done);
    TRY_GOTO(sp_alloc_zero((void **)&a->irp, a->rows + 1, sizeof *a->irp, "row starts"), done);
#pragma omp parallel for schedule(static, 1) num_threads(t.parts) reduction(| : upper) reduction(+ : entries)
    for (int part = 0; part < t.parts; part++) entries += count_mirrored(&t, part, &upper);
    t.own_first = own && !upper;
    find_offsets(&t);
    TRY_GOTO(check_offsets(&t, entries), done);
    a->nnz = a->irp[a->rows];
    TRY_GOTO(sp_alloc((void **)&a->ja, a->nnz, sizeof *a->ja, "column indices"), done);
    TRY_GOTO(sp_alloc(&a->as, a->nnz, sp_value_size(a->precision), "values"), done);
#pragma omp parallel for schedule(static, 1) num_threads(t.parts)
    for (int part = 0; part < t.parts; part++) SP_OF_TYPE(store, a->precision)(&t, part);
    status = SPMM_OK;
done:
    sp_free(t.first);
    sp_free(t.offset);
    if (status != SPMM_OK) spmm_csr_destroy(a);
    return status;
}
