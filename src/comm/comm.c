/** MPI wrappers: chunked messages, agreement on errors, reductions over ranks, and resources that the ranks
 *  of a node share. */
#include "comm/comm.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#include "base/budget.h"
#include "base/environment.h"
#include "base/memory.h"
#include "base/threads.h"
#include "base/value_type.h"
#include "base/words.h"

enum { KEY_BYTES = 64 };

spmm_status sp_mpi_status(int code, const char *call)
{
    if (code == MPI_SUCCESS) return SPMM_OK;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) snprintf(text, sizeof text, "code %d", code);
    return sp_fail(SPMM_ERR_MPI, "%s: %s", call, text);
}

int sp_mpi_runs(void)
{
    int begun = 0, ended = 0;
    MPI_Initialized(&begun);
    MPI_Finalized(&ended);
    return begun && !ended && !sp_is_forked();
}

void sp_comm_free(MPI_Comm *comm)
{
    if (*comm != MPI_COMM_NULL && sp_mpi_runs()) MPI_Comm_free(comm);
    *comm = MPI_COMM_NULL;
}

spmm_status sp_comm_check(MPI_Comm comm, const char *function)
{
    int inter = 0;
    TRY(sp_fork_check(function));
    if (!sp_mpi_runs())
        return sp_fail(SPMM_ERR_USAGE,
                       "%s: MPI is not running: expected a call between MPI_Init and MPI_Finalize", function);
    if (comm == MPI_COMM_NULL)
        return sp_fail(SPMM_ERR_USAGE, "%s: comm is MPI_COMM_NULL, expected a communicator of all callers",
                       function);
    TRY(SP_MPI(MPI_Comm_test_inter(comm, &inter)));
    if (inter)
        return sp_fail(SPMM_ERR_USAGE, "%s: comm is an inter-communicator, expected one of a single group",
                       function);
    return SPMM_OK;
}

sp_fault_kind sp_fault(const char *stage, int rank)
{
    const char *text = getenv("SPMM_FAULT");
    const size_t n = strlen(stage);
    if (!text || strncmp(text, stage, n) != 0 || text[n] != ':') return SP_FAULT_NONE;
    char *end;
    if (strtol(text + n + 1, &end, 10) != rank) return SP_FAULT_NONE;
    if (strcmp(end, ":kill") == 0) return SP_FAULT_KILL;
    if (strcmp(end, ":stop") == 0) return SP_FAULT_STOP;
    return strcmp(end, ":wrong") == 0 ? SP_FAULT_WRONG : SP_FAULT_FAIL;
}

/** Causes the fault that SPMM_FAULT requests for this stage and rank; without a fault, returns `local`. */
static spmm_status with_fault(const char *stage, int rank, spmm_status local)
{
    const sp_fault_kind fault = sp_fault(stage, rank);
    if (fault == SP_FAULT_KILL) raise(SIGKILL);
    if (fault == SP_FAULT_STOP) raise(SIGSTOP);
    if (fault == SP_FAULT_FAIL)
        return sp_fail(SPMM_ERR_INTERNAL, "SPMM_FAULT: failing in stage %s as requested", stage);
    return local;
}

spmm_status sp_agree(MPI_Comm comm, const char *stage, spmm_status local)
{
    struct {
        int status, rank;
    } mine, worst;
    TRY(SP_MPI(MPI_Comm_rank(comm, &mine.rank)));
    mine.status = (int)with_fault(stage, mine.rank, local);
    TRY(SP_MPI(MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MAXLOC, comm)));
    if (worst.status == SPMM_OK) return SPMM_OK;
    char text[SP_MESSAGE_BYTES] = "", prefix[32] = "";
    if (worst.rank > 0) snprintf(prefix, sizeof prefix, "rank %d: ", worst.rank);
    if (mine.rank == worst.rank)
        snprintf(text, sizeof text, "%s%.*s", prefix, SP_MESSAGE_BYTES - 32, spmm_error_message());
    TRY(SP_MPI(MPI_Bcast(text, sizeof text, MPI_CHAR, worst.rank, comm)));
    sp_set_message(text);
    return (spmm_status)worst.status;
}

