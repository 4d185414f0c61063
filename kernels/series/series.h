/** The steps on series of measurements, and the registry of the kernels that perform them. No MPI.
 *
 *  A kernel is one line of series.def and an sp_series_ops in a file of kernels/series/: being listed is enough to be
 *  tested and timed. series_registry.c holds the table. */
#ifndef SP_SERIES_H
#define SP_SERIES_H

#include <math.h>

#include "spmm_types.h"

/* Marks functions that are called on a GPU, too; cuda_series.cuh defines it as __host__ __device__. */
#ifndef SP_BOTH
#define SP_BOTH
#endif

/** The steps in the order in which they run; SP_STEPS is their number. */
typedef enum sp_step { SP_GENERATE, SP_MEAN, SP_DEVIATION, SP_PEARSON, SP_STEPS } sp_step;

/** Which values are adjacent in memory: those of one series or those of one index. SP_ANY_LAYOUT is for kernels that
 *  take either. */
typedef enum sp_series_order { SP_SERIES_MAJOR, SP_INDEX_MAJOR, SP_ANY_LAYOUT } sp_series_order;

/** Consecutive series, usually those of one rank. */
typedef struct sp_series {
    int64_t count, length; /**< number of series, and of values in each (>= 1) */
    int64_t first;         /**< global number of the first series */
    sp_series_order layout;
    spmm_multivector v; /**< SP_SERIES_MAJOR: [count x length], SP_INDEX_MAJOR: [length x count] */
} sp_series;

/** How series are generated: value 0 is `start`, each later value is fma(x, s, x) of its predecessor x, with s =
 *  epsilon * 2^-31 * (the value's signed 32-bit random number), all in the precision of the values. The random number
 *  of value i of series m is word i % 4 of Philox4x32-10 (Salmon et al.: Parallel random numbers: as easy as 1, 2, 3,
 *  SC 2011) with counter (i / 4, m), both 64 bits, and key `seed`: what cuRAND's curand4() returns in its call i / 4
 *  after curand_init(seed, m, 0, ..). So a series is the same on every device and for any number of ranks. */
typedef struct sp_walk {
    double start;
    double epsilon; /**< largest relative change from one value to the next: 0 .. 1 */
    uint64_t seed;
} sp_walk;

/** The result of the deviation step for one series. */
typedef struct sp_spread {
    double centre;    /**< the mean, corrected by the mean of the residuals x - mean */
    double deviation; /**< sqrt(sum (x - centre)^2) * 2^-exponent: not divided by the length */
    int32_t exponent; /**< the largest |x - centre| is in [2^exponent, 2^(exponent + 1)); 0 if constant */
    int32_t constant; /**< 1: all values are equal */
} sp_spread;

/** One of the two factors (which: 0 or 1) whose product is 2^-exponent. Two, because a power of two in the range of
 *  f32 (f64), and thus the scale of a series, may have an inverse beyond that range. */
SP_BOTH static inline double sp_scale(int32_t exponent, int which)
{
    const int32_t half = exponent / 2;
    return ldexp(1.0, which == 0 ? -half : half - exponent);
}

/** Arguments of one step. The series and the results are all in the memory of one device. Sums and quotients are
 *  formed in the precision of x; compensated sums add their correction just before the division. */
typedef struct sp_series_launch {
    sp_series *x;        /**< written by SP_GENERATE, read by the other steps */
    const sp_walk *walk; /**< SP_GENERATE */
    double divisor;      /**< SP_MEAN: of the sums; the length gives means, 1 gives sums */
    double *mean;        /**< [count], written by SP_MEAN, read by SP_DEVIATION */
    sp_spread *spread;   /**< [count], written by SP_DEVIATION */
    void *work;          /**< workspace of work_bytes() bytes */
    int threads;         /**< OpenMP threads of a CPU kernel */
    int block;           /**< threads per CUDA block, a multiple of 32 up to 1024; 0: the kernel's choice */
} sp_series_launch;

/** A block of numerators, c := a b^T: element (i, j) is the dot product of row i of a and row j of b. c is
 *  column-major, as BLAS has it. */
