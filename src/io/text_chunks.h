/** Reads a text file: single lines for the header, then chunks of whole lines. Each chunk carries the numbers
 *  of its first line and first entry in the file, so that chunks can be parsed independently. */
#ifndef SP_TEXT_CHUNKS_H
#define SP_TEXT_CHUNKS_H

#include <string.h>
#include "io/input.h"

#ifndef SP_LINE_MAX           /* fuzz targets are built with a lower limit, for speed */
#define SP_LINE_MAX (1 << 20) /* maximum length of a line in bytes, without newline; the standard says 1024 */
#endif

#ifndef SP_BLANK_MAX /* fuzz targets and tests are built with a lower limit */
/** Maximum number of lines before the size line, and maximum excess of blank lines and comments over entries.
 *  A few kilobytes of compressed text can be a billion such lines. */
#define SP_BLANK_MAX 10000000
#endif

enum {
    SP_CHUNK_BYTES = 256 << 10, /**< default chunk size: a chunk stays in a core's cache while it is parsed */
    SP_CHUNK_PAD = 64           /**< number of readable bytes after the text of a chunk */
};

/** An error found while a file is read; there is none if status is SPMM_OK. */
typedef struct sp_read_error {
    spmm_status status;
    int64_t line;   /**< line number of the error; 0: no line causes it */
    char text[480]; /**< the message: "found ..., expected ..." */
} sp_read_error;

/** Fills *e; formats e->text from `format` and the arguments after it as printf() does. Returns `status`. */
spmm_status sp_error_set(sp_read_error *e, spmm_status status, int64_t line, const char *format, ...)
    SP_PRINTF(4, 5);

/** Copies *e to *first if *e is set and *first is not set or has a larger line number. Returns 1 if *e is
 *  set, else 0. */
int sp_error_keep_first(sp_read_error *first, const sp_read_error *e);

/** Makes *e, which must be set, the error message, with the file and the line, if there is one, in front:
 *  "FILE:LINE: found ..., expected ...". Returns e->status. */
spmm_status sp_error_tell(const sp_read_error *e, const char *path);

/** A text file being read. */
typedef struct sp_text {
    sp_input *source;
    int64_t chunk_bytes, longest; /**< sizes in bytes of chunks, and of the longest line that is accepted */
    char comment;                 /**< begins a comment, as '%' does; sp_text_open() sets it to '%' */
    char *kept; /**< [kept_room]; the text that was read but not handed out yet: [kept_begin, kept_end) */
    int64_t kept_begin, kept_end, kept_room;
    int64_t chunks;  /**< number of chunks handed out so far */
    int64_t lines;   /**< number of lines handed out so far */
    int64_t entries; /**< number of entries in the chunks handed out so far */
    int64_t blank;   /**< number of lines in these chunks that are blank or comments */
    int64_t bytes;   /**< number of bytes of text read so far */
} sp_text;

/** A chunk of a text file: whole lines, the last byte is a newline. */
typedef struct sp_chunk {
    char *text; /**< buffer that sp_text_chunk() allocates, [room]; the caller frees it with sp_free() */
    int64_t room;
    int64_t bytes;
    int64_t number;     /**< number of the chunk in the file, from 0 */
    int64_t first_line; /**< line number of the chunk's first line, from 1 */
    int64_t lines;
    int64_t first_entry; /**< number in the file of the chunk's first entry, from 0 */
    int64_t entries;     /**< number of lines that are neither blank nor comments */
} sp_chunk;

/** Returns the default size of chunks in bytes: the environment variable SPMM_READ_CHUNK_BYTES (for tests) if
 *  it is set, else SP_CHUNK_BYTES. */
int64_t sp_text_chunk_default(void);

/** Opens a text file.
 *  \param [in]  path     must remain valid until sp_text_close()
 *  \param [in]  fd       what sp_input_descriptor(path) returned; the stream owns it, also on failure
 *  \param [in]  longest  maximum length of a line in bytes, without newline: SP_LINE_MAX or INT64_MAX
 *  \param [out] stream   the caller closes it by sp_text_close()
 *  \return SPMM_OK, SPMM_ERR_OPEN, SPMM_ERR_UNSUPPORTED (not text), SPMM_ERR_MEMORY */
spmm_status sp_text_open(const char *path, int fd, int64_t longest, sp_text *stream);

/** Opens a second stream, *other, for the open file of `stream`; it starts at byte 0 (see sp_input_dup()).
 *  \return SPMM_OK, SPMM_ERR_OPEN, SPMM_ERR_MEMORY */
spmm_status sp_text_dup(const sp_text *stream, sp_text *other);

/** Closes the file and frees the buffer; accepts zeroed objects. */
void sp_text_close(sp_text *stream);

/** Returns the next line as [*line, *end), where *end points at its newline; if the last line of the file has
 *  no newline, one is added. At the end of the file, *line is NULL. The line is valid until the next call on
 *  the stream.
 *  \return SPMM_OK, SPMM_ERR_OPEN, SPMM_ERR_SYNTAX (too long), SPMM_ERR_MEMORY; on failure, *error describes
 *          the error */
spmm_status sp_text_line(sp_text *stream, const char **line, const char **end, sp_read_error *error);

/** Reads the next chunk; chunk->bytes is 0 at the end of the file. Only one thread may call it at a time.
 *  \param [in,out] chunk  zeroed before the first call; its buffer is used again, and grows as needed
 *  \param [out]    error  zeroed by the caller
 *  \return as sp_text_line(); SPMM_ERR_SYNTAX also after more than SP_BLANK_MAX blank lines and comments
 *          beyond the number of entries */
spmm_status sp_text_chunk(sp_text *stream, sp_chunk *chunk, sp_read_error *error);

/** Returns the number of bytes of text handed out so far. */
int64_t sp_text_position(const sp_text *stream);

/** Moves the stream to byte `position` of the text, as sp_input_go_back() does. Entries and chunks are then
 *  counted from 0 again.
 *  \param [in] lines  number of lines before byte `position` */
void sp_text_go_back(sp_text *stream, int64_t position, int64_t lines);

/** Returns an upper bound on the number of bytes of text that have not been handed out yet. */
int64_t sp_text_bytes_left_at_most(const sp_text *stream);

/** Returns whether c is white space other than a newline. */
static inline int sp_is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

/** Returns the first character at or after p that is not a blank. */
static inline const char *sp_skip_blanks(const char *p)
{
    while (sp_is_blank(*p)) p++;
    return p;
}

/** Returns whether the line at p (ended by a newline) is neither blank nor a comment, which begins with '%'
 *  or `comment`. */
static inline int sp_is_entry_line(const char *p, char comment)
{
    p = sp_skip_blanks(p);
    return *p != '\n' && *p != '%' && *p != comment;
}

/** Returns the newline that ends the line at p; there must be a newline before `end`. */
static inline const char *sp_line_end(const char *p, const char *end)
{
    return memchr(p, '\n', (size_t)(end - p));
}

#endif
