/* The inner loops for one element type and one vector width. This file is included once per combination, with
 * the macros
 *   SHAPE                             optional, on x86: defines VALUE, NAME, LANES, VECTOR, INTRINSIC, MASK,
 *                                     MASK_OF, FMA and STREAM (cpu_loops_shapes.h)
 *   VALUE, NAME(name), TARGET         element type; name with a suffix; function attribute
 *   LANES                             elements per vector
 *   VECTORS                           maximum number of vectors per row of Y: 1 (the default), 8 or 16
 *   BLOCKED                           maximum number of vectors per row in the loops for
 *                                     SP_RUN_BLOCK2 and SP_RUN_BLOCK3: 4 or 8; not defined if VECTORS is 1
 *   VECTOR, INTRINSIC(op)             vector type; the x86 intrinsic for operation `op` on this type
 *   MASK, MASK_OF(n)                  type of masks; the mask of the first n lanes
 *   BIT_MASKS                         defined if masks are bit masks (AVX-512)
 *   SHIFT_BY_LANES(b)                 optional, and only if LANES is 1: the loop of cpu_loops_shift.h, which
 *                                     is used for SP_RUN_SHIFT if X and Y are contiguous
 *   EQUAL_VALUES                      optional: defined in loops for matrices whose values are all equal,
 *                                     which read the value b->common and nothing of b->val
 *   NARROW_VALUES                     optional: defined in loops for f64 on x86 that read the values from
 *                                     b->narrow, in f32; then SPREAD_NARROW(p) must be defined: a vector with
 *                                     the value at p, widened, in all lanes
 *   COMPLEX                           optional: defined in loops for complex values, with REAL, the type of
 *                                     their parts; LANES counts complex elements. On x86 SWAP(v) exchanges
 *                                     the parts of each element of a vector, and SIGNS is an array of -1, 1,
 *                                     -1 and so on
 *   TABLE                             optional: declares the table of the loops, if other files refer to it;
 *                                     the default is a static table with the name NAME(loops)
 * and undefines all of them except BIT_MASKS at its end. If INTRINSIC is not defined, a vector is one VALUE.
 * Then FMA(a, x, c) must be defined, and STREAM(p, v) may be defined if the processor has streaming
 * stores. */

#ifdef SHAPE
#include "kernels/loops/cpu_loops_shapes.h"
#endif
#ifndef VECTORS
#define VECTORS 1
#endif

#ifdef COMPLEX
/* A value of A is spread over two vectors: its real part; and its imaginary part, negated in the lanes of
 * real parts, or in the others if the products are with the conjugate of A. */
#ifdef INTRINSIC
#define COEFFICIENT NAME(coefficient)
typedef struct NAME(coefficient) {
    VECTOR re, im;
} NAME(coefficient);
#define REALS(p) ((const REAL *)(const void *)(p))
#define SPREAD_VALUE(p)                             \
    ((COEFFICIENT){INTRINSIC(set1)(__real__(*(p))), \
                   INTRINSIC(mul)(INTRINSIC(set1)(__imag__(*(p))), INTRINSIC(loadu)(SIGNS + b->conjugate))})
#define FMA(a, x, c) INTRINSIC(fmadd)((a).im, SWAP(x), INTRINSIC(fmadd)((a).re, x, c))
#define MINUS_ZERO INTRINSIC(set1)((REAL)-0.0)
#else
#define SPREAD_VALUE(p) (b->conjugate ? SP_CONJUGATE(*(p)) : *(p))
#define MINUS_ZERO __builtin_complex((REAL)-0.0, (REAL)-0.0)
#endif
#else
#define REAL VALUE
#define REALS(p) (p)
#define MINUS_ZERO SPREAD((VALUE)-0.0)
#endif
#ifndef COEFFICIENT
#define COEFFICIENT VECTOR
#endif