typedef struct sp_dots {
    const void *a, *b; /**< [rows x length], [cols x length], row-major, `ld` elements between rows */
    int64_t rows, cols, length, ld;
    spmm_precision precision;
    void *c;      /**< element (i, j) at c[j * rows + i] */
    int triangle; /**< 1: a is b, and only elements i <= j of c are wanted; the rest may hold anything */
    int threads;
} sp_dots;

/** What the file of a kernel defines, as sp_series_ID. On a GPU, run and dots enqueue their work and do not wait. */
typedef struct sp_series_ops {
    spmm_status (*run)(const sp_series_launch *launch); /**< all steps but SP_PEARSON */
    spmm_status (*dots)(const sp_dots *dots);           /**< SP_PEARSON */
    /** Bytes of workspace. The caller zeroes it before the first run; what a run leaves there, the next one finds.
     *  NULL: none */
    int64_t (*work_bytes)(const sp_series *x, int block);
    const char *missing; /**< why this build cannot run the kernel; NULL: it can */
} sp_series_ops;

/** One row of the registry. */
typedef struct sp_series_kernel {
    const char *id;
    spmm_device device;
    sp_step step;
    sp_series_order layout;
    const char *what; /**< description for --list-kernels */
    const sp_series_ops *ops;
} sp_series_kernel;

#define SERIES(id, device, step, layout, what) extern const sp_series_ops sp_series_##id;
#include "kernels/series/series.def"
#undef SERIES

/** Returns the registry, in the order of series.def, and its number of rows. Kernels that this build lacks are
 *  listed, too: ops->missing says why, run and dots are NULL, and callers refuse them with SPMM_ERR_NO_DEVICE. */
const sp_series_kernel *sp_series_kernels(int *count);

/** Returns the kernel of that name, or NULL. */
const sp_series_kernel *sp_series_find(const char *id);

/** Returns the first kernel listed for the step, device and layout that this build has; NULL if there is none. */
const sp_series_kernel *sp_series_default(sp_step step, spmm_device device, sp_series_order layout);

/* ---- steps with one implementation per device, chosen by where the data is ---- */

/** Row m of z := (series m of x - centre) * 2^-exponent, |.| < 2; zeros for a constant series. x is series-major, z
 *  [count x length], its padding not written; spread is [count]; all in the same memory. On a GPU: enqueued.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, _DEVICE */
spmm_status sp_series_centre(const sp_series *x, const sp_spread *spread, spmm_multivector *z, int threads);

/** Writes the same series in the other layout to `to`, in the same memory. On a GPU: enqueued.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, _DEVICE */
spmm_status sp_series_transpose(const sp_series *from, sp_series *to, int threads);

enum { SP_BINS = 4096 };

/** Returns the bin of a coefficient: SP_BINS equal parts of [-1, 1]. */
SP_BOTH static inline int sp_bin(double r)
{
    const int bin = (int)((r + 1) * 0.5 * SP_BINS);
    return bin < 0 ? 0 : bin < SP_BINS ? bin : SP_BINS - 1;
}

/** A block of coefficients: sp_dots leaves numerators in c, sp_tile_histogram() turns them into coefficients in place. */
typedef struct sp_tile {
    void *c; /**< element (i, j) at c[j * rows + i]: of series first_row + i and first_col + j */
    int64_t rows, cols, first_row, first_col;
    spmm_precision precision;
    spmm_device space;         /**< memory of c, wrow and wcol */
    int triangle;              /**< 1: only i < j are pairs */
    const double *wrow, *wcol; /**< [rows], [cols]: 1 / deviation; 0 for a constant series: it has no pairs */
    int threads;
} sp_tile;

/** Returns the number n of pairs in column j of the tile, elements (0 .. n - 1, j). In a triangle, the elements below
 *  them may hold anything. */
SP_BOTH static inline int64_t sp_tile_pairs(const sp_tile *tile, int64_t j)
{
    return tile->triangle && j < tile->rows ? j : tile->rows;
}

