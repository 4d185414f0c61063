/** Partitions the graph of a matrix, and orders the rows within each part. */
#include "order/reorder.h"

#include <string.h>

#include "base/memory.h"
#include "order/graph_cut.h"

/** Frees the arrays of a graph. */
static void graph_destroy(sp_graph *g)
{
    sp_free(g->start);
    sp_free(g->neighbor);
}

/** Builds the pattern of the transpose of `a`: its row starts in `start`, its column indices in `row`. The
 *  rows of the transpose come out sorted, because the rows of `a` are visited in order. */
static void transpose(const spmm_csr *a, int64_t *start, int32_t *row)
{
    memset(start, 0, ((size_t)a->rows + 1) * sizeof *start);
    for (int64_t e = 0; e < a->nnz; e++) start[a->ja[e] + 1]++;
    for (int64_t j = 0; j < a->rows; j++) start[j + 1] += start[j];
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++) row[start[a->ja[e]]++] = (int32_t)i;
    /* start[j] has advanced to where row j + 1 starts: move each element up by one */
    memmove(start + 1, start, (size_t)a->rows * sizeof *start);
    start[0] = 0;
}

/** Merges the increasing lists x and y into `to`, omitting the number v and repetitions. Returns the length
 *  of the result. */
static int64_t merge(const int32_t *x, int64_t nx, const int32_t *y, int64_t ny, int64_t v, int32_t *to)
{
    int64_t n = 0;
    for (int64_t i = 0, j = 0; i < nx || j < ny;) {
        const int32_t left = i < nx ? x[i] : INT32_MAX, right = j < ny ? y[j] : INT32_MAX;
        const int32_t least = left < right ? left : right;
        i += left == least;
        j += right == least;
        if (least != v) to[n++] = least;
    }
    return n;
}

/** Builds the graph of A + A^T without the diagonal. Memory per entry of A: 4 bytes for A^T and 8 bytes
 *  for the neighbors.
 *  \param [in]  a  square, with increasing columns in each row; must outlive the graph
 *  \param [out] g  the caller destroys it; unspecified on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
static spmm_status graph_create(const spmm_csr *a, sp_graph *g)
{
    const int64_t n = a->rows;
    int64_t *start = NULL;
    int32_t *row = NULL;
    spmm_status status;
    *g = (sp_graph){.vertices = n, .row_start = a->irp};
    TRY_GOTO(sp_alloc((void **)&start, n + 1, sizeof *start, "starts of the transposed pattern"), done);
    TRY_GOTO(sp_alloc((void **)&row, a->nnz, sizeof *row, "the transposed pattern"), done);
    TRY_GOTO(sp_alloc((void **)&g->start, n + 1, sizeof *g->start, "starts of the graph"), done);
    TRY_GOTO(sp_alloc((void **)&g->neighbor, 2 * a->nnz, sizeof *g->neighbor, "the graph"), done);
    transpose(a, start, row);
    g->start[0] = 0;
    for (int64_t v = 0; v < n; v++)
        g->start[v + 1] = g->start[v] + merge(a->ja + a->irp[v], a->irp[v + 1] - a->irp[v], row + start[v],
                                              start[v + 1] - start[v], v, g->neighbor + g->start[v]);
done:
    sp_free(start);
    sp_free(row);
    if (status != SPMM_OK) graph_destroy(g);
    return status;
}

static int64_t count_cut(const sp_graph *g, const int32_t *part)
{
    int64_t cut = 0;
    for (int64_t v = 0; v < g->vertices; v++)
        for (int64_t e = g->start[v]; e < g->start[v + 1]; e++)
            cut += g->neighbor[e] > v && part[g->neighbor[e]] != part[v];
    return cut;
}

/** Kinds of rows, in the order in which sp_graph_partition() places them within a part. INTERIOR: not needed
 *  by other parts, and needs no other part; NEEDED: only needed by other parts; BOTH: needed by other parts,
 *  and needs other parts; NEEDS: only needs other parts. */
enum { INTERIOR, NEEDED, BOTH, NEEDS, KINDS };

