/** Opens binary files of PETSc, and reads dense matrices and vectors from them. */
#include "files/petsc_file.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "formats/multivector.h"

enum { CLASS_MAT = 1211216, CLASS_VEC = 1211214, DENSE = -1 };
enum { SWAPPED = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ };

/** The header of the first object of a file. */
typedef struct petsc_head {
    int64_t index;                      /* bytes of an index: 4 or 8 */
    int64_t class, rows, cols, entries; /* entries: DENSE for a dense matrix and for a vector */
    int64_t bytes;                      /* size of the header */
    int64_t file_bytes;                 /* size of the file */
} petsc_head;

/** Returns index number k of the indices at `bytes`, of `size` bytes each. */
static int64_t index_at(const unsigned char *bytes, int64_t size, int k)
{
    uint64_t value = 0;
    for (int64_t b = 0; b < size; b++) value = value << 8 | bytes[k * size + b];
    return size == 4 ? (int32_t)value : (int64_t)value;
}

/** Returns the size of an index if the first n bytes, at most 8, are those of a PETSc object; else 0. The
 *  object begins with its class number. PETSc's class numbers begin at 1211211, so their leading bytes are 00
 *  12 7B. */
static int64_t index_size(const unsigned char *bytes, int64_t n)
{
    static const unsigned char classes[] = {0, 0, 0, 0, 0, 0x12, 0x7B};
    if (n >= 4 && memcmp(bytes, classes + 4, 3) == 0) return 4;
    return n == 8 && memcmp(bytes, classes, 7) == 0 ? 8 : 0;
}

/** Returns index_size() for the bytes of the file from `offset` on. */
static int64_t object_at(int fd, int64_t offset)
{
    unsigned char bytes[8] = {0};
    return index_size(bytes, sp_file_peek(fd, bytes, sizeof bytes, offset));
}

int sp_petsc_file_is(int fd) { return fd >= 0 && object_at(fd, 0) > 0; }

static spmm_status check_head(const char *path, const petsc_head *h)
{
    const int64_t most = INT64_C(1) << 55; /* small enough that no sum of bytes overflows */
    if (h->class != CLASS_MAT && h->class != CLASS_VEC)
        return sp_fail(SPMM_ERR_UNSUPPORTED,
                       "%s: found a PETSc object of class %lld, expected a matrix (%d) or vector (%d)", path,
                       (long long)h->class, CLASS_MAT, CLASS_VEC);
    if (h->rows < 0 || h->cols < 0 || h->entries < DENSE || h->entries > most)
        return sp_fail(SPMM_ERR_SYNTAX,
                       "%s: found a PETSc %s of %lld rows, %lld columns, %lld entries: it is damaged", path,
                       h->class == CLASS_VEC ? "vector" : "matrix", (long long)h->rows, (long long)h->cols,
                       (long long)h->entries);
    if (h->rows > INT32_MAX || h->cols > INT32_MAX)
        return sp_fail(SPMM_ERR_UNSUPPORTED, "%s: found %lld rows, %lld columns, expected at most %d of each",
                       path, (long long)h->rows, (long long)h->cols, INT32_MAX);
    return SPMM_OK;
}

static spmm_status read_head(const sp_csr_file *f, petsc_head *h)
{
    unsigned char bytes[32];
    struct stat info;
    *h = (petsc_head){.index = object_at(f->fd, 0), .cols = 1, .entries = DENSE};
    if (fstat(f->fd, &info) != 0)
        return sp_fail(SPMM_ERR_OPEN, "%s: cannot be examined: %s", f->path, strerror(errno));
    h->file_bytes = info.st_size;
    TRY(sp_csr_file_read_at(f, bytes, h->index, 0));
    h->class = index_at(bytes, h->index, 0);
    h->bytes = (h->class == CLASS_VEC ? 2 : 4) * h->index;
    if (h->class != CLASS_MAT && h->class != CLASS_VEC) return check_head(f->path, h);
    TRY(sp_csr_file_read_at(f, bytes, h->bytes, 0));
    h->rows = index_at(bytes, h->index, 1);
    if (h->class == CLASS_MAT) {
        h->cols = index_at(bytes, h->index, 2);
        h->entries = index_at(bytes, h->index, 3);
    }
    return check_head(f->path, h);
}

