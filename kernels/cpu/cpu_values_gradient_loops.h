/* The loops of the gradient of the values of A for one element type and vector width, part of
 * cpu_values_gradient.c, with the macros of a SHAPE (kernels/loops/cpu_loops_shapes.h) and HALF, a vector of
 * 32 bytes; HALVES(v), which adds the halves of a vector of 64 bytes; SUMS(t, zero). Undefines all of them at
 * its end. The partial sums of one entry are SP_SUMS / LANES vectors. They are added to one HALF; GROUP
 * entries then share the additions across lanes. */
#include "kernels/loops/cpu_loops_shapes.h"

/* AVX-512 has registers for the sums of 4 entries in a row, which share the loads of G. */
#if SHAPE >= F64_64
#define TARGET AVX512
#define SHARE 4
#define MASKED_FMA(g, x, s, c) \
    INTRINSIC(mask3_fmadd)     \
    (INTRINSIC(maskz_loadu)((c)->mask, g), INTRINSIC(maskz_loadu)((c)->mask, x), s, (c)->mask)
#else
#define TARGET AVX2
#define SHARE 1
#define HALVES(v) v
/* a lane without a column adds (-0) * (+0), which changes no sum */
#define MASKED_FMA(g, x, s, c) \
    INTRINSIC(fmadd)           \
    (INTRINSIC(or)(INTRINSIC(maskload)(g, (c)->mask), (c)->minus), INTRINSIC(maskload)(x, (c)->mask), s)
#endif
#define GROUP (32 / (int)sizeof(VALUE))

enum { NAME(parts) = SP_SUMS / LANES };

/** Data that all entries share. */
typedef struct NAME(columns) {
    int64_t passes; /* SP_SUMS columns each, before the last 1 to SP_SUMS columns */
    MASK mask;      /* of the last vector */
    VECTOR minus;   /* -0 in the lanes without a column, else +0 */
} NAME(columns);

/** Adds the products of `vectors` vectors of one row of G and `count` rows of X, from column `at` on. */
TARGET SP_INLINE static void NAME(add)(VECTOR (*s)[NAME(parts)], const VALUE *g, const VALUE *const *x,
                                       int64_t at, int count, int vectors)
{
    SP_UNROLL for (int v = 0; v < vectors; v++)
    {
        const VECTOR gv = INTRINSIC(loadu)(g + at + v * LANES);
        SP_UNROLL for (int n = 0; n < count; n++)
            s[n][v] = INTRINSIC(fmadd)(gv, INTRINSIC(loadu)(x[n] + at + v * LANES), s[n][v]);
    }
}

/** Stores in t[n] the sums of entry n, for `count` entries of one row of A. The columns after the passes form
 *  `vectors` vectors, of which the last one is masked. */
TARGET SP_INLINE static void NAME(dots)(const VALUE *g, const VALUE *const *x, int count,
                                        const NAME(columns) * c, int passes, int vectors, HALF *t)
{
    VECTOR s[SHARE][NAME(parts)];
    int64_t at = 0;
    SP_UNROLL for (int n = 0; n < count * NAME(parts); n++)
        s[n / NAME(parts)][n % NAME(parts)] = INTRINSIC(setzero)();
    for (int64_t p = passes ? c->passes : 0; p > 0; p--, at += SP_SUMS)
        NAME(add)(s, g, x, at, count, NAME(parts));
    NAME(add)(s, g, x, at, count, vectors - 1);
    at += (vectors - 1) * LANES;
    SP_UNROLL for (int n = 0; n < count; n++)
    {
        s[n][vectors - 1] = MASKED_FMA(g + at, x[n] + at, s[n][vectors - 1], c);
        /* with few columns, sums that are +0 are left out: they could only change the sign of a zero */
        SP_UNROLL for (int h = NAME(parts) / 2; h > 0; h /= 2)
            SP_UNROLL for (int v = 0; v < h; v++) if (passes || v + h < vectors)
                s[n][v] = INTRINSIC(add)(s[n][v], s[n][v + h]);
        t[n] = HALVES(s[n][0]);
    }
}