/* the bits of which find_kinds() composes kinds */
enum { IS_NEEDED = 1, HAS_NEEDS = 2 };
static const unsigned char kind_of[] = {INTERIOR, NEEDED, NEEDS, BOTH};

static void set_bit(unsigned char *bits, unsigned char bit)
{
    unsigned char now;
#pragma omp atomic read
    now = *bits;
    if (now & bit) return;
#pragma omp atomic
    *bits |= bit;
}

static void find_kinds(const spmm_csr *a, const int32_t *part, int threads, unsigned char *kind)
{
    memset(kind, 0, (size_t)a->rows);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++) {
            const int32_t j = a->ja[e];
            if (part[i] == part[j]) continue;
            set_bit(&kind[i], HAS_NEEDS);
            set_bit(&kind[j], IS_NEEDED);
        }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < a->rows; i++) kind[i] = kind_of[kind[i]];
}

/** Numbers the rows, taken in the given order, by a stable counting sort by part and kind. `next` is scratch
 *  memory, [parts * KINDS + 1], zeroed by the caller. */
static void number_rows(const spmm_csr *a, int parts, const int32_t *part, const int32_t *order,
                        const unsigned char *kind, int64_t *next, int64_t *perm, int64_t *begin)
{
    for (int64_t i = 0; i < a->rows; i++) next[(int64_t)part[i] * KINDS + kind[i] + 1]++;
    for (int64_t b = 0; b < (int64_t)parts * KINDS; b++) next[b + 1] += next[b];
    for (int p = 0; p <= parts; p++) begin[p] = next[(int64_t)p * KINDS];
    for (int64_t at = 0; at < a->rows; at++) {
        const int64_t i = order ? order[at] : at;
        perm[i] = next[(int64_t)part[i] * KINDS + kind[i]]++;
    }
}

spmm_status sp_order_parts(const spmm_csr *a, int parts, const int32_t *part, const int32_t *order,
                           int threads, int64_t *perm, int64_t *begin)
{
    unsigned char *kind = NULL;
    int64_t *next = NULL;
    spmm_status status;
    TRY_GOTO(sp_alloc((void **)&kind, a->rows, sizeof *kind, "kinds of rows"), done);
    TRY_GOTO(sp_alloc_zero((void **)&next, (int64_t)parts * KINDS + 1, sizeof *next, "rows of each kind"),
             done);
    find_kinds(a, part, threads, kind);
    number_rows(a, parts, part, order, kind, next, perm, begin);
done:
    sp_free(kind);
    sp_free(next);
    return status;
}

static spmm_status split_rows(const spmm_csr *a, int parts, int32_t *part, int64_t *edge_cut)
{
    sp_graph g;
    TRY(graph_create(a, &g));
    const spmm_status status = sp_graph_cut(&g, parts, part);
    if (status == SPMM_OK && edge_cut) *edge_cut = count_cut(&g, part);
    graph_destroy(&g);
    return status;
}

spmm_status sp_graph_partition(const spmm_csr *a, int parts, const int32_t *order, int threads, int64_t *perm,
                               int64_t *begin, int64_t *edge_cut)
{
    if (edge_cut) *edge_cut = 0;
    if (a->rows != a->cols)
        return sp_fail(SPMM_ERR_USAGE,
                       "graph partitioning needs a square matrix, but this one is %lld x %lld",
                       (long long)a->rows, (long long)a->cols);
    if (parts < 1)
        return sp_fail(SPMM_ERR_USAGE, "cannot cut a graph into %d parts: expected at least 1", parts);
    if (parts == 1) {
        for (int64_t i = 0; i < a->rows; i++) perm[i] = i;
        begin[0] = 0;
        begin[1] = a->rows;
        return SPMM_OK;
    }
    TRY(sp_graph_ready());
    int32_t *part;
    TRY(sp_alloc((void **)&part, a->rows, sizeof *part, "parts of the rows"));
    spmm_status status;
    TRY_GOTO(split_rows(a, parts, part, edge_cut), done);
    TRY_GOTO(sp_order_parts(a, parts, part, order, threads, perm, begin), done);
done:
    sp_free(part);
    return status;
}
