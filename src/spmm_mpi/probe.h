/** Implements --probe: measures the time of a message, of a byte and of a floating-point operation. */
#ifndef SP_SPMM_MPI_PROBE_H
#define SP_SPMM_MPI_PROBE_H

#include "cli/copy_bandwidth.h"
#include "comm/grid.h"

/** Results of --probe, in seconds except for copies. */
typedef struct sp_probe {
    double latency;  /**< time of an 8-byte message between the first and the last rank; 0 on one rank */
    double per_byte; /**< time per additional byte of a message; 0 on one rank */
    double per_flop; /**< time of an addition or multiplication in a serial product on rank 0 */
    sp_host_copies copies; /**< between rank 0 and its GPU; zeroed: not measured */
} sp_probe;

/** Measures the members of *probe, in well under a second. latency and per_byte are medians of the times of
 *  messages. per_flop comes from the median time of a serial product: the first rows of rank 0's block times
 *  an X of k columns, or fewer if X would be large. On a GPU, rank 0 also times its copies.
 *
 *  Collective over grid->comm.
 *  \param [out] probe  the same on every rank
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _DEVICE, _MPI */
spmm_status sp_probe_machine(const sp_grid *grid, spmm_device device, const spmm_csr *block, int64_t k,
                             sp_probe *probe);

#endif
