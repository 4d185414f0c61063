/** Sums the partial Y of the ranks of a process row (Q > 1), always in the same order of additions. */
#ifndef SP_REDUCE_H
#define SP_REDUCE_H

#include "comm/grid.h"

typedef struct sp_reduction sp_reduction;

/** Returns 1 if the reduction method leaves the sum on every rank of the process row, 0 if only on the first
 *  rank (q = 0). Local. */
int sp_reduce_everywhere(spmm_reduce method);

/** Returns the reason why this rank cannot use the reduction method for a Y in memory `space`, in static
 *  storage; NULL if the method is available. Local. */
const char *sp_reduce_missing(spmm_reduce method, spmm_device space);

/** Returns the number of consecutive steps of a sum over `ranks` ranks by messages: ranks - 1 (linear),
 *  log2(ranks) rounded up (tree), log2(ranks) (butterfly). If the number of ranks is not a power of two, the
 *  butterfly takes log2(ranks) rounded down and two more steps for the other ranks. For methods of libraries
 *  (MPI, NCCL), returns the number for a tree. Local.
 *  \param [in] ranks  >= 1 */
int sp_reduce_steps(spmm_reduce method, int ranks);

/** Creates a reduction, and allocates its buffers, so that sp_reduction_run() allocates nothing.
 *
 *  Collective over grid->comm.
 *  \param [in]  elements   number of elements of a partial Y, rows * ld; the same on all ranks of a process
 *                         row
 *  \param [in]  space      the memory that Y lies in
 *  \param [in]  method     SPMM_REDUCE_AUTO: NCCL if Y is in GPU memory and NCCL works, else tree
 *  \param [in]  threads    OpenMP threads of this rank, for adding on the host
 *  \param [out] trial     the timed methods, by name. NULL: nothing is timed. Else SPMM_REDUCE_AUTO times
 *                         sums of zeros with the methods that leave the sum on the first rank, and selects
 *                         the fastest. The selected method may differ from run to run, and with three or more
 *                         process columns so may the bits of sums
 *  \param [out] reduction  the caller destroys it; NULL if Q is 1, and on failure
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (NCCL is not available; the message says
 *          why), _MEMORY, _DEVICE, _MPI */
spmm_status sp_reduction_create(const sp_grid *grid, int64_t elements, spmm_precision precision,
                                spmm_device space, spmm_reduce method, int threads, sp_trial *trial,
                                sp_reduction **reduction);

/** Adapts later sums to another number of elements, at most the number for which the reduction was created;
 *  the same on all ranks of a process row. Local; accepts NULL. */
void sp_reduction_set_elements(sp_reduction *reduction, int64_t elements);

/** Frees the reduction; accepts NULL. Local. */
void sp_reduction_destroy(sp_reduction *reduction);

/** Sums the ranks' y over the process row. If sp_reduce_everywhere(method) is 1, y becomes the sum on every
 *  rank; otherwise y becomes the sum on the first rank, and is undefined afterwards on the others.
 *
 *  Collective over the process row. On a GPU, the sum starts after the kernels queued before in
 *  SP_STREAM_MAIN, and work queued there after this call reads the sum. The methods:
 *  - linear: ((y0 + y1) + y2) + ...: the first rank receives from all others, in the order of ranks.
 *  - tree: in step s, each rank r that is a multiple of 2^(s+1) adds the partial Y of rank r + 2^s.
 *  - butterfly: in step s, ranks whose numbers differ only in bit s exchange their partial Y, and both add.
 *    If the number of ranks is not a power of two, let 2^m be the greatest power of two below it: each rank
 *    r >= 2^m first sends its partial Y to rank r - 2^m, and receives the sum in the end (Rabenseifner:
 *    Optimization of collective reduction operations, ICCS 2004, section 2).
 *  - mpi, nccl: the library adds, in an order that is the same in each run on the same ranks.
 *  \param [in,out] y  [elements], in the reduction's memory space
 *  \return SPMM_OK, SPMM_ERR_DEVICE, SPMM_ERR_MPI */
spmm_status sp_reduction_run(sp_reduction *reduction, void *y);

/** Replaces sp_reduction_run() on a rank that failed and has no partial Y: contributes NaNs, so that no rank
 *  uses the result as a sum, and discards the data it receives. Collective over the process row. Allocates
 *  memory only on a GPU with NCCL, for a Y of NaNs. If this function itself fails, it ends all ranks by
 *  sp_abandon(). */
void sp_reduction_skip(sp_reduction *reduction);

/** Returns the reduction method in use; SPMM_REDUCE_AUTO if `reduction` is NULL, i.e. nothing is summed.
 *  Local. */
spmm_reduce sp_reduction_method(const sp_reduction *reduction);

#endif
