/** MPI as the stages use it: checked calls, agreement on errors, messages beyond 2^31 bytes. */
#ifndef SP_COMM_H
#define SP_COMM_H

#include "base/status.h"
#include "spmm.h"

/** Status of an MPI call: use as TRY(SP_MPI(MPI_Barrier(comm))). Under MPI's default error handler, which the
 *  communicators of a grid inherit, a failing call never returns; this serves callers who set
 *  MPI_ERRORS_RETURN on theirs. */
#define SP_MPI(call) sp_mpi_status((call), #call)
spmm_status sp_mpi_status(int code, const char *call);

/** 1 between MPI_Init and MPI_Finalize. Local. */
int sp_mpi_runs(void);

/** Can a collective function use comm at all? Where it cannot, the other ranks cannot be told. Local.
 *  \param [in] function  the public function's name, for the message
 *  \return SPMM_OK, SPMM_ERR_USAGE (MPI does not run; comm is MPI_COMM_NULL or an inter-communicator), _MPI */
spmm_status sp_comm_check(MPI_Comm comm, const char *function);

/** Agrees on the outcome of a local phase.
 *
 *  Collective over comm. Every rank passes the status of its own work; when any failed, every rank
 *  returns the gravest status (of equals, the lowest rank's) and has that rank's message, prefixed
 *  by "rank R: " unless R is 0.
 *
 *  \param [in] stage  the phase's name, the place where SPMM_FAULT (see sp_fault) strikes */
spmm_status sp_agree(MPI_Comm comm, const char *stage, spmm_status local);

/** Ends all processes of comm, with the exit code of the status: where this rank failed and others wait for it in
 *  vain. Prints the message. Does not return. */
void sp_abandon(MPI_Comm comm, spmm_status status);

/** Faults on demand, for tests: the environment variable SPMM_FAULT=STAGE:RANK[:KIND] makes that rank
 *  fail there (KIND fail, the default), kill itself (kill), stop (stop) until SIGCONT, or, in stage `apply`, spoil one element
 *  of Y (wrong). The stages are those of sp_agree's callers. */
typedef enum sp_fault_kind {
    SP_FAULT_NONE,
    SP_FAULT_FAIL,
    SP_FAULT_KILL,
    SP_FAULT_STOP,
    SP_FAULT_WRONG
} sp_fault_kind;
sp_fault_kind sp_fault(const char *stage, int rank);

/** The tags of all point-to-point messages, so that no two kinds of message that may be under way at once on one
 *  communicator are mistaken for each other. */
typedef enum sp_tag {
    SP_TAG_LENGTHS = 1, /* scatter: a block of A, and X */
    SP_TAG_JA,
    SP_TAG_AS,
    SP_TAG_X,
    SP_TAG_OLD_ROWS, /* the numbers that rows had before --partition graph */
    SP_TAG_Y,        /* gather */
    SP_TAG_GATHER_STARTS,
    SP_TAG_GATHER_JA,
    SP_TAG_GATHER_AS,
    SP_TAG_PART_BEGIN, /* parallel reading: where the next rank's part begins; counts of entries */
    SP_TAG_TALLY,
    SP_TAG_HALO_LIST, /* halo: which rows are wanted */
    SP_TAG_ROWS,      /* exchange: rows of X */
    SP_TAG_PEER_SETUP,
    SP_TAG_PEER_INVITE,
    SP_TAG_PEER_WRITTEN,
    SP_TAG_PARTIAL, /* reduce: a partial Y */
    SP_TAG_PROBE,
    SP_TAG_SERIES, /* series_mpi: series, picked coefficients */
    SP_TAG_PICKED
} sp_tag;

/** Messages of any number of bytes, in chunks of at most SPMM_CHUNK_BYTES (environment; default
 *  1 GiB, so that counts stay below 2^31 whatever the MPI library). Blocking.
 *  sp_bcast is collective over comm. */
