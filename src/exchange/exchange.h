/** Exchanges the ghost rows of X that an sp_halo lists. An exchange is created for one transport and for the
 *  longest rows that it is to move. */
#ifndef SP_EXCHANGE_H
#define SP_EXCHANGE_H

#include "device/device.h"
#include "halo/halo.h"

typedef struct sp_exchange sp_exchange;

/** What an exchange is created for. */
typedef struct sp_exchange_options {
    int64_t row_bytes; /**< size in bytes of what is exchanged of a row of X, padding included */
    /** Distance in bytes between rows of X; 0: row_bytes. If it is more than row_bytes, what is exchanged is
     *  a column block within X, for transports that can leave gaps; others move one whose rows lie without
     *  gaps: see sp_exchange_pitch(). */
    int64_t pitch;
    int64_t most_row_bytes; /**< greatest row_bytes of sp_exchange_set_rows(), for buffers; 0: row_bytes */
    spmm_device space;      /**< the memory that X lies in */
    /** SPMM_TRANSPORT_SHARED needs the halo of an sp_node_rows. SPMM_TRANSPORT_AUTO: MPI for host memory; for
     *  GPU memory the available transport that is the fastest in a short measurement */
    spmm_transport transport;
    int queued;  /**< 1: where there is a choice, a transport that sp_exchange_queues() is preferred */
    int untimed; /**< 1: where there is a choice, the first transport that works is taken */
    int alone;   /**< 1: no kernel runs during the exchange, so that it may use the stream of the kernels */
    int threads; /**< OpenMP threads of this rank, for packing */
} sp_exchange_options;

/** Creates an exchange. Allocates its buffers and message lists, so that later exchanges allocate nothing.
 *  (With SPMM_TRANSPORT_PEER, the first exchange of an X still maps that X on the ranks that write to it.)
 *
 *  Collective over grid->comm.
 *  \param [in]  halo      must outlive the exchange
 *  \param [in]  options   equal on all ranks, but for `alone` and `threads`
 *  \param [out] exchange  the caller destroys it; NULL on failure
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (the transport is not available; the
 *          message says why), _MEMORY, _LIMIT (too many messages), _DEVICE, _MPI */
spmm_status sp_exchange_create(const sp_grid *grid, const sp_halo *halo, const sp_exchange_options *options,
                               sp_exchange **exchange);

/** Makes later exchanges move rows of another size.
 *
 *  Collective over grid->comm, while no exchange takes place; accepts NULL.
 *  \param [in] row_bytes, pitch  as of sp_exchange_options, row_bytes is at most options.most_row_bytes
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _MPI */
spmm_status sp_exchange_set_rows(sp_exchange *exchange, int64_t row_bytes, int64_t pitch);

/** Returns the distance in bytes between rows of the X that the exchange moves: the pitch, or row_bytes.
 *  Equal on all ranks. Local. */
int64_t sp_exchange_pitch(const sp_exchange *exchange);

/** Says whether kernels of this rank will run beside the exchanges that follow: with none, one may take more
 *  of the GPU. At first they are taken to, unless options.alone is 1. Local; accepts NULL. */
void sp_exchange_beside(sp_exchange *exchange, int kernels);

/** Returns the stream of the exchange on a GPU. Local. */
sp_stream sp_exchange_stream(const sp_exchange *exchange);

/** Frees the exchange; accepts NULL, but only if all ranks pass NULL. Collective over grid->comm. */
void sp_exchange_destroy(sp_exchange *exchange);

/** Allocates zeroed GPU memory for an X that is to be exchanged; the zeroing has ended on return. With some
 *  transports, memory that the caller has freed stays allocated until the exchange is destroyed; a later call
 *  may return it again. Local.
 *  \param [out] memory  the caller frees it with sp_device_free()
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_exchange_alloc(sp_exchange *exchange, int64_t bytes, void **memory);

/** Frees what the exchange keeps of memory from sp_exchange_alloc() that the caller has freed. Collective
 *  over the process column; accepts NULL. */
void sp_exchange_forget(sp_exchange *exchange);

/** Returns 1 if X lies in memory that the ranks of a node share, from sp_exchange_share(); 0 if not, and if
 *  `exchange` is NULL. Local. */
int sp_exchange_shares(const sp_exchange *exchange);

/** Finds memory for an X that ranks of a node share, in which this rank's own rows are zeros. Local.
 *  \param [in]  row_bytes   of that X, at most options.most_row_bytes; it is taken by exchanges of such rows
 *                           alone
 *  \param [in]  for_copies  1: for the caller's copies of an X that lies elsewhere; there is memory for one
 *  \param [out] memory      row 0 of X, ghost rows included; spmm_multivector_destroy() frees it, and may do
 *                           so after the exchange is destroyed. NULL: no more such memory is left
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_exchange_share(sp_exchange *exchange, int64_t row_bytes, int for_copies, void **memory);

/** Returns 1 if the exchange accepts an X whose row 0 lies at address `row`: with some transports X must lie
 *  in memory from sp_exchange_alloc(). Local. */
int sp_exchange_takes(const sp_exchange *exchange, const void *row);

/** Starts sending owned rows and receiving ghost rows. This overlaps with everything the caller does before
 *  sp_exchange_end(). On a GPU, the exchange starts after the work that is queued in sp_exchange_stream():
 *  the caller must have made this stream wait for the kernels that write the owned rows or access the ghost
 *  rows.
 *
 *  Collective over the process column, as are sp_exchange_end() and _skip(). All three accept NULL: then
 *  nothing is exchanged.
 *  \param [in,out] own  first owned row of X; the ghost rows lie before and after the owned rows. Until the
 *                       end of the exchange, the caller must not write the owned rows, and not access the
 *                       ghost rows. Rows are sp_exchange_pitch() bytes apart
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _DEVICE, _MPI. After a failure, sp_exchange_end() must not be called:
 *          the neighbors have already been told of the failure */
