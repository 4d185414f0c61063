/** Exchange backend that sends rows of an X in GPU memory with MPI from staging buffers in pinned host
 *  memory.
 *
 *  With SPMM_TRANSPORT_MPI there is one message per neighbor (more if it exceeds sp_chunk_bytes()). With
 *  SPMM_TRANSPORT_STAGED the messages are smaller, so that one is copied to the host while another is
 *  sent. */
#include "base/memory.h"
#include "device/device.h"
#include "exchange/exchange_backend.h"

typedef struct staging {
    char *in, *out; /* staging buffers in pinned host memory; in: received rows; out: rows to send */
    int events;
    sp_event **event; /* [events] one per outgoing message, recorded after the message has been copied to the
                   host */
    sp_event *placed; /* recorded after the copies of the received messages to the GPU */
} staging;

static int64_t bytes_of(const sp_message *list, int count)
{
    int64_t sum = 0;
    for (int i = 0; i < count; i++) sum += list[i].bytes;
    return sum;
}

static void exchange_staged_destroy(sp_exchange *x)
{
    staging *const m = x->state;
    if (!m) return;
    for (int i = 0; m->event && i < m->events; i++) sp_event_destroy(m->event[i]);
    sp_event_destroy(m->placed);
    sp_device_host_free(m->in);
    sp_device_host_free(m->out);
    sp_free(m->event);
    sp_free(m);
    x->state = NULL;
}

static spmm_status exchange_staged_create(sp_exchange *x)
{
    staging *m;
    TRY(sp_alloc_zero((void **)&m, 1, sizeof *m, "an exchange"));
    x->state = m;
    TRY(sp_device_host_alloc((void **)&m->in, bytes_of(x->in, x->ins), "rows to receive"));
    TRY(sp_device_host_alloc((void **)&m->out, bytes_of(x->out, x->outs), "rows to send"));
    m->events = x->outs;
    TRY(sp_alloc_zero((void **)&m->event, x->outs, sizeof(sp_event *), "marks"));
    for (int i = 0; i < x->outs; i++) TRY(sp_event_create(&m->event[i]));
    return sp_event_create(&m->placed);
}

/** Queues copies of all outgoing messages from GPU memory to the staging buffer. */
static spmm_status exchange_staged_fetch(sp_exchange *x)
{
    staging *const m = x->state;
    TRY(sp_exchange_pack(x));
    for (int i = 0; i < x->outs; i++) {
        TRY(sp_stream_copy(m->out + x->out[i].stage, sp_message_data(x, &x->out[i]), x->out[i].bytes,
                           SP_STREAM_MOVE));
        TRY(sp_event_record(m->event[i], SP_STREAM_MOVE));
    }
    return SPMM_OK;
}

/** Queues the copies to the host, and then posts the receives. Before it posts them, it waits until the rows
 *  that the previous exchange received have been copied from the staging buffer to the GPU. Otherwise new
 *  rows could overwrite them: between the column blocks of a product the host does not wait for the GPU, and
 *  a message that is already on its way arrives as soon as its receive is posted. */
static spmm_status exchange_staged_begin(sp_exchange *x)
{
    const staging *const m = x->state;
    spmm_status status = exchange_staged_fetch(x);
    if (status == SPMM_OK) status = sp_event_wait(m->placed);
    for (int i = 0; i < x->ins; i++)
        TRY(SP_MPI(MPI_Irecv(m->in + x->in[i].stage, (int)x->in[i].bytes, MPI_BYTE, x->in[i].peer,
                             SP_TAG_ROWS, x->comm, &x->request[i])));
    if (status != SPMM_OK) sp_exchange_give_up(x);
    return status;
}

/** Stores status in *first, unless *first is a failure already. */
static void note(spmm_status *first, spmm_status status)
{
    if (*first == SPMM_OK) *first = status;
}

/** Queues copies of `count` received messages from the staging buffer to X on the GPU. The array x->done
 *  contains the indices of these messages in x->in. */
static spmm_status exchange_staged_place(sp_exchange *x, int count)
{
    const staging *const m = x->state;
    spmm_status first = SPMM_OK;
    for (int i = 0; i < count; i++) {
        const sp_message *const in = &x->in[x->done[i]];
        spmm_status status = sp_exchange_check(x, &x->status[i], in);
        if (status == SPMM_OK)
            status = sp_stream_copy(sp_message_place(x, in), m->in + in->stage, in->bytes, SP_STREAM_MOVE);
        note(&first, status);
    }
    return first;
}

/** Sends each message as soon as its copy to the host is complete, and concurrently copies received messages
 *  to the GPU. If the copy of a message failed, an empty message is sent, so that no neighbor waits
 *  forever. */
static spmm_status exchange_staged_end(sp_exchange *x)
{
    const staging *const m = x->state;
    spmm_status first = SPMM_OK;
    int placed = 0, count = 0;
    for (int i = 0; i < x->outs; i++) {
        const spmm_status fetched = sp_event_wait(m->event[i]);
        note(&first, fetched);
        TRY(SP_MPI(MPI_Isend(m->out + x->out[i].stage, fetched == SPMM_OK ? (int)x->out[i].bytes : 0,
                             MPI_BYTE, x->out[i].peer, SP_TAG_ROWS, x->comm, &x->request[x->ins + i])));
        if (placed == x->ins) continue;
        TRY(SP_MPI(MPI_Testsome(x->ins, x->request, &count, x->done, x->status)));
        if (count == MPI_UNDEFINED) continue;
        note(&first, exchange_staged_place(x, count));
        placed += count;
    }
    while (placed < x->ins) {
        TRY(SP_MPI(MPI_Waitsome(x->ins, x->request, &count, x->done, x->status)));
        note(&first, exchange_staged_place(x, count));
        placed += count;
    }
    TRY(sp_wait(x->request + x->ins, x->outs));
    if (first == SPMM_OK) note(&first, sp_exchange_widen(x, SP_STREAM_MOVE));
    note(&first, sp_event_record(m->placed, SP_STREAM_MOVE));
    note(&first, sp_stream_wait(SP_STREAM_MAIN, SP_STREAM_MOVE));
    return first;
}

const sp_exchange_ops sp_exchange_staged = {.begin = exchange_staged_begin,
                                            .end = exchange_staged_end,
                                            .create = exchange_staged_create,
                                            .destroy = exchange_staged_destroy,
                                            .most_bytes = 2 << 20,
                                            .by_mpi = 1};
const sp_exchange_ops sp_exchange_staged_whole = {.begin = exchange_staged_begin,
                                                  .end = exchange_staged_end,
                                                  .create = exchange_staged_create,
                                                  .destroy = exchange_staged_destroy,
                                                  .by_mpi = 1};
