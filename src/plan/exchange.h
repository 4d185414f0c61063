/** Exchanges the ghost rows of X that an sp_halo lists. An exchange is created for one row size and one
 *  transport. */
#ifndef SP_EXCHANGE_H
#define SP_EXCHANGE_H

#include "distribute/halo.h"

typedef struct sp_exchange sp_exchange;

/** Creates an exchange. Allocates its buffers and message lists, so that later exchanges allocate nothing.
 *  (With SPMM_TRANSPORT_PEER, the first exchange of an X still maps that X on the ranks that write to it.)
 *
 *  Collective over grid->comm.
 *  \param [in]  halo       must outlive the exchange
 *  \param [in]  row_bytes  size of a row of X in bytes, padding included
 *  \param [in]  space      the memory that X lies in
 *  \param [in]  transport  SPMM_TRANSPORT_AUTO: MPI for host memory; for GPU memory the available
 *                          transport that is the fastest in a short measurement
 *  \param [in]  threads    OpenMP threads of this rank, for packing
 *  \param [out] exchange   the caller destroys it; NULL on failure
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (the transport is not available; the
 *          message says why), _MEMORY, _LIMIT (too many messages), _DEVICE, _MPI */
spmm_status sp_exchange_create(const sp_grid *grid, const sp_halo *halo, int64_t row_bytes, spmm_device space,
                               spmm_transport transport, int threads, sp_exchange **exchange);

/** Frees the exchange; accepts NULL, but only if all ranks pass NULL. Collective over grid->comm. */
void sp_exchange_destroy(sp_exchange *exchange);

/** Allocates zeroed GPU memory for an X that is to be exchanged; the zeroing has ended on return. With some
 *  transports, memory that the caller has freed stays allocated until the exchange is destroyed; a later call
 *  may return it again. Local.
 *  \param [out] memory  the caller frees it with sp_device_free()
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_exchange_alloc(sp_exchange *exchange, int64_t bytes, void **memory);

/** Returns 1 if the exchange accepts an X whose row 0 lies at address `row`: with some transports X must lie
 *  in memory from sp_exchange_alloc(). Local. */
int sp_exchange_takes(const sp_exchange *exchange, const void *row);

/** Starts sending owned rows and receiving ghost rows. This overlaps with everything the caller does before
 *  sp_exchange_end(). On a GPU, the exchange starts after the work that is queued in SP_STREAM_MOVE: the
 *  caller must have made this stream wait for the kernels that write the owned rows or access the ghost rows.
 *
 *  Collective over the process column, as are sp_exchange_end() and _skip(). All three accept NULL: then
 *  nothing is exchanged.
 *  \param [in,out] own  first owned row of X; the ghost rows lie before and after the owned rows. Until the
 *                       end of the exchange, the caller must not write the owned rows, and not access the
 *                       ghost rows
 *  \param [in] from     first of the owned rows to send: `own`, or other memory in which
 *                       sp_exchange_reads() finds the same rows
 *  \param [in] pitch    distance in bytes between consecutive rows at `from`; the exchange's row_bytes if
 *                       from is own
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _DEVICE, _MPI. After a failure, sp_exchange_end() must not be called:
 *          the neighbours have already been told of the failure */
spmm_status sp_exchange_begin(sp_exchange *exchange, void *own, const void *from, int64_t pitch);

/** Returns 1 if sp_exchange_begin() can read owned rows that begin at address `from` and are `pitch` bytes
 *  apart, although they do not lie in the X that is exchanged; 0 if not, and if `exchange` is NULL. Local. */
int sp_exchange_reads(const sp_exchange *exchange, const void *from, int64_t pitch);

/** Completes the exchange. On a GPU this may be the whole exchange, so that the kernels which the caller
 *  queued after sp_exchange_begin() do not wait for the host. In host memory, all ghost rows have arrived on
 *  return; on a GPU, kernels queued in SP_STREAM_MAIN after this call wait for the ghost rows.
 *  \return SPMM_OK, SPMM_ERR_MPI (also: a neighbour called sp_exchange_skip()), SPMM_ERR_DEVICE */
spmm_status sp_exchange_end(sp_exchange *exchange);

/** Takes the place of sp_exchange_begin() and sp_exchange_end() on a rank that failed and has nothing to
 *  send: tells the neighbours of the failure, and receives and drops the rows that they send. With NCCL the
 *  neighbours cannot be told; they receive NaNs. */
void sp_exchange_skip(sp_exchange *exchange);

/** Returns the transport that the exchange uses; never SPMM_TRANSPORT_AUTO. Local. */
spmm_transport sp_exchange_transport(const sp_exchange *exchange);

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
