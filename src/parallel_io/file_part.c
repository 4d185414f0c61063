/** Reads and parses a rank's part of a Matrix Market file. */
#include "parallel_io/file_part.h"

#include <omp.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/search.h"
#include "io/numparse.h"

/* ROUND_CHUNKS: number of chunks of text read at a time; ROUND_MOST: maximum number of bytes read at a time;
 * LOOK_BYTES: number of bytes read at a time in search of the end of a line; ARRAY_LOOKED_AT: maximum size in
 * bytes of an array file that is checked for syntax errors before it is refused */
enum { ROUND_CHUNKS = 16, ROUND_MOST = 16 << 20, LOOK_BYTES = 4096, ARRAY_LOOKED_AT = 64 << 20 };

/* ---- what rank 0 does alone ---- */

static spmm_status check_kind(const char *path)
{
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
        return sp_fail(
            SPMM_ERR_UNSUPPORTED,
            "%s: is a pipe or a device, of which ranks cannot read parts: copy it into a file first", path);
    return SPMM_OK;
}

/** Reads an array file on this rank alone, only to obtain the status and the error message. */
static spmm_status read_array(const char *path, const sp_read_options *options)
{
    sp_coo coo;
    const spmm_status status = sp_read_coo(path, options, &coo, NULL);
    sp_coo_destroy(&coo);
    return status;
}

/** Fails because the file is an array file. If the file is small enough to be checked first, a syntax error
 *  in it is reported instead. */
static spmm_status refuse_array(const sp_reading *r, const char *path)
{
    sp_read_options plain = r->options;
    plain.progress = NULL;
    if (sp_text_bytes_left_at_most(&r->stream) <= ARRAY_LOOKED_AT &&
        read_array(path, &plain) == SPMM_ERR_SYNTAX)
        return SPMM_ERR_SYNTAX;
    return sp_fail(
        SPMM_ERR_UNSUPPORTED,
        "%s: is of format array, which ranks do not read in parts: let one rank read it (--io root)", path);
}

static spmm_status check_parts(const sp_reading *r, const char *path)
{
    if (!sp_reading_repeatable(r))
        return sp_fail(
            SPMM_ERR_UNSUPPORTED,
            "%s: is gzipped, and ranks cannot read parts of it: unpack it first, or let one rank read it (--io root)",
            path);
    if (r->header.array) return refuse_array(r, path);
    /* fail early if the file is too short for the number of entries on its size line */
    if (sp_reading_capacity(r) < r->header.entries)
        return sp_fail(SPMM_ERR_SYNTAX, "%s: found fewer entries than its size line says", path);
    return SPMM_OK;
}

spmm_status sp_opening_read(const char *path, const sp_read_options *options, sp_opening *opening)
{
    sp_reading r;
    memset(opening, 0, sizeof *opening);
    TRY(check_kind(path));
    spmm_status status = sp_reading_begin(&r, path, options);
    if (status == SPMM_OK) status = check_parts(&r, path);
    if (status == SPMM_OK) {
        opening->header = r.header;
        opening->body = r.body;
        opening->file_bytes = r.body + sp_text_bytes_left_at_most(&r.stream);
        sp_reading_describe(&r, &opening->info);
        opening->info.bytes = opening->file_bytes;
    }
    return sp_reading_end(&r, path, status);
}

static spmm_status explain(const char *path, const sp_read_options *options)
{
    sp_reading r;
    sp_read_options plain = *options;
    plain.progress = NULL;
    spmm_status status = sp_reading_begin(&r, path, &plain);
    if (status == SPMM_OK && r.header.array) {
        status = read_array(path, &plain);
        if (status == SPMM_OK) status = sp_reading_changed(&r);
    } else if (status == SPMM_OK) {
        status = sp_reading_find_error(&r);
    }
    return sp_reading_end(&r, path, status);
}

spmm_status sp_file_part_explain(const sp_grid *grid, const char *path, const sp_read_options *options)
{
    return sp_agree(grid->comm, "read", grid->rank == 0 ? explain(path, options) : SPMM_OK);
}

/* ---- the part of a rank ---- */

/** Fails with MPI's text for `code`, the return code of a call for a file. */
static spmm_status cannot_be(const sp_file_part *p, const char *done, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    MPI_Error_string(code, text, &length);
    return sp_fail(SPMM_ERR_OPEN, "%s: cannot be %s: %s", p->path, done, text);
}

