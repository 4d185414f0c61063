/** What the memories of the ranks copy, as a measure for what moves much and computes little. */
#ifndef SP_COPY_BANDWIDTH_H
#define SP_COPY_BANDWIDTH_H

#include "comm/binding.h"
#include "comm/grid.h"

/** Bytes a second, read and written, of the fastest of a few copies that all ranks do at once.
 *
 *  Collective over grid->comm.
 *  \param [out] rate  this rank's; 0 where one lacks the memory to measure it
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_DEVICE, SPMM_ERR_MPI */
spmm_status sp_copy_bandwidth(const sp_grid *grid, const sp_binding *binding, double *rate);

#endif
