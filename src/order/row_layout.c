/** Lays out the rows of a matrix in space on the host. kernels/cuda/cuda_row_layout.cu does so on the GPU,
 *  always with chunks of the maximum size. */
#include "order/row_layout.h"

#include <math.h>
#include <string.h>

#include "base/fp_environment.h"
#include "base/memory.h"

enum { AXES = SP_LAYOUT_AXES, PIVOTS = SP_LAYOUT_PIVOTS };

#define ALL (INT64_MAX / 2) /* as the argument `most` of smooth(): no limit on the number of neighbors */

/* ---- eigenvectors ---- */

static void make_orthonormal(double (*v)[PIVOTS])
{
    for (int d = 0; d < AXES; d++) {
        for (int e = 0; e < d; e++) {
            double dot = 0;
            for (int i = 0; i < PIVOTS; i++) dot += v[d][i] * v[e][i];
            for (int i = 0; i < PIVOTS; i++) v[d][i] -= dot * v[e][i];
        }
        double length = 0;
        for (int i = 0; i < PIVOTS; i++) length += v[d][i] * v[d][i];
        for (int i = 0; i < PIVOTS; i++) v[d][i] *= length > 0 ? 1 / sqrt(length) : 0;
    }
}

void sp_layout_axes(const double *gram, float axis[AXES][PIVOTS])
{
    enum { ITERATIONS = 50 };
    double v[AXES][PIVOTS], next[AXES][PIVOTS];
    for (int d = 0; d < AXES; d++)
        for (int i = 0; i < PIVOTS; i++) v[d][i] = cos((double)(d + 1) * i + d);
    for (int n = 0; n < ITERATIONS; n++) {
        make_orthonormal(v);
        for (int d = 0; d < AXES; d++)
            for (int i = 0; i < PIVOTS; i++) {
                next[d][i] = 0;
                for (int j = 0; j < PIVOTS; j++) next[d][i] += gram[i * PIVOTS + j] * v[d][j];
            }
        memcpy(v, next, sizeof v);
    }
    make_orthonormal(v);
    for (int d = 0; d < AXES; d++)
        for (int i = 0; i < PIVOTS; i++) axis[d][i] = (float)v[d][i];
}

/* ---- the pattern ---- */

/** The pattern of a matrix whose rows and columns are numbered in the order of the clusters. An entry in
 *  column j leads to an access to the data of row j; in this order, most of these accesses hit a cache. */
typedef struct pattern {
    int64_t rows;
    int64_t *start;  /* [rows + 1] */
    int32_t *column; /* in any order in each row */
} pattern;

static spmm_status renumber(const spmm_csr *a, int threads, const int32_t *clusters, pattern *m)
{
    static const char what[] = "renumbered pattern";
    int32_t *number;
    *m = (pattern){.rows = a->rows};
    TRY(sp_alloc((void **)&m->start, a->rows + 1, sizeof *m->start, what));
    TRY(sp_alloc((void **)&m->column, a->nnz, sizeof *m->column, what));
    TRY(sp_alloc((void **)&number, a->rows, sizeof *number, what));
    m->start[0] = 0;
    for (int64_t i = 0; i < a->rows; i++) {
        number[clusters[i]] = (int32_t)i;
        m->start[i + 1] = m->start[i] + a->irp[clusters[i] + 1] - a->irp[clusters[i]];
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < a->rows; i++) {
        const int32_t *const from = a->ja + a->irp[clusters[i]];
        for (int64_t e = m->start[i]; e < m->start[i + 1]; e++) m->column[e] = number[from[e - m->start[i]]];
    }
    sp_free(number);
    return SPMM_OK;
}

static int64_t length_of(const pattern *m, int64_t i) { return m->start[i + 1] - m->start[i]; }

/* ---- graphs of chunks ---- */

/** The graph of chunks of `size` consecutive rows. */
typedef struct chunk_graph {
    int size;
    int edges; /* maximum number of entries of a row that become edges */
    int32_t vertices;
    int64_t *start;    /* [vertices + 1] */
    int32_t *neighbor; /* each neighbor of a vertex once */
} chunk_graph;

static void destroy_graph(chunk_graph *g)
{
    sp_free(g->start);
    sp_free(g->neighbor);
    *g = (chunk_graph){.size = 0};
}

/** Returns the column of the entry that becomes edge number e of a row; -1 if there is none. In a row of more
 *  than g->edges entries, the entry is a random one. */
static int32_t column_of(const pattern *m, const chunk_graph *g, int64_t row, int e)
{
    const int64_t length = length_of(m, row);
    if (length <= g->edges) return e < length ? m->column[m->start[row] + e] : -1;
    const uint32_t hash = sp_hash((uint32_t)(row * g->edges + e), SP_SEED_ROWS);
    return m->column[m->start[row] + hash % (uint32_t)length];
}

