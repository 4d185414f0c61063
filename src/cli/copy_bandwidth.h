/** Measures the copy bandwidth of the ranks' memories, the yardstick for computations that are DRAM bound. */
#ifndef SP_COPY_BANDWIDTH_H
#define SP_COPY_BANDWIDTH_H

#include "comm/binding.h"
#include "comm/grid.h"

/** Measures bytes per second, read plus written, of the fastest of a few copies that all ranks make at the same time.
 *
 *  Collective over grid->comm.
 *  \param [out] rate  this rank's share, bytes per second; 0 on every rank where one cannot get the memory to
 *                     measure it
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_DEVICE, SPMM_ERR_MPI */
spmm_status sp_copy_bandwidth(const sp_grid *grid, const sp_binding *binding, double *rate);

#endif
