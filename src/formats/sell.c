/** Lists short rows and the sections of long ones, and converts CSR blocks to sliced ELLPACK. */
#include "formats/sell.h"

#include <string.h>

#include "base/memory.h"
#include "formats/format.h"

enum { CLASSES = SP_CHAIN + 1 };

static int64_t length_of(const spmm_csr *a, int64_t row) { return a->irp[row + 1] - a->irp[row]; }

/** Returns the class of a row of `length` entries. Rows are listed in increasing order of their class. Longer
 *  rows have smaller class numbers, but with SP_ORDER_ROWS all rows have class 0. */
static int class_of(int64_t length, sp_order order)
{
    if (order == SP_ORDER_ROWS) return 0;
    if (order == SP_ORDER_LENGTHS) return (int)(SP_CHAIN - length);
    return length ? __builtin_clzll((unsigned long long)length) : 64;
}

int64_t sp_short_row_limit_for(int64_t medium, int64_t entries, int64_t k, spmm_precision precision)
{
    /* ONE_VECTOR: bytes of X that a lane loads at a time. FEW: maximum number of entries in rows of medium
     * length that may be staged; beyond it, slices are faster (measured on an H200). With two vectors per row
     * of X, slices are also faster if most entries are in rows of medium length. */
    enum { ONE_VECTOR = 16, FEW = 2000000 };
    const int64_t bytes = k * sp_value_size(precision);
    const int staged = bytes <= ONE_VECTOR
                           ? medium <= FEW
                           : bytes <= 2 * ONE_VECTOR && entries <= SP_STAGED_ENTRIES && medium <= entries / 2;
    return staged ? SP_LEAF : SP_CHAIN;
}

int64_t sp_short_row_limit(const spmm_csr *a, int64_t k)
{
    int64_t medium = 0;
    for (int64_t i = 0; i < a->rows; i++)
        if (length_of(a, i) > SP_LEAF && length_of(a, i) <= SP_CHAIN) medium += length_of(a, i);
    return sp_short_row_limit_for(medium, a->nnz, k, a->precision);
}

spmm_status sp_short_rows_create(const spmm_csr *a, int64_t limit, sp_order order, sp_short_row **list,
                                 int64_t *count)
{
    int64_t next[CLASSES] = {0},
            first = 0; /* next[c]: first the number of rows of class c, then where its next row is listed */
    *list = NULL;
    for (int64_t i = 0; i < a->rows; i++)
        if (length_of(a, i) <= limit) next[class_of(length_of(a, i), order)]++;
    for (int c = 0; c < CLASSES; c++) {
        const int64_t size = next[c];
        next[c] = first;
        first += size;
    }
    *count = first;
    TRY(sp_alloc((void **)list, first, sizeof **list, "short rows"));
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t length = length_of(a, i);
        if (length > limit) continue;
        (*list)[next[class_of(length, order)]++] = (sp_short_row){a->irp[i], (int32_t)length, (int32_t)i};
    }
    return SPMM_OK;
}

/* ---- sections ---- */

/** The order in which sections are listed: class 0 contains the sections of rows that have several sections,
 *  class c > 0 the sections with SP_SEGMENTS + 1 - c segments. */
enum { SECTION_CLASSES = SP_SEGMENTS + 1 };

static int64_t sections_of(int64_t length) { return (length - 1) / SP_SECTION + 1; }

static int segments_in(int64_t length) { return (int)((length - 1) / SP_SEGMENT + 1); }

static int section_class(int64_t row_length)
{
    return row_length > SP_SECTION ? 0 : SECTION_CLASSES - segments_in(row_length);
}

/** Returns the number of sections of a class in a pack. */
static int64_t per_pack(int class) { return class == 0 ? 1 : SP_SEGMENTS / (SECTION_CLASSES - class); }

/** Lists the sections of a row of `length` entries, all with the given sp_section.slot. */
static void list_sections(int64_t row, int64_t length, uint8_t slot, sp_section *list)
{
    const int64_t count = sections_of(length);
    for (int64_t s = 0; s < count; s++) {
        const int64_t left = length - s * SP_SECTION;
        list[s] = (sp_section){(int32_t)row,   (int32_t)s,
                               (int32_t)count, (int16_t)(left < SP_SECTION ? left : SP_SECTION),
                               slot,           length <= SP_CHAIN};
    }
}

/** Counts the sections of each class c in size[c], and the entries of all sections in p->entries. Then sets
 *  p->partials, p->count and p->packs. */
static void count_sections(const spmm_csr *a, int64_t limit, int64_t *size, sp_sections *p)
{
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t length = length_of(a, i);
        if (length <= limit) continue;
        size[section_class(length)] += sections_of(length);
        p->entries += length;
    }
    p->partials = size[0];
    for (int c = 0; c < SECTION_CLASSES; c++) {
        p->count += size[c];
        p->packs += (size[c] + per_pack(c) - 1) / per_pack(c);
    }
}

