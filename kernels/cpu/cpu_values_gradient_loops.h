/* The loops of the gradient of the values of A for one element type, part of cpu_values_gradient.c, with the
 * macros of a SHAPE (kernels/loops/cpu_loops_shapes.h) and SUMS(t), which sums each of LANES vectors to one
 * element of a vector; undefines all of them at its end. The partial sums of one entry are SP_SUMS / LANES
 * vectors. They are added to one vector; LANES entries then share the additions across lanes. */
#include "kernels/loops/cpu_loops_shapes.h"

enum { NAME(parts) = SP_SUMS / LANES };

/** What is the same for all entries. */
typedef struct NAME(columns) {
    int64_t passes; /* SP_SUMS columns each, before the last 1 to SP_SUMS columns */
    MASK mask;      /* of the last vector */
    VECTOR minus;   /* -0 in the lanes without a column, else +0 */
} NAME(columns);

/** Returns the vector of sums of an entry: the last columns are in `vectors` vectors, the last one masked. A
 *  lane without a column adds (-0) * (+0), which changes no sum. */
AVX2 SP_INLINE static VECTOR NAME(dot)(const VALUE *g, const VALUE *x, const NAME(columns) * c, int passes,
                                       int vectors)
{
    VECTOR s[NAME(parts)];
    SP_UNROLL for (int v = 0; v < NAME(parts); v++) s[v] = INTRINSIC(setzero)();
    for (int64_t p = passes ? c->passes : 0; p > 0; p--, g += SP_SUMS, x += SP_SUMS)
        SP_UNROLL for (int v = 0; v < NAME(parts); v++)
            s[v] = INTRINSIC(fmadd)(INTRINSIC(loadu)(g + v * LANES), INTRINSIC(loadu)(x + v * LANES), s[v]);
    SP_UNROLL for (int v = 0; v < vectors; v++)
    {
        const VALUE *const gv = g + v * LANES, *const xv = x + v * LANES;
        s[v] = v < vectors - 1 ? INTRINSIC(fmadd)(INTRINSIC(loadu)(gv), INTRINSIC(loadu)(xv), s[v])
                               : INTRINSIC(fmadd)(INTRINSIC(or)(INTRINSIC(maskload)(gv, c->mask), c->minus),
                                                  INTRINSIC(maskload)(xv, c->mask), s[v]);
    }
    /* with few columns, sums that are +0 are left out: they could only change the sign of a zero */
    SP_UNROLL for (int h = NAME(parts) / 2; h > 0; h /= 2)
        SP_UNROLL for (int v = 0; v < h; v++) if (passes || v + h < vectors)
            s[v] = INTRINSIC(add)(s[v], s[v + h]);
    return s[0];
}

/** Computes `count` entries, at most LANES, from entry e on. *i is the row of the entry before. */
AVX2 SP_INLINE static void NAME(group)(const gradient_dots *d, int64_t e, int count, const NAME(columns) * c,
                                       VECTOR zero, int passes, int vectors, int64_t *i)
{
    const spmm_csr *const a = d->a;
    VECTOR t[LANES];
    VALUE out[LANES];
    SP_UNROLL for (int n = 0; n < LANES; n++)
    {
        const int64_t at = e + (n < count ? n : count - 1);
        while (at >= a->irp[*i + 1]) ++*i;
        t[n] = NAME(dot)((const VALUE *)d->g + *i * d->ldg, (const VALUE *)d->x + a->ja[at] * d->ldx, c,
                         passes, vectors);
    }
    const VECTOR sum = INTRINSIC(add)(SUMS(t), zero);
    if (count == LANES && d->stride == 1) {
        INTRINSIC(storeu)((VALUE *)d->values + e, sum);
        return;
    }
    INTRINSIC(storeu)(out, sum);
    for (int n = 0; n < count; n++) ((VALUE *)d->values)[(e + n) * d->stride] = out[n];
}

AVX2 SP_INLINE static void NAME(range)(const gradient_dots *d, int64_t begin, int64_t end, int passes,
                                       int vectors)
{
    enum { LINE = 64 };
    const int64_t last = d->k - (d->k - 1) / LANES * LANES;
    NAME(columns) c = {.passes = (d->k - 1) / SP_SUMS, .mask = MASK_OF(last)};
    VALUE minus[LANES];
    for (int l = 0; l < LANES; l++) minus[l] = l < last ? 0 : (VALUE)-0.0;
    c.minus = INTRINSIC(loadu)(minus);
    /* adding -0 changes nothing; +0 makes a -0 a +0 */
    const VECTOR zero = INTRINSIC(set1)(d->k < SP_SUMS ? 0 : (VALUE)-0.0);
    int64_t i = row_with(d->a, begin), e = begin;
    for (; e + LANES <= end; e += LANES) {
        for (int n = 0; d->prefetch > 0 && n < LANES; n++) {
            const int64_t ahead = e + n + d->prefetch;
            const VALUE *const row = (const VALUE *)d->x + d->a->ja[ahead < end ? ahead : end - 1] * d->ldx;
            for (int64_t at = 0; at < d->k; at += LINE / (int)sizeof(VALUE)) __builtin_prefetch(row + at);
        }
        NAME(group)(d, e, LANES, &c, zero, passes, vectors, &i);
    }
    if (e < end) NAME(group)(d, e, (int)(end - e), &c, zero, passes, vectors, &i);
}

/* clang-format off */
#define CASE(v) case v: d->k > SP_SUMS ? NAME(range)(d, begin, end, 1, v) : NAME(range)(d, begin, end, 0, v); break;
AVX2 static void NAME(loop)(const gradient_dots *d, int64_t begin, int64_t end)
{
    switch ((d->k - 1) % SP_SUMS / LANES + 1) {
        CASE(1) CASE(2) CASE(3) CASE(4)
#if LANES == 4
        CASE(5) CASE(6) CASE(7) CASE(8)
#endif
    }
}
/* clang-format on */

#undef CASE
#undef SHAPE
#undef SUMS
#undef VALUE
#undef NAME
#undef LANES
#undef VECTOR
#undef INTRINSIC
#undef MASK
#undef MASK_OF
