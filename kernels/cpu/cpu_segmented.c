/** The kernel cpu_segmented, for matrices with few, long rows, such as those of linear programs and set
 *  covers. If such rows are computed one after another, each passes over all of X. Here long rows are cut
 *  into segments (formats/summation.h), which are computed in the order of their columns, so that segments of
 *  different rows use the same rows of X while these are in the cache. Then the segments of each row are
 *  added in the canonical order. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "base/fp_environment.h"
#include "base/memory.h"
#include "base/threads.h"
#include "base/search.h"
#include "formats/multivector.h"
#include "kernels/cpu/cpu_choose.h"
#include "kernels/cpu/cpu_pieces.h"
#include "kernels/cpu/cpu_rows.h"
#include "kernels/features.h"

enum {
    CHUNK = 16,      /* number of pieces that are computed together, column block by column block, so that
                        their entries stay in the cache */
    BUCKETS = 65536, /* maximum number of buckets by which pieces are sorted */
};

/** First the segments of long rows, then all other rows, each group sorted by column. The loops treat a piece
 *  as a row of A. The entries are copied in the order of the pieces, because the processor can prefetch one
 *  stream of entries, but not one per row. */
typedef struct segmented {
    void *plain; /* a state from sp_rows_create(), if there was not enough memory for the copy; else NULL */
    sp_pieces pieces;
    int64_t *start;  /* [pieces.count + 1] first entry of each piece in the copy */
    int32_t *target; /* [pieces.count] see sp_piece */
    int32_t *col;    /* [nnz] */
    void *val;       /* [nnz] */
    sp_vectors vectors;
} segmented;

/* ---- preparation ---- */

static void cpu_segmented_destroy(void *state)
{
    segmented *const s = state;
    if (!s) return;
    sp_rows_destroy(s->plain);
    sp_free(s->start);
    sp_free(s->target);
    sp_free(s->col);
    sp_free(s->val);
    sp_pieces_destroy(&s->pieces);
    sp_free(s);
}

/** Sorts pieces by their first columns, in buckets of columns; within a bucket they keep their order.
 *  \param [in] count  [BUCKETS + 1], a workspace */
static void sort_by_column(const spmm_csr *a, const sp_piece *list, int64_t n, int64_t *count,
                           sp_piece *sorted)
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
static void copy_pieces(const spmm_csr *a, const sp_piece *sorted, int threads, segmented *s)
{
    const int64_t pieces = s->pieces.count;
    s->start[0] = 0;
    for (int64_t p = 0; p < pieces; p++) s->start[p + 1] = s->start[p] + sorted[p].end - sorted[p].begin;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t p = 0; p < pieces; p++) {
        const int64_t n = sorted[p].end - sorted[p].begin;
        s->target[p] = sorted[p].target;
        memcpy(s->col + s->start[p], a->ja + sorted[p].begin, (size_t)n * sizeof *s->col);
        sp_values_copy(a->precision, a->as, sorted[p].begin, n, s->val, s->start[p]);
    }
}

static spmm_status cpu_segmented_cut(const sp_setup *setup, segmented *s)
{
    const spmm_csr *const a = setup->csr;
    const int64_t size = sp_value_size(a->precision), line = 64 / size;
    sp_pieces *const p = &s->pieces;
    sp_piece *sorted = NULL;
    int64_t *count = NULL;
    spmm_status status;
    const int64_t ld = sp_multivector_ld(setup->k, a->precision);
    s->vectors = sp_choose_vectors(setup->a, setup->k, ld, ld, 0);
    TRY(sp_pieces_create(a, "cpu_segmented", (setup->most + line - 1) / line * line, p));
    TRY(sp_alloc((void **)&s->start, p->count + 1, sizeof *s->start, "segments of rows"));
    TRY(sp_alloc((void **)&s->target, p->count, sizeof *s->target, "segments of rows"));
    TRY(sp_alloc((void **)&s->col, a->nnz, sizeof *s->col, "segments of rows"));
    TRY(sp_alloc(&s->val, a->nnz, (size_t)size, "segments of rows"));
    TRY_GOTO(sp_alloc((void **)&sorted, p->count, sizeof *sorted, "segments of rows"), done);
    TRY_GOTO(sp_alloc((void **)&count, BUCKETS + 1, sizeof *count, "segments of rows"), done);
    sort_by_column(a, p->list, p->segments, count, sorted);
    sort_by_column(a, p->list + p->segments, p->count - p->segments, count, sorted + p->segments);
    copy_pieces(a, sorted, setup->threads, s);
done:
    sp_pieces_forget(p);
    sp_free(sorted);
    sp_free(count);
    return status;
}

