/** Reads a whole matrix or a block from a binary matrix file. */
#include "files/csr_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fp_environment.h"
#include "base/memory.h"
#include "formats/csr.h"
#include "formats/csr_sort.h"

int64_t sp_file_peek(int fd, void *to, int64_t bytes, int64_t offset)
{
    for (int64_t done = 0;;) {
        const ssize_t n = pread(fd, (char *)to + done, (size_t)(bytes - done), (off_t)(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return done;
        done += n;
        if (done == bytes) return done;
    }
}

spmm_status sp_csr_file_read_at(const sp_csr_file *f, void *to, int64_t bytes, int64_t offset)
{
    for (int64_t done = 0; done < bytes;) {
        const int64_t left = bytes - done, piece = left < 1 << 30 ? left : 1 << 30;
        const ssize_t n = pread(f->fd, (char *)to + done, (size_t)piece, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return sp_fail(SPMM_ERR_OPEN, "%s: cannot be read: %s", f->path, strerror(errno));
        if (n == 0) {
            const long long end = offset + done;
            return sp_fail(SPMM_ERR_SYNTAX, "%s: ends at byte %lld, expected %lld more: it is cut short",
                           f->path, end, (long long)left);
        }
        done += n;
    }
    return SPMM_OK;
}

/* ---- sections ---- */

int64_t sp_number_size(sp_number type)
{
    static const int8_t size[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
    return size[type];
}

/** A request to read elements [first, end) of a section of the file. */
typedef struct wanted {
    const sp_csr_file *file;
    int section;
    int64_t first, end; /* element numbers */
    char *to;
    sp_number type; /* type of the numbers to store at `to`: I64, I32, F64 or F32 */
    int allow_nonfinite;
} wanted;

static int converts(const wanted *w) { return w->type != w->file->section[w->section].type; }

static void swap_bytes(void *numbers, int64_t n, int64_t size)
{
    uint16_t *const of_2 = numbers;
    uint32_t *const of_4 = numbers;
    uint64_t *const of_8 = numbers;
    for (int64_t k = 0; size == 2 && k < n; k++) of_2[k] = __builtin_bswap16(of_2[k]);
    for (int64_t k = 0; size == 4 && k < n; k++) of_4[k] = __builtin_bswap32(of_4[k]);
    for (int64_t k = 0; size == 8 && k < n; k++) of_8[k] = __builtin_bswap64(of_8[k]);
}

/** Reads elements [first, first + n) of a section, in the byte order of this machine. */
static spmm_status read_elements(const sp_csr_file *f, int section, int64_t first, int64_t n, void *to)
{
    const sp_csr_section *const s = &f->section[section];
    const int64_t size = sp_number_size(s->type);
    if (s->memory)
        memcpy(to, s->memory + s->offset + first * size, (size_t)(n * size));
    else
        TRY(sp_csr_file_read_at(f, to, n * size, s->offset + first * size));
    if (s->swapped) swap_bytes(to, n, size);
    return SPMM_OK;
}

static int64_t integer_at(const void *numbers, sp_number type, int64_t k)
{
    switch (type) {
    case SP_NUMBER_I8: return ((const int8_t *)numbers)[k];
    case SP_NUMBER_U8: return ((const uint8_t *)numbers)[k];
    case SP_NUMBER_I16: return ((const int16_t *)numbers)[k];
    case SP_NUMBER_U16: return ((const uint16_t *)numbers)[k];
    case SP_NUMBER_I32: return ((const int32_t *)numbers)[k];
    case SP_NUMBER_U32: return ((const uint32_t *)numbers)[k];
    default: return ((const int64_t *)numbers)[k]; /* U64 values above INT64_MAX become negative */
    }
}

int64_t sp_number_integer(const void *at, sp_number type, int swapped)
{
    const int64_t size = sp_number_size(type);
    int64_t aligned;
    memcpy(&aligned, at, (size_t)size);
    if (swapped) swap_bytes(&aligned, 1, size);
    return integer_at(&aligned, type, 0);
}

static double real_at(const void *numbers, sp_number type, int64_t k)
{
    switch (type) {
    case SP_NUMBER_F64: return ((const double *)numbers)[k];
    case SP_NUMBER_F32: return ((const float *)numbers)[k];
    case SP_NUMBER_U64: return (double)((const uint64_t *)numbers)[k];
    default: return (double)integer_at(numbers, type, k);
    }
}

/** Stores the n elements of `piece` as elements to, ..., to + n - 1 of the array w->to, converted to w->type.
 *  A column index that is negative or above INT32_MAX becomes -1. */
static spmm_status csr_file_convert(const wanted *w, const void *piece, int64_t n, int64_t to)
{
    const sp_number from = w->file->section[w->section].type;
    void *const out = w->to;
    int beyond = 0;
    for (int64_t k = 0; k < n; k++) {
        if (w->type == SP_NUMBER_F64) {
            ((double *)out)[to + k] = real_at(piece, from, k);
        } else if (w->type == SP_NUMBER_F32) {
            const double value = real_at(piece, from, k);
            ((float *)out)[to + k] = (float)value;
            beyond |= isinf((float)value) && !isinf(value);
        } else {
            const int64_t value = integer_at(piece, from, k);
            if (w->type == SP_NUMBER_I64)
                ((int64_t *)out)[to + k] = value;
            else
                ((int32_t *)out)[to + k] = value < 0 || value > INT32_MAX ? -1 : (int32_t)value;
        }
    }
    if (beyond && !w->allow_nonfinite)
        return sp_fail(SPMM_ERR_SYNTAX,
                       "%s: found a value beyond the range of a float, expected none (or --allow-nonfinite)",
                       w->file->path);
    return SPMM_OK;
}

enum { PIECE_BYTES = 1 << 20 }; /* bytes of the file that a thread reads at a time */

/** Reads up to `each` elements of request w from element number `first` on: directly to their destination if
 *  they need no conversion, else through *scratch.
 *  \param [in,out] scratch  buffer for `each` elements, allocated when it is first needed (NULL before) */
static spmm_status take_piece(const wanted *w, int64_t first, int64_t each, char **scratch)
{
    const int64_t size = sp_number_size(w->file->section[w->section].type),
                  n = w->end - first < each ? w->end - first : each, to = first - w->first;
    if (!converts(w)) return read_elements(w->file, w->section, first, n, w->to + to * size);
    if (!*scratch) TRY(sp_alloc((void **)scratch, each, size, "a part of a matrix file"));
    TRY(read_elements(w->file, w->section, first, n, *scratch));
    return csr_file_convert(w, *scratch, n, to);
}

/** Reads all elements of request w with up to `threads` threads. If several pieces fail, reports the error of
 *  the first of these pieces in the file. */
static spmm_status take_all(const wanted *w, int threads)
{
    if (w->first == w->end) return SPMM_OK;
    const int64_t n = w->end - w->first,
                  most = PIECE_BYTES / sp_number_size(w->file->section[w->section].type),
                  each = n < most ? n : most, pieces = (n + each - 1) / each;
    spmm_status status = SPMM_OK;
    int64_t failed = INT64_MAX;
    char message[SP_MESSAGE_BYTES] = "";
    if (threads > pieces) threads = (int)pieces;
#pragma omp parallel num_threads(threads)
    {
        SP_DEFAULT_FP;
        char *scratch = NULL;
#pragma omp for schedule(dynamic, 1)
        for (int64_t p = 0; p < pieces; p++) {
            const spmm_status mine = take_piece(w, w->first + p * each, each, &scratch);
            if (mine == SPMM_OK) continue;
#pragma omp critical(sp_csr_file_failed)
            if (p < failed) {
                failed = p;
                status = mine;
                snprintf(message, sizeof message, "%s", spmm_error_message());
            }
        }
        sp_free(scratch);
    }
    if (status != SPMM_OK) sp_set_message(message);
    return sp_fail_in(w->file->path, status);
}

static spmm_status out_of_range(const sp_csr_file *f, const char *what, int64_t first, int64_t end,
                                int64_t size)
{
    return sp_fail(SPMM_ERR_USAGE, "%s: %s %lld to %lld, expected a range within 0 to %lld", f->path, what,
                   (long long)first, (long long)end, (long long)size);
}

enum { LENGTHS = 1 << 14 }; /* number of row lengths that are read at a time */

/** Implements sp_csr_file_row_starts() for a file with row lengths, by adding them up. */
static spmm_status add_lengths(sp_csr_file *f, int64_t first, int64_t end, int64_t *irp)
{
    const int known = f->row <= first;
    int64_t length[LENGTHS], row = known ? f->row : 0, start = known ? f->start : 0;
    if (row == first) irp[0] = start;
    while (row < end) {
        const int64_t n = end - row < LENGTHS ? end - row : LENGTHS;
        const wanted w = {f, SP_FILE_ROWS, row, row + n, (char *)length, SP_NUMBER_I64, 0};
        TRY(take_all(&w, 1));
        for (int64_t k = 0; k < n; k++) {
            if (length[k] < 0 || length[k] > f->facts.nnz - start)
                return sp_fail(SPMM_ERR_SYNTAX,
                               "%s: row %lld: found a length of %lld entries, expected 0 to %lld", f->path,
                               (long long)row + 1, (long long)length[k], (long long)(f->facts.nnz - start));
            start += length[k];
            if (++row >= first) irp[row - first] = start;
        }
    }
    f->row = row;
    f->start = start;
    if (row == f->facts.rows && start != f->facts.nnz)
        return sp_fail(SPMM_ERR_SYNTAX, "%s: found %lld entries in all rows, expected %lld", f->path,
                       (long long)start, (long long)f->facts.nnz);
    return SPMM_OK;
}

spmm_status sp_csr_file_row_starts(sp_csr_file *f, int64_t first, int64_t end, int64_t *irp)
{
    const sp_csr_file_facts *const h = &f->facts;
    if (first < 0 || end < first || end > h->rows) return out_of_range(f, "rows", first, end, h->rows);
    if (f->lengths) return add_lengths(f, first, end, irp);
    const wanted w = {f, SP_FILE_ROWS, first, end + 1, (char *)irp, SP_NUMBER_I64, 0};
    TRY(take_all(&w, 1));
    int wrong = irp[0] < 0 || irp[end - first] > h->nnz || (first == 0 && irp[0] != 0) ||
                (end == h->rows && irp[end - first] != h->nnz);
    for (int64_t i = first; i < end; i++) wrong |= irp[i - first] > irp[i - first + 1];
    if (wrong) return sp_fail(SPMM_ERR_SYNTAX, "%s: its row starts decrease or are out of range", f->path);
    return SPMM_OK;
}

spmm_status sp_csr_file_columns(const sp_csr_file *f, int64_t first, int64_t end, int threads, int32_t *ja)
{
    const sp_csr_file_facts *const h = &f->facts;
    if (first < 0 || end < first || end > h->nnz) return out_of_range(f, "entries", first, end, h->nnz);
    const wanted w = {f, SP_FILE_COLUMNS, first, end, (char *)ja, SP_NUMBER_I32, 0};
    TRY(take_all(&w, threads));
    int64_t wrong = end;
    for (int64_t e = end; e > first; e--)
        if (ja[e - 1 - first] < 0 || ja[e - 1 - first] >= h->cols) wrong = e - 1;
    if (wrong < end)
        return sp_fail(SPMM_ERR_SYNTAX, "%s: entry %lld has a %s index outside of 1 to %lld", f->path,
                       (long long)wrong + 1, f->transposed ? "row" : "column", (long long)h->cols);
    return SPMM_OK;
}

spmm_status sp_csr_file_values(const sp_csr_file *f, const sp_csr_file_range *r, int64_t first, int64_t end,
                               void *as)
{
    static const sp_number number[] = {[SPMM_F64] = SP_NUMBER_F64, [SPMM_F32] = SP_NUMBER_F32};
    const sp_value_type type = sp_type_of(r->precision);
    const int parts = f->section[SP_FILE_VALUES].complex ? 2 : 1, widened = parts < type.parts;
    if (parts > type.parts) return sp_fail(SPMM_ERR_UNSUPPORTED, "%s: " SP_FOUND_COMPLEX, f->path);
    /* real values that become complex are read into the upper half of their destination */
    char *const to = (char *)as + (widened ? (end - first) * type.bytes / 2 : 0);
    const wanted w = {f,  SP_FILE_VALUES,    parts * first,     parts * end,
                      to, number[type.real], r->allow_nonfinite};
    TRY(take_all(&w, r->threads));
    for (int64_t e = 0; widened && e < end - first; e++)
        sp_value_set(as, r->precision, e, sp_value_get(to, type.real, e));
    return SPMM_OK;
}

/* ---- blocks ---- */

spmm_status sp_csr_file_check_finite(const sp_csr_file *f, const sp_csr_file_range *r, const spmm_csr *a)
{
    int64_t wrong = INT64_MAX, row = 0;
#pragma omp parallel num_threads(r->threads) reduction(min : wrong)
    {
        SP_DEFAULT_FP;
#pragma omp for schedule(static)
        for (int64_t e = 0; e < a->nnz; e++)
            if (!sp_is_finite(sp_value_at(a->as, a->precision, e)) && e < wrong) wrong = e;
    }
    if (wrong == INT64_MAX) return SPMM_OK;
    while (a->irp[row + 1] <= wrong) row++;
    const double value = sp_part_not_finite(sp_value_at(a->as, a->precision, wrong));
    const int64_t in_row = r->row_begin + row + 1, in_column = r->col_begin + a->ja[wrong] + 1;
    return sp_fail(
        SPMM_ERR_SYNTAX,
        "%s: found \"%s\" in row %lld, column %lld, expected a finite value (or --allow-nonfinite)", f->path,
        isnan(value) ? "nan"
        : value > 0  ? "inf"
                     : "-inf",
        (long long)(f->transposed ? in_column : in_row), (long long)(f->transposed ? in_row : in_column));
}

static spmm_status allocate_entries(spmm_csr *a)
{
    TRY(sp_alloc((void **)&a->ja, a->nnz, sizeof *a->ja, "column indices"));
    return sp_alloc(&a->as, a->nnz, sp_value_size(a->precision), "values");
}

static spmm_status whole_rows(sp_csr_file *f, const sp_csr_file_range *r, spmm_csr *a)
{
    const sp_sizes sizes = {0, a->cols, a->rows == f->facts.rows ? f->facts.nnz : 0};
    TRY(sp_memory_needs(sp_csr_bytes_of(&sizes, a->precision), "its matrix"));
    TRY(sp_csr_file_row_starts(f, r->row_begin, r->row_end, a->irp));
    const int64_t first = a->irp[0], end = a->irp[a->rows];
    for (int64_t i = 0; i <= a->rows; i++) a->irp[i] -= first;
    a->nnz = end - first;
    TRY(allocate_entries(a));
    TRY(sp_csr_file_columns(f, first, end, r->threads, a->ja));
    return sp_csr_file_values(f, r, first, end, a->as);
}

enum { GROUP_ROWS = 1 << 20, PART_ENTRIES = 1 << 18 };

/** Buffers for reading a block of only some columns: for the row starts of a group of rows, and for some
 *  entries. */
typedef struct parts {
    int64_t *start;      /* [group + 1] row starts, as entry numbers in the whole file */
    int32_t *column;     /* [each] column indices */
    void *value;         /* [each] values in the precision of the block to read */
    int64_t group, each; /* rows in a group, at most GROUP_ROWS; entries in a part, at most PART_ENTRIES */
} parts;

static spmm_status parts_create(const sp_csr_file *f, const spmm_csr *a, parts *p)
{
    *p = (parts){.group = a->rows < GROUP_ROWS ? a->rows : GROUP_ROWS,
                 .each = f->facts.nnz < PART_ENTRIES ? f->facts.nnz : PART_ENTRIES};
    TRY(sp_alloc((void **)&p->start, p->group + 1, sizeof *p->start, "row starts"));
    TRY(sp_alloc((void **)&p->column, p->each, sizeof *p->column, "column indices"));
    return sp_alloc(&p->value, p->each, sp_value_size(a->precision), "values");
}

/** Processes the n entries p->column[at] to p->column[at + n - 1], which belong to row `row` of the block. If
 *  `append` is 1, appends the entries in the requested columns to matrix a; if it is 0, adds their number to
 *  a->irp[row + 1]. */
static void part_of_row(const sp_csr_file_range *r, const parts *p, int64_t row, int64_t at, int64_t n,
                        int append, spmm_csr *a)
{
    int64_t to = append ? a->nnz : 0;
    for (int64_t k = at; k < at + n; k++) {
        const int64_t column = p->column[k];
        if (column < r->col_begin || column >= r->col_end) continue;
        if (append) {
            a->ja[to] = (int32_t)(column - r->col_begin);
            sp_values_copy(a->precision, p->value, k, 1, a->as, to);
        }
        to++;
    }
    if (append)
        a->nnz = to;
    else
        a->irp[row + 1] += to;
}

/** Calls part_of_row() for all entries in rows [row, row + count) of the block; p->start holds the starts of
 *  these rows. */
static spmm_status part_of_group(const sp_csr_file *f, const sp_csr_file_range *r, const parts *p,
                                 int64_t row, int64_t count, int append, spmm_csr *a)
{
    const int64_t last = p->start[count];
    int64_t i = 0;
    for (int64_t e = p->start[0]; e < last;) {
        const int64_t end = last - e < p->each ? last : e + p->each;
        TRY(sp_csr_file_columns(f, e, end, r->threads, p->column));
        if (append) TRY(sp_csr_file_values(f, r, e, end, p->value));
        for (const int64_t first = e; e < end;) {
            while (p->start[i + 1] <= e) i++;
            const int64_t stop = p->start[i + 1] < end ? p->start[i + 1] : end;
            part_of_row(r, p, row + i, e - first, stop - e, append, a);
            e = stop;
        }
    }
    return SPMM_OK;
}

static spmm_status part_of_rows(sp_csr_file *f, const sp_csr_file_range *r, parts *p, int append, spmm_csr *a)
{
    for (int64_t i = 0; i < a->rows; i += p->group) {
        const int64_t count = a->rows - i < p->group ? a->rows - i : p->group;
        TRY(sp_csr_file_row_starts(f, r->row_begin + i, r->row_begin + i + count, p->start));
        TRY(part_of_group(f, r, p, i, count, append, a));
    }
    return SPMM_OK;
}

static spmm_status some_columns(sp_csr_file *f, const sp_csr_file_range *r, spmm_csr *a)
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
    sp_free(p.start);
    sp_free(p.column);
    sp_free(p.value);
    return status;
}

spmm_status sp_csr_file_block(sp_csr_file *f, const sp_csr_file_range *r, spmm_csr *a, int64_t *duplicates)
{
    const sp_csr_file_facts *const h = &f->facts;
    int64_t summed = 0;
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
    if (status == SPMM_OK && !r->allow_nonfinite) status = sp_csr_file_check_finite(f, r, a);
    if (status == SPMM_OK) status = sp_csr_sort_sum_duplicates(a, r->threads, &summed);
    if (duplicates) *duplicates = summed;
    if (status != SPMM_OK) spmm_csr_destroy(a);
    return sp_fail_in(f->path, status);
}

spmm_status sp_csr_file_whole(sp_csr_file *f, const sp_read_options *options, spmm_csr *a,
                              int64_t *duplicates)
{
    const sp_csr_file_range all = {.row_end = f->facts.rows,
                                   .col_end = f->facts.cols,
                                   .precision = options->precision,
                                   .allow_nonfinite = options->allow_nonfinite,
                                   .threads = options->threads};
    return sp_csr_file_block(f, &all, a, duplicates);
}

const sp_csr_file_facts *sp_csr_file_facts_of(const sp_csr_file *file) { return &file->facts; }

void sp_csr_file_close(sp_csr_file *f)
{
    if (!f) return;
    if (f->fd >= 0) close(f->fd);
    sp_free(f);
}

/* ---- as a format of matrix files ---- */

sp_sizes sp_csr_file_sizes(const void *file)
{
    const sp_csr_file_facts *const facts = sp_csr_file_facts_of(file);
    return (sp_sizes){facts->rows, facts->cols, facts->nnz};
}

spmm_status sp_csr_file_read(void *file, const sp_read_options *options, spmm_csr *a, sp_mtx_info *info,
                             int64_t *stored, int64_t *duplicates)
{
    const sp_csr_file_facts *const facts = sp_csr_file_facts_of(file);
    *info = facts->info;
    *stored = facts->info.stored;
    return sp_csr_file_whole(file, options, a, duplicates);
}

void sp_csr_file_end(void *file) { sp_csr_file_close(file); }

sp_csr_file *sp_csr_file_itself(void *file) { return file; }
