/** Exchange backend for NCCL: queues a group of sends and receives in SP_STREAM_MOVE, concurrently with
 *  kernels in SP_STREAM_MAIN. */
#include <string.h>

#include "base/memory.h"
#include "comm/nccl.h"
#include "device/device.h"
#include "exchange/exchange_backend.h"

static spmm_status exchange_nccl_connect(sp_exchange *x)
{
    const sp_nccl *nccl;
    TRY(sp_nccl_of(x->grid, SP_ALONG_COLUMN, &nccl));
    x->state = (void *)(uintptr_t)nccl; /* x->grid owns and frees the NCCL communicator */
    return SPMM_OK;
}

static spmm_status group(const sp_exchange *x, void *stream)
{
    const sp_nccl *const nccl = x->state;
    for (int i = 0; i < x->ins; i++)
        TRY(sp_nccl_recv(nccl, x->in[i].peer, sp_message_place(x, &x->in[i]), x->in[i].bytes, stream));
    for (int i = 0; i < x->outs; i++)
        TRY(sp_nccl_send(nccl, x->out[i].peer, sp_message_data(x, &x->out[i]), x->out[i].bytes, stream));
    return SPMM_OK;
}

/** Returns the size in bytes of the longest message in the list. */
static int64_t longest(const sp_message *list, int count)
{
    int64_t most = 0;
    for (int i = 0; i < count; i++)
        if (list[i].bytes > most) most = list[i].bytes;
    return most;
}

static spmm_status skip_with(const sp_exchange *x, void *drop, const void *nan)
{
    const sp_nccl *const nccl = x->state;
    void *const stream = sp_device_stream(SP_STREAM_MOVE);
    spmm_status status = SPMM_OK;
    TRY(sp_nccl_begin());
    for (int i = 0; i < x->ins && status == SPMM_OK; i++)
        status = sp_nccl_recv(nccl, x->in[i].peer, drop, x->in[i].bytes, stream);
    for (int i = 0; i < x->outs && status == SPMM_OK; i++)
        status = sp_nccl_send(nccl, x->out[i].peer, nan, x->out[i].bytes, stream);
    TRY(sp_nccl_end());
    return status == SPMM_OK ? sp_stream_sync(SP_STREAM_MOVE) : status;
}

/** Sends NaNs to the neighbors, and discards the rows that they send. NaNs must be sent because a neighbor's
 *  NCCL receive waits for all its bytes, and NCCL cannot notify it that this rank failed. */
static void exchange_nccl_skip(sp_exchange *x)
{
    const int64_t in = longest(x->in, x->ins), out = longest(x->out, x->outs);
    void *host = NULL, *nan = NULL, *drop = NULL;
    spmm_status status = SPMM_OK;
    if (x->ins + x->outs == 0) return;
    TRY_GOTO(sp_alloc(&host, out, 1, "NaNs to send"), done);
    memset(host, 0xff, (size_t)out);
    TRY_GOTO(sp_device_alloc_exchanged(&nan, out, "NaNs to send"), done);
    TRY_GOTO(sp_device_alloc_exchanged(&drop, in, "rows to drop"), done);
    TRY_GOTO(sp_device_upload(nan, host, out), done);
    TRY_GOTO(skip_with(x, drop, nan), done);
done:
    sp_free(host);
    sp_device_free(nan);
    sp_device_free(drop);
    if (status != SPMM_OK) sp_abandon(x->grid->comm, status); /* otherwise the neighbors would wait forever */
}

/** Queues packing and NCCL's group, and makes SP_STREAM_MAIN wait for them. There is no `begin`, because
 *  starting a group keeps the host busy for about 10 microseconds, and the kernels of the interior rows
 *  should not wait for that. */
static spmm_status exchange_nccl_end(sp_exchange *x)
{
    const spmm_status packed = sp_exchange_pack(x);
    if (packed != SPMM_OK) exchange_nccl_skip(x);
    TRY(packed);
    if (x->ins + x->outs > 0) {
        TRY(sp_nccl_begin());
        const spmm_status status = group(x, sp_device_stream(SP_STREAM_MOVE));
        const spmm_status ended = sp_nccl_end(); /* the NCCL group must be closed even after an error */
        TRY(status);
        TRY(ended);
    }
    TRY(sp_exchange_widen(x, SP_STREAM_MOVE));
    return sp_stream_wait(SP_STREAM_MAIN, SP_STREAM_MOVE);
}

static void forget(sp_exchange *x) { x->state = NULL; }

const sp_exchange_ops sp_exchange_nccl = {.end = exchange_nccl_end,
                                          .destroy = forget,
                                          .connect = exchange_nccl_connect,
                                          .skip = exchange_nccl_skip,
                                          .missing = sp_nccl_missing,
                                          .by_mpi = 1,
                                          .queues = 1,
                                          .skip_waits = 1};
