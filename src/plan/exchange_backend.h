/** What the files of the exchange share. */
#ifndef SP_EXCHANGE_BACKEND_H
#define SP_EXCHANGE_BACKEND_H

#include "plan/exchange.h"

/** Consecutive rows to or from one neighbour; offsets in bytes. */
typedef struct sp_message {
    int peer;
    int packed; /**< 1: `at` is in the buffer of packed rows; 0: in X as the block sees it */
    int64_t at;
    int64_t stage; /**< in a copy in host memory of all that is sent, or of all that is received */
    int64_t bytes;
} sp_message;

/** A way of moving. create is local, connect and destroy collective over the grid; skip: NULL where messages can be
 *  empty. */
typedef struct sp_exchange_ops {
    spmm_status (*begin)(sp_exchange *x);
    spmm_status (*end)(sp_exchange *x);
    spmm_status (*create)(sp_exchange *x);
    void (*destroy)(sp_exchange *x);
    spmm_status (*connect)(sp_exchange *x);
    void (*skip)(sp_exchange *x);
    /* NULL where X may lie anywhere */
    spmm_status (*alloc)(sp_exchange *x, int64_t bytes, void **memory);
    int (*takes)(const sp_exchange *x, const void *row);
    void (*forget)(sp_exchange *x); /**< what alloc gave out; collective over the process column */
} sp_exchange_ops;

struct sp_exchange {
    const sp_grid *grid;
    MPI_Comm comm; /**< the process column */
    const sp_halo *halo;
    int64_t row_bytes;
    spmm_device space;
    spmm_transport transport;
    int by_kernel; /**< SPMM_TRANSPORT_PEER: 1: whole runs of rows, too, are moved by kernels, not copy engines */
    int threads;
    const sp_exchange_ops *ops;
    int ins, outs;
    sp_message *in, *out;
    MPI_Request *request; /**< [ins + outs] */
    MPI_Status *status;   /**< [ins + outs] */
    int *done;            /**< [ins] */
    void *drop;           /**< host memory of the longest incoming message; NULL where the way has a skip */
    char *send;           /**< packed rows, in X's memory */
    int32_t *list;        /**< on a GPU: the halo's list */
    int now;              /**< 1: kernels queued before need not be waited for */
    const char *from;     /**< where own rows are read, `pitch` bytes apart: in X, but with begin_from() */
    int64_t pitch;
    char *base;  /**< during an exchange: row 0 of X as the block sees it */
    void *state; /**< the way's own */
};

extern const sp_exchange_ops sp_exchange_staged_ops, sp_exchange_nccl_ops, sp_exchange_peer_ops;

/** Packs the rows to send; on a GPU: queues it in SP_STREAM_MOVE, behind the kernels so far unless x->now. */
spmm_status sp_exchange_pack(const sp_exchange *x);

/** Where a message to send lies. */
char *sp_message_data(const sp_exchange *x, const sp_message *m);

/** After a failure between the first MPI_Irecv and the first MPI_Isend: sends empty messages, so that no neighbour
 *  waits, and waits for what comes. */
void sp_exchange_give_up(sp_exchange *x);

/** Has the whole message come? Fails where the neighbour skipped. */
spmm_status sp_exchange_check(const MPI_Status *status, const sp_message *m);

#endif
