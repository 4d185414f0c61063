/** Products that the CPU computes row by row: prepares a matrix once, then runs the loops of cpu_loops.h on
 *  the row ranges of the threads. */
#include "kernels/cpu/cpu_rows.h"

#include <omp.h>
#include <stdatomic.h>
#include <string.h>

#include "base/fp_environment.h"
#include "base/memory.h"
#include "base/threads.h"
#include "formats/multivector.h"
#include "formats/thread_ranges.h"
#include "kernels/cpu/cpu_choose.h"
#include "kernels/cpu/cpu_runs.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define FENCE() _mm_sfence() /* streaming stores are not ordered by the end of a parallel region */
#else
#define FENCE() (void)0
#endif

enum {
    CHUNK_ENTRIES = 2048, /* entries of A per chunk of rows in pairs or triples; see run_by_chunks() */
    /* a chunk has a multiple of this number of rows, so that it cuts no pair or triple */
    CHUNK_MULTIPLE = 6,
    /* maximum number of column blocks for which a row is computed before the next row */
    MOST_BLOCKS = 32,
    LARGE_MATRIX = 1 << 20, /* A is prefetched if it has at least this many bytes */
    LARGE_X = 1 << 18,      /* X is prefetched only if it has at least this many bytes */
    /* values are also stored in f32 if A has at least this many bytes per thread, and so is too large for
     * the L2 cache */
    NARROW_FROM = 2 << 20,
    SPARE = 8, /* values are stored in f32 only if the copy takes at most 1 / SPARE of the free memory */
};

typedef struct sp_rows {
    const int64_t *begin, *end;
    const int32_t *col;
    const void *val;
    const void *common; /* the value that all entries have; NULL: values differ */
    float *narrow; /* owned: `val` of f64 in f32, for loops of one vector per row; NULL: values are read in
                      f64 */
    int wide;      /* 1: values are always read in f64: f32 does not represent all, memory is short, or values
                      change */
    void *owned;
    spmm_csr copy; /* owned: the matrix with its rows in another order, if there is one */
    int32_t *row;  /* [rows], owned: the row of Y for each row of `copy`; NULL: the rows are in their original
                      order */
    sp_runs runs;
    /* Row ranges, if row lengths are uneven or the rows have another order; otherwise zeroed. With uneven
     * lengths and n threads, thread t computes ranges t, t + n, t + 2n and so on. */
    sp_thread_ranges ranges;
    sp_vectors vectors;
    int64_t prefetch; /* prefetch distance in X, in entries of A; 0: X is not prefetched */
    int fetch;        /* 1: A is large enough to be prefetched */
    int newly;        /* 1: X has LARGE_X bytes or more; see sp_block.newly */
    int64_t parts;    /* total number of parts of the rows of more than SP_PART entries */
    int64_t *part;    /* [2 * parts]: beginnings of the parts, then their ends */
    void *partial;    /* [parts x partial_ld]: the sums of the parts */
    int64_t partial_ld;
} sp_rows;

/** One product Y := A X: its arguments and choices. */
typedef struct product {
    const sp_launch *l;
    const sp_rows *s;
    sp_vectors v;
    int one; /* 1: X and Y have one contiguous column each, and Y is not streamed */
    int stream;
} product;

/** A column block: its loops, and X and Y at its first column. */
typedef struct column_block {
    const sp_loop *loops;
    const void *x;
    void *y;
} column_block;

/* ---- preparation ---- */

/* The bits are compared in words of 32, because -0 and 0 are different values here, and NaNs may be equal. */
#define COMPARE(T)                                 \
    enum { WORDS = sizeof(T) / sizeof(uint32_t) }; \
    const uint32_t *const word = val;              \
    for (int64_t e = begin; e < end; e++)          \
        for (int w = 0; w < WORDS; w++) differ |= word[e * WORDS + w] ^ word[at * WORDS + w];

/** Returns 1 if the values at positions begin .. end - 1 have the bits of the value at `at`. */
static int are_equal(const void *val, spmm_precision precision, int64_t begin, int64_t end, int64_t at)
{
    uint32_t differ = 0;
    SP_BY_TYPE(precision, COMPARE);
    return differ == 0;
}

