/* MPI: 1 2 3 4 5 */
#include "distribute/gather.h"
#include "partition/partition.h"
#include "distribute/scatter.h"
#include "formats/multivector.h"
#include "io/generators.h"
#include "sample.h"
#include "test_mpi.h"

static const char *const specs[] = {"lap2d5:13", "uniform:50,7", "longrows:40,2,3,30", "lap2d5:1",
                                    "band:3,2,2"};
enum { SPECS = sizeof specs / sizeof specs[0] };
static int size, me;

/** The block is a's rectangle: as many entries, and each of them the same. */
static void check_block(const spmm_csr *a, const spmm_block *b)
{
    CHECK_INT(sp_csr_check(&b->csr), SPMM_OK);
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

/** All grids of the ranks; each of root's three modes. */
static void scatter_on(int q, int root)
{
    for (int s = 0; s < SPECS; s++)
        for (int precision = 0; precision < 2; precision++)
            for (int mode = SP_SCATTER_COPY; mode <= SP_SCATTER_CONSUME; mode++) {
                spmm_csr a, whole;
                spmm_block block;
                sp_grid grid;
                sp_ranges r;
                CHECK_INT(sp_grid_create(MPI_COMM_WORLD, size / q, q, &grid), SPMM_OK);
                CHECK_INT(sp_gen_csr(specs[s], (spmm_precision)precision, 1, &whole), SPMM_OK);
                CHECK_INT(sp_gen_csr(specs[s], (spmm_precision)precision, 1, &a), SPMM_OK);
                partition(&a, &grid, &r);
                CHECK_INT(sp_scatter(&grid, root, &a, &r, (sp_scatter_mode)mode, NULL, NULL, &block),
                          SPMM_OK);
                CHECK(block.p == size / q && block.q == q);
                CHECK_INT(block.row_begin, r.row_begin[grid.coords[0]]);
                CHECK_INT(block.csr.rows, r.row_begin[grid.coords[0] + 1] - block.row_begin);
                CHECK_INT(block.col_begin, r.col_begin[grid.coords[1]]);
                CHECK_INT(block.csr.cols, r.col_begin[grid.coords[1] + 1] - block.col_begin);
                CHECK_INT(block.x_begin, sp_x_first(&r, grid.coords[0], grid.coords[1]));
                CHECK_INT(block.x_begin + block.x_rows, sp_x_end(&r, grid.coords[0], grid.coords[1]));
                check_block(&whole, &block);
                spmm_block_destroy(&block);
                if (mode == SP_SCATTER_CONSUME && grid.rank == root) CHECK(a.irp == NULL && a.ja == NULL);
                spmm_csr_destroy(&a);
                spmm_csr_destroy(&whole);
                sp_ranges_destroy(&r);
                sp_grid_destroy(&grid);
            }
}

static void test_blocks(void)
{
    spmm_csr a;
    TEST("each rank gets its block on every grid, in chunks of any size, however root keeps its matrix") {
        const int64_t chunks[] = {3, 100, 0};
        for (int c = 0; c < 3; c++) {
            sp_set_chunk_bytes(chunks[c]);
            for (int q = 1; q <= size; q++)
                if (size % q == 0) scatter_on(q, c == 1 ? size - 1 : 0);
        }
        sp_set_chunk_bytes(0);
    }
    TEST("the public scatter works from any root, and the blocks tile the matrix") {
        for (int root = 0; root < size; root++)
            for (int q = 1; q <= size; q++) {
                spmm_block mine;
                int64_t nnz = 0, x = 0;
                if (size % q) continue;
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

static void test_refused(void)
{
    spmm_csr a;
    TEST("a root without a matrix, and a grid that does not fit, are everybody's usage errors") {
        spmm_block mine;
        CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, NULL, 0, 0, &mine), SPMM_ERR_USAGE);
        CHECK(mine.csr.irp == NULL);
        CHECK_INT(spmm_csr_generate("uniform:5,2", SPMM_F64, &a), SPMM_OK);
        CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, &a, size + 1, 1, &mine), SPMM_ERR_USAGE);
        CHECK_TEXT(spmm_error_message(), "use ");
        spmm_csr_destroy(&a);
    }
}

static void test_x(void)
{
    spmm_csr a;
    TEST("each rank gets its rows of root's X") {
        for (int q = 1; q <= size; q++) {
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
            CHECK_INT(sp_scatter_x(&g, &r, &x, &mine), SPMM_OK);
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
    test_refused();
    test_x();
    test_gather();
    return test_mpi_end();
}
