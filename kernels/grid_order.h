/** An order of rows for matrices of a structured grid whose points are numbered line by line: rows that
 *  follow one another belong to neighboring points of the grid, in all of its directions. In lines a row of X
 *  is needed again a line and a plane later, when caches and shared memory have dropped it.
 *
 *  The grid is recognized by its stencil: in most rows the columns lie at the same distances from the middle
 *  one. These distances, sorted, are those within a line, then those to the next lines, then those to the
 *  next planes.
 *
 *  The points are taken in cells of 2 x 2 x 2, all unknowns of a point together. The cross-section of the
 *  grid, in x and y, is divided into columns of equally many cells, some 4 x 4, and each column is taken
 *  layer by layer. There are as many columns as thread blocks, or a multiple of that, and all blocks climb at
 *  the same pace: what a column needs of its neighbors is in the cache when they need it. Columns of equal
 *  size come of a path through the cross-section, to and fro in strips, which is cut into equal parts. A is
 *  not permuted, and neither are X and Y. */
#ifndef SP_GRID_ORDER_H
#define SP_GRID_ORDER_H

#include "formats/matrix.h"

/* What the functions below are besides inline; a .cu file defines it before. */
#ifndef SP_HOST_DEVICE
#define SP_HOST_DEVICE
#endif

enum {
    SP_STENCIL_SAMPLES = 128, /**< rows that are asked */
    SP_STENCIL_ENTRIES = 128, /**< most entries of a row that is taken for a stencil's */
    SP_STENCIL_UNKNOWNS = 8,  /**< most unknowns per point */
    SP_STENCIL_CELL = 2       /**< points per edge of a cell */
};

/** What is asked of a row. */
typedef struct sp_stencil_sample {
    int32_t length; /**< its entries; 0 if it has more than SP_STENCIL_ENTRIES */
    int32_t alike;  /**< how many rows follow it with as many entries, from the same column on; at most
                         SP_STENCIL_UNKNOWNS */
    int32_t col[SP_STENCIL_ENTRIES]; /**< its columns */
} sp_stencil_sample;

/** A grid: x along the lines, then y, then z. */
typedef struct sp_stencil_grid {
    int32_t unknowns;  /**< per point; their rows follow one another */
    int32_t points[3]; /**< in each direction; 1 in z for a grid of the plane */
    int32_t strips;    /**< of the cross-section: y, which is 1 for a grid of the plane, is divided into so
                         many */
    int32_t columns;   /**< into which the path through the strips is divided */
    int32_t parts; /**< into which each column is divided along its height: z, or y for a grid of the plane;
                            0: a block takes any rows that follow one another */
} sp_stencil_grid;

/** Recognizes a grid. Local.
 *  \param [in]  sample  [samples] rows of the block, spread over it
 *  \param [in]  rows    of the block
 *  \param [in]  blocks  that work at a time, at least 1
 *  \param [out] grid    unspecified if there is none
 *  \return 1 if the rows are those of a grid of two or three dimensions, else 0 */
int sp_stencil_grid_find(const sp_stencil_sample *sample, int samples, int64_t rows, int blocks,
                         sp_stencil_grid *grid);

/** Returns the row of sample i of `samples`: in the middle of its part of the block, at some unknown of its
 *  point. */
SP_HOST_DEVICE static inline int64_t sp_stencil_sampled_row(int64_t rows, int i, int samples)
{
    const int64_t row = rows * i / samples + rows / (2 * samples) + i % SP_STENCIL_UNKNOWNS;
    return row < rows ? row : rows - 1;
}

/** Asks a row of a CSR matrix whose columns ascend in each row. On a GPU `lanes` threads do that together, of
 *  which this is number `lane`; elsewhere it is number 0 of 1. */
SP_HOST_DEVICE static inline void sp_stencil_ask(const int64_t *row_start, const int32_t *col, int64_t rows,
                                                 int64_t row, int lane, int lanes, sp_stencil_sample *sample)
{
    const int64_t begin = row_start[row], length = row_start[row + 1] - begin;
    const int taken = length > SP_STENCIL_ENTRIES ? 0 : (int)length;
    for (int i = lane; i < taken; i += lanes) sample->col[i] = col[begin + i];
    if (lane > 0) return;
    sample->length = taken;
    sample->alike = 0;
    for (int64_t r = row + 1; taken > 0 && r < rows && r <= row + SP_STENCIL_UNKNOWNS; r++) {
        if (row_start[r + 1] - row_start[r] != length || col[row_start[r]] != col[begin]) break;
        sample->alike++;
    }
}

/** Returns the number of cells of so many points. */
SP_HOST_DEVICE static inline int64_t sp_stencil_cells(int64_t points)
{
    return (points + SP_STENCIL_CELL - 1) / SP_STENCIL_CELL;
}

/** Returns where part i begins, if `all` are divided into `parts` as equal as can be. */
SP_HOST_DEVICE static inline int64_t sp_stencil_begin(int64_t all, int64_t parts, int64_t i)
{
    return all * i / parts;
}

/** Returns the part that has element i. */
SP_HOST_DEVICE static inline int64_t sp_stencil_part_of(int64_t all, int64_t parts, int64_t i)
{
    return ((i + 1) * parts - 1) / all;
}

