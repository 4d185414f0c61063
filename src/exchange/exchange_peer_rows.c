/** The peer backend: registered buffers, and the writes of rows. */
#include "exchange/exchange_peer.h"

#include <stdlib.h>

#include "base/memory.h"

static int has_gaps(const sp_exchange *x) { return x->pitch > x->row_bytes; }

/** Returns 1 if a kernel moves not only scattered rows but also contiguous rows; 0 if the copy engines move
 *  contiguous rows. A kernel moves rows with gaps, because copy engines are slower for these while kernels
 *  run. A kernel also moves rows that are rounded, because copy engines cannot round. */
static int moves_by_kernel(const sp_exchange *x) { return has_gaps(x) || x->options.rounded; }

/* ---- registered buffers ---- */

/** Returns the number of the registered buffer that contains address `row`; -1: none does. */
static int buffer_of(const sp_peer *p, const char *row)
{
    for (int r = 0; r < p->buffers; r++)
        if (row >= p->buffer[r].memory && row < p->buffer[r].memory + p->buffer[r].bytes) return r;
    return -1;
}

static int takes(const sp_exchange *x, const void *row) { return buffer_of(x->state, row) >= 0; }

static spmm_status add_buffer(sp_peer *p, int64_t bytes, void **memory)
{
    sp_peer_buffer one = {.bytes = bytes > SP_SHARED_BYTES ? bytes : SP_SHARED_BYTES};
    sp_peer_buffer *const more = realloc(p->buffer, (size_t)(p->buffers + 1) * sizeof *more);
    if (!more) return sp_fail(SPMM_ERR_MEMORY, "cannot allocate the list of X's that neighbors write to");
    p->buffer = more;
    TRY(sp_device_alloc_exchanged(memory, one.bytes, "X"));
    const spmm_status shared = sp_device_share(*memory, &one.shared);
    if (shared != SPMM_OK) {
        sp_device_free(*memory);
        *memory = NULL;
        return shared;
    }
    one.memory = *memory;
    p->buffer[p->buffers++] = one;
    return SPMM_OK;
}

/** Allocates the buffer for arriving rows of f32, if there are such rows. It is large enough for all column
 *  blocks of the longest rows. */
static spmm_status add_arrivals(const sp_exchange *x)
{
    sp_peer *const p = x->state;
    const int64_t ghosts = x->moves->ghost_low + x->moves->ghost_high;
    if (!x->options.rounded || p->arrivals) return SPMM_OK;
    return add_buffer(p, ghosts * sp_wire_bytes(x, x->options.most_row_bytes), (void **)&p->arrivals);
}

static spmm_status alloc(sp_exchange *x, int64_t bytes, void **memory)
{
    sp_peer *const p = x->state;
    TRY(add_arrivals(x));
    for (int r = 0; r < p->buffers; r++)
        if (p->buffer[r].bytes >= bytes && sp_device_reuse(p->buffer[r].memory)) {
            *memory = p->buffer[r].memory;
            return SPMM_OK;
        }
    return add_buffer(p, bytes, memory);
}

/** Sets *mapped to this rank's mapping of the buffer that contains target g's X. Attaches the buffer if it
 *  has not been attached before. */
static spmm_status attach(sp_peer_remote *g, const sp_peer_place *i, void **mapped)
{
    *mapped = NULL;
    if (i->buffer >= g->buffers) {
        void **const more = realloc(g->buffer, (size_t)(i->buffer + 1) * sizeof *more);
        if (!more) return sp_fail(SPMM_ERR_MEMORY, "cannot allocate the list of a neighbor's buffers of X");
        for (int r = g->buffers; r <= i->buffer; r++) more[r] = NULL;
        g->buffer = more;
        g->buffers = (int)i->buffer + 1;
    }
    if (!g->buffer[i->buffer]) TRY(sp_device_attach(&i->shared, &g->buffer[i->buffer]));
    *mapped = g->buffer[i->buffer];
    return SPMM_OK;
}

