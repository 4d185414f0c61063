/** Exchange backend that writes rows directly into the neighbors' X in GPU memory (CUDA IPC). The writes go
 *  over NVLink if the GPUs are connected by it. All ranks of a process column must be on one node. The
 *  owner of a row writes it into the X of each rank that needs it, without packing and without a receive
 *  (exchange_peer_rows.c).
 *
 *  Exchanges are numbered. In each exchange, each host publishes the place of its X, and whether the rank
 *  has failed, in a notice in memory that the hosts share. A host that queues an exchange waits until its
 *  neighbors have posted their notices. Then the writes are ordered in one of two ways.
 *
 *  By the hosts (peer): the owner queues its writes and an event, and says so on its board. Only then does
 *  the rank that needs the rows queue a wait for the event. So no kernel ever waits for another GPU.
 *
 *  By the GPUs' streams (peer_stream), for products in a caller's stream: for each neighbor a rank has two
 *  flags in its GPU's memory. The neighbor's stream sets them to the number of an exchange
 *  (sp_stream_flags()): `came` after the neighbor's writes of rows, and `free` after the neighbor's kernels
 *  have read their ghost rows of the previous exchange. In the stream of the exchange, exchange n has these
 *  operations: set `free` at the sources to n; wait until each target's `free` has reached n; write the
 *  rows; set `came` at the targets to n; wait until each source's `came` has reached n. A stream waits only
 *  for operations that other ranks queue before their own waits of the same exchange. So the waits cannot
 *  deadlock, in whatever order the GPUs schedule their streams, and no kernel waits. A host never waits if
 *  ranks are in step.
 *
 *  A rank that fails later, during an exchange by streams, can no longer set its flags. It marks its board
 *  as broken. The hosts of the ranks whose streams wait for it check the boards in settle(), and set its
 *  flags. This order is not available if ranks share a GPU, before CUDA 12, or if a trial exchange of flags
 *  at set-up takes more than TRIAL_SECONDS.
 *
 *  Rows that travel as f32 are written into a separate buffer, from which the receiver widens them into its
 *  X.
 *
 *  An X to which other ranks write is in a registered buffer, i.e. in GPU memory that its owner shares. The
 *  other ranks attach it when a notice first names it; the owner frees it only after they have detached it.
 */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "exchange/exchange_peer.h"

/* NOTICES: maximum number of exchanges by which a rank can be ahead of its neighbors; a power of two, because
 * numbers wrap around.
 * FLAG_BYTES: distance in memory between flags, because several GPUs write them.
 * SPINS: number of times that a host polls before it yields its core. */
enum { NOTICES = 8, FLAG_BYTES = 64, SPINS = 200 };
enum { TRIAL_SECONDS = 5 };

/* The number before the first exchange. It is chosen so that numbers wrap around after a few exchanges, which
 * tests the wrap-around in every longer run. */
static const uint32_t START = UINT32_MAX - 20;

/** The data that a rank publishes for its neighbors, in memory that the hosts share. */
typedef struct board {
    _Alignas(64) _Atomic uint32_t posted; /* number of the rank's last notice */
    _Atomic uint32_t written;             /* number of the last exchange whose writes are queued, or failed */
    _Atomic int broken;            /* 1: the rank failed during an exchange, and takes part in no more */
    sp_peer_place notice[NOTICES]; /* exchange n uses notice[n % NOTICES]; `at` is -1: the rank failed */
    int wrote[NOTICES];            /* indexed as notice; 1: the rank's writes are queued, 0: they failed */
} board;

/* The flags of exchanges that are captured in a CUDA graph have no numbers, because each launch of the graph
 * repeats the same operations. A flag is set to 1. The rank that has waited for it sets it back to 0 before
 * it sets the flag for which its neighbor waits. */
enum flag_kind { CAME, FREE, CAPTURED_CAME, CAPTURED_FREE, FLAG_KINDS };

/** A neighbor: a source, a target, or both. */
typedef struct neighbor {
    int rank; /* rank in x->comm */
    board *board;
    uint32_t *flags; /* the neighbor's flags, in its GPU's memory, attached */
    int lost;        /* 1: the neighbor or this rank is broken, so this rank has set the flags that the
                        neighbor would have set, see look_around() */
} neighbor;

