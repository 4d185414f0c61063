/** Reads the body of a Matrix Market file in chunks, with all threads, into arrays or through a callback. */
#include "io/mtx_body.h"

#include <omp.h>
#include <stdio.h>

#include "base/memory.h"
#include "io/numparse.h"

/** Where a pass stores or sends the entries that it has parsed. */
typedef struct outlet {
    const sp_parse_output *target;
    sp_read_sink sink; /* NULL: entries are stored in the arrays of *target */
    void *context;
} outlet;

static void keep_first_error(sp_reading *r, const sp_read_error *e)
{
    if (e->status == SPMM_OK) return;
    if (r->error.status == SPMM_OK || e->line < r->error.line) r->error = *e;
    r->stop = 1;
}

/** Reads the next chunk of a region into *chunk; returns 0 if the region has none left. Chunks of a region
 *  are handed out in file order: when an error stops the threads, all earlier text of the region is already
 *  being parsed, so that no earlier error is missed. */
static int take_chunk(sp_reading *r, sp_region *region, sp_chunk *chunk, sp_read_error *error,
                      double *fraction)
{
    int more = 0;
    pthread_mutex_lock(&region->lock);
    if (!region->done) {
        sp_text_chunk(region->stream, chunk, error);
        more = error->status == SPMM_OK && chunk->bytes > 0;
        region->done = !more;
    }
    if (r->regions == 1) *fraction = sp_input_fraction(region->stream->source);
    pthread_mutex_unlock(&region->lock);
    return more;
}

/** Reads the next chunk for the calling thread, from its own region or, if that has none left, from another
 *  region. Returns 0 if no region has a chunk left or if an error has stopped the pass. */
static int next_chunk(sp_reading *r, sp_chunk *chunk, sp_triangles *first, double *fraction)
{
    sp_read_error error = {0};
    int more = 0;
    pthread_mutex_lock(&r->lock);
    const int stopped = r->stop;
    *first = r->first;
    pthread_mutex_unlock(&r->lock);
    for (int k = 0; k < r->regions && !stopped && !more && error.status == SPMM_OK; k++)
        more = take_chunk(r, &r->region[(omp_get_thread_num() + k) % r->regions], chunk, &error, fraction);
    pthread_mutex_lock(&r->lock);
    keep_first_error(r, &error);
    r->handed += more ? chunk->bytes : 0;
    if (r->regions > 1) *fraction = r->handed < r->bytes ? (double)r->handed / (double)r->bytes : 1.0;
    pthread_mutex_unlock(&r->lock);
    return more;
}

static void chunk_done(sp_reading *r, const sp_triangles *first, const sp_read_error *error)
{
    pthread_mutex_lock(&r->lock);
    keep_first_error(r, error);
    if (first->lower_line < r->first.lower_line) r->first.lower_line = first->lower_line;
    if (first->upper_line < r->first.upper_line) r->first.upper_line = first->upper_line;
    if (r->first.lower_line != INT64_MAX && r->first.upper_line != INT64_MAX) r->stop = 1;
    pthread_mutex_unlock(&r->lock);
}

static void report_progress(sp_reading *r, double fraction)
{
    if (!r->options.progress || omp_get_thread_num() != 0) return;
    const double now = omp_get_wtime();
    if (now < r->next_progress) return;
    r->next_progress = now + 0.1;
    r->options.progress(r->options.progress_context,
                        r->progress_from + (r->progress_to - r->progress_from) * fraction);
}

void sp_batch_destroy(sp_batch *b)
{
    sp_free(b->I);
    sp_free(b->J);
    sp_free(b->val);
    *b = (sp_batch){0};
}

spmm_status sp_batch_reserve(sp_batch *b, int64_t entries, spmm_precision precision)
{
    if (entries <= b->room) return SPMM_OK;
    sp_batch_destroy(b);
    TRY(sp_alloc((void **)&b->I, entries, sizeof *b->I, "a read buffer"));
    TRY(sp_alloc((void **)&b->J, entries, sizeof *b->J, "a read buffer"));
    TRY(sp_alloc(&b->val, entries, sp_value_size(precision), "a read buffer"));
    b->room = entries;
    return SPMM_OK;
}