/** A pair of series and its coefficient. */
typedef struct sp_pair {
    double r;
    int64_t i, j; /**< global numbers of the series, i < j */
} sp_pair;

/** Makes a pair, with the lower number first. */
SP_BOTH static inline sp_pair sp_pair_of(double r, int64_t i, int64_t j)
{
    const sp_pair pair = {r, i < j ? i : j, i < j ? j : i};
    return pair;
}

/** Summary of the coefficients seen so far, in the memory of the device that computes them. */
typedef struct sp_histogram {
    int64_t pairs;
    double low, high; /**< least and greatest coefficient; 2 and -2 without pairs */
    int64_t bin[SP_BINS];
} sp_histogram;

/** Allocates an empty histogram in that memory. The caller destroys it with sp_histogram_destroy().
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE; *histogram is NULL on failure */
spmm_status sp_histogram_create(spmm_device space, sp_histogram **histogram);

/** Frees a histogram in that memory; accepts NULL. */
void sp_histogram_destroy(spmm_device space, sp_histogram *histogram);

/** Empties the histogram. Complete on return. \return SPMM_OK, SPMM_ERR_DEVICE */
spmm_status sp_histogram_clear(spmm_device space, sp_histogram *histogram);

/** Copies a histogram from that memory to the host's, after all work enqueued before. Complete on return.
 *  \return SPMM_OK, SPMM_ERR_DEVICE */
spmm_status sp_histogram_read(spmm_device space, const sp_histogram *from, sp_histogram *to);

/** Adds one histogram to another; both in host memory. */
void sp_histogram_add(sp_histogram *to, const sp_histogram *from);

/** Turns the numerators of a tile's pairs into coefficients, clamped to [-1, 1], and adds them to *histogram, which is in
 *  the tile's memory. Pairs with a constant series become NaN and are not counted. On a GPU: enqueued.
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_tile_histogram(const sp_tile *tile, sp_histogram *histogram);

/** Finds the pairs of a tile (of coefficients) with a coefficient of `low` or less, or of `high` or more.
 *
 *  \param [out] pair   [room], in no particular order; host memory
 *  \param [out] found  number of such pairs; where that is more than room, pair has `room` of them
 *  Complete on return. \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_tile_find(const sp_tile *tile, double low, double high, sp_pair *pair, int64_t room,
                         int64_t *found);

/** sum[k] := the sum over the rows m of z of weight[m] z[m][k], in f64, added in the same order for any number of
 *  threads. weight: [z->rows], in the memory of z; sum: [z->k], host memory. Complete on return.
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_series_combine(const spmm_multivector *z, const double *weight, double *sum, int threads);

/** dot[m] := the sum over k of z[m][k] sum[k], in f64. sum: [z->k] and dot: [z->rows], host memory.
 *  Complete on return.
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_series_project(const spmm_multivector *z, const double *sum, double *dot, int threads);

/* ---- the implementations per device, to which the functions above dispatch ---- */

/** sp_series_centre() in host memory. */
void sp_cpu_centre(const sp_series *x, const sp_spread *spread, spmm_multivector *z, int threads);

/** sp_series_centre() on a GPU. */
spmm_status sp_cuda_centre(const sp_series *x, const sp_spread *spread, spmm_multivector *z);

/** sp_series_transpose() on a GPU. */
spmm_status sp_cuda_transpose(const sp_series *from, sp_series *to);

/** sp_tile_histogram() on a GPU. */
spmm_status sp_cuda_histogram(const sp_tile *tile, sp_histogram *histogram);

/** sp_tile_find() on a GPU. The caller zeroes *found: an empty tile leaves it alone. */
spmm_status sp_cuda_find(const sp_tile *tile, double low, double high, sp_pair *pair, int64_t room,
                         int64_t *found);

/** sp_series_combine() on a GPU. */
spmm_status sp_cuda_combine(const spmm_multivector *z, const double *weight, double *sum);

/** sp_series_project() on a GPU. */
spmm_status sp_cuda_project(const spmm_multivector *z, const double *sum, double *dot);

#endif
