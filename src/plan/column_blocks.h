/** Splits X into column blocks, so that one block is exchanged while the kernels run on another. This helps
 *  if a rank's block of A has so few interior rows that computing them hides only a small part of the
 *  exchange. An X that is not split is one column block. */
#ifndef SP_COLUMN_BLOCKS_H
#define SP_COLUMN_BLOCKS_H

#include "device/device.h"
#include "exchange/exchange.h"

enum { SP_MOST_COLUMN_BLOCKS = 16 };

/** The column blocks of X. If there are several, each is a copy in which the rows are contiguous; if there is
 *  one, it is X itself. */
typedef struct sp_column_blocks {
    int count;     /**< number of column blocks, at least 1 */
    int64_t width; /**< number of columns of each column block */
    void
        *memory; /**< holds the copies; sp_exchange_alloc() allocates it if a GPU exchanges them; else NULL */
    /** x[s] is column block s: a multivector of the owned rows, with memory for ghost rows before and after
     *  them. */
    spmm_multivector x[SP_MOST_COLUMN_BLOCKS];
    /** from[s] is the first row of column block s that the exchange reads, and `pitch` the distance in bytes
     *  between the rows; the exchange reads them in X itself, if it can. */
    const void *from[SP_MOST_COLUMN_BLOCKS];
    int64_t pitch;
} sp_column_blocks;

/** Returns 1 if K columns can be split into `count` column blocks of equal width, each of which begins at a
 *  multiple of 32 bytes in a row of Y. Local. */
int sp_column_blocks_fit(int64_t k, spmm_precision precision, int count);

/** Returns the best number of column blocks on GPUs: the greatest number up to four that
 *  sp_column_blocks_fit() accepts and that leaves at least 128 bytes per row, because kernels are slow on
 *  narrower rows. With n column blocks, n kernels run one after another: all except the last
 *  overlap with an exchange, but each of them reads the whole matrix. Local. */
int sp_column_blocks_best(int64_t k, spmm_precision precision);

/** Allocates the copies of the column blocks, if there are several. Local.
 *  \param [in]  exchange  the exchange that will move the column blocks; NULL: they are not exchanged
 *  \param [in]  count     a number that sp_column_blocks_fit() accepts
 *  \param [out] blocks    the caller destroys them, also on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _DEVICE, _LIMIT */
spmm_status sp_column_blocks_create(const sp_halo *halo, int64_t k, spmm_precision precision,
                                    spmm_device space, sp_exchange *exchange, int count,
                                    sp_column_blocks *blocks);
/** Frees the memory of the column blocks and zeroes *blocks; accepts zeroed objects. Local. */
void sp_column_blocks_destroy(sp_column_blocks *blocks);

/** Makes the column blocks those of X: copies its owned rows if there are several blocks; on a GPU the copies
 *  are queued in SP_STREAM_MAIN, and SP_STREAM_MOVE waits for what the exchange is to read. Local.
 *  \param [in] x         X with all K columns. If it is one column block, it must have room for the ghost
 *                        rows, and the exchange must take it (sp_exchange_takes())
 *  \param [in] exchange  the exchange that will move the column blocks; NULL: they are not exchanged
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_column_blocks_set(sp_column_blocks *blocks, const spmm_multivector *x,
                                 const sp_exchange *exchange, int threads);

/** Returns a view of column block s of X for the kernels, in which ghost rows count as rows: row 0 is the
 *  first ghost row. Local. */
spmm_multivector sp_column_blocks_x(const sp_column_blocks *blocks, int s);

/** Returns a view of the columns of y that correspond to column block s of X. Local. */
spmm_multivector sp_column_blocks_y(const sp_column_blocks *blocks, int s, const spmm_multivector *y);

#endif
