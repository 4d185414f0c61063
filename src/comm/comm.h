/** MPI as all stages use it: checked calls, agreement on errors, messages of more than 2^31 bytes. */
#ifndef SP_COMM_H
#define SP_COMM_H

#include "base/status.h"
#include "spmm.h"

/** The status of an MPI call: use as TRY(SP_MPI(MPI_Barrier(comm))). Under MPI's default error handler, which the
 *  communicators of a grid inherit, a failing call never returns; this serves callers who set
 *  MPI_ERRORS_RETURN on their communicator. */
#define SP_MPI(call) sp_mpi_status((call), #call)

/** Translates the return code of an MPI call; `call` is its text, for the message. Local.
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_mpi_status(int code, const char *call);

/** Returns 1 between MPI_Init and MPI_Finalize, else 0. Local. */
int sp_mpi_runs(void);

/** Checks that a collective function can use comm at all. Where it cannot, there is no way to tell the other ranks.
 *  Local.
 *  \param [in] function  the public function's name, for the message
 *  \return SPMM_OK, SPMM_ERR_USAGE (MPI does not run; comm is MPI_COMM_NULL or an inter-communicator), _MPI */
spmm_status sp_comm_check(MPI_Comm comm, const char *function);

/** Agrees on the outcome of a local phase.
 *
 *  Collective over comm. Every rank passes the status of its own work; when any failed, every rank returns the
 *  highest status code (of equal ones, that of the lowest rank) and gets that rank's message, prefixed by "rank R: "
 *  unless R is 0.
 *  \param [in] stage  the phase's name, by which SPMM_FAULT selects it (sp_fault()) */
spmm_status sp_agree(MPI_Comm comm, const char *stage, spmm_status local);

/** Prints the message and ends all processes of comm (MPI_Abort) with the exit code of the status: for failures of
 *  this rank that would leave others waiting for it. Does not return. Local. */
void sp_abandon(MPI_Comm comm, spmm_status status);

/** Faults on demand, for tests. The environment variable SPMM_FAULT=STAGE:RANK[:KIND] makes that rank fail in that
 *  stage (without KIND), kill itself (kill), stop until SIGCONT (stop), or corrupt one element of the result (wrong:
 *  in the stages `apply` of spmm_mpi and `step` of series_mpi). Stages are named by the callers of sp_agree(). */
typedef enum sp_fault_kind {
    SP_FAULT_NONE,
    SP_FAULT_FAIL,
    SP_FAULT_KILL,
    SP_FAULT_STOP,
    SP_FAULT_WRONG
} sp_fault_kind;

/** Returns what SPMM_FAULT wants of this rank in this stage. Local. */
sp_fault_kind sp_fault(const char *stage, int rank);

/** The tags of all point-to-point messages: one for each kind, so that kinds of message that are in flight at the
 *  same time on one communicator are not mistaken for each other. */
typedef enum sp_tag {
    SP_TAG_LENGTHS = 1, /* scatter: row starts, columns and values of a block of A, and rows of X */
    SP_TAG_JA,
    SP_TAG_AS,
    SP_TAG_X,
    SP_TAG_OLD_ROWS, /* scatter: the row numbers from before --partition graph */
    SP_TAG_Y,        /* gather: rows of Y, and a block of A */
    SP_TAG_GATHER_STARTS,
    SP_TAG_GATHER_JA,
    SP_TAG_GATHER_AS,
    SP_TAG_PART_BEGIN,   /* parallel reading: where the next rank's part of the file begins */
    SP_TAG_ROW_COUNTS,   /* parallel reading: row counts */
    SP_TAG_HALO_LIST,    /* halo: the rows of X that the sender of the list needs */
    SP_TAG_ROWS,         /* halo exchange: rows of X */
    SP_TAG_PEER_SETUP,   /* peer exchange: handshake */
    SP_TAG_PEER_READY,   /* peer exchange: ready messages */
    SP_TAG_PEER_WRITTEN, /* peer exchange: the rows have been written */
    SP_TAG_PARTIAL,      /* reduce: a partial Y */
    SP_TAG_PROBE,        /* measuring latency and bandwidth */
    SP_TAG_SERIES,       /* series_mpi: series */
    SP_TAG_PICKED        /* series_mpi: picked coefficients */
} sp_tag;

/** Sends `bytes` bytes to rank `to` (MPI_Send), in messages of at most sp_chunk_bytes() each. The receiver uses
 *  sp_recv() or sp_irecv() with the same number of bytes and the same bound. \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_send(MPI_Comm comm, int to, int tag, const void *data, int64_t bytes);

/** Receives what sp_send() or sp_isend() sends, `bytes` bytes from rank `from`; blocking. \return as sp_send() */
spmm_status sp_recv(MPI_Comm comm, int from, int tag, void *data, int64_t bytes);

/** Broadcasts `bytes` bytes from rank root, in chunks likewise. Collective over comm. \return as sp_send() */
spmm_status sp_bcast(MPI_Comm comm, int root, void *data, int64_t bytes);

