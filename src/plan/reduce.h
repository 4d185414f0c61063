/** Summing the partial Y of a process row, always in the same order (Q > 1). */
#ifndef SP_REDUCE_H
#define SP_REDUCE_H

#include "comm/grid.h"

typedef struct sp_reduction sp_reduction;

/** Does every rank of the process row get the sum, or the first (q = 0) alone? */
int sp_reduce_everywhere(spmm_reduce method);

/** Why a method is not there on this rank for Y in that memory; NULL: it is. Static storage. Local. */
const char *sp_reduce_missing(spmm_reduce method, spmm_device space);

/** Makes buffers, so that a sum allocates nothing.
 *
 *  Collective over grid->comm.
 *  \param [in]  elements   of a partial Y, [rows x ld]; the same on all ranks of a process row
 *  \param [in]  method     SPMM_REDUCE_AUTO: tree, or on GPUs NCCL's where that works
 *  \param [out] reduction  the caller destroys it; NULL where Q is 1
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (NCCL is not there), _MEMORY, _DEVICE, _MPI */
spmm_status sp_reduction_create(const sp_grid *grid, int64_t elements, spmm_precision precision,
                                spmm_device space, spmm_reduce method, int threads, sp_reduction **reduction);
void sp_reduction_destroy(sp_reduction *reduction);

/** y := the sum over the process row, where it is wanted; elsewhere y is used up.
 *
 *  Collective over the process row. On a GPU, kernels queued before are waited for; what is queued afterwards
 *  finds the sum.
 *    linear     ((y0 + y1) + y2) + ...: the first rank receives from one after another
 *    tree       in step s ranks that are multiples of 2^(s+1) add the partial of the rank 2^s behind
 *    butterfly  in step s ranks whose numbers differ in bit s exchange their partials, and both add; ranks
 *               beyond the greatest power of two hand theirs to the first ones before, and get the sum after
 *               (Rabenseifner: Optimization of collective reduction operations, ICCS 2004, section 2)
 *    mpi, nccl  as the library does; the same from run to run on the same ranks
 *  \param [in,out] y  [elements], in the reduction's memory space */
spmm_status sp_reduction_run(sp_reduction *reduction, void *y);

/** Instead of sp_reduction_run(), by a rank that has no partial Y because it failed: it contributes NaNs, so that nobody
 *  takes the sum for one, and drops what it receives. Collective like it. Needs no memory but on a GPU with NCCL, where
 *  a failure to allocate Y there ends all ranks (sp_abandon()). */
void sp_reduction_skip(sp_reduction *reduction);

/** What is done; never SPMM_REDUCE_AUTO. NULL: SPMM_REDUCE_AUTO, there is nothing to sum. */
spmm_reduce sp_reduction_method(const sp_reduction *reduction);

#endif
