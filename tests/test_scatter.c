/* MPI: 1 2 3 4 5 */
#include "distribute/gather.h"
#include "order/partition.h"
#include "distribute/scatter.h"
#include "formats/multivector.h"
#include "io/generators.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/memory.h"
#include "sample.h"
#include "test_mpi.h"

static const char *const specs[] = {
    "lap2d5:13", "uniform:50,7", "longrows:40,2,3,30", "lap2d5:1", "band:3,2,2", "none:0", "none:6"};
enum { SPECS = sizeof specs / sizeof specs[0] };
static int size, me;

/** Checks that the block is its rectangle of a, entry by entry. */
static void check_block(const spmm_csr *a, const spmm_block *b)
{
    CHECK_INT(sp_csr_check(&b->csr, 1), SPMM_OK);
    CHECK(b->rows == a->rows && b->cols == a->cols);
    CHECK(sample_is_block(a, b->row_begin, b->row_begin + b->csr.rows, b->col_begin,
                          b->col_begin + b->csr.cols, &b->csr));
}

static void partition(const spmm_csr *a, const sp_grid *grid, sp_ranges *r)
{
    CHECK_INT(sp_ranges_create(grid->dims[0], grid->dims[1], r), SPMM_OK);
    sp_partition_entries(a->irp, a->rows, r->p, r->row_begin);
    CHECK_INT(sp_partition_columns(a, 1, r->q, r->col_begin), SPMM_OK);
    CHECK_INT(sp_ranges_share(grid, 0, a->rows, a->cols, r), SPMM_OK);
}

/** Makes the matrix of a spec, or for "none:ROWS" a square matrix without entries. */
static void make(const char *spec, spmm_precision precision, spmm_csr *a)
{
    const int64_t rows = atoi(spec + 5);
    if (strncmp(spec, "none:", 5) != 0) {
        CHECK_INT(sp_gen_csr(spec, precision, 1, a), SPMM_OK);
        return;
    }
    CHECK_INT(sp_csr_create(rows, rows, 0, precision, a), SPMM_OK);
    memset(a->irp, 0, (size_t)(rows + 1) * sizeof *a->irp);
}

/** Checks that the block's place is the place that the ranges r give to this rank. */
static void check_place(const sp_grid *grid, const sp_ranges *r, const spmm_block *block)
{
    const int p = grid->coords[0], q = grid->coords[1];
    CHECK(block->p == r->p && block->q == r->q);
    CHECK_INT(block->row_begin, r->row_begin[p]);
    CHECK_INT(block->csr.rows, r->row_begin[p + 1] - block->row_begin);
    CHECK_INT(block->col_begin, r->col_begin[q]);
    CHECK_INT(block->csr.cols, r->col_begin[q + 1] - block->col_begin);
    CHECK_INT(block->x_begin, sp_x_first(r, p, q));
    CHECK_INT(block->x_begin + block->x_rows, sp_x_end(r, p, q));
}

/** Checks a slice, the block in ELLPACK as this rank received it: it has the width and the bits that
 *  converting the block on this rank gives. */
static void check_slice(const spmm_csr *block, const sp_matrix *slice)
{
    sp_matrix own;
    CHECK_INT(sp_matrix_create(block, SPMM_ELL, SPMM_CPU, 1e9, 1, 1, &own), SPMM_OK);
    CHECK(slice->format == SPMM_ELL && slice->nnz == own.nnz && slice->rows == own.rows);
    CHECK_INT(slice->width, own.width);
    CHECK(slice->bytes[SP_COL] == own.bytes[SP_COL] && slice->bytes[SP_VAL] == own.bytes[SP_VAL]);
    CHECK(own.bytes[SP_COL] == 0 || memcmp(slice->col, own.col, (size_t)own.bytes[SP_COL]) == 0);
    CHECK(own.bytes[SP_VAL] == 0 || memcmp(slice->val, own.val, (size_t)own.bytes[SP_VAL]) == 0);
    sp_matrix_destroy(&own);
}

