/** One element against the exact one, and two elements that must have the same bits. */
#ifndef SP_DIFFERENTIAL_JUDGE_H
#define SP_DIFFERENTIAL_JUDGE_H

#include "differential.h"

/** A type that holds the product of two doubles exactly; sums in it err by 2^-113 of their terms, which is
 *  nothing beside the bounds here. */
#if __LDBL_MANT_DIG__ >= 113
typedef long double quad;
#else
__extension__ typedef __float128 quad;
#endif

/** What an element is without rounding, and what rounding may have made of it. */
typedef struct exact {
    quad value;
    quad magnitude;    /* the sum of the terms' magnitudes */
    int64_t roundings; /* the most that any term passes through */
    double scale;      /* 1, or by how much a sum is multiplied after it was rounded, if that is more */
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

/** Turns the sum S into alpha S + beta y; y is NULL if beta is 0. If alpha is 0 nothing of S is left, NaNs
 *  neither, and beta y is the one operation. */
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

/** The most that a result may differ from the exact one: gamma_n sum|a||x| with n roundings of each term,
 *  as the documents say of a sum in any order, and what each rounding can lose below the least normal
 *  number. Besides those of the sum a term passes through the products by a and x, by alpha and by beta,
 *  and the addition of the two. */
static inline quad exact_bound(const exact *e, spmm_precision precision)
{
    enum { OTHERS = 4 };
    const quad unit = precision == SPMM_F32 ? 0x1p-24 : 0x1p-53,
               least = precision == SPMM_F32 ? 0x1p-149 : 0x1p-1074;
    const quad n = (quad)(e->roundings + OTHERS);
    const quad below = (quad)(2 * e->roundings) * (e->scale > 1 ? e->scale : 1) + OTHERS;
    return n * unit / (1 - n * unit) * e->magnitude + below * least;
}

/** 1 if a result can be what rounding made of the exact element; NaN for NaN, each infinity for itself. */
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

/** 1 if two numbers have the same bits, the sign of zero among them, or are both NaN, of which no bits are
 *  promised. */
static inline int same_bits(double a, double b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

#endif
