/* The loops over slices for one element type and one vector width. This file is included once per
 * combination, with the macros
 *   VALUE, NAME(name), TARGET  element type; name with a suffix; function attribute
 *   LANES                      elements per vector, at most SP_LANES; the lanes of a slice are computed in
 *                              passes of LANES lanes
 *   VECTOR, INTRINSIC(op)      vector type; the x86 intrinsic for operation `op` on this type
 *   GATHER(x, col, ldx)        a vector of the elements x[col[l] * ldx], for int32_t col[]
 *   GATHER_NEAR(x, col, ldx)   the same for uint16_t col[]
 *   LENGTHS, LENGTHS_OF(p)     type of a vector of lengths; the vector for the lengths at p
 *   WHERE_LONGER(n, e, v, c)   lane by lane: v if the length in n is greater than e, else c
 *   RE(v), IM(v)               for complex values: a vector with the real, or the imaginary, part of each
 *                              value in both places
 *   SHAPE                      in place of macros that cpu_loops_shapes.h defines for it
 * and undefines all of them at its end. If INTRINSIC is not defined, a vector is one VALUE. Then only the
 * macros of the first line, FMA(a, x, c) and, for complex values, COMPLEX and REAL must be defined. */

#ifdef SHAPE
#include "kernels/loops/cpu_loops_shapes.h"
#endif

#ifdef INTRINSIC
#define ZERO INTRINSIC(setzero)()
#define ADD(a, b) INTRINSIC(add)(a, b)
#ifdef COMPLEX
#define SPREAD(a) NAME(spread)(a)
#define LOAD(p) INTRINSIC(loadu)((const REAL *)(const void *)(p))
#define STORE(p, v) INTRINSIC(storeu)((REAL *)(void *)(p), v)
#define FMA(a, x, c) \
    INTRINSIC(fmadd) \
    (INTRINSIC(mul)(IM(a), INTRINSIC(loadu)(SIGNS + conjugate)), SWAP(x), INTRINSIC(fmadd)(RE(a), x, c))
#define MINUS_ZERO INTRINSIC(set1)((REAL)-0.0)
#else
#define SPREAD(a) INTRINSIC(set1)(a)
#define LOAD(p) INTRINSIC(loadu)(p)
#define STORE(p, v) INTRINSIC(storeu)(p, v)
#define FMA(a, x, c) INTRINSIC(fmadd)(a, x, c)
#define MINUS_ZERO INTRINSIC(set1)((VALUE)-0.0)
#endif
#else
#define LANES 1
#define VECTOR VALUE
#define ZERO 0
#define SPREAD(a) (a)
#define LOAD(p) (*(p))
#define STORE(p, v) (*(p) = (v))
#define ADD(a, b) ((a) + (b))
#define GATHER(x, col, ldx) ((x)[*(col) * (ldx)])
#define GATHER_NEAR(x, col, ldx) GATHER(x, col, ldx)
#define LENGTHS int
#define LENGTHS_OF(p) (*(p))
#define WHERE_LONGER(n, e, v, c) ((n) > (e) ? (v) : (c))
#ifdef COMPLEX
#define MINUS_ZERO __builtin_complex((REAL)-0.0, (REAL)-0.0)
#else
#define MINUS_ZERO ((VALUE)-0.0)
#endif
#endif

/** Returns the sums of entries from .. to - 1, one chain per lane. All lanes have the entries before `even`;
 *  a lane has no more entries than its length. The products of padding entries are discarded. If X has
 *  infinite elements, they may raise floating-point flags. */
TARGET SP_INLINE static VECTOR NAME(chain)(const VALUE *val, const void *col, const LENGTHS lengths, int from,
                                           const int even, const int to, const VALUE *x, const int64_t ldx,
                                           const int conjugate, const int equal, const int near,
                                           const int fetch)
{
    (void)conjugate; /* for complex values */
    const uint16_t *const nearby = col;
    const int32_t *const any = col;
    const VECTOR common = equal ? SPREAD(*val) : ZERO;
    VECTOR sum = ZERO;
    _Pragma("GCC unroll 4") for (; from < even; from++)
    {
        const VECTOR a = equal ? common : LOAD(val + from * SP_LANES);
        if (fetch && !equal) __builtin_prefetch(val + from * SP_LANES + SP_FETCH_ENTRIES);
        if (fetch && near) __builtin_prefetch(nearby + from * SP_LANES + SP_FETCH_ENTRIES);
        if (fetch && !near) __builtin_prefetch(any + from * SP_LANES + SP_FETCH_ENTRIES);
        sum = FMA(
            a, near ? GATHER_NEAR(x, nearby + from * SP_LANES, ldx) : GATHER(x, any + from * SP_LANES, ldx),
            sum);
    }
    for (; from < to; from++) {
        const VECTOR a = equal ? common : LOAD(val + from * SP_LANES);
        const VECTOR b = near ? GATHER_NEAR(x, nearby + from * SP_LANES, ldx)
                              : GATHER(x, any + from * SP_LANES, ldx);
        sum = WHERE_LONGER(lengths, from, FMA(a, b, sum), sum);
    }
    return sum;
}