typedef struct peer {
    sp_peer shared;
    sp_node_memory boards;
    board *board;    /* this rank's board */
    uint32_t *flags; /* this rank's flags, in its GPU's memory: [ranks of the process column][FLAG_KINDS] */
    int flags_shared;
    sp_event *written; /* recorded after this rank's writes of an exchange */
    sp_event **came;   /* [ins] the event `written` of each source, attached */
    uint32_t number;   /* number of the last exchange */
    int queued;        /* 1: streams may wait for flags of exchanges up to `number` */
    int count;
    neighbor *neighbor;   /* [count] */
    int *source, *target; /* [ins], [outs]: indices of neighbors */
    int *comes;           /* [ins] 1: the source takes part in this exchange */
    sp_flag_op *op;       /* [2 (ins + outs)] */
    int captured;         /* 1: this exchange is being captured */
} peer;

static int by_streams(const sp_exchange *x) { return x->ops->queues; }

/** Returns 1 if `count` has reached `number`; both wrap around. */
static int reached(uint32_t count, uint32_t number) { return (int32_t)(count - number) >= 0; }

/** Returns the flag of the given kind that rank `of` sets, in an array of flags of any rank. */
static uint32_t *flag_at(uint32_t *flags, int of, enum flag_kind kind)
{
    return flags + ((int64_t)of * FLAG_KINDS + kind) * (FLAG_BYTES / (int64_t)sizeof *flags);
}

/* ---- set-up ---- */

static void exchange_peer_destroy(sp_exchange *x)
{
    peer *const p = x->state;
    if (!p) return;
    for (int i = 0; p->neighbor && i < p->count; i++) sp_device_detach(p->neighbor[i].flags);
    for (int i = 0; p->came && i < x->ins; i++) sp_event_destroy(p->came[i]);
    sp_peer_forget(x);
    p->shared.connected = 0;
    if (p->flags_shared && sp_mpi_runs()) sp_device_unshare(p->flags);
    sp_device_free(p->flags);
    sp_event_destroy(p->written); /* must exist until all ranks have detached it */
    sp_node_memory_destroy(&p->boards);
    sp_free(p->came);
    sp_free(p->neighbor);
    sp_free(p->source);
    sp_free(p->target);
    sp_free(p->comes);
    sp_free(p->op);
    sp_peer_destroy(x);
}

/** Returns the index of the neighbor with the given rank; adds the neighbor if it is new. */
static int neighbor_of(peer *p, int rank)
{
    for (int i = 0; i < p->count; i++)
        if (p->neighbor[i].rank == rank) return i;
    p->neighbor[p->count].rank = rank;
    return p->count++;
}

static spmm_status exchange_peer_create(sp_exchange *x)
{
    static const char what[] = "an exchange";
    const int ins = x->ins, outs = x->outs;
    TRY(sp_peer_create(x, sizeof(peer)));
    peer *const p = x->state;
    p->number = START;
    TRY(sp_alloc_zero((void **)&p->neighbor, ins + outs, sizeof *p->neighbor, what));
    TRY(sp_alloc_zero((void **)&p->source, ins, sizeof *p->source, what));
    TRY(sp_alloc_zero((void **)&p->target, outs, sizeof *p->target, what));
    TRY(sp_alloc_zero((void **)&p->came, ins, sizeof(sp_event *), what));
    TRY(sp_alloc_zero((void **)&p->comes, ins, sizeof *p->comes, what));
    TRY(sp_alloc_zero((void **)&p->op, 2 * ((int64_t)ins + outs), sizeof *p->op, what));
    for (int i = 0; i < ins; i++) p->source[i] = neighbor_of(p, x->in[i].peer);
    for (int i = 0; i < outs; i++) p->target[i] = neighbor_of(p, x->out[i].peer);
    return SPMM_OK;
}

/** The data that each rank sends to all others of its process column at set-up. */
typedef struct handshake {
    sp_shared trial;        /* handle of a registered buffer that the other ranks attach as a test */
    sp_shared flags, event; /* handle of the sender's flags, if streams order the writes, or of `written` */
} handshake;

