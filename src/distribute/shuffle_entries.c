/** Sends entries to the ranks that count them or insert them into their blocks. */
#include "distribute/shuffle_entries.h"

#include <string.h>

#include "base/memory.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* What a pass does with the entries. COUNT: counts them per row and per column; LENGTHS: counts them per row
 * of each block; PLACE: inserts them into the blocks. */
enum { COUNT, LENGTHS, PLACE };

/** State of a pass on one rank. */
typedef struct pass {
    const sp_grid *grid;
    const sp_load_source *source;
    sp_row_counts *rows, *cols; /* used for COUNT only */
    const sp_load *load;        /* used for LENGTHS and PLACE only */
    sp_csr_builder *fill;
    sp_entries batch;
    int64_t next;             /* index of the next entry in the batch */
    int row_guess, col_guess; /* ranges of the previous entry; usually the next entry is in the same ranges */
} pass;

/* ---- sending ---- */

/** Adds an item that counts one entry of row i, or of column i if `column` is 1. The item is the index of i
 *  within the range of the receiving rank; for a column, the bitwise complement of the index, which is
 *  negative. */
static ALWAYS_INLINE void count_item(sp_shuffle *r, const sp_row_counts *t, int ranks, int64_t i, int column,
                                     int *guess)
{
    *guess = sp_range_of(t->begin, ranks, i, *guess);
    const int32_t item = (int32_t)(i - t->begin[*guess]);
    const int32_t sent = column ? ~item : item;
    memcpy(sp_shuffle_add(r, *guess), &sent, sizeof sent);
}

/** Adds the item for entry (i, j). The item is the row index within the block. For PLACE, it also contains
 *  the column index within the block and, if the source has values, the value. */
static ALWAYS_INLINE void block_item(pass *s, sp_shuffle *r, const int what, int64_t i, int64_t j,
                                     sp_c128 value)
{
    const sp_load *const l = s->load;
    const int *const dims = s->grid->dims;
    s->row_guess = sp_range_of(l->row_begin, dims[0], i, s->row_guess);
    s->col_guess = dims[1] > 1 ? sp_range_of(l->col_begin, dims[1], j, s->col_guess) : 0;
    const int32_t index[2] = {(int32_t)(i - l->row_begin[s->row_guess]),
                              (int32_t)(j - l->col_begin[s->col_guess])};
    char *const item = sp_shuffle_add(r, s->row_guess * dims[1] + s->col_guess);
    memcpy(item, index, what == PLACE ? sizeof index : sizeof index[0]);
    if (what != PLACE || !s->source->values) return;
        /* the conversion is exact, because `value` was read as this type; the item may not be aligned */
#define APPEND(T) memcpy(item + sizeof index, &(T){(T)value}, sizeof(T));
    SP_BY_TYPE(s->fill->a->precision, APPEND);
#undef APPEND
}

static ALWAYS_INLINE void add_items(pass *s, sp_shuffle *r, const int what, int64_t i, int64_t j,
                                    sp_c128 value)
{
    if (what != COUNT) {
        block_item(s, r, what, i, j, value);
        return;
    }
    if (s->rows) count_item(r, s->rows, s->grid->size, i, 0, &s->row_guess);
    if (s->cols) count_item(r, s->cols, s->grid->size, j, 1, &s->col_guess);
}

/** Adds items for the remaining entries of the batch, as long as the shuffle has space. */
static ALWAYS_INLINE void add_batch(pass *s, sp_shuffle *r, const int what)
{
    const sp_symmetry symmetry = s->source->symmetry;
    for (; s->next < s->batch.n && !sp_shuffle_full(r); s->next++) {
        const int64_t i = s->batch.I[s->next], j = s->batch.J[s->next];
        sp_c128 value = 1.0; /* value of an entry without a value */
        if (what == PLACE && s->batch.val) value = sp_value_at(s->batch.val, s->fill->a->precision, s->next);
        add_items(s, r, what, i, j, value);
        if (symmetry != SP_GENERAL && i != j)
            add_items(s, r, what, j, i, SP_VALUE_OF_IMAGE(value, sp_image_of(symmetry)));
    }
}

static ALWAYS_INLINE spmm_status fill_router(pass *s, sp_shuffle *r, int *more, const int what)
{
    *more = 1;
    while (!sp_shuffle_full(r)) {
        if (s->next == s->batch.n) {
            s->next = 0;
            TRY(s->source->next(s->source->context, &s->batch));
            *more = s->batch.n > 0;
            if (!*more) return SPMM_OK;
        }
        add_batch(s, r, what);
    }
    return SPMM_OK;
}

