/** Pearson's correlation coefficient of every pair of series, for series that are distributed over the ranks.
 *  The numerators are computed in tiles (blocks of the matrix of all pairs). Each tile is turned into
 *  coefficients and examined before the next tile overwrites it. The matrix of all coefficients is stored
 *  only on request.
 *
 *  Each of the R ranks multiplies its series with themselves and with the series of the R/2 ranks (rounded
 *  down) that follow it cyclically, so that every pair of ranks is processed by one of the two. If R is even,
 *  two ranks that are R/2 apart receive each other's series, and each of them computes half of the pairs of
 *  their series. While a rank multiplies its series with those of one rank, it receives the series of the
 *  next rank. So it has two receive buffers. */
#ifndef SP_SERIES_MPI_PEARSON_H
#define SP_SERIES_MPI_PEARSON_H

#include "comm/grid.h"
#include "kernels/series/series.h"

typedef struct sp_pearson sp_pearson;

/** Parts of a pass that are timed. On a GPU, a part is timed by GPU timers, except for gathering the
 *  deviations, which the host times. */
typedef enum sp_pearson_part {
    SP_CENTER,       /**< gathering the deviations of all ranks, and making centered copies */
    SP_NUMERATORS,   /**< products of the centered series */
    SP_COEFFICIENTS, /**< divisions by the deviations, and the histogram */
    SP_PEARSON_PARTS
} sp_pearson_part;

/** [SP_PEARSON_PARTS] names of the parts: "centre", "numerators", "coefficients". */
extern const char *const sp_pearson_part_words[];

/** What sp_pearson_collect() is to find in addition to the histogram. */
typedef struct sp_pearson_wanted {
    int64_t count;         /**< number of wanted series: their coefficients with each other are collected */
    const int64_t *series; /**< [count] global numbers of the wanted series, increasing; equal on all ranks */
    int top;               /**< how many pairs with the greatest coefficients to find, and how many with the
                                least */
} sp_pearson_wanted;

/** What sp_pearson_collect() found on all ranks. Rank 0 owns all arrays; they are NULL on the other ranks. */
typedef struct sp_pearson_result {
    sp_histogram histogram;      /**< histogram of the coefficients of all ranks; complete on rank 0 only */
    int64_t constant;            /**< number of constant series, which have no coefficients */
    sp_pair *most, *least;       /**< most: [most_count] pairs with the greatest coefficients, greatest first;
                                      least: [least_count] pairs with the least, least first; equal
                                      coefficients are ordered by the numbers of the series */
    int most_count, least_count; /**< `top` of sp_pearson_wanted, or the total number of pairs if that is
                                      less */
    double *mean; /**< [total number of series] mean of each series' coefficients with all other series; NaN
                       if the series has no coefficients */
    spmm_multivector coefficients; /**< [count x count] coefficients of the wanted series with each other,
                                        f64; 1 on the diagonal, 0 in the row and column of a constant
                                        series */
} sp_pearson_result;

/** Allocates the buffers and sets up the exchanges between ranks for passes over the series.
 *
 *  Collective over grid->comm; the grid must have one column.
 *  \param [in]  series  series of this rank, series-major; must outlive the new object
 *  \param [in]  begin   [number of ranks + 1] number of the first series of each rank; must outlive the new
 *                       object
 *  \param [in]  kernel  a kernel for step SP_PEARSON
 *  \param [in]  threads OpenMP threads of this rank
 *  \param [out] pearson the new object; the caller frees it with sp_pearson_destroy()
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _DEVICE, _MPI, _NO_DEVICE */
spmm_status sp_pearson_create(const sp_grid *grid, const sp_series *series, const int64_t *begin,
                              const sp_series_kernel *kernel, int threads, sp_pearson **pearson);

/** Frees the object. Accepts NULL if all ranks pass NULL. Collective over the object's grid. */
void sp_pearson_destroy(sp_pearson *pearson);

/** Runs one pass: makes centered copies of the series, then computes numerators, coefficients and the
 *  histogram of the coefficients. All work is complete on return.
 *
 *  Collective over the object's grid.
 *  \param [in]  spread  [series->count] deviations of this rank's series, in the same memory as the series
 *  \param [out] seconds [SP_PEARSON_PARTS] seconds that each part took on this rank. Waiting for series of
 *                       other ranks is in none of them. May be NULL
 *  \return the same status on every rank */
spmm_status sp_pearson_pass(sp_pearson *pearson, const sp_spread *spread, double *seconds);

/** Runs a pass as sp_pearson_pass() does, and collects the pairs and coefficients that `wanted` describes.
 *
 *  Collective over the object's grid.
 *  \param [out] result  the caller frees it with sp_pearson_result_destroy(), also after an error
 *  \return the same status on every rank */
spmm_status sp_pearson_collect(sp_pearson *pearson, const sp_spread *spread, const sp_pearson_wanted *wanted,
                               sp_pearson_result *result);

/** Frees the arrays of a result; accepts NULL and a zeroed result. Local. */
void sp_pearson_result_destroy(sp_pearson_result *result);

/** Returns how many bytes of other ranks' series this rank receives in one pass. Local. */
int64_t sp_pearson_received(const sp_pearson *pearson);

/** Returns the name of the transport that moves series between ranks; "none" on a single rank. Local. */
const char *sp_pearson_transport(const sp_pearson *pearson);

#endif
