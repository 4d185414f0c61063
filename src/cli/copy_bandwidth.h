/** Measures the bandwidth of copies within memory, for comparison with computations limited by memory
 *  bandwidth, and of copies between host and GPU. */
#ifndef SP_COPY_BANDWIDTH_H
#define SP_COPY_BANDWIDTH_H

#include "comm/binding.h"
#include "comm/grid.h"

/** Measures the bandwidth of copies within memory: bytes read plus bytes written per second. All ranks copy
 *  concurrently, several times; the fastest copy is used.
 *
 *  Collective over grid->comm.
 *  \param [out] rate  bandwidth of this rank in bytes per second, while all ranks copy; 0 on all ranks if any
 *                     rank cannot allocate the buffers
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_DEVICE, SPMM_ERR_MPI */
spmm_status sp_copy_bandwidth(const sp_grid *grid, const sp_binding *binding, double *rate);

/** Rates of copies between host memory and a GPU, and within the GPU, in bytes per second; 0: not measured.
 *  Pageable memory is ordinary memory from malloc(); the driver copies it through its own pinned memory. */
typedef struct sp_host_copies {
    double to_pinned, to_pageable;     /**< from the host to the GPU */
    double from_pinned, from_pageable; /**< from the GPU to the host */
    double within;                     /**< within the GPU: bytes read plus bytes written */
} sp_host_copies;

/** Times copies between host memory and the open GPU, one at a time, and computes the medians, in a fraction
 *  of a second. Local.
 *  \param [out] copies  the rates; zeroed on failure, and if memory for the copies cannot be allocated
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_time_host_copies(sp_host_copies *copies);

#endif
