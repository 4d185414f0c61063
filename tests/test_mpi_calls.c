/** The calls of MPI that the library and its programs make, on one rank, where every MPI must do the same: a
 *  real MPI, and contrib/one_rank, which replaces it in builds of `make MPI=0`. MPI: 1 */
#include <stdio.h>
#include <unistd.h>

#include "test_mpi.h"

/** Returns MPI_STATUSES_IGNORE. volatile: avoids a warning of gcc, see sp_wait() in comm/comm.c */
static MPI_Status *statuses_ignore(void)
{
    MPI_Status *volatile ignore = MPI_STATUSES_IGNORE;
    return ignore;
}

static int deleted;
static int delete_attribute(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key;
    deleted += *(int *)value + *(int *)extra;
    return MPI_SUCCESS;
}

static int copy_attribute(MPI_Comm comm, int key, void *extra, void *value, void *copy, int *wanted)
{
    (void)comm, (void)key, (void)extra;
    *(void **)copy = value;
    *wanted = 1;
    return MPI_SUCCESS;
}

static void test_messages(MPI_Comm comm)
{
    int out[4] = {1, 2, 3, 4}, in[4] = {0}, count = 0, flag = 0;
    MPI_Status status;
    TEST("messages to oneself are received in their order, by tag") {
        MPI_Request sent[3];
        for (int i = 0; i < 3; i++) MPI_Isend(&out[i], 1, MPI_INT, 0, i == 1 ? 8 : 7, comm, &sent[i]);
        MPI_Recv(&in[0], 1, MPI_INT, 0, 8, comm, MPI_STATUS_IGNORE);
        MPI_Recv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
        CHECK_INT(status.MPI_SOURCE, 0);
        CHECK_INT(status.MPI_TAG, 7);
        MPI_Recv(&in[2], 1, MPI_INT, 0, 7, comm, MPI_STATUS_IGNORE);
        MPI_Waitall(3, sent, statuses_ignore());
        CHECK(sent[0] == MPI_REQUEST_NULL && in[0] == 2 && in[1] == 1 && in[2] == 3);
    }
    TEST("a receive that waits is told what came, and how much") {
        MPI_Request waits;
        MPI_Irecv(in, 4, MPI_INT, 0, 5, comm, &waits);
        MPI_Test(&waits, &flag, &status);
        CHECK(!flag && waits != MPI_REQUEST_NULL);
        MPI_Send(out, 3, MPI_INT, 0, 5, comm);
        while (!flag) MPI_Test(&waits, &flag, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK(waits == MPI_REQUEST_NULL && count == 3 && in[2] == 3);
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK_INT(count, 12);
        MPI_Test(&waits, &flag, &status);
        CHECK(flag);
    }
    TEST("a probe sees a message that was sent, and takes none away") {
        MPI_Request sent;
        MPI_Iprobe(0, 3, comm, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
        MPI_Isend(out, 2, MPI_INT, 0, 3, comm, &sent);
        while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, 3, comm, &flag, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK_INT(count, 2);
        MPI_Recv(in, 2, MPI_INT, 0, 3, comm, MPI_STATUS_IGNORE);
        MPI_Waitall(1, &sent, statuses_ignore());
        CHECK(in[1] == 2);
    }
    TEST("nobody sends nothing, and takes everything") {
        in[0] = 9;
        MPI_Sendrecv(out, 1, MPI_INT, MPI_PROC_NULL, 1, in, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK(in[0] == 9 && count == 0 && status.MPI_SOURCE == MPI_PROC_NULL);
        MPI_Sendrecv(out, 1, MPI_INT, 0, 1, in, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
        CHECK_INT(in[0], 1);
    }
}

static void test_some(MPI_Comm comm)
{
    int out[3] = {10, 20, 30}, in[3] = {0}, count = 0, which[3], seen = 0;
    MPI_Request request[3];
    MPI_Status status[3];
    TEST("of several requests those that are done are told, until there are none") {
        for (int i = 0; i < 3; i++) MPI_Irecv(&in[i], 1, MPI_INT, 0, i, comm, &request[i]);
        MPI_Testsome(3, request, &count, which, status);
        CHECK_INT(count, 0);
        MPI_Send(&out[2], 1, MPI_INT, 0, 2, comm);
        MPI_Waitsome(3, request, &count, which, status);
        CHECK(count == 1 && which[0] == 2 && status[0].MPI_TAG == 2 && in[2] == 30);
        MPI_Send(&out[0], 1, MPI_INT, 0, 0, comm);
        MPI_Send(&out[1], 1, MPI_INT, 0, 1, comm);
        while (seen < 2) {
            MPI_Waitsome(3, request, &count, which, statuses_ignore());
            seen += count;
        }
        CHECK(in[0] == 10 && in[1] == 20);
        MPI_Waitsome(3, request, &count, which, status);
        CHECK_INT(count, MPI_UNDEFINED);
    }
}

static void test_collectives(MPI_Comm comm)
{
    int64_t out[4] = {1, 2, 3, 4}, in[8] = {0};
    int two = 2, one = 1, first = 0;
    TEST("a sum of one rank is its value, elsewhere and in place") {
        MPI_Allreduce(out, in, 4, MPI_INT64_T, MPI_SUM, comm);
        CHECK(in[3] == 4);
        MPI_Allreduce(MPI_IN_PLACE, in, 4, MPI_INT64_T, MPI_MAX, comm);
        MPI_Reduce(MPI_IN_PLACE, in, 4, MPI_INT64_T, MPI_MIN, 0, comm);
        MPI_Bcast(in, 4, MPI_INT64_T, 0, comm);
        MPI_Barrier(comm);
        CHECK(in[0] == 1 && in[3] == 4);
        struct {
            int value, rank;
        } mine = {5, 0}, best;
        MPI_Allreduce(&mine, &best, 1, MPI_2INT, MPI_MAXLOC, comm);
        CHECK(best.value == 5 && best.rank == 0);
    }
    TEST("what is gathered, scattered and sent to all lies where it is wanted") {
        memset(in, 0, sizeof in);
        MPI_Gather(out, 1, MPI_INT64_T, in, 1, MPI_INT64_T, 0, comm);
        MPI_Scatter(out + 1, 1, MPI_INT64_T, in + 1, 8, MPI_BYTE, 0, comm);
        MPI_Allgather(out + 2, 8, MPI_BYTE, in + 2, 1, MPI_INT64_T, comm);
        MPI_Alltoall(out + 3, 1, MPI_INT64_T, in + 3, 1, MPI_INT64_T, comm);
        CHECK(memcmp(in, out, sizeof out) == 0);
        memset(in, 0, sizeof in);
        /* MPICH 4.0 ignores displacements other than 0, so `first` is 0 */
        MPI_Allgatherv(out, 2, MPI_INT64_T, in, &two, &first, MPI_INT64_T, comm);
        CHECK(in[0] == 1 && in[1] == 2 && in[2] == 0);
        MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, &two, &first, MPI_INT64_T, comm);
        CHECK(in[0] == 1 && in[1] == 2 && in[2] == 0);
        MPI_Datatype pair;
        MPI_Type_contiguous(16, MPI_BYTE, &pair);
        MPI_Type_commit(&pair);
        MPI_Alltoallv(out, &one, &one, pair, in, &one, &two, pair, comm);
        MPI_Type_free(&pair);
        CHECK(in[4] == 3 && in[5] == 4 && pair == MPI_DATATYPE_NULL);
    }
}

static void test_communicators(MPI_Comm comm)
{
    MPI_Comm copy, part;
    int rank = 1, size = 0, result = -1, key, there, added = 100, value = 7;
    TEST("copies and parts of a communicator have one rank, unless it is in none") {
        MPI_Comm_dup(comm, &copy);
        MPI_Comm_split(comm, 3, -4, &part);
        MPI_Comm_rank(part, &rank);
        MPI_Comm_size(copy, &size);
        CHECK(rank == 0 && size == 1);
        MPI_Comm_compare(copy, part, &result);
        CHECK_INT(result, MPI_CONGRUENT);
        MPI_Comm_compare(copy, copy, &result);
        CHECK_INT(result, MPI_IDENT);
        MPI_Comm_free(&part);
        MPI_Comm_free(&copy);
        CHECK(part == MPI_COMM_NULL && copy == MPI_COMM_NULL);
        MPI_Comm_split(comm, MPI_UNDEFINED, 0, &part);
        CHECK(part == MPI_COMM_NULL);
        MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part);
        MPI_Comm_size(part, &size);
        CHECK_INT(size, 1);
        MPI_Comm_free(&part);
    }
    TEST("attributes go into copies that want them, and are deleted with their communicator") {
        int *found = NULL, other;
        MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, &added);
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attribute, &other, &added);
        MPI_Comm_dup(comm, &part);
        MPI_Comm_get_attr(part, key, &found, &there);
        CHECK(!there);
        MPI_Comm_set_attr(part, key, &value);
        MPI_Comm_set_attr(part, other, &value);
        MPI_Comm_dup(part, &copy);
        MPI_Comm_get_attr(copy, key, &found, &there);
        CHECK(there && found == &value);
        MPI_Comm_get_attr(copy, other, &found, &there);
        CHECK(!there);
        MPI_Comm_free(&copy);
        CHECK_INT(deleted, 107);
        MPI_Comm_delete_attr(part, key);
        CHECK_INT(deleted, 214);
        MPI_Comm_free(&part);
        CHECK_INT(deleted, 321);
    }
    TEST("ranks of groups are translated") {
        MPI_Group a, b;
        const int ranks[2] = {0, MPI_PROC_NULL};
        int same[2] = {5, 5};
        MPI_Comm_group(comm, &a);
        MPI_Comm_group(MPI_COMM_SELF, &b);
        MPI_Group_translate_ranks(a, 2, ranks, b, same);
        CHECK(same[0] == 0 && same[1] == MPI_PROC_NULL);
        MPI_Group_free(&a);
        MPI_Group_free(&b);
        CHECK(a == MPI_GROUP_NULL);
    }
}

