/** Determines the halo of each block: which rows of X are exchanged, and the local column indices. */
#include "halo/halo.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "halo/block.h"
#include "partition/column_set.h"
#include "halo/joint.h"
#include "formats/csr.h"

enum { ROWS = 1024 }; /* number of rows that a thread scans at a time */

/** A halo exchange is worth its packing and renumbering if it moves less than this fraction of the rows of X
 *  that a broadcast moves. */
static const double WORTH = 0.9;

/** Temporary data of sp_halo_create(). */
typedef struct setup {
    const sp_grid *grid;
    const spmm_block *block; /* the block or, with the joint exchange, `rest` */
    spmm_block rest;         /* the block without the entries that other ranks multiply in the joint
                                exchange */
    int parts;               /* number of ranks in the process column */
    int64_t *first;          /* [parts + 1], first row of X of each rank, from sp_blocks_fit() */
    uint64_t *needed;        /* bitmap: bit j is 1 if column j has an entry and belongs to another rank */
    int32_t *before;         /* [words + 1], number of needed columns before each word of the bitmap */
    int64_t *receive, *send; /* [parts] each: numbers of rows of X to receive from and to send to each rank */
    int32_t *wanted;         /* rows of X to receive, each numbered from the first row of its owner */
} setup;

/* ---- which columns are needed ---- */

/** Returns 1 if all of n columns, which may be in any order, are in [0, cols), else 0. */
static int in_range(const int32_t *ja, int64_t n, int64_t cols)
{
    int sound = 1;
    for (int64_t e = 0; e < n; e++) sound &= ja[e] >= 0 && ja[e] < cols;
    return sound;
}

/** Marks in s->needed the columns that other ranks own and in which the block has entries. Also checks all
 *  column indices, because this is the first pass over them.
 *  \return 1; 0 if the column indices of some row are invalid */
static int mark_needed(setup *s, int threads)
{
    const spmm_csr *a = &s->block->csr;
    const int me = s->grid->coords[0];
    const int64_t low = s->first[me], high = s->first[me + 1];
    int sound = 1;
#pragma omp parallel for schedule(dynamic, ROWS) num_threads(threads) reduction(& : sound)
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t n = a->irp[i + 1] - a->irp[i];
        if (n == 0) continue; /* in a block without entries, ja may be NULL */
        const int32_t *const ja = a->ja + a->irp[i];
        sound &= s->block->any_order ? in_range(ja, n, a->cols) : sp_columns_sound(ja, n, a->cols);
        if (sound) sp_set_add_outside(s->needed, ja, n, low, high, s->block->any_order);
    }
    return sound;
}

/** Returns the number of needed columns (marked in s->needed) before column j. */
static int64_t rank_of(const setup *s, int64_t j)
{
    return sp_set_before(s->needed, s->before[j / SP_SET_WORD], j);
}

static void count_needed(setup *s)
{
    const int64_t words = sp_set_words(s->block->csr.cols);
    s->before[0] = 0;
    for (int64_t w = 0; w < words; w++) s->before[w + 1] = s->before[w] + __builtin_popcountll(s->needed[w]);
    for (int p = 0; p < s->parts; p++) s->receive[p] = rank_of(s, s->first[p + 1]) - rank_of(s, s->first[p]);
}

static spmm_status find_needed(setup *s, int threads)
{
    const int64_t words = sp_set_words(s->block->csr.cols);
    TRY(sp_alloc_zero((void **)&s->needed, words, sizeof *s->needed, "columns of the halo"));
    TRY(sp_alloc((void **)&s->before, words + 1, sizeof *s->before, "columns of the halo"));
    if (!mark_needed(s, threads))
        return s->block->any_order
                   ? sp_fail(SPMM_ERR_USAGE, "a column index of the block is outside 0 to %lld",
                             (long long)s->block->csr.cols - 1)
                   : sp_csr_check(&s->block->csr);
    count_needed(s);
    return SPMM_OK;
}

