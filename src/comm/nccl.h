/** NCCL, where the build found it: either nccl_found.c or nccl_none.c is linked, never both. */
#ifndef SP_NCCL_H
#define SP_NCCL_H

#include "comm/grid.h"

/** The NCCL communicator of a process row or column. */
typedef struct sp_nccl sp_nccl;
typedef enum sp_along { SP_ALONG_ROW, SP_ALONG_COLUMN } sp_along;

/** Why this build cannot use NCCL; NULL: it can. Static storage. Local. */
const char *sp_nccl_missing(void);

/** Gets the NCCL communicator of this rank's process row or column; the first call creates it, which takes about a
 *  second. It is an attribute of the MPI communicator, grid->row_comm or grid->col_comm, and is destroyed with that.
 *
 *  Collective over grid->comm.
 *  \param [out] nccl  owned by the grid; NULL on failure
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_DEVICE (e.g. two ranks share a GPU), SPMM_ERR_USAGE
 *          (this build has no NCCL), SPMM_ERR_MEMORY, SPMM_ERR_MPI */
spmm_status sp_nccl_of(const sp_grid *grid, sp_along along, const sp_nccl **nccl);

/** Begins a group: the sends and receives up to sp_nccl_end() are launched together. Local.
 *  \return SPMM_OK, SPMM_ERR_DEVICE; SPMM_ERR_USAGE in a build without NCCL, as from the functions below */
spmm_status sp_nccl_begin(void);

/** Queues in `stream` a send of `bytes` bytes of device memory to rank `to`, which must post the receive. Does not
 *  wait for its completion. \return SPMM_OK, SPMM_ERR_DEVICE */
spmm_status sp_nccl_send(const sp_nccl *nccl, int to, const void *data, int64_t bytes, void *stream);

/** Queues in `stream` the receive of `bytes` bytes from rank `from` into device memory. Does not wait for its
 *  completion. \return SPMM_OK, SPMM_ERR_DEVICE */
spmm_status sp_nccl_recv(const sp_nccl *nccl, int from, void *data, int64_t bytes, void *stream);

/** Ends the group and launches it. Local. \return SPMM_OK, SPMM_ERR_DEVICE */
spmm_status sp_nccl_end(void);

/** Queues in `stream` the sum over the ranks of y [elements] in device memory: in place on rank 0, y stays as it is
 *  elsewhere. Collective over the communicator; does not wait for its completion.
 *  \return SPMM_OK, SPMM_ERR_DEVICE */
spmm_status sp_nccl_sum(const sp_nccl *nccl, void *y, int64_t elements, spmm_precision precision,
                        void *stream);

#endif
