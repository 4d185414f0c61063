/** Splits X into column blocks: while one is exchanged, the kernels run on the one before. Meant for blocks of A
 *  with few interior rows, where the exchange could not be overlapped otherwise. */
#ifndef SP_COLUMN_BLOCKS_H
#define SP_COLUMN_BLOCKS_H

#include "device/device.h"
#include "plan/exchange.h"

enum { SP_MOST_COLUMN_BLOCKS = 16 };

typedef struct sp_column_blocks {
    int count;     /**< 1: X is not split, and memory and x are empty */
    int64_t width; /**< columns per column block, the same for all */
    void *memory;  /**< of all column blocks; on a GPU from sp_exchange_alloc() where there is an exchange */
    spmm_multivector
        x[SP_MOST_COLUMN_BLOCKS]; /**< views of the owned rows, with the halo's ghost rows around them */
} sp_column_blocks;

/** Returns 1 when K columns can be split into `count` column blocks: equally wide ones, each of which begins at a
 *  multiple of 32 bytes in a row of Y. Local. */
int sp_column_blocks_fit(int64_t k, spmm_precision precision, int count);

/** Returns the best number of column blocks on GPUs: at most four, with rows of at least 128 bytes, since kernels are
 *  slow on narrower ones; 1 where K has no such divisor. One more column block lets more of the products overlap with
 *  the exchange (all of them but the last), and costs another pass over the matrix. Local. */
int sp_column_blocks_best(int64_t k, spmm_precision precision);

/** Allocates the column blocks. Local.
 *  \param [in]  exchange  the exchange that will move them; NULL: none
 *  \param [in]  count     a number that sp_column_blocks_fit() accepts
 *  \param [out] blocks    the caller destroys them, also on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _DEVICE, _LIMIT */
spmm_status sp_column_blocks_create(const sp_halo *halo, int64_t k, spmm_precision precision,
                                    spmm_device space, sp_exchange *exchange, int count,
                                    sp_column_blocks *blocks);
/** Frees the memory and zeroes *blocks; accepts zeroed objects. Local. */
void sp_column_blocks_destroy(sp_column_blocks *blocks);

/** Copies the owned rows x into the column blocks; on a GPU the copies are queued in `stream`. Local.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_column_blocks_fill(sp_column_blocks *blocks, const spmm_multivector *x, int threads,
                                  sp_stream stream);

/** Returns a view of column block s of X as the block of A sees it: all its rows, ghost rows included. Local. */
spmm_multivector sp_column_blocks_x(const sp_column_blocks *blocks, int s);

/** Returns a view of the columns of y that correspond to column block s. Local. */
spmm_multivector sp_column_blocks_y(const sp_column_blocks *blocks, int s, const spmm_multivector *y);

#endif
