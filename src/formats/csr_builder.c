/** Implements the two-pass CSR builder: counts entries per row, and advances the insert position of each row,
 *  by atomic additions with prefetching. */
#include "formats/csr_builder.h"

#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "formats/csr_sort.h"

enum {
    AHEAD = 16, /* prefetch distance of the insert positions, in entries */
    GROUP = 128 /* number of entries whose positions are all determined before the first entry is stored */
};

spmm_status sp_csr_builder_begin(int64_t rows, int64_t cols, sp_symmetry symmetry, spmm_precision precision,
                                 int threads, spmm_csr *a, sp_csr_builder *fill)
{
    *a = (spmm_csr){.rows = rows, .cols = cols, .precision = precision};
    *fill = (sp_csr_builder){a, symmetry, threads, 0};
    return sp_alloc_zero((void **)&a->irp, rows + 1, sizeof *a->irp, "row starts");
}

/** Adds n to *cursor and returns the value before the addition; atomic if `shared` is not 0. */
static inline int64_t advance(int64_t *cursor, int64_t n, int shared)
{
    if (shared) return __atomic_fetch_add(cursor, n, __ATOMIC_RELAXED);
    const int64_t was = *cursor;
    *cursor = was + n;
    return was;
}

/** Finds the run of entries of the same row that begins at entry k, and returns the end of the run. A run
 *  needs only one addition to a counter. Runs are common, because most files are sorted by row, or by column
 *  (then the mirror images of the entries are sorted by row). */
static inline int64_t run_end(const int32_t *row, int64_t k, int64_t n)
{
    const int32_t first = row[k];
    while (++k < n && row[k] == first) continue;
    return k;
}

/** Counts the entries [k, end) of a batch that are not on the diagonal. */
static inline int64_t count_off_diagonal(const sp_entries *e, int64_t k, int64_t end)
{
    int64_t count = 0;
    for (; k < end; k++) count += e->I[k] != e->J[k];
    return count;
}

/** Counts the entries of a batch per row. If `mirrored` is 1, counts the mirror images of the entries, which
 *  symmetry implies, instead of the entries themselves. */
static void count_rows(const sp_csr_builder *fill, const sp_entries *e, const int mirrored)
{
    int64_t *const count = fill->a->irp + 1;
    const int32_t *const row = mirrored ? e->J : e->I;
    for (int64_t k = 0; k < e->n;) {
        const int64_t end = run_end(row, k, e->n);
        if (k + AHEAD < e->n) __builtin_prefetch(&count[row[k + AHEAD]], 1);
        advance(&count[row[k]], mirrored ? count_off_diagonal(e, k, end) : end - k, fill->threads > 1);
        k = end;
    }
}

void sp_csr_builder_count(sp_csr_builder *fill, const sp_entries *entries)
{
    count_rows(fill, entries, 0);
    if (fill->symmetry != SP_GENERAL) count_rows(fill, entries, 1);
}

/** Returns a hash of cursor[0 .. rows - 1] that does not depend on the number of threads. */
static uint64_t hash_of(const int64_t *cursor, int64_t rows, int threads)
{
    uint64_t sum = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : sum)
    for (int64_t i = 0; i < rows; i++) sum += sp_mix(sp_mix((uint64_t)i) ^ (uint64_t)cursor[i]);
    return sum;
}

spmm_status sp_csr_builder_start(sp_csr_builder *fill)
{
    spmm_csr *const a = fill->a;
    for (int64_t i = 0; i < a->rows; i++) a->irp[i + 1] += a->irp[i];
    a->nnz = a->irp[a->rows];
    fill->starts = hash_of(a->irp + 1, a->rows, fill->threads);
    TRY(sp_alloc((void **)&a->ja, a->nnz, sizeof *a->ja, "column indices"));
    return sp_alloc(&a->as, a->nnz, sp_value_size(a->precision), "values");
}

