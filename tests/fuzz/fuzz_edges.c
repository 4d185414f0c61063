/** Edge lists: one outcome for any number of threads and any chunks, and the matrix of its lines as strtoll()
 *  and strtod() take them.
 *
 *  Bit 0 of extra: vertices are numbered from 1. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "files/matrix_file.h"
#include "formats/csr.h"
#include "fuzz.h"

enum { MOST = 1 << 14, EDGES = FUZZ_WHOLE / 4 + 1 };

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
        FUZZ_CHECK(sizes.rows == sizes.cols && sizes.rows > 0 && sizes.entries > 0);
        if (sizes.rows > MOST) {
            sp_matrix_file_close(&f);
            o->status = sp_fail(SPMM_ERR_MEMORY, "%s: too large for a target", path);
        } else {
            o->status = sp_matrix_file_read(&f, &o->a, NULL, &o->stored, &o->duplicates);
        }
        if (o->status == SPMM_OK) {
            FUZZ_CHECK(sp_csr_check(&o->a) == SPMM_OK && o->a.precision == options->precision);
            FUZZ_CHECK(sizes.rows == o->a.rows && sizes.cols == o->a.cols && o->stored == sizes.entries);
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

/** The triplets of an accepted text. */
static int64_t parse_lines(char *text, int base, int64_t *row, int64_t *col, double *value)
{
    int64_t n = 0;
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        while (isspace((unsigned char)*line)) line++;
        if (*line == 0 || *line == '#' || *line == '%') continue;
        FUZZ_CHECK(n < EDGES);
        row[n] = strtoll(line, &line, 10) - base;
        col[n] = strtoll(line, &line, 10) - base;
        while (isspace((unsigned char)*line)) line++;
        value[n] = *line ? strtod(line, &line) : 1.0;
        n++;
    }
    return n;
}

/** Compares with the triplets, where strtod() takes all numbers that the reader takes. */
static void check_lines(const fuzz_input *in, const outcome *o)
{
    static int64_t row[EDGES], col[EDGES];
    static double value[EDGES];
    static char text[FUZZ_WHOLE + 1];
    spmm_csr a;
    if (in->size > FUZZ_WHOLE || memchr(in->data, 0, in->size)) return;
    memcpy(text, in->data, in->size);
    text[in->size] = 0;
    for (size_t k = 0; k < in->size; k++)
        if (isalpha((unsigned char)text[k]) || text[k] == '+' || text[k] == '-') return;
    if (text[0] == '\x1f' || text[0] == '\x28' || text[0] == '\xfd') return; /* compressed */
    const int64_t n = parse_lines(text, (int)(in->extra & 1), row, col, value);
    FUZZ_CHECK(n == o->stored);
    FUZZ_CHECK(spmm_csr_from_triplets(o->a.rows, o->a.cols, n, row, col, value, o->a.precision, &a) ==
               SPMM_OK);
    fuzz_same_csr(&a, &o->a);
    spmm_csr_destroy(&a);
}

int fuzz_edges(const uint8_t *data, size_t size)
{
    fuzz_input in;
    outcome one, other;
    if (!fuzz_begin(&in, "edges", data, size)) return 0;
    const char *const path = fuzz_file(in.data, in.size);
    in.read.edges = in.extra & 1 ? 2 : 1;
    sp_read_options alone = in.read;
    alone.threads = 1;
    fuzz_chunk(FUZZ_WHOLE);
    read_file(path, &alone, &one);
    if (one.status != SPMM_OK) fuzz_refused(one.status, path, FUZZ_ANY);
    if (one.status == SPMM_OK) check_lines(&in, &one);
    fuzz_chunk(in.chunk);
    read_file(path, &in.read, &other);
    same_outcome(&one, &other);
    spmm_csr_destroy(&other.a);
    if (in.fault != FUZZ_NO_FAULT) {
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