spmm_status sp_send(MPI_Comm comm, int to, int tag, const void *data, int64_t bytes);
spmm_status sp_recv(MPI_Comm comm, int from, int tag, void *data, int64_t bytes);
spmm_status sp_bcast(MPI_Comm comm, int root, void *data, int64_t bytes);

/** That bound: 1 to 2^30, read from the environment once. Local. */
int64_t sp_chunk_bytes(void);

/** Another bound from now on, the same on every rank; 0: the environment's, read anew. For tests. Local. */
void sp_set_chunk_bytes(int64_t bytes);

/** The same without waiting: the chunks' requests are put at request + *count, and *count grows by as many;
 *  room for sp_chunks(bytes) of them. Data must not be touched before they are complete. */
int sp_chunks(int64_t bytes);
spmm_status sp_isend(MPI_Comm comm, int to, int tag, const void *data, int64_t bytes, MPI_Request *request,
                     int *count);
spmm_status sp_irecv(MPI_Comm comm, int from, int tag, void *data, int64_t bytes, MPI_Request *request,
                     int *count);
spmm_status sp_wait(MPI_Request *request, int count);

/** 1 on every rank when it is nonzero on every rank. Collective. */
spmm_status sp_all(MPI_Comm comm, int mine, int *all);

/** Rank 0 gets every rank's `bytes` bytes, in rank order; all [size * bytes], ignored elsewhere. Collective. */
spmm_status sp_collect(MPI_Comm comm, const void *mine, int bytes, void *all);

/** Every rank gets every rank's `bytes` bytes, in rank order; all [size * bytes]. Collective. */
spmm_status sp_collect_everywhere(MPI_Comm comm, const void *mine, int bytes, void *all);

/** An argument that must be the same on every rank. */
typedef struct sp_common {
    const char *name;
    int64_t value;
    int tells; /**< 1: the message has the values; 0: they mean nothing to a reader */
} sp_common;

/** Is each of them? Collective over comm.
 *  \param [in] function  the public function's name, for the message
 *  \param [in] count     at most SP_MOST_COMMON
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (names the first that is not), _MPI */
enum { SP_MOST_COMMON = 32 };
spmm_status sp_check_common(MPI_Comm comm, const char *function, const sp_common *list, int count);

/** Elementwise maximum over the ranks, on every rank, in place. Collective. */
spmm_status sp_slowest(MPI_Comm comm, double *values, int count);

/** Elementwise sum over the ranks, in place: the same bits on every rank. Collective. */
spmm_status sp_sum(MPI_Comm comm, double *values, int count);

/** Every rank gets all ranks' values: rank r has values[begin[r] .. begin[r+1]-1] before, and all after. begin is the
 *  same everywhere, [size + 1], its last at most 2^31 - 1. Collective. */
spmm_status sp_gather_everywhere(MPI_Comm comm, double *values, const int64_t *begin, int size);

/** The ranks of comm that share this rank's node: how many, and which of them this is. Collective. */
spmm_status sp_node_rank(MPI_Comm comm, int *node_rank, int *node_size);

/** How many ranks of this node pass the same key, and which of them this is, from 0 up; key holds
 *  at most 63 characters. Collective over comm. */
spmm_status sp_node_sharers(MPI_Comm comm, const char *key, int *place, int *sharers);

/** What ranks of a node have in common while they count their allocations together; zeroed: nothing. */
typedef struct sp_shared_memory {
    int shared;
    MPI_Win window;
} sp_shared_memory;

/** From now on the ranks that share a node, and the limit of its memory, count their allocations together (budget.h):
 *  what all of them ask for at once is held against what there is. For programs, before any rank has allocated much.
 *  Where the MPI library has no shared memory each rank counts alone.
 *
 *  Collective over comm, as is ending it; *memory is zeroed before. */
spmm_status sp_share_memory(MPI_Comm comm, sp_shared_memory *memory);
void sp_unshare_memory(sp_shared_memory *memory);

/** Does the MPI library say, at run time, that it sends from and receives into GPU memory? 0 where it cannot be
 *  asked. */
int sp_mpi_takes_device_memory(void);

#endif
