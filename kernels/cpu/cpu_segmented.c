/** The kernel cpu_segmented, for matrices with few, long rows, such as those of linear programs and set
 *  covers. If such rows are computed one after another, each passes over all of X. Here long rows are cut
 *  into segments (formats/summation.h), which are computed in the order of their columns, so that segments of
 *  different rows use the same rows of X while these are in the cache. Then the segments of each row are
 *  added in the canonical order. */
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "formats/multivector.h"
#include "base/search.h"
#include "kernels/cpu/cpu_choose.h"
#include "kernels/cpu/cpu_rows.h"

enum {
    CHUNK = 16,      /* number of pieces that are computed together, column block by column block, so that
                        their entries stay in the cache */
    BUCKETS = 65536, /* maximum number of buckets by which pieces are sorted */
    STRIP = 64       /* number of columns of Y whose segment sums are added at a time, in registers or the
                        L1 cache */
};

/** Pieces of A: first the segments of long rows, then all other rows, each group sorted by column. The loops
 *  treat a piece as a row of A. The entries are copied in the order of the pieces, because the processor can
 *  prefetch one stream of entries, but not one per row. */
typedef struct segmented {
    void *plain; /* a state from sp_rows_create(), if there was not enough memory for the copy; else NULL */
    int64_t segments, pieces;
    int64_t *start;  /* [pieces + 1] first entry of each piece in the copy */
    int32_t *target; /* [pieces] destination of the sum: a row of `partial` for a segment, else a row of Y */
    int32_t *col;    /* [nnz] */
    void *val;       /* [nnz] */
    int64_t long_rows;
    int32_t *long_row; /* [long_rows] row number of each long row */
    int64_t *first;    /* [long_rows + 1] the first row of `partial` of each long row */
    void *partial;     /* [segments x partial_ld] sums of the segments, row by row */
    int64_t partial_ld;
    sp_vectors vectors;
} segmented;

/** A piece: entries begin .. end - 1 of the matrix. */
typedef struct piece {
    int64_t begin, end;
    int32_t target;
} piece;

/* ---- preparation ---- */

static int64_t segments_of(int64_t entries)
{
    return entries > SP_CHAIN ? (entries + SP_SEGMENT - 1) / SP_SEGMENT : 0;
}

static void destroy(void *state)
{
    segmented *const s = state;
    if (!s) return;
    sp_rows_destroy(s->plain);
    sp_free(s->start);
    sp_free(s->target);
    sp_free(s->col);
    sp_free(s->val);
    sp_free(s->long_row);
    sp_free(s->first);
    sp_free(s->partial);
    sp_free(s);
}

/** Lists the long rows and their segments in the order of the entries, then the other rows as pieces. */
static void list_pieces(const spmm_csr *a, segmented *s, piece *list)
{
    int64_t segment = 0, row = s->segments, g = 0;
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t begin = a->irp[i], end = a->irp[i + 1], count = segments_of(end - begin);
        if (count == 0) list[row++] = (piece){begin, end, (int32_t)i};
        if (count == 0) continue;
        s->long_row[g] = (int32_t)i;
        s->first[g++] = segment;
        for (int64_t k = 0; k < count; k++, segment++) {
            const int64_t from = begin + k * SP_SEGMENT;
            list[segment] = (piece){from, k + 1 < count ? from + SP_SEGMENT : end, (int32_t)segment};
        }
    }
    s->first[s->long_rows] = s->segments;
}

/** Sorts pieces by their first columns, in buckets of columns; within a bucket they keep their order.
 *  \param [in] count  [BUCKETS + 1], a workspace */
static void sort_by_column(const spmm_csr *a, const piece *list, int64_t n, int64_t *count, piece *sorted)
{
    int shift = 0;
    while ((a->cols - 1) >> shift >= BUCKETS) shift++;
    memset(count, 0, (BUCKETS + 1) * sizeof *count);
#define BUCKET(p) ((p).begin < (p).end ? a->ja[(p).begin] >> shift : 0)
    for (int64_t p = 0; p < n; p++) count[BUCKET(list[p]) + 1]++;
    for (int b = 0; b < BUCKETS; b++) count[b + 1] += count[b];
    for (int64_t p = 0; p < n; p++) sorted[count[BUCKET(list[p])]++] = list[p];
#undef BUCKET
}

