/** Where the blocks of a matrix go, and what that costs: rank 0's part of the partition. No MPI. */
#ifndef SP_SPMM_MPI_GRID_COST_H
#define SP_SPMM_MPI_GRID_COST_H

#include <stdio.h>

#include "distribute/comm_volume.h"
#include "distribute/partition.h"
#include "distribute/scatter.h"

/** What a product with K columns would cost on a grid, exactly counted. */
typedef struct sp_grid_cost {
    int p, q;
    sp_rank_count most; /**< of any rank, field by field */
    int64_t received;   /**< rows of X, all ranks together */
    double moved;       /**< bytes that a rank receives in a product, at most: X, and partial Y of a tree */
    double held; /**< bytes that a rank holds at most: its block with columns renumbered, X with its halo, Y,
                             and what it packs */
    double cost; /**< bytes that the slowest rank's memory moves, and 8 times those that it receives */
} sp_grid_cost;

/** Row and column blocks by entries or even, and the owners of X. Of SP_PARTITION_GRAPH, row_begin is as it is.
 *  \param [in,out] ranges  created for P x Q \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_grid_cost_ranges(const spmm_csr *a, sp_partition partition, int threads, sp_ranges *ranges);

/** \param [out] counts  [P*Q], may be NULL \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT */
spmm_status sp_grid_cost_count(const spmm_csr *a, const sp_ranges *ranges, int64_t k, int threads,
                               sp_rank_count *counts, sp_grid_cost *cost);

/** The grid of the least cost among all with p*q = ranks.
 *  \param [in] table  the candidates are printed there; NULL: not
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT */
spmm_status sp_grid_cost_best(const spmm_csr *a, sp_partition partition, int ranks, int64_t k, int threads,
                              FILE *table, int *p, int *q);

/** A line of the table of costs, and its head. */
void sp_grid_cost_head(FILE *out, int64_t k);
void sp_grid_cost_line(FILE *out, const spmm_csr *a, const sp_grid_cost *cost, const char *remark);

/** A line a rank. */
void sp_grid_cost_ranks(FILE *out, const sp_rank_count *counts, int p, int q);

#endif