/** Counts the rows of X that a halo exchange and a broadcast would move, summed over all ranks. Then sets
 *  h->kind to `asked`. If `asked` is SPMM_EXCHANGE_AUTO, sets h->kind to the halo exchange if it moves less
 *  than WORTH times the rows of the broadcast, else to the broadcast. Collective. */
static spmm_status decide(setup *s, spmm_exchange asked, sp_halo *h)
{
    int64_t rows[2] = {0, s->block->csr.cols - h->own};
    for (int p = 0; p < s->parts; p++) rows[0] += s->receive[p];
    TRY(SP_MPI(MPI_Allreduce(MPI_IN_PLACE, rows, 2, MPI_INT64_T, MPI_SUM, s->grid->comm)));
    h->all_moved = rows[0];
    h->all_bcast = rows[1];
    h->kind = asked;
    if (asked == SPMM_EXCHANGE_AUTO)
        h->kind = (double)rows[0] < WORTH * (double)rows[1] ? SPMM_EXCHANGE_HALO : SPMM_EXCHANGE_BCAST;
    if (h->kind == SPMM_EXCHANGE_BCAST) h->all_moved = h->all_bcast;
    return SPMM_OK;
}

/* ---- a broadcast ---- */

static void all_columns(setup *s)
{
    const int me = s->grid->coords[0];
    for (int p = 0; p < s->parts; p++) {
        s->receive[p] = p == me ? 0 : s->first[p + 1] - s->first[p];
        s->send[p] = p == me ? 0 : s->first[me + 1] - s->first[me];
    }
}

/* ---- a halo ---- */

/** Lists in s->wanted the rows of X that this rank needs, each numbered from the first row of its owner. */
static void list_wanted(setup *s)
{
    const int64_t words = sp_set_words(s->block->csr.cols);
    int64_t n = 0;
    int p = 0;
    for (int64_t w = 0; w < words; w++)
        for (uint64_t bits = s->needed[w]; bits; bits &= bits - 1) {
            const int64_t j = w * SP_SET_WORD + __builtin_ctzll(bits);
            while (j >= s->first[p + 1]) p++;
            s->wanted[n++] = (int32_t)(j - s->first[p]);
        }
}

/** Sends each owner the list of its rows of X that this rank needs. Receives into h->list the lists of the
 *  ranks that need rows of X from this rank, one list after another. Collective. */
static spmm_status swap_lists(setup *s, sp_halo *h)
{
    int64_t wanted = 0;
    TRY(SP_MPI(MPI_Alltoall(s->receive, 1, MPI_INT64_T, s->send, 1, MPI_INT64_T, s->grid->col_comm)));
    for (int p = 0; p < s->parts; p++) {
        wanted += s->receive[p];
        h->packed += s->send[p];
    }
    spmm_status status = sp_alloc((void **)&s->wanted, wanted, sizeof *s->wanted, "rows of the halo");
    if (status == SPMM_OK) status = sp_alloc((void **)&h->list, h->packed, sizeof *h->list, "rows to send");
    TRY(sp_agree(s->grid->comm, "halo", status));
    list_wanted(s);
    return sp_swap_lists(s->grid->col_comm, s->grid->comm, sizeof *h->list, s->receive, s->wanted, s->send,
                         h->list);
}

static spmm_status renumber(const setup *s, int threads, sp_halo *h)
{
    const spmm_csr *a = &s->block->csr;
    const int me = s->grid->coords[0];
    const int64_t low = s->first[me], high = s->first[me + 1];
    TRY(sp_alloc((void **)&h->local.ja, a->nnz, sizeof *a->ja, "local column indices"));
    h->renumbered = 1;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t e = 0; e < a->nnz; e++) {
        const int64_t j = a->ja[e];
        const int64_t other = j < low ? 0 : h->own;
        h->local.ja[e] = (int32_t)(j >= low && j < high ? h->ghost_low + j - low : rank_of(s, j) + other);
    }
    return SPMM_OK;
}

/* ---- a halo or a broadcast ---- */

/** Replaces s->block by the entries that this rank multiplies in the joint exchange, and marks the columns of
 *  these entries. Collective. */
