/** Creates an exchange with a backend, and calls the backend's operations. */
#include "exchange/exchange.h"

#include "base/memory.h"
#include "device/device_ops.h"
#include "exchange/exchange_backend.h"

/* ---- set-up ---- */

/** Returns the maximum size of a message in bytes. */
static int64_t most_bytes(const sp_exchange_ops *ops)
{
    const int64_t chunk = sp_chunk_bytes();
    return ops->most_bytes > 0 && (!ops->by_mpi || ops->most_bytes < chunk) ? ops->most_bytes : chunk;
}

/** Allocates the buffer into which sp_exchange_skip() receives the messages that it discards. It is allocated
 *  in advance because a rank may fail for lack of memory. Its pages take no memory until they are first
 *  written. */
static spmm_status reserve_drop(sp_exchange *x)
{
    int64_t most = 1;
    for (int i = 0; i < x->ins; i++)
        if (x->in[i].bytes > most) most = x->in[i].bytes;
    return sp_alloc(&x->drop, most, 1, "rows to drop");
}

/** Lists the rows to pack: scattered ones or, if rows travel as f32, all rows that are sent. */
static spmm_status list_rows(sp_exchange *x)
{
    const sp_moves *const moves = x->moves;
    int64_t n = 0;
    x->rows = moves->list;
    x->packed = moves->packed;
    if (!x->options.rounded || x->ops->unpacked) return SPMM_OK;
    for (const sp_target *t = moves->target; t < moves->target + moves->targets; t++)
        if (!sp_sends_again(moves, t)) n += t->rows;
    TRY(sp_alloc((void **)&x->sent_rows, n, sizeof *x->sent_rows, "the list of rows to send"));
    n = 0;
    for (const sp_target *t = moves->target; t < moves->target + moves->targets; t++)
        for (int64_t i = 0; i < t->rows && !sp_sends_again(moves, t); i++)
            x->sent_rows[n++] = t->packed ? moves->list[t->first + i] : (int32_t)(t->first + i);
    x->rows = x->sent_rows;
    x->packed = n;
    return SPMM_OK;
}

/** Allocates the buffers for packed rows, and for received rows that travel as f32. */
static spmm_status allocate_buffers(sp_exchange *x)
{
    const int64_t ghosts = x->options.rounded ? x->moves->ghost_low + x->moves->ghost_high : 0;
    if (x->space == SPMM_CPU) {
        TRY(sp_alloc((void **)&x->send, x->packed, (size_t)x->wire_bytes, "rows to send"));
        return sp_alloc((void **)&x->received, ghosts, (size_t)x->wire_bytes, "rows to receive");
    }
    if (!x->ops->unpacked) {
        TRY(sp_device_alloc_exchanged((void **)&x->send, x->packed * x->wire_bytes, "rows to send"));
        if (ghosts > 0)
            TRY(sp_device_alloc_exchanged((void **)&x->received, ghosts * x->wire_bytes, "rows to receive"));
    }
    TRY(sp_device_alloc((void **)&x->list, x->packed * (int64_t)sizeof *x->list, "the list of rows to send"));
    return sp_device_upload(x->list, x->rows, x->packed * (int64_t)sizeof *x->list);
}

static spmm_status exchange_allocate(sp_exchange *x)
{
    TRY(sp_exchange_list_messages(x, most_bytes(x->ops)));
    if (!x->ops->skip || x->ops->by_mpi) TRY(reserve_drop(x));
    TRY(list_rows(x));
    TRY(allocate_buffers(x));
    return x->ops->create ? x->ops->create(x) : SPMM_OK;
}

static void set_rows(sp_exchange *x, int64_t row_bytes, int64_t pitch)
{
    x->row_bytes = row_bytes;
    x->wire_bytes = sp_wire_bytes(x, row_bytes);
    x->pitch = x->ops->gaps && pitch > 0 ? pitch : row_bytes;
    if (x->done) sp_exchange_list_again(x);
}

