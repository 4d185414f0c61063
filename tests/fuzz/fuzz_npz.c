/** Files of SciPy's save_npz(): the same outcome for any number of threads; also blocks of rows, which are
 *  read without checking checksums, and a matrix that is written: the file is complete or does not exist. Bit
 *  1 of in->extra: the checksums of stored members are made right. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "files/csr_file.h"
#include "files/matrix_file.h"
#include "files/matrix_write.h"
#include "formats/csr.h"
#include "files.h"

enum { MOST = 1 << 20, MOST_WRITTEN = 1 << 12 };

static void read_file(const char *path, const sp_read_options *options, ways_outcome *o)
{
    sp_sizes sizes;
    files_read(path, options, NULL, MOST, &sizes, o); /* a COO's shape may be larger than its arrays */
    if (o->status == SPMM_OK) FUZZ_CHECK(o->stored <= sizes.entries && o->a.nnz == o->stored - o->duplicates);
}

/** Reads blocks as ranks do, without the checksums: each is a valid matrix or refused. */
static void read_blocks(const char *path, const sp_read_options *options)
{
    sp_matrix_file f;
    if (sp_matrix_file_open(path, options, &f) != SPMM_OK) return;
    const sp_sizes sizes = sp_matrix_file_sizes(&f);
    struct sp_csr_file *const rows = f.format->csr ? f.format->csr(f.file) : NULL;
    for (int k = 0; rows && k < 4; k++) {
        const sp_csr_file_range r = {k % 2 ? sizes.rows / 2 : 0,
                                     k % 2 ? sizes.rows : sizes.rows / 2,
                                     k / 2 ? sizes.cols / 2 : 0,
                                     sizes.cols,
                                     options->precision,
                                     options->allow_nonfinite,
                                     options->threads};
        spmm_csr b;
        const spmm_status status = sp_csr_file_block(rows, &r, &b, NULL);
        if (status == SPMM_OK)
            FUZZ_CHECK(sp_csr_check(&b, 1) == SPMM_OK && b.rows == r.row_end - r.row_begin);
        else
            fuzz_refused(status, path, FUZZ_ANY);
        spmm_csr_destroy(&b);
    }
    sp_matrix_file_close(&f);
}

/** Writes the matrix, without a fault and with each kind of fault. */
static void check_written(const fuzz_input *in, const spmm_csr *a)
{
    const sp_read_options options = {.precision = a->precision, .threads = 1, .allow_nonfinite = 1};
    const char *const path = fuzz_folder_file("a.npz");
    for (int kind = FUZZ_ALLOC_ONCE - 1; kind <= FUZZ_INTR; kind++) {
        fuzz_input how = *in;
        how.fault = kind < FUZZ_ALLOC_ONCE ? FUZZ_NO_FAULT : (fuzz_fault)kind;
        fuzz_fault_on(&how);
        const spmm_status status = sp_matrix_write(path, a);
        fuzz_fault_off();
        if (status == SPMM_OK) {
            ways_outcome again;
            read_file(path, &options, &again);
            FUZZ_CHECK(again.status == SPMM_OK);
            fuzz_same_csr(a, &again.a);
            ways_destroy(&again);
        } else {
            fuzz_refused(status, path, FUZZ_ANY);
            FUZZ_CHECK(how.fault != FUZZ_NO_FAULT && !fuzz_harmless(&how));
        }
        FUZZ_CHECK(fuzz_folder_clean(path) == (status == SPMM_OK));
    }
}

static size_t number_at(const uint8_t *p, int bytes)
{
    size_t value = 0;
    for (int b = bytes; b > 0; b--) value = value << 8 | p[b - 1];
    return value;
}

/** Puts the CRC of each stored member into its entry of the directory. */
static void mend(uint8_t *p, size_t n)
{
    for (size_t at = 0; at + 46 <= n; at++) {
        const size_t packed = number_at(p + at + 20, 4), local = number_at(p + at + 42, 4);
        if (memcmp(p + at, "PK\1\2", 4) != 0 || p[at + 10] != 0 || local + 30 > n) continue;
        const size_t begin = local + 30 + number_at(p + local + 26, 2) + number_at(p + local + 28, 2);
        if (begin > n || packed > n - begin) continue;
        const uint32_t crc = (uint32_t)crc32_z(0, p + begin, packed);
        for (int b = 0; b < 4; b++) p[at + 16 + (size_t)b] = (uint8_t)(crc >> 8 * b);
    }
}

int fuzz_npz(const uint8_t *data, size_t size)
{
    fuzz_input in;
    ways_outcome o;
    if (!fuzz_begin(&in, "npz", data, size)) return 0;
    /* other targets test input that is not an npz file */
    if (in.size < 4 || memcmp(in.data, "PK\3\4", 4) != 0) return fuzz_end();
    uint8_t *const bytes = malloc(in.size);
    if (!bytes) return fuzz_end();
    memcpy(bytes, in.data, in.size);
    if (in.extra & 1) mend(bytes, in.size);
    const char *const path = fuzz_file(bytes, in.size);
    free(bytes);
    files_check(&in, path, read_file, &o);
    read_blocks(path, &in.read);
    if (o.status == SPMM_OK && o.a.rows <= MOST_WRITTEN) check_written(&in, &o.a);
    ways_destroy(&o);
    return fuzz_end();
}
