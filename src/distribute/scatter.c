/** Distributes the blocks of A and the rows of X from one rank to their owners. */
#include "distribute/scatter.h"

#include <string.h>

#include "base/arguments.h"
#include "base/memory.h"
#include "base/search.h"
#include "partition/partition.h"
#include "formats/multivector.h"

/* PACK: entries of a column block that are sent at a time, so that root packs in bounded memory */
enum { PACK = 1 << 20 };

/* ---- ranges ---- */

spmm_status sp_ranges_create(int p, int q, sp_ranges *ranges)
{
    spmm_status status;
    *ranges = (sp_ranges){.p = p, .q = q};
    TRY_GOTO(sp_alloc_zero((void **)&ranges->row_begin, p + 1, 8, "row blocks"), done);
    TRY_GOTO(sp_alloc_zero((void **)&ranges->col_begin, q + 1, 8, "column blocks"), done);
    TRY_GOTO(sp_alloc_zero((void **)&ranges->x_begin, (int64_t)q * (p + 1), 8, "owners of X"), done);
done:
    if (status != SPMM_OK) sp_ranges_destroy(ranges);
    return status;
}

void sp_ranges_destroy(sp_ranges *ranges)
{
    sp_free(ranges->row_begin);
    sp_free(ranges->col_begin);
    sp_free(ranges->x_begin);
    memset(ranges, 0, sizeof *ranges);
}

spmm_status sp_ranges_share(const sp_grid *grid, int root, int64_t rows, int64_t cols, sp_ranges *ranges)
{
    TRY(sp_bcast(grid->comm, root, ranges->row_begin, (ranges->p + 1) * 8));
    TRY(sp_bcast(grid->comm, root, ranges->col_begin, (ranges->q + 1) * 8));
    sp_x_ranges(rows, cols, ranges->p, ranges->q, ranges->row_begin, ranges->col_begin, ranges->x_begin);
    return SPMM_OK;
}

/* ---- blocks ---- */

/** A rectangular block of A: rows [row, end) and columns [col, col_end). `whole` is 1 if the
 *  block has all columns of A. */
typedef struct rectangle {
    int64_t row, end, col, col_end;
    int whole;
} rectangle;

static rectangle piece_of(const sp_grid *grid, const sp_ranges *r, int rank)
{
    const int p = rank / grid->dims[1], q = rank % grid->dims[1];
    return (rectangle){r->row_begin[p], r->row_begin[p + 1], r->col_begin[q], r->col_begin[q + 1],
                       grid->dims[1] == 1};
}

/** Finds the entries [*first, *end) of row i of `a` that lie in rectangle b. */
static void entries_of(const spmm_csr *a, const rectangle *b, int64_t i, int64_t *first, int64_t *end)
{
    *first = a->irp[i];
    *end = a->irp[i + 1];
    if (b->whole) return;
    *first = sp_lower_bound_i32(a->ja, *first, *end, b->col);
    *end = sp_lower_bound_i32(a->ja, *first, *end, b->col_end);
}

/** Computes the row starts of rectangle b as a matrix of its own, so start[0] is 0. `start` has one element
 *  more than b has rows. */
static void row_starts(const spmm_csr *a, const rectangle *b, int64_t *start)
{
    start[0] = 0;
    for (int64_t i = b->row; i < b->end; i++) {
        int64_t first, end;
        entries_of(a, b, i, &first, &end);
        start[i - b->row + 1] = start[i - b->row] + end - first;
    }
}

/** Position, in a rectangle of A, of the next entry to pack. */
typedef struct pack_cursor {
    int64_t row, at; /* at: number of entries of this row, within the rectangle, packed so far */
} pack_cursor;

/** Copies up to `most` entries of rectangle b to ja and as, beginning at cursor c, and advances c. ja and as
 *  may be the arrays of `a` itself, because no entry moves to a higher index. Returns the number of entries
 *  copied. */