static void no_memory(sp_read_error *error)
{
    sp_error_set(error, SPMM_ERR_MEMORY, 0, "%s", spmm_error_message());
}

static spmm_status set_changed(sp_read_error *error)
{
    return sp_error_set(
        error, SPMM_ERR_SYNTAX, 0,
        "found other entries than when it was read a moment before, expected a file that does "
        "not change while it is read");
}

/** Parses a chunk into the thread's arrays *b and passes its entries to the sink. */
static void parse_for_sink(const outlet *out, const sp_chunk *chunk, sp_batch *b, sp_triangles *first,
                           sp_read_error *error)
{
    sp_parse_output t = *out->target;
    if (sp_batch_reserve(b, chunk->entries, t.precision) != SPMM_OK) {
        no_memory(error);
        return;
    }
    t.I = b->I;
    t.J = b->J;
    t.val = t.wanted != SP_WANT_ALL || t.header->field == SP_FIELD_PATTERN ? NULL : b->val;
    t.first_entry = chunk->first_entry;
    if (sp_parse_chunk(&t, chunk, first, error) != SPMM_OK) return;
    const sp_entries entries = {chunk->entries, t.I, t.J, t.val};
    if (!out->sink(out->context, &entries)) set_changed(error);
}

static void read_chunks(sp_reading *r, const outlet *out)
{
    sp_chunk chunk = {0};
    sp_batch b = {0};
    sp_triangles first = {INT64_MAX, INT64_MAX};
    sp_read_error error = {0};
    double fraction = 0;
    if (sp_alloc((void **)&chunk.text, sp_text_chunk_capacity(&r->stream), 1, "a read buffer") != SPMM_OK) {
        no_memory(&error);
        chunk_done(r, &first, &error);
        return;
    }
    while (next_chunk(r, &chunk, &first, &fraction)) {
        if (out->sink)
            parse_for_sink(out, &chunk, &b, &first, &error);
        else
            sp_parse_chunk(out->target, &chunk, &first, &error);
        chunk_done(r, &first, &error);
        report_progress(r, fraction);
    }
    sp_batch_destroy(&b);
    sp_free(chunk.text);
}

/** Sets r->error for errors that only the whole body shows: too few entries, and entries in both triangles of
 *  a symmetric matrix, which would silently be counted twice. */
static void check_whole(sp_reading *r)
{
    const int64_t lower = r->first.lower_line, upper = r->first.upper_line;
    const char *const kept = lower < upper ? "lower" : "upper", *const other = lower < upper ? "upper"
                                                                                             : "lower";
    sp_read_error error = {0};
    if (lower != INT64_MAX && upper != INT64_MAX) {
        sp_error_set(
            &error, SPMM_ERR_SYNTAX, lower > upper ? lower : upper,
            "found an entry of the %s triangle, expected only the %s one, which line %lld began: the "
            "matrix is %s",
            other, kept, (long long)(lower < upper ? lower : upper),
            r->header.symmetry == SP_SKEW ? "skew-symmetric" : "symmetric");
        keep_first_error(r, &error);
    }
    if (r->error.status == SPMM_OK && r->stream.entries < r->header.entries) {
        sp_error_set(
            &error, SPMM_ERR_SYNTAX, r->stream.lines,
            "found the end of the file after %lld of %lld entries, expected all that line %lld promises",
            (long long)r->stream.entries, (long long)r->header.entries, (long long)r->header.size_line);
        keep_first_error(r, &error);
    }
}

/** Makes the whole body a single region. */
static void one_region(sp_reading *r, sp_region *region)
{
    *region = (sp_region){.stream = &r->stream};
    pthread_mutex_init(&region->lock, NULL);
    r->region = region;
    r->regions = 1;
}

