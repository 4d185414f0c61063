/* The joint exchange where ranks share nodes: partial rows are added inside a node, rows cross between nodes once, and
 * products are right. Nodes are made up (made_nodes.h).
 * MPI: 1 2 3 4 6 */
#include "distribute/node_sums.h"
#include "distributed.h"
#include "distribute/transposed.h"
#include "formats/multivector.h"
#include "made_nodes.h"
#include "partition/comm_volume.h"
#include "plan/plan.h"

static const char *const specs[] = {"uniform:40,6", "longrows:30,2,3,25", "rmat:7,8", "uniform:3,2",
                                    "lap2d5:9"};
enum { SPECS = sizeof specs / sizeof *specs };

/** A grid, and the joint halo of a block, of X or of the transpose. */
typedef struct sample_halo {
    distributed d;
    sp_grid grid;
    sp_halo halo, forward;
} sample_halo;

static void sample_halo_create(const char *spec, int q, int transposed, sample_halo *s)
{
    distributed_create(spec, SPMM_F64, q, &s->d);
    CHECK_INT(sp_grid_create(MPI_COMM_WORLD, size / q, q, &s->grid), SPMM_OK);
    memset(&s->forward, 0, sizeof s->forward);
    if (!transposed) {
        CHECK_INT(sp_halo_create(&s->grid, &s->d.block, SPMM_EXCHANGE_JOINT, 1, &s->halo), SPMM_OK);
        return;
    }
    CHECK_INT(sp_halo_create(&s->grid, &s->d.block, SPMM_EXCHANGE_HALO, 1, &s->forward), SPMM_OK);
    CHECK_INT(sp_halo_transpose(&s->grid, &s->forward, 1, &s->halo), SPMM_OK);
}

static void sample_halo_destroy(sample_halo *s)
{
    sp_halo_destroy(&s->halo);
    sp_halo_destroy(&s->forward);
    sp_grid_destroy(&s->grid);
    distributed_destroy(&s->d);
}

/** Counts, by definition, the rows of Y of this rank for which another node computes something, once for each node, and, in
 *  *direct, once for each of its ranks. */
static int64_t rows_of_nodes(const sp_joint *j, int me, int64_t *direct)
{
    int64_t count = 0, g = 0;
    char *const there = calloc((size_t)(j->rest.rows * 8 + 1), 1);
    *direct = 0;
    for (int k = 0; k < j->moves.sources; k++)
        for (int64_t i = 0; i < j->moves.source[k].rows; i++, g++) {
            const int node = node_of(j->moves.source[k].rank);
            if (node == node_of(me)) continue;
            ++*direct;
            count += there[j->row[g] * 8 + node] == 0;
            there[j->row[g] * 8 + node] = 1;
        }
    free(there);
    return count;
}

static int64_t sum_of(int64_t mine)
{
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return mine;
}

/** Checks that a step is between ranks that may have a part in it, and returns how many rows come.
 *  \param [in] comm  the node's ranks, by which those of the first step are numbered; MPI_COMM_NULL: the step between nodes */
static int64_t check_step(const sp_halo *h, int me, MPI_Comm comm)
{
    int64_t rows = 0;
    int ranks = 0, own = -1;
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_size(comm, &ranks);
        MPI_Comm_rank(comm, &own);
    }
    for (int k = 0; k < h->sources + h->targets; k++) {
        const int other = k < h->sources ? h->source[k].rank : h->target[k - h->sources].rank;
        CHECK(comm == MPI_COMM_NULL ? node_of(other) != node_of(me) : other < ranks && other != own);
        rows += k < h->sources ? h->source[k].rows : 0;
    }
    return rows;
}

/** Checks who adds what, from what all ranks send. */
static void check_sums(const sample_halo *s)
{
    const sp_joint *const j = s->halo.joint;
    const int me = s->grid.coords[0];
    sp_node_sums *sums;
    int64_t direct, messages;
    CHECK_INT(sp_node_sums_create(&s->grid, j, &sums, &messages), SPMM_OK);
    const int64_t once = sum_of(rows_of_nodes(j, me, &direct));
    direct = sum_of(direct);
    const int one_node = node_size >= s->grid.dims[0] || s->grid.dims[0] == 1;
    CHECK_INT(messages, one_node ? j->moves.all_moved : once);
    CHECK_INT(sums != NULL, once < direct);
    if (!sums) return;
    const int64_t in = check_step(&sums->inside, me, sums->comm),
                  far = check_step(&sums->between, me, MPI_COMM_NULL);
    CHECK_INT(sum_of(far), once);
    CHECK_INT(sums->between.all_moved, once);
    CHECK_INT(sums->to_own.start[sums->to_own.count] + sums->to_y.start[sums->to_y.count], in + far);
    /* what is added to own rows is what need not cross */
    CHECK_INT(sum_of(sums->to_own.start[sums->to_own.count]), direct - once);
    sp_node_sums_destroy(sums);
}

