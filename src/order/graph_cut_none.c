/** Replaces graph_cut_metis.c in builds without METIS: every call fails with a message that names METIS. */
#include "order/graph_cut.h"

spmm_status sp_graph_ready(void)
{
    return sp_fail(SPMM_ERR_USAGE,
                   "this build was made without METIS, which partitions graphs: install libmetis-dev (or "
                   "load METIS; CFLAGS=-I, LDFLAGS=-L) and run make METIS=1");
}

spmm_status sp_graph_cut(const sp_graph *g, int parts, int32_t *part)
{
    (void)g, (void)parts, (void)part;
    return sp_graph_ready();
}