void sp_abandon(MPI_Comm comm, spmm_status status)
{
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    fflush(stdout);
    fprintf(stderr, "%s: error: ", SHOWN(program_invocation_short_name));
    if (rank > 0) fprintf(stderr, "rank %d: ", rank); /* the same prefix as in the messages of sp_agree() */
    fprintf(stderr, "%s\n", spmm_error_message());
    fflush(stderr);
    /* waits, because MPICH's mpiexec may otherwise end before it has read the message */
    static const struct timespec moment = {.tv_nsec = 100000000};
    (void)nanosleep(&moment, NULL);
    /* To abort a communicator other than MPI_COMM_WORLD, MPICH 4.0 sends messages to its ranks, and waits
     * forever for a rank that is stopped. So MPI_COMM_WORLD is aborted if comm has the same ranks. */
    int same = MPI_UNEQUAL;
    MPI_Comm_compare(comm, MPI_COMM_WORLD, &same);
    MPI_Abort(same == MPI_UNEQUAL ? comm : MPI_COMM_WORLD, sp_exit_code(status));
}

enum { MOST_CHUNK_BYTES = 1 << 30 };
/* value of SPMM_CHUNK_BYTES or the default; 0: not read from the environment yet */
static _Atomic int64_t chunk_bytes;

void sp_set_chunk_bytes(int64_t bytes) { chunk_bytes = bytes; }

MPI_Datatype sp_mpi_type(spmm_precision p)
{
#define TYPE(argument, word, id, T, R, parts, digits, numpy, mpi, ...) \
    case id: return mpi;
    switch (p) {
        SP_VALUE_TYPES(TYPE, )
    }
#undef TYPE
    return MPI_DATATYPE_NULL;
}

int64_t sp_chunk_bytes(void)
{
    int64_t known = chunk_bytes;
    if (known > 0) return known;
    known = sp_environment_number("SPMM_CHUNK_BYTES", MOST_CHUNK_BYTES);
    chunk_bytes = known;
    return known;
}

int64_t sp_chunk_of(int64_t most, int64_t bytes)
{
    const int64_t few = bytes / SP_MOST_CHUNKS + (bytes % SP_MOST_CHUNKS > 0);
    return most >= few ? most : few < MOST_CHUNK_BYTES ? few : MOST_CHUNK_BYTES;
}

/** Returns the size of the chunk at byte `at` of a message of `bytes` bytes; 0 at its end. */
static int64_t chunk_at(int64_t at, int64_t bytes)
{
    const int64_t left = bytes - at, chunk = sp_chunk_of(sp_chunk_bytes(), bytes);
    return left < chunk ? left : chunk;
}

spmm_status sp_send(MPI_Comm comm, int to, int tag, const void *data, int64_t bytes)
{
    for (int64_t at = 0, n; (n = chunk_at(at, bytes)) > 0; at += n)
        TRY(SP_MPI(MPI_Send((const char *)data + at, (int)n, MPI_BYTE, to, tag, comm)));
    return SPMM_OK;
}

spmm_status sp_recv(MPI_Comm comm, int from, int tag, void *data, int64_t bytes)
{
    for (int64_t at = 0, n; (n = chunk_at(at, bytes)) > 0; at += n)
        TRY(SP_MPI(MPI_Recv((char *)data + at, (int)n, MPI_BYTE, from, tag, comm, MPI_STATUS_IGNORE)));
    return SPMM_OK;
}

int sp_chunks(int64_t bytes)
{
    const int64_t chunk = sp_chunk_of(sp_chunk_bytes(), bytes);
    return (int)((bytes + chunk - 1) / chunk);
}