static spmm_status make_joint(setup *s, int threads, sp_halo *h)
{
    TRY(sp_joint_create(s->grid, s->block, s->first, threads, &h->joint));
    s->rest = *s->block;
    s->rest.csr = h->joint->rest;
    s->block = &s->rest;
    sp_free(s->needed);
    sp_free(s->before);
    s->needed = NULL;
    s->before = NULL;
    return sp_agree(s->grid->comm, "halo", find_needed(s, threads));
}

static spmm_status build(setup *s, spmm_exchange kind, int threads, sp_halo *h)
{
    const int me = s->grid->coords[0];
    spmm_status status = sp_alloc((void **)&s->first, s->parts + 1, sizeof *s->first, "owners of X");
    if (status == SPMM_OK) status = sp_alloc((void **)&s->receive, s->parts, 8, "neighbors");
    if (status == SPMM_OK) status = sp_alloc((void **)&s->send, s->parts, 8, "neighbors");
    if (status == SPMM_OK) status = sp_block_check(s->grid, s->block, threads);
    TRY(sp_agree(s->grid->comm, "halo", status));
    TRY(sp_blocks_fit(s->grid, s->block, s->first));
    h->own = s->first[me + 1] - s->first[me];
    TRY(sp_agree(s->grid->comm, "halo", find_needed(s, threads)));
    if (kind == SPMM_EXCHANGE_JOINT && s->parts > 1) TRY(make_joint(s, threads, h));
    TRY(decide(s, kind, h));
    if (h->kind == SPMM_EXCHANGE_BCAST)
        all_columns(s);
    else
        TRY(swap_lists(s, h));
    status = sp_halo_list_neighbors(s->grid, s->receive, s->send, h);
    h->local = s->block->csr;
    h->local.cols = sp_halo_rows(h);
    if (status == SPMM_OK && h->kind != SPMM_EXCHANGE_BCAST && s->parts > 1) status = renumber(s, threads, h);
    return sp_agree(s->grid->comm, "halo", status);
}

spmm_status sp_halo_create(const sp_grid *grid, const spmm_block *block, spmm_exchange kind, int threads,
                           sp_halo *halo)
{
    setup s = {.grid = grid, .block = block, .parts = grid->dims[0]};
    *halo = (sp_halo){.any_order = block->any_order};
    const spmm_status status = build(&s, kind, threads, halo);
    sp_free(s.first);
    sp_free(s.needed);
    sp_free(s.before);
    sp_free(s.receive);
    sp_free(s.send);
    sp_free(s.wanted);
    if (status != SPMM_OK) sp_halo_destroy(halo);
    return status;
}

int64_t sp_halo_all_moved(const sp_halo *halo)
{
    return halo->all_moved + (halo->joint ? halo->joint->moves.all_moved : 0);
}

spmm_status sp_halo_of_columns(const sp_grid *grid, const spmm_block *block, int64_t *first, uint64_t *needed,
                               sp_halo *halo)
{
    setup s = {.grid = grid, .block = block, .parts = grid->dims[0], .first = first, .needed = needed};
    memset(halo, 0, sizeof *halo);
    spmm_status status = sp_alloc((void **)&s.receive, s.parts, 8, "neighbors");
    if (status == SPMM_OK) status = sp_alloc((void **)&s.send, s.parts, 8, "neighbors");
    if (status == SPMM_OK)
        status = sp_alloc((void **)&s.before, sp_set_words(block->csr.cols) + 1, sizeof *s.before, "columns");
    status = sp_agree(grid->comm, "halo", status);
    if (status == SPMM_OK) {
        count_needed(&s);
        status = swap_lists(&s, halo);
    }
    if (status == SPMM_OK)
        status = sp_agree(grid->comm, "halo", sp_halo_list_neighbors(grid, s.receive, s.send, halo));
    sp_free(s.receive);
    sp_free(s.send);
    sp_free(s.before);
    sp_free(s.wanted);
    if (status != SPMM_OK) sp_halo_destroy(halo);
    return status;
}

void sp_halo_destroy(sp_halo *halo)
{
    if (!halo) return;
    sp_joint_destroy(halo->joint);
    sp_halo_lists_destroy(halo);
}
