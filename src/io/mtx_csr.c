/** Reads a Matrix Market file into CSR: in one pass if the file is sorted by row or by column and memory
 *  suffices; else in two passes, or in one pass through COO triplets. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/csr.h"
#include "formats/csr_sort.h"
#include "io/mtx_body.h"

enum {
    ONCE_CHUNKS = 4,   /* files of up to so many chunks need little memory; they are read in one pass */
    ROWS_PER_ENTRY = 4 /* a matrix with more than 4 rows per entry is read in one pass */
};

/* Numbers for progress reports. FIRST_PASS: share of the time that the first of two passes takes. IN_ORDER:
 * progress at the end of a pass in file order, because other passes may have to follow */
#define FIRST_PASS 0.4
#define IN_ORDER 0.99

/* the entries in file order and the matrix made from them may together use this share of the available
 * memory */
#define SHARE 0.25

static spmm_status read_once(sp_reading *r, spmm_csr *a, int64_t *stored, int64_t *duplicates)
{
    sp_coo coo = {0};
    const spmm_status status = sp_reading_coo(r, &coo);
    *stored = coo.nnz;
    if (status == SPMM_OK) return sp_csr_from_coo(&coo, r->options.threads, a, duplicates);
    sp_coo_destroy(&coo);
    return status;
}

/** Returns 1 if the file is to be read in two passes. One pass is better for a matrix with mostly empty rows:
 *  two passes would save little, because the row starts take most of the memory; and a size line with so many
 *  rows may be wrong. */
static int worth_two_passes(const sp_reading *r)
{
    return !r->header.array && sp_reading_repeatable(r) &&
           r->header.bytes > ONCE_CHUNKS * r->whole.stream.chunk_bytes &&
           r->header.rows / ROWS_PER_ENTRY <= sp_reading_capacity(r);
}

/** Checks, before anything is allocated, that the CSR matrix fits in memory. If `once` is 1 (the file is read
 *  in one pass), the triplets must fit in addition. */
static spmm_status check_memory(const sp_reading *r, int once)
{
    static const char what[] = "its matrix";
    const double size = (double)sp_value_size(r->options.precision), entries = (double)sp_reading_capacity(r);
    const sp_sizes sizes = {r->header.rows, r->header.cols, r->header.array ? 0 : (int64_t)entries};
    if (r->header.array) return sp_memory_needs(entries * size + 8 * (double)sizes.rows, what);
    /* The triplets take 8 + size bytes per entry but count as 4 + size, because the column indices of the CSR
     * (4 bytes) are allocated only after the values of the triplets have been freed. */
    return sp_memory_needs(sp_csr_bytes_of(&sizes, r->options.precision) + (once ? entries * (4 + size) : 0),
                           what);
}

/* sinks for sp_reading_pass(): mtx_csr_count() in the first pass, mtx_csr_place() in the second */
static int mtx_csr_count(void *context, const sp_entries *entries)
{
    sp_csr_builder_count(context, entries);
    return 1;
}

static int mtx_csr_place(void *context, const sp_entries *entries)
{
    return sp_csr_builder_insert(context, entries);
}

/* ---- one pass, for a file sorted by row or by column ---- */

/** The order of a file. Its major index is the one by which it is sorted, the other one is the minor
 *  index. */
typedef enum file_order { ORDER_NONE, ORDER_BY_ROW, ORDER_BY_COLUMN } file_order;

/** The first and the last entry of a chunk that has entries: their numbers in the file and their major
 *  indices. */
typedef struct chunk_ends {
    int64_t first, last;
    int32_t first_major, last_major;
} chunk_ends;

/** A file that is read in its order. b contains the entries in file order: if the file is sorted by row, b is
 *  the CSR matrix of these entries; if it is sorted by column, b is the CSR matrix of their transpose. b.as
 *  is NULL if all values are 1 and b is not the result. */
