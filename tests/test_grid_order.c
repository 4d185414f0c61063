/** Grids are recognized by their stencils, and their order has every row once, by columns of grid points
 *  (sp_stencil_grid's columns, not those of the matrix). */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "order/grid_order.h"
#include "formats/panel.h"
#include "io/generators.h"
#include "test.h"

/** A grid to be made: points in x, y and z, unknowns per point, how far the stencil reaches, and whether only
 *  along the axes. */
typedef struct made {
    int points[3], unknowns, reach, star;
} made;

/** Tells whether a stencil contains the point at this offset. */
static int has(const made *g, const int *away)
{
    int directions = 0;
    for (int d = 0; d < 3; d++) {
        if (abs(away[d]) > g->reach || (g->points[d] == 1 && away[d] != 0)) return 0;
        directions += away[d] != 0;
    }
    return !g->star || directions < 2;
}

/** Makes the matrix of a grid; boundary rows have fewer entries. */
static void make_grid(const made *g, spmm_csr *a)
{
    const int64_t rows = (int64_t)g->points[0] * g->points[1] * g->points[2] * g->unknowns;
    const int edge = 2 * g->reach + 1;
    *a = (spmm_csr){.rows = rows, .cols = rows, .precision = SPMM_F64};
    CHECK_INT(sp_alloc((void **)&a->irp, rows + 1, sizeof *a->irp, "a test"), SPMM_OK);
    CHECK_INT(sp_alloc((void **)&a->ja, rows * edge * edge * edge * g->unknowns, sizeof *a->ja, "a test"),
              SPMM_OK);
    a->irp[0] = 0;
    for (int64_t row = 0; row < rows; row++) {
        const int point = (int)(row / g->unknowns),
                  at[3] = {point % g->points[0], point / g->points[0] % g->points[1],
                           point / g->points[0] / g->points[1]};
        int64_t n = a->irp[row];
        for (int i = 0; i < edge * edge * edge; i++) {
            const int away[3] = {i % edge - g->reach, i / edge % edge - g->reach, i / edge / edge - g->reach};
            int inside = has(g, away), to[3];
            for (int d = 0; d < 3; d++) {
                to[d] = at[d] + away[d];
                inside = inside && to[d] >= 0 && to[d] < g->points[d];
            }
            for (int u = 0; inside && u < g->unknowns; u++)
                a->ja[n++] = ((to[2] * g->points[1] + to[1]) * g->points[0] + to[0]) * g->unknowns + u;
        }
        a->irp[row + 1] = n;
    }
    a->nnz = a->irp[rows];
}

/** Returns rows [first, end) of a matrix, which they are part of. */
static spmm_csr rows_of(const spmm_csr *a, int64_t first, int64_t end)
{
    spmm_csr part = *a;
    part.rows = end - first;
    part.irp = a->irp + first;
    part.nnz = a->irp[end] - a->irp[first];
    return part;
}

static int find(const spmm_csr *a, int blocks, sp_stencil_grid *grid)
{
    static sp_stencil_sample sample[SP_STENCIL_SAMPLES];
    for (int i = 0; i < SP_STENCIL_SAMPLES; i++)
        sp_stencil_ask(a->irp, a->ja, a->rows, sp_stencil_sampled_row(a->rows, i, SP_STENCIL_SAMPLES), 0, 1,
                       sample + i);
    return sp_stencil_grid_find(sample, SP_STENCIL_SAMPLES, a->rows, blocks, grid);
}

/** Checks that the units are consecutive, from the first position to the last. */
static void check_units(const sp_stencil_grid *grid, int64_t rows)
{
    const int64_t units = sp_stencil_units(grid);
    if (units == 0) return;
    CHECK_INT(sp_stencil_unit_begin(grid, 0), 0);
    CHECK_INT(sp_stencil_unit_begin(grid, units), rows);
    for (int64_t u = 0; u < units; u++)
        CHECK(sp_stencil_unit_begin(grid, u) <= sp_stencil_unit_begin(grid, u + 1));
}

/** Checks that every row has a position of its own. Returns the order, which the caller frees. */
static int32_t *check_positions(const sp_stencil_grid *grid, int64_t rows)
{
    int32_t *order;
    CHECK_INT(sp_alloc((void **)&order, rows, sizeof *order, "a test"), SPMM_OK);
    memset(order, -1, (size_t)rows * sizeof *order);
    for (int64_t row = 0; row < rows; row++) {
        const int64_t position = sp_stencil_grid_position(grid, row);
        CHECK(position >= 0 && position < rows && order[position] < 0);
        if (position >= 0 && position < rows) order[position] = (int32_t)row;
    }
    return order;
}

