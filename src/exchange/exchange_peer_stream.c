/** Exchange backend that writes rows straight into the neighbors' X (exchange_peer_rows.c), ordered by the
 *  GPUs' streams alone: no messages, and nothing that a host has to wait for but the neighbors' hosts
 *  themselves.
 *
 *  Exchanges have numbers. For each neighbor a rank has two flags in its GPU's memory, which the neighbor
 *  sets to the number of an exchange by its stream (sp_stream_flags()): `came`, after the neighbor's writes
 *  of rows, and `free`, after the kernels that read the neighbor's ghost rows of the exchange before. In the
 *  stream of the exchange, exchange n is: set `free` at the sources to n; wait until each target's `free` has
 *  reached n; write the rows; set `came` at the targets to n; wait until each source's `came` has reached n.
 *  A stream waits only for what others have queued before they wait for the same exchange, so no order in
 *  which GPUs take up their work can end in a circle, and no kernel waits at all.
 *
 *  Where X is in an exchange, and whether a rank failed before it, each host says in a notice, in memory that
 *  the hosts share. A host that queues exchange n waits until its neighbors' hosts have posted theirs: if
 *  ranks are in step, it never does. A rank that fails later, in the middle of an exchange, cannot set its
 *  flags any more. It marks its board as broken, and those whose streams wait for it, whose hosts look at the
 *  boards meanwhile (settle()), set the flags in its place.
 *
 *  Products in a caller's stream use this order, all others the order by messages. It is not available if
 *  ranks share a GPU, before CUDA 12, without shared memory of the hosts, or if a trial exchange of flags at
 *  set-up takes more than TRIAL_SECONDS. */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "exchange/exchange_peer.h"

/* NOTICES: how many exchanges a rank can be ahead of its neighbors; a power of two, since numbers wrap
 * around.
 * FLAG_BYTES: distance of flags, which several GPUs write, in memory.
 * SPINS: how often a host looks before it lets others use its core. */
enum { NOTICES = 8, FLAG_BYTES = 64, SPINS = 200 };
enum { TRIAL_SECONDS = 5 };

/* The number before the first exchange: all runs of more exchanges than these pass the point where numbers
 * wrap around. */
static const uint32_t START = UINT32_MAX - 20;

/** What a rank shows to its neighbors, in memory that the hosts share. */
typedef struct board {
    _Alignas(64) _Atomic uint32_t posted; /* number of the rank's last notice */
    _Atomic int broken;            /* 1: the rank failed in the middle of an exchange, and makes no more */
    sp_peer_place notice[NOTICES]; /* of exchange n: notice[n % NOTICES]; at is -1: the rank failed */
} board;

/* Those of exchanges that are captured in a CUDA graph have no numbers, as a graph does the same each time: a
 * flag is set to 1, and whoever has waited for that sets its own flag to 0, before it sets the one by which
 * its neighbor goes on. */
enum flag_kind { CAME, FREE, CAPTURED_CAME, CAPTURED_FREE, FLAG_KINDS };

/** A neighbor: a source, a target, or both. */
typedef struct neighbor {
    int rank; /* in x->comm */
    board *board;
    uint32_t *flags; /* its flags, in its GPU's memory, attached */
    int lost;        /* 1: it is broken, and its flags here were set in its place */
} neighbor;

typedef struct stream_peer {
    sp_peer shared;
    sp_node_memory boards;
    board *board;    /* this rank's */
    uint32_t *flags; /* this rank's, in its GPU's memory: [ranks of the process column][FLAG_KINDS] */
    int flags_shared;
    uint32_t number; /* of the last exchange */
    int queued;      /* 1: streams may wait for flags of exchanges up to `number` */
    int count;
    neighbor *neighbor;   /* [count] */
    int *source, *target; /* [ins], [outs]: numbers of neighbors */
    int *comes;           /* [ins] 1: the source takes part in this exchange */
    sp_flag_op *op;       /* [2 (ins + outs)] */
    int captured;         /* 1: this exchange is being captured */
} stream_peer;

