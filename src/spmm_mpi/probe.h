/** A short look at the machine, for the cost models of distributions: what a message, a byte and an operation cost. */
#ifndef SP_SPMM_MPI_PROBE_H
#define SP_SPMM_MPI_PROBE_H

#include "comm/grid.h"

typedef struct sp_probe {
    double
        latency; /**< seconds of a message of one number between the first and the last rank; 0 on one rank */
    double per_byte; /**< seconds that each byte more takes; 0 on one rank */
    double
        per_flop; /**< seconds of an addition or a multiplication in the serial product of rank 0's block */
} sp_probe;

/** Measures in well under a second: medians of messages to and fro, and of serial products of the block's first
 *  rows with k columns (fewer where X would be large). The numbers are the same on every rank.
 *
 *  Collective over grid->comm. \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_MPI; the same on every rank */
spmm_status sp_probe_machine(const sp_grid *grid, const spmm_csr *block, int64_t k, sp_probe *probe);

#endif
