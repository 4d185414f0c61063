/** Creates exchanges of ghost rows and chooses their backend. */
#include "exchange/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "base/words.h"
#include "comm/nccl.h"
#include "device/device.h"
#include "device/device_ops.h"
#include "distribute/node_rows.h"
#include "exchange/exchange_backend.h"

/* ---- message lists ---- */

/** Returns the number of messages, of at most `most` bytes each, needed to send `bytes` bytes. */
static int64_t pieces(int64_t bytes, int64_t most) { return (bytes + most - 1) / most; }

/** Splits message m into messages of at most `most` bytes, and appends these to list[*count]. */
static void cut(sp_message m, int64_t most, sp_message *list, int *count)
{
    for (int64_t left = m.bytes; left > 0; left -= most) {
        sp_message piece = m;
        piece.bytes = left < most ? left : most;
        list[(*count)++] = piece;
        m.at += piece.bytes;
        m.stage += piece.bytes;
    }
}

static void list_messages(sp_exchange *x, int64_t most)
{
    const sp_halo *const h = x->halo;
    int64_t stage = 0;
    for (int i = 0; i < h->sources; i++) {
        const sp_halo_recv *const s = &h->source[i];
        const sp_message m = {s->rank, 0, s->first * x->pitch, stage, s->rows * x->row_bytes};
        cut(m, most, x->in, &x->ins);
        stage += m.bytes;
    }
    stage = 0;
    for (int i = 0; i < h->targets; i++) {
        const sp_halo_send *const t = &h->target[i];
        const sp_message m = {t->rank, t->packed,
                              t->packed ? t->first * x->row_bytes : (t->first + h->ghost_low) * x->pitch,
                              stage, t->rows * x->row_bytes};
        cut(m, most, x->out, &x->outs);
        stage += m.bytes;
    }
}

static spmm_status create_lists(sp_exchange *x, int64_t most)
{
    const sp_halo *const h = x->halo;
    int64_t ins = 0, outs = 0;
    for (int i = 0; i < h->sources; i++) ins += pieces(h->source[i].rows * x->row_bytes, most);
    for (int i = 0; i < h->targets; i++) outs += pieces(h->target[i].rows * x->row_bytes, most);
    if (ins + outs > INT32_MAX)
        return sp_fail(SPMM_ERR_LIMIT, "%lld messages an exchange", (long long)ins + (long long)outs);
    TRY(sp_alloc((void **)&x->in, ins, sizeof *x->in, "the exchange's messages"));
    TRY(sp_alloc((void **)&x->out, outs, sizeof *x->out, "the exchange's messages"));
    TRY(sp_alloc((void **)&x->request, ins + outs, sizeof(MPI_Request), "the exchange's requests"));
    TRY(sp_alloc((void **)&x->status, ins + outs, sizeof *x->status, "the exchange's requests"));
    TRY(sp_alloc((void **)&x->done, ins, sizeof *x->done, "the exchange's requests"));
    list_messages(x, most);
    return SPMM_OK;
}

/* ---- packing ---- */

static void pack_on_host(const sp_exchange *x)
{
    enum { ALONE = 1 << 16 }; /* up to so many bytes, one thread packs alone: faster than waking others */
    const int64_t row_bytes = x->row_bytes, rows = x->halo->packed;
    const char *const own = x->base + x->halo->ghost_low * row_bytes;
#pragma omp parallel for schedule(static) num_threads(x->options.threads) if (rows * row_bytes > ALONE)
    for (int64_t i = 0; i < rows; i++)
        memcpy(x->send + i * row_bytes, own + x->halo->list[i] * row_bytes, (size_t)row_bytes);
}

spmm_status sp_exchange_pack(const sp_exchange *x)
{
    if (x->space == SPMM_CPU) {
        pack_on_host(x);
        return SPMM_OK;
    }
    if (x->halo->packed == 0) return SPMM_OK;
    return sp_cuda_pack(x->base + x->halo->ghost_low * x->row_bytes, x->row_bytes, x->list, x->halo->packed,
                        x->send, sp_device_stream(SP_STREAM_MOVE));
}