/** Scatters a matrix with these options, and checks this rank's block. If `direct` is not NULL, compares the
 *  block with `direct`; if `copy` is not NULL, copies the block to `copy`. */
static void scatter_by(const sp_grid *grid, int root, const char *spec, spmm_precision precision,
                       const sp_scatter_options *o, const spmm_csr *direct, spmm_csr *copy)
{
    spmm_csr a, whole;
    spmm_block block;
    sp_matrix slice = {0};
    sp_ranges r;
    sp_scatter_times times;
    make(spec, precision, &whole);
    make(spec, precision, &a);
    partition(&a, grid, &r);
    CHECK_INT(sp_scatter(grid, root, &a, &r, o, &block, &slice, &times), SPMM_OK);
    check_place(grid, &r, &block);
    check_block(&whole, &block);
    CHECK((times.bands > 0) == (o->two_stage && grid->dims[0] > 1 && grid->dims[1] > 1));
    if (direct) CHECK(sample_same_csr(direct, &block.csr));
    if (copy) CHECK_INT(sp_csr_rows(&block.csr, 0, block.csr.rows, copy), SPMM_OK);
    if (o->padded) check_slice(&block.csr, &slice);
    sp_matrix_destroy(&slice);
    spmm_block_destroy(&block);
    if (o->mode == SP_SCATTER_CONSUME && grid->rank == root) CHECK(a.irp == NULL && a.ja == NULL);
    spmm_csr_destroy(&a);
    spmm_csr_destroy(&whole);
    sp_ranges_destroy(&r);
}

/** Scatters on a grid, in one stage and in two, as CSR and as ELLPACK. Over all matrices and values of
 *  `turn`, each of these four ways is combined with each of root's modes and both precisions. */
static void scatter_on(int q, int root, int turn)
{
    sp_grid grid;
    CHECK_INT(sp_grid_create(MPI_COMM_WORLD, size / q, q, &grid), SPMM_OK);
    for (int s = 0; s < SPECS; s++) {
        const spmm_precision precision = (spmm_precision)((s + turn) % 2);
        const sp_scatter_options plain = {.mode = SP_SCATTER_COPY};
        spmm_csr direct = {0};
        scatter_by(&grid, root, specs[s], precision, &plain, NULL, &direct);
        for (int way = 0; way < 4; way++) {
            const sp_scatter_options o = {.mode = (sp_scatter_mode)((s + way + turn) % 3),
                                          .two_stage = way % 2,
                                          .padded = way / 2,
                                          .ell_limit = 1e9,
                                          .threads = 2};
            scatter_by(&grid, root, specs[s], precision, &o, &direct, NULL);
        }
        spmm_csr_destroy(&direct);
    }
    sp_grid_destroy(&grid);
}

static void test_blocks(void)
{
    spmm_csr a;
    TEST(
        "each rank gets its block on every grid, the same bits in one stage and in two, as CSR and as ELLPACK, in chunks "
        "of any size, however root keeps its matrix") {
        const int64_t chunks[] = {3, 100, 0};
        for (int c = 0; c < 3; c++) {
            sp_set_chunk_bytes(chunks[c]);
            for (int q = 1; q <= size; q++)
                if (size % q == 0) scatter_on(q, c == 1 ? size - 1 : 0, c);
        }
        sp_set_chunk_bytes(0);
    }
    TEST("the public scatter works from any root, and the blocks tile the matrix") {
        for (int root = 0; root < size; root++)
            for (int q = 1; q <= size; q = next_divisor(size, q)) {
                spmm_block mine;
                int64_t nnz = 0, x = 0;
                CHECK_INT(spmm_csr_generate("uniform:50,7", SPMM_F64, &a), SPMM_OK);
                CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, root, me == root ? &a : NULL, size / q, q, &mine),
                          SPMM_OK);
                check_block(&a, &mine);
                MPI_Allreduce(&mine.csr.nnz, &nnz, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
                MPI_Allreduce(&mine.x_rows, &x, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
                CHECK_INT(nnz, a.nnz);
                CHECK_INT(x, 50);
                spmm_block_destroy(&mine);
                spmm_csr_destroy(&a);
            }
    }
    TEST("a file read through the public interface is scattered like a generated matrix") {
        spmm_block mine;
        CHECK_INT(spmm_csr_read("matrices/cage4.mtx", SPMM_F64, &a), SPMM_OK);
        CHECK(a.rows == 9 && a.cols == 9 && a.nnz == 49);
        CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, me == 0 ? &a : NULL, 0, 0, &mine), SPMM_OK);
        check_block(&a, &mine);
        spmm_block_destroy(&mine);
        spmm_csr_destroy(&a);
        CHECK_INT(spmm_csr_read("matrices/README.md", SPMM_F64, &a), SPMM_ERR_SYNTAX);
        CHECK(a.irp == NULL);
        CHECK_TEXT(spmm_error_message(), "README.md:1");
    }
}

