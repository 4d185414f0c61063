/** Reads sparse matrices that SciPy's save_npz() has written: zip archives of NumPy arrays, with the layouts
 *  CSR, CSC, COO and BSR, stored or deflated. Each rank can read a part of the rows of a stored CSR matrix.
 *  Sources: scipy/sparse/_matrix_io.py for the names of the arrays, NumPy Enhancement Proposal 1 for the
 *  format of an array. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "files/csr_file.h"
#include "files/zip_file.h"
#include "formats/csr_sort.h"
#include "io/numparse.h"

enum { HEAD_BYTES = 4096, DIMENSIONS = 3, ARRAYS = 3 };

/** An array of NumPy in a member of the archive. */
typedef struct array {
    const sp_zip_member *member;
    char kind;    /* type of its elements: i, u, b (bool), f, S or U (text) */
    int64_t size; /* of an element, in bytes */
    int swapped;
    int fortran; /* 1: in Fortran's order */
    int dimensions;
    int64_t shape[DIMENSIONS];
    int64_t count; /* number of elements */
    int64_t start; /* position of the first element in the member, in bytes */
    void *memory;  /* the unpacked member; NULL: the member is stored, or not unpacked yet */
} array;

typedef enum layout { CSR, CSC, COO, BSR, LAYOUTS } layout;

/** Names of the arrays of a layout, in the order of SP_FILE_ROWS, SP_FILE_COLUMNS, SP_FILE_VALUES. */
static const struct {
    const char *word, *member[ARRAYS];
} layouts[LAYOUTS] = {
    [CSR] = {"csr", {"indptr.npy", "indices.npy", "data.npy"}},
    [CSC] = {"csc", {"indptr.npy", "indices.npy", "data.npy"}},
    [COO] = {"coo", {"row.npy", "col.npy", "data.npy"}},
    [BSR] = {"bsr", {"indptr.npy", "indices.npy", "data.npy"}},
};

typedef struct npz_file {
    sp_zip zip;
    char prefix[SP_ZIP_NAME]; /* prefix of the names of all arrays, e.g. "adj_"; "" in files of SciPy */
    layout layout;
    int64_t rows, cols;
    int64_t height, width; /* of a block; 1 except for BSR */
    array array[ARRAYS];
    /* The arrays as the sections of an sp_csr_file. CSR: the matrix; CSC: its transpose; BSR: a matrix with
     * one entry per block. COO: SP_FILE_ROWS contains row indices, so that only columns and values can be
     * read. */
    sp_csr_file view;
} npz_file;

/* ---- arrays ---- */

static spmm_status array_damaged(const npz_file *f, const sp_zip_member *m, const char *what)
{
    return sp_fail(SPMM_ERR_SYNTAX, "%s: its array %s is damaged (%s)", f->zip.path, m->name, what);
}

static spmm_status too_long(const npz_file *f, const sp_zip_member *m, const char *what, int64_t bytes)
{
    return sp_fail(SPMM_ERR_UNSUPPORTED,
                   "%s: found %s%lld bytes in %s, expected at most %d: save it again with SciPy's save_npz()",
                   f->zip.path, what, (long long)bytes, m->name, HEAD_BYTES);
}

static const char *skip_to(const char *p, const char *key)
{
    p = strstr(p, key);
    if (!p) return NULL;
    p += strlen(key);
    while (*p == ' ' || *p == ':' || *p == '\'' || *p == '"') p++;
    return p;
}

static spmm_status take_type(const npz_file *f, const char *p, array *a)
{
    const char order = p[0], *end = p;
    if (order) a->kind = p[1];
    if (!a->kind || sp_parse_int64(p + 2, &end, &a->size) != 1 || a->size < 0 || a->size > INT32_MAX ||
        (*end != '\'' && *end != '"')) {
        if (strncmp(p, "|O", 2) == 0 || *p == 'O')
            return sp_fail(SPMM_ERR_UNSUPPORTED,
                           "%s: found pickled objects in %s, expected numbers: they are not unpickled",
                           f->zip.path, a->member->name);
        return sp_fail(SPMM_ERR_UNSUPPORTED, "%s: found the type \"%.16s\" in %s, expected a numeric type",
                       f->zip.path, isprint((unsigned char)*p) ? p : "", a->member->name);
    }
    if (a->kind == 'U') a->size *= 4; /* characters of 4 bytes */
    a->swapped = a->size > 1 && order == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '>' : '<');
    return SPMM_OK;
}

