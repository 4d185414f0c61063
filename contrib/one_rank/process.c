/** Start, end and errors of the process. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "contrib/one_rank/one_rank.h"

struct spmm_one_rank_comm spmm_one_rank_world = {.handler = MPI_ERRORS_ARE_FATAL, .cart_dims = -1};
struct spmm_one_rank_comm spmm_one_rank_self = {.handler = MPI_ERRORS_ARE_FATAL, .cart_dims = -1};

static atomic_int begun, ended;
static int thread_level;

/** Ends the process as MPI_Abort() does: without running the functions registered with atexit(), because
 *  other threads may be computing. */
static _Noreturn void process_end(int code)
{
    fflush(stdout);
    fflush(stderr);
    _exit(code);
}

void sp_one_rank_must_run(const char *call)
{
    if (begun && !ended) return;
    fprintf(stderr, "%s was called %s\n", call, begun ? "after MPI_Finalize" : "before MPI_Init");
    process_end(1);
}

static const char *const error_texts[MPI_ERR_LASTCODE + 1] = {
    [MPI_SUCCESS] = "MPI_SUCCESS: no error",
    [MPI_ERR_BUFFER] = "MPI_ERR_BUFFER: invalid buffer pointer",
    [MPI_ERR_COUNT] = "MPI_ERR_COUNT: invalid count",
    [MPI_ERR_TYPE] = "MPI_ERR_TYPE: invalid datatype",
    [MPI_ERR_TAG] = "MPI_ERR_TAG: invalid tag",
    [MPI_ERR_COMM] = "MPI_ERR_COMM: invalid communicator",
    [MPI_ERR_RANK] = "MPI_ERR_RANK: invalid rank, with one process (make MPI=0) there is only rank 0",
    [MPI_ERR_ROOT] = "MPI_ERR_ROOT: invalid root, with one process (make MPI=0) there is only rank 0",
    [MPI_ERR_GROUP] = "MPI_ERR_GROUP: invalid group",
    [MPI_ERR_OP] = "MPI_ERR_OP: invalid operation",
    [MPI_ERR_TOPOLOGY] = "MPI_ERR_TOPOLOGY: the communicator is not Cartesian",
    [MPI_ERR_DIMS] = "MPI_ERR_DIMS: invalid dimensions, of one process (make MPI=0) each is 1",
    [MPI_ERR_ARG] = "MPI_ERR_ARG: invalid argument",
    [MPI_ERR_TRUNCATE] = "MPI_ERR_TRUNCATE: message truncated",
    [MPI_ERR_REQUEST] = "MPI_ERR_REQUEST: invalid request",
    [MPI_ERR_KEYVAL] = "MPI_ERR_KEYVAL: invalid key",
    [MPI_ERR_NO_MEM] = "MPI_ERR_NO_MEM: no memory",
    [MPI_ERR_WIN] = "MPI_ERR_WIN: invalid window",
    [MPI_ERR_FILE] = "MPI_ERR_FILE: invalid file",
    [MPI_ERR_IO] = "MPI_ERR_IO: input/output error",
    [MPI_ERR_NO_SUCH_FILE] = "MPI_ERR_NO_SUCH_FILE: no such file",
    [MPI_ERR_IN_STATUS] = "MPI_ERR_IN_STATUS: the statuses have the error codes",
};

int MPI_Error_string(int code, char *text, int *length)
{
    if (code < 0 || code > MPI_ERR_LASTCODE || !text || !length) return MPI_ERR_ARG;
    *length = snprintf(text, MPI_MAX_ERROR_STRING, "%s", error_texts[code]);
    return MPI_SUCCESS;
}

int sp_one_rank_fail(MPI_Comm comm, int code, const char *call)
{
    if ((comm ? comm : MPI_COMM_WORLD)->handler == MPI_ERRORS_RETURN) return code;
    fprintf(stderr, "%s: %s\n", call, error_texts[code]);
    process_end(code);
}

int sp_one_rank_check(MPI_Comm comm, const char *call)
{
    sp_one_rank_must_run(call);
    return comm == MPI_COMM_NULL ? sp_one_rank_fail(NULL, MPI_ERR_COMM, call) : MPI_SUCCESS;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    (void)argc, (void)argv;
    int before = 0;
    if (!atomic_compare_exchange_strong(&begun, &before, 1)) {
        fprintf(stderr, "MPI_Init was called twice\n");
        process_end(1);
    }
    thread_level = required < MPI_THREAD_SINGLE     ? MPI_THREAD_SINGLE
                   : required > MPI_THREAD_MULTIPLE ? MPI_THREAD_MULTIPLE
                                                    : required;
    if (provided) *provided = thread_level;
    return MPI_SUCCESS;
}

int MPI_Init(int *argc, char ***argv) { return MPI_Init_thread(argc, argv, MPI_THREAD_SINGLE, NULL); }

int MPI_Initialized(int *flag)
{
    *flag = begun;
    return MPI_SUCCESS;
}

void sp_one_rank_end(void) { ended = 1; }

int MPI_Finalized(int *flag)
{
    *flag = ended;
    return MPI_SUCCESS;
}

int MPI_Query_thread(int *provided)
{
    sp_one_rank_must_run("MPI_Query_thread");
    *provided = thread_level;
    return MPI_SUCCESS;
}

int MPI_Abort(MPI_Comm comm, int code)
{
    (void)comm;
    sp_one_rank_must_run("MPI_Abort");
    process_end(code);
}

double MPI_Wtime(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int MPI_Get_version(int *version, int *subversion)
{
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}

int MPI_Get_library_version(char *text, int *length)
{
    *length = snprintf(text, MPI_MAX_LIBRARY_VERSION_STRING, "no MPI: one process (spmm_mpi, make MPI=0)");
    return MPI_SUCCESS;
}

int MPI_Get_processor_name(char *name, int *length)
{
    sp_one_rank_must_run("MPI_Get_processor_name");
    if (gethostname(name, MPI_MAX_PROCESSOR_NAME) != 0) name[0] = '\0';
    name[MPI_MAX_PROCESSOR_NAME - 1] = '\0';
    *length = (int)strlen(name);
    return MPI_SUCCESS;
}
