/** The sum of an array that is cut between the ranks: each rank sums its part, then the ranks' sums are added
 *  by one of three strategies, with the same messages as the reduction of partial Y (product/reduce.h). */
#ifndef SP_SERIES_MPI_SUM_OF_ARRAY_H
#define SP_SERIES_MPI_SUM_OF_ARRAY_H

#include "distribute/scatter.h"
#include "kernels/series/series.h"
#include "product/reduce.h"

/** A rank's part of a sum. It borrows what it points to. */
typedef struct sp_array_sum {
    const sp_series_kernel *kernel; /**< kernel of step SP_MEAN that sums the part */
    sp_series_launch launch;        /**< arguments of the kernel: at most one series, divisor 1, mean [1] */
    sp_reduction *reduction;        /**< adds one number per rank, in host memory; NULL on one rank */
} sp_array_sum;

/** Sends each rank its part of an array on rank 0. Collective over grid->comm.
 *
 *  \param [in]  grid    has one column
 *  \param [in]  ranges  from sp_series_cut()
 *  \param [in]  all     on rank 0: the array, in host memory; ignored on other ranks
 *  \param [in]  device  device in whose memory the part is stored
 *  \param [out] part    one series; on a rank without numbers, count 0 and length 1. The caller destroys
 *                       part->v, also after a failure
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE, _MPI */
spmm_status sp_array_scatter(const sp_grid *grid, const sp_ranges *ranges, const void *all,
                             spmm_precision precision, spmm_device device, sp_series *part);

/** Creates the reduction of an sp_array_sum. Collective over line->comm.
 *  \param [in]  line       a grid with one row
 *  \param [out] reduction  the caller destroys it; NULL on one rank
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _MPI */
spmm_status sp_array_reduction(const sp_grid *line, spmm_precision precision, spmm_reduce method,
                               sp_reduction **reduction);

/** Sums this rank's part. Complete on return. Local.
 *  \param [out] sum  computed in the precision of the part; 0 on a rank without numbers
 *  \return SPMM_OK, SPMM_ERR_DEVICE */
spmm_status sp_array_part_sum(const sp_array_sum *a, double *sum);

/** Adds the sums of all ranks, in the precision of the array. Collective over the ranks of the reduction.
 *  \param [in]     summed  status of this rank's sp_array_part_sum(). If it is an error, the other ranks'
 *                          result is NaN
 *  \param [in,out] sum     on entry this rank's sum; on return the sum of the array if sp_array_has_sum() is
 *                          1, else undefined
 *  \return `summed` if that is an error; else SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_array_combine(const sp_array_sum *a, spmm_status summed, double *sum);

/** Returns 1 if a rank has the sum of the array after sp_array_combine(): rank 0 with linear and tree, every
 *  rank with butterfly. Local. */
int sp_array_has_sum(spmm_reduce method, int rank);

/** Returns the seconds T of a sum by the cost model
 *      T = (N / p - 1) T_calc + steps (T_com + T_calc).
 *  N is `count`, the number of numbers; p is `ranks`. N / p is rounded up, since the rank with the most
 *  numbers is the slowest. The number of steps is that of sp_reduce_steps(). T_calc is `calc`, T_com is
 *  `com`. Local.
 *  \param [in] calc  seconds of an addition
 *  \param [in] com   seconds of a message with one number */
double sp_array_model(spmm_reduce method, int64_t count, int ranks, double calc, double com);

#endif
