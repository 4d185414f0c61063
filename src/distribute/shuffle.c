/** Sends items of fixed width to their destination ranks in rounds of bounded memory. */
#include "distribute/shuffle.h"

#include <string.h>

#include "base/memory.h"

static void router_destroy(sp_shuffle *r)
{
    if (r->item != MPI_DATATYPE_NULL) MPI_Type_free(&r->item);
    sp_free(r->staged);
    sp_free(r->to);
    sp_free(r->out);
    sp_free(r->in);
    sp_free(r->from);
}

/** Returns the capacity of each buffer in items. If SPMM_CHUNK_BYTES is small, the buffers are also small, so
 *  that tests run many rounds. */
static int64_t items_held(int64_t width)
{
    const int64_t bytes = sp_chunk_bytes() < SP_SHUFFLE_BYTES / 16 ? sp_chunk_bytes() * 16 : SP_SHUFFLE_BYTES;
    return bytes / width > SP_SHUFFLE_ADDS ? bytes / width : SP_SHUFFLE_ADDS;
}

static spmm_status router_create(MPI_Comm comm, int64_t width, sp_shuffle *r)
{
    static const char what[] = "entries that are sent";
    enum { ARRAYS = 7 };
    *r = (sp_shuffle){.comm = comm, .item = MPI_DATATYPE_NULL, .width = width, .most = items_held(width)};
    TRY(SP_MPI(MPI_Comm_rank(comm, &r->rank)));
    TRY(SP_MPI(MPI_Comm_size(comm, &r->size)));
    TRY(SP_MPI(MPI_Type_contiguous((int)width, MPI_BYTE, &r->item)));
    TRY(SP_MPI(MPI_Type_commit(&r->item)));
    r->each = sp_chunk_bytes() / width;
    if (r->each < 1) r->each = 1;
    TRY(sp_alloc((void **)&r->staged, r->most, (size_t)width, what));
    TRY(sp_alloc((void **)&r->to, r->most, sizeof *r->to, what));
    TRY(sp_alloc((void **)&r->out, r->most, (size_t)width, what));
    TRY(sp_alloc((void **)&r->in, r->most, (size_t)width, what));
    TRY(sp_alloc_zero((void **)&r->from, ARRAYS * (int64_t)r->size, sizeof *r->from, what));
    int **const arrays[ARRAYS - 1] = {&r->end, &r->offered, &r->asked, &r->granted, &r->allowed, &r->in_at};
    for (int k = 0; k + 1 < ARRAYS; k++) *arrays[k] = r->from + (k + 1) * (int64_t)r->size;
    return SPMM_OK;
}

__attribute__((always_inline)) static inline void copy_sorted(sp_shuffle *r, const size_t width)
{
    for (int64_t k = 0; k < r->count; k++)
        memcpy(r->out + (size_t)r->end[r->to[k]]++ * width, r->staged + (size_t)k * width, width);
}

/** Moves the staged items to r->out, sorted by destination. The counting sort is stable: items for the same
 *  destination stay in the order in which they were added. */
static void sort_by_rank(sp_shuffle *r)
{
    int at = 0;
    memset(r->end, 0, (size_t)r->size * sizeof *r->end);
    for (int64_t k = 0; k < r->count; k++) r->end[r->to[k]]++;
    for (int d = 0; d < r->size; d++) {
        r->from[d] = at;
        at += r->end[d];
        r->end[d] = r->from[d];
    }
    switch (r->width) { /* a copy of constant width takes one or two instructions */
    case 4: copy_sorted(r, 4); break;
    case 8: copy_sorted(r, 8); break;
    case 12: copy_sorted(r, 12); break;
    default: copy_sorted(r, (size_t)r->width); break;
    }
    r->count = 0;
}

static int waiting(const sp_shuffle *r)
{
    for (int d = 0; d < r->size; d++)
        if (r->from[d] < r->end[d]) return 1;
    return 0;
}

/** Fills r->out with new items from the callback fill, and immediately passes those for this rank itself to
 *  the callback take. */
static spmm_status refill(sp_shuffle *r, sp_shuffle_fill fill, sp_shuffle_take take, void *context, int *more)
{
    TRY(fill(context, r, more));
    sort_by_rank(r);
    const int first = r->from[r->rank], count = r->end[r->rank] - first;
    r->from[r->rank] = r->end[r->rank];
    return count > 0 ? take(context, r->out + first * r->width, count) : SPMM_OK;
}

/** Decides how many items to accept from each rank: as many as the rank asks to send, until the receive
 *  buffer is full. Each exchange serves another rank first, so that no rank starves. Returns the total number
 *  of items accepted. */
static int grant(sp_shuffle *r)
{
    int64_t room = r->most;
    for (int k = 0; k < r->size; k++) {
        const int s = (r->turn + k) % r->size;
        r->granted[s] = r->asked[s] < room ? r->asked[s] : (int)room;
        room -= r->granted[s];
    }
    r->turn = (r->turn + 1) % r->size;
    int at = 0;
    for (int s = 0; s < r->size; s++) {
        r->in_at[s] = at;
        at += r->granted[s];
    }
    return at;
}

/** Sends as many of the items in r->out as their destinations have room for, and passes the items received to
 *  the callback take. Collective. */
static spmm_status exchange(sp_shuffle *r, sp_shuffle_take take, void *context)
{
    for (int d = 0; d < r->size; d++) {
        const int left = r->end[d] - r->from[d];
        r->offered[d] = left < r->each ? left : (int)r->each;
    }
    TRY(SP_MPI(MPI_Alltoall(r->offered, 1, MPI_INT, r->asked, 1, MPI_INT, r->comm)));
    const int count = grant(r);
    TRY(SP_MPI(MPI_Alltoall(r->granted, 1, MPI_INT, r->allowed, 1, MPI_INT, r->comm)));
    TRY(SP_MPI(
        MPI_Alltoallv(r->out, r->allowed, r->from, r->item, r->in, r->granted, r->in_at, r->item, r->comm)));
    for (int d = 0; d < r->size; d++) r->from[d] += r->allowed[d];
    return count > 0 ? take(context, r->in, count) : SPMM_OK;
}

spmm_status sp_route(MPI_Comm comm, int64_t width, sp_shuffle_fill fill, sp_shuffle_take take, void *context)
{
    sp_shuffle r;
    enum { FAILED, MORE, WAITING, FLAGS };
    int more = 1;
    spmm_status status = sp_agree(comm, "load", router_create(comm, width, &r));
    if (status != SPMM_OK) {
        router_destroy(&r);
        return status;
    }
    for (;;) {
        if (status == SPMM_OK && more && !waiting(&r)) status = refill(&r, fill, take, context, &more);
        int flags[FLAGS];
        flags[FAILED] = status != SPMM_OK;
        flags[WAITING] = waiting(&r);
        flags[MORE] = more;
        const spmm_status reduced = SP_MPI(MPI_Allreduce(MPI_IN_PLACE, flags, FLAGS, MPI_INT, MPI_MAX, comm));
        if (reduced != SPMM_OK) status = reduced;
        if (reduced != SPMM_OK || flags[FAILED] || (!flags[WAITING] && !flags[MORE])) break;
        /* often skipped: if a file is ordered by rows, most items stay on the rank that read them */
        if (flags[WAITING]) status = exchange(&r, take, context);
    }
    status = sp_agree(comm, "load", status);
    router_destroy(&r);
    return status;
}