/** Returns 1 if a count that wraps around has reached a number. */
static int reached(uint32_t count, uint32_t number) { return (int32_t)(count - number) >= 0; }

/** Returns the flag of the given kind that rank `of` sets, in the flags of any rank. */
static uint32_t *flag_at(uint32_t *flags, int of, enum flag_kind kind)
{
    return flags + ((int64_t)of * FLAG_KINDS + kind) * (FLAG_BYTES / (int64_t)sizeof *flags);
}

/* ---- set-up ---- */

static void destroy(sp_exchange *x)
{
    stream_peer *const p = x->state;
    if (!p) return;
    for (int i = 0; p->neighbor && i < p->count; i++) sp_device_detach(p->neighbor[i].flags);
    sp_peer_forget(x);
    p->shared.connected = 0;
    if (p->flags_shared && sp_mpi_runs()) sp_device_unshare(p->flags);
    sp_device_free(p->flags);
    sp_node_memory_destroy(&p->boards);
    sp_free(p->neighbor);
    sp_free(p->source);
    sp_free(p->target);
    sp_free(p->comes);
    sp_free(p->op);
    sp_peer_destroy(x);
}

/** Returns the number of the neighbor with that rank; adds it if it is new. */
static int neighbor_of(stream_peer *p, int rank)
{
    for (int i = 0; i < p->count; i++)
        if (p->neighbor[i].rank == rank) return i;
    p->neighbor[p->count].rank = rank;
    return p->count++;
}

static spmm_status create(sp_exchange *x)
{
    static const char what[] = "an exchange";
    const int ins = x->ins, outs = x->outs;
    TRY(sp_peer_create(x, sizeof(stream_peer)));
    stream_peer *const p = x->state;
    p->number = START;
    TRY(sp_alloc_zero((void **)&p->neighbor, ins + outs, sizeof *p->neighbor, what));
    TRY(sp_alloc_zero((void **)&p->source, ins, sizeof *p->source, what));
    TRY(sp_alloc_zero((void **)&p->target, outs, sizeof *p->target, what));
    TRY(sp_alloc_zero((void **)&p->comes, ins, sizeof *p->comes, what));
    TRY(sp_alloc_zero((void **)&p->op, 2 * ((int64_t)ins + outs), sizeof *p->op, what));
    for (int i = 0; i < ins; i++) p->source[i] = neighbor_of(p, x->in[i].peer);
    for (int i = 0; i < outs; i++) p->target[i] = neighbor_of(p, x->out[i].peer);
    return SPMM_OK;
}

/** What each rank tells all others of its process column at set-up. */
typedef struct stream_handshake {
    sp_shared trial,
        flags; /* handles: of a registered buffer that the others attach, as a test; of the flags */
} stream_handshake;

/** Checks that no other rank of the node uses this rank's GPU: whether a GPU that waits in one process gets
 *  on with the work of another one, CUDA does not say. */
static spmm_status check_alone(const sp_exchange *x)
{
    sp_device_info info;
    int place, sharers;
    const spmm_status known = sp_device_current(&info);
    TRY(sp_node_sharers(x->grid->comm, info.pci, &place, &sharers));
    TRY(known);
    return sharers == 1 ? SPMM_OK : sp_fail(SPMM_ERR_DEVICE, "transport peer: ranks share %s", info.name);
}

static spmm_status make_flags(const sp_exchange *x, sp_shared *shared)
{
    stream_peer *const p = x->state;
    const char *const missing = sp_flags_missing();
    if (missing) return sp_fail(SPMM_ERR_DEVICE, "transport peer: %s", missing);
    const int64_t numbers = (int64_t)x->grid->dims[0] * FLAG_KINDS * (FLAG_BYTES / (int64_t)sizeof(uint32_t));
    const int64_t bytes = numbers * (int64_t)sizeof(uint32_t);
    uint32_t *first;
    TRY(sp_device_alloc_exchanged((void **)&p->flags, bytes > SP_SHARED_BYTES ? bytes : SP_SHARED_BYTES,
                                  "flags"));
    TRY(sp_alloc((void **)&first, numbers, sizeof *first, "flags"));
    for (int64_t i = 0; i < numbers; i++) {
        const int64_t kind = i / (FLAG_BYTES / (int64_t)sizeof(uint32_t)) % FLAG_KINDS;
        first[i] = kind == CAME || kind == FREE ? START : 0;
    }
    const spmm_status status = sp_device_upload(p->flags, first, bytes);
    sp_free(first);
    TRY(status);
    TRY(sp_device_share(p->flags, shared));
    p->flags_shared = 1;
    return SPMM_OK;
}

