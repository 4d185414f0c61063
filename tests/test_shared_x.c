/* X in memory that the ranks of a node share. Nodes are made up (made_nodes.h).
 * MPI: 1 2 3 4 6 */
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "comm/comm.h"
#include "device/node_memory.h"
#include "halo/ghosted_block.h"
#include "halo/node_rows.h"
#include "exchange/exchange.h"
#include "formats/multivector.h"
#include "made_nodes.h"
#include "plan/plan.h"
#include "distributed.h"

/** Checks every element of Y = A X against its definition, for an X of kind index of which all elements are
 *  increased by `more`; all are small integers. */
static void check_y(const spmm_csr *a, const spmm_block *block, const spmm_multivector *y, double more)
{
    for (int64_t i = 0; i < y->rows; i++)
        for (int64_t j = 0; j < y->k; j++) {
            double sum = 0;
            const int64_t row = block->row_begin + i;
            for (int64_t e = a->irp[row]; e < a->irp[row + 1]; e++)
                sum += sample_get(a->as, SPMM_F64, e) * (sp_x_element(SP_X_INDEX, 0, a->ja[e], j) + more);
            CHECK(sp_multivector_get(y, i, j) == sum);
        }
}

static void fill_more(const spmm_block *block, double more, spmm_multivector *x)
{
    sp_multivector_generate(x, SP_X_INDEX, 0, block->x_begin, 1);
    for (int64_t i = 0; i < x->rows * x->ld; i++) ((double *)x->data)[i] += more;
}

static spmm_transport transport_of(const spmm_plan *plan)
{
    sp_plan_facts facts;
    sp_plan_facts_of(plan, &facts);
    return facts.transport;
}

enum { XS = 20, K = 3 }; /* XS: more X than areas of common memory */

/** Checks products with many X of the plan and one of the caller. In each product ranks use different X,
 *  unless `alike`. */
static void multiply(const spmm_csr *a, const spmm_block *block, const spmm_plan_options *options, int alike)
{
    spmm_plan *plan;
    spmm_multivector x[XS + 1], y;
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, block, K, options, &plan), SPMM_OK);
    if (options->transport == SPMM_TRANSPORT_SHARED)
        CHECK(transport_of(plan) == SPMM_TRANSPORT_SHARED || transport_of(plan) == SPMM_TRANSPORT_AUTO);
    for (int i = 0; i < XS; i++) CHECK_INT(spmm_plan_x_create(plan, &x[i]), SPMM_OK);
    CHECK_INT(spmm_multivector_create(block->x_rows, K, SPMM_F64, SPMM_CPU, &x[XS]), SPMM_OK);
    CHECK_INT(spmm_plan_y_create(plan, &y), SPMM_OK);
    for (int time = 0; time < 12; time++) {
        const int i = (time * 7 + (alike ? 0 : test_.rank * 5)) % (XS + 1);
        fill_more(block, time, &x[i]);
        CHECK_INT(spmm_apply(plan, 1, &x[i], 0, &y), SPMM_OK);
        check_y(a, block, &y, time);
        /* X is overwritten at once: neighbors must have read it */
        memset(x[i].data, 0xff, (size_t)(x[i].rows * sp_row_bytes(&x[i])));
    }
    spmm_plan_destroy(plan);
    for (int i = 0; i <= XS; i++) spmm_multivector_destroy(&x[i]);
    spmm_multivector_destroy(&y);
}

static void test_products(void)
{
    static const char *const specs[] = {"lap2d5:9", "uniform:40,6", "longrows:30,2,3,25", "uniform:3,2",
                                        "lap2d5:1"};
    distributed d;
    TEST("products are right on every grid, for nodes of any size, whichever X a rank takes") {
        for (size_t m = 0; m < sizeof specs / sizeof *specs; m++)
            for (int q = 1; q <= size; q = next_divisor(size, q)) {
                distributed_create(specs[m], SPMM_F64, q, &d);
                for (node_size = 0; node_size <= size; node_size++)
                    for (int e = SPMM_EXCHANGE_HALO; e <= SPMM_EXCHANGE_BCAST; e++)
                        multiply(&d.a, &d.block,
                                 &(spmm_plan_options){.exchange = (spmm_exchange)e,
                                                      .transport = SPMM_TRANSPORT_SHARED,
                                                      .no_overlap = (int)m % 2,
                                                      .threads = 1},
                                 node_size % 2);
                node_size = 0;
                distributed_destroy(&d);
            }
    }
}