spmm_status sp_isend(MPI_Comm comm, int to, int tag, const void *data, int64_t bytes, MPI_Request *request,
                     int *count)
{
    for (int64_t at = 0, n; (n = chunk_at(at, bytes)) > 0; at += n)
        TRY(SP_MPI(
            MPI_Isend((const char *)data + at, (int)n, MPI_BYTE, to, tag, comm, &request[(*count)++])));
    return SPMM_OK;
}

spmm_status sp_irecv(MPI_Comm comm, int from, int tag, void *data, int64_t bytes, MPI_Request *request,
                     int *count)
{
    for (int64_t at = 0, n; (n = chunk_at(at, bytes)) > 0; at += n)
        TRY(SP_MPI(MPI_Irecv((char *)data + at, (int)n, MPI_BYTE, from, tag, comm, &request[(*count)++])));
    return SPMM_OK;
}

spmm_status sp_wait(MPI_Request *request, int count)
{
    /* volatile, because gcc considers MPICH's MPI_STATUSES_IGNORE, (MPI_Status *)1, an array and warns about
     * its size */
    MPI_Status *volatile ignore = MPI_STATUSES_IGNORE;
    return SP_MPI(MPI_Waitall(count, request, ignore));
}

spmm_status sp_swap_lists(MPI_Comm comm, MPI_Comm all, int64_t size, const int64_t *sent, const void *out,
                          const int64_t *received, void *in)
{
    MPI_Request *request;
    int count, chunks = 0, requests = 0;
    MPI_Comm_size(comm, &count);
    for (int i = 0; i < count; i++) chunks += sp_chunks(size * sent[i]) + sp_chunks(size * received[i]);
    spmm_status status = sp_agree(
        all, "halo", sp_alloc((void **)&request, chunks, sizeof *request, "the halo's messages"));
    for (int i = 0; status == SPMM_OK && i < count; in = (char *)in + size * received[i++])
        status = sp_irecv(comm, i, SP_TAG_HALO_LIST, in, size * received[i], request, &requests);
    for (int i = 0; status == SPMM_OK && i < count; out = (const char *)out + size * sent[i++])
        status = sp_isend(comm, i, SP_TAG_HALO_LIST, out, size * sent[i], request, &requests);
    if (status == SPMM_OK) status = sp_wait(request, requests);
    sp_free(request);
    return status;
}

spmm_status sp_bcast(MPI_Comm comm, int root, void *data, int64_t bytes)
{
    for (int64_t at = 0, n; (n = chunk_at(at, bytes)) > 0; at += n)
        TRY(SP_MPI(MPI_Bcast((char *)data + at, (int)n, MPI_BYTE, root, comm)));
    return SPMM_OK;
}

spmm_status sp_all(MPI_Comm comm, int mine, int *all)
{
    return SP_MPI(MPI_Allreduce(&mine, all, 1, MPI_INT, MPI_LAND, comm));
}

spmm_status sp_collect(MPI_Comm comm, const void *mine, int bytes, void *all)
{
    return SP_MPI(MPI_Gather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, 0, comm));
}

spmm_status sp_collect_everywhere(MPI_Comm comm, const void *mine, int bytes, void *all)
{
    return SP_MPI(MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm));
}

/** Sets most[0 .. 2 * count - 1] to numbers whose maxima over the ranks tell_difference() evaluates. */
static void set_extremes(const sp_common *list, int count, int64_t *most)
{
    for (int i = 0; i < count; i++) {
        most[i] = list[i].value;
        /* the maximum of ~value gives the minimum of value; ~ cannot overflow, unlike - */
        most[count + i] = ~list[i].value;
    }
}

/** Compares the greatest and the least value of each argument. \return SPMM_OK; SPMM_ERR_USAGE if they
 *  differ */
static spmm_status tell_difference(const char *function, const sp_common *list, int count,
                                   const int64_t *most)
{
    for (int i = 0; i < count; i++) {
        const long long greatest = most[i], least = ~most[count + i];
        if (least == greatest) continue;
        if (!list[i].tells)
            return sp_fail(SPMM_ERR_USAGE, "%s: %s differs between ranks, expected the same on all", function,
                           list[i].name);
        return sp_fail(SPMM_ERR_USAGE,
                       "%s: %s is %lld on one rank and %lld on another, expected the same on all", function,
                       list[i].name, least, greatest);
    }
    return SPMM_OK;
}