/** Copies the entries in the order of the pieces. */
static void copy_pieces(const spmm_csr *a, const piece *sorted, int threads, segmented *s)
{
    s->start[0] = 0;
    for (int64_t p = 0; p < s->pieces; p++) s->start[p + 1] = s->start[p] + sorted[p].end - sorted[p].begin;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t p = 0; p < s->pieces; p++) {
        const int64_t n = sorted[p].end - sorted[p].begin;
        s->target[p] = sorted[p].target;
        memcpy(s->col + s->start[p], a->ja + sorted[p].begin, (size_t)n * sizeof *s->col);
        sp_values_copy(a->precision, a->as, sorted[p].begin, n, s->val, s->start[p]);
    }
}

static spmm_status cut(const sp_setup *setup, segmented *s)
{
    const spmm_csr *const a = setup->csr;
    const int64_t size = sp_value_size(a->precision), line = 64 / size;
    piece *list = NULL, *sorted = NULL;
    int64_t *count = NULL;
    spmm_status status;
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t segments = segments_of(a->irp[i + 1] - a->irp[i]);
        s->segments += segments;
        s->long_rows += segments > 0;
    }
    s->pieces = s->segments + a->rows - s->long_rows;
    s->partial_ld = (setup->most + line - 1) / line * line;
    const int64_t ld = sp_multivector_ld(setup->k, a->precision);
    s->vectors = sp_choose_vectors(setup->a, setup->k, ld, ld, 0);
    if (s->pieces > INT32_MAX)
        return sp_fail(SPMM_ERR_LIMIT,
                       "%lld segments and rows: cpu_segmented supports at most 2^31 - 1 per rank",
                       (long long)s->pieces);
    TRY(sp_alloc((void **)&s->start, s->pieces + 1, sizeof *s->start, "segments of rows"));
    TRY(sp_alloc((void **)&s->target, s->pieces, sizeof *s->target, "segments of rows"));
    TRY(sp_alloc((void **)&s->col, a->nnz, sizeof *s->col, "segments of rows"));
    TRY(sp_alloc(&s->val, a->nnz, size, "segments of rows"));
    TRY(sp_alloc((void **)&s->long_row, s->long_rows, sizeof *s->long_row, "long rows"));
    TRY(sp_alloc((void **)&s->first, s->long_rows + 1, sizeof *s->first, "long rows"));
    TRY(sp_alloc(&s->partial, s->segments * s->partial_ld, size, "sums of segments"));
    TRY_GOTO(sp_alloc((void **)&list, s->pieces, sizeof *list, "segments of rows"), done);
    TRY_GOTO(sp_alloc((void **)&sorted, s->pieces, sizeof *sorted, "segments of rows"), done);
    TRY_GOTO(sp_alloc((void **)&count, BUCKETS + 1, sizeof *count, "segments of rows"), done);
    list_pieces(a, s, list);
    sort_by_column(a, list, s->segments, count, sorted);
    sort_by_column(a, list + s->segments, s->pieces - s->segments, count, sorted + s->segments);
    copy_pieces(a, sorted, setup->threads, s);
done:
    sp_free(list);
    sp_free(sorted);
    sp_free(count);
    return status;
}

static spmm_status prepare(const sp_setup *setup, void **state)
{
    segmented *s;
    *state = NULL;
    TRY(sp_alloc_zero((void **)&s, 1, sizeof *s, "a kernel's state"));
    spmm_status status = cut(setup, s);
    if (status == SPMM_ERR_MEMORY) {
        destroy(s);
        TRY(sp_alloc_zero((void **)&s, 1, sizeof *s, "a kernel's state"));
        status = sp_rows_create(setup, setup->a->row_start, setup->a->row_start + 1, NULL, &s->plain);
    }
    if (status == SPMM_OK)
        *state = s;
    else
        destroy(s);
    return status;
}

static int values(void *state, sp_value_copy *copies)
{
    const segmented *const s = state;
    if (!s || s->plain) return 0;
    copies[0] = (sp_value_copy){s->val, s->start[s->pieces]};
    return 1;
}

static spmm_status set_k(const sp_setup *setup, void *state)
{
    segmented *const s = state;
    if (s && s->plain) return sp_rows_set_k(setup, s->plain);
    const int64_t ld = sp_multivector_ld(setup->k, setup->a->precision);
    if (s) s->vectors = sp_choose_vectors(setup->a, setup->k, ld, ld, 0);
    return SPMM_OK;
}

/* ---- computing Y := A X ---- */

