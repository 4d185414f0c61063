/** Pearson's coefficient of every pair of series that are distributed over the ranks. Numerators are computed tile by
 *  tile; each tile is turned into coefficients and examined before the next one replaces it. The whole matrix is
 *  never stored, unless it is asked for.
 *
 *  Each of the R ranks multiplies its series with themselves and with those of the R/2 ranks that follow it, so that
 *  every pair of ranks meets once, on one of the two; where R is even, two ranks that are R/2 apart compute half of
 *  their pairs each. While a rank multiplies with one rank's series, the next rank's arrive: there are two receive
 *  buffers. */
#ifndef SP_SERIES_MPI_PEARSON_H
#define SP_SERIES_MPI_PEARSON_H

#include "comm/grid.h"
#include "kernels/series/series.h"

typedef struct sp_pearson sp_pearson;

/** What a collecting pass looks for, in addition to the histogram. */
typedef struct sp_pearson_wanted {
    int64_t count;         /**< number of series whose coefficients with each other are wanted */
    const int64_t *series; /**< [count], their global numbers, increasing; the same on every rank */
    int top;               /**< number of pairs wanted at either end: greatest and least coefficients */
} sp_pearson_wanted;

/** What all ranks found. Arrays are on rank 0 only, NULL elsewhere. */
typedef struct sp_pearson_result {
    sp_histogram histogram;      /**< over all ranks; complete on rank 0 only */
    int64_t constant;            /**< number of constant series, which have no coefficients */
    sp_pair *most, *least;       /**< [most_count], [least_count], best first; ties by the series' numbers */
    int most_count, least_count; /**< `top`, or as many pairs as there are */
    double *mean; /**< [all series], mean of a series' coefficients with all others; NaN if it has none */
    spmm_multivector coefficients; /**< [count x count] of the wanted series, f64: 1 on the diagonal; 0 in the
                                        row and column of a constant series */
} sp_pearson_result;

/** Allocates buffers and exchanges for passes over the series.
 *
 *  Collective over grid->comm, R x 1.
 *  \param [in]  series  this rank's, series-major; must outlive the object
 *  \param [in]  begin   first series of each rank, [R + 1]; must outlive the object
 *  \param [in]  kernel  of step SP_PEARSON
 *  \param [in]  threads OpenMP threads of this rank
 *  \param [out] pearson the caller destroys it
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _DEVICE, _MPI, _NO_DEVICE */
spmm_status sp_pearson_create(const sp_grid *grid, const sp_series *series, const int64_t *begin,
                              const sp_series_kernel *kernel, int threads, sp_pearson **pearson);

/** Frees the object; accepts NULL, on all ranks. Collective over the grid. */
void sp_pearson_destroy(sp_pearson *pearson);

/** Runs one pass: centered copies of the series, numerators, coefficients, their histogram. Complete on return.
 *
 *  Collective over the grid.
 *  \param [in]  spread  this rank's, [series->count], in the memory of the series
 *  \param [out] centre  seconds that this rank spent on gathering all ranks' deviations and on centered copies;
 *                       may be NULL
 *  \return the same status on every rank */
spmm_status sp_pearson_pass(sp_pearson *pearson, const sp_spread *spread, double *centre);

/** Runs a pass that also collects what is wanted.
 *
 *  Collective over the grid.
 *  \param [out] result  the caller destroys it, also after a failure
 *  \return the same status on every rank */
spmm_status sp_pearson_collect(sp_pearson *pearson, const sp_spread *spread, const sp_pearson_wanted *wanted,
                               sp_pearson_result *result);

/** Frees the arrays; accepts NULL and zeroed objects. Local. */
void sp_pearson_result_destroy(sp_pearson_result *result);

/** Returns the bytes of series that this rank receives in a pass. Local. */
int64_t sp_pearson_received(const sp_pearson *pearson);

/** Returns the transport by which the series arrive, "none" on a single rank. Local. */
const char *sp_pearson_transport(const sp_pearson *pearson);

#endif
