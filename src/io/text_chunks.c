/** Reads a text file line by line or in chunks of whole lines, and counts its lines and entries. */
#include "io/text_chunks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/environment.h"
#include "base/memory.h"

enum { STEP = 4096 };

spmm_status sp_error_set(sp_read_error *e, spmm_status status, int64_t line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
    e->line = line;
    e->status = status;
    return status;
}

int sp_error_keep_first(sp_read_error *first, const sp_read_error *e)
{
    if (e->status == SPMM_OK) return 0;
    if (first->status == SPMM_OK || e->line < first->line) *first = *e;
    return 1;
}

spmm_status sp_error_tell(const sp_read_error *e, const char *path)
{
    if (e->line == 0) return sp_fail(e->status, "%s: %s", path, e->text);
    return sp_fail(e->status, "%s:%lld: %s", path, (long long)e->line, e->text);
}

int64_t sp_text_chunk_default(void) { return sp_environment_number("SPMM_READ_CHUNK_BYTES", SP_CHUNK_BYTES); }

/** Grows a buffer so that it can hold `bytes` bytes of text and the padding; keeps the first `used` bytes. If
 *  memory is lacking, sets *error. */
static spmm_status reserve(char **text, int64_t *room, int64_t used, int64_t bytes, sp_read_error *error)
{
    if (bytes + SP_CHUNK_PAD <= *room) return SPMM_OK;
    const int64_t grown = bytes + (*room > 0 ? bytes / 2 : 0) + SP_CHUNK_PAD;
    void *at;
    const spmm_status status = sp_alloc(&at, grown, 1, "a read buffer");
    if (status != SPMM_OK) return sp_error_set(error, status, 0, "%s", spmm_error_message());
    if (used > 0) memcpy(at, *text, (size_t)used);
    sp_free(*text);
    *text = at;
    *room = grown;
    return SPMM_OK;
}

spmm_status sp_text_open(const char *path, int fd, int64_t longest, sp_text *stream)
{
    *stream = (sp_text){.chunk_bytes = sp_text_chunk_default(), .longest = longest, .comment = '%'};
    return sp_input_of(path, fd, &stream->source);
}

spmm_status sp_text_dup(const sp_text *stream, sp_text *other)
{
    *other = (sp_text){
        .chunk_bytes = stream->chunk_bytes, .longest = stream->longest, .comment = stream->comment};
    return sp_input_dup(stream->source, &other->source);
}

void sp_text_close(sp_text *stream)
{
    sp_input_close(stream->source);
    sp_free(stream->kept);
    memset(stream, 0, sizeof *stream);
}

int64_t sp_text_bytes_left_at_most(const sp_text *s)
{
    const int64_t kept = s->kept_end - s->kept_begin, left = sp_input_bytes_left_at_most(s->source);
    return left > INT64_MAX - kept ? INT64_MAX : left + kept;
}

int64_t sp_text_position(const sp_text *s) { return s->bytes - (s->kept_end - s->kept_begin); }

void sp_text_go_back(sp_text *s, int64_t position, int64_t lines)
{
    sp_input_go_back(s->source, position);
    s->kept_begin = s->kept_end = 0;
    s->bytes = position;
    s->lines = lines;
    s->entries = s->blank = s->chunks = 0;
}

static spmm_status source_failed(const sp_text *s, spmm_status status, sp_read_error *error)
{
    return sp_error_set(error, status, s->lines + 1, "%s", sp_input_error(s->source));
}

/** Sets *error to report that line number `line` is too long. */
static spmm_status line_too_long(const sp_text *s, int64_t line, sp_read_error *error)
{
    return sp_error_set(error, SPMM_ERR_SYNTAX, line,
                        "found a line of more than %d bytes, expected the lines of %s", SP_LINE_MAX,
                        s->comment == '#' ? "an edge list" : "a Matrix Market file");
}

