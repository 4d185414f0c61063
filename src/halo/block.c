/** Checks each block of the matrix separately and against the blocks of the other ranks. */
#include "halo/block.h"

#include <string.h>

#include "base/status.h"
#include "base/enum_words.h"
#include "base/memory.h"
#include "formats/csr.h"

typedef struct range {
    int64_t begin, count;
} range;

/** Sizes, precision and position of a block, as the ranks exchange them. */
typedef struct extent {
    int64_t rows, cols, precision;
    range row, col, x;
} extent;

static extent place_of(const spmm_block *b)
{
    return (extent){b->rows,
                    b->cols,
                    b->csr.precision,
                    {b->row_begin, b->csr.rows},
                    {b->col_begin, b->csr.cols},
                    {b->x_begin, b->x_rows}};
}

/* ---- one block ---- */

static spmm_status check_range(const char *what, range r, int64_t size)
{
    if (r.begin >= 0 && r.count >= 0 && r.begin <= size && r.count <= size - r.begin) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE, "the block has %lld %s from %lld on, expected a range within 0 to %lld",
                   (long long)r.count, what, (long long)r.begin, (long long)size);
}

spmm_status sp_block_check_ranges(const sp_grid *grid, const spmm_block *b)
{
    const extent mine = place_of(b);
    if (b->p != grid->dims[0] || b->q != grid->dims[1])
        return sp_fail(SPMM_ERR_USAGE, "the block is of a %d x %d grid, expected one of the %d x %d grid",
                       b->p, b->q, grid->dims[0], grid->dims[1]);
    if (b->rows < 0 || b->cols < 0)
        return sp_fail(SPMM_ERR_USAGE, "the block is of a matrix of %lld x %lld: expected no negative number",
                       (long long)b->rows, (long long)b->cols);
    TRY(check_range("rows", mine.row, b->rows));
    TRY(check_range("columns", mine.col, b->cols));
    TRY(check_range("rows of X", mine.x, b->cols));
    if (b->any_order && b->q > 1)
        return sp_fail(SPMM_ERR_USAGE,
                       "the block's any_order is set on a %d x %d grid, expected a P x 1 grid", b->p, b->q);
    return SPMM_OK;
}

spmm_status sp_block_check(const sp_grid *grid, const spmm_block *b, int threads)
{
    TRY(sp_block_check_ranges(grid, b));
    return sp_csr_check_starts(&b->csr, threads);
}

/* ---- the blocks of all ranks ---- */

/** One line of the process grid: the process column or the process row that contains this rank. `rank` is the
 *  first of its `count` ranks rank, rank + step, rank + 2 * step and so on. */
typedef struct line {
    const char *name;
    const extent *place;
    int count, rank, step;
} line;

static int rank_of(const line *l, int i) { return l->rank + i * l->step; }

static spmm_status same_matrix(const line *l)
{
    const extent *const first = &l->place[0];
    for (int i = 1; i < l->count; i++) {
        const extent *const p = &l->place[i];
        if (p->rows != first->rows || p->cols != first->cols || p->precision != first->precision)
            return sp_fail(
                SPMM_ERR_USAGE,
                "rank %d's block is of a %lld x %lld %s matrix, and rank %d's of a %lld x %lld %s one: "
                "expected the same",
                rank_of(l, 0), (long long)first->rows, (long long)first->cols,
                sp_precision_word((spmm_precision)first->precision), rank_of(l, i), (long long)p->rows,
                (long long)p->cols, sp_precision_word((spmm_precision)p->precision));
    }
    return SPMM_OK;
}

/** A function that returns one of the three ranges in an extent. */
typedef range pick(const extent *p);
static range rows_of(const extent *p) { return p->row; }
static range cols_of(const extent *p) { return p->col; }
static range x_of(const extent *p) { return p->x; }

static spmm_status alike(const line *l, const char *what, pick *of)
{
    const range first = of(&l->place[0]);
    for (int i = 1; i < l->count; i++) {
        const range r = of(&l->place[i]);
        if (r.begin != first.begin || r.count != first.count)
            return sp_fail(
                SPMM_ERR_USAGE,
                "rank %d has %lld %s from %lld on, and rank %d, of the same process %s, has %lld from "
                "%lld on: expected the same",
                rank_of(l, 0), (long long)first.count, what, (long long)first.begin, rank_of(l, i), l->name,
                (long long)r.count, (long long)r.begin);
    }
    return SPMM_OK;
}

/** Checks that the ranges of the ranks of l, in rank order, follow one another without gap or overlap and
 *  together make up the range `whole`. */
static spmm_status consecutive(const line *l, const char *what, pick *of, range whole)
{
    int64_t at = whole.begin;
    for (int i = 0; i < l->count; i++) {
        const range r = of(&l->place[i]);
        if (r.begin != at)
            return sp_fail(SPMM_ERR_USAGE,
                           "rank %d has %s from %lld on, expected from %lld on: ranks of a process %s "
                           "have consecutive ones, without gap or overlap",
                           rank_of(l, i), what, (long long)r.begin, (long long)at, l->name);
        at += r.count;
    }
    const int64_t end = whole.begin + whole.count;
    if (at == end) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE,
                   "rank %d, the last of a process %s, has %s up to %lld, expected up to %lld",
                   rank_of(l, l->count - 1), l->name, what, (long long)at, (long long)end);
}

static spmm_status check_fit(const line *column, const line *row)
{
    const extent *const p = &column->place[0];
    TRY(same_matrix(column));
    TRY(same_matrix(row));
    TRY(alike(column, "columns", cols_of));
    TRY(alike(row, "rows", rows_of));
    TRY(consecutive(column, "rows", rows_of, (range){0, p->rows}));
    TRY(consecutive(row, "columns", cols_of, (range){0, p->cols}));
    return consecutive(column, "rows of X", x_of, p->col);
}

spmm_status sp_blocks_fit(const sp_grid *grid, const spmm_block *block, int64_t *first)
{
    const int p = grid->dims[0], q = grid->dims[1];
    const extent mine = place_of(block);
    extent *all = NULL;
    spmm_status status = sp_alloc((void **)&all, (int64_t)p + q, sizeof *all, "the blocks' places");
    TRY_GOTO(sp_agree(grid->comm, "halo", status), done);
    const line column = {"column", all, p, grid->coords[1], q},
               row = {"row", all + p, q, grid->coords[0] * q, 1};
    TRY_GOTO(sp_collect_everywhere(grid->col_comm, &mine, sizeof mine, all), done);
    TRY_GOTO(sp_collect_everywhere(grid->row_comm, &mine, sizeof mine, all + p), done);
    TRY_GOTO(sp_agree(grid->comm, "halo", check_fit(&column, &row)), done);
    for (int i = 0; i < p; i++) first[i] = all[i].x.begin - block->col_begin;
    first[p] = block->csr.cols;
done:
    sp_free(all);
    return status;
}
