/** Reads a file with all ranks: Matrix Market text, or a file from which ranges of rows can be read (a file
 *  of rows). Chooses the boundaries of the blocks, then builds the blocks from text, or reads them. */
#include "distribute/parallel_read.h"

#include <string.h>

#include "base/memory.h"
#include "files/csr_file.h"
#include "files/matrix_file.h"
#include "distribute/file_part.h"
#include "distribute/shuffle_entries.h"

void sp_load_destroy(sp_load *load)
{
    if (!load) return;
    spmm_csr_destroy(&load->csr);
    sp_free(load->row_begin);
    sp_free(load->col_begin);
    memset(load, 0, sizeof *load);
}

static spmm_status allocate_bounds(const sp_grid *grid, sp_load *l)
{
    TRY(sp_alloc((void **)&l->row_begin, grid->dims[0] + 1, sizeof *l->row_begin, "blocks of rows"));
    return sp_alloc((void **)&l->col_begin, grid->dims[1] + 1, sizeof *l->col_begin, "blocks of columns");
}

/** Sums the entries of the blocks (l->nnz) and the duplicates (l->duplicates) over all ranks. Collective. */
static spmm_status add_up(const sp_grid *grid, int64_t duplicates, sp_load *l)
{
    int64_t sums[2] = {l->csr.nnz, duplicates};
    TRY(SP_MPI(MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_INT64_T, MPI_SUM, grid->comm)));
    l->nnz = sums[0];
    l->duplicates = sums[1];
    return SPMM_OK;
}

/* ---- boundaries ---- */

/** Numbers of entries per row and, if Q > 1, per column, from which the block boundaries are chosen. */
typedef struct counts_of {
    sp_row_counts rows, cols;
} counts_of;

static spmm_status create_tallies(const sp_grid *grid, const sp_load *l, counts_of *t)
{
    memset(t, 0, sizeof *t);
    TRY(sp_row_counts_create(grid, l->rows, &t->rows));
    return grid->dims[1] > 1 ? sp_row_counts_create(grid, l->cols, &t->cols) : SPMM_OK;
}

static void destroy_tallies(counts_of *t)
{
    sp_row_counts_destroy(&t->rows);
    sp_row_counts_destroy(&t->cols);
}

/** Chooses the block boundaries in l so that entries are balanced; t contains row starts and column starts.
 *  Collective. */
static spmm_status cut_by_entries(const sp_grid *grid, const counts_of *t, sp_load *l)
{
    l->col_begin[0] = 0;
    l->col_begin[1] = l->cols;
    TRY(sp_row_counts_partition(grid, &t->rows, grid->dims[0], l->row_begin));
    return grid->dims[1] > 1 ? sp_row_counts_partition(grid, &t->cols, grid->dims[1], l->col_begin) : SPMM_OK;
}

static void cut_evenly(const sp_grid *grid, sp_load *l)
{
    sp_partition_even(l->rows, grid->dims[0], l->row_begin);
    sp_partition_even(l->cols, grid->dims[1], l->col_begin);
}

/** Counts the entries of `source` and chooses the block boundaries in l accordingly. Collective.
 *  \param [out] t  row starts and column starts of these entries; the caller destroys t, also on failure */
static spmm_status count_and_cut(const sp_grid *grid, const sp_load_source *source, sp_load *l, counts_of *t)
{
    TRY(sp_agree(grid->comm, "load", create_tallies(grid, l, t)));
    TRY(sp_load_count(grid, source, &t->rows, t->cols.count ? &t->cols : NULL));
    return cut_by_entries(grid, t, l);
}

/* ---- text ---- */

static spmm_status finish_block(sp_csr_builder *fill, const char *path, int64_t *duplicates)
{
    int same;
    TRY(sp_csr_builder_finish(fill, &same, duplicates));
    return same ? SPMM_OK : sp_fail(SPMM_ERR_SYNTAX, "%s: changed while it was read", path);
}

/** Passes the number of entries in each row of this rank's block to the builder. The numbers are taken from
 *  *counted, which is then destroyed. If `counted` is NULL, the entries are counted in a pass over the text.
 *  Collective. */
static spmm_status find_row_lengths(const sp_grid *grid, sp_file_part *t, sp_load *l, counts_of *counted,
                                    sp_csr_builder *fill)
{
    if (counted) {
        const spmm_status status = sp_row_counts_give(grid, &counted->rows, l->row_begin, l->csr.irp + 1);
        destroy_tallies(counted);
        return status;
    }
    const sp_load_source source = sp_file_part_begin_pass(t, grid->dims[1] > 1 ? SP_WANT_INDICES
                                                                               : SP_WANT_LENGTHS);
    TRY(sp_load_lengths(grid, &source, l, fill));
    return sp_file_part_end_pass(grid, t);
}

