/** Splits X into column blocks, so that one block is exchanged while the kernels run on another. This helps
 *  if a rank's block of A has so few interior rows that computing them hides only a small part of the
 *  exchange. An X that is not split is one column block. */
#ifndef SP_COLUMN_BLOCKS_H
#define SP_COLUMN_BLOCKS_H

#include "device/device.h"
#include "exchange/exchange.h"

enum { SP_MOST_COLUMN_BLOCKS = 16 };

/** The column blocks of X. They are parts of X itself, with gaps between their rows if there are several
 *  blocks, or copies with contiguous rows, for transports that do not support gaps. */
typedef struct sp_column_blocks {
    int count;     /**< number of column blocks, at least 1 */
    int in_x;      /**< 1: the column blocks are parts of X; 0: they are copies */
    int64_t width; /**< number of columns of each column block */
    void *memory;  /**< memory of the copies, from sp_exchange_alloc() if a GPU exchanges them; NULL without
                        copies */
    /** x[s] is column block s: a multivector of the owned rows, with memory for ghost rows before and after
     *  them. */
    spmm_multivector x[SP_MOST_COLUMN_BLOCKS];
} sp_column_blocks;

/** Returns 1 if K columns can be split into `count` column blocks of equal width, each of which begins at a
 *  multiple of 32 bytes in a row of Y. Local. */
int sp_column_blocks_fit(int64_t k, spmm_precision precision, int count);

/** Returns the number of column blocks that is expected to be the best on GPUs: the greatest number up to
 *  four that sp_column_blocks_fit() accepts and that leaves at least 128 bytes per row and 8 MB per exchange.
 *  Kernels are slow on narrower rows, and an exchange of few rows takes as long as one of some MB. With n
 *  column blocks, n kernels run one after another. All except the last overlap with an exchange, but each of
 *  them reads the whole matrix. Local.
 *  \param [in] rows  number of rows of X that a rank receives; INT64_MAX: enough for any number of blocks */
int sp_column_blocks_best(int64_t k, spmm_precision precision, int64_t rows);

/** Decides whether column blocks are copies, and allocates the copies. Local.
 *  \param [in]  exchange  the exchange that will move the column blocks; NULL: they are not exchanged, and
 *                         they are copies if `count` is above 1
 *  \param [in]  count     a number that sp_column_blocks_fit() accepts
 *  \param [out] blocks    the caller destroys them, also on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _DEVICE, _LIMIT */
spmm_status sp_column_blocks_create(const sp_moves *moves, int64_t k, spmm_precision precision,
                                    spmm_device space, sp_exchange *exchange, int count,
                                    sp_column_blocks *blocks);

/** Adapts the column blocks to an X with another number of columns, at most the number for which they were
 *  created. Allocates nothing. Local.
 *  \param [in] exchange, count  as for sp_column_blocks_create(), for an X of k columns; count is at most the
 *                               number of column blocks that were created */
void sp_column_blocks_set_k(const sp_moves *moves, int64_t k, const sp_exchange *exchange, int count,
                            sp_column_blocks *blocks);

/** Returns the greatest number of column blocks up to `most` that sp_column_blocks_fit() accepts. Local. */
int sp_column_blocks_fitting(int64_t k, spmm_precision precision, int most);

/** Frees the memory of the column blocks and zeroes *blocks; accepts zeroed objects. Local. */
void sp_column_blocks_destroy(sp_column_blocks *blocks);

/** Sets the column blocks to those of X. If they are copies, the owned rows of X are copied. On a GPU the
 *  copies are queued in SP_STREAM_MAIN, and the stream of the exchange waits for the copies that the exchange
 *  reads. Local.
 *  \param [in] x         X with all K columns. If blocks->in_x is 1, it must have memory for the ghost rows,
 *                        and the exchange must accept it (sp_exchange_takes())
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
