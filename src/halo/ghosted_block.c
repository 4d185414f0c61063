/** Determines which rows of X are exchanged for a block, and the local column indices. */
#include "halo/ghosted_block.h"

#include "base/memory.h"
#include "formats/csr.h"
#include "halo/block.h"
#include "order/column_set.h"

enum { ROWS = 1024 }; /* number of rows that a thread scans at a time */

/** A halo exchange is worth its packing and renumbering if it moves less than this fraction of the rows of X
 *  that a broadcast moves. */
static const double WORTH = 0.9;

/** Temporary data of sp_ghosted_block_create(). */
typedef struct setup {
    const sp_grid *grid;
    const spmm_csr *a; /* the block or, with the joint exchange, the entries that this rank multiplies */
    int any_order;
    int threads;
    int64_t *first; /* [P + 1], first row of X of each rank, from sp_blocks_fit() */
    /* two sets: the columns that have an entry and belong to another rank; the columns of this rank */
    sp_column_numbers needs;
} setup;

/* ---- which columns are needed ---- */

/** Returns 1 if all of n columns, which may be in any order, are in [0, cols), else 0. */
static int in_range(const int32_t *ja, int64_t n, int64_t cols)
{
    int sound = 1;
    for (int64_t e = 0; e < n; e++) sound &= ja[e] >= 0 && ja[e] < cols;
    return sound;
}

/** Marks in s->needs.set the columns that other ranks own and in which the block has entries. Also checks all
 *  column indices, because this is the first pass over them.
 *  \return 1; 0 if the column indices of some row are invalid */
static int mark_needed(setup *s)
{
    const spmm_csr *const a = s->a;
    int sound = 1;
#pragma omp parallel for schedule(dynamic, ROWS) num_threads(s->threads) reduction(& : sound)
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t n = a->irp[i + 1] - a->irp[i];
        if (n == 0) continue; /* in a block without entries, ja may be NULL */
        const int32_t *const ja = a->ja + a->irp[i];
        sound &= s->any_order ? in_range(ja, n, a->cols) : sp_columns_sound(ja, n, a->cols);
        if (sound) sp_set_add_outside(s->needs.set, ja, n, s->needs.from, s->needs.to, s->any_order);
    }
    return sound;
}

static spmm_status find_needed(setup *s)
{
    const int64_t words = sp_set_words(s->a->cols);
    TRY(sp_alloc_zero((void **)&s->needs.set, words, sizeof *s->needs.set, "columns of the halo"));
    TRY(sp_alloc((void **)&s->needs.before, words + 1, sizeof *s->needs.before, "columns of the halo"));
    if (!mark_needed(s))
        return s->any_order ? sp_fail(SPMM_ERR_USAGE, "a column index of the block is outside 0 to %lld",
                                      (long long)s->a->cols - 1)
                            : sp_csr_check(s->a, s->threads);
    sp_set_count(s->needs.set, words, s->needs.before);
    return SPMM_OK;
}

static void forget_needed(setup *s)
{
    sp_free(s->needs.set);
    sp_free(s->needs.before);
    s->needs.set = NULL;
    s->needs.before = NULL;
}

/* ---- which rows travel ---- */

/** Replaces s->a by the entries that this rank multiplies in the joint exchange, and marks the columns of
 *  these entries. Collective. */
static spmm_status make_joint(setup *s, sp_ghosted_block *b)
{
    TRY(sp_joint_create(s->grid, b->block, s->first, s->threads, &b->joint));
    s->a = &b->joint->rest;
    forget_needed(s);
    return sp_agree(s->grid->comm, "halo", find_needed(s));
}

/** Counts the rows of X that a halo exchange and a broadcast would move, summed over all ranks. Then sets
 *  b->kind to `asked`. If `asked` is SPMM_EXCHANGE_AUTO, sets b->kind to the halo exchange if it moves less
 *  than WORTH times the rows of the broadcast, else to the broadcast. Collective.
 *  \param [out] moved  the number of rows that b->kind moves */