static spmm_status read_at(const sp_file_part *p, int64_t at, char *to, int64_t bytes)
{
    MPI_Status got;
    int n = 0;
    const int code = MPI_File_read_at(p->file, (MPI_Offset)at, to, (int)bytes, MPI_BYTE, &got);
    if (code != MPI_SUCCESS) return cannot_be(p, "read", code);
    MPI_Get_count(&got, MPI_BYTE, &n);
    return n == bytes ? SPMM_OK : sp_fail(SPMM_ERR_SYNTAX, "%s: is shorter than it was", p->path);
}

static spmm_status too_long(const sp_file_part *p)
{
    return sp_fail(SPMM_ERR_SYNTAX, "%s: has a line that is too long", p->path);
}

/** Sets *begin to the offset in the file of the first line that begins at byte `at` or later; to the size of
 *  the file if there is none. */
static spmm_status find_line(const sp_file_part *p, int64_t at, int64_t *begin)
{
    char look[LOOK_BYTES];
    const int64_t file_bytes = p->opening->file_bytes;
    *begin = at;
    if (at <= p->opening->body) return SPMM_OK;
    for (int64_t from = at - 1; from < file_bytes;) {
        const int64_t n = file_bytes - from < LOOK_BYTES ? file_bytes - from : LOOK_BYTES;
        TRY(read_at(p, from, look, n));
        const char *const newline = memchr(look, '\n', (size_t)n);
        if (newline) {
            *begin = from + (newline - look) + 1;
            return SPMM_OK;
        }
        from += n;
        if (from - at > SP_LINE_MAX) return too_long(p);
    }
    *begin = file_bytes;
    return SPMM_OK;
}

static spmm_status open_part(const sp_grid *grid, sp_file_part *p)
{
    const int64_t bytes = p->opening->file_bytes - p->opening->body;
    const int code = MPI_File_open(MPI_COMM_SELF, p->path, MPI_MODE_RDONLY, MPI_INFO_NULL, &p->file);
    if (code != MPI_SUCCESS) {
        p->file = MPI_FILE_NULL;
        return cannot_be(p, "opened", code);
    }
    TRY(sp_alloc((void **)&p->text, p->round + SP_LINE_MAX + SP_CHUNK_PAD + 1, 1, "a read buffer"));
    TRY(sp_alloc((void **)&p->cut, 2 * ((int64_t)p->options.threads + 1), sizeof *p->cut, "a read buffer"));
    p->first = p->cut + p->options.threads + 1;
    return find_line(p, p->opening->body + sp_partition_share(bytes, grid->size, grid->rank), &p->begin);
}

spmm_status sp_file_part_open(const sp_grid *grid, const char *path, const sp_read_options *options,
                              const sp_opening *opening, sp_file_part *p)
{
    *p = (sp_file_part){.path = path,
                        .opening = opening,
                        .options = *options,
                        .file = MPI_FILE_NULL,
                        .end = opening->file_bytes,
                        .round = ROUND_CHUNKS * sp_text_chunk_default()};
    if (p->round > ROUND_MOST) p->round = ROUND_MOST;
    sp_numparse_init();
    TRY(sp_agree(grid->comm, "load", open_part(grid, p)));
    /* the part of a rank ends where the part of the next rank begins */
    const int before = grid->rank > 0 ? grid->rank - 1 : MPI_PROC_NULL;
    const int behind = grid->rank + 1 < grid->size ? grid->rank + 1 : MPI_PROC_NULL;
    TRY(SP_MPI(MPI_Sendrecv(&p->begin, 1, MPI_INT64_T, before, SP_TAG_PART_BEGIN, &p->end, 1, MPI_INT64_T,
                            behind, SP_TAG_PART_BEGIN, grid->comm, MPI_STATUS_IGNORE)));
    sp_file_part_rewind(p);
    return SPMM_OK;
}

void sp_file_part_close(sp_file_part *p)
{
    if (p->file != MPI_FILE_NULL) MPI_File_close(&p->file);
    sp_free(p->text);
    sp_free(p->cut);
    sp_batch_destroy(&p->batch);
}

void sp_file_part_rewind(sp_file_part *p)
{
    p->at = p->begin;
    p->entries = 0;
    p->found = (sp_triangles){INT64_MAX, INT64_MAX};
}

/** Reads the next whole lines of the part into p->text; *bytes is 0 if none are left. An incomplete line
 *  after the last newline is left for the next call. */
