/* Rows straight into the X of neighbours, in their GPUs' memory, over NVLink where there is one (CUDA IPC; all ranks of
 * a process column on one node). Nobody receives, and nothing is packed.
 *
 * Two small messages a neighbour go with each exchange, on the host: who waits for rows invites their owners to write
 * them, and an owner that has queued the writing says so. Only then may the other queue that it waits for the
 * owner's mark. So no kernel ever waits for another GPU, and a rank that fails can say that instead.
 *
 * An X that others write to lies in a room: memory that this rank shares, which they attach at the first invitation
 * there and which is not freed before they are detached. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "device/device.h"
#include "device/device_ops.h"
#include "plan/exchange_backend.h"

typedef struct room {
    char *memory;
    int64_t bytes;
    sp_shared shared;
} room;

/** Where row 0 of the X is that rows shall be written to: in the sender's room of that number. at is -1 where the
 *  sender failed and has none. */
typedef struct invitation {
    int64_t at, room;
    sp_shared shared;
} invitation;

/** A rank that rows are written to. */
typedef struct guest {
    int64_t offset; /* of the first row, behind row 0 of its X */
    void **room;    /* its rooms as they are mapped here; NULL: not yet */
    int rooms;
} guest;

typedef struct peer {
    room *rooms;
    int room_count;
    int connected;             /* others may be attached */
    sp_mark *written;          /* what this rank has written so far */
    sp_mark **came;            /* [ins] the sources' marks */
    guest *guest;              /* [outs] */
    char **to;                 /* [outs] where rows are to be written in this exchange; NULL: nowhere */
    sp_push *push;             /* [outs] */
    int *order;                /* [outs] targets one after another */
    invitation sent, *invited; /* [outs] */
    int32_t *told, *tell;      /* [ins], [outs] whether rows have been written */
    int64_t *place;            /* [ins] where each source's rows belong, behind row 0 of X */
    MPI_Request *request;      /* [2 ins + 2 outs]: invitations that come; what sources tell, what is sent */
} peer;

/* ---- rooms ---- */

/** The one that a row lies in; -1: none. */
static int room_of(const peer *p, const char *row)
{
    for (int r = 0; r < p->room_count; r++)
        if (row >= p->rooms[r].memory && row < p->rooms[r].memory + p->rooms[r].bytes) return r;
    return -1;
}

static int takes(const sp_exchange *x, const void *row) { return room_of(x->state, row) >= 0; }

static spmm_status add_room(peer *p, int64_t bytes, void **memory)
{
    room one = {.bytes = bytes > SP_SHARED_BYTES ? bytes : SP_SHARED_BYTES};
    room *const more = realloc(p->rooms, (size_t)(p->room_count + 1) * sizeof *more);
    if (!more) return sp_fail(SPMM_ERR_MEMORY, "cannot allocate the list of X's that neighbours write to");
    p->rooms = more;
    TRY(sp_device_alloc(memory, one.bytes, "X"));
    const spmm_status shared = sp_device_share(*memory, &one.shared);
    if (shared != SPMM_OK) {
        sp_device_free(*memory);
        *memory = NULL;
        return shared;
    }
    one.memory = *memory;
    p->rooms[p->room_count++] = one;
    return SPMM_OK;
}

static spmm_status give_room(sp_exchange *x, int64_t bytes, void **memory)
{
    peer *const p = x->state;
    for (int r = 0; r < p->room_count; r++)
        if (p->rooms[r].bytes >= bytes && sp_device_reuse(p->rooms[r].memory)) {
            *memory = p->rooms[r].memory;
            return SPMM_OK;
        }
    return add_room(p, bytes, memory);
}

/** Where the room of an invitation is mapped here. */
static spmm_status attach(guest *g, const invitation *i, void **mapped)
{
    *mapped = NULL;
    if (i->room >= g->rooms) {
        void **const more = realloc(g->room, (size_t)(i->room + 1) * sizeof *more);
        if (!more) return sp_fail(SPMM_ERR_MEMORY, "cannot allocate the list of a neighbour's X's");
        for (int r = g->rooms; r <= i->room; r++) more[r] = NULL;
        g->room = more;
        g->rooms = (int)i->room + 1;
    }
    if (!g->room[i->room]) TRY(sp_device_attach(&i->shared, &g->room[i->room]));
    *mapped = g->room[i->room];
    return SPMM_OK;
}

static void forget(sp_exchange *x)
{
    peer *const p = x->state;
    for (int i = 0; p->guest && i < x->outs; i++) {
        for (int r = 0; r < p->guest[i].rooms; r++) sp_device_detach(p->guest[i].room[r]);
        free(p->guest[i].room);
        p->guest[i].room = NULL;
        p->guest[i].rooms = 0;
    }
    if (p->connected) MPI_Barrier(x->comm);
    for (int r = 0; r < p->room_count; r++) sp_device_unshare(p->rooms[r].memory);
    free(p->rooms);
    p->rooms = NULL;
    p->room_count = 0;
}

