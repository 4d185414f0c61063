/* The exchange of ghost rows alone: which rows arrive where, by each exchange, and the error at ranks whose
 * neighbor failed.
 * MPI: 1 2 3 5 */
#define TEST_TRAPS 0 /* values that overflow in f32 */
#include "base/memory.h"
#include "comm/comm.h"
#include "formats/multivector.h"
#include "exchange/exchange.h"
#include "halo/ghosted_block.h"
#include "planned.h"

enum { K = 3 };

/** A block of a matrix with its grid, ghost rows, exchange and X; element (i, j) of X is 10 times its global
 *  row, plus j. */
typedef struct fixture {
    spmm_block block;
    sp_grid grid;
    sp_ghosted_block ghosted;
    sp_exchange *exchange;
    spmm_multivector x;
} fixture;

/** Creates a fixture; its ghost rows are NaN. Collective. */
static void create(const char *spec, spmm_exchange kind, fixture *f)
{
    scattered(spec, SPMM_F64, 0, 0, &f->block);
    CHECK_INT(sp_grid_create(MPI_COMM_WORLD, 0, 0, &f->grid), SPMM_OK);
    CHECK_INT(sp_ghosted_block_create(&f->grid, &f->block, kind, 1, &f->ghosted), SPMM_OK);
    const sp_moves *const m = &f->ghosted.moves;
    CHECK_INT(sp_multivector_create(m->ghost_low, m->own, m->ghost_high, K, SPMM_F64, SPMM_CPU, &f->x),
              SPMM_OK);
    memset(sp_row(&f->x, -m->ghost_low), 0xff, (size_t)(sp_moves_rows(m) * sp_row_bytes(&f->x)));
    for (int64_t i = 0; i < m->own; i++)
        for (int64_t j = 0; j < K; j++)
            ((double *)sp_row(&f->x, i))[j] = (double)(10 * (f->block.x_begin + i) + j);
    const sp_exchange_options o = {.row_bytes = sp_row_bytes(&f->x), .threads = 1};
    CHECK_INT(sp_exchange_create(&f->grid, m, &o, &f->exchange), SPMM_OK);
}

static void destroy(fixture *f)
{
    sp_exchange_destroy(f->exchange);
    spmm_multivector_destroy(&f->x);
    sp_ghosted_block_destroy(&f->ghosted);
    sp_grid_destroy(&f->grid);
    spmm_block_destroy(&f->block);
}

static spmm_status begin(const fixture *f) { return sp_exchange_begin(f->exchange, f->x.data); }

/** Checks that each column index of the renumbered block refers to the row of X that the original index
 *  names. */
static void check_ghost_rows(const fixture *f)
{
    const spmm_csr *const local = &f->ghosted.local.csr;
    for (int64_t e = 0; e < local->nnz; e++)
        for (int64_t j = 0; j < K; j++) {
            const double *const row = sp_row(&f->x, local->ja[e] - f->ghosted.moves.ghost_low);
            /* the block has all columns: ja[e] is the index in the whole matrix */
            CHECK(row[j] == (double)(10 * (int64_t)f->block.csr.ja[e] + j));
        }
}

static void check_arrival(const char *spec, spmm_exchange kind)
{
    fixture f;
    create(spec, kind, &f);
    for (int time = 0; time < 2; time++) {
        CHECK_INT(begin(&f), SPMM_OK);
        CHECK_INT(sp_exchange_end(f.exchange), SPMM_OK);
        check_ghost_rows(&f);
    }
    destroy(&f);
}

/** The last rank fails: ranks that need its rows get an error, the others do not, and the next exchange is
 *  right. */
static void check_failure(int size)
{
    fixture f;
    int needed = 0;
    create("lap2d5:12", SPMM_EXCHANGE_BCAST, &f);
    const int last = f.grid.rank == size - 1;
    for (int s = 0; s < f.ghosted.moves.sources; s++) needed |= f.ghosted.moves.source[s].rank == size - 1;
    if (last) {
        sp_exchange_skip(f.exchange);
    } else {
        CHECK_INT(begin(&f), SPMM_OK);
        CHECK_INT(sp_exchange_end(f.exchange), needed ? SPMM_ERR_MPI : SPMM_OK);
        CHECK(!needed || strstr(spmm_error_message(), "it failed"));
    }
    CHECK_INT(begin(&f), SPMM_OK);
    CHECK_INT(sp_exchange_end(f.exchange), SPMM_OK);
    check_ghost_rows(&f);
    destroy(&f);
}

/** Element (i, j) of X: most are not exact in f32; some are too large or too small for f32. */
static double real_at(int64_t i, int64_t j)
{
    return (i + j) % 9 == 0 ? 1e39 : (i + j) % 9 == 1 ? -1e-46 : 1 / (double)(3 + i + 7 * j);
}

/** Checks rows sent as f32 by an exchange that was created for longer rows: ghost rows are rounded, owned
 *  rows stay unchanged. */