#ifdef INTRINSIC
#define ZERO INTRINSIC(setzero)()
#define SPREAD(a) INTRINSIC(set1)(a)
#define LOAD(p) INTRINSIC(loadu)(REALS(p))
#define STORE(p, v) INTRINSIC(storeu)((REAL *)(void *)(p), v)
#define STREAM(p, v) INTRINSIC(stream)((REAL *)(void *)(p), v)
#ifndef FMA
#define FMA(a, x, c) INTRINSIC(fmadd)(a, x, c)
#endif
#define ADD(a, b) INTRINSIC(add)(a, b)
#ifdef BIT_MASKS
#define LOAD_MASKED(p, mask) INTRINSIC(maskz_loadu)(mask, REALS(p))
#define STORE_MASKED(p, mask, v) INTRINSIC(mask_storeu)((REAL *)(void *)(p), mask, v)
#else
#define LOAD_MASKED(p, mask) INTRINSIC(maskload)(REALS(p), mask)
#define STORE_MASKED(p, mask, v) INTRINSIC(maskstore)((REAL *)(void *)(p), mask, v)
#endif
#else
#define VECTOR VALUE
#define LANES 1
#define MASK int
#define MASK_OF(n) (n)
#define ZERO 0
#define SPREAD(a) (a)
#define LOAD(p) (*(p))
#define STORE(p, v) (*(p) = (v))
#define ADD(a, b) ((a) + (b))
#define LOAD_MASKED(p, mask) (*(p)) /* a vector of one lane is never masked */
#define STORE_MASKED(p, mask, v) (*(p) = (v))
#ifndef STREAM
#define STREAM(p, v) STORE(p, v)
#endif
#endif

/* VALUES_AT(p, e) is the address of value e if p is the address of value 0; VALUES(b, e) is the address of
 * value e of A. STORED is the type of the values in memory. */
#ifdef EQUAL_VALUES
#define STORED VALUE
#define VALUES_AT(p, e) (p)
#define VALUES(b, e) ((const VALUE *)(b)->common)
#define VALUE_BYTES 0
#define SPREAD_VALUE(p) SPREAD(*(p))
#elif defined(NARROW_VALUES)
#define STORED float
#define VALUES_AT(p, e) ((p) + (e))
#define VALUES(b, e) ((b)->narrow + (e))
#define VALUE_BYTES (int)sizeof(STORED)
#define SPREAD_VALUE(p) SPREAD_NARROW(p)
#else
#define STORED VALUE
#define VALUES_AT(p, e) ((p) + (e))
#define VALUES(b, e) ((const VALUE *)(b)->val + (e))
#define VALUE_BYTES (int)sizeof(VALUE)
#ifndef SPREAD_VALUE
#define SPREAD_VALUE(p) SPREAD(*(p))
#endif
#endif

/** A group of rows of A that are computed together: row i and the rows after it. */
typedef struct NAME(group) {
    int64_t i, n;       /* i: first row of the group; n: number of entries of each row */
    const STORED *val;  /* the values of row r of the group begin at val + r * stride */
    const int32_t *col; /* column indices: a list for each row r at col + r * stride, or one for all at col */
    const VALUE *x;
    int64_t stride;
    /* prefetch: offset in col; limit (groups of one row): last index of col that may be read */
    int64_t prefetch, limit;
} NAME(group);

/** Stores the sums of row i of Y, sum[0] .. sum[vectors - 1]. If `masked` is 1, the last of these vectors is
 *  stored under the mask. */
TARGET SP_INLINE static void NAME(store)(const sp_block *b, int64_t i, const VECTOR *sum, const int vectors,
                                         const int masked, const MASK mask)
{
    VALUE *const y = (VALUE *)b->y + (b->row ? b->row[i] : i) * b->ldy;
    (void)mask;
    if (b->stream) {
        SP_UNROLL for (int v = 0; v < vectors - masked; v++) STREAM(y + v * LANES, sum[v]);
    } else {
        SP_UNROLL for (int v = 0; v < vectors - masked; v++) STORE(y + v * LANES, sum[v]);
    }
    if (masked) STORE_MASKED(y + (vectors - 1) * LANES, mask, sum[vectors - 1]);
}

#if LANES == 1 && !defined(COMPLEX)
/** Adds the products of two entries of A with one column of X to the chain `sum`, and returns it. The number
 *  of loads limits the speed, so one load reads both column indices. */
TARGET SP_INLINE static VALUE NAME(add_two)(const VALUE sum, const STORED *val, const int32_t *col,
                                            const VALUE *x, const int64_t ldx)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    int64_t two;
    memcpy(&two, col, sizeof two);
    const int32_t first = (int32_t)two, second = (int32_t)(two >> 32);
#else
    const int32_t first = col[0], second = col[1];
#endif
#ifdef NARROW_VALUES
    const __m128d a = _mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)val)));
    return FMA(a[1], x[second * ldx], FMA(a[0], x[first * ldx], sum));
