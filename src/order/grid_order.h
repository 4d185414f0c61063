/** An order of rows for matrices of a structured grid whose points are numbered line by line. In this order,
 *  consecutive rows belong to grid points that are neighbors in all directions. In the original order, a row
 *  of X is needed again one line later and one plane later, when caches and shared memory no longer contain
 *  it.
 *
 *  The grid is recognized by its stencil: in most rows of A the column indices have the same distances from
 *  the middle column index. These distances, sorted, are those within a line, then those to the next lines,
 *  then those to the next planes.
 *
 *  The points are grouped in cells of 2 x 2 x 2 points, with all unknowns of a point together. The grid is
 *  divided into vertical columns of cells. (In the rest of this comment, and in sp_stencil_grid, a column
 *  is such a column of the grid.) The cross-sections of all columns, in x and y, have equal numbers of
 *  cells, about 4 x 4. Each column is processed layer by layer. The number of columns is a multiple of the
 *  number of thread blocks, and all blocks advance at the same pace, so that rows of X that neighboring
 *  columns share are in the cache. To get columns of equal size, a path through the cross-section, back
 *  and forth in strips, is cut into equal parts. A is not permuted, and neither are X and Y.
 *
 *  A rank's block, and the interior of one, may begin and end anywhere in the grid. Its first row is taken as
 *  the corner of the grid, so that lines and planes are cyclically shifted, which costs little at the seams.
 *  Its last plane is usually not whole. */
#ifndef SP_GRID_ORDER_H
#define SP_GRID_ORDER_H

#include "base/search.h" /* SP_HOST_DEVICE */
#include "formats/matrix.h"

enum {
    SP_STENCIL_SAMPLES = 128, /**< number of sampled rows */
    SP_STENCIL_ENTRIES = 128, /**< maximum number of entries of a row of a stencil */
    SP_STENCIL_UNKNOWNS = 8,  /**< maximum number of unknowns per point */
    SP_STENCIL_CELL = 2       /**< points per edge of a cell */
};

/** Data of a sampled row. */
typedef struct sp_stencil_sample {
    int32_t length; /**< number of entries; 0 if there are more than SP_STENCIL_ENTRIES */
    int32_t alike;  /**< number of rows next to it that have the same number of entries and the same first
                         column index; at most SP_STENCIL_UNKNOWNS + 1 */
    int32_t col[SP_STENCIL_ENTRIES]; /**< column indices of the entries */
} sp_stencil_sample;

/** A grid: x is along the lines, then y, then z. */
typedef struct sp_stencil_grid {
    int32_t unknowns;  /**< unknowns per point; their rows are consecutive */
    int32_t points[3]; /**< points in each direction; 1 in z for a two-dimensional grid */
    int32_t last;      /**< points of the last plane, or of the last line of a two-dimensional grid. Rows
                            after the last whole point stay at the end of the order */
    int32_t strips;    /**< number of strips into which y is divided; 1 for a two-dimensional grid */
    int32_t columns;   /**< number of columns into which the path through the strips is divided */
    int32_t parts;     /**< number of parts into which each column is divided along its height, z, or y for a
                            two-dimensional grid; 0: a block takes any consecutive rows */
} sp_stencil_grid;

/** Recognizes a grid. Local.
 *  \param [in]  sample  [samples] sampled rows of the block, spread over the block
 *  \param [in]  rows    number of rows of the block
 *  \param [in]  blocks  number of thread blocks that run concurrently, at least 1
 *  \param [out] grid    unspecified if no grid is found
 *  \return 1 if the rows belong to a grid of two or three dimensions, else 0 */
int sp_stencil_grid_find(const sp_stencil_sample *sample, int samples, int64_t rows, int blocks,
                         sp_stencil_grid *grid);

/** Returns the row to take as sample i of `samples`: in part i of the block, at a place that varies with i by
 *  multiples of the golden ratio. Rows at equal distances could all be near the ends of lines. */
SP_HOST_DEVICE static inline int64_t sp_stencil_sampled_row(int64_t rows, int i, int samples)
{
    enum { ONE = 1 << 16, GOLDEN = 40503 };
    return rows * i / samples + rows / samples * (i * GOLDEN % ONE) / ONE;
}

/** Reads a row of a CSR matrix whose columns ascend in each row. On a GPU `lanes` threads read it together,
 *  and this is thread `lane`; on a CPU lane is 0 and lanes is 1. */
