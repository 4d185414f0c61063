/** Implements nccl.h in builds without NCCL: every operation fails. */
#include "comm/nccl.h"

#include "base/refuse.h"

const char *sp_nccl_missing(void) { return "this build was made without NCCL"; }

static spmm_status refuse(void) { return sp_fail(SPMM_ERR_USAGE, "%s", sp_nccl_missing()); }

REFUSE_EMPTY(sp_nccl_of, *nccl = NULL, const sp_grid *grid, sp_along along, const sp_nccl **nccl)
REFUSE(sp_nccl_begin, void)
REFUSE(sp_nccl_send, const sp_nccl *nccl, int to, const void *data, int64_t bytes, void *stream)
REFUSE(sp_nccl_recv, const sp_nccl *nccl, int from, void *data, int64_t bytes, void *stream)
REFUSE(sp_nccl_end, void)
REFUSE(sp_nccl_sum, const sp_nccl *nccl, void *y, int64_t elements, spmm_precision precision, void *stream)
