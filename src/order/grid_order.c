#include "order/grid_order.h"

#include <math.h>
#include <stdlib.h>

/** The stencil that most sampled rows have. */
typedef struct stencil {
    /* distances of the stencil's points from its middle point, ascending, in points */
    int32_t distance[SP_STENCIL_ENTRIES];
    int32_t count;
    int32_t reach[3]; /* extent in points along x, in lines, and in planes */
} stencil;

/** Returns 1 if the columns of two rows have the same distances from the first column, else 0. */
static int same_distances(const sp_stencil_sample *a, const sp_stencil_sample *b)
{
    if (a->length != b->length) return 0;
    for (int i = 1; i < a->length; i++)
        if (a->col[i] - a->col[0] != b->col[i] - b->col[0]) return 0;
    return 1;
}

/** Returns a sample whose distances at least half of all samples have (Boyer and Moore: MJRTY, a fast
 *  majority vote algorithm, 1991); NULL if none is found. \param [out] unknowns unknowns per point */
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

/** Computes the distances between points from the distances between columns. Returns 0 if the columns do not
 *  form whole points, or are not symmetric about the middle point. */
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

/** Determines the stride of a direction from the distances [n] to the points of the stencil in the next line
 *  or plane: if they are symmetric, the stride is their middle; otherwise, the multiple of `unit` in their
 *  range that is nearest to the middle, preferably one that divides `all`. Returns 0 if there is no such
 *  multiple. */
static int64_t find_stride(const int32_t *distance, int n, int64_t unit, int64_t all)
{
    const int64_t low = distance[0], high = distance[n - 1];
    int symmetric = (low + high) % (2 * unit) == 0;
    int64_t best = 0;
    for (int i = 0; i < n; i++)
        symmetric = symmetric && (int64_t)distance[i] + distance[n - 1 - i] == low + high;
    if (symmetric) return (low + high) / 2;
    for (int64_t stride = (low + unit - 1) / unit * unit; stride <= high; stride += unit) {
        const int divides = all % stride == 0, best_divides = best > 0 && all % best == 0;
        const int nearer = llabs(2 * stride - low - high) < llabs(2 * best - low - high);
        if (best == 0 || (divides == best_divides ? nearer : divides)) best = stride;
    }
    return best;
}

/** Returns how many consecutive distances, starting at s->distance[i], are at most `high`. */
static int count_until(const stencil *s, int i, int64_t high)
{
    int n = 0;
    while (i + n < s->count && s->distance[i + n] <= high) n++;
    return n;
}

/** Determines the extents of the stencil (s->reach) and of the grid (g->points) in each direction from the
 *  positive distances. Returns 0 if the distances do not fit a grid. */
static int find_directions(stencil *s, int64_t points, sp_stencil_grid *g)
{
    const int32_t *const d = s->distance;
    int64_t stride = 1, width = 0; /* stride of this direction; width of the stencil in earlier directions */
    int i = s->count / 2 + 1;
    for (int direction = 0; direction < 3; direction++) {
        s->reach[direction] = 0;
        g->points[direction] = 1;
        if (i == s->count && direction == 2) break; /* a two-dimensional grid */
        if (i == s->count) return 0;
        const int n = direction == 0 ? 1 : count_until(s, i, d[i] + 2 * width);
        const int64_t next = direction == 0 ? 1 : find_stride(d + i, n, stride, points);
        if (next == 0 || d[i] <= width || d[i] < next - width || d[i + n - 1] > next + width) return 0;
        if (direction > 0) g->points[direction - 1] = (int32_t)(next / stride);
        stride = next;
        /* each following distance that is the next multiple of the stride belongs to this direction */
        for (int more = n; more > 0; more = count_until(s, i, (s->reach[direction] + 1) * stride + width)) {
            if (d[i] < (s->reach[direction] + 1) * stride - width) break;
            s->reach[direction]++;
            i += more;
        }
        width += s->reach[direction] * stride;
        g->points[direction] = (int32_t)((points - 1) / stride + 1);
        g->last = (int32_t)(points - (g->points[direction] - 1) * stride);
    }
    return i == s->count;
}

/** A candidate division of the grid: the numbers of strips of the cross-section, of columns, and of parts of
 *  each column. With 0 parts, blocks take any consecutive rows. */
typedef struct division {
    int64_t strips, columns, parts;
} division;

/** The grid that is to be divided. */
typedef struct site {
    sp_stencil_box box;
    int64_t cells, layers, blocks, unknowns, room;
    int64_t reach[3]; /* extent of the stencil along, across, and up the columns */
} site;

/** Returns 1 if every column fills its strip from edge to edge, else 0. */
static int is_aligned(const site *s, division d)
{
    return s->cells % d.columns == 0 && s->box.cells[1] % d.strips == 0 &&
           s->cells / d.columns % (s->box.cells[1] / d.strips) == 0;
}

/** Returns the estimated cost of a product, in rows of X and Y moved per row of the matrix. Returns INFINITY
 *  if the rows of X that two successive layers share do not fit in shared memory. */
