/** What the parts of the differential tester share: a case, its random numbers, values of every kind, and
 *  reports.
 *
 *  The tester draws products at random and compares every result with arithmetic that is exact enough. It
 *  uses the library only through spmm.h and spmm_extended.h. All ranks draw the same numbers from the number
 *  of the case, so they agree without messages; what differs from rank to rank is a function of the rank. The
 *  parts are
 *
 *      differential.h            this file
 *      differential_environment.h  floating-point environments of the calls
 *      differential_judge.h      comparison of one element with the exact one
 *      differential_matrix.h     matrices, and blocks of them with the tester's own cuts
 *      differential_operands.h   multivectors in every kind of memory and layout
 *      differential_plans.h      plans with options of all kinds, and plans that must be refused
 *      differential_products.h   products of a plan
 *      differential_dense.h      products and sums without a plan
 *      test_differential.c       the cases, and main(): as a test or by hand */
#ifndef SP_DIFFERENTIAL_H
#define SP_DIFFERENTIAL_H

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spmm_extended.h"

enum { DIFF_SHOWN = 5, DIFF_RANKS = 64 }; /* differences printed per rank and case; most ranks */

/** What the tester has counted since it began, on this rank. */
typedef struct diff_counts {
    int64_t plans, refused, products, elements, bits, repeated, mistakes, updates, dense;
} diff_counts;

/** The case that is run. */
static struct {
    MPI_Comm comm; /* MPI_COMM_WORLD, or the same ranks from the last to the first */
    int rank, ranks;
    int world_rank;
    spmm_device device;
    uint64_t seed, number; /* of the case */
    uint64_t drawn;        /* the counter of the case's random numbers */
    int64_t differences;   /* that this rank has found in the case */
    int spoil;             /* 1: makes an element wrong after each product, which the comparison must find */
    char plan[400], step[200];
    diff_counts counts;
} diff_;

/* ---- random numbers ---- */

