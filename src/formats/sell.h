/** The cutting of long rows, i.e. of more than SP_CHAIN entries, into the leaves or segments of summation.h:
 *  for sliced ELLPACK and for the CUDA kernels. */
#ifndef SP_SELL_H
#define SP_SELL_H

#include "formats/matrix.h"
#include "formats/summation.h"

/** A whole row of up to SP_CHAIN entries, or a leaf or segment of a long row. */
typedef struct sp_segment {
    int64_t begin;  /**< index of the first entry in the arrays of the matrix */
    int32_t length; /**< number of entries, at most SP_CHAIN */
    int32_t target; /**< row of Y that it computes, or ~p if it computes partial sum p */
} sp_segment;

/** The rows of a block, cut into `count` segments, and how long rows are added from their partial sums. */
typedef struct sp_segments {
    int64_t count;
    int64_t partials;    /**< number of partial sums: of the segments of long rows, then of sections */
    int64_t sections;    /**< number of sections of long rows */
    int64_t splits;      /**< number of long rows of several sections */
    sp_segment *segment; /**< all segments, [count], in the chosen sp_order */
    sp_split *split;     /**< [sections + splits]: the sections, then the rows of several sections */
} sp_segments;

/** Order of segments. SP_ORDER_ROWS: by row. SP_ORDER_LENGTHS: longest first. SP_ORDER_CLASSES: longest
 *  first, where lengths between the same powers of two count as equal. Segments of equal length stay in row
 *  order. */
typedef enum sp_order { SP_ORDER_ROWS, SP_ORDER_CLASSES, SP_ORDER_LENGTHS } sp_order;

/** Cuts rows of more than SP_CHAIN entries into segments of `cut` entries (the last one of a row may be
 *  shorter); each other row is one segment. Sorts the segments of all rows. The result depends on the row
 *  lengths alone. Local.
 *
 *  \param [in]  a    in host memory
 *  \param [in]  cut  SP_LEAF or SP_SEGMENT; 0: long rows are left out
 *  \param [out] p    in host memory; the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_LIMIT (2^31 or more partial sums) */
spmm_status sp_segments_create(const spmm_csr *a, int64_t cut, sp_order order, sp_segments *p);

/** Returns 1 if some row has more than SP_CHAIN entries. Local; uses `threads` OpenMP threads. */
int sp_has_long_rows(const spmm_csr *a, int threads);

/** Cuts the rows of more than SP_CHAIN entries as sp_segments_create() does, in the order of rows; the other
 *  rows are left out.
 *  \param [in] start  index of the first entry of each row in the arrays that the segments' `begin` refers to;
 *                     NULL: width entries per row, as in padded ELLPACK */
spmm_status sp_long_rows_create(const spmm_csr *a, const int64_t *start, int64_t width, int64_t cut,
                                sp_segments *p);

/** Frees the arrays and zeroes *p; accepts NULL and zeroed objects. Local. */
void sp_segments_destroy(sp_segments *p);

#endif
