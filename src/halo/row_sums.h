/** Adds rows of a multivector to rows of another multivector according to an sp_sum_lists (joint.h), in host
 *  or GPU memory. */
#ifndef SP_ROW_SUMS_H
#define SP_ROW_SUMS_H

#include "device/device_ops.h"
#include "halo/joint.h"

/** Prepares the lists in the memory where rows are added. Local.
 *  \param [in]  lists  copied to a GPU; in host memory, *sums points to the arrays of *lists, which must
 *                      outlive *sums
 *  \param [out] sums   sp_row_sums_destroy() frees it, also on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_row_sums_create(const sp_sum_lists *lists, spmm_device space, sp_row_sums *sums);

/** Frees the copies on a GPU and zeroes *sums; accepts a zeroed object. Local. */
void sp_row_sums_destroy(spmm_device space, sp_row_sums *sums);

/** Adds rows of s to rows of y, in the order of the lists. Local; on a GPU queued in SP_STREAM_MAIN.
 *  \param [in]     s        its rows are numbered in `addend` from 0, the first ghost row
 *  \param [in]     threads  OpenMP threads, for host memory
 *  \param [in,out] y        with the memory, precision and number of columns of s; may be s
 *  \return SPMM_OK, SPMM_ERR_DEVICE */
spmm_status sp_row_sums_add(const sp_row_sums *sums, const spmm_multivector *s, int threads,
                            spmm_multivector *y);

#endif