static spmm_status take_shape(const npz_file *f, const char *p, array *a)
{
    a->count = 1;
    if (!p || *p != '(') return array_damaged(f, a->member, "no shape");
    for (p++; *p == ' ' || *p == ',' || *p == ')' || isdigit((unsigned char)*p); p++) {
        if (*p == ')') return SPMM_OK;
        if (!isdigit((unsigned char)*p)) continue;
        int64_t n = 0;
        for (; isdigit((unsigned char)*p); p++)
            if (n < INT64_C(1) << 55) n = 10 * n + (*p - '0');
        p--;
        if (a->dimensions == DIMENSIONS || __builtin_mul_overflow(a->count, n, &a->count) ||
            a->count > INT64_C(1) << 55)
            return array_damaged(f, a->member, "its shape is too large");
        a->shape[a->dimensions++] = n;
    }
    return array_damaged(f, a->member, "no shape");
}

/** Finds the member `name` of the archive, and sets *a from the head of the array in it. If the member is not
 *  longer than HEAD_BYTES, `head` then contains the whole member.
 *  \param [out] head  [HEAD_BYTES + 1], the beginning of the member */
static spmm_status open_array(const npz_file *f, const char *name, array *a, char *head)
{
    char full[2 * SP_ZIP_NAME];
    snprintf(full, sizeof full, "%s%s", f->prefix, name);
    *a = (array){.member = sp_zip_find(&f->zip, full)};
    const sp_zip_member *const m = a->member;
    if (!m)
        return sp_fail(SPMM_ERR_SYNTAX,
                       "%s: found no array %s, expected a sparse matrix as SciPy's save_npz() writes it",
                       f->zip.path, full);
    const int64_t n = m->bytes < HEAD_BYTES ? m->bytes : HEAD_BYTES;
    int64_t bytes;
    TRY(sp_zip_begin(&f->zip, m, head, n));
    if (n < 12 || memcmp(head, "\x93NUMPY", 6) != 0) return array_damaged(f, m, "it is not a NumPy array");
    const unsigned char *const p = (unsigned char *)head;
    const int64_t wide = p[6] > 1,
                  length = p[8] | p[9] << 8 | (wide ? (int64_t)p[10] << 16 | (int64_t)p[11] << 24 : 0);
    a->start = (wide ? 12 : 10) + length;
    if (p[6] < 1 || p[6] > 3 || a->start > m->bytes) return array_damaged(f, m, "its head");
    if (a->start > n) return too_long(f, m, "a head of ", a->start);
    const char kept = head[a->start];
    head[a->start] = 0;
    const char *const text = head + (wide ? 12 : 10), *const type = skip_to(text, "descr"),
                      *const order = skip_to(text, "fortran_order");
    if (!type || !order) return array_damaged(f, m, "its head");
    TRY(take_type(f, type, a));
    TRY(take_shape(f, skip_to(text, "shape"), a));
    a->fortran = strncmp(order, "True", 4) == 0 && a->dimensions > 1;
    head[a->start] = kept;
    head[n] = 0;
    if (__builtin_mul_overflow(a->count, a->size, &bytes) || bytes != m->bytes - a->start)
        return array_damaged(f, m, "its length does not match its shape");
    return SPMM_OK;
}

/** Finds the type of an array's numbers; if they are complex, the type of their parts.
 *  \param [in] reals  0: the numbers must be integers, and not bool */
