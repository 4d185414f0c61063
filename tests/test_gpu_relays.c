/* GPUs of several nodes: rows that several ranks of a node need cross between nodes once and are forwarded
 * inside the node, where partial rows are also added; products equal those on CPUs. Nodes are made up
 * (made_nodes.h).
 * MPI: 3 4 6
 * limit: 300 */
#include "comm/comm.h"
#include "gpu_products_cases.h"
#include "made_nodes.h"
#include "plan/plan.h"
#include "relays/relays.h"

static int size;

static const char *const specs[] = {"uniform:600,9", "rmat:9,8", "longrows:300,2,3,250", "lap3d7:9",
                                    "uniform:7,2"};
enum { SPECS = sizeof specs / sizeof *specs };

/** Requests a backend; NULL: none. */
static void ask_for(const char *backend)
{
    if (backend)
        setenv("SPMM_EXCHANGE_BACKEND", backend, 1);
    else
        unsetenv("SPMM_EXCHANGE_BACKEND");
}

/** Returns 1 if the plan forwards rows of X. */
static int hands_on(const spmm_plan *plan)
{
    sp_plan_facts facts;
    sp_plan_facts_of(plan, &facts);
    return strchr(facts.backend, '+') != NULL;
}

/** Checks products by a plan with these options.
 *  \return 1 if the plan forwards rows of X */
static int check(const spmm_block *block, const reference *r, const spmm_plan_options *o)
{
    const int failed = test_.failed;
    int relays = 0;
    spmm_plan *plan;
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, block, r->k, o, &plan), SPMM_OK);
    if (plan) {
        relays = hands_on(plan);
        multiply(r, plan, block->x_rows);
    }
    spmm_plan_destroy(plan);
    if (test_.failed > failed)
        printf("  (rank %d: %d x %d, nodes of %d, K = %lld, transport %s, exchange %d, blocks %d)\n",
               test_.rank, block->p, block->q, node_size, (long long)r->k, transports[o->transport],
               (int)o->exchange, o->column_blocks);
    return relays;
}

static void test_products(void)
{
    TEST(
        "products are right for nodes of any size, by each transport between nodes that needs nothing else") {
        int relays = 0, turn = 0;
        for (int m = 0; m < SPECS; m++)
            for (int q = 1; q <= 2; q++) {
                const spmm_precision precision = m % 2 ? SPMM_F32 : SPMM_F64;
                spmm_block block;
                reference r;
                if (size % q) continue;
                make_block(specs[m], precision, INTEGERS, size / q, q, &block);
                reference_create(&block, m % 2 ? 5 : 16, INTEGERS, SPMM_REDUCE_AUTO, &r);
                for (node_size = 2; node_size < size; node_size++, turn++)
                    for (int e = SPMM_EXCHANGE_HALO; e <= SPMM_EXCHANGE_JOINT; e++) {
                        const spmm_plan_options options = {
                            .device = SPMM_CUDA,
                            .transport = (turn + e) % 2 ? SPMM_TRANSPORT_STAGED : SPMM_TRANSPORT_MPI,
                            .exchange = (spmm_exchange)e,
                            .any_order = e == SPMM_EXCHANGE_JOINT,
                            .column_blocks = e != SPMM_EXCHANGE_BCAST && m == 0 ? 2 : 0,
                            .products = turn % 2,
                            .no_overlap = turn % 3 == 0};
                        relays += check(&block, &r, &options);
                    }
                node_size = 0;
                reference_destroy(&r);
                spmm_block_destroy(&block);
            }
        CHECK(relays > 0);
    }
}

/** Checks whether rows are forwarded: with and without a request, with another backend requested, and where
 *  forwarding is impossible. */
static void test_choice(void)
{
    static const struct {
        const char *backend;
        int node_size, quick, relays;
    } cases[] = {{"relayed", 2, 0, 1}, {NULL, 2, 1, 1},      {NULL, 2, 0, 1},      {"staged", 2, 1, 0},
                 {"relayed", 1, 0, 0}, {"relayed", 0, 0, 0}, {"relayed", -1, 0, 0}};
    TEST(
        "rows are forwarded unless another backend is asked for, and never where each rank is on a node of its own") {
        spmm_block block;
        reference r;
        make_block("uniform:600,9", SPMM_F64, REALS, 0, 0, &block);
        reference_create(&block, 4, REALS, SPMM_REDUCE_AUTO, &r);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            const spmm_plan_options options = {
                .device = SPMM_CUDA, .transport = SPMM_TRANSPORT_STAGED, .products = cases[i].quick};
            ask_for(cases[i].backend);
            node_size = cases[i].node_size;
            const int relays = check(&block, &r, &options);
            CHECK_INT(relays, cases[i].relays);
        }
        node_size = 0;
        ask_for(NULL);
        reference_destroy(&r);
        spmm_block_destroy(&block);
    }
}

/** A product in which rank `bad` passes a wrong X: the others get an error or right rows, no rank waits, and
 *  the next product is right. */