#else
    return FMA(*VALUES_AT(val, 1), x[second * ldx], FMA(*val, x[first * ldx], sum));
#endif
}
#endif

/** Computes one chain for each of `rows` rows of Y, `vectors` vectors of columns per row: starts with sums of
 *  +0, and adds the products of entries from .. to - 1 of each row of the group in order. Each lane of sum[r]
 *  computes one element of row r. If `masked`, the last vector is masked. `lists` is the number of lists of
 *  column indices: `rows`, which is one list per row, or 1, which is one list for all rows. With one list,
 *  row r of the group reads X r * shift elements beyond the position that the list gives. */
TARGET SP_INLINE static void NAME(chains)(const sp_block *b, const NAME(group) g, const int64_t from,
                                          const int64_t to, const int rows, const int lists,
                                          const int64_t ldx, const int64_t shift, const int vectors,
                                          const int masked, VECTOR (*sum)[VECTORS])
{
    const int bytes = vectors * LANES * (int)sizeof(VALUE);
    const MASK mask = MASK_OF(b->tail);
    COEFFICIENT a[SP_TOGETHER];
    VECTOR x[VECTORS];
    (void)mask;
    SP_UNROLL for (int r = 0; r < rows; r++) SP_UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = ZERO;
    int64_t e = from;
#if LANES == 1 && !defined(COMPLEX)
    for (; vectors == 1 && rows == SP_TOGETHER && lists == rows && e + 1 < to; e += 2)
        SP_UNROLL for (int r = 0; r < rows; r++) sum[r][0] = NAME(add_two)(
            sum[r][0], VALUES_AT(g.val, r * g.stride + e), g.col + r * g.stride + e, g.x, ldx);
#endif
    for (; e < to; e++) {
        SP_UNROLL for (int r = 0; r < rows; r++) a[r] = SPREAD_VALUE(VALUES_AT(g.val, r * g.stride + e));
        SP_UNROLL for (int r = 0; r < rows; r++)
        {
            const int own = r < lists;
            const int32_t *const col = own ? g.col + r * g.stride : g.col;
            const VALUE *const xr = g.x + col[e] * ldx + (own ? 0 : r * shift);
            if (bytes >= SP_PREFETCH_BYTES && lists == rows && g.prefetch) {
                const int64_t next = rows > 1 || e + g.prefetch < g.limit ? e + g.prefetch : g.limit;
                sp_fetch_row(g.x, col[next] * ldx * (int64_t)sizeof(VALUE), bytes);
            }
            SP_UNROLL for (int v = 0; v < vectors; v++)
            {
                if (own || shift) /* otherwise x still holds the vectors read for the previous row */
                    x[v] = masked && v == vectors - 1 ? LOAD_MASKED(xr + v * LANES, mask)
                                                      : LOAD(xr + v * LANES);
                sum[r][v] = FMA(a[r], x[v], sum[r][v]);
            }
        }
    }
}

/** Computes a group of `rows` rows of Y that are one chain each; for the other arguments see chains(). */
TARGET SP_INLINE static void NAME(product)(const sp_block *b, const NAME(group) g, const int rows,
                                           const int lists, const int64_t ldx, const int64_t shift,
                                           const int vectors, const int masked)
{
    VECTOR sum[SP_TOGETHER][VECTORS];
    NAME(chains)(b, g, 0, g.n, rows, lists, ldx, shift, vectors, masked, sum);
    SP_UNROLL for (int r = 0; r < rows; r++)
        NAME(store)(b, g.i + r, sum[r], vectors, masked, MASK_OF(b->tail));
}

/** Adds part[r][v] to total[r][v] and sets part[r][v] to -0, which leaves any number unchanged when added. */
TARGET SP_INLINE static void NAME(add_up)(VECTOR (*part)[VECTORS], VECTOR (*total)[VECTORS], const int rows,
                                          const int vectors)
{
    SP_UNROLL for (int r = 0; r < rows; r++) SP_UNROLL for (int v = 0; v < vectors; v++)
    {
        total[r][v] = ADD(total[r][v], part[r][v]);
        part[r][v] = MINUS_ZERO;
    }
}

/** Computes a group of `rows` rows of Y, or of parts of rows, by leaves, in the order of formats/summation.h.
 *  If the group is one row with few vectors, the leaves of a segment are computed side by side, so that their
 *  additions overlap. For the other arguments see chains(). */
