/** Counts the communication and work of a distribution over P x Q processes, from the sparsity pattern of
 *  the whole matrix on one process before anything is sent. Pure functions. */
#ifndef SP_COMM_VOLUME_H
#define SP_COMM_VOLUME_H

#include "base/status.h"

/** The communication of a rank in the joint exchange (halo/joint.h): rows of X and partial rows of Y. */
typedef struct sp_joint_count {
    int64_t received, sent;         /**< numbers of rows */
    int64_t far_received, far_sent; /**< rows among these that come from other nodes, or are sent to other
                                         nodes */
    int64_t partial;                /**< number of partial rows of Y among the received rows */
    int receives_from, sends_to;    /**< number of ranks */
    int far_from, far_to;           /**< of these, those on other nodes */
} sp_joint_count;

/** Work and communication of one rank. A row of X or Y is a row of the multivector: K values. */
typedef struct sp_rank_count {
    int64_t rows;          /**< rows of the rank's block of A; the same in the whole process row */
    int64_t nnz;           /**< entries of the rank's block of A */
    int64_t x_rows;        /**< rows of X that the rank owns */
    int64_t halo_rows;     /**< rows of X that the rank's block needs and other ranks own, so that the rank
                                receives them */
    int64_t sent_rows;     /**< rows of X that the rank sends, counted once per receiving rank */
    int64_t partial_rows;  /**< rows of Y summed over the process row: equal to `rows`, or 0 if Q == 1 */
    int64_t boundary_rows; /**< rows of the block that need a row of X from another rank */
    int64_t interior_run;  /**< maximum number of consecutive rows of the block that need no row of X from
                                another rank */
    int64_t packed_rows;   /**< number of sent rows that must be packed, because the rows for a rank are not
                                consecutive */
    /* far_*: the part of the communication that crosses between nodes, as sp_crossing counts it */
    int64_t far_rows;     /**< rows among halo_rows that come from other nodes */
    int64_t far_sent;     /**< rows among sent_rows that are sent to other nodes */
    int receives_from;    /**< number of ranks that send rows of X to this rank */
    int sends_to;         /**< number of ranks that receive rows of X from this rank */
    int far_from;         /**< of receives_from, ranks on other nodes */
    int far_to;           /**< of sends_to, ranks on other nodes */
    sp_joint_count joint; /**< zeroed unless sp_joint_volume() has set it */
} sp_rank_count;

/** The placement of ranks on nodes, and how a row that several ranks of a node need is counted. */
typedef struct sp_crossing {
    int per_node; /**< number of ranks per node, >= 1: rank r is on node r / per_node */
    /** 0: each rank receives rows for itself. 1: a row of X that several ranks of a node need crosses between
     *  nodes once; the first of these ranks counts as its receiver (halo/node_rows.h) */
    int x_once;
} sp_crossing;

/** Counts the work and the communication of every rank.
 *
 *  Rank r = p*Q + q stores the entries of rows [row_begin[p], row_begin[p+1]) and columns [col_begin[q],
 *  col_begin[q+1]); rank (p, q) owns rows [x_begin[q*(P+1) + p], x_begin[q*(P+1) + p+1]) of X. The rows of X
 *  of column block q thus belong to the P ranks of process column q, and the halo exchange takes place within
 *  each process column.
 *
 *  Local. Memory, for each of min(threads, P) threads: 4 bytes per column (8 with crossing.x_once), 28 bytes
 *  per rank, and 8 per process column.
 *  \param [in]  a          the whole matrix; its values are not read
 *  \param [in]  row_begin  [P + 1], from 0 to a->rows
 *  \param [in]  col_begin  [Q + 1], from 0 to a->cols
 *  \param [in]  x_begin    [Q * (P + 1)], global rows of X as sp_x_ranges() computes them: the ranges of
 *                          column block q go from col_begin[q] to col_begin[q+1]
 *  \param [in]  threads    OpenMP threads, >= 1, among which the process rows are divided; the process rows
 *                          of a node go to one thread. The counts do not depend on the number of threads
 *  \param [out] counts     [P * Q]
 *  \return SPMM_OK, SPMM_ERR_USAGE (boundaries that do not cover the matrix in order), _LIMIT, _MEMORY */
spmm_status sp_comm_volume(const spmm_csr *a, int P, int Q, const int64_t *row_begin,
                           const int64_t *col_begin, const int64_t *x_begin, sp_crossing crossing,
                           int threads, sp_rank_count *counts);

/** A stencil on a grid of N^2 or N^3 points, numbered along x first. Its pattern need not be in memory. */
typedef struct sp_stencil {
    int64_t side;   /**< N; 0: the matrix is not of a stencil */
    int dimensions; /**< 2 or 3 */
    int star;       /**< 1: a point and its neighbors along the axes, 0: diagonal neighbors, too */
} sp_stencil;

/** Returns the number of entries before a row of a stencil or, as its pattern is symmetric, before a column.
 *  Local. \param [in] stencil  an sp_stencil, for sp_partition_starts() */
int64_t sp_stencil_start(const void *stencil, int64_t row);

/** Counts as sp_comm_volume() does, without crossing.x_once, from intervals of rows and columns. Trusts the
 *  boundaries. Local. \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_stencil_volume(const sp_stencil *stencil, int P, int Q, const int64_t *row_begin,
                              const int64_t *col_begin, const int64_t *x_begin, int per_node, int threads,
                              sp_rank_count *counts);

/** Counts the rows of X that parts of a renumbered square matrix need from one another, without renumbering
 *  it. Parts are ranks or, if rows cross between nodes only once, nodes. Local. Takes one pass over the
 *  column indices, by all threads. Memory: 1 bit per column, and 4 bytes per row if perm is not NULL.
 *  \param [in]  a         square, column indices in any order; its values are not read
 *  \param [in]  perm      [rows] new number of each row; NULL: the rows are not renumbered
 *  \param [in]  begin     [parts + 1] boundaries of the parts among the new rows, from 0 to a->rows
 *  \param [out] received  [parts] number of rows of X that a part needs and other parts own
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_cut_volume(const spmm_csr *a, int parts, const int64_t *perm, const int64_t *begin,
                          int threads, int64_t *received);

/** Counts for every rank its communication in the joint exchange. Parameters and status as for
 *  sp_comm_volume(), except for the last parameter.
 *
 *  Local. Computes a matching for each pair of ranks that exchange rows, as sp_joint_cover_create() does.
 *  Memory: that of sp_joint_cover_create() for one rank at a time, and 1 byte per row of X that the rank
 *  needs from others; with crossing.x_once, 4 more per column of A.
 *  \param [in,out] counts  [P * Q]; the member `joint` of each is set */
spmm_status sp_joint_volume(const spmm_csr *a, int P, int Q, const int64_t *row_begin, const int64_t *x_begin,
                            sp_crossing crossing, int threads, sp_rank_count *counts);

#endif
