/** Determines which rows of X the ranks of a node have in common, and who receives which rows of other nodes. */
#include "distribute/node_rows.h"

#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "distribute/column_set.h"

enum { ROWS = 1024 }; /* rows that a thread scans at a time */

/** Handing rows on is worth it if less than this fraction of the rows crosses between nodes. */
static const double WORTH = 0.9;

/** Temporary data of sp_node_rows_create() and sp_node_relays_create(). */
typedef struct node_setup {
    const sp_grid *grid;
    const spmm_block *block;
    const sp_halo *halo;
    int threads;
    int64_t *first;   /* [P + 1], first row of X of each rank of the process column */
    int64_t from, to; /* columns [from, to) are owned by ranks of this node */
    int64_t words;
    uint64_t *mine, *all; /* bitmaps of columns of other nodes: that this rank needs, that the node needs */
    int64_t *before;      /* [words + 1], number of columns in `all` before each word */
    /* without common memory */
    uint64_t *local;         /* bitmap of the ghost rows of this rank's X */
    int64_t *receive, *send; /* [size][PLACES] rows to and from each rank of the node */
    int32_t *wanted; /* columns that this rank needs of others of the node, in the order of `receive` */
    MPI_Request *request;
} node_setup;

/** Where columns lie, seen from the rows that ranks of the node own. Of those that one rank needs of another of its node, the
 *  columns in one place are next to each other in X. */
enum { BELOW, NEAR, ABOVE, PLACES };

/* ---- ranks ---- */

/** Finds the ranks of the node, and whether they are consecutive in the process column on all nodes. */
static spmm_status find_ranks(const sp_grid *grid, sp_node_rows *node, int *consecutive, int *shared)
{
    const int p = grid->coords[0];
    TRY(sp_node_comm(grid->col_comm, &node->comm));
    node->made = 1;
    MPI_Comm_rank(node->comm, &node->rank);
    MPI_Comm_size(node->comm, &node->size);
    int most[2] = {p - node->rank, node->rank - p};
    TRY(SP_MPI(MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_INT, MPI_MAX, node->comm)));
    node->first_rank = p - node->rank;
    TRY(sp_all(grid->comm, most[0] == -most[1], consecutive));
    TRY(sp_all(grid->comm, node->size == 1, shared));
    *shared = !*shared;
    return SPMM_OK;
}

spmm_status sp_node_ranks_check(const sp_grid *grid, int *consecutive, int *shared)
{
    sp_node_rows node = {0};
    const spmm_status status = find_ranks(grid, &node, consecutive, shared);
    sp_node_rows_destroy(&node);
    return status;
}

static spmm_status allocate(node_setup *s, sp_node_rows *node)
{
    static const char what[] = "the rows of a node";
    s->words = sp_set_words(s->block->csr.cols);
    TRY(sp_alloc_zero((void **)&s->first, s->grid->dims[0] + 1, sizeof *s->first, what));
    TRY(sp_alloc_zero((void **)&s->mine, s->words, sizeof *s->mine, what));
    TRY(sp_alloc_zero((void **)&s->all, s->words, sizeof *s->all, what));
    TRY(sp_alloc_zero((void **)&s->before, s->words + 1, sizeof *s->before, what));
    TRY(sp_alloc_zero((void **)&node->begin, node->size + 1, sizeof *node->begin, what));
    TRY(sp_alloc_zero((void **)&node->share, node->size + 1, sizeof *node->share, what));
    TRY(sp_alloc_zero((void **)&node->reads_own, node->size, 1, what));
    TRY(sp_alloc_zero((void **)&node->reads_share, node->size, 1, what));
    return sp_alloc_zero((void **)&node->readers, node->size, 1, what);
}