/** Builds each rank's block from the text, once the block boundaries are known. Collective.
 *  \param [in,out] counted  row starts of the entries in the text; this function destroys *counted. NULL if
 *                           the rows of the blocks must still be counted */
static spmm_status build_blocks(const sp_grid *grid, sp_file_part *t, sp_load *l, counts_of *counted,
                                int64_t *duplicates)
{
    const int64_t *const r = l->row_begin + grid->coords[0], *const c = l->col_begin + grid->coords[1];
    const sp_read_options *const o = &t->reading.options;
    sp_csr_builder fill;
    spmm_csr_destroy(&l->csr);
    TRY(sp_agree(grid->comm, "load",
                 sp_csr_builder_begin(r[1] - r[0], c[1] - c[0], SP_GENERAL, o->precision, o->threads, &l->csr,
                                      &fill)));
    TRY(find_row_lengths(grid, t, l, counted, &fill));
    TRY(sp_agree(grid->comm, "load", sp_csr_builder_start(&fill)));
    const sp_load_source source = sp_file_part_begin_pass(t, SP_WANT_ALL);
    TRY(sp_load_insert(grid, &source, l, &fill));
    TRY(sp_file_part_end_pass(grid, t));
    TRY(sp_agree(grid->comm, "load", finish_block(&fill, t->reading.path, duplicates)));
    return add_up(grid, *duplicates, l);
}

enum { BATCH = 1 << 14 }; /* entries per call of next_of_block() */

/** Source of entries that delivers the entries of this rank's block, without values. */
typedef struct block {
    const spmm_csr *a;
    int64_t row_begin, col_begin;
    int64_t row, entry; /* the next entry to deliver, and the row that contains it */
    int32_t I[BATCH], J[BATCH];
} block;

static spmm_status next_of_block(void *context, sp_entries *entries)
{
    block *const b = context;
    int64_t n = 0;
    for (; b->row < b->a->rows && n < BATCH; n++) {
        while (b->row < b->a->rows && b->entry == b->a->irp[b->row + 1]) b->row++;
        if (b->row == b->a->rows) break;
        b->I[n] = (int32_t)(b->row_begin + b->row);
        b->J[n] = (int32_t)(b->col_begin + b->a->ja[b->entry++]);
    }
    *entries = (sp_entries){.n = n, .I = b->I, .J = b->J};
    return SPMM_OK;
}

/** Chooses the block boundaries again, after duplicates were summed. Collective.
 *  \param [out] moved  1 if a boundary has changed, else 0 */
static spmm_status cut_again(const sp_grid *grid, sp_load *l, int *moved)
{
    block *b;
    sp_load old = {.rows = l->rows};
    spmm_status status = sp_alloc((void **)&b, 1, sizeof *b, "entries that are counted");
    if (status == SPMM_OK) status = allocate_bounds(grid, &old);
    status = sp_agree(grid->comm, "load", status);
    *moved = 0;
    if (status == SPMM_OK) {
        const size_t rows = ((size_t)grid->dims[0] + 1) * sizeof(int64_t);
        const size_t cols = ((size_t)grid->dims[1] + 1) * sizeof(int64_t);
        memcpy(old.row_begin, l->row_begin, rows);
        memcpy(old.col_begin, l->col_begin, cols);
        b->a = &l->csr;
        b->row_begin = l->row_begin[grid->coords[0]];
        b->col_begin = l->col_begin[grid->coords[1]];
        b->row = b->entry = 0;
        const sp_load_source source = {next_of_block, b, SP_GENERAL, 0};
        counts_of t = {.rows = {0}};
        status = count_and_cut(grid, &source, l, &t);
        destroy_tallies(&t);
        *moved = memcmp(old.row_begin, l->row_begin, rows) != 0 ||
                 memcmp(old.col_begin, l->col_begin, cols) != 0;
    }
    sp_free(b);
    sp_load_destroy(&old);
    return status;
}

static spmm_status load_by_entries(const sp_grid *grid, sp_file_part *t, counts_of *counted, sp_load *l)
{
    int64_t duplicates;
    int moved = 0;
    const int cut_columns = grid->dims[1] > 1;
    t->passes = cut_columns ? 3 : 2;
    const sp_load_source source = sp_file_part_begin_pass(t, cut_columns ? SP_WANT_INDICES : SP_WANT_LENGTHS);
    TRY(count_and_cut(grid, &source, l, counted));
    TRY(sp_file_part_end_pass(grid, t));
    TRY(build_blocks(grid, t, l, cut_columns ? NULL : counted, &duplicates));
    if (l->duplicates > 0) TRY(cut_again(grid, l, &moved));
    return moved ? build_blocks(grid, t, l, NULL, &duplicates) : SPMM_OK;
}

