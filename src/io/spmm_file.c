/** Reads a whole matrix or a block from a binary matrix file, chunk by chunk, and verifies the checksums. */
#include "io/spmm_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/csr.h"
#include "io/spmm_file_layout.h"

/* ---- sections ---- */

/** A request to read elements [first, end) of a section of the file. */
typedef struct wanted {
    const sp_spmm_file *file;
    int section;
    int64_t first, end; /* element numbers */
    int64_t size;       /* size of an element in the file, in bytes */
    char *to;
    spmm_precision precision; /* precision of the values to store at `to` */
    int allow_nonfinite;
} wanted;

static int converts(const wanted *w)
{
    return w->section == SP_FILE_VALUES && (int64_t)w->precision != w->file->header.precision;
}

static const char *section_name(int section)
{
    return section == SP_FILE_ROWS ? "row starts" : section == SP_FILE_COLUMNS ? "columns" : "values";
}

static spmm_status read_chunk(const sp_spmm_file *f, int section, int64_t c, void *to)
{
    const sp_spmm_file_header *const h = &f->header;
    const int64_t bytes = sp_spmm_file_chunk_size(h, section, c),
                  at = h->offset[section] + c * h->chunk_bytes;
    TRY(sp_spmm_file_read_at(f, to, bytes, at));
    if (sp_spmm_file_check(to, bytes) == f->table[sp_spmm_file_chunks_before(h, section) + c]) return SPMM_OK;
    const long long first = at, end = at + bytes;
    return sp_fail(SPMM_ERR_SYNTAX, "%s: bytes %lld to %lld, of its %s, are damaged (checksum)", f->path,
                   first, end, section_name(section));
}

static spmm_status round_values(const wanted *w, const double *from, int64_t n, float *to)
{
    int beyond = 0;
    for (int64_t k = 0; k < n; k++) {
        to[k] = (float)from[k];
        beyond |= isinf(to[k]) && !isinf(from[k]);
    }
    if (beyond && !w->allow_nonfinite)
        return sp_fail(SPMM_ERR_SYNTAX,
                       "%s: found a value beyond the range of a float, expected none (or --allow-nonfinite)",
                       w->file->path);
    return SPMM_OK;
}

/** Copies elements at, ..., at + n - 1 of `chunk` to the elements to, ..., to + n - 1 of the array w->to.
 *  Converts values to w->precision. */
static spmm_status take(const wanted *w, const void *chunk, int64_t at, int64_t n, int64_t to)
{
    if (!converts(w)) {
        memcpy(w->to + to * w->size, (const char *)chunk + at * w->size, (size_t)(n * w->size));
        return SPMM_OK;
    }
    const double *const f64 = chunk;
    const float *const f32 = chunk;
    void *const values = w->to;
    if (w->precision == SPMM_F32) return round_values(w, f64 + at, n, (float *)values + to);
    for (int64_t k = 0; k < n; k++) ((double *)values)[to + k] = f32[at + k];
    return SPMM_OK;
}

/** Reads the elements of request w that lie in chunk c. Reads them directly to their destination if the
 *  request takes the whole chunk unconverted, else through *scratch.
 *  \param [in,out] scratch  buffer for a chunk, allocated when it is first needed (NULL before) */
static spmm_status take_chunk(const wanted *w, int64_t c, char **scratch)
{
    const sp_spmm_file_header *const h = &w->file->header;
    const int64_t first = c * (h->chunk_bytes / w->size);
    const int64_t end = first + sp_spmm_file_chunk_size(h, w->section, c) / w->size;
    const int64_t from = first > w->first ? first : w->first, to = end < w->end ? end : w->end;
    if (from == first && to == end && !converts(w))
        return read_chunk(w->file, w->section, c, w->to + (first - w->first) * w->size);
    if (!*scratch)
        TRY(sp_alloc((void **)scratch, sp_spmm_file_longest_chunk(h, w->section), 1,
                     "a part of a matrix file"));
    TRY(read_chunk(w->file, w->section, c, *scratch));
    return take(w, *scratch, from - first, to - from, from - w->first);
}

/** Reads all elements of request w with up to `threads` threads. If several chunks fail, reports the error of
 *  the first of these chunks in the file. */