spmm_status sp_text_line(sp_text *s, const char **line, const char **end, sp_read_error *error)
{
    int64_t searched = s->kept_begin;
    char *newline;
    *line = *end = NULL;
    TRY(reserve(&s->kept, &s->kept_room, s->kept_end, s->chunk_bytes, error));
    while (!(newline = memchr(s->kept + searched, '\n', (size_t)(s->kept_end - searched)))) {
        const int64_t kept = s->kept_end - s->kept_begin;
        if (kept > s->longest) return line_too_long(s, s->lines + 1, error);
        if (s->kept_begin > 0) memmove(s->kept, s->kept + s->kept_begin, (size_t)kept);
        s->kept_begin = 0;
        s->kept_end = searched = kept;
        TRY(reserve(&s->kept, &s->kept_room, kept, kept + s->chunk_bytes, error));
        int64_t got;
        const spmm_status status = sp_input_read(s->source, s->kept + kept, s->chunk_bytes, &got);
        if (status != SPMM_OK) return source_failed(s, status, error);
        s->bytes += got;
        s->kept_end += got;
        if (got == 0) {
            if (kept == 0) return SPMM_OK;
            s->kept[s->kept_end++] = '\n';
        }
    }
    if (newline - (s->kept + s->kept_begin) > s->longest) return line_too_long(s, s->lines + 1, error);
    *line = s->kept + s->kept_begin;
    *end = newline;
    s->kept_begin = newline + 1 - s->kept;
    s->lines++;
    return SPMM_OK;
}

/** Appends the next bytes of the file, at most `bytes`, to the text of length *n in the buffer `text`, and
 *  increases *n. Takes bytes from s->kept first, then reads the file. */
static spmm_status take(sp_text *s, char *text, int64_t bytes, int64_t *n)
{
    const int64_t kept = s->kept_end - s->kept_begin;
    const int64_t old = kept < bytes ? kept : bytes;
    if (old > 0) memcpy(text + *n, s->kept + s->kept_begin, (size_t)old);
    s->kept_begin += old;
    *n += old;
    if (old == bytes) return SPMM_OK;
    int64_t got;
    const spmm_status status = sp_input_read(s->source, text + *n, bytes - old, &got);
    s->bytes += got;
    *n += got;
    return status;
}

/** Puts the last `bytes` bytes that take() delivered back into s, so that the next chunk begins with them.
 *  \param [in] tail  the first of these bytes */
static spmm_status give_back(sp_text *s, const char *tail, int64_t bytes, sp_read_error *error)
{
    if (s->kept_begin < s->kept_end) { /* the file was not read, so the tail is still in s->kept */
        s->kept_begin -= bytes;
        return SPMM_OK;
    }
    s->kept_begin = s->kept_end = 0;
    TRY(reserve(&s->kept, &s->kept_room, 0, bytes, error));
    if (bytes > 0) memcpy(s->kept, tail, (size_t)bytes);
    s->kept_end = bytes;
    return SPMM_OK;
}

/** Returns the number of newlines in the text; this is 20 times as fast as parsing the text.
 *  \param [out] all_entries  1: no line is blank or a comment; 0: some line may be */
static int64_t count_lines(const char *text, int64_t bytes, char comment, int *all_entries)
{
    enum { BLOCK = 128 }; /* few enough bytes that `count`, an unsigned char, does not overflow */
    const unsigned char *const p = (const unsigned char *)text;
    int64_t lines = 0, b = 0;
    const unsigned char sign = (unsigned char)comment;
    unsigned char odd = p[0] <= ' ' || p[0] == '%' || p[0] == sign;
    for (; b + BLOCK <= bytes; b += BLOCK) {
        unsigned char count = 0;
#pragma omp simd reduction(+ : count) reduction(| : odd)
        for (int k = 0; k < BLOCK; k++) {
            const unsigned char newline = p[b + k] == '\n', next = p[b + k + 1];
            count = (unsigned char)(count + newline);
            odd = (unsigned char)(odd | (newline & ((next <= ' ') | (next == '%') | (next == sign))));
        }
        lines += count;
    }
    for (; b < bytes; b++) {
        if (p[b] != '\n') continue;
        lines++;
        odd |= p[b + 1] <= ' ' || p[b + 1] == '%' || p[b + 1] == sign;
    }
    *all_entries = !odd;
    return lines;
}

/** Returns the number of lines in a text of whole lines, and sets *entries to the number of lines that are
 *  neither blank nor comments. The byte after the text must be readable. */
