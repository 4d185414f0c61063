/** What pearson.c and pearson_collect.c share. */
#ifndef SP_SERIES_MPI_PEARSON_INTERNAL_H
#define SP_SERIES_MPI_PEARSON_INTERNAL_H

#include "plan/exchange.h"
#include "series_mpi/pearson.h"

struct sp_pearson {
    const sp_grid *grid;
    const sp_series *series;
    const int64_t *begin;
    const sp_series_kernel *kernel;
    int threads;
    spmm_device space;
    int steps; /**< 1 for the own series, and R/2 for other ranks' */
    spmm_transport transport;
    spmm_multivector z; /**< centered series; its ghost rows before and after receive other ranks' */
    sp_halo *halo;      /**< [steps], element 0 unused */
    sp_exchange **exchange;
    int64_t edge; /**< rows and columns of a tile */
    void *tile;   /**< [edge * edge] */
    sp_histogram *histogram;
    sp_spread *host_spread;
    double *host_weight, *weight; /**< [all series], 1 / deviation; on the host, and where the tiles are */
};

/** What a collecting pass has found so far on this rank; pearson_collect.c defines it. */
typedef struct sp_pearson_collection sp_pearson_collection;

/** Runs a pass, as sp_pearson_pass() does; every tile is also passed to sp_pearson_look() unless collect is NULL.
 *  Collective over the grid. \return the same status on every rank */
spmm_status sp_pearson_run(sp_pearson *p, const sp_spread *spread, sp_pearson_collection *collect,
                           double *centre);

/** Collects what is wanted from a tile of coefficients. Complete on return. Local.
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _DEVICE */
spmm_status sp_pearson_look(sp_pearson *p, const sp_tile *tile, sp_pearson_collection *collect);

#endif
