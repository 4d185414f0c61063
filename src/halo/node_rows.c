/** Determines which rows of X the ranks of a node share, and which rank receives which rows of other
 *  nodes. */
#include "halo/node_rows.h"

#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "order/column_set.h"

enum { ROWS = 1024 }; /* number of rows that a thread scans at a time */

/** Temporary data of sp_node_rows_create(). */
typedef struct node_setup {
    const sp_grid *grid;
    const spmm_block *block;
    const sp_moves *moves;
    int threads;
    int64_t *first; /* [P + 1], first row of X of each rank of the process column */
    int64_t words;
    uint64_t *mine; /* bitmap of the columns of other nodes that this rank needs */
    sp_column_numbers
        all; /* numbers of two sets of columns: the columns of other nodes that this node needs, and columns
                `from` to `to` - 1, which ranks of this node own */
} node_setup;

/* ---- ranks ---- */

/** Determines the ranks of this node.
 *  \param [out] consecutive  1 if the ranks of each node are consecutive in their process column
 *  \param [out] shared       1 if at least two ranks of a process column are on one node */
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

static spmm_status node_rows_allocate(node_setup *s, sp_node_rows *node)
{
    static const char what[] = "the rows of a node";
    s->words = sp_set_words(s->block->csr.cols);
    TRY(sp_alloc_zero((void **)&s->first, s->grid->dims[0] + 1, sizeof *s->first, what));
    TRY(sp_alloc_zero((void **)&s->mine, s->words, sizeof *s->mine, what));
    TRY(sp_alloc_zero((void **)&s->all.set, s->words, sizeof *s->all.set, what));
    TRY(sp_alloc_zero((void **)&s->all.before, s->words + 1, sizeof *s->all.before, what));
    TRY(sp_alloc_zero((void **)&node->begin, node->size + 1, sizeof *node->begin, what));
    TRY(sp_alloc_zero((void **)&node->share, node->size + 1, sizeof *node->share, what));
    TRY(sp_alloc_zero((void **)&node->reads_own, node->size, 1, what));
    TRY(sp_alloc_zero((void **)&node->reads_share, node->size, 1, what));
    return sp_alloc_zero((void **)&node->readers, node->size, 1, what);
}

/** Determines which rows of X each rank of the process column owns. */
static spmm_status find_owners(node_setup *s, sp_node_rows *node)
{
    const int parts = s->grid->dims[0];
    TRY(SP_MPI(
        MPI_Allgather(&s->moves->own, 1, MPI_INT64_T, s->first + 1, 1, MPI_INT64_T, s->grid->col_comm)));
    for (int p = 0; p < parts; p++) s->first[p + 1] += s->first[p];
    s->all.from = s->first[node->first_rank];
    s->all.to = s->first[node->first_rank + node->size];
    node->near = s->all.to - s->all.from;
    return SPMM_OK;
}

/* ---- columns of other nodes ---- */

/** Marks the columns of other nodes that this rank needs: the columns of its block's entries or, if it
 *  receives all rows, all columns. */
static void mark_needed(const node_setup *s)
{
    const spmm_csr *const a = &s->block->csr;
    const int64_t from = s->all.from, to = s->all.to;
    uint64_t *const set = s->mine;
    if (sp_moves_rows(s->moves) == a->cols) {
        for (int64_t j = 0; j < from; j++) sp_set_add(set, j);
        for (int64_t j = to; j < a->cols; j++) sp_set_add(set, j);
        return;
    }
#pragma omp parallel for schedule(dynamic, ROWS) num_threads(s->threads)
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t begin = a->irp[i], n = a->irp[i + 1] - begin;
        if (n > 0) sp_set_add_outside(set, a->ja + begin, n, from, to, s->block->any_order);
    }
}

/** Determines the columns of other nodes that any rank of the node needs, and divides them evenly among the
 *  ranks of the node. */
static spmm_status unite(node_setup *s, sp_node_rows *node)
{
    enum { MOST = 1 << 24 }; /* words per reduction; bounded because MPI may copy them */
    for (int64_t at = 0; at < s->words; at += MOST) {
        const int64_t left = s->words - at;
        TRY(SP_MPI(MPI_Allreduce(s->mine + at, s->all.set + at, (int)(left < MOST ? left : MOST),
                                 MPI_UINT64_T, MPI_BOR, node->comm)));
    }
    sp_set_count(s->all.set, s->words, s->all.before);
    const int64_t ghosts = s->all.before[s->words];
    node->low = sp_set_before(s->all.set, s->all.before, s->all.from);
    for (int i = 0; i <= node->size; i++) node->share[i] = sp_partition_share(ghosts, node->size, i);
    return SPMM_OK;
}

/** Determines which ranks receive columns for this rank, and leaves in s->mine only the columns that this
 *  rank receives. */
