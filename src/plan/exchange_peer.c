/** Exchange backend that writes rows straight into the neighbours' X in GPU memory (CUDA IPC).
 *
 *  The writes go over NVLink if the GPUs are connected by it. All ranks of a process column must be on one
 *  node. The owner of a row writes it into the X of each rank that needs it, without packing and without a
 *  receive.
 *
 *  Each exchange takes two small MPI messages per neighbour: a rank that needs rows sends each owner of such
 *  rows a ready message, and the owner answers when it has queued its writes. Only after this
 *  answer does the rank that needs rows queue a wait for the owner's event. So no kernel ever waits for
 *  another GPU, and a rank that fails can report its failure in the message.
 *
 *  An X that other ranks write to lies in a registered buffer. This is GPU memory that its owner shares. The
 *  other ranks attach it when a ready message first names it; the owner frees it only after they have
 *  detached it. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "device/device.h"
#include "device/device_ops.h"
#include "plan/exchange_backend.h"

/** A registered buffer: GPU memory of this rank that other ranks may attach. */
typedef struct buffer {
    char *memory;
    int64_t bytes;
    sp_shared shared;
} buffer;

/** Ready message from a rank that needs rows to their owner: row 0 of the sender's X lies at byte `at` of the
 *  sender's registered buffer number `buffer`. at is -1 if the sender failed and needs no rows. */
typedef struct ready_message {
    int64_t at, buffer;
    sp_shared shared; /* the buffer's handle */
} ready_message;

/** What this rank knows of a target, i.e. of a rank whose X it writes to. */
typedef struct remote {
    int64_t offset; /* where to write the first row: bytes from row 0 of the target's X */
    void **buffer;  /* [buffers] this rank's mappings of the target's buffers; NULL: not attached */
    int buffers;
} remote;

typedef struct peer {
    buffer *buffers; /* [buffer_count] this rank's registered buffers */
    int buffer_count;
    int connected;     /* 1: other ranks may have attached this rank's registered buffers */
    sp_event *written; /* recorded after this rank's writes of an exchange */
    sp_event **came;   /* [ins] the event `written` of each source, attached */
    remote *remote;    /* [outs] */
    char **to;         /* [outs] where to write rows in this exchange; NULL: the target failed */
    sp_push *push;     /* [outs] */
    int *order;        /* [outs] the sequence in which the targets are written to */
    /* sent: this rank's ready message to all sources; ready [outs]: the ready messages of the targets */
    ready_message sent, *ready;
    /* told [ins]: answers received from the sources; tell [outs]: answers sent to the targets. An answer is 1
     * if the writes are queued, and 0 if the owner failed. */
    int32_t *told, *tell;
    int64_t *offset_in_x; /* [ins] where each source's rows belong, in bytes from row 0 of X */
    /* [outs] receives of ready messages, then [ins] receives of answers, then [ins + outs] sends */
    MPI_Request *request;
} peer;

/** Returns 1 if a kernel instead of copy engines moves contiguous rows, too. */
static int moves_by_kernel(const sp_exchange *x) { return x->ops == &sp_exchange_peer_by_kernel; }

/* ---- registered buffers ---- */

/** Returns the number of the registered buffer that address `row` lies in; -1: it lies in none of them. */
static int buffer_of(const peer *p, const char *row)
{
    for (int r = 0; r < p->buffer_count; r++)
        if (row >= p->buffers[r].memory && row < p->buffers[r].memory + p->buffers[r].bytes) return r;
    return -1;
}

static int takes(const sp_exchange *x, const void *row) { return buffer_of(x->state, row) >= 0; }

static spmm_status add_buffer(peer *p, int64_t bytes, void **memory)
{
    buffer one = {.bytes = bytes > SP_SHARED_BYTES ? bytes : SP_SHARED_BYTES};
    buffer *const more = realloc(p->buffers, (size_t)(p->buffer_count + 1) * sizeof *more);
    if (!more) return sp_fail(SPMM_ERR_MEMORY, "cannot allocate the list of X's that neighbours write to");
    p->buffers = more;
    TRY(sp_device_alloc_exchanged(memory, one.bytes, "X"));
    const spmm_status shared = sp_device_share(*memory, &one.shared);
    if (shared != SPMM_OK) {
        sp_device_free(*memory);
        *memory = NULL;
        return shared;
    }
    one.memory = *memory;
    p->buffers[p->buffer_count++] = one;
    return SPMM_OK;
}