spmm_status sp_exchange_begin(sp_exchange *exchange, void *own);

/** Completes the exchange. On a GPU this may be the whole exchange, so that the kernels which the caller
 *  queued after sp_exchange_begin() do not wait for the host. In host memory, all ghost rows have arrived on
 *  return; on a GPU, kernels queued in SP_STREAM_MAIN after this call wait for the ghost rows.
 *  \return SPMM_OK, SPMM_ERR_MPI (also: a neighbor called sp_exchange_skip()), SPMM_ERR_DEVICE */
spmm_status sp_exchange_end(sp_exchange *exchange);

/** How far an exchange is, for a caller that goes through the same steps after a failure. */
typedef enum sp_move_state {
    SP_MOVE_NOT_BEGUN, /**< this rank failed before: the neighbors wait for sp_exchange_skip() */
    SP_MOVE_BEGUN,     /**< sp_exchange_end() and sp_exchange_finish() are to come */
    SP_MOVE_OVER       /**< it has ended, or the neighbors have been told of a failure */
} sp_move_state;

/** Returns 1 if the whole exchange takes place in sp_exchange_end(), so that on a GPU the owned rows need not
 *  be written before. Local. */
int sp_exchange_starts_late(const sp_exchange *exchange);

/** Waits on the host until the exchanges that have been ended are done on the GPU, or a neighbor has failed
 *  in the middle of one; with transports whose neighbors report that in sp_exchange_end(), returns at once.
 *  To be called before the host waits for GPU work that was queued after sp_exchange_end(), also after a
 *  failure: otherwise it might wait for ever. Local; accepts NULL.
 *  \return SPMM_OK, SPMM_ERR_MPI (a neighbor failed), SPMM_ERR_DEVICE */
spmm_status sp_exchange_settle(sp_exchange *exchange);

/** Ends a product: must be called when the kernels have read X, if sp_exchange_begin() succeeded, even if
 *  sp_exchange_end() failed. Until it returns, other ranks may read this rank's rows of X. Accepts NULL.
 *  Collective over the process column.
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_exchange_finish(sp_exchange *exchange);

/** Returns where kernels are to read row 0 of X, ghost rows included, from sp_exchange_begin() to
 *  sp_exchange_finish(): in the X that was passed, or in a copy. Local. */
void *sp_exchange_reads_at(const sp_exchange *exchange);

/** Takes the place of sp_exchange_begin(), sp_exchange_end() and sp_exchange_finish() on a rank that failed
 *  and has nothing to send: tells the neighbors of the failure, and receives and drops the rows that they
 *  send. With NCCL the neighbors cannot be told; they receive NaNs. */
void sp_exchange_skip(sp_exchange *exchange);

/** Returns 1 if the exchange takes place in the GPU's streams alone, so that no host waits for a GPU in it,
 *  and sp_exchange_settle() may be called much later; also if `exchange` is NULL. Such an exchange can be
 *  captured in a CUDA graph if it has taken place before with the same X's on all neighbors. A rank that
 *  captures posts where its X is as for an exchange, and each neighbor has to do the same. Local. */
int sp_exchange_queues(const sp_exchange *exchange);

/** Returns 1 if sp_exchange_skip() waits for the GPU, which a capture in a CUDA graph forbids; 0 also if
 *  `exchange` is NULL. Local. */
int sp_exchange_skip_waits(const sp_exchange *exchange);

/** Returns the transport that the exchange uses; never SPMM_TRANSPORT_AUTO. Local. */
spmm_transport sp_exchange_transport(const sp_exchange *exchange);

/** Returns the name of the exchange's backend, as the environment variable SPMM_EXCHANGE_BACKEND takes it.
 *  Belongs to the exchange. Local. */
const char *sp_exchange_backend(const sp_exchange *exchange);

/** The name of an exchange made of two of any backends (relays/relays.h). */
#define SP_RELAYED "relayed"

/** Reads the environment variable SPMM_EXCHANGE_BACKEND. Collective over comm.
 *  \param [out] name  a backend or SP_RELAYED, in the environment; NULL: none is named
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (there is no such backend, or ranks have
 *          different ones), SPMM_ERR_MPI */
spmm_status sp_exchange_asked(MPI_Comm comm, const char **name);

/** What a transport does or needs. */
typedef enum sp_transport_trait {
    SP_TRANSPORT_IN_PLACE = 1, /**< ranks of a node read X where it lies, in memory that they share */
    SP_TRANSPORT_IN_NODE = 2,  /**< it reaches ranks of the same node only, or, in place, is for these */
    SP_TRANSPORT_OWN_GPU = 4   /**< ranks must not share a GPU */
} sp_transport_trait;

/** Returns 1 if a transport has a trait. Local. */
int sp_transport_has(spmm_transport transport, sp_transport_trait trait);

/** Returns the reason why this rank cannot use the transport for an X in memory `space`, in static storage;
 *  NULL if the transport is available. Local. */
const char *sp_transport_missing(spmm_transport transport, spmm_device space);

/** Determines whether a transport is available on every rank. Collective over comm.
 *  \param [out] all  1 on all ranks if the transport is available on every rank, else 0 on all ranks
 *  \param [out] why  result of sp_transport_missing() on this rank; may be NULL
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_transport_there(MPI_Comm comm, spmm_transport transport, spmm_device space, int *all,
                               const char **why);

#endif
