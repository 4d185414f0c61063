/** An order of rows for matrices of a structured grid whose points are numbered line by line: rows that follow one
 *  another belong to neighbouring points of the grid, in all of its directions. In lines a row of X is needed
 *  again a line and a plane later, when caches and shared memory have dropped it.
 *
 *  The grid is recognised by its stencil: in most rows the columns lie at the same distances from the middle one.
 *  These distances, sorted, are those within a line, then those to the next lines, then those to the next planes.
 *  The points are taken in bricks, each a stack of layers of two points with a cross-section of some 8 x 8, and in
 *  a layer cell by cell of 2 x 2 x 2 points; all unknowns of a point together. A is not permuted, and neither are X
 *  and Y. */
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
    int32_t bricks[2]; /**< into which x and y are divided */
} sp_stencil_grid;

/** Recognises a grid. Local.
 *  \param [in]  sample  [samples] rows of the block, spread over it
 *  \param [in]  rows    of the block
 *  \param [out] grid    unspecified if there is none
 *  \return 1 if the rows are those of a grid of two or three dimensions, else 0 */
int sp_stencil_grid_find(const sp_stencil_sample *sample, int samples, int64_t rows, sp_stencil_grid *grid);

/** Returns the row of sample i of `samples`: in the middle of its part of the block, at some unknown of its
 *  point. */
SP_HOST_DEVICE static inline int64_t sp_stencil_sampled_row(int64_t rows, int i, int samples)
{
    const int64_t row = rows * i / samples + rows / (2 * samples) + i % SP_STENCIL_UNKNOWNS;
    return row < rows ? row : rows - 1;
}

/** Asks a row of a CSR matrix whose columns ascend in each row. On a GPU `lanes` threads do that together, of which this is
 *  number `lane`; elsewhere it is number 0 of 1. */
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

/** Returns where brick b of `bricks` begins, in points, of a direction with so many. */
SP_HOST_DEVICE static inline int32_t sp_stencil_brick_begin(int32_t points, int32_t bricks, int32_t b)
{
    const int64_t cells = (points + SP_STENCIL_CELL - 1) / SP_STENCIL_CELL;
    const int64_t begin = cells * b / bricks * SP_STENCIL_CELL;
    return (int32_t)(begin < points ? begin : points);
}

/** Returns the brick that has a point. */
SP_HOST_DEVICE static inline int32_t sp_stencil_brick_of(int32_t points, int32_t bricks, int32_t point)
{
    const int64_t cells = (points + SP_STENCIL_CELL - 1) / SP_STENCIL_CELL;
    return (int32_t)(((int64_t)(point / SP_STENCIL_CELL + 1) * bricks - 1) / cells);
}

/** Returns the position of a row in the order. */
SP_HOST_DEVICE static inline int64_t sp_stencil_grid_position(const sp_stencil_grid *g, int64_t row)
{
    const int64_t point = row / g->unknowns;
    int32_t at[3], begin[2], end[2];
    at[0] = (int32_t)(point % g->points[0]);
    at[1] = (int32_t)(point / g->points[0] % g->points[1]);
    at[2] = (int32_t)(point / g->points[0] / g->points[1]);
    for (int d = 0; d < 2; d++) {
        const int32_t b = sp_stencil_brick_of(g->points[d], g->bricks[d], at[d]);
        begin[d] = sp_stencil_brick_begin(g->points[d], g->bricks[d], b);
        end[d] = sp_stencil_brick_begin(g->points[d], g->bricks[d], b + 1);
    }
    /* what comes before: rows of bricks, bricks, layers, rows of cells, cells */
    const int64_t x_points = end[0] - begin[0], y_points = end[1] - begin[1];
    int64_t before = (int64_t)begin[1] * g->points[0] * g->points[2] + begin[0] * y_points * g->points[2];
    const int32_t cell[3] = {(at[0] - begin[0]) / SP_STENCIL_CELL * SP_STENCIL_CELL,
                             (at[1] - begin[1]) / SP_STENCIL_CELL * SP_STENCIL_CELL,
                             at[2] / SP_STENCIL_CELL * SP_STENCIL_CELL};
    const int64_t left[3] = {x_points - cell[0], y_points - cell[1], g->points[2] - cell[2]};
    int64_t edge[3]; /* of this cell */
    for (int d = 0; d < 3; d++) edge[d] = left[d] < SP_STENCIL_CELL ? left[d] : (int64_t)SP_STENCIL_CELL;
    before += x_points * y_points * cell[2] + x_points * cell[1] * edge[2] + cell[0] * edge[1] * edge[2];
    before += ((at[2] - cell[2]) * edge[1] + at[1] - begin[1] - cell[1]) * edge[0] + at[0] - begin[0] -
              cell[0];
    return before * g->unknowns + row % g->unknowns;
}

/** Orders the rows of a matrix in GPU memory, if it is a grid's of at least SP_ORDERED_ROWS rows. Local; complete on
 *  return but for the order itself, which comes in the main stream.
 *
 *  \param [in]  a      SPMM_CSR in GPU memory
 *  \param [out] order  [a->rows] in GPU memory: the row that comes first, second, ..; the caller frees it by
 *                      sp_device_free(). NULL: no grid is recognised, or failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_cuda_grid_order(const sp_matrix *a, int32_t **order);

#endif
