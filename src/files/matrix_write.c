/** Writes matrices as Matrix Market text, .npz and PETSc binary files. */
#include "files/matrix_write.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "base/memory.h"
#include "base/output_file.h"
#include "codec/gzip_output.h"

/* Write errors set the error indicator of the FILE, and are reported when it is closed. */

/* ---- Matrix Market ---- */

static void write_mtx(FILE *f, const spmm_csr *a)
{
    const int digits = sp_type_of(a->precision).digits;
    const int complex = sp_is_complex(a->precision);
    fprintf(f, "%%%%MatrixMarket matrix coordinate %s general\n%lld %lld %lld\n",
            complex ? "complex" : "real", (long long)a->rows, (long long)a->cols, (long long)a->nnz);
    for (int64_t i = 0; i < a->rows && !ferror(f); i++)
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++) {
            const sp_c128 value = sp_value_at(a->as, a->precision, e);
            fprintf(f, "%lld %lld %.*g", (long long)i + 1, (long long)a->ja[e] + 1, digits, __real__ value);
            if (complex) fprintf(f, " %.*g", digits, __imag__ value);
            fputc('\n', f);
        }
}

/* ---- .npz ---- */

enum { NPY_HEAD = 128, NPZ_ARRAYS = 5, NAME_BYTES = 16 };

/** An array of NumPy, and the member of the archive that it becomes. */
typedef struct written_array {
    char name[NAME_BYTES];
    char head[NPY_HEAD];
    const void *data;
    int64_t bytes; /* of the data */
    uint64_t offset;
    uint32_t crc;
} written_array;

static void matrix_write_put(unsigned char *to, uint64_t number, int bytes)
{
    for (int b = 0; b < bytes; b++) to[b] = (unsigned char)(number >> 8 * b);
}

/** Makes the NumPy head and the CRC of an array with elements of the type `kind` (i4, f8, ..); `shape` is in
 *  Python's notation. */
static written_array array_of(const char *name, const char *kind, const char *shape, const void *data,
                              int64_t bytes)
{
    written_array a = {.data = data, .bytes = bytes};
    char text[NPY_HEAD];
    const char order = kind[0] == 'S' ? '|' : __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>';
    snprintf(a.name, sizeof a.name, "%s.npy", name);
    snprintf(text, sizeof text, "{'descr': '%c%s', 'fortran_order': False, 'shape': %s, }", order, kind,
             shape);
    memset(a.head, ' ', sizeof a.head);
    memcpy(a.head, "\x93NUMPY\1", 8);
    matrix_write_put((unsigned char *)a.head + 8, NPY_HEAD - 10, 2);
    memcpy(a.head + 10, text, strlen(text));
    a.head[NPY_HEAD - 1] = '\n';
    a.crc = (uint32_t)crc32_z(crc32_z(0, (const Bytef *)a.head, NPY_HEAD), data, (size_t)bytes);
    return a;
}

/** Stores at p the fields that a local header and a directory entry have in common, from the version on. The
 *  sizes may exceed 32 bits: put_sizes() writes them to a zip64 field, and the 32-bit fields are 0xFFFFFFFF.
 *  \param [in] extra  length of the zip64 field in bytes
 *  \return length of the member's name */
static int64_t put_common(unsigned char *p, const written_array *a, int extra)
{
    const int64_t name = (int64_t)strlen(a->name);
    matrix_write_put(p, 45, 2);       /* version: zip64 */
    matrix_write_put(p + 8, 0x21, 2); /* date: 1980-01-01, so that the same matrix makes the same file */
    matrix_write_put(p + 10, a->crc, 4);
    matrix_write_put(p + 14, UINT32_MAX, 4);
    matrix_write_put(p + 18, UINT32_MAX, 4);
    matrix_write_put(p + 22, (uint64_t)name, 2);
    matrix_write_put(p + 24, (uint64_t)extra, 2);
    return name;
}

static int64_t put_sizes(unsigned char *p, const written_array *a, int bytes)
{
    matrix_write_put(p, 1, 2);
    matrix_write_put(p + 2, (uint64_t)bytes, 2);
    matrix_write_put(p + 4, (uint64_t)(NPY_HEAD + a->bytes), 8);
    matrix_write_put(p + 12, (uint64_t)(NPY_HEAD + a->bytes), 8);
    return 4 + bytes;
}

/** Writes a member; returns the number of bytes. */
static uint64_t write_member(FILE *f, const written_array *a)
{
    unsigned char p[30 + NAME_BYTES + 20] = "PK\3\4";
    const int64_t name = put_common(p + 4, a, 20);
    memcpy(p + 30, a->name, (size_t)name);
    const int64_t n = 30 + name + put_sizes(p + 30 + name, a, 16);
    fwrite(p, 1, (size_t)n, f);
    fwrite(a->head, 1, NPY_HEAD, f);
    fwrite(a->data, 1, (size_t)a->bytes, f);
    return (uint64_t)(n + NPY_HEAD + a->bytes);
}

/** Writes a member's entry of the directory; returns the number of bytes. */
static uint64_t write_entry(FILE *f, const written_array *a)
{
    unsigned char p[46 + NAME_BYTES + 28] = "PK\1\2";
    matrix_write_put(p + 4, 45, 2);
    const int64_t name = put_common(p + 6, a, 28);
    matrix_write_put(p + 42, UINT32_MAX, 4);
    memcpy(p + 46, a->name, (size_t)name);
    const int64_t n = 46 + name + put_sizes(p + 46 + name, a, 24);
    matrix_write_put(p + n - 8, a->offset, 8);
    fwrite(p, 1, (size_t)n, f);
    return (uint64_t)n;
}

