/** MPI wrappers: checked calls, agreement on errors, messages of more than 2^31 bytes, reductions over ranks,
 *  and resources that the ranks of a node share. */
#ifndef SP_COMM_H
#define SP_COMM_H

#include "base/status.h"
#include "base/trial.h"
#include "spmm.h"

/** Makes an MPI call and returns its spmm_status, as in TRY(SP_MPI(MPI_Barrier(comm))). Under MPI's default
 *  error handler, which the library's communicators inherit, a failing MPI call never returns. The status
 *  matters in programs that set MPI_ERRORS_RETURN on their communicator. */
#define SP_MPI(call) sp_mpi_status((call), #call)

/** Translates the return code of an MPI call into an spmm_status; `call` is the text of the call, for the
 *  message. Local.
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_mpi_status(int code, const char *call);

/** Returns 1 between MPI_Init and MPI_Finalize, else 0. Returns 0 in a forked process, which cannot use MPI
 *  (sp_is_forked()). Local. */
int sp_mpi_runs(void);

/** Frees a communicator, and sets it to MPI_COMM_NULL; accepts MPI_COMM_NULL. Collective over *comm. If
 *  sp_mpi_runs() is 0, e.g. after MPI_Finalize, it frees nothing, because MPI would end the program. */
void sp_comm_free(MPI_Comm *comm);

/** Checks that a collective function can use comm. If it cannot, there is no way to notify the other ranks.
 *  Local.
 *  \param [in] function  name of the public function, for the message
 *  \return SPMM_OK, SPMM_ERR_USAGE (MPI is not running; comm is MPI_COMM_NULL or an inter-communicator),
 *          _MPI */
spmm_status sp_comm_check(MPI_Comm comm, const char *function);

/** Makes all ranks agree on the outcome of a local phase.
 *
 *  Collective over comm. Every rank passes the status of its own work. If any rank failed, all ranks return
 *  the highest status code that was passed, and get the error message of the lowest rank R that passed it,
 *  prefixed by "rank R: " unless R is 0.
 *  \param [in] stage  name of the phase, by which SPMM_FAULT selects it (see sp_fault())
 *  \param [in] local  this rank's status */
spmm_status sp_agree(MPI_Comm comm, const char *stage, spmm_status local);

/** Prints the error message and ends all processes of comm (MPI_Abort) with the exit code for `status`. Use
 *  it if this rank fails and others would wait for it forever. Does not return. Local. */
void sp_abandon(MPI_Comm comm, spmm_status status);

/** Faults on demand, for tests. The environment variable SPMM_FAULT=STAGE:RANK[:KIND] makes the given rank,
 *  in the given stage, fail (no KIND), kill itself (kill), stop until SIGCONT (stop), or corrupt one element
 *  of the result (wrong: only in stage `apply` of spmm_mpi and stage `step` of series_mpi). The callers of
 *  sp_agree() name the stages. */
typedef enum sp_fault_kind {
    SP_FAULT_NONE,
    SP_FAULT_FAIL,
    SP_FAULT_KILL,
    SP_FAULT_STOP,
    SP_FAULT_WRONG
} sp_fault_kind;

/** Returns the fault that SPMM_FAULT requests for a stage and a rank. Local. */
sp_fault_kind sp_fault(const char *stage, int rank);

/** The tags of point-to-point messages. Each kind of message has its own tag, so that messages of different
 *  kinds in flight on the same communicator are not mistaken for each other. The messages of --timeout
 *  (cli/heartbeat.c) travel on a separate communicator and are not listed here. */
typedef enum sp_tag {
    SP_TAG_LENGTHS = 1,   /* scatter: row starts of a block of A */
    SP_TAG_JA,            /* scatter: column indices of a block of A */
    SP_TAG_AS,            /* scatter: values of a block of A */
    SP_TAG_X,             /* scatter: rows of X */
    SP_TAG_OLD_ROWS,      /* scatter: the row numbers from before a renumbering */
    SP_TAG_Y,             /* gather: rows of Y */
    SP_TAG_GATHER_STARTS, /* gather: row starts of a block of A */
    SP_TAG_GATHER_JA,     /* gather: column indices of a block of A */
    SP_TAG_GATHER_AS,     /* gather: values of a block of A */
    SP_TAG_ROW_COUNTS,    /* parallel reading: number of entries per row */
    SP_TAG_HALO_LIST,     /* halo: lists of rows of X, and the rows of A that the receiver multiplies */
    SP_TAG_ROWS,          /* halo exchange: rows of X */
    SP_TAG_PEER_SETUP,    /* peer exchange: handshake between two ranks */
    SP_TAG_PARTIAL,       /* reduce: partial sums of Y */
    SP_TAG_PROBE,         /* measuring latency and bandwidth */
    SP_TAG_SERIES,        /* series_mpi: the values of series */
    SP_TAG_PICKED         /* series_mpi: the picked coefficients */
} sp_tag;