static void check_rounded(const char *spec, spmm_exchange kind, int64_t k)
{
    fixture f;
    sp_exchange *x;
    spmm_multivector v;
    create(spec, kind, &f);
    const sp_moves *const m = &f.ghosted.moves;
    const spmm_csr *const local = &f.ghosted.local.csr;
    CHECK_INT(sp_multivector_create(m->ghost_low, m->own, m->ghost_high, k, SPMM_F64, SPMM_CPU, &v), SPMM_OK);
    const int64_t row_bytes = sp_row_bytes(&v);
    const sp_exchange_options o = {
        .row_bytes = 4 * row_bytes, .most_row_bytes = 8 * row_bytes, .threads = 2, .rounded = 1};
    CHECK_INT(sp_exchange_create(&f.grid, m, &o, &x), SPMM_OK);
    CHECK_INT(sp_exchange_set_rows(x, row_bytes, 8 * row_bytes), SPMM_OK);
    memset(sp_row(&v, -m->ghost_low), 0xff, (size_t)(sp_moves_rows(m) * row_bytes));
    for (int64_t i = 0; i < m->own; i++)
        for (int64_t j = 0; j < k; j++) ((double *)sp_row(&v, i))[j] = real_at(f.block.x_begin + i, j);
    CHECK_INT(sp_exchange_begin(x, v.data), SPMM_OK);
    CHECK_INT(sp_exchange_end(x), SPMM_OK);
    for (int64_t e = 0; e < local->nnz; e++)
        for (int64_t j = 0; j < k; j++) {
            const int64_t i = local->ja[e] - m->ghost_low;
            const double value = real_at(f.block.csr.ja[e], j);
            CHECK(((double *)sp_row(&v, i))[j] == (i >= 0 && i < m->own ? value : (double)(float)value));
        }
    for (int64_t i = 0; i < m->own; i++)
        for (int64_t j = 0; j < k; j++)
            CHECK(((double *)sp_row(&v, i))[j] == real_at(f.block.x_begin + i, j));
    sp_exchange_destroy(x);
    spmm_multivector_destroy(&v);
    destroy(&f);
}

int main(int argc, char **argv)
{
    int size;
    test_mpi_begin(&argc, &argv, &size);
    TEST("ghost rows arrive by halo and by broadcast, twice") {
        check_arrival("lap2d5:12", SPMM_EXCHANGE_HALO);
        check_arrival("lap2d5:12", SPMM_EXCHANGE_BCAST);
    }
    TEST("scattered rows are packed, and ranks without rows take part") {
        check_arrival("uniform:200,3", SPMM_EXCHANGE_HALO);
        check_arrival("lap2d5:2", SPMM_EXCHANGE_HALO);
    }
    TEST("without an exchange nothing moves and nothing fails") {
        CHECK_INT(sp_exchange_begin(NULL, NULL), SPMM_OK);
        CHECK_INT(sp_exchange_end(NULL), SPMM_OK);
        sp_exchange_skip(NULL);
        sp_exchange_destroy(NULL);
    }
    TEST("in host memory there is MPI, which takes any X whose rows have no gaps, and no GPU's transport") {
        fixture f;
        create("lap2d5:12", SPMM_EXCHANGE_HALO, &f);
        CHECK_INT(sp_exchange_transport(f.exchange), SPMM_TRANSPORT_MPI);
        CHECK(sp_exchange_takes(f.exchange, NULL));
        sp_exchange *other;
        const sp_exchange_options gaps = {.row_bytes = 32, .pitch = 64, .threads = 1};
        CHECK_INT(sp_exchange_create(&f.grid, &f.ghosted.moves, &gaps, &other), SPMM_OK);
        CHECK_INT(sp_exchange_pitch(other), 32);
        sp_exchange_destroy(other);
        CHECK(!sp_transport_missing(SPMM_TRANSPORT_MPI, SPMM_CPU));
        for (int t = SPMM_TRANSPORT_MPI + 1; t <= SPMM_TRANSPORT_PEER; t++) {
            sp_exchange *none;
            CHECK(strstr(sp_transport_missing((spmm_transport)t, SPMM_CPU), "for GPUs"));
            const sp_exchange_options o = {.row_bytes = 32, .transport = (spmm_transport)t, .threads = 1};
            CHECK_INT(sp_exchange_create(&f.grid, &f.ghosted.moves, &o, &none), SPMM_ERR_USAGE);
            CHECK(none == NULL);
        }
        sp_exchange *none;
        CHECK(!sp_transport_missing(SPMM_TRANSPORT_SHARED, SPMM_CPU));
        CHECK(strstr(sp_transport_missing(SPMM_TRANSPORT_SHARED, SPMM_CUDA), "for CPUs"));
        const sp_exchange_options shared = {
            .row_bytes = 32, .transport = SPMM_TRANSPORT_SHARED, .threads = 1};
        CHECK_INT(sp_exchange_create(&f.grid, &f.ghosted.moves, &shared, &none), SPMM_ERR_USAGE);
        CHECK(none == NULL && strstr(spmm_error_message(), "a node share"));
        destroy(&f);
    }
    TEST("rows that travel as f32 arrive rounded, and owned rows are not") {
        for (int64_t k = 1; k < 6; k++) {
            check_rounded("lap2d5:12", SPMM_EXCHANGE_HALO, k);
            check_rounded("uniform:200,3", SPMM_EXCHANGE_HALO, k);
            check_rounded("uniform:200,3", SPMM_EXCHANGE_BCAST, k);
            check_rounded("lap2d5:1", SPMM_EXCHANGE_HALO, k);
        }
        fixture f;
        sp_exchange *none;
        const sp_exchange_options in_place = {
            .row_bytes = 32, .transport = SPMM_TRANSPORT_SHARED, .threads = 1, .rounded = 1};
        create("lap2d5:12", SPMM_EXCHANGE_HALO, &f);
        CHECK_INT(sp_exchange_create(&f.grid, &f.ghosted.moves, &in_place, &none), SPMM_ERR_USAGE);
        CHECK(none == NULL && strstr(spmm_error_message(), "to send rows as f32"));
        destroy(&f);
    }
    TEST("a rank that fails is told of where its rows are missing, and the next exchange is right") {
        check_failure(size);
    }
    return test_mpi_end();
}