TARGET SP_INLINE static void NAME(long_rows)(sp_block *b, const NAME(group) g, const int rows,
                                             const int lists, const int64_t ldx, const int64_t shift,
                                             const int vectors, const int masked)
{
    VECTOR leaf[SP_TOGETHER][VECTORS], segment[SP_TOGETHER][VECTORS], section[SP_TOGETHER][VECTORS],
        sum[SP_TOGETHER][VECTORS];
    const int together = rows == 1 && vectors <= SP_FEW_VECTORS;
    SP_UNROLL for (int r = 0; r < rows; r++) SP_UNROLL for (int v = 0; v < vectors; v++)
        segment[r][v] = section[r][v] = sum[r][v] = MINUS_ZERO;
    for (int64_t e = 0, end; e < g.n; e = end) {
        const int whole = together && g.n - e >= SP_SEGMENT && e % SP_SEGMENT == 0;
        end = whole ? e + SP_SEGMENT : g.n - e < SP_LEAF ? g.n : e + SP_LEAF;
        if (rows == 1 && vectors <= SP_FETCH_VECTORS && b->fetched >= 0)
            sp_fetch_entries(b, VALUES(b, 0), g.col + end - b->col, VALUE_BYTES, 1);
        if (whole) {
            const NAME(group)
                leaves = {.val = VALUES_AT(g.val, e),
                          .col = g.col + e,
                          .x = g.x,
                          .stride = SP_LEAF,
                          .prefetch = g.prefetch && end + SP_SEGMENT <= g.limit ? SP_SEGMENT : 0};
            NAME(chains)(b, leaves, 0, SP_LEAF, SP_LEAVES, SP_LEAVES, ldx, 0, vectors, masked, leaf);
            SP_UNROLL for (int l = 0; l < SP_LEAVES; l++) NAME(add_up)(leaf + l, segment, 1, vectors);
        } else {
            NAME(chains)(b, g, e, end, rows, lists, ldx, shift, vectors, masked, leaf);
            NAME(add_up)(leaf, segment, rows, vectors);
        }
        if (end % SP_SEGMENT && end < g.n) continue;
        NAME(add_up)(segment, section, rows, vectors);
        if (end % SP_SECTION && end < g.n) continue;
        NAME(add_up)(section, sum, rows, vectors);
    }
    SP_UNROLL for (int r = 0; r < rows; r++)
        NAME(store)(b, g.i + r, sum[r], vectors, masked, MASK_OF(b->tail));
}

/** The loop for SP_RUN_ANY: computes one row at a time. Stops before the first row that is long if `leaves`
 *  is 0, or that is not long if `leaves` is 1. */
TARGET SP_INLINE static void NAME(any)(sp_block *b, const int64_t ldx, const int vectors, const int masked,
                                       const int leaves)
{
    int64_t i = b->first;
    for (; i < b->last; i++) {
        const int64_t at = b->begin[i], n = b->end[i] - at;
        if ((n > b->chain) != leaves) break;
        if (!leaves && vectors <= SP_FETCH_VECTORS && b->fetched >= 0)
            sp_fetch_entries(b, VALUES(b, 0), at + n, VALUE_BYTES, 1);
        const NAME(group) g = {.i = i,
                               .n = n,
                               .val = VALUES(b, at),
                               .col = b->col + at,
                               .x = b->x,
                               .prefetch = b->prefetch,
                               .limit = b->last_entry - at};
        if (leaves)
            NAME(long_rows)(b, g, 1, 1, ldx, 0, vectors, masked);
        else
            NAME(product)(b, g, 1, 1, ldx, 0, vectors, masked);
    }
    b->first = i;
}

/** Returns the prefetch distance of the loop for SP_RUN_EQUAL as an offset from the current entry of a row:
 *  to an entry of a later group of rows, or to a later entry of the same row if rows are long. */
SP_INLINE static int64_t NAME(equal_prefetch)(const sp_block *b, int64_t n, int64_t stride)
{
    const int height = SP_HEIGHT(SP_RUN_EQUAL);
    if (n >= b->prefetch) return b->prefetch / height;
    return (b->prefetch + height * n - 1) / (height * n + !n) * height * stride;
}

/** The loop for SP_RUN_EQUAL: computes groups of rows; all rows have n entries, and each has its own column
 *  indices. */