/** Computes pieces first .. last - 1, which are all segments or all rows. */
static void run_pieces(const sp_launch *l, const sp_width *width, int64_t blocks, int64_t first, int64_t last)
{
    const segmented *const s = l->state;
    const int segments = first < s->segments;
    sp_block b = {.begin = s->start,
                  .end = s->start + 1,
                  .chain = segments ? SP_LEAF : SP_CHAIN,
                  .col = s->col,
                  .val = s->val,
                  .row = s->target,
                  .ldx = l->x->ld,
                  .ldy = segments ? s->partial_ld : l->y->ld,
                  .fetched = -1}; /* A is not prefetched: the hardware does that for one stream */
    for (int64_t from = first, to; from < last; from = to) {
        to = blocks == 1 || last - from < CHUNK ? last : from + CHUNK;
        for (int64_t n = 0; n < blocks; n++) {
            const sp_loop loop = sp_choose_loops(l, width, blocks, n, &b)[SP_RUN_ANY];
            if (segments) b.y = (char *)s->partial + ((const char *)b.y - (const char *)l->y->data);
            b.first = from;
            b.last = to;
            while (b.first < b.last) loop(&b);
        }
    }
}

/* Adds the sums of a long row's `segments` segments, at `from`, in the canonical order. */
#define ADD_SEGMENTS(name, type)                                                                \
    static void name(const type *from, int64_t ld, int64_t segments, int64_t k, type *y)        \
    {                                                                                           \
        type section[STRIP], part[STRIP], sum[STRIP];                                           \
        for (int64_t j = 0, n; j < k; j += n) {                                                 \
            n = k - j < STRIP ? k - j : STRIP;                                                  \
            for (int64_t i = 0; i < n; i++) section[i] = part[i] = sum[i] = (type)-0.0;         \
            for (int64_t q = 1; q <= segments; q++, from += ld) {                               \
                for (int64_t i = 0; i < n; i++) section[i] += from[j + i];                      \
                if (q % SP_SEGMENTS && q < segments) continue;                                  \
                for (int64_t i = 0; i < n; i++) part[i] += section[i], section[i] = (type)-0.0; \
                if (q % (SP_SEGMENTS * SP_SECTIONS) && q < segments) continue;                  \
                for (int64_t i = 0; i < n; i++) sum[i] += part[i], part[i] = (type)-0.0;        \
            }                                                                                   \
            from -= segments * ld;                                                              \
            for (int64_t i = 0; i < n; i++) y[j + i] = sum[i];                                  \
        }                                                                                       \
    }
ADD_SEGMENTS(add_segments_f64, double)
ADD_SEGMENTS(add_segments_f32, float)
#undef ADD_SEGMENTS

/** Computes the row of Y for long row number g: adds the sums of its segments. */
static void finish_row(const sp_launch *l, int64_t g)
{
    const segmented *const s = l->state;
    const int64_t at = s->first[g] * s->partial_ld, segments = s->first[g + 1] - s->first[g];
    const int64_t to = s->long_row[g] * l->y->ld;
    if (l->y->precision == SPMM_F64)
        add_segments_f64((const double *)s->partial + at, s->partial_ld, segments, l->y->k,
                         (double *)l->y->data + to);
    else
        add_segments_f32((const float *)s->partial + at, s->partial_ld, segments, l->y->k,
                         (float *)l->y->data + to);
}

static spmm_status run(const sp_launch *l)
{
    const segmented *const s = l->state;
    if (s->plain) {
        sp_launch plain = *l;
        plain.state = s->plain;
        return sp_rows_run(&plain);
    }
    const sp_vectors v = sp_vectors_of(&s->vectors, l);
    const int64_t rows = s->pieces - s->segments;
#pragma omp parallel num_threads(l->ranges->threads)
    {
        const int threads = omp_get_num_threads(), t = omp_get_thread_num();
        run_pieces(l, v.width, v.blocks, sp_partition_share(s->segments, threads, t),
                   sp_partition_share(s->segments, threads, t + 1));
        run_pieces(l, v.width, v.blocks, s->segments + sp_partition_share(rows, threads, t),
                   s->segments + sp_partition_share(rows, threads, t + 1));
#pragma omp barrier
#pragma omp for schedule(static, 1) nowait
        for (int64_t g = 0; g < s->long_rows; g++) finish_row(l, g);
    }
    return SPMM_OK;
}

SP_KERNEL(cpu_segmented) = {run, prepare, destroy, values, set_k, NULL};