static void test_grids(MPI_Comm comm)
{
    const int dims[2] = {1, 1}, periods[2] = {1, 0}, remain[2] = {0, 1};
    int coords[2] = {9, 9}, from = 9, to = 9, size = 0, flag = 1;
    MPI_Comm grid, row;
    TEST("on a grid of one rank the neighbor is the rank itself around a ring, and nobody elsewhere") {
        MPI_Cart_create(comm, 2, dims, periods, 0, &grid);
        MPI_Cart_coords(grid, 0, 2, coords);
        CHECK(coords[0] == 0 && coords[1] == 0);
        MPI_Cart_shift(grid, 0, -3, &from, &to);
        CHECK(from == 0 && to == 0);
        MPI_Cart_shift(grid, 1, 1, &from, &to);
        CHECK(from == MPI_PROC_NULL && to == MPI_PROC_NULL);
        MPI_Cart_sub(grid, remain, &row);
        int dim = 0, period = 1;
        MPI_Cart_get(row, 1, &dim, &period, coords);
        CHECK(dim == 1 && period == 0);
        MPI_Comm_size(row, &size);
        MPI_Comm_test_inter(row, &flag);
        CHECK(size == 1 && !flag);
        MPI_Comm_free(&row);
        MPI_Comm_free(&grid);
    }
}