static int64_t pack(const spmm_csr *a, const rectangle *b, pack_cursor *c, int64_t most, int32_t *ja,
                    void *as)
{
    int64_t n = 0;
    while (c->row < b->end && n < most) {
        int64_t first, end;
        entries_of(a, b, c->row, &first, &end);
        first += c->at;
        const int64_t take = end - first < most - n ? end - first : most - n;
        for (int64_t e = 0; e < take; e++) ja[n + e] = (int32_t)(a->ja[first + e] - b->col);
        sp_values_copy(a->precision, a->as, first, take, as, n);
        n += take;
        c->at += take;
        if (first + take < end) break;
        *c = (pack_cursor){c->row + 1, 0};
    }
    return n;
}

/** Returns the number of entries in the next message if `left` entries remain to be sent; sender and receiver
 *  compute the same number. A block with all columns of A (`whole`) is sent in one message, directly from the
 *  arrays of A: only packed entries are sent in portions. */
static int64_t portion(int whole, int64_t left) { return whole || left < PACK ? left : PACK; }

static spmm_status send_entries(const sp_grid *grid, const spmm_csr *a, const rectangle *b, int64_t nnz,
                                int to)
{
    const int64_t size = sp_value_size(a->precision);
    if (b->whole) {
        const int64_t at = a->irp[b->row];
        TRY(sp_send(grid->comm, to, SP_TAG_JA, a->ja + at, nnz * 4));
        return sp_send(grid->comm, to, SP_TAG_AS, (const char *)a->as + at * size, nnz * size);
    }
    int32_t *ja = NULL;
    void *as = NULL;
    pack_cursor c = {b->row, 0};
    const int64_t room = portion(0, nnz);
    spmm_status status;
    TRY_GOTO(sp_alloc((void **)&ja, room, sizeof *ja, "entries to send"), done);
    TRY_GOTO(sp_alloc(&as, room, size, "entries to send"), done);
    for (int64_t left = nnz; left > 0;) {
        const int64_t n = pack(a, b, &c, portion(0, left), ja, as);
        TRY_GOTO(sp_send(grid->comm, to, SP_TAG_JA, ja, n * 4), done);
        TRY_GOTO(sp_send(grid->comm, to, SP_TAG_AS, as, n * size), done);
        left -= n;
    }
done:
    sp_free(ja);
    sp_free(as);
    return status;
}

static spmm_status receive_entries(const sp_grid *grid, int root, int whole, spmm_csr *block)
{
    const int64_t size = sp_value_size(block->precision);
    for (int64_t at = 0, n; at < block->nnz; at += n) {
        n = portion(whole, block->nnz - at);
        TRY(sp_recv(grid->comm, root, SP_TAG_JA, block->ja + at, n * 4));
        TRY(sp_recv(grid->comm, root, SP_TAG_AS, (char *)block->as + at * size, n * size));
    }
    return SPMM_OK;
}

/* ---- root's own block ---- */

/** Creates the block of root itself from rectangle b. If `borrow` is 1 and b has all columns of `a`, the
 *  block shares the arrays ja and as of `a`; otherwise it gets copies. It takes ownership of `start`, its row
 *  starts. */
static spmm_status own_copy(const spmm_csr *a, const rectangle *b, int borrow, int64_t *start,
                            spmm_block *block)
{
    const int64_t rows = b->end - b->row, nnz = start[rows], size = sp_value_size(a->precision);
    spmm_csr *csr = &block->csr;
    pack_cursor c = {b->row, 0};
    *csr = (spmm_csr){rows, b->col_end - b->col, nnz, a->precision, start, NULL, NULL};
    if (borrow && b->whole) {
        csr->ja = a->ja + a->irp[b->row];
        csr->as = (char *)a->as + a->irp[b->row] * size;
        block->borrowed = 1;
        return SPMM_OK;
    }
    TRY(sp_alloc((void **)&csr->ja, nnz, sizeof *csr->ja, "column indices"));
    TRY(sp_alloc(&csr->as, nnz, size, "values"));
    pack(a, b, &c, nnz, csr->ja, csr->as);
    return SPMM_OK;
}

/** Turns `a` into the block of root itself: moves the entries of rectangle b to the front of the arrays of
 *  `a`, gives these arrays to the block, returns unused memory to the system, and destroys `a`. The block
 *  takes ownership of `start`, its row starts. */