static spmm_status alloc_buffer(sp_exchange *x, int64_t bytes, void **memory)
{
    peer *const p = x->state;
    for (int r = 0; r < p->buffer_count; r++)
        if (p->buffers[r].bytes >= bytes && sp_device_reuse(p->buffers[r].memory)) {
            *memory = p->buffers[r].memory;
            return SPMM_OK;
        }
    return add_buffer(p, bytes, memory);
}

/** Sets *mapped to this rank's mapping of the buffer that ready message i names. Attaches the buffer if
 *  this is the first ready message of target g that names it. */
static spmm_status attach(remote *g, const ready_message *i, void **mapped)
{
    *mapped = NULL;
    if (i->buffer >= g->buffers) {
        void **const more = realloc(g->buffer, (size_t)(i->buffer + 1) * sizeof *more);
        if (!more) return sp_fail(SPMM_ERR_MEMORY, "cannot allocate the list of a neighbour's X's");
        for (int r = g->buffers; r <= i->buffer; r++) more[r] = NULL;
        g->buffer = more;
        g->buffers = (int)i->buffer + 1;
    }
    if (!g->buffer[i->buffer]) TRY(sp_device_attach(&i->shared, &g->buffer[i->buffer]));
    *mapped = g->buffer[i->buffer];
    return SPMM_OK;
}

/** Detaches the targets' buffers. Waits until all ranks of the process column have done so, then ends the
 *  sharing of this rank's buffers. */
static void forget(sp_exchange *x)
{
    peer *const p = x->state;
    for (int i = 0; p->remote && i < x->outs; i++) {
        for (int r = 0; r < p->remote[i].buffers; r++) sp_device_detach(p->remote[i].buffer[r]);
        free(p->remote[i].buffer);
        p->remote[i].buffer = NULL;
        p->remote[i].buffers = 0;
    }
    if (p->connected) MPI_Barrier(x->comm);
    for (int r = 0; r < p->buffer_count; r++) sp_device_unshare(p->buffers[r].memory);
    free(p->buffers);
    p->buffers = NULL;
    p->buffer_count = 0;
}

/* ---- set-up ---- */

static void destroy(sp_exchange *x)
{
    peer *const p = x->state;
    if (!p) return;
    for (int i = 0; p->came && i < x->ins; i++) sp_event_destroy(p->came[i]);
    forget(x);
    sp_event_destroy(p->written);
    sp_free(p->came);
    sp_free(p->remote);
    sp_free(p->to);
    sp_free(p->push);
    sp_free(p->order);
    sp_free(p->ready);
    sp_free(p->told);
    sp_free(p->offset_in_x);
    sp_free(p->request);
    sp_free(p);
    x->state = NULL;
}

/** Orders the targets by (target's rank xor own rank), so that at each step the ranks form pairs that write
 *  to each other (if they have rows for each other). One copy engine makes all copies from a GPU to other
 *  GPUs, one after another; if two ranks wrote to one rank at the same time, half of the links would be
 *  idle. */
