/** Exchange backends that pass the memory of X to MPI: host memory, or GPU memory if MPI is CUDA-aware. */
#include "device/device.h"
#include "exchange/exchange_backend.h"

static spmm_status send_all(sp_exchange *x)
{
    for (int i = 0; i < x->outs; i++) {
        const sp_message *const m = &x->out[i];
        TRY(SP_MPI(MPI_Isend(sp_message_data(x, m), (int)m->bytes, MPI_BYTE, m->peer, SP_TAG_ROWS, x->comm,
                             &x->request[x->ins + i])));
    }
    return SPMM_OK;
}

static spmm_status exchange_direct_begin(sp_exchange *x)
{
    /* MPI does not respect CUDA streams, and kernels queued before may still access the ghost rows */
    spmm_status status = x->space == SPMM_CUDA ? sp_stream_sync(SP_STREAM_MOVE) : SPMM_OK;
    for (int i = 0; i < x->ins; i++)
        TRY(SP_MPI(MPI_Irecv(sp_message_place(x, &x->in[i]), (int)x->in[i].bytes, MPI_BYTE, x->in[i].peer,
                             SP_TAG_ROWS, x->comm, &x->request[i])));
    if (status == SPMM_OK) status = sp_exchange_pack(x);
    if (status != SPMM_OK) {
        sp_exchange_give_up(x);
        return status;
    }
    /* on a GPU the packing is only queued here; exchange_direct_end() waits for it and then sends the rows */
    return x->space == SPMM_CPU ? send_all(x) : SPMM_OK;
}

static spmm_status exchange_direct_end(sp_exchange *x)
{
    if (x->space == SPMM_CUDA) {
        const spmm_status packed = sp_stream_sync(SP_STREAM_MOVE);
        if (packed != SPMM_OK) {
            sp_exchange_give_up(x);
            return packed;
        }
        TRY(send_all(x));
    }
    TRY(SP_MPI(MPI_Waitall(x->ins + x->outs, x->request, x->status)));
    for (int i = 0; i < x->ins; i++) TRY(sp_exchange_check(x, &x->status[i], &x->in[i]));
    TRY(sp_exchange_widen(x, SP_STREAM_MOVE));
    return x->space == SPMM_CUDA && x->options.rounded ? sp_stream_wait(SP_STREAM_MAIN, SP_STREAM_MOVE)
                                                       : SPMM_OK;
}

static const char *not_cuda_aware(void)
{
    return sp_mpi_takes_device_memory() ? NULL : "the MPI library does not report support for GPU memory";
}

const sp_exchange_ops sp_exchange_direct = {
    .begin = exchange_direct_begin, .end = exchange_direct_end, .by_mpi = 1};
const sp_exchange_ops sp_exchange_cuda_aware = {
    .begin = exchange_direct_begin, .end = exchange_direct_end, .missing = not_cuda_aware, .by_mpi = 1};