static spmm_status number_of(const npz_file *f, const array *a, int reals, sp_number *number)
{
    static const struct {
        char kind;
        int size;
        sp_number number;
    } types[] = {{'i', 1, SP_NUMBER_I8},  {'i', 2, SP_NUMBER_I16}, {'i', 4, SP_NUMBER_I32},
                 {'i', 8, SP_NUMBER_I64}, {'u', 1, SP_NUMBER_U8},  {'u', 2, SP_NUMBER_U16},
                 {'u', 4, SP_NUMBER_U32}, {'u', 8, SP_NUMBER_U64}, {'b', 1, SP_NUMBER_U8},
                 {'f', 4, SP_NUMBER_F32}, {'f', 8, SP_NUMBER_F64}, {'c', 8, SP_NUMBER_F32},
                 {'c', 16, SP_NUMBER_F64}};
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        *number = types[k].number;
        if (types[k].kind == a->kind && types[k].size == a->size &&
            (reals || a->kind == 'i' || a->kind == 'u'))
            return SPMM_OK;
    }
    return sp_fail(SPMM_ERR_UNSUPPORTED, "%s: found %s of %lld bytes in %s, expected %s", f->zip.path,
                   a->kind == 'c'   ? "complex numbers"
                   : a->kind == 'f' ? "floating-point numbers"
                                    : "elements",
                   (long long)a->size, a->member->name,
                   reals ? "bool, integers, real numbers of 4 or 8 bytes, or complex ones of 8 or 16"
                         : "integers");
}

/* ---- opening ---- */

/** Fails if open_array() has read only the beginning of the member, not all of it. */
static spmm_status check_short(const npz_file *f, const array *a)
{
    return a->member->bytes <= HEAD_BYTES ? SPMM_OK : too_long(f, a->member, "", a->member->bytes);
}

/** Finds the prefix of the arrays' names in an archive without format.npy: data sets of graphs contain a CSR
 *  matrix as adj_data, adj_indices, adj_indptr and adj_shape, and perhaps others with other prefixes. */
static void take_prefix(npz_file *f)
{
    int found = 0;
    const sp_zip_member *only = NULL;
    const size_t tail = strlen(layouts[CSR].member[SP_FILE_ROWS]);
    if (sp_zip_find(&f->zip, "format.npy")) return;
    for (int k = 0; k < f->zip.members; k++) {
        const sp_zip_member *const m = &f->zip.member[k];
        const size_t n = strlen(m->name);
        if (n <= tail || strcmp(m->name + n - tail, layouts[CSR].member[SP_FILE_ROWS]) != 0) continue;
        only = m;
        found++;
    }
    if (found > 1) only = sp_zip_find(&f->zip, "adj_indptr.npy");
    if (only) snprintf(f->prefix, sizeof f->prefix, "%.*s", (int)(strlen(only->name) - tail), only->name);
}

static spmm_status take_layout(npz_file *f, char *head)
{
    take_prefix(f);
    f->layout = CSR;
    if (*f->prefix) return SPMM_OK;
    array a;
    char word[16] = "";
    TRY(open_array(f, "format.npy", &a, head));
    const sp_number letter = a.kind == 'U' ? SP_NUMBER_U32 : SP_NUMBER_U8;
    if ((a.kind != 'S' && a.kind != 'U') || a.dimensions > 0)
        return array_damaged(f, a.member, "it is not a string");
    TRY(check_short(f, &a));
    for (int64_t at = a.start, k = 0; at < a.member->bytes && k < (int)sizeof word - 1; k++) {
        const int64_t c = sp_number_integer(head + at, letter, a.swapped);
        word[k] = (char)(c < 128 ? c : '?');
        at += sp_number_size(letter);
    }
    for (f->layout = 0; f->layout < LAYOUTS; f->layout++)
        if (strcmp(layouts[f->layout].word, word) == 0) return SPMM_OK;
    for (char *p = word; *p; p++)
        if (!isalnum((unsigned char)*p)) *p = '?';
    return sp_fail(
        SPMM_ERR_UNSUPPORTED,
        "%s: found a matrix in the format \"%s\", expected csr, csc, coo or bsr: convert it first "
        "(python3 -c \"import scipy.sparse as s; s.save_npz('B.npz', s.load_npz('FILE').tocsr())\")",
        f->zip.path, word);
}

