/** What a matrix costs on a P x Q process grid, counted from its pattern on rank 0, to choose a grid. No MPI. */
#ifndef SP_SPMM_MPI_GRID_COST_H
#define SP_SPMM_MPI_GRID_COST_H

#include <stdio.h>

#include "distribute/comm_volume.h"
#include "distribute/partition.h"
#include "distribute/scatter.h"

/** What a product with K columns costs on a grid. Rows and entries are counted exactly. */
typedef struct sp_grid_cost {
    int p, q;
    sp_rank_count most; /**< maximum over the ranks, field by field */
    int64_t received;   /**< rows of X that are received, over all ranks */
    double moved; /**< most bytes that a rank receives in a product: ghost rows of X, and the partial Y of a
                             tree reduction */
    double held;  /**< most bytes that a rank holds: its block, a second array of column indices (renumbered),
                             X with its ghost rows, Y, and the rows of X that it packs */
    double cost;  /**< maximum over the ranks of the bytes that its memory moves plus 8 times those that it
                             receives */
} sp_grid_cost;

/** Determines row and column blocks, balanced by entries or of equal size, and the owners of the rows of X. With
 *  SP_PARTITION_GRAPH the row blocks are those that ranges->row_begin holds already.
 *
 *  Local.
 *  \param [in,out] ranges  created for P x Q
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_grid_cost_ranges(const spmm_csr *a, sp_partition partition, int threads, sp_ranges *ranges);

/** Counts the cost of a product with k columns on the grid of `ranges`.
 *
 *  Local.
 *  \param [out] counts  [P*Q], what each rank holds and moves; may be NULL
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT, _USAGE (as sp_comm_volume()) */
spmm_status sp_grid_cost_count(const spmm_csr *a, const sp_ranges *ranges, int64_t k, int threads,
                               sp_rank_count *counts, sp_grid_cost *cost);

/** Finds the p x q grid of least cost among all with p*q = ranks; of equal ones, the one with the fewest columns q.
 *
 *  Local.
 *  \param [in] partition  SP_PARTITION_GRAPH is approximated by SP_PARTITION_NNZ
 *  \param [in] table      gets a line per candidate; NULL: nothing is printed
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT */
spmm_status sp_grid_cost_best(const spmm_csr *a, sp_partition partition, int ranks, int64_t k, int threads,
                              FILE *table, int *p, int *q);

/** Prints the head of the table of costs for K = k. */
void sp_grid_cost_head(FILE *out, int64_t k);

/** Prints one grid's line of that table, with a remark at its end ("": none). */
void sp_grid_cost_line(FILE *out, const spmm_csr *a, const sp_grid_cost *cost, const char *remark);

/** Prints a table of counts [p*q] with one line per rank. */
void sp_grid_cost_ranks(FILE *out, const sp_rank_count *counts, int p, int q);

#endif