static void take_over(spmm_csr *a, const rectangle *b, int64_t *start, spmm_block *block)
{
    const int64_t rows = b->end - b->row, nnz = start[rows];
    pack_cursor c = {b->row, 0};
    block->csr = (spmm_csr){rows, b->col_end - b->col, nnz, a->precision, start, NULL, NULL};
    pack(a, b, &c, nnz, a->ja, a->as);
    block->csr.ja = a->ja;
    block->csr.as = a->as;
    const int64_t size = sp_value_size(a->precision);
    sp_release_tail(a->ja, (size_t)nnz * sizeof *a->ja, (size_t)a->nnz * sizeof *a->ja);
    sp_release_tail(a->as, (size_t)(nnz * size), (size_t)(a->nnz * size));
    a->ja = NULL;
    a->as = NULL;
    spmm_csr_destroy(a);
}

/* ---- the scatter ---- */

/** What root tells each rank before the rank allocates its block: size and precision of A, entries of the
 *  block. */
typedef struct header {
    int64_t rows, cols, nnz, precision;
} header;

static spmm_status send_headers(const sp_grid *grid, int root, const spmm_csr *a, const sp_ranges *ranges,
                                header *mine)
{
    header *all = NULL;
    spmm_status status = SPMM_OK;
    if (grid->rank == root) {
        status = sp_alloc((void **)&all, grid->size, sizeof *all, "the blocks' sizes");
        for (int r = 0; status == SPMM_OK && r < grid->size; r++) {
            const rectangle b = piece_of(grid, ranges, r);
            int64_t nnz = 0;
            for (int64_t i = b.row; i < b.end && !b.whole; i++) {
                int64_t first, end;
                entries_of(a, &b, i, &first, &end);
                nnz += end - first;
            }
            if (b.whole) nnz = a->irp[b.end] - a->irp[b.row];
            all[r] = (header){a->rows, a->cols, nnz, a->precision};
        }
    }
    status = sp_agree(grid->comm, "scatter", status);
    if (status == SPMM_OK)
        status = SP_MPI(
            MPI_Scatter(all, sizeof *all, MPI_BYTE, mine, sizeof *mine, MPI_BYTE, root, grid->comm));
    sp_free(all);
    return status;
}

/** Sends each rank except root the row starts and entries of its block. `scratch` has room for the row starts
 *  of the largest block. */
static spmm_status send_blocks(const sp_grid *grid, int root, const spmm_csr *a, const sp_ranges *ranges,
                               int64_t *scratch, sp_scatter_progress progress, void *context)
{
    int64_t sent = 0;
    for (int r = 0; r < grid->size; r++) {
        const rectangle b = piece_of(grid, ranges, r);
        const int64_t rows = b.end - b.row;
        row_starts(a, &b, scratch);
        if (r != root) {
            TRY(sp_send(grid->comm, r, SP_TAG_LENGTHS, scratch, (rows + 1) * 8));
            TRY(send_entries(grid, a, &b, scratch[rows], r));
        }
        sent += scratch[rows];
        if (progress) progress(context, a->nnz ? (double)sent / (double)a->nnz : 1.0);
    }
    return SPMM_OK;
}

static int64_t most_rows(const sp_ranges *ranges)
{
    int64_t most = 0;
    for (int p = 0; p < ranges->p; p++) {
        const int64_t rows = ranges->row_begin[p + 1] - ranges->row_begin[p];
        if (rows > most) most = rows;
    }
    return most;
}

void sp_block_place(const sp_grid *grid, const sp_ranges *ranges, int64_t rows, int64_t cols,
                    spmm_block *block)
{
    const int p = grid->coords[0], q = grid->coords[1];
    memset(block, 0, sizeof *block);
    block->rows = rows;
    block->cols = cols;
    block->row_begin = ranges->row_begin[p];
    block->col_begin = ranges->col_begin[q];
    block->x_begin = sp_x_first(ranges, p, q);
    block->x_rows = sp_x_end(ranges, p, q) - block->x_begin;
    block->p = grid->dims[0];
    block->q = grid->dims[1];
}

/** Does root's part of the scatter. The entries of root's own block stay in place until all other blocks are
 *  sent. */
