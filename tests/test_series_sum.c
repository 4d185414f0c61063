/* MPI: 1 2 3 4 5. The sum of an array that is cut between the ranks, by each strategy. */
#include "base/memory.h"
#include "formats/multivector.h"
#include "sample.h"
#include "series_mpi/job.h"
#include "series_mpi/sum_of_array.h"
#include "test_mpi.h"

enum { MOST = 1000 };
static const spmm_reduce methods[] = {SPMM_REDUCE_LINEAR, SPMM_REDUCE_TREE, SPMM_REDUCE_BUTTERFLY};

static int size;
static sp_grid column, line;

/** Number i of an array. Whole numbers: every sum is exact. Every third one is negative. */
static double value(int64_t i) { return (double)(i % 17 + 1) * (i % 3 == 0 ? -1 : 1); }

/** This rank's part of an array, and how to sum the array. */
typedef struct cut {
    sp_ranges ranges;
    sp_series part;
    double mean;
    sp_array_sum sum;
} cut;

/** Cuts an array of n numbers, of which number `odd` (-1: none) is `instead`. */
static void make_cut(int64_t n, spmm_precision precision, int64_t odd, double instead, cut *c)
{
    double all[MOST];
    *c = (cut){.mean = 0};
    for (int64_t i = 0; i < n; i++) sample_set(all, precision, i, i == odd ? instead : value(i));
    CHECK_INT(sp_series_cut(&column, n, &c->ranges), SPMM_OK);
    CHECK_INT(
        sp_array_scatter(&column, &c->ranges, test_.rank == 0 ? all : NULL, precision, SPMM_CPU, &c->part),
        SPMM_OK);
    c->sum.kernel = sp_series_find("cpu_sum_serial");
    c->sum.launch = (sp_series_launch){.x = &c->part, .divisor = 1, .mean = &c->mean, .threads = 1};
}

static void destroy_cut(cut *c)
{
    spmm_multivector_destroy(&c->part.v);
    sp_ranges_destroy(&c->ranges);
}

/** Sums by one strategy. \param [in] fails  rank that fails to sum its part; -1: none */
static double sum_by(cut *c, spmm_reduce method, int fails)
{
    double sum = 0;
    CHECK_INT(sp_array_reduction(&line, c->part.v.precision, method, &c->sum.reduction), SPMM_OK);
    CHECK((c->sum.reduction != NULL) == (size > 1));
    CHECK_INT(sp_array_part_sum(&c->sum, &sum), SPMM_OK);
    const spmm_status summed = test_.rank == fails ? SPMM_ERR_DEVICE : SPMM_OK;
    CHECK_INT(sp_array_combine(&c->sum, summed, &sum), summed);
    sp_reduction_destroy(c->sum.reduction);
    c->sum.reduction = NULL;
    return sum;
}

static void test_parts(void)
{
    TEST("the first ranks have one number more where N is no multiple of p, and every number has one rank") {
        for (int64_t n = 0; n <= 3 * size + 1; n++) {
            cut c;
            make_cut(n, SPMM_F64, -1, 0, &c);
            const int64_t mine = n / size + (test_.rank < n % size);
            CHECK_INT(c.ranges.row_begin[test_.rank + 1] - c.ranges.row_begin[test_.rank], mine);
            CHECK_INT(c.part.count, mine > 0);
            for (int64_t i = 0; i < mine; i++)
                CHECK(sp_multivector_get(&c.part.v, 0, i) == value(c.ranges.row_begin[test_.rank] + i));
            destroy_cut(&c);
        }
    }
}

