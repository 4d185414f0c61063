/** Reads the body of a Matrix Market file in chunks, with all threads, into arrays or through a callback. */
#include "io/mtx_body.h"

#include <omp.h>
#include <stdio.h>

#include "base/fp_environment.h"
#include "base/memory.h"
#include "io/numparse.h"

/** Reads the next chunk of a region; returns 0 if the region has none left. Chunks of a region are handed out
 *  in file order: when an error stops the threads, all earlier text of the region is already being parsed, so
 *  that no earlier error is missed. */
static int take_chunk(sp_reading *r, sp_region *region, sp_worker *w, sp_read_error *error)
{
    int more = 0;
    pthread_mutex_lock(&region->lock);
    if (!region->done) {
        sp_text_chunk(&region->stream, &w->chunk, error);
        more = error->status == SPMM_OK && w->chunk.bytes > 0;
        region->done = !more;
    }
    if (region == &r->whole) w->fraction = sp_input_fraction(region->stream.source);
    pthread_mutex_unlock(&region->lock);
    return more;
}

/** Reads the next chunk for a thread, from region number `own` or, if that has none left, from another
 *  region. Returns 0 if no region has a chunk left or if an error has stopped the pass. */
static int next_chunk(sp_reading *r, int own, sp_worker *w, sp_triangles *first)
{
    sp_read_error error = {0};
    int more = 0;
    pthread_mutex_lock(&r->lock);
    const int stopped = r->stop;
    *first = r->first;
    pthread_mutex_unlock(&r->lock);
    for (int k = 0; k < r->regions && !stopped && !more && error.status == SPMM_OK; k++)
        more = take_chunk(r, &r->region[(own + k) % r->regions], w, &error);
    pthread_mutex_lock(&r->lock);
    r->stop |= sp_error_keep_first(&r->error, &error);
    r->handed += more ? w->chunk.bytes : 0;
    if (r->region == r->split)
        w->fraction = r->handed < r->bytes ? (double)r->handed / (double)r->bytes : 1.0;
    pthread_mutex_unlock(&r->lock);
    return more;
}

static void chunk_done(sp_reading *r, const sp_triangles *first, const sp_read_error *error)
{
    pthread_mutex_lock(&r->lock);
    r->stop |= sp_error_keep_first(&r->error, error);
    if (first->lower_line < r->first.lower_line) r->first.lower_line = first->lower_line;
    if (first->upper_line < r->first.upper_line) r->first.upper_line = first->upper_line;
    if (r->first.lower_line != INT64_MAX && r->first.upper_line != INT64_MAX) r->stop = 1;
    pthread_mutex_unlock(&r->lock);
}

/** Reports the progress as of the last chunk of thread 0. */
static void report_progress(sp_reading *r)
{
    if (!r->options.progress || omp_get_thread_num() != 0) return;
    const double now = omp_get_wtime();
    if (now < r->next_progress) return;
    r->next_progress = now + 0.1;
    r->reported = r->progress_from + (r->progress_to - r->progress_from) * r->worker[0].fraction;
    r->options.progress(r->options.progress_context, r->reported);
}

static void free_entries(sp_worker *w)
{
    sp_free(w->I);
    sp_free(w->J);
    sp_free(w->val);
    w->I = w->J = NULL;
    w->val = NULL;
    w->room = 0;
}

static void free_buffers(sp_worker *w)
{
    free_entries(w);
    sp_free(w->chunk.text);
    w->chunk = (sp_chunk){0};
}

static spmm_status reserve(sp_worker *w, spmm_precision precision)
{
    const int64_t entries = w->chunk.entries;
    if (entries <= w->room) return SPMM_OK;
    free_entries(w);
    TRY(sp_alloc((void **)&w->I, entries, sizeof *w->I, "a read buffer"));
    TRY(sp_alloc((void **)&w->J, entries, sizeof *w->J, "a read buffer"));
    TRY(sp_alloc(&w->val, entries, sp_value_size(precision), "a read buffer"));
    w->room = entries;
    return SPMM_OK;
}

static spmm_status set_changed(sp_read_error *error)
{
    return sp_error_set(
        error, SPMM_ERR_SYNTAX, 0,
        "found other entries than in the first pass, expected a file that does not change while it is read");
}