TARGET SP_INLINE static void NAME(equal)(sp_block *b, const int64_t ldx, const int vectors, const int masked,
                                         const int leaves)
{
    const int height = SP_HEIGHT(SP_RUN_EQUAL);
    const int64_t first = b->first, at = b->begin[first], n = b->end[first] - at;
    const int64_t stride = b->begin[first + 1] - at;
    const int64_t prefetch = b->prefetch ? NAME(equal_prefetch)(b, n, stride) : 0;
    for (int64_t i = first; i < b->last; i += height) {
        const int64_t p = at + (i - first) * stride, end = p + height * stride;
        if (b->fetched >= 0) sp_fetch_entries(b, VALUES(b, 0), end, VALUE_BYTES, 1);
        const NAME(group) g = {.i = i,
                               .n = n,
                               .val = VALUES(b, p),
                               .col = b->col + p,
                               .x = b->x,
                               .stride = stride,
                               .prefetch = end + prefetch <= b->last_entry ? prefetch : 0};
        if (leaves)
            NAME(long_rows)(b, g, height, height, ldx, 0, vectors, masked);
        else
            NAME(product)(b, g, height, height, ldx, 0, vectors, masked);
    }
    b->first = b->last;
}

/** The loop for SP_RUN_SHIFT, SP_RUN_BLOCK2 and SP_RUN_BLOCK3: computes groups of rows that share one list of
 *  column indices. */
TARGET SP_INLINE static void NAME(listed)(sp_block *b, const sp_run_kind kind, const int64_t ldx,
                                          const int vectors, const int masked, const int leaves)
{
    const int height = SP_HEIGHT(kind), bytes = vectors * LANES * (int)sizeof(VALUE);
    const int64_t first = b->first, at = b->begin[first], n = b->end[first] - at;
    const int64_t stride = b->begin[first + 1] - at;
    const int32_t *const list = b->origin >= 0 ? b->col + b->begin[b->origin] : NULL;
    int64_t newly[SP_NEWLY_TOUCHED];
    const int fetch = vectors > SP_FEW_VECTORS && list && b->newly;
    const int count = fetch ? sp_find_newly_touched(list, n, height, bytes, newly) : 0;
    for (int64_t i = first; i < b->last; i += height) {
        const int64_t p = at + (i - first) * stride, shift = list ? i - b->origin : 0;
        if (vectors <= SP_FETCH_VECTORS && b->fetched >= 0)
            sp_fetch_entries(b, VALUES(b, 0), p + height * n, VALUE_BYTES, !list);
        for (int f = 0; f < count; f++)
            sp_fetch_row(b->x, (newly[f] + shift) * ldx * (int64_t)sizeof(VALUE), bytes);
        const NAME(group) g = {.i = i,
                               .n = n,
                               .val = VALUES(b, p),
                               .col = list ? list : b->col + p,
                               .x = (const VALUE *)b->x + shift * ldx,
                               .stride = stride};
        const int64_t x_shift = kind == SP_RUN_SHIFT ? ldx : 0;
        if (leaves)
            NAME(long_rows)(b, g, height, 1, ldx, x_shift, vectors, masked);
        else
            NAME(product)(b, g, height, 1, ldx, x_shift, vectors, masked);
    }
    b->first = b->last;
}