/** Reserves positions in the matrix for entries [k, end) of a batch, or for their mirror images if `mirrored`
 *  is 1. Sets place[n] to the position for entry k + n, or to -1 if the entry is on the diagonal and thus has
 *  no mirror image. Stores no entries yet, because each atomic addition to an insert position would wait for
 *  the stores before it. Returns 1, or 0 if a position would be past the end of the matrix. */
static int find_places(const sp_csr_builder *fill, const sp_entries *e, const int mirrored, int64_t k,
                       int64_t end, int64_t *place)
{
    const spmm_csr *const a = fill->a;
    const int32_t *const row = mirrored ? e->J : e->I;
    const int64_t size = sp_value_size(a->precision);
    const int64_t first = k;
    while (k < end) {
        const int64_t next = run_end(row, k, end);
        if (k + AHEAD < e->n) __builtin_prefetch(&a->irp[row[k + AHEAD]], 1);
        const int64_t count = mirrored ? count_off_diagonal(e, k, next) : next - k;
        int64_t at = advance(&a->irp[row[k]], count, fill->threads > 1);
        if (at > a->nnz - count) return 0;
        __builtin_prefetch(a->ja + at, 1);
        __builtin_prefetch((const char *)a->as + at * size, 1);
        for (; k < next; k++) place[k - first] = mirrored && e->I[k] == e->J[k] ? -1 : at++;
    }
    return 1;
}

#define STORE(argument, word, id, type, ...)                                                        \
    static void store_##word(spmm_csr *a, const int32_t *column, const void *values, int64_t first, \
                             sp_image image, int64_t n, const int64_t *place)                       \
    {                                                                                               \
        const type *const val = values ? (const type *)values + first : NULL;                       \
        type *const as = a->as;                                                                     \
        for (int64_t k = 0; k < n; k++) {                                                           \
            if (place[k] < 0) continue;                                                             \
            const type v = val ? val[k] : (type)1;                                                  \
            a->ja[place[k]] = column[k];                                                            \
            as[place[k]] = SP_VALUE_OF_IMAGE(v, image);                                             \
        }                                                                                           \
    }
SP_VALUE_TYPES(STORE, )
#undef STORE

/** Inserts the entries of a batch. If `mirrored` is 1, inserts the mirror images of the entries, which
 *  symmetry implies, instead of the entries themselves. Returns 1, or 0 if they do not fit into the
 *  matrix. */
static int place_rows(const sp_csr_builder *fill, const sp_entries *e, const int mirrored)
{
    const int32_t *const column = mirrored ? e->I : e->J;
    const sp_image image = mirrored ? sp_image_of(fill->symmetry) : SP_IMAGE_SAME;
    int64_t place[GROUP];
    for (int64_t k = 0; k < e->n; k += GROUP) {
        const int64_t n = e->n - k < GROUP ? e->n - k : GROUP;
        if (!find_places(fill, e, mirrored, k, k + n, place)) return 0;
        SP_OF_TYPE(store, fill->a->precision)(fill->a, column + k, e->val, k, image, n, place);
    }
    return 1;
}

int sp_csr_builder_insert(sp_csr_builder *fill, const sp_entries *entries)
{
    return place_rows(fill, entries, 0) && (fill->symmetry == SP_GENERAL || place_rows(fill, entries, 1));
}

spmm_status sp_csr_builder_finish(sp_csr_builder *fill, int *same, int64_t *duplicates)
{
    spmm_csr *const a = fill->a;
    /* if all counted entries were inserted, the insert position of each row is now the start of the next
     * row */
    *same = hash_of(a->irp, a->rows, fill->threads) == fill->starts;
    *duplicates = 0;
    if (!*same) return SPMM_OK;
    memmove(a->irp + 1, a->irp, (size_t)a->rows * sizeof *a->irp);
    a->irp[0] = 0;
    return sp_csr_sort_sum_duplicates(a, fill->threads, duplicates);
}