static spmm_status take_sizes(npz_file *f, char *head)
{
    array a;
    sp_number number;
    TRY(open_array(f, "shape.npy", &a, head));
    TRY(number_of(f, &a, 0, &number));
    if (a.count != 2 || a.dimensions != 1)
        return sp_fail(SPMM_ERR_UNSUPPORTED,
                       "%s: found a shape of %lld numbers, expected 2 (rows and columns)", f->zip.path,
                       (long long)a.count);
    TRY(check_short(f, &a));
    int64_t size[2];
    for (int k = 0; k < 2; k++) {
        size[k] = sp_number_integer(head + a.start + k * a.size, number, a.swapped);
        if (size[k] < 0 || size[k] > INT32_MAX)
            return sp_fail(SPMM_ERR_UNSUPPORTED, "%s: found %lld %s, expected 0 to %d", f->zip.path,
                           (long long)size[k], k ? "columns" : "rows", INT32_MAX);
    }
    f->rows = size[0];
    f->cols = size[1];
    return SPMM_OK;
}

static spmm_status sizes_wrong(const npz_file *f)
{
    return sp_fail(SPMM_ERR_SYNTAX,
                   "%s: the sizes of its arrays do not match each other, or its shape of %lld x %lld",
                   f->zip.path, (long long)f->rows, (long long)f->cols);
}

/** Checks the sizes of the arrays, and sets the sizes of the view. */
static spmm_status fit_sizes(npz_file *f)
{
    const array *const rows = &f->array[SP_FILE_ROWS], *const columns = &f->array[SP_FILE_COLUMNS],
                       *const values = &f->array[SP_FILE_VALUES];
    sp_csr_file_facts *const facts = &f->view.facts;
    const int blocks = f->layout == BSR;
    if (rows->dimensions != 1 || columns->dimensions != 1 || values->dimensions != (blocks ? 3 : 1))
        return sizes_wrong(f);
    f->height = blocks ? values->shape[1] : 1;
    f->width = blocks ? values->shape[2] : 1;
    if (f->height < 1 || f->width < 1 || f->rows % f->height != 0 || f->cols % f->width != 0)
        return sizes_wrong(f);
    facts->rows = (f->layout == CSC ? f->cols : f->rows) / f->height;
    facts->cols = (f->layout == CSC ? f->rows : f->cols) / f->width;
    facts->nnz = columns->count < values->shape[0] ? columns->count : values->shape[0];
    if (f->layout == COO)
        return rows->count == facts->nnz && columns->count == values->count ? SPMM_OK : sizes_wrong(f);
    return rows->count == facts->rows + 1 ? SPMM_OK : sizes_wrong(f);
}

static spmm_status set_view(npz_file *f)
{
    sp_number number[ARRAYS];
    struct stat info;
    for (int k = 0; k < ARRAYS; k++) TRY(number_of(f, &f->array[k], k == SP_FILE_VALUES, &number[k]));
    TRY(fit_sizes(f));
    const array *const values = &f->array[SP_FILE_VALUES];
    const int64_t n = f->view.facts.nnz,
                  lengths[ARRAYS] = {f->array[SP_FILE_ROWS].count, n,
                                     values->fortran ? values->count : n * f->height * f->width};
    for (int k = 0; k < ARRAYS; k++) {
        const array *const a = &f->array[k];
        f->view.section[k] = (sp_csr_section){
            number[k], a->member->offset + a->start, lengths[k] * a->size, a->swapped, NULL, a->kind == 'c'};
    }
    f->view.transposed = f->layout == CSC;
    f->view.facts.info = (sp_mtx_info){.format = "npz",
                                       .field = "real",
                                       .symmetry = "general",
                                       .stored = lengths[SP_FILE_VALUES],
                                       .bytes = fstat(f->zip.fd, &info) == 0 ? (int64_t)info.st_size : 0};
    const char kind = f->array[SP_FILE_VALUES].kind;
    if (kind != 'f') strcpy(f->view.facts.info.field, kind == 'c' ? "complex" : "integer");
    return SPMM_OK;
}

