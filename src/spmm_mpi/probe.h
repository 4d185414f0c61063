/** Measures what a message, a byte and a floating-point operation cost, for cost models of distributions. */
#ifndef SP_SPMM_MPI_PROBE_H
#define SP_SPMM_MPI_PROBE_H

#include "comm/grid.h"

/** The costs, in seconds. */
typedef struct sp_probe {
    double latency;  /**< of an 8-byte message between the first and the last rank; 0 on one rank */
    double per_byte; /**< of each further byte of a message; 0 on one rank */
    double per_flop; /**< of an addition or multiplication in the serial product of rank 0's block */
} sp_probe;

/** Measures in well under a second: takes medians of round trips of messages, and of serial products of the first
 *  rows of rank 0's block with k columns (fewer where X would be large). The numbers are the same on every rank.
 *
 *  Collective over grid->comm.
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_MPI */
spmm_status sp_probe_machine(const sp_grid *grid, const spmm_csr *block, int64_t k, sp_probe *probe);

#endif
