/** Sends items from the ranks that read them to the ranks that need them, in rounds of bounded memory. */
#ifndef SP_SHUFFLE_H
#define SP_SHUFFLE_H

#include "comm/comm.h"

enum {
    SP_SHUFFLE_BYTES = 2 << 20, /* size in bytes of each rank's send buffer, and of its receive buffer */
    SP_SHUFFLE_ADDS = 4         /* number of items that may be added after sp_shuffle_full() returned 0 */
};

/** State of a shuffle on one rank. All items have the same width. */
typedef struct sp_shuffle {
    MPI_Comm comm;
    MPI_Datatype item;
    int rank, size;
    int64_t width; /* size of an item in bytes */
    int64_t most;  /* capacity in items of each of the buffers below */
    int64_t each;  /* maximum number of items per message */
    char *staged;  /* [most], items in the order in which they were added */
    int32_t *to;   /* [most], destination ranks of the staged items */
    int64_t count; /* number of items in staged */
    char *out;     /* [most], items to send, sorted by destination */
    char *in;      /* [most], items received */
    int *from;     /* [size]: items from[r] to end[r] - 1 of out are still to be sent to rank r */
    int *end;
    /* [size] each, numbers of items in one exchange. offered[r]: this rank offers to rank r; asked[r]: rank r
     * offers to this rank; granted[r]: this rank accepts from rank r; allowed[r]: rank r accepts from this
     * rank. in_at[r]: index in `in` of the first item from rank r */
    int *offered, *asked, *granted, *allowed, *in_at;
    int turn; /* the rank whose request is served first in the next exchange */
} sp_shuffle;

/** Callback that adds items with sp_shuffle_add() until sp_shuffle_full() returns 1 or no items are left.
 *  Local.
 *  \param [out] more  1; 0 if this rank has no further items */
typedef spmm_status (*sp_shuffle_fill)(void *context, sp_shuffle *router, int *more);

/** Callback that processes `count` items that were sent to this rank. Local. */
typedef spmm_status (*sp_shuffle_take)(void *context, const void *items, int64_t count);

/** Sends all items of all ranks to their destinations.
 *
 *  Collective over comm. If fill or take fails on a rank, all ranks stop and return the status and message of
 *  that rank (sp_agree(), stage "load"). Memory: at most 4 times SP_SHUFFLE_BYTES, plus a few bytes per rank
 *  of comm. Messages have at most SPMM_CHUNK_BYTES.
 *  \param [in] width    size of an item in bytes: 4, 8, 12 or 16
 *  \param [in] context  passed on to fill and take
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _MPI, or a status of fill or take */
spmm_status sp_route(MPI_Comm comm, int64_t width, sp_shuffle_fill fill, sp_shuffle_take take, void *context);

/** Returns 1 if r does not have space for SP_SHUFFLE_ADDS further items. Local. */
static inline int sp_shuffle_full(const sp_shuffle *r) { return r->count + SP_SHUFFLE_ADDS > r->most; }

/** Adds an item for rank `to` and returns the address at which the caller must store its contents. Local. */
static inline void *sp_shuffle_add(sp_shuffle *r, int to)
{
    r->to[r->count] = to;
    return r->staged + r->count++ * r->width;
}

#endif
