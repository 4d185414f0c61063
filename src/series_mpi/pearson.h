/** Pearson's coefficient of every pair of series that are spread over the ranks: numerators block by block, each made
 *  coefficients and looked at while it is there. The whole matrix never is, unless it is asked for.
 *
 *  Of R ranks, each multiplies its series with themselves and with those of the R/2 ranks that follow it, so that every
 *  pair of ranks meets once, on one of the two; where R is even, the two of a pair that is R/2 apart take half of it
 *  each. While a rank multiplies with one's series, those of the next arrive: there is room for two. */
#ifndef SP_SERIES_MPI_PEARSON_H
#define SP_SERIES_MPI_PEARSON_H

#include "comm/grid.h"
#include "kernels/series/series.h"

typedef struct sp_pearson sp_pearson;

/** What is looked for in a pass of its own, beside the histogram. */
typedef struct sp_pearson_wanted {
    int64_t count;         /**< of series whose coefficients among each other are wanted */
    const int64_t *series; /**< [count], their numbers, increasing; the same on every rank */
    int top;               /**< so many pairs of the greatest and of the least coefficients */
} sp_pearson_wanted;

/** What all ranks found. Arrays are rank 0's only, NULL elsewhere. */
typedef struct sp_pearson_result {
    sp_histogram tally;          /**< all ranks' */
    int64_t constant;            /**< series that have no coefficient */
    sp_pair *most, *least;       /**< [most_count], [least_count], best first; equals by their numbers */
    int most_count, least_count; /**< `top`, or as many pairs as there are */
    double *mean; /**< [all series]: of a series' coefficients with all others; NaN where there is none */
    spmm_multivector
        coefficients; /**< [count x count] of the wanted series, f64: 1 on the diagonal, 0 in a constant
                                        one's row and column */
} sp_pearson_result;

/** Makes room and exchanges, so that a pass allocates nothing.
 *
 *  Collective over grid->comm, R x 1.
 *  \param [in]  series  this rank's, series-major; must outlive the object
 *  \param [in]  begin   first series of each rank, [R + 1]
 *  \param [in]  kernel  of step SP_PEARSON
 *  \param [out] pearson the caller destroys it
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _DEVICE, _MPI, _NO_DEVICE */
spmm_status sp_pearson_create(const sp_grid *grid, const sp_series *series, const int64_t *begin,
                              const sp_series_kernel *kernel, int threads, sp_pearson **pearson);

/** Collective; accepts NULL on all ranks. */
void sp_pearson_destroy(sp_pearson *pearson);

/** One pass: centred copies of the series, numerators, coefficients, their histogram.
 *
 *  Collective. \param [in] spread  this rank's, [series->count], in the memory of the series
 *  \param [out] centre  seconds that this rank took for centred copies and all ranks' deviations; may be NULL
 *  \return the same status on every rank */
spmm_status sp_pearson_pass(sp_pearson *pearson, const sp_spread *spread, double *centre);

/** A pass like that which also collects what is wanted.
 *
 *  Collective. \param [out] result  the caller destroys it, also after a failure */
spmm_status sp_pearson_collect(sp_pearson *pearson, const sp_spread *spread, const sp_pearson_wanted *wanted,
                               sp_pearson_result *result);
void sp_pearson_result_destroy(sp_pearson_result *result);

/** Bytes of series that a rank receives in a pass, at most; the transport they come by, "none" on one rank. */
int64_t sp_pearson_received(const sp_pearson *pearson);
const char *sp_pearson_transport(const sp_pearson *pearson);

#endif
