/** What cuts a graph: METIS in graph_metis.c, or nothing in graph_none.c; the build links one of them. */
#ifndef SP_GRAPH_CUT_H
#define SP_GRAPH_CUT_H

#include "distribute/reorder.h"

/** An undirected graph without loops: both directions of an edge are there. */
typedef struct sp_graph {
    int64_t vertices;
    int64_t *start;     /**< of a vertex's neighbours, [vertices + 1] */
    int32_t *neighbour; /**< increasing within a vertex */
    const int64_t
        *row_start; /**< of the matrix: vertex v weighs row_start[v+1] - row_start[v] + 1; borrowed */
} sp_graph;

/** part[v] becomes a number of 0 .. parts-1; parts >= 2.
 *  \return SPMM_OK, SPMM_ERR_USAGE (no METIS), SPMM_ERR_LIMIT, SPMM_ERR_MEMORY, SPMM_ERR_INTERNAL */
spmm_status sp_graph_cut(const sp_graph *g, int parts, int32_t *part);

#endif