static spmm_status decide(const setup *s, spmm_exchange asked, sp_ghosted_block *b, int64_t *moved)
{
    const int64_t cols = s->a->cols;
    int64_t rows[2] = {sp_set_before(s->needs.set, s->needs.before, cols),
                       cols - (s->needs.to - s->needs.from)};
    TRY(SP_MPI(MPI_Allreduce(MPI_IN_PLACE, rows, 2, MPI_INT64_T, MPI_SUM, s->grid->comm)));
    b->all_bcast = rows[1];
    b->kind = asked;
    if (asked == SPMM_EXCHANGE_AUTO)
        b->kind = (double)rows[0] < WORTH * (double)rows[1] ? SPMM_EXCHANGE_HALO : SPMM_EXCHANGE_BCAST;
    *moved = rows[b->kind == SPMM_EXCHANGE_BCAST];
    return SPMM_OK;
}

static spmm_status ghosted_block_build(setup *s, spmm_exchange kind, sp_ghosted_block *b)
{
    const int me = s->grid->coords[0], parts = s->grid->dims[0];
    int64_t moved;
    spmm_status status = sp_alloc((void **)&s->first, parts + 1, sizeof *s->first, "owners of X");
    if (status == SPMM_OK) status = sp_block_check(s->grid, b->block, s->threads);
    TRY(sp_agree(s->grid->comm, "halo", status));
    TRY(sp_blocks_fit(s->grid, b->block, s->first));
    s->needs.from = s->first[me];
    s->needs.to = s->first[me + 1];
    TRY(sp_agree(s->grid->comm, "halo", find_needed(s)));
    if (kind == SPMM_EXCHANGE_JOINT && parts > 1) TRY(make_joint(s, b));
    TRY(decide(s, kind, b, &moved));
    const int all = b->kind == SPMM_EXCHANGE_BCAST;
    TRY(sp_moves_create(s->grid, s->first, all ? NULL : s->needs.set, &b->moves));
    b->moves.all_moved = moved;
    b->local.low = b->moves.ghost_low;
    b->local.own = b->moves.own;
    return sp_agree(s->grid->comm, "halo",
                    sp_local_block_number(s->a, sp_moves_rows(&b->moves),
                                          all || parts == 1 ? NULL : &s->needs, s->threads, &b->local));
}

spmm_status sp_ghosted_block_create(const sp_grid *grid, const spmm_block *block, spmm_exchange kind,
                                    int threads, sp_ghosted_block *ghosted)
{
    setup s = {.grid = grid, .a = &block->csr, .any_order = block->any_order, .threads = threads};
    *ghosted = (sp_ghosted_block){.grid = grid, .block = block, .local = {.any_order = block->any_order}};
    const spmm_status status = ghosted_block_build(&s, kind, ghosted);
    sp_free(s.first);
    forget_needed(&s);
    if (status != SPMM_OK) sp_ghosted_block_destroy(ghosted);
    return status;
}

static spmm_status build_whole(sp_ghosted_block *b)
{
    int64_t first[2];
    TRY(sp_block_check_ranges(b->grid, b->block));
    TRY(sp_blocks_fit(b->grid, b->block, first));
    TRY(sp_moves_create(b->grid, first, NULL, &b->moves));
    b->local.low = b->moves.ghost_low;
    b->local.own = b->moves.own;
    return sp_local_block_number(&b->block->csr, sp_moves_rows(&b->moves), NULL, 1, &b->local);
}

spmm_status sp_ghosted_block_create_whole(const sp_grid *grid, const spmm_block *block,
                                          const spmm_csr *on_gpu, int64_t longest, sp_ghosted_block *ghosted)
{
    *ghosted = (sp_ghosted_block){.grid = grid,
                                  .block = block,
                                  .kind = SPMM_EXCHANGE_BCAST,
                                  .local = {.any_order = block->any_order},
                                  .longest = longest,
                                  .on_gpu = on_gpu};
    const spmm_status status = build_whole(ghosted);
    if (status != SPMM_OK) sp_ghosted_block_destroy(ghosted);
    return status;
}

int64_t sp_ghosted_block_moved(const sp_ghosted_block *b)
{
    return b->moves.all_moved + (b->joint ? b->joint->moves.all_moved : 0);
}

void sp_ghosted_block_destroy(sp_ghosted_block *b)
{
    sp_joint_destroy(b->joint);
    sp_local_block_destroy(&b->local);
    sp_moves_destroy(&b->moves);
    *b = (sp_ghosted_block){.grid = NULL};
}
