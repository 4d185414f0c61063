/** Binary files of PETSc: the same outcome for any number of threads, whole or in blocks. Each file is read
 *  as a matrix and, unless it is large, also as X.
 *
 *  Bit 0 of extra: the numbers after the head are made small, so that lengths and columns are likely to be
 *  valid: all bytes of an index except the last are set to 0. */
#include <string.h>

#include "formats/csr.h"
#include "files.h"
#include "files/csr_file.h"
#include "files/dense_file.h"
#include "files/matrix_file.h"

enum { MOST = 1 << 14 };

static void read_file(const char *path, const sp_read_options *options, ways_outcome *o)
{
    sp_sizes sizes;
    files_read(path, options, NULL, INT64_MAX, &sizes, o);
    if (o->status == SPMM_OK) FUZZ_CHECK(o->stored == sizes.entries && o->a.nnz == o->stored - o->duplicates);
}

static void read_x(const char *path, const sp_read_options *options, ways_outcome *o)
{
    *o = (ways_outcome){.status = SPMM_OK};
    o->status = sp_dense_file_read(path, options, &o->x);
    snprintf(o->message, sizeof o->message, "%s", spmm_error_message());
    if (o->status != SPMM_OK) FUZZ_CHECK(!o->x.data);
}

/** Checks that blocks of rows and columns equal those parts of the whole matrix. */
static void check_blocks(const char *path, const sp_read_options *options, const ways_outcome *whole)
{
    const spmm_csr *const a = &whole->a;
    sp_matrix_file f;
    FUZZ_CHECK(sp_matrix_file_open(path, options, &f) == SPMM_OK);
    for (int k = 0; k < 4; k++) {
        const sp_csr_file_range r = {k % 2 ? a->rows / 2 : 0, k % 2 ? a->rows : a->rows / 2,
                                     k / 2 ? a->cols / 2 : 0, k / 2 ? a->cols : a->cols / 2,
                                     options->precision,      options->allow_nonfinite,
                                     options->threads};
        spmm_csr b;
        FUZZ_CHECK(sp_csr_file_block(sp_csr_file_itself(f.file), &r, &b, NULL) == SPMM_OK);
        FUZZ_CHECK(sp_csr_check(&b, 1) == SPMM_OK && b.rows == r.row_end - r.row_begin);
        int64_t expected = 0;
        for (int64_t i = r.row_begin; i < r.row_end; i++)
            for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++) {
                if (a->ja[e] < r.col_begin || a->ja[e] >= r.col_end) continue;
                const size_t size = (size_t)sp_value_size(a->precision);
                FUZZ_CHECK(expected < b.nnz && b.ja[expected] == a->ja[e] - r.col_begin);
                FUZZ_CHECK(memcmp((char *)b.as + (size_t)expected * size, (char *)a->as + (size_t)e * size,
                                  size) == 0);
                expected++;
            }
        FUZZ_CHECK(expected == b.nnz);
        spmm_csr_destroy(&b);
    }
    sp_matrix_file_close(&f);
}

int fuzz_petsc(const uint8_t *data, size_t size)
{
    static uint8_t bytes[MOST];
    fuzz_input in;
    if (!fuzz_begin(&in, "petsc", data, size) || in.size > MOST) return 0;
    memcpy(bytes, in.data, in.size);
    /* not a file of PETSc: other targets test such input */
    if (in.size < 8 || (memcmp(bytes, "\0\x12\x7B", 3) != 0 && memcmp(bytes, "\0\0\0\0\0\x12\x7B", 7) != 0))
        return fuzz_end();
    const size_t index = in.size > 4 && bytes[0] == 0 && bytes[1] == 0 ? 8 : 4;
    for (size_t k = 4 * index; in.extra & 1 && k < in.size && k < 32 * index; k++)
        if (k % index < index - 1) bytes[k] = 0;
    const char *const path = fuzz_file(bytes, in.size);
    static const files_reader readers[] = {read_file, read_x};
    /* a sparse X in a file of a few bytes may have any size: large ones are skipped */
    sp_sizes sizes;
    const int small = sp_dense_file_sizes(path, &sizes) != SPMM_OK ||
                      (double)sizes.rows * (double)sizes.cols < 1e5;
    for (int k = 0; k < 1 + small; k++) {
        ways_outcome o;
        files_check(&in, path, readers[k], &o);
        if (k == 0 && o.status == SPMM_OK && bytes[0] == 0) check_blocks(path, &in.read, &o);
        ways_destroy(&o);
    }
    return fuzz_end();
}
