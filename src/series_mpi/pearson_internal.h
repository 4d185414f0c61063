/** Declarations shared by pearson.c and pearson_collect.c. */
#ifndef SP_SERIES_MPI_PEARSON_INTERNAL_H
#define SP_SERIES_MPI_PEARSON_INTERNAL_H

#include "exchange/exchange.h"
#include "series_mpi/part_clock.h"
#include "series_mpi/pearson.h"

struct sp_pearson {
    const sp_grid *grid;
    MPI_Comm ring; /**< the ranks of the grid; in step d each receives from the rank d places further on */
    const sp_series *series;
    const int64_t *begin;
    const sp_series_kernel *kernel;
    int threads;
    spmm_device space;
    int steps; /**< number of steps in a pass: one for the owned series, and on R ranks R/2 (rounded down)
                    more for series of other ranks */
    spmm_transport transport;
    spmm_multivector z; /**< centered series of this rank; the ghost rows are two receive buffers for series
                             of other ranks */
    sp_moves *moves;    /**< [steps] rows that each step sends and receives; moves[0] is unused */
    sp_exchange **exchange;
    int64_t edge; /**< maximum number of rows, and of columns, in a tile */
    void *tile;   /**< [edge * edge] memory of the current tile: numerators, then coefficients */
    sp_histogram *histogram;
    sp_part_clock clock; /**< times of the parts of the current pass */
    sp_spread *host_spread;
    double *host_weight, *weight; /**< [total number of series] 1 / deviation of each series, 0 if it is
                                       constant; host_weight: in host memory; weight: in GPU memory if the
                                       tiles are there, else the same array as host_weight */
};

/** What sp_pearson_collect() has found so far on this rank; the struct is defined in pearson_collect.c. */
typedef struct sp_pearson_collection sp_pearson_collection;

/** The function that a pass calls for each tile after computing the coefficients of the tile. */
typedef struct sp_tile_visitor {
    spmm_status (*look)(sp_pearson *p, const sp_tile *tile, sp_pearson_collection *collect); /**< or NULL */
    sp_pearson_collection *collect;
} sp_tile_visitor;

/** Runs a pass as sp_pearson_pass() does, and calls the visitor for every tile. Collective over p->grid.
 *  \return the same status on every rank */
spmm_status sp_pearson_run(sp_pearson *p, const sp_spread *spread, const sp_tile_visitor *visitor,
                           double *seconds);

#endif