/** Returns the sums of segments: the leaves are added in order. */
TARGET SP_INLINE static VECTOR NAME(leaves)(const VALUE *val, const void *col, const LENGTHS lengths,
                                            const int even, const int most, const VALUE *x, const int64_t ldx,
                                            const int conjugate, const int equal, const int near,
                                            const int fetch)
{
    VECTOR sum = MINUS_ZERO; /* -0 leaves any number unchanged when added */
    for (int from = 0; from < most; from += SP_LEAF) {
        const int end = from + SP_LEAF < most ? from + SP_LEAF : most;
        const VECTOR leaf = NAME(chain)(val, col, lengths, from, end < even ? end : even, end, x, ldx,
                                        conjugate, equal, near, fetch);
        sum = WHERE_LONGER(lengths, from, ADD(sum, leaf), sum);
    }
    return sum;
}

TARGET SP_INLINE static void NAME(run)(const sp_slices *s, const int64_t first, const int64_t last,
                                       const VALUE *x, const int64_t ldx, VALUE *sum, const int64_t ld,
                                       const int conjugate, const int equal, const int leaves, const int near,
                                       const int fetch)
{
    const int64_t begin = leaves ? 0 : s->segment_slices, pieces = leaves ? s->segments : s->rows;
    for (int64_t i = first; i < last; i++) {
        const uint8_t *const length = s->length + i * SP_LANES;
        const int32_t *const target = s->target + i * SP_LANES;
        const int64_t left = pieces - (i - begin) * SP_LANES;
        const int even = length[SP_LANES - 1], most = length[0];
        const VALUE *const from = near ? x + s->base[i] * ldx : x;
        for (int lane = 0; lane < SP_LANES; lane += LANES) {
            const VALUE *const val = equal ? s->common : (const VALUE *)s->val + s->start[i] + lane;
            const void *const col = near ? (const void *)(s->near + s->start[i] + lane)
                                         : s->col + s->start[i] + lane;
            const LENGTHS lengths = LENGTHS_OF(length + lane);
            VALUE lanes[LANES];
            STORE(lanes, leaves ? NAME(leaves)(val, col, lengths, even, most, from, ldx, conjugate, equal,
                                               near, fetch)
                                : NAME(chain)(val, col, lengths, 0, even, most, from, ldx, conjugate, equal,
                                              near, fetch));
            if (left >= SP_LANES)
                SP_UNROLL for (int l = 0; l < LANES; l++) sum[target[lane + l] * ld] = lanes[l];
            else
                for (int l = 0; l < LANES && lane + l < left; l++) sum[target[lane + l] * ld] = lanes[l];
        }
    }
}

#define LOOP(name, equal)                                                                         \
    TARGET static void NAME(name)(const sp_slices *s, int64_t first, int64_t last, const void *x, \
                                  int64_t ldx, void *sum, int64_t ld, int conjugate)              \
    {                                                                                             \
        const int near = s->near != NULL;                                                         \
        if (first < s->segment_slices)                                                            \
            NAME(run)(s, first, last, x, ldx, sum, ld, conjugate, equal, 1, near, s->fetch);      \
        else if (ldx != 1)                                                                        \
            NAME(run)(s, first, last, x, ldx, sum, ld, conjugate, equal, 0, near, s->fetch);      \
        else if (near)                                                                            \
            NAME(run)(s, first, last, x, 1, sum, ld, conjugate, equal, 0, 1, 1);                  \
        else if (s->fetch)                                                                        \
            NAME(run)(s, first, last, x, 1, sum, ld, conjugate, equal, 0, 0, 1);                  \
        else                                                                                      \
            NAME(run)(s, first, last, x, 1, sum, ld, conjugate, equal, 0, 0, 0);                  \
    }
LOOP(own_values, 0)
LOOP(equal_values, 1)

#undef LOOP
#undef COMPLEX
#undef REAL
#undef SWAP
#undef SIGNS
#undef RE
#undef IM
#undef MINUS_ZERO
#undef SHAPE
#undef MASK
#undef MASK_OF
#undef VALUE
#undef NAME
#undef TARGET
#undef LANES
#undef VECTOR
#undef INTRINSIC
#undef ZERO
#undef SPREAD
#undef LOAD
#undef STORE
#undef FMA
#undef ADD
#undef GATHER
#undef GATHER_NEAR
#undef LENGTHS
#undef LENGTHS_OF
#undef WHERE_LONGER
