/** The steps that series_mpi runs on series of measurements (generation, means, deviations, Pearson's
 *  coefficients), and the registry of the kernels that implement these steps. Makes no MPI calls.
 *
 *  To add a kernel, add a line to series.def and define an sp_series_ops in a file of kernels/series/. Every
 *  kernel in series.def is tested and timed without further changes. series_registry.c contains the table. */
#ifndef SP_SERIES_H
#define SP_SERIES_H

#include <math.h>
#include <string.h>

#include "spmm_types.h"

/* SP_BOTH marks functions that GPU code can also call; cuda_series.cuh defines it as `__host__
 * __device__`. */
#ifndef SP_BOTH
#define SP_BOTH
#endif

/** The steps, in the order in which they run; SP_STEPS is the number of steps. SP_ARRAY_SUM marks records of
 *  --sum, which runs kernels of SP_MEAN instead of the steps. */
typedef enum sp_step { SP_GENERATE, SP_MEAN, SP_DEVIATION, SP_PEARSON, SP_STEPS, SP_ARRAY_SUM } sp_step;

/** Memory layout of series. SP_SERIES_MAJOR: the values of one series are contiguous. SP_INDEX_MAJOR: the
 *  values with the same index are contiguous. SP_ANY_LAYOUT marks kernels that accept both layouts. */
typedef enum sp_series_order { SP_SERIES_MAJOR, SP_INDEX_MAJOR, SP_ANY_LAYOUT } sp_series_order;

/** Operators with which SP_MEAN reduces the values of a series, all of them associative. SP_MATRIX is the
 *  only one that does not commute. The number of components of a result is sp_operator_width().
 *
 *  SP_SUM: the sum divided by sp_series_launch.divisor. SP_MINIMUM, SP_MAXIMUM: exact. SP_PRODUCT: a
 *  mantissa, 0 or from 0.5 up to 1, and the exponent of 2 (0 if the mantissa is 0), as of frexp(), because a
 *  product of many values is beyond the range of any precision. SP_DOT: dot product of the series with
 *  itself. SP_MATRIX: the product of one 2 x 2 matrix per value, sp_square_of(), in order; row-major. */
typedef enum sp_operator {
    SP_SUM,
    SP_MINIMUM,
    SP_MAXIMUM,
    SP_PRODUCT,
    SP_DOT,
    SP_MATRIX,
    SP_OPERATORS
} sp_operator;

/** Operators that a kernel offers. SP_NO_OPERATOR: its step does not reduce. SP_SUM_ALONE: SP_SUM.
 *  SP_COMMUTATIVE: all except SP_MATRIX, because the kernel changes the order of the values. SP_ANY_OPERATOR:
 *  all, because the kernel keeps the order of the values. */
typedef enum sp_operators { SP_NO_OPERATOR, SP_SUM_ALONE, SP_COMMUTATIVE, SP_ANY_OPERATOR } sp_operators;

enum {
    SP_WIDEST = 4,       /**< largest number of components of a result */
    SP_PARTS = 4,        /**< default number of blocks per series */
    SP_MOST_PARTS = 1024 /**< maximum number of blocks per series */
};

/** Returns the number of components of an operator's result, at most SP_WIDEST. */
SP_BOTH static inline int sp_operator_width(sp_operator op)
{
    return op == SP_MATRIX ? 4 : op == SP_PRODUCT ? 2 : 1;
}

/** A 2 x 2 matrix of integers modulo 2^32, row-major. Its products are exact, so they show in which order
 *  values were combined. */
typedef struct sp_square {
    uint32_t a, b, c, d;
} sp_square;

/** Returns the matrix of a value: (1 h; k 1 + h k), where h and k are made of the bits of x. Its determinant
 *  is 1, so that no product vanishes. */
SP_BOTH static inline sp_square sp_square_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits += UINT64_C(0x9e3779b97f4a7c15); /* otherwise the matrix of 0 would be the identity */
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    const uint32_t h = (uint32_t)(bits >> 32), k = (uint32_t)(bits ^ bits >> 40);
    const sp_square m = {1, h, k, 1 + h * k};
    return m;
}

/** Returns the product x y of two matrices. */
SP_BOTH static inline sp_square sp_square_product(sp_square x, sp_square y)
{
    const sp_square m = {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c,
                         x.c * y.b + x.d * y.d};
    return m;
}