typedef struct ordered {
    file_order order;
    sp_csr_builder fill;
    spmm_csr b;
    pthread_mutex_t lock; /* protects the members below */
    chunk_ends *chunk;    /* the chunks read so far, in no particular order, [chunks] */
    int64_t chunks, room; /* room: number of elements allocated */
    int failed;           /* 1: the file has another order, or memory is lacking */
} ordered;

static int is_sorted(const int32_t *index, int64_t n)
{
    int sorted = 1;
    for (int64_t k = 1; k < n; k++) sorted &= index[k - 1] <= index[k];
    return sorted;
}

/** Returns the order that the beginning of a file suggests. */
static file_order order_of(const sp_entries *e)
{
    const int by_row = is_sorted(e->I, e->n), by_column = is_sorted(e->J, e->n);
    const int one_column = by_column && e->J[0] == e->J[e->n - 1] && e->I[0] != e->I[e->n - 1];
    if (by_row && !one_column) return ORDER_BY_ROW;
    return by_column ? ORDER_BY_COLUMN : ORDER_NONE;
}

/** Sink for sp_reading_pass(): finds the order in the first chunk, then stops the pass. */
static int find_order(void *context, const sp_entries *entries)
{
    file_order *const order = context;
    if (entries->n == 0 || entries->first > 0) return 1;
    *order = order_of(entries);
    return 0;
}

/** Adds a chunk's ends to o->chunk, or sets o->failed if the chunk is not sorted or memory is lacking.
 *  Returns 1 if the file may still be in the order o->order. */
static int note_chunk(ordered *o, const chunk_ends *chunk, int sorted)
{
    pthread_mutex_lock(&o->lock);
    if (sorted && o->chunks == o->room) {
        const int64_t room = 2 * o->room + 64;
        chunk_ends *const more = realloc(o->chunk, (size_t)room * sizeof *more);
        if (more) o->chunk = more;
        if (more) o->room = room;
        sorted = more != NULL;
    }
    if (sorted) o->chunk[o->chunks++] = *chunk;
    o->failed |= !sorted;
    const int so_far = !o->failed;
    pthread_mutex_unlock(&o->lock);
    return so_far;
}

/** Sink for sp_reading_pass(): counts the entries of each major index, and stores minor indices and values in
 *  file order. */
static int mtx_csr_append(void *context, const sp_entries *entries)
{
    ordered *const o = context;
    spmm_csr *const b = &o->b;
    const int64_t n = entries->n, first = entries->first;
    sp_entries e = *entries;
    if (n == 0) return 1;
    if (o->order == ORDER_BY_COLUMN) {
        e.I = entries->J;
        e.J = entries->I;
    }
    const chunk_ends chunk = {first, first + n - 1, e.I[0], e.I[n - 1]};
    if (!note_chunk(o, &chunk, is_sorted(e.I, n))) return 0;
    sp_csr_builder_count(&o->fill, &e);
    memcpy(b->ja + first, e.J, (size_t)n * sizeof *b->ja);
    if (e.val) sp_values_copy(b->precision, e.val, 0, n, b->as, first);
    for (int64_t k = 0; k < n && b->as && !e.val; k++) sp_value_set(b->as, b->precision, first + k, 1.0);
    return 1;
}

static int holds(const spmm_csr *b, int32_t major, int64_t entry)
{
    return b->irp[major] <= entry && entry < b->irp[major + 1];
}

/** Turns the counts in o->b.irp into row starts. Returns 1 if the whole file is in the order o->order. Each
 *  chunk is known to be sorted, so it suffices to check that the first and the last entry of each chunk are
 *  in the ranges of their major indices. */
static int order_holds(const ordered *o)
{
    const spmm_csr *const b = &o->b;
    for (int64_t i = 0; i < b->rows; i++) b->irp[i + 1] += b->irp[i];
    for (int64_t c = 0; c < o->chunks; c++) {
        const chunk_ends *const e = &o->chunk[c];
        if (!holds(b, e->first_major, e->first) || !holds(b, e->last_major, e->last)) return 0;
    }
    return 1;
}