/** Collective over the grid. */
static spmm_status prepare_handshake(sp_exchange *x, stream_handshake *mine)
{
    const spmm_status node = sp_peer_check_node(x), alone = check_alone(x);
    TRY(node);
    TRY(alone);
    TRY(make_flags(x, &mine->flags));
    return sp_peer_make_trial(x, &mine->trial);
}

static spmm_status attach_all(const sp_exchange *x, const stream_handshake *all)
{
    stream_peer *const p = x->state;
    for (int i = 0; i < x->outs; i++) TRY(sp_peer_attach_trial(x, i, &all[x->out[i].peer].trial));
    for (neighbor *g = p->neighbor; g < p->neighbor + p->count; g++) {
        void *mapped;
        TRY(sp_device_attach(&all[g->rank].flags, &mapped));
        g->flags = mapped;
    }
    return SPMM_OK;
}

/** Makes the boards. Collective over the process column. */
static spmm_status share_boards(sp_exchange *x)
{
    stream_peer *const p = x->state;
    TRY(sp_node_memory_create(x->comm, sizeof(board), &p->boards));
    p->board = sp_node_memory_of(&p->boards, x->grid->coords[0]);
    for (neighbor *g = p->neighbor; g < p->neighbor + p->count; g++) {
        g->board = sp_node_memory_of(&p->boards, g->rank);
        if (!g->board) return sp_fail(SPMM_ERR_MPI, "a rank's part of the memory of a node cannot be found");
    }
    if (!p->board) return sp_fail(SPMM_ERR_MPI, "a rank's part of the memory of a node cannot be found");
    atomic_store(&p->board->posted, START);
    return SPMM_OK;
}

/* ---- the host's waiting ---- */

/** To be called each time that the host has looked for something in vain: lets MPI see what has become of the
 *  other ranks, as it does while a message is waited for. \param [in] times that it has looked */
static void rest(const sp_exchange *x, int64_t times)
{
    int there;
    if (times % SPINS != 0) return;
    MPI_Iprobe(MPI_ANY_SOURCE, SP_TAG_PEER_SETUP, x->comm, &there, MPI_STATUS_IGNORE);
    sched_yield();
}

/** Waits for a neighbor's notice.
 *  \return 1; 0: there is none, as the neighbor failed in the middle of an exchange */
static int wait_for_notice(const sp_exchange *x, const neighbor *g, uint32_t number)
{
    for (int64_t times = 1;; times++) {
        if (atomic_load(&g->board->broken)) return 0;
        if (reached(atomic_load_explicit(&g->board->posted, memory_order_acquire), number)) return 1;
        rest(x, times);
    }
}

/** Posts this rank's notice of the next exchange.
 *  \param [in] base  row 0 of X; NULL: this rank failed */
static void post(const sp_exchange *x, const char *base)
{
    stream_peer *const p = x->state;
    const uint32_t number = ++p->number;
    /* the notice that it replaces has been read when a neighbor has begun the exchange after that one */
    for (int i = 0; i < p->count; i++) (void)wait_for_notice(x, &p->neighbor[i], number - NOTICES + 1);
    sp_peer_place_of(x, base, &p->board->notice[number % NOTICES]);
    p->board->notice[number % NOTICES].captured = p->captured;
    atomic_store_explicit(&p->board->posted, number, memory_order_release);
}

/** Reads a neighbor's notice of this exchange; its `at` is -1 if it failed, or captures the exchange and this
 *  rank does not, or the other way round. */