SP_HOST_DEVICE static inline void sp_stencil_ask(const int64_t *row_start, const int32_t *col, int64_t rows,
                                                 int64_t row, int lane, int lanes, sp_stencil_sample *sample)
{
    const int64_t begin = row_start[row], length = row_start[row + 1] - begin;
    const int taken = length > SP_STENCIL_ENTRIES ? 0 : (int)length;
    for (int i = lane; i < taken; i += lanes) sample->col[i] = col[begin + i];
    if (lane > 0) return;
    sample->length = taken;
    sample->alike = 0;
    /* compares rows before and after this one, because it may be any unknown of its point */
    for (int way = -1; way <= 1 && taken > 0; way += 2)
        for (int64_t r = row + way; r >= 0 && r < rows && sample->alike <= SP_STENCIL_UNKNOWNS; r += way) {
            if (row_start[r + 1] - row_start[r] != length || col[row_start[r]] != col[begin]) break;
            sample->alike++;
        }
}

/** Returns the number of cells for a number of points. */
SP_HOST_DEVICE static inline int64_t sp_stencil_cells(int64_t points)
{
    return (points + SP_STENCIL_CELL - 1) / SP_STENCIL_CELL;
}

/** Returns the beginning of part i if `all` elements are divided into `parts` parts of nearly equal size. */
SP_HOST_DEVICE static inline int64_t sp_stencil_begin(int64_t all, int64_t parts, int64_t i)
{
    return all * i / parts;
}

/** Returns the part that contains element i. */
SP_HOST_DEVICE static inline int64_t sp_stencil_part_of(int64_t all, int64_t parts, int64_t i)
{
    return ((i + 1) * parts - 1) / all;
}

/** The dimensions of a grid, in points, oriented so that columns are vertical. The columns of a
 *  two-dimensional grid have their cross-section on the x axis. */
typedef struct sp_stencil_box {
    int64_t width, depth, height;
    int64_t cells[2]; /**< cells of the cross-section in each direction */
} sp_stencil_box;

SP_HOST_DEVICE static inline sp_stencil_box sp_stencil_box_of(const sp_stencil_grid *g)
{
    const int plane = g->points[2] == 1;
    const int64_t depth = plane ? 1 : g->points[1];
    const sp_stencil_box box = {g->points[0],
                                depth,
                                plane ? g->points[1] : g->points[2],
                                {sp_stencil_cells(g->points[0]), sp_stencil_cells(depth)}};
    return box;
}

/** Returns the number of cells of the cross-section before cell (x, y) on the path. The path runs strip by
 *  strip: along x, back and forth in alternate strips, and for each x across the strip in the direction of
 *  increasing y. */
SP_HOST_DEVICE static inline int64_t sp_stencil_path(const sp_stencil_box *b, int64_t strips, int64_t x,
                                                     int64_t y)
{
    const int64_t strip = sp_stencil_part_of(b->cells[1], strips, y),
                  first = sp_stencil_begin(b->cells[1], strips, strip),
                  across = sp_stencil_begin(b->cells[1], strips, strip + 1) - first;
    return first * b->cells[0] + (strip % 2 ? b->cells[0] - 1 - x : x) * across + y - first;
}

SP_HOST_DEVICE static inline int64_t sp_stencil_least(int64_t a, int64_t b) { return a < b ? a : b; }

/** Returns the number of points in a rectangle of a plane that consists of its first `whole` points. */
SP_HOST_DEVICE static inline int64_t sp_stencil_points_in(const sp_stencil_box *b, int64_t whole,
                                                          int64_t left, int64_t right, int64_t front,
                                                          int64_t back)
{
    const int64_t lines = whole / b->width, in_lines = sp_stencil_least(back, lines) - front,
                  in_rest = sp_stencil_least(right, whole % b->width) - left;
    return (in_lines > 0 ? in_lines * (right - left) : 0) +
           (front <= lines && lines < back && in_rest > 0 ? in_rest : 0);
}

/** Returns the number of points in the first `count` cells of the path, in a plane that consists of its first
 *  `whole` points. The last cells of each direction may have fewer points than the others. */
SP_HOST_DEVICE static inline int64_t sp_stencil_path_points(const sp_stencil_box *b, int64_t strips,
                                                            int64_t count, int64_t whole)
{
    enum { C = SP_STENCIL_CELL };
    if (count == b->cells[0] * b->cells[1]) return whole;
    const int64_t strip = sp_stencil_part_of(b->cells[1], strips, count / b->cells[0]),
                  first = sp_stencil_begin(b->cells[1], strips, strip),
                  across = sp_stencil_begin(b->cells[1], strips, strip + 1) - first,
                  along = (count - first * b->cells[0]) / across,
                  rest = (count - first * b->cells[0]) % across,
                  x = strip % 2 ? b->cells[0] - 1 - along : along, left = x * C,
                  right = sp_stencil_least((x + 1) * C, b->width), front = first * C,
                  back = sp_stencil_least((first + across) * C, b->depth);
    return sp_stencil_points_in(b, whole, 0, b->width, 0, front) +
           sp_stencil_points_in(b, whole, strip % 2 ? right : 0, strip % 2 ? b->width : left, front, back) +
           sp_stencil_points_in(b, whole, left, right, front, sp_stencil_least(front + rest * C, back));
}