static spmm_status take_all(const wanted *w, int threads)
{
    if (w->first == w->end) return SPMM_OK;
    const int64_t each = w->file->header.chunk_bytes / w->size;
    const int64_t begin = w->first / each, end = (w->end - 1) / each + 1;
    spmm_status status = SPMM_OK;
    int64_t failed = INT64_MAX;
    char message[SP_MESSAGE_BYTES] = "";
    if (threads > end - begin) threads = (int)(end - begin);
#pragma omp parallel num_threads(threads)
    {
        char *scratch = NULL;
#pragma omp for schedule(dynamic, 1)
        for (int64_t c = begin; c < end; c++) {
            const spmm_status mine = take_chunk(w, c, &scratch);
            if (mine == SPMM_OK) continue;
#pragma omp critical(sp_spmm_file_failed)
            if (c < failed) {
                failed = c;
                status = mine;
                snprintf(message, sizeof message, "%s", spmm_error_message());
            }
        }
        sp_free(scratch);
    }
    if (status != SPMM_OK) sp_set_message(message);
    return status;
}

static spmm_status out_of_range(const sp_spmm_file *f, const char *what, int64_t first, int64_t end,
                                int64_t size)
{
    return sp_fail(SPMM_ERR_USAGE, "%s: %s %lld to %lld of %lld", f->path, what, (long long)first,
                   (long long)end, (long long)size);
}

spmm_status sp_spmm_file_row_starts(const sp_spmm_file *f, int64_t first, int64_t end, int64_t *irp)
{
    const sp_spmm_file_header *const h = &f->header;
    if (first < 0 || end < first || end > h->rows) return out_of_range(f, "rows", first, end, h->rows);
    const wanted w = {f, SP_FILE_ROWS, first, end + 1, sizeof *irp, (char *)irp, SPMM_F64, 0};
    TRY(take_all(&w, 1));
    int wrong = irp[0] < 0 || irp[end - first] > h->nnz || (first == 0 && irp[0] != 0) ||
                (end == h->rows && irp[end - first] != h->nnz);
    for (int64_t i = first; i < end; i++) wrong |= irp[i - first] > irp[i - first + 1];
    if (wrong) return sp_fail(SPMM_ERR_SYNTAX, "%s: its row starts make no sense", f->path);
    return SPMM_OK;
}

spmm_status sp_spmm_file_columns(const sp_spmm_file *f, int64_t first, int64_t end, int threads, int32_t *ja)
{
    const sp_spmm_file_header *const h = &f->header;
    if (first < 0 || end < first || end > h->nnz) return out_of_range(f, "entries", first, end, h->nnz);
    const wanted w = {f, SP_FILE_COLUMNS, first, end, sizeof *ja, (char *)ja, SPMM_F64, 0};
    TRY(take_all(&w, threads));
    int wrong = 0;
    for (int64_t e = 0; e < end - first; e++) wrong |= ja[e] < 0 || ja[e] >= h->cols;
    if (wrong) return sp_fail(SPMM_ERR_SYNTAX, "%s: found a column beyond the last one", f->path);
    return SPMM_OK;
}

static spmm_status read_values(const sp_spmm_file *f, const sp_spmm_file_range *r, int64_t first, int64_t end,
                               void *as)
{
    const wanted w = {f,
                      SP_FILE_VALUES,
                      first,
                      end,
                      sp_value_size((spmm_precision)f->header.precision),
                      as,
                      r->precision,
                      r->allow_nonfinite};
    return take_all(&w, r->threads);
}

/* ---- blocks ---- */

static spmm_status columns_disordered(const sp_spmm_file *f, int64_t row)
{
    return sp_fail(SPMM_ERR_SYNTAX, "%s: the columns of row %lld are not in order", f->path,
                   (long long)row + 1);
}

static spmm_status check_order(const sp_spmm_file *f, const sp_spmm_file_range *r, const spmm_csr *a)
{
    int64_t wrong = INT64_MAX;
#pragma omp parallel for schedule(static) num_threads(r->threads) reduction(min : wrong)
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t e = a->irp[i] + 1; e < a->irp[i + 1]; e++)
            if (a->ja[e - 1] >= a->ja[e] && i < wrong) wrong = i;
    return wrong == INT64_MAX ? SPMM_OK : columns_disordered(f, r->row_begin + wrong);
}

/** Fails if matrix a contains a value that is not finite, as the readers of text files do; the error message
 *  names the first such value of the block. */