/** Sets the section of `n` values that begins at byte `at`. The length of the file shows whether the values
 *  are f64, f32 or c128. (c64 would have the length of f64, and is not read.) */
static spmm_status lay_values(sp_csr_file *f, const petsc_head *h, int64_t at, int64_t n)
{
    sp_csr_section *const values = &f->section[SP_FILE_VALUES];
    const int64_t found = h->file_bytes, expected = at + 8 * n;
    *values = (sp_csr_section){SP_NUMBER_F64, at, 8 * n, SWAPPED, NULL, 0};
    if (found == expected || (found > expected && object_at(f->fd, expected) > 0)) return SPMM_OK;
    *values = (sp_csr_section){SP_NUMBER_F64, at, 16 * n, SWAPPED, NULL, 1};
    if (found == at + 16 * n) return SPMM_OK;
    *values = (sp_csr_section){SP_NUMBER_F32, at, 4 * n, SWAPPED, NULL, 0};
    if (found == at + 4 * n) return SPMM_OK;
    return sp_fail(SPMM_ERR_SYNTAX, "%s: found %lld bytes, expected %lld by its header: %s", f->path,
                   (long long)found, (long long)expected,
                   found < expected ? "it is cut short" : "bytes were appended");
}

static spmm_status lay_out_aij(sp_csr_file *f)
{
    petsc_head h;
    TRY(read_head(f, &h));
    if (h.entries == DENSE)
        return sp_fail(SPMM_ERR_UNSUPPORTED, "%s: found a %s of PETSc, expected a sparse matrix (AIJ)",
                       f->path, h.class == CLASS_VEC ? "vector" : "dense matrix");
    const sp_number index = h.index == 8 ? SP_NUMBER_I64 : SP_NUMBER_I32;
    const int64_t columns = h.bytes + h.rows * h.index, values = columns + h.entries * h.index;
    f->section[SP_FILE_ROWS] = (sp_csr_section){index, h.bytes, h.rows * h.index, SWAPPED, NULL, 0};
    f->section[SP_FILE_COLUMNS] = (sp_csr_section){index, columns, h.entries * h.index, SWAPPED, NULL, 0};
    TRY(lay_values(f, &h, values, h.entries));
    const sp_csr_section *const last = &f->section[SP_FILE_VALUES];
    f->facts = (sp_csr_file_facts){.rows = h.rows,
                                   .cols = h.cols,
                                   .nnz = h.entries,
                                   .info = {.format = "petsc",
                                            .field = "real",
                                            .symmetry = "general",
                                            .stored = h.entries,
                                            .bytes = last->offset + last->bytes}};
    if (last->complex) strcpy(f->facts.info.field, "complex");
    return SPMM_OK;
}

/** Returns a file for read_head(), with only the members set that are the same for every PETSc file. */
static sp_csr_file file_of(const char *path, int fd)
{
    return (sp_csr_file){.path = path, .fd = fd, .lengths = 1};
}

/* ---- an AIJ matrix, as a format of matrix files ---- */

static int is_petsc(int fd, const sp_read_options *options)
{
    (void)options;
    return sp_petsc_file_is(fd);
}

static spmm_status open_petsc(const char *path, int fd, const sp_read_options *options, void **file)
{
    sp_csr_file *f;
    (void)options;
    *file = NULL;
    spmm_status status = sp_alloc((void **)&f, 1, sizeof *f, "a matrix file");
    if (status != SPMM_OK) close(fd);
    if (status != SPMM_OK) return status;
    *f = file_of(path, fd);
    status = lay_out_aij(f);
    if (status == SPMM_OK)
        *file = f;
    else
        sp_csr_file_close(f);
    return status;
}

const sp_matrix_format sp_file_format_petsc = {.name = "PETSc",
                                               .way = SP_FILE_CSR,
                                               .binary = 1,
                                               .is = is_petsc,
                                               .open = open_petsc,
                                               .sizes = sp_csr_file_sizes,
                                               .read = sp_csr_file_read,
                                               .close = sp_csr_file_end,
                                               .csr = sp_csr_file_itself};

/* ---- a dense matrix or a vector ---- */

