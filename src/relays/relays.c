/** Determines which rows of X the ranks of a node forward. A row is received for its node by the same rank as
 *  with common memory (halo/node_rows.h). */
#include "relays/relays.h"

#include <string.h>

#include "base/memory.h"
#include "partition/column_set.h"
#include "halo/node_rows.h"
#include "relays/two_steps.h"

/** Rows are forwarded if less than this fraction of the rows then crosses between nodes. */
static const double WORTH = 0.9;

static const char what[] = "the rows that a node forwards";

struct sp_relays {
    const sp_grid *grid;
    /* node.halo: the messages between nodes, first in the node's numbering, then (after renumber()) in the
     * numbering of this rank's X */
    sp_node_rows node;
    /* The second step: messages between ranks of the node, which are numbered as in node.comm, with owned
     * rows and rows that were received by node.halo. Rows to send are numbered from the first owned row, so
     * that their numbers may be negative. */
    sp_halo inside;
};

/** Temporary data. Rows of the node are numbered as in common memory, see sp_node_rows. */
typedef struct relay_setup {
    sp_relays *r;
    int64_t rows, words;     /* number of rows of the node; number of words of a bitmap of these rows */
    uint64_t *held;          /* bitmap of the rows of the node that are in this rank's X */
    int64_t *before;         /* [words + 1] number of members of `held` before each word */
    int64_t *receive, *send; /* [size][PLACES] numbers of rows from and to each rank of the node */
    int32_t *wanted;         /* rows of the node needed from other ranks, in the order of `receive` */
} relay_setup;

/** The position of a row relative to the rows that ranks of the node own: before, among or after them. Rows
 *  in the same position that one rank needs from another are consecutive in X. */
enum { BELOW, NEAR, ABOVE, PLACES };

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/** Finds the rows [rows[0], rows[1]) of the node that a rank owns (NEAR), or that it receives from other
 *  nodes (BELOW, ABOVE).
 *  \param [in] list  rank * PLACES + place */
static void rows_of_list(const sp_node_rows *n, int list, int64_t rows[2])
{
    const int rank = list / PLACES, place = list % PLACES;
    for (int end = 0; end < 2; end++) {
        const int64_t g = n->share[rank + end];
        rows[end] = place == NEAR    ? n->begin[rank + end]
                    : place == BELOW ? clamp(g, 0, n->low)
                                     : clamp(g, n->low, INT64_MAX) + n->near;
    }
}

/** Returns the index in this rank's X of a row of the node. */
static int64_t row_of(const relay_setup *s, int64_t row)
{
    return sp_set_before(s->held, s->before[row / SP_SET_WORD], row);
}

/** Adds to s->held the rows that this rank's block needs. */
static void hold_needed(relay_setup *s, int threads)
{
    const sp_halo *const h = &s->r->node.halo;
    if (h->kind == SPMM_EXCHANGE_BCAST) {
        for (int64_t i = 0; i < s->rows; i++) sp_set_add(s->held, i);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t e = 0; e < h->local.nnz; e++) sp_set_add(s->held, h->local.ja[e]);
}

/** Adds to s->held the rows that this rank owns, or receives from other nodes. */
static void hold_own(relay_setup *s)
{
    const sp_node_rows *const n = &s->r->node;
    for (int place = 0; place < PLACES; place++) {
        int64_t rows[2];
        rows_of_list(n, n->rank * PLACES + place, rows);
        for (int64_t i = rows[0]; i < rows[1]; i++) sp_set_add(s->held, i);
    }
}

/** Determines whether clearly fewer rows cross between nodes than if each rank received its rows itself.
 *  \param [out] worth  the same on every rank */
static spmm_status find_worth(const sp_relays *r, const sp_halo *halo, int *worth)
{
    const sp_node_rows *const n = &r->node;
    double each = 0;
    for (int i = 0; i < halo->sources; i++) {
        const int rank = halo->source[i].rank - n->first_rank;
        if (rank < 0 || rank >= n->size) each += (double)halo->source[i].rows;
    }
    TRY(sp_sum(r->grid->comm, &each, 1));
    *worth = (double)n->halo.all_moved < WORTH * each;
    return SPMM_OK;
}

/** Changes, in place, the column indices of node.halo and the first rows of its messages: numbers of rows of
 *  the node become indices in this rank's X. */
static void renumber(const relay_setup *s, int threads)
{
    const sp_node_rows *const n = &s->r->node;
    sp_halo *const h = &s->r->node.halo, *const inside = &s->r->inside;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t e = 0; e < h->local.nnz; e++) h->local.ja[e] = (int32_t)row_of(s, h->local.ja[e]);
    for (int i = 0; i < h->sources; i++) h->source[i].first = row_of(s, h->source[i].first);
    h->ghost_low = row_of(s, n->begin[n->rank]);
    h->ghost_high = row_of(s, s->rows) - h->ghost_low - h->own;
    h->local.cols = sp_halo_rows(h);
    inside->kind = h->kind;
    inside->own = h->own;
    inside->ghost_low = h->ghost_low;
    inside->ghost_high = h->ghost_high;
}

/* ---- inside the node ---- */

static spmm_status list_wanted(relay_setup *s)
{
    const sp_node_rows *const n = &s->r->node;
    const int lists = n->size * PLACES;
    int64_t rows[2], count = 0;
    TRY(sp_alloc_zero((void **)&s->receive, lists, sizeof *s->receive, what));
    TRY(sp_alloc_zero((void **)&s->send, lists, sizeof *s->send, what));
    TRY(sp_alloc((void **)&s->wanted, s->before[s->words], sizeof *s->wanted, what));
    for (int i = 0; i < lists; i++) {
        if (i / PLACES == n->rank) continue;
        rows_of_list(n, i, rows);
        for (int64_t row = rows[0]; row < rows[1]; row++) {
            if (!(s->held[row / SP_SET_WORD] >> (row % SP_SET_WORD) & 1)) continue;
            s->wanted[count++] = (int32_t)row;
            s->receive[i]++;
        }
    }
    return SPMM_OK;
}