/** Finds which rows of X each rank of the process column owns. */
static spmm_status find_owners(node_setup *s, sp_node_rows *node)
{
    const int parts = s->grid->dims[0];
    TRY(SP_MPI(
        MPI_Allgather(&s->halo->own, 1, MPI_INT64_T, s->first + 1, 1, MPI_INT64_T, s->grid->col_comm)));
    for (int p = 0; p < parts; p++) s->first[p + 1] += s->first[p];
    s->from = s->first[node->first_rank];
    s->to = s->first[node->first_rank + node->size];
    node->near = s->to - s->from;
    return SPMM_OK;
}

/* ---- columns of other nodes ---- */

/** Marks the columns outside [from, to) that this rank needs: those of its block's entries, or all of them for a
 *  broadcast. */
static void mark_needed(const node_setup *s, int64_t from, int64_t to, uint64_t *set)
{
    const spmm_csr *const a = &s->block->csr;
    if (s->halo->kind == SPMM_EXCHANGE_BCAST) {
        for (int64_t j = 0; j < from; j++) sp_set_add(set, j);
        for (int64_t j = to; j < a->cols; j++) sp_set_add(set, j);
        return;
    }
#pragma omp parallel for schedule(dynamic, ROWS) num_threads(s->threads)
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t begin = a->irp[i], end = a->irp[i + 1];
        for (int64_t e = begin; e < end && a->ja[e] < from; e++) sp_set_add(set, a->ja[e]);
        for (int64_t e = end; e > begin && a->ja[e - 1] >= to; e--) sp_set_add(set, a->ja[e - 1]);
    }
}

static void count_columns(const uint64_t *set, int64_t words, int64_t *before)
{
    before[0] = 0;
    for (int64_t w = 0; w < words; w++) before[w + 1] = before[w] + __builtin_popcountll(set[w]);
}

/** Returns the number of columns in s->all before column j. */
static int64_t ghosts_before(const node_setup *s, int64_t j)
{
    return sp_set_before(s->all, s->before[j / SP_SET_WORD], j);
}

/** Finds the columns that any rank of the node needs, and divides them evenly among its ranks. */
static spmm_status unite(node_setup *s, sp_node_rows *node)
{
    enum { MOST = 1 << 24 }; /* words per reduction: MPI may copy them */
    for (int64_t at = 0; at < s->words; at += MOST) {
        const int64_t left = s->words - at;
        TRY(SP_MPI(MPI_Allreduce(s->mine + at, s->all + at, (int)(left < MOST ? left : MOST), MPI_UINT64_T,
                                 MPI_BOR, node->comm)));
    }
    count_columns(s->all, s->words, s->before);
    const int64_t ghosts = s->before[s->words];
    node->low = ghosts_before(s, s->from);
    for (int i = 0; i <= node->size; i++) node->share[i] = sp_partition_share(ghosts, node->size, i);
    return SPMM_OK;
}

/** Finds whose shares this rank needs, and leaves in s->mine only the columns that it receives itself. */
static void divide(node_setup *s, sp_node_rows *node)
{
    const int64_t low = node->share[node->rank], high = node->share[node->rank + 1];
    int whose = 0;
    for (int64_t w = 0; w < s->words; w++) {
        uint64_t received = 0;
        int64_t g = s->before[w];
        for (uint64_t bits = s->all[w]; bits; bits &= bits - 1, g++) {
            const uint64_t bit = bits & -bits;
            while (g >= node->share[whose + 1]) whose++;
            if (s->mine[w] & bit) node->reads_share[whose] = 1;
            if (g >= low && g < high) received |= bit;
        }
        s->mine[w] = received;
    }
    node->reads_share[node->rank] = 0; /* what it receives itself it need not be told of */
}

/* ---- numbering ---- */

static void place_sources(const sp_node_rows *node, sp_halo *h)
{
    int64_t g = node->share[node->rank];
    for (int i = 0; i < h->sources; i++) {
        h->source[i].first = g < node->low ? g : g + node->near;
        g += h->source[i].rows;
    }
}

