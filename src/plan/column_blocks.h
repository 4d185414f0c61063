/** X in blocks of columns: while one travels, the kernels run on the one before. For blocks that have few rows
 *  without a halo, where there is nothing else to do meanwhile. */
#ifndef SP_COLUMN_BLOCKS_H
#define SP_COLUMN_BLOCKS_H

#include "device/device.h"
#include "plan/exchange.h"

enum { SP_MOST_COLUMN_BLOCKS = 16 };

typedef struct sp_column_blocks {
    int count;     /**< 1: X is not sliced, and the rest is empty */
    int64_t width; /**< columns of a slice, all alike */
    void *memory;  /**< where all of them are; on a GPU it can be shared */
    spmm_multivector
        x[SP_MOST_COLUMN_BLOCKS]; /**< each as a block sees X: own rows, and room before and behind; views */
} sp_column_blocks;

/** Can K columns be cut into `count` blocks? They are equally wide, and begin on 32 bytes in a row of Y. */
int sp_column_blocks_fit(int64_t k, spmm_precision precision, int count);

/** How many are best on GPUs: up to four, each with a row of at least 128 bytes, or kernels become slow. Each one more
 *  hides more of the products, all but the last, and costs a pass over the matrix. 1 where K has no such divisor. */
int sp_column_blocks_best(int64_t k, spmm_precision precision);

/** Allocates the blocks. Local.
 *  \param [in] exchange  that they are for; NULL: none
 *  \param [in] count     that fits
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _DEVICE, _LIMIT */
spmm_status sp_column_blocks_create(const sp_halo *halo, int64_t k, spmm_precision precision,
                                    spmm_device space, sp_exchange *exchange, int count,
                                    sp_column_blocks *blocks);
void sp_column_blocks_destroy(sp_column_blocks *blocks);

/** Copies the columns of x's rows into all blocks; on a GPU in that queue. */
spmm_status sp_column_blocks_fill(sp_column_blocks *blocks, const spmm_multivector *x, int threads,
                                  sp_stream stream);

/** Slice s of X as the block sees it, and of the rows of y. Views. */
spmm_multivector sp_column_blocks_x(const sp_column_blocks *blocks, int s);
spmm_multivector sp_column_blocks_y(const sp_column_blocks *blocks, int s, const spmm_multivector *y);

#endif
