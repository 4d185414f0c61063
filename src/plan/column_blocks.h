/** X in slices of columns: while one travels, the kernels run on the one before. For blocks that have few rows
 *  without a halo, where there is nothing else to do meanwhile. */
#ifndef SP_SLICES_H
#define SP_SLICES_H

#include "device/device.h"
#include "plan/exchange.h"

enum { SP_MOST_SLICES = 16 };

typedef struct sp_slices {
    int count;     /**< 1: X is not sliced, and the rest is empty */
    int64_t width; /**< columns of a slice, all alike */
    void *memory;  /**< where all of them are; on a GPU it can be shared */
    spmm_multivector
        x[SP_MOST_SLICES]; /**< each as a block sees X: own rows, and room before and behind; views */
} sp_slices;

/** Can K columns be cut into `count` slices? They are equally wide, and begin on 32 bytes in a row of Y. */
int sp_slices_fit(int64_t k, spmm_precision precision, int count);

/** How many are best on GPUs: up to four, each with a row of at least 128 bytes, or kernels become slow. Each one more
 *  hides more of the products, all but the last, and costs a pass over the matrix. 1 where K has no such divisor. */
int sp_slices_best(int64_t k, spmm_precision precision);

/** Allocates the slices. Local.
 *  \param [in] exchange  that they are for; NULL: none
 *  \param [in] count     that fits
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _DEVICE, _LIMIT */
spmm_status sp_slices_create(const sp_halo *halo, int64_t k, spmm_precision precision, spmm_device space,
                             sp_exchange *exchange, int count, sp_slices *slices);
void sp_slices_destroy(sp_slices *slices);

/** Copies the columns of x's rows into all slices; on a GPU in that queue. */
spmm_status sp_slices_fill(sp_slices *slices, const spmm_multivector *x, int threads, sp_queue queue);

/** Slice s of X as the block sees it, and of the rows of y. Views. */
spmm_multivector sp_slices_x(const sp_slices *slices, int s);
spmm_multivector sp_slices_y(const sp_slices *slices, int s, const spmm_multivector *y);

#endif