static spmm_status lay_out_dense(sp_csr_file *f, petsc_head *h)
{
    TRY(read_head(f, h));
    if (h->cols == 0)
        return sp_fail(SPMM_ERR_SYNTAX, "%s: found a multivector of 0 columns, expected at least 1", f->path);
    if (h->rows > (INT64_C(1) << 55) / h->cols)
        return sp_fail(SPMM_ERR_SYNTAX, "%s: found a dense matrix of %lld x %lld: it is damaged", f->path,
                       (long long)h->rows, (long long)h->cols);
    return h->entries == DENSE ? lay_values(f, h, h->bytes, h->rows * h->cols) : lay_out_aij(f);
}

spmm_status sp_petsc_file_sizes(const char *path, int fd, sp_sizes *sizes)
{
    sp_csr_file f = file_of(path, fd);
    petsc_head h;
    const spmm_status status = lay_out_dense(&f, &h);
    *sizes = status == SPMM_OK ? (sp_sizes){h.rows, h.cols, 0} : (sp_sizes){0};
    close(fd);
    return status;
}

/** Copies n rows from `from`, [n x x->k], to row `row` of x; checks that they are finite unless
 *  `allow_nonfinite`. */
static spmm_status take_rows(const char *path, const void *from, int64_t row, int64_t n, int allow_nonfinite,
                             spmm_multivector *x)
{
    for (int64_t e = 0; e < n * x->k; e++) {
        const sp_c128 both = sp_value_at(from, x->precision, e);
        const double value = sp_part_not_finite(both);
        const int64_t i = row + e / x->k, j = e % x->k;
        if (!allow_nonfinite && !sp_is_finite(both))
            return sp_fail(
                SPMM_ERR_SYNTAX,
                "%s: found \"%s\" in row %lld, column %lld, expected a finite value (or --allow-nonfinite)",
                path,
                isnan(value) ? "nan"
                : value > 0  ? "inf"
                             : "-inf",
                (long long)i + 1, (long long)j + 1);
        sp_value_set(x->data, x->precision, i * x->ld + j, both);
    }
    return SPMM_OK;
}

static spmm_status read_rows(const sp_csr_file *f, const sp_read_options *o, spmm_multivector *x)
{
    const sp_csr_file_range how = {
        .precision = o->precision, .allow_nonfinite = o->allow_nonfinite, .threads = o->threads};
    const int64_t at_once = x->k < 1 << 20 ? (1 << 20) / x->k : 1;
    void *buffer;
    TRY(sp_alloc(&buffer, (at_once < x->rows ? at_once : x->rows) * x->k, sp_value_size(o->precision),
                 "a part of X"));
    spmm_status status = SPMM_OK;
    for (int64_t row = 0; row < x->rows && status == SPMM_OK; row += at_once) {
        const int64_t n = x->rows - row < at_once ? x->rows - row : at_once;
        status = sp_csr_file_values(f, &how, row * x->k, (row + n) * x->k, buffer);
        if (status == SPMM_OK) status = take_rows(f->path, buffer, row, n, o->allow_nonfinite, x);
    }
    sp_free(buffer);
    return status;
}

/** Reads a sparse matrix and stores its entries in x, whose elements are 0 on entry. */
static spmm_status read_entries(sp_csr_file *f, const sp_read_options *o, spmm_multivector *x)
{
    spmm_csr a;
    TRY(sp_csr_file_whole(f, o, &a, NULL));
    for (int64_t i = 0; i < a.rows; i++)
        for (int64_t e = a.irp[i]; e < a.irp[i + 1]; e++)
            sp_values_copy(x->precision, a.as, e, 1, x->data, i * x->ld + a.ja[e]);
    spmm_csr_destroy(&a);
    return SPMM_OK;
}

spmm_status sp_petsc_file_dense(const char *path, int fd, const sp_read_options *options, spmm_multivector *x)
{
    sp_csr_file f = file_of(path, fd);
    petsc_head h;
    memset(x, 0, sizeof *x);
    spmm_status status = lay_out_dense(&f, &h);
    if (status == SPMM_OK)
        status = sp_memory_needs((double)h.rows * (double)h.cols * (double)sp_value_size(options->precision),
                                 "its matrix");
    if (status == SPMM_OK) status = spmm_multivector_create(h.rows, h.cols, options->precision, SPMM_CPU, x);
    if (status == SPMM_OK)
        status = h.entries == DENSE ? read_rows(&f, options, x) : read_entries(&f, options, x);
    if (status != SPMM_OK) spmm_multivector_destroy(x);
    close(fd);
    return status;
}
