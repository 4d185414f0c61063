#include "kernels/grid_order.h"

#include <stdlib.h>

/** The stencil of most sampled rows. */
typedef struct stencil {
    int32_t distance[SP_STENCIL_ENTRIES]; /* of its points from the middle one, ascending, in points */
    int32_t count;
    int32_t reach[3]; /* in points along x, lines, and planes */
} stencil;

/** Says whether two rows have their columns at the same distances from one another. */
static int same_distances(const sp_stencil_sample *a, const sp_stencil_sample *b)
{
    if (a->length != b->length) return 0;
    for (int i = 1; i < a->length; i++)
        if (a->col[i] - a->col[0] != b->col[i] - b->col[0]) return 0;
    return 1;
}

/** Returns the sample whose distances most samples have (Boyer and Moore: MJRTY, a fast majority vote algorithm,
 *  1991), NULL if less than half of them have the same. \param [out] unknowns  per point */
static const sp_stencil_sample *find_majority(const sp_stencil_sample *sample, int samples, int32_t *unknowns)
{
    const sp_stencil_sample *most = NULL;
    int votes = 0, same = 0;
    for (int i = 0; i < samples; i++) {
        if (votes == 0) most = sample + i;
        votes += same_distances(most, sample + i) ? 1 : -1;
    }
    *unknowns = 1;
    for (int i = 0; i < samples; i++) {
        if (!same_distances(most, sample + i)) continue;
        same++;
        if (sample[i].alike >= *unknowns) *unknowns = sample[i].alike + 1;
    }
    return 2 * same >= samples ? most : NULL;
}

/** Finds the distances of points from those of columns. Returns 0 if the columns are not those of whole points, or
 *  not the same to both sides. */
static int find_distances(const sp_stencil_sample *row, int32_t unknowns, stencil *s)
{
    s->count = row->length / unknowns;
    if (row->length % unknowns != 0 || s->count % 2 == 0) return 0;
    const int32_t middle = row->col[s->count / 2 * unknowns];
    for (int i = 0; i < s->count; i++) {
        const int32_t *const col = row->col + i * unknowns;
        if ((col[0] - middle) % unknowns != 0) return 0;
        for (int j = 1; j < unknowns; j++)
            if (col[j] != col[0] + j) return 0;
        s->distance[i] = (col[0] - middle) / unknowns;
    }
    for (int i = 0; i < s->count; i++)
        if (s->distance[i] != -s->distance[s->count - 1 - i]) return 0;
    return 1;
}

/** Returns the multiple of `unit` in [low, high], low > 0, nearest to the middle of [low, high] that divides `all`; 0 if there is none. */
static int64_t find_stride(int64_t low, int64_t high, int64_t unit, int64_t all)
{
    int64_t best = 0;
    for (int64_t stride = (low + unit - 1) / unit * unit; stride <= high; stride += unit)
        if (all % stride == 0 && (best == 0 || llabs(2 * stride - low - high) < llabs(2 * best - low - high)))
            best = stride;
    return best;
}

/** Returns the number of distances from s->distance[i] on that are at most `high`. */
static int count_until(const stencil *s, int i, int64_t high)
{
    int n = 0;
    while (i + n < s->count && s->distance[i + n] <= high) n++;
    return n;
}

/** Finds the points per line and per plane in the distances to one side. Returns 0 if they are no grid's. */
static int find_directions(stencil *s, int64_t points, sp_stencil_grid *g)
{
    const int32_t *const d = s->distance;
    int64_t stride = 1, width = 0; /* of this direction; how far the directions before it reach */
    int i = s->count / 2 + 1;
    for (int direction = 0; direction < 3; direction++) {
        s->reach[direction] = 0;
        g->points[direction] = 1;
        if (i == s->count && direction == 2) break; /* a grid of the plane */
        if (i == s->count) return 0;
        const int n = direction == 0 ? 1 : count_until(s, i, d[i] + 2 * width);
        const int64_t next = direction == 0 ? 1 : find_stride(d[i], d[i + n - 1], stride, points);
        if (next == 0 || d[i] <= width || d[i] < next - width || d[i + n - 1] > next + width) return 0;
        if (direction > 0) g->points[direction - 1] = (int32_t)(next / stride);
        stride = next;
        /* every multiple of the stride that comes next is of this direction */
        for (int more = n; more > 0; more = count_until(s, i, (s->reach[direction] + 1) * stride + width)) {
            if (d[i] < (s->reach[direction] + 1) * stride - width) break;
            s->reach[direction]++;
            i += more;
        }
        width += s->reach[direction] * stride;
        g->points[direction] = (int32_t)(points / stride);
    }
    return i == s->count;
}

/** Chooses the cross-section of the bricks: as large as the rows of X for two layers and their neighbours, which a
 *  layer needs and the next one needs again, have room in shared memory. */
static void choose_bricks(const stencil *s, sp_stencil_grid *g)
{
    /* ROOM: of some 630 to 850 rows of X. WIDEST: points; from then on it gains little */
    enum { ROOM = 650, WIDEST = 64, LAYERS = 2 };
    const int plane = g->points[2] == 1;
    int64_t edge[2] = {SP_STENCIL_CELL, plane ? LAYERS * SP_STENCIL_CELL : SP_STENCIL_CELL};
    const int64_t depth = plane ? 1 : LAYERS * SP_STENCIL_CELL + 2 * s->reach[2];
    for (int grown = 1; grown;) {
        grown = 0;
        for (int d = 0; d < (plane ? 1 : 2); d++) {
            int64_t of[2] = {edge[0], edge[1]};
            of[d] += SP_STENCIL_CELL;
            if (of[d] > WIDEST || edge[d] >= g->points[d]) continue;
            if ((of[0] + 2 * s->reach[0]) * (of[1] + 2 * s->reach[1]) * depth * g->unknowns > ROOM) continue;
            edge[d] = of[d];
            grown = 1;
        }
    }
    if (plane) edge[1] = g->points[1];
    for (int d = 0; d < 2; d++) {
        g->bricks[d] = (int32_t)((g->points[d] + edge[d] / 2) / edge[d]);
        if (g->bricks[d] < 1) g->bricks[d] = 1;
    }
}

int sp_stencil_grid_find(const sp_stencil_sample *sample, int samples, int64_t rows, sp_stencil_grid *grid)
{
    stencil s;
    const sp_stencil_sample *const row = samples > 0 ? find_majority(sample, samples, &grid->unknowns) : NULL;
    if (!row || row->length == 0 || grid->unknowns > SP_STENCIL_UNKNOWNS || rows % grid->unknowns != 0 ||
        rows > INT32_MAX || !find_distances(row, grid->unknowns, &s) ||
        !find_directions(&s, rows / grid->unknowns, grid))
        return 0;
    choose_bricks(&s, grid);
    return 1;
}