static void read_notice(const sp_exchange *x, const neighbor *g, sp_peer_place *place)
{
    const stream_peer *const p = x->state;
    place->at = -1;
    if (!wait_for_notice(x, g, p->number)) return;
    *place = g->board->notice[p->number % NOTICES];
    if (place->captured != p->captured) place->at = -1;
}

/* ---- exchanges ---- */

/** Queues operations of this exchange on flags of a kind, CAME or FREE: sets those of neighbors, then waits
 *  for this rank's own, which it sets back if the exchange is captured. */
static spmm_status queue_flags(const sp_exchange *x, enum flag_kind kind)
{
    const stream_peer *const p = x->state;
    const enum flag_kind flag = !p->captured ? kind : kind == CAME ? CAPTURED_CAME : CAPTURED_FREE;
    const uint32_t value = p->captured ? 1 : p->number;
    sp_flag_op *op = p->op;
    for (int step = 0; step < (p->captured ? 3 : 2); step++) {
        /* `came` is set at targets and waited for of sources, `free` the other way round */
        const int sources = (kind == CAME) == (step > 0), n = sources ? x->ins : x->outs;
        for (int i = 0; i < n; i++) {
            const neighbor *const g = &p->neighbor[sources ? p->source[i] : p->target[i]];
            if (sources ? !p->comes[i] : p->shared.place[i].at < 0) continue;
            *op++ = (sp_flag_op){step == 0 ? flag_at(g->flags, x->grid->coords[0], flag)
                                           : flag_at(p->flags, g->rank, flag),
                                 step < 2 ? value : 0, step == 1};
        }
    }
    return sp_stream_flags(p->op, (int)(op - p->op), x->stream);
}

static spmm_status queue(const sp_exchange *x)
{
    TRY(queue_flags(x, FREE));
    TRY(sp_peer_write_rows(x));
    TRY(queue_flags(x, CAME));
    return sp_stream_wait(SP_STREAM_MAIN, x->stream);
}

static spmm_status end(sp_exchange *x)
{
    stream_peer *const p = x->state;
    sp_peer_place place;
    spmm_status missed = SPMM_OK;
    TRY(sp_device_captures(sp_device_stream(SP_STREAM_MAIN), &p->captured));
    if (atomic_load(&p->board->broken))
        return sp_fail(SPMM_ERR_DEVICE, "the GPU failed in the middle of an earlier exchange of X");
    post(x, x->base);
    for (int i = 0; i < x->outs; i++) read_notice(x, &p->neighbor[p->target[i]], &p->shared.place[i]);
    for (int i = 0; i < x->ins; i++) {
        read_notice(x, &p->neighbor[p->source[i]], &place);
        p->comes[i] = place.at >= 0;
        if (!p->comes[i])
            missed = sp_fail(SPMM_ERR_MPI,
                             "rank %d wrote no rows of X: it failed, or one of us captured "
                             "the exchange in a CUDA graph and the other did not",
                             sp_exchange_rank_of(x, x->in[i].peer));
    }
    if (p->captured && !sp_peer_attached(x))
        return sp_fail(SPMM_ERR_USAGE,
                       "X of a neighbor has been in no product before the capture in a CUDA graph");
    p->queued |= !p->captured;
    const spmm_status status = queue(x);
    if (status != SPMM_OK) atomic_store(&p->board->broken, 1);
    return status != SPMM_OK ? status : missed;
}

static void skip(sp_exchange *x)
{
    ((stream_peer *)x->state)->captured = 0;
    post(x, NULL);
}

/** Sets the flags that a neighbor does not set, so that no stream waits for it any more. */
static spmm_status replace(const sp_exchange *x, const neighbor *g)
{
    const stream_peer *const p = x->state;
    TRY(sp_flag_set(flag_at(p->flags, g->rank, FREE), p->number));
    return sp_flag_set(flag_at(p->flags, g->rank, CAME), p->number);
}

/** Looks whether neighbors are broken, and replaces those that are. A rank that is broken itself replaces all
 *  of them, as they do not set flags for it any more. */
