/** Reads the banner and the size line of a Matrix Market file. */
#ifndef SP_MTX_HEADER_H
#define SP_MTX_HEADER_H

#include "formats/coo.h"
#include "io/text_chunks.h"

typedef enum sp_field { SP_FIELD_REAL, SP_FIELD_INTEGER, SP_FIELD_PATTERN } sp_field;

typedef struct sp_header {
    int array; /**< 0: coordinate */
    sp_field field;
    sp_symmetry symmetry;
    int64_t rows, cols; /**< both <= 2^31 - 1 */
    int64_t entries;    /**< number of entries that the body must hold */
    int64_t size_line;  /**< line number of the size line */
} sp_header;

/** Reads up to and including the size line.
 *  \param [out] error  zeroed before the call; the error with its line
 *  \return SPMM_OK, SPMM_ERR_OPEN, _SYNTAX, _UNSUPPORTED */
spmm_status sp_read_header(sp_text *stream, sp_header *header, sp_read_error *error);

/** Quotes the text [p, end) for a message: in double quotes, cut short, bytes that are not printable as \xHH.
 *  \param [in] n  bytes in buf, at least 48
 *  \return buf; "" if n is smaller */
const char *sp_quote(char *buf, size_t n, const char *p, const char *end);

/** Returns the end of the word at p: a blank or the newline. */
static inline const char *sp_word_end(const char *p)
{
    while (!sp_is_blank(*p) && *p != '\n') p++;
    return p;
}

#endif
