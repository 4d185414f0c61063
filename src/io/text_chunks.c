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

int64_t sp_text_chunk_default(void) { return sp_environment_number("SPMM_READ_CHUNK_BYTES", SP_CHUNK_BYTES); }

int64_t sp_text_chunk_capacity(const sp_text *s)
{
    return s->chunk_bytes + SP_LINE_MAX + STEP + SP_CHUNK_PAD;
}

static spmm_status allocate_kept(sp_text *stream)
{
    stream->kept_capacity = sp_text_chunk_capacity(stream);
    const spmm_status status = sp_alloc((void **)&stream->kept, stream->kept_capacity, 1, "the read buffer");
    if (status != SPMM_OK) sp_text_close(stream);
    return status;
}

spmm_status sp_text_open(const char *path, int64_t chunk_bytes, sp_text *stream)
{
    memset(stream, 0, sizeof *stream);
    TRY(sp_input_open(path, &stream->source));
    stream->chunk_bytes = chunk_bytes > 0 ? chunk_bytes : sp_text_chunk_default();
    return allocate_kept(stream);
}

spmm_status sp_text_dup(const sp_text *stream, sp_text *other)
{
    memset(other, 0, sizeof *other);
    TRY(sp_input_dup(stream->source, &other->source));
    other->chunk_bytes = stream->chunk_bytes;
    return allocate_kept(other);
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
    s->entries = 0;
}

static spmm_status source_failed(const sp_text *s, spmm_status status, sp_read_error *error)
{
    return sp_error_set(error, status, s->lines + 1, "%s", sp_input_error(s->source));
}

/** Sets *error to report that line number `line` is too long. */
static spmm_status line_too_long(int64_t line, sp_read_error *error)
{
    return sp_error_set(error, SPMM_ERR_SYNTAX, line,
                        "found a line of more than %d bytes, expected the lines of a Matrix Market file",
                        SP_LINE_MAX);
}

spmm_status sp_text_line(sp_text *s, const char **line, const char **end, sp_read_error *error)
{
    int64_t searched = s->kept_begin;
    char *newline;
    *line = *end = NULL;
    while (!(newline = memchr(s->kept + searched, '\n', (size_t)(s->kept_end - searched)))) {
        const int64_t kept = s->kept_end - s->kept_begin;
        if (kept > SP_LINE_MAX) return line_too_long(s->lines + 1, error);
        if (s->kept_begin > 0) memmove(s->kept, s->kept + s->kept_begin, (size_t)kept);
        s->kept_begin = 0;
        s->kept_end = searched = kept;
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
    if (newline - (s->kept + s->kept_begin) > SP_LINE_MAX) return line_too_long(s->lines + 1, error);
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
    memcpy(text + *n, s->kept + s->kept_begin, (size_t)old);
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
static void give_back(sp_text *s, const char *tail, int64_t bytes)
{
    if (s->kept_begin < s->kept_end) { /* the file was not read, so the tail is still in s->kept */
        s->kept_begin -= bytes;
        return;
    }
    memcpy(s->kept, tail, (size_t)bytes);
    s->kept_begin = 0;
    s->kept_end = bytes;
}

/** Returns the number of newlines in the text, 20 times as fast as parsing it.
 *  \param [out] all_entries  1: no line is blank or a comment; 0: some line may be */
static int64_t count_lines(const char *text, int64_t bytes, int *all_entries)
{
    enum { BLOCK = 128 }; /* few enough bytes that `count`, an unsigned char, does not overflow */
    const unsigned char *const p = (const unsigned char *)text;
    int64_t lines = 0, b = 0;
    unsigned char odd = p[0] <= ' ' || p[0] == '%';
    for (; b + BLOCK <= bytes; b += BLOCK) {
        unsigned char count = 0;
#pragma omp simd reduction(+ : count) reduction(| : odd)
        for (int k = 0; k < BLOCK; k++) {
            const unsigned char newline = p[b + k] == '\n', next = p[b + k + 1];
            count = (unsigned char)(count + newline);
            odd = (unsigned char)(odd | (newline & ((next <= ' ') | (next == '%'))));
        }
        lines += count;
    }
    for (; b < bytes; b++) {
        if (p[b] != '\n') continue;
        lines++;
        odd |= p[b + 1] <= ' ' || p[b + 1] == '%';
    }
    *all_entries = !odd;
    return lines;
}

int64_t sp_count_lines(const char *text, int64_t bytes, int64_t *entries)
{
    int all_entries;
    const int64_t lines = count_lines(text, bytes, &all_entries);
    *entries = lines;
    if (all_entries) return lines;
    const char *const end = text + bytes;
    *entries = 0;
    for (const char *p = text; p < end; p = sp_line_end(p, end) + 1) *entries += sp_is_entry_line(p);
    return lines;
}

const char *sp_find_long_line(const char *text, int64_t bytes)
{
    const char *const end = text + bytes;
    while (end - text > SP_LINE_MAX) {
        /* The first SP_LINE_MAX + 1 bytes contain the newline of the line at `text`, unless it is too long.
         * Any other line that ends within these bytes is short enough, too. */
        const char *const newline = memrchr(text, '\n', SP_LINE_MAX + 1);
        if (!newline) return text;
        text = newline + 1;
    }
    return NULL;
}

/** Sets the numbers of lines and of entries in chunk c, and the numbers of its first line and first entry. */
static void place(sp_text *s, sp_chunk *c)
{
    c->first_line = s->lines + 1;
    c->first_entry = s->entries;
    c->lines = sp_count_lines(c->text, c->bytes, &c->entries);
    s->lines += c->lines;
    s->entries += c->entries;
}

spmm_status sp_text_chunk(sp_text *s, sp_chunk *c, sp_read_error *error)
{
    int64_t n = 0, before = 0;
    char *newline = NULL;
    spmm_status status = take(s, c->text, s->chunk_bytes, &n);
    c->bytes = 0;
    while (n > before && !(newline = memrchr(c->text + before, '\n', (size_t)(n - before)))) {
        if (n > SP_LINE_MAX) return line_too_long(s->lines + 1, error);
        before = n;
        if (status == SPMM_OK) status = take(s, c->text, STEP, &n);
    }
    if (!newline) {
        /* if reading failed, the incomplete line read so far must not be parsed */
        if (status != SPMM_OK) return source_failed(s, status, error);
        if (n == 0) return SPMM_OK;
        c->text[n++] = '\n';
        newline = c->text + n - 1;
    }
    c->bytes = newline + 1 - c->text;
    const char *const too_long = sp_find_long_line(c->text, c->bytes);
    if (too_long == c->text) return line_too_long(s->lines + 1, error);
    if (too_long) c->bytes = too_long - c->text; /* earlier lines are parsed first: they may be wrong */
    if (c->bytes < n) give_back(s, c->text + c->bytes, n - c->bytes);
    /* count_lines() looks at the byte after the chunk, which must look neither blank nor like a comment */
    memset(c->text + c->bytes, 'x', SP_CHUNK_PAD);
    place(s, c);
    return SPMM_OK;
}