static void test_choice(void)
{
    distributed d;
    spmm_plan *plan;
    if (size < 3) {
        SKIP("X is shared where ranks of a node are consecutive, otherwise by messages", "needs 3 ranks");
        return;
    }
    distributed_create("lap2d5:9", SPMM_F64, 1, &d);
    TEST("X is shared where ranks of a node are consecutive, otherwise by messages") {
        const int sizes[] = {0, 1, 2, -1};
        for (int i = 0; i < 4; i++) {
            const int shares = sizes[i] == 0 || sizes[i] == 2;
            node_size = sizes[i];
            CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &d.block, K, NULL, &plan), SPMM_OK);
            CHECK_INT(transport_of(plan), shares ? SPMM_TRANSPORT_SHARED : SPMM_TRANSPORT_MPI);
            spmm_plan_destroy(plan);
        }
        const spmm_plan_options named = {.transport = SPMM_TRANSPORT_SHARED};
        CHECK_ERROR(spmm_plan_create(MPI_COMM_WORLD, &d.block, K, &named, &plan), SPMM_ERR_USAGE,
                    "not consecutive");
        node_size = 0;
    }
    TEST("a limit on the size of files is an error of transport shared, and messages for auto") {
        struct rlimit old, low = {1 << 20, 0};
        const spmm_plan_options named = {.transport = SPMM_TRANSPORT_SHARED};
        CHECK_INT(getrlimit(RLIMIT_FSIZE, &old), 0);
        low.rlim_max = old.rlim_max;
        if (test_.rank == 0) CHECK_INT(setrlimit(RLIMIT_FSIZE, &low), 0);
        CHECK_ERROR(spmm_plan_create(MPI_COMM_WORLD, &d.block, K, &named, &plan), SPMM_ERR_MEMORY,
                    "ulimit -f");
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &d.block, K, NULL, &plan), SPMM_OK);
        CHECK_INT(transport_of(plan), SPMM_TRANSPORT_MPI);
        spmm_plan_destroy(plan);
        CHECK_INT(setrlimit(RLIMIT_FSIZE, &old), 0);
    }
    TEST("X cut into blocks of columns is not shared") {
        const spmm_plan_options named = {.transport = SPMM_TRANSPORT_SHARED, .column_blocks = 2},
                                free_choice = {.column_blocks = 2};
        CHECK_ERROR(spmm_plan_create(MPI_COMM_WORLD, &d.block, 8, &named, &plan), SPMM_ERR_USAGE,
                    "blocks of columns");
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &d.block, 8, &free_choice, &plan), SPMM_OK);
        CHECK_INT(transport_of(plan), SPMM_TRANSPORT_MPI);
        spmm_plan_destroy(plan);
    }
    distributed_destroy(&d);
}

static void test_lives(void)
{
    distributed d;
    distributed_create("lap2d5:60", SPMM_F64, 1, &d);
    TEST("an X is zero at first, even in memory of one before, and outlives its plan and its neighbors' X") {
        spmm_plan *plan;
        spmm_multivector x, again;
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &d.block, 9, NULL, &plan), SPMM_OK);
        for (int time = 0; time < 3; time++) {
            CHECK_INT(spmm_plan_x_create(plan, &x), SPMM_OK);
            const void *const place = x.data;
            for (int64_t i = 0; i < x.rows * x.ld; i++) CHECK(((double *)x.data)[i] == 0);
            fill_more(&d.block, 1, &x);
            spmm_multivector_destroy(&x);
            MPI_Barrier(MPI_COMM_WORLD);
            CHECK_INT(spmm_plan_x_create(plan, &again), SPMM_OK);
            if (size > 1) CHECK(again.data == place);
            for (int64_t i = 0; i < again.rows * again.ld; i++) CHECK(((double *)again.data)[i] == 0);
            spmm_multivector_destroy(&again);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        CHECK_INT(spmm_plan_x_create(plan, &x), SPMM_OK);
        MPI_Barrier(MPI_COMM_WORLD);
        fill_more(&d.block, 1, &x);
        MPI_Barrier(MPI_COMM_WORLD);
        if (test_.rank == 0) spmm_multivector_destroy(&x);
        spmm_plan_destroy(plan);
        for (int64_t i = 0; i < x.rows; i++)
            CHECK(sp_multivector_get(&x, i, 2) == 1 + sp_x_element(SP_X_INDEX, 0, d.block.x_begin + i, 2));
        spmm_multivector_destroy(&x);
    }
    distributed_destroy(&d);
}

