/* MPI: 1 2 3 4 6. The joint exchange: the entries that a rank multiplies itself and the entries that other
 * ranks multiply for it make up its block, as few rows as possible travel, and products are right. */
#include "halo/ghosted_block.h"
#include "formats/multivector.h"
#include "order/comm_volume.h"
#include "planned.h"
#include "sample.h"

static int size;

static void scatter(const char *spec, int q, spmm_csr *a, spmm_block *block)
{
    CHECK_INT(spmm_csr_generate(spec, SPMM_F64, a), SPMM_OK);
    for (int64_t e = 0; e < a->nnz; e++) sample_set(a->as, SPMM_F64, e, (double)(1 + e % 7));
    CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, a, size / q, q, block), SPMM_OK);
}

/** The sum of all values of all ranks. */
static double total(const spmm_csr *a)
{
    double sum = 0;
    for (int64_t e = 0; e < a->nnz; e++) sum += sample_get(a->as, a->precision, e);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

/** Checks a block with the joint exchange against one without. */
static void check_joint(const sp_grid *grid, const spmm_block *block)
{
    sp_ghosted_block rows_of_x, h, again;
    CHECK_INT(sp_ghosted_block_create(grid, block, SPMM_EXCHANGE_HALO, 2, &rows_of_x), SPMM_OK);
    CHECK_INT(sp_ghosted_block_create(grid, block, SPMM_EXCHANGE_JOINT, 1, &h), SPMM_OK);
    CHECK_INT(sp_ghosted_block_create(grid, block, SPMM_EXCHANGE_JOINT, 2, &again), SPMM_OK);
    CHECK(h.kind == SPMM_EXCHANGE_JOINT && !h.joint == (grid->dims[0] == 1));
    CHECK(sp_ghosted_block_moved(&h) <= sp_ghosted_block_moved(&rows_of_x));
    CHECK_INT(sp_ghosted_block_moved(&h), sp_ghosted_block_moved(&again));
    if (h.joint) {
        const sp_joint *const j = h.joint;
        CHECK(h.local.csr.nnz == j->rest.nnz && j->rest.rows == block->csr.rows);
        CHECK(memcmp(h.local.csr.ja, again.local.csr.ja, (size_t)h.local.csr.nnz * sizeof *h.local.csr.ja) ==
              0);
        CHECK(total(&j->rest) + total(&j->partial) == total(&block->csr));
        CHECK_INT(j->sums.start[j->sums.count], j->moves.ghost_low + j->moves.ghost_high);
        for (int64_t n = 1; n < j->sums.count; n++) CHECK(j->sums.row[n - 1] < j->sums.row[n]);
        for (int64_t i = 0; i < j->partial.rows; i++)
            CHECK(j->partial.irp[i] < j->partial.irp[i + 1]); /* every partial row has entries */
    }
    sp_ghosted_block_destroy(&rows_of_x);
    sp_ghosted_block_destroy(&h);
    sp_ghosted_block_destroy(&again);
}

/** Checks that counting without messages yields the same numbers. */
static void check_volume(const spmm_csr *a, const sp_grid *grid, const spmm_block *block)
{
    int64_t rows[8], x[8 * 9], mine[3] = {block->row_begin, block->x_begin, block->x_begin + block->x_rows};
    int64_t all[8][3];
    sp_rank_count counts[8];
    sp_ghosted_block h;
    const int P = grid->dims[0], Q = grid->dims[1], me = grid->rank, per_node = 2;
    MPI_Allgather(mine, 3, MPI_INT64_T, all, 3, MPI_INT64_T, MPI_COMM_WORLD);
    for (int p = 0; p < P; p++) {
        rows[p] = all[p * Q][0];
        for (int q = 0; q < Q; q++) {
            x[q * (P + 1) + p] = all[p * Q + q][1];
            x[q * (P + 1) + p + 1] = all[p * Q + q][2];
        }
    }
    rows[P] = a->rows;
    CHECK_INT(sp_joint_volume(a, P, Q, rows, x, (sp_crossing){per_node, 0}, 2, counts), SPMM_OK);
    CHECK_INT(sp_ghosted_block_create(grid, block, SPMM_EXCHANGE_JOINT, 1, &h), SPMM_OK);
    int64_t far = 0, in = 0, out = 0;
    for (int of_y = 0; of_y <= (h.joint != NULL); of_y++) {
        const sp_moves *const m = of_y ? &h.joint->moves : &h.moves;
        in += m->ghost_low + m->ghost_high;
        out += m->sent;
        for (int s = 0; s < m->sources; s++)
            far += (m->source[s].rank * Q + grid->coords[1]) / per_node != me / per_node ? m->source[s].rows
                                                                                         : 0;
        if (of_y) CHECK_INT(counts[me].joint.partial, m->ghost_low + m->ghost_high);
    }
    CHECK_INT(counts[me].joint.received, in);
    CHECK_INT(counts[me].joint.sent, out);
    CHECK_INT(counts[me].joint.far_received, far);
    sp_ghosted_block_destroy(&h);
}

static void test_blocks(void)
{
    static const char *const specs[] = {"uniform:40,6", "longrows:30,2,3,25", "band:50,5,9", "uniform:3,2",
                                        "lap2d5:9",     "rmat:9,8",           "lap2d5:1"};
    TEST(
        "entries that are left and that are given away are the block's; fewer rows travel, of any threads the same, and counted") {
        for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
            for (int q = 1; q <= size; q = next_divisor(size, q)) {
                spmm_csr a;
                spmm_block block;
                sp_grid grid;
                scatter(specs[s], q, &a, &block);
                CHECK_INT(sp_grid_create(MPI_COMM_WORLD, size / q, q, &grid), SPMM_OK);
                check_joint(&grid, &block);
                check_volume(&a, &grid, &block);
                sp_grid_destroy(&grid);
                spmm_block_destroy(&block);
                spmm_csr_destroy(&a);
            }
    }
    TEST("a stencil's rows of X travel as they did: nothing is added up") {
        spmm_csr a;
        spmm_block block;
        sp_grid grid;
        sp_ghosted_block h;
        scatter("lap2d5:20", 1, &a, &block);
        CHECK_INT(sp_grid_create(MPI_COMM_WORLD, size, 1, &grid), SPMM_OK);
        CHECK_INT(sp_ghosted_block_create(&grid, &block, SPMM_EXCHANGE_JOINT, 1, &h), SPMM_OK);
        CHECK(size == 1 || h.joint->moves.all_moved == 0);
        sp_ghosted_block_destroy(&h);
        sp_grid_destroy(&grid);
        spmm_block_destroy(&block);
        spmm_csr_destroy(&a);
    }
}

/** An arrow: a full first row, a full first column, and the diagonal. */
static spmm_csr arrow(int64_t n)
{
    int64_t *const i = malloc(3 * (size_t)n * sizeof *i), *const j = malloc(3 * (size_t)n * sizeof *j),
                   nnz = 0;
    spmm_csr a;
    for (int64_t r = 0; r < n; r++) {
        i[nnz] = j[nnz] = r, nnz++;
        if (r == 0) continue;
        i[nnz] = 0, j[nnz++] = r;
        i[nnz] = r, j[nnz++] = 0;
    }
    CHECK_INT(spmm_csr_from_triplets(n, n, nnz, i, j, NULL, SPMM_F64, &a), SPMM_OK);
    free(i), free(j);
    return a;
}

static void test_arrow(void)
{
    TEST("an arrow: each rank but the one of the full row gets one row of X and gives one partial row of Y") {
        enum { N = 60, K = 3 };
        const spmm_plan_options options = {.exchange = SPMM_EXCHANGE_JOINT};
        spmm_csr a = arrow(N);
        spmm_block block;
        sp_grid grid;
        sp_ghosted_block h;
        planned p;
        CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, &a, size, 1, &block), SPMM_OK);
        CHECK_INT(sp_grid_create(MPI_COMM_WORLD, size, 1, &grid), SPMM_OK);
        CHECK_INT(sp_ghosted_block_create(&grid, &block, SPMM_EXCHANGE_JOINT, 1, &h), SPMM_OK);
        const int takes_part = block.row_begin > 0 && block.csr.rows > 0;
        int others = takes_part;
        MPI_Allreduce(MPI_IN_PLACE, &others, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK_INT(sp_ghosted_block_moved(&h), 2 * others);
        CHECK_INT(h.moves.ghost_low, takes_part);
        CHECK_INT(h.joint ? h.joint->partial.rows : 0, takes_part);
        sp_ghosted_block_destroy(&h);
        planned_of(&block, K, &options, &p);
        for (int times = 1; times <= 3; times++) {
            for (int64_t r = 0; r < p.x.rows; r++)
                for (int64_t c = 0; c < K; c++)
                    ((double *)p.x.data)[r * p.x.ld + c] = (double)((block.x_begin + r) * times + c);
            CHECK_INT(spmm_apply(p.plan, 1, &p.x, 0, &p.y), SPMM_OK);
            for (int64_t r = 0; r < p.y.rows; r++)
                for (int64_t c = 0; c < K; c++) {
                    const int64_t g = block.row_begin + r;
                    const double first = (double)c, sum = (double)(times * N * (N - 1) / 2 + N * c);
                    CHECK(((double *)p.y.data)[r * p.y.ld + c] ==
                          (g == 0 ? sum : (double)(g * times + c) + first));
                }
        }
        planned_destroy(&p);
        sp_grid_destroy(&grid);
        spmm_block_destroy(&block);
        spmm_csr_destroy(&a);
    }
}

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    test_blocks();
    test_arrow();
    return test_mpi_end();
}