/** Sets the number of entries (BSR: of blocks) to the last row start. The arrays `indices` and `data` that
 *  SciPy writes may have more elements, which do not belong to the matrix. */
static spmm_status set_entries(npz_file *f)
{
    const sp_csr_file *const v = &f->view;
    const sp_csr_section *const s = &v->section[SP_FILE_ROWS];
    const int64_t size = sp_number_size(s->type), at = s->offset + s->bytes - size;
    unsigned char bytes[8];
    if (s->memory)
        memcpy(bytes, s->memory + at, (size_t)size);
    else
        TRY(sp_csr_file_read_at(v, bytes, size, at));
    const int64_t last = sp_number_integer(bytes, s->type, s->swapped);
    if (last < 0 || last > v->facts.nnz)
        return sp_fail(SPMM_ERR_SYNTAX, "%s: found %lld as its last row start, expected 0 to %lld", v->path,
                       (long long)last, (long long)v->facts.nnz);
    f->view.facts.nnz = last;
    f->view.facts.info.stored = last * f->height * f->width;
    return SPMM_OK;
}

static int all_stored(const npz_file *f)
{
    for (int k = 0; k < ARRAYS; k++)
        if (f->array[k].member->deflated) return 0;
    return 1;
}

static spmm_status open_arrays(npz_file *f)
{
    char head[HEAD_BYTES + 1];
    TRY(sp_zip_open(f->zip.path, f->zip.fd, &f->zip));
    TRY(take_layout(f, head));
    TRY(take_sizes(f, head));
    for (int k = 0; k < ARRAYS; k++) TRY(open_array(f, layouts[f->layout].member[k], &f->array[k], head));
    TRY(set_view(f));
    return f->layout != COO && all_stored(f) ? set_entries(f) : SPMM_OK;
}

static void close_npz(void *file)
{
    npz_file *const f = file;
    close(f->zip.fd);
    for (int k = 0; k < ARRAYS; k++) sp_free(f->array[k].memory);
    sp_free(f);
}

static spmm_status open_npz(const char *path, int fd, const sp_read_options *options, void **file)
{
    npz_file *f;
    (void)options;
    *file = NULL;
    spmm_status status = sp_alloc_zero((void **)&f, 1, sizeof *f, "a matrix file");
    if (status != SPMM_OK) close(fd);
    if (status != SPMM_OK) return status;
    f->zip.path = f->view.path = path;
    f->zip.fd = f->view.fd = fd;
    status = open_arrays(f);
    if (status == SPMM_OK)
        *file = f;
    else
        close_npz(f);
    return status;
}

static int is_npz(int fd, const sp_read_options *options)
{
    unsigned char head[30 + SP_ZIP_NAME];
    (void)options;
    const int64_t n = sp_file_peek(fd, head, sizeof head, 0);
    if (n < 30 || memcmp(head, "PK\3\4", 4) != 0) return 0;
    const int64_t name = head[26] | head[27] << 8;
    return name > 4 && name <= SP_ZIP_NAME && 30 + name <= n && memcmp(head + 30 + name - 4, ".npy", 4) == 0;
}

static sp_sizes sizes_of_npz(const void *file)
{
    const npz_file *const f = file;
    return (sp_sizes){f->rows, f->cols, f->view.facts.nnz * f->height * f->width};
}

/* ---- reading ---- */

/** Unpacks the deflated arrays, each by one thread, and checks the CRC of the stored arrays. Then sets the
 *  number of entries. */
