/** Chooses the backend of an exchange: the requested one, or the fastest in a trial. */
#include <stdlib.h>
#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "base/words.h"
#include "device/device.h"
#include "exchange/exchange_backend.h"

#define ROW(space, transport, name, use) {#name, space, transport, &sp_exchange_##name, use},
static const sp_backend backends[] = {SP_EXCHANGE_BACKENDS(ROW)};
#undef ROW

enum { BACKENDS = sizeof backends / sizeof *backends };

/** Returns 1 if backend b moves an X in memory `space` with the given transport; SPMM_TRANSPORT_AUTO stands
 *  for any transport. */
static int is_for(const sp_backend *b, spmm_transport transport, spmm_device space)
{
    return b->space == space && (transport == SPMM_TRANSPORT_AUTO || b->transport == transport);
}

/** Returns the last backend of the table that moves an X in memory `space` with the given transport and is
 *  not only for products in a caller's stream; NULL if there is none. *count is the number of all backends
 *  that move such an X. */
static const sp_backend *last_backend(spmm_transport transport, spmm_device space, int *count)
{
    const sp_backend *last = NULL;
    *count = 0;
    for (const sp_backend *b = backends; b < backends + BACKENDS; b++) {
        if (!is_for(b, transport, space)) continue;
        if (b->use != SP_USE_QUEUED) last = b;
        ++*count;
    }
    return last;
}

/** Returns the backend to which SPMM_EXCHANGE_BACKEND restricts the choice. Collective over comm.
 *  \param [out] only  NULL: the choice is not restricted
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (no such backend exists, or the variable
 *          differs between ranks), SPMM_ERR_MPI */
static spmm_status find_only(MPI_Comm comm, const sp_backend **only)
{
    const char *const text = getenv("SPMM_EXCHANGE_BACKEND");
    const int named = text && *text;
    int row = 0;
    while (named && row < BACKENDS && strcmp(backends[row].name, text) != 0) row++;
    *only = named && row < BACKENDS ? &backends[row] : NULL;
    TRY(sp_check_common(comm, "SPMM_EXCHANGE_BACKEND", &(sp_common){"its row", named ? row : -1, 0}, 1));
    return named && !*only
               ? sp_fail(SPMM_ERR_USAGE,
                         "SPMM_EXCHANGE_BACKEND=%s: no such backend: spmm_mpi(1) lists the backends",
                         SHOWN(text))
               : SPMM_OK;
}

int sp_transport_has(spmm_transport transport, sp_transport_trait trait)
{
    switch (transport) {
    case SPMM_TRANSPORT_NCCL: return trait == SP_TRANSPORT_OWN_GPU;
    case SPMM_TRANSPORT_PEER: return trait == SP_TRANSPORT_IN_NODE;
    case SPMM_TRANSPORT_SHARED: return trait == SP_TRANSPORT_IN_NODE || trait == SP_TRANSPORT_IN_PLACE;
    default: return 0;
    }
}

const char *sp_transport_missing(spmm_transport transport, spmm_device space)
{
    int count;
    const sp_backend *const b = last_backend(transport, space, &count);
    if (!b && space == SPMM_CUDA) return "it is for CPUs, but X is in GPU memory";
    if (!b) return "it is for GPUs, but X is in host memory";
    return transport != SPMM_TRANSPORT_AUTO && b->ops->missing ? b->ops->missing() : NULL;
}

spmm_status sp_transport_there(MPI_Comm comm, spmm_transport transport, spmm_device space, int *all,
                               const char **why)
{
    const char *const reason = sp_transport_missing(transport, space);
    if (why) *why = reason;
    return sp_all(comm, !reason, all);
}

/* ---- choice of the fastest backend ---- */

/** The candidate exchanges of a trial. */
typedef struct candidates {
    const sp_grid *grid;
    const sp_moves *moves;
    const sp_exchange_options *options;
    const sp_backend *backend[BACKENDS];
} candidates;

/** A candidate exchange with its own X. */
typedef struct timed_exchange {
    sp_exchange *x;
    void *memory;
} timed_exchange;

static void free_x(timed_exchange *t)
{
    sp_device_free(t->memory);
    t->memory = NULL;
    sp_exchange_forget(t->x);
}

