/** Orders the rows of a matrix by levels of breadth-first searches. */
#include "partition/level_order.h"

#include "base/memory.h"
#include "partition/graph_cut.h"
#include "partition/partition.h"

/* AHEAD: distance, in rows, at which the neighbors of a row are prefetched before the row is visited;
 * SEARCHES: maximum number of searches of a component */
enum { AHEAD = 8, SEARCHES = 3 };

/** The graph, and the state of the searches. */
typedef struct level_search {
    int64_t vertices;
    const int64_t *start;    /* [vertices + 1] */
    const int32_t *neighbor; /* may contain the vertex itself */
    uint32_t *stamp;         /* [vertices] number of the last search that visited the vertex; 0: none */
    uint32_t stamps;         /* number of searches so far */
    int32_t *order;          /* [vertices] the vertices of the components searched so far, then of the current
                                one */
} level_search;

/** Scrambles the number of an entry (splitmix64). */
static uint64_t scramble(uint64_t row, uint64_t column)
{
    uint64_t z = (row << 32 | column) + UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/** Returns 1 if the pattern is symmetric. Compares a hash of the entries with the hash of the transposed
 *  entries, in one pass over A. If the hashes are equal by chance, the order is merely worse. */
static int is_symmetric(const spmm_csr *a, int threads)
{
    uint64_t difference = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : difference)
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++)
            difference += scramble((uint64_t)i, (uint64_t)a->ja[e]) -
                          scramble((uint64_t)a->ja[e], (uint64_t)i);
    return difference == 0;
}

static void prefetch(const level_search *s, int64_t at, int64_t end)
{
    if (at + 2 * AHEAD < end) __builtin_prefetch(&s->start[s->order[at + 2 * AHEAD]]);
    if (at + AHEAD >= end) return;
    const int32_t v = s->order[at + AHEAD];
    __builtin_prefetch(&s->neighbor[s->start[v]]);
}

/** Lists the component of a vertex in s->order from `first` on, level by level. Returns the end of the list.
 *  \param [out] last    where the last level begins
 *  \param [out] levels  number of levels */
static int64_t visit(level_search *s, int32_t root, int64_t first, int64_t *last, int64_t *levels)
{
    int64_t end = first, at = first;
    const uint32_t stamp = ++s->stamps;
    s->order[end++] = root;
    s->stamp[root] = stamp;
    *levels = 0;
    while (at < end) {
        const int64_t level_end = end;
        *last = at;
        ++*levels;
        for (; at < level_end; at++) {
            const int32_t v = s->order[at];
            prefetch(s, at, level_end);
            for (int64_t e = s->start[v]; e < s->start[v + 1]; e++) {
                const int32_t w = s->neighbor[e];
                if (s->stamp[w] == stamp) continue;
                s->stamp[w] = stamp;
                s->order[end++] = w;
            }
        }
    }
    return end;
}

/** Returns the vertex with the fewest neighbors among s->order[from .. end - 1]. */
static int32_t least_degree(const level_search *s, int64_t from, int64_t end)
{
    int32_t best = s->order[from];
    for (int64_t i = from + 1; i < end; i++) {
        const int32_t v = s->order[i];
        if (s->start[v + 1] - s->start[v] < s->start[best + 1] - s->start[best]) best = v;
    }
    return best;
}

/** Lists the component of a vertex: repeats the search from a vertex of the last level until the number of
 *  levels no longer increases. Returns the end of the list. */
static int64_t list_component(level_search *s, int32_t root, int64_t first)
{
    int64_t last, levels, before = 0;
    int64_t end = visit(s, root, first, &last, &levels);
    for (int n = 1; n < SEARCHES && levels > before && end - first > 2; n++) {
        before = levels;
        end = visit(s, least_degree(s, last, end), first, &last, &levels);
    }
    return end;
}

static spmm_status order_graph(level_search *s)
{
    int64_t end = 0;
    TRY(sp_alloc_zero((void **)&s->stamp, s->vertices, sizeof *s->stamp, "stamps of rows"));
    for (int64_t v = 0; v < s->vertices; v++)
        if (!s->stamp[v]) end = list_component(s, (int32_t)v, end);
    sp_free(s->stamp);
    return SPMM_OK;
}

spmm_status sp_level_order(const spmm_csr *a, int threads, int32_t *order)
{
    level_search s = {.vertices = a->rows, .start = a->irp, .neighbor = a->ja, .order = order};
    sp_graph g;
    if (a->rows != a->cols)
        return sp_fail(SPMM_ERR_USAGE,
                       "an order by levels needs a square matrix, and this one is %lld x %lld",
                       (long long)a->rows, (long long)a->cols);
    if (is_symmetric(a, threads)) return order_graph(&s);
    TRY(sp_graph_create(a, &g));
    s.start = g.start;
    s.neighbor = g.neighbor;
    const spmm_status status = order_graph(&s);
    sp_graph_destroy(&g);
    return status;
}

/** Assigns the rows, in the given order, to parts with about the same number of entries. `start` is scratch
 *  memory, [rows + 1]. */
static void split_order(const spmm_csr *a, int parts, const int32_t *order, int64_t *start, int64_t *begin,
                        int32_t *part)
{
    start[0] = 0;
    for (int64_t i = 0; i < a->rows; i++) start[i + 1] = start[i] + a->irp[order[i] + 1] - a->irp[order[i]];
    sp_partition_entries(start, a->rows, parts, begin);
    for (int p = 0; p < parts; p++)
        for (int64_t i = begin[p]; i < begin[p + 1]; i++) part[order[i]] = p;
}

spmm_status sp_order_partition(const spmm_csr *a, int parts, const int32_t *order, int64_t *perm,
                               int64_t *begin)
{
    int32_t *part;
    spmm_status status;
    TRY(sp_alloc((void **)&part, a->rows, sizeof *part, "parts of the rows"));
    int64_t *start = NULL;
    TRY_GOTO(sp_alloc((void **)&start, a->rows + 1, sizeof *start, "row starts"), done);
    split_order(a, parts, order, start, begin, part);
    status = sp_order_parts(a, parts, part, order, perm, begin);
done:
    sp_free(start);
    sp_free(part);
    return status;
}
