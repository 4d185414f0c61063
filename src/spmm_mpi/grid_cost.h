/** The cost model: predicts the time of a product on a P x Q process grid of a machine, from exact counts of what each
 *  rank computes and communicates. It chooses the grid of --grid auto and predicts for --dry-run --machine. Runs on
 *  rank 0 only. No MPI.
 *
 *  A rank takes, one after another,
 *    kernel    the bytes of its block's DRAM bound (dram_bound.h) / the rate of the kernel (kernel_rate.h),
 *    exchange  a latency for each message it receives or sends, whichever are more, plus the bytes / the rate, inside
 *              its node and between nodes apart; the ranks of a node share the rate between nodes, and what
 *              several of them need, or add, crosses once (sp_crossing). Rows that are
 *              packed are copied at the copy rate before, but not between GPUs of a node. The share `overlap` of all but the
 *              latencies passes while the longest run of interior rows is computed, as far as it lasts, or on GPUs while
 *              column blocks are, if more passes then,
 *    reduce    for each step of a tree over the process row a latency, a partial Y / the rate, and its addition,
 *    barrier   log2 of the ranks latencies: what times of products are measured between.
 *  The product takes as long as the rank for which the sum is greatest. Not in the model: contention
 *  in a network, and waiting for a neighbour that is late. Latencies and rates are those of the LogGP family of models
 *  (Alexandrov et al., SPAA 1995), with the gap per message left out. */
#ifndef SP_SPMM_MPI_GRID_COST_H
#define SP_SPMM_MPI_GRID_COST_H

#include <stdio.h>

#include "cli/machine.h"
#include "distribute/scatter.h"
#include "partition/comm_volume.h"
#include "partition/partition.h"

/** What predictions of products have in common. */
typedef struct sp_cost_model {
    const sp_machine *machine; /**< sp_machine_unknown() for a machine of which only ratios are assumed */
    double
        kernel_rate; /**< bytes of the DRAM bound that a rank multiplies per second while its node is busy */
    spmm_exchange exchange; /**< SPMM_EXCHANGE_AUTO: the one that takes the least time */
    int joint;              /**< 1: the joint exchange is counted, and is one of these */
    int64_t k;              /**< columns of X */
    int threads;            /**< OpenMP threads that count */
} sp_cost_model;

/** Predicted times of the slowest rank in seconds; `total` is the sum of the others. */
typedef struct sp_product_time {
    double kernel;
    double exchange; /**< what prolongs the product: without what passes while the rank computes */
    double reduce, barrier, total;
} sp_product_time;

/** Cost of one product on a p x q process grid. The numbers of rows and entries are exact. */
typedef struct sp_grid_cost {
    int p, q;
    sp_rank_count most; /**< maximum over the ranks, separately for each member */
    int64_t received;   /**< number of rows of X that all ranks together receive in a halo exchange */
    int64_t joint;      /**< number of rows that they receive in the joint exchange; -1: not counted */
    double moved; /**< bytes that a rank receives in a product, maximum over the ranks: ghost rows of X and,
                             in a tree reduction, partial Y */
    double held;  /**< bytes that a rank stores, maximum over the ranks: block of A, renumbered copy of the
                             column indices of A, X with ghost rows, Y, and rows of X packed for sending */
    sp_product_time time;   /**< of the exchange below */
    spmm_exchange exchange; /**< the exchange of the least time, or the one that the model names */
} sp_grid_cost;

/** Returns a machine that stands for any: a copy of a byte takes a unit of time and a received byte 8, which is about
 *  the ratio of a GPU's memory bandwidth to NVLink's, and of a socket's to InfiniBand's; latencies are 0. Times are in
 *  that unit. Static storage. */
const sp_machine *sp_machine_unknown(void);

/** Determines the row blocks and column blocks (balanced by entries, or of equal size with SP_PARTITION_ROWS)
 *  and the owners of the rows of X. With SP_PARTITION_GRAPH the caller has set ranges->row_begin, and the row
 *  blocks stay as they are.
 *
 *  Local.
 *  \param [in,out] ranges  created by the caller for a P x Q grid
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_grid_cost_ranges(const spmm_csr *a, sp_partition partition, int threads, sp_ranges *ranges);

/** Counts what a product costs on the grid of `ranges`, and predicts its time.
 *
 *  Local.
 *  \param [out] counts  [P*Q] what each rank holds, sends and receives; may be NULL
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT, _USAGE; see sp_comm_volume() for the reasons */
spmm_status sp_grid_cost_count(const spmm_csr *a, const sp_ranges *ranges, const sp_cost_model *model,
                               sp_rank_count *counts, sp_grid_cost *cost);

/** Predicts the time once more, by another model, from what has been counted: sets cost->time and cost->exchange.
 *
 *  Local.
 *  \param [in] counts  [P*Q] of sp_grid_cost_count()
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_grid_cost_predict(const spmm_csr *a, const sp_ranges *ranges, const sp_cost_model *model,
                                 const sp_rank_count *counts, sp_grid_cost *cost);

/** Finds the p x q grid of the least time among all grids with p*q = ranks. If several grids have the least
 *  time, takes the one with the smallest q. Without a table, grids that cannot be faster than one found before,
 *  whatever their counts, are not counted.
 *
 *  Local.
 *  \param [in]     partition  SP_PARTITION_GRAPH is approximated by SP_PARTITION_NNZ
 *  \param [in]     table      file to print one line per grid to; NULL: nothing is printed
 *  \param [in,out] best       cost of the best grid; the caller sets it to that of the ranks x 1 grid, or to
 *                             zeros
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT */
spmm_status sp_grid_cost_best(const spmm_csr *a, sp_partition partition, int ranks,
                              const sp_cost_model *model, FILE *table, sp_grid_cost *best);

/** Returns the bytes that the kernel of a rank moves at least: the DRAM bound of its block. Local. */
double sp_rank_bytes(const sp_rank_count *count, spmm_precision precision, int64_t k);

/** Prints the column headings of the cost table for products with k columns.
 *  \param [in] timed  1: the table has the columns of predicted times and of the exchange */
void sp_grid_cost_head(FILE *out, int64_t k, int timed);

/** Prints one line of the cost table: the cost of one grid. \param [in] timed  as for the heading */
void sp_grid_cost_line(FILE *out, const spmm_csr *a, const sp_grid_cost *cost, int timed);

/** Prints a table with one line per rank of a p x q grid. \param [in] counts  [p*q], from
 *  sp_grid_cost_count() */
void sp_grid_cost_ranks(FILE *out, const sp_rank_count *counts, int p, int q);

#endif
