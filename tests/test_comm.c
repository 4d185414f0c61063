/* MPI: 1 2 3 4 5 */
#include "comm/comm.h"
#include "comm/grid.h"
#include "test_mpi.h"

static int size, me;

static void test_agreement(void)
{
    TEST("when all ranks succeed all agree on success") {
        CHECK_INT(sp_agree(MPI_COMM_WORLD, "t", SPMM_OK), SPMM_OK);
    }
    TEST("one rank's failure is everybody's, with its rank and message") {
        for (int bad = 0; bad < size; bad++) {
            const spmm_status mine = me == bad ? sp_fail(SPMM_ERR_MEMORY, "no memory for %d", bad) : SPMM_OK;
            CHECK_INT(sp_agree(MPI_COMM_WORLD, "t", mine), SPMM_ERR_MEMORY);
            char text[64];
            snprintf(text, sizeof text, bad ? "rank %d: no memory for %d" : "%.0dno memory for %d", bad, bad);
            CHECK_TEXT(spmm_error_message(), text);
        }
    }
    TEST("of several failures the gravest wins, of equals the lowest rank's") {
        const spmm_status mine = sp_fail(me == size - 1 ? SPMM_ERR_MPI : SPMM_ERR_OPEN, "I am %d", me);
        CHECK_INT(sp_agree(MPI_COMM_WORLD, "t", mine), SPMM_ERR_MPI);
        char text[64];
        snprintf(text, sizeof text, "I am %d", size - 1);
        CHECK_TEXT(spmm_error_message(), text);
        CHECK_ERROR(sp_agree(MPI_COMM_WORLD, "t", sp_fail(SPMM_ERR_OPEN, "I am %d", me)), SPMM_ERR_OPEN,
                    "I am 0");
    }
    TEST("a fault on demand strikes one rank and is agreed on by all") {
        setenv("SPMM_FAULT", "here:0", 1);
        CHECK_INT(sp_agree(MPI_COMM_WORLD, "there", SPMM_OK), SPMM_OK);
        CHECK_INT(sp_agree(MPI_COMM_WORLD, "here", SPMM_OK), SPMM_ERR_INTERNAL);
        unsetenv("SPMM_FAULT");
    }
}

static void test_messages(void)
{
    TEST("messages longer than a chunk arrive whole, whatever the chunk") {
        const int64_t chunks[] = {1, 7, 64, 1000000};
        enum { BYTES = 1000 };
        for (int c = 0; c < 4; c++) {
            unsigned char data[BYTES];
            sp_set_chunk_bytes(chunks[c]);
            for (int bytes = 0; bytes <= BYTES; bytes = bytes < 3 ? bytes + 1 : bytes * 7) {
                for (int i = 0; i < BYTES; i++) data[i] = (unsigned char)(me == 0 ? i * 31 : 0);
                CHECK_INT(sp_bcast(MPI_COMM_WORLD, 0, data, bytes), SPMM_OK);
                for (int i = 0; i < bytes; i++) CHECK(data[i] == (unsigned char)(i * 31));
                if (me == 0)
                    for (int r = 1; r < size; r++)
                        CHECK_INT(sp_send(MPI_COMM_WORLD, r, 5, data, bytes), SPMM_OK);
                if (me > 0) {
                    memset(data, 0, sizeof data);
                    CHECK_INT(sp_recv(MPI_COMM_WORLD, 0, 5, data, bytes), SPMM_OK);
                    for (int i = 0; i < bytes; i++) CHECK(data[i] == (unsigned char)(i * 31));
                }
            }
        }
        sp_set_chunk_bytes(0);
    }
    TEST("a transfer is never more than SP_MOST_CHUNKS messages, however small the chunks shall be") {
        enum { BYTES = 100000 };
        static unsigned char out[BYTES], in[BYTES];
        MPI_Request request[2 * SP_MOST_CHUNKS];
        int count = 0;
        sp_set_chunk_bytes(3);
        CHECK_INT(sp_chunks(3 * SP_MOST_CHUNKS), SP_MOST_CHUNKS);
        CHECK(sp_chunks(BYTES) <= SP_MOST_CHUNKS && sp_chunks(BYTES) > SP_MOST_CHUNKS / 2);
        CHECK_INT(sp_chunk_of(1 << 30, INT64_MAX), 1 << 30);
        for (int i = 0; i < BYTES; i++) out[i] = (unsigned char)(i * 31 + me);
        CHECK_INT(sp_irecv(MPI_COMM_WORLD, (me + 1) % size, 5, in, BYTES, request, &count), SPMM_OK);
        CHECK_INT(sp_isend(MPI_COMM_WORLD, (me + size - 1) % size, 5, out, BYTES, request, &count), SPMM_OK);
        CHECK_INT(count, 2 * sp_chunks(BYTES));
        CHECK_INT(sp_wait(request, count), SPMM_OK);
        for (int i = 0; i < BYTES; i++) CHECK(in[i] == (unsigned char)(i * 31 + (me + 1) % size));
        sp_set_chunk_bytes(0);
    }
    TEST("messages that are not waited for arrive in chunks of any size") {
        const int64_t chunks[] = {3, 7, 0};
        for (int c = 0; c < 3; c++) {
            char out[24] = "", in[24] = "";
            MPI_Request request[20];
            int count = 0;
            sp_set_chunk_bytes(chunks[c]);
            snprintf(out, sizeof out, "from %d.", me);
            CHECK_INT(sp_irecv(MPI_COMM_WORLD, (me + 1) % size, 5, in, 24, request, &count), SPMM_OK);
            CHECK_INT(sp_isend(MPI_COMM_WORLD, (me + size - 1) % size, 5, out, 24, request, &count), SPMM_OK);
            CHECK_INT(count, 2 * sp_chunks(24));
            CHECK_INT(sp_wait(request, count), SPMM_OK);
            snprintf(out, sizeof out, "from %d.", (me + 1) % size);
            CHECK(strcmp(in, out) == 0);
        }
        sp_set_chunk_bytes(0);
    }
}