/** A grid as columns stand in it: in points. A grid of the plane stands on its x axis. */
typedef struct sp_stencil_box {
    int64_t width, depth, height;
    int64_t cells[2]; /**< of the cross-section */
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

/** Returns how many cells of the cross-section come before cell (x, y) on the path: strip by strip, along
 *  each to and fro, across each upwards. */
SP_HOST_DEVICE static inline int64_t sp_stencil_path(const sp_stencil_box *b, int64_t strips, int64_t x,
                                                     int64_t y)
{
    const int64_t strip = sp_stencil_part_of(b->cells[1], strips, y),
                  first = sp_stencil_begin(b->cells[1], strips, strip),
                  across = sp_stencil_begin(b->cells[1], strips, strip + 1) - first;
    return first * b->cells[0] + (strip % 2 ? b->cells[0] - 1 - x : x) * across + y - first;
}

SP_HOST_DEVICE static inline int64_t sp_stencil_least(int64_t a, int64_t b) { return a < b ? a : b; }

/** Returns how many points the first `count` cells of the path have. The last cells of each direction may
 *  have fewer than the others. */
SP_HOST_DEVICE static inline int64_t sp_stencil_path_points(const sp_stencil_box *b, int64_t strips,
                                                            int64_t count)
{
    enum { C = SP_STENCIL_CELL };
    if (count == b->cells[0] * b->cells[1]) return b->width * b->depth;
    const int64_t strip = sp_stencil_part_of(b->cells[1], strips, count / b->cells[0]),
                  first = sp_stencil_begin(b->cells[1], strips, strip),
                  across = sp_stencil_begin(b->cells[1], strips, strip + 1) - first,
                  along = (count - first * b->cells[0]) / across,
                  rest = (count - first * b->cells[0]) % across,
                  x = strip % 2 ? b->cells[0] - 1 - along : along,
                  before = strip % 2 ? b->width - sp_stencil_least((x + 1) * C, b->width) : x * C,
                  deep = sp_stencil_least((first + across) * C, b->depth) - first * C;
    return first * C * b->width + before * deep +
           sp_stencil_least(C, b->width - x * C) * sp_stencil_least(rest * C, deep);
}

/** Returns the position of a row in the order. */
SP_HOST_DEVICE static inline int64_t sp_stencil_grid_position(const sp_stencil_grid *g, int64_t row)
{
    enum { C = SP_STENCIL_CELL };
    const sp_stencil_box b = sp_stencil_box_of(g);
    const int64_t point = row / g->unknowns, x = point % b.width, y = point / b.width % b.depth,
                  z = point / b.width / b.depth;
    const int64_t cells = b.cells[0] * b.cells[1], on_path = sp_stencil_path(&b, g->strips, x / C, y / C),
                  column = sp_stencil_part_of(cells, g->columns, on_path);
    /* points of the cross-section before the column, before the next column, and before the cell */
    const int64_t begin = sp_stencil_path_points(&b, g->strips, sp_stencil_begin(cells, g->columns, column)),
                  end = sp_stencil_path_points(&b, g->strips,
                                               sp_stencil_begin(cells, g->columns, column + 1)),
                  here = sp_stencil_path_points(&b, g->strips, on_path);
    const int64_t first_x = x / C * C, first_y = y / C * C, first_z = z / C * C,
                  cell_width = sp_stencil_least(C, b.width - first_x),
                  cell_depth = sp_stencil_least(C, b.depth - first_y),
                  cell_height = sp_stencil_least(C, b.height - first_z);
    /* columns, layers, cells, lines of the cell, points */
    const int64_t before = begin * b.height + (end - begin) * first_z + (here - begin) * cell_height +
                           ((z - first_z) * cell_depth + y - first_y) * cell_width + x - first_x;
    return before * g->unknowns + row % g->unknowns;
}

/** Returns the number of units: each is a part of a column, and they come one after another in the order; 0
 *  without parts. */
SP_HOST_DEVICE static inline int64_t sp_stencil_units(const sp_stencil_grid *g)
{
    return (int64_t)g->columns * g->parts;
}

/** Returns the position at which unit u begins; that of the end for u = sp_stencil_units(). There must be
 *  parts. */
SP_HOST_DEVICE static inline int64_t sp_stencil_unit_begin(const sp_stencil_grid *g, int64_t u)
{
    const sp_stencil_box b = sp_stencil_box_of(g);
    const int64_t cells = b.cells[0] * b.cells[1], column = u / g->parts,
                  begin = sp_stencil_path_points(&b, g->strips, sp_stencil_begin(cells, g->columns, column)),
                  end = sp_stencil_path_points(
                      &b, g->strips,
                      sp_stencil_least(sp_stencil_begin(cells, g->columns, column + 1), cells)),
                  layer = sp_stencil_begin(sp_stencil_cells(b.height), g->parts, u % g->parts);
    return (begin * b.height + (end - begin) * layer * SP_STENCIL_CELL) * g->unknowns;
}

/** Orders the rows of a matrix in GPU memory, if it is a grid's of at least SP_ORDERED_ROWS rows. Local;
 *  complete on return but for the order itself, which comes in the main stream.
 *
 *  \param [in]  a      SPMM_CSR in GPU memory
 *  \param [out] grid   unspecified without an order
 *  \param [out] order  [a->rows] in GPU memory: the row that comes first, second, ..; the caller frees it by
 *                      sp_device_free(). NULL: no grid is recognized, or failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_grid_order(const sp_matrix *a, sp_stencil_grid *grid, int32_t **order);

#endif