static spmm_status check_finite(const sp_spmm_file *f, const sp_spmm_file_range *r, const spmm_csr *a)
{
    int64_t wrong = INT64_MAX, row = 0;
#pragma omp parallel for schedule(static) num_threads(r->threads) reduction(min : wrong)
    for (int64_t e = 0; e < a->nnz; e++)
        if (!isfinite(sp_value_get(a->as, a->precision, e)) && e < wrong) wrong = e;
    if (wrong == INT64_MAX) return SPMM_OK;
    while (a->irp[row + 1] <= wrong) row++;
    const double value = sp_value_get(a->as, a->precision, wrong);
    const int64_t in_row = r->row_begin + row + 1, in_column = r->col_begin + a->ja[wrong] + 1;
    return sp_fail(
        SPMM_ERR_SYNTAX,
        "%s: found \"%s\" in row %lld, column %lld, expected a finite value (or --allow-nonfinite)", f->path,
        isnan(value) ? "nan"
        : value > 0  ? "inf"
                     : "-inf",
        (long long)in_row, (long long)in_column);
}

static spmm_status allocate_entries(spmm_csr *a)
{
    TRY(sp_alloc((void **)&a->ja, a->nnz, sizeof *a->ja, "column indices"));
    return sp_alloc(&a->as, a->nnz, sp_value_size(a->precision), "values");
}

static spmm_status whole_rows(const sp_spmm_file *f, const sp_spmm_file_range *r, spmm_csr *a)
{
    const sp_sizes sizes = {0, a->cols, a->rows == f->header.rows ? f->header.nnz : 0};
    TRY(sp_memory_needs(sp_csr_bytes_of(&sizes, a->precision), f->path));
    TRY(sp_spmm_file_row_starts(f, r->row_begin, r->row_end, a->irp));
    const int64_t first = a->irp[0], end = a->irp[a->rows];
    for (int64_t i = 0; i <= a->rows; i++) a->irp[i] -= first;
    a->nnz = end - first;
    TRY(allocate_entries(a));
    TRY(sp_spmm_file_columns(f, first, end, r->threads, a->ja));
    TRY(check_order(f, r, a));
    return read_values(f, r, first, end, a->as);
}

enum { GROUP_ROWS = 1 << 20 };

/** Buffers for reading a block of only some columns. They hold the row starts of a group of rows, and as many
 *  entries as a chunk of the file's column section holds. */
typedef struct parts {
    int64_t *start;      /* [group + 1] row starts, as entry numbers in the whole file */
    int32_t *column;     /* [each] column indices */
    void *value;         /* [each] values in the precision of the block to read */
    int64_t group, each; /* group: rows in a group, at most GROUP_ROWS; each: entries in a chunk */
    int64_t last;        /* column of the previous entry in the current row; -1: the row has none yet */
} parts;

static void parts_destroy(parts *p)
{
    sp_free(p->start);
    sp_free(p->column);
    sp_free(p->value);
}

static spmm_status parts_create(const sp_spmm_file *f, const spmm_csr *a, parts *p)
{
    *p = (parts){.group = a->rows < GROUP_ROWS ? a->rows : GROUP_ROWS,
                 .each = sp_spmm_file_longest_chunk(&f->header, SP_FILE_COLUMNS) /
                         (int64_t)sizeof *p->column};
    TRY(sp_alloc((void **)&p->start, p->group + 1, sizeof *p->start, "row starts"));
    TRY(sp_alloc((void **)&p->column, p->each, sizeof *p->column, "column indices"));
    return sp_alloc(&p->value, p->each, sp_value_size(a->precision), "values");
}

/** Processes the n entries p->column[at] to p->column[at + n - 1], which belong to row `row` of the block. If
 *  `append` is 1, appends the entries in the requested columns to matrix a; if it is 0, adds their number to
 *  a->irp[row + 1]. */
static spmm_status part_of_row(const sp_spmm_file *f, const sp_spmm_file_range *r, parts *p, int64_t row,
                               int64_t at, int64_t n, int append, spmm_csr *a)
{
    int64_t to = append ? a->nnz : 0;
    for (int64_t k = at; k < at + n; k++) {
        const int64_t column = p->column[k];
        if (column <= p->last) return columns_disordered(f, r->row_begin + row);
        p->last = column;
        if (column < r->col_begin || column >= r->col_end) continue;
        if (append) {
            a->ja[to] = (int32_t)(column - r->col_begin);
            sp_value_set(a->as, a->precision, to, sp_value_get(p->value, a->precision, k));
        }
        to++;
    }
    if (append)
        a->nnz = to;
    else
        a->irp[row + 1] += to;
    return SPMM_OK;
}

