/** Sliced ELLPACK, and the cutting of long rows into segments, which the kernel csr_balanced uses too. */
#ifndef SP_SELL_H
#define SP_SELL_H

#include "formats/matrix.h"

/** A whole row of up to SP_ROW_SEGMENT entries, or a segment of a long row. */
typedef struct sp_segment {
    int64_t begin;  /**< index of its first entry */
    int32_t length; /**< number of entries, <= SP_ROW_SEGMENT */
    int32_t target; /**< row of Y that it sums, or ~p for partial sum p */
} sp_segment;

/** The rows of a CSR block as segments: `partials` of them are parts of the `splits` long rows. */
typedef struct sp_segments {
    int64_t count, partials, splits;
    sp_segment *segment; /**< [count] */
    sp_split *split;     /**< the long rows, [splits], by increasing row */
} sp_segments;

/** How segments are sorted: not at all (by row), or stably and longest first, by the power of two (_CLASSES) or by
 *  length. */
typedef enum sp_order { SP_ORDER_ROWS, SP_ORDER_CLASSES, SP_ORDER_LENGTHS } sp_order;

/** Cuts rows of more than SP_ROW_SEGMENT entries into segments of `cut` entries (the last one of a row may be
 *  shorter) and sorts the segments of all rows. The result depends on the row lengths alone. Local.
 *
 *  \param [in]  a    in host memory
 *  \param [in]  cut  1 to SP_ROW_SEGMENT
 *  \param [out] p    in host memory; the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_LIMIT (2^31 partial sums) */
spmm_status sp_segments_create(const spmm_csr *a, int64_t cut, sp_order order, sp_segments *p);

/** Frees the arrays and zeroes *p; accepts NULL and zeroed objects. Local. */
void sp_segments_destroy(sp_segments *p);

/** Converts a CSR block to sliced ELLPACK in host memory; see sp_matrix for the layout. Rows keep their order where
 *  that needs little padding, and are sorted by length otherwise. Local.
 *  \param [in]  threads  OpenMP threads
 *  \param [out] m        the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_LIMIT */
spmm_status sp_sell_from_csr(const spmm_csr *a, int threads, sp_matrix *m);

#endif
