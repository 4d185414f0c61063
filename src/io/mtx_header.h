/** The banner and the size line. */
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
    int64_t entries;    /**< that the body must hold */
    int64_t size_line;  /**< number of the line that said so */
} sp_header;

/** Reads up to and including the size line. Errors go to *error, which must be zeroed. */
spmm_status sp_read_header(sp_text *stream, sp_header *header, sp_read_error *error);

/** "\"token\"" for a message: cut short, what is not printable as \xHH. Returns buf. */
const char *sp_quote(char *buf, size_t n, const char *p, const char *end);

/** End of the word at p: a blank or the newline. */
static inline const char *sp_word_end(const char *p)
{
    while (!sp_is_blank(*p) && *p != '\n') p++;
    return p;
}

#endif