/** If `store` is 0, counts the edges of each vertex in start[vertex + 1]. If `store` is 1, stores the
 *  neighbors from neighbor[start[vertex]] on, and advances start[vertex]. */
static void visit_edges(const pattern *m, int store, chunk_graph *g)
{
    for (int64_t row = 0; row < m->rows; row++)
        for (int e = 0; e < g->edges; e++) {
            const int32_t column = column_of(m, g, row, e);
            const int32_t v = (int32_t)(row / g->size), w = column / g->size;
            if (column < 0 || v == w) continue;
            if (store) {
                g->neighbor[g->start[v]++] = w;
                g->neighbor[g->start[w]++] = v;
            } else {
                g->start[v + 1]++;
                g->start[w + 1]++;
            }
        }
}

/** Removes repeated neighbors. */
static spmm_status remove_repeated(chunk_graph *g)
{
    int64_t to = 0;
    int32_t *seen; /* [vertices]: 1 plus the last vertex that had this vertex as a neighbor */
    TRY(sp_alloc_zero((void **)&seen, g->vertices, sizeof *seen, "graph of rows"));
    for (int32_t v = 0; v < g->vertices; v++) {
        const int64_t begin = g->start[v], end = g->start[v + 1];
        g->start[v] = to;
        for (int64_t e = begin; e < end; e++) {
            const int32_t w = g->neighbor[e];
            if (seen[w] == v + 1) continue;
            seen[w] = v + 1;
            g->neighbor[to++] = w;
        }
    }
    g->start[g->vertices] = to;
    sp_free(seen);
    return SPMM_OK;
}

/** Creates the graph of chunks of `size` rows. The caller destroys it, also after a failure. */
static spmm_status create_graph(const pattern *m, int size, int edges, chunk_graph *g)
{
    static const char what[] = "graph of rows";
    *g = (chunk_graph){.size = size, .edges = edges, .vertices = (int32_t)((m->rows + size - 1) / size)};
    TRY(sp_alloc_zero((void **)&g->start, g->vertices + 1, sizeof *g->start, what));
    visit_edges(m, 0, g);
    for (int64_t v = 0; v < g->vertices; v++) g->start[v + 1] += g->start[v];
    TRY(sp_alloc((void **)&g->neighbor, g->start[g->vertices], sizeof *g->neighbor, what));
    visit_edges(m, 1, g);
    /* start[v] has advanced to where vertex v + 1 starts: move each element up by one */
    memmove(g->start + 1, g->start, (size_t)g->vertices * sizeof *g->start);
    g->start[0] = 0;
    return remove_repeated(g);
}

/* ---- coordinates ---- */

/** Moves each of n points to the mean of itself and all or some of its neighbors.
 *  \param [in] most  about the maximum number of neighbors in a mean
 *  \param [in] pass  number of the pass, which varies the choice of neighbors: if all rows of a stencil used
 *                    the neighbors in the same directions, all rows would move in one direction */
static void smooth(const int64_t *start, const int32_t *neighbor, int64_t n, int threads, int64_t most,
                   int pass, const sp_point *from, sp_point *to)
{
#pragma omp parallel num_threads(threads)
    {
        SP_DEFAULT_FP;
#pragma omp for schedule(static)
        for (int64_t v = 0; v < n; v++) {
            const int64_t length = start[v + 1] - start[v], step = (length + most - 1) / most;
            sp_point sum = from[v];
            float count = 1;
            int64_t e = start[v];
            if (step > 1) e += sp_hash((uint32_t)v, (uint32_t)pass) % (uint32_t)step;
            for (; e < start[v + 1]; e += step, count++)
                for (int d = 0; d < AXES; d++) sum.at[d] += from[neighbor[e]].at[d];
            for (int d = 0; d < AXES; d++) sum.at[d] /= count;
            to[v] = sum;
        }
    }
}

/** Smooths the vertices of a graph. \param passes even \param other [vertices] workspace */
static void smooth_graph(const chunk_graph *g, int threads, int passes, sp_point *at, sp_point *other)
{
    for (int pass = 0; pass < passes; pass += 2) {
        smooth(g->start, g->neighbor, g->vertices, threads, ALL, pass, at, other);
        smooth(g->start, g->neighbor, g->vertices, threads, ALL, pass + 1, other, at);
    }
}

/** Computes the distances of all vertices from a pivot by breadth-first search. Unreachable vertices get the
 *  largest distance plus 1. \param queue [vertices] workspace */