static void test_found(void)
{
    static const made grids[] = {
        {{30, 20, 25}, 1, 1, 0}, {{17, 33, 19}, 1, 1, 1}, {{16, 12, 10}, 3, 1, 0}, {{20, 14, 15}, 2, 1, 1},
        {{25, 21, 23}, 1, 2, 1}, {{24, 22, 26}, 1, 2, 0}, {{90, 70, 1}, 1, 1, 0},  {{101, 77, 1}, 1, 2, 1},
        {{40, 30, 1}, 4, 1, 0},  {{150, 8, 11}, 1, 1, 1}, {{9, 100, 9}, 1, 1, 1},
    };
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        const made *const g = grids + i;
        spmm_csr a;
        sp_stencil_grid grid;
        make_grid(g, &a);
        for (int blocks = 1; blocks <= 132; blocks = 11 * blocks + 1) {
            CHECK(find(&a, blocks, &grid));
            CHECK_INT(grid.unknowns, g->unknowns);
            for (int d = 0; d < 3; d++) CHECK_INT(grid.points[d], g->points[d]);
            check_units(&grid, a.rows);
            sp_free(check_positions(&grid, a.rows));
        }
        spmm_csr_destroy(&a);
    }
}

/** Checks grids whose points do not divide evenly into strips and columns of the grid, and grids with a
 *  single point in a direction. */
static void test_any_shape(void)
{
    for (int x = 1; x <= 9; x += 2)
        for (int y = 1; y <= 10; y += 3)
            for (int z = 1; z <= 5; z++)
                for (int columns = 1; columns <= 4; columns++) {
                    const int plane = z == 1, depth = plane ? 1 : (y + 1) / 2, height = plane ? y : z,
                              cells = (x + 1) / 2 * depth;
                    sp_stencil_grid grid = {1 + z % 3,           {x, y, z}, 0,
                                            1 + columns % depth, columns,   1 + columns % 2};
                    const int whole = plane ? x : x * y, before = x * y * z - whole;
                    if (grid.columns > cells) grid.columns = cells;
                    if (grid.parts > (height + 1) / 2) grid.parts = 1;
                    for (grid.last = whole; grid.last > 0; grid.last -= 1 + whole / 7) {
                        const int64_t rows = (int64_t)(before + grid.last) * grid.unknowns;
                        check_units(&grid, rows);
                        sp_free(check_positions(&grid, rows + z % 2));
                    }
                }
}

/** Returns the mean number of distinct columns of the matrix in `group` consecutive rows of the order. */
static double group_columns(const spmm_csr *a, const int32_t *order, int group)
{
    int32_t *last;
    int64_t sum = 0;
    CHECK_INT(sp_alloc((void **)&last, a->cols, sizeof *last, "a test"), SPMM_OK);
    memset(last, -1, (size_t)a->cols * sizeof *last);
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t e = a->irp[order[i]]; e < a->irp[order[i] + 1]; e++) {
            sum += last[a->ja[e]] != (int32_t)(i / group);
            last[a->ja[e]] = (int32_t)(i / group);
        }
    sp_free(last);
    return (double)sum * group / (double)a->rows;
}

static void test_shared(void)
{
    /* 8 rows are at best 2 x 2 x 2 points, which with their neighbors have 4 x 4 x 4 columns; 128 rows are 8
     * x 8 x 2 points with 10 x 10 x 4 columns */
    spmm_csr a;
    sp_stencil_grid grid;
    CHECK_INT(sp_gen_csr("lap3d27:40", SPMM_F64, 2, &a), SPMM_OK);
    CHECK(find(&a, 25, &grid));
    CHECK(grid.strips == 5 && grid.columns == 25 && grid.parts == 1);
    int32_t *const order = check_positions(&grid, a.rows);
    CHECK(group_columns(&a, order, 8) < 64);
    CHECK(group_columns(&a, order, 128) < 400);
    sp_free(order);
    spmm_csr_destroy(&a);
}

/** Checks that the rows of a rank, which begin and end anywhere in the grid, get as good an order as all. */
static void test_parts(void)
{
    static const struct {
        const char *spec;
        int unknowns;
        double most; /* columns of 128 rows */
    } whole[] = {{"lap3d27:40", 1, 450}, {"lap3d7:40", 1, 400}, {"fem3:20", 3, 800}, {"lap2d5:300", 1, 270}};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        spmm_csr a;
        CHECK_INT(sp_gen_csr(whole[i].spec, SPMM_F64, 2, &a), SPMM_OK);
        for (int64_t first = 0; first < a.rows / 4; first += 1 + a.rows / 11) {
            const spmm_csr part = rows_of(&a, first, first + 5 * a.rows / 8 + 1);
            sp_stencil_grid grid;
            CHECK(find(&part, 25, &grid));
            CHECK_INT(grid.unknowns, whole[i].unknowns);
            check_units(&grid, part.rows - part.rows % grid.unknowns);
            int32_t *const order = check_positions(&grid, part.rows);
            const double columns = group_columns(&part, order, 128);
            printf("      %s from row %lld: %d x %d x %d, %.0f columns\n", whole[i].spec, (long long)first,
                   grid.points[0], grid.points[1], grid.points[2], columns);
            CHECK(columns < whole[i].most);
            sp_free(order);
        }
        spmm_csr_destroy(&a);
    }
}