static void test_sums(void)
{
    TEST("every strategy gives the sum, in both precisions, of no numbers, of fewer than ranks and of many") {
        static const int64_t counts[] = {0, 1, 2, 3, 4, 5, 6, 19, 1000};
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
            for (int p = 0; p < 2; p++) {
                cut c;
                double expected = 0;
                for (int64_t i = 0; i < counts[k]; i++) expected += value(i);
                make_cut(counts[k], (spmm_precision)p, -1, 0, &c);
                for (int m = 0; m < 3; m++) {
                    const double sum = sum_by(&c, methods[m], -1);
                    if (sp_array_has_sum(methods[m], test_.rank)) CHECK(sum == expected);
                }
                destroy_cut(&c);
            }
    }
    TEST("rank 0 has the sum by linear and tree, every rank by butterfly") {
        CHECK_INT(sp_array_has_sum(SPMM_REDUCE_LINEAR, test_.rank), test_.rank == 0);
        CHECK_INT(sp_array_has_sum(SPMM_REDUCE_TREE, test_.rank), test_.rank == 0);
        CHECK_INT(sp_array_has_sum(SPMM_REDUCE_BUTTERFLY, test_.rank), 1);
    }
    TEST("a sum in f32 is rounded as f32 when the ranks' sums are added") {
        cut c;
        make_cut(2 * size, SPMM_F32, 0, 0x1p24, &c);
        for (int m = 0; m < 3; m++) {
            const double sum = sum_by(&c, methods[m], -1);
            if (sp_array_has_sum(methods[m], test_.rank)) CHECK(sum == (double)(float)sum);
        }
        destroy_cut(&c);
    }
}

static void test_not_finite(void)
{
    TEST("NaN and infinity, on whichever rank, are in every sum; so is NaN where a rank has failed") {
        const int64_t n = 2 * size + 1;
        for (int64_t at = 0; at < n; at++)
            for (int m = 0; m < 3; m++) {
                cut c;
                make_cut(n, SPMM_F64, at, NAN, &c);
                double sum = sum_by(&c, methods[m], -1);
                if (sp_array_has_sum(methods[m], test_.rank)) CHECK(isnan(sum));
                destroy_cut(&c);
                make_cut(n, SPMM_F64, at, -INFINITY, &c);
                sum = sum_by(&c, methods[m], -1);
                if (sp_array_has_sum(methods[m], test_.rank)) CHECK(isinf(sum) && sum < 0);
                destroy_cut(&c);
            }
        for (int fails = 0; fails < size && size > 1; fails++)
            for (int m = 0; m < 3; m++) {
                cut c;
                make_cut(n, SPMM_F64, -1, 0, &c);
                const double sum = sum_by(&c, methods[m], fails);
                if (test_.rank != fails && sp_array_has_sum(methods[m], test_.rank)) CHECK(isnan(sum));
                destroy_cut(&c);
            }
    }
}

static void test_model(void)
{
    TEST("the steps of each strategy, and the model's seconds, are those that the messages have") {
        static const int steps[][4] = {/* ranks, linear, tree, butterfly */
                                       {1, 0, 0, 0}, {2, 1, 1, 1}, {3, 2, 2, 3}, {4, 3, 2, 2},
                                       {5, 4, 3, 4}, {7, 6, 3, 4}, {8, 7, 3, 3}, {1000, 999, 10, 11}};
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
            for (int m = 0; m < 3; m++) {
                const int p = steps[i][0], s = steps[i][m + 1];
                CHECK_INT(sp_reduce_steps(methods[m], p), s);
                CHECK(sp_array_model(methods[m], 1000 * (int64_t)p, p, 2, 3) == 999 * 2.0 + s * 5.0);
                CHECK(sp_array_model(methods[m], 1000 * (int64_t)p + 1, p, 2, 3) == 1000 * 2.0 + s * 5.0);
                CHECK(sp_array_model(methods[m], 0, p, 2, 3) == s * 5.0);
            }
    }
}

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    CHECK_INT(sp_grid_create(MPI_COMM_WORLD, size, 1, &column), SPMM_OK);
    CHECK_INT(sp_grid_create(MPI_COMM_WORLD, 1, size, &line), SPMM_OK);
    test_parts();
    test_sums();
    test_not_finite();
    test_model();
    sp_grid_destroy(&line);
    sp_grid_destroy(&column);
    return test_mpi_end();
}