/** A 64-bit number from another, by the finalizer of splitmix64. */
static inline uint64_t diff_mix(uint64_t z)
{
    z += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/** The number for element (i, j), which any rank can compute. */
static inline uint64_t diff_hash(uint64_t key, int64_t i, int64_t j)
{
    return diff_mix(diff_mix(diff_mix(key) ^ (uint64_t)i) ^ (uint64_t)j);
}

/** The next random number of the case, the same on every rank. */
static inline uint64_t draw(void) { return diff_mix(diff_.drawn++); }

/** A random number from 0 to n - 1; 0 if n is 0. */
static inline int64_t draw_below(int64_t n) { return n > 0 ? (int64_t)(draw() % (uint64_t)n) : 0; }

/** Returns 1 with a probability of `percent` in a hundred. */
static inline int draw_percent(int percent) { return draw_below(100) < percent; }

/** A random element of an array. */
#define DRAW_FROM(array) ((array)[draw_below((int64_t)(sizeof(array) / sizeof *(array)))])

/* ---- values ---- */

typedef enum diff_values {
    VALUES_UNIFORM,
    VALUES_INTEGERS,
    VALUES_ZEROS,    /* zeros of both signs among others */
    VALUES_DENORMAL, /* mostly below the least normal number */
    VALUES_WIDE,     /* of many magnitudes; no product overflows */
    VALUES_FINITE,   /* number of kinds without infinities and NaNs */
    VALUES_SPECIAL = VALUES_FINITE
} diff_values;

static const char *const diff_precisions[] = {"f64", "f32", "c128", "c64"};

static inline spmm_precision draw_precision(void)
{
    static const spmm_precision precisions[] = {SPMM_F64, SPMM_F64, SPMM_F32, SPMM_F32, SPMM_C128, SPMM_C64};
    return DRAW_FROM(precisions);
}

/** Draws a kind: most often uniform; with infinities and NaNs in `special` percent of all draws. */
static inline diff_values draw_values(int special)
{
    if (draw_percent(special)) return VALUES_SPECIAL;
    return draw_percent(40) ? VALUES_UNIFORM : (diff_values)draw_below(VALUES_FINITE);
}

/** The numbers of a value: 2, the real and the imaginary part, if it is complex, else 1. The tester handles
 *  parts like elements of a real type. */
static inline int diff_parts(spmm_precision precision)
{
    return precision == SPMM_C128 || precision == SPMM_C64 ? 2 : 1;
}

/** 1 if the numbers of a value are floats. */
static inline int diff_single(spmm_precision precision)
{
    return precision == SPMM_F32 || precision == SPMM_C64;
}

/** The size of a value in bytes. */
static inline size_t diff_size(spmm_precision precision)
{
    return (size_t)diff_parts(precision) * (diff_single(precision) ? sizeof(float) : sizeof(double));
}

/** Number `at` of an array of values. */
static inline double diff_number(const void *values, spmm_precision precision, int64_t at)
{
    return diff_single(precision) ? (double)((const float *)values)[at] : ((const double *)values)[at];
}

static inline void diff_set_number(void *values, spmm_precision precision, int64_t at, double v)
{
    if (diff_single(precision))
        ((float *)values)[at] = (float)v;
    else
        ((double *)values)[at] = v;
}

static inline double diff_rounded(double v, spmm_precision precision)
{
    return diff_single(precision) ? (double)(float)v : v;
}

/** The number of a kind for the random number h, rounded to the precision. */
static inline double diff_value(diff_values kind, uint64_t h, spmm_precision precision)
{
    const double specials[] = {NAN, INFINITY, -INFINITY, -0.0};
    const int f32 = diff_single(precision);
    double v = (double)(int64_t)(h >> 11) * 0x1p-52 - 1; /* in [-1, 1) */
    switch (kind) {
    case VALUES_UNIFORM: break;
    case VALUES_INTEGERS: v = (double)(h % 17) - 8; break;
    case VALUES_ZEROS: v = h % 3 == 0 ? 0.0 : h % 3 == 1 ? -0.0 : v; break;
    case VALUES_DENORMAL: v = h % 5 == 0 ? v : ldexp(v, f32 ? -140 : -1060); break;
    case VALUES_WIDE: v = ldexp(v, ((int)(diff_mix(h) % 61) - 30) * (f32 ? 1 : 5)); break;
    case VALUES_SPECIAL: v = h % 31 < 4 ? specials[h % 31] : v; break;
    }
    return diff_rounded(v, precision);
}

/** Number j of row i, in global numbering, of the multivector with this key. */
static inline double diff_element(diff_values kind, uint64_t key, int64_t i, int64_t j,
                                  spmm_precision precision)
{
    return diff_value(kind, diff_hash(key, i, j), precision);
}

/** Draws a number; all but 0.001 are exact in any precision. */
static inline double draw_scalar(void)
{
    static const double scalars[] = {0, 1, 1, 1, -1, 0.5, 2, 0.001, -3};
    return DRAW_FROM(scalars);
}

/** Draws alpha or beta; half of those for complex values have an imaginary part. */
static inline spmm_complex draw_factor(spmm_precision precision)
{
    const double real = draw_scalar(), imaginary = draw_scalar();
    return __builtin_complex(real, diff_parts(precision) == 2 && draw_percent(50) ? imaginary : 0);
}

static inline spmm_complex diff_factor_rounded(spmm_complex factor, spmm_precision precision)
{
    return __builtin_complex(diff_rounded(__real__ factor, precision),
                             diff_rounded(__imag__ factor, precision));
}

/* ---- reports ---- */

/** Counts a difference of the case and prints it, unless this rank has printed enough or results are
 *  spoiled. */
__attribute__((format(printf, 1, 2))) static inline void differs(const char *format, ...)
{
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (diff_.differences++ >= DIFF_SHOWN || diff_.spoil) return;
    fprintf(stderr, "  DIFFERENT: case %llu of seed %llu, rank %d of %d: %s; %s: %s\n",
            (unsigned long long)diff_.number, (unsigned long long)diff_.seed, diff_.rank, diff_.ranks,
            diff_.plan, diff_.step, text);
}

/** Sets the name of the current step, for messages. */
__attribute__((format(printf, 1, 2))) static inline void diff_step(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(diff_.step, sizeof diff_.step, format, arguments);
    va_end(arguments);
}

/** Notes a difference unless the status is SPMM_OK. Returns 1 if it is. */
static inline int went_well(spmm_status status, const char *what)
{
    if (status != SPMM_OK) differs("%s gave status %d: %s", what, (int)status, spmm_error_message());
    return status == SPMM_OK;
}

/** Notes a difference unless the status is that of a mistake, SPMM_ERR_USAGE. */
static inline void was_refused(spmm_status status, const char *what)
{
    diff_.counts.mistakes++;
    if (status != SPMM_ERR_USAGE)
        differs("%s gave status %d, expected SPMM_ERR_USAGE (%s)", what, (int)status, spmm_error_message());
}

/** Returns the greatest status of any rank, and notes a difference if they are not the same. Collective. */
static inline spmm_status same_status(spmm_status status, const char *what)
{
    int both[2] = {(int)status, -(int)status};
    MPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_INT, MPI_MAX, diff_.comm);
    if (both[0] != -both[1])
        differs("%s gave status %d here, from %d to %d on all ranks (%s)", what, (int)status, -both[1],
                both[0], spmm_error_message());
    return (spmm_status)both[0];
}

static inline void *diff_malloc(size_t bytes)
{
    void *const memory = malloc(bytes ? bytes : 1);
    if (!memory) {
        perror("differential tester");
        abort();
    }
    return memory;
}

#endif
