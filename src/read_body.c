#include "read_body.h"

#include <omp.h>
#include <stdio.h>

#include "memory.h"
#include "numparse.h"

/** Where a pass puts a chunk's entries. */
typedef struct outlet {
    const sp_target *target;
    sp_read_sink sink; /* NULL: the target's arrays */
    void *context;
} outlet;

/** A thread's arrays for the entries of a chunk, where there is a sink. */
typedef struct batch {
    int32_t *I, *J;
    void *val;
    int64_t room;
} batch;

static void keep_first_error(sp_reading *r, const sp_read_error *e)
{
    if (e->status == SPMM_OK) return;
    if (r->error.status == SPMM_OK || e->line < r->error.line) r->error = *e;
    r->stop = 1;
}

/** Takes the next chunk; 0 when there is none for this thread. Chunks are handed out in file order, so
 *  whoever stops the others knows that all earlier text is being looked at. */
static int next_chunk(sp_reading *r, sp_chunk *chunk, sp_triangles *first, double *fraction)
{
    sp_read_error error = {0};
    int more = 0;
    pthread_mutex_lock(&r->lock);
    if (!r->stop) {
        sp_stream_chunk(&r->stream, chunk, &error);
        keep_first_error(r, &error);
        more = error.status == SPMM_OK && chunk->bytes > 0;
        if (!more) r->stop = 1;
    }
    *first = r->first;
    *fraction = sp_source_fraction(r->stream.source);
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

static void batch_destroy(batch *b)
{
    sp_free(b->I);
    sp_free(b->J);
    sp_free(b->val);
    *b = (batch){0};
}

static spmm_status batch_reserve(batch *b, int64_t entries, spmm_precision precision)
{
    if (entries <= b->room) return SPMM_OK;
    batch_destroy(b);
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

/** Parses a chunk on behalf of the sink. */
static void parse_for_sink(const outlet *out, const sp_chunk *chunk, batch *b, sp_triangles *first,
                           sp_read_error *error)
{
    sp_target t = *out->target;
    if (batch_reserve(b, chunk->entries, t.precision) != SPMM_OK) {
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
    batch b = {0};
    sp_triangles first = {INT64_MAX, INT64_MAX};
    sp_read_error error = {0};
    double fraction;
    if (sp_alloc((void **)&chunk.text, sp_stream_chunk_capacity(&r->stream), 1, "a read buffer") != SPMM_OK) {
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
    batch_destroy(&b);
    sp_free(chunk.text);
}

/** A second triangle would be counted twice without a word; too few entries show at the end only. */
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

static spmm_status read_body(sp_reading *r, const outlet *out)
{
    const int64_t left = sp_stream_bytes_left_at_most(&r->stream);
    const int64_t chunks = left / r->stream.chunk_bytes + 1;
    const int threads = chunks < r->options.threads ? (int)chunks : r->options.threads;
    pthread_mutex_init(&r->lock, NULL);
    r->first = (sp_triangles){INT64_MAX, INT64_MAX};
    r->next_progress = 0;
#pragma omp parallel num_threads(threads > 0 ? threads : 1)
    read_chunks(r, out);
    pthread_mutex_destroy(&r->lock);
    check_whole(r);
    if (r->options.progress && r->error.status == SPMM_OK)
        r->options.progress(r->options.progress_context, r->progress_to);
    return r->error.status;
}

spmm_status sp_reading_body(sp_reading *r, const sp_target *target)
{
    const outlet out = {target, NULL, NULL};
    return read_body(r, &out);
}

spmm_status sp_reading_pass(sp_reading *r, sp_wanted wanted, sp_read_sink sink, void *context)
{
    sp_target t = sp_reading_target(r);
    t.wanted = wanted;
    const outlet out = {&t, sink, context};
    return read_body(r, &out);
}

spmm_status sp_reading_begin(sp_reading *r, const char *path, const sp_read_options *options)
{
    memset(r, 0, sizeof *r);
    r->options = *options;
    r->progress_to = 1.0;
    sp_numparse_init();
    TRY(sp_stream_open(path, 0, &r->stream));
    TRY(sp_read_header(&r->stream, &r->header, &r->error));
    r->body = sp_stream_position(&r->stream);
    r->body_lines = r->stream.lines;
    return SPMM_OK;
}

spmm_status sp_reading_end(sp_reading *r, const char *path, spmm_status status)
{
    sp_stream_close(&r->stream);
    if (r->error.status == SPMM_OK) return status;
    if (r->error.line == 0) return sp_fail(r->error.status, "%s: %s", path, r->error.text);
    return sp_fail(r->error.status, "%s:%lld: %s", path, (long long)r->error.line, r->error.text);
}

spmm_status sp_reading_changed(sp_reading *r) { return set_changed(&r->error); }

int sp_reading_repeatable(const sp_reading *r) { return sp_source_repeatable(r->stream.source); }

void sp_reading_repeat(sp_reading *r)
{
    sp_stream_go_back(&r->stream, r->body, r->body_lines);
    r->error = (sp_read_error){0};
    r->stop = 0;
}

int64_t sp_reading_capacity(const sp_reading *r)
{
    const int64_t bytes = sp_stream_bytes_left_at_most(&r->stream);
    /* "1\n", "1 1\n", "1 1 1\n"; the last newline may be missing */
    const int64_t least = r->header.array ? 2 : r->header.field == SP_FIELD_PATTERN ? 4 : 6;
    const int64_t possible = bytes / least + 1;
    return r->header.entries < possible ? r->header.entries : possible;
}

sp_target sp_reading_target(const sp_reading *r)
{
    sp_target t = {0};
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
