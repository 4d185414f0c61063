/* The cost of a process grid, by hand, and the grid of least cost. */
#include "sample.h"
#include "spmm_mpi/grid_cost.h"
#include "spmm_mpi/kernel_rate.h"
#include "test.h"

/** n x n, an entry wherever |i - j| is at most `band`. */
static spmm_csr banded(int64_t n, int64_t band)
{
    int64_t i[1024], j[1024], nnz = 0;
    spmm_csr a;
    for (int64_t row = 0; row < n; row++)
        for (int64_t col = 0; col < n; col++)
            if (row - col <= band && col - row <= band) i[nnz] = row, j[nnz++] = col;
    CHECK_INT(spmm_csr_from_triplets(n, n, nnz, i, j, NULL, SPMM_F64, &a), SPMM_OK);
    return a;
}

static sp_grid_cost cost_of(const spmm_csr *a, sp_partition partition, int p, int q, int64_t k,
                            sp_rank_count *counts)
{
    sp_ranges ranges;
    sp_grid_cost cost;
    const sp_cost_model model = {sp_machine_unknown(), 1, SPMM_EXCHANGE_AUTO, 0, k, 2};
    CHECK_INT(sp_ranges_create(p, q, &ranges), SPMM_OK);
    CHECK_INT(sp_grid_cost_ranges(a, partition, 2, &ranges), SPMM_OK);
    CHECK_INT(sp_grid_cost_count(a, &ranges, &model, counts, &cost), SPMM_OK);
    sp_ranges_destroy(&ranges);
    return cost;
}

static void test_costs(void)
{
    TEST("two process rows of a line: each rank receives one row of X") {
        spmm_csr a = banded(8, 1);
        sp_rank_count counts[2];
        const sp_grid_cost c = cost_of(&a, SP_PARTITION_NNZ, 2, 1, 1, counts);
        CHECK(c.p == 2 && c.q == 1 && c.received == 2 && c.moved == 8);
        CHECK(c.most.rows == 4 && c.most.nnz == 11 && c.most.x_rows == 4 && c.most.halo_rows == 1);
        CHECK(c.most.boundary_rows == 1 && c.most.partial_rows == 0 && c.most.sends_to == 1);
        const double block = 11 * 12 + 5 * 8, x_and_y = (4 + 1 + 4) * 8;
        CHECK(c.held == block + 11 * 4 + x_and_y + 8 && c.time.total == block + x_and_y + 8 * 8);
        CHECK(counts[0].halo_rows == 1 && counts[1].halo_rows == 1 && counts[0].nnz == counts[1].nnz);
        spmm_csr_destroy(&a);
    }
    TEST(
        "two process columns of a line: each rank receives and adds a partial Y of 8 rows, padded as in memory") {
        spmm_csr a = banded(8, 1);
        const sp_grid_cost c = cost_of(&a, SP_PARTITION_ROWS, 1, 2, 3, NULL);
        const double row = 4 * 8, block = 11 * 12 + 9 * 8, x_and_y = (4 + 8) * row;
        CHECK(c.received == 0 && c.most.partial_rows == 8 && c.moved == 8 * row);
        CHECK(c.held == block + 11 * 4 + x_and_y && c.time.total == block + x_and_y + (8 + 3) * 8 * row);
        spmm_csr_destroy(&a);
    }
}

/** The best grid of a machine of which only ratios are assumed. */
static sp_grid_cost best_of(const spmm_csr *a, sp_partition partition, int ranks, int64_t k, FILE *table)
{
    const sp_cost_model model = {sp_machine_unknown(), 1, SPMM_EXCHANGE_AUTO, 0, k, 1};
    sp_grid_cost best = {0};
    CHECK_INT(sp_grid_cost_best(a, partition, ranks, &model, table, &best), SPMM_OK);
    return best;
}

