/** Distributes the blocks of A and the rows of X from one rank to their owners. */
#include "distribute/scatter.h"

#include <string.h>

#include "base/memory.h"
#include "distribute/scatter_ell.h"
#include "order/partition.h"
#include "formats/multivector.h"

/* PACK: maximum number of entries that root packs and sends at a time, to bound root's memory */
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

/** Computes the row starts of the matrix that consists of rectangle b only: start[0] is 0. `start` has one
 *  more element than b has rows. */
static void row_starts(const spmm_csr *a, const sp_rectangle *b, int64_t *start)
{
    start[0] = 0;
    for (int64_t i = b->row; i < b->end; i++) {
        int64_t first, end;
        sp_entries_of(a, b, i, &first, &end);
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
static int64_t pack(const spmm_csr *a, const sp_rectangle *b, pack_cursor *c, int64_t most, int32_t *ja,
                    void *as)
{
    int64_t n = 0;
    while (c->row < b->end && n < most) {
        int64_t first, end;
        sp_entries_of(a, b, c->row, &first, &end);
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

/* ---- root's own block ---- */

/** Creates the block of root itself from rectangle b. If `borrow` is 1 and b has all columns of `a`, the
 *  block shares the arrays ja and as of `a`; otherwise it gets copies. The block takes ownership of `start`,
 *  its row starts. */
static spmm_status own_copy(const spmm_csr *a, const sp_rectangle *b, int borrow, int64_t *start,
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
static void take_over(spmm_csr *a, const sp_rectangle *b, int64_t *start, spmm_block *block)
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

/* ---- a stage of the scatter: one rank sends blocks to the ranks of a communicator ---- */

/** Data that root sends to each rank before the rank allocates its block. */
typedef struct header {
    int64_t nnz, precision, width; /* width: length of the longest row of a block sent as ELLPACK; else 0 */
} header;

/** A stage: the whole scatter, or one stage of a two-stage scatter. In each stage all ranks agree on
 *  errors. */
typedef struct stage {
    const sp_grid *grid; /* grid of the ranks that take part; NULL: this rank does not */
    MPI_Comm all;        /* all ranks */
    const char *name;    /* name of the stage for sp_agree() */
    int root;            /* rank of the sender in grid->comm */
    int first_rank;      /* rank in `all` of grid->comm's rank 0, for error messages about ELLPACK */
    int padded;          /* 1: blocks are sent as ELLPACK */
    sp_scatter_mode mode;
    const sp_ranges *ranges; /* ranges of the blocks of this stage; x_begin is not used */
    const sp_scatter_options *options;
    sp_scatter_times *times;
    /* set during the stage: */
    header mine;
    int64_t room;             /* root: maximum number of entries that it packs at a time */
    int64_t *scratch, *start; /* root: [rows of the largest block + 1]; [rows of its own block + 1] */
    int32_t *ja;              /* root: [room] */
    void *as;                 /* root: [room] */
} stage;

static int is_root(const stage *s) { return s->grid && s->grid->rank == s->root; }

static sp_rectangle piece_of(const stage *s, int rank)
{
    const int q = s->ranges->q;
    const int64_t *const row = &s->ranges->row_begin[rank / q], *const col = &s->ranges->col_begin[rank % q];
    return (sp_rectangle){row[0], row[1], col[0], col[1], q == 1};
}

static int64_t entries_in(const spmm_csr *a, const sp_rectangle *b)
{
    int64_t nnz = 0;
    if (b->whole) return a->irp[b->end] - a->irp[b->row];
    for (int64_t i = b->row; i < b->end; i++) {
        int64_t first, end;
        sp_entries_of(a, b, i, &first, &end);
        nnz += end - first;
    }
    return nnz;
}

/** Counts the entries of each block on root, and determines the size of the packing buffer. */
static spmm_status count_blocks(stage *s, const spmm_csr *a, header *all)
{
    for (int r = 0; r < s->grid->size; r++) {
        const sp_rectangle b = piece_of(s, r);
        int64_t room = 0;
        all[r] = (header){entries_in(a, &b), a->precision, 0};
        if (s->padded) {
            const sp_sizes sizes = {b.end - b.row, b.col_end - b.col, all[r].nnz};
            all[r].width = sp_rectangle_width(a, &b);
            TRY(sp_slice_check(&sizes, a->precision, all[r].width, s->options->ell_limit, s->first_rank + r));
            room = sp_slice_portion(b.end - b.row, all[r].width) * all[r].width;
        } else if (!b.whole) {
            room = portion(0, all[r].nnz);
        }
        if (r != s->root && room > s->room) s->room = room;
    }
    return SPMM_OK;
}

static spmm_status send_headers(stage *s, const spmm_csr *a)
{
    header *all = NULL;
    spmm_status status = SPMM_OK;
    if (is_root(s)) {
        status = sp_alloc((void **)&all, s->grid->size, sizeof *all, "the blocks' sizes");
        if (status == SPMM_OK) status = count_blocks(s, a, all);
    }
    status = sp_agree(s->all, s->name, status);
    if (status == SPMM_OK && s->grid)
        status = SP_MPI(
            MPI_Scatter(all, sizeof *all, MPI_BYTE, &s->mine, sizeof *all, MPI_BYTE, s->root, s->grid->comm));
    sp_free(all);
    return status;
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

/** Allocates all memory of the stage on this rank, before anything is sent. */
static spmm_status scatter_allocate(stage *s, spmm_csr *block, sp_matrix *slice)
{
    if (!s->grid) return SPMM_OK;
    const sp_rectangle mine = piece_of(s, s->grid->rank);
    const sp_sizes sizes = {mine.end - mine.row, mine.col_end - mine.col, s->mine.nnz};
    const spmm_precision precision = (spmm_precision)s->mine.precision;
    if (s->padded) TRY(sp_slice_create(&sizes, precision, s->mine.width, slice));
    if (!is_root(s)) return sp_csr_create(sizes.rows, sizes.cols, sizes.entries, precision, block);
    /* if root copies its own block, it does so after the other blocks are sent; check now that the memory
     * will suffice */
    if (s->mode == SP_SCATTER_COPY || (s->mode == SP_SCATTER_BORROW && !mine.whole))
        TRY(sp_memory_needs(sp_csr_bytes_of(&sizes, precision), "the root's own block"));
    TRY(sp_alloc((void **)&s->scratch, most_rows(s->ranges) + 1, sizeof *s->scratch, "row starts"));
    TRY(sp_alloc((void **)&s->start, sizes.rows + 1, sizeof *s->start, "row starts"));
    TRY(sp_alloc((void **)&s->ja, s->room, sizeof *s->ja, "entries to send"));
    return sp_alloc(&s->as, s->room, sp_value_size(precision), "entries to send");
}

/** Sends the nnz entries of rectangle b. */
static spmm_status send_entries(const stage *s, const spmm_csr *a, const sp_rectangle *b, int64_t nnz, int to)
{
    const int64_t size = sp_value_size(a->precision);
    MPI_Comm comm = s->grid->comm;
    if (b->whole) {
        const int64_t at = a->irp[b->row];
        TRY(sp_send(comm, to, SP_TAG_JA, a->ja + at, nnz * 4));
        return sp_send(comm, to, SP_TAG_AS, (const char *)a->as + at * size, nnz * size);
    }
    pack_cursor c = {b->row, 0};
    for (int64_t left = nnz; left > 0;) {
        const int64_t n = pack(a, b, &c, portion(0, left), s->ja, s->as);
        TRY(sp_send(comm, to, SP_TAG_JA, s->ja, n * 4));
        TRY(sp_send(comm, to, SP_TAG_AS, s->as, n * size));
        left -= n;
    }
    return SPMM_OK;
}

static spmm_status send_block(const stage *s, const spmm_csr *a, const sp_rectangle *b, int to)
{
    const int64_t rows = b->end - b->row;
    if (s->padded)
        return sp_slice_send(s->grid->comm, to, a, b, s->options->threads, s->ja, s->as, &s->times->pad);
    TRY(sp_send(s->grid->comm, to, SP_TAG_LENGTHS, s->scratch, (rows + 1) * 8));
    return send_entries(s, a, b, s->scratch[rows], to);
}

/** Sends each rank except root its block. */
static spmm_status send_blocks(const stage *s, const spmm_csr *a)
{
    const sp_scatter_progress progress = s->options->progress;
    int64_t sent = 0;
    for (int r = 0; r < s->grid->size; r++) {
        const sp_rectangle b = piece_of(s, r);
        row_starts(a, &b, s->scratch);
        if (r != s->root) TRY(send_block(s, a, &b, r));
        sent += s->scratch[b.end - b.row];
        if (progress) progress(s->options->context, a->nnz ? (double)sent / (double)a->nnz : 1.0);
    }
    return SPMM_OK;
}

/** Runs root's part of the stage. The entries of root's own block are not moved before all other blocks are
 *  sent. */
static spmm_status root_part(stage *s, spmm_csr *a, spmm_block *block, sp_matrix *slice)
{
    const sp_rectangle mine = piece_of(s, s->root);
    int64_t *const start = s->start;
    TRY(send_blocks(s, a));
    if (s->padded) {
        const double begin = MPI_Wtime();
        sp_slice_fill(a, &mine, mine.row, mine.end, slice->width, s->options->threads, slice->col,
                      slice->val);
        s->times->pad += MPI_Wtime() - begin;
    }
    row_starts(a, &mine, start);
    s->start = NULL;
    if (s->mode != SP_SCATTER_CONSUME) return own_copy(a, &mine, s->mode == SP_SCATTER_BORROW, start, block);
    take_over(a, &mine, start, block);
    return SPMM_OK;
}

static spmm_status receive_block(const stage *s, spmm_csr *block, sp_matrix *slice)
{
    const int64_t size = sp_value_size(block->precision);
    MPI_Comm comm = s->grid->comm;
    if (s->padded) {
        TRY(sp_slice_receive(comm, s->root, slice));
        const double begin = MPI_Wtime();
        sp_ell_to_csr(slice, s->options->threads, block);
        s->times->unpad += MPI_Wtime() - begin;
        return SPMM_OK;
    }
    TRY(sp_recv(comm, s->root, SP_TAG_LENGTHS, block->irp, (block->rows + 1) * 8));
    for (int64_t at = 0, n; at < block->nnz; at += n) {
        n = portion(s->ranges->q == 1, block->nnz - at);
        TRY(sp_recv(comm, s->root, SP_TAG_JA, block->ja + at, n * 4));
        TRY(sp_recv(comm, s->root, SP_TAG_AS, (char *)block->as + at * size, n * size));
    }
    return SPMM_OK;
}

/** Runs a stage. Collective over s->all.
 *  \param [in,out] a      on root: the matrix to distribute; SP_SCATTER_CONSUME destroys it
 *  \param [in,out] block  receives the block's CSR; destroyed on failure
 *  \param [out]    slice  if s->padded: the block as ELLPACK; zeroed by the caller, destroyed on failure */
static spmm_status run_stage(stage *s, spmm_csr *a, spmm_block *block, sp_matrix *slice)
{
    spmm_status status;
    TRY_GOTO(send_headers(s, a), done);
    TRY_GOTO(sp_agree(s->all, s->name, scatter_allocate(s, &block->csr, slice)), done);
    if (s->grid) status = is_root(s) ? root_part(s, a, block, slice) : receive_block(s, &block->csr, slice);
    status = sp_agree(s->all, s->name, status);
done:
    sp_free(s->scratch);
    sp_free(s->start);
    sp_free(s->ja);
    sp_free(s->as);
    if (status != SPMM_OK) spmm_block_destroy(block);
    if (status != SPMM_OK && s->padded) sp_matrix_destroy(slice);
    if (s->mode == SP_SCATTER_CONSUME && is_root(s)) spmm_csr_destroy(a);
    return status;
}

/* ---- the scatter ---- */

/** Returns the grid of the ranks of a process column or a process row. */
static sp_grid line_of(MPI_Comm comm, int p, int q, int rank)
{
    return (sp_grid){.comm = comm, .rank = rank, .size = p * q, .dims = {p, q}};
}

/** The two-stage scatter: root sends bands of rows to the ranks of its process column. These ranks send the
 *  blocks of their bands to the ranks of their process rows. */
static spmm_status in_two_stages(const sp_grid *grid, int root, spmm_csr *a, const sp_ranges *ranges,
                                 const sp_scatter_options *o, spmm_block *block, sp_matrix *slice,
                                 sp_scatter_times *times)
{
    const int p = ranges->p, q = ranges->q, root_q = root % q, keeps = o->mode != SP_SCATTER_CONSUME;
    int64_t all_columns[2] = {0, ranges->col_begin[q]}, band_rows[2] = {0, 0};
    const sp_ranges bands = {.p = p, .q = 1, .row_begin = ranges->row_begin, .col_begin = all_columns};
    const sp_ranges pieces = {.p = 1, .q = q, .row_begin = band_rows, .col_begin = ranges->col_begin};
    const sp_grid column = line_of(grid->col_comm, p, 1, grid->coords[0]),
                  row = line_of(grid->row_comm, 1, q, grid->coords[1]);
    const sp_scatter_options quiet = {.ell_limit = o->ell_limit, .threads = o->threads};
    spmm_block band = {.rows = 0};
    stage first = {.grid = grid->coords[1] == root_q ? &column : NULL,
                   .all = grid->comm,
                   .name = "scatter",
                   .root = root / q,
                   .mode = keeps ? SP_SCATTER_BORROW : SP_SCATTER_CONSUME,
                   .ranges = &bands,
                   .options = o,
                   .times = times};
    stage second = {.grid = &row,
                    .all = grid->comm,
                    .name = "scatter_row",
                    .root = root_q,
                    .first_rank = grid->coords[0] * q,
                    .padded = o->padded,
                    .mode = keeps && grid->rank == root ? SP_SCATTER_COPY : SP_SCATTER_CONSUME,
                    .ranges = &pieces,
                    .options = &quiet,
                    .times = times};
    const double begin = MPI_Wtime();
    band_rows[1] = ranges->row_begin[grid->coords[0] + 1] - ranges->row_begin[grid->coords[0]];
    spmm_status status = run_stage(&first, a, &band, NULL);
    times->bands = MPI_Wtime() - begin;
    if (status == SPMM_OK) status = run_stage(&second, &band.csr, block, slice);
    spmm_block_destroy(&band);
    return status;
}

spmm_status sp_scatter(const sp_grid *grid, int root, spmm_csr *a, const sp_ranges *ranges,
                       const sp_scatter_options *options, spmm_block *block, sp_matrix *slice,
                       sp_scatter_times *times)
{
    sp_scatter_times unused, *const t = times ? times : &unused;
    *t = (sp_scatter_times){.bands = 0};
    sp_block_place(grid, ranges, ranges->row_begin[ranges->p], ranges->col_begin[ranges->q], block);
    if (options->padded) memset(slice, 0, sizeof *slice);
    if (options->two_stage && ranges->p > 1 && ranges->q > 1)
        return in_two_stages(grid, root, a, ranges, options, block, slice, t);
    stage only = {.grid = grid,
                  .all = grid->comm,
                  .name = "scatter",
                  .root = root,
                  .padded = options->padded,
                  .mode = options->mode,
                  .ranges = ranges,
                  .options = options,
                  .times = t};
    return run_stage(&only, a, block, slice);
}

/* ---- rows of X ---- */

/** Returns the address of the first row of X that rank (p, q) owns, in an array with all rows of X. */
static char *rows_at(const sp_ranges *r, int p, int q, const void *all, int64_t row_bytes)
{
    return (char *)(uintptr_t)all + sp_x_first(r, p, q) * row_bytes;
}

static int64_t bytes_of(const sp_ranges *r, int p, int q, int64_t row_bytes)
{
    return (sp_x_end(r, p, q) - sp_x_first(r, p, q)) * row_bytes;
}

/** Rank 0 sends each rank the rows that the rank owns. */
static spmm_status rows_from_root(const sp_grid *grid, const sp_ranges *ranges, const void *all,
                                  int64_t row_bytes, void *mine, int tag)
{
    const int me = grid->rank, columns = grid->dims[1];
    if (me != 0)
        return sp_recv(grid->comm, 0, tag, mine, bytes_of(ranges, me / columns, me % columns, row_bytes));
    memcpy(mine, all, (size_t)bytes_of(ranges, 0, 0, row_bytes));
    for (int r = 1; r < grid->size; r++)
        TRY(sp_send(grid->comm, r, tag, rows_at(ranges, r / columns, r % columns, all, row_bytes),
                    bytes_of(ranges, r / columns, r % columns, row_bytes)));
    return SPMM_OK;
}

/** Returns the size in bytes of the rows of X that belong to a process column; these rows are consecutive. */
static int64_t column_bytes(const sp_ranges *r, int q, int64_t row_bytes)
{
    return (sp_x_end(r, r->p - 1, q) - sp_x_first(r, 0, q)) * row_bytes;
}

/** Rank 0 sends to each rank of the first process row the rows of that rank's process column, and these ranks
 *  forward the rows along their process columns.
 *  \param [out] column  buffer for the rows of this process column, on the first process row except rank 0 */
static spmm_status rows_along_grid(const sp_grid *grid, const sp_ranges *ranges, const void *all,
                                   int64_t row_bytes, char *column, void *mine, int tag)
{
    const int p = grid->coords[0], q = grid->coords[1];
    const int64_t own = bytes_of(ranges, p, q, row_bytes);
    if (p > 0) return sp_recv(grid->col_comm, 0, tag, mine, own);
    if (q > 0) TRY(sp_recv(grid->row_comm, 0, tag, column, column_bytes(ranges, q, row_bytes)));
    for (int to = 1; to < ranges->q && q == 0; to++)
        TRY(sp_send(grid->row_comm, to, tag, rows_at(ranges, 0, to, all, row_bytes),
                    column_bytes(ranges, to, row_bytes)));
    const char *from = q == 0 ? all : column;
    memcpy(mine, from, (size_t)own);
    for (int to = 1; to < ranges->p; to++) {
        from += bytes_of(ranges, to - 1, q, row_bytes);
        TRY(sp_send(grid->col_comm, to, tag, from, bytes_of(ranges, to, q, row_bytes)));
    }
    return SPMM_OK;
}

spmm_status sp_scatter_rows(const sp_grid *grid, const sp_ranges *ranges, int two_stage, const void *all,
                            int64_t row_bytes, void *mine, int tag)
{
    char *column = NULL;
    spmm_status status = SPMM_OK;
    if (!two_stage || ranges->p == 1 || ranges->q == 1)
        return sp_agree(grid->comm, "x", rows_from_root(grid, ranges, all, row_bytes, mine, tag));
    if (grid->coords[0] == 0 && grid->rank != 0)
        status = sp_alloc((void **)&column, column_bytes(ranges, grid->coords[1], row_bytes), 1,
                          "the rows of X of a process column");
    status = sp_agree(grid->comm, "x", status);
    if (status == SPMM_OK)
        status = sp_agree(grid->comm, "x", rows_along_grid(grid, ranges, all, row_bytes, column, mine, tag));
    sp_free(column);
    return status;
}

spmm_status sp_scatter_x(const sp_grid *grid, const sp_ranges *ranges, int two_stage,
                         const spmm_multivector *whole, spmm_multivector *x)
{
    return sp_scatter_rows(grid, ranges, two_stage, whole->data, sp_row_bytes(x), x->data, SP_TAG_X);
}