static spmm_status unpack(npz_file *f, int threads)
{
    spmm_status status[ARRAYS];
    char message[ARRAYS][SP_MESSAGE_BYTES];
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads < ARRAYS ? threads : ARRAYS)
    for (int k = ARRAYS - 1; k >= 0; k--) { /* the values, which take longest, first */
        array *const a = &f->array[k];
        status[k] = a->member->deflated ? sp_zip_unpack(&f->zip, a->member, &a->memory) : SPMM_OK;
        if (status[k] != SPMM_OK) snprintf(message[k], sizeof message[k], "%s", spmm_error_message());
    }
    for (int k = 0; k < ARRAYS; k++) {
        array *const a = &f->array[k];
        if (status[k] != SPMM_OK) sp_set_message(message[k]);
        TRY(status[k]);
        if (!a->member->deflated) TRY(sp_zip_check(&f->zip, a->member, threads));
        if (!a->member->deflated) continue;
        f->view.section[k].memory = a->memory;
        f->view.section[k].offset = a->start;
    }
    return f->layout == COO ? SPMM_OK : set_entries(f);
}

static spmm_status read_csc(npz_file *f, const sp_read_options *o, spmm_csr *a, int64_t *duplicates)
{
    spmm_csr t;
    TRY(sp_csr_file_whole(&f->view, o, &t, duplicates));
    const spmm_status status = sp_csr_add_transpose(&t, SP_IMAGE_NONE, SP_IMAGE_SAME, o->threads, a);
    spmm_csr_destroy(&t);
    return status;
}

static sp_csr_file_range range_of(const sp_read_options *o)
{
    return (sp_csr_file_range){
        .precision = o->precision, .allow_nonfinite = o->allow_nonfinite, .threads = o->threads};
}

static spmm_status check_triplets(const npz_file *f, const sp_coo *coo)
{
    for (int64_t e = 0; e < coo->nnz; e++) {
        if (sp_is_finite(sp_value_at(coo->val, coo->precision, e))) continue;
        int64_t irp[2] = {0, 1};
        int32_t column = coo->J[e];
        const spmm_csr one = {1,
                              coo->cols,
                              1,
                              coo->precision,
                              irp,
                              &column,
                              (char *)coo->val + e * sp_value_size(coo->precision)};
        const sp_csr_file_range r = {.row_begin = coo->I[e], .threads = 1};
        return sp_csr_file_check_finite(&f->view, &r, &one);
    }
    return SPMM_OK;
}

static spmm_status read_coo(npz_file *f, const sp_read_options *o, spmm_csr *a, int64_t *duplicates)
{
    const int64_t n = f->view.facts.nnz;
    const sp_csr_file_range how = range_of(o);
    sp_csr_file rows = f->view;
    sp_coo coo;
    rows.section[SP_FILE_COLUMNS] = f->view.section[SP_FILE_ROWS];
    rows.facts.cols = f->rows;
    rows.transposed = 1;
    spmm_status status = sp_coo_create(f->rows, f->cols, n, SP_GENERAL, o->precision, 1, &coo);
    if (status == SPMM_OK) status = sp_csr_file_columns(&rows, 0, n, o->threads, coo.I);
    if (status == SPMM_OK) status = sp_csr_file_columns(&f->view, 0, n, o->threads, coo.J);
    if (status == SPMM_OK) status = sp_csr_file_values(&f->view, &how, 0, n, coo.val);
    if (status == SPMM_OK && !o->allow_nonfinite) status = check_triplets(f, &coo);
    if (status == SPMM_OK) return sp_csr_from_coo(&coo, o->threads, a, duplicates);
    sp_coo_destroy(&coo);
    return status;
}

/** Stores the rows of block row `row`, which consists of blocks [first, first + count) of the file. In
 *  Fortran's order, element (b, i, j) of the blocks is number b + blocks (i + height j). */
static void take_blocks(const npz_file *f, int64_t row, int64_t first, int64_t count, const int32_t *column,
                        const void *value, spmm_csr *a)
{
    const array *const values = &f->array[SP_FILE_VALUES];
    int64_t e = first * f->height * f->width;
    for (int64_t i = 0; i < f->height; i++) {
        a->irp[row * f->height + i] = e;
        for (int64_t b = first; b < first + count; b++, e += f->width) {
            for (int64_t j = 0; j < f->width; j++) a->ja[e + j] = (int32_t)(column[b] * f->width + j);
            for (int64_t j = 0; j < f->width && values->fortran; j++)
                sp_values_copy(a->precision, value, b + values->shape[0] * (i + f->height * j), 1, a->as,
                               e + j);
            if (!values->fortran)
                sp_values_copy(a->precision, value, (b * f->height + i) * f->width, f->width, a->as, e);
        }
    }
}