/** Returns 1 if the CSR matrix of the entries in file order is the result, i.e. the matrix to return before
 *  its rows are sorted and duplicates are summed. */
static int is_result(const sp_reading *r, file_order order)
{
    return order == ORDER_BY_ROW && r->header.symmetry == SP_GENERAL;
}

/** Reads the file into o->b, and sets o->failed if the file is not in the order o->order. */
static spmm_status read_in_order(sp_reading *r, ordered *o)
{
    const sp_header *const h = &r->header;
    const int turned = o->order == ORDER_BY_COLUMN;
    const int64_t entries = sp_reading_capacity(r);
    TRY(sp_csr_builder_begin(turned ? h->cols : h->rows, turned ? h->rows : h->cols, SP_GENERAL,
                             r->options.precision, r->options.threads, &o->b, &o->fill));
    TRY(sp_alloc((void **)&o->b.ja, entries, sizeof *o->b.ja, "column indices"));
    if (is_result(r, o->order) || h->field != SP_FIELD_PATTERN)
        TRY(sp_alloc(&o->b.as, entries, sp_value_size(r->options.precision), "values"));
    o->b.nnz = entries;
    TRY(sp_reading_pass(r, SP_WANT_ALL, 0, mtx_csr_append, o));
    o->failed |= !order_holds(o);
    return SPMM_OK;
}

/** Makes *a from o->b and consumes o->b. */
static spmm_status finish_in_order(const sp_reading *r, ordered *o, spmm_csr *a, int64_t *duplicates)
{
    const sp_symmetry symmetry = r->header.symmetry;
    const int by_row = o->order == ORDER_BY_ROW;
    if (is_result(r, o->order)) {
        *a = o->b;
        o->b = (spmm_csr){0};
    } else {
        const sp_image image = sp_image_of(symmetry), same = SP_IMAGE_SAME;
        TRY(sp_csr_add_transpose(&o->b, by_row && image ? same : image, by_row && image ? image : same,
                                 r->options.threads, a));
        spmm_csr_destroy(&o->b);
    }
    return sp_csr_sort_sum_duplicates(a, r->options.threads, duplicates);
}

/** Returns 1 if memory suffices for reading a file in its order. Unless the entries in file order are the
 *  result, they and the CSR matrix exist at the same time, and may use SHARE of the available memory. If that
 *  is not enough, the file is read in another way. */
static int memory_for(const sp_reading *r, file_order order)
{
    const sp_header *const h = &r->header;
    const int64_t entries = sp_reading_capacity(r);
    const sp_sizes sizes = {h->rows > h->cols ? h->rows : h->cols, h->cols, entries};
    const double copies = h->symmetry == SP_GENERAL ? 2 : 3;
    return is_result(r, order) ||
           copies * sp_csr_bytes_of(&sizes, r->options.precision) <= SHARE * (double)sp_available_bytes();
}

/** Reads a file that is sorted by row or by column, in one pass: its entries are in the order of the CSR
 *  matrix or of its transpose.
 *  \param [out] done  0: the file is not sorted, or memory is lacking: *a is zeroed, and the file must be
 *                     read in another way */
static spmm_status read_sorted(sp_reading *r, spmm_csr *a, int64_t *duplicates, int *done)
{
    ordered o = {.lock = PTHREAD_MUTEX_INITIALIZER};
    *done = 0;
    r->progress_to = 0;
    sp_reading_pass(r, SP_WANT_ALL, 0, find_order, &o.order);
    if (o.order == ORDER_NONE || !memory_for(r, o.order)) return SPMM_OK;
    r->progress_to = IN_ORDER;
    spmm_status status = read_in_order(r, &o);
    if (status == SPMM_OK && !o.failed) status = finish_in_order(r, &o, a, duplicates);
    /* a wrong line is an error however the file is read. It is the first error of the file, because chunks
     * are handed out in file order */
    *done = !o.failed && (status == SPMM_OK || r->error.line > 0);
    free(o.chunk);
    spmm_csr_destroy(&o.b);
    if (*done && status == SPMM_OK) {
        r->progress_to = 1.0;
        sp_reading_report_end(r);
    }
    if (!*done) spmm_csr_destroy(a);
    return status;
}