static spmm_status load_evenly(const sp_grid *grid, sp_file_part *t, sp_load *l)
{
    int64_t duplicates;
    t->passes = 2;
    cut_evenly(grid, l);
    return build_blocks(grid, t, l, NULL, &duplicates);
}

static spmm_status load_blocks(const sp_grid *grid, sp_file_part *t, sp_partition partition, sp_load *l)
{
    counts_of counted = {.rows = {0}};
    if (partition == SP_PARTITION_ROWS) return load_evenly(grid, t, l);
    const spmm_status status = load_by_entries(grid, t, &counted, l);
    destroy_tallies(&counted);
    return status;
}

static void look_at_lengths(const int64_t *length, int64_t n, sp_load *l)
{
    for (int64_t i = 0; i < n; i++) {
        if (length[i] > l->longest) l->longest = length[i];
        l->empty += length[i] == 0;
    }
}

/** Finds the longest row and the number of empty rows of the whole matrix. Collective. */
static spmm_status find_lengths(const sp_grid *grid, sp_load *l)
{
    enum { ROWS = 1 << 14 };
    int64_t length[ROWS];
    const int64_t *const irp = l->csr.irp;
    spmm_status status = SPMM_OK;
    l->longest = l->empty = 0;
    for (int64_t i = 0; i < l->csr.rows && status == SPMM_OK; i += ROWS) {
        const int64_t n = l->csr.rows - i < ROWS ? l->csr.rows - i : ROWS;
        for (int64_t k = 0; k < n; k++) length[k] = irp[i + k + 1] - irp[i + k];
        status = SP_MPI(MPI_Reduce(grid->coords[1] == 0 ? MPI_IN_PLACE : length, length, (int)n, MPI_INT64_T,
                                   MPI_SUM, 0, grid->row_comm));
        if (grid->coords[1] == 0) look_at_lengths(length, n, l);
    }
    TRY(status);
    TRY(SP_MPI(MPI_Allreduce(MPI_IN_PLACE, &l->longest, 1, MPI_INT64_T, MPI_MAX, grid->comm)));
    return SP_MPI(MPI_Allreduce(MPI_IN_PLACE, &l->empty, 1, MPI_INT64_T, MPI_SUM, grid->comm));
}

/** Reads the blocks from the text once it is open. Collective. */
static spmm_status load_text(const sp_grid *grid, sp_file_part *t, sp_partition partition, sp_load *l)
{
    l->rows = t->reading.header.rows;
    l->cols = t->reading.header.cols;
    l->stored = t->reading.header.entries;
    sp_reading_describe(&t->reading, &l->info);
    TRY(sp_agree(grid->comm, "load", allocate_bounds(grid, l)));
    TRY(load_blocks(grid, t, partition, l));
    return find_lengths(grid, l);
}

spmm_status sp_load_text(const sp_grid *grid, const char *path, const sp_read_options *options,
                         sp_partition partition, sp_load *l)
{
    sp_file_part t;
    memset(l, 0, sizeof *l);
    spmm_status status = sp_file_part_open(grid, path, options, &t);
    if (status == SPMM_OK) {
        status = load_text(grid, &t, partition, l);
        if (status == SPMM_ERR_SYNTAX) status = sp_file_part_explain(grid, &t);
    }
    sp_file_part_close(&t);
    if (status == SPMM_OK && options->progress) options->progress(options->progress_context, 1.0);
    if (status != SPMM_OK) sp_load_destroy(l);
    return status;
}

/* ---- files of rows ---- */

enum { PIECE = 1 << 20 }; /* column indices per call of next_of_file() */

/** Source of entries that delivers the column indices of this rank's share of the file, so that the
 *  entries per column can be counted. */
typedef struct file_columns {
    const sp_csr_file *file;
    int64_t at, end;
    int threads;
    int32_t *column; /* column indices that next_of_file() delivers, [PIECE] */
} file_columns;

static spmm_status next_of_file(void *context, sp_entries *entries)
{
    file_columns *const c = context;
    const int64_t end = c->end - c->at < PIECE ? c->end : c->at + PIECE;
    *entries = (sp_entries){0};
    if (c->at >= c->end) return SPMM_OK;
    TRY(sp_csr_file_columns(c->file, c->at, end, c->threads, c->column));
    *entries = (sp_entries){.n = end - c->at, .I = c->column, .J = c->column};
    c->at = end;
    return SPMM_OK;
}

