/** CSV files of series, plain and gzipped: the same outcome in pieces of any size, with any number of
 *  threads.
 *
 *  Bit 0 of extra: the text is compressed by gzip first; bit 1: the first reading is with two threads. */
#include "fuzz.h"

#include <string.h>
#include <zlib.h>

#include "base/memory.h"
#include "io/csv.h"

typedef struct outcome {
    spmm_status status;
    char message[SP_MESSAGE_BYTES];
    spmm_multivector x;
} outcome;

static void read_file(const char *path, const sp_read_options *options, outcome *o)
{
    *o = (outcome){.status = SPMM_OK};
    o->status = sp_read_csv(path, options, &o->x);
    snprintf(o->message, sizeof o->message, "%s", spmm_error_message());
}

static void same_refusal(const outcome *a, const outcome *b)
{
    if (a->status != b->status || strcmp(a->message, b->message) != 0)
        fuzz_fail("%d \"%s\" and %d \"%s\"", (int)a->status, a->message, (int)b->status, b->message);
}

static void same_outcome(const outcome *a, const outcome *b)
{
    const size_t size = sp_value_size(a->x.precision);
    if (a->status != SPMM_OK || b->status != SPMM_OK) {
        same_refusal(a, b);
        return;
    }
    FUZZ_CHECK(a->x.rows == b->x.rows && a->x.k == b->x.k && a->x.precision == b->x.precision);
    for (int64_t i = 0; i < a->x.rows; i++)
        FUZZ_CHECK(memcmp((char *)a->x.data + (size_t)(i * a->x.ld) * size,
                          (char *)b->x.data + (size_t)(i * b->x.ld) * size, (size_t)a->x.k * size) == 0);
}

/** Checks that all values are finite, unless inf and nan are allowed. */
static void check_values(const outcome *o, int nonfinite)
{
    for (int64_t i = 0; i < o->x.rows && !nonfinite; i++) {
        for (int64_t j = 0; j < o->x.k; j++) {
            FUZZ_CHECK(sp_is_finite(sp_value_at(o->x.data, o->x.precision, i * o->x.ld + j)));
        }
    }
}

static void progress(void *context, double fraction)
{
    double *const last = context;
    FUZZ_CHECK(fraction >= 0 && fraction <= 1.0);
    *last = fraction;
}

static void check_faults(const fuzz_input *in, const char *path, const outcome *expected)
{
    outcome o;
    fuzz_fault_on(in);
    read_file(path, &in->read, &o);
    fuzz_fault_off();
    sp_set_message(o.message);
    if (o.status != SPMM_OK) fuzz_refused(o.status, path, FUZZ_PATH);
    if (fuzz_harmless(in) || (o.status == SPMM_OK && in->fault != FUZZ_CHANGE && in->fault != FUZZ_CUT))
        same_outcome(expected, &o);
    spmm_multivector_destroy(&o.x);
}

static const char *packed_file(const fuzz_input *in)
{
    static uint8_t packed[1 << 16];
    z_stream z = {0};
    if (in->size > sizeof packed / 2) return NULL;
    FUZZ_CHECK(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    z.next_in = (Bytef *)(uintptr_t)in->data;
    z.avail_in = (uInt)in->size;
    z.next_out = packed;
    z.avail_out = sizeof packed;
    FUZZ_CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
    const size_t n = sizeof packed - z.avail_out;
    deflateEnd(&z);
    return fuzz_file(packed, n);
}

int fuzz_csv(const uint8_t *data, size_t size)
{
    fuzz_input in;
    outcome whole, pieces;
    double last = 0;
    if (!fuzz_begin(&in, "csv", data, size)) return 0;
    const char *const path = in.extra & 1 ? packed_file(&in) : fuzz_file(in.data, in.size);
    if (!path) return 0;
    sp_read_options options = in.read;
    options.threads = in.extra & 2 ? 2 : 1;
    fuzz_chunk(FUZZ_WHOLE);
    read_file(path, &options, &whole);
    if (whole.status != SPMM_OK)
        fuzz_refused(whole.status, path, FUZZ_LINE);
    else
        check_values(&whole, in.read.allow_nonfinite);
    options = in.read;
    options.progress = progress;
    options.progress_context = &last;
    fuzz_chunk(in.chunk);
    read_file(path, &options, &pieces);
    same_outcome(&whole, &pieces);
    if (pieces.status == SPMM_OK) FUZZ_CHECK(last == 1.0);
    if (in.fault != FUZZ_NO_FAULT) check_faults(&in, path, &whole);
    spmm_multivector_destroy(&whole.x);
    spmm_multivector_destroy(&pieces.x);
    return fuzz_end();
}
