/** NCCL, where the build found it: nccl_found.c or nccl_none.c is linked, never both. */
#ifndef SP_NCCL_H
#define SP_NCCL_H

#include "comm/grid.h"

/** NCCL's communicator of a process row or column. */
typedef struct sp_nccl sp_nccl;
typedef enum sp_along { SP_ALONG_ROW, SP_ALONG_COLUMN } sp_along;

/** Why NCCL cannot be used by this build; NULL: it can. Static storage. */
const char *sp_nccl_missing(void);

/** The communicator, made at the first call (which takes about a second). It is an attribute of MPI's, grid->row_comm or
 *  grid->col_comm, and is destroyed when that is freed.
 *
 *  Collective over grid->comm; the same status on every rank: SPMM_OK, SPMM_ERR_DEVICE (as where two ranks share
 *  a GPU), SPMM_ERR_USAGE (not in this build) */
spmm_status sp_nccl_of(const sp_grid *grid, sp_along along, const sp_nccl **nccl);

/** Queued in `stream`, all in device memory. A group of sends and receives is started and ended as one.
 *  \return SPMM_OK, SPMM_ERR_DEVICE */
spmm_status sp_nccl_begin(void);
spmm_status sp_nccl_send(const sp_nccl *nccl, int to, const void *data, int64_t bytes, void *stream);
spmm_status sp_nccl_recv(const sp_nccl *nccl, int from, void *data, int64_t bytes, void *stream);
spmm_status sp_nccl_end(void);

/** Sums y over the ranks, in place on rank 0; elsewhere y stays as it is. */
spmm_status sp_nccl_sum(const sp_nccl *nccl, void *y, int64_t elements, spmm_precision precision,
                        void *stream);

#endif