/** \param [in] count  number of values to read */
static spmm_status fill_from_blocks(npz_file *f, const sp_read_options *o, int64_t count, int64_t *start,
                                    int32_t *column, void *value, spmm_csr *a)
{
    const int64_t rows = f->view.facts.rows, blocks = f->view.facts.nnz;
    const sp_csr_file_range how = range_of(o);
    TRY(sp_csr_file_row_starts(&f->view, 0, rows, start));
    TRY(sp_csr_file_columns(&f->view, 0, blocks, o->threads, column));
    TRY(sp_csr_file_values(&f->view, &how, 0, count, value));
#pragma omp parallel for schedule(static) num_threads(o->threads)
    for (int64_t i = 0; i < rows; i++) take_blocks(f, i, start[i], start[i + 1] - start[i], column, value, a);
    a->irp[a->rows] = a->nnz;
    return o->allow_nonfinite ? SPMM_OK : sp_csr_file_check_finite(&f->view, &how, a);
}

static spmm_status read_bsr(npz_file *f, const sp_read_options *o, spmm_csr *a, int64_t *duplicates)
{
    const array *const values = &f->array[SP_FILE_VALUES];
    const int64_t blocks = f->view.facts.nnz, nnz = blocks * f->height * f->width,
                  count = values->fortran ? values->count : nnz;
    int64_t *start = NULL;
    int32_t *column = NULL;
    void *value = NULL;
    spmm_status status = sp_csr_create(f->rows, f->cols, nnz, o->precision, a);
    if (status == SPMM_OK)
        status = sp_alloc((void **)&start, f->view.facts.rows + 1, sizeof *start, "row starts");
    if (status == SPMM_OK) status = sp_alloc((void **)&column, blocks, sizeof *column, "columns of blocks");
    if (status == SPMM_OK) status = sp_alloc(&value, count, sp_value_size(o->precision), "blocks");
    if (status == SPMM_OK) status = fill_from_blocks(f, o, count, start, column, value, a);
    sp_free(start);
    sp_free(column);
    sp_free(value);
    return status == SPMM_OK ? sp_csr_sort_sum_duplicates(a, o->threads, duplicates) : status;
}

static spmm_status read_npz(void *file, const sp_read_options *o, spmm_csr *a, sp_mtx_info *info,
                            int64_t *stored, int64_t *duplicates)
{
    npz_file *const f = file;
    *a = (spmm_csr){0};
    *duplicates = 0;
    spmm_status status = unpack(f, o->threads);
    if (status == SPMM_OK && f->layout == CSR) status = sp_csr_file_whole(&f->view, o, a, duplicates);
    if (status == SPMM_OK && f->layout == CSC) status = read_csc(f, o, a, duplicates);
    if (status == SPMM_OK && f->layout == COO) status = read_coo(f, o, a, duplicates);
    if (status == SPMM_OK && f->layout == BSR) status = read_bsr(f, o, a, duplicates);
    *info = f->view.facts.info;
    *stored = info->stored;
    if (status != SPMM_OK) spmm_csr_destroy(a);
    return status;
}

/** Returns the object from which ranks read the rows of a stored CSR matrix independently; NULL for any other
 *  file. (A rank then reads only a part of each array. So the CRCs of arrays that are longer than HEAD_BYTES
 *  are not checked.) */
static sp_csr_file *csr_of_npz(void *file)
{
    npz_file *const f = file;
    return f->layout == CSR && all_stored(f) ? &f->view : NULL;
}

const sp_matrix_format sp_file_format_npz = {.name = ".npz",
                                             .way = SP_FILE_CSR,
                                             .binary = 1,
                                             .is = is_npz,
                                             .open = open_npz,
                                             .sizes = sizes_of_npz,
                                             .read = read_npz,
                                             .close = close_npz,
                                             .csr = csr_of_npz};