static spmm_status root_part(const sp_grid *grid, int root, spmm_csr *a, const sp_ranges *ranges,
                             sp_scatter_mode mode, int64_t *scratch, int64_t *start,
                             sp_scatter_progress progress, void *context, spmm_block *block)
{
    const rectangle mine = piece_of(grid, ranges, root);
    spmm_status status = send_blocks(grid, root, a, ranges, scratch, progress, context);
    row_starts(a, &mine, start);
    if (status != SPMM_OK) {
        sp_free(start);
        return status;
    }
    if (mode != SP_SCATTER_CONSUME) return own_copy(a, &mine, mode == SP_SCATTER_BORROW, start, block);
    take_over(a, &mine, start, block);
    return SPMM_OK;
}

static spmm_status allocate(const sp_grid *grid, int root, const sp_ranges *ranges, sp_scatter_mode mode,
                            const header *h, spmm_block *block, int64_t **scratch, int64_t **start)
{
    const rectangle mine = piece_of(grid, ranges, grid->rank);
    const int64_t rows = mine.end - mine.row;
    if (grid->rank != root)
        return sp_csr_create(rows, mine.col_end - mine.col, h->nnz, (spmm_precision)h->precision,
                             &block->csr);
    /* if root copies its own block, it does so after the other blocks are sent; check now that the memory
     * will suffice */
    if (mode == SP_SCATTER_COPY || (mode == SP_SCATTER_BORROW && !mine.whole)) {
        const sp_sizes sizes = {rows, h->cols, h->nnz};
        TRY(sp_memory_needs(sp_csr_bytes_of(&sizes, (spmm_precision)h->precision), "the root's own block"));
    }
    TRY(sp_alloc((void **)scratch, most_rows(ranges) + 1, sizeof **scratch, "row starts"));
    return sp_alloc((void **)start, rows + 1, sizeof **start, "row starts");
}

static spmm_status receive_block(const sp_grid *grid, int root, spmm_csr *block)
{
    TRY(sp_recv(grid->comm, root, SP_TAG_LENGTHS, block->irp, (block->rows + 1) * 8));
    return receive_entries(grid, root, grid->dims[1] == 1, block);
}

spmm_status sp_scatter(const sp_grid *grid, int root, spmm_csr *a, const sp_ranges *ranges,
                       sp_scatter_mode mode, sp_scatter_progress progress, void *context, spmm_block *block)
{
    header h;
    int64_t *scratch = NULL, *start = NULL;
    spmm_status status;
    memset(block, 0, sizeof *block);
    TRY_GOTO(send_headers(grid, root, a, ranges, &h), done);
    sp_block_place(grid, ranges, h.rows, h.cols, block);
    TRY_GOTO(sp_agree(grid->comm, "scatter", allocate(grid, root, ranges, mode, &h, block, &scratch, &start)),
             done);
    if (grid->rank == root) {
        status = root_part(grid, root, a, ranges, mode, scratch, start, progress, context, block);
        start = NULL;
    } else {
        status = receive_block(grid, root, &block->csr);
    }
    status = sp_agree(grid->comm, "scatter", status);
done:
    sp_free(scratch);
    sp_free(start);
    if (status != SPMM_OK) spmm_block_destroy(block);
    if (mode == SP_SCATTER_CONSUME && grid->rank == root) spmm_csr_destroy(a);
    return status;
}

void spmm_block_destroy(spmm_block *block)
{
    if (!block) return;
    if (block->borrowed) {
        block->csr.ja = NULL;
        block->csr.as = NULL;
    }
    spmm_csr_destroy(&block->csr);
    memset(block, 0, sizeof *block);
}