static spmm_status cpu_segmented_prepare(const sp_setup *setup, void **state)
{
    segmented *s;
    *state = NULL;
    TRY(sp_alloc_zero((void **)&s, 1, sizeof *s, "a kernel's state"));
    spmm_status status = cpu_segmented_cut(setup, s);
    if (status == SPMM_ERR_MEMORY) {
        cpu_segmented_destroy(s);
        TRY(sp_alloc_zero((void **)&s, 1, sizeof *s, "a kernel's state"));
        status = sp_rows_create(setup, setup->a->row_start, setup->a->row_start + 1, NULL, &s->plain);
    }
    if (status == SPMM_OK)
        *state = s;
    else
        cpu_segmented_destroy(s);
    return status;
}

static int values(void *state, sp_value_copy *copies)
{
    const segmented *const s = state;
    if (!s || s->plain) return 0;
    copies[0] = (sp_value_copy){s->val, s->start[s->pieces.count]};
    return 1;
}

static spmm_status cpu_segmented_set_k(const sp_setup *setup, void *state)
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
    const int segments = first < s->pieces.segments;
    sp_block b = {.begin = s->start,
                  .end = s->start + 1,
                  .chain = segments ? SP_LEAF : SP_CHAIN,
                  .col = s->col,
                  .val = s->val,
                  .row = s->target,
                  .ldx = l->x->ld,
                  .ldy = segments ? s->pieces.partial_ld : l->y->ld,
                  .fetched = -1}; /* A is not prefetched: the hardware does that for one stream */
    for (int64_t from = first, to; from < last; from = to) {
        to = blocks == 1 || last - from < CHUNK ? last : from + CHUNK;
        for (int64_t n = 0; n < blocks; n++) {
            const sp_loop loop = sp_choose_loops(l, width, blocks, n, &b)[SP_RUN_ANY];
            if (segments) b.y = (char *)s->pieces.partial + ((const char *)b.y - (const char *)l->y->data);
            b.first = from;
            b.last = to;
            while (b.first < b.last) loop(&b);
        }
    }
}

static spmm_status cpu_segmented_run(const sp_launch *l)
{
    const segmented *const s = l->state;
    if (s->plain) {
        sp_launch plain = *l;
        plain.state = s->plain;
        return sp_rows_run(&plain);
    }
    const sp_vectors v = sp_vectors_of(&s->vectors, l);
    const int64_t segments = s->pieces.segments, rows = s->pieces.count - segments;
#pragma omp parallel num_threads(sp_threads_now(l->ranges->threads))
    {
        SP_DEFAULT_FP;
        const int threads = omp_get_num_threads(), t = omp_get_thread_num();
        run_pieces(l, v.width, v.blocks, sp_partition_share(segments, threads, t),
                   sp_partition_share(segments, threads, t + 1));
        run_pieces(l, v.width, v.blocks, segments + sp_partition_share(rows, threads, t),
                   segments + sp_partition_share(rows, threads, t + 1));
#pragma omp barrier
#pragma omp for schedule(static, 1) nowait
        for (int64_t g = 0; g < s->pieces.long_rows; g++) sp_pieces_add(&s->pieces, g, l->y);
    }
    return SPMM_OK;
}

/** For long rows whose columns spread over much of X. On a CPU with 1 MB of L2 cache per core, cpu_segmented
 *  was faster than cpu_csr for rows of X of at least 256 bytes. For 128 bytes both were about as fast. */
SP_SUITS(cpu_segmented)
{
    const double x = q->row_bytes * sp_ratio(q->f->sum.reach, q->f->sum.over[SP_LENGTH_BOUNDS - 1]);
    if (q->k == 1 || q->many_rows) return SP_SUITS_NOT;
    if (q->products < 10) return SP_SUITS_LAST;
    if (q->in_long_rows < 0.9 || q->row_bytes < 128 || x < 1 << 19) return SP_SUITS_TRIAL;
    snprintf(why, n, "%.3g of the entries in long rows, each of which reaches over %.3g MB of X",
             q->in_long_rows, x * 1e-6);
    return SP_SUITS_FIRST;
}

SP_KERNEL(cpu_segmented) = {
    cpu_segmented_run, cpu_segmented_prepare, cpu_segmented_destroy, values, cpu_segmented_set_k, NULL};
