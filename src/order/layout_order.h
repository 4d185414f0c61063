/** Cuts a matrix into parts and orders its rows, by a layout of its graph in space. Needs no library. */
#ifndef SP_LAYOUT_ORDER_H
#define SP_LAYOUT_ORDER_H

#include "base/status.h"

/** Cuts the rows of a square matrix into parts by planes through a layout of its graph (order/row_layout.h):
 *  the set of rows is halved by a plane across its longest side, and the halves are halved in turn (recursive
 *  coordinate bisection; Berger and Bokhari: IEEE Trans. Computers C-36(5), 1987). The rows of a part are in
 *  the order of a Hilbert curve through the layout, so that rows near one another share columns. In a mesh of
 *  n points, a cut separates about n^(1/2) rows in two dimensions and n^(2/3) in three. If clusters of rows
 *  share few columns, as in a random graph, the order of the clusters is cut. Rows and columns with many more
 *  entries than most, and part of the columns of dense matrices, are left out of the layout.
 *
 *  If this process has opened a GPU, that GPU makes the layout of a matrix of 100,000 rows or more, if it has
 *  the memory. Parts are then cut along the curve, not by planes, and random graphs also get a layout. So the
 *  order differs from the order that the host computes; it is the same on each run.
 *
 *  Local. Takes time proportional to the number of entries. Temporary memory: about 100 bytes per row and 4
 *  per entry, 8 if entries are left out; on a GPU about 150 bytes per row and 4 per entry.
 *  \param [in]  a         square, with fewer than 2^31 rows; column indices in any order; its values are
 *                         not read
 *  \param [in]  parts     >= 1, possibly more than there are rows; the parts have about the same number of
 *                         rows plus entries
 *  \param [in]  together  >= 1: `together` consecutive parts are kept together for as long as possible,
 *                         because rows that they exchange cost less
 *  \param [in]  threads   OpenMP threads, >= 1; the result does not depend on the number of threads
 *  \param [out] order     [rows] order[i] is the row at position i; the rows of a part are consecutive
 *  \param [out] part      [rows] the part of each row
 *  \return SPMM_OK, SPMM_ERR_USAGE (not square, parts < 1), SPMM_ERR_MEMORY */
spmm_status sp_layout_order(const spmm_csr *a, int parts, int together, int threads, int32_t *order,
                            int32_t *part);

/** Estimates the seconds that sp_layout_order() and the renumbering of the matrix take. Local. */
double sp_layout_seconds(const spmm_csr *a, int threads);

#endif