spmm_status sp_peer_shake_hands(sp_exchange *x, spmm_status prepared, const void *mine, int bytes, void **all)
{
    sp_peer *const p = x->state;
    spmm_status status = prepared;
    if (status == SPMM_OK) status = sp_alloc(all, x->grid->dims[0], (size_t)bytes, "what neighbors say");
    TRY(sp_agree(x->grid->comm, "exchange", status));
    TRY(SP_MPI(MPI_Allgather(mine, bytes, MPI_BYTE, *all, bytes, MPI_BYTE, x->comm)));
    p->connected = 1;
    return SPMM_OK;
}

void sp_peer_forget(sp_exchange *x)
{
    sp_peer *const p = x->state;
    for (int i = 0; p->remote && i < x->outs; i++) {
        for (int r = 0; r < p->remote[i].buffers; r++) sp_device_detach(p->remote[i].buffer[r]);
        free(p->remote[i].buffer);
        p->remote[i].buffer = NULL;
        p->remote[i].buffers = 0;
    }
    sp_device_free(p->arrivals);
    p->arrivals = NULL;
    /* after MPI_Finalize it is unknown whether neighbors have detached the buffers, so they stay allocated
     * until the process ends */
    const int runs = sp_mpi_runs();
    if (p->connected && runs) MPI_Barrier(x->comm);
    for (int r = 0; runs && r < p->buffers; r++) sp_device_unshare(p->buffer[r].memory);
    free(p->buffer);
    p->buffer = NULL;
    p->buffers = 0;
}

const sp_exchange_memory sp_peer_memory = {.alloc = alloc, .takes = takes, .forget = sp_peer_forget};

const char *sp_peer_arrival(sp_exchange *x)
{
    sp_peer *const p = x->state;
    if (!x->options.rounded) return x->base;
    const int64_t ghosts = x->moves->ghost_low + x->moves->ghost_high;
    p->part = (p->part + 1) % (x->pitch / x->row_bytes);
    x->received = p->arrivals + p->part * ghosts * x->wire_bytes;
    return x->received;
}

void sp_peer_place_of(const sp_exchange *x, const char *base, sp_peer_place *place)
{
    const sp_peer *const p = x->state;
    const int at = base ? buffer_of(p, base) : -1;
    place->at = at < 0 ? -1 : base - p->buffer[at].memory;
    place->buffer = at;
    if (at >= 0) place->shared = p->buffer[at].shared;
}

/* ---- set-up ---- */

/** Orders the targets by (target's rank xor this rank), so that at each step the ranks form pairs that write
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

spmm_status sp_peer_create(sp_exchange *x, size_t bytes)
{
    static const char what[] = "an exchange";
    const int outs = x->outs;
    TRY(sp_alloc_zero(&x->state, 1, bytes, what));
    sp_peer *const p = x->state;
    TRY(sp_alloc_zero((void **)&p->remote, outs, sizeof *p->remote, what));
    TRY(sp_alloc_zero((void **)&p->place, outs, sizeof *p->place, what));
    TRY(sp_alloc_zero((void **)&p->to, outs, sizeof(char *), what));
    TRY(sp_alloc_zero((void **)&p->push, outs, sizeof *p->push, what));
    TRY(sp_alloc_zero((void **)&p->order, outs, sizeof *p->order, what));
    find_order(x, p->order);
    return SPMM_OK;
}

void sp_peer_destroy(sp_exchange *x)
{
    sp_peer *const p = x->state;
    sp_peer_forget(x);
    sp_free(p->remote);
    sp_free(p->place);
    sp_free(p->to);
    sp_free(p->push);
    sp_free(p->order);
    sp_free(p);
    x->state = NULL;
}

spmm_status sp_peer_check_node(const sp_exchange *x)
{
    int rank, size;
    TRY(sp_node_rank(x->comm, &rank, &size));
    if (size == x->grid->dims[0]) return SPMM_OK;
    return sp_fail(SPMM_ERR_DEVICE,
                   "transport peer: the ranks of a process column are on several nodes, expected one node");
}

spmm_status sp_peer_make_trial(sp_exchange *x, sp_shared *trial)
{
    sp_peer *const p = x->state;
    void *memory = NULL;
    TRY(add_buffer(p, 0, &memory));
    sp_device_free(memory); /* shared memory is only marked as freed; sp_peer_forget() frees it */
    *trial = p->buffer[0].shared;
    return SPMM_OK;
}