/* ---- set-up ---- */

static void destroy(sp_exchange *x)
{
    peer *const p = x->state;
    if (!p) return;
    for (int i = 0; p->came && i < x->ins; i++) sp_mark_destroy(p->came[i]);
    forget(x);
    sp_mark_destroy(p->written);
    sp_free(p->came);
    sp_free(p->guest);
    sp_free(p->to);
    sp_free(p->push);
    sp_free(p->order);
    sp_free(p->invited);
    sp_free(p->told);
    sp_free(p->place);
    sp_free(p->request);
    sp_free(p);
    x->state = NULL;
}

/** Targets by their rank's exclusive or with this one: at each step ranks are in pairs that write to each other, as far
 *  as they have rows for each other. One copy engine serves all copies of a GPU to others, one after another: were
 *  two ranks to write to the same one, half of the links would be idle. */
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
    TRY(sp_alloc_zero((void **)&p->came, ins, sizeof(sp_mark *), what));
    TRY(sp_alloc_zero((void **)&p->guest, outs, sizeof *p->guest, what));
    TRY(sp_alloc_zero((void **)&p->to, outs, sizeof(char *), what));
    TRY(sp_alloc_zero((void **)&p->push, outs, sizeof *p->push, what));
    TRY(sp_alloc_zero((void **)&p->order, outs, sizeof *p->order, what));
    find_order(x, p->order);
    TRY(sp_alloc_zero((void **)&p->invited, outs, sizeof *p->invited, what));
    TRY(sp_alloc_zero((void **)&p->told, ins + outs, sizeof *p->told, what));
    p->tell = p->told + ins;
    TRY(sp_alloc_zero((void **)&p->place, ins, sizeof *p->place, what));
    return sp_alloc_zero((void **)&p->request, 2 * (ins + outs), sizeof(MPI_Request), what);
}

/** What a rank tells all others of its process column. */
typedef struct hello {
    sp_shared trial; /* a room, to see whether it can be attached */
    sp_shared mark;
} hello;

static spmm_status introduce(sp_exchange *x, hello *mine)
{
    peer *const p = x->state;
    int rank, size;
    void *trial = NULL;
    TRY(sp_node_rank(x->comm, &rank, &size));
    if (size != x->grid->dims[0])
        return sp_fail(SPMM_ERR_DEVICE, "transport peer: the ranks of a process column are on several nodes");
    TRY(add_room(p, 0, &trial));
    sp_device_free(trial); /* noted: forget() ends it */
    mine->trial = p->rooms[0].shared;
    return sp_mark_create_shared(&p->written, &mine->mark);
}

static spmm_status meet(const sp_exchange *x, const hello *all)
{
    peer *const p = x->state;
    void *mapped;
    for (int i = 0; i < x->outs; i++) {
        const invitation trial = {.shared = all[x->out[i].peer].trial};
        TRY(attach(&p->guest[i], &trial, &mapped));
    }
    for (int i = 0; i < x->ins; i++) TRY(sp_mark_attach(&all[x->in[i].peer].mark, &p->came[i]));
    return SPMM_OK;
}

/** Tells sources where their rows belong. */
static spmm_status tell_places(const sp_exchange *x)
{
    peer *const p = x->state;
    for (int i = 0; i < x->outs; i++)
        TRY(SP_MPI(MPI_Irecv(&p->guest[i].offset, 1, MPI_INT64_T, x->out[i].peer, SP_TAG_PEER_SETUP, x->comm,
                             &p->request[i])));
    for (int i = 0; i < x->ins; i++) {
        p->place[i] = x->in[i].at;
        TRY(SP_MPI(MPI_Isend(&p->place[i], 1, MPI_INT64_T, x->in[i].peer, SP_TAG_PEER_SETUP, x->comm,
                             &p->request[x->outs + i])));
    }
    return sp_wait(p->request, x->ins + x->outs);
}

static spmm_status connect(sp_exchange *x)
{
    peer *const p = x->state;
    hello mine, *all = NULL;
    memset(&mine, 0, sizeof mine);
    spmm_status status = introduce(x, &mine);
    if (status == SPMM_OK)
        status = sp_alloc((void **)&all, x->grid->dims[0], sizeof *all, "what neighbours say");
    TRY_GOTO(sp_agree(x->grid->comm, "exchange", status), done);
    TRY_GOTO(SP_MPI(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, x->comm)), done);
    p->connected = 1;
    TRY_GOTO(sp_agree(x->grid->comm, "exchange", meet(x, all)), done);
    forget(x); /* the trial's rooms */
    TRY_GOTO(tell_places(x), done);
done:
    sp_free(all);
    return status;
}

/* ---- exchanges ---- */

