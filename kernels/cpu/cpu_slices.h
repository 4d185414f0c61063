/** Sliced ELLPACK for products of one column on CPUs: a slice has SP_LANES pieces of A (cpu_pieces.h), one
 *  per lane, whose entries alternate. So a vector holds the next value of each piece, and the additions of
 *  the pieces, which are separate chains, overlap. */
#ifndef SP_CPU_SLICES_H
#define SP_CPU_SLICES_H

#include <stdint.h>

#include "base/cpu_isa.h"
#include "spmm_types.h"

enum { SP_LANES = 8 };

/** The pieces of a group (segments, or rows) are in consecutive slices, the longest piece of a slice first;
 *  only the last slice of a group may have fewer than SP_LANES pieces. */
typedef struct sp_slices {
    int64_t segments, rows;        /**< number of pieces of each group */
    int64_t segment_slices, count; /**< number of slices with segments, which come first, and of all slices */
    int64_t *start;     /**< [count + 1] position of the first entry of each slice, padding included; entry e
                             of the piece in lane l of slice s is at start[s] + SP_LANES * e + l */
    uint8_t *length;    /**< [SP_LANES * count] number of entries of the piece in each lane; 0: none */
    int32_t *target;    /**< [SP_LANES * count] destination of the sum of each lane: a row of Y, or of the
                                  sums of segments */
    int32_t *col;       /**< [start[count]] column indices; 0 in padding; NULL if there is `near` */
    uint16_t *near;     /**< [start[count]] column indices minus the base of the slice; 0 in padding; NULL if
                             there is `col` */
    int32_t *base;      /**< [count] the least column index of each slice; NULL if there is `col` */
    void *val;          /**< [start[count]] values; 0 in padding */
    int fetch;          /**< 1: entries are prefetched; must be 1 if there is `near` */
    const void *common; /**< not owned: the value that all entries have; NULL: values differ */
} sp_slices;

/** A loop: computes the sums of slices first .. last - 1, which are all of segments or all of rows.
 *  \param [in]  conjugate  1: it multiplies by the conjugates of the values, which are complex
 *  \param [in]  x    one column; element i * ldx is its row i
 *  \param [out] sum  receives the sum with target i at element i * ld: Y, or the sums of segments */
typedef void (*sp_slice_loop)(const sp_slices *s, int64_t first, int64_t last, const void *x, int64_t ldx,
                              void *sum, int64_t ld, int conjugate);

/** Returns the loop for an instruction set.
 *  \param [in] equal  1: the loop reads s->common and no values */
sp_slice_loop sp_slices_loop(sp_isa isa, spmm_precision precision, int equal);

/** For tests: sets the minimum size, in bytes of values and column indices, of a matrix whose slices are
 *  prefetched and may have 16-bit column indices. A negative size restores the default, the size of the
 *  last-level cache. */
void sp_sell_large_from(int64_t bytes);

#endif