#ifndef TABLE
#define TABLE static const sp_loop NAME(loops)
#endif
#ifndef SHIFT_BY_LANES
#define SHIFT_BY_LANES(b) (void)0
#endif
#define ONE(kind, name, vectors, masked)                                                   \
    TARGET SP_NOINLINE static void NAME(name##_long)(sp_block * b)                         \
    {                                                                                      \
        if (VECTORS == 1 && LANES == 1 && b->ldx == 1)                                     \
            LOOP(kind, 1, vectors, masked, 1);                                             \
        else                                                                               \
            LOOP(kind, b->ldx, vectors, masked, 1);                                        \
    }                                                                                      \
    TARGET static void NAME(name)(sp_block * b)                                            \
    {                                                                                      \
        const int column = VECTORS == 1 && LANES == 1 && b->ldx == 1; /* contiguous X */   \
        if (column && (kind) == SP_RUN_SHIFT && b->ldy == 1 && !b->row) SHIFT_BY_LANES(b); \
        if (b->first == b->last) return;                                                   \
        if (b->end[b->first] - b->begin[b->first] > b->chain)                              \
            NAME(name##_long)(b);                                                          \
        else if (column)                                                                   \
            LOOP(kind, 1, vectors, masked, 0);                                             \
        else                                                                               \
            LOOP(kind, b->ldx, vectors, masked, 0);                                        \
    }
/* clang-format off */
#define LOOP(kind, ldx, vectors, masked, leaves)                                    \
    ((kind) == SP_RUN_ANY     ? NAME(any)(b, ldx, vectors, masked, leaves)           \
    : (kind) == SP_RUN_EQUAL ? NAME(equal)(b, ldx, vectors, masked, leaves)         \
                             : NAME(listed)(b, kind, ldx, vectors, masked, leaves))
#define BOTH(kind, name, vectors) ONE(kind, name##_##vectors, vectors, 0) ONE(kind, name##_##vectors##_masked, vectors, 1)
#define ANY(vectors) BOTH(SP_RUN_ANY, any, vectors)
#define FEW(vectors) BOTH(SP_RUN_EQUAL, equal, vectors) BOTH(SP_RUN_SHIFT, shift, vectors)
#define BLOCKS(vectors) BOTH(SP_RUN_BLOCK2, block2, vectors) BOTH(SP_RUN_BLOCK3, block3, vectors)

ANY(1) FEW(1) BLOCKS(1)
#if VECTORS > 1
ANY(2) FEW(2) ANY(3) ANY(4) ANY(5) ANY(6) ANY(7) ANY(8)
BLOCKS(2) BLOCKS(3) BLOCKS(4)
#endif
#if BLOCKED > 4
BLOCKS(5) BLOCKS(6) BLOCKS(7) BLOCKS(8)
#endif
#if VECTORS > 8
ANY(9) ANY(10) ANY(11) ANY(12) ANY(13) ANY(14) ANY(15) ANY(16)
#endif

#define ROW_ANY(v) {{NAME(any_##v)}, {NAME(any_##v##_masked)}}
#define ROW_FEW(v)                                                                                     \
    {{NAME(any_##v), NAME(equal_##v), NAME(shift_##v), NAME(block2_##v), NAME(block3_##v)},            \
     {NAME(any_##v##_masked), NAME(equal_##v##_masked), NAME(shift_##v##_masked),                      \
      NAME(block2_##v##_masked), NAME(block3_##v##_masked)}}
#define ROW_BLOCKS(v)                                                                                  \
    {{NAME(any_##v), NULL, NULL, NAME(block2_##v), NAME(block3_##v)},                                  \
     {NAME(any_##v##_masked), NULL, NULL, NAME(block2_##v##_masked), NAME(block3_##v##_masked)}}
#if BLOCKED > 4
#define ROW_MIDDLE(v) ROW_BLOCKS(v)
#else
#define ROW_MIDDLE(v) ROW_ANY(v)
#endif

TABLE[VECTORS][2][SP_RUN_KINDS] = {
    ROW_FEW(1),
#if VECTORS > 1
    ROW_FEW(2), ROW_BLOCKS(3), ROW_BLOCKS(4), ROW_MIDDLE(5), ROW_MIDDLE(6), ROW_MIDDLE(7), ROW_MIDDLE(8),
#endif
#if VECTORS > 8
    ROW_ANY(9), ROW_ANY(10), ROW_ANY(11), ROW_ANY(12), ROW_ANY(13), ROW_ANY(14), ROW_ANY(15), ROW_ANY(16),
#endif
};
/* clang-format on */

#undef ONE
#undef TABLE
#undef SHIFT_BY_LANES
#undef LOOP
#undef BOTH
#undef ANY
#undef FEW
#undef BLOCKS
#undef ROW_ANY
#undef ROW_FEW
#undef ROW_BLOCKS
#undef ROW_MIDDLE
#undef SHAPE
#undef COMPLEX
#undef REAL
#undef REALS
#undef SWAP
#undef SIGNS
#undef COEFFICIENT
#undef MINUS_ZERO
#undef VALUE
#undef NAME
#undef TARGET
#undef EQUAL_VALUES
#undef VALUES_AT
#undef VALUES
#undef VALUE_BYTES
#undef NARROW_VALUES
#undef SPREAD_NARROW
#undef SPREAD_VALUE
#undef STORED
#undef LANES
#undef VECTORS
#undef BLOCKED
#undef VECTOR
#undef INTRINSIC
#undef ZERO
#undef SPREAD
#undef LOAD
#undef STORE
#undef STREAM
#undef FMA
#undef ADD
#undef MASK
#undef MASK_OF
#undef LOAD_MASKED
#undef STORE_MASKED
