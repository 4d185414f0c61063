/** State of an exchange, and the table of operations that each exchange backend implements. Private to the
 *  files src/exchange/exchange*.c. */
#ifndef SP_EXCHANGE_BACKEND_H
#define SP_EXCHANGE_BACKEND_H

#include "exchange/exchange.h"

/** One message: consecutive rows to or from one neighbor. Offsets and sizes are in bytes. */
typedef struct sp_message {
    int peer;   /**< the neighbor's rank in the process column's communicator */
    int packed; /**< 1: `at` is an offset in sp_exchange.send or, if the message is received, in
                     sp_exchange.received; 0: `at` is an offset from sp_exchange.base */
    int64_t at;
    int64_t stage; /**< offset of the message in the staging buffer for sent or for received rows */
    int64_t bytes;
} sp_message;

/** Operations of a backend that requires X in certain memory. The functions sp_exchange_alloc() and so on, of
 *  exchange.h, call them. */
typedef struct sp_exchange_memory {
    spmm_status (*alloc)(sp_exchange *x, int64_t bytes, void **memory);
    /** NULL: X is not shared */
    spmm_status (*share)(sp_exchange *x, int64_t row_bytes, int for_copies, void **memory);
    int (*takes)(const sp_exchange *x, const void *row);
    void *(*reads_at)(const sp_exchange *x); /**< NULL: kernels read X in the caller's memory */
    void (*forget)(
        sp_exchange *x); /**< NULL, or frees the memory that alloc has kept; collective over the process
                              column */
} sp_exchange_memory;

/** The operations and capabilities of a backend. begin, end, settle, skip and finish implement
 *  sp_exchange_begin() and so on. Only `end` must not be NULL. */
typedef struct sp_exchange_ops {
    spmm_status (*begin)(sp_exchange *x); /**< NULL: the whole exchange takes place in `end` */
    spmm_status (*end)(sp_exchange *x);
    spmm_status (*create)(sp_exchange *x);  /**< allocates the backend's state x->state; local */
    void (*destroy)(sp_exchange *x);        /**< frees the backend's state; collective over the grid */
    spmm_status (*connect)(sp_exchange *x); /**< sets up communication; collective over the grid */
    /** NULL: after `end` nothing can fail or block forever */
    spmm_status (*settle)(sp_exchange *x);
    void (*skip)(sp_exchange *x);          /**< NULL: a rank that failed sends empty messages instead */
    spmm_status (*finish)(sp_exchange *x); /**< NULL: nothing needs to be done after the kernels */
    /** Called after x->row_bytes, x->pitch and the lists of messages have changed; NULL: the backend's state
     *  does not depend on them. Collective over the grid; returns the same status on every rank. */
    spmm_status (*set_rows)(sp_exchange *x);
    const char *(*missing)(void);     /**< returns why this rank cannot use the backend; NULL: it can */
    const sp_exchange_memory *memory; /**< NULL: X may lie anywhere */
    int64_t most_bytes;               /**< maximum size of a message; 0: sp_chunk_bytes() */
    int by_mpi;                       /**< 1: sp_chunk_bytes() also limits the size of a message, as for MPI
                                           messages */
    int queues; /**< 1: `end` queues the whole exchange on the GPU, also while SP_STREAM_MAIN is captured, and
                     no host waits for a GPU */
    int skip_waits; /**< 1: `skip` waits for the GPU, which is forbidden during a capture */
    int unpacked;   /**< 1: scattered rows are not packed, and x->send and x->received are not allocated */
    int gaps;       /**< 1: rows of X may have gaps between them, see sp_exchange_options.pitch */
    int alone;      /**< 1: x->stream may be SP_STREAM_MAIN, see sp_exchange_options.alone; 0: it is always
                         SP_STREAM_MOVE */
} sp_exchange_ops;

/** When a backend is a candidate, if the caller leaves the choice of the transport to the library. */
typedef enum sp_backend_use {
    SP_USE_ALWAYS,
    SP_USE_QUEUED, /**< only for products in the caller's stream: their exchanges must not involve the host */
    /** Used if no other backend works: connecting takes about a second, and the backend was never faster than
     *  SPMM_TRANSPORT_PEER in bench/records/HISTORY.md. */
    SP_USE_LAST,
    /** Moves rows through pinned host memory. A candidate if few bytes are exchanged, or if no other backend
     *  works. It needs as much pinned memory as there are bytes to exchange, and for many bytes it is slower
     *  by an order of magnitude. */
    SP_USE_HOST
} sp_backend_use;

/** The backends: memory of X, transport, name, use. The file of the backend NAME defines the variable
 *  sp_exchange_NAME. The candidates of a trial are taken from top to bottom; the environment variable
 *  SPMM_EXCHANGE_BACKEND=NAME restricts the choice to one backend. */
#define SP_EXCHANGE_BACKENDS(B)                                        \
    B(SPMM_CPU, SPMM_TRANSPORT_MPI, direct, SP_USE_ALWAYS)             \
    B(SPMM_CPU, SPMM_TRANSPORT_SHARED, shared, SP_USE_ALWAYS)          \
    B(SPMM_CUDA, SPMM_TRANSPORT_PEER, peer, SP_USE_ALWAYS)             \
    B(SPMM_CUDA, SPMM_TRANSPORT_PEER, peer_stream, SP_USE_QUEUED)      \
    B(SPMM_CUDA, SPMM_TRANSPORT_NCCL, nccl, SP_USE_LAST)               \
    B(SPMM_CUDA, SPMM_TRANSPORT_CUDA_AWARE, cuda_aware, SP_USE_ALWAYS) \
    B(SPMM_CUDA, SPMM_TRANSPORT_STAGED, staged, SP_USE_HOST)           \
    B(SPMM_CUDA, SPMM_TRANSPORT_MPI, staged_whole, SP_USE_HOST)

