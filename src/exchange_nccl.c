/* Rows of a GPU's X by NCCL: a group of sends and receives beside the kernels, in a stream of its own. */
#include "device.h"
#include "exchange_ways.h"
#include "sp_nccl.h"

static spmm_status connect(sp_exchange *x)
{
    const sp_nccl *nccl;
    TRY(sp_nccl_of(x->grid, SP_ALONG_COLUMN, &nccl));
    x->state = (void *)(uintptr_t)nccl; /* the grid's */
    return SPMM_OK;
}

static spmm_status group(const sp_exchange *x, void *stream)
{
    const sp_nccl *const nccl = x->state;
    for (int i = 0; i < x->ins; i++)
        TRY(sp_nccl_recv(nccl, x->in[i].peer, x->base + x->in[i].at, x->in[i].bytes, stream));
    for (int i = 0; i < x->outs; i++)
        TRY(sp_nccl_send(nccl, x->out[i].peer, sp_message_data(x, &x->out[i]), x->out[i].bytes, stream));
    return SPMM_OK;
}

static spmm_status begin(sp_exchange *x)
{
    TRY(sp_device_after(SP_QUEUE_MOVE, SP_QUEUE_MAIN));
    TRY(sp_exchange_pack(x));
    if (x->ins + x->outs == 0) return SPMM_OK;
    TRY(sp_nccl_begin());
    const spmm_status status = group(x, sp_device_queue(SP_QUEUE_MOVE));
    const spmm_status ended = sp_nccl_end(); /* also after an error: the group must not stay open */
    return status != SPMM_OK ? status : ended;
}

static spmm_status end(sp_exchange *x)
{
    (void)x;
    return sp_device_after(SP_QUEUE_MAIN, SP_QUEUE_MOVE);
}

static void forget(sp_exchange *x) { x->state = NULL; }

const sp_way sp_way_nccl = {begin, end, NULL, forget, connect};