/** A range of consecutive series, usually those that one rank owns. */
typedef struct sp_series {
    int64_t count, length; /**< count: number of series; length (>= 1): number of values in each */
    int64_t first;         /**< global number of the first series */
    sp_series_order layout;
    spmm_multivector v; /**< values; SP_SERIES_MAJOR: [count x length]; SP_INDEX_MAJOR: [length x count] */
} sp_series;

/** Parameters of generated series. Value 0 of a series is `start`. Each later value is fma(x, s, x), where x
 *  is the previous value and s = epsilon * 2^-31 * (the new value's signed 32-bit random number), all in the
 *  precision of the series. The random number of value i of series m is word i % 4 of Philox4x32-10 (Salmon
 *  et al.: Parallel random numbers: as easy as 1, 2, 3, SC 2011) with counter (i / 4, m), both 64 bits wide,
 *  and key `seed`. cuRAND's curand4() returns the same words in call i / 4 after curand_init(seed, m, 0, ..).
 *  So a series is the same on every device and for any number of ranks. */
typedef struct sp_walk {
    double start;
    double epsilon; /**< maximum relative change from one value to the next, from 0 to 1 */
    uint64_t seed;
} sp_walk;

/** Result of step SP_DEVIATION for one series. */
typedef struct sp_spread {
    double center;    /**< mean of the series, corrected by the mean of the residuals x - mean */
    double deviation; /**< sqrt(sum (x - center)^2) * 2^-exponent; the sum is not divided by the length */
    int32_t exponent; /**< the largest |x - center| is in [2^exponent, 2^(exponent + 1)); 0 if constant */
    int32_t constant; /**< 1: all values of the series are equal */
} sp_spread;

/** Returns one of two factors whose product is 2^-exponent; `which` is 0 or 1. There are two factors because
 *  2^-exponent alone may be out of range: a power of two in the range of f32 (or f64) may have an inverse
 *  beyond it. */
SP_BOTH static inline double sp_scale(int32_t exponent, int which)
{
    const int32_t half = exponent / 2;
    return ldexp(1.0, which == 0 ? -half : half - exponent);
}

/** Arguments of a kernel, for all steps but SP_PEARSON. The series and the results are in the memory of one
 *  device. Sums and quotients are computed in the precision of x; a compensated sum adds its correction just
 *  before the division. */
typedef struct sp_series_launch {
    sp_series *x;        /**< written by SP_GENERATE, read by the other steps */
    const sp_walk *walk; /**< parameters of the generated series; used by SP_GENERATE only */
    double divisor;      /**< SP_MEAN divides its sums by this: the length gives means, 1 gives sums */
    sp_operator op;      /**< operator with which SP_MEAN reduces; must be SP_SUM before SP_DEVIATION */
    double *mean;        /**< [sp_operator_width(op) x count] component c of series m is mean[c * count + m];
                              written by SP_MEAN, read by SP_DEVIATION */
    sp_spread *spread;   /**< [count] one per series; written by SP_DEVIATION */
    void *work;          /**< workspace; its size in bytes is the result of work_bytes() */
    int threads;         /**< OpenMP threads of a CPU kernel */
    int block;           /**< threads per CUDA block: multiple of 32, at most 1024; 0: kernel's default */
    int parts;           /**< blocks per series of a kernel that divides series, up to SP_MOST_PARTS; 0:
                              SP_PARTS */
} sp_series_launch;

/** Arguments for computing numerators (dot products of centered series) as a block c := a b^T: element (i, j)
 *  is the dot product of row i of a and row j of b. c is column-major, as in BLAS. */
typedef struct sp_dots {
    const void *a, *b; /**< a: [rows x length], b: [cols x length]; row-major with leading dimension `ld` */
    int64_t rows, cols, length, ld;
    spmm_precision precision;
    void *c;      /**< element (i, j) is c[j * rows + i] */
    int triangle; /**< 1: a is b; only elements with i <= j are needed, the others may have any value */
    int threads;
} sp_dots;

/** Functions of a kernel. The kernel's source file defines them as sp_series_ID. On a GPU, run() and dots()
 *  enqueue their work and return without waiting, except for the run() of sum_host, which waits. */
