/** Exchanges the ghost rows of X that an sp_halo lists, for one row size and by one transport. */
#ifndef SP_EXCHANGE_H
#define SP_EXCHANGE_H

#include "distribute/halo.h"

typedef struct sp_exchange sp_exchange;

/** Allocates buffers and message lists, so that exchanges need not. (With SPMM_TRANSPORT_PEER the first exchange of
 *  an X still maps it on the ranks that write to it.)
 *
 *  Collective over grid->comm.
 *  \param [in]  halo       must outlive the exchange
 *  \param [in]  row_bytes  bytes of a row of X, padding included
 *  \param [in]  space      memory that X lies in
 *  \param [in]  transport  SPMM_TRANSPORT_AUTO: MPI in host memory; on GPUs the fastest of those available, by a
 *                          short measurement
 *  \param [in]  threads    OpenMP threads of this rank, for packing
 *  \param [out] exchange   the caller destroys it; NULL on failure
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (the transport is not available; the message says
 *          why), _MEMORY, _LIMIT (too many messages), _DEVICE, _MPI */
spmm_status sp_exchange_create(const sp_grid *grid, const sp_halo *halo, int64_t row_bytes, spmm_device space,
                               spmm_transport transport, int threads, sp_exchange **exchange);

/** Frees the exchange; accepts NULL, which must then be NULL on every rank. Collective over grid->comm. */
void sp_exchange_destroy(sp_exchange *exchange);

/** Allocates GPU memory for an X that is to be exchanged. With SPMM_TRANSPORT_PEER, memory that the caller frees
 *  stays allocated until the exchange is destroyed, and may be handed out again before. Local.
 *  \param [out] memory  the caller frees it with sp_device_free()
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_exchange_alloc(sp_exchange *exchange, int64_t bytes, void **memory);

/** Returns 1 when row 0 of an X may lie at `row`: anywhere, but with SPMM_TRANSPORT_PEER only in memory from
 *  sp_exchange_alloc(). Local. */
int sp_exchange_takes(const sp_exchange *exchange, const void *row);

/** Starts sending owned rows and receiving ghost rows; what this rank does until sp_exchange_end() overlaps with
 *  that. On a GPU, the exchange starts after the kernels that are queued in SP_STREAM_MAIN.
 *
 *  Collective over the process column, as are the variants below, sp_exchange_end() and sp_exchange_skip().
 *  \param [in,out] own  first owned row of X, with the halo's ghost rows before and after the owned rows. Until the
 *                       end of the exchange, the owned rows must not be written, and the ghost rows not accessed
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _DEVICE, _MPI. After a failure sp_exchange_end() must not be called: the
 *          neighbours have been told */
spmm_status sp_exchange_begin(sp_exchange *exchange, void *own);

/** Like sp_exchange_begin(), without waiting for kernels queued before: for callers that have ordered the streams
 *  themselves, or whose ghost rows no queued kernel accesses. */
spmm_status sp_exchange_begin_now(sp_exchange *exchange, void *own);

/** Returns 1 when the exchange can read owned rows at `from`, `pitch` bytes apart: with SPMM_TRANSPORT_PEER where
 *  both are multiples of 16 bytes; where copy engines move them, only rows of at least 256 bytes, since copy engines
 *  take more than a third longer for narrower ones. Local. */
int sp_exchange_reads(const sp_exchange *exchange, const void *from, int64_t pitch);

/** Like sp_exchange_begin_now(), but reads the owned rows at `from`, `pitch` bytes apart; sp_exchange_reads() must
 *  have returned 1. */
spmm_status sp_exchange_begin_from(sp_exchange *exchange, void *own, const void *from, int64_t pitch);

/** Completes the exchange: on return all ghost rows are there, or on a GPU, kernels that are queued from now on in
 *  SP_STREAM_MAIN will find them.
 *  \return SPMM_OK, SPMM_ERR_MPI (also: a neighbour called sp_exchange_skip()), SPMM_ERR_DEVICE */
spmm_status sp_exchange_end(sp_exchange *exchange);

/** Takes the place of begin and end on a rank that failed and has nothing to send: tells its neighbours so, and
 *  receives and drops what they send. With NCCL the neighbours cannot be told, and get NaNs. */
void sp_exchange_skip(sp_exchange *exchange);

/** Returns the transport in use; never SPMM_TRANSPORT_AUTO. Local. */
spmm_transport sp_exchange_transport(const sp_exchange *exchange);

/** Returns the reason why a transport is not available on this rank for an X in that memory, in static storage; NULL
 *  where it is available. Local. */
const char *sp_transport_missing(spmm_transport transport, spmm_device space);

/** Determines whether a transport is available on every rank. Collective over comm.
 *  \param [out] all  1: on every rank; the same on every rank
 *  \param [out] why  sp_transport_missing() of this rank; may be NULL
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_transport_there(MPI_Comm comm, spmm_transport transport, spmm_device space, int *all,
                               const char **why);

#endif