/** Computes `count` entries, at most GROUP, from entry e on. *i is the row of the entry before. */
TARGET SP_INLINE static void NAME(group)(const gradient_dots *d, int64_t e, int count,
                                         const NAME(columns) * c, HALF zero, int passes, int vectors,
                                         int64_t *i)
{
    const spmm_csr *const a = d->a;
    HALF t[GROUP];
    VALUE out[GROUP];
    SP_UNROLL for (int n = 0; n < GROUP; n += SHARE)
    {
        const VALUE *x[SHARE];
        int64_t at[SHARE]; /* the last entry stands in for the entries after it */
        SP_UNROLL for (int m = 0; m < SHARE; m++)
        {
            at[m] = e + (n + m < count ? n + m : count - 1);
            x[m] = (const VALUE *)d->x + a->ja[at[m]] * d->ldx;
        }
        while (at[0] >= a->irp[*i + 1]) ++*i;
        if (at[SHARE - 1] < a->irp[*i + 1]) {
            NAME(dots)((const VALUE *)d->g + *i * d->ldg, x, SHARE, c, passes, vectors, t + n);
            continue;
        }
        SP_UNROLL for (int m = 0; m < SHARE; m++)
        {
            while (at[m] >= a->irp[*i + 1]) ++*i;
            NAME(dots)((const VALUE *)d->g + *i * d->ldg, x + m, 1, c, passes, vectors, t + n + m);
        }
    }
    const HALF sum = SUMS(t, zero);
    memcpy(out, &sum, sizeof sum);
    if (count == GROUP && d->stride == 1)
        memcpy((VALUE *)d->values + e, out, sizeof out);
    else
        for (int n = 0; n < count; n++) ((VALUE *)d->values)[(e + n) * d->stride] = out[n];
}

TARGET SP_INLINE static void NAME(range)(const gradient_dots *d, int64_t begin, int64_t end, int passes,
                                         int vectors)
{
    enum { LINE = 64 };
    const int64_t last = d->k - (d->k - 1) / LANES * LANES;
    NAME(columns) c = {.passes = (d->k - 1) / SP_SUMS, .mask = MASK_OF(last)};
    VALUE minus[LANES];
    for (int l = 0; l < LANES; l++) minus[l] = l < last ? 0 : (VALUE)-0.0;
    c.minus = INTRINSIC(loadu)(minus);
    /* adding -0 changes nothing; +0 makes a -0 a +0 */
    const HALF zero = HALVES(INTRINSIC(set1)(d->k < SP_SUMS ? 0 : (VALUE)-0.0));
    int64_t i = row_with(d->a, begin), e = begin;
    for (; e + GROUP <= end; e += GROUP) {
        for (int n = 0; d->prefetch > 0 && n < GROUP; n++) {
            const int64_t ahead = e + n + d->prefetch;
            const VALUE *const row = (const VALUE *)d->x + d->a->ja[ahead < end ? ahead : end - 1] * d->ldx;
            for (int64_t at = 0; at < d->k; at += LINE / (int)sizeof(VALUE)) __builtin_prefetch(row + at);
        }
        NAME(group)(d, e, GROUP, &c, zero, passes, vectors, &i);
    }
    if (e < end) NAME(group)(d, e, (int)(end - e), &c, zero, passes, vectors, &i);
}

/* clang-format off */
#define CASE(v) case v: d->k > SP_SUMS ? NAME(range)(d, begin, end, 1, v) : NAME(range)(d, begin, end, 0, v); break;
TARGET static void NAME(loop)(const gradient_dots *d, int64_t begin, int64_t end)
{
    switch ((d->k - 1) % SP_SUMS / LANES + 1) {
        CASE(1) CASE(2)
#if LANES <= 8
        CASE(3) CASE(4)
#endif
#if LANES == 4
        CASE(5) CASE(6) CASE(7) CASE(8)
#endif
    }
}
/* clang-format on */

#undef CASE
#undef TARGET
#undef SHARE
#undef MASKED_FMA
#undef GROUP
#undef HALF
#undef HALVES
#undef SUMS
#undef SHAPE
#undef VALUE
#undef NAME
#undef LANES
#undef VECTOR
#undef INTRINSIC
#undef MASK
#undef MASK_OF