static spmm_status run_exchange(void *of, void *made)
{
    const timed_exchange *const t = made;
    sp_exchange *const x = t->x;
    (void)of;
    spmm_status status = sp_exchange_begin(x, (char *)t->memory + x->moves->ghost_low * x->pitch);
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
    TRY(sp_exchange_make(c->grid, c->moves, c->options, c->backend[i], &t->x));
    return sp_agree(c->grid->comm, "exchange",
                    sp_exchange_alloc(t->x, sp_moves_rows(c->moves) * t->x->pitch, &t->memory));
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

/* `unsure` is 1 because some failures appear only in use, e.g. NCCL fails if two ranks share a GPU */
static const sp_trial_ops trial_ops = {"exchange", make_exchange, run_exchange, NULL, destroy_exchange, 1};

/** Returns 1 if backend b is tried in the first round. */
static int is_first(const sp_backend *b, const candidates *c)
{
    /* exchanges through host memory are tried if the mean number of bytes that a rank receives is below
     * this */
    enum { LITTLE = 32 << 20 };
    if (c->options->queued) return b->ops->queues && b->use != SP_USE_LAST;
    if (b->use == SP_USE_HOST) return c->moves->all_moved / c->grid->size * c->options->row_bytes < LITTLE;
    return b->use == SP_USE_ALWAYS;
}

/** Lists the backends that are available on all ranks. Collective.
 *  \param [in] only  the only backend to list; NULL: no restriction
 *  \param [in] rest  0: list the backends of the first round; 1: list the other backends */
static spmm_status list_backends(candidates *c, const sp_backend *only, int rest, sp_trial *trial)
{
    *trial = (sp_trial){.count = 0};
    for (const sp_backend *b = backends; b < backends + BACKENDS; b++) {
        const int serves = c->options->queued ? b->ops->queues : b->use != SP_USE_QUEUED;
        int there;
        if (!is_for(b, c->options->transport, SPMM_CUDA)) continue;
        if (only ? b != only || rest : !serves || is_first(b, c) == rest) continue;
        TRY(sp_transport_there(c->grid->comm, b->transport, SPMM_CUDA, &there, NULL));
        if (!there) continue;
        c->backend[trial->count] = b;
        sp_trial_add(trial, b->name);
    }
    return SPMM_OK;
}

/** Times the backends of a transport on an X in GPU memory, and returns an exchange with the fastest in
 *  *best. A backend that cannot be set up is skipped, unless no other backend remains.
 *  \param [in] o  if o->transport is SPMM_TRANSPORT_AUTO, backends of all transports are timed. If o->queued
 *                 is 1, only backends whose exchanges do not involve the host are timed, if there are any */
static spmm_status fastest(const sp_grid *grid, const sp_moves *moves, const sp_exchange_options *o,
                           sp_exchange **best)
{
    candidates c = {.grid = grid, .moves = moves, .options = o};
    const sp_backend *only;
    sp_trial own, *const trial = o->trial ? o->trial : &own;
    MPI_Comm comm = grid->comm;
    const sp_together all = sp_ranks_together(&comm);
    spmm_status tried = SPMM_ERR_INTERNAL;
    *best = NULL;
    TRY(find_only(grid->comm, &only));
    for (int rest = 0; rest < 2; rest++) {
        void *made = NULL;
        TRY(list_backends(&c, only, rest, trial));
        if (trial->count == 0) continue;
        tried = sp_trial_run(&all, &trial_ops, &c, o->untimed ? INFINITY : 0, trial, &made);
        if (tried != SPMM_OK) continue;
        free_x(made);
        *best = ((timed_exchange *)made)->x;
        sp_free(made);
        return SPMM_OK;
    }
    if (o->queued) {
        sp_exchange_options any = *o;
        any.queued = 0;
        return fastest(grid, moves, &any, best);
    }
    if (tried != SPMM_ERR_INTERNAL) return tried;
    return sp_fail(SPMM_ERR_USAGE,
                   "transport %s: SPMM_EXCHANGE_BACKEND=%s excludes every backend of this transport",
                   sp_transport_words[o->transport], only ? only->name : "");
}

spmm_status sp_exchange_create(const sp_grid *grid, const sp_moves *moves, const sp_exchange_options *o,
                               sp_exchange **exchange)
{
    const spmm_device space = o->space;
    const spmm_transport transport = space == SPMM_CPU && o->transport == SPMM_TRANSPORT_AUTO
                                         ? SPMM_TRANSPORT_MPI
                                         : o->transport;
    const char *why;
    int there, count;
    *exchange = NULL;
    if (o->rounded && sp_transport_has(transport, SP_TRANSPORT_IN_PLACE))
        return sp_fail(SPMM_ERR_USAGE, "transport %s: %s", sp_transport_words[transport], SP_NOT_ROUNDED);
    TRY(sp_transport_there(grid->comm, transport, space, &there, &why));
    if (!there) {
        const spmm_status status = why ? sp_fail(SPMM_ERR_USAGE, "transport %s: %s",
                                                 sp_transport_words[transport], why)
                                       : SPMM_OK;
        TRY(sp_agree(grid->comm, "exchange", status));
    }
    const sp_backend *const last = last_backend(transport, space, &count);
    if (count > 1 && moves->all_moved > 0) return fastest(grid, moves, o, exchange);
    return sp_exchange_make(grid, moves, o, last, exchange);
}
