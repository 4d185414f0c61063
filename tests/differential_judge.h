/** Compares an element with the exact one, and the bits of two elements. */
#ifndef SP_DIFFERENTIAL_JUDGE_H
#define SP_DIFFERENTIAL_JUDGE_H

#include "differential_environment.h"

/** A type that represents the product of two doubles exactly; sums in it err by 2^-113 of their terms, which
 *  is negligible compared with the bounds here. */
#if __LDBL_MANT_DIG__ >= 113
typedef long double quad;
#else
__extension__ typedef __float128 quad;
#endif

/** An element without rounding, and what bounds its rounding errors. */
typedef struct exact {
    quad value;
    quad magnitude;    /* the sum of the terms' magnitudes */
    int64_t roundings; /* the greatest number of roundings of any term */
    double scale;      /* |alpha|, by which the rounded sum is multiplied, or 1 if that is greater */
    int once;          /* 1: the value is rounded once, to the nearest number */
} exact;

static inline quad quad_abs(quad v) { return v < 0 ? -v : v; }

/** Adds a term of the sum. */
static inline void exact_add(exact *e, quad term)
{
    e->value += term;
    e->magnitude += quad_abs(term);
    e->roundings++;
}

/** Turns the sum S into alpha S + beta y; y is NULL if beta is 0. If alpha is 0, S is dropped, even if it is
 *  NaN, and beta y is the only operation. */
static inline void exact_scale(exact *e, double alpha, double beta, const double *y)
{
    if (alpha == 0) {
        *e = (exact){.scale = 1, .once = 1};
    } else {
        e->value *= alpha;
        e->magnitude *= fabs(alpha);
        if (fabs(alpha) > 1) e->scale = fabs(alpha);
    }
    if (!y) return;
    e->value += (quad)beta * *y;
    e->magnitude += quad_abs((quad)beta * *y);
}

/** The greatest difference allowed between a result and the exact one: gamma_n sum|a||x| with n roundings of
 *  each term, as documented for a sum in any order, plus what each rounding can lose below the least normal
 *  number. OTHERS: the roundings besides those of the sum: products by x, alpha and beta, and the addition of
 *  beta y. */
static inline quad exact_bound(const exact *e, spmm_precision precision)
{
    enum { OTHERS = 4 };
    const quad unit = precision == SPMM_F32 ? 0x1p-24 : 0x1p-53,
               least = precision == SPMM_F32 ? 0x1p-149 : 0x1p-1074;
    const quad n = (quad)(e->roundings + OTHERS);
    const quad below = (quad)(2 * e->roundings) * (e->scale > 1 ? e->scale : 1) + OTHERS;
    return n * unit / (1 - n * unit) * e->magnitude + below * least;
}

/** Returns 1 if `found` may be the exact element rounded: NaN for NaN, an infinity for the same infinity. */
static inline int is_rounded(double found, const exact *e, spmm_precision precision)
{
    const double expected = (double)e->value;
    if (isnan(found) || isnan(expected)) return isnan(found) && isnan(expected);
    if (isinf(found) || isinf(expected)) return found == expected;
    if (e->once) return found == (precision == SPMM_F32 ? (double)(float)e->value : expected);
    return quad_abs((quad)found - e->value) <= exact_bound(e, precision);
}

/** Compares element (i, j) of a result. */
static inline void judge(double found, const exact *e, spmm_precision precision, const char *what, int64_t i,
                         int64_t j)
{
    diff_.counts.elements++;
    if (is_rounded(found, e, precision)) return;
    differs("%s(%lld, %lld) is %.17g, expected %.17g, off by %.3g where %.3g is allowed", what, (long long)i,
            (long long)j, found, (double)e->value, (double)quad_abs((quad)found - e->value),
            (double)exact_bound(e, precision));
}

/** Returns 1 if two numbers have the same bits, including the sign of zero, or are both NaN, whose bits are
 *  not promised. */
static inline int same_bits(double a, double b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

#endif
