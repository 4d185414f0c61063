/** Chooses a cut of the rows by the number of rows of X that each candidate moves. */
#include "order/renumbering.h"

#include <omp.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/words.h"
#include "order/comm_volume.h"
#include "order/layout_order.h"
#include "order/reorder.h"

/* Seconds per entry for the cut by METIS, to estimate its time in advance; measured on randomly numbered
 * meshes and grids on one core. */
static const double GRAPH_ENTRY = 1e-6;

/* FEW: rows are not renumbered if the cut by entries moves at most one in FEW rows of X. LESS: another cut
 * must move less than this fraction of the rows that the cut by entries moves. */
enum { FEW = 20 };
static const double LESS = 0.5;

/* MOST: with another cut, the rank that receives the most rows must receive less than this fraction of the
 * maximum with the cut by entries, because products wait for that rank. */
static const double MOST = 0.9;

void sp_renumbering_destroy(sp_renumbering *c)
{
    sp_free(c->perm);
    sp_free(c->begin);
    *c = (sp_renumbering){.by = SP_PARTITION_NNZ};
}

/** Returns the number of parts that exchange rows: nodes if the ranks of a node share X, else ranks. */
static int groups_of(const sp_cut_setting *s) { return (s->parts + s->per_part - 1) / s->per_part; }

/** Counts the rows of X that a cut moves. */
static spmm_status renumbering_count(const spmm_csr *a, const sp_cut_setting *s, sp_renumbering *c)
{
    const int groups = groups_of(s);
    int64_t *begin = NULL, *received = NULL;
    spmm_status status;
    TRY_GOTO(sp_alloc((void **)&begin, groups + 1, sizeof *begin, "boundaries of parts"), done);
    TRY_GOTO(sp_alloc((void **)&received, groups, sizeof *received, "counts of parts"), done);
    for (int g = 0; g < groups; g++) begin[g] = c->begin[g * s->per_part];
    begin[groups] = c->begin[s->parts];
    TRY_GOTO(sp_cut_volume(a, groups, c->perm, begin, s->threads, received), done);
    c->all = c->most = 0;
    for (int g = 0; g < groups; g++) {
        c->all += received[g];
        if (received[g] > c->most) c->most = received[g];
    }
done:
    sp_free(begin);
    sp_free(received);
    return status;
}

/** Returns the seconds that all products spend receiving rows. */
static double exchanging(const sp_cut_setting *s, const sp_renumbering *c)
{
    return s->products * s->second * (double)c->most;
}

/* ---- the candidates ---- */

static spmm_status begin_candidate(const spmm_csr *a, const sp_cut_setting *s, sp_partition by,
                                   sp_renumbering *c)
{
    *c = (sp_renumbering){.by = by};
    TRY(sp_alloc((void **)&c->begin, s->parts + 1, sizeof *c->begin, "boundaries of parts"));
    if (!sp_partition_renumbers(by)) return SPMM_OK;
    return sp_alloc((void **)&c->perm, a->rows, sizeof *c->perm, "new numbers of the rows");
}

/** The order of the rows and their parts, from a layout; free_rows() frees the arrays. */
typedef struct laid_out {
    int32_t *order, *part; /* [rows] */
} laid_out;

/** Makes a cut, and counts the rows of X that it moves.
 *  \param [in] rows   used by SP_PARTITION_LAYOUT; SP_PARTITION_GRAPH uses rows->order, which may be NULL
 *  \param [out] c     the caller destroys it, also after a failure
 *  \param [out] edges as for sp_renumbering_make() */
static spmm_status renumbering_make(const spmm_csr *a, const sp_cut_setting *s, sp_partition by,
                                    const laid_out *rows, sp_renumbering *c, int64_t *edges)
{
    const double start = omp_get_wtime();
    TRY(begin_candidate(a, s, by, c));
    if (by == SP_PARTITION_NNZ)
        sp_partition_entries(a->irp, a->rows, s->parts, c->begin);
    else if (by == SP_PARTITION_ROWS)
        sp_partition_even(a->rows, s->parts, c->begin);
    else if (by == SP_PARTITION_LAYOUT)
        TRY(sp_order_parts(a, s->parts, rows->part, rows->order, s->threads, c->perm, c->begin));
    else
        TRY(sp_graph_partition(a, s->parts, rows->order, s->threads, c->perm, c->begin, edges));
    TRY(renumbering_count(a, s, c));
    c->spent = omp_get_wtime() - start;
    return SPMM_OK;
}

static spmm_status lay_out(const spmm_csr *a, const sp_cut_setting *s, laid_out *rows)
{
    TRY(sp_alloc((void **)&rows->order, a->rows, sizeof *rows->order, "order of the rows"));
    TRY(sp_alloc((void **)&rows->part, a->rows, sizeof *rows->part, "parts of the rows"));
    return sp_layout_order(a, s->parts, s->together, s->threads, rows->order, rows->part);
}

static void free_rows(laid_out *rows)
{
    sp_free(rows->order);
    sp_free(rows->part);
}

spmm_status sp_renumbering_make(const spmm_csr *a, const sp_cut_setting *s, sp_partition by,
                                sp_renumbering *r, int64_t *edges)
{
    const double start = omp_get_wtime();
    laid_out rows = {NULL, NULL};
    spmm_status status = SPMM_OK;
    *r = (sp_renumbering){.by = by};
    if (by == SP_PARTITION_LAYOUT) status = lay_out(a, s, &rows);
    if (status == SPMM_OK) status = renumbering_make(a, s, by, &rows, r, edges);
    free_rows(&rows);
    r->spent = omp_get_wtime() - start;
    return status;
}