static void test_lists(void)
{
    TEST(
        "what ranks of a node compute for a row of another node crosses between nodes once, and only what has to moves inside") {
        for (int m = 0; m < SPECS; m++)
            for (int q = 1; q <= size; q++)
                for (int transposed = 0; transposed < 2; transposed++) {
                    sample_halo s;
                    if (size % q) continue;
                    sample_halo_create(specs[m], q, transposed, &s);
                    for (node_size = s.halo.joint ? -1 : size + 1; node_size <= size; node_size++)
                        if (node_size != 0) check_sums(&s);
                    node_size = 0;
                    sample_halo_destroy(&s);
                }
    }
    if (size < 4) {
        SKIP("ranks of a node add about as many rows", "needs 4 ranks");
        return;
    }
    TEST("ranks of a node add about as many rows") {
        sample_halo s;
        sp_node_sums *sums;
        int64_t messages;
        sample_halo_create("uniform:300,40", 1, 1, &s); /* each rank computes something for nearly all rows */
        node_size = size / 2;
        CHECK_INT(sp_node_sums_create(&s.grid, s.halo.joint, &sums, &messages), SPMM_OK);
        CHECK(sums != NULL);
        if (sums) {
            const int64_t mean = sum_of(sums->to_own.count) / size;
            CHECK(mean > 20 && sums->to_own.count > mean * 3 / 4 && sums->to_own.count < mean * 5 / 4);
        }
        sp_node_sums_destroy(sums);
        node_size = 0;
        sample_halo_destroy(&s);
    }
}

/* ---- products ---- */

enum { K = 3 };

/** Products with the matrix, new values, and its transpose, in whole and begun and ended. */
static void multiply(distributed *d, const spmm_plan_options *options)
{
    const spmm_block *const b = &d->block;
    spmm_plan *plan;
    spmm_multivector x, y, other;
    set_values(&d->a, 0);
    change_values(d, 0);
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, b, K, options, &plan), SPMM_OK);
    CHECK_INT(spmm_plan_x_create(plan, &x), SPMM_OK);
    CHECK_INT(spmm_plan_y_create(plan, &y), SPMM_OK);
    CHECK_INT(spmm_multivector_create(b->x_rows, K, SPMM_F64, SPMM_CPU, &other), SPMM_OK);
    for (int version = 0; version < 3; version++) {
        if (version > 0) {
            change_values(d, version);
            CHECK_INT(spmm_plan_update_values(plan), SPMM_OK);
        }
        fill(&x, b->x_begin);
        CHECK_INT(spmm_apply(plan, 1, &x, 0, &y), SPMM_OK);
        check_rows(&d->a, 0, 1, 0, &y, b->row_begin);
        for (int time = 0; time < 2; time++) {
            CHECK_INT(sp_plan_exchange(plan, &x), SPMM_OK);
            CHECK_INT(sp_plan_apply_local(plan, &x, &y), SPMM_OK);
            check_rows(&d->a, 0, 1, 0, &y, b->row_begin);
        }
        fill(&other, b->x_begin);
        fill(&y, b->row_begin);
        CHECK_INT(spmm_apply_begin(plan, 2, version == 1 ? &x : &other, -3, &y), SPMM_OK);
        CHECK_INT(spmm_apply_end(plan), SPMM_OK);
        check_rows(&d->a, 0, 2, -3, &y, b->row_begin);
        fill(&y, b->row_begin);
        CHECK_INT(spmm_apply_transposed(plan, 1, &y, 0, &x), SPMM_OK);
        check_rows(&d->a, 1, 1, 0, &x, b->x_begin);
    }
    spmm_plan_destroy(plan);
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
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

/** Multiplies once more by a new plan. \return Y, which the caller destroys */
static spmm_multivector product_of(const distributed *d, sp_plan_facts *facts, spmm_transport transport)
{
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
    sp_plan_facts_of(plan, facts);
    spmm_plan_destroy(plan);
    spmm_multivector_destroy(&x);
    return y;
}

/** Returns the rows that cross between nodes of the joint exchange, as they are counted from the whole matrix. */
static int64_t counted_rows(const distributed *d)
{
    int64_t rows[8], x[8], n = 0;
    sp_rank_count counts[8];
    MPI_Allgather(&d->block.row_begin, 1, MPI_INT64_T, rows, 1, MPI_INT64_T, MPI_COMM_WORLD);
    MPI_Allgather(&d->block.x_begin, 1, MPI_INT64_T, x, 1, MPI_INT64_T, MPI_COMM_WORLD);
    rows[size] = d->a.rows;
    x[size] = d->a.cols;
    CHECK_INT(sp_joint_volume(&d->a, size, 1, rows, x, (sp_crossing){node_size, 1}, 1, counts), SPMM_OK);
    for (int r = 0; r < size; r++) n += counts[r].joint.far_received;
    return n;
}