/** Parses the thread's chunk into the thread's own arrays. */
static void parse_to_worker(sp_parse_output t, sp_worker *w, sp_triangles *first, sp_read_error *error)
{
    if (reserve(w, t.precision) != SPMM_OK) {
        sp_error_set(error, SPMM_ERR_MEMORY, 0, "%s", spmm_error_message());
        return;
    }
    t.I = w->I;
    t.J = w->J;
    t.val = t.wanted != SP_WANT_ALL || t.header->field == SP_FIELD_PATTERN ? NULL : w->val;
    t.first_entry = w->chunk.first_entry;
    if (sp_parse_chunk(&t, &w->chunk, first, error) == SPMM_OK)
        w->entries = (sp_entries){w->chunk.entries, t.I, t.J, t.val, w->chunk.first_entry};
}

/** Reads and parses the next chunk for a thread; returns 0 if there is none.
 *  \param [in] stored  1: the entries are stored in the arrays of *target; 0: in those of *w
 *  \param [in] own     number of the thread's own region */
static int parse_next(sp_reading *r, const sp_parse_output *target, int stored, int own, sp_worker *w)
{
    SP_DEFAULT_FP;
    sp_triangles first;
    sp_read_error error = {0};
    w->entries = (sp_entries){0};
    const int more = next_chunk(r, own, w, &first);
    if (more && stored) sp_parse_chunk(target, &w->chunk, &first, &error);
    if (more && !stored) parse_to_worker(*target, w, &first, &error);
    chunk_done(r, &first, &error);
    return more;
}

/** Sets r->error for errors that only the whole body shows: too few entries, and entries in both triangles of
 *  a symmetric matrix, which would silently be counted twice. */
static void check_whole(sp_reading *r)
{
    const int64_t lower = r->first.lower_line, upper = r->first.upper_line;
    const int64_t entries = sp_reading_entries(r), lines = r->whole.stream.lines;
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
        sp_error_keep_first(&r->error, &error);
    }
    if (r->header.first_edge) {
        if (r->error.status == SPMM_OK && r->header.entries != INT64_MAX && entries != r->header.entries)
            set_changed(&r->error);
        return;
    }
    /* A pass over r->whole has already failed at the first entry too many. In a pass over r->split, each
     * region numbers its entries from 0, so that only this total shows that there are too many. */
    if (r->error.status == SPMM_OK && entries != r->header.entries)
        sp_error_set(
            &r->error, SPMM_ERR_SYNTAX, lines > 0 ? lines : 1,
            "found the end of the file after %lld of %lld entries, expected all that line %lld announces",
            (long long)entries, (long long)r->header.entries, (long long)r->header.size_line);
}

/** Moves a compressed file to the beginning of its body, by reading the header once more. */
static void rewind_to_body(sp_reading *r)
{
    sp_text *const s = &r->whole.stream;
    const char *line = "", *end;
    if (sp_text_position(s) == r->header.body) return;
    sp_text_go_back(s, 0, 0);
    while (line && s->lines < r->header.size_line && sp_text_line(s, &line, &end, &r->error) == SPMM_OK)
        continue;
    r->stop = r->error.status != SPMM_OK;
}

static void start_pass(sp_reading *r, sp_region *region, int regions)
{
    r->region = region;
    r->regions = regions;
    r->error = (sp_read_error){0};
    r->first = (sp_triangles){INT64_MAX, INT64_MAX};
    r->stop = 0;
    r->handed = 0;
    r->next_progress = 0;
    for (int k = 0; k < regions; k++) {
        region[k].done = 0;
        if (sp_reading_repeatable(r))
            sp_text_go_back(&region[k].stream, region[k].begin,
                            region == &r->whole ? r->header.size_line : 0);
    }
    if (!sp_reading_repeatable(r)) rewind_to_body(r);
}

/** Returns the number of threads that read `bytes` bytes: r->options.threads, but at most one per chunk. */
static int threads_for(const sp_reading *r, int64_t bytes)
{
    const int64_t chunks = bytes / r->whole.stream.chunk_bytes + 1;
    return chunks < r->options.threads ? (int)chunks : r->options.threads;
}

static void read_chunks(sp_reading *r, const sp_parse_output *target, int stored, sp_read_sink sink,
                        void *context)
{
    const int t = omp_get_thread_num();
    sp_worker *const w = &r->worker[t];
    while (parse_next(r, target, stored, t, w)) {
        if (sink && !sink(context, &w->entries)) {
            const sp_triangles none = {INT64_MAX, INT64_MAX};
            sp_read_error error;
            set_changed(&error);
            chunk_done(r, &none, &error);
        }
        report_progress(r);
    }
    free_buffers(w);
}