spmm_status sp_peer_attach_trial(const sp_exchange *x, int i, const sp_shared *trial)
{
    sp_peer *const p = x->state;
    const sp_peer_place place = {.shared = *trial};
    void *mapped;
    return attach(&p->remote[i], &place, &mapped);
}

spmm_status sp_peer_send_offsets(sp_exchange *x)
{
    const sp_peer *const p = x->state;
    for (int i = 0; i < x->outs; i++)
        TRY(SP_MPI(MPI_Irecv(&p->remote[i].offset, 1, MPI_INT64_T, x->out[i].peer, SP_TAG_PEER_SETUP, x->comm,
                             &x->request[i])));
    for (int i = 0; i < x->ins; i++)
        TRY(SP_MPI(MPI_Isend(&x->in[i].at, 1, MPI_INT64_T, x->in[i].peer, SP_TAG_PEER_SETUP, x->comm,
                             &x->request[x->outs + i])));
    return sp_wait(x->request, x->ins + x->outs);
}

/* ---- writes ---- */

int sp_peer_attached(const sp_exchange *x)
{
    const sp_peer *const p = x->state;
    for (int i = 0; i < x->outs; i++) {
        const sp_peer_remote *const g = &p->remote[i];
        const int64_t buffer = p->place[i].buffer;
        if (p->place[i].at >= 0 && (buffer >= g->buffers || !g->buffer[buffer])) return 0;
    }
    return 1;
}

/** Computes p->to: for each target, the address at which this rank writes the target's rows; NULL if the
 *  target failed. */
static spmm_status find_destinations(const sp_exchange *x)
{
    sp_peer *const p = x->state;
    for (int i = 0; i < x->outs; i++) {
        void *mapped;
        p->to[i] = NULL;
        if (p->place[i].at < 0) continue; /* the target failed */
        TRY(attach(&p->remote[i], &p->place[i], &mapped));
        p->to[i] = (char *)mapped + p->place[i].at + p->remote[i].offset;
    }
    return SPMM_OK;
}

static const char *own_rows(const sp_exchange *x) { return x->base + x->moves->ghost_low * x->pitch; }

/** Queues copies of contiguous rows to the targets. Copy engines make them, so that the multiprocessors stay
 *  free for the kernels. */
static spmm_status copy_runs(const sp_exchange *x)
{
    const sp_peer *const p = x->state;
    for (int n = 0; n < x->outs; n++) {
        const int i = p->order[n];
        const sp_target *const t = &x->moves->target[i];
        if (t->packed || !p->to[i]) continue;
        TRY(sp_stream_copy_2d(p->to[i], x->pitch, own_rows(x) + t->first * x->pitch, x->pitch, x->row_bytes,
                              t->rows, x->stream));
    }
    return SPMM_OK;
}

/** Queues a kernel that writes scattered rows to the targets; if moves_by_kernel(x), it also writes
 *  contiguous rows. */
static spmm_status push_rows(const sp_exchange *x)
{
    sp_peer *const p = x->state;
    int count = 0;
    for (int i = 0; i < x->outs; i++) {
        const sp_target *const t = &x->moves->target[i];
        if (!p->to[i] || !(t->packed || moves_by_kernel(x))) continue;
        p->push[count++] = (sp_push){t->packed ? x->list + t->first : NULL, t->packed ? 0 : t->first, t->rows,
                                     p->to[i]};
    }
    if (count == 0) return SPMM_OK;
    return (x->options.rounded ? sp_cuda_push_rounded : sp_cuda_push)(
        own_rows(x), x->pitch, x->row_bytes, p->push, count, !x->beside, sp_device_stream(x->stream));
}

spmm_status sp_peer_write_rows(const sp_exchange *x)
{
    TRY(find_destinations(x));
    TRY(push_rows(x));
    return moves_by_kernel(x) ? SPMM_OK : copy_runs(x);
}

/** The stream of the kernels widens the rows of a column block, while the rows of the next block arrive.
 *  Without column blocks that stream may be busy with interior rows, so the stream of the exchange widens. */
spmm_status sp_peer_join(const sp_exchange *x)
{
    if (!has_gaps(x)) TRY(sp_exchange_widen(x, x->stream));
    TRY(sp_stream_wait(SP_STREAM_MAIN, x->stream));
    return has_gaps(x) ? sp_exchange_widen(x, SP_STREAM_MAIN) : SPMM_OK;
}