char *sp_message_data(const sp_exchange *x, const sp_message *m)
{
    return (m->packed ? x->send : x->base) + m->at;
}

spmm_status sp_exchange_check(const sp_exchange *x, const MPI_Status *status, const sp_message *m)
{
    int bytes = 0;
    TRY(SP_MPI(MPI_Get_count(status, MPI_BYTE, &bytes)));
    if (bytes == m->bytes) return SPMM_OK;
    return sp_fail(SPMM_ERR_MPI, "rank %d sent %d bytes of X instead of %lld: it failed",
                   sp_exchange_rank_of(x, m->peer), bytes, (long long)m->bytes);
}

int sp_exchange_rank_of(const sp_exchange *x, int peer)
{
    MPI_Group column, grid;
    int rank = peer;
    MPI_Comm_group(x->comm, &column);
    MPI_Comm_group(x->grid->comm, &grid);
    MPI_Group_translate_ranks(column, 1, &peer, grid, &rank);
    MPI_Group_free(&column);
    MPI_Group_free(&grid);
    return rank;
}

void sp_exchange_give_up(sp_exchange *x)
{
    for (int i = 0; i < x->outs; i++)
        MPI_Isend(NULL, 0, MPI_BYTE, x->out[i].peer, SP_TAG_ROWS, x->comm, &x->request[x->ins + i]);
    (void)sp_wait(x->request, x->ins + x->outs);
}

/* ---- choice of the backend ---- */

typedef struct backend {
    const char *name;
    spmm_device space;
    spmm_transport transport;
    const sp_exchange_ops *ops;
    sp_backend_use use;
} backend;

#define ROW(space, transport, name, use) {#name, space, transport, &sp_exchange_##name, use},
static const backend backends[] = {SP_EXCHANGE_BACKENDS(ROW)};
#undef ROW

enum { BACKENDS = sizeof backends / sizeof *backends };

/** Returns 1 if backend b moves an X in memory `space` by the transport, or by any if the transport is
 *  SPMM_TRANSPORT_AUTO. */
static int moves(const backend *b, spmm_transport transport, spmm_device space)
{
    return b->space == space && (transport == SPMM_TRANSPORT_AUTO || b->transport == transport);
}

/** Returns the last backend of the table that moves such an X, also without a caller's stream, and in *count how many move it;
 *  NULL if none. */
static const backend *last_backend(spmm_transport transport, spmm_device space, int *count)
{
    const backend *last = NULL;
    *count = 0;
    for (const backend *b = backends; b < backends + BACKENDS; b++) {
        if (!moves(b, transport, space)) continue;
        if (b->use != SP_USE_QUEUED) last = b;
        ++*count;
    }
    return last;
}

/** Finds the only backend that SPMM_EXCHANGE_BACKEND leaves, and whether it lets rows be handed on. Collective over comm.
 *  \param [out] only  NULL: all of them
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (there is no such backend, or ranks have
 *          different ones), SPMM_ERR_MPI */
static spmm_status find_only(MPI_Comm comm, const backend **only, sp_relaying *relaying)
{
    const char *const text = getenv("SPMM_EXCHANGE_BACKEND");
    const int given = text && *text, relayed = given && strcmp(text, "relayed") == 0;
    int row = 0;
    *only = NULL;
    *relaying = relayed ? SP_RELAY_ALWAYS : given ? SP_RELAY_NEVER : SP_RELAY_FASTER;
    while (given && row < BACKENDS && strcmp(backends[row].name, text) != 0) row++;
    const int64_t number = relayed ? BACKENDS + 1 : given ? row : -1;
    TRY(sp_check_common(comm, "SPMM_EXCHANGE_BACKEND", &(sp_common){"its row", number, 0}, 1));
    if (number == BACKENDS)
        return sp_fail(SPMM_ERR_USAGE, "SPMM_EXCHANGE_BACKEND=%s: there is no such backend", SHOWN(text));
    if (number >= 0 && number < BACKENDS) *only = &backends[row];
    return SPMM_OK;
}