/** With two ranks, each has over 2^20 entries of lap2d5:700, so packed blocks and slices travel in several
 *  portions. */
static void test_portions(void)
{
    if (size != 2) return;
    TEST("blocks that are packed and slices of more than a portion arrive whole") {
        for (int q = 1; q <= 2; q++) {
            const sp_scatter_options plain = {.mode = SP_SCATTER_COPY},
                                     padded = {.padded = 1, .ell_limit = 1e9, .threads = 2};
            spmm_csr direct = {0};
            sp_grid grid;
            CHECK_INT(sp_grid_create(MPI_COMM_WORLD, size / q, q, &grid), SPMM_OK);
            scatter_by(&grid, 0, "lap2d5:700", SPMM_F64, &plain, NULL, &direct);
            CHECK(direct.nnz > 1 << 20);
            scatter_by(&grid, 0, "lap2d5:700", SPMM_F64, &padded, &direct, NULL);
            spmm_csr_destroy(&direct);
            sp_grid_destroy(&grid);
        }
    }
}

/** Scatters with a fault or beyond a limit: each rank gets the error, and nothing is left. */
static void check_fails(int q, const sp_scatter_options *o, spmm_status expected, const char *message)
{
    spmm_csr a;
    spmm_block block;
    sp_matrix slice = {0};
    sp_grid grid;
    sp_ranges r;
    CHECK_INT(sp_grid_create(MPI_COMM_WORLD, size / q, q, &grid), SPMM_OK);
    make("longrows:40,2,3,30", SPMM_F64, &a);
    partition(&a, &grid, &r);
    CHECK_ERROR(sp_scatter(&grid, 0, &a, &r, o, &block, &slice, NULL), expected, message);
    CHECK(block.csr.irp == NULL && block.csr.ja == NULL && slice.col == NULL && slice.val == NULL);
    spmm_csr_destroy(&a);
    sp_ranges_destroy(&r);
    sp_grid_destroy(&grid);
}

static void test_failures(void)
{
    TEST("a rank that fails in either stage is everybody's error") {
        for (int q = 1; q <= size; q++)
            for (int rank = 0; rank < size && size % q == 0; rank++)
                for (int two_stage = 0; two_stage < 2; two_stage++) {
                    char fault[64];
                    const sp_scatter_options o = {.mode = (sp_scatter_mode)((rank + two_stage) % 3),
                                                  .two_stage = two_stage,
                                                  .padded = rank % 2,
                                                  .ell_limit = 1e9,
                                                  .threads = 1};
                    snprintf(fault, sizeof fault, "scatter:%d", rank);
                    setenv("SPMM_FAULT", fault, 1);
                    check_fails(q, &o, SPMM_ERR_INTERNAL, "failing in stage scatter as requested");
                    snprintf(fault, sizeof fault, "scatter_row:%d", rank);
                    setenv("SPMM_FAULT", fault, 1);
                    if (two_stage && q > 1 && q < size)
                        check_fails(q, &o, SPMM_ERR_INTERNAL, "failing in stage scatter_row as requested");
                    unsetenv("SPMM_FAULT");
                }
    }
    TEST("a slice beyond the limit is everybody's error, which names the rank and the figure") {
        for (int q = 1; q <= size; q++)
            for (int two = 0; two < 2 && size % q == 0; two++) {
                const sp_scatter_options o = {.two_stage = two, .padded = 1, .ell_limit = 0.5, .threads = 1};
                check_fails(q, &o, SPMM_ERR_LIMIT, "times the CSR (longest row ");
                CHECK_TEXT(spmm_error_message(), "the slice of rank ");
                CHECK_TEXT(spmm_error_message(), "raise --ell-limit");
            }
    }
}

