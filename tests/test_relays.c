/* Relays: rows of X that several ranks of a node need cross between nodes once and are forwarded, in host
 * memory here. Nodes are made up (made_nodes.h). Without RELAYS=1 there are no relays, and requesting them by
 * name is an error. MPI: 1 2 3 4 6 */
#include "relays/relays.h"

#include "halo/node_rows.h"
#include "distributed.h"
#include "formats/multivector.h"
#include "made_nodes.h"

/** Moves an X whose row j is j. Checks that no column of the block lacks its row, and that columns keep their
 *  order. */
static void check_exchange(const spmm_block *block, const sp_halo *h, const sp_relays *relays)
{
    const sp_exchange_options move = {
        .row_bytes = 8, .space = SPMM_CPU, .transport = SPMM_TRANSPORT_MPI, .threads = 1};
    sp_exchange *exchange;
    spmm_multivector x;
    CHECK_INT(sp_relays_exchange(relays, &move, &exchange), SPMM_OK);
    CHECK_TEXT(sp_exchange_backend(exchange), "direct+direct");
    CHECK_INT(sp_multivector_create(h->ghost_low, h->own, h->ghost_high, 1, SPMM_F64, SPMM_CPU, &x), SPMM_OK);
    CHECK_INT(sp_row_bytes(&x), move.row_bytes);
    for (int time = 0; time < 2; time++) {
        for (int64_t i = 0; i < sp_halo_rows(h); i++) *(double *)sp_row(&x, i - h->ghost_low) = -1;
        for (int64_t i = 0; i < h->own; i++) *(double *)sp_row(&x, i) = (double)(block->x_begin + i);
        CHECK_INT(sp_exchange_begin(exchange, x.data), SPMM_OK);
        CHECK_INT(sp_exchange_end(exchange), SPMM_OK);
        CHECK_INT(sp_exchange_finish(exchange), SPMM_OK);
        for (int64_t i = 0; i < sp_halo_rows(h); i++) CHECK(*(double *)sp_row(&x, i - h->ghost_low) >= 0);
        for (int64_t e = 0; e < block->csr.nnz; e++) {
            const int32_t *const was = block->csr.ja, *const is = h->local.ja;
            CHECK(*(double *)sp_row(&x, is[e] - h->ghost_low) == (double)(block->col_begin + was[e]));
            CHECK(e == 0 || (is[e] < is[e - 1]) == (was[e] < was[e - 1]));
        }
    }
    sp_exchange_destroy(exchange);
    spmm_multivector_destroy(&x);
}

/** \return 1 if rows are forwarded */
static int check_relays(const sp_grid *grid, const spmm_block *block, const sp_halo *halo)
{
    const sp_halo *h = halo;
    sp_node_rows common;
    sp_relays *relays;
    const char *why;
    int shared;
    CHECK_INT(sp_relays_create(grid, block, SPMM_TRANSPORT_AUTO, 1, &h, &relays), SPMM_OK);
    if (!relays) return 0;
    CHECK_INT(sp_node_rows_create(grid, block, halo, 1, &common, &why, &shared), SPMM_OK);
    CHECK_INT(h->all_moved, common.halo.all_moved); /* each row once per node */
    sp_node_rows_destroy(&common);
    check_exchange(block, h, relays);
    sp_relays_destroy(relays);
    return 1;
}

static void test_rows(void)
{
    static const char *const specs[] = {"uniform:60,5", "longrows:30,2,3,25", "rmat:7,8", "lap2d5:9",
                                        "uniform:5,2"};
    int handed_on = 0;
    TEST("rows that several ranks of a node need cross once and are forwarded, where the build has that") {
        for (int m = 0; m < 5; m++)
            for (int q = 1; q <= size; q++) {
                distributed d;
                if (size % q) continue;
                distributed_create(specs[m], SPMM_F64, q, &d);
                for (node_size = -1; node_size <= size; node_size++)
                    for (int e = SPMM_EXCHANGE_HALO; e <= SPMM_EXCHANGE_BCAST; e++) {
                        sp_grid grid;
                        sp_halo halo;
                        CHECK_INT(sp_grid_create(MPI_COMM_WORLD, size / q, q, &grid), SPMM_OK);
                        CHECK_INT(sp_halo_create(&grid, &d.block, (spmm_exchange)e, 1, &halo), SPMM_OK);
                        handed_on += check_relays(&grid, &d.block, &halo);
                        sp_halo_destroy(&halo);
                        sp_grid_destroy(&grid);
                    }
                node_size = 0;
                distributed_destroy(&d);
            }
        CHECK(size < 3 || (handed_on > 3) == sp_relays_built());
        CHECK(sp_relays_built() || handed_on == 0);
    }
}

/** Checks that SPMM_EXCHANGE_BACKEND selects an available backend, or is an error. */
static void test_names(void)
{
    static const struct {
        const char *name;
        spmm_status without, with; /* without and with RELAYS=1 */
    } cases[] = {{"relayed", SPMM_ERR_USAGE, SPMM_OK},
                 {"staged", SPMM_OK, SPMM_OK},
                 {"relay", SPMM_ERR_USAGE, SPMM_ERR_USAGE}};
    TEST("a build without relays says so to who asks for them by name") {
        distributed d;
        sp_grid grid;
        sp_halo halo;
        distributed_create("rmat:7,8", SPMM_F64, 1, &d);
        CHECK_INT(sp_grid_create(MPI_COMM_WORLD, size, 1, &grid), SPMM_OK);
        CHECK_INT(sp_halo_create(&grid, &d.block, SPMM_EXCHANGE_HALO, 1, &halo), SPMM_OK);
        for (int i = 0; i < 3; i++) {
            const spmm_status expected = sp_relays_built() ? cases[i].with : cases[i].without;
            const sp_halo *h = &halo;
            sp_relays *relays;
            setenv("SPMM_EXCHANGE_BACKEND", cases[i].name, 1);
            CHECK_INT(sp_relays_create(&grid, &d.block, SPMM_TRANSPORT_AUTO, 1, &h, &relays), expected);
            if (expected != SPMM_OK && i == 0) CHECK_TEXT(spmm_error_message(), "built without RELAYS=1");
            if (expected != SPMM_OK && i == 2) CHECK_TEXT(spmm_error_message(), "there is no such backend");
            sp_relays_destroy(relays);
        }
        unsetenv("SPMM_EXCHANGE_BACKEND");
        sp_halo_destroy(&halo);
        sp_grid_destroy(&grid);
        distributed_destroy(&d);
    }
}

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    device = SPMM_CPU;
    test_rows();
    test_names();
    return test_mpi_end();
}
