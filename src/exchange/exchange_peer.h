/** What the two orders of the peer transport share: registered buffers, where neighbors' X's are, and the
 *  writes. Private to the files src/exchange/exchange_peer*.c. */
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

/** Where the X of a rank that needs rows is: row 0 lies at byte `at` of that rank's registered buffer number
 *  `buffer`. at is -1 if the rank failed and needs no rows. */
typedef struct sp_peer_place {
    int64_t at, buffer;
    int64_t captured; /**< 1: the exchange is being captured in a CUDA graph; by the streams alone */
    sp_shared shared; /**< the buffer's handle */
} sp_peer_place;

/** What this rank knows of a target, i.e. of a rank whose X it writes to. */
typedef struct sp_peer_remote {
    int64_t offset; /**< where to write the first row: bytes from row 0 of the target's X */
    void **buffer;  /**< [buffers] this rank's mappings of the target's buffers; NULL: not attached */
    int buffers;
} sp_peer_remote;

/** The first member of the state of an exchange by this transport. */
typedef struct sp_peer {
    sp_peer_buffer *buffer; /**< [buffers] this rank's registered buffers */
    int buffers;
    int connected;          /**< 1: other ranks may have attached this rank's registered buffers */
    sp_peer_remote *remote; /**< [outs] */
    sp_peer_place *place;   /**< [outs] where the targets' X's are in this exchange */
    char **to;              /**< [outs] where to write rows in this exchange; NULL: the target failed */
    sp_push *push;          /**< [outs] */
    int *order;             /**< [outs] the sequence in which the targets are written to */
} sp_peer;

/** Allocates the state, zeroed, and the members of its sp_peer. Local.
 *  \param [in] bytes  of the state \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_peer_create(sp_exchange *x, size_t bytes);
/** Gives every rank of the process column what each says at set-up, and marks the exchange as connected.
 *  Collective over the grid.
 *  \param [in]  prepared  this rank's status so far; a failure of any rank is every rank's
 *  \param [in]  mine      [bytes] what this rank says
 *  \param [out] all       [ranks of the process column * bytes] the caller frees it, also on failure; NULL
 *                         before the call
 *  \return the same status on every rank: SPMM_OK, `prepared` of a rank, SPMM_ERR_MEMORY, _MPI */
spmm_status sp_peer_shake_hands(sp_exchange *x, spmm_status prepared, const void *mine, int bytes,
                                void **all);

/** Forgets the buffers, and frees the state. Collective over the process column if the exchange is
 *  connected. */
void sp_peer_destroy(sp_exchange *x);

/** Checks that all ranks of the process column are on one node. Collective over it.
 *  \return SPMM_OK, SPMM_ERR_DEVICE, SPMM_ERR_MPI */
spmm_status sp_peer_check_node(const sp_exchange *x);
/** Makes a registered buffer that the other ranks attach as a test, and which is then forgotten. Local.
 *  \param [out] trial  its handle \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_DEVICE */
spmm_status sp_peer_make_trial(sp_exchange *x, sp_shared *trial);
/** Attaches target i's buffer of sp_peer_make_trial(). Local. \return SPMM_OK, SPMM_ERR_MEMORY,
 *  SPMM_ERR_DEVICE */
spmm_status sp_peer_attach_trial(const sp_exchange *x, int i, const sp_shared *trial);
/** Tells each source where its rows belong in this rank's X, and receives from each target where this rank's
 *  rows belong in the target's X. Collective over the process column. \return SPMM_OK, SPMM_ERR_MPI,
 *  _MEMORY */
spmm_status sp_peer_send_offsets(sp_exchange *x);

/** X lies in memory that is shared with other ranks of the node. */
extern const sp_exchange_memory sp_peer_memory;

/** Detaches the targets' buffers, waits until all ranks of the process column have done so, then ends the
 *  sharing of this rank's buffers. Collective over the process column. */
void sp_peer_forget(sp_exchange *x);

/** Says where this rank's X is. Local. \param [in] base  row 0 of X; NULL: this rank failed */
void sp_peer_place_of(const sp_exchange *x, const char *base, sp_peer_place *place);
/** Returns 1 if the buffers that `place` names are attached already, so that sp_peer_write_rows() attaches
 *  none. Local. */
int sp_peer_attached(const sp_exchange *x);
/** Queues the writes to all targets whose X's are at `place`, in x->stream. Attaches those buffers of theirs
 *  that are new. Local. \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_peer_write_rows(const sp_exchange *x);

#endif