/** Sends the other ranks of the node the lists of rows that this rank needs from them, and receives their
 *  lists into inside.list. */
static spmm_status swap_wanted(relay_setup *s)
{
    const sp_node_rows *const n = &s->r->node;
    sp_halo *const h = &s->r->inside;
    MPI_Comm all = s->r->grid->comm;
    TRY(SP_MPI(MPI_Alltoall(s->receive, PLACES, MPI_INT64_T, s->send, PLACES, MPI_INT64_T, n->comm)));
    for (int i = 0; i < n->size * PLACES; i++) h->packed += s->send[i];
    TRY(sp_agree(all, "halo", sp_alloc((void **)&h->list, h->packed, sizeof *h->list, what)));
    return sp_swap_lists(n->comm, all, PLACES, sizeof *h->list, s->receive, s->wanted, s->send, h->list);
}

/** Lists the messages between ranks of the node. */
static spmm_status list_inside(const relay_setup *s)
{
    const int lists = s->r->node.size * PLACES;
    sp_halo *const h = &s->r->inside;
    int64_t in = 0, out = 0;
    for (int64_t i = 0; i < h->packed; i++) h->list[i] = (int32_t)(row_of(s, h->list[i]) - h->ghost_low);
    TRY(sp_alloc((void **)&h->source, lists, sizeof *h->source, what));
    TRY(sp_alloc((void **)&h->target, lists, sizeof *h->target, what));
    for (int i = 0; i < lists; in += s->receive[i], out += s->send[i], i++) {
        if (s->receive[i] > 0)
            h->source[h->sources++] = (sp_halo_recv){i / PLACES, row_of(s, s->wanted[in]), s->receive[i]};
        if (s->send[i] > 0) h->target[h->targets++] = (sp_halo_send){i / PLACES, 0, out, s->send[i]};
    }
    h->sent = out;
    h->all_moved = in;
    sp_halo_shorten_lists(h);
    return SPMM_OK;
}

/* ---- all together ---- */

static spmm_status build(relay_setup *s, int threads)
{
    MPI_Comm comm = s->r->grid->comm;
    int64_t *const moved = &s->r->inside.all_moved;
    s->rows = s->r->node.share[s->r->node.size] + s->r->node.near;
    s->words = sp_set_words(s->rows);
    spmm_status status = sp_alloc_zero((void **)&s->held, s->words, sizeof *s->held, what);
    if (status == SPMM_OK) status = sp_alloc_zero((void **)&s->before, s->words + 1, sizeof *s->before, what);
    TRY(sp_agree(comm, "halo", status));
    hold_needed(s, threads);
    hold_own(s);
    for (int64_t w = 0; w < s->words; w++) s->before[w + 1] = s->before[w] + __builtin_popcountll(s->held[w]);
    renumber(s, threads);
    TRY(sp_agree(comm, "halo", list_wanted(s)));
    TRY(swap_wanted(s));
    TRY(sp_agree(comm, "halo", list_inside(s)));
    return SP_MPI(MPI_Allreduce(MPI_IN_PLACE, moved, 1, MPI_INT64_T, MPI_SUM, comm));
}

/** \param [out] worth  the same on every rank: 1 if rows are forwarded */
static spmm_status find_rows(sp_relays *r, const spmm_block *block, const sp_halo *halo, int threads,
                             int *worth)
{
    relay_setup s = {.r = r};
    const char *why;
    int shared;
    TRY(sp_node_rows_create(r->grid, block, halo, threads, &r->node, &why, &shared));
    if (why || !shared || r->node.halo.all_moved == 0) return SPMM_OK;
    TRY(find_worth(r, halo, worth));
    if (!*worth) return SPMM_OK;
    const spmm_status status = build(&s, threads);
    sp_free(s.held);
    sp_free(s.before);
    sp_free(s.receive);
    sp_free(s.send);
    sp_free(s.wanted);
    return status;
}

int sp_relays_built(void) { return 1; }

spmm_status sp_relays_create(const sp_grid *grid, const spmm_block *block, spmm_transport asked, int threads,
                             const sp_halo **halo, sp_relays **relays)
{
    const char *name;
    sp_relays *r;
    int worth = 0;
    *relays = NULL;
    TRY(sp_exchange_asked(grid->comm, &name));
    if ((name && strcmp(name, SP_RELAYED) != 0) || (*halo)->all_moved == 0 || asked == SPMM_TRANSPORT_PEER)
        return SPMM_OK;
    TRY(sp_agree(grid->comm, "halo", sp_alloc_zero((void **)&r, 1, sizeof *r, what)));
    r->grid = grid;
    const spmm_status status = find_rows(r, block, *halo, threads, &worth);
    if (status != SPMM_OK || !worth) {
        sp_relays_destroy(r);
        return status;
    }
    *halo = &r->node.halo;
    *relays = r;
    return SPMM_OK;
}

spmm_status sp_relays_exchange(const sp_relays *r, const sp_exchange_options *options, sp_exchange **exchange)
{
    return sp_two_steps_create(r->grid, r->node.comm, &r->node.halo, &r->inside, options, NULL, exchange);
}

void sp_relays_destroy(sp_relays *r)
{
    if (!r) return;
    sp_halo_destroy(&r->inside);
    sp_node_rows_destroy(&r->node);
    sp_free(r);
}