/** Returns the row of X, without common memory, that column j is. */
static int64_t row_of(const node_setup *s, const sp_halo *h, int64_t j)
{
    const int64_t begin = s->first[s->grid->coords[0]];
    if (j >= begin && j < begin + h->own) return h->ghost_low + j - begin;
    return sp_set_before(s->local, s->before[j / SP_SET_WORD], j) + (j < begin ? 0 : h->own);
}

/** Returns the row of the common memory that column j is. */
static int64_t common_row_of(const node_setup *s, const sp_node_rows *node, int64_t j)
{
    if (j >= s->from && j < s->to) return node->low + j - s->from;
    return ghosts_before(s, j) + (j < s->from ? 0 : node->near);
}

static spmm_status renumber(const node_setup *s, const sp_node_rows *node, sp_halo *h)
{
    const spmm_csr *const a = &s->block->csr;
    TRY(sp_alloc((void **)&h->local.ja, a->nnz, sizeof *a->ja, "local column indices"));
    h->renumbered = 1;
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t e = 0; e < a->nnz; e++) {
        h->local.ja[e] = (int32_t)(node->relays ? row_of(s, h, a->ja[e]) : common_row_of(s, node, a->ja[e]));
    }
    return SPMM_OK;
}

static void number_rows(const node_setup *s, sp_node_rows *node)
{
    sp_halo *const h = &node->halo;
    for (int i = 0; i <= node->size; i++)
        node->begin[i] = node->low + s->first[node->first_rank + i] - s->from;
    h->node = node;
    h->kind = s->halo->kind;
    h->own = s->halo->own;
    h->all_bcast = s->halo->all_bcast;
    h->ghost_low = node->begin[node->rank];
    h->ghost_high = node->share[node->size] + node->near - h->ghost_low - h->own;
    h->local = s->block->csr;
    h->local.cols = sp_halo_rows(h);
}

/** Tells each rank of the node whether this rank needs rows of it. */
static spmm_status find_readers(const node_setup *s, sp_node_rows *node)
{
    char *needs;
    for (int i = 0; i < s->halo->sources; i++) {
        const int rank = s->halo->source[i].rank - node->first_rank;
        if (rank >= 0 && rank < node->size) node->reads_own[rank] = 1;
    }
    const spmm_status status = sp_alloc((void **)&needs, node->size, 1, "readers");
    TRY(sp_agree(s->grid->comm, "halo", status));
    for (int i = 0; i < node->size; i++) needs[i] = (char)(node->reads_own[i] | node->reads_share[i]);
    const spmm_status told = SP_MPI(MPI_Alltoall(needs, 1, MPI_CHAR, node->readers, 1, MPI_CHAR, node->comm));
    sp_free(needs);
    return told;
}

/** Finds the rows that cross between nodes. */
static spmm_status find_messages(node_setup *s, sp_node_rows *node)
{
    mark_needed(s, s->from, s->to, s->mine);
    TRY(unite(s, node));
    divide(s, node);
    TRY(sp_halo_of_columns(s->grid, s->block, s->first, s->mine, &node->halo));
    place_sources(node, &node->halo);
    int64_t rows = node->share[node->rank + 1] - node->share[node->rank];
    TRY(SP_MPI(MPI_Allreduce(&rows, &node->halo.all_moved, 1, MPI_INT64_T, MPI_SUM, s->grid->comm)));
    return SPMM_OK;
}

static spmm_status build(node_setup *s, int on_one_node, sp_node_rows *node)
{
    TRY(sp_agree(s->grid->comm, "halo", allocate(s, node)));
    TRY(find_owners(s, node));
    if (!on_one_node) TRY(find_messages(s, node));
    number_rows(s, node);
    TRY(find_readers(s, node));
    return sp_agree(s->grid->comm, "halo", on_one_node ? SPMM_OK : renumber(s, node, &node->halo));
}