/** Calls part_of_row() for all entries in rows [row, row + count) of the block; p->start holds the starts of
 *  these rows. */
static spmm_status part_of_group(const sp_spmm_file *f, const sp_spmm_file_range *r, parts *p, int64_t row,
                                 int64_t count, int append, spmm_csr *a)
{
    int64_t i = 0;
    p->last = -1;
    for (int64_t e = p->start[0]; e < p->start[count];) {
        /* each read ends at the end of a chunk, so that no chunk is read twice */
        const int64_t cut = (e / p->each + 1) * p->each, end = cut < p->start[count] ? cut : p->start[count];
        TRY(sp_spmm_file_columns(f, e, end, r->threads, p->column));
        if (append) TRY(read_values(f, r, e, end, p->value));
        for (const int64_t first = e; e < end;) {
            for (; p->start[i + 1] <= e; i++) p->last = -1;
            const int64_t stop = p->start[i + 1] < end ? p->start[i + 1] : end;
            TRY(part_of_row(f, r, p, row + i, e - first, stop - e, append, a));
            e = stop;
        }
    }
    return SPMM_OK;
}

static spmm_status part_of_rows(const sp_spmm_file *f, const sp_spmm_file_range *r, parts *p, int append,
                                spmm_csr *a)
{
    for (int64_t i = 0; i < a->rows; i += p->group) {
        const int64_t count = a->rows - i < p->group ? a->rows - i : p->group;
        TRY(sp_spmm_file_row_starts(f, r->row_begin + i, r->row_begin + i + count, p->start));
        TRY(part_of_group(f, r, p, i, count, append, a));
    }
    return SPMM_OK;
}

static spmm_status some_columns(const sp_spmm_file *f, const sp_spmm_file_range *r, spmm_csr *a)
{
    parts p;
    spmm_status status = parts_create(f, a, &p);
    for (int64_t i = 0; i <= a->rows; i++) a->irp[i] = 0;
    if (status == SPMM_OK) status = part_of_rows(f, r, &p, 0, a);
    for (int64_t i = 0; i < a->rows; i++) a->irp[i + 1] += a->irp[i];
    a->nnz = a->irp[a->rows];
    if (status == SPMM_OK) status = allocate_entries(a);
    a->nnz = 0;
    if (status == SPMM_OK) status = part_of_rows(f, r, &p, 1, a);
    parts_destroy(&p);
    return status;
}

spmm_status sp_spmm_file_block(const sp_spmm_file *f, const sp_spmm_file_range *r, spmm_csr *a)
{
    const sp_spmm_file_header *const h = &f->header;
    *a = (spmm_csr){0};
    if (r->row_begin < 0 || r->row_end < r->row_begin || r->row_end > h->rows)
        return out_of_range(f, "rows", r->row_begin, r->row_end, h->rows);
    if (r->col_begin < 0 || r->col_end < r->col_begin || r->col_end > h->cols)
        return out_of_range(f, "columns", r->col_begin, r->col_end, h->cols);
    a->rows = r->row_end - r->row_begin;
    a->cols = r->col_end - r->col_begin;
    a->precision = r->precision;
    spmm_status status = sp_alloc((void **)&a->irp, a->rows + 1, sizeof *a->irp, "row starts");
    if (status == SPMM_OK) status = a->cols == h->cols ? whole_rows(f, r, a) : some_columns(f, r, a);
    if (status == SPMM_OK && !r->allow_nonfinite) status = check_finite(f, r, a);
    if (status != SPMM_OK) spmm_csr_destroy(a);
    return status;
}

spmm_status sp_spmm_file_whole(const sp_spmm_file *f, const sp_read_options *options, spmm_csr *a)
{
    const sp_spmm_file_range all = {.row_end = f->facts.rows,
                                    .col_end = f->facts.cols,
                                    .precision = options->precision,
                                    .allow_nonfinite = options->allow_nonfinite,
                                    .threads = options->threads};
    return sp_spmm_file_block(f, &all, a);
}

spmm_status sp_spmm_file_read(const char *path, const sp_read_options *options, spmm_csr *a,
                              sp_spmm_file_facts *facts)
{
    sp_spmm_file *f;
    *a = (spmm_csr){0};
    TRY(sp_spmm_file_open(path, &f));
    if (facts) *facts = f->facts;
    const spmm_status status = sp_spmm_file_whole(f, options, a);
    sp_spmm_file_close(f);
    return status;
}