/** Checks a product in which rank `bad` passes a wrong X. */
static void fail(const spmm_csr *a, const spmm_block *block, int bad)
{
    const spmm_plan_options options = {.transport = SPMM_TRANSPORT_SHARED};
    planned p;
    spmm_multivector wrong;
    planned_of(block, K, &options, &p);
    for (int time = 0; time < 3; time++) {
        fill_more(block, time, &p.x);
        wrong = p.x;
        wrong.k = 2;
        const spmm_status status = spmm_apply(p.plan, 1, test_.rank == bad ? &wrong : &p.x, 0, &p.y);
        if (test_.rank == bad) CHECK_INT(status, SPMM_ERR_USAGE);
        if (test_.rank == bad) CHECK_TEXT(spmm_error_message(), "spmm_apply: x is");
        if (test_.rank == bad - 1 || test_.rank == bad + 1) { /* a neighbor in a stencil */
            CHECK_ERROR(status, SPMM_ERR_MPI, "it failed");
        }
        CHECK_INT(spmm_apply(p.plan, 1, &p.x, 0, &p.y), SPMM_OK);
        check_y(a, block, &p.y, time);
    }
    planned_destroy(&p);
}

static void test_failures(void)
{
    distributed d;
    distributed_create("lap2d5:12", SPMM_F64, 1, &d);
    TEST("a rank that fails is told of to all that need its rows, and the next product is right") {
        for (node_size = 0; node_size <= size; node_size++)
            for (int bad = 0; bad < size; bad++) fail(&d.a, &d.block, bad);
        node_size = 0;
    }
    distributed_destroy(&d);
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void test_waiting(void)
{
    distributed d;
    TEST("a rank that waits for long leaves its core to others") {
        planned p;
        distributed_create("lap2d5:12", SPMM_F64, 1, &d);
        planned_of(&d.block, K, NULL, &p);
        MPI_Barrier(MPI_COMM_WORLD);
        const double before = cpu_seconds();
        if (test_.rank == 0) sleep(2);
        CHECK_INT(spmm_apply(p.plan, 1, &p.x, 0, &p.y), SPMM_OK);
        CHECK(cpu_seconds() - before < 1);
        planned_destroy(&p);
        distributed_destroy(&d);
    }
}

/** Checks that each made-up node receives exactly the rows that its ranks need, each once. */
static void test_rows_once(void)
{
    distributed d;
    TEST(
        "a row that several ranks of a node need crosses between nodes once, and ranks receive evenly many") {
        static const char *const specs[] = {"uniform:60,5", "lap2d5:9"};
        for (int m = 0; m < 2; m++) {
            distributed_create(specs[m], SPMM_F64, 1, &d);
            for (node_size = 1; node_size <= size; node_size++) {
                sp_grid grid;
                sp_ghosted_block whole;
                sp_node_rows node;
                const char *why;
                int shared;
                int64_t wanted = 0, row[8], received = 0;
                CHECK_INT(sp_grid_create(MPI_COMM_WORLD, 0, 0, &grid), SPMM_OK);
                CHECK_INT(sp_ghosted_block_create(&grid, &d.block, SPMM_EXCHANGE_HALO, 1, &whole), SPMM_OK);
                CHECK_INT(sp_node_rows_create(&grid, &d.block, &whole.moves, 1, &node, &why, &shared),
                          SPMM_OK);
                CHECK(!why);
                CHECK_INT(shared, node_size > 1);
                MPI_Allgather(&d.block.row_begin, 1, MPI_INT64_T, row, 1, MPI_INT64_T, MPI_COMM_WORLD);
                row[size] = d.a.rows;
                for (int first = 0; first < size;
                     first += node_size) { /* the expected rows, counted from the whole matrix */
                    const int end = first + node_size < size ? first + node_size : size;
                    char needs[512] = {0};
                    for (int64_t e = d.a.irp[row[first]]; e < d.a.irp[row[end]]; e++) needs[d.a.ja[e]] = 1;
                    for (int64_t j = 0; j < d.a.cols; j++)
                        wanted += needs[j] && (j < row[first] || j >= row[end]);
                }
                CHECK_INT(node.moves.all_moved, wanted);
                for (int i = 0; i < node.moves.sources; i++) received += node.moves.source[i].rows;
                const int64_t all = node.share[node.size];
                CHECK(received >= all / node.size && received <= all / node.size + 1);
                sp_node_rows_destroy(&node);
                sp_ghosted_block_destroy(&whole);
                sp_grid_destroy(&grid);
            }
            node_size = 0;
            distributed_destroy(&d);
        }
    }
}

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    device = SPMM_CPU;
    test_rows_once();
    test_products();
    test_choice();
    test_lives();
    test_failures();
    test_waiting();
    return test_mpi_end();
}