/* Examines the first row with entries before the others: if values differ, this row usually shows it. */
const void *sp_common_value(const void *val, spmm_precision precision, const int64_t *begin,
                            const int64_t *end, int64_t rows, int threads)
{
    int64_t first = 0;
    while (first < rows && begin[first] == end[first]) first++;
    if (first == rows) return NULL;
    const int64_t at = begin[first];
    int equal = are_equal(val, precision, at, end[first], at);
    /* a thread may read `equal` late, which only costs time */
#pragma omp parallel for schedule(static) num_threads(threads) if (equal)
    for (int64_t i = first; i < rows; i++) {
        int so_far;
#pragma omp atomic read
        so_far = equal;
        if (!so_far || are_equal(val, precision, begin[i], end[i], at)) continue;
#pragma omp atomic write
        equal = 0;
    }
    return equal ? (const char *)val + at * sp_value_size(precision) : NULL;
}

/** Cuts the rows of more than SP_PART entries into parts and allocates memory for the sums of
 *  the parts. */
static spmm_status cut_long_rows(const sp_setup *setup, sp_rows *s)
{
    const int64_t rows = setup->a->rows, size = sp_value_size(setup->a->precision);
    const int64_t line = 64 / size;
    int64_t parts = 0;
    if (setup->longest > 0 && sp_row_parts(setup->longest) == 0) return SPMM_OK;
#pragma omp parallel for schedule(static) num_threads(setup->threads) reduction(+ : parts)
    for (int64_t i = 0; i < rows; i++) parts += sp_row_parts(s->end[i] - s->begin[i]);
    if ((s->parts = parts) == 0) return SPMM_OK;
    s->partial_ld = (setup->most + line - 1) / line * line;
    TRY(sp_alloc((void **)&s->part, 2 * s->parts, sizeof *s->part, "parts of long rows"));
    TRY(sp_alloc(&s->partial, s->parts * s->partial_ld, size, "sums of parts of long rows"));
    for (int64_t i = 0, p = 0; i < rows; i++)
        for (int64_t n = sp_row_parts(s->end[i] - s->begin[i]), at = s->begin[i]; n > 0; n--, p++) {
            s->part[p] = at;
            at = n > 1 ? at + SP_PART : s->end[i];
            s->part[s->parts + p] = at;
        }
    return SPMM_OK;
}

/* Where lengths vary much, consecutive ranges with equal numbers of entries take unequal times: for dense
 * rows of a graph, X is in the cache, whereas short rows with rarely used columns wait for memory at each
 * entry. Threads whose ranges are spread over the whole matrix take about equal times. */
int sp_rows_ranges(const int64_t *begin, const int64_t *end, int64_t rows, int threads)
{
    enum { EACH = 8 };
    double sum = 0, squares = 0;
    if (threads < 2) return threads;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : sum, squares)
    for (int64_t i = 0; i < rows; i++) {
        const double n = (double)(end[i] - begin[i]);
        sum += n;
        squares += n * n;
    }
    /* Row lengths vary much if their variance exceeds the square of their mean. */
    return squares * (double)rows > 2 * sum * sum ? EACH * threads : threads;
}

/** Creates row ranges if the matrix's own ranges do not suit: if the rows have another order, or if row
 *  lengths vary much. */
static spmm_status cpu_rows_divide(const sp_setup *setup, sp_rows *s)
{
    const int64_t rows = setup->a->rows;
    if (setup->longest > 0) return SPMM_OK;
    const int ranges = sp_rows_ranges(s->begin, s->end, rows, setup->threads);
    if (ranges == setup->threads && !s->row) return SPMM_OK; /* use the matrix's own ranges */
    return sp_thread_ranges_create(setup->csr->irp, rows, ranges, &s->ranges);
}

/** Makes the choices that depend on the number of columns. */
static void cpu_rows_choose(const sp_matrix *a, int64_t k, int brief, sp_rows *s)
{
    const int64_t size = sp_value_size(a->precision), ld = sp_multivector_ld(k, a->precision);
    s->newly = a->cols * k * size >= LARGE_X;
    s->prefetch = s->newly ? sp_choose_prefetch(a, s->begin, s->end, k * size, brief) : 0;
    s->vectors = sp_choose_vectors(a, k, ld, ld, 2 * s->runs.blocks >= a->rows);
    for (sp_run *run = s->runs.run; run < s->runs.run + s->runs.count; run++) {
        const int64_t at = s->begin[run->first], length = s->end[run->first] - at;
        run->prefetch = sp_choose_run_prefetch(s->vectors.isa, run->kind, s->col + at, length, s->prefetch) >
                        0;
    }
}