static void free_setup(const node_setup *s)
{
    sp_free(s->first);
    sp_free(s->mine);
    sp_free(s->all);
    sp_free(s->before);
    sp_free(s->local);
    sp_free(s->receive);
    sp_free(s->send);
    sp_free(s->wanted);
    sp_free(s->request);
}

spmm_status sp_node_rows_create(const sp_grid *grid, const spmm_block *block, const sp_halo *halo,
                                int threads, sp_node_rows *node, const char **why, int *shared)
{
    node_setup s = {.grid = grid, .block = block, .halo = halo, .threads = threads};
    int consecutive, on_one_node;
    spmm_status status;
    memset(node, 0, sizeof *node);
    *why = NULL;
    TRY_GOTO(find_ranks(grid, node, &consecutive, shared), done);
    TRY_GOTO(sp_all(grid->comm, node->size == grid->dims[0], &on_one_node), done);
    if (consecutive) TRY_GOTO(build(&s, on_one_node, node), done);
    if (!consecutive) *why = SP_NOT_CONSECUTIVE;
done:
    free_setup(&s);
    if (status != SPMM_OK || !consecutive) sp_node_rows_destroy(node);
    return status;
}

/* ---- without common memory ---- */

/** Returns the first column in the set that is not before column j; there is one. */
static int64_t first_from(const uint64_t *set, int64_t j)
{
    uint64_t bits = set[j / SP_SET_WORD] >> (j % SP_SET_WORD) << (j % SP_SET_WORD);
    int64_t w = j / SP_SET_WORD;
    while (!bits) bits = set[++w];
    return w * SP_SET_WORD + __builtin_ctzll(bits);
}

/** Finds how many rows cross between nodes, and how many would if each rank received its own, of all ranks together. */
static spmm_status count_crossing(const node_setup *s, const sp_node_rows *node, int64_t rows[2])
{
    rows[0] = node->share[node->rank + 1] - node->share[node->rank];
    rows[1] = 0;
    for (int64_t w = 0; w < s->words; w++) rows[1] += __builtin_popcountll(s->mine[w]);
    return SP_MPI(MPI_Allreduce(MPI_IN_PLACE, rows, 2, MPI_INT64_T, MPI_SUM, s->grid->comm));
}

/** Calls visit() for each column that this rank needs of another one of its node, in increasing order. `local` has those that it
 *  needs, and s->all those that the node does. */
static void visit_wanted(node_setup *s, const sp_node_rows *node,
                         void (*visit)(node_setup *s, int64_t column, int rank, int place))
{
    int owner = 0, receiver = 0;
    for (int64_t w = 0; w < s->words; w++)
        for (uint64_t bits = s->local[w]; bits; bits &= bits - 1) {
            const int64_t j = w * SP_SET_WORD + __builtin_ctzll(bits);
            const int place = j < s->from ? BELOW : j < s->to ? NEAR : ABOVE;
            if (place == NEAR) {
                while (j >= s->first[node->first_rank + owner + 1]) owner++;
            } else {
                const int64_t g = sp_set_before(s->all, s->before[w], j);
                while (g >= node->share[receiver + 1]) receiver++;
            }
            const int rank = place == NEAR ? owner : receiver;
            if (rank != node->rank) visit(s, j, rank, place);
        }
}

static void count_wanted(node_setup *s, int64_t column, int rank, int place)
{
    (void)column;
    s->receive[rank * PLACES + place]++;
}

/** Adds a column to the list. s->send has the number of those that precede each rank's in each place. */
static void list_wanted(node_setup *s, int64_t column, int rank, int place)
{
    s->wanted[s->send[rank * PLACES + place]++] = (int32_t)column;
}

