/** Transposes blocks and reverses their moves, for products with the transpose. */
#include "halo/transposed.h"

#include <string.h>

#include "base/memory.h"
#include "formats/csr.h"

static const char what[] = "the transpose";

/** Rows [first, first + rows) of a matrix. */
typedef struct row_range {
    int64_t first, rows;
} row_range;

/** Copies two ranges of rows, one after the other, to a new matrix. */
static spmm_status transposed_copy_rows(const spmm_csr *a, row_range one, row_range two, spmm_csr *b)
{
    const row_range range[] = {one, two};
    int64_t row = 0, entry = 0;
    for (int r = 0; r < 2; r++) entry += a->irp[range[r].first + range[r].rows] - a->irp[range[r].first];
    TRY(sp_csr_create(one.rows + two.rows, a->cols, entry, a->precision, b));
    entry = 0;
    for (int r = 0; r < 2; r++) {
        const int64_t first = range[r].first, begin = a->irp[first];
        const int64_t count = a->irp[first + range[r].rows] - begin;
        for (int64_t i = 0; i < range[r].rows; i++) b->irp[++row] = entry + a->irp[first + i + 1] - begin;
        if (count > 0) memcpy(b->ja + entry, a->ja + begin, (size_t)count * sizeof *b->ja);
        sp_values_copy(a->precision, a->as, begin, count, b->as, entry);
        entry += count;
    }
    return SPMM_OK;
}

/** Splits the transpose of the block into the rows that this rank owns and the rows that other ranks own. */
static spmm_status split(const sp_local_block *b, int threads, spmm_csr *owned, spmm_csr *others)
{
    spmm_csr all;
    if (b->csr.rows > INT32_MAX)
        return sp_fail(SPMM_ERR_LIMIT,
                       "a block of %lld rows has no transpose with 32-bit column indices: use more ranks",
                       (long long)b->csr.rows);
    TRY(sp_csr_add_transpose(&b->csr, SP_IMAGE_NONE, SP_IMAGE_SAME, threads, &all));
    const int64_t end = b->low + b->own;
    const row_range low = {0, b->low}, own = {b->low, b->own}, high = {end, b->csr.cols - end}, none = {0, 0};
    spmm_status status = transposed_copy_rows(&all, own, none, owned);
    if (status == SPMM_OK) status = transposed_copy_rows(&all, low, high, others);
    spmm_csr_destroy(&all);
    return status;
}

/** Lists the messages of partial rows. Their directions are the reverse of those of rows of X: partial rows
 *  are received from the targets of x and sent to its sources.
 *  \param [in] me  this rank's number in the process column */
static spmm_status reverse(const sp_moves *x, int me, sp_moves *moves)
{
    int64_t in = 0;
    moves->own = moves->sent = x->ghost_low + x->ghost_high;
    moves->all_moved = x->all_moved;
    TRY(sp_alloc((void **)&moves->source, x->targets, sizeof *moves->source, what));
    TRY(sp_alloc((void **)&moves->target, x->sources, sizeof *moves->target, what));
    for (int n = 0; n < x->targets; n++) {
        const int rank = x->target[n].rank;
        const int64_t rows = x->target[n].rows;
        moves->source[moves->sources++] = (sp_source){rank, in + (rank > me ? moves->own : 0), rows};
        *(rank < me ? &moves->ghost_low : &moves->ghost_high) += rows;
        in += rows;
    }
    for (int n = 0; n < x->sources; n++) {
        const sp_source *const s = &x->source[n];
        const int64_t first = s->rank < me ? s->first : s->first - x->own;
        moves->target[moves->targets++] = (sp_target){s->rank, 0, first, s->rows};
    }
    return sp_moves_rows(moves) > INT32_MAX
               ? sp_fail(SPMM_ERR_LIMIT,
                         "%lld partial rows of a rank in a product with A^T: expected at most 2^31 - 1",
                         (long long)sp_moves_rows(moves))
               : SPMM_OK;
}

