/** Vertex covers of bipartite graphs: every edge is covered, and no cover is smaller: compared with all
 *  subsets of small graphs, and for larger graphs with a matching found by another algorithm. */
#include "order/vertex_cover.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "test.h"

enum { MOST = 400 };

typedef struct graph {
    sp_bipartite g;
    int64_t start[MOST + 1];
    int32_t *col;
} graph;

/** Makes a random graph, in which each edge exists with probability `share`. */
static void make(graph *x, int32_t rows, int32_t cols, double share, uint64_t seed)
{
    uint64_t number = 0;
    x->col = malloc(((size_t)rows * (size_t)cols + 1) * sizeof *x->col);
    x->start[0] = 0;
    for (int32_t i = 0; i < rows; i++) {
        x->start[i + 1] = x->start[i];
        for (int32_t j = 0; j < cols; j++)
            if (0.5 + 0.5 * sp_random_unit(seed, 1, number++) < share) x->col[x->start[i + 1]++] = j;
    }
    x->g = (sp_bipartite){rows, cols, x->start, x->col};
}

/** Checks that the cover covers each edge, and returns its size. */
static int64_t cover(const sp_bipartite *g)
{
    unsigned char row_in[MOST], col_in[MOST];
    int64_t size = -1, members = 0;
    CHECK_INT(sp_vertex_cover(g, row_in, col_in, &size), SPMM_OK);
    for (int32_t i = 0; i < g->rows; i++) {
        members += row_in[i];
        for (int64_t e = g->start[i]; e < g->start[i + 1]; e++) CHECK(row_in[i] || col_in[g->col[e]]);
    }
    for (int32_t j = 0; j < g->cols; j++) members += col_in[j];
    CHECK_INT(members, size);
    return size;
}

/** The size of the smallest cover: tries all sets of rows, each with the columns that the other rows need. */
static int64_t smallest(const sp_bipartite *g)
{
    int64_t least = g->rows;
    for (unsigned set = 0; set < 1U << g->rows; set++) {
        unsigned columns = 0;
        for (int32_t i = 0; i < g->rows; i++)
            for (int64_t e = g->start[i]; e < g->start[i + 1] && !(set >> i & 1); e++)
                columns |= 1U << g->col[e];
        const int64_t size = __builtin_popcount(set) + __builtin_popcount(columns);
        if (size < least) least = size;
    }
    return least;
}

/** Looks for a path that gives row i a mate (the recursive algorithm of textbooks). */
static int augment(const sp_bipartite *g, int32_t i, int32_t *mate, unsigned char *seen)
{
    for (int64_t e = g->start[i]; e < g->start[i + 1]; e++) {
        const int32_t j = g->col[e];
        if (seen[j]) continue;
        seen[j] = 1;
        if (mate[j] >= 0 && !augment(g, mate[j], mate, seen)) continue;
        mate[j] = i;
        return 1;
    }
    return 0;
}

/** The number of edges of a maximum matching. */
static int64_t matching(const sp_bipartite *g)
{
    int32_t mate[MOST];
    unsigned char seen[MOST];
    int64_t n = 0;
    memset(mate, 0xff, sizeof mate);
    for (int32_t i = 0; i < g->rows; i++) {
        memset(seen, 0, sizeof seen);
        n += augment(g, i, mate, seen);
    }
    return n;
}

int main(void)
{
    graph x;
    TEST("small graphs: no set of rows and columns that covers all edges is smaller") {
        for (uint64_t seed = 0; seed < 300; seed++) {
            make(&x, (int32_t)(seed % 9), (int32_t)(1 + seed / 9 % 9), 0.1 + 0.1 * (double)(seed % 7), seed);
            CHECK_INT(cover(&x.g), smallest(&x.g));
            free(x.col);
        }
    }
    TEST("larger graphs: as many members as a maximum matching has edges") {
        for (uint64_t seed = 0; seed < 60; seed++) {
            make(&x, (int32_t)(1 + seed * 67 % MOST), (int32_t)(1 + seed * 131 % MOST),
                 (seed % 3 == 0 ? 1.0 : 4.0) / MOST, seed);
            CHECK_INT(cover(&x.g), matching(&x.g));
            free(x.col);
        }
    }
    TEST("a hub row is covered by itself, a hub column by itself, single edges by their rows") {
        int64_t start[] = {0, 4, 4, 5, 6, 7};
        int32_t col[] = {0, 1, 2, 3, 4, 4, 4};
        unsigned char row_in[5], col_in[5];
        const sp_bipartite hubs = {5, 5, start, col};
        int64_t size;
        CHECK_INT(sp_vertex_cover(&hubs, row_in, col_in, &size), SPMM_OK);
        CHECK(size == 2 && row_in[0] && col_in[4]);
        const sp_bipartite edge = {1, 5, start + 2, col};
        CHECK_INT(sp_vertex_cover(&edge, row_in, col_in, &size), SPMM_OK);
        CHECK(size == 1 && row_in[0] && !col_in[4]);
    }
    TEST("no rows, no columns, no edges") {
        const int64_t start[] = {0, 0, 0};
        unsigned char in[2];
        int64_t size;
        const sp_bipartite none = {0, 2, start, NULL}, empty = {2, 0, start, NULL};
        CHECK_INT(sp_vertex_cover(&none, in, in, &size), SPMM_OK);
        CHECK_INT(size, 0);
        CHECK_INT(sp_vertex_cover(&empty, in, in, &size), SPMM_OK);
        CHECK_INT(size, 0);
    }
    return test_end();
}
