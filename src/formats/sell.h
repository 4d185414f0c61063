/** Sliced ELLPACK, and the cutting of long rows that it shares with csr_balanced. */
#ifndef SP_SELL_H
#define SP_SELL_H

#include "formats/matrix.h"

/** A row, or a piece of a long one. */
typedef struct sp_segment {
    int64_t begin;  /**< its first entry */
    int32_t length; /**< <= SP_ROW_SEGMENT */
    int32_t target; /**< row of Y, or ~p for partial sum p */
} sp_segment;

/** The rows of a CSR block as segments. */
typedef struct sp_segments {
    int64_t count, partials, splits;
    sp_segment *segment; /**< [count] */
    sp_split *split;     /**< [splits], by row */
} sp_segments;

/** How pieces are sorted: not at all, or stably, longest first, by powers of two or by length. */
typedef enum sp_order { SP_ORDER_ROWS, SP_ORDER_CLASSES, SP_ORDER_LENGTHS } sp_order;

/** Cuts rows of more than SP_ROW_SEGMENT entries into pieces of `cut` <= SP_ROW_SEGMENT and sorts the segments. The result depends on the rows' lengths
 *  alone.
 *
 *  Local; host memory. \param [out] p  the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_LIMIT (2^31 partial sums) */
spmm_status sp_segments_create(const spmm_csr *a, int64_t cut, sp_order order, sp_segments *p);
void sp_segments_destroy(sp_segments *p);

/** Sliced ELLPACK in host memory; see sp_matrix for the layout. Rows stay in their order where that pads
 *  little, and are sorted by length otherwise.
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_LIMIT */
spmm_status sp_sell_from_csr(const spmm_csr *a, int threads, sp_matrix *m);

#endif
