/** Exchange backend for ranks of a node whose X is in common memory: they read the rows of their neighbors in
 *  place. On a node, an exchange only consists of waits: a rank waits until its neighbors have written their
 *  rows, and the neighbors wait until the rank has read them. Rows of other nodes arrive by messages
 *  (exchange_direct.c), each on one rank, in memory that all ranks of the node read.
 *
 *  The common memory is one file per process column and node. It begins with the counters of the ranks. Then,
 *  for each possible row size, it contains AREAS areas, each for the rows of one X: ghost rows of lower
 *  nodes, rows owned by the node's ranks, ghost rows of higher nodes. An area takes memory only where rows
 *  have been written, and each rank maps only the areas that it uses. A rank chooses the area of an X when it
 *  creates the X, without asking other ranks. If neighbors then multiply by an X in another area, a rank
 *  collects the rows that it needs in its own memory for this product. */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "device/node_memory.h"
#include "halo/node_rows.h"
#include "exchange/exchange_backend.h"

/* The last area is for copies of an X that is in other memory. */
enum { AREAS = 16, LINE = 64, HUGE_PAGE = 2 << 20, SECTOR = 32 };

/** State that a rank publishes for the other ranks of its node. Each counter combines the number of the
 *  exchange, shifted by SHIFT, the area of the rank's X, shifted by 1, and 1 if the rank failed. Only the
 *  rank itself writes its counters. */
typedef struct counters {
    _Alignas(LINE) _Atomic uint64_t ready;    /* the rank's owned rows are written */
    _Alignas(LINE) _Atomic uint64_t received; /* rows of other nodes that the rank receives have arrived */
    _Alignas(LINE) _Atomic uint64_t done;     /* the rank has read all rows that it needs */
} counters;

enum { SHIFT = 8 };

/** The areas for one row size. */
typedef struct areas {
    int64_t row_bytes;
    int64_t begin, bytes; /* begin: offset of the first area in the file; bytes: size of an area */
    void *at[AREAS];      /* mappings; NULL: not mapped yet */
    struct areas *next;
} areas;

typedef struct shared {
    int descriptor;
    counters *of;                       /* [ranks of the node] */
    int64_t counters_bytes, most_bytes; /* most_bytes: size of an area for the longest rows */
    areas *all, *now;                   /* all: for each row size that has been used; now: for x->row_bytes */
    uint64_t number;                    /* number of the current exchange */
    int at;                             /* area of the current X */
    int receives;                       /* 1: ranks of this node receive rows of other nodes */
    int collects;                       /* 1: the current product reads rows in `collected` */
    char *collected;                    /* rows in the node's numbering; NULL: not needed yet */
} shared;

static const sp_node_rows *node_of(const sp_exchange *x) { return x->options.node; }

/* ---- set-up ---- */

