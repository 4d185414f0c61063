/** Measures the bandwidth of copies within memory, to compare DRAM-bound computations with. */
#ifndef SP_COPY_BANDWIDTH_H
#define SP_COPY_BANDWIDTH_H

#include "comm/binding.h"
#include "comm/grid.h"

/** Measures the bandwidth of copies within memory: bytes read plus bytes written per second. All ranks copy
 *  at the same time, a few times; the fastest copy counts.
 *
 *  Collective over grid->comm.
 *  \param [out] rate  bandwidth of this rank in bytes per second, while all ranks copy; 0 on all ranks if any
 *                     rank cannot allocate the buffers
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_DEVICE, SPMM_ERR_MPI */
spmm_status sp_copy_bandwidth(const sp_grid *grid, const sp_binding *binding, double *rate);

#endif