spmm_status sp_exchange_make(const sp_grid *grid, const sp_moves *moves, const sp_exchange_options *o,
                             const sp_backend *b, sp_exchange **exchange)
{
    sp_exchange *x;
    *exchange = NULL;
    spmm_status status = sp_alloc_zero((void **)&x, 1, sizeof *x, "an exchange");
    if (status == SPMM_OK) {
        x->grid = grid;
        x->comm = grid->col_comm;
        x->moves = moves;
        x->ops = b->ops;
        x->space = b->space;
        x->transport = b->transport;
        x->backend = b->name;
        x->options = *o;
        if (o->most_row_bytes < o->row_bytes) x->options.most_row_bytes = o->row_bytes;
        x->row_bytes = x->options.most_row_bytes; /* lists and buffers are sized for the longest rows */
        x->wire_bytes = sp_wire_bytes(x, x->row_bytes);
        x->stream = x->ops->alone && o->alone ? SP_STREAM_MAIN : SP_STREAM_MOVE;
        x->queues = x->ops->queues;
        x->skip_waits = x->ops->skip_waits;
        x->beside = !o->alone;
        status = exchange_allocate(x);
        set_rows(x, o->row_bytes, o->pitch);
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
    sp_free(x->sent_rows);
    if (x->space == SPMM_CPU) {
        sp_free(x->send);
        sp_free(x->received);
    } else {
        sp_device_free(x->send);
        if (!x->ops->unpacked) sp_device_free(x->received);
        sp_device_free(x->list);
    }
    sp_free(x);
}

spmm_status sp_exchange_set_rows(sp_exchange *x, int64_t row_bytes, int64_t pitch)
{
    if (!x) return SPMM_OK;
    set_rows(x, row_bytes, pitch);
    return x->ops->set_rows ? x->ops->set_rows(x) : SPMM_OK;
}

/* ---- exchanging ---- */

spmm_status sp_exchange_begin(sp_exchange *x, void *own)
{
    if (!x) return SPMM_OK;
    x->base = (char *)own - x->moves->ghost_low * x->pitch;
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

void sp_exchange_skip(sp_exchange *x)
{
    if (!x) return;
    if (x->ops->skip)
        x->ops->skip(x);
    else
        sp_exchange_skip_messages(x);
}

spmm_status sp_exchange_finish(sp_exchange *x) { return x && x->ops->finish ? x->ops->finish(x) : SPMM_OK; }

void *sp_exchange_reads_at(const sp_exchange *x)
{
    const sp_exchange_memory *const m = x->ops->memory;
    return m && m->reads_at ? m->reads_at(x) : x->base;
}

int sp_exchange_shares(const sp_exchange *x) { return x && x->ops->memory && x->ops->memory->share; }

spmm_status sp_exchange_share(sp_exchange *x, int64_t row_bytes, int for_copies, void **memory)
{
    return x->ops->memory->share(x, row_bytes, for_copies, memory);
}

spmm_status sp_exchange_alloc(sp_exchange *x, int64_t bytes, void **memory)
{
    const sp_exchange_memory *const m = x->ops->memory;
    TRY(m && m->alloc ? m->alloc(x, bytes, memory) : sp_device_alloc_exchanged(memory, bytes, "X"));
    spmm_status status = sp_device_zero(*memory, bytes);
    /* the zeroing must be complete before an exchange begins: neighbors may then write to the memory */
    if (status == SPMM_OK) status = sp_device_sync();
    if (status != SPMM_OK) {
        sp_device_free(*memory);
        *memory = NULL;
    }
    return status;
}

int sp_exchange_takes(const sp_exchange *x, const void *row)
{
    return !x->ops->memory || x->ops->memory->takes(x, row);
}

void sp_exchange_forget(sp_exchange *x)
{
    if (x && x->ops->memory && x->ops->memory->forget) x->ops->memory->forget(x);
}

int sp_exchange_skip_waits(const sp_exchange *x) { return x && x->skip_waits; }

int sp_exchange_queues(const sp_exchange *x) { return !x || x->queues; }

spmm_transport sp_exchange_transport(const sp_exchange *x) { return x->transport; }

const char *sp_exchange_backend(const sp_exchange *x) { return x->backend; }
