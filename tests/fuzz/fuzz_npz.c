/** Files of SciPy's save_npz(): one outcome for any number of threads, and blocks of rows that are read
 *  without checksums. */
#include <string.h>

#include "files/csr_file.h"
#include "files/matrix_file.h"
#include "formats/csr.h"
#include "fuzz.h"

enum { MOST = 1 << 20 };

typedef struct outcome {
    spmm_status status;
    char message[SP_MESSAGE_BYTES];
    spmm_csr a;
    int64_t stored, duplicates;
} outcome;

static void read_file(const char *path, const sp_read_options *options, outcome *o)
{
    sp_matrix_file f;
    *o = (outcome){.status = SPMM_OK};
    o->status = sp_matrix_file_open(path, options, &f);
    if (o->status == SPMM_OK) {
        const sp_sizes sizes = sp_matrix_file_sizes(&f);
        if (sizes.rows > MOST || sizes.cols > MOST) { /* the arrays of a COO do not bound its shape */
            sp_matrix_file_close(&f);
            o->status = sp_fail(SPMM_ERR_MEMORY, "%s: too large for a target", path);
            return;
        }
        o->status = sp_matrix_file_read(&f, &o->a, NULL, &o->stored, &o->duplicates);
        if (o->status == SPMM_OK) {
            FUZZ_CHECK(sp_csr_check(&o->a) == SPMM_OK && o->a.precision == options->precision);
            FUZZ_CHECK(sizes.rows == o->a.rows && sizes.cols == o->a.cols && o->stored <= sizes.entries);
            FUZZ_CHECK(o->a.nnz == o->stored - o->duplicates);
        }
    }
    snprintf(o->message, sizeof o->message, "%s", spmm_error_message());
    if (o->status != SPMM_OK) FUZZ_CHECK(!o->a.irp && !o->a.ja && !o->a.as);
}

static void same_outcome(const outcome *a, const outcome *b)
{
    if (a->status != b->status || (a->status != SPMM_OK && strcmp(a->message, b->message) != 0))
        fuzz_fail("%d \"%s\" and %d \"%s\"", (int)a->status, a->message, (int)b->status, b->message);
    if (a->status != SPMM_OK) return;
    FUZZ_CHECK(a->duplicates == b->duplicates);
    fuzz_same_csr(&a->a, &b->a);
}

/** Reads blocks as ranks do, whose entries no checksum covers: each is a matrix, or is refused. */
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
            FUZZ_CHECK(sp_csr_check(&b) == SPMM_OK && b.rows == r.row_end - r.row_begin);
        else
            fuzz_refused(status, path, FUZZ_ANY);
        spmm_csr_destroy(&b);
    }
    sp_matrix_file_close(&f);
}

int fuzz_npz(const uint8_t *data, size_t size)
{
    fuzz_input in;
    outcome one, other;
    if (!fuzz_begin(&in, "npz", data, size)) return 0;
    if (in.size < 4 || memcmp(in.data, "PK\3\4", 4) != 0) return fuzz_end(); /* another target's */
    const char *const path = fuzz_file(in.data, in.size);
    sp_read_options alone = in.read;
    alone.threads = 1;
    read_file(path, &alone, &one);
    if (one.status != SPMM_OK) fuzz_refused(one.status, path, FUZZ_ANY);
    read_file(path, &in.read, &other);
    same_outcome(&one, &other);
    read_blocks(path, &in.read);
    spmm_csr_destroy(&one.a);
    spmm_csr_destroy(&other.a);
    return fuzz_end();
}