static void fail(const spmm_block *block, const reference *r, spmm_exchange exchange, int bad)
{
    const int one_node = node_size == 0;
    const spmm_plan_options options = {.device = SPMM_CUDA,
                                       .transport = one_node ? SPMM_TRANSPORT_PEER : SPMM_TRANSPORT_STAGED,
                                       .exchange = exchange,
                                       .column_blocks = one_node ? 2 : 0,
                                       .products = 1,
                                       .any_order = exchange == SPMM_EXCHANGE_JOINT};
    spmm_plan *plan;
    spmm_multivector x, y, wrong;
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, block, r->k, &options, &plan), SPMM_OK);
    CHECK_INT(spmm_plan_x_create(plan, &x), SPMM_OK);
    CHECK_INT(spmm_plan_y_create(plan, &y), SPMM_OK);
    put_x(r, 1, &x);
    wrong = x;
    wrong.k--;
    for (int n = 0; n < 2; n++) {
        const spmm_status status = spmm_apply(plan, 1, test_.rank == bad ? &wrong : &x, 0, &y);
        if (test_.rank == bad) CHECK_INT(status, SPMM_ERR_USAGE);
        if (test_.rank == bad) CHECK_TEXT(spmm_error_message(), "spmm_apply: x is");
        if (test_.rank != bad) CHECK(status == SPMM_ERR_MPI || (status == SPMM_OK && is_right(r, &y, 1)));
        if (status == SPMM_ERR_MPI) CHECK_TEXT(spmm_error_message(), "it failed");
        int told = status == SPMM_ERR_MPI;
        MPI_Allreduce(MPI_IN_PLACE, &told, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(told > 0);
        CHECK_INT(spmm_apply(plan, 1, &x, 0, &y), SPMM_OK);
        CHECK(is_right(r, &y, 1));
    }
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
    spmm_plan_destroy(plan);
}

static void test_failures(void)
{
    TEST(
        "a rank that fails leaves nobody waiting, in column blocks on one node either, and the next product is right") {
        for (int m = 0; m < 2; m++) {
            spmm_block block;
            reference r;
            make_block(specs[m], SPMM_F64, INTEGERS, 0, 0, &block);
            reference_create(&block, 8, INTEGERS, SPMM_REDUCE_AUTO, &r);
            for (node_size = 0; node_size < size; node_size += node_size == 0 ? 2 : 1)
                for (int bad = m; bad < size; bad += 2)
                    fail(&block, &r, (bad + node_size) % 4 < 2 ? SPMM_EXCHANGE_JOINT : SPMM_EXCHANGE_HALO,
                         bad);
            node_size = 0;
            reference_destroy(&r);
            spmm_block_destroy(&block);
        }
    }
}

/** Exchanges without products, as spmm_mpi times them. */
static void test_exchanges(void)
{
    TEST("exchanges alone leave what products need") {
        for (int e = SPMM_EXCHANGE_HALO; e <= SPMM_EXCHANGE_JOINT;
             e += SPMM_EXCHANGE_JOINT - SPMM_EXCHANGE_HALO) {
            const spmm_plan_options options = {.device = SPMM_CUDA,
                                               .transport = SPMM_TRANSPORT_STAGED,
                                               .exchange = (spmm_exchange)e,
                                               .any_order = e == SPMM_EXCHANGE_JOINT};
            spmm_block block;
            reference r;
            spmm_plan *plan;
            spmm_multivector x, y;
            node_size = 2;
            make_block("rmat:9,8", SPMM_F64, INTEGERS, 0, 0, &block);
            reference_create(&block, 8, INTEGERS, SPMM_REDUCE_AUTO, &r);
            CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, r.k, &options, &plan), SPMM_OK);
            CHECK_INT(spmm_plan_x_create(plan, &x), SPMM_OK);
            CHECK_INT(spmm_plan_y_create(plan, &y), SPMM_OK);
            put_x(&r, 1, &x);
            for (int n = 0; n < 3; n++) {
                CHECK_INT(spmm_apply(plan, 1, &x, 0, &y), SPMM_OK);
                CHECK_INT(sp_plan_exchange(plan, &x), SPMM_OK);
                CHECK_INT(sp_plan_apply_local(plan, &x, &y), SPMM_OK);
                CHECK(is_right(&r, &y, 1));
            }
            spmm_multivector_destroy(&x);
            spmm_multivector_destroy(&y);
            spmm_plan_destroy(plan);
            reference_destroy(&r);
            spmm_block_destroy(&block);
            node_size = 0;
        }
    }
}

/** In a build without relays. */
static void test_asked(void)
{
    TEST("without RELAYS=1 a plan refuses relays that are asked for by name") {
        const spmm_plan_options options = {.device = SPMM_CUDA, .products = 1};
        spmm_block block;
        spmm_plan *plan;
        make_block("uniform:600,9", SPMM_F64, REALS, 0, 0, &block);
        ask_for("relayed");
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, 4, &options, &plan), SPMM_ERR_USAGE);
        CHECK_TEXT(spmm_error_message(), "built without RELAYS=1");
        ask_for(NULL);
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, 4, &options, &plan), SPMM_OK);
        CHECK(plan && !hands_on(plan));
        spmm_plan_destroy(plan);
        spmm_block_destroy(&block);
    }
}

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    if (spmm_device_open(MPI_COMM_WORLD) != SPMM_OK) {
        SKIP("GPUs of several nodes hand rows on", spmm_error_message());
        return test_mpi_end();
    }
    if (!sp_relays_built()) {
        test_asked();
        SKIP("GPUs of several nodes hand rows on", "the build is without relays (RELAYS=0)");
        spmm_device_close();
        return test_mpi_end();
    }
    test_choice();
    ask_for("relayed");
    test_products();
    test_failures();
    test_exchanges();
    spmm_device_close();
    return test_mpi_end();
}