spmm_status sp_exchange_relaying(MPI_Comm comm, sp_relaying *relaying)
{
    const backend *only;
    return find_only(comm, &only, relaying);
}

const char *sp_transport_missing(spmm_transport transport, spmm_device space)
{
    int count;
    const backend *const b = last_backend(transport, space, &count);
    if (!b && space == SPMM_CUDA) return "it is for CPUs, and X is in GPU memory";
    if (!b) return "it is for GPUs, and X is in host memory";
    return transport != SPMM_TRANSPORT_AUTO && b->ops->missing ? b->ops->missing() : NULL;
}

spmm_status sp_transport_there(MPI_Comm comm, spmm_transport transport, spmm_device space, int *all,
                               const char **why)
{
    const char *const reason = sp_transport_missing(transport, space);
    if (why) *why = reason;
    return sp_all(comm, !reason, all);
}

/** Returns the maximum size of a message in bytes. */
static int64_t most_bytes(const sp_exchange_ops *ops)
{
    const int64_t chunk = sp_chunk_bytes();
    return ops->most_bytes > 0 && (!ops->by_mpi || ops->most_bytes < chunk) ? ops->most_bytes : chunk;
}

/** Allocates the buffer into which sp_exchange_skip() receives the messages that it drops. It is allocated in
 *  advance because a rank may fail for lack of memory. Its pages take no memory until they are first
 *  written. */
static spmm_status reserve_drop(sp_exchange *x)
{
    int64_t most = 1;
    for (int i = 0; i < x->ins; i++)
        if (x->in[i].bytes > most) most = x->in[i].bytes;
    return sp_alloc(&x->drop, most, 1, "rows to drop");
}

static spmm_status allocate(sp_exchange *x)
{
    const sp_halo *const h = x->halo;
    TRY(create_lists(x, most_bytes(x->ops)));
    if (!x->ops->skip || x->ops->by_mpi) TRY(reserve_drop(x));
    if (x->space == SPMM_CPU) {
        TRY(sp_alloc((void **)&x->send, h->packed, (size_t)x->row_bytes, "rows to send"));
        return x->ops->create ? x->ops->create(x) : SPMM_OK;
    }
    if (!x->ops->unpacked)
        TRY(sp_device_alloc_exchanged((void **)&x->send, h->packed * x->row_bytes, "rows to send"));
    TRY(sp_device_alloc((void **)&x->list, h->packed * (int64_t)sizeof *x->list, "the list of rows to send"));
    TRY(sp_device_upload(x->list, h->list, h->packed * (int64_t)sizeof *x->list));
    return x->ops->create ? x->ops->create(x) : SPMM_OK;
}

static spmm_status create(const sp_grid *grid, const sp_halo *halo, const sp_exchange_options *o,
                          const backend *b, sp_exchange **exchange)
{
    sp_exchange *x;
    *exchange = NULL;
    spmm_status status = sp_alloc_zero((void **)&x, 1, sizeof *x, "an exchange");
    if (status == SPMM_OK) {
        x->grid = grid;
        x->comm = grid->col_comm;
        x->halo = halo;
        x->ops = b->ops;
        x->row_bytes = o->row_bytes;
        x->pitch = x->ops->gaps && o->pitch > 0 ? o->pitch : o->row_bytes;
        x->space = b->space;
        x->transport = b->transport;
        x->backend = b->name;
        x->options = *o;
        x->stream = x->ops->alone && o->alone ? SP_STREAM_MAIN : SP_STREAM_MOVE;
        x->queues = x->ops->queues;
        x->beside = !o->alone;
        status = allocate(x);
    }
    status = sp_agree(grid->comm, "exchange", status);
    if (status == SPMM_OK && x->ops->connect) status = x->ops->connect(x);
    if (status != SPMM_OK) {
        sp_exchange_destroy(x);
        return status;
    }
    *exchange = x;
    return SPMM_OK;
}

