/** Exchanges the rows that an sp_moves lists, e.g. the ghost rows of X. An exchange is created for one
 *  transport and for a maximum row size. */
#ifndef SP_EXCHANGE_H
#define SP_EXCHANGE_H

#include "device/device.h"
#include "halo/moves.h"

typedef struct sp_exchange sp_exchange;

/** Parameters with which an exchange is created. */
typedef struct sp_exchange_options {
    int64_t row_bytes; /**< number of bytes of each row of X that are exchanged, padding included */
    /** Distance in bytes between rows of X; 0: row_bytes. If it is more than row_bytes, a column block
     *  within X is exchanged, provided that the transport supports gaps between rows. Other transports
     *  exchange an X without gaps, see sp_exchange_pitch(). */
    int64_t pitch;
    int64_t most_row_bytes; /**< maximum row_bytes of sp_exchange_set_rows(), for buffers; 0: row_bytes */
    spmm_device space;      /**< the memory of X */
    /** SPMM_TRANSPORT_SHARED requires `node`. SPMM_TRANSPORT_AUTO: MPI for host memory; for GPU memory the
     *  available transport that is the fastest in a short measurement */
    spmm_transport transport;
    const struct sp_node_rows *node; /**< SPMM_TRANSPORT_SHARED: the rows that the ranks of a node share,
                                          whose `moves` the exchange gets; must outlive the exchange */
    int queued;                      /**< 1: prefer a transport for which sp_exchange_queues() returns 1 */
    int untimed;                     /**< 1: do not time; use the first transport that works */
    int alone;   /**< 1: no kernel runs during the exchange, so the exchange may use the stream of the
                      kernels */
    int threads; /**< OpenMP threads of this rank, for packing */
    /** 1: X is f64, and its rows travel as f32: ghost rows are the owner's rows rounded to f32; values
     *  beyond the range of f32 become infinite. Owned rows are not changed. Not with SPMM_TRANSPORT_SHARED */
    int rounded;
    sp_trial *trial; /**< receives the timed backends, by name; NULL: not reported */
} sp_exchange_options;

/** Creates an exchange. Allocates its buffers and message lists, so that later exchanges allocate nothing.
 *  (Exception: with SPMM_TRANSPORT_PEER, the ranks that write to an X map it in the first exchange of that
 *  X.)
 *
 *  Collective over grid->comm.
 *  \param [in]  moves     must outlive the exchange
 *  \param [in]  options   equal on all ranks, except `alone` and `threads`
 *  \param [out] exchange  the caller destroys it; NULL on failure
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (the transport is not available; the
 *           message says why), _MEMORY, _LIMIT (too many messages), _DEVICE, _MPI */
spmm_status sp_exchange_create(const sp_grid *grid, const sp_moves *moves, const sp_exchange_options *options,
                               sp_exchange **exchange);

/** Changes the size of the rows that later exchanges move.
 *
 *  Collective over grid->comm, while no exchange takes place; accepts NULL.
 *  \param [in] row_bytes, pitch  as in sp_exchange_options; row_bytes is at most options.most_row_bytes
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _MPI */
spmm_status sp_exchange_set_rows(sp_exchange *exchange, int64_t row_bytes, int64_t pitch);

/** Returns the distance in bytes between rows of the X that the exchange moves: the pitch that was set, if
 *  the transport supports gaps, else row_bytes. Equal on all ranks. Local. */
int64_t sp_exchange_pitch(const sp_exchange *exchange);

/** Sets whether kernels of this rank run concurrently with the exchanges that follow. If none run, an
 *  exchange may use more of the GPU. Initially kernels are expected to run, unless options.alone is 1.
 *  Local; accepts NULL. */
void sp_exchange_beside(sp_exchange *exchange, int kernels);

/** Returns the stream of the exchange on a GPU. Local. */
sp_stream sp_exchange_stream(const sp_exchange *exchange);

/** Frees the exchange; accepts NULL, but only if all ranks pass NULL. Collective over grid->comm. */
void sp_exchange_destroy(sp_exchange *exchange);

/** Allocates zeroed GPU memory for an X that will be exchanged; the zeroing is complete on return. With
 *  some transports, memory that the caller has freed stays allocated until sp_exchange_forget() or the
 *  destruction of the exchange; a later call may return it again. Local.
 *  \param [out] memory  the caller frees it with sp_device_free()
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_exchange_alloc(sp_exchange *exchange, int64_t bytes, void **memory);

/** Frees the memory of sp_exchange_alloc() that the caller has freed and that the exchange has kept for
 *  reuse. Collective over the process column; accepts NULL. */
void sp_exchange_forget(sp_exchange *exchange);

/** Returns 1 if the exchange requires an X in memory from sp_exchange_share(), which the ranks of a node
 *  share; 0 if not, or if `exchange` is NULL. Local. */
int sp_exchange_shares(const sp_exchange *exchange);

/** Provides memory for an X that ranks of a node share. This rank's owned rows are zero. Local.
 *  \param [in]  row_bytes   size of a row of that X, at most options.most_row_bytes; only exchanges with
 *                           this row size accept it
 *  \param [in]  for_copies  1: for copies of a caller's X that is in other memory; there is memory for one
 *                           such copy at a time
 *  \param [out] memory      row 0 of X, ghost rows included; spmm_multivector_destroy() frees it, even
 *                           after the exchange is destroyed. NULL: no such memory is left
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_exchange_share(sp_exchange *exchange, int64_t row_bytes, int for_copies, void **memory);

/** Returns 1 if the exchange accepts an X whose row 0 is at address `row`: with some transports, X must be
 *  in memory from sp_exchange_alloc() or sp_exchange_share(). Local. */
