/* The joint exchange where ranks share nodes: products are right, rows of X are read in place, and the number
 * of rows that travel is the number counted from the whole matrix. Nodes are made up (made_nodes.h).
 * MPI: 1 2 3 4 6 */
#include "distributed.h"
#include "formats/multivector.h"
#include "made_nodes.h"
#include "order/comm_volume.h"
#include "plan/plan.h"

static const char *const specs[] = {"uniform:40,6", "longrows:30,2,3,25", "rmat:7,8", "uniform:3,2",
                                    "lap2d5:9"};
enum { SPECS = sizeof specs / sizeof *specs };

/* ---- products ---- */

enum { K = 3 };

/** Checks products with the matrix, with new values, and with the transpose, by one call and by begin and
 *  end. */
static void multiply(distributed *d, const spmm_plan_options *options)
{
    const spmm_block *const b = &d->block;
    planned p;
    spmm_multivector other;
    set_values(&d->a, 0);
    change_values(d, 0);
    planned_of(b, K, options, &p);
    CHECK_INT(spmm_multivector_create(b->x_rows, K, SPMM_F64, SPMM_CPU, &other), SPMM_OK);
    for (int version = 0; version < 3; version++) {
        if (version > 0) {
            change_values(d, version);
            CHECK_INT(spmm_plan_update_values(p.plan), SPMM_OK);
        }
        fill(&p.x, b->x_begin);
        CHECK_INT(spmm_apply(p.plan, 1, &p.x, 0, &p.y), SPMM_OK);
        check_rows(&d->a, 0, 1, 0, &p.y, b->row_begin);
        for (int time = 0; time < 2; time++) {
            CHECK_INT(sp_plan_exchange(p.plan, &p.x), SPMM_OK);
            CHECK_INT(sp_plan_apply_local(p.plan, &p.x, &p.y), SPMM_OK);
            check_rows(&d->a, 0, 1, 0, &p.y, b->row_begin);
        }
        fill(&other, b->x_begin);
        fill(&p.y, b->row_begin);
        CHECK_INT(spmm_apply_begin(p.plan, 2, version == 1 ? &p.x : &other, -3, &p.y), SPMM_OK);
        CHECK_INT(spmm_apply_end(p.plan), SPMM_OK);
        check_rows(&d->a, 0, 2, -3, &p.y, b->row_begin);
        fill(&p.y, b->row_begin);
        CHECK_INT(spmm_apply_transposed(p.plan, 1, &p.y, 0, &p.x), SPMM_OK);
        check_rows(&d->a, 1, 1, 0, &p.x, b->x_begin);
    }
    planned_destroy(&p);
    spmm_multivector_destroy(&other);
}

static void test_products(void)
{
    TEST(
        "products, new values and the transpose are right on every grid, for nodes of any size, by every transport") {
        for (int m = 0; m < SPECS; m++)
            for (int q = 1; q <= size; q++) {
                distributed d;
                if (size % q) continue;
                distributed_create(specs[m], SPMM_F64, q, &d);
                for (node_size = -1; node_size <= size; node_size++) {
                    spmm_plan_options o = {
                        .exchange = SPMM_EXCHANGE_JOINT, .no_overlap = m % 2, .threads = 1 + m % 2};
                    const int way = (m + q + node_size) % 3;
                    if (way == 1) o.transport = SPMM_TRANSPORT_MPI;
                    if (way == 2 && node_size >= 0) o.transport = SPMM_TRANSPORT_SHARED;
                    multiply(&d, &o);
                }
                node_size = 0;
                distributed_destroy(&d);
            }
    }
}

/** Multiplies by a new plan. \return Y, which the caller destroys
 *  \param [out] messages  rows in messages of all ranks, and how many of them are partial rows that stay
 *                         inside a node */
static spmm_multivector product_of(const distributed *d, spmm_transport transport, int64_t messages[2])
{
    sp_plan_facts facts;
    const spmm_plan_options o = {.exchange = SPMM_EXCHANGE_JOINT, .threads = 1, .transport = transport};
    spmm_plan *plan;
    spmm_multivector x, y;
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &d->block, K, &o, &plan), SPMM_OK);
    CHECK_INT(spmm_plan_x_create(plan, &x), SPMM_OK);
    CHECK_INT(spmm_plan_y_create(plan, &y), SPMM_OK);
    for (int64_t i = 0; i < x.rows; i++)
        for (int64_t c = 0; c < K; c++)
            ((double *)x.data)[i * x.ld + c] = 1.0 / (double)(3 + 7 * (d->block.x_begin + i) + c);
    CHECK_INT(spmm_apply(plan, 1, &x, 0, &y), SPMM_OK);
    sp_plan_facts_of(plan, &facts);
    messages[0] = facts.message_rows;
    messages[1] = 0;
    const sp_joint *const j = facts.ghosted->joint;
    for (int k = 0; j && k < j->moves.sources; k++)
        if (node_size != 0 && node_of(j->moves.source[k].rank) == node_of(test_.rank))
            messages[1] += j->moves.source[k].rows;
    MPI_Allreduce(MPI_IN_PLACE, &messages[1], 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    spmm_plan_destroy(plan);
    spmm_multivector_destroy(&x);
    return y;
}

/** Returns the number of rows that the joint exchange moves between nodes, counted from the whole matrix. */
static int64_t counted_rows(const distributed *d)
{
    int64_t rows[8], x[8], n = 0;
    sp_rank_count counts[8];
    MPI_Allgather(&d->block.row_begin, 1, MPI_INT64_T, rows, 1, MPI_INT64_T, MPI_COMM_WORLD);
    MPI_Allgather(&d->block.x_begin, 1, MPI_INT64_T, x, 1, MPI_INT64_T, MPI_COMM_WORLD);
    rows[size] = d->a.rows;
    x[size] = d->a.cols;
    const sp_crossing crossing = {node_size, 1};
    CHECK_INT(sp_joint_volume(&d->a, size, 1, rows, x, crossing, 1, counts), SPMM_OK);
    for (int r = 0; r < size; r++) n += counts[r].joint.far_received;
    return n;
}