/** Reads the regions of the current pass with all threads. */
static spmm_status read_regions(sp_reading *r, const sp_parse_output *target, int stored, sp_read_sink sink,
                                void *context)
{
    const int threads = threads_for(r, r->header.bytes);
#pragma omp parallel num_threads(threads)
    read_chunks(r, target, stored, sink, context);
    check_whole(r);
    if (r->error.status == SPMM_OK) sp_reading_report_end(r);
    return r->error.status;
}

spmm_status sp_reading_body(sp_reading *r, const sp_parse_output *target)
{
    start_pass(r, &r->whole, 1);
    return read_regions(r, target, 1, NULL, NULL);
}

spmm_status sp_reading_pass(sp_reading *r, sp_wanted wanted, int anywhere, sp_read_sink sink, void *context)
{
    sp_parse_output t = sp_reading_target(r);
    t.wanted = wanted;
    if (anywhere && threads_for(r, r->header.bytes) > 1 && sp_reading_repeatable(r) &&
        (r->split || sp_reading_split(r, 0, 1) == SPMM_OK))
        sp_reading_restart(r);
    else
        start_pass(r, &r->whole, 1);
    return read_regions(r, &t, 0, sink, context);
}

spmm_status sp_reading_explain(sp_reading *r)
{
    if (r->error.status != SPMM_OK && r->error.line == 0) return r->error.status;
    r->options.progress = NULL;
    if (sp_reading_pass(r, SP_WANT_ALL, 0, NULL, NULL) == SPMM_OK) sp_reading_changed(r);
    return r->error.status;
}

/* ---- regions ---- */

/** Sets *begin to the position of the first line that begins at or after byte `at` of the body. Moves
 *  r->whole. */
static spmm_status find_line(sp_reading *r, int64_t at, int64_t *begin)
{
    sp_text *const s = &r->whole.stream;
    const char *line, *end;
    *begin = r->header.body;
    if (at == 0) return SPMM_OK;
    sp_text_go_back(s, r->header.body + at - 1, 0);
    TRY(sp_text_line(s, &line, &end, &r->error));
    *begin = sp_text_position(s);
    return SPMM_OK;
}

/** Returns the beginning of part number k of `parts` equal parts of n. */
static int64_t mtx_body_share(int64_t n, int parts, int k) { return n / parts * k + n % parts * k / parts; }

static spmm_status open_regions(sp_reading *r, int64_t from, int64_t to)
{
    sp_region *const s = r->split;
    int64_t end = INT64_MAX; /* no limit at the end of the file, so that appended text is noticed */
    for (int t = 0; t < r->splits; t++) {
        TRY(sp_text_dup(&r->whole.stream, &s[t].stream));
        TRY(find_line(r, from + mtx_body_share(to - from, r->splits, t), &s[t].begin));
        if (t > 0) sp_input_limit(s[t - 1].stream.source, s[t].begin);
    }
    if (to < r->header.bytes) TRY(find_line(r, to, &end));
    sp_input_limit(s[r->splits - 1].stream.source, end);
    return SPMM_OK;
}

static void close_regions(sp_reading *r)
{
    for (int t = 0; t < r->splits; t++) {
        sp_text_close(&r->split[t].stream);
        pthread_mutex_destroy(&r->split[t].lock);
    }
    sp_free(r->split);
    r->split = NULL;
    r->splits = 0;
}

spmm_status sp_reading_split(sp_reading *r, int part, int parts)
{
    const int64_t from = mtx_body_share(r->header.bytes, parts, part),
                  to = mtx_body_share(r->header.bytes, parts, part + 1);
    const int threads = threads_for(r, to - from);
    TRY(sp_alloc_zero((void **)&r->split, threads, sizeof *r->split, "regions of a file"));
    r->splits = threads;
    r->bytes = to - from;
    for (int t = 0; t < threads; t++) pthread_mutex_init(&r->split[t].lock, NULL);
    const spmm_status status = open_regions(r, from, to);
    if (status != SPMM_OK) close_regions(r);
    return status;
}

void sp_reading_restart(sp_reading *r) { start_pass(r, r->split, r->splits); }

spmm_status sp_reading_next(sp_reading *r, sp_wanted wanted, int *more)
{
    sp_parse_output target = sp_reading_target(r);
    const int64_t before = r->handed;
    target.wanted = wanted;
#pragma omp parallel for schedule(static, 1) num_threads(r->splits)
    for (int t = 0; t < r->splits; t++) parse_next(r, &target, 0, t, &r->worker[t]);
    report_progress(r);
    *more = r->handed > before;
    return r->error.status;
}