static spmm_status look_around(const sp_exchange *x)
{
    const stream_peer *const p = x->state;
    const int alone = atomic_load(&p->board->broken);
    spmm_status status = SPMM_OK;
    for (neighbor *g = p->neighbor; g < p->neighbor + p->count; g++) {
        if (g->lost || !(alone || atomic_load(&g->board->broken))) continue;
        g->lost = 1;
        TRY(replace(x, g));
        status = sp_fail(SPMM_ERR_MPI, "rank %d failed in the middle of an exchange of X",
                         sp_exchange_rank_of(x, g->rank));
    }
    return status;
}

static spmm_status settle(sp_exchange *x)
{
    stream_peer *const p = x->state;
    spmm_status status = SPMM_OK, lost = SPMM_OK;
    int done = 0;
    if (!p->queued) return SPMM_OK;
    for (int64_t times = 1; !done && status == SPMM_OK; times++) {
        status = sp_stream_done(x->stream, &done);
        if (done || status != SPMM_OK) break;
        const spmm_status seen = look_around(x);
        if (seen != SPMM_OK) lost = seen;
        rest(x, times);
    }
    p->queued = 0;
    if (status != SPMM_OK) atomic_store(&p->board->broken, 1);
    return status != SPMM_OK ? status : lost;
}

/* ---- trial ---- */

/** Waits until the stream is done, for some seconds. \return SPMM_OK, SPMM_ERR_DEVICE (also: it is not) */
static spmm_status wait_for_trial(const sp_exchange *x)
{
    const double start = MPI_Wtime();
    for (int64_t times = 1; MPI_Wtime() - start < TRIAL_SECONDS; times++) {
        int done;
        TRY(sp_stream_done(x->stream, &done));
        if (done) return SPMM_OK;
        rest(x, times);
    }
    return SPMM_ERR_DEVICE;
}

/** Makes an exchange of flags without rows, to see whether they arrive. */
static spmm_status try_flags(const sp_exchange *x)
{
    stream_peer *const p = x->state;
    post(x, NULL);
    for (int i = 0; i < x->outs; i++) p->shared.place[i].at = 0;
    for (int i = 0; i < x->ins; i++) p->comes[i] = 1;
    TRY(queue_flags(x, FREE));
    TRY(queue_flags(x, CAME));
    if (wait_for_trial(x) == SPMM_OK) return SPMM_OK;
    for (int i = 0; i < p->count; i++) TRY(replace(x, &p->neighbor[i]));
    return sp_fail(SPMM_ERR_DEVICE, "transport peer: flags that neighbors set do not arrive");
}

static spmm_status connect(sp_exchange *x)
{
    stream_handshake mine;
    void *all = NULL;
    memset(&mine, 0, sizeof mine);
    spmm_status status = prepare_handshake(x, &mine);
    TRY_GOTO(sp_peer_shake_hands(x, status, &mine, sizeof mine, &all), done);
    TRY_GOTO(sp_agree(x->grid->comm, "exchange", attach_all(x, all)), done);
    TRY_GOTO(sp_agree(x->grid->comm, "exchange", share_boards(x)), done);
    sp_peer_forget(x); /* detaches and frees the buffers that were attached as a test */
    TRY_GOTO(sp_peer_send_offsets(x), done);
    TRY_GOTO(sp_agree(x->grid->comm, "exchange", try_flags(x)), done);
done:
    sp_free(all);
    return status;
}

/* There is no `begin`: what the host queues for the exchange should not delay the kernels of the interior
 * rows. */
const sp_exchange_ops sp_exchange_peer_stream = {.end = end,
                                                 .settle = settle,
                                                 .create = create,
                                                 .destroy = destroy,
                                                 .connect = connect,
                                                 .skip = skip,
                                                 .set_rows = sp_peer_send_offsets,
                                                 .memory = &sp_peer_memory,
                                                 .most_bytes = INT64_MAX / 2,
                                                 .unpacked = 1,
                                                 .gaps = 1,
                                                 .queues = 1};
