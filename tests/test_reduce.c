/* MPI: 1 2 3 4 5; always on: 3. Sums over process rows, on the CPU. */
#include "product/reduce.h"

#include "base/enum_words.h"
#include "sample.h"
#include "test_mpi.h"

enum { MOST = 1000 };

static int size;

/** Element i of the partial Y of the rank in column q. Whole numbers: every sum is exact. */
static double part(int q, int64_t i) { return (double)((q + 1) * (i % 13 - 6)); }

/** Sums over the process rows of a grid twice: first without the partial Y of rank `skips` of each row (-1:
 *  with all), then with all of them, because a skipped sum must leave nothing behind. */
static void check_sum(const sp_grid *grid, spmm_reduce method, spmm_precision precision, int64_t n, int skips)
{
    const int q = grid->coords[1], Q = grid->dims[1];
    double y[MOST];
    sp_reduction *r;
    CHECK_INT(sp_reduction_create(grid, n, precision, SPMM_CPU, method, 2, NULL, &r), SPMM_OK);
    CHECK_INT(sp_reduction_method(r), method == SPMM_REDUCE_AUTO ? SPMM_REDUCE_TREE : method);
    for (int turn = 0; turn < 2; turn++) {
        const int lacking = turn == 0 && skips >= 0;
        for (int64_t i = 0; i < n; i++) sample_set(y, precision, i, part(q, i));
        if (lacking && q == skips)
            sp_reduction_skip(r);
        else
            CHECK_INT(sp_reduction_run(r, y), SPMM_OK);
        if ((q > 0 && !sp_reduce_everywhere(method)) || (lacking && q == skips)) continue;
        for (int64_t i = 0; i < n; i++) {
            const double found = sample_get(y, precision, i);
            CHECK(lacking ? isnan(found) : found == Q * (Q + 1) / 2 * part(0, i));
        }
    }
    sp_reduction_destroy(r);
}

/** Checks every method and precision on every grid whose process rows have at least two ranks.
 *  \param [in] skip  1: each rank of a process row skips once */
static void check_all(int64_t n, int skip)
{
    for (int q = 2; q <= size; q++) {
        sp_grid grid;
        if (size % q) continue;
        CHECK_INT(sp_grid_create(MPI_COMM_WORLD, size / q, q, &grid), SPMM_OK);
        for (int method = SPMM_REDUCE_AUTO; method <= SPMM_REDUCE_MPI; method++)
            for (int p = 0; p < 2; p++)
                for (int skips = skip ? 0 : -1; skips < (skip ? q : 0); skips++)
                    check_sum(&grid, (spmm_reduce)method, (spmm_precision)p, n, skips);
        sp_grid_destroy(&grid);
    }
}

static void test_sums(void)
{
    TEST("every method sums small integers exactly, in both precisions, in messages of any size") {
        static const int64_t chunks[] = {8, 100, 0};
        CHECK(sp_reduce_everywhere(SPMM_REDUCE_BUTTERFLY) && !sp_reduce_everywhere(SPMM_REDUCE_TREE));
        for (int c = 0; c < 3; c++) {
            sp_set_chunk_bytes(chunks[c]);
            for (int64_t n = 0; n <= MOST; n = 10 * n + 1) check_all(n, 0);
        }
        sp_set_chunk_bytes(0);
    }
    TEST("a sum that lacks a rank's part is NaN, whichever rank it is, and the next one is right") {
        CHECK_INT(sp_reduction_method(NULL), SPMM_REDUCE_AUTO);
        check_all(7, 1);
    }
    TEST("the fastest method is found by timing, and sums") {
        sp_grid grid;
        sp_reduction *r;
        sp_trial trial;
        double y[3] = {1, test_.rank, -test_.rank};
        CHECK_INT(sp_grid_create(MPI_COMM_WORLD, 1, size, &grid), SPMM_OK);
        CHECK_INT(sp_reduction_create(&grid, 3, SPMM_F64, SPMM_CPU, SPMM_REDUCE_AUTO, 1, &trial, &r),
                  SPMM_OK);
        CHECK((r != NULL) == (size > 1));
        if (r) {
            CHECK_INT(trial.count, size > 2 ? 3 : 2);
            for (int i = 0; i < trial.count; i++)
                CHECK(trial.tried[i].seconds > 0 && trial.tried[i].seconds < 10);
            CHECK_TEXT(trial.tried[trial.chosen].name, sp_reduce_word(sp_reduction_method(r)));
            CHECK_INT(sp_reduction_run(r, y), SPMM_OK);
            if (test_.rank == 0) CHECK(y[0] == size && y[1] == size * (size - 1) / 2 && y[2] == -y[1]);
        }
        sp_reduction_destroy(r);
        sp_grid_destroy(&grid);
    }
    TEST("linear and tree add in the order that they promise") {
        for (int tree = 0; tree < 2; tree++) {
            sp_grid grid;
            sp_reduction *r;
            double y[8], mine;
            CHECK_INT(sp_grid_create(MPI_COMM_WORLD, 1, size, &grid), SPMM_OK);
            CHECK_INT(sp_reduction_create(&grid, 1, SPMM_F64, SPMM_CPU,
                                          tree ? SPMM_REDUCE_TREE : SPMM_REDUCE_LINEAR, 1, NULL, &r),
                      SPMM_OK);
            for (int q = 0; q < size; q++) y[q] = 1.0 / (3 + q);
            mine = y[test_.rank];
            if (r) CHECK_INT(sp_reduction_run(r, &mine), SPMM_OK);
            for (int q = 1; q < size && !tree; q++) y[0] += y[q];
            for (int step = 1; step < size && tree; step *= 2)
                for (int q = 0; q + step < size; q += 2 * step) y[q] += y[q + step];
            if (test_.rank == 0) CHECK(mine == y[0]);
            sp_reduction_destroy(r);
            sp_grid_destroy(&grid);
        }
    }
}

static void test_without(void)
{
    TEST("where each rank is a process row there is nothing to sum; NCCL is refused in host memory") {
        sp_grid grid;
        sp_reduction *r;
        CHECK_INT(sp_grid_create(MPI_COMM_WORLD, size, 1, &grid), SPMM_OK);
        CHECK_INT(sp_reduction_create(&grid, 5, SPMM_F64, SPMM_CPU, SPMM_REDUCE_LINEAR, 1, NULL, &r),
                  SPMM_OK);
        CHECK(r == NULL);
        CHECK_ERROR(sp_reduction_create(&grid, 5, SPMM_F64, SPMM_CPU, SPMM_REDUCE_NCCL, 1, NULL, &r),
                    SPMM_ERR_USAGE, sp_reduce_missing(SPMM_REDUCE_NCCL, SPMM_CPU));
        CHECK(r == NULL && !sp_reduce_missing(SPMM_REDUCE_MPI, SPMM_CPU));
        sp_reduction_destroy(NULL);
        sp_grid_destroy(&grid);
    }
}

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    test_sums();
    test_without();
    return test_mpi_end();
}
