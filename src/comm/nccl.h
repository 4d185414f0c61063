/** Communication with NCCL. If the build found NCCL, nccl_found.c is linked, else nccl_none.c, whose
 *  operations fail. */
#ifndef SP_NCCL_H
#define SP_NCCL_H

#include "comm/grid.h"

/** The NCCL communicator of a process row or of a process column. */
typedef struct sp_nccl sp_nccl;
typedef enum sp_along { SP_ALONG_ROW, SP_ALONG_COLUMN } sp_along;

/** Returns the reason why this build cannot use NCCL, in static storage; NULL: it can. Local. */
const char *sp_nccl_missing(void);

/** Gets the NCCL communicator of this rank's process row or process column; the first call creates it, which
 *  takes about a second. The NCCL communicator is an attribute of the MPI communicator (grid->row_comm or
 *  grid->col_comm) and is destroyed with it.
 *
 *  Collective over grid->comm.
 *  \param [out] nccl  owned by the grid; NULL on failure
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_DEVICE (e.g. two ranks share a GPU),
 *          SPMM_ERR_USAGE (this build has no NCCL), SPMM_ERR_MEMORY, SPMM_ERR_MPI */
spmm_status sp_nccl_of(const sp_grid *grid, sp_along along, const sp_nccl **nccl);

/** Begins a group: all sends and receives until sp_nccl_end() are launched together. Local.
 *  \return SPMM_OK, SPMM_ERR_DEVICE; in a build without NCCL, this function and those below return
 *          SPMM_ERR_USAGE */
spmm_status sp_nccl_begin(void);

/** Queues in `stream` the sending of `bytes` bytes of device memory to rank `to`, which must call
 *  sp_nccl_recv(). Does not wait until they are sent.
 *  \return SPMM_OK, SPMM_ERR_DEVICE */
spmm_status sp_nccl_send(const sp_nccl *nccl, int to, const void *data, int64_t bytes, void *stream);

/** Queues in `stream` the receiving of `bytes` bytes from rank `from` into device memory. Does not wait until
 *  they arrive.
 *  \return SPMM_OK, SPMM_ERR_DEVICE */
spmm_status sp_nccl_recv(const sp_nccl *nccl, int from, void *data, int64_t bytes, void *stream);

/** Ends the group that sp_nccl_begin() began and launches its sends and receives. Local.
 *  \return SPMM_OK, SPMM_ERR_DEVICE */
spmm_status sp_nccl_end(void);

/** Queues in `stream` the elementwise sum of y [elements], in device memory, over all ranks. On rank 0 the
 *  sum replaces y; on other ranks y does not change. Does not wait for the result. Collective over the NCCL
 *  communicator.
 *  \return SPMM_OK, SPMM_ERR_DEVICE */
spmm_status sp_nccl_sum(const sp_nccl *nccl, void *y, int64_t elements, spmm_precision precision,
                        void *stream);

#endif