/** Writes the three records at the end of a zip64 archive: the zip64 end record, its locator, and the end
 *  record.
 *  \param [in] directory, bytes  offset and size of the directory in bytes */
static void write_end(FILE *f, int members, uint64_t directory, uint64_t bytes)
{
    unsigned char p[56 + 20 + 22] = "PK\6\6";
    matrix_write_put(p + 4, 44, 8);
    matrix_write_put(p + 12, 45, 2);
    matrix_write_put(p + 14, 45, 2);
    matrix_write_put(p + 24, (uint64_t)members, 8);
    matrix_write_put(p + 32, (uint64_t)members, 8);
    matrix_write_put(p + 40, bytes, 8);
    matrix_write_put(p + 48, directory, 8);
    memcpy(p + 56, "PK\6\7", 4);
    matrix_write_put(p + 64, directory + bytes, 8);
    matrix_write_put(p + 72, 1, 4);
    memcpy(p + 76, "PK\5\6", 4);
    matrix_write_put(p + 84, UINT16_MAX, 2);
    matrix_write_put(p + 86, UINT16_MAX, 2);
    matrix_write_put(p + 88, UINT32_MAX, 4);
    matrix_write_put(p + 92, UINT32_MAX, 4);
    fwrite(p, 1, sizeof p, f);
}

static void write_npz(FILE *f, const spmm_csr *a)
{
    const int64_t sizes[2] = {a->rows, a->cols};
    char rows[32], entries[32];
    snprintf(rows, sizeof rows, "(%lld,)", (long long)a->rows + 1);
    snprintf(entries, sizeof entries, "(%lld,)", (long long)a->nnz);
    written_array arrays[NPZ_ARRAYS] = {
        array_of("indices", "i4", entries, a->ja, a->nnz * 4),
        array_of("indptr", "i8", rows, a->irp, (a->rows + 1) * 8),
        array_of("format", "S3", "()", "csr", 3),
        array_of("shape", "i8", "(2,)", sizes, sizeof sizes),
        array_of("data", sp_type_of(a->precision).numpy, entries, a->as,
                 a->nnz * sp_value_size(a->precision)),
    };
    uint64_t at = 0, bytes = 0;
    for (int k = 0; k < NPZ_ARRAYS; k++) {
        arrays[k].offset = at;
        at += write_member(f, &arrays[k]);
    }
    for (int k = 0; k < NPZ_ARRAYS; k++) bytes += write_entry(f, &arrays[k]);
    write_end(f, NPZ_ARRAYS, at, bytes);
}

/* ---- PETSc ---- */

enum { BATCH = 1 << 12 };

/** A buffer of numbers that are written big-endian. */
typedef struct big_endian {
    FILE *file;
    int size; /* of a number: 4 or 8 bytes */
    int64_t n;
    unsigned char bytes[8 * BATCH];
} big_endian;

static void flush(big_endian *b)
{
    fwrite(b->bytes, (size_t)b->size, (size_t)b->n, b->file);
    b->n = 0;
}

static void matrix_write_append(big_endian *b, uint64_t number)
{
    unsigned char *const p = b->bytes + b->n * b->size;
    for (int k = 0; k < b->size; k++) p[k] = (unsigned char)(number >> 8 * (b->size - 1 - k));
    if (++b->n == BATCH) flush(b);
}

static void write_petsc(FILE *f, const spmm_csr *a)
{
    enum { MATRIX = 1211216 };
    big_endian b = {.file = f, .size = a->nnz > INT32_MAX ? 8 : 4};
    const int64_t head[] = {MATRIX, a->rows, a->cols, a->nnz};
    for (int k = 0; k < 4; k++) matrix_write_append(&b, (uint64_t)head[k]);
    for (int64_t i = 0; i < a->rows; i++) matrix_write_append(&b, (uint64_t)(a->irp[i + 1] - a->irp[i]));
    for (int64_t e = 0; e < a->nnz; e++) matrix_write_append(&b, (uint64_t)a->ja[e]);
    flush(&b);
    b.size = 8;
    for (int64_t e = 0; e < a->nnz; e++) {
        const sp_c128 value = sp_value_at(a->as, a->precision, e);
        uint64_t bits[2];
        memcpy(bits, &value, sizeof bits);
        for (int part = 0; part < sp_type_of(a->precision).parts; part++) matrix_write_append(&b, bits[part]);
    }
    flush(&b);
}

/* ---- all ---- */

static const struct {
    const char *ending;
    int compressible;
    void (*write)(FILE *, const spmm_csr *);
} kinds[] = {{".mtx", 1, write_mtx}, {".npz", 0, write_npz}, {".petsc", 0, write_petsc}};

enum { KINDS = sizeof kinds / sizeof *kinds };

/** Returns the index of the format whose ending the name has; KINDS: none. */
static int kind_of(const char *path)
{
    const int packed = sp_gzip_name(path);
    const size_t n = strlen(path) - (packed ? strlen(".gz") : 0);
    int k = 0;
    for (; k < KINDS; k++) {
        const size_t length = strlen(kinds[k].ending);
        if (n >= length && strncasecmp(path + n - length, kinds[k].ending, length) == 0 &&
            (!packed || kinds[k].compressible))
            break;
    }
    return k;
}

int sp_matrix_write_knows(const char *path) { return kind_of(path) < KINDS; }

spmm_status sp_matrix_write(const char *path, const spmm_csr *a)
{
    const int kind = kind_of(path);
    sp_output_file out;
    if (kind == KINDS)
        return sp_fail(SPMM_ERR_USAGE, "%s: expected a name that ends in " SP_MATRIX_ENDINGS, path);
    TRY(sp_output_file_open(path, &out));
    kinds[kind].write(out.file, a);
    return sp_output_file_close(&out, SPMM_OK); /* also reports failed writes */
}
