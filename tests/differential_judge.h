/** Compares a number with the exact one, and the bits of two numbers. */
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

/** A number without rounding, and what bounds its rounding errors. A complex element has two, one for each
 *  part. */
typedef struct exact {
    quad value;
    quad magnitude;    /* the sum of the terms' magnitudes */
    int64_t roundings; /* the greatest number of roundings of any term */
    double scale; /* |re alpha| + |im alpha|, which multiplies the rounded sum, or 1 if that is greater */
    int once;     /* 1: the value is rounded once, to the nearest number */
} exact;

static inline quad quad_abs(quad v) { return v < 0 ? -v : v; }

/** Adds a term of the sum. */
static inline void exact_add(exact *e, quad term)
{
    e->value += term;
    e->magnitude += quad_abs(term);
    e->roundings++;
}

/** Adds the product of two values with so many parts.
 *  \param [in] conjugate  1: of the complex conjugate of a, with b */
static inline void exact_add_product(exact *e, int parts, const double *a, const double *b, int conjugate)
{
    exact_add(&e[0], (quad)a[0] * b[0]);
    if (parts == 1) return;
    const quad im = conjugate ? -a[1] : a[1];
    exact_add(&e[0], -im * b[1]);
    exact_add(&e[1], (quad)a[0] * b[1]);
    exact_add(&e[1], im * b[0]);
}

/** Multiplies a value by a factor. A factor without an imaginary part multiplies part by part. */
static inline void exact_multiply(exact *e, int parts, spmm_complex factor)
{
    const double re = __real__ factor, im = __imag__ factor;
    const exact old[2] = {e[0], e[parts - 1]};
    for (int p = 0; p < parts; p++) {
        e[p].value = re * old[p].value;
        e[p].magnitude = fabs(re) * old[p].magnitude;
        if (im == 0) continue;
        e[p].value += (p == 0 ? -im : im) * old[1 - p].value;
        e[p].magnitude += fabs(im) * old[1 - p].magnitude;
    }
}

/** Turns the sum S into alpha S + beta y; y is NULL if beta is 0. If alpha is 0, S is dropped, even if it is
 *  NaN, and beta y is the only operation.
 *  \param [in] y  [parts] */
static inline void exact_scale(exact *e, int parts, spmm_complex alpha, spmm_complex beta, const double *y)
{
    const double scale = fabs(__real__ alpha) + fabs(__imag__ alpha);
    exact old[2] = {0};
    exact_multiply(e, parts, alpha);
    for (int p = 0; p < parts; p++) {
        e[p].scale = scale > 1 ? scale : 1;
        if (alpha == 0) e[p] = (exact){.scale = 1, .once = __imag__ beta == 0};
        if (y) exact_add(&old[p], y[p]);
    }
    exact_multiply(old, parts, beta);
    for (int p = 0; y && p < parts; p++) {
        e[p].value += old[p].value;
        e[p].magnitude += old[p].magnitude;
    }
}

/** The greatest difference allowed between a result and the exact one: gamma_n sum|a||x| with n roundings of
 *  each term, as documented for a sum in any order, plus what each rounding can lose below the least normal
 *  number. `others` are the roundings outside the sum: the products by x, alpha and beta, and the addition of
 *  beta y. A complex product by alpha or beta has one more addition. */
static inline quad exact_bound(const exact *e, spmm_precision precision)
{
    const int others = diff_parts(precision) == 2 ? 6 : 4;
    const quad unit = diff_single(precision) ? 0x1p-24 : 0x1p-53,
               least = diff_single(precision) ? 0x1p-149 : 0x1p-1074;
    const quad n = (quad)(e->roundings + others);
    const quad below = (quad)(2 * e->roundings) * (e->scale > 1 ? e->scale : 1) + others;
    return n * unit / (1 - n * unit) * e->magnitude + below * least;
}

/** Returns 1 if `found` may be the exact number rounded: NaN for NaN, an infinity for the same infinity. */
static inline int is_rounded(double found, const exact *e, spmm_precision precision)
{
    const double expected = (double)e->value;
    if (isnan(found) || isnan(expected)) return isnan(found) && isnan(expected);
    if (isinf(found) || isinf(expected)) return found == expected;
    if (e->once) return found == (diff_single(precision) ? (double)(float)e->value : expected);
    return quad_abs((quad)found - e->value) <= exact_bound(e, precision);
}

/** Compares number j of row i of a result. */
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