static spmm_status list_all_wanted(node_setup *s, const sp_node_rows *node)
{
    const int lists = node->size * PLACES;
    int64_t wanted = 0;
    TRY(sp_alloc_zero((void **)&s->receive, lists, sizeof *s->receive, "neighbours"));
    TRY(sp_alloc_zero((void **)&s->send, lists, sizeof *s->send, "neighbours"));
    visit_wanted(s, node, count_wanted);
    for (int i = 0; i < lists; wanted += s->receive[i++]) s->send[i] = wanted;
    TRY(sp_alloc((void **)&s->wanted, wanted, sizeof *s->wanted, "rows of the halo"));
    visit_wanted(s, node, list_wanted);
    return SPMM_OK;
}

/** Makes the sets of ghost rows that X gets: those that this rank needs, and those that it receives for others. */
static void number_ghosts(node_setup *s, sp_halo *h)
{
    const int64_t begin = s->first[s->grid->coords[0]];
    for (int64_t w = 0; w < s->words; w++) s->local[w] |= s->mine[w];
    count_columns(s->local, s->words, s->before);
    h->kind = s->halo->kind;
    h->own = s->halo->own;
    h->ghost_low = sp_set_before(s->local, s->before[begin / SP_SET_WORD], begin);
    h->ghost_high = s->before[s->words] - h->ghost_low;
}

/** Sends the other ranks of the node the lists of columns that this rank needs of them, and receives theirs into h->list. */
static spmm_status swap_wanted(node_setup *s, const sp_node_rows *node, sp_halo *h)
{
    const int64_t size = (int64_t)sizeof(int32_t);
    int32_t *in, *out = s->wanted;
    int chunks = 0, count = 0;
    TRY(SP_MPI(MPI_Alltoall(s->receive, PLACES, MPI_INT64_T, s->send, PLACES, MPI_INT64_T, node->comm)));
    for (int i = 0; i < node->size * PLACES; i++) {
        h->packed += s->send[i];
        chunks += sp_chunks(size * s->receive[i]) + sp_chunks(size * s->send[i]);
    }
    spmm_status status = sp_alloc((void **)&h->list, h->packed, sizeof *h->list, "rows to send");
    if (status == SPMM_OK)
        status = sp_alloc((void **)&s->request, chunks, sizeof(MPI_Request), "the halo's messages");
    TRY(sp_agree(s->grid->comm, "halo", status));
    in = h->list;
    for (int i = 0; i < node->size * PLACES; in += s->send[i++])
        TRY(sp_irecv(node->comm, i / PLACES, SP_TAG_HALO_LIST, in, size * s->send[i], s->request, &count));
    for (int i = 0; i < node->size * PLACES; out += s->receive[i++])
        TRY(sp_isend(node->comm, i / PLACES, SP_TAG_HALO_LIST, out, size * s->receive[i], s->request,
                     &count));
    return sp_wait(s->request, count);
}

/** Lists the messages between ranks of the node. */
static spmm_status list_inside(const node_setup *s, int lists, sp_halo *h)
{
    int64_t in = 0, out = 0;
    for (int64_t i = 0; i < h->packed; i++) h->list[i] = (int32_t)(row_of(s, h, h->list[i]) - h->ghost_low);
    TRY(sp_alloc((void **)&h->source, lists, sizeof *h->source, "neighbours"));
    TRY(sp_alloc((void **)&h->target, lists, sizeof *h->target, "neighbours"));
    for (int i = 0; i < lists; in += s->receive[i], out += s->send[i], i++) {
        if (s->receive[i] > 0)
            h->source[h->sources++] = (sp_halo_recv){i / PLACES, row_of(s, h, s->wanted[in]), s->receive[i]};
        if (s->send[i] > 0) h->target[h->targets++] = (sp_halo_send){i / PLACES, 0, out, s->send[i]};
    }
    h->sent = out;
    h->all_moved = in;
    sp_halo_shorten_lists(h);
    return SPMM_OK;
}

/** Gives a halo of messages the numbering of h. */
static void take_numbering(const sp_halo *h, sp_halo *messages)
{
    messages->kind = h->kind;
    messages->own = h->own;
    messages->ghost_low = h->ghost_low;
    messages->ghost_high = h->ghost_high;
}