/* ---- choice of the fastest backend ---- */

/** Exchanges that are timed. */
typedef struct candidates {
    const sp_grid *grid;
    const sp_halo *halo;
    const sp_exchange_options *options;
    const backend *backend[BACKENDS];
} candidates;

/** An exchange that is timed, and an X of its own. */
typedef struct timed_exchange {
    sp_exchange *x;
    void *memory;
} timed_exchange;

/** Allocates an X for trial exchanges. Collective. */
static spmm_status allocate_x(timed_exchange *t)
{
    sp_exchange *const x = t->x;
    return sp_agree(x->grid->comm, "exchange",
                    sp_exchange_alloc(x, sp_halo_rows(x->halo) * x->pitch, &t->memory));
}

static void free_x(timed_exchange *t)
{
    sp_device_free(t->memory);
    t->memory = NULL;
    if (t->x && t->x->ops->forget) t->x->ops->forget(t->x);
}

static spmm_status run_exchange(void *of, void *made)
{
    const timed_exchange *const t = made;
    sp_exchange *const x = t->x;
    (void)of;
    spmm_status status = sp_exchange_begin(x, (char *)t->memory + x->halo->ghost_low * x->pitch);
    if (status == SPMM_OK) status = sp_exchange_end(x);
    const spmm_status settled = sp_exchange_settle(x);
    if (status == SPMM_OK) status = settled;
    return status == SPMM_OK ? sp_device_sync() : status;
}

static spmm_status make_exchange(void *of, int i, void **made)
{
    const candidates *const c = of;
    timed_exchange *t = NULL;
    const spmm_status status = sp_alloc_zero((void **)&t, 1, sizeof *t, "an exchange");
    *made = t;
    TRY(sp_agree(c->grid->comm, "exchange", status));
    TRY(create(c->grid, c->halo, c->options, c->backend[i], &t->x));
    return allocate_x(t);
}

static void destroy_exchange(void *of, void *made)
{
    timed_exchange *const t = made;
    (void)of;
    if (!t) return;
    free_x(t);
    sp_exchange_destroy(t->x);
    sp_free(t);
}

/* that a backend works, as NCCL does not if two ranks share a GPU, is seen when it is used */
static const sp_trial_ops trial_ops = {"exchange", make_exchange, run_exchange, NULL, destroy_exchange, 1};

spmm_status sp_exchange_seconds(sp_exchange *x, double *seconds)
{
    timed_exchange timed = {.x = x};
    MPI_Comm comm = x->grid->comm;
    const sp_together all = sp_ranks_together(&comm);
    spmm_status status = allocate_x(&timed);
    if (status == SPMM_OK) status = sp_trial_time(&all, &trial_ops, NULL, &timed, seconds);
    free_x(&timed);
    return status;
}

/** Returns 1 if backend b belongs to those that are tried first. */
static int is_first(const backend *b, const candidates *c)
{
    enum { LITTLE = 32 << 20 }; /* limit for the mean number of bytes that a rank receives */
    if (c->options->queued) return b->ops->queues && b->use != SP_USE_LAST;
    if (b->use == SP_USE_HOST) return c->halo->all_moved / c->grid->size * c->options->row_bytes < LITTLE;
    return b->use == SP_USE_ALWAYS;
}

/** Lists the backends that all ranks can use. Collective.
 *  \param [in] only  NULL: all that serve; else the only one
 *  \param [in] rest  0: those that are tried first; 1: the others */