static void read_regions(sp_reading *r, const outlet *out, int threads)
{
    pthread_mutex_init(&r->lock, NULL);
    r->first = (sp_triangles){INT64_MAX, INT64_MAX};
    r->next_progress = 0;
    r->handed = 0;
#pragma omp parallel num_threads(threads)
    read_chunks(r, out);
    pthread_mutex_destroy(&r->lock);
}

static spmm_status end_pass(sp_reading *r)
{
    check_whole(r);
    if (r->options.progress && r->error.status == SPMM_OK)
        r->options.progress(r->options.progress_context, r->progress_to);
    return r->error.status;
}

/** Returns the number of threads to use: r->options.threads, but at most one per chunk. */
static int threads_for(const sp_reading *r)
{
    const int64_t chunks = sp_text_bytes_left_at_most(&r->stream) / r->stream.chunk_bytes + 1;
    return r->options.threads < 1 ? 1 : chunks < r->options.threads ? (int)chunks : r->options.threads;
}

static spmm_status read_in_order(sp_reading *r, const outlet *out)
{
    sp_region region;
    one_region(r, &region);
    read_regions(r, out, threads_for(r));
    pthread_mutex_destroy(&region.lock);
    return end_pass(r);
}

spmm_status sp_reading_body(sp_reading *r, const sp_parse_output *target)
{
    const outlet out = {target, NULL, NULL};
    return read_in_order(r, &out);
}

/** Sets *begin to the position of the first line that begins at or after byte `at`. */
static spmm_status find_line(sp_text *s, int64_t at, int64_t *begin)
{
    const char *line, *end;
    sp_read_error error = {0};
    sp_text_go_back(s, at - 1, 0);
    TRY(sp_text_line(s, &line, &end, &error));
    *begin = sp_text_position(s);
    return SPMM_OK;
}

/** Splits the body into regions of about equal length, one per thread. If this fails, the caller reads the
 *  body in order. */
static spmm_status split_body(sp_reading *r, int threads, sp_region *region, sp_text *stream)
{
    int64_t begin = INT64_MAX; /* no limit for the last region, so that appended text is noticed */
    /* empties the stream's buffer: it holds the beginning of the body, which was read with the header */
    sp_text_go_back(&r->stream, r->body, r->body_lines);
    for (int t = threads; t-- > 0;) {
        sp_text *const s = t > 0 ? &stream[t] : &r->stream;
        const int64_t limit = begin;
        if (t > 0) {
            TRY(sp_text_dup(&r->stream, s));
            TRY(find_line(s, r->body + 1 + r->bytes / threads * t, &begin));
            if (begin > limit) begin = limit; /* one line spans the region: leave it empty */
            sp_text_go_back(s, begin, 0);
        }
        sp_input_limit(s->source, limit);
        region[t].stream = s;
    }
    return SPMM_OK;
}

/** Adds the numbers of entries and lines of all regions to those of r->stream, as if r->stream had read the
 *  whole body. Sets r->error if there are too many entries. */
static void join_regions(sp_reading *r, const sp_text *stream, int threads)
{
    for (int t = 1; t < threads; t++) {
        r->stream.entries += stream[t].entries;
        r->stream.lines += stream[t].lines;
    }
    r->stream.bytes = r->body + r->bytes;
    if (r->error.status == SPMM_OK && r->stream.entries > r->header.entries)
        sp_error_set(&r->error, SPMM_ERR_SYNTAX, r->stream.lines, "found too many entries");
}

static spmm_status read_anywhere(sp_reading *r, const outlet *out, int threads)
{
    sp_region *region;
    sp_text *stream = NULL;
    TRY(sp_alloc_zero((void **)&region, threads, sizeof *region, "regions of a file"));
    spmm_status status = sp_alloc_zero((void **)&stream, threads, sizeof *stream, "regions of a file");
    r->bytes = sp_text_bytes_left_at_most(&r->stream);
    if (status == SPMM_OK) status = split_body(r, threads, region, stream);
    if (status == SPMM_OK) {
        for (int t = 0; t < threads; t++) pthread_mutex_init(&region[t].lock, NULL);
        r->region = region;
        r->regions = threads;
        read_regions(r, out, threads);
        for (int t = 0; t < threads; t++) pthread_mutex_destroy(&region[t].lock);
        join_regions(r, stream, threads);
    }
    sp_input_limit(r->stream.source, INT64_MAX);
    for (int t = 1; stream && t < threads; t++) sp_text_close(&stream[t]);
    sp_free(stream);
    sp_free(region);
    return status;
}

