/** Messages of an exchange: their lists, packing, rows of f32, and the messages of a rank that failed. */
#include <string.h>

#include "base/fp_environment.h"
#include "base/memory.h"
#include "device/device_ops.h"
#include "exchange/exchange_backend.h"

/** Returns the number of messages into which exchange_messages_cut() splits a message of `bytes` bytes. */
static int64_t pieces(int64_t bytes, int64_t most)
{
    const int64_t chunk = sp_chunk_of(most, bytes);
    return (bytes + chunk - 1) / chunk;
}

/** Splits message m into messages of sp_chunk_of() bytes, and appends these to list[*count]. Shorter rows
 *  never need more messages than the longest rows, for which the lists were allocated. */
static void exchange_messages_cut(const sp_exchange *x, sp_message m, sp_message *list, int *count)
{
    const int64_t room = pieces(m.bytes / x->wire_bytes * sp_wire_bytes(x, x->options.most_row_bytes),
                                x->most_bytes);
    int64_t chunk = sp_chunk_of(x->most_bytes, m.bytes);
    if (pieces(m.bytes, x->most_bytes) > room) chunk = (m.bytes + room - 1) / room;
    for (int64_t left = m.bytes; left > 0; left -= chunk) {
        sp_message piece = m;
        piece.bytes = left < chunk ? left : chunk;
        list[(*count)++] = piece;
        m.at += piece.bytes;
        m.stage += piece.bytes;
    }
}

static void list_messages(sp_exchange *x)
{
    const sp_moves *const moves = x->moves;
    const int rounded = x->options.rounded;
    int64_t stage = 0;
    x->ins = x->outs = 0;
    for (int i = 0; i < moves->sources; i++) {
        const sp_source *const s = &moves->source[i];
        const sp_message m = {s->rank, rounded, rounded ? stage : s->first * x->pitch, stage,
                              s->rows * x->wire_bytes};
        exchange_messages_cut(x, m, x->in, &x->ins);
        stage += m.bytes;
    }
    stage = 0;
    int64_t next = 0, sent = 0; /* offsets in x->send: end of the rows so far, rows of this target */
    for (int i = 0; i < moves->targets; i++) {
        const sp_target *const t = &moves->target[i];
        const int64_t at = t->packed ? t->first * x->row_bytes : (t->first + moves->ghost_low) * x->pitch;
        if (!sp_sends_again(moves, t)) {
            sent = next;
            next += t->rows * x->wire_bytes;
        }
        const sp_message m = {t->rank, t->packed || rounded, rounded ? sent : at, stage,
                              t->rows * x->wire_bytes};
        exchange_messages_cut(x, m, x->out, &x->outs);
        stage += m.bytes;
    }
}

void sp_exchange_list_again(sp_exchange *x) { list_messages(x); }

spmm_status sp_exchange_list_messages(sp_exchange *x, int64_t most)
{
    const sp_moves *const moves = x->moves;
    int64_t ins = 0, outs = 0;
    x->most_bytes = most;
    for (int i = 0; i < moves->sources; i++) ins += pieces(moves->source[i].rows * x->wire_bytes, most);
    for (int i = 0; i < moves->targets; i++) outs += pieces(moves->target[i].rows * x->wire_bytes, most);
    if (ins + outs > INT32_MAX)
        return sp_fail(SPMM_ERR_LIMIT, "an exchange of %lld messages: expected at most 2^31 - 1",
                       (long long)ins + (long long)outs);
    TRY(sp_alloc((void **)&x->in, ins, sizeof *x->in, "the exchange's messages"));
    TRY(sp_alloc((void **)&x->out, outs, sizeof *x->out, "the exchange's messages"));
    TRY(sp_alloc((void **)&x->request, ins + outs, sizeof(MPI_Request), "the exchange's requests"));
    TRY(sp_alloc((void **)&x->status, ins + outs, sizeof *x->status, "the exchange's requests"));
    TRY(sp_alloc((void **)&x->done, ins, sizeof *x->done, "the exchange's requests"));
    list_messages(x);
    return SPMM_OK;
}

/* ---- packing ---- */

/* up to this many bytes, one thread packs faster than several threads, which must be woken */
enum { ALONE = 1 << 16 };

static void round_row(const char *row, int64_t bytes, char *out)
{
    const double *const from = (const double *)row;
    float *const to = (float *)out;
    for (int64_t j = 0; j < bytes / (int64_t)sizeof *from; j++) to[j] = (float)from[j];
}

static void pack_on_host(const sp_exchange *x)
{
    const int64_t row_bytes = x->row_bytes, rows = x->packed;
    const char *const own = x->base + x->moves->ghost_low * row_bytes;
#pragma omp parallel num_threads(x->options.threads) if (rows * row_bytes > ALONE)
    {
        SP_DEFAULT_FP;
#pragma omp for schedule(static)
        for (int64_t i = 0; i < rows; i++) {
            const char *const row = own + x->rows[i] * row_bytes;
            char *const to = x->send + i * x->wire_bytes;
            if (x->options.rounded)
                round_row(row, row_bytes, to);
            else
                memcpy(to, row, (size_t)row_bytes);
        }
    }
}

spmm_status sp_exchange_pack(const sp_exchange *x)
{
    if (x->space == SPMM_CPU) {
        pack_on_host(x);
        return SPMM_OK;
    }
    if (x->packed == 0) return SPMM_OK;
    return (x->options.rounded ? sp_cuda_pack_rounded
                               : sp_cuda_pack)(x->base + x->moves->ghost_low * x->row_bytes, x->row_bytes,
                                               x->list, x->packed, x->send, sp_device_stream(SP_STREAM_MOVE));
}

static void widen_on_host(const sp_exchange *x)
{
    const sp_moves *const moves = x->moves;
    const int64_t rows = moves->ghost_low + moves->ghost_high,
                  columns = x->row_bytes / (int64_t)sizeof(double);
#pragma omp parallel num_threads(x->options.threads) if (rows * x->row_bytes > ALONE)
    {
        SP_DEFAULT_FP;
#pragma omp for schedule(static)
        for (int64_t i = 0; i < rows; i++) {
            const float *const from = (const float *)(x->received + i * x->wire_bytes);
            double *const to = (double *)(x->base + (i < moves->ghost_low ? i : i + moves->own) * x->pitch);
            for (int64_t j = 0; j < columns; j++) to[j] = (double)from[j];
        }
    }
}

spmm_status sp_exchange_widen(const sp_exchange *x, sp_stream stream)
{
    const sp_moves *const moves = x->moves;
    if (!x->options.rounded) return SPMM_OK;
    if (x->space == SPMM_CUDA)
        return sp_cuda_widen(x->received, moves->ghost_low, moves->own, moves->ghost_high, x->row_bytes,
                             x->pitch, x->base, sp_device_stream(stream));
    widen_on_host(x);
    return SPMM_OK;
}

char *sp_message_place(const sp_exchange *x, const sp_message *m)
{
    return (m->packed ? x->received : x->base) + m->at;
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

void sp_exchange_skip_messages(sp_exchange *x)
{
    for (int i = 0; i < x->outs; i++)
        MPI_Isend(NULL, 0, MPI_BYTE, x->out[i].peer, SP_TAG_ROWS, x->comm, &x->request[i]);
    for (int i = 0; i < x->ins; i++)
        MPI_Recv(x->drop, (int)x->in[i].bytes, MPI_BYTE, x->in[i].peer, SP_TAG_ROWS, x->comm,
                 MPI_STATUS_IGNORE);
    (void)sp_wait(x->request, x->outs);
}
