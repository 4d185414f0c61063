/** Exchange backend that writes rows directly into the neighbors' X in GPU memory (CUDA IPC). Messages
 *  between the hosts order the writes. exchange_peer_stream.c orders them with streams instead;
 *  exchange_peer_rows.c has the common code.
 *
 *  The writes go over NVLink if the GPUs are connected by it. All ranks of a process column must be on one
 *  node. The owner of a row writes it into the X of each rank that needs it, without packing and without a
 *  receive.
 *
 *  Each exchange needs two small MPI messages per neighbor: a rank that needs rows sends each owner of such
 *  rows a ready message, and the owner answers when it has queued its writes. Only after this answer does the
 *  rank that needs rows queue a wait for the owner's event. So no kernel ever waits for another GPU, and a
 *  rank that fails can report its failure in the message.
 *
 *  Rows that travel as f32 are written into a separate buffer, from which the receiver widens them into its
 *  X.
 *
 *  An X to which other ranks write is in a registered buffer, i.e. in GPU memory that its owner shares. The
 *  other ranks attach it when a ready message first names it; the owner frees it only after they have
 *  detached it. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "exchange/exchange_peer.h"

typedef struct peer {
    sp_peer shared;     /* shared.place: the targets' ready messages */
    sp_event *written;  /* recorded after this rank's writes of an exchange */
    sp_event **came;    /* [ins] the event `written` of each source, attached */
    sp_peer_place sent; /* this rank's ready message to all sources */
    /* told [ins]: answers received from the sources; tell [outs]: answers sent to the targets. An answer is 1
     * if the writes are queued, and 0 if the owner failed. */
    int32_t *told, *tell;
    /* [outs] receives of ready messages, then [ins] receives of answers, then [ins + outs] sends */
    MPI_Request *request;
} peer;

/* ---- set-up ---- */

static void destroy(sp_exchange *x)
{
    peer *const p = x->state;
    if (!p) return;
    for (int i = 0; p->came && i < x->ins; i++) sp_event_destroy(p->came[i]);
    sp_peer_forget(x); /* the event `written` must exist until all ranks have detached it */
    p->shared.connected = 0;
    sp_event_destroy(p->written);
    sp_free(p->came);
    sp_free(p->told);
    sp_free(p->request);
    sp_peer_destroy(x);
}

static spmm_status create(sp_exchange *x)
{
    static const char what[] = "an exchange";
    const int ins = x->ins, outs = x->outs;
    TRY(sp_peer_create(x, sizeof(peer)));
    peer *const p = x->state;
    TRY(sp_alloc_zero((void **)&p->came, ins, sizeof(sp_event *), what));
    TRY(sp_alloc_zero((void **)&p->told, ins + outs, sizeof *p->told, what));
    p->tell = p->told + ins;
    return sp_alloc_zero((void **)&p->request, 2 * (ins + outs), sizeof(MPI_Request), what);
}

/** The data that each rank sends to all others of its process column at set-up. */
typedef struct handshake {
    sp_shared trial; /* handle of a registered buffer that the other ranks attach as a test */
    sp_shared event; /* handle of the sender's event `written` */
} handshake;

static spmm_status prepare_handshake(sp_exchange *x, handshake *mine)
{
    peer *const p = x->state;
    TRY(sp_peer_check_node(x));
    TRY(sp_peer_make_trial(x, &mine->trial));
    return sp_event_create_shared(&p->written, &mine->event);
}

static spmm_status attach_all(const sp_exchange *x, const handshake *all)
{
    peer *const p = x->state;
    for (int i = 0; i < x->outs; i++) TRY(sp_peer_attach_trial(x, i, &all[x->out[i].peer].trial));
    for (int i = 0; i < x->ins; i++) TRY(sp_event_attach(&all[x->in[i].peer].event, &p->came[i]));
    return SPMM_OK;
}

static spmm_status connect(sp_exchange *x)
{
    handshake mine;
    void *all = NULL;
    memset(&mine, 0, sizeof mine);
    spmm_status status = prepare_handshake(x, &mine);
    TRY_GOTO(sp_peer_shake_hands(x, status, &mine, sizeof mine, &all), done);
    TRY_GOTO(sp_agree(x->grid->comm, "exchange", attach_all(x, all)), done);
    sp_peer_forget(x); /* detaches and frees the buffers that were attached as a test */
    TRY_GOTO(sp_peer_send_offsets(x), done);
done:
    sp_free(all);
    return status;
}