static void search(const chunk_graph *g, int32_t pivot, int32_t *distance, int32_t *queue)
{
    int64_t end = 0;
    for (int64_t v = 0; v < g->vertices; v++) distance[v] = -1;
    queue[end++] = pivot;
    distance[pivot] = 0;
    for (int64_t at = 0; at < end; at++) {
        const int32_t v = queue[at];
        for (int64_t e = g->start[v]; e < g->start[v + 1]; e++) {
            const int32_t w = g->neighbor[e];
            if (distance[w] >= 0) continue;
            distance[w] = distance[v] + 1;
            queue[end++] = w;
        }
    }
    const int32_t beyond = distance[queue[end - 1]] + 1;
    for (int64_t v = 0; v < g->vertices; v++)
        if (distance[v] < 0) distance[v] = beyond;
}

/** Sets square[v * PIVOTS + p] to the squared distance of vertex v from pivot p, doubly centered: first the
 *  mean over all vertices is subtracted for each pivot, then the mean over all pivots of what remains is
 *  subtracted for each vertex. \param distance, queue [PIVOTS * vertices] workspaces */
static void find_squares(const chunk_graph *g, int threads, int32_t *distance, int32_t *queue, double *square)
{
    const int64_t n = g->vertices;
    double mean[PIVOTS];
#pragma omp parallel num_threads(threads)
    {
        SP_DEFAULT_FP;
#pragma omp for schedule(dynamic)
        for (int p = 0; p < PIVOTS; p++) {
            int32_t *const d = distance + p * n;
            search(g, sp_layout_pivot(p, g->vertices), d, queue + p * n);
            mean[p] = 0;
            for (int64_t v = 0; v < n; v++) mean[p] += (double)d[v] * d[v];
            mean[p] /= (double)n;
        }
    }
#pragma omp parallel num_threads(threads)
    {
        SP_DEFAULT_FP;
#pragma omp for schedule(static)
        for (int64_t v = 0; v < n; v++) {
            double sum = 0, *const of = square + v * PIVOTS;
            for (int p = 0; p < PIVOTS; p++) {
                const double d = distance[p * n + v];
                of[p] = d * d - mean[p];
                sum += of[p];
            }
            for (int p = 0; p < PIVOTS; p++) of[p] -= sum / PIVOTS;
        }
    }
}

/** Places the vertices along the axes in which their centered squared distances vary most. */
static void row_layout_place(const chunk_graph *g, int threads, const double *square, sp_point *at)
{
    double gram[PIVOTS * PIVOTS];
    float axis[AXES][PIVOTS];
#pragma omp parallel num_threads(threads)
    {
        SP_DEFAULT_FP;
#pragma omp for schedule(dynamic)
        for (int p = 0; p < PIVOTS; p++) {
            double *const row = gram + (ptrdiff_t)p * PIVOTS;
            memset(row, 0, PIVOTS * sizeof *row);
            for (int64_t v = 0; v < g->vertices; v++)
                for (int q = 0; q < PIVOTS; q++) row[q] += square[v * PIVOTS + p] * square[v * PIVOTS + q];
        }
    }
    sp_layout_axes(gram, axis);
#pragma omp parallel num_threads(threads)
    {
        SP_DEFAULT_FP;
#pragma omp for schedule(static)
        for (int64_t v = 0; v < g->vertices; v++) {
            at[v] = (sp_point){{0}};
            for (int d = 0; d < AXES; d++)
                for (int p = 0; p < PIVOTS; p++) at[v].at[d] += (float)square[v * PIVOTS + p] * axis[d][p];
        }
    }
}

static spmm_status place_chunks(const chunk_graph *g, int threads, sp_point *at, sp_point *other)
{
    static const char what[] = "distances of rows";
    const int64_t all = (int64_t)g->vertices * PIVOTS;
    int32_t *distance;
    double *square;
    TRY(sp_alloc((void **)&distance, 2 * all, sizeof *distance, what));
    const spmm_status status = sp_alloc((void **)&square, all, sizeof *square, what);
    if (status == SPMM_OK) {
        find_squares(g, threads, distance, distance + all, square);
        row_layout_place(g, threads, square, at);
        smooth_graph(g, threads, SP_LAYOUT_CHUNK_PASSES, at, other);
    }
    sp_free(distance);
    sp_free(square);
    return status;
}

/** Smooths the rows. \param other [rows] workspace */
static void smooth_rows(const pattern *m, int threads, sp_point *at, sp_point *other)
{
    for (int pass = 0; pass < SP_LAYOUT_ROW_PASSES; pass++) {
        const int whole = pass >= SP_LAYOUT_ROW_PASSES - SP_LAYOUT_WHOLE_PASSES;
        smooth(m->start, m->column, m->rows, threads, whole ? ALL : SP_LAYOUT_NEIGHBORS, pass,
               pass % 2 ? other : at, pass % 2 ? at : other);
    }
}