static void test_x(void)
{
    spmm_csr a;
    TEST("each rank gets its rows of root's X, from root or by way of the first process row") {
        for (int n = 2; n < 2 * size + 2; n++) {
            const int q = n / 2, two_stage = n % 2;
            spmm_multivector x = {0}, mine;
            sp_grid g;
            sp_ranges r;
            if (size % q) continue;
            CHECK_INT(sp_grid_create(MPI_COMM_WORLD, size / q, q, &g), SPMM_OK);
            CHECK_INT(spmm_csr_generate("uniform:31,3", SPMM_F64, &a), SPMM_OK);
            partition(&a, &g, &r);
            const int64_t first = sp_x_first(&r, g.coords[0], g.coords[1]);
            const int64_t rows = sp_x_end(&r, g.coords[0], g.coords[1]) - first;
            CHECK_INT(spmm_multivector_create(rows, 5, SPMM_F32, SPMM_CPU, &mine), SPMM_OK);
            if (me == 0) {
                CHECK_INT(spmm_multivector_create(31, 5, SPMM_F32, SPMM_CPU, &x), SPMM_OK);
                sp_multivector_generate(&x, SP_X_INDEX, 0, 0, 1);
            }
            CHECK_INT(sp_scatter_x(&g, &r, two_stage, &x, &mine), SPMM_OK);
            for (int64_t i = 0; i < rows; i++)
                for (int64_t j = 0; j < 5; j++)
                    CHECK(sp_multivector_get(&mine, i, j) == 1 + (double)((first + i + j) % 1000));
            spmm_multivector_destroy(&x);
            spmm_multivector_destroy(&mine);
            spmm_csr_destroy(&a);
            sp_ranges_destroy(&r);
            sp_grid_destroy(&g);
        }
    }
}

static void test_gather(void)
{
    TEST("gathered blocks stand in rank order, empty ones included") {
        sp_grid grid;
        CHECK_INT(sp_grid_create(MPI_COMM_WORLD, 0, 0, &grid), SPMM_OK);
        const int64_t chunks[] = {5, 0};
        for (int c = 0; c < 2; c++) {
            spmm_multivector mine, y;
            const int64_t rows = me == 1 ? 0 : 3 + me;
            int64_t all = 0, first = 0;
            sp_set_chunk_bytes(chunks[c]);
            MPI_Allreduce(&rows, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
            MPI_Exscan(&rows, &first, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
            if (me == 0) first = 0;
            CHECK_INT(spmm_multivector_create(rows, 3, SPMM_F64, SPMM_CPU, &mine), SPMM_OK);
            sp_multivector_generate(&mine, SP_X_UNIFORM, 4, first, 1);
            CHECK_INT(sp_gather(&grid, &mine, all, &y), SPMM_OK);
            CHECK_INT(y.rows, me == 0 ? all : 0);
            for (int64_t i = 0; i < y.rows; i++)
                for (int64_t j = 0; j < 3; j++)
                    CHECK(sp_multivector_get(&y, i, j) == sp_x_element(SP_X_UNIFORM, 4, i, j));
            spmm_multivector_destroy(&mine);
            spmm_multivector_destroy(&y);
        }
        sp_set_chunk_bytes(0);
        sp_grid_destroy(&grid);
    }
}

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    me = test_.rank;
    test_blocks();
    test_portions();
    test_failures();
    test_x();
    test_gather();
    return test_mpi_end();
}