static int64_t count_entries(const char *text, int64_t bytes, char comment, int64_t *entries)
{
    int all_entries;
    const int64_t lines = count_lines(text, bytes, comment, &all_entries);
    *entries = lines;
    if (all_entries) return lines;
    const char *const end = text + bytes;
    *entries = 0;
    for (const char *p = text; p < end; p = sp_line_end(p, end) + 1) *entries += sp_is_entry_line(p, comment);
    return lines;
}

/** Returns the first line with more than `longest` bytes in a text of whole lines; NULL if there is none.
 *  Every line is checked, so that the limit does not depend on where chunks begin. */
static const char *find_long_line(const char *text, int64_t bytes, int64_t longest)
{
    const char *const end = text + bytes;
    while (end - text > longest) {
        /* The first longest + 1 bytes contain the newline of the line at `text`, unless it is too long. Any
         * other line that ends within these bytes is short enough, too. */
        const char *const newline = memrchr(text, '\n', (size_t)longest + 1);
        if (!newline) return text;
        text = newline + 1;
    }
    return NULL;
}

/** Sets the numbers of lines and of entries in chunk c, and the numbers of c itself, of its first line and of
 *  its first entry. */
static void text_chunks_place(sp_text *s, sp_chunk *c)
{
    c->number = s->chunks++;
    c->first_line = s->lines + 1;
    c->first_entry = s->entries;
    c->lines = count_entries(c->text, c->bytes, s->comment, &c->entries);
    s->lines += c->lines;
    s->entries += c->entries;
    s->blank += c->lines - c->entries;
}

/** Reads text into c->text until a newline has been read, or to the end of the file. Sets *n to the length of
 *  the text and *newline to the last newline in it, or to NULL. Returns the status of reading the file; sets
 *  *error only for other errors. */
static spmm_status read_lines(sp_text *s, sp_chunk *c, int64_t *n, char **newline, sp_read_error *error)
{
    spmm_status status = SPMM_OK;
    int64_t before = -1;
    *n = 0;
    for (*newline = NULL; *n > before && !*newline;) {
        /* the step grows with the length of the line, so that a long line takes only a few reads */
        const int64_t step = *n == 0 ? s->chunk_bytes : *n / 8 > STEP ? *n / 8 : STEP;
        if (*n > s->longest) return line_too_long(s, s->lines + 1, error);
        before = *n;
        TRY(reserve(&c->text, &c->room, *n, *n + step + 1, error));
        if (status == SPMM_OK) status = take(s, c->text, step, n);
        *newline = memrchr(c->text + before, '\n', (size_t)(*n - before));
    }
    return status;
}

spmm_status sp_text_chunk(sp_text *s, sp_chunk *c, sp_read_error *error)
{
    int64_t n;
    char *newline;
    c->bytes = 0;
    const spmm_status status = read_lines(s, c, &n, &newline, error);
    if (error->status != SPMM_OK) return error->status;
    if (!newline) {
        /* if reading failed, the incomplete line read so far must not be parsed */
        if (status != SPMM_OK) return source_failed(s, status, error);
        if (n == 0) return SPMM_OK;
        newline = c->text + n;
        c->text[n++] = '\n';
    }
    int64_t bytes = newline + 1 - c->text;
    const char *const too_long = find_long_line(c->text, bytes, s->longest);
    if (too_long == c->text) return line_too_long(s, s->lines + 1, error);
    if (too_long) bytes = too_long - c->text; /* earlier lines are parsed first: they may be wrong */
    if (bytes < n) TRY(give_back(s, c->text + bytes, n - bytes, error));
    /* count_lines() looks at the byte after the chunk, which must look neither blank nor like a comment */
    memset(c->text + bytes, 'x', SP_CHUNK_PAD);
    c->bytes = bytes;
    text_chunks_place(s, c);
    if (s->blank <= SP_BLANK_MAX + s->entries) return SPMM_OK;
    return sp_error_set(
        error, SPMM_ERR_SYNTAX, s->lines,
        "found %lld lines that are blank or comments, expected at most %d beyond the number of "
        "entries",
        (long long)s->blank, SP_BLANK_MAX);
}