typedef struct sp_series_ops {
    spmm_status (*run)(const sp_series_launch *launch); /**< runs a kernel for any step but SP_PEARSON */
    spmm_status (*dots)(const sp_dots *dots);           /**< runs a kernel for step SP_PEARSON */
    /** Returns the size in bytes of the workspace that a run needs, from launch->x, block and parts; NULL: no
     *  workspace is needed. The caller zeroes the workspace before the first run. Each later run of the same
     *  operator finds what the previous run left there. */
    int64_t (*work_bytes)(const sp_series_launch *launch);
    int divides;         /**< 1: the kernel divides each series among launch->parts blocks */
    const char *missing; /**< reason why this build cannot run the kernel; NULL: it can */
} sp_series_ops;

/** One row of the registry of kernels. */
typedef struct sp_series_kernel {
    const char *id;
    spmm_device device;
    sp_step step;
    sp_series_order layout;
    sp_operators operators;
    const char *what; /**< description for --list-kernels */
    const sp_series_ops *ops;
} sp_series_kernel;

#define SERIES(id, device, step, layout, operators, what) extern const sp_series_ops sp_series_##id;
#include "kernels/series/series.def"
#undef SERIES

/** Returns the registry, in the order of series.def, and sets *count to its number of rows. The registry
 *  includes kernels that this build cannot run: ops->missing is the reason, run and dots are NULL, and the
 *  caller must refuse such a kernel with SPMM_ERR_NO_DEVICE. */
const sp_series_kernel *sp_series_kernels(int *count);

/** Returns the kernel with the given id; NULL if there is none. */
const sp_series_kernel *sp_series_find(const char *id);

/** Returns 1 if kernel k offers the operator, or if its step does not reduce; else 0. */
int sp_series_offers(const sp_series_kernel *k, sp_operator op);

/** Returns the first kernel in the registry for the given step, device, layout and operator that this build
 *  can run; NULL if there is none. */
const sp_series_kernel *sp_series_default(sp_step step, spmm_device device, sp_series_order layout,
                                          sp_operator op);

/* ---- operations with one implementation per device, chosen by where the data is ---- */

/** Writes centered and scaled series to z: row m of z is (series m of x - center) * 2^-exponent, and zero if
 *  series m is constant. The absolute values are less than 2. x is series-major; z is [count x length], and
 *  its padding is not written; spread is [count]. All are in the same memory. On a GPU, the work is only
 *  enqueued.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, _DEVICE */
spmm_status sp_series_center(const sp_series *x, const sp_spread *spread, spmm_multivector *z, int threads);

/** Copies the series `from` to `to`, which has the other layout and is in the same memory. On a GPU, the work
 *  is only enqueued.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, _DEVICE */
spmm_status sp_series_transpose(const sp_series *from, sp_series *to, int threads);

enum { SP_BINS = 4096 };

/** Returns the histogram bin of the coefficient r: [-1, 1] is divided into SP_BINS bins of equal width. */
SP_BOTH static inline int sp_bin(double r)
{
    const int bin = (int)((r + 1) * 0.5 * SP_BINS);
    return bin < 0 ? 0 : bin < SP_BINS ? bin : SP_BINS - 1;
}

/** A tile of the matrix of coefficients. A kernel's dots() writes numerators to c; sp_tile_histogram() turns
 *  them into coefficients in place. */
typedef struct sp_tile {
    void *c; /**< element (i, j) is c[j * rows + i], and belongs to series first_row + i and first_col + j */
    int64_t rows, cols, first_row, first_col;
    spmm_precision precision;
    spmm_device space;         /**< memory in which c, wrow and wcol are */
    int triangle;              /**< 1: the tile is on the diagonal, and only elements with i < j are pairs */
    const double *wrow, *wcol; /**< wrow: [rows], wcol: [cols]; 1 / deviation of each series; 0: the series is
                                    constant and has no coefficients */
    int threads;
} sp_tile;

/** Returns the number n of pairs in column j of the tile; these are elements (0, j) to (n - 1, j). If
 *  tile->triangle is 1, the elements below them may have any value. */
SP_BOTH static inline int64_t sp_tile_pairs(const sp_tile *tile, int64_t j)
{
    return tile->triangle && j < tile->rows ? j : tile->rows;
}

/** A pair of series and its coefficient r. */
typedef struct sp_pair {
    double r;
    int64_t i, j; /**< global numbers of the series, i < j */
} sp_pair;