/** Returns 1 if f32 represents the values of a row exactly, as 0 or normal numbers. Subnormal numbers (below
 *  2^-126) are excluded, because processors may take long to widen them.
 *  \param [out] narrow  the values in f32; NULL: not stored */
static int is_narrow(const double *val, int64_t begin, int64_t end, float *narrow)
{
    uint64_t differ = 0;
    uint32_t subnormal = 0;
    for (int64_t e = begin; e < end; e++) {
        const float value = (float)val[e];
        const double widened = (double)value;
        uint64_t bits, of_f32;
        uint32_t word;
        memcpy(&bits, &val[e], sizeof bits);
        memcpy(&of_f32, &widened, sizeof of_f32);
        memcpy(&word, &value, sizeof word);
        differ |= bits ^ of_f32;
        subnormal |= (word << 1) - 1 < (1 << 24) - 1;
        if (narrow) narrow[e] = value;
    }
    return differ == 0 && !subnormal;
}

/** Returns 1 if f32 represents the values of the first row with entries exactly. */
static int may_be_narrow(const sp_rows *s, int64_t rows)
{
    SP_DEFAULT_FP;
    int64_t i = 0;
    while (i < rows - 1 && s->begin[i] == s->end[i]) i++;
    return is_narrow(s->val, s->begin[i], s->end[i], NULL);
}

/** Stores the values in f32. \return 1, or 0 if f32 does not represent some value exactly */
static int store_narrow(const sp_rows *s, int64_t rows, int threads)
{
    atomic_int exact = 1;
#pragma omp parallel num_threads(threads)
    {
        SP_DEFAULT_FP;
#pragma omp for schedule(static)
        for (int64_t i = 0; i < rows; i++) {
            if (!atomic_load_explicit(&exact, memory_order_relaxed)) continue;
            if (!is_narrow(s->val, s->begin[i], s->end[i], s->narrow))
                atomic_store_explicit(&exact, 0, memory_order_relaxed);
        }
    }
    return exact;
}

static atomic_llong forced_narrow_from = -1;

void sp_rows_narrow_from(int64_t bytes) { forced_narrow_from = bytes; }

/** Returns 1 if products with the chosen vectors take less time with values in f32. */
static int gains_by_narrow(const sp_rows *s, const sp_matrix *a, int threads)
{
    const sp_width *const w = s->vectors.width;
    const int64_t from = forced_narrow_from, bytes = a->nnz * (int64_t)(sizeof(double) + sizeof *a->col);
    return w->narrow && s->vectors.k <= w->lanes && bytes / threads >= (from < 0 ? NARROW_FROM : from);
}

/** Stores the values in f32, if f32 represents them exactly, products gain by it, and enough memory is
 *  free. */
static void narrow(const sp_setup *setup, sp_rows *s)
{
    const sp_matrix *const a = setup->a;
    if (a->precision != SPMM_F64 || a->nnz == 0 || s->common || s->narrow || s->wide ||
        !gains_by_narrow(s, a, setup->threads))
        return;
    const int64_t count = s->end[a->rows - 1];
    s->wide = 1;
    if (!may_be_narrow(s, a->rows) || sp_available_bytes() / SPARE < count * (int64_t)sizeof *s->narrow ||
        sp_alloc((void **)&s->narrow, count, sizeof *s->narrow, "values in f32") != SPMM_OK)
        return;
    s->wide = !store_narrow(s, a->rows, setup->threads);
    if (!s->wide) return;
    sp_free(s->narrow);
    s->narrow = NULL;
}

spmm_status sp_rows_new_values(const sp_setup *setup, void *state)
{
    sp_rows *const s = state;
    if (!s) return SPMM_OK;
    s->common = sp_common_value(s->val, setup->a->precision, s->begin, s->end, setup->a->rows,
                                setup->threads);
    /* makes no new copy in f32, because making it takes as much time as several products save, and values
     * that changed once will probably change again */
    sp_free(s->narrow);
    s->narrow = NULL;
    s->wide = 1;
    return SPMM_OK;
}