/* ---- two passes ---- */

static spmm_status read_twice(sp_reading *r, spmm_csr *a, int64_t *duplicates)
{
    const sp_header *const h = &r->header;
    sp_csr_builder fill;
    int same;
    TRY(sp_csr_builder_begin(h->rows, h->cols, h->symmetry, r->options.precision, r->options.threads, a,
                             &fill));
    r->progress_from = r->reported;
    r->progress_to = r->progress_from + FIRST_PASS * (1.0 - r->progress_from);
    if (sp_reading_pass(r, SP_WANT_LENGTHS, 1, mtx_csr_count, &fill) != SPMM_OK) return sp_reading_explain(r);
    TRY(sp_csr_builder_start(&fill));
    r->progress_from = r->progress_to;
    r->progress_to = 1.0;
    if (sp_reading_pass(r, SP_WANT_ALL, 1, mtx_csr_place, &fill) != SPMM_OK) return sp_reading_explain(r);
    TRY(sp_csr_builder_finish(&fill, &same, duplicates));
    return same ? SPMM_OK : sp_reading_changed(r);
}

/** Reads a plain coordinate file of many chunks. */
static spmm_status read_directly(sp_reading *r, spmm_csr *a, int64_t *duplicates)
{
    int done;
    const spmm_status status = read_sorted(r, a, duplicates, &done);
    return done ? status : read_twice(r, a, duplicates);
}

/** Reads a compressed coordinate file. If it is not sorted, it is decompressed once more, into triplets: two
 *  passes, each with a decompression, would take longer. */
static spmm_status read_compressed(sp_reading *r, spmm_csr *a, int64_t *stored, int64_t *duplicates)
{
    int done;
    const spmm_status status = read_sorted(r, a, duplicates, &done);
    if (done) return status;
    r->progress_from = r->reported;
    r->progress_to = 1.0;
    return read_once(r, a, stored, duplicates);
}

spmm_status sp_reading_csr(sp_reading *r, spmm_csr *a, sp_mtx_info *info, int64_t *stored,
                           int64_t *duplicates)
{
    const int once = !worth_two_passes(r);
    int64_t entries = r->header.entries, summed = 0;
    *a = (spmm_csr){0};
    spmm_status status = check_memory(r, once);
    if (status == SPMM_OK && !once)
        status = read_directly(r, a, &summed);
    else if (status == SPMM_OK && !r->header.array && !sp_reading_repeatable(r))
        status = read_compressed(r, a, &entries, &summed);
    else if (status == SPMM_OK)
        status = read_once(r, a, &entries, &summed);
    if (status == SPMM_OK && info) sp_reading_describe(r, info);
    if (status != SPMM_OK) spmm_csr_destroy(a);
    if (stored) *stored = entries;
    if (duplicates) *duplicates = summed;
    return status;
}

spmm_status sp_read_csr(const char *path, const sp_read_options *options, spmm_csr *a, sp_mtx_info *info,
                        int64_t *stored, int64_t *duplicates)
{
    sp_reading r;
    *a = (spmm_csr){0};
    if (info) memset(info, 0, sizeof *info);
    if (stored) *stored = 0;
    if (duplicates) *duplicates = 0;
    spmm_status status = sp_reading_begin(&r, path, options, NULL);
    if (status == SPMM_OK) status = sp_reading_csr(&r, a, info, stored, duplicates);
    return sp_reading_end(&r, status);
}
