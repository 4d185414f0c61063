/* The inner loops for one type and one vector width; included by cpu_rows_impl.h once per
 * combination, with
 *   VALUE, NAME(name), TARGET         element type, suffix, function attribute
 *   LANES, VECTORS                    elements of a vector; most vectors of sums of a row: 1, 8 or 16
 *   VECTOR, INTRINSIC(op)             its type, and the x86 intrinsic of an operation on it
 *   MASK, MASK_OF(n)                  a mask of the first n lanes
 *   BIT_MASKS                         defined where masks are AVX-512's
 * and undefines all but BIT_MASKS at its end. Without INTRINSIC a vector is one VALUE, and FMA(a, x, c)
 * must be defined. */

#ifdef INTRINSIC
#define ZERO INTRINSIC(setzero)()
#define SPREAD(a) INTRINSIC(set1)(a)
#define LOAD(p) INTRINSIC(loadu)(p)
#define STORE(p, v) INTRINSIC(storeu)(p, v)
#define FMA(a, x, c) INTRINSIC(fmadd)(a, x, c)
#ifdef BIT_MASKS
#define LOAD_MASKED(p, mask) INTRINSIC(maskz_loadu)(mask, p)
#define STORE_MASKED(p, mask, v) INTRINSIC(mask_storeu)(p, mask, v)
#else
#define LOAD_MASKED(p, mask) INTRINSIC(maskload)(p, mask)
#define STORE_MASKED(p, mask, v) INTRINSIC(maskstore)(p, mask, v)
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
#define LOAD_MASKED(p, mask) (*(p)) /* one lane is never masked */
#define STORE_MASKED(p, mask, v) (*(p) = (v))
#endif

/** Rows [b->begin, b->end) for `vectors` vectors of columns, the last one masked if `masked`. Each
 *  lane is one element's chain: fma in column order from +0. */
TARGET SP_INLINE static void NAME(loop)(const block *b, const int vectors, const int masked,
                                        const int64_t ldx)
{
    const sp_matrix *const a = b->a;
    const VALUE *const val = a->val, *const x = b->x;
    const int32_t *const col = a->col;
    const int64_t ahead = b->ahead, last = b->last;
    const MASK mask = MASK_OF(b->tail);
    (void)mask;
    for (int64_t i = b->begin; i < b->end; i++) {
        const int64_t first = ROW_BEGIN(a, i), end = ROW_END(a, i, first);
        VECTOR sum[VECTORS];
        SP_UNROLL for (int v = 0; v < vectors; v++) sum[v] = ZERO;
        for (int64_t e = first; e < end; e++) {
            const VALUE *const xr = x + col[e] * ldx;
            if (vectors * LANES * (int)sizeof(VALUE) >= PREFETCH_BYTES && ahead) {
                const int64_t next = col[e + ahead < last ? e + ahead : last];
                prefetch(x, next * ldx * (int64_t)sizeof(VALUE), vectors * LANES * (int)sizeof(VALUE));
            }
            const VECTOR ae = SPREAD(val[e]);
            SP_UNROLL for (int v = 0; v < vectors - masked; v++)
                sum[v] = FMA(ae, LOAD(xr + v * LANES), sum[v]);
            if (masked) {
                const int v = vectors - 1;
                sum[v] = FMA(ae, LOAD_MASKED(xr + v * LANES, mask), sum[v]);
            }
        }
        VALUE *const yr = (VALUE *)b->y + i * b->ldy;
        SP_UNROLL for (int v = 0; v < vectors - masked; v++) STORE(yr + v * LANES, sum[v]);
        if (masked) STORE_MASKED(yr + (vectors - 1) * LANES, mask, sum[vectors - 1]);
    }
}

TARGET SP_INLINE static void NAME(rows)(const block *b, const int vectors, const int masked)
{
    if (VECTORS == 1 && LANES == 1 && b->ldx == 1) /* a single vector: the address is the index */
        NAME(loop)(b, vectors, masked, 1);
    else
        NAME(loop)(b, vectors, masked, b->ldx);
}

#define INSTANCE(vectors)                                                                  \
    TARGET static void NAME(rows_##vectors)(const block *b) { NAME(rows)(b, vectors, 0); } \
    TARGET static void NAME(rows_masked_##vectors)(const block *b) { NAME(rows)(b, vectors, 1); }
#define ROW(vectors)                                      \
    {                                                     \
        NAME(rows_##vectors), NAME(rows_masked_##vectors) \
    }
INSTANCE(1)
#if VECTORS > 1
INSTANCE(2)
INSTANCE(3)
INSTANCE(4)
INSTANCE(5)
INSTANCE(6)
INSTANCE(7)
INSTANCE(8)
#endif
#if VECTORS > 8
INSTANCE(9)
INSTANCE(10)
INSTANCE(11)
INSTANCE(12)
INSTANCE(13)
INSTANCE(14)
INSTANCE(15)
INSTANCE(16)
#endif

static const rows_fn NAME(table)[VECTORS][2] = {
    ROW(1),
#if VECTORS > 1
    ROW(2), ROW(3),  ROW(4),  ROW(5),  ROW(6),  ROW(7),  ROW(8),
#endif
#if VECTORS > 8
    ROW(9), ROW(10), ROW(11), ROW(12), ROW(13), ROW(14), ROW(15), ROW(16),
#endif
};

#undef INSTANCE
#undef ROW
#undef VALUE
#undef NAME
#undef TARGET
#undef LANES
#undef VECTORS
#undef VECTOR
#undef INTRINSIC
#undef ZERO
#undef SPREAD
#undef LOAD
#undef STORE
#undef FMA
#undef MASK
#undef MASK_OF
#undef LOAD_MASKED
#undef STORE_MASKED