/** Lists the owned rows to which partial rows are added. These are the rows of X that are sent for A X. */
static spmm_status list_sums(const sp_moves *x, sp_joint *j)
{
    int64_t n = 0;
    TRY(sp_alloc((void **)&j->row, j->moves.ghost_low + j->moves.ghost_high, sizeof *j->row, what));
    for (int t = 0; t < x->targets; t++) {
        const sp_target *const s = &x->target[t];
        for (int64_t i = s->first; i < s->first + s->rows; i++)
            j->row[n++] = s->packed ? x->list[i] : (int32_t)i;
    }
    return sp_joint_list_sums(j);
}

static spmm_status transposed_build(const sp_ghosted_block *b, int threads, sp_ghosted_block *t)
{
    TRY(sp_alloc_zero((void **)&t->joint, 1, sizeof *t->joint, what));
    TRY(split(&b->local, threads, &t->joint->rest, &t->joint->partial));
    TRY(reverse(&b->moves, b->grid->coords[0], &t->joint->moves));
    t->local.csr = t->joint->rest;
    return list_sums(&b->moves, t->joint);
}

spmm_status sp_ghosted_block_transpose(const sp_ghosted_block *b, int threads, sp_ghosted_block *transposed)
{
    const int64_t own = b->local.csr.rows;
    *transposed = (sp_ghosted_block){.grid = b->grid,
                                     .block = b->block,
                                     .kind = SPMM_EXCHANGE_JOINT,
                                     .moves = {.own = own},
                                     .all_bcast = b->all_bcast,
                                     .local = {.own = own}};
    const spmm_status status = sp_agree(b->grid->comm, "halo", transposed_build(b, threads, transposed));
    if (status != SPMM_OK) sp_ghosted_block_destroy(transposed);
    return status;
}

/** Makes the map of the transpose: transposes a matrix whose values are the indices of its entries. */
static spmm_status create_map(const sp_ghosted_block *b, int threads, sp_transposed_map *map)
{
    sp_local_block numbered = b->local;
    spmm_csr to[SP_TRANSPOSED_PARTS] = {{0}, {0}};
    spmm_status status;
    if (numbered.csr.nnz >= SP_NOWHERE)
        return sp_fail(
            SPMM_ERR_LIMIT,
            "new values for the %lld entries of a rank's transpose: expected at most 2^32 - 1; use more "
            "ranks",
            (long long)numbered.csr.nnz);
    numbered.csr.precision = SPMM_F64;
    numbered.csr.as = NULL;
    TRY(sp_alloc(&numbered.csr.as, numbered.csr.nnz, sizeof(double), what));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t e = 0; e < numbered.csr.nnz; e++) ((double *)numbered.csr.as)[e] = (double)e;
    TRY_GOTO(split(&numbered, threads, &to[0], &to[1]), done);
    for (int n = 0; n < SP_TRANSPOSED_PARTS; n++)
        TRY_GOTO(sp_alloc((void **)&map->from[n], to[n].nnz, sizeof *map->from[n], what), done);
    for (int n = 0; n < SP_TRANSPOSED_PARTS; n++) {
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t e = 0; e < to[n].nnz; e++)
            map->from[n][e] = (sp_value_place)((const double *)to[n].as)[e];
    }
done:
    for (int n = 0; n < SP_TRANSPOSED_PARTS; n++) spmm_csr_destroy(&to[n]);
    sp_free(numbered.csr.as);
    if (status != SPMM_OK) sp_transposed_map_destroy(map);
    return status;
}

spmm_status sp_transposed_map_make(const sp_ghosted_block *b, int threads, sp_transposed_map *map)
{
    return map->from[0] ? SPMM_OK : create_map(b, threads, map);
}

static void gather(const sp_ghosted_block *b, const sp_value_place *place, int threads, spmm_csr *to)
{
    sp_values_gather(to->precision, b->local.csr.as, place, to->nnz, threads, to->as);
}

spmm_status sp_ghosted_block_transpose_values(const sp_ghosted_block *b, int threads, sp_transposed_map *map,
                                              sp_ghosted_block *transposed)
{
    TRY(sp_transposed_map_make(b, threads, map));
    gather(b, map->from[0], threads, &transposed->joint->rest);
    gather(b, map->from[1], threads, &transposed->joint->partial);
    return SPMM_OK;
}

void sp_transposed_map_destroy(sp_transposed_map *map)
{
    for (int n = 0; n < SP_TRANSPOSED_PARTS; n++) sp_free(map->from[n]);
    *map = (sp_transposed_map){{NULL}};
}