static spmm_status list_backends(candidates *c, const backend *only, int rest, sp_trial *trial)
{
    *trial = (sp_trial){.count = 0};
    for (const backend *b = backends; b < backends + BACKENDS; b++) {
        const int serves = c->options->queued ? b->ops->queues : b->use != SP_USE_QUEUED;
        int there;
        if (!moves(b, c->options->transport, SPMM_CUDA)) continue;
        if (only ? b != only || rest : !serves || is_first(b, c) == rest) continue;
        TRY(sp_transport_there(c->grid->comm, b->transport, SPMM_CUDA, &there, NULL));
        if (!there) continue;
        c->backend[trial->count] = b;
        sp_trial_add(trial, b->name);
    }
    return SPMM_OK;
}

/** Measures the backends of a transport on an X in GPU memory, and returns an exchange with the fastest in *best. A backend
 *  that cannot be set up is left out, unless nothing else is left.
 *  \param [in] o  o->transport is SPMM_TRANSPORT_AUTO: the backends of all transports; o->queued is 1: only those that need
 *                 no host, if there are any */
static spmm_status fastest(const sp_grid *grid, const sp_halo *halo, const sp_exchange_options *o,
                           sp_exchange **best)
{
    candidates c = {.grid = grid, .halo = halo, .options = o};
    const backend *only;
    sp_relaying relaying;
    sp_trial trial;
    MPI_Comm comm = grid->comm;
    const sp_together all = sp_ranks_together(&comm);
    spmm_status tried = SPMM_ERR_INTERNAL;
    *best = NULL;
    TRY(find_only(grid->comm, &only, &relaying));
    for (int rest = 0; rest < 2; rest++) {
        void *made = NULL;
        TRY(list_backends(&c, only, rest, &trial));
        if (trial.count == 0) continue;
        tried = sp_trial_run(&all, &trial_ops, &c, o->untimed ? INFINITY : 0, &trial, &made);
        if (tried != SPMM_OK) continue;
        free_x(made);
        *best = ((timed_exchange *)made)->x;
        sp_free(made);
        return SPMM_OK;
    }
    if (o->queued) {
        sp_exchange_options any = *o;
        any.queued = 0;
        return fastest(grid, halo, &any, best);
    }
    if (tried != SPMM_ERR_INTERNAL) return tried;
    return sp_fail(SPMM_ERR_USAGE, "transport %s: SPMM_EXCHANGE_BACKEND leaves none of its backends",
                   sp_transport_words[o->transport]);
}

spmm_status sp_exchange_create(const sp_grid *grid, const sp_halo *halo, const sp_exchange_options *o,
                               sp_exchange **exchange)
{
    const spmm_device space = o->space;
    const spmm_transport transport = space == SPMM_CPU && o->transport == SPMM_TRANSPORT_AUTO
                                         ? SPMM_TRANSPORT_MPI
                                         : o->transport;
    const char *why;
    int there, count;
    *exchange = NULL;
    if (halo->node && halo->node->relays) {
        static const backend relayed = {"relayed", SPMM_CUDA, SPMM_TRANSPORT_AUTO, &sp_exchange_relayed,
                                        SP_USE_ALWAYS};
        return create(grid, halo, o, &relayed, exchange);
    }
    TRY(sp_transport_there(grid->comm, transport, space, &there, &why));
    if (!there) {
        const spmm_status status = why ? sp_fail(SPMM_ERR_USAGE, "transport %s: %s",
                                                 sp_transport_words[transport], why)
                                       : SPMM_OK;
        TRY(sp_agree(grid->comm, "exchange", status));
    }
    const backend *const last = last_backend(transport, space, &count);
    if (count > 1 && halo->all_moved > 0) return fastest(grid, halo, o, exchange);
    return create(grid, halo, o, last, exchange);
}