spmm_status sp_check_common(MPI_Comm comm, const char *function, const sp_common *list, int count)
{
    int64_t most[2 * SP_MOST_COMMON];
    set_extremes(list, count, most);
    TRY(SP_MPI(MPI_Allreduce(MPI_IN_PLACE, most, 2 * count, MPI_INT64_T, MPI_MAX, comm)));
    return tell_difference(function, list, count, most);
}

spmm_status sp_agree_common(MPI_Comm comm, const char *stage, spmm_status local, const char *function,
                            const sp_common *list, int count)
{
    int rank;
    int64_t most[2 * SP_MOST_COMMON + 1];
    TRY(SP_MPI(MPI_Comm_rank(comm, &rank)));
    local = with_fault(stage, rank, local);
    set_extremes(list, count, most);
    most[2 * count] = local;
    TRY(SP_MPI(MPI_Allreduce(MPI_IN_PLACE, most, 2 * count + 1, MPI_INT64_T, MPI_MAX, comm)));
    return most[2 * count] == SPMM_OK ? tell_difference(function, list, count, most)
                                      : sp_agree(comm, stage, local);
}

spmm_status sp_slowest(MPI_Comm comm, double *values, int count)
{
    return SP_MPI(MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_MAX, comm));
}

/* Uses a reduction and a broadcast: MPI only recommends that MPI_Allreduce give the same bits on every
 * rank. */
spmm_status sp_sum(MPI_Comm comm, double *values, int count)
{
    int rank;
    TRY(SP_MPI(MPI_Comm_rank(comm, &rank)));
    TRY(SP_MPI(MPI_Reduce(rank == 0 ? MPI_IN_PLACE : values, values, count, MPI_DOUBLE, MPI_SUM, 0, comm)));
    return SP_MPI(MPI_Bcast(values, count, MPI_DOUBLE, 0, comm));
}

spmm_status sp_gather_everywhere(MPI_Comm comm, double *values, const int64_t *begin, int size)
{
    int *count;
    TRY(sp_agree(comm, "gather", sp_alloc((void **)&count, 2 * (int64_t)size, sizeof *count, "counts")));
    for (int r = 0; r < size; r++) {
        count[r] = (int)(begin[r + 1] - begin[r]);
        count[size + r] = (int)begin[r];
    }
    const spmm_status status = SP_MPI(
        MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, count, count + size, MPI_DOUBLE, comm));
    sp_free(count);
    return status;
}

spmm_status sp_node_comm(MPI_Comm comm, MPI_Comm *node)
{
    int rank;
    TRY(SP_MPI(MPI_Comm_rank(comm, &rank)));
    return SP_MPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, node));
}

spmm_status sp_node_rank(MPI_Comm comm, int *node_rank, int *node_size)
{
    MPI_Comm node;
    TRY(sp_node_comm(comm, &node));
    MPI_Comm_rank(node, node_rank);
    MPI_Comm_size(node, node_size);
    sp_comm_free(&node);
    return SPMM_OK;
}

spmm_status sp_node_sharers(MPI_Comm comm, const char *key, int *place, int *sharers)
{
    MPI_Comm node;
    TRY(sp_node_comm(comm, &node));
    int rank, size;
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &size);
    char mine[KEY_BYTES] = "", *all;
    snprintf(mine, sizeof mine, "%s", key);
    spmm_status status = sp_alloc((void **)&all, size, KEY_BYTES, "the keys of a node's ranks");
    status = sp_agree(comm, "binding", status);
    if (status == SPMM_OK)
        status = SP_MPI(MPI_Allgather(mine, KEY_BYTES, MPI_CHAR, all, KEY_BYTES, MPI_CHAR, node));
    *place = *sharers = 0;
    for (int r = 0; status == SPMM_OK && r < size; r++)
        if (strcmp(all + (size_t)r * KEY_BYTES, mine) == 0) {
            *sharers += 1;
            *place += r < rank;
        }
    sp_free(all);
    sp_comm_free(&node);
    return status;
}