int64_t sp_reading_entries(const sp_reading *r)
{
    int64_t entries = 0;
    for (int k = 0; k < r->regions; k++) entries += r->region[k].stream.entries;
    return entries;
}

void sp_reading_report_end(sp_reading *r)
{
    r->reported = r->progress_to;
    if (r->options.progress) r->options.progress(r->options.progress_context, r->reported);
}

/* ---- the file ---- */

spmm_status sp_reading_begin(sp_reading *r, const char *path, const sp_read_options *options,
                             const sp_header *header)
{
    return sp_reading_begin_open(r, path, sp_input_descriptor(path), options, header);
}

spmm_status sp_reading_begin_open(sp_reading *r, const char *path, int fd, const sp_read_options *options,
                                  const sp_header *header)
{
    memset(r, 0, sizeof *r);
    r->path = path;
    r->options = *options;
    if (r->options.threads < 1) r->options.threads = 1;
    r->progress_to = 1.0;
    pthread_mutex_init(&r->lock, NULL);
    pthread_mutex_init(&r->whole.lock, NULL);
    sp_numparse_init();
    TRY(sp_text_open(path, fd, SP_LINE_MAX, &r->whole.stream));
    TRY(sp_alloc_zero((void **)&r->worker, r->options.threads, sizeof *r->worker, "read buffers"));
    if (header)
        r->header = *header;
    else
        TRY(sp_read_header(&r->whole.stream, &r->header, &r->error));
    if (r->header.field == SP_FIELD_COMPLEX && !sp_is_complex(options->precision))
        return sp_error_set(&r->error, SPMM_ERR_UNSUPPORTED, 1, SP_FOUND_COMPLEX);
    r->whole.begin = r->header.body;
    return SPMM_OK;
}

spmm_status sp_reading_status(const sp_reading *r, spmm_status status)
{
    return r->error.status == SPMM_OK ? sp_fail_in(r->path, status) : sp_error_tell(&r->error, r->path);
}

spmm_status sp_reading_end(sp_reading *r, spmm_status status)
{
    if (!r->path) return status;
    for (int t = 0; r->worker && t < r->options.threads; t++) free_buffers(&r->worker[t]);
    sp_free(r->worker);
    close_regions(r);
    sp_text_close(&r->whole.stream);
    pthread_mutex_destroy(&r->whole.lock);
    pthread_mutex_destroy(&r->lock);
    return sp_reading_status(r, status);
}

spmm_status sp_reading_changed(sp_reading *r) { return set_changed(&r->error); }

int sp_reading_repeatable(const sp_reading *r) { return sp_input_repeatable(r->whole.stream.source); }

int64_t sp_reading_capacity(const sp_reading *r)
{
    /* the shortest possible lines are "1\n", "1 1\n" and "1 1 1\n"; the last newline may be missing */
    const int64_t least = r->header.array ? 2 : r->header.field == SP_FIELD_PATTERN ? 4 : 6;
    const int64_t possible = r->header.bytes / least + 1;
    return r->header.entries < possible ? r->header.entries : possible;
}

sp_sizes sp_reading_sizes(const sp_reading *r)
{
    return (sp_sizes){r->header.rows, r->header.cols, r->header.array ? 0 : sp_reading_capacity(r)};
}

sp_parse_output sp_reading_target(const sp_reading *r)
{
    return (sp_parse_output){.header = &r->header,
                             .allow_nonfinite = r->options.allow_nonfinite,
                             .capacity = sp_reading_capacity(r),
                             .precision = r->options.precision};
}

void sp_reading_describe(const sp_reading *r, sp_mtx_info *info)
{
    static const char *const field[] = {"real", "integer", "pattern", "complex"};
    static const char *const symmetry[] = {"general", "symmetric", "skew-symmetric", "hermitian"};
    snprintf(info->format, sizeof info->format, "%s",
             r->header.first_edge ? "edges"
             : r->header.array    ? "array"
                                  : "coordinate");
    snprintf(info->field, sizeof info->field, "%s", field[r->header.field]);
    snprintf(info->symmetry, sizeof info->symmetry, "%s", symmetry[r->header.symmetry]);
    info->stored = r->header.entries;
    info->bytes = sp_reading_repeatable(r) ? r->header.body + r->header.bytes : r->whole.stream.bytes;
}