spmm_status sp_scatter_rows(const sp_grid *grid, const sp_ranges *ranges, const void *all, int64_t row_bytes,
                            void *mine, int tag)
{
    spmm_status status = SPMM_OK;
    if (grid->rank != 0) {
        const int p = grid->coords[0], q = grid->coords[1];
        const int64_t rows = sp_x_end(ranges, p, q) - sp_x_first(ranges, p, q);
        return sp_agree(grid->comm, "x", sp_recv(grid->comm, 0, tag, mine, rows * row_bytes));
    }
    for (int r = 0; r < grid->size && status == SPMM_OK; r++) {
        const int p = r / grid->dims[1], q = r % grid->dims[1];
        const int64_t bytes = (sp_x_end(ranges, p, q) - sp_x_first(ranges, p, q)) * row_bytes;
        const char *const from = (const char *)all + sp_x_first(ranges, p, q) * row_bytes;
        if (r == 0)
            memcpy(mine, from, (size_t)bytes);
        else
            status = sp_send(grid->comm, r, tag, from, bytes);
    }
    return sp_agree(grid->comm, "x", status);
}

spmm_status sp_scatter_x(const sp_grid *grid, const sp_ranges *ranges, const spmm_multivector *whole,
                         spmm_multivector *x)
{
    return sp_scatter_rows(grid, ranges, whole->data, sp_row_bytes(x), x->data, SP_TAG_X);
}

/** Checks the arguments of spmm_csr_scatter(): each rank checks its own arguments, then the ranks check that
 *  root, p and q are the same on all of them. Collective. */
static spmm_status check_arguments(MPI_Comm comm, int root, const spmm_csr *a, int p, int q,
                                   const spmm_block *block)
{
    static const char function[] = "spmm_csr_scatter";
    const sp_common common[] = {{"root", root, 1}, {"p", p, 1}, {"q", q, 1}};
    int rank, size;
    TRY(SP_MPI(MPI_Comm_rank(comm, &rank)));
    TRY(SP_MPI(MPI_Comm_size(comm, &size)));
    spmm_status status = sp_given(function, "block", block, "a place for the block");
    if (status == SPMM_OK && (root < 0 || root >= size))
        status = sp_fail(SPMM_ERR_USAGE, "%s: root is %d, expected a rank of comm, 0 to %d", function, root,
                         size - 1);
    if (status == SPMM_OK && rank == root) status = sp_given(function, "a", a, "the matrix, on root");
    int on_gpu = 0;
    if (status == SPMM_OK && rank == root &&
        (sp_csr_on_gpu(a, &on_gpu) != SPMM_OK || (!on_gpu && sp_csr_check(a) != SPMM_OK)))
        status = sp_fail(SPMM_ERR_USAGE, "%s: %s", function, spmm_error_message());
    if (on_gpu) status = sp_fail(SPMM_ERR_USAGE, "%s: a is in GPU memory, expected host memory", function);
    TRY(sp_agree(comm, "scatter", status));
    return sp_check_common(comm, function, common, 3);
}

spmm_status spmm_csr_scatter(MPI_Comm comm, int root, const spmm_csr *a, int p, int q, spmm_block *block)
{
    sp_grid grid = {.size = 0};
    sp_ranges ranges = {.p = 0};
    int64_t shape[2] = {0, 0};
    spmm_status status;
    if (block) memset(block, 0, sizeof *block);
    TRY(sp_comm_check(comm, __func__));
    TRY(check_arguments(comm, root, a, p, q, block));
    TRY_GOTO(sp_grid_create(comm, p, q, &grid), done);
    status = sp_ranges_create(grid.dims[0], grid.dims[1], &ranges);
    if (status == SPMM_OK && grid.rank == root) {
        sp_partition_entries(a->irp, a->rows, ranges.p, ranges.row_begin);
        status = sp_partition_columns(a, 1, ranges.q, ranges.col_begin);
        shape[0] = a->rows;
        shape[1] = a->cols;
    }
    TRY_GOTO(sp_agree(comm, "scatter", status), done);
    TRY_GOTO(sp_bcast(comm, root, shape, sizeof shape), done);
    TRY_GOTO(sp_ranges_share(&grid, root, shape[0], shape[1], &ranges), done);
    /* SP_SCATTER_COPY does not write to the matrix, so const may be cast away */
    status = sp_scatter(&grid, root, (spmm_csr *)(uintptr_t)a, &ranges, SP_SCATTER_COPY, NULL, NULL, block);
done:
    sp_ranges_destroy(&ranges);
    sp_grid_destroy(&grid);
    return status;
}