static spmm_status cpu_rows_prepare(const sp_setup *setup, sp_rows *s)
{
    const sp_matrix *const a = setup->a;
    s->col = a->col;
    s->val = a->val;
    if (setup->longest > 0) {
        TRY(sp_runs_single(a->rows, &s->runs));
    } else {
        s->common = sp_common_value(s->val, a->precision, s->begin, s->end, a->rows, setup->threads);
        TRY(sp_runs_find(s->begin, s->end, a->col, a->rows, SP_PART, setup->threads, &s->runs));
    }
    TRY(cut_long_rows(setup, s));
    TRY(cpu_rows_divide(setup, s));
    s->fetch = a->nnz * (sp_value_size(a->precision) + (int64_t)sizeof *a->col) >= LARGE_MATRIX;
    cpu_rows_choose(a, setup->k, setup->longest > 0, s);
    if (setup->longest == 0) narrow(setup, s);
    return SPMM_OK;
}

spmm_status sp_rows_set_k(const sp_setup *setup, void *state)
{
    sp_rows *const s = state;
    sp_matrix ordered;
    if (!s) return SPMM_OK;
    if (s->row) sp_matrix_view_csr(&s->copy, &ordered);
    cpu_rows_choose(s->row ? &ordered : setup->a, setup->k, 0, s);
    narrow(setup, s);
    return SPMM_OK;
}

static void free_arrays(sp_rows *s)
{
    spmm_csr_destroy(&s->copy);
    sp_free(s->row);
    sp_runs_destroy(&s->runs);
    sp_thread_ranges_destroy(&s->ranges);
    sp_free(s->narrow);
    sp_free(s->part);
    sp_free(s->partial);
    sp_free(s->owned);
}

/** Prepares a state with these rows, whose arrays it frees on failure. */
static spmm_status create(const sp_setup *setup, sp_rows rows, void **state)
{
    spmm_status status = cpu_rows_prepare(setup, &rows);
    *state = NULL;
    if (status == SPMM_OK) status = sp_alloc(state, 1, sizeof rows, "a kernel's state");
    if (status == SPMM_OK)
        *(sp_rows *)*state = rows;
    else
        free_arrays(&rows);
    return status;
}

spmm_status sp_rows_create(const sp_setup *setup, const int64_t *begin, const int64_t *end, void *owned,
                           void **state)
{
    return create(setup, (sp_rows){.begin = begin, .end = end, .owned = owned}, state);
}

spmm_status sp_rows_create_ordered(const sp_setup *setup, spmm_csr *copy, int32_t *row, void **state)
{
    sp_matrix view;
    sp_setup ordered = *setup;
    sp_matrix_view_csr(copy, &view);
    ordered.a = &view;
    ordered.csr = copy;
    return create(&ordered, (sp_rows){.begin = copy->irp, .end = copy->irp + 1, .copy = *copy, .row = row},
                  state);
}

void sp_rows_destroy(void *state)
{
    if (state) free_arrays(state);
    sp_free(state);
}

int sp_rows_values(void *state, sp_value_copy *copies)
{
    const sp_rows *const s = state;
    if (!s || !s->copy.as) return 0;
    copies[0] = (sp_value_copy){s->copy.as, s->copy.nnz};
    return 1;
}

/* ---- computing Y := A X ---- */

/** Runs a loop on rows first .. last - 1. Their number must be a multiple of the number of rows that the loop
 *  computes together (SP_HEIGHT), or 0. */
static void run_loop(sp_loop loop, sp_block *b, int64_t first, int64_t last)
{
    b->first = first;
    b->last = last;
    while (b->first < last) loop(b);
}

/** Computes rows first .. last - 1 of Y, which are all in one run. Rows whose group (of SP_HEIGHT rows) lies
 *  only partly in this range are computed one by one. */
static void run_in_run(const product *p, const sp_loop *loops, sp_block *b, const sp_run *run, int64_t first,
                       int64_t last)
{
    const sp_loop loop = loops[run->kind];
    const sp_loop brief = p->one && run->kind == SP_RUN_EQUAL
                              ? sp_choose_short(p->v.isa, p->l->x->precision, b->end[first] - b->begin[first],
                                                b)
                              : NULL;
    if (brief && last - first > 1) {
        run_loop(brief, b, first, last);
        return;
    }
    if (!loop || run->kind == SP_RUN_ANY) {
        run_loop(loops[SP_RUN_ANY], b, first, last);
        return;
    }
    const int64_t height = SP_HEIGHT(run->kind);
    const int blocks = run->kind == SP_RUN_BLOCK2 || run->kind == SP_RUN_BLOCK3;
    int64_t from = blocks ? run->first + (first - run->first + height - 1) / height * height : first;
    if (from > last) from = last;
    const int64_t to = from + (last - from) / height * height;
    b->origin = run->shifted ? run->first : -1;
    run_loop(loops[SP_RUN_ANY], b, first, from);
    run_loop(loop, b, from, to);
    run_loop(loops[SP_RUN_ANY], b, to, last);
}