static double cost_of(const site *s, division d)
{
    /* MOVED: rows of X and Y that are always moved.
     * AGAIN: cost of reading a row of X from memory again, relative to reading it from the L2 cache.
     * LOOSE: cost of blocks that do not advance at the same pace.
     * UNIT: number of rows that a block takes at a time in that case. */
    enum { LAYERS = 2, MOVED = 2, AGAIN = 2, UNIT = 1280 };
    static const double LOOSE = 1.06;
    const int plane = s->box.depth == 1;
    const double cells = (double)s->cells / (double)d.columns,
                 across = (double)s->box.cells[1] / (double)d.strips, unknowns = (double)s->unknowns,
                 up = 2 * (double)s->reach[2];
    /* edges of the cross-section of a column, in points; a column that is not aligned is longer */
    const double along = SP_STENCIL_CELL *
                         (is_aligned(s, d) ? cells / across : (cells + across - 1) / across),
                 deep = plane ? 1 : SP_STENCIL_CELL * across, points = cells * (plane ? 2 : 4),
                 around = 2 * (along * (double)s->reach[1] + deep * (double)s->reach[0]) +
                          4 * (double)(s->reach[0] * s->reach[1]);
    if ((along * deep + around) * (LAYERS * SP_STENCIL_CELL + up) * unknowns > (double)s->room && cells > 1)
        return INFINITY;
    const double height = d.parts > 0 ? (double)s->box.height / (double)d.parts : UNIT / (points * unknowns),
                 reads = (1 + around / points) * (1 + up / height) + MOVED;
    if (d.parts == 0) return reads * LOOSE;
    /* columns that are processed at different times share no rows of X; the block with the most units ends
     * last */
    const double units = (double)(d.columns * d.parts), blocks = (double)s->blocks,
                 rounds = ceil(units / blocks), front = blocks / (double)d.parts * points,
                 edge = rounds > 1 ? 2 * (double)(plane ? s->reach[0] : s->reach[1] * s->box.width) / front
                                   : 0,
                 high = (double)s->layers / (double)d.parts,
                 uneven = (ceil(cells) / cells * ceil(high) / high - 1) / rounds;
    return (reads + AGAIN * edge) * rounds * blocks / units * (1 + uneven);
}

static void take_cheaper(const site *s, division d, division *best, double *least)
{
    if (d.columns < 1 || d.columns > s->cells) return;
    const double cost = cost_of(s, d);
    if (cost >= *least) return;
    *best = d;
    *least = cost;
}

/** Tries divisions whose columns consist of whole cells and fill their strips, and whose units are divided
 *  evenly among all blocks. */
static void try_strips(const site *s, int64_t strips, division *best, double *least)
{
    enum { MOST_PARTS = 16, ROUNDS = 3, LONGEST = 32 /* cells */ };
    const int64_t across = (s->box.cells[1] + strips - 1) / strips;
    int64_t longest = 1;
    while (longest < LONGEST && longest * across < s->cells &&
           cost_of(s, (division){strips, s->cells / ((longest + 1) * across), 0}) < INFINITY)
        longest++;
    for (int64_t parts = 0; parts <= MOST_PARTS && parts <= s->layers; parts++) {
        for (int64_t along = (longest + 1) / 2; along <= longest; along++)
            take_cheaper(s, (division){strips, s->cells / (along * across), parts}, best, least);
        const int64_t fewest = s->cells * parts / (longest * across * s->blocks);
        for (int64_t rounds = fewest; parts > 0 && rounds <= fewest + ROUNDS; rounds++)
            take_cheaper(s, (division){strips, rounds * s->blocks / parts, parts}, best, least);
    }
}

/** Chooses how a grid is divided into columns. */
static void choose_columns(const stencil *s, int64_t blocks, sp_stencil_grid *g)
{
    /* ROOM, MORE_ROOM: number of rows of X that fit in shared memory together with tiles and values.
     * MORE_ROOM applies if rows have at most FEW entries, because tiles and values then take less memory. */
    enum { ROOM = 720, MORE_ROOM = 800, FEW = 16, WIDEST = 16 /* strips, in cells */ };
    const int plane = g->points[2] == 1;
    const sp_stencil_box box = sp_stencil_box_of(g);
    const site whole = {box,
                        box.cells[0] * box.cells[1],
                        sp_stencil_cells(box.height),
                        blocks,
                        g->unknowns,
                        s->count * g->unknowns <= FEW ? MORE_ROOM : ROOM,
                        {s->reach[0], plane ? 0 : s->reach[1], s->reach[plane ? 1 : 2]}};
    division best = {box.cells[1], whole.cells, 1};
    double least = INFINITY;
    for (int64_t across = 1; across <= WIDEST && across <= box.cells[1]; across++)
        try_strips(&whole, (box.cells[1] + across / 2) / across, &best, &least);
    g->strips = (int32_t)best.strips;
    g->columns = (int32_t)best.columns;
    g->parts = (int32_t)best.parts;
}

int sp_stencil_grid_find(const sp_stencil_sample *sample, int samples, int64_t rows, int blocks,
                         sp_stencil_grid *grid)
{
    stencil s;
    const sp_stencil_sample *const row = samples > 0 ? find_majority(sample, samples, &grid->unknowns) : NULL;
    if (!row || row->length == 0 || grid->unknowns > SP_STENCIL_UNKNOWNS || rows > INT32_MAX ||
        !find_distances(row, grid->unknowns, &s) || !find_directions(&s, rows / grid->unknowns, grid))
        return 0;
    choose_columns(&s, blocks, grid);
    return 1;
}
