/** X in slices of columns: while one travels, the kernels run on the one before. For blocks that have few rows
 *  without a halo, where there is nothing else to do meanwhile. */
#ifndef SP_SLICES_H
#define SP_SLICES_H

#include "halo.h"

enum { SP_MOST_SLICES = 16 };

typedef struct sp_slices {
    int count;                          /**< 1: X is not sliced, and the rest is empty */
    int64_t width;                      /**< columns of a slice, all alike */
    spmm_multivector x[SP_MOST_SLICES]; /**< each as a block sees X: own rows, and room before and behind */
} sp_slices;

/** Can K columns be cut into `count` slices? They are equally wide, and begin on 32 bytes in a row of Y. */
int sp_slices_fit(int64_t k, spmm_precision precision, int count);

/** As many as leave each a row of 256 bytes, with which kernels are still at full speed; 1 where K has no such
 *  divisor. */
int sp_slices_best(int64_t k, spmm_precision precision);

/** Allocates the slices. Local. \param [in] count  that fits \return SPMM_OK, SPMM_ERR_MEMORY, _DEVICE */
spmm_status sp_slices_create(const sp_halo *halo, int64_t k, spmm_precision precision, spmm_device space,
                             int count, sp_slices *slices);
void sp_slices_destroy(sp_slices *slices);

/** Copies the columns of slice s of x's rows into it; on a GPU queued in SP_QUEUE_MOVE. */
spmm_status sp_slices_fill(sp_slices *slices, int s, const spmm_multivector *x, int threads);

/** Slice s of X as the block sees it, and of the rows of y. Views. */
spmm_multivector sp_slices_x(const sp_slices *slices, int s);
spmm_multivector sp_slices_y(const sp_slices *slices, int s, const spmm_multivector *y);

#endif
