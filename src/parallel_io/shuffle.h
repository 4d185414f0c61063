/** Sends items from the ranks that read them to the ranks that need them, in rounds of bounded memory. */
#ifndef SP_SHUFFLE_H
#define SP_SHUFFLE_H

#include "comm/comm.h"

enum {
    SP_SHUFFLE_BYTES = 2 << 20, /* bytes of items that a rank holds for sending, and again for receiving */
    SP_SHUFFLE_ADDS = 4         /* items that may be added after sp_shuffle_full() returned 0 */
};

/** State of a shuffle on one rank. All items have the same width. */
typedef struct sp_shuffle {
    MPI_Comm comm;
    MPI_Datatype item;
    int rank, size;
    int64_t width; /* bytes per item */
    int64_t most;  /* capacity in items of each of the buffers below */
    int64_t each;  /* most items per message */
    char *staged;  /* [most], items in the order in which they were added */
    int32_t *to;   /* [most], their destination ranks */
    int64_t count; /* number of items in staged */
    char *out;     /* [most], items to send, sorted by destination */
    char *in;      /* [most], items received */
    int *from;     /* [size]: items from[r] to end[r] - 1 of out are still to be sent to rank r */
    int *end;
    /* [size] each, for one exchange: items that this rank offers to each rank, that each rank offers to it, that it
     * accepts from each rank, that each rank accepts from it, and where each rank's items begin in `in` */
    int *offered, *asked, *granted, *allowed, *in_at;
    int turn; /* the rank whose request is served first */
} sp_shuffle;

/** Callback that adds items with sp_shuffle_add() until sp_shuffle_full() returns 1 or no items are left. Local.
 *  \param [out] more  0: this rank has no further items */
typedef spmm_status (*sp_shuffle_fill)(void *context, sp_shuffle *router, int *more);

/** Callback that processes items sent to this rank. Local. */
typedef spmm_status (*sp_shuffle_take)(void *context, const void *items, int64_t count);

/** Sends all items of all ranks to their destinations.
 *
 *  Collective over comm. If fill or take fails on a rank, all ranks stop and return that rank's status and message
 *  (sp_agree(), stage "load"). Memory: at most 4 times SP_SHUFFLE_BYTES, plus a few bytes per rank. Messages have at
 *  most SPMM_CHUNK_BYTES.
 *  \param [in] width    bytes per item: 4, 8, 12 or 16
 *  \param [in] context  passed on to fill and take
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _MPI, or a status of fill or take */
spmm_status sp_route(MPI_Comm comm, int64_t width, sp_shuffle_fill fill, sp_shuffle_take take, void *context);

/** Returns 1 if no further SP_SHUFFLE_ADDS items can be added. Local. */
static inline int sp_shuffle_full(const sp_shuffle *r) { return r->count + SP_SHUFFLE_ADDS > r->most; }

/** Adds an item for rank `to` and returns the address where the caller must store it. Local. */
static inline void *sp_shuffle_add(sp_shuffle *r, int to)
{
    r->to[r->count] = to;
    return r->staged + r->count++ * r->width;
}

#endif
