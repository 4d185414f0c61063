/** A minimum vertex cover of a bipartite graph. Pure functions. */
#ifndef SP_VERTEX_COVER_H
#define SP_VERTEX_COVER_H

#include "base/status.h"

/** A bipartite graph of rows and columns: row i has edges to the columns col[start[i]] to col[start[i + 1] -
 *  1]. */
typedef struct sp_bipartite {
    int32_t rows, cols;
    const int64_t *start; /**< [rows + 1], need not begin at 0 */
    const int32_t *col;   /**< numbers of columns, 0 to cols - 1 */
} sp_bipartite;

/** Finds a smallest set of rows and columns such that each edge has its row or its column in the set. The set
 *  is derived from a maximum matching, which has as many edges as the set has members (D. Koenig, "Graphok es
 *  matrixok", Matematikai es Fizikai Lapok 38, 1931); the matching is computed with the algorithm of Hopcroft
 *  and Karp ("An n^5/2 algorithm for maximum matchings in bipartite graphs", SIAM Journal on Computing 2,
 *  1973). The result depends only on the graph. Among all smallest sets, the result has the most rows.
 *
 *  Local. Time: at most of the order of edges * sqrt(rows + cols). Memory: 20 bytes per row and 4 bytes per
 *  column.
 *  \param [out] row_in  [rows] 1 if the row is in the set, else 0
 *  \param [out] col_in  [cols] likewise
 *  \param [out] size    number of members
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_vertex_cover(const sp_bipartite *graph, unsigned char *row_in, unsigned char *col_in,
                            int64_t *size);

#endif