static spmm_status add_counts(void *context, sp_shuffle *r, int *more)
{
    return fill_router(context, r, more, COUNT);
}
static spmm_status add_lengths(void *context, sp_shuffle *r, int *more)
{
    return fill_router(context, r, more, LENGTHS);
}
static spmm_status add_entries(void *context, sp_shuffle *r, int *more)
{
    return fill_router(context, r, more, PLACE);
}

/* ---- receiving ---- */

static spmm_status take_counts(void *context, const void *items, int64_t count)
{
    const pass *const s = context;
    const int32_t *const item = items;
    for (int64_t k = 0; k < count; k++) {
        if (item[k] >= 0)
            s->rows->count[item[k] + 1]++;
        else
            s->cols->count[~item[k] + 1]++;
    }
    return SPMM_OK;
}

static spmm_status take_lengths(void *context, const void *items, int64_t count)
{
    const pass *const s = context;
    const sp_entries entries = {.n = count, .I = items};
    sp_csr_builder_count(s->fill, &entries);
    return SPMM_OK;
}

enum { GROUP = 512 };

/** Unpacks up to GROUP items, which is few enough for the cache, and inserts them into the block. Returns 0
 *  if they do not fit into the block. */
static int place_group(const pass *s, const char *item, int64_t count)
{
    int32_t I[GROUP], J[GROUP];
    sp_c128 val[GROUP]; /* the largest type */
    const int values = s->source->values;
    const int64_t width = 8 + (values ? sp_value_size(s->fill->a->precision) : 0);
#define UNPACK(T)                                                                      \
    for (int64_t k = 0; k < count; k++, item += width) {                               \
        memcpy(&I[k], item, sizeof I[k]);                                              \
        memcpy(&J[k], item + 4, sizeof J[k]);                                          \
        if (values) memcpy((char *)val + k * (int64_t)sizeof(T), item + 8, sizeof(T)); \
    }
    SP_BY_TYPE(s->fill->a->precision, UNPACK);
#undef UNPACK
    const sp_entries entries = {.n = count, .I = I, .J = J, .val = values ? val : NULL};
    return sp_csr_builder_insert(s->fill, &entries);
}

static spmm_status take_entries(void *context, const void *items, int64_t count)
{
    const pass *const s = context;
    const int64_t groups = (count + GROUP - 1) / GROUP;
    const int64_t width = 8 + (s->source->values ? sp_value_size(s->fill->a->precision) : 0);
    int beyond = 0;
#pragma omp parallel for schedule(static) num_threads(s->fill->threads) reduction(| : beyond) if (groups > 4)
    for (int64_t g = 0; g < groups; g++) {
        const int64_t n = count - g * GROUP < GROUP ? count - g * GROUP : GROUP;
        beyond |= !place_group(s, (const char *)items + g * GROUP * width, n);
    }
    return beyond ? sp_fail(SPMM_ERR_SYNTAX, "the file changed while it was read") : SPMM_OK;
}

/* ---- the passes ---- */

spmm_status sp_load_count(const sp_grid *grid, const sp_load_source *source, sp_row_counts *rows,
                          sp_row_counts *cols)
{
    pass s = {.grid = grid, .source = source, .rows = rows, .cols = cols};
    TRY(sp_route(grid->comm, sizeof(int32_t), add_counts, take_counts, &s));
    if (rows) TRY(sp_row_counts_sum(grid, rows));
    return cols ? sp_row_counts_sum(grid, cols) : SPMM_OK;
}

spmm_status sp_load_lengths(const sp_grid *grid, const sp_load_source *source, const sp_load *load,
                            sp_csr_builder *fill)
{
    pass s = {.grid = grid, .source = source, .load = load, .fill = fill};
    return sp_route(grid->comm, sizeof(int32_t), add_lengths, take_lengths, &s);
}

spmm_status sp_load_insert(const sp_grid *grid, const sp_load_source *source, const sp_load *load,
                           sp_csr_builder *fill)
{
    pass s = {.grid = grid, .source = source, .load = load, .fill = fill};
    const int64_t width = 8 + (source->values ? sp_value_size(fill->a->precision) : 0);
    return sp_route(grid->comm, width, add_entries, take_entries, &s);
}