static void node_rows_divide(node_setup *s, sp_node_rows *node)
{
    const int64_t low = node->share[node->rank], high = node->share[node->rank + 1];
    int whose = 0;
    for (int64_t w = 0; w < s->words; w++) {
        uint64_t received = 0;
        int64_t g = s->all.before[w];
        for (uint64_t bits = s->all.set[w]; bits; bits &= bits - 1, g++) {
            const uint64_t bit = bits & -bits;
            while (g >= node->share[whose + 1]) whose++;
            if (s->mine[w] & bit) node->reads_share[whose] = 1;
            if (g >= low && g < high) received |= bit;
        }
        s->mine[w] = received;
    }
    /* a rank does not wait for its own messages through the shared counters */
    node->reads_share[node->rank] = 0;
}

/* ---- numbering ---- */

static void place_sources(const sp_node_rows *node, sp_moves *m)
{
    int64_t g = node->share[node->rank];
    for (int i = 0; i < m->sources; i++) {
        m->source[i].first = g < node->low ? g : g + node->near;
        g += m->source[i].rows;
    }
}

/** Sets the node's numbering of X. */
static void number_rows(const node_setup *s, sp_node_rows *node)
{
    sp_moves *const m = &node->moves;
    for (int i = 0; i <= node->size; i++)
        node->begin[i] = node->low + s->first[node->first_rank + i] - s->all.from;
    m->own = s->moves->own;
    m->ghost_low = node->begin[node->rank];
    m->ghost_high = node->share[node->size] + node->near - m->ghost_low - m->own;
    node->local = (sp_local_block){.low = m->ghost_low, .own = m->own, .any_order = s->block->any_order};
}

/** Notifies each rank of the node whether this rank needs rows that the notified rank owns or receives. Sets
 *  reads_own and readers. */
static spmm_status find_readers(const node_setup *s, sp_node_rows *node)
{
    char *needs;
    for (int i = 0; i < s->moves->sources; i++) {
        const int rank = s->moves->source[i].rank - node->first_rank;
        if (rank >= 0 && rank < node->size) node->reads_own[rank] = 1;
    }
    const spmm_status status = sp_alloc((void **)&needs, node->size, 1, "readers");
    TRY(sp_agree(s->grid->comm, "halo", status));
    for (int i = 0; i < node->size; i++) needs[i] = (char)(node->reads_own[i] | node->reads_share[i]);
    const spmm_status told = SP_MPI(MPI_Alltoall(needs, 1, MPI_CHAR, node->readers, 1, MPI_CHAR, node->comm));
    sp_free(needs);
    return told;
}

/** Determines the rows that cross between nodes. */
static spmm_status find_messages(node_setup *s, sp_node_rows *node)
{
    mark_needed(s);
    TRY(unite(s, node));
    node_rows_divide(s, node);
    TRY(sp_moves_create(s->grid, s->first, s->mine, &node->moves));
    place_sources(node, &node->moves);
    int64_t rows = node->share[node->rank + 1] - node->share[node->rank];
    TRY(SP_MPI(MPI_Allreduce(&rows, &node->moves.all_moved, 1, MPI_INT64_T, MPI_SUM, s->grid->comm)));
    return SPMM_OK;
}

static spmm_status node_rows_build(node_setup *s, int on_one_node, sp_node_rows *node)
{
    TRY(sp_agree(s->grid->comm, "halo", node_rows_allocate(s, node)));
    TRY(find_owners(s, node));
    if (!on_one_node) TRY(find_messages(s, node));
    number_rows(s, node);
    TRY(find_readers(s, node));
    return sp_agree(s->grid->comm, "halo",
                    sp_local_block_number(&s->block->csr, sp_moves_rows(&node->moves),
                                          on_one_node ? NULL : &s->all, s->threads, &node->local));
}

spmm_status sp_node_rows_create(const sp_grid *grid, const spmm_block *block, const sp_moves *moves,
                                int threads, sp_node_rows *node, const char **why, int *shared)
{
    node_setup s = {.grid = grid, .block = block, .moves = moves, .threads = threads};
    int consecutive, on_one_node;
    spmm_status status;
    memset(node, 0, sizeof *node);
    *why = NULL;
    TRY_GOTO(find_ranks(grid, node, &consecutive, shared), done);
    TRY_GOTO(sp_all(grid->comm, node->size == grid->dims[0], &on_one_node), done);
    if (consecutive) TRY_GOTO(node_rows_build(&s, on_one_node, node), done);
    if (!consecutive) *why = SP_NOT_CONSECUTIVE;
done:
    sp_free(s.first);
    sp_free(s.mine);
    sp_free(s.all.set);
    sp_free(s.all.before);
    if (status != SPMM_OK || !consecutive) sp_node_rows_destroy(node);
    return status;
}

void sp_node_rows_destroy(sp_node_rows *node)
{
    if (node->made) sp_comm_free(&node->comm);
    sp_local_block_destroy(&node->local);
    sp_moves_destroy(&node->moves);
    sp_free(node->begin);
    sp_free(node->share);
    sp_free(node->reads_own);
    sp_free(node->reads_share);
    sp_free(node->readers);
    memset(node, 0, sizeof *node);
}
