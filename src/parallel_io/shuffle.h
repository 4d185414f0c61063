/** Items from the ranks that read them to the ranks that want them, in rounds of bounded memory. */
#ifndef SP_SHUFFLE_H
#define SP_SHUFFLE_H

#include "comm/comm.h"

enum {
    SP_SHUFFLE_BYTES = 2 << 20, /* items that a rank holds to be sent; and as many to be received */
    SP_SHUFFLE_ADDS = 4         /* items that may be added after one look at sp_shuffle_full() */
};

/** A rank's items, all of one width. */
typedef struct sp_shuffle {
    MPI_Comm comm;
    MPI_Datatype item;
    int rank, size;
    int64_t width; /* bytes an item */
    int64_t most;  /* items that are held */
    int64_t each;  /* items that a message has at most */
    char *staged;  /* [most], as they were added */
    int32_t *to;   /* [most], their ranks */
    int64_t count; /* staged */
    char *out;     /* [most], sorted by rank */
    char *in;      /* [most] */
    int *from;     /* [size]: items from[rank] to end[rank] - 1 of out wait for a rank */
    int *end;
    int *offered, *asked, *granted, *allowed, *in_at; /* [size] each: of one exchange */
    int turn;                                         /* the rank whose wish is heard first */
} sp_shuffle;

/** Adds items, by sp_shuffle_add(), until sp_shuffle_full() or until there are none left.
 *  \param [out] more  0: there will be no further ones */
typedef spmm_status (*sp_shuffle_fill)(void *context, sp_shuffle *router, int *more);

/** Takes items that came. */
typedef spmm_status (*sp_shuffle_take)(void *context, const void *items, int64_t count);

/** Sends all items of all ranks.
 *
 *  Collective. When a rank's fill or take fails all stop, with that rank's status and message (sp_agree,
 *  stage "load"). Memory: about 4 times SP_SHUFFLE_BYTES, and some bytes a rank; messages keep to
 *  SPMM_CHUNK_BYTES. \param [in] width  bytes of an item: 4, 8, 12 or 16 */
spmm_status sp_route(MPI_Comm comm, int64_t width, sp_shuffle_fill fill, sp_shuffle_take take, void *context);

static inline int sp_shuffle_full(const sp_shuffle *r) { return r->count + SP_SHUFFLE_ADDS > r->most; }

/** Room for an item to rank `to`. */
static inline void *sp_shuffle_add(sp_shuffle *r, int to)
{
    r->to[r->count] = to;
    return r->staged + r->count++ * r->width;
}

#endif
