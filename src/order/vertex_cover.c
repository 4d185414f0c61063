/** Finds minimum vertex covers of bipartite graphs from maximum matchings. */
#include "order/vertex_cover.h"

#include <string.h>

#include "base/memory.h"

enum { NONE = -1, FAR = INT32_MAX };

/** A matching, and the state of the breadth-first search for augmenting paths. */
typedef struct search {
    const sp_bipartite *g;
    int32_t *row_mate; /* [rows] the column with which the row is matched, or NONE */
    int32_t *col_mate; /* [cols] the row with which the column is matched, or NONE */
    int32_t *level;    /* [rows] number of matching edges on a path from an unmatched row; FAR: no path */
    int32_t *queue;    /* [rows] queue of the breadth-first search; path of the depth-first search */
    int64_t *next;     /* [rows] the row's edge at which the depth-first search continues */
} search;

/** Matches each row with its first unmatched column. This finds most of the matching in one pass. */
static void match_greedily(search *s)
{
    for (int32_t i = 0; i < s->g->rows; i++)
        for (int64_t e = s->g->start[i]; e < s->g->start[i + 1] && s->row_mate[i] == NONE; e++) {
            if (s->col_mate[s->g->col[e]] != NONE) continue;
            s->row_mate[i] = s->g->col[e];
            s->col_mate[s->g->col[e]] = i;
        }
}

/** Sets the levels of all rows that are reachable by alternating paths from unmatched rows.
 *  \return 1 if a path ends in an unmatched column, so that the matching can be augmented; else 0 */
static int find_levels(search *s)
{
    int32_t begin = 0, end = 0;
    int grows = 0;
    for (int32_t i = 0; i < s->g->rows; i++) {
        s->level[i] = s->row_mate[i] == NONE ? 0 : FAR;
        if (s->row_mate[i] == NONE) s->queue[end++] = i;
    }
    while (begin < end) {
        const int32_t i = s->queue[begin++];
        for (int64_t e = s->g->start[i]; e < s->g->start[i + 1]; e++) {
            const int32_t mate = s->col_mate[s->g->col[e]];
            grows |= mate == NONE;
            if (mate == NONE || s->level[mate] != FAR) continue;
            s->level[mate] = s->level[i] + 1;
            s->queue[end++] = mate;
        }
    }
    return grows;
}

/** Augments the matching along the path in s->queue[0 .. depth]. The edges of these rows are at s->next. Each
 *  row is matched with the column of its edge; the last column was unmatched. */
static void augment(search *s, int32_t depth)
{
    for (int32_t d = depth; d >= 0; d--) {
        const int32_t i = s->queue[d], j = s->g->col[s->next[i]];
        s->row_mate[i] = j;
        s->col_mate[j] = i;
    }
}

/** Searches for a path from an unmatched row to an unmatched column on which the level increases by one with
 *  each row, and augments the matching along it. */
static void grow_from(search *s, int32_t root)
{
    int32_t depth = 0;
    s->queue[0] = root;
    while (depth >= 0) {
        const int32_t i = s->queue[depth];
        if (s->next[i] == s->g->start[i + 1]) { /* a dead end: the previous row tries its next edge */
            s->level[i] = FAR;
            if (--depth >= 0) s->next[s->queue[depth]]++;
            continue;
        }
        const int32_t mate = s->col_mate[s->g->col[s->next[i]]];
        if (mate == NONE) {
            augment(s, depth);
            return;
        }
        if (s->level[mate] == s->level[i] + 1)
            s->queue[++depth] = mate;
        else
            s->next[i]++;
    }
}

static void match(search *s)
{
    match_greedily(s);
    while (find_levels(s)) {
        memcpy(s->next, s->g->start, (size_t)s->g->rows * sizeof *s->next);
        for (int32_t i = 0; i < s->g->rows; i++)
            if (s->row_mate[i] == NONE) grow_from(s, i);
    }
}

/** Marks the cover of Koenig's theorem: the rows that no alternating path from an unmatched row reaches, and
 *  the columns that such a path reaches. The last call of find_levels() must have returned 0. */
static void mark_cover(const search *s, unsigned char *row_in, unsigned char *col_in, int64_t *size)
{
    memset(col_in, 0, (size_t)s->g->cols);
    *size = 0;
    for (int32_t i = 0; i < s->g->rows; i++) {
        row_in[i] = s->level[i] == FAR;
        *size += row_in[i];
        if (row_in[i]) continue;
        for (int64_t e = s->g->start[i]; e < s->g->start[i + 1]; e++) col_in[s->g->col[e]] = 1;
    }
    for (int32_t j = 0; j < s->g->cols; j++) *size += col_in[j];
}

spmm_status sp_vertex_cover(const sp_bipartite *graph, unsigned char *row_in, unsigned char *col_in,
                            int64_t *size)
{
    static const char what[] = "a vertex cover";
    search s = {.g = graph};
    spmm_status status;
    TRY_GOTO(sp_alloc((void **)&s.row_mate, graph->rows, sizeof *s.row_mate, what), done);
    TRY_GOTO(sp_alloc((void **)&s.col_mate, graph->cols, sizeof *s.col_mate, what), done);
    TRY_GOTO(sp_alloc((void **)&s.level, graph->rows, sizeof *s.level, what), done);
    TRY_GOTO(sp_alloc((void **)&s.queue, graph->rows, sizeof *s.queue, what), done);
    TRY_GOTO(sp_alloc((void **)&s.next, graph->rows, sizeof *s.next, what), done);
    memset(s.row_mate, 0xff, (size_t)graph->rows * sizeof *s.row_mate); /* NONE */
    memset(s.col_mate, 0xff, (size_t)graph->cols * sizeof *s.col_mate);
    match(&s);
    mark_cover(&s, row_in, col_in, size);
done:
    sp_free(s.row_mate);
    sp_free(s.col_mate);
    sp_free(s.level);
    sp_free(s.queue);
    sp_free(s.next);
    return status;
}
