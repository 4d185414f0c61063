/** The kernel cpu_sell: products of one column on sliced ELLPACK. Rows are sorted by length within windows,
 *  so that the rows of a slice have similar lengths. Products of several columns are computed on CSR, as by
 *  cpu_csr. */
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/fp_environment.h"
#include "base/memory.h"
#include "base/threads.h"
#include "base/search.h"
#include "device/topology.h"
#include "kernels/cpu/cpu_pieces.h"
#include "kernels/cpu/cpu_rows.h"
#include "kernels/cpu/cpu_slices.h"
#include "kernels/features.h"

enum {
    WINDOW = 4096,  /* pieces are sorted within windows of this number; a multiple of SP_LANES */
    PIECE_COST = 2, /* a piece takes as much time as this number of entries, besides its own */
};

typedef struct sell {
    void *plain; /* a state from sp_rows_create(), for products of several columns, or of one if the slices
                    did not fit in memory; NULL: there were no such products */
    sp_slices slices;
    sp_pieces pieces;
    sp_isa isa;
    /* Thread t of `ranges` computes the slices begin[t] .. begin[t + 1] - 1, which contain segments, and the
     * slices row_begin[t] .. row_begin[t + 1] - 1, which contain rows. A range has consecutive pieces of A,
     * so that threads write to common cache lines of Y only where ranges meet. */
    int ranges;
    int64_t *begin;     /* [2 * (ranges + 1)]; NULL: there are no slices */
    int64_t *row_begin; /* begin + ranges + 1 */
} sell;

/* ---- preparation ---- */

static void destroy_slices(sell *s)
{
    sp_free(s->slices.start);
    sp_free(s->slices.length);
    sp_free(s->slices.target);
    sp_free(s->slices.col);
    sp_free(s->slices.near);
    sp_free(s->slices.base);
    sp_free(s->slices.val);
    sp_pieces_destroy(&s->pieces);
    sp_free(s->begin);
    s->slices = (sp_slices){0};
    s->pieces = (sp_pieces){0};
    s->begin = NULL;
}

static void cpu_sell_destroy(void *state)
{
    sell *const s = state;
    if (!s) return;
    sp_rows_destroy(s->plain);
    destroy_slices(s);
    sp_free(s);
}

static int64_t slices_of(int64_t pieces) { return (pieces + SP_LANES - 1) / SP_LANES; }

/** Divides n pieces into ranges of whole slices and of about equal cost: range r has slices begin[r] ..
 *  begin[r + 1] - 1. */
static void cpu_sell_divide(const sp_piece *list, int64_t n, int ranges, int64_t *begin)
{
    int64_t total = PIECE_COST * n, cost = 0;
    int range = 1;
    for (int64_t i = 0; i < n; i++) total += list[i].end - list[i].begin;
    begin[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i % SP_LANES == 0)
            while (range < ranges && cost >= sp_partition_share(total, ranges, range))
                begin[range++] = i / SP_LANES;
        cost += PIECE_COST + list[i].end - list[i].begin;
    }
    while (range <= ranges) begin[range++] = slices_of(n);
}

/** Sorts the pieces of a window by length, longest first. */
static void sort_by_length(const sp_piece *list, int64_t n, sp_piece *sorted)
{
    int64_t next[SP_CHAIN + 2] = {0}; /* sizes of the classes, then the next position in each class */
#define CLASS(p) (SP_CHAIN - ((p).end - (p).begin))
    for (int64_t i = 0; i < n; i++) next[CLASS(list[i]) + 1]++;
    for (int c = 0; c < SP_CHAIN; c++) next[c + 1] += next[c];
    for (int64_t i = 0; i < n; i++) sorted[next[CLASS(list[i])]++] = list[i];
#undef CLASS
}

/** Sorts the n pieces of a group within windows of each range. */
static void sort_ranges(const sp_piece *list, int64_t n, int ranges, const int64_t *begin, sp_piece *sorted)
{
#pragma omp parallel for schedule(static, 1) num_threads(ranges)
    for (int r = 0; r < ranges; r++) {
        const int64_t last = begin[r + 1] * SP_LANES < n ? begin[r + 1] * SP_LANES : n;
        for (int64_t i = begin[r] * SP_LANES; i < last; i += WINDOW)
            sort_by_length(list + i, last - i < WINDOW ? last - i : WINDOW, sorted + i);
    }
}

/** Returns the first of the pieces in slice i, and sets *count to their number. */
static const sp_piece *pieces_in(const sp_slices *s, const sp_piece *sorted, int64_t i, int *count)
{
    const int rows = i >= s->segment_slices;
    const int64_t at = (rows ? i - s->segment_slices : i) * SP_LANES,
                  left = (rows ? s->rows : s->segments) - at;
    *count = left < SP_LANES ? (int)left : SP_LANES;
    return sorted + (rows ? s->segments : 0) + at;
}

static void place_slices(const sp_piece *sorted, sp_slices *m)
{
    m->start[0] = 0;
    for (int64_t i = 0; i < m->count; i++) {
        int count;
        const sp_piece *const p = pieces_in(m, sorted, i, &count);
        m->start[i + 1] = m->start[i] + SP_LANES * (p->end - p->begin);
    }
}