/* ---- exchanges ---- */

/** Sends ready messages to the sources, and waits for the targets' ready messages.
 *  \param [in] base  sp_peer_arrival(); NULL: this rank failed */
static spmm_status send_ready(const sp_exchange *x, const char *base)
{
    peer *const p = x->state;
    MPI_Request *const come = p->request, *const told = come + x->outs, *const sent = told + x->ins;
    sp_peer_place_of(x, base, &p->sent);
    for (int i = 0; i < x->outs; i++)
        TRY(SP_MPI(MPI_Irecv(&p->shared.place[i], sizeof p->sent, MPI_BYTE, x->out[i].peer, SP_TAG_PEER_READY,
                             x->comm, &come[i])));
    for (int i = 0; i < x->ins; i++) {
        TRY(SP_MPI(
            MPI_Irecv(&p->told[i], 1, MPI_INT32_T, x->in[i].peer, SP_TAG_PEER_WRITTEN, x->comm, &told[i])));
        TRY(SP_MPI(MPI_Isend(&p->sent, sizeof p->sent, MPI_BYTE, x->in[i].peer, SP_TAG_PEER_READY, x->comm,
                             &sent[i])));
    }
    return sp_wait(come, x->outs);
}

/** Notifies the targets whether this rank has queued the writes of their rows (`written` is 1) or failed
 *  (0). */
static spmm_status tell(const sp_exchange *x, int written)
{
    peer *const p = x->state;
    MPI_Request *const sent = p->request + x->outs + 2 * x->ins;
    for (int i = 0; i < x->outs; i++) {
        p->tell[i] = written;
        TRY(SP_MPI(
            MPI_Isend(&p->tell[i], 1, MPI_INT32_T, x->out[i].peer, SP_TAG_PEER_WRITTEN, x->comm, &sent[i])));
    }
    return SPMM_OK;
}

/** Waits until all sources have reported whether they have queued the writes of their rows, and until this
 *  rank's sends are complete. */
static spmm_status listen(const sp_exchange *x)
{
    const peer *const p = x->state;
    return sp_wait(p->request + x->outs, 2 * x->ins + x->outs);
}

/** Queues the writes to all targets, then the event p->written. */
static spmm_status write_rows(const sp_exchange *x)
{
    TRY(sp_peer_write_rows(x));
    return sp_event_record(((peer *)x->state)->written, x->stream);
}

/** Writes the rows, and makes SP_STREAM_MAIN wait for the writes of the sources. */
static spmm_status end(sp_exchange *x)
{
    const peer *const p = x->state;
    TRY(send_ready(x, sp_peer_arrival(x)));
    spmm_status status = write_rows(x);
    TRY(tell(x, status == SPMM_OK));
    TRY(listen(x));
    TRY(status);
    for (int i = 0; i < x->ins; i++) {
        if (p->told[i])
            TRY(sp_stream_wait_event(p->came[i], x->stream));
        else
            status = sp_fail(SPMM_ERR_MPI, "rank %d wrote no rows of X: it failed",
                             sp_exchange_rank_of(x, x->in[i].peer));
    }
    const spmm_status ordered = sp_peer_join(x);
    return status == SPMM_OK ? ordered : status;
}

static void skip(sp_exchange *x)
{
    if (send_ready(x, NULL) != SPMM_OK || tell(x, 0) != SPMM_OK) return;
    (void)listen(x);
}

/* There is no `begin`, because the host is busy with the messages, and the kernels of the interior rows
 * should not wait for that. */
const sp_exchange_ops sp_exchange_peer = {.end = end,
                                          .create = create,
                                          .destroy = destroy,
                                          .connect = connect,
                                          .skip = skip,
                                          .set_rows = sp_peer_send_offsets,
                                          .memory = &sp_peer_memory,
                                          .most_bytes = INT64_MAX / 2,
                                          .unpacked = 1,
                                          .gaps = 1,
                                          .alone = 1};