static spmm_status count_columns(const sp_grid *grid, const sp_csr_file *f, int threads, counts_of *t)
{
    const int64_t nnz = sp_csr_file_facts_of(f)->nnz;
    file_columns c = {f, sp_partition_share(nnz, grid->size, grid->rank),
                      sp_partition_share(nnz, grid->size, grid->rank + 1), threads, NULL};
    spmm_status status = sp_alloc((void **)&c.column, PIECE, sizeof *c.column, "columns that are counted");
    status = sp_agree(grid->comm, "load", status);
    const sp_load_source source = {next_of_file, &c, SP_GENERAL, 0};
    if (status == SPMM_OK) status = sp_load_count(grid, &source, NULL, &t->cols);
    sp_free(c.column);
    return status;
}

/** Chooses the block boundaries in l, and sets l->longest and l->empty from the row starts in the file.
 *  Collective. */
static spmm_status cut_file(const sp_grid *grid, sp_csr_file *f, const sp_read_options *o,
                            sp_partition partition, sp_load *l)
{
    counts_of t;
    spmm_status status = create_tallies(grid, l, &t);
    if (status == SPMM_OK)
        status = sp_csr_file_row_starts(f, t.rows.begin[grid->rank], t.rows.begin[grid->rank + 1],
                                        t.rows.count);
    status = sp_agree(grid->comm, "load", status);
    if (status == SPMM_OK) status = sp_row_counts_lengths(grid, &t.rows, &l->longest, &l->empty);
    if (status == SPMM_OK && partition != SP_PARTITION_ROWS) {
        if (grid->dims[1] > 1) status = count_columns(grid, f, o->threads, &t);
        if (status == SPMM_OK) status = cut_by_entries(grid, &t, l);
    } else {
        cut_evenly(grid, l);
    }
    destroy_tallies(&t);
    return status;
}

/** Reads this rank's block and sums the statistics of all blocks. Collective. */
static spmm_status read_blocks(const sp_grid *grid, sp_csr_file *f, const sp_read_options *o, sp_load *l)
{
    const int64_t *const r = l->row_begin + grid->coords[0], *const c = l->col_begin + grid->coords[1];
    const sp_csr_file_range range = {r[0], r[1], c[0], c[1], o->precision, o->allow_nonfinite, o->threads};
    int64_t duplicates;
    spmm_csr_destroy(&l->csr);
    TRY(sp_agree(grid->comm, "load", sp_csr_file_block(f, &range, &l->csr, &duplicates)));
    return add_up(grid, duplicates, l);
}

/** Chooses the boundaries and reads the blocks. Repeats both if summing duplicates moves the boundaries.
 *  Collective. */
static spmm_status load_rows(const sp_grid *grid, sp_csr_file *f, const sp_read_options *o,
                             sp_partition partition, sp_load *l)
{
    int moved = 0;
    TRY(cut_file(grid, f, o, partition, l));
    TRY(read_blocks(grid, f, o, l));
    if (l->duplicates == 0) return SPMM_OK;
    if (partition != SP_PARTITION_ROWS) TRY(cut_again(grid, l, &moved));
    if (moved) TRY(read_blocks(grid, f, o, l));
    return find_lengths(grid, l);
}

static void take_facts(const sp_csr_file *f, sp_load *l)
{
    const sp_csr_file_facts *const facts = sp_csr_file_facts_of(f);
    l->rows = facts->rows;
    l->cols = facts->cols;
    l->stored = facts->info.stored;
    l->info = facts->info;
}

/** Opens the file and sets *f to the object from which its rows are read; `file` owns *f. Local. */
static spmm_status open_rows(const char *path, const sp_read_options *options, sp_matrix_file *file,
                             sp_csr_file **f)
{
    TRY(sp_matrix_file_open(path, options, file));
    *f = file->format->csr ? file->format->csr(file->file) : NULL;
    if (*f) return SPMM_OK;
    return sp_fail(
        SPMM_ERR_UNSUPPORTED,
        "%s: found a %s file, which ranks cannot read in parts, expected Matrix Market text or a file "
        "of rows: convert it first (--convert FILE.npz), or read it without --io parallel",
        path, file->format->name);
}

spmm_status sp_load_csr(const sp_grid *grid, const char *path, const sp_read_options *options,
                        sp_partition partition, sp_load *l)
{
    sp_matrix_file file;
    sp_csr_file *f = NULL;
    memset(l, 0, sizeof *l);
    spmm_status status = open_rows(path, options, &file, &f);
    if (status == SPMM_OK) status = allocate_bounds(grid, l);
    status = sp_agree(grid->comm, "read", status);
    if (status == SPMM_OK) {
        take_facts(f, l);
        status = load_rows(grid, f, options, partition, l);
    }
    sp_matrix_file_close(&file);
    if (status == SPMM_OK && options->progress) options->progress(options->progress_context, 1.0);
    if (status != SPMM_OK) sp_load_destroy(l);
    return status;
}
