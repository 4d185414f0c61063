/** Edge lists: the same outcome for any number of threads and any size of pieces, and the matrix that
 *  strtoll() and strtod() read from the lines.
 *
 *  Bit 0 of extra: vertices are numbered from 1. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "codec/codec.h"
#include "files.h"

enum { MOST = 1 << 14, EDGES = FUZZ_WHOLE / 4 + 1 };

static void read_file(const char *path, const sp_read_options *options, ways_outcome *o)
{
    sp_sizes sizes;
    files_read(path, options, NULL, MOST, &sizes, o);
    FUZZ_CHECK(sizes.rows == sizes.cols && (sizes.rows > 0) == (sizes.entries > 0));
    if (o->status != SPMM_OK) return;
    FUZZ_CHECK(sizes.rows > 0);
    FUZZ_CHECK(o->stored == sizes.entries && o->a.nnz == o->stored - o->duplicates);
}

/** Parses an accepted text into triplets. Returns their number. */
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

/** Compares the outcome with the triplets, if strtod() accepts the same numbers as the reader. */
static void check_lines(const fuzz_input *in, const ways_outcome *o)
{
    static int64_t row[EDGES], col[EDGES];
    static double value[EDGES];
    static char text[FUZZ_WHOLE + 1];
    spmm_csr a;
    if (in->size > FUZZ_WHOLE || memchr(in->data, 0, in->size)) return;
    if (sp_codec_of(in->data, in->size < SP_CODEC_HEAD ? (int64_t)in->size : SP_CODEC_HEAD)) return;
    memcpy(text, in->data, in->size);
    text[in->size] = 0;
    for (size_t k = 0; k < in->size; k++)
        if (isalpha((unsigned char)text[k]) || text[k] == '+' || text[k] == '-') return;
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
    ways_outcome o;
    if (!fuzz_begin(&in, "edges", data, size)) return 0;
    in.read.edges = in.extra & 1 ? 2 : 1;
    files_check(&in, fuzz_file(in.data, in.size), read_file, &o);
    if (o.status == SPMM_OK) check_lines(&in, &o);
    ways_destroy(&o);
    return fuzz_end();
}