static void test_neighbors(void)
{
    TEST("ranks of a node are numbered, and those with equal keys are counted") {
        int rank, n, place, sharers;
        CHECK_INT(sp_node_rank(MPI_COMM_WORLD, &rank, &n), SPMM_OK);
        CHECK(rank == me && n == size);
        CHECK_INT(sp_node_sharers(MPI_COMM_WORLD, me % 2 ? "odd" : "even", &place, &sharers), SPMM_OK);
        CHECK_INT(place, me / 2);
        CHECK_INT(sharers, me % 2 ? size / 2 : (size + 1) / 2);
    }
    TEST("the slowest rank's time and everybody's consent reach all, and rank 0 collects") {
        double t[2] = {me, -me};
        int all;
        int64_t mine = 100 + me, everyone[16];
        CHECK_INT(sp_slowest(MPI_COMM_WORLD, t, 2), SPMM_OK);
        CHECK(t[0] == size - 1 && t[1] == 0);
        CHECK(sp_all(MPI_COMM_WORLD, me != 1, &all) == SPMM_OK && all == (size == 1));
        CHECK_INT(sp_collect(MPI_COMM_WORLD, &mine, sizeof mine, everyone), SPMM_OK);
        for (int r = 0; me == 0 && r < size; r++) CHECK_INT(everyone[r], 100 + r);
    }
}

static void test_grids(void)
{
    TEST("the default grid is ranks x 1, and a wrong one is refused with the right one's name") {
        sp_grid grid;
        char text[32];
        CHECK_INT(sp_grid_create(MPI_COMM_WORLD, 0, 0, &grid), SPMM_OK);
        CHECK(grid.dims[0] == size && grid.dims[1] == 1 && grid.coords[0] == me && grid.rank == me);
        sp_grid_destroy(&grid);
        CHECK_INT(sp_grid_create(MPI_COMM_WORLD, size + 1, 1, &grid), SPMM_ERR_USAGE);
        snprintf(text, sizeof text, "use %dx1", size);
        CHECK_TEXT(spmm_error_message(), text);
        sp_grid_destroy(&grid);
    }
    TEST("every grid of the ranks has its process rows and columns, in order") {
        for (int q = 1; q <= size; q = next_divisor(size, q)) {
            sp_grid grid;
            int in_row[2], in_column[2];
            CHECK_INT(sp_grid_create(MPI_COMM_WORLD, size / q, q, &grid), SPMM_OK);
            CHECK(grid.dims[0] == size / q && grid.dims[1] == q);
            CHECK(grid.rank == me && grid.coords[0] == me / q && grid.coords[1] == me % q);
            MPI_Comm_rank(grid.row_comm, &in_row[0]);
            MPI_Comm_size(grid.row_comm, &in_row[1]);
            MPI_Comm_rank(grid.col_comm, &in_column[0]);
            MPI_Comm_size(grid.col_comm, &in_column[1]);
            CHECK(in_row[0] == me % q && in_row[1] == q);
            CHECK(in_column[0] == me / q && in_column[1] == size / q);
            sp_grid_destroy(&grid);
        }
    }
    TEST("a ring is periodic: a circular shift by any number of steps wraps around in each process column") {
        for (int q = 1; q <= size; q = next_divisor(size, q)) {
            sp_grid grid;
            MPI_Comm ring;
            int periodic = 0, dims, coords;
            CHECK_INT(sp_grid_create(MPI_COMM_WORLD, size / q, q, &grid), SPMM_OK);
            CHECK_INT(sp_ring_create(&grid, &ring), SPMM_OK);
            MPI_Cart_get(ring, 1, &dims, &periodic, &coords);
            CHECK(periodic && dims == size / q && coords == grid.coords[0]);
            for (int d = 0; d < size / q; d++) {
                const int p = grid.coords[0], count = size / q;
                int from = -1, to = -1, came = -1;
                CHECK_INT(sp_ring_shift(ring, d, &from, &to), SPMM_OK);
                CHECK(from == (p + d) % count && to == (p - d + count) % count);
                MPI_Sendrecv(&p, 1, MPI_INT, to, 1, &came, 1, MPI_INT, from, 1, ring, MPI_STATUS_IGNORE);
                CHECK_INT(came, (p + d) % count);
            }
            sp_ring_destroy(&ring);
            CHECK(ring == MPI_COMM_NULL);
            sp_ring_destroy(&ring);
            sp_grid_destroy(&grid);
        }
    }
    TEST("a grid's communicators have the error handler of the caller's") {
        MPI_Errhandler expected[2] = {MPI_ERRORS_RETURN, MPI_ERRORS_ARE_FATAL};
        for (int i = 0; i < 2; i++) {
            MPI_Comm comm;
            sp_grid grid;
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
            MPI_Comm_set_errhandler(comm, expected[i]);
            CHECK_INT(sp_grid_create(comm, 0, 0, &grid), SPMM_OK);
            MPI_Comm all[3] = {grid.comm, grid.row_comm, grid.col_comm};
            for (int c = 0; c < 3; c++) {
                MPI_Errhandler found;
                MPI_Comm_get_errhandler(all[c], &found);
                CHECK(found == expected[i]);
                MPI_Errhandler_free(&found);
            }
            sp_grid_destroy(&grid);
            MPI_Comm_free(&comm);
        }
    }
}

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    me = test_.rank;
    test_agreement();
    test_messages();
    test_neighbors();
    test_grids();
    return test_mpi_end();
}