/** Checks that the unknowns of a point are counted, whichever of them the sampled rows are. */
static void test_unknowns(void)
{
    spmm_csr a;
    int wrong = 0;
    CHECK_INT(sp_gen_csr("fem3:24", SPMM_F64, 2, &a), SPMM_OK);
    for (int64_t end = a.rows / 2; end <= a.rows; end += 40) {
        const spmm_csr part = rows_of(&a, 0, end);
        sp_stencil_grid grid;
        wrong += !find(&part, 25, &grid) || grid.unknowns != 3;
    }
    CHECK_INT(wrong, 0);
    spmm_csr_destroy(&a);
}

/** Checks that blocks of a large grid get nearly equal numbers of rows. */
static void test_balanced(void)
{
    static const char *const specs[] = {"lap3d7:60", "lap3d27:50", "fem3:30", "lap2d5:400"};
    for (int s = 0; s < 4; s++)
        for (int blocks = 8; blocks <= 24; blocks += 8) {
            spmm_csr a;
            sp_stencil_grid grid;
            CHECK_INT(sp_gen_csr(specs[s], SPMM_F64, 2, &a), SPMM_OK);
            CHECK(find(&a, blocks, &grid));
            const int64_t units = sp_stencil_units(&grid);
            int64_t largest = 0, most = 0;
            for (int64_t u = 0; u < units; u++) {
                const int64_t unit = sp_stencil_unit_begin(&grid, u + 1) - sp_stencil_unit_begin(&grid, u);
                if (unit > largest) largest = unit;
            }
            for (int64_t b = 0; b < blocks; b++) {
                int64_t of_block = 0;
                for (int64_t u = b; u < units; u += blocks)
                    of_block += sp_stencil_unit_begin(&grid, u + 1) - sp_stencil_unit_begin(&grid, u);
                if (of_block > most) most = of_block;
            }
            printf(
                "      %s, %d blocks: %d columns in %d strips, %d parts; largest unit %.3f, block %.3f of the mean\n",
                specs[s], blocks, grid.columns, grid.strips, grid.parts,
                (double)largest * (double)units / (double)a.rows, (double)most * blocks / (double)a.rows);
            CHECK(units == 0 || (double)most * blocks < 1.15 * (double)a.rows);
            spmm_csr_destroy(&a);
        }
}

static void test_none(void)
{
    static const char *const specs[] = {"rmat:12,8", "uniform:5000,7", "band:5000,5,40"};
    for (int s = 0; s < 3; s++) {
        spmm_csr a;
        sp_stencil_grid grid;
        CHECK_INT(sp_gen_csr(specs[s], SPMM_F64, 2, &a), SPMM_OK);
        CHECK(!find(&a, 132, &grid));
        spmm_csr_destroy(&a);
    }
    sp_stencil_grid grid;
    sp_stencil_sample empty[4] = {0};
    CHECK(!sp_stencil_grid_find(empty, 4, 64, 132, &grid));
    CHECK(!sp_stencil_grid_find(empty, 0, 0, 132, &grid));
}

/** Checks column indices at the greatest possible distances. */
static void test_far(void)
{
    enum { FAR = 1 << 30 };
    sp_stencil_sample sample = {5, 0, {0, FAR - 1, FAR, FAR + 1, INT32_MAX}};
    sp_stencil_grid grid;
    CHECK(!sp_stencil_grid_find(&sample, 1, INT32_MAX, 132, &grid)); /* not symmetric */
    sample.col[0] = 1;
    CHECK(sp_stencil_grid_find(&sample, 1, INT32_MAX, 132, &grid));
    CHECK(grid.points[0] == FAR - 1 && grid.points[1] == 3 && grid.last == 1);
    CHECK(sp_stencil_grid_find(&sample, 1, FAR - 1, 132, &grid));
    CHECK(grid.points[0] == FAR - 1 && grid.points[1] == 1);
}

int main(void)
{
    TEST(
        "grids of two and three dimensions are recognized, with any number of unknowns, and taken row by row")
        test_found();
    TEST("each row has a position of its own in grids and columns of any shape") test_any_shape();
    TEST("rows of X that a group of rows needs are few") test_shared();
    TEST("parts of a grid are ordered like the grid") test_parts();
    TEST("unknowns are counted, whichever rows are sampled") test_unknowns();
    TEST("blocks have equally much to do") test_balanced();
    TEST("distances may be as large as numbers of columns") test_far();
    TEST("graphs and bands are no grids") test_none();
    return test_end();
}
