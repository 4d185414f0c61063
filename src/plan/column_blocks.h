/** Splits X into column blocks: while one column block is exchanged, the kernels run on the previous one.
 *  This helps if a rank's block of A has so few interior rows that computing them hides only a small part
 *  of the exchange. */
#ifndef SP_COLUMN_BLOCKS_H
#define SP_COLUMN_BLOCKS_H

#include "device/device.h"
#include "plan/exchange.h"

enum { SP_MOST_COLUMN_BLOCKS = 16 };

/** Copies of the column blocks of X. In each copy the rows are contiguous. */
typedef struct sp_column_blocks {
    int count;     /**< number of column blocks; 1: X is not split, `memory` is NULL and `x` is zeroed */
    int64_t width; /**< number of columns of each column block */
    void *memory;  /**< holds all column blocks; sp_exchange_alloc() allocates it if a GPU exchanges them */
    /** x[s] is column block s: a multivector of the owned rows, with memory for ghost rows before and after
     *  them. */
    spmm_multivector x[SP_MOST_COLUMN_BLOCKS];
} sp_column_blocks;

/** Returns 1 if K columns can be split into `count` column blocks of equal width, each of which begins at a
 *  multiple of 32 bytes in a row of Y. Local. */
int sp_column_blocks_fit(int64_t k, spmm_precision precision, int count);

/** Returns the best number of column blocks on GPUs: the greatest number up to four that
 *  sp_column_blocks_fit() accepts and that leaves at least 128 bytes per row, because kernels are slow on
 *  narrower rows. With n column blocks, n kernels run one after another: all except the last
 *  overlap with an exchange, but each of them reads the whole matrix. Local. */
int sp_column_blocks_best(int64_t k, spmm_precision precision);

/** Allocates the column blocks. Local.
 *  \param [in]  exchange  the exchange that will move the column blocks; NULL: they are not exchanged
 *  \param [in]  count     a number that sp_column_blocks_fit() accepts
 *  \param [out] blocks    the caller destroys them, also on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _DEVICE, _LIMIT */
spmm_status sp_column_blocks_create(const sp_halo *halo, int64_t k, spmm_precision precision,
                                    spmm_device space, sp_exchange *exchange, int count,
                                    sp_column_blocks *blocks);
/** Frees the memory of the column blocks and zeroes *blocks; accepts zeroed objects. Local. */
void sp_column_blocks_destroy(sp_column_blocks *blocks);

/** Copies the owned rows of X into the column blocks; on a GPU the copies are queued in `stream`. Local.
 *  \param [in] x  the owned rows of X, with all K columns
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_column_blocks_fill(sp_column_blocks *blocks, const spmm_multivector *x, int threads,
                                  sp_stream stream);

/** Returns a view of column block s of X for the kernels, in which ghost rows count as rows: row 0 is the
 *  first ghost row. Local. */
spmm_multivector sp_column_blocks_x(const sp_column_blocks *blocks, int s);

/** Returns a view of the columns of y that correspond to column block s of X. Local. */
spmm_multivector sp_column_blocks_y(const sp_column_blocks *blocks, int s, const spmm_multivector *y);

#endif