int sp_exchange_takes(const sp_exchange *exchange, const void *row);

/** Starts sending owned rows and receiving ghost rows. The transfers overlap with everything that the
 *  caller does before sp_exchange_end(). On a GPU, the exchange starts after the work that is queued in
 *  sp_exchange_stream(): the caller must have made this stream wait for the kernels that write the owned
 *  rows or access the ghost rows.
 *
 *  Collective over the process column, as are sp_exchange_end() and _skip(). All three accept NULL: then
 *  nothing is exchanged.
 *  \param [in,out] own  first owned row of X; the ghost rows lie before and after the owned rows. Until the
 *                       end of the exchange, the caller must not write the owned rows, and not access the
 *                       ghost rows. Rows are sp_exchange_pitch() bytes apart
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _DEVICE, _MPI. After a failure, sp_exchange_end() must not be called:
 *           the neighbors have already been notified of the failure */
spmm_status sp_exchange_begin(sp_exchange *exchange, void *own);

/** Completes the exchange. On a GPU, the whole exchange may take place in this function, so that kernels
 *  queued after sp_exchange_begin() do not wait for the host. In host memory, all ghost rows have arrived on
 *  return; on a GPU, kernels queued in SP_STREAM_MAIN after this call wait for the ghost rows.
 *  \return SPMM_OK, SPMM_ERR_MPI (also: a neighbor called sp_exchange_skip()), SPMM_ERR_DEVICE */
spmm_status sp_exchange_end(sp_exchange *exchange);

/** The state of an exchange, for a caller that runs the same steps even after a failure. */
typedef enum sp_move_state {
    SP_MOVE_NOT_BEGUN, /**< this rank failed before the exchange began, and must call
                            sp_exchange_skip(), for which the neighbors wait */
    SP_MOVE_BEGUN,     /**< the caller must still call sp_exchange_end() and sp_exchange_finish() */
    SP_MOVE_OVER       /**< the exchange has ended, or the neighbors have been notified of a failure */
} sp_move_state;

/** Returns 1 if the whole exchange takes place in sp_exchange_end(), so that on a GPU the owned rows need
 *  not be written before sp_exchange_end(). Local. */
int sp_exchange_starts_late(const sp_exchange *exchange);

/** Waits on the host until all exchanges that sp_exchange_end() has queued are complete on the GPU, or a
 *  neighbor has failed during one. With transports that report a neighbor's failure in sp_exchange_end(),
 *  returns at once. Must be called, also after a failure, before the host waits for GPU work that was queued
 *  after sp_exchange_end(); otherwise the host might wait forever. Local; accepts NULL.
 *  \return SPMM_OK, SPMM_ERR_MPI (a neighbor failed), SPMM_ERR_DEVICE */
spmm_status sp_exchange_settle(sp_exchange *exchange);

/** Ends the use of X in a product. Must be called after the kernels have read X, if sp_exchange_begin()
 *  succeeded, even if sp_exchange_end() failed. Until this function returns, other ranks may read this
 *  rank's rows of X. Accepts NULL. Collective over the process column.
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_exchange_finish(sp_exchange *exchange);

/** Returns the address of row 0 of X, ghost rows included, from which kernels read between
 *  sp_exchange_begin() and sp_exchange_finish(): in the caller's X, or in a copy. Local. */
void *sp_exchange_reads_at(const sp_exchange *exchange);

/** Replaces sp_exchange_begin(), sp_exchange_end() and sp_exchange_finish() on a rank that failed and has
 *  nothing to send: notifies the neighbors of the failure, and receives and discards the rows that they
 *  send. NCCL cannot notify the neighbors; they receive NaNs. */
void sp_exchange_skip(sp_exchange *exchange);

/** Returns 1 if the exchange takes place in the GPU's streams without any host waiting for a GPU, so that
 *  sp_exchange_settle() may be called much later; also if `exchange` is NULL. Such an exchange can be
 *  captured in a CUDA graph if this rank and all neighbors have exchanged the same X before, outside of a
 *  capture. During a capture a rank publishes the address of its X as in any exchange, and each neighbor must
 *  capture as well. Local. */
int sp_exchange_queues(const sp_exchange *exchange);

/** Returns 1 if sp_exchange_skip() waits for the GPU, which is forbidden while a CUDA graph is captured; 0
 *  if not, or if `exchange` is NULL. Local. */
int sp_exchange_skip_waits(const sp_exchange *exchange);

/** Returns the transport that the exchange uses; never SPMM_TRANSPORT_AUTO. Local. */
spmm_transport sp_exchange_transport(const sp_exchange *exchange);

/** Returns the name of the exchange's backend, as used in the environment variable SPMM_EXCHANGE_BACKEND.
 *  The exchange owns the text. Local. */
const char *sp_exchange_backend(const sp_exchange *exchange);

/** Properties of a transport. */
typedef enum sp_transport_trait {
    SP_TRANSPORT_IN_PLACE = 1, /**< ranks of a node read each other's X in place, in memory that they share */
    SP_TRANSPORT_IN_NODE = 2,  /**< the transport moves rows only between ranks of a node; if it is also
                                    IN_PLACE, rows of other nodes travel as MPI messages */
    SP_TRANSPORT_OWN_GPU = 4   /**< ranks must not share a GPU */
} sp_transport_trait;

/** Why a transport with SP_TRANSPORT_IN_PLACE is refused if rows travel as f32. */
#define SP_NOT_ROUNDED \
    "ranks read each other's rows in place, in f64: to send rows as f32, choose another transport, e.g. mpi"

/** Returns 1 if a transport has the property `trait`. Local. */
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
