/** Renumbers the columns of a block. */
#include "halo/local_block.h"

#include "base/memory.h"
#include "order/column_set.h"

spmm_status sp_local_block_number(const spmm_csr *a, int64_t cols, const sp_column_numbers *c, int threads,
                                  sp_local_block *local)
{
    local->csr = *a;
    local->csr.cols = cols;
    if (!c) return SPMM_OK;
    TRY(sp_alloc((void **)&local->csr.ja, a->nnz, sizeof *a->ja, "local column indices"));
    local->renumbered = 1;
    const int64_t from = c->from, to = c->to, low = sp_set_before(c->set, c->before, from);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t e = 0; e < a->nnz; e++) {
        const int64_t j = a->ja[e];
        const int inside = j >= from && j < to;
        const int64_t number = inside ? low + j - from
                                      : sp_set_before(c->set, c->before, j) + (j < from ? 0 : to - from);
        local->csr.ja[e] = (int32_t)number;
    }
    return SPMM_OK;
}

void sp_local_block_destroy(sp_local_block *local)
{
    if (local->renumbered) sp_free(local->csr.ja);
    *local = (sp_local_block){.csr = {0}};
}
