/* Node sums: which rank adds partial rows inside a node, and which rows cross between nodes. Nodes are made
 * up (made_nodes.h); test_joint_nodes tests products. Only for builds with RELAYS=1.
 * MPI: 1 2 3 4 6 */
#include "relays/two_steps.h"
#include "distributed.h"
#include "halo/transposed.h"
#include "made_nodes.h"

static const char *const specs[] = {"uniform:40,6", "longrows:30,2,3,25", "rmat:7,8", "uniform:3,2",
                                    "lap2d5:9"};
enum { SPECS = sizeof specs / sizeof *specs };

/** A grid, and the joint halo `halo` of a block, for products with the matrix or with the transpose. */
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

/** Counts this rank's rows of Y to which another node contributes: once for each such node, and in *direct
 *  once for each rank that contributes. */
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

/** Checks that the ranks of a step may take part in it. Returns the number of rows that this rank receives.
 *  \param [in] comm  the node's ranks, which number the ranks of the step inside the node; MPI_COMM_NULL: the
 *                    step between nodes */
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

/** Checks a node sum's steps and additions against the numbers of rows that all ranks send. */
static void check_sums(const sample_halo *s)
{
    const sp_joint *const j = s->halo.joint;
    const int me = s->grid.coords[0];
    sp_node_sums *sums;
    int64_t direct;
    CHECK_INT(sp_node_sums_create(&s->grid, j, &sums), SPMM_OK);
    const int64_t once = sum_of(rows_of_nodes(j, me, &direct));
    direct = sum_of(direct);
    CHECK_INT(sums != NULL, once < direct);
    if (!sums) return;
    const int64_t in = check_step(&sums->inside, me, sums->comm),
                  far = check_step(&sums->between, me, MPI_COMM_NULL);
    CHECK_INT(sum_of(far), once);
    CHECK_INT(sums->between.all_moved, once);
    CHECK_INT(sums->to_first.start[sums->to_first.count] + sums->to_y.start[sums->to_y.count], in + far);
    /* inside nodes as many rows are added as need not cross between nodes */
    CHECK_INT(sum_of(sums->to_first.start[sums->to_first.count]), direct - once);
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
        sample_halo_create("uniform:300,40", 1, 1, &s); /* each rank contributes to nearly all rows */
        node_size = size / 2;
        CHECK_INT(sp_node_sums_create(&s.grid, s.halo.joint, &sums), SPMM_OK);
        CHECK(sums != NULL);
        if (sums) {
            const int64_t mean = sum_of(sums->to_first.count) / size;
            CHECK(mean > 20 && sums->to_first.count > mean * 3 / 4 && sums->to_first.count < mean * 5 / 4);
        }
        sp_node_sums_destroy(sums);
        node_size = 0;
        sample_halo_destroy(&s);
    }
}

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    device = SPMM_CPU;
    test_lists();
    return test_mpi_end();
}
