/* MPI: 1 2 3 4 5 */
#include "gather.h"
#include "gen.h"
#include "memory.h"
#include "multivector.h"
#include "partition.h"
#include "scatter.h"
#include "test_mpi.h"

static const char *const specs[] = {"lap2d5:13", "uniform:50,7", "longrows:40,2,3,30", "lap2d5:1",
                                    "band:3,2,2"};
enum { SPECS = sizeof specs / sizeof specs[0] };

/** The block is rows [row_begin, ...) of a. */
static void check_block(const spmm_csr *a, const spmm_csr *block, int64_t row_begin)
{
    const size_t size = sp_value_size(a->precision);
    CHECK_INT(sp_csr_check(block), SPMM_OK);
    CHECK_INT(block->cols, a->cols);
    CHECK(block->precision == a->precision);
    for (int64_t i = 0; i < block->rows; i++) {
        const int64_t at = a->irp[row_begin + i], n = a->irp[row_begin + i + 1] - at;
        CHECK_INT(block->irp[i + 1] - block->irp[i], n);
        CHECK(memcmp(block->ja + block->irp[i], a->ja + at, (size_t)n * 4) == 0);
        CHECK(memcmp((char *)block->as + (size_t)block->irp[i] * size, (char *)a->as + (size_t)at * size,
                     (size_t)n * size) == 0);
    }
}

int main(int argc, char **argv)
{
    int size;
    sp_grid grid;
    spmm_csr a;
    sp_block block;
    int64_t begin[16];
    test_mpi_begin(&argc, &argv, &size);
    const int me = test_.rank;
    CHECK_INT(sp_grid_create(MPI_COMM_WORLD, 0, 0, &grid), SPMM_OK);

    TEST("each rank gets its rows, in chunks of any size, borrowed on root or copied, in both precisions") {
        const char *const chunks[] = {"3", "100", ""};
        for (int s = 0; s < SPECS; s++)
            for (int p = 0; p < 2; p++)
                for (int c = 0; c < 3; c++)
                    for (int borrow = 0; borrow < 2; borrow++) {
                        setenv("SPMM_CHUNK_BYTES", chunks[c], 1);
                        CHECK_INT(sp_gen_csr(specs[s], (spmm_precision)p, 1, &a), SPMM_OK);
                        sp_partition_entries(a.irp, a.rows, size, begin);
                        CHECK_INT(sp_scatter(&grid, &a, begin, borrow, NULL, NULL, &block), SPMM_OK);
                        CHECK_INT(block.row_begin, begin[me]);
                        CHECK_INT(block.csr.rows, begin[me + 1] - begin[me]);
                        check_block(&a, &block.csr, begin[me]);
                        sp_block_destroy(&block);
                        spmm_csr_destroy(&a);
                    }
        unsetenv("SPMM_CHUNK_BYTES");
    }
    TEST("the public scatter works from any root, and the blocks tile the rows") {
        for (int root = 0; root < size; root++) {
            spmm_csr mine;
            int64_t row_begin, rows = 0;
            CHECK_INT(spmm_csr_generate("uniform:50,7", SPMM_F64, &a), SPMM_OK);
            CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, root, me == root ? &a : NULL, &mine, &row_begin),
                      SPMM_OK);
            check_block(&a, &mine, row_begin);
            MPI_Allreduce(&mine.rows, &rows, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
            CHECK_INT(rows, 50);
            spmm_csr_destroy(&mine);
            spmm_csr_destroy(&a);
        }
    }
    TEST("a file read through the public interface is scattered like a generated matrix") {
        spmm_csr mine;
        int64_t row_begin;
        CHECK_INT(spmm_csr_read("matrices/cage4.mtx", SPMM_F64, &a), SPMM_OK);
        CHECK(a.rows == 9 && a.cols == 9 && a.nnz == 49);
        CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, me == 0 ? &a : NULL, &mine, &row_begin), SPMM_OK);
        check_block(&a, &mine, row_begin);
        spmm_csr_destroy(&mine);
        spmm_csr_destroy(&a);
        CHECK_INT(spmm_csr_read("matrices/README.md", SPMM_F64, &a), SPMM_ERR_SYNTAX);
        CHECK(a.irp == NULL);
        CHECK_TEXT(spmm_error_message(), "README.md:1");
    }
    TEST("a root without a matrix is everybody's usage error") {
        spmm_csr mine;
        int64_t row_begin;
        CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, NULL, &mine, &row_begin), SPMM_ERR_USAGE);
        CHECK(mine.irp == NULL);
    }
    TEST("root's X reaches all") {
        spmm_multivector x;
        CHECK_INT(spmm_multivector_create(31, 5, SPMM_F32, SPMM_CPU, &x), SPMM_OK);
        if (me == 0) sp_multivector_generate(&x, SP_X_INDEX, 0, 0, 1);
        CHECK_INT(sp_scatter_x(&grid, &x), SPMM_OK);
        for (int64_t i = 0; i < 31; i++)
            for (int64_t j = 0; j < 5; j++)
                CHECK(sp_multivector_get(&x, i, j) == 1 + (double)((i + j) % 1000));
        spmm_multivector_destroy(&x);
    }
    TEST("gathered blocks stand in rank order, empty ones included") {
        const char *const chunks[] = {"5", ""};
        for (int c = 0; c < 2; c++) {
            spmm_multivector mine, y;
            const int64_t rows = me == 1 ? 0 : 3 + me;
            int64_t all = 0, first = 0;
            setenv("SPMM_CHUNK_BYTES", chunks[c], 1);
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
        unsetenv("SPMM_CHUNK_BYTES");
    }
    sp_grid_destroy(&grid);
    return test_mpi_end();
}