static const void *common_value(const sp_setup *setup)
{
    const sp_matrix *const a = setup->a;
    return sp_common_value(a->val, a->precision, a->row_start, a->row_start + 1, a->rows, setup->threads);
}

/* Stores `element`, an expression in e, for e < n in the lane of a slice at `to`, and pads the lane to `most`
 * elements. */
#define FILL_LANE(element, n, most, to)                                   \
    do {                                                                  \
        for (int64_t e = 0; e < (n); e++) (to)[e * SP_LANES] = (element); \
        for (int64_t e = n; e < (most); e++) (to)[e * SP_LANES] = 0;      \
    } while (0)

#define FILL_VALUES(T) FILL_LANE(((const T *)a->as)[from + e], n, most, (T *)m->val + to);

/** Copies the entries of slice i. */
static void copy_slice(const spmm_csr *a, const sp_piece *sorted, const sp_slices *m, int64_t i)
{
    int count;
    const sp_piece *const p = pieces_in(m, sorted, i, &count);
    const int64_t most = p->end - p->begin;
    for (int l = 0; l < SP_LANES; l++) {
        const int64_t n = l < count ? p[l].end - p[l].begin : 0, from = n ? p[l].begin : 0,
                      to = m->start[i] + l;
        m->length[i * SP_LANES + l] = (uint8_t)n;
        m->target[i * SP_LANES + l] = l < count ? p[l].target : 0;
        if (m->near)
            FILL_LANE((uint16_t)(a->ja[from + e] - m->base[i]), n, most, m->near + to);
        else
            FILL_LANE(a->ja[from + e], n, most, m->col + to);
        SP_BY_TYPE(a->precision, FILL_VALUES);
    }
}

static atomic_llong forced_large_from = -1;

void sp_sell_large_from(int64_t bytes) { forced_large_from = bytes; }

/** Returns 1 if A does not fit into the last-level cache, so that memory limits the speed. */
static int is_large(const spmm_csr *a)
{
    const int64_t from = forced_large_from;
    return a->nnz * (sp_value_size(a->precision) + (int64_t)sizeof *a->ja) >=
           (from < 0 ? sp_last_cache_bytes() : from);
}

/** Sets m->base if the column indices of each slice span at most 65536 columns; else leaves it NULL. */
static spmm_status find_bases(const spmm_csr *a, const sp_piece *sorted, int threads, sp_slices *m)
{
    int near = 1;
    TRY(sp_alloc((void **)&m->base, m->count, sizeof *m->base, "slices"));
#pragma omp parallel for schedule(static) num_threads(threads) reduction(&& : near)
    for (int64_t i = 0; i < m->count; i++) {
        int count;
        const sp_piece *const p = pieces_in(m, sorted, i, &count);
        int32_t least = INT32_MAX, most = 0;
        for (int l = 0; l < count && near; l++)
            for (int64_t e = p[l].begin; e < p[l].end; e++) {
                if (a->ja[e] < least) least = a->ja[e];
                if (a->ja[e] > most) most = a->ja[e];
            }
        m->base[i] = most < least ? 0 : least;
        near = near && most - m->base[i] <= UINT16_MAX;
    }
    if (!near) {
        sp_free(m->base);
        m->base = NULL;
    }
    return SPMM_OK;
}

/** Makes the slices. Each thread copies the entries that it will multiply. */
static spmm_status slice(const sp_setup *setup, sell *s)
{
    const spmm_csr *const a = setup->csr;
    sp_slices *const m = &s->slices;
    sp_piece *sorted = NULL;
    spmm_status status;
    TRY_GOTO(sp_pieces_create(a, "cpu_sell", 1, &s->pieces), failed);
    m->segments = s->pieces.segments;
    m->rows = s->pieces.count - m->segments;
    m->segment_slices = slices_of(m->segments);
    m->count = m->segment_slices + slices_of(m->rows);
    s->ranges = setup->threads;
    TRY_GOTO(sp_alloc((void **)&sorted, s->pieces.count, sizeof *sorted, "rows by length"), failed);
    TRY_GOTO(sp_alloc((void **)&m->start, m->count + 1, sizeof *m->start, "slices"), failed);
    TRY_GOTO(sp_alloc((void **)&m->length, m->count * SP_LANES, sizeof *m->length, "slices"), failed);
    TRY_GOTO(sp_alloc((void **)&m->target, m->count * SP_LANES, sizeof *m->target, "slices"), failed);
    TRY_GOTO(sp_alloc((void **)&s->begin, 2 * (s->ranges + 1), sizeof *s->begin, "slices"), failed);
    s->row_begin = s->begin + s->ranges + 1;
    cpu_sell_divide(s->pieces.list, m->segments, s->ranges, s->begin);
    cpu_sell_divide(s->pieces.list + m->segments, m->rows, s->ranges, s->row_begin);
    sort_ranges(s->pieces.list, m->segments, s->ranges, s->begin, sorted);
    sort_ranges(s->pieces.list + m->segments, m->rows, s->ranges, s->row_begin, sorted + m->segments);
    for (int r = 0; r <= s->ranges; r++) s->row_begin[r] += m->segment_slices;
    place_slices(sorted, m);
    m->fetch = is_large(a);
    if (m->fetch) TRY_GOTO(find_bases(a, sorted, setup->threads, m), failed);
    if (m->base)
        TRY_GOTO(sp_alloc((void **)&m->near, m->start[m->count], sizeof *m->near, "entries of slices"),
                 failed);
    else
        TRY_GOTO(sp_alloc((void **)&m->col, m->start[m->count], sizeof *m->col, "entries of slices"), failed);
    TRY_GOTO(sp_alloc(&m->val, m->start[m->count], (size_t)sp_value_size(a->precision), "entries of slices"),
             failed);
#pragma omp parallel for schedule(static, 1) num_threads(setup->threads)
    for (int r = 0; r < s->ranges; r++) {
        for (int64_t i = s->begin[r]; i < s->begin[r + 1]; i++) copy_slice(a, sorted, m, i);
        for (int64_t i = s->row_begin[r]; i < s->row_begin[r + 1]; i++) copy_slice(a, sorted, m, i);
    }
    m->common = common_value(setup);
    sp_pieces_forget(&s->pieces);
    sp_free(sorted);
    return SPMM_OK;
failed:
    sp_free(sorted);
    destroy_slices(s);
    return status;
}

