/* The cost of a process grid, by hand, and the grid of least cost. */
#include "sample.h"
#include "spmm_mpi/grid_cost.h"
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

static sp_grid_cost cost_by(const sp_cost_model *model, const spmm_csr *a, sp_partition partition, int p,
                            int q, sp_rank_count *counts)
{
    sp_ranges ranges;
    sp_grid_cost cost;
    CHECK_INT(sp_ranges_create(p, q, &ranges), SPMM_OK);
    CHECK_INT(sp_grid_cost_ranges(a, partition, model, &ranges), SPMM_OK);
    CHECK_INT(sp_grid_cost_count(a, &ranges, model, counts, &cost), SPMM_OK);
    sp_ranges_destroy(&ranges);
    return cost;
}

static sp_grid_cost cost_of(const spmm_csr *a, sp_partition partition, int p, int q, int64_t k,
                            sp_rank_count *counts)
{
    return cost_by(&(sp_cost_model){SPMM_EXCHANGE_AUTO, 0, k, 2, 0, 0, {0, 0, 0}}, a, partition, p, q,
                   counts);
}

/** Returns the cost with the given exchange and 64 columns of X. */
static double cost_with(spmm_exchange exchange, const spmm_csr *a, int p, int q)
{
    const sp_cost_model model = {exchange, exchange == SPMM_EXCHANGE_JOINT, 64, 2, 0, 0, {0, 0, 0}};
    return cost_by(&model, a, SP_PARTITION_NNZ, p, q, NULL).cost;
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
        CHECK(c.held == block + 11 * 4 + x_and_y + 8 && c.cost == block + x_and_y + 8 * 8);
        CHECK(counts[0].halo_rows == 1 && counts[1].halo_rows == 1 && counts[0].nnz == counts[1].nnz);
        spmm_csr_destroy(&a);
    }
    TEST(
        "two process columns of a line: each rank receives and adds a partial Y of 8 rows, padded as in memory") {
        spmm_csr a = banded(8, 1);
        const sp_grid_cost c = cost_of(&a, SP_PARTITION_ROWS, 1, 2, 3, NULL);
        const double row = 4 * 8, block = 11 * 12 + 9 * 8, x_and_y = (4 + 8) * row;
        CHECK(c.received == 0 && c.most.partial_rows == 8 && c.moved == 8 * row);
        CHECK(c.held == block + 11 * 4 + x_and_y && c.cost == block + x_and_y + (8 + 3) * 8 * row);
        spmm_csr_destroy(&a);
    }
}

static sp_grid_cost best_of(const spmm_csr *a, sp_partition partition, int ranks, int64_t k, FILE *table)
{
    const sp_cost_model model = {SPMM_EXCHANGE_AUTO, 0, k, 1, 0, 0, {0, 0, 0}};
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
        sp_grid_cost_head(f, 1);
        sp_grid_cost_line(f, &a, &c);
        sp_grid_cost_ranks(f, counts, 2, 1);
        fclose(f);
        CHECK_TEXT(text, "moved, K = 1 ");
        for (int n = 0; n < 5; n++)
            CHECK_TEXT(text, ((const char *[]){" 4x1 ", " 2x2 ", " 1x4 ", " (0,0) ", " (1,0) "})[n]);
        free(text);
        spmm_csr_destroy(&a);
    }
}

static void test_exchanges(void)
{
    TEST("what is asked for is counted, auto costs the least of all, and the best grid no more than any") {
        spmm_csr a = banded(32, 9);
        for (int ranks = 1; ranks <= 4; ranks++) {
            const double best = best_of(&a, SP_PARTITION_NNZ, ranks, 64, NULL).cost;
            for (int q = 1; q <= ranks; q++) {
                if (ranks % q) continue;
                const double least = cost_of(&a, SP_PARTITION_NNZ, ranks / q, q, 64, NULL).cost;
                CHECK(best <= least);
                for (int e = SPMM_EXCHANGE_HALO; e <= SPMM_EXCHANGE_JOINT; e++)
                    CHECK(least <= cost_with((spmm_exchange)e, &a, ranks / q, q));
            }
        }
        spmm_csr_destroy(&a);
    }
    TEST("rows that are not consecutive are copied before they are sent") {
        const int64_t i[] = {0, 0, 0, 1, 2, 3, 4, 5, 6, 7}, j[] = {0, 4, 6, 1, 2, 3, 4, 5, 6, 7};
        spmm_csr a;
        sp_rank_count counts[2];
        CHECK_INT(spmm_csr_from_triplets(8, 8, 10, i, j, NULL, SPMM_F64, &a), SPMM_OK);
        const sp_cost_model model = {SPMM_EXCHANGE_HALO, 0, 64, 1, 0, 0, {0, 0, 0}};
        const sp_grid_cost c = cost_by(&model, &a, SP_PARTITION_ROWS, 2, 1, counts);
        CHECK_INT(counts[1].packed_rows, 2);
        CHECK(c.cost == 4 * 12 + 5 * 8 + 512 * (4 + 4 + 2 * 2 + 8 * 2));
        spmm_csr_destroy(&a);
    }
    TEST("a broadcast of a line moves all other rows, and a joint exchange as many as the halo") {
        spmm_csr a = banded(32, 1);
        const double halo = cost_with(SPMM_EXCHANGE_HALO, &a, 4, 1);
        CHECK(cost_with(SPMM_EXCHANGE_BCAST, &a, 4, 1) == halo + (24 - 2) * 8 * 512);
        CHECK(cost_with(SPMM_EXCHANGE_JOINT, &a, 4, 1) == halo + 2 * 2 * 512); /* both rows are packed */
        spmm_csr_destroy(&a);
    }
}

int main(void)
{
    test_costs();
    test_best();
    test_exchanges();
    return test_end();
}