/** Sends `bytes` bytes to rank `to` (MPI_Send), in messages of sp_chunk_of() bytes. The receiver
 *  calls sp_recv() or sp_irecv() with the same number of bytes and has the same sp_chunk_bytes().
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_send(MPI_Comm comm, int to, int tag, const void *data, int64_t bytes);

/** Receives `bytes` bytes that rank `from` sends with sp_send() or sp_isend(); blocks until they have
 *  arrived.
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_recv(MPI_Comm comm, int from, int tag, void *data, int64_t bytes);

/** Broadcasts `bytes` bytes from rank root, in messages of sp_chunk_of() bytes. Collective over comm.
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_bcast(MPI_Comm comm, int root, void *data, int64_t bytes);

/** Returns the maximum size of a message in bytes: the environment variable SPMM_CHUNK_BYTES, 1 to 2^30,
 *  which is read once. The default is 1 GiB, so that counts stay below 2^31 in every MPI library. Local. */
int64_t sp_chunk_bytes(void);

/** Returns MPI's type for values of type p. Local. */
MPI_Datatype sp_mpi_type(spmm_precision p);

/** Returns the size in bytes of the messages into which a transfer of `bytes` bytes is divided: `most`, e.g.
 *  sp_chunk_bytes(), or more if there would be more than SP_MOST_CHUNKS messages. The time that MPI libraries
 *  spend on pending messages grows with the square of their number. Local. */
int64_t sp_chunk_of(int64_t most, int64_t bytes);
enum { SP_MOST_CHUNKS = 4096 };

/** Sets the maximum size of a message in bytes, which must be the same on every rank; 0: read
 *  SPMM_CHUNK_BYTES again. For tests. Local. */
void sp_set_chunk_bytes(int64_t bytes);

/** Returns the number of messages into which `bytes` bytes are divided. Each message needs one MPI request.
 *  Local. */
int sp_chunks(int64_t bytes);

/** Starts a nonblocking send, divided into messages as in sp_send(). Stores the MPI requests from
 *  request[*count] on, where the caller has space for sp_chunks(bytes) of them, and adds their number to
 *  *count. The data must not be modified before the requests are complete.
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_isend(MPI_Comm comm, int to, int tag, const void *data, int64_t bytes, MPI_Request *request,
                     int *count);

/** Starts a nonblocking receive, divided into messages as in sp_recv(). Stores the MPI requests from
 *  request[*count] on, like sp_isend().
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_irecv(MPI_Comm comm, int from, int tag, void *data, int64_t bytes, MPI_Request *request,
                     int *count);

/** Sends a list to each rank of comm, and receives a list from each. `out` and `in` contain the lists in rank
 *  order, one after another. Collective over comm and `all`.
 *  \param [in]  all             communicator of the ranks that must agree whether memory was lacking
 *  \param [in]  size            bytes of an element
 *  \param [in]  sent, received  [ranks] numbers of elements
 *  \return SPMM_OK, SPMM_ERR_MEMORY (on every rank), SPMM_ERR_MPI */
spmm_status sp_swap_lists(MPI_Comm comm, MPI_Comm all, int64_t size, const int64_t *sent, const void *out,
                          const int64_t *received, void *in);

/** Waits until all `count` requests are complete. \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_wait(MPI_Request *request, int count);

/** Sets *all, on every rank, to 1 if `mine` is nonzero on all ranks, else to 0. Collective over comm. */
spmm_status sp_all(MPI_Comm comm, int mine, int *all);

/** Gathers `bytes` bytes from each rank on rank 0, in rank order. Collective over comm.
 *  \param [out] all  [number of ranks * bytes] on rank 0; ignored on other ranks */
spmm_status sp_collect(MPI_Comm comm, const void *mine, int bytes, void *all);

/** Gathers `bytes` bytes from each rank on every rank, in rank order. Collective over comm.
 *  \param [out] all  [number of ranks * bytes] */
spmm_status sp_collect_everywhere(MPI_Comm comm, const void *mine, int bytes, void *all);

/** An argument that must be the same on every rank. */
typedef struct sp_common {
    const char *name;
    int64_t value;
    int tells; /**< 1: the error message shows the values; 0: it does not, because they are meaningless to the
                    user */
} sp_common;

/** Maximum number of arguments that one call of sp_check_common() can compare. */
enum { SP_MOST_COMMON = 32 };

/** Checks that each of the listed arguments has the same value on every rank. Collective over comm.
 *  \param [in] function  name of the public function, for the message
 *  \param [in] count     number of arguments in the list, at most SP_MOST_COMMON
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (the message names the first argument that
 *          differs), _MPI */
spmm_status sp_check_common(MPI_Comm comm, const char *function, const sp_common *list, int count);