/** Sets b to the arguments of loops for a column block, and returns these loops. */
static const sp_loop *enter_block(const column_block *block, sp_block *b)
{
    b->x = block->x;
    b->y = block->y;
    return block->loops;
}

/** Computes rows first .. last - 1 of Y in several column blocks, row by row. Then rows of X are read from
 *  end to end, which the hardware prefetches well. They are also spread over all sets of the caches, whereas
 *  a few columns of many rows are in few sets if rows are a power of two apart. */
static void run_by_rows(const column_block *block, int64_t blocks, sp_block *b, int64_t first, int64_t last)
{
    for (int64_t i = first; i < last; i++)
        for (int64_t n = 0; n < blocks; n++) run_loop(enter_block(&block[n], b)[SP_RUN_ANY], b, i, i + 1);
}

/** Computes rows first .. last - 1 of Y, which are all in one run of pairs or triples, in several column
 *  blocks. The loops for pairs and triples take some time to begin, so the rows are computed in chunks, whose
 *  entries are in the cache for all column blocks except the first. */
static void run_by_chunks(const product *p, const column_block *block, int64_t blocks, sp_block *b,
                          const sp_run *run, int64_t first, int64_t last)
{
    const sp_matrix *const a = p->l->a;
    const int64_t chunk = (CHUNK_ENTRIES * a->rows / (a->nnz + 1) / CHUNK_MULTIPLE + 1) * CHUNK_MULTIPLE;
    for (int64_t from = first, to; from < last; from = to) {
        to = last - from < chunk ? last : from + chunk;
        for (int64_t n = 0; n < blocks; n++) run_in_run(p, enter_block(&block[n], b), b, run, from, to);
    }
}

/** Computes rows first .. last - 1 of Y, none of which is cut into parts, in column blocks n .. n + blocks -
 *  1, at most MOST_BLOCKS. */
static void run_blocks(const product *p, int64_t n, int64_t blocks, sp_block *b, int64_t first, int64_t last)
{
    const sp_runs *const runs = &p->s->runs;
    const sp_run *run = &runs->run[sp_runs_at(runs, first)];
    column_block block[MOST_BLOCKS];
    for (int64_t m = 0; m < blocks; m++) {
        block[m].loops = sp_choose_loops(p->l, p->v.width, p->v.blocks, n + m, b);
        block[m].x = b->x;
        block[m].y = b->y;
    }
    for (int64_t i = first, end; i < last; i = end, run++) {
        end = run[1].first < last ? run[1].first : last;
        b->prefetch = run->prefetch ? p->s->prefetch : 0;
        if (blocks == 1)
            run_in_run(p, block->loops, b, run, i, end);
        else if (run->kind == SP_RUN_BLOCK2 || run->kind == SP_RUN_BLOCK3)
            run_by_chunks(p, block, blocks, b, run, i, end);
        else
            run_by_rows(block, blocks, b, i, end);
    }
}

/** Computes rows first .. last - 1 of Y, none of which is cut into parts. */
static void run_range(const product *p, int64_t first, int64_t last)
{
    const sp_rows *const s = p->s;
    for (int64_t n = 0; n < p->v.blocks && first < last; n += MOST_BLOCKS) {
        sp_block b = {.begin = s->begin,
                      .end = s->end,
                      .chain = SP_CHAIN,
                      .col = s->col,
                      .val = s->val,
                      .common = s->common,
                      .narrow = s->narrow,
                      .row = s->row,
                      .ldx = p->l->x->ld,
                      .ldy = p->l->y->ld,
                      .last_entry = s->end[last - 1] - 1,
                      .fetched = s->fetch ? s->begin[first] : -1,
                      .newly = s->newly,
                      .conjugate = p->l->conjugate,
                      .stream = p->stream};
        run_blocks(p, n, p->v.blocks - n < MOST_BLOCKS ? p->v.blocks - n : MOST_BLOCKS, &b, first, last);
    }
}

