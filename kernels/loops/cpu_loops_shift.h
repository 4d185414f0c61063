/* The loop for SP_RUN_SHIFT with K = 1, in which each vector lane computes one row of Y: X is read in order,
 * and LANES x LANES values of A are transposed in registers. Each lane is summed in the order of
 * formats/summation.h, as in the other loops. This file is included once per element type and vector width,
 * with the macros
 *   SHAPE, TARGET                     as described in cpu_loops_vector.h
 *   LOAD_FIRST(p, n)                  loads the first n elements at p, and zeros into the other lanes
 *   TRANSPOSE(t)                      transposes the matrix VECTOR t[LANES] in place
 *                                     (neither is needed with EQUAL_VALUES)
 *   EQUAL_VALUES                      optional: defined for matrices whose values are all equal (b->common);
 *                                     then the loop reads nothing of A but the column indices of a row
 *   NARROW_VALUES                     optional: defined for f64 matrices whose values are read in f32
 *                                     (b->narrow); LOAD_FIRST() widens them
 * and undefines them at its end. The loop computes LANES rows at a time, and sets b->first to the first row
 * that is left over; the caller computes the rows left over. */

#include "kernels/loops/cpu_loops_shapes.h"

#ifdef NARROW_VALUES
#define STORED float
#else
#define STORED VALUE
#endif

/** Returns the sums of entries from .. to - 1 of LANES rows, one chain each; x + col[e] is the address of the
 *  element of X for entry e of the row in lane 0. */
TARGET SP_INLINE static VECTOR NAME(chain_by_lanes)(const STORED *val, int64_t stride, const int32_t *col,
                                                    const VALUE *x, int64_t from, int64_t to)
{
    VECTOR sum = INTRINSIC(setzero)();
#ifdef EQUAL_VALUES
    const VECTOR common = INTRINSIC(set1)(*val);
    (void)stride;
    for (int64_t e = from; e < to; e++) sum = INTRINSIC(fmadd)(common, INTRINSIC(loadu)(x + col[e]), sum);
#else
    for (int64_t e = from; e < to; e += LANES) {
        VECTOR t[LANES];
        const int some = to - e < LANES ? (int)(to - e) : LANES;
        SP_UNROLL for (int r = 0; r < LANES; r++) t[r] = LOAD_FIRST(val + r * stride + e, some);
        TRANSPOSE(t);
        SP_UNROLL for (int j = 0; j < LANES; j++) if (j < some)
            sum = INTRINSIC(fmadd)(t[j], INTRINSIC(loadu)(x + col[e + j]), sum);
    }
#endif
    return sum;
}

/** Returns the sums of LANES rows of more than SP_CHAIN entries. */
TARGET SP_NOINLINE static VECTOR NAME(leaves_by_lanes)(const STORED *val, int64_t stride, const int32_t *col,
                                                       const VALUE *x, int64_t n)
{
    const VECTOR none = INTRINSIC(set1)((VALUE)-0.0); /* -0 leaves any number unchanged when added */
    VECTOR segment = none, section = none, sum = none;
    for (int64_t e = 0, end; e < n; e = end) {
        end = n - e < SP_LEAF ? n : e + SP_LEAF;
        segment = INTRINSIC(add)(segment, NAME(chain_by_lanes)(val, stride, col, x, e, end));
        if (end % SP_SEGMENT && end < n) continue;
        section = INTRINSIC(add)(section, segment);
        segment = none;
        if (end % SP_SECTION && end < n) continue;
        sum = INTRINSIC(add)(sum, section);
        section = none;
    }
    return sum;
}

TARGET static void NAME(shift_by_lanes)(sp_block *b)
{
    const int64_t first = b->first, at = b->begin[first], n = b->end[first] - at;
    const int64_t stride = b->begin[first + 1] - at;
    const int32_t *const col = b->col + b->begin[b->origin];
    for (; b->last - b->first >= LANES; b->first += LANES) {
#ifdef EQUAL_VALUES
        const VALUE *const all = b->common, *const val = all;
        const int bytes = 0;
#else
#ifdef NARROW_VALUES
        const STORED *const all = b->narrow;
#else
        const STORED *const all = b->val;
#endif
        const STORED *const val = all + at + (b->first - first) * stride;
        const int bytes = sizeof(STORED);
#endif
        if (b->fetched >= 0) sp_fetch_entries(b, all, at + (b->first + LANES - first) * stride, bytes, 0);
        const VALUE *const x = (const VALUE *)b->x + (b->first - b->origin);
        const VECTOR sum = n > SP_CHAIN ? NAME(leaves_by_lanes)(val, stride, col, x, n)
                                        : NAME(chain_by_lanes)(val, stride, col, x, 0, n);
        VALUE *const y = (VALUE *)b->y + b->first;
        if (b->stream && (uintptr_t)y % sizeof(VECTOR) == 0)
            INTRINSIC(stream)(y, sum);
        else
            INTRINSIC(storeu)(y, sum);
    }
}

#undef SHAPE
#undef VALUE
#undef NAME
#undef TARGET
#undef LANES
#undef VECTOR
#undef INTRINSIC
#undef MASK
#undef MASK_OF
#undef LOAD_FIRST
#undef EQUAL_VALUES
#undef NARROW_VALUES
#undef STORED
#undef TRANSPOSE