/** Returns the most bytes of one message: SPMM_CHUNK_BYTES, 1 to 2^30, read from the environment once; the default
 *  is 1 GiB, so that counts stay below 2^31 in every MPI library. Local. */
int64_t sp_chunk_bytes(void);

/** Replaces that bound, which must be the same on every rank; 0: reads the environment again. For tests. Local. */
void sp_set_chunk_bytes(int64_t bytes);

/** Returns the number of messages, and so of requests, that `bytes` bytes take. Local. */
int sp_chunks(int64_t bytes);

/** Starts a send as sp_send() does it, without waiting. Appends the requests of its messages at request + *count,
 *  where the caller has space for sp_chunks(bytes) of them, and advances *count. The data must not be modified
 *  before the requests are complete. \return as sp_send() */
spmm_status sp_isend(MPI_Comm comm, int to, int tag, const void *data, int64_t bytes, MPI_Request *request,
                     int *count);

/** Starts a receive as sp_recv() does it, with requests as in sp_isend(). \return as sp_send() */
spmm_status sp_irecv(MPI_Comm comm, int from, int tag, void *data, int64_t bytes, MPI_Request *request,
                     int *count);

/** Waits until all of the requests are complete. \return as sp_send() */
spmm_status sp_wait(MPI_Request *request, int count);

/** Sets *all to 1 on every rank when `mine` is nonzero on every rank, else to 0. Collective over comm. */
spmm_status sp_all(MPI_Comm comm, int mine, int *all);

/** Gathers `bytes` bytes of every rank on rank 0, in rank order. Collective over comm.
 *  \param [out] all  [size * bytes] on rank 0; ignored on the others */
spmm_status sp_collect(MPI_Comm comm, const void *mine, int bytes, void *all);

/** Gathers `bytes` bytes of every rank on every rank, in rank order; all [size * bytes]. Collective over comm. */
spmm_status sp_collect_everywhere(MPI_Comm comm, const void *mine, int bytes, void *all);

/** An argument that must be the same on every rank. */
typedef struct sp_common {
    const char *name;
    int64_t value;
    int tells; /**< 1: the message shows the values; 0: they would mean nothing to the user */
} sp_common;

/** Most arguments that one call of sp_check_common() compares. */
enum { SP_MOST_COMMON = 32 };

/** Checks that each of the listed arguments is the same on every rank. Collective over comm.
 *  \param [in] function  the public function's name, for the message
 *  \param [in] count     arguments in the list, at most SP_MOST_COMMON
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (names the first that differs), _MPI */
spmm_status sp_check_common(MPI_Comm comm, const char *function, const sp_common *list, int count);

/** Replaces values [count], e.g. seconds, by their elementwise maximum over the ranks, on every rank. Collective over
 *  comm. */
spmm_status sp_slowest(MPI_Comm comm, double *values, int count);

/** Replaces values [count] by their elementwise sum over the ranks, with the same bits on every rank. Collective over
 *  comm. */
spmm_status sp_sum(MPI_Comm comm, double *values, int count);

/** Gathers on every rank the values of all ranks: before the call rank r has values[begin[r] .. begin[r+1]-1], after
 *  it every rank has all of them. Collective over comm.
 *  \param [in,out] values  [begin[size]]
 *  \param [in]     begin   the same on every rank, [size + 1]; begin[size] is at most 2^31 - 1
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_MPI */
spmm_status sp_gather_everywhere(MPI_Comm comm, double *values, const int64_t *begin, int size);

/** Gets the number of ranks of comm on this rank's node, and which of them this one is, from 0 on. Collective over
 *  comm. */
spmm_status sp_node_rank(MPI_Comm comm, int *node_rank, int *node_size);

/** Counts the ranks of this node that pass the same key. Collective over comm.
 *  \param [in]  key      at most 63 characters
 *  \param [out] place    which of these ranks this one is, from 0 on
 *  \param [out] sharers  number of these ranks, at least 1
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_MPI */
spmm_status sp_node_sharers(MPI_Comm comm, const char *key, int *place, int *sharers);

/** What the ranks of a node share while they count their allocations together; zeroed: nothing. */
typedef struct sp_shared_memory {
    int shared;     /**< 1: window exists */
    MPI_Win window; /**< holds the bytes that the ranks have allocated together */
} sp_shared_memory;

/** Makes the ranks that share a node and its memory limit count their allocations together (budget.h), so that the
 *  sum of what they request is checked against the memory that is available. For programs, not for the library; to be
 *  called before any rank has allocated much. Where the MPI library has no shared windows, each rank counts alone.
 *
 *  Collective over comm.
 *  \param [in,out] memory  zeroed by the caller, who ends the sharing by sp_unshare_memory()
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_share_memory(MPI_Comm comm, sp_shared_memory *memory);

/** Ends the sharing: each rank counts alone again. Accepts a zeroed object. Collective over the same ranks. */
void sp_unshare_memory(sp_shared_memory *memory);

/** Returns 1 when the MPI library says, at run time, that it sends from and receives into GPU memory; 0 otherwise,
 *  also where it cannot be asked (all but Open MPI). Local. */
int sp_mpi_takes_device_memory(void);

#endif
