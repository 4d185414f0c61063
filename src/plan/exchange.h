/** Moving the rows of X that sp_halo lists, for one K, by one transport. */
#ifndef SP_EXCHANGE_H
#define SP_EXCHANGE_H

#include "distribute/halo.h"

typedef struct sp_exchange sp_exchange;

/** Makes buffers and message lists, so that an exchange allocates nothing.
 *
 *  Collective over grid->comm.
 *  \param [in]  halo       must outlive the exchange
 *  \param [in]  row_bytes  of a row of X, padding included
 *  \param [in]  transport  SPMM_TRANSPORT_AUTO: what there is for that memory, the fastest by a short
 *                          measurement where there is more than one
 *  \param [in]  threads    OpenMP threads of this rank, for packing
 *  \param [out] exchange   the caller destroys it
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (a transport that is not there; says why),
 *          _MEMORY, _DEVICE, _MPI */
spmm_status sp_exchange_create(const sp_grid *grid, const sp_halo *halo, int64_t row_bytes, spmm_device space,
                               spmm_transport transport, int threads, sp_exchange **exchange);

/** Collective over the grid; accepts NULL, on all ranks. */
void sp_exchange_destroy(sp_exchange *exchange);

/** Memory on the GPU for an X that is to be exchanged. What one was freed of may be given out again, and some
 *  transports keep it until the exchange is destroyed. Local. \param [out] memory  the caller's: sp_device_free() */
spmm_status sp_exchange_alloc(sp_exchange *exchange, int64_t bytes, void **memory);

/** May row 0 of an X lie there? Anywhere, but with SPMM_TRANSPORT_PEER: only in memory from sp_exchange_alloc(). Local. */
int sp_exchange_takes(const sp_exchange *exchange, const void *row);

/** Starts sending own rows and receiving others'; what this rank does until sp_exchange_end() overlaps with it.
 *  own: this rank's first row of X, with the halo's rows of room before and behind; rows in between must not
 *  be written, nor the room touched, until the end. On a GPU, kernels queued before are waited for. After a
 *  failure there is no end: the neighbours have been told. */
spmm_status sp_exchange_begin(sp_exchange *exchange, void *own);

/** The same without waiting for kernels queued before: for a room that none of them touches. */
spmm_status sp_exchange_begin_now(sp_exchange *exchange, void *own);

/** Can own rows be read where they lie `pitch` bytes apart? With SPMM_TRANSPORT_PEER and both aligned to 16 bytes;
 *  where copy engines move them, only rows of at least 256 bytes: narrower ones take those more than a third
 *  longer. Local. */
int sp_exchange_reads(const sp_exchange *exchange, const void *from, int64_t pitch);

/** Like sp_exchange_begin_now(), with own rows that are read there. */
spmm_status sp_exchange_begin_from(sp_exchange *exchange, void *own, const void *from, int64_t pitch);

/** Returns when all rows are there; on a GPU: when kernels that are queued from now on find them there.
 *  \return SPMM_OK, SPMM_ERR_MPI (a neighbour called sp_exchange_skip()), SPMM_ERR_DEVICE */
spmm_status sp_exchange_end(sp_exchange *exchange);

/** Instead of begin and end, by a rank that has nothing to send because it failed: its neighbours are told so,
 *  and what they send is received and dropped. With NCCL they cannot be told: they get NaNs. */
void sp_exchange_skip(sp_exchange *exchange);

/** What it goes by; never SPMM_TRANSPORT_AUTO. */
spmm_transport sp_exchange_transport(const sp_exchange *exchange);

/** Why a transport is not there on this rank for X in that memory; NULL: it is. Static storage. Local. */
const char *sp_transport_missing(spmm_transport transport, spmm_device space);

/** Is that transport there on every rank? Collective over comm; all is the same everywhere.
 *  \param [out] why  where not: the reason on this rank, static storage; may be NULL */
spmm_status sp_transport_there(MPI_Comm comm, spmm_transport transport, spmm_device space, int *all,
                               const char **why);

#endif