spmm_status sp_reading_pass(sp_reading *r, sp_wanted wanted, int anywhere, sp_read_sink sink, void *context)
{
    sp_parse_output t = sp_reading_target(r);
    t.wanted = wanted;
    const outlet out = {&t, sink, context};
    const int threads = threads_for(r);
    if (anywhere && threads > 1 && sp_reading_repeatable(r) && read_anywhere(r, &out, threads) == SPMM_OK)
        return end_pass(r);
    return read_in_order(r, &out);
}

spmm_status sp_reading_begin(sp_reading *r, const char *path, const sp_read_options *options)
{
    memset(r, 0, sizeof *r);
    r->options = *options;
    r->progress_to = 1.0;
    sp_numparse_init();
    TRY(sp_text_open(path, 0, &r->stream));
    TRY(sp_read_header(&r->stream, &r->header, &r->error));
    r->body = sp_text_position(&r->stream);
    r->body_lines = r->stream.lines;
    return SPMM_OK;
}

spmm_status sp_reading_end(sp_reading *r, const char *path, spmm_status status)
{
    sp_text_close(&r->stream);
    if (r->error.status == SPMM_OK) return status;
    if (r->error.line == 0) return sp_fail(r->error.status, "%s: %s", path, r->error.text);
    return sp_fail(r->error.status, "%s:%lld: %s", path, (long long)r->error.line, r->error.text);
}

spmm_status sp_reading_changed(sp_reading *r) { return set_changed(&r->error); }

/** Callback for sp_reading_pass() that accepts all entries and ignores them. */
static int drop(void *context, const sp_entries *entries) { return context == NULL || entries->n >= 0; }

spmm_status sp_reading_find_error(sp_reading *r)
{
    const spmm_status status = sp_reading_pass(r, SP_WANT_ALL, 0, drop, NULL);
    return status == SPMM_OK ? sp_reading_changed(r) : status;
}

int sp_reading_repeatable(const sp_reading *r) { return sp_input_repeatable(r->stream.source); }

void sp_reading_repeat(sp_reading *r)
{
    sp_text_go_back(&r->stream, r->body, r->body_lines);
    r->error = (sp_read_error){0};
    r->stop = 0;
}

int64_t sp_reading_capacity(const sp_reading *r)
{
    const int64_t bytes = sp_text_bytes_left_at_most(&r->stream);
    /* the shortest possible lines are "1\n", "1 1\n" and "1 1 1\n"; the last newline may be missing */
    const int64_t least = r->header.array ? 2 : r->header.field == SP_FIELD_PATTERN ? 4 : 6;
    const int64_t possible = bytes / least + 1;
    return r->header.entries < possible ? r->header.entries : possible;
}

sp_parse_output sp_reading_target(const sp_reading *r)
{
    sp_parse_output t = {0};
    t.header = &r->header;
    t.allow_nonfinite = r->options.allow_nonfinite;
    t.capacity = sp_reading_capacity(r);
    t.precision = r->options.precision;
    return t;
}

void sp_reading_describe(const sp_reading *r, sp_mtx_info *info)
{
    static const char *const field[] = {"real", "integer", "pattern"};
    static const char *const symmetry[] = {"general", "symmetric", "skew-symmetric"};
    snprintf(info->format, sizeof info->format, "%s", r->header.array ? "array" : "coordinate");
    snprintf(info->field, sizeof info->field, "%s", field[r->header.field]);
    snprintf(info->symmetry, sizeof info->symmetry, "%s", symmetry[r->header.symmetry]);
    info->stored = r->header.entries;
    info->bytes = r->stream.bytes;
}