/** Creates the data for products of setup->k columns: the slices for one column, if there is enough memory,
 *  else the state for several columns. */
static spmm_status complete(const sp_setup *setup, sell *s)
{
    s->isa = sp_cpu_isa();
    if (setup->k == 1 && !s->begin) {
        const spmm_status status = slice(setup, s);
        if (status != SPMM_OK && status != SPMM_ERR_MEMORY && !s->plain) return status;
    }
    if (setup->k == 1 && s->begin) return SPMM_OK;
    if (s->plain) return sp_rows_set_k(setup, s->plain);
    return sp_rows_create(setup, setup->a->row_start, setup->a->row_start + 1, NULL, &s->plain);
}

static spmm_status cpu_sell_prepare(const sp_setup *setup, void **state)
{
    sell *s;
    *state = NULL;
    TRY(sp_alloc_zero((void **)&s, 1, sizeof *s, "a kernel's state"));
    const spmm_status status = complete(setup, s);
    if (status == SPMM_OK)
        *state = s;
    else
        cpu_sell_destroy(s);
    return status;
}

static spmm_status cpu_sell_set_k(const sp_setup *setup, void *state)
{
    return state ? complete(setup, state) : SPMM_OK;
}

static int values(void *state, sp_value_copy *copies)
{
    const sell *const s = state;
    if (!s || !s->begin) return 0;
    copies[0] = (sp_value_copy){s->slices.val, s->slices.start[s->slices.count]};
    return 1;
}

static spmm_status new_values(const sp_setup *setup, void *state)
{
    sell *const s = state;
    if (!s) return SPMM_OK;
    if (s->begin) s->slices.common = common_value(setup);
    return sp_rows_new_values(setup, s->plain);
}

/* ---- computing Y := A X ---- */

static spmm_status cpu_sell_run(const sp_launch *l)
{
    const sell *const s = l->state;
    if (l->x->k != 1 || !s->begin) {
        sp_launch plain = *l;
        plain.state = s->plain;
        return sp_rows_run(&plain);
    }
    const spmm_multivector *const x = l->x, *const y = l->y;
    const sp_pieces *const p = &s->pieces;
    const sp_slice_loop loop = sp_slices_loop(s->isa, x->precision, s->slices.common != NULL);
#pragma omp parallel num_threads(sp_threads_now(l->ranges->threads))
    {
        SP_DEFAULT_FP;
        const int threads = omp_get_num_threads();
        for (int r = omp_get_thread_num(); r < s->ranges; r += threads) {
            loop(&s->slices, s->begin[r], s->begin[r + 1], x->data, x->ld, p->partial, p->partial_ld,
                 l->conjugate);
            loop(&s->slices, s->row_begin[r], s->row_begin[r + 1], x->data, x->ld, y->data, y->ld,
                 l->conjugate);
        }
        if (p->long_rows) {
#pragma omp barrier
#pragma omp for schedule(static) nowait
            for (int64_t g = 0; g < p->long_rows; g++) sp_pieces_add(p, g, l->y);
        }
    }
    return SPMM_OK;
}

/** Suits one column if a loop over rows mispredicts most of their ends. On Zen 4 and Zen 5 CPUs cpu_sell was
 *  faster than cpu_csr if a fifth of the rows differ in length from the previous row. */
SP_SUITS(cpu_sell)
{
    if (q->k > 1 || q->many_rows) return SP_SUITS_NOT;
    if (q->products < 50) return SP_SUITS_LAST;
    if (q->changes < 0.2) return SP_SUITS_TRIAL;
    snprintf(why, n, "%.3g of the rows differ in length from the row before", q->changes);
    return SP_SUITS_FIRST;
}

SP_KERNEL(cpu_sell) = {cpu_sell_run, cpu_sell_prepare, cpu_sell_destroy, values, cpu_sell_set_k, new_values};
