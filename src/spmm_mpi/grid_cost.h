/** Estimates what a product costs on a P x Q process grid, to choose a grid; runs on rank 0 only. No MPI. */
#ifndef SP_SPMM_MPI_GRID_COST_H
#define SP_SPMM_MPI_GRID_COST_H

#include <stdio.h>

#include "distribute/comm_volume.h"
#include "distribute/partition.h"
#include "distribute/scatter.h"

/** Cost of one product on a p x q process grid. The numbers of rows and entries are exact. */
typedef struct sp_grid_cost {
    int p, q;
    sp_rank_count most; /**< maximum over the ranks, separately for each member */
    int64_t received;   /**< number of rows of X that all ranks together receive */
    double moved; /**< bytes that a rank receives in a product, maximum over the ranks: ghost rows of X and,
                             in a tree reduction, partial Y */
    double held;  /**< bytes that a rank stores, maximum over the ranks: block of A, renumbered copy of the
                             column indices of A, X with ghost rows, Y, and rows of X packed for sending */
    double cost;  /**< bytes moved in local memory + 8 * bytes received, maximum over the ranks */
} sp_grid_cost;

/** Determines the row blocks and column blocks (balanced by entries, or of equal size with SP_PARTITION_ROWS)
 *  and the owners of the rows of X. With SP_PARTITION_GRAPH the caller has set ranges->row_begin, and the row
 *  blocks stay as they are.
 *
 *  Local.
 *  \param [in,out] ranges  created by the caller for a P x Q grid
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_grid_cost_ranges(const spmm_csr *a, sp_partition partition, int threads, sp_ranges *ranges);

/** Computes what a product with k columns costs on the grid of `ranges`.
 *
 *  Local.
 *  \param [out] counts  [P*Q] what each rank holds, sends and receives; may be NULL
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT, _USAGE; see sp_comm_volume() for the reasons */
spmm_status sp_grid_cost_count(const spmm_csr *a, const sp_ranges *ranges, int64_t k, int threads,
                               sp_rank_count *counts, sp_grid_cost *cost);

/** Finds the p x q grid of least cost among all grids with p*q = ranks. If several grids have the least cost,
 *  takes the one with the smallest q.
 *
 *  Local.
 *  \param [in] partition  SP_PARTITION_GRAPH is approximated by SP_PARTITION_NNZ
 *  \param [in] table      file to print one line per grid to; NULL: nothing is printed
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT */
spmm_status sp_grid_cost_best(const spmm_csr *a, sp_partition partition, int ranks, int64_t k, int threads,
                              FILE *table, int *p, int *q);

/** Prints the column headings of the cost table for products with k columns. */
void sp_grid_cost_head(FILE *out, int64_t k);

/** Prints one line of the cost table: the cost of one grid, followed by `remark`, which may be "". */
void sp_grid_cost_line(FILE *out, const spmm_csr *a, const sp_grid_cost *cost, const char *remark);

/** Prints a table with one line per rank of a p x q grid. \param [in] counts  [p*q], from
 *  sp_grid_cost_count() */
void sp_grid_cost_ranks(FILE *out, const sp_rank_count *counts, int p, int q);

#endif
