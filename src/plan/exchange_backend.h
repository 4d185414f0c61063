/** The exchange's state, and the operations of its backends: shared by the files of the exchange. */
#ifndef SP_EXCHANGE_BACKEND_H
#define SP_EXCHANGE_BACKEND_H

#include "plan/exchange.h"

/** One message: consecutive rows to or from one neighbour. Offsets are in bytes. */
typedef struct sp_message {
    int peer;   /**< rank in the process column */
    int packed; /**< 1: `at` is an offset in the buffer of packed rows; 0: in X as the block sees it */
    int64_t at;
    int64_t stage; /**< offset in the staging buffer of all that is sent, or of all that is received */
    int64_t bytes;
} sp_message;

/** Operations of an exchange backend. begin, end, skip, alloc and takes are those of exchange.h, with the members
 *  below set; every one but begin and end may be NULL. */
typedef struct sp_exchange_ops {
    spmm_status (*begin)(sp_exchange *x);
    spmm_status (*end)(sp_exchange *x);
    spmm_status (*create)(sp_exchange *x);  /**< allocates the backend's state; local */
    void (*destroy)(sp_exchange *x);        /**< frees it; collective over the grid */
    spmm_status (*connect)(sp_exchange *x); /**< sets up communication; collective over the grid */
    void (*skip)(sp_exchange *x);           /**< NULL where an empty message tells that a rank failed */
    /* NULL where X may lie anywhere */
    spmm_status (*alloc)(sp_exchange *x, int64_t bytes, void **memory);
    int (*takes)(const sp_exchange *x, const void *row);
    void (*forget)(sp_exchange *x); /**< gives up what alloc handed out; collective over the process column */
} sp_exchange_ops;

struct sp_exchange {
    const sp_grid *grid;
    MPI_Comm comm; /**< the process column */
    const sp_halo *halo;
    int64_t row_bytes;
    spmm_device space;
    spmm_transport transport;
    int by_kernel; /**< 1: with SPMM_TRANSPORT_PEER, kernels rather than copy engines move contiguous rows */
    int threads;
    const sp_exchange_ops *ops;
    int ins, outs; /**< numbers of messages to receive and to send */
    sp_message *in, *out;
    MPI_Request *request; /**< [ins + outs] */
    MPI_Status *status;   /**< [ins + outs] */
    int *done;            /**< [ins] indices of completed requests */
    void *drop;           /**< host memory for the longest incoming message; NULL where ops has a skip */
    char *send;           /**< packed rows, in the memory space of X */
    int32_t *list;        /**< on a GPU: copy of the halo's list of rows to pack */
    int now;              /**< 1: the exchange need not wait for kernels queued before */
    const char *from;     /**< where to read owned rows, `pitch` bytes apart: in X except with begin_from() */
    int64_t pitch;
    char *base;  /**< during an exchange: row 0 of X as the block sees it */
    void *state; /**< private to the backend */
};

extern const sp_exchange_ops sp_exchange_staged_ops, sp_exchange_nccl_ops, sp_exchange_peer_ops;

/** Packs the rows to send; on a GPU queues that in SP_STREAM_MOVE, after the kernels queued so far unless x->now is
 *  set. Local.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_exchange_pack(const sp_exchange *x);

/** Returns the address of the rows of an outgoing message. Local. */
char *sp_message_data(const sp_exchange *x, const sp_message *m);

/** Cleans up after a failure between the first MPI_Irecv and the first MPI_Isend: sends empty messages, so that no
 *  neighbour waits in vain, and waits for the incoming ones. */
void sp_exchange_give_up(sp_exchange *x);

/** Checks that a message arrived whole. Local.
 *  \return SPMM_OK, SPMM_ERR_MPI (it is shorter: the neighbour failed) */
spmm_status sp_exchange_check(const MPI_Status *status, const sp_message *m);

#endif