static int64_t round_up(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

/** Numbers the row sizes that sp_multivector_ld() produces: returns 0 for the smallest one, and a greater
 *  number for a greater size. */
static int64_t size_number(int64_t row_bytes)
{
    int64_t n = 0;
    while (row_bytes < SECTOR && 4 << n < row_bytes) n++;
    return row_bytes < SECTOR ? n : row_bytes / SECTOR + 2;
}

/** Computes the place of the areas for a row size. It is the same on all ranks, and places do not overlap:
 *  areas for longer rows are larger and have a greater index, and so follow those for shorter rows. */
static spmm_status find_areas(const sp_exchange *x, int64_t row_bytes, areas **found)
{
    shared *const s = x->state;
    areas *a = s->all;
    while (a && a->row_bytes != row_bytes) a = a->next;
    *found = a;
    if (a) return SPMM_OK;
    TRY(sp_alloc_zero((void **)&a, 1, sizeof *a, "places of X in common memory"));
    a->row_bytes = row_bytes;
    a->bytes = round_up(sp_moves_rows(x->moves) * row_bytes, HUGE_PAGE);
    a->begin = s->counters_bytes + size_number(row_bytes) * AREAS * a->bytes;
    a->next = s->all;
    s->all = *found = a;
    return SPMM_OK;
}

static spmm_status map_area(const shared *s, areas *a, int i)
{
    return a->at[i] || a->bytes == 0
               ? SPMM_OK
               : sp_node_memory_map(s->descriptor, a->begin + i * a->bytes, a->bytes, &a->at[i]);
}

static spmm_status set_rows(sp_exchange *x)
{
    areas *now;
    TRY(sp_agree(x->grid->comm, "exchange", find_areas(x, x->row_bytes, &now)));
    ((shared *)x->state)->now = now;
    return SPMM_OK;
}

static spmm_status exchange_shared_create(sp_exchange *x)
{
    shared *s;
    TRY(sp_alloc_zero((void **)&s, 1, sizeof *s, "an exchange"));
    x->state = s;
    s->descriptor = -1;
    if (!node_of(x))
        return sp_fail(SPMM_ERR_USAGE, "transport shared: X is not in memory that the ranks of a node share");
    int64_t all;
    s->counters_bytes = round_up((int64_t)node_of(x)->size * (int64_t)sizeof(counters), HUGE_PAGE);
    if (__builtin_mul_overflow(sp_moves_rows(x->moves), x->row_bytes, &all) ||
        all / HUGE_PAGE + 1 > INT64_MAX / 2 / AREAS / (size_number(x->row_bytes) + 1) / HUGE_PAGE)
        return sp_fail(SPMM_ERR_LIMIT, "%lld rows of X do not fit 64-bit sizes",
                       (long long)sp_moves_rows(x->moves));
    s->most_bytes = round_up(all, HUGE_PAGE);
    s->receives = node_of(x)->share[node_of(x)->size] > 0;
    return find_areas(x, x->row_bytes, &s->now);
}

/** Maps the counters and one area, to check that the address space is large enough. */
static spmm_status map_first(const sp_exchange *x)
{
    shared *const s = x->state;
    void *memory = NULL;
    TRY(sp_node_memory_map(s->descriptor, 0, s->counters_bytes, &memory));
    s->of = memory;
    return map_area(s, s->now, 0);
}

static spmm_status exchange_shared_connect(sp_exchange *x)
{
    shared *const s = x->state;
    const sp_node_rows *const node = node_of(x);
    sp_node_file file = {0};
    spmm_status status = SPMM_OK;
    if (node->rank == 0)
        status = sp_node_file_create(s->now->begin + AREAS * s->now->bytes, &s->descriptor, &file);
    TRY(sp_agree(x->grid->comm, "exchange", status));
    TRY(SP_MPI(MPI_Bcast(&file, sizeof file, MPI_BYTE, 0, node->comm)));
    if (node->rank > 0) status = sp_node_file_open(&file, &s->descriptor);
    if (status == SPMM_OK) status = map_first(x);
    return sp_agree(x->grid->comm, "exchange", status);
}

static void exchange_shared_destroy(sp_exchange *x)
{
    shared *const s = x->state;
    if (!s) return;
    for (areas *a = s->all, *next; a; a = next) {
        next = a->next;
        for (int i = 0; i < AREAS; i++) sp_node_memory_unmap(a->at[i], a->bytes);
        sp_free(a);
    }
    sp_node_memory_unmap(s->of, s->counters_bytes);
    if (s->descriptor >= 0) close(s->descriptor);
    sp_free(s->collected);
    sp_free(s);
    x->state = NULL;
}

/* ---- areas ---- */

static spmm_status exchange_shared_share(sp_exchange *x, int64_t row_bytes, int for_copies, void **memory)
{
    shared *const s = x->state;
    const sp_node_rows *const node = node_of(x);
    int i = for_copies ? AREAS - 1 : 0;
    areas *a;
    *memory = NULL;
    TRY(find_areas(x, row_bytes, &a));
    while (i < AREAS - 1 && a->at[i] && sp_node_memory_lent(a->at[i])) i++;
    if (a->bytes == 0 || (i == AREAS - 1 && !for_copies)) return SPMM_OK;
    TRY(map_area(s, a, i));
    TRY(sp_node_memory_lend(s->descriptor, a->at[i], a->bytes, a->begin + i * a->bytes,
                            node->begin[node->rank] * row_bytes, x->moves->own * row_bytes));
    *memory = a->at[i];
    return SPMM_OK;
}

/** Returns the area of the current row size that begins at `row`; AREAS if none does. */
static int area_at(const shared *s, const void *row)
{
    int i = 0;
    while (i < AREAS && s->now->at[i] != row) i++;
    return row ? i : AREAS;
}

static int takes(const sp_exchange *x, const void *row) { return area_at(x->state, row) < AREAS; }

/* ---- waiting ---- */

static void tell(const shared *s, _Atomic uint64_t *counter, int failed)
{
    atomic_store_explicit(counter, s->number << SHIFT | (uint64_t)s->at << 1 | (failed != 0),
                          memory_order_release);
}

static void nap(int64_t times)
{
    enum { YIELDS = 20000, NAP = 100000 };
    if (times < YIELDS) {
        sched_yield();
    } else {
        const struct timespec short_time = {0, NAP}; /* nanoseconds */
        nanosleep(&short_time, NULL);
    }
}

/** Waits until the counter has reached the current exchange. After a while, a rank yields its core to other
 *  ranks, for which it may be waiting. MPI makes progress during the wait, because other ranks may wait for
 *  this rank's messages.
 *  \param [out] value  the counter */
static spmm_status await(const sp_exchange *x, const _Atomic uint64_t *counter, uint64_t *value)
{
    enum { SPINS = 500, MPI_EACH = 16 };
    const shared *const s = x->state;
    for (int64_t n = 0;; n++) {
        *value = atomic_load_explicit(counter, memory_order_acquire);
        if (*value >> SHIFT >= s->number) return SPMM_OK;
        if (n < SPINS) {
#ifdef __x86_64__
            __builtin_ia32_pause();
#endif
            continue;
        }
        int waiting;
        if (n % MPI_EACH == 0)
            TRY(SP_MPI(MPI_Iprobe(MPI_ANY_SOURCE, SP_TAG_ROWS, x->comm, &waiting, MPI_STATUS_IGNORE)));
        nap(n - SPINS);
    }
}

static spmm_status failure_of(const sp_exchange *x, int rank, const char *what)
{
    return sp_fail(SPMM_ERR_MPI, "rank %d %s: it failed",
                   sp_exchange_rank_of(x, node_of(x)->first_rank + rank), what);
}

/** Waits until the ranks whose rows this rank needs have written them. Determines whether one of them has its
 *  X in another area. */
static spmm_status await_ready(sp_exchange *x)
{
    shared *const s = x->state;
    const sp_node_rows *const node = node_of(x);
    spmm_status status = SPMM_OK;
    s->collects = 0;
    for (int i = 0; i < node->size; i++) {
        uint64_t value;
        if (!node->reads_own[i] && !node->reads_share[i]) continue;
        TRY(await(x, &s->of[i].ready, &value));
        if (value & 1 && node->reads_own[i]) status = failure_of(x, i, "wrote no rows of X");
        s->collects |= (int)(value >> 1 & (AREAS - 1)) != s->at;
    }
    return status;
}

static spmm_status await_received(sp_exchange *x)
{
    const shared *const s = x->state;
    const sp_node_rows *const node = node_of(x);
    spmm_status status = SPMM_OK;
    for (int i = 0; s->receives && i < node->size; i++) {
        uint64_t value;
        if (!node->reads_share[i]) continue;
        TRY(await(x, &s->of[i].received, &value));
        if (value & 1) status = failure_of(x, i, "received no rows of X from another node");
    }
    return status;
}

/** Publishes that this rank has read all rows that it needs. Then waits until other ranks have read this
 *  rank's owned rows and the rows that it received. */
static spmm_status exchange_shared_finish(sp_exchange *x)
{
    shared *const s = x->state;
    const sp_node_rows *const node = node_of(x);
    uint64_t value;
    tell(s, &s->of[node->rank].done, 0);
    for (int i = 0; i < node->size; i++)
        if (node->readers[i]) TRY(await(x, &s->of[i].done, &value));
    return SPMM_OK;
}

/* ---- an X in several areas ---- */

static void exchange_shared_copy_rows(const shared *s, const sp_exchange *x, int area, int64_t first,
                                      int64_t end)
{
    if (end <= first) return;
    memcpy(s->collected + first * x->row_bytes, (const char *)s->now->at[area] + first * x->row_bytes,
           (size_t)((end - first) * x->row_bytes));
}

static int area_of(const shared *s, int rank)
{
    return (int)(atomic_load_explicit(&s->of[rank].ready, memory_order_relaxed) >> 1 & (AREAS - 1));
}

/** Copies the owned rows of this rank, and of the ranks whose rows it needs, to s->collected. */
static spmm_status collect_own(sp_exchange *x)
{
    shared *const s = x->state;
    const sp_node_rows *const node = node_of(x);
    if (!s->collected)
        TRY(sp_alloc((void **)&s->collected, s->most_bytes, 1, "rows of X from several multivectors"));
    for (int i = 0; i < node->size; i++) {
        if (i != node->rank && !node->reads_own[i] && !node->reads_share[i]) continue;
        TRY(map_area(s, s->now, area_of(s, i)));
        if (i == node->rank || node->reads_own[i])
            exchange_shared_copy_rows(s, x, area_of(s, i), node->begin[i], node->begin[i + 1]);
    }
    return SPMM_OK;
}

/** Copies the rows of other nodes, received by this rank or by ranks that it reads from, to s->collected. */
static void collect_received(const sp_exchange *x)
{
    const shared *const s = x->state;
    const sp_node_rows *const node = node_of(x);
    for (int i = 0; i < node->size; i++) {
        const int64_t first = node->share[i], end = node->share[i + 1];
        const int64_t low_end = end < node->low ? end : node->low,
                      high = first > node->low ? first : node->low;
        if (i != node->rank && !node->reads_share[i]) continue;
        exchange_shared_copy_rows(s, x, area_of(s, i), first, low_end);
        exchange_shared_copy_rows(s, x, area_of(s, i), high + node->near, end + node->near);
    }
}

/* ---- exchanges ---- */

static spmm_status worse(spmm_status first, spmm_status second) { return first == SPMM_OK ? second : first; }

/** Ends an exchange in which this rank failed. */
static void abandon(sp_exchange *x)
{
    const shared *const s = x->state;
    tell(s, &s->of[node_of(x)->rank].received, 1);
    (void)exchange_shared_finish(x);
}

static spmm_status exchange_shared_begin(sp_exchange *x)
{
    shared *const s = x->state;
    s->number++;
    s->at = area_at(s, x->base);
    s->collects = 0;
    tell(s, &s->of[node_of(x)->rank].ready, 0);
    const spmm_status status = sp_exchange_direct.begin(x);
    if (status != SPMM_OK) abandon(x);
    return status;
}

/** Waits for the rows that this rank needs. Other ranks have been able to read its owned rows since
 *  exchange_shared_begin(). */
static spmm_status exchange_shared_end(sp_exchange *x)
{
    shared *const s = x->state;
    spmm_status status = sp_exchange_direct.end(x);
    tell(s, &s->of[node_of(x)->rank].received, status != SPMM_OK);
    status = worse(status, await_ready(x));
    if (s->collects) status = worse(status, collect_own(x));
    status = worse(status, await_received(x));
    if (status == SPMM_OK && s->collects) collect_received(x);
    return status;
}

static void exchange_shared_skip(sp_exchange *x)
{
    shared *const s = x->state;
    s->number++;
    s->at = 0;
    tell(s, &s->of[node_of(x)->rank].ready, 1);
    sp_exchange_skip_messages(x);
    abandon(x);
}

static void *reads_at(const sp_exchange *x)
{
    const shared *const s = x->state;
    return s->collects ? s->collected : x->base;
}

static const sp_exchange_memory memory = {
    .share = exchange_shared_share, .takes = takes, .reads_at = reads_at};

const sp_exchange_ops sp_exchange_shared = {.begin = exchange_shared_begin,
                                            .end = exchange_shared_end,
                                            .create = exchange_shared_create,
                                            .destroy = exchange_shared_destroy,
                                            .connect = exchange_shared_connect,
                                            .skip = exchange_shared_skip,
                                            .finish = exchange_shared_finish,
                                            .set_rows = set_rows,
                                            .memory = &memory,
                                            .by_mpi = 1};
