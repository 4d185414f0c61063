/* MPI: 1 2 3 4 5. Ghost rows and moves against their definition, entry by entry. */
#include "halo/ghosted_block.h"
#include "sample.h"
#include "test_mpi.h"

static int size;

/** A rank's part: rows [row[0], row[1]) and columns [col[0], col[1]) of A, and rows [x[0], x[1]) of X. */
typedef struct place {
    int64_t row[2], col[2], x[2];
} place;

/** Lists the rows of X that one rank receives from another rank of its process column; returns their
 *  number. */
static int64_t moved(const spmm_csr *a, spmm_exchange kind, const place *to, const place *from, int64_t *list)
{
    int64_t count = 0;
    for (int64_t j = from->x[0]; j < from->x[1] && to != from; j++) {
        int needed = kind == SPMM_EXCHANGE_BCAST;
        for (int64_t e = a->irp[to->row[0]]; e < a->irp[to->row[1]]; e++) needed |= a->ja[e] == j;
        if (needed) list[count++] = j;
    }
    return count;
}

static void check_target(const sp_moves *m, int t, int p, int64_t first, const int64_t *list, int64_t count)
{
    const sp_target *const s = &m->target[t];
    CHECK(t < m->targets && s->rank == p && s->rows == count);
    CHECK_INT(s->packed, list[count - 1] - list[0] != count - 1);
    for (int64_t n = 0; n < count; n++)
        CHECK_INT(s->packed ? m->list[s->first + n] : s->first + n, list[n] - first);
}

/** Checks what this rank sends and receives, and the local numbers of columns. */
static void check_moves(const spmm_csr *a, const sp_grid *grid, const spmm_block *block, const place *all,
                        const sp_ghosted_block *h)
{
    const int me = grid->coords[0];
    const sp_moves *const m = &h->moves;
    const place *const own = &all[grid->rank];
    int64_t *const list = malloc(((size_t)a->cols + 1) * sizeof *list), at = 0, sent = 0, packed = 0;
    int64_t *const local = calloc((size_t)a->cols + 1, sizeof *local);
    int sources = 0, targets = 0;
    for (int p = 0; p < grid->dims[0]; p++) {
        const place *const other = &all[p * grid->dims[1] + grid->coords[1]];
        const int64_t in = moved(a, h->kind, own, other, list);
        for (int64_t n = 0; n < in; n++) local[list[n]] = at + n;
        for (int64_t j = own->x[0]; p == me && j < own->x[1]; j++) local[j] = at + j - own->x[0];
        if (p == me) CHECK_INT(m->ghost_low, at);
        if (in > 0) {
            const sp_source *const r = &m->source[sources++];
            CHECK(sources <= m->sources && r->rank == p && r->first == at && r->rows == in);
        }
        at += p == me ? own->x[1] - own->x[0] : in;
        const int64_t out = moved(a, h->kind, other, own, list);
        if (out > 0) check_target(m, targets, p, own->x[0], list, out);
        if (out > 0) packed += m->target[targets++].packed ? out : 0;
        sent += out;
    }
    CHECK(m->sources == sources && m->targets == targets && m->sent == sent && m->packed == packed);
    CHECK(m->own == block->x_rows && sp_moves_rows(m) == at && h->local.csr.cols == at);
    for (int64_t e = 0; e < block->csr.nnz; e++)
        CHECK_INT(h->local.csr.ja[e], local[block->col_begin + block->csr.ja[e]]);
    free(list), free(local);
}

static void check_kind(const spmm_csr *a, const sp_grid *grid, const spmm_block *block, spmm_exchange kind)
{
    sp_ghosted_block h;
    place all[8], own = {{block->row_begin, block->row_begin + block->csr.rows},
                         {block->col_begin, block->col_begin + block->csr.cols},
                         {block->x_begin, block->x_begin + block->x_rows}};
    int64_t rows[2] = {0, block->csr.cols - block->x_rows};
    MPI_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, MPI_COMM_WORLD);
    CHECK_INT(sp_ghosted_block_create(grid, block, kind, 2, &h), SPMM_OK);
    CHECK(kind == SPMM_EXCHANGE_AUTO ? h.kind != kind : h.kind == kind);
    check_moves(a, grid, block, all, &h);
    for (int s = 0; s < h.moves.sources; s++) rows[0] += h.moves.source[s].rows;
    MPI_Allreduce(MPI_IN_PLACE, rows, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK(h.moves.all_moved == rows[0] && h.all_bcast == rows[1]);
    sp_ghosted_block_destroy(&h);
    CHECK(!h.moves.source && !h.moves.target && !h.moves.list && !h.local.csr.ja);
}

/** Checks all grids of the ranks and all kinds of exchange. */
static void check_grids(const spmm_csr *a)
{
    for (int q = 1; q <= size; q++)
        for (int kind = SPMM_EXCHANGE_AUTO; kind <= SPMM_EXCHANGE_BCAST && size % q == 0; kind++) {
            sp_grid grid;
            spmm_block block;
            CHECK_INT(sp_grid_create(MPI_COMM_WORLD, size / q, q, &grid), SPMM_OK);
            CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, a, size / q, q, &block), SPMM_OK);
            check_kind(a, &grid, &block, (spmm_exchange)kind);
            spmm_block_destroy(&block);
            sp_grid_destroy(&grid);
        }
}

static void test_samples(void)
{
    spmm_csr a;
    TEST("sources, targets, lists and local columns are right for any shape, empty blocks included") {
        for (int s = 0; s < SAMPLES; s++) {
            sample_csr((sample)s, SAMPLE_INTEGERS, SPMM_F64, &a);
            check_grids(&a);
            spmm_csr_destroy(&a);
        }
    }
    TEST("neighbors along a line exchange one row each, as it lies in X") {
        CHECK_INT(spmm_csr_generate("band:40,3,3", SPMM_F64, &a), SPMM_OK);
        check_grids(&a);
        spmm_csr_destroy(&a);
    }
    TEST("rows 0 and 2 of rank 0 are packed for every rank, rows 1 and 2 are not") {
        const int64_t rows = 4 * size;
        for (int64_t first = 0; first < 2; first++) {
            int64_t i[40], j[40];
            for (int64_t n = 0; n < 2 * rows; n++) i[n] = n / 2, j[n] = n % 2 ? 2 : first;
            CHECK_INT(spmm_csr_from_triplets(rows, rows, 2 * rows, i, j, NULL, SPMM_F64, &a), SPMM_OK);
            check_grids(&a);
            spmm_csr_destroy(&a);
        }
    }
}

static void test_refused(void)
{
    TEST("a column beyond the block on one rank is every rank's error, and leaves nothing allocated") {
        spmm_csr a;
        spmm_block block;
        sp_grid grid;
        sp_ghosted_block h;
        CHECK_INT(spmm_csr_generate("lap2d5:6", SPMM_F64, &a), SPMM_OK);
        CHECK_INT(sp_grid_create(MPI_COMM_WORLD, 0, 0, &grid), SPMM_OK);
        CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, &a, 0, 0, &block), SPMM_OK);
        if (test_.rank == size - 1) block.csr.ja[block.csr.nnz - 1] = 36;
        CHECK_ERROR(sp_ghosted_block_create(&grid, &block, SPMM_EXCHANGE_AUTO, 1, &h), SPMM_ERR_USAGE,
                    "column 36");
        CHECK(!h.moves.source && !h.moves.target && !h.local.csr.ja);
        spmm_block_destroy(&block);
        sp_grid_destroy(&grid);
        spmm_csr_destroy(&a);
    }
}

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    test_samples();
    test_refused();
    return test_mpi_end();
}