static void test_bits(void)
{
    TEST(
        "Y has the same bits in every run; fewer rows travel than by each rank's messages where nodes have several ranks, as many as are counted without messages") {
        distributed d;
        sp_plan_facts facts, direct;
        distributed_create("rmat:8,16", SPMM_F64, 1, &d);
        for (node_size = -1; node_size <= size; node_size++) {
            spmm_multivector first = product_of(&d, &facts, SPMM_TRANSPORT_AUTO);
            for (int time = 0; time < 3; time++) {
                spmm_multivector y = product_of(&d, &facts, SPMM_TRANSPORT_AUTO);
                CHECK(memcmp(y.data, first.data, (size_t)(y.rows * sp_row_bytes(&y))) == 0);
                spmm_multivector_destroy(&y);
            }
            spmm_multivector_destroy(&first);
            first = product_of(&d, &direct, SPMM_TRANSPORT_MPI);
            spmm_multivector_destroy(&first);
            const int shared = size > 2 && (node_size == -1 || (node_size > 1 && node_size < size));
            CHECK(facts.message_rows <= direct.message_rows);
            if (shared) CHECK(facts.message_rows < direct.message_rows * 9 / 10);
            if (node_size == 1) CHECK_INT(facts.message_rows, direct.message_rows);
            if (node_size > 0 && node_size < size) CHECK_INT(facts.message_rows, counted_rows(&d));
        }
        node_size = 0;
        distributed_destroy(&d);
    }
}

static void test_view(void)
{
    if (size < 4) {
        SKIP("a view says what is added inside nodes", "needs 4 ranks");
        return;
    }
    TEST("a view says what is added inside nodes") {
        static char text[1 << 14];
        const spmm_plan_options o = {.exchange = SPMM_EXCHANGE_JOINT, .threads = 1};
        distributed d;
        spmm_plan *plan;
        sp_plan_facts facts;
        FILE *const f = tmpfile();
        long long read = 0, kept = 0;
        CHECK(f);
        distributed_create("rmat:8,16", SPMM_F64, 1, &d);
        node_size = 2;
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &d.block, K, &o, &plan), SPMM_OK);
        CHECK_INT(spmm_plan_view(plan, f), SPMM_OK);
        sp_plan_facts_of(plan, &facts);
        rewind(f);
        text[fread(text, 1, sizeof text - 1, f)] = '\0';
        fclose(f);
        if (test_.rank == 0) {
            for (const char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
                if (strstr(line, "are read in place")) sscanf(line, "%lld", &read);
                if (strstr(line, "are partial rows of Y that stay inside a node"))
                    sscanf(line, "%lld", &kept);
            }
            CHECK(read > 0 && kept > 0);
            CHECK_INT(read + kept + facts.message_rows, sp_halo_all_moved(facts.halo));
        }
        spmm_plan_destroy(plan);
        node_size = 0;
        distributed_destroy(&d);
    }
}

/* ---- failures ---- */

/** Products and exchanges in which rank `bad` has a wrong X. Every rank needs something of every other one. */
static void fail(const distributed *d, int bad, spmm_transport transport)
{
    const spmm_plan_options o = {.exchange = SPMM_EXCHANGE_JOINT, .threads = 1, .transport = transport};
    spmm_plan *plan;
    spmm_multivector x, y, wrong;
    sp_plan_facts facts;
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &d->block, K, &o, &plan), SPMM_OK);
    CHECK_INT(spmm_plan_x_create(plan, &x), SPMM_OK);
    CHECK_INT(spmm_plan_y_create(plan, &y), SPMM_OK);
    fill(&x, d->block.x_begin);
    wrong = x;
    wrong.k = K - 1;
    sp_plan_facts_of(plan, &facts);
    CHECK(facts.halo->all_moved > 0 && facts.halo->joint->moves.all_moved > 0);
    const spmm_multivector *const mine = test_.rank == bad ? &wrong : &x;
    const spmm_status expected = test_.rank == bad ? SPMM_ERR_USAGE : SPMM_ERR_MPI;
    for (int time = 0; time < 3; time++) {
        CHECK_INT(spmm_apply(plan, 1, mine, 0, &y), expected);
        if (test_.rank == bad) CHECK_TEXT(spmm_error_message(), "spmm_apply: x is");
        if (test_.rank != bad) CHECK_TEXT(spmm_error_message(), "it failed");
        CHECK_INT(spmm_apply(plan, 1, &x, 0, &y), SPMM_OK);
        check_rows(&d->a, 0, 1, 0, &y, d->block.row_begin);
        CHECK_INT(sp_plan_exchange(plan, mine), expected);
        if (test_.rank == bad)
            sp_plan_skip_exchange(plan);
        else
            CHECK_INT(sp_plan_exchange(plan, &x), SPMM_ERR_MPI);
        if (test_.rank == bad)
            sp_plan_skip(plan);
        else
            CHECK_INT(spmm_apply(plan, 1, &x, 0, &y), SPMM_ERR_MPI);
    }
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
    spmm_plan_destroy(plan);
}

static void test_failures(void)
{
    if (size == 1) {
        SKIP("a rank that fails is told of to all", "one rank has nobody to tell");
        return;
    }
    TEST(
        "a rank that fails is told of to all, also by those that add its rows, and the next product is right") {
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
    test_lists();
    test_products();
    test_bits();
    test_view();
    test_failures();
    return test_mpi_end();
}