/** Sets p->pack, the first section of each pack, from the number size[c] of sections of each class c. */
static void list_packs(const int64_t *size, sp_sections *p)
{
    int32_t *next = p->pack;
    int64_t first = 0;
    for (int c = 0; c < SECTION_CLASSES; c++) {
        for (int64_t s = 0; s < size[c]; s += per_pack(c)) *next++ = (int32_t)(first + s);
        first += size[c];
    }
    *next = (int32_t)first;
}

/** Lists the segments of the packs. The sections must have been listed.
 *  \param [in] start, width  as in sp_sections_create() */
static void list_segments(const int64_t *start, int64_t width, sp_sections *p)
{
    memset(p->segment, 0, (size_t)(p->packs * SP_SEGMENTS) * sizeof *p->segment);
    for (int64_t n = 0; n < p->packs; n++)
        for (int32_t i = p->pack[n]; i < p->pack[n + 1]; i++) {
            const sp_section *const s = &p->section[i];
            const int64_t row = start ? start[s->row] : s->row * width, begin = row + s->index * SP_SECTION;
            sp_segment *const to = p->segment + n * SP_SEGMENTS + s->slot;
            for (int g = 0; g < segments_in(s->length); g++) {
                const int left = s->length - g * SP_SEGMENT;
                to[g] = (sp_segment){begin + g * SP_SEGMENT, left < SP_SEGMENT ? left : SP_SEGMENT, s->chain};
            }
        }
}

spmm_status sp_sections_create(const spmm_csr *a, int64_t limit, const int64_t *start, int64_t width,
                               sp_sections *p)
{
    int64_t size[SECTION_CLASSES] = {0}, first[SECTION_CLASSES] = {0}, done[SECTION_CLASSES] = {0};
    spmm_status status;
    memset(p, 0, sizeof *p);
    count_sections(a, limit, size, p);
    if (p->count > INT32_MAX)
        return sp_fail(SPMM_ERR_LIMIT, "%lld sections of long rows: expected at most 2^31 - 1",
                       (long long)p->count);
    TRY_GOTO(sp_alloc((void **)&p->section, p->count, sizeof *p->section, "long rows"), done);
    TRY_GOTO(sp_alloc((void **)&p->pack, p->packs + 1, sizeof *p->pack, "packs of long rows"), done);
    TRY_GOTO(
        sp_alloc((void **)&p->segment, p->packs * SP_SEGMENTS, sizeof *p->segment, "segments of long rows"),
        done);
    for (int c = 1; c < SECTION_CLASSES; c++) first[c] = first[c - 1] + size[c - 1];
    list_packs(size, p);
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t length = length_of(a, i);
        if (length <= limit) continue;
        const int c = section_class(length);
        const int64_t slot = c == 0 ? 0 : done[c] % per_pack(c) * (SECTION_CLASSES - c);
        list_sections(i, length, (uint8_t)slot, p->section + first[c] + done[c]);
        done[c] += sections_of(length);
    }
    list_segments(start, width, p);
done:
    if (status != SPMM_OK) sp_sections_destroy(p);
    return status;
}

void sp_sections_destroy(sp_sections *p)
{
    if (!p) return;
    sp_free(p->section);
    sp_free(p->pack);
    sp_free(p->segment);
    memset(p, 0, sizeof *p);
}

void sp_copy_long_rows(const spmm_csr *a, int64_t limit, int64_t *start, int32_t *col, void *val)
{
    int64_t to = 0;
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t from = a->irp[i], length = length_of(a, i);
        if (length <= limit) continue;
        if (start) start[i] = to;
        if (col) memcpy(col + to, a->ja + from, (size_t)length * sizeof *col);
        if (col) sp_values_copy(a->precision, a->as, from, length, val, to);
        to += length;
    }
}

int sp_has_long_rows(const spmm_csr *a, int threads)
{
    int any = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(| : any)
    for (int64_t i = 0; i < a->rows; i++) any |= length_of(a, i) > SP_CHAIN;
    return any;
}

/* ---- sliced ELLPACK ---- */

/** The short rows of a matrix, in the order of their slices. */
typedef struct row_list {
    sp_short_row *row;
    int64_t count;
} row_list;

/** Returns the number of rows in slice s. */
static int64_t rows_in(const row_list *p, int64_t s)
{
    const int64_t left = p->count - s * SP_SLICE;
    return left < SP_SLICE ? left : SP_SLICE;
}

/** Returns the length of the longest row of slice s. */
static int64_t slice_width(const row_list *p, int64_t s)
{
    int64_t width = 0;
    for (int64_t r = 0; r < rows_in(p, s); r++)
        if (p->row[s * SP_SLICE + r].length > width) width = p->row[s * SP_SLICE + r].length;
    return width;
}

static int64_t slices_of(const row_list *p) { return (p->count + SP_SLICE - 1) / SP_SLICE; }

static int64_t padded_entries(const row_list *p)
{
    int64_t sum = 0;
    for (int64_t s = 0; s < slices_of(p); s++) sum += slice_width(p, s) * SP_SLICE;
    return sum;
}

