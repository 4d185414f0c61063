/** Sums the partial Y of the ranks of a process row (Q > 1), always in the same order. */
#ifndef SP_REDUCE_H
#define SP_REDUCE_H

#include "comm/grid.h"

typedef struct sp_reduction sp_reduction;

/** Returns 1 when every rank of the process row gets the sum, 0 when only the first one (q = 0) does. Local. */
int sp_reduce_everywhere(spmm_reduce method);

/** Returns the reason why a method is not available on this rank for a Y in that memory, in static storage; NULL
 *  where it is available. Local. */
const char *sp_reduce_missing(spmm_reduce method, spmm_device space);

/** Allocates buffers, so that sums need not.
 *
 *  Collective over grid->comm.
 *  \param [in]  elements   number of elements of a partial Y, rows * ld; the same on all ranks of a process row
 *  \param [in]  space      memory that Y lies in
 *  \param [in]  method     SPMM_REDUCE_AUTO: tree, or on GPUs NCCL where that works
 *  \param [in]  threads    OpenMP threads of this rank, for adding on the host
 *  \param [out] reduction  the caller destroys it; NULL where Q is 1, and on failure
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (NCCL is not available; the message says why),
 *          _MEMORY, _DEVICE, _MPI */
spmm_status sp_reduction_create(const sp_grid *grid, int64_t elements, spmm_precision precision,
                                spmm_device space, spmm_reduce method, int threads, sp_reduction **reduction);

/** Frees the reduction; accepts NULL. Local. */
void sp_reduction_destroy(sp_reduction *reduction);

/** Replaces y by the sum over the process row, on the ranks that get it (sp_reduce_everywhere()); on the others y is
 *  undefined afterwards.
 *
 *  Collective over the process row. On a GPU, the sum follows the kernels queued before in SP_STREAM_MAIN, and work
 *  queued there afterwards finds it.
 *    linear     ((y0 + y1) + y2) + ...: the first rank receives from the others in turn
 *    tree       in step s, ranks that are multiples of 2^(s+1) add the partial of the rank 2^s above
 *    butterfly  in step s, ranks whose numbers differ in bit s exchange their partials, and both add; ranks
 *               beyond the greatest power of two pass theirs to the first ranks before, and get the sum afterwards
 *               (Rabenseifner: Optimization of collective reduction operations, ICCS 2004, section 2)
 *    mpi, nccl  in the library's order; the same from run to run on the same ranks
 *  \param [in,out] y  [elements], in the reduction's memory space
 *  \return SPMM_OK, SPMM_ERR_DEVICE, SPMM_ERR_MPI */
spmm_status sp_reduction_run(sp_reduction *reduction, void *y);

/** Takes the place of sp_reduction_run() on a rank that failed and has no partial Y: contributes NaNs, so that no
 *  rank takes the result for a sum, and drops what it receives. Collective as sp_reduction_run() is. Allocates
 *  memory only on a GPU with NCCL, for a Y of NaNs. Where it fails itself it ends all ranks (sp_abandon()). */
void sp_reduction_skip(sp_reduction *reduction);

/** Returns the method in use; SPMM_REDUCE_AUTO only for NULL, where there is nothing to sum. Local. */
spmm_reduce sp_reduction_method(const sp_reduction *reduction);

#endif