/** Returns 1 if rows i - 1 and i appear to have the same columns. */
static int alike(const pattern *m, int64_t i)
{
    const int32_t *const a = m->column + m->start[i - 1], *const b = m->column + m->start[i];
    const int64_t length = length_of(m, i);
    return length > 0 && length_of(m, i - 1) == length && a[0] == b[0] && a[length - 1] == b[length - 1];
}

/** Moves the unknowns of one mesh point, i.e. consecutive rows with the same columns, to one position. */
static void join_unknowns(const pattern *m, sp_point *at)
{
    for (int64_t i = 1, leader = 0; i < m->rows; i++) {
        if (i - leader >= SP_LAYOUT_UNKNOWNS || !alike(m, i)) leader = i;
        at[i] = at[leader];
    }
}

/** Returns 1 if the rows of a cluster share columns. Checks one random entry of each row. At least 1/8 of
 *  these entries must be in a column of the row's own chunk, or of the same chunk as the column of the entry
 *  that is checked in the row before. (In a bipartite graph, no column is in the row's own chunk.) */
static int are_clusters(const pattern *m, int threads)
{
    const chunk_graph one = {.edges = 1};
    int64_t near = 0, all = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : near, all)
    for (int64_t i = 1; i < m->rows; i++) {
        const int32_t column = column_of(m, &one, i, 0), before = column_of(m, &one, i - 1, 0);
        if (column < 0) continue;
        near += column / SP_LAYOUT_CHUNK == i / SP_LAYOUT_CHUNK ||
                (before >= 0 && column / SP_LAYOUT_CHUNK == before / SP_LAYOUT_CHUNK);
        all++;
    }
    return 8 * near >= all;
}

static int limited(int64_t n, int64_t least, int64_t most)
{
    return (int)(n < least ? least : n > most ? most : n);
}

/** Lays out the rows of a pattern. \param vertex, other [rows] workspaces */
static spmm_status lay_out(const pattern *m, int threads, sp_point *vertex, sp_point *other, sp_point *at)
{
    /* in small matrices, chunks are smaller, so that there are enough of them; the rows of small chunks get
     * more edges */
    const int chunk = limited(m->rows / 4096, 1, SP_LAYOUT_CHUNK);
    const int edges = m->start[m->rows] > 4 * m->rows ? SP_LAYOUT_EDGES : 4; /* 4: a tree keeps all edges */
    const int piece = limited(chunk * SP_LAYOUT_PIECE / SP_LAYOUT_CHUNK, 1, SP_LAYOUT_PIECE);
    chunk_graph chunks = {.size = 0}, pieces = {.size = 0};
    spmm_status status;
    TRY_GOTO(create_graph(m, chunk, limited(64 / chunk, edges, 8), &chunks), done);
    TRY_GOTO(place_chunks(&chunks, threads, at, other), done);
    destroy_graph(&chunks);
    TRY_GOTO(create_graph(m, piece, limited(16 / piece, edges, 8), &pieces), done);
    for (int64_t v = 0; v < pieces.vertices; v++) vertex[v] = at[v * piece / chunk];
    smooth_graph(&pieces, threads, SP_LAYOUT_PIECE_PASSES, vertex, other);
    for (int64_t i = 0; i < m->rows; i++) at[i] = vertex[i / piece];
    smooth_rows(m, threads, at, other);
    join_unknowns(m, at);
done:
    destroy_graph(&chunks);
    destroy_graph(&pieces);
    return status;
}

spmm_status sp_lay_out_rows(const spmm_csr *a, int threads, const int32_t *clusters, sp_point *at)
{
    pattern m = {.rows = 0};
    sp_point *points = NULL;
    spmm_status status;
    memset(at, 0, (size_t)a->rows * sizeof *at);
    TRY_GOTO(renumber(a, threads, clusters, &m), done);
    if (!are_clusters(&m, threads)) goto done;
    TRY_GOTO(sp_alloc((void **)&points, 2 * a->rows, sizeof *points, "coordinates of rows"), done);
    sp_point *const laid_out = points + a->rows;
    TRY_GOTO(lay_out(&m, threads, at, points, laid_out), done); /* `at` is a workspace */
    for (int64_t i = 0; i < a->rows; i++) at[clusters[i]] = laid_out[i];
done:
    sp_free(m.start);
    sp_free(m.column);
    sp_free(points);
    return status;
}