static void test_best(void)
{
    TEST("a line is cut into rows, a single row into columns, and grids of equal cost have few columns") {
        spmm_csr line = banded(32, 1), row, none;
        const int64_t i[16] = {0}, j[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
        CHECK_INT(spmm_csr_from_triplets(1, 16, 16, i, j, NULL, SPMM_F64, &row), SPMM_OK);
        CHECK_INT(spmm_csr_from_triplets(0, 0, 0, NULL, NULL, NULL, SPMM_F64, &none), SPMM_OK);
        for (int partition = SP_PARTITION_NNZ; partition <= SP_PARTITION_GRAPH; partition++) {
            CHECK_INT(best_of(&line, (sp_partition)partition, 4, 8, NULL).p, 4);
            CHECK_INT(best_of(&row, (sp_partition)partition, 4, 8, NULL).q, 4);
            CHECK_INT(best_of(&none, (sp_partition)partition, 6, 8, NULL).p, 6);
        }
        spmm_csr_destroy(&line), spmm_csr_destroy(&row), spmm_csr_destroy(&none);
    }
    TEST("the tables have a line for every grid, and for every rank") {
        char *text;
        size_t bytes;
        FILE *const f = open_memstream(&text, &bytes);
        spmm_csr a = banded(8, 1);
        sp_rank_count counts[2];
        (void)best_of(&a, SP_PARTITION_NNZ, 4, 1, f);
        const sp_grid_cost c = cost_of(&a, SP_PARTITION_NNZ, 2, 1, 1, counts);
        sp_grid_cost_head(f, 1, 1);
        sp_grid_cost_line(f, &a, &c, 1);
        sp_grid_cost_ranks(f, counts, 2, 1);
        fclose(f);
        CHECK_TEXT(text, "moved, K = 1 ");
        for (int n = 0; n < 6; n++)
            CHECK_TEXT(text,
                       ((const char *[]){" 4x1 ", " 2x2 ", " 1x4 ", " halo ", " (0,0) ", " (1,0) "})[n]);
        free(text);
        spmm_csr_destroy(&a);
    }
}

/* ---- predictions ---- */

/** Two nodes of two ranks; one rank alone copies 2^30 bytes in a second, a node twice that in f64. */
static sp_machine two_nodes(void)
{
    return (sp_machine){.nodes = 2,
                        .ranks_per_node = 2,
                        .threads = 1,
                        .copy_rate = 1 << 30,
                        .node_copy_rate = 1.5 * (1 << 30),
                        .inside_rate = 1 << 28,
                        .inside_latency = 1e-6,
                        .between_rate = 1 << 26,
                        .between_latency = 1e-5,
                        .efficiency = 0.5};
}

static sp_product_time time_of(const spmm_csr *a, const sp_machine *machine, int p, int q,
                               spmm_exchange exchange)
{
    sp_ranges ranges;
    sp_grid_cost cost;
    const sp_cost_model model = {machine, sp_stated_rate(machine, (int64_t)p * q), exchange, 0, 64, 2};
    CHECK_INT(sp_ranges_create(p, q, &ranges), SPMM_OK);
    CHECK_INT(sp_grid_cost_ranges(a, SP_PARTITION_NNZ, 1, &ranges), SPMM_OK);
    CHECK_INT(sp_grid_cost_count(a, &ranges, &model, NULL, &cost), SPMM_OK);
    sp_ranges_destroy(&ranges);
    return cost.time;
}

static int near(double a, double b) { return a > b * (1 - 1e-12) && a < b * (1 + 1e-12); }

static void test_predictions(void)
{
    const sp_machine machine = two_nodes();
    spmm_csr a = banded(32, 3);
    TEST(
        "one rank takes the DRAM bound of its block at the efficiency of its kernel, and exchanges nothing") {
        const sp_product_time t = time_of(&a, &machine, 1, 1, SPMM_EXCHANGE_AUTO);
        const double bytes = (double)a.nnz * 12 + 8 * 33 + 64 * 8 * 64;
        CHECK(near(t.kernel, bytes / (0.5 * (1 << 30))));
        CHECK(t.exchange == 0 && t.reduce == 0 && t.barrier == 0 && t.total == t.kernel);
    }
    TEST("two ranks of a node share its copy rate, and exchange inside it: a latency and three rows of X") {
        const sp_product_time t = time_of(&a, &machine, 2, 1, SPMM_EXCHANGE_HALO);
        const double bytes = (double)a.nnz / 2 * 12 + 8 * 17 + 512 * (16 + 3 + 16);
        CHECK(near(t.kernel, bytes / (0.5 * 0.75 * (1 << 30))));
        CHECK(near(t.exchange, 1e-6 + 3 * 512.0 / (1 << 28)));
        CHECK(near(t.barrier, 1e-6) && t.reduce == 0);
    }
    TEST(
        "on two nodes the middle ranks have a neighbour in both, and a broadcast shares the rate between nodes") {
        const sp_product_time t = time_of(&a, &machine, 4, 1, SPMM_EXCHANGE_HALO);
        CHECK(near(t.exchange, 1e-6 + 3 * 512.0 / (1 << 28) + 1e-5 + 3 * 512.0 / (1 << 26)));
        CHECK(near(t.barrier, 1e-6 + 1e-5));
        const sp_product_time b = time_of(&a, &machine, 4, 1, SPMM_EXCHANGE_BCAST);
        CHECK(b.exchange > t.exchange && b.kernel == t.kernel);
        /* a rank receives 8 rows of its neighbour and half of the 16 of the other node, and hands these on */
        CHECK(near(b.exchange, 1e-6 + 16 * 512.0 / (1 << 28) + 1e-5 + 16 * 512.0 / (1 << 26)));
    }
    TEST("the parts add up on every grid, and what is slower or larger takes no less time") {
        static const int grids[][2] = {{1, 1}, {2, 1}, {1, 2}, {4, 1}, {2, 2}, {1, 4}};
        spmm_csr more = banded(32, 9);
        for (size_t n = 0; n < sizeof grids / sizeof *grids; n++) {
            const int p = grids[n][0], q = grids[n][1];
            const sp_product_time t = time_of(&a, &machine, p, q, SPMM_EXCHANGE_HALO);
            CHECK(near(t.total, t.kernel + t.exchange + t.reduce + t.barrier));
            CHECK((q > 1) == (t.reduce > 0));
            CHECK(time_of(&more, &machine, p, q, SPMM_EXCHANGE_HALO).total > t.total);
            CHECK(time_of(&a, &machine, p, q, SPMM_EXCHANGE_AUTO).total <= t.total);
            sp_machine slower = machine;
            slower.inside_rate /= 2, slower.between_rate /= 2, slower.inside_latency *= 2;
            CHECK((time_of(&a, &slower, p, q, SPMM_EXCHANGE_HALO).total > t.total) == (p * q > 1));
            sp_machine beside = machine;
            beside.overlap = 1;
            CHECK(time_of(&a, &beside, p, q, SPMM_EXCHANGE_HALO).total <= t.total);
        }
        spmm_csr_destroy(&more);
    }
    TEST("the best grid is the one of the least time of all, though not all are counted") {
        for (int ranks = 1; ranks <= 4; ranks++) {
            const sp_cost_model model = {&machine, sp_stated_rate(&machine, ranks), SPMM_EXCHANGE_AUTO, 0, 64,
                                         1};
            sp_grid_cost best = {0};
            CHECK_INT(sp_grid_cost_best(&a, SP_PARTITION_NNZ, ranks, &model, NULL, &best), SPMM_OK);
            for (int q = 1; q <= ranks; q++)
                if (ranks % q == 0)
                    CHECK(best.time.total <= time_of(&a, &machine, ranks / q, q, SPMM_EXCHANGE_AUTO).total);
        }
    }
    spmm_csr_destroy(&a);
}

int main(void)
{
    test_costs();
    test_best();
    test_predictions();
    return test_end();
}
