/** Implements nccl.h in builds without NCCL: every operation fails. */
#include "comm/nccl.h"

const char *sp_nccl_missing(void) { return "this build was made without NCCL"; }

static spmm_status refuse(void) { return sp_fail(SPMM_ERR_USAGE, "%s", sp_nccl_missing()); }

spmm_status sp_nccl_of(const sp_grid *grid, sp_along along, const sp_nccl **nccl)
{
    (void)grid, (void)along;
    *nccl = NULL;
    return refuse();
}

spmm_status sp_nccl_begin(void) { return refuse(); }

spmm_status sp_nccl_send(const sp_nccl *nccl, int to, const void *data, int64_t bytes, void *stream)
{
    (void)nccl, (void)to, (void)data, (void)bytes, (void)stream;
    return refuse();
}

spmm_status sp_nccl_recv(const sp_nccl *nccl, int from, void *data, int64_t bytes, void *stream)
{
    (void)nccl, (void)from, (void)data, (void)bytes, (void)stream;
    return refuse();
}

spmm_status sp_nccl_end(void) { return refuse(); }

spmm_status sp_nccl_sum(const sp_nccl *nccl, void *y, int64_t elements, spmm_precision precision,
                        void *stream)
{
    (void)nccl, (void)y, (void)elements, (void)precision, (void)stream;
    return refuse();
}
