/** Orders the rows of a matrix by the levels of breadth-first searches, and cuts that order into parts. Does
 *  not need METIS. */
#ifndef SP_LEVEL_ORDER_H
#define SP_LEVEL_ORDER_H

#include "base/status.h"

/** Orders the rows of a square matrix as Cuthill and McKee do (Reducing the bandwidth of sparse symmetric
 *  matrices, 1969), without sorting by degree: by breadth-first search of each connected component of the
 *  pattern of A + A^T from a peripheral vertex (George and Liu: ACM Trans. Math. Software 5(3), 1979). An
 *  edge joins rows of the same level or of consecutive levels. The edges across a cut between consecutive
 *  rows therefore involve about as many rows as a level has: about n^(1/2) rows in a two-dimensional mesh of
 *  n points, n^(2/3) in a three-dimensional one.
 *
 *  Local. Takes time proportional to the number of entries. Memory: 4 bytes per row; if the pattern is not
 *  symmetric, 16 more per row and 12 per entry.
 *  \param [in]  a        square, column indices in any order; its values are not read
 *  \param [in]  threads  OpenMP threads, >= 1; the order does not depend on the number of threads
 *  \param [out] order    [rows] order[i] is the row at position i
 *  \return SPMM_OK, SPMM_ERR_USAGE (not square), SPMM_ERR_MEMORY */
spmm_status sp_level_order(const spmm_csr *a, int threads, int32_t *order);

/** Computes a symmetric permutation of a square matrix from an order of its rows: cuts the order into parts
 *  with about the same number of entries, and sorts the rows of each part by kind as sp_graph_partition()
 *  does.
 *
 *  Local.
 *  \param [in]  a      square; its values are not read
 *  \param [in]  parts  >= 1, possibly more than there are rows
 *  \param [in]  order  [rows] a permutation of the rows, from sp_level_order()
 *  \param [out] perm   [rows], new position of old row i
 *  \param [out] begin  [parts + 1], boundaries of the parts among the new rows
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_order_partition(const spmm_csr *a, int parts, const int32_t *order, int64_t *perm,
                               int64_t *begin);

#endif