static void test_bits(void)
{
    TEST(
        "Y has the same bits in every run; fewer rows travel than by each rank's messages where nodes have several ranks, as many as are counted without messages") {
        distributed d;
        int64_t mixed[2], direct[2];
        distributed_create("rmat:8,16", SPMM_F64, 1, &d);
        for (node_size = -1; node_size <= size; node_size++) {
            spmm_multivector first = product_of(&d, SPMM_TRANSPORT_AUTO, mixed);
            for (int time = 0; time < 3; time++) {
                spmm_multivector y = product_of(&d, SPMM_TRANSPORT_AUTO, mixed);
                CHECK(memcmp(y.data, first.data, (size_t)(y.rows * sp_row_bytes(&y))) == 0);
                spmm_multivector_destroy(&y);
            }
            spmm_multivector_destroy(&first);
            first = product_of(&d, SPMM_TRANSPORT_MPI, direct);
            spmm_multivector_destroy(&first);
            const int shared = size > 2 && node_size > 1 && node_size < size;
            CHECK(mixed[0] <= direct[0]);
            if (shared) CHECK(mixed[0] < direct[0] * 9 / 10);
            if (node_size == 1) CHECK_INT(mixed[0], direct[0]);
            if (node_size > 0 && node_size < size) CHECK_INT(mixed[0] - mixed[1], counted_rows(&d));
        }
        node_size = 0;
        distributed_destroy(&d);
    }
}

static void test_view(void)
{
    if (size < 4) {
        SKIP("a view says what is read in place", "needs 4 ranks");
        return;
    }
    TEST("a view says what is read in place") {
        const spmm_plan_options o = {.exchange = SPMM_EXCHANGE_JOINT, .threads = 1};
        distributed d;
        spmm_plan *plan;
        sp_plan_facts facts;
        char *text;
        long long read = 0;
        distributed_create("rmat:8,16", SPMM_F64, 1, &d);
        node_size = 2;
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &d.block, K, &o, &plan), SPMM_OK);
        CHECK_INT(spmm_plan_view_text(plan, &text), SPMM_OK);
        sp_plan_facts_of(plan, &facts);
        if (test_.rank == 0) {
            for (const char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
                if (strstr(line, "are read in place")) sscanf(line, "%lld", &read);
            CHECK(read > 0);
            CHECK_INT(read + facts.message_rows, sp_ghosted_block_moved(facts.ghosted));
        }
        free(text);
        spmm_plan_destroy(plan);
        node_size = 0;
        distributed_destroy(&d);
    }
}

/* ---- failures ---- */

/** Products and exchanges in which rank `bad` passes a wrong X. Every rank needs rows of every other rank. */
static void fail(const distributed *d, int bad, spmm_transport transport)
{
    const spmm_plan_options o = {.exchange = SPMM_EXCHANGE_JOINT, .threads = 1, .transport = transport};
    planned p;
    spmm_multivector wrong;
    sp_plan_facts facts;
    planned_of(&d->block, K, &o, &p);
    fill(&p.x, d->block.x_begin);
    wrong = p.x;
    wrong.k = K - 1;
    sp_plan_facts_of(p.plan, &facts);
    CHECK(facts.ghosted->moves.all_moved > 0 && facts.ghosted->joint->moves.all_moved > 0);
    const spmm_multivector *const mine = test_.rank == bad ? &wrong : &p.x;
    const spmm_status expected = test_.rank == bad ? SPMM_ERR_USAGE : SPMM_ERR_MPI;
    for (int time = 0; time < 3; time++) {
        CHECK_INT(spmm_apply(p.plan, 1, mine, 0, &p.y), expected);
        if (test_.rank == bad) CHECK_TEXT(spmm_error_message(), "spmm_apply: x is");
        if (test_.rank != bad) CHECK_TEXT(spmm_error_message(), "it failed");
        CHECK_INT(spmm_apply(p.plan, 1, &p.x, 0, &p.y), SPMM_OK);
        check_rows(&d->a, 0, 1, 0, &p.y, d->block.row_begin);
        CHECK_INT(sp_plan_exchange(p.plan, mine), expected);
        if (test_.rank == bad)
            sp_plan_skip_exchange(p.plan);
        else
            CHECK_INT(sp_plan_exchange(p.plan, &p.x), SPMM_ERR_MPI);
        if (test_.rank == bad)
            sp_plan_skip(p.plan);
        else
            CHECK_INT(spmm_apply(p.plan, 1, &p.x, 0, &p.y), SPMM_ERR_MPI);
    }
    planned_destroy(&p);
}

static void test_failures(void)
{
    if (size == 1) {
        SKIP("a rank that fails is told of to all", "one rank has nobody to tell");
        return;
    }
    TEST("a rank that fails is told of to all, and the next product is right") {
        distributed d;
        distributed_create("rmat:8,16", SPMM_F64, 1, &d);
        for (node_size = -1; node_size <= size; node_size++)
            for (int bad = 0; bad < size; bad++) {
                fail(&d, bad, SPMM_TRANSPORT_AUTO);
                fail(&d, bad, SPMM_TRANSPORT_MPI);
            }
        node_size = 0;
        distributed_destroy(&d);
    }
}

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    device = SPMM_CPU;
    test_products();
    test_bits();
    test_view();
    test_failures();
    return test_mpi_end();
}