/** Returns the row ranges of the threads for a product, which cpu_rows_prepare() may replace by its own. */
static const sp_thread_ranges *ranges_of(const product *p)
{
    return p->s->ranges.threads ? &p->s->ranges : p->l->ranges;
}

/** Computes rows first .. last - 1 of Y, except those that are cut into parts. */
static void run_rows(const product *p, int64_t first, int64_t last)
{
    const sp_thread_ranges *const w = ranges_of(p);
    for (int64_t g = 0; g < w->long_rows && w->long_row[g] < last; g++) {
        if (w->long_row[g] < first) continue;
        run_range(p, first, w->long_row[g]);
        first = w->long_row[g] + 1;
    }
    run_range(p, first, last);
}

/** Computes the sums of parts first .. last - 1. The loops treat parts as rows of a matrix, and the array of
 *  their sums as its Y. */
static void run_parts(const product *p, int64_t first, int64_t last)
{
    const sp_rows *const s = p->s;
    if (first == last) return;
    sp_block b = {.begin = s->part,
                  .end = s->part + s->parts,
                  .chain = SP_LEAF,
                  .col = s->col,
                  .val = s->val,
                  .common = s->common,
                  .narrow = s->narrow,
                  .conjugate = p->l->conjugate,
                  .ldx = p->l->x->ld,
                  .ldy = s->partial_ld,
                  .prefetch = s->prefetch,
                  .last_entry = s->part[s->parts + last - 1] - 1,
                  .fetched = -1}; /* A is not prefetched: the hardware does that for few streams */
    for (int64_t n = 0; n < p->v.blocks; n++) {
        const sp_loop *const loops = sp_choose_loops(p->l, p->v.width, p->v.blocks, n, &b);
        b.y = (char *)s->partial + ((const char *)b.y - (const char *)p->l->y->data);
        run_loop(loops[SP_RUN_ANY], &b, first, last);
    }
}

#define ADD(T)                                                                                 \
    T *const sum = sp_row(y, i);                                                               \
    for (int64_t n = 0; n < count; n++) {                                                      \
        const T *const partial = (const T *)p->s->partial + (first + n) * p->s->partial_ld;    \
        for (int64_t j = 0; j < y->k; j++) sum[j] = n == 0 ? partial[j] : sum[j] + partial[j]; \
    }

/** Computes long row number g of Y: adds, in order, the sums of its `count` parts, which are parts
 *  first .. first + count - 1. */
static void add_parts(const product *p, int64_t g, int64_t first, int64_t count)
{
    const spmm_multivector *const y = p->l->y;
    const int64_t at = ranges_of(p)->long_row[g], i = p->s->row ? p->s->row[at] : at;
    SP_BY_TYPE(y->precision, ADD);
}

/** Computes the long rows of Y that this thread adds: rows number `thread`, `thread` + `threads`, ... */
static void add_all_parts(const product *p, int thread, int threads)
{
    const sp_thread_ranges *const w = ranges_of(p);
    for (int64_t g = 0, first = 0; g < w->long_rows; g++) {
        const int64_t i = w->long_row[g], count = sp_row_parts(p->s->end[i] - p->s->begin[i]);
        if (g % threads == thread) add_parts(p, g, first, count);
        first += count;
    }
}

spmm_status sp_rows_run(const sp_launch *l)
{
    const spmm_multivector *const x = l->x, *const y = l->y;
    product p = {.l = l, .s = l->state};
    const sp_thread_ranges *const w = ranges_of(&p);
    p.v = sp_vectors_of(&p.s->vectors, l);
    p.stream = sp_choose_stream(y, p.v.width);
    p.one = x->k == 1 && x->ld == 1 && y->ld == 1 && !p.stream;
    /* Thread t computes ranges t, t + threads, t + 2 threads, ..., so that all ranges are computed even if
     * OpenMP starts fewer threads than requested. */
#pragma omp parallel num_threads(sp_threads_now(l->ranges->threads))
    {
        SP_DEFAULT_FP;
        const int threads = omp_get_num_threads();
        for (int t = omp_get_thread_num(); t < w->threads; t += threads) {
            if (w->long_rows) run_parts(&p, w->part[t], w->part[t + 1]);
            run_rows(&p, w->begin[t], w->begin[t + 1]);
        }
        if (w->long_rows) {
#pragma omp barrier
            add_all_parts(&p, omp_get_thread_num(), threads);
        }
        if (p.stream) FENCE();
    }
    return SPMM_OK;
}
