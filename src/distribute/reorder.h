/** Rows renumbered so that blocks of them share few columns: the graph of the pattern, cut by METIS. */
#ifndef SP_REORDER_H
#define SP_REORDER_H

#include "base/status.h"

/** Whether this build can cut graphs: to be asked before a large matrix is read.
 *  \return SPMM_OK, or SPMM_ERR_USAGE with a message that says how to get a build that can */
spmm_status sp_graph_ready(void);

/** Renumbers rows and columns of a square matrix alike, so that `parts` blocks of consecutive new rows have
 *  about the same number of entries and refer little to one another's rows of X.
 *
 *  The graph is the pattern of A + A^T without the diagonal; a row weighs its entries and one. Within a part the
 *  rows come in this order, and as they were before among their like: those that concern no other part, those
 *  that others need, those that others need and that need others, those that only need others. So the rows
 *  without a halo are consecutive (the first two kinds), those that are sent are (the middle two), and a row
 *  with a neighbour in another part comes last. The same on every run; parts may be empty.
 *
 *  Local. One part is all rows as they are, with and without METIS.
 *  \param [in]  a         square; its values are not looked at
 *  \param [in]  parts     >= 1, also more than there are rows
 *  \param [out] perm      new position of old row i, [rows]; sp_csr_permute() applies it
 *  \param [out] begin     boundaries of the parts among the new rows, [parts + 1]
 *  \param [out] edge_cut  edges of the graph between parts (may be NULL)
 *  \return SPMM_OK, SPMM_ERR_USAGE (not square; a build without METIS), SPMM_ERR_LIMIT (more than METIS's
 *          integers count), SPMM_ERR_MEMORY */
spmm_status sp_graph_partition(const spmm_csr *a, int parts, int64_t *perm, int64_t *begin,
                               int64_t *edge_cut);

#endif