/** Invites the sources, and waits for the targets' invitations. base: row 0 of X; NULL: there is none. */
static spmm_status invite(const sp_exchange *x, const char *base)
{
    peer *const p = x->state;
    MPI_Request *const come = p->request, *const told = come + x->outs, *const sent = told + x->ins;
    const int at = base ? room_of(p, base) : -1;
    p->sent.at = at < 0 ? -1 : base - p->rooms[at].memory;
    p->sent.room = at;
    if (at >= 0) p->sent.shared = p->rooms[at].shared;
    for (int i = 0; i < x->outs; i++)
        TRY(SP_MPI(MPI_Irecv(&p->invited[i], sizeof(invitation), MPI_BYTE, x->out[i].peer, SP_TAG_PEER_INVITE,
                             x->comm, &come[i])));
    for (int i = 0; i < x->ins; i++) {
        TRY(SP_MPI(
            MPI_Irecv(&p->told[i], 1, MPI_INT32_T, x->in[i].peer, SP_TAG_PEER_WRITTEN, x->comm, &told[i])));
        TRY(SP_MPI(MPI_Isend(&p->sent, sizeof(invitation), MPI_BYTE, x->in[i].peer, SP_TAG_PEER_INVITE,
                             x->comm, &sent[i])));
    }
    return sp_wait(come, x->outs);
}

/** Says whether rows have been written. */
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

/** Until all sources have told, and all that was sent is gone. */
static spmm_status listen(const sp_exchange *x)
{
    const peer *const p = x->state;
    return sp_wait(p->request + x->outs, 2 * x->ins + x->outs);
}

/** Where each target wants its rows. */
static spmm_status find_places(const sp_exchange *x)
{
    peer *const p = x->state;
    for (int i = 0; i < x->outs; i++) {
        void *mapped;
        p->to[i] = NULL;
        if (p->invited[i].at < 0) continue; /* it failed */
        TRY(attach(&p->guest[i], &p->invited[i], &mapped));
        p->to[i] = (char *)mapped + p->invited[i].at + p->guest[i].offset;
    }
    return SPMM_OK;
}

/** Rows that are one run, by the copy engines, which leave the multiprocessors alone. */
static spmm_status copy_runs(const sp_exchange *x)
{
    const peer *const p = x->state;
    for (int n = 0; n < x->outs; n++) {
        const int i = p->order[n];
        const sp_target *const t = &x->halo->target[i];
        if (t->packed || !p->to[i]) continue;
        TRY(sp_device_queue_copy_2d(p->to[i], x->row_bytes, x->from + t->first * x->pitch, x->pitch,
                                    x->row_bytes, t->rows, SP_QUEUE_MOVE));
    }
    return SPMM_OK;
}

/** Picked rows, and with x->by_kernel runs of them, too. */
static spmm_status push_rows(const sp_exchange *x)
{
    peer *const p = x->state;
    int count = 0;
    for (int i = 0; i < x->outs; i++) {
        const sp_target *const t = &x->halo->target[i];
        if (!p->to[i] || !(t->packed || x->by_kernel)) continue;
        p->push[count++] = (sp_push){t->packed ? x->list + t->first : NULL, t->packed ? 0 : t->first, t->rows,
                                     p->to[i]};
    }
    if (count == 0) return SPMM_OK;
    return sp_cuda_push(x->from, x->pitch, x->row_bytes, p->push, count, sp_device_queue(SP_QUEUE_MOVE));
}

/** Queues the writing. */
static spmm_status write_rows(const sp_exchange *x)
{
    TRY(find_places(x));
    if (!x->now) TRY(sp_device_after(SP_QUEUE_MOVE, SP_QUEUE_MAIN));
    TRY(push_rows(x));
    if (!x->by_kernel) TRY(copy_runs(x));
    return sp_mark_set(((peer *)x->state)->written, SP_QUEUE_MOVE);
}

static spmm_status begin(sp_exchange *x)
{
    TRY(invite(x, x->base));
    const spmm_status status = write_rows(x);
    TRY(tell(x, status == SPMM_OK));
    if (status != SPMM_OK) TRY(listen(x));
    return status;
}

static spmm_status end(sp_exchange *x)
{
    const peer *const p = x->state;
    spmm_status status = SPMM_OK;
    TRY(listen(x));
    for (int i = 0; i < x->ins; i++) {
        if (p->told[i])
            TRY(sp_mark_before(p->came[i], SP_QUEUE_MOVE));
        else
            status = sp_fail(SPMM_ERR_MPI, "rank %d of the process column wrote no rows of X: it failed",
                             x->in[i].peer);
    }
    const spmm_status ordered = sp_device_after(SP_QUEUE_MAIN, SP_QUEUE_MOVE);
    return status == SPMM_OK ? ordered : status;
}

static void skip(sp_exchange *x)
{
    if (invite(x, NULL) != SPMM_OK || tell(x, 0) != SPMM_OK) return;
    (void)listen(x);
}

const sp_way sp_way_peer = {.begin = begin,
                            .end = end,
                            .create = create,
                            .destroy = destroy,
                            .connect = connect,
                            .skip = skip,
                            .alloc = give_room,
                            .takes = takes,
                            .forget = forget};