static void find_order(const sp_exchange *x, int *order)
{
    const int me = x->grid->coords[0];
    for (int i = 0; i < x->outs; i++) {
        int at = i;
        for (; at > 0 && (x->out[order[at - 1]].peer ^ me) > (x->out[i].peer ^ me); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

static spmm_status create(sp_exchange *x)
{
    static const char what[] = "an exchange";
    peer *p;
    const int ins = x->ins, outs = x->outs;
    TRY(sp_alloc_zero((void **)&p, 1, sizeof *p, what));
    x->state = p;
    TRY(sp_alloc_zero((void **)&p->came, ins, sizeof(sp_event *), what));
    TRY(sp_alloc_zero((void **)&p->remote, outs, sizeof *p->remote, what));
    TRY(sp_alloc_zero((void **)&p->to, outs, sizeof(char *), what));
    TRY(sp_alloc_zero((void **)&p->push, outs, sizeof *p->push, what));
    TRY(sp_alloc_zero((void **)&p->order, outs, sizeof *p->order, what));
    find_order(x, p->order);
    TRY(sp_alloc_zero((void **)&p->ready, outs, sizeof *p->ready, what));
    TRY(sp_alloc_zero((void **)&p->told, ins + outs, sizeof *p->told, what));
    p->tell = p->told + ins;
    TRY(sp_alloc_zero((void **)&p->offset_in_x, ins, sizeof *p->offset_in_x, what));
    return sp_alloc_zero((void **)&p->request, 2 * (ins + outs), sizeof(MPI_Request), what);
}

/** What each rank tells all others of its process column at set-up. */
typedef struct handshake {
    sp_shared trial; /* handle of a registered buffer that the others attach, as a test */
    sp_shared event; /* handle of the sender's event `written` */
} handshake;

static spmm_status prepare_handshake(sp_exchange *x, handshake *mine)
{
    peer *const p = x->state;
    int rank, size;
    void *trial = NULL;
    TRY(sp_node_rank(x->comm, &rank, &size));
    if (size != x->grid->dims[0])
        return sp_fail(SPMM_ERR_DEVICE, "transport peer: the ranks of a process column are on several nodes");
    TRY(add_buffer(p, 0, &trial));
    sp_device_free(trial); /* shared memory is only marked as freed; forget() frees it */
    mine->trial = p->buffers[0].shared;
    return sp_event_create_shared(&p->written, &mine->event);
}

static spmm_status attach_all(const sp_exchange *x, const handshake *all)
{
    peer *const p = x->state;
    void *mapped;
    for (int i = 0; i < x->outs; i++) {
        const ready_message trial = {.shared = all[x->out[i].peer].trial};
        TRY(attach(&p->remote[i], &trial, &mapped));
    }
    for (int i = 0; i < x->ins; i++) TRY(sp_event_attach(&all[x->in[i].peer].event, &p->came[i]));
    return SPMM_OK;
}

/** Tells each source where its rows belong in this rank's X, and receives from each target where this rank's
 *  rows belong in the target's X. */
static spmm_status send_offsets(const sp_exchange *x)
{
    peer *const p = x->state;
    for (int i = 0; i < x->outs; i++)
        TRY(SP_MPI(MPI_Irecv(&p->remote[i].offset, 1, MPI_INT64_T, x->out[i].peer, SP_TAG_PEER_SETUP, x->comm,
                             &p->request[i])));
    for (int i = 0; i < x->ins; i++) {
        p->offset_in_x[i] = x->in[i].at;
        TRY(SP_MPI(MPI_Isend(&p->offset_in_x[i], 1, MPI_INT64_T, x->in[i].peer, SP_TAG_PEER_SETUP, x->comm,
                             &p->request[x->outs + i])));
    }
    return sp_wait(p->request, x->ins + x->outs);
}

static spmm_status connect(sp_exchange *x)
{
    peer *const p = x->state;
    handshake mine, *all = NULL;
    memset(&mine, 0, sizeof mine);
    spmm_status status = prepare_handshake(x, &mine);
    if (status == SPMM_OK)
        status = sp_alloc((void **)&all, x->grid->dims[0], sizeof *all, "what neighbours say");
    TRY_GOTO(sp_agree(x->grid->comm, "exchange", status), done);
    TRY_GOTO(SP_MPI(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, x->comm)), done);
    p->connected = 1;
    TRY_GOTO(sp_agree(x->grid->comm, "exchange", attach_all(x, all)), done);
    forget(x); /* detaches and frees the buffers that were attached as a test */
    TRY_GOTO(send_offsets(x), done);
done:
    sp_free(all);
    return status;
}

/* ---- exchanges ---- */

/** Sends ready messages to the sources, and waits for the targets' ready messages.
 *  \param [in] base  row 0 of this rank's X; NULL: this rank failed */
static spmm_status send_ready(const sp_exchange *x, const char *base)
{
    peer *const p = x->state;
    MPI_Request *const come = p->request, *const told = come + x->outs, *const sent = told + x->ins;
    const int at = base ? buffer_of(p, base) : -1;
    p->sent.at = at < 0 ? -1 : base - p->buffers[at].memory;
    p->sent.buffer = at;
    if (at >= 0) p->sent.shared = p->buffers[at].shared;
    for (int i = 0; i < x->outs; i++)
        TRY(SP_MPI(MPI_Irecv(&p->ready[i], sizeof(ready_message), MPI_BYTE, x->out[i].peer, SP_TAG_PEER_READY,
                             x->comm, &come[i])));
    for (int i = 0; i < x->ins; i++) {
        TRY(SP_MPI(
            MPI_Irecv(&p->told[i], 1, MPI_INT32_T, x->in[i].peer, SP_TAG_PEER_WRITTEN, x->comm, &told[i])));
        TRY(SP_MPI(MPI_Isend(&p->sent, sizeof(ready_message), MPI_BYTE, x->in[i].peer, SP_TAG_PEER_READY,
                             x->comm, &sent[i])));
    }
    return sp_wait(come, x->outs);
}

/** Tells the targets whether this rank has queued the writes of their rows (`written` is 1) or failed (0). */
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

/** Waits until all sources have reported whether they wrote their rows, and until this rank's sends are
 *  complete. */
static spmm_status listen(const sp_exchange *x)
{
    const peer *const p = x->state;
    return sp_wait(p->request + x->outs, 2 * x->ins + x->outs);
}

/** Computes the addresses p->to, where this rank writes the rows for each target; NULL if the target
 *  failed. */
static spmm_status find_destinations(const sp_exchange *x)
{
    peer *const p = x->state;
    for (int i = 0; i < x->outs; i++) {
        void *mapped;
        p->to[i] = NULL;
        if (p->ready[i].at < 0) continue; /* the target failed */
        TRY(attach(&p->remote[i], &p->ready[i], &mapped));
        p->to[i] = (char *)mapped + p->ready[i].at + p->remote[i].offset;
    }
    return SPMM_OK;
}

/** Queues copies of contiguous rows to the targets. Copy engines make them, so that the multiprocessors stay
 *  free for the kernels. */
static spmm_status copy_runs(const sp_exchange *x)
{
    const peer *const p = x->state;
    for (int n = 0; n < x->outs; n++) {
        const int i = p->order[n];
        const sp_halo_send *const t = &x->halo->target[i];
        if (t->packed || !p->to[i]) continue;
        TRY(sp_stream_copy_2d(p->to[i], x->row_bytes, x->from + t->first * x->pitch, x->pitch, x->row_bytes,
                              t->rows, SP_STREAM_MOVE));
    }
    return SPMM_OK;
}

/** Queues a kernel that writes scattered rows to the targets, and contiguous rows too if moves_by_kernel(x).
 *  */
static spmm_status push_rows(const sp_exchange *x)
{
    peer *const p = x->state;
    int count = 0;
    for (int i = 0; i < x->outs; i++) {
        const sp_halo_send *const t = &x->halo->target[i];
        if (!p->to[i] || !(t->packed || moves_by_kernel(x))) continue;
        p->push[count++] = (sp_push){t->packed ? x->list + t->first : NULL, t->packed ? 0 : t->first, t->rows,
                                     p->to[i]};
    }
    if (count == 0) return SPMM_OK;
    return sp_cuda_push(x->from, x->pitch, x->row_bytes, p->push, count, sp_device_stream(SP_STREAM_MOVE));
}

/** Queues the writes to all targets, then the event p->written. */
static spmm_status write_rows(const sp_exchange *x)
{
    TRY(find_destinations(x));
    TRY(push_rows(x));
    if (!moves_by_kernel(x)) TRY(copy_runs(x));
    return sp_event_record(((peer *)x->state)->written, SP_STREAM_MOVE);
}

/** Writes the rows, and makes SP_STREAM_MAIN wait for the rows that the sources write. */
static spmm_status end(sp_exchange *x)
{
    const peer *const p = x->state;
    TRY(send_ready(x, x->base));
    spmm_status status = write_rows(x);
    TRY(tell(x, status == SPMM_OK));
    TRY(listen(x));
    TRY(status);
    for (int i = 0; i < x->ins; i++) {
        if (p->told[i])
            TRY(sp_stream_wait_event(p->came[i], SP_STREAM_MOVE));
        else
            status = sp_fail(SPMM_ERR_MPI, "rank %d of the process column wrote no rows of X: it failed",
                             x->in[i].peer);
    }
    const spmm_status ordered = sp_stream_wait(SP_STREAM_MAIN, SP_STREAM_MOVE);
    return status == SPMM_OK ? ordered : status;
}

static void skip(sp_exchange *x)
{
    if (send_ready(x, NULL) != SPMM_OK || tell(x, 0) != SPMM_OK) return;
    (void)listen(x);
}

/** Returns 1 if the rows at `from` have the alignment of 16 bytes that the kernel needs, and copy engines are
 *  not slow on them: they need over a third more time for rows of less than 256 bytes that have gaps. */
static int reads(const sp_exchange *x, const void *from, int64_t pitch)
{
    enum { ALIGN = 16, WIDE = 256 };
    int copied = 0;
    if ((uintptr_t)from % ALIGN != 0 || pitch % ALIGN != 0) return 0;
    for (int t = 0; t < x->halo->targets; t++) copied += !x->halo->target[t].packed;
    return copied == 0 || moves_by_kernel(x) || x->row_bytes >= WIDE;
}

/* There is no `begin`: the host is busy with the messages, for which the kernels of the interior rows should
 * not wait. */
#define OPS                                                                                 \
    {                                                                                       \
        .end = end, .create = create, .destroy = destroy, .connect = connect, .skip = skip, \
        .alloc = alloc_buffer, .takes = takes, .forget = forget, .reads = reads,            \
        .most_bytes = INT64_MAX / 2, .unpacked = 1                                          \
    }
const sp_exchange_ops sp_exchange_peer = OPS, sp_exchange_peer_by_kernel = OPS;
