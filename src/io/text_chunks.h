/** Reads a text file by lines: one at a time for the header, then in chunks of whole lines, each with the numbers of
 *  the line and of the entry that it starts with. */
#ifndef SP_TEXT_CHUNKS_H
#define SP_TEXT_CHUNKS_H

#include <string.h>
#include "io/input.h"

#ifndef SP_LINE_MAX           /* the build of the fuzz targets lowers it, for speed */
#define SP_LINE_MAX (1 << 20) /* bytes of a line without its newline; the format's own limit is 1024 */
#endif

enum {
    SP_CHUNK_BYTES = 256 << 10, /**< small enough that a chunk stays in a core's cache while it is parsed */
    SP_CHUNK_PAD = 64           /**< readable bytes after a chunk */
};

/** The first error: what and where; status SPMM_OK: none. */
typedef struct sp_read_error {
    spmm_status status;
    int64_t line;   /**< 0: no line is to blame */
    char text[480]; /**< "found ..., expected ..." */
} sp_read_error;

/** Sets *e, its text as printf() does; returns status. */
spmm_status sp_error_set(sp_read_error *e, spmm_status status, int64_t line, const char *format, ...)
    SP_PRINTF(4, 5);

/** A text file being read. */
typedef struct sp_text {
    sp_input *source;
    int64_t chunk_bytes;
    char *kept; /**< text that was read but not handed out: [kept_begin, kept_end) */
    int64_t kept_begin, kept_end, kept_capacity;
    int64_t lines;   /**< lines handed out so far */
    int64_t entries; /**< entries in the chunks handed out so far */
    int64_t bytes;   /**< bytes of text read so far */
} sp_text;

/** A chunk of whole lines; the last byte is a newline. */
typedef struct sp_chunk {
    char *text; /**< owned by the caller; sp_text_chunk() needs sp_text_chunk_capacity() bytes */
    int64_t bytes;
    int64_t first_line; /**< number of its first line, from 1 */
    int64_t lines;
    int64_t first_entry; /**< number of its first entry, from 0 */
    int64_t entries;     /**< lines that are neither blank nor comments */
} sp_chunk;

/** Returns SPMM_READ_CHUNK_BYTES from the environment (for tests), else SP_CHUNK_BYTES. */
int64_t sp_text_chunk_default(void);

/** Opens a file.
 *  \param [in]  path         must outlive the stream
 *  \param [in]  chunk_bytes  0: sp_text_chunk_default()
 *  \param [out] stream       closed by sp_text_close(), not needed on failure
 *  \return SPMM_OK, SPMM_ERR_OPEN, SPMM_ERR_UNSUPPORTED (not text), SPMM_ERR_MEMORY */
spmm_status sp_text_open(const char *path, int64_t chunk_bytes, sp_text *stream);

/** Opens another stream on the same open file, at byte 0; see sp_input_dup().
 *  \return SPMM_OK, SPMM_ERR_OPEN, SPMM_ERR_MEMORY */
spmm_status sp_text_dup(const sp_text *stream, sp_text *other);

/** Closes the file and frees the buffer; accepts zeroed objects. */
void sp_text_close(sp_text *stream);

/** Returns the next line, [*line, *end), where *end points at its newline, which is added to the last line if it has
 *  none; *line is NULL at the end of the file. Valid until the next call on the stream.
 *  \return SPMM_OK, SPMM_ERR_OPEN, SPMM_ERR_SYNTAX (longer than SP_LINE_MAX); *error then says what and where */
spmm_status sp_text_line(sp_text *stream, const char **line, const char **end, sp_read_error *error);

/** Returns the number of lines in a text of whole lines, and in *entries how many of them are neither blank nor
 *  comments. The byte after the text must be readable. */
int64_t sp_count_lines(const char *text, int64_t bytes, int64_t *entries);

/** Returns the first line of a text of whole lines that has more than SP_LINE_MAX bytes; NULL: none. Every reader of
 *  Matrix Market files checks all its text with this function, so that the limit does not depend on the reader or on
 *  where chunks begin. */
const char *sp_find_long_line(const char *text, int64_t bytes);

/** Fills chunk->text and the numbers of the next chunk; chunk->bytes is 0 at the end of the file. One thread at a
 *  time.
 *  \return as sp_text_line() */
spmm_status sp_text_chunk(sp_text *stream, sp_chunk *chunk, sp_read_error *error);

/** Returns the bytes that chunk->text must have: a chunk, a line of maximum length and the pad. */
int64_t sp_text_chunk_capacity(const sp_text *stream);

/** Returns the number of bytes of text handed out so far. */
int64_t sp_text_position(const sp_text *stream);

/** Continues at byte `position` of the text, which must be repeatable (sp_input_repeatable()); entries count from 0
 *  again.
 *  \param [in] lines  number of lines before that byte */
void sp_text_go_back(sp_text *stream, int64_t position, int64_t lines);

/** Returns an upper bound on the bytes of text still to come. */
int64_t sp_text_bytes_left_at_most(const sp_text *stream);

/** Returns whether c is white space within a line. */
static inline int sp_is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

/** Returns the first character at or after p that is not a blank. */
static inline const char *sp_skip_blanks(const char *p)
{
    while (sp_is_blank(*p)) p++;
    return p;
}

/** Returns whether the line at p, ended by a newline, is neither blank nor a comment. */
static inline int sp_is_entry_line(const char *p)
{
    p = sp_skip_blanks(p);
    return *p != '\n' && *p != '%';
}

/** Returns the newline that ends the line at p; there must be one before end. */
static inline const char *sp_line_end(const char *p, const char *end)
{
    return memchr(p, '\n', (size_t)(end - p));
}

#endif
