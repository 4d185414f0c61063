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
    int steps; /**< own series, then R/2 other ranks' */
    spmm_transport transport;
    spmm_multivector z; /**< centred series, with room for others' before and behind */
    sp_halo *halo;      /**< [steps], from 1 */
    sp_exchange **exchange;
    int64_t edge; /**< of a tile */
    void *tile;   /**< [edge * edge] */
    sp_histogram *tally;
    sp_spread *host_spread;
    double *host_weight, *weight; /**< [all series]; the latter where the tiles are */
};

/** What a collecting pass has found so far on this rank; pearson_collect.c has it. */
typedef struct sp_pearson_collection sp_pearson_collection;

spmm_status sp_pearson_run(sp_pearson *p, const sp_spread *spread, sp_pearson_collection *collect,
                           double *centre);

/** Looks at a tile of coefficients. Local; complete on return. */
spmm_status sp_pearson_look(sp_pearson *p, const sp_tile *tile, sp_pearson_collection *collect);

#endif
