/** The cost of a product on a P x Q process grid: exact counts of the work and communication of each rank,
 *  and the model with which --grid auto compares grids. Runs on rank 0 only. Without MPI.
 *
 *  The unit of cost is the copy of a byte. A received byte costs 8 units, which is about the ratio of a GPU's
 *  memory bandwidth to NVLink's, and of a socket's to InfiniBand's. The cost of a rank is the sum of: the
 *  bytes of its block's DRAM bound (dram_bound.h); the bytes that it receives or sends, whichever are more;
 *  the bytes that it packs; and, for each step of a tree over the process row, a partial Y and its addition.
 *  The cost of a grid is that of its most expensive rank. Latencies are not included. */
#ifndef SP_SPMM_MPI_GRID_COST_H
#define SP_SPMM_MPI_GRID_COST_H

#include <stdio.h>

#include "distribute/scatter.h"
#include "order/comm_volume.h"
#include "order/partition.h"

/** Parameters of the cost of grids. */
typedef struct sp_cost_model {
    spmm_exchange exchange; /**< SPMM_EXCHANGE_AUTO: the exchange with the least cost */
    int joint;              /**< 1: the joint exchange is counted, and is one of the candidates */
    int64_t k;              /**< columns of X */
    int threads;            /**< OpenMP threads for counting */
    int per_node;           /**< ranks per node, for the communication between nodes; 0: there is one node */
    spmm_device device;     /**< the device on which the ranks multiply */
    sp_stencil stencil;     /**< the pattern, if A has only sizes; else its side is 0 */
} sp_cost_model;

/** Returns how often a row of X that several ranks of a node need is counted between nodes. On CPUs it is
 *  counted once, because ranks of a node read each other's rows. Local. */
sp_crossing sp_crossing_of(const sp_cost_model *model);

/** Cost of one product on a p x q process grid. The numbers of rows and entries are exact. */
typedef struct sp_grid_cost {
    int p, q;
    sp_rank_count most; /**< maximum over the ranks, separately for each member */
    int64_t received;   /**< number of rows of X that all ranks receive in a halo exchange */
    int64_t joint;      /**< number of rows that all ranks receive in the joint exchange; -1: not counted */
    double moved; /**< bytes that a rank receives in a product, maximum over the ranks: ghost rows of X and,
                       in a tree reduction, partial Y */
    double held;  /**< bytes that a rank stores, maximum over the ranks: block of A, renumbered copy of the
                       column indices of A, X with ghost rows, Y, and rows of X packed for sending */
    double cost;  /**< cost of the most expensive rank in the model, in copied bytes */
} sp_grid_cost;

/** Determines, by model->stencil and model->threads, the row blocks and column blocks (balanced by entries,
 *  or of equal size with SP_PARTITION_ROWS) and the owners of the rows of X. If the partition renumbers the
 *  rows, the caller has set ranges->row_begin, and the row blocks are not changed. SP_PARTITION_AUTO means
 *  SP_PARTITION_NNZ here.
 *
 *  Local.
 *  \param [in,out] ranges  created by the caller for a P x Q grid
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_grid_cost_ranges(const spmm_csr *a, sp_partition partition, const sp_cost_model *model,
                                sp_ranges *ranges);

/** Counts the cost of a product on the grid of `ranges`.
 *
 *  Local.
 *  \param [out] counts  [P*Q] the blocks and the communication of each rank; may be NULL
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT, _USAGE; see sp_comm_volume() for the reasons */
spmm_status sp_grid_cost_count(const spmm_csr *a, const sp_ranges *ranges, const sp_cost_model *model,
                               sp_rank_count *counts, sp_grid_cost *cost);

/** Finds the p x q grid with the least cost among all grids with p*q = ranks. If several grids have the least
 *  cost, selects the grid with the smallest q. Without a table, a grid is skipped if a lower bound of its
 *  cost exceeds the best cost found so far.
 *
 *  Local.
 *  \param [in]     partition  partitions that renumber the rows are approximated by SP_PARTITION_NNZ
 *  \param [in]     table      file to print one line per grid to; NULL: nothing is printed
 *  \param [in,out] best       cost of the best grid; on entry the cost of the ranks x 1 grid, or zeros
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT */
spmm_status sp_grid_cost_best(const spmm_csr *a, sp_partition partition, int ranks,
                              const sp_cost_model *model, FILE *table, sp_grid_cost *best);

/** Prints the column headings of the cost table for products with k columns. */
void sp_grid_cost_head(FILE *out, int64_t k);

/** Prints one line of the cost table: the cost of one grid. */
void sp_grid_cost_line(FILE *out, const spmm_csr *a, const sp_grid_cost *cost);

/** Prints a table with one line per rank of a p x q grid. \param [in] counts  [p*q], from
 *  sp_grid_cost_count() */
void sp_grid_cost_ranks(FILE *out, const sp_rank_count *counts, int p, int q);

#endif