/** Returns the pair of series i and j with coefficient r; the lower number is stored first. */
SP_BOTH static inline sp_pair sp_pair_of(double r, int64_t i, int64_t j)
{
    const sp_pair pair = {r, i < j ? i : j, i < j ? j : i};
    return pair;
}

/** Histogram, minimum and maximum of the coefficients computed so far. It is stored in the memory of the
 *  device that computes the coefficients. */
typedef struct sp_histogram {
    int64_t pairs;
    double low, high; /**< low: least coefficient (2 if there are no pairs); high: greatest coefficient (-2 if
                           there are no pairs) */
    int64_t bin[SP_BINS];
} sp_histogram;

/** Allocates an empty histogram in the memory of device `space`. The caller frees it with
 *  sp_histogram_destroy().
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE; *histogram is NULL on failure */
spmm_status sp_histogram_create(spmm_device space, sp_histogram **histogram);

/** Frees a histogram in the memory of device `space`; accepts NULL. */
void sp_histogram_destroy(spmm_device space, sp_histogram *histogram);

/** Removes all coefficients from a histogram in the memory of device `space`. Complete on return.
 *  \return SPMM_OK, SPMM_ERR_DEVICE */
spmm_status sp_histogram_clear(spmm_device space, sp_histogram *histogram);

/** Copies a histogram from the memory of device `space` to host memory, after all work enqueued before
 *  has finished. Complete on return.
 *  \return SPMM_OK, SPMM_ERR_DEVICE */
spmm_status sp_histogram_read(spmm_device space, const sp_histogram *from, sp_histogram *to);

/** Adds the histogram `from` to the histogram `to`; both are in host memory. */
void sp_histogram_add(sp_histogram *to, const sp_histogram *from);

/** Turns the numerators of a tile into coefficients, clamped to [-1, 1], and adds these to *histogram, which
 *  is in the same memory as the tile. A pair with a constant series gets the coefficient NaN and is not
 *  counted. On a GPU, the work is only enqueued.
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_tile_histogram(const sp_tile *tile, sp_histogram *histogram);

/** Finds the pairs in a tile of coefficients whose coefficient is at most `low` or at least `high`. Complete
 *  on return.
 *
 *  \param [out] pair   [room] pairs found, in no particular order; in host memory
 *  \param [out] found  number of pairs found; if it exceeds `room`, only `room` of them are in `pair`
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_tile_find(const sp_tile *tile, double low, double high, sp_pair *pair, int64_t room,
                         int64_t *found);

/** Computes a weighted sum of the rows of z, in f64: sum[k] is the sum of weight[m] * z[m][k] over all rows
 *  m. The order of the additions does not depend on the number of threads. weight is [z->rows], in the same
 *  memory as z; sum is [z->k], in host memory. Complete on return.
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_series_combine(const spmm_multivector *z, const double *weight, double *sum, int threads);

/** Computes the dot product of each row of z with the vector `sum`, in f64: dot[m] is the sum of z[m][k] *
 *  sum[k] over all k. sum is [z->k] and dot is [z->rows], both in host memory. Complete on return.
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_series_project(const spmm_multivector *z, const double *sum, double *dot, int threads);

/* ---- implementations per device, called by the functions above ---- */

/** CPU implementation of sp_series_center(). */
void sp_cpu_center(const sp_series *x, const sp_spread *spread, spmm_multivector *z, int threads);

/** GPU implementation of sp_series_center(). */
spmm_status sp_cuda_center(const sp_series *x, const sp_spread *spread, spmm_multivector *z);

/** GPU implementation of sp_series_transpose(). */
spmm_status sp_cuda_transpose(const sp_series *from, sp_series *to);

/** GPU implementation of sp_tile_histogram(). */
spmm_status sp_cuda_histogram(const sp_tile *tile, sp_histogram *histogram);

/** GPU implementation of sp_tile_find(). The caller must set *found to 0, because the function does not write
 *  *found for an empty tile. */
spmm_status sp_cuda_find(const sp_tile *tile, double low, double high, sp_pair *pair, int64_t room,
                         int64_t *found);

/** GPU implementation of sp_series_combine(). */
spmm_status sp_cuda_combine(const spmm_multivector *z, const double *weight, double *sum);

/** GPU implementation of sp_series_project(). */
spmm_status sp_cuda_project(const spmm_multivector *z, const double *sum, double *dot);

#endif