/* ---- the choice ---- */

/** Replaces *best by *c on two conditions: in total, *c moves clearly fewer rows than the cut by entries; the
 *  group that receives the most rows receives fewer with *c than with *best, and clearly fewer if *best is
 *  the cut by entries. The time spent on making *c does not count, because it has passed. Destroys the cut
 *  that is not kept.
 *  \param [in] nnz_rows  number of rows that the cut by entries moves */
static void take_better(int64_t nnz_rows, sp_renumbering *best, sp_renumbering *c)
{
    const double most = best->by == SP_PARTITION_NNZ ? MOST : 1;
    const int better = (double)c->all < LESS * (double)nnz_rows &&
                       (double)c->most < most * (double)best->most;
    sp_renumbering *const worse = better ? best : c;
    sp_renumbering_destroy(worse);
    if (better) {
        *best = *c;
        *c = (sp_renumbering){.by = SP_PARTITION_NNZ};
    }
}

/** Returns 1 if METIS is available and may save more time than it takes: the time in which the rows that
 *  *best moves are received must be more than twice the estimate of METIS's time. If *best is not the cut by
 *  a layout, METIS is not tried, because it takes many times as long on graphs that a layout cuts badly. */
static int may_cut_graph(const spmm_csr *a, const sp_cut_setting *s, const sp_renumbering *best)
{
    return best->by == SP_PARTITION_LAYOUT && exchanging(s, best) > 2 * GRAPH_ENTRY * (double)a->nnz &&
           sp_graph_ready() == SPMM_OK;
}

/** Number of rows of X that all groups would receive with each cut; -1: the cut was not tried. */
typedef struct tried_cuts {
    int64_t layout, graph;
} tried_cuts;

/** Chooses a cut. \param [in,out] best  on entry the cut by entries, on return the chosen cut */
static spmm_status try_candidates(const spmm_csr *a, const sp_cut_setting *s, sp_renumbering *best,
                                  tried_cuts *tried)
{
    const int64_t nnz_rows = best->all;
    const double start = omp_get_wtime();
    sp_renumbering c = {.by = SP_PARTITION_NNZ};
    laid_out rows = {NULL, NULL};
    spmm_status status;
    TRY_GOTO(lay_out(a, s, &rows), done);
    const double laid = omp_get_wtime() - start;
    TRY_GOTO(renumbering_make(a, s, SP_PARTITION_LAYOUT, &rows, &c, NULL), done);
    c.spent += laid;
    tried->layout = c.all;
    take_better(nnz_rows, best, &c);
    if (!may_cut_graph(a, s, best)) goto done;
    if (renumbering_make(a, s, SP_PARTITION_GRAPH, &rows, &c, NULL) != SPMM_OK)
        goto done; /* the cut by a layout remains */
    tried->graph = c.all;
    take_better(nnz_rows, best, &c);
done:
    sp_renumbering_destroy(&c);
    free_rows(&rows);
    return status;
}

/** Writes a number of rows, in millions if it is large. */
static const char *rows_text(char *text, size_t n, int64_t rows)
{
    if (rows >= 1000000)
        snprintf(text, n, "%.2f million", (double)rows * 1e-6);
    else
        snprintf(text, n, "%lld", (long long)rows);
    return text;
}

/** Writes to `why`, of n bytes, how many rows each cut moves in a product, and which cut is chosen. */
static void explain(const spmm_csr *a, const sp_cut_setting *s, int64_t nnz_rows, const tried_cuts *tried,
                    const sp_renumbering *taken, char *why, size_t n)
{
    char moved[32], whole[32];
    size_t used = 0;
    sp_text_add(why, n, &used, "auto: by entries moves %s of %s rows of X per product",
                rows_text(moved, sizeof moved, nnz_rows),
                rows_text(whole, sizeof whole, a->cols * (groups_of(s) - 1)));
    if (tried->layout >= 0)
        sp_text_add(why, n, &used, ", by layout %s", rows_text(moved, sizeof moved, tried->layout));
    if (tried->graph >= 0)
        sp_text_add(why, n, &used, ", by METIS %s", rows_text(moved, sizeof moved, tried->graph));
    if (sp_partition_renumbers(taken->by))
        sp_text_add(why, n, &used, "; renumbered by %s in %.2f s",
                    taken->by == SP_PARTITION_GRAPH ? "METIS" : "layout", taken->spent);
    else if (tried->layout >= 0)
        sp_text_add(why, n, &used, "; not renumbered");
    else if (nnz_rows * FEW > a->cols)
        sp_text_add(why, n, &used, "; renumbering would not repay in %.0f products", s->products);
}

spmm_status sp_renumbering_choose(const spmm_csr *a, const sp_cut_setting *s, sp_renumbering *best,
                                  int64_t *nnz_rows, char *why, size_t n)
{
    tried_cuts tried = {-1, -1};
    TRY(renumbering_make(a, s, SP_PARTITION_NNZ, NULL, best, NULL));
    *nnz_rows = best->all;
    if (best->all * FEW > a->cols && exchanging(s, best) > sp_layout_seconds(a, s->threads)) {
        const spmm_status status = try_candidates(a, s, best, &tried);
        if (status == SPMM_ERR_MEMORY) {
            snprintf(why, n, SP_NO_MEMORY_TO_RENUMBER);
            return SPMM_OK;
        }
        TRY(status);
    }
    explain(a, s, *nnz_rows, &tried, best, why, n);
    return SPMM_OK;
}
