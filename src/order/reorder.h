/** Reorders the rows of a matrix so that row blocks share few columns, by partitioning the graph of its
 *  pattern. */
#ifndef SP_REORDER_H
#define SP_REORDER_H

#include "base/status.h"

/** Checks that this build can partition graphs. Call it before reading a large matrix, to fail early. Local.
 *  \return SPMM_OK, or SPMM_ERR_USAGE with a message that says how to build with METIS */
spmm_status sp_graph_ready(void);

/** Computes a symmetric permutation of a square matrix such that `parts` blocks of consecutive new rows have
 *  about the same number of entries and need few of one another's rows of X.
 *
 *  The graph is the pattern of A + A^T without the diagonal; the weight of a row is its number of entries
 *  plus one. Within a part the rows are sorted by kind in this order, and within each kind they have the
 *  given order:
 *      1. rows that need no other part and that no other part needs
 *      2. rows that other parts need
 *      3. rows that other parts need and that need other parts themselves
 *      4. rows that only need other parts
 *  (Row i needs another part if it has an entry in a column which that part owns.) Thus the interior rows
 *  (kinds 1 and 2), the boundary rows (3 and 4) and the rows to send (2 and 3) are each contiguous. The
 *  outcome is the same on every run; parts may be empty.
 *
 *  Local. With one part all rows keep their positions, even in a build without METIS.
 *  \param [in]  a         square; its values are not read
 *  \param [in]  parts     >= 1, possibly more than there are rows
 *  \param [in]  order     [rows] a permutation of the rows: order[i] is the row at position i; NULL: the old
 *                         order
 *  \param [in]  threads   OpenMP threads, >= 1; METIS itself uses one. The result is the same for any number
 *  \param [out] perm      [rows], new position of old row i; sp_csr_permute() applies the permutation
 *  \param [out] begin     [parts + 1], boundaries of the parts among the new rows
 *  \param [out] edge_cut  number of edges of the graph between parts (may be NULL)
 *  \return SPMM_OK, SPMM_ERR_USAGE (not square, or a build without METIS), SPMM_ERR_LIMIT (too large for
 *          METIS's integers), SPMM_ERR_MEMORY, SPMM_ERR_INTERNAL (METIS failed) */
spmm_status sp_graph_partition(const spmm_csr *a, int parts, const int32_t *order, int threads, int64_t *perm,
                               int64_t *begin, int64_t *edge_cut);

/** Computes a symmetric permutation from a partition of the rows: sorts them by part, and within a part by
 *  kind, as sp_graph_partition() does.
 *
 *  Local.
 *  \param [in]  part   [rows] the part of each row, from 0 to parts - 1
 *  \param [in]  order, threads  as for sp_graph_partition(); order [rows] may be NULL
 *  \param [out] perm   [rows], new position of old row i
 *  \param [out] begin  [parts + 1], boundaries of the parts among the new rows
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_order_parts(const spmm_csr *a, int parts, const int32_t *part, const int32_t *order,
                           int threads, int64_t *perm, int64_t *begin);

#endif
