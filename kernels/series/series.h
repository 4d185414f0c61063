/** Steps on series of measurements, and the kernels that do them. No MPI.
 *
 *  A kernel is one line of series.def and a sp_series_ops in a file of kernels/: listed, tested and timed by being
 *  listed. series_registry.c has the table. */
#ifndef SP_SERIES_H
#define SP_SERIES_H

#include <math.h>

#include "spmm_types.h"

/* what a function needs to be called on a GPU, too: cuda_series.cuh defines it */
#ifndef SP_BOTH
#define SP_BOTH
#endif

typedef enum sp_step { SP_GENERATE, SP_MEAN, SP_DEVIATION, SP_PEARSON, SP_STEPS } sp_step;

/** Which values lie next to each other: a series', or those of one index. */
typedef enum sp_series_order { SP_SERIES_MAJOR, SP_INDEX_MAJOR, SP_ANY_LAYOUT } sp_series_order;

/** Consecutive series, those of one rank. */
typedef struct sp_series {
    int64_t count, length; /**< series, and values of each (>= 1) */
    int64_t first;         /**< number of the first one among all ranks' */
    sp_series_order layout;
    spmm_multivector v; /**< SP_SERIES_MAJOR: [count x length], SP_INDEX_MAJOR: [length x count] */
} sp_series;

/** How series are made: value 0 is `start`, each further one fma(x, s, x) of the one before, x, with s =
 *  epsilon * 2^-31 * (the signed 32-bit random number), all in the precision of the values. The random number of value
 *  i of series m is word i % 4 of Philox4x32-10 (Salmon et al.: Parallel random numbers: as easy as 1, 2, 3, SC 2011)
 *  with counter (i / 4, m), both 64 bits, and key `seed`: what cuRAND's curand4() gives at its call i / 4 after
 *  curand_init(seed, m, 0, ..). So a series is the same on every device and for any number of ranks. */
typedef struct sp_walk {
    double start;
    double epsilon; /**< the largest share that a value differs by from the one before: 0 .. 1 */
    uint64_t seed;
} sp_walk;

/** What the deviation step finds out about a series. */
typedef struct sp_spread {
    double centre;    /**< the mean, corrected by the mean of what differs from it */
    double deviation; /**< sqrt(sum (x - centre)^2) * 2^-exponent */
    int32_t
        exponent; /**< the largest |x - centre| is in [2^exponent, 2^(exponent + 1)); 0 of a constant series */
    int32_t constant; /**< 1: all values are equal */
} sp_spread;

/** 2^-exponent as the product of two factors, of which this is one: a power of two of f32 (f64) may be the scale of a
 *  series whose inverse is none. */
SP_BOTH static inline double sp_scale(int32_t exponent, int which)
{
    const int32_t half = exponent / 2;
    return ldexp(1.0, which == 0 ? -half : half - exponent);
}

/** One step on series that all lie in the memory of one device, as do the results. */
typedef struct sp_series_launch {
    sp_series *x;        /**< SP_GENERATE writes it, the others only read */
    const sp_walk *walk; /**< SP_GENERATE */
    double divisor;      /**< SP_MEAN: of the sums; the length for means, 1 for sums */
    double
        *mean; /**< [count] SP_MEAN writes, SP_DEVIATION reads; sums and quotients are formed in the precision
                              of x, but that compensated sums keep their correction until the quotient */
    sp_spread *spread; /**< [count] SP_DEVIATION writes */
    void *work;        /**< of work_bytes() */
    int threads;       /**< OpenMP threads of a CPU kernel */
    int block;         /**< threads of a CUDA block, a multiple of 32 up to 1024; 0: the kernel's choice */
} sp_series_launch;

/** A block of numerators, c := a b^T: element (i, j) is the sum over the values of a's row i times b's row j. Column
 *  j of c is consecutive, as BLAS has it. */
typedef struct sp_dots {
    const void *a, *b; /**< [rows x length], [cols x length], row-major, `ld` elements between rows */
    int64_t rows, cols, length, ld;
    spmm_precision precision;
    void *c;      /**< element (i, j) at c[j * rows + i] */
    int triangle; /**< 1: a is b: of c only i <= j is asked for, the rest may be anything */
    int threads;
} sp_dots;

/** What a kernel's file defines: sp_series_ID. On a GPU it is queued and not waited for. */
typedef struct sp_series_ops {
    spmm_status (*run)(const sp_series_launch *launch); /**< all steps but SP_PEARSON */
    spmm_status (*dots)(const sp_dots *dots);           /**< SP_PEARSON */
    /** Bytes of workspace, zeroed before the first run; what a run leaves there the next one finds. NULL: none */
    int64_t (*work_bytes)(const sp_series *x, int block);
    const char *missing; /**< why this build cannot run it; NULL: it can */
} sp_series_ops;

typedef struct sp_series_kernel {
    const char *id;
    spmm_device device;
    sp_step step;
    sp_series_order layout;
    const char *what;
    const sp_series_ops *ops;
} sp_series_kernel;

#define SERIES(id, device, step, layout, what) extern const sp_series_ops sp_series_##id;
#include "kernels/series/series.def"
#undef SERIES

/** The registry, in the order of series.def. A kernel that this build lacks is listed, too, and fails with
 *  SPMM_ERR_NO_DEVICE. */
const sp_series_kernel *sp_series_kernels(int *count);