spmm_status sp_node_memory_create(MPI_Comm comm, int64_t bytes, sp_node_memory *memory)
{
    MPI_Comm own;
    void *mine;
    *memory = (sp_node_memory){0};
    TRY(SP_MPI(MPI_Comm_dup(comm, &own)));
    MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN); /* the MPI library may have no shared windows */
    const spmm_status status = SP_MPI(
        MPI_Win_allocate_shared((MPI_Aint)bytes, 1, MPI_INFO_NULL, own, &mine, &memory->window));
    memory->made = status == SPMM_OK;
    if (status == SPMM_OK) memset(mine, 0, (size_t)bytes);
    int all = 0;
    const spmm_status told = sp_all(own, memory->made, &all);
    sp_comm_free(&own);
    /* if only some ranks have memory, it cannot be freed, because freeing is collective */
    if (told != SPMM_OK || !all) memory->made = 0;
    TRY(status);
    TRY(told);
    return all ? SPMM_OK : sp_fail(SPMM_ERR_MPI, "a rank of this node cannot allocate shared memory");
}

void *sp_node_memory_of(const sp_node_memory *memory, int rank)
{
    MPI_Aint bytes;
    int unit;
    void *part = NULL;
    if (!memory->made || MPI_Win_shared_query(memory->window, rank, &bytes, &unit, &part) != MPI_SUCCESS)
        return NULL;
    return part;
}

void sp_node_memory_destroy(sp_node_memory *memory)
{
    if (memory->made && sp_mpi_runs()) MPI_Win_free(&memory->window);
    memory->made = 0;
}

spmm_status sp_share_memory(MPI_Comm comm, sp_shared_memory *memory)
{
    MPI_Comm node, alike;
    int64_t *taken = NULL;
    int sharers = 1;
    /* ranks with limits of different control groups do not count together; without limits, all ranks of a
     * node do */
    const uint64_t group = sp_budget_group();
    TRY(sp_node_comm(comm, &node));
    const spmm_status split = SP_MPI(
        MPI_Comm_split(node, (int)((group ^ group >> 31) & INT32_MAX), 0, &alike));
    sp_comm_free(&node);
    TRY(split);
    MPI_Comm_size(alike, &sharers);
    if (sharers > 1 && sp_node_memory_create(alike, sizeof *taken, &memory->counter) == SPMM_OK)
        taken = sp_node_memory_of(&memory->counter, 0);
    const spmm_status status = sp_all(alike, taken != NULL, &memory->shared);
    sp_comm_free(&alike);
    TRY(status);
    sp_budget_share(memory->shared ? taken : NULL, sharers);
    /* no rank may allocate before every rank has read how much memory is available */
    return SP_MPI(MPI_Barrier(comm));
}

void sp_unshare_memory(sp_shared_memory *memory)
{
    sp_budget_share(NULL, 1);
    sp_node_memory_destroy(&memory->counter);
    memory->shared = 0;
}

int sp_mpi_takes_device_memory(void)
{
#ifdef OPEN_MPI
    return MPIX_Query_cuda_support();
#else
    return 0;
#endif
}

/* ---- trials ---- */

static spmm_status start_together(void *comm) { return SP_MPI(MPI_Barrier(*(MPI_Comm *)comm)); }

static spmm_status agree_together(void *comm, const char *stage, spmm_status local)
{
    return sp_agree(*(MPI_Comm *)comm, stage, local);
}

static spmm_status slowest_together(void *comm, double *seconds)
{
    return sp_slowest(*(MPI_Comm *)comm, seconds, 1);
}

sp_together sp_ranks_together(MPI_Comm *comm)
{
    return (sp_together){comm, start_together, agree_together, slowest_together};
}