static spmm_status next_text(sp_file_part *p, int64_t *bytes)
{
    const int64_t left = p->end - p->at, longest = p->round + SP_LINE_MAX;
    int64_t n = left < p->round ? left : p->round;
    *bytes = 0;
    if (left <= 0) return SPMM_OK;
    for (;;) {
        TRY(read_at(p, p->at, p->text, n));
        if (n == left) break;
        const char *const newline = memrchr(p->text, '\n', (size_t)n);
        if (newline) {
            n = newline + 1 - p->text;
            break;
        }
        if (n == longest) return too_long(p);
        n = left < longest ? left : longest;
    }
    p->at += n;
    if (p->text[n - 1] != '\n') p->text[n++] = '\n'; /* the last line of the file may lack a newline */
    if (sp_find_long_line(p->text, n)) return too_long(p);
    memset(p->text + n, 'x', SP_CHUNK_PAD);
    *bytes = n;
    return SPMM_OK;
}

/** Divides p->text among the threads: p->cut[t] is where the share of thread t begins, always the beginning
 *  of a line. */
static void cut_text(sp_file_part *p, int64_t bytes)
{
    const int threads = p->options.threads;
    p->cut[0] = 0;
    for (int t = 1; t < threads; t++) {
        const int64_t at = bytes / threads * t, from = at > p->cut[t - 1] ? at : p->cut[t - 1];
        p->cut[t] = from < bytes ? sp_line_end(p->text + from, p->text + bytes) + 1 - p->text : bytes;
    }
    p->cut[threads] = bytes;
}

/** Counts the entries in each thread's share of the text, sets p->first[t] to the number of entries before
 *  share t, and enlarges the arrays for the entries if needed. */
static spmm_status count_entries(sp_file_part *p, int64_t *entries)
{
    const int threads = p->options.threads;
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int t = 0; t < threads; t++) {
        p->first[t] = 0;
        if (p->cut[t] < p->cut[t + 1])
            sp_count_lines(p->text + p->cut[t], p->cut[t + 1] - p->cut[t], &p->first[t]);
    }
    *entries = 0;
    for (int t = 0; t <= threads; t++) {
        const int64_t count = t < threads ? p->first[t] : 0;
        p->first[t] = *entries;
        *entries += count;
    }
    return sp_batch_reserve(&p->batch, *entries, p->options.precision);
}

static void parse_piece(const sp_file_part *p, const sp_parse_output *target, int t, sp_triangles *found,
                        sp_read_error *error)
{
    const sp_chunk chunk = {.text = p->text + p->cut[t],
                            .bytes = p->cut[t + 1] - p->cut[t],
                            .first_entry = p->first[t],
                            .entries = p->first[t + 1] - p->first[t]};
    if (chunk.bytes > 0) sp_parse_chunk(target, &chunk, found, error);
}

/** Parses p->text with all threads into the arrays of p->batch. */
static spmm_status parse(sp_file_part *p, const sp_parse_output *target)
{
    const int threads = p->options.threads;
    int wrong = 0;
    int64_t lower = p->found.lower_line, upper = p->found.upper_line;
#pragma omp parallel for schedule(static, 1) num_threads(threads) reduction(|        \
                                                                            : wrong) \
    reduction(min                                                                    \
              : lower, upper)
    for (int t = 0; t < threads; t++) {
        sp_triangles found = p->found;
        sp_read_error error = {0};
        parse_piece(p, target, t, &found, &error);
        wrong |= error.status != SPMM_OK;
        /* the line number found does not matter here; -1 keeps later calls from searching for an earlier
         * line */
        if (found.lower_line != INT64_MAX) lower = -1;
        if (found.upper_line != INT64_MAX) upper = -1;
    }
    p->found = (sp_triangles){lower, upper};
    return wrong ? sp_fail(SPMM_ERR_SYNTAX, "%s: has a line that is wrong", p->path) : SPMM_OK;
}

spmm_status sp_file_part_next(sp_file_part *p, sp_wanted wanted, sp_entries *entries)
{
    const sp_header *const h = &p->opening->header;
    const sp_batch *const b = &p->batch;
    int64_t bytes, count = 0;
    *entries = (sp_entries){0};
    do { /* text that consists of comments has no entries */
        TRY(next_text(p, &bytes));
        if (bytes == 0) return SPMM_OK;
        cut_text(p, bytes);
        TRY(count_entries(p, &count));
    } while (count == 0);
    const sp_parse_output target = {.header = h,
                                    .allow_nonfinite = p->options.allow_nonfinite,
                                    .capacity = INT64_MAX,
                                    .precision = p->options.precision,
                                    .wanted = wanted,
                                    .I = b->I,
                                    .J = b->J,
                                    .val = wanted == SP_WANT_ALL && h->field != SP_FIELD_PATTERN ? b->val
                                                                                                 : NULL};
    TRY(parse(p, &target));
    p->entries += count;
    *entries = (sp_entries){count, b->I, b->J, target.val};
    return SPMM_OK;
}