spmm_status sp_exchange_try(const sp_grid *grid, const sp_halo *halo, const sp_exchange_options *o,
                            double *seconds)
{
    sp_exchange *x;
    TRY(sp_exchange_create(grid, halo, o, &x));
    const spmm_status status = sp_exchange_seconds(x, seconds);
    sp_exchange_destroy(x);
    return status;
}

void sp_exchange_destroy(sp_exchange *x)
{
    if (!x) return;
    if (x->ops && x->ops->destroy) x->ops->destroy(x);
    sp_free(x->in);
    sp_free(x->out);
    sp_free(x->request);
    sp_free(x->status);
    sp_free(x->done);
    sp_free(x->drop);
    if (x->space == SPMM_CPU) {
        sp_free(x->send);
    } else {
        sp_device_free(x->send);
        sp_device_free(x->list);
    }
    sp_free(x);
}

spmm_status sp_exchange_begin(sp_exchange *x, void *own)
{
    if (!x) return SPMM_OK;
    x->base = (char *)own - x->halo->ghost_low * x->pitch;
    return x->ops->begin ? x->ops->begin(x) : SPMM_OK;
}

int sp_exchange_starts_late(const sp_exchange *x) { return !x->ops->begin; }

spmm_status sp_exchange_end(sp_exchange *x) { return x ? x->ops->end(x) : SPMM_OK; }

spmm_status sp_exchange_settle(sp_exchange *x) { return x && x->ops->settle ? x->ops->settle(x) : SPMM_OK; }

int64_t sp_exchange_pitch(const sp_exchange *x) { return x->pitch; }

void sp_exchange_beside(sp_exchange *x, int kernels)
{
    if (x) x->beside = kernels;
}

sp_stream sp_exchange_stream(const sp_exchange *x) { return x->stream; }

void sp_exchange_skip_messages(sp_exchange *x)
{
    for (int i = 0; i < x->outs; i++)
        MPI_Isend(NULL, 0, MPI_BYTE, x->out[i].peer, SP_TAG_ROWS, x->comm, &x->request[i]);
    for (int i = 0; i < x->ins; i++)
        MPI_Recv(x->drop, (int)x->in[i].bytes, MPI_BYTE, x->in[i].peer, SP_TAG_ROWS, x->comm,
                 MPI_STATUS_IGNORE);
    (void)sp_wait(x->request, x->outs);
}

void sp_exchange_skip(sp_exchange *x)
{
    if (!x) return;
    if (x->ops->skip)
        x->ops->skip(x);
    else
        sp_exchange_skip_messages(x);
}

spmm_status sp_exchange_finish(sp_exchange *x) { return x && x->ops->finish ? x->ops->finish(x) : SPMM_OK; }

void *sp_exchange_reads_at(const sp_exchange *x) { return x->ops->reads_at ? x->ops->reads_at(x) : x->base; }

int sp_exchange_shares(const sp_exchange *x) { return x && x->ops->share; }

spmm_status sp_exchange_share(sp_exchange *x, int for_copies, void **memory)
{
    return x->ops->share(x, for_copies, memory);
}

spmm_status sp_exchange_alloc(sp_exchange *x, int64_t bytes, void **memory)
{
    TRY(x->ops->alloc ? x->ops->alloc(x, bytes, memory) : sp_device_alloc_exchanged(memory, bytes, "X"));
    spmm_status status = sp_device_zero(*memory, bytes);
    if (status == SPMM_OK) status = sp_device_sync(); /* neighbours may write as soon as an exchange begins */
    if (status != SPMM_OK) {
        sp_device_free(*memory);
        *memory = NULL;
    }
    return status;
}

int sp_exchange_takes(const sp_exchange *x, const void *row)
{
    return !x->ops->takes || x->ops->takes(x, row);
}

int sp_exchange_queues(const sp_exchange *x) { return !x || x->queues; }

spmm_transport sp_exchange_transport(const sp_exchange *x) { return x->transport; }

const char *sp_exchange_backend(const sp_exchange *x) { return x->backend; }