/** Does the work of sp_agree() and, if no rank failed, of sp_check_common() in a single reduction, for
 *  functions that solvers call often. Collective over comm.
 *  \param [in] local  this rank's status; if it is not SPMM_OK, the values of the list do not matter
 *  \return the same status on every rank, as sp_agree() and sp_check_common() */
spmm_status sp_agree_common(MPI_Comm comm, const char *stage, spmm_status local, const char *function,
                            const sp_common *list, int count);

/** Replaces each of the `count` values, e.g. times in seconds, by its maximum over all ranks, on every rank.
 *  Collective over comm. */
spmm_status sp_slowest(MPI_Comm comm, double *values, int count);

/** Makes the ranks of a communicator run trials together. *comm must outlive the result. Local. */
sp_together sp_ranks_together(MPI_Comm *comm);

/** Replaces each of the `count` values by its sum over all ranks, with the same bits on every rank.
 *  Collective over comm. */
spmm_status sp_sum(MPI_Comm comm, double *values, int count);

/** Gathers the values of all ranks on every rank: before the call, rank r has values[begin[r] ..
 *  begin[r+1]-1]; after it, every rank has all values. Collective over comm.
 *  \param [in,out] values  [begin[size]]
 *  \param [in]     begin   the same on every rank, [size + 1]; begin[size] is at most 2^31 - 1
 *  \param [in]     size    number of ranks of comm
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_MPI */
spmm_status sp_gather_everywhere(MPI_Comm comm, double *values, const int64_t *begin, int size);

/** Creates the communicator of the ranks of comm on this node, in the order of comm; the caller frees it with
 *  sp_comm_free(). Collective over comm. \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_node_comm(MPI_Comm comm, MPI_Comm *node);

/** Determines how many ranks of comm run on this rank's node. Collective over comm.
 *  \param [out] node_rank  index of this rank among the ranks of the node, starting at 0
 *  \param [out] node_size  number of ranks of comm on the node */
spmm_status sp_node_rank(MPI_Comm comm, int *node_rank, int *node_size);

/** Counts the ranks of this node that pass the same key. Collective over comm.
 *  \param [in]  key      text of at most 63 characters
 *  \param [out] place    index of this rank among the ranks with its key, starting at 0
 *  \param [out] sharers  number of ranks with this rank's key, at least 1
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_MPI */
spmm_status sp_node_sharers(MPI_Comm comm, const char *key, int *place, int *sharers);

/** Memory that ranks of a node share. Each rank has a part, which the other ranks can also read and write. A
 *  zeroed object has no memory. */
typedef struct sp_node_memory {
    int made; /**< 1: `window` exists */
    MPI_Win window;
} sp_node_memory;

/** Allocates zeroed memory that the ranks of comm share. Collective over comm, whose ranks are on one node.
 *  \param [in]  bytes   size of this rank's part. If the sizes are multiples of 64 on every rank, all parts
 *                       are aligned to 64 bytes
 *  \param [out] memory  sp_node_memory_destroy() frees it, also after a failure
 *  \return SPMM_OK, SPMM_ERR_MPI (on all ranks, also if the MPI library does not support shared memory) */
spmm_status sp_node_memory_create(MPI_Comm comm, int64_t bytes, sp_node_memory *memory);
/** Returns the address of a rank's part in this process; NULL without memory. Local. */
void *sp_node_memory_of(const sp_node_memory *memory, int rank);
/** Frees the memory; accepts a zeroed object. Collective over the communicator of its creation. */
void sp_node_memory_destroy(sp_node_memory *memory);

/** The shared counter of the allocations of the ranks of a node. A zeroed object has no counter. */
typedef struct sp_shared_memory {
    int shared; /**< 1: the ranks count their allocations together */
    /** Rank 0's part is the counter: the number of bytes that the ranks have allocated together. */
    sp_node_memory counter;
} sp_shared_memory;

/** Makes the ranks that share a node and its memory limit count their allocations together (budget.h), so
 *  that the sum of their requests is checked against the available memory. For programs, not for the library;
 *  call it before any rank has allocated much memory. If the MPI library has no shared windows, each rank
 *  counts separately.
 *
 *  Collective over comm.
 *  \param [in,out] memory  zeroed by the caller; sp_unshare_memory() ends the sharing
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_share_memory(MPI_Comm comm, sp_shared_memory *memory);

/** Ends the sharing that sp_share_memory() began: each rank counts its allocations separately again. Accepts
 *  a zeroed object. Collective over the communicator of sp_share_memory(). */
void sp_unshare_memory(sp_shared_memory *memory);

/** Returns 1 if the MPI library reports at run time that it can send from and receive into GPU memory, else
 *  0. Only Open MPI provides this information; with other MPI libraries the result is 0. Local. */
int sp_mpi_takes_device_memory(void);

#endif
