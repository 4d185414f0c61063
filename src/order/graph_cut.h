/** Interface to the graph partitioner. The build links graph_cut_metis.c, which calls METIS, or
 *  graph_cut_none.c, whose functions only report that METIS is missing. */
#ifndef SP_GRAPH_CUT_H
#define SP_GRAPH_CUT_H

#include "order/reorder.h"

/** An undirected graph without self-loops; each edge is stored in both directions. */
typedef struct sp_graph {
    int64_t vertices;
    int64_t *start;    /**< index in `neighbor` of each vertex's first neighbor, [vertices + 1] */
    int32_t *neighbor; /**< neighbors of all vertices, in increasing order for each vertex */
    const int64_t
        *row_start; /**< row starts of A (borrowed); vertex v has weight row_start[v+1] - row_start[v] + 1 */
} sp_graph;

/** Assigns each vertex to a part, so that the parts have about the same weight and few edges run between
 *  parts. Local.
 *
 *  \param [in]  parts  >= 2
 *  \param [out] part   [vertices], from 0 to parts - 1; a part may be empty
 *  \return SPMM_OK, SPMM_ERR_USAGE (a build without METIS), SPMM_ERR_LIMIT (too large for METIS's integers),
 *          SPMM_ERR_MEMORY, SPMM_ERR_INTERNAL (METIS failed) */
spmm_status sp_graph_cut(const sp_graph *g, int parts, int32_t *part);

#endif