/** Returns the number of points in the cells of the path from `begin` to `end`, in planes [low, high). */
SP_HOST_DEVICE static inline int64_t sp_stencil_points_between(const sp_stencil_grid *g,
                                                               const sp_stencil_box *b, int64_t begin,
                                                               int64_t end, int64_t low, int64_t high)
{
    const int64_t all = b->width * b->depth, is_last = high == b->height,
                  plane = sp_stencil_path_points(b, g->strips, end, all) -
                          sp_stencil_path_points(b, g->strips, begin, all);
    if (!is_last) return plane * (high - low);
    return plane * (high - 1 - low) + sp_stencil_path_points(b, g->strips, end, g->last) -
           sp_stencil_path_points(b, g->strips, begin, g->last);
}

/** Returns the position of a row in the order. */
SP_HOST_DEVICE static inline int64_t sp_stencil_grid_position(const sp_stencil_grid *g, int64_t row)
{
    enum { C = SP_STENCIL_CELL };
    const sp_stencil_box b = sp_stencil_box_of(g);
    const int64_t point = row / g->unknowns, x = point % b.width, y = point / b.width % b.depth,
                  z = point / b.width / b.depth;
    if (point >= b.width * b.depth * (b.height - 1) + g->last) return row;
    const int64_t cells = b.cells[0] * b.cells[1], on_path = sp_stencil_path(&b, g->strips, x / C, y / C),
                  column = sp_stencil_part_of(cells, g->columns, on_path),
                  begin = sp_stencil_begin(cells, g->columns, column),
                  end = sp_stencil_begin(cells, g->columns, column + 1);
    const int64_t first_x = x / C * C, first_y = y / C * C, first_z = z / C * C,
                  cell_width = sp_stencil_least(C, b.width - first_x),
                  cell_depth = sp_stencil_least(C, b.depth - first_y),
                  next_z = sp_stencil_least(first_z + C, b.height);
    /* Points before this one: in earlier columns, layers, cells, lines of the cell, and in its line. Its cell
     * has all points before it, because the points that the last plane lacks have greater numbers. */
    const int64_t before = sp_stencil_points_between(g, &b, 0, begin, 0, b.height) +
                           sp_stencil_points_between(g, &b, begin, end, 0, first_z) +
                           sp_stencil_points_between(g, &b, begin, on_path, first_z, next_z) +
                           ((z - first_z) * cell_depth + y - first_y) * cell_width + x - first_x;
    return before * g->unknowns + row % g->unknowns;
}

/** Returns the number of units; 0 without parts. A unit is a part of a column; units are consecutive in the
 *  order. */
SP_HOST_DEVICE static inline int64_t sp_stencil_units(const sp_stencil_grid *g)
{
    return (int64_t)g->columns * g->parts;
}

/** Returns the position at which unit u begins; for u = sp_stencil_units(), the end of the last unit. There
 *  must be parts. */
SP_HOST_DEVICE static inline int64_t sp_stencil_unit_begin(const sp_stencil_grid *g, int64_t u)
{
    const sp_stencil_box b = sp_stencil_box_of(g);
    const int64_t cells = b.cells[0] * b.cells[1], column = u / g->parts,
                  begin = sp_stencil_begin(cells, g->columns, column),
                  end = sp_stencil_least(sp_stencil_begin(cells, g->columns, column + 1), cells),
                  layer = sp_stencil_begin(sp_stencil_cells(b.height), g->parts, u % g->parts);
    return (sp_stencil_points_between(g, &b, 0, begin, 0, b.height) +
            sp_stencil_points_between(g, &b, begin, end, 0, layer * SP_STENCIL_CELL)) *
           g->unknowns;
}

/** Orders the rows of a matrix in GPU memory, if it has at least SP_ORDERED_ROWS rows and is the matrix of a
 *  grid. Local; complete on return, except for the order itself, which is written in the main stream.
 *
 *  \param [in]  a      SPMM_CSR in GPU memory
 *  \param [out] grid   unspecified without an order
 *  \param [out] order  [a->rows] in GPU memory: row number of each position; the caller frees it with
 *                      sp_device_free(). NULL: no grid is recognized, or failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_grid_order(const sp_matrix *a, sp_stencil_grid *grid, int32_t **order);

#endif