/** Finds the messages between nodes and inside, and numbers the columns. s->mine has the columns that this rank receives, and
 *  s->local those that it needs. */
static spmm_status make_relays(node_setup *s, sp_node_rows *node)
{
    sp_halo *const h = &node->halo, *const between = &node->between, *const inside = &node->inside;
    TRY(sp_agree(s->grid->comm, "halo", list_all_wanted(s, node)));
    TRY(sp_halo_of_columns(s->grid, s->block, s->first, s->mine, between));
    number_ghosts(s, h);
    take_numbering(h, between);
    take_numbering(h, inside);
    for (int i = 0; i < between->sources; i++)
        between->source[i].first = row_of(s, h, first_from(s->mine, s->first[between->source[i].rank]));
    TRY(swap_wanted(s, node, inside));
    TRY(sp_agree(s->grid->comm, "halo", list_inside(s, node->size * PLACES, inside)));
    TRY(SP_MPI(MPI_Allreduce(MPI_IN_PLACE, &inside->all_moved, 1, MPI_INT64_T, MPI_SUM, s->grid->comm)));
    h->node = node;
    h->all_bcast = s->halo->all_bcast;
    h->local = s->block->csr;
    h->local.cols = sp_halo_rows(h);
    return sp_agree(s->grid->comm, "halo", renumber(s, node, h));
}

/** \param [out] worth  the same on every rank: 1 if rows are handed on */
static spmm_status build_relays(node_setup *s, sp_node_rows *node, int *worth)
{
    const int me = s->grid->coords[0];
    int64_t rows[2];
    spmm_status status = allocate(s, node);
    if (status == SPMM_OK)
        status = sp_alloc_zero((void **)&s->local, s->words, sizeof *s->local, "the rows of a node");
    TRY(sp_agree(s->grid->comm, "halo", status));
    TRY(find_owners(s, node));
    mark_needed(s, s->first[me], s->first[me + 1], s->local);
    memcpy(s->mine, s->local, (size_t)s->words * sizeof *s->mine);
    for (int64_t j = s->from; j < s->to; j++) sp_set_remove(s->mine, j);
    TRY(unite(s, node));
    TRY(count_crossing(s, node, rows));
    *worth = (double)rows[0] < WORTH * (double)rows[1];
    if (!*worth) return SPMM_OK;
    node->between.all_moved = node->halo.all_moved = rows[0];
    node->relays = 1;
    divide(s, node);
    return make_relays(s, node);
}

spmm_status sp_node_relays_create(const sp_grid *grid, const spmm_block *block, const sp_halo *halo,
                                  int threads, sp_node_rows *node, const char **why)
{
    node_setup s = {.grid = grid, .block = block, .halo = halo, .threads = threads};
    int consecutive, shared, on_one_node, worth = 0;
    spmm_status status;
    memset(node, 0, sizeof *node);
    TRY_GOTO(find_ranks(grid, node, &consecutive, &shared), done);
    TRY_GOTO(sp_all(grid->comm, node->size == grid->dims[0], &on_one_node), done);
    if (consecutive && shared && !on_one_node) TRY_GOTO(build_relays(&s, node, &worth), done);
    *why = worth          ? NULL
           : !consecutive ? SP_NOT_CONSECUTIVE
                          : "few rows are needed by several ranks of a node";
done:
    free_setup(&s);
    if (status != SPMM_OK || !worth) sp_node_rows_destroy(node);
    return status;
}

void sp_node_rows_destroy(sp_node_rows *node)
{
    if (node->made) sp_comm_free(&node->comm);
    sp_halo_destroy(&node->halo);
    sp_halo_destroy(&node->between);
    sp_halo_destroy(&node->inside);
    sp_free(node->begin);
    sp_free(node->share);
    sp_free(node->reads_own);
    sp_free(node->reads_share);
    sp_free(node->readers);
    memset(node, 0, sizeof *node);
}