static void fill_slice(const spmm_csr *a, const row_list *p, int64_t s, sp_matrix *m)
{
    const int64_t width = (m->row_start[s + 1] - m->row_start[s]) / SP_SLICE;
    for (int64_t r = 0; r < SP_SLICE; r++) {
        const int there = r < rows_in(p, s);
        const sp_short_row row = there ? p->row[s * SP_SLICE + r] : (sp_short_row){0, 0, INT32_MIN};
        m->target[s * SP_SLICE + r] = row.row;
        for (int64_t j = 0; j < width; j++) {
            const int64_t to = m->row_start[s] + j * SP_SLICE + r, from = row.begin + j;
            const int entry = j < row.length;
            m->col[to] = entry ? a->ja[from] : -1;
            sp_value_set(m->val, a->precision, to, entry ? sp_value_at(a->as, a->precision, from) : 0);
        }
    }
}

/** Stores the entries and sections of long rows after the slices. */
static spmm_status store_long_rows(const spmm_csr *a, int64_t limit, const sp_sections *p, int64_t slices_end,
                                   sp_matrix *m)
{
    m->sections = p->count;
    m->partials = p->partials;
    m->packs = p->packs;
    if (p->count == 0) return SPMM_OK;
    TRY(sp_matrix_alloc(m, SP_LONG_ROWS, p->count, "long rows"));
    TRY(sp_matrix_alloc(m, SP_PACK, p->packs + 1, "packs of long rows"));
    TRY(sp_matrix_alloc(m, SP_PACKED, p->packs * SP_SEGMENTS, "segments of long rows"));
    memcpy(m->section, p->section, (size_t)p->count * sizeof *m->section);
    memcpy(m->pack, p->pack, (size_t)(p->packs + 1) * sizeof *m->pack);
    memcpy(m->segment, p->segment, (size_t)(p->packs * SP_SEGMENTS) * sizeof *m->segment);
    for (int64_t s = 0; s < p->packs * SP_SEGMENTS; s++)
        if (m->segment[s].length > 0) m->segment[s].begin += slices_end;
    sp_copy_long_rows(a, limit, NULL, m->col + slices_end,
                      (char *)m->val + slices_end * sp_value_size(a->precision));
    return SPMM_OK;
}

/** Stores the slices, with memory for the entries of long rows after them. */
static spmm_status store_slices(const spmm_csr *a, const row_list *p, int64_t entries_of_long_rows,
                                int threads, sp_matrix *m)
{
    const int64_t slices = slices_of(p), stored = padded_entries(p) + entries_of_long_rows;
    m->groups = slices;
    TRY(sp_matrix_alloc(m, SP_ROW_START, slices + 1, "slice starts"));
    TRY(sp_matrix_alloc(m, SP_TARGET, slices * SP_SLICE, "slices' rows"));
    TRY(sp_matrix_alloc(m, SP_COL, stored, "sliced column indices"));
    TRY(sp_matrix_alloc(m, SP_VAL, stored, "sliced values"));
    m->row_start[0] = 0;
    for (int64_t s = 0; s < slices; s++) m->row_start[s + 1] = m->row_start[s] + slice_width(p, s) * SP_SLICE;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t s = 0; s < slices; s++) fill_slice(a, p, s, m);
    return SPMM_OK;
}

sp_order sp_slice_order(int64_t padded, int64_t entries)
{
    /* LITTLE: rows keep their order if there is at most one padding entry per 16 entries, which costs less
     * than accessing rows of X in another order. */
    enum { LITTLE = 16 };
    return padded - entries <= entries / LITTLE ? SP_ORDER_ROWS : SP_ORDER_LENGTHS;
}

/** Lists the short rows in the order of sp_slice_order(). */
static spmm_status order_rows(const spmm_csr *a, int64_t limit, row_list *p)
{
    int64_t entries = 0;
    TRY(sp_short_rows_create(a, limit, SP_ORDER_ROWS, &p->row, &p->count));
    for (int64_t r = 0; r < p->count; r++) entries += p->row[r].length;
    const sp_order order = sp_slice_order(padded_entries(p), entries);
    if (order == SP_ORDER_ROWS) return SPMM_OK;
    sp_free(p->row);
    return sp_short_rows_create(a, limit, order, &p->row, &p->count);
}

static spmm_status sell_convert(const spmm_csr *a, double ell_limit, int64_t k, int threads, sp_matrix *m)
{
    const int64_t limit = sp_short_row_limit(a, k);
    sp_sections long_rows = {0};
    row_list p = {0};
    int64_t *start = NULL;
    spmm_status status;
    (void)ell_limit;
    TRY_GOTO(order_rows(a, limit, &p), done);
    TRY_GOTO(sp_alloc((void **)&start, a->rows, sizeof *start, "starts of long rows"), done);
    sp_copy_long_rows(a, limit, start, NULL, NULL);
    TRY_GOTO(sp_sections_create(a, limit, start, 0, &long_rows), done);
    TRY_GOTO(store_slices(a, &p, long_rows.entries, threads, m), done);
    TRY_GOTO(store_long_rows(a, limit, &long_rows, m->row_start[m->groups], m), done);
done:
    sp_free(start);
    sp_free(p.row);
    sp_sections_destroy(&long_rows);
    return status;
}

const sp_format sp_format_sell = {sell_convert, sp_cuda_sell, NULL};