/** Whether `code` is the code of an error and has a text. */
static int is_error(int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    return code != MPI_SUCCESS && MPI_Error_string(code, text, &length) == MPI_SUCCESS && length > 10;
}

static void test_errors(MPI_Comm comm)
{
    MPI_Comm own;
    int out[2] = {1, 2}, in = 0, coords = 0;
    const int two = 2, period = 0;
    MPI_Request request;
    TEST(
        "where errors are returned, another rank is one, and so is what a communicator of one rank cannot do") {
        MPI_Comm_dup(comm, &own);
        MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
        MPI_Comm cart = MPI_COMM_NULL;
        CHECK(is_error(MPI_Send(out, 1, MPI_INT, 1, 0, own)));
        CHECK(is_error(MPI_Irecv(&in, 1, MPI_INT, 1, 0, own, &request)));
        CHECK(is_error(MPI_Bcast(out, 1, MPI_INT, 1, own)));
        CHECK(is_error(MPI_Reduce(out, &in, 1, MPI_INT, MPI_SUM, -1, own)));
        CHECK(is_error(MPI_Send(out, 1, MPI_INT, 0, -5, own)));
        CHECK(is_error(MPI_Send(out, -1, MPI_INT, 0, 0, own)));
        CHECK(is_error(MPI_Cart_create(own, 1, &two, &period, 0, &cart)));
        CHECK(is_error(MPI_Cart_coords(own, 0, 1, &coords)));
    }
    TEST("a message that is longer than its room is cut, and an error") {
        MPI_Isend(out, 2, MPI_INT, 0, 1, own, &request);
        CHECK(is_error(MPI_Recv(&in, 1, MPI_INT, 0, 1, own, MPI_STATUS_IGNORE)));
        MPI_Waitall(1, &request, statuses_ignore());
        MPI_Comm_free(&own);
    }
}