/** A row of the table of backends. */
typedef struct sp_backend {
    const char *name;
    spmm_device space;
    spmm_transport transport;
    const sp_exchange_ops *ops;
    sp_backend_use use;
} sp_backend;

/** Creates an exchange with the given backend; other arguments and status as for sp_exchange_create(). */
spmm_status sp_exchange_make(const sp_grid *grid, const sp_moves *moves, const sp_exchange_options *options,
                             const sp_backend *backend, sp_exchange **exchange);

struct sp_exchange {
    const sp_grid *grid;
    MPI_Comm comm; /**< communicator of the process column */
    const sp_moves *moves;
    int64_t row_bytes, pitch; /**< row_bytes: exchanged bytes of a row of X; pitch: distance in bytes to the
                                   next row */
    int64_t wire_bytes;       /**< bytes of a row in a message: row_bytes, or half of it if options.rounded */
    int64_t most_bytes;       /**< maximum size of a message, see sp_chunk_of() */
    spmm_device space;
    spmm_transport transport;
    const char *backend; /**< name of the backend in the table */
    sp_exchange_options options;
    sp_stream stream; /**< on a GPU, the stream of the exchange */
    int queues;       /**< see sp_exchange_queues() */
    int skip_waits;   /**< see sp_exchange_skip_waits() */
    int beside;       /**< see sp_exchange_beside() */
    const sp_exchange_ops *ops;
    int ins, outs; /**< ins: number of messages to receive; outs: number of messages to send */
    sp_message *in, *out;
    MPI_Request *request; /**< [ins + outs] one for each message */
    MPI_Status *status;   /**< [ins + outs] one for each message */
    int *done;            /**< [ins] indices of the messages that MPI_Testsome or MPI_Waitsome has received */
    void *drop;           /**< host buffer for messages that a failed rank receives and discards; or NULL */
    char *send;           /**< buffer for packed rows to send, in the memory space of X */
    char *received; /**< options.rounded: buffer for received rows of f32, all ghost rows in their order, in
                         the memory space of X */
    int64_t packed; /**< number of rows to pack */
    const int32_t *rows; /**< [packed] owned rows to pack: moves->list, or sent_rows */
    int32_t *sent_rows;  /**< options.rounded: the rows sent to each target, one target after another;
                              includes rows that moves->list omits. NULL if rows are not packed */
    int32_t *list;       /**< on a GPU: copy of `rows` */
    char *base;          /**< during an exchange: address of row 0 of X, ghost rows included */
    void *state;         /**< private to the backend */
};

/** Returns the number of bytes that a row of X of row_bytes bytes takes in a message. Local. */
static inline int64_t sp_wire_bytes(const sp_exchange *x, int64_t row_bytes)
{
    return x->options.rounded ? row_bytes / 2 : row_bytes;
}

/** Returns 1 if target t is sent the same contiguous rows as the target before it, as in a broadcast.
 *  Local. */
static inline int sp_sends_again(const sp_moves *moves, const sp_target *t)
{
    return t > moves->target && !t->packed && !t[-1].packed && t->first == t[-1].first &&
           t->rows == t[-1].rows;
}

#define SP_DECLARE(space, transport, name, use) extern const sp_exchange_ops sp_exchange_##name;
SP_EXCHANGE_BACKENDS(SP_DECLARE)
#undef SP_DECLARE

/** Lists the messages of an exchange, and allocates what MPI needs for them. Local.
 *  \param [in] most  maximum size of a message in bytes, see sp_chunk_of()
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT (too many messages) */
spmm_status sp_exchange_list_messages(sp_exchange *x, int64_t most);

/** Rebuilds the lists of messages of an exchange for a new x->row_bytes, which is at most the size for which
 *  the exchange was created. Local. */
void sp_exchange_list_again(sp_exchange *x);

/** Packs the rows to send into the buffer x->send, as f32 if options.rounded is 1. On a GPU, queues the
 *  packing in SP_STREAM_MOVE. Local.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_exchange_pack(const sp_exchange *x);

/** Returns the address of the rows that the outgoing message m sends. Local. */
char *sp_message_data(const sp_exchange *x, const sp_message *m);

/** Returns the address where the rows of the incoming message m arrive. Local. */
char *sp_message_place(const sp_exchange *x, const sp_message *m);

/** If rows travel as f32, widens the rows in x->received to the ghost rows of X; else does nothing. On a GPU
 *  the work is queued in `stream`. Local.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_exchange_widen(const sp_exchange *x, sp_stream stream);

/** Returns the rank in the grid of rank `peer` of the process column's communicator, for error messages.
 *  Local. */
int sp_exchange_rank_of(const sp_exchange *x, int peer);

/** Cleans up after a failure between the first MPI_Irecv and the first MPI_Isend: sends an empty message in
 *  place of each outgoing one, so that no neighbor waits forever, and waits for the incoming messages. */
void sp_exchange_give_up(sp_exchange *x);

/** Implements sp_exchange_skip() for messages: sends empty messages, from which the neighbors learn that this
 *  rank failed, and receives the messages of the neighbors into x->drop. */
void sp_exchange_skip_messages(sp_exchange *x);

/** Checks that the received message m has its full length. Local.
 *  \return SPMM_OK, SPMM_ERR_MPI (the message is shorter: the neighbor failed) */
spmm_status sp_exchange_check(const sp_exchange *x, const MPI_Status *status, const sp_message *m);

#endif
