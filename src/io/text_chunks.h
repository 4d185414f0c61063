/** A text file as lines: one at a time for the header, then in chunks of whole lines, each with its
 *  place in the file: which line and which entry it starts with. */
#ifndef SP_TEXT_CHUNKS_H
#define SP_TEXT_CHUNKS_H

#include <string.h>
#include "io/input.h"

#ifndef SP_LINE_MAX           /* (the fuzz targets' build lowers it, to be quick) */
#define SP_LINE_MAX (1 << 20) /* bytes of a line, its newline not counted; the format's own limit is 1024 */
#endif

enum {
    SP_CHUNK_BYTES = 256 << 10, /* text and what it is parsed from stay in a core's cache */
    SP_CHUNK_PAD = 64           /* readable bytes behind a chunk */
};

/** Where and what went wrong first; status SPMM_OK: nothing. */
typedef struct sp_read_error {
    spmm_status status;
    int64_t line;
    char text[480]; /**< "found ..., expected ..." */
} sp_read_error;

/** Sets *e, printf style; returns status. */
spmm_status sp_error_set(sp_read_error *e, spmm_status status, int64_t line, const char *format, ...)
    SP_PRINTF(4, 5);

typedef struct sp_text {
    sp_input *source;
    int64_t chunk_bytes;
    char *kept; /* text read but not handed out: [kept_begin, kept_end) */
    int64_t kept_begin, kept_end, kept_capacity;
    int64_t lines;   /**< handed out so far */
    int64_t entries; /**< of chunks handed out so far */
    int64_t bytes;   /**< of text read so far */
} sp_text;

/** Whole lines; the last byte is a newline. */
typedef struct sp_chunk {
    char *text; /**< sp_text_chunk_capacity() bytes, the caller's */
    int64_t bytes;
    int64_t first_line; /**< number of its first line, from 1 */
    int64_t lines;
    int64_t first_entry; /**< number of its first entry, from 0 */
    int64_t entries;     /**< lines that are neither blank nor comments */
} sp_chunk;

/** SP_CHUNK_BYTES, or the environment's SPMM_READ_CHUNK_BYTES (for tests). */
int64_t sp_text_chunk_default(void);

/** \param [in] chunk_bytes  0: the default */
spmm_status sp_text_open(const char *path, int64_t chunk_bytes, sp_text *stream);
/** Another stream of the same open file (sp_input_dup). */
spmm_status sp_text_dup(const sp_text *stream, sp_text *other);
void sp_text_close(sp_text *stream);

/** The next line, [*line, *end), *end pointing at its newline (always there); *line is NULL at the
 *  end of the file. Valid until the next call. */
spmm_status sp_text_line(sp_text *stream, const char **line, const char **end, sp_read_error *error);

/** Counts the lines of a text of whole lines, behind which a byte can be read, and its entries: lines that are
 *  neither blank nor comments. */
int64_t sp_count_lines(const char *text, int64_t bytes, int64_t *entries);

/** The first line of a text of whole lines that has more than SP_LINE_MAX bytes; NULL: none. Every reader of a Matrix
 *  Market file asks this of all that it parses, so that which lines are too long depends on no reader and no chunk. */
const char *sp_find_long_line(const char *text, int64_t bytes);

/** Fills the next chunk; chunk->bytes is 0 at the end of the file. One thread at a time. */
spmm_status sp_text_chunk(sp_text *stream, sp_chunk *chunk, sp_read_error *error);
int64_t sp_text_chunk_capacity(const sp_text *stream);

/** Bytes of text handed out so far. */
int64_t sp_text_position(const sp_text *stream);

/** Goes back there, where the source can (sp_input_repeatable). \param [in] lines  before that byte */
void sp_text_go_back(sp_text *stream, int64_t position, int64_t lines);

/** Bytes of text still to come, at most. */
int64_t sp_text_bytes_left_at_most(const sp_text *stream);

static inline int sp_is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

static inline const char *sp_skip_blanks(const char *p)
{
    while (sp_is_blank(*p)) p++;
    return p;
}

/** Whether the line at p, ended by a newline, is neither blank nor a comment. */
static inline int sp_is_entry_line(const char *p)
{
    p = sp_skip_blanks(p);
    return *p != '\n' && *p != '%';
}

/** The newline that ends the line at p; there must be one before end. */
static inline const char *sp_line_end(const char *p, const char *end)
{
    return memchr(p, '\n', (size_t)(end - p));
}

#endif