static void test_memory_and_files(MPI_Comm comm)
{
    TEST("a window of common memory is zeroed, aligned and found by its rank") {
        int64_t *mine = NULL, *found = NULL;
        MPI_Aint bytes = 0;
        int unit = 0;
        MPI_Win window;
        MPI_Win_allocate_shared(800, 8, MPI_INFO_NULL, comm, &mine, &window);
        MPI_Win_shared_query(window, 0, &bytes, &unit, &found);
        CHECK(found == mine && bytes >= 800 && unit == 8 && (uintptr_t)mine % 8 == 0);
        mine[99] = 1;
        MPI_Win_free(&window);
        CHECK(window == MPI_WIN_NULL);
    }
    TEST("a file is written at its places") {
        char path[64], text[8] = "";
        MPI_File file;
        snprintf(path, sizeof path, "/tmp/spmm_mpi_calls.%d", (int)getpid());
        CHECK_INT(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file),
                  MPI_SUCCESS);
        CHECK_INT(MPI_File_set_size(file, 0), MPI_SUCCESS);
        CHECK_INT(MPI_File_write_at(file, 2, "cd", 2, MPI_CHAR, MPI_STATUS_IGNORE), MPI_SUCCESS);
        CHECK_INT(MPI_File_write_at(file, 0, "ab", 2, MPI_CHAR, MPI_STATUS_IGNORE), MPI_SUCCESS);
        CHECK_INT(MPI_File_close(&file), MPI_SUCCESS);
        FILE *const written = fopen(path, "r");
        CHECK(written && fread(text, 1, sizeof text, written) == 4 && memcmp(text, "abcd", 4) == 0);
        if (written) fclose(written);
        unlink(path);
        CHECK(is_error(MPI_File_open(comm, "/no/such/folder/file", MPI_MODE_WRONLY, MPI_INFO_NULL, &file)));
    }
}

int main(int argc, char **argv)
{
    int size, level = -1, begun = 0, ended = 1;
    double start;
    test_mpi_begin(&argc, &argv, &size);
    start = MPI_Wtime();
    TEST("the process knows that it runs, and at which level of threads") {
        MPI_Initialized(&begun);
        MPI_Finalized(&ended);
        MPI_Query_thread(&level);
        CHECK(begun && !ended && level >= MPI_THREAD_SINGLE && level <= MPI_THREAD_MULTIPLE);
    }
    test_messages(MPI_COMM_WORLD);
    test_messages(MPI_COMM_SELF);
    test_some(MPI_COMM_WORLD);
    test_collectives(MPI_COMM_WORLD);
    test_communicators(MPI_COMM_WORLD);
    test_grids(MPI_COMM_WORLD);
    test_errors(MPI_COMM_WORLD);
    test_memory_and_files(MPI_COMM_WORLD);
    TEST("the clock goes on") { CHECK(MPI_Wtime() > start); }
    return test_mpi_end();
}