/** The kernel of that name, or NULL. */
const sp_series_kernel *sp_series_find(const char *id);

/** The first one listed for that step, device and layout that this build has; NULL if there is none. */
const sp_series_kernel *sp_series_default(sp_step step, spmm_device device, sp_series_order layout);

/* ---- what there is one way of, on either device ---- */

/** z's row m := (x's series m - centre) * 2^-exponent, |.| < 2, zeros for a constant series. x is series-major, z
 *  [count x length], zeroed padding; in the memory of x. spread: [count], there, too. On a GPU: queued. */
spmm_status sp_series_centre(const sp_series *x, const sp_spread *spread, spmm_multivector *z, int threads);

/** to := the same series in the other layout. Memory as from's. On a GPU: queued. */
spmm_status sp_series_transpose(const sp_series *from, sp_series *to, int threads);

enum { SP_BINS = 4096 };

/** The bin of a coefficient: equal parts of [-1, 1]. */
SP_BOTH static inline int sp_bin(double r)
{
    const int bin = (int)((r + 1) * 0.5 * SP_BINS);
    return bin < 0 ? 0 : bin < SP_BINS ? bin : SP_BINS - 1;
}

/** A block of coefficients: numerators in c as sp_dots leaves them, made coefficients in place, and looked at. */
typedef struct sp_tile {
    void *c; /**< element (i, j) at c[j * rows + i]: of series first_row + i and first_col + j */
    int64_t rows, cols, first_row, first_col;
    spmm_precision precision;
    spmm_device space; /**< of the memory of all of these */
    int triangle;      /**< 1: only i < j are pairs */
    const double *wrow,
        *wcol; /**< [rows], [cols]: 1 / deviation; 0 of a constant series, which is no pair's */
    int threads;
} sp_tile;

/** Pairs are elements (0 .. that - 1, j) of the tile; below them, in a triangle, may be anything. */
SP_BOTH static inline int64_t sp_tile_pairs(const sp_tile *tile, int64_t j)
{
    return tile->triangle && j < tile->rows ? j : tile->rows;
}

/** One pair. */
typedef struct sp_pair {
    double r;
    int64_t i, j; /**< numbers of series, i < j */
} sp_pair;

/** Pairs are named by their lower number first. */
SP_BOTH static inline sp_pair sp_pair_of(double r, int64_t i, int64_t j)
{
    const sp_pair pair = {r, i < j ? i : j, i < j ? j : i};
    return pair;
}

/** What is known of the coefficients so far, in the memory of the device that has them: */
typedef struct sp_histogram {
    int64_t pairs;
    double low, high; /**< 2 and -2 without pairs */
    int64_t bin[SP_BINS];
} sp_histogram;

/** A tally without pairs, in the memory of that device. The caller destroys it by sp_histogram_destroy(). */
spmm_status sp_histogram_create(spmm_device space, sp_histogram **tally);
void sp_histogram_destroy(spmm_device space, sp_histogram *tally);

/** Without pairs again. On a GPU: complete on return. */
spmm_status sp_histogram_clear(spmm_device space, sp_histogram *tally);

/** To host memory, from that of the device; behind all that was queued. */
spmm_status sp_histogram_read(spmm_device space, const sp_histogram *from, sp_histogram *to);

/** Both in host memory. */
void sp_histogram_add(sp_histogram *to, const sp_histogram *from);

/** Makes coefficients of a tile's numerators, within [-1, 1], and adds them to *tally. Those of constant series become
 *  NaN. On a GPU: queued. */
spmm_status sp_tile_tally(const sp_tile *tile, sp_histogram *tally);

/** Pairs of a tile (of coefficients) with a coefficient of `low` or less, or of `high` or more.
 *
 *  \param [out] pair   [room], in no order; memory of the host
 *  \param [out] found  how many there are, which may be more than room: then as many of them are in pair
 *  Complete on return. \return SPMM_OK, SPMM_ERR_MEMORY, _DEVICE */
spmm_status sp_tile_find(const sp_tile *tile, double low, double high, sp_pair *pair, int64_t room,
                         int64_t *found);

/** sum[k] := the sum over z's rows m of weight[m] z[m][k], in f64 and in the same order for any number of threads.
 *  weight: [rows], in the memory of z; sum: [z->k], host memory. Complete on return. */
spmm_status sp_series_combine(const spmm_multivector *z, const double *weight, double *sum, int threads);

/** dot[m] := the sum over k of z[m][k] sum[k], in f64. sum [z->k] and dot [rows] in host memory. Complete on return. */
spmm_status sp_series_project(const spmm_multivector *z, const double *sum, double *dot, int threads);

/* ---- the two devices' own ---- */

void sp_cpu_centre(const sp_series *x, const sp_spread *spread, spmm_multivector *z, int threads);
spmm_status sp_cuda_centre(const sp_series *x, const sp_spread *spread, spmm_multivector *z);
spmm_status sp_cuda_transpose(const sp_series *from, sp_series *to);
spmm_status sp_cuda_tally(const sp_tile *tile, sp_histogram *tally);
spmm_status sp_cuda_find(const sp_tile *tile, double low, double high, sp_pair *pair, int64_t room,
                         int64_t *found);
spmm_status sp_cuda_combine(const spmm_multivector *z, const double *weight, double *sum);
spmm_status sp_cuda_project(const spmm_multivector *z, const double *sum, double *dot);

#endif