/** Checks that no other rank of the node uses this rank's GPU. CUDA does not guarantee that a GPU on which
 *  one process waits makes progress on the work of another process. */
static spmm_status check_alone(const sp_exchange *x)
{
    sp_device_info info;
    int place, sharers;
    const spmm_status known = sp_device_current(&info);
    TRY(sp_node_sharers(x->grid->comm, info.pci, &place, &sharers));
    TRY(known);
    return sharers == 1 ? SPMM_OK
                        : sp_fail(SPMM_ERR_DEVICE,
                                  "transport peer: ranks share %s, expected one GPU per rank", info.name);
}

static spmm_status make_flags(const sp_exchange *x, sp_shared *shared)
{
    peer *const p = x->state;
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

/** Creates the buffers and flags whose handles the handshake contains. Collective over the grid. */
static spmm_status prepare_handshake(sp_exchange *x, handshake *mine)
{
    peer *const p = x->state;
    const spmm_status node = sp_peer_check_node(x), alone = by_streams(x) ? check_alone(x) : SPMM_OK;
    TRY(node);
    TRY(alone);
    TRY(sp_peer_make_trial(x, &mine->trial));
    return by_streams(x) ? make_flags(x, &mine->flags) : sp_event_create_shared(&p->written, &mine->event);
}

static spmm_status attach_all(const sp_exchange *x, const handshake *all)
{
    peer *const p = x->state;
    for (int i = 0; i < x->outs; i++) TRY(sp_peer_attach_trial(x, i, &all[x->out[i].peer].trial));
    for (int i = 0; i < x->ins && !by_streams(x); i++)
        TRY(sp_event_attach(&all[x->in[i].peer].event, &p->came[i]));
    for (neighbor *g = p->neighbor; g < p->neighbor + p->count && by_streams(x); g++) {
        void *mapped;
        TRY(sp_device_attach(&all[g->rank].flags, &mapped));
        g->flags = mapped;
    }
    return SPMM_OK;
}

/** Allocates the boards. Collective over the process column. */
static spmm_status share_boards(sp_exchange *x)
{
    peer *const p = x->state;
    TRY(sp_node_memory_create(x->comm, sizeof(board), &p->boards));
    p->board = sp_node_memory_of(&p->boards, x->grid->coords[0]);
    for (neighbor *g = p->neighbor; g < p->neighbor + p->count; g++) {
        g->board = sp_node_memory_of(&p->boards, g->rank);
        if (!g->board) return sp_fail(SPMM_ERR_MPI, "cannot find a rank's part of the node's shared memory");
    }
    if (!p->board) return sp_fail(SPMM_ERR_MPI, "cannot find a rank's part of the node's shared memory");
    atomic_store(&p->board->posted, START);
    atomic_store(&p->board->written, START);
    return SPMM_OK;
}

/* ---- the host's waiting ---- */

/** Called each time the host has polled without success: lets MPI make progress, so that the failure of
 *  another rank is detected. \param [in] times number of polls so far */
static void rest(const sp_exchange *x, int64_t times)
{
    int there;
    if (times % SPINS != 0) return;
    MPI_Iprobe(MPI_ANY_SOURCE, SP_TAG_PEER_SETUP, x->comm, &there, MPI_STATUS_IGNORE);
    sched_yield();
}

/** Waits until a number on a neighbor's board, `posted` or `written`, has reached `number`.
 *  \return 1; 0: it will not, because the neighbor failed during an exchange */
static int wait_for(const sp_exchange *x, const neighbor *g, _Atomic uint32_t *on_board, uint32_t number)
{
    for (int64_t times = 1;; times++) {
        if (atomic_load(&g->board->broken)) return 0;
        if (reached(atomic_load_explicit(on_board, memory_order_acquire), number)) return 1;
        rest(x, times);
    }
}

/** Posts this rank's notice of the next exchange.
 *  \param [in] base  sp_peer_arrival(); NULL: this rank failed */
static void post(const sp_exchange *x, const char *base)
{
    peer *const p = x->state;
    const uint32_t number = ++p->number;
    /* The new notice overwrites the notice of exchange `number - NOTICES`. A neighbor that has posted its
     * notice of exchange `number - NOTICES + 1` has read the old notice. */
    for (const neighbor *g = p->neighbor; g < p->neighbor + p->count; g++)
        (void)wait_for(x, g, &g->board->posted, number - NOTICES + 1);
    sp_peer_place_of(x, base, &p->board->notice[number % NOTICES]);
    p->board->notice[number % NOTICES].captured = p->captured;
    atomic_store_explicit(&p->board->posted, number, memory_order_release);
}

/** Reads a neighbor's notice of this exchange. Sets `at` to -1 if the neighbor failed, or if only one of the
 *  two ranks captures the exchange. */
static void read_notice(const sp_exchange *x, const neighbor *g, sp_peer_place *place)
{
    const peer *const p = x->state;
    place->at = -1;
    if (!wait_for(x, g, &g->board->posted, p->number)) return;
    *place = g->board->notice[p->number % NOTICES];
    if (place->captured != p->captured) place->at = -1;
}

/* ---- exchanges ---- */

/** Queues operations on flags of one kind, CAME or FREE, for this exchange: sets the flags of neighbors, then
 *  waits for this rank's flags. In a captured exchange, also sets this rank's flags back to 0. */
static spmm_status queue_flags(const sp_exchange *x, enum flag_kind kind)
{
    const peer *const p = x->state;
    const enum flag_kind flag = !p->captured ? kind : kind == CAME ? CAPTURED_CAME : CAPTURED_FREE;
    const uint32_t value = p->captured ? 1 : p->number;
    sp_flag_op *op = p->op;
    for (int step = 0; step < (p->captured ? 3 : 2); step++) {
        /* CAME is set at targets and awaited from sources; FREE is set at sources and awaited from targets */
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

static spmm_status write_by_streams(const sp_exchange *x)
{
    TRY(queue_flags(x, FREE));
    TRY(sp_peer_write_rows(x));
    return queue_flags(x, CAME);
}

/** Queues the writes, tells the targets, and queues waits for the writes of the sources that made any; sets
 *  p->comes of the others to 0. */
static spmm_status write_by_hosts(const sp_exchange *x)
{
    const peer *const p = x->state;
    const int slot = p->number % NOTICES;
    spmm_status status = sp_peer_write_rows(x);
    if (status == SPMM_OK) status = sp_event_record(p->written, x->stream);
    p->board->wrote[slot] = status == SPMM_OK;
    atomic_store_explicit(&p->board->written, p->number, memory_order_release);
    for (int i = 0; i < x->ins; i++) {
        const neighbor *const g = &p->neighbor[p->source[i]];
        p->comes[i] = p->comes[i] && wait_for(x, g, &g->board->written, p->number) && g->board->wrote[slot];
    }
    for (int i = 0; i < x->ins && status == SPMM_OK; i++)
        if (p->comes[i]) status = sp_stream_wait_event(p->came[i], x->stream);
    return status;
}

static spmm_status exchange_peer_end(sp_exchange *x)
{
    peer *const p = x->state;
    sp_peer_place place;
    if (by_streams(x)) TRY(sp_device_captures(sp_device_stream(SP_STREAM_MAIN), &p->captured));
    if (atomic_load(&p->board->broken))
        return sp_fail(SPMM_ERR_DEVICE, "the GPU failed during an earlier exchange of X");
    post(x, sp_peer_arrival(x));
    for (int i = 0; i < x->outs; i++) read_notice(x, &p->neighbor[p->target[i]], &p->shared.place[i]);
    for (int i = 0; i < x->ins; i++) {
        read_notice(x, &p->neighbor[p->source[i]], &place);
        p->comes[i] = place.at >= 0;
    }
    if (p->captured && !sp_peer_attached(x))
        return sp_fail(
            SPMM_ERR_USAGE,
            "the stream is being captured in a CUDA graph, expected a product with the same x on every "
            "rank before the capture");
    p->queued |= by_streams(x) && !p->captured;
    spmm_status status = by_streams(x) ? write_by_streams(x) : write_by_hosts(x);
    if (status == SPMM_OK) status = sp_peer_join(x);
    if (status != SPMM_OK) {
        if (by_streams(x)) atomic_store(&p->board->broken, 1);
        return status;
    }
    for (int i = 0; i < x->ins; i++)
        if (!p->comes[i])
            status = sp_fail(
                SPMM_ERR_MPI, "rank %d wrote no rows of X: it failed%s",
                sp_exchange_rank_of(x, x->in[i].peer),
                by_streams(x) ? ", or only one of the two ranks captured the exchange in a CUDA graph" : "");
    return status;
}

static void exchange_peer_skip(sp_exchange *x)
{
    ((peer *)x->state)->captured = 0;
    post(x, NULL);
}

/** Sets the flags that a broken neighbor would have set, so that no stream waits for it any more. */
static spmm_status replace(const sp_exchange *x, const neighbor *g)
{
    const peer *const p = x->state;
    TRY(sp_flag_set(flag_at(p->flags, g->rank, FREE), p->number));
    return sp_flag_set(flag_at(p->flags, g->rank, CAME), p->number);
}

/** Checks whether neighbors are broken, and sets their flags. A rank that is broken itself sets the flags of
 *  all its neighbors, because they no longer set flags for it. */
static spmm_status look_around(const sp_exchange *x)
{
    const peer *const p = x->state;
    const int alone = atomic_load(&p->board->broken);
    spmm_status status = SPMM_OK;
    for (neighbor *g = p->neighbor; g < p->neighbor + p->count; g++) {
        if (g->lost || !(alone || atomic_load(&g->board->broken))) continue;
        g->lost = 1;
        TRY(replace(x, g));
        status = sp_fail(SPMM_ERR_MPI, "rank %d failed during an exchange of X",
                         sp_exchange_rank_of(x, g->rank));
    }
    return status;
}

static spmm_status settle(sp_exchange *x)
{
    peer *const p = x->state;
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

/** Waits up to TRIAL_SECONDS until the stream is done. \return SPMM_OK, SPMM_ERR_DEVICE (also: it is not done
 *  in time) */
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

/** Runs an exchange of flags without rows, to test whether they arrive. */
static spmm_status try_flags(const sp_exchange *x)
{
    peer *const p = x->state;
    post(x, NULL);
    for (int i = 0; i < x->outs; i++) p->shared.place[i].at = 0;
    for (int i = 0; i < x->ins; i++) p->comes[i] = 1;
    TRY(queue_flags(x, FREE));
    TRY(queue_flags(x, CAME));
    if (wait_for_trial(x) == SPMM_OK) return SPMM_OK;
    for (int i = 0; i < p->count; i++) TRY(replace(x, &p->neighbor[i]));
    return sp_fail(SPMM_ERR_DEVICE, "transport peer: flags that neighbors set in GPU memory do not arrive");
}

static spmm_status exchange_peer_connect(sp_exchange *x)
{
    handshake mine;
    void *all = NULL;
    memset(&mine, 0, sizeof mine);
    spmm_status status = prepare_handshake(x, &mine);
    TRY_GOTO(sp_peer_shake_hands(x, status, &mine, sizeof mine, &all), done);
    TRY_GOTO(sp_agree(x->grid->comm, "exchange", attach_all(x, all)), done);
    TRY_GOTO(sp_agree(x->grid->comm, "exchange", share_boards(x)), done);
    sp_peer_forget(x); /* detaches and frees the buffers that were attached as a test */
    TRY_GOTO(sp_peer_send_offsets(x), done);
    if (by_streams(x)) TRY_GOTO(sp_agree(x->grid->comm, "exchange", try_flags(x)), done);
done:
    sp_free(all);
    return status;
}

/* There is no `begin`, because the kernels of the interior rows should not wait while the host queues the
 * exchange. */
#define BOTH                                                                                        \
    .end = exchange_peer_end, .create = exchange_peer_create, .destroy = exchange_peer_destroy,     \
    .connect = exchange_peer_connect, .skip = exchange_peer_skip, .set_rows = sp_peer_send_offsets, \
    .memory = &sp_peer_memory, .most_bytes = INT64_MAX / 2, .unpacked = 1, .gaps = 1
const sp_exchange_ops sp_exchange_peer = {BOTH, .alone = 1};
const sp_exchange_ops sp_exchange_peer_stream = {BOTH, .settle = settle, .queues = 1};
