/** The peer backend's registered buffers, the places of the neighbors' X, and writing rows there. Private to
 *  the files src/exchange/exchange_peer*.c. */
#ifndef SP_EXCHANGE_PEER_H
#define SP_EXCHANGE_PEER_H

#include "device/device.h"
#include "device/device_ops.h"
#include "exchange/exchange_backend.h"

/** A registered buffer: GPU memory of this rank that other ranks may attach. */
typedef struct sp_peer_buffer {
    char *memory;
    int64_t bytes;
    sp_shared shared;
} sp_peer_buffer;

/** The place to which the sources of a rank write rows (sp_peer_arrival()): byte `at` of that rank's
 *  registered buffer number `buffer`. `at` is -1 if the rank failed and needs no rows. */
typedef struct sp_peer_place {
    int64_t at, buffer;
    int64_t captured; /**< 1: the exchange is being captured in a CUDA graph */
    sp_shared shared; /**< the buffer's handle */
} sp_peer_place;

/** Data about a target, i.e. a rank to whose X this rank writes. */
typedef struct sp_peer_remote {
    int64_t offset; /**< destination of the first row: bytes from the target's sp_peer_place */
    void **buffer;  /**< [buffers] this rank's mappings of the target's buffers; NULL: not attached */
    int buffers;
} sp_peer_remote;

/** The first member of the state of the peer backend. */
typedef struct sp_peer {
    sp_peer_buffer *buffer; /**< [buffers] this rank's registered buffers */
    int buffers;
    int connected;          /**< 1: other ranks may have attached this rank's registered buffers */
    sp_peer_remote *remote; /**< [outs] */
    sp_peer_place *place;   /**< [outs] places of the targets' X in this exchange */
    char **to;              /**< [outs] destinations of rows in this exchange; NULL: the target failed */
    sp_push *push;          /**< [outs] */
    int *order;             /**< [outs] the order in which this rank writes to the targets */
    char *arrivals; /**< options.rounded: the registered buffer in which rows of f32 arrive, with a part for
                         each column block; NULL before the first X is allocated */
    int64_t part;   /**< options.rounded: the part of `arrivals` that the last exchange used */
} sp_peer;

/** Allocates the state, zeroed, and the members of its sp_peer. Local.
 *  \param [in] bytes  size of the state
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_peer_create(sp_exchange *x, size_t bytes);
/** Distributes the set-up data of each rank to all ranks of the process column, and marks the exchange as
 *  connected. Collective over the grid.
 *  \param [in]  prepared  this rank's status so far; if any rank has failed, all ranks fail
 *  \param [in]  mine      [bytes] this rank's data
 *  \param [out] all       [ranks of the process column * bytes] the caller frees it, also on failure; NULL
 *                         before the call
 *  \return the same status on every rank: SPMM_OK, `prepared` of a rank, SPMM_ERR_MEMORY, _MPI */
spmm_status sp_peer_shake_hands(sp_exchange *x, spmm_status prepared, const void *mine, int bytes,
                                void **all);

/** Detaches and unregisters the buffers, and frees the state. Collective over the process column if the
 *  exchange is connected. */
void sp_peer_destroy(sp_exchange *x);

/** Checks that all ranks of the process column are on one node. Collective over the process column.
 *  \return SPMM_OK, SPMM_ERR_DEVICE, SPMM_ERR_MPI */
spmm_status sp_peer_check_node(const sp_exchange *x);
/** Creates a registered buffer that the other ranks attach as a test. sp_peer_forget() unregisters it. Local.
 *  \param [out] trial  handle of the buffer
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_DEVICE */
spmm_status sp_peer_make_trial(sp_exchange *x, sp_shared *trial);
/** Attaches the test buffer of target i (sp_peer_make_trial()). Local. \return SPMM_OK, SPMM_ERR_MEMORY,
 *  SPMM_ERR_DEVICE */
spmm_status sp_peer_attach_trial(const sp_exchange *x, int i, const sp_shared *trial);
/** Sends to each source the place of its rows in this rank's X, and receives from each target the place of
 *  this rank's rows in the target's X. Collective over the process column. \return SPMM_OK, SPMM_ERR_MPI,
 *  _MEMORY */
spmm_status sp_peer_send_offsets(sp_exchange *x);

/** The memory operations, for an X in a registered buffer. */
extern const sp_exchange_memory sp_peer_memory;

/** Detaches the targets' buffers, waits until all ranks of the process column have done so, then ends the
 *  sharing of this rank's buffers. Collective over the process column. */
void sp_peer_forget(sp_exchange *x);

/** Returns the address relative to which sources write the rows of this exchange, in a registered buffer:
 *  row 0 of X or, if rows travel as f32, a part of the arrivals, which becomes x->received. Consecutive
 *  exchanges of a product use different parts, because rows of one exchange may arrive while rows of another
 *  are widened. Local. */
const char *sp_peer_arrival(sp_exchange *x);
/** Makes SP_STREAM_MAIN wait for x->stream, in which this rank has queued a wait for the rows that it
 *  receives, and queues the widening of rows of f32. Local. \return SPMM_OK, SPMM_ERR_NO_DEVICE,
 *  SPMM_ERR_DEVICE */
spmm_status sp_peer_join(const sp_exchange *x);
/** Describes the place where sources write. Local. \param [in] base sp_peer_arrival(); NULL: this rank
 *  failed */
void sp_peer_place_of(const sp_exchange *x, const char *base, sp_peer_place *place);
/** Returns 1 if the buffers that sp_peer.place names are attached already, so that sp_peer_write_rows() will
 *  not attach any. Local. */
int sp_peer_attached(const sp_exchange *x);
/** Queues in x->stream the writes to all targets, at the places sp_peer.place. Attaches new buffers of the
 *  targets. Local. \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_peer_write_rows(const sp_exchange *x);

#endif
