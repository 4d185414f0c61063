/** Harwell-Boeing and Rutherford-Boeing files, plain or compressed: one outcome for any number of threads and
 *  any chunks. */
#include <string.h>

#include "files/matrix_file.h"
#include "formats/csr.h"
#include "fuzz.h"

enum { MOST = 1 << 14 };

typedef struct outcome {
    spmm_status status;
    char message[SP_MESSAGE_BYTES];
    spmm_csr a;
    int64_t stored, duplicates;
    int other; /* 1: the file is of another format */
} outcome;

static void read_file(const char *path, const sp_read_options *options, outcome *o)
{
    sp_matrix_file f;
    *o = (outcome){.status = SPMM_OK};
    o->status = sp_matrix_file_open(path, options, &f);
    o->other = strcmp(f.format->name, "Harwell-Boeing") != 0;
    if (o->status == SPMM_OK && o->other) {
        sp_matrix_file_close(&f);
        return;
    }
    if (o->status == SPMM_OK) {
        const sp_sizes sizes = sp_matrix_file_sizes(&f);
        if (sizes.rows > MOST || sizes.cols > MOST) { /* rows may be many without entries */
            sp_matrix_file_close(&f);
            o->status = sp_fail(SPMM_ERR_MEMORY, "%s: too large for a target", path);
        } else {
            o->status = sp_matrix_file_read(&f, &o->a, NULL, &o->stored, &o->duplicates);
        }
        if (o->status == SPMM_OK) {
            FUZZ_CHECK(sp_csr_check(&o->a) == SPMM_OK && o->a.precision == options->precision);
            FUZZ_CHECK(sizes.rows == o->a.rows && sizes.cols == o->a.cols);
            FUZZ_CHECK(o->a.nnz <= 2 * o->stored && o->duplicates <= 2 * o->stored);
        }
    }
    snprintf(o->message, sizeof o->message, "%s", spmm_error_message());
    if (o->status != SPMM_OK) FUZZ_CHECK(!o->a.irp && !o->a.ja && !o->a.as);
}

static void same_outcome(const outcome *a, const outcome *b)
{
    if (a->status != b->status || (a->status != SPMM_OK && strcmp(a->message, b->message) != 0))
        fuzz_fail("%d \"%s\" and %d \"%s\"", (int)a->status, a->message, (int)b->status, b->message);
    if (a->status != SPMM_OK || a->other) return;
    FUZZ_CHECK(a->duplicates == b->duplicates);
    fuzz_same_csr(&a->a, &b->a);
}

int fuzz_harwell_boeing(const uint8_t *data, size_t size)
{
    fuzz_input in;
    outcome one, other;
    if (!fuzz_begin(&in, "harwell_boeing", data, size)) return 0;
    const char *const path = fuzz_file(in.data, in.size);
    sp_read_options alone = in.read;
    alone.threads = 1;
    fuzz_chunk(FUZZ_WHOLE);
    read_file(path, &alone, &one);
    if (one.status != SPMM_OK) fuzz_refused(one.status, path, FUZZ_ANY);
    fuzz_chunk(in.chunk);
    read_file(path, &in.read, &other);
    same_outcome(&one, &other);
    spmm_csr_destroy(&other.a);
    if (in.fault != FUZZ_NO_FAULT && !one.other) {
        fuzz_fault_on(&in);
        read_file(path, &in.read, &other);
        fuzz_fault_off();
        sp_set_message(other.message);
        if (other.status != SPMM_OK) fuzz_refused(other.status, path, FUZZ_ANY);
        if (fuzz_harmless(&in)) same_outcome(&one, &other);
        spmm_csr_destroy(&other.a);
    }
    spmm_csr_destroy(&one.a);
    return fuzz_end();
}
