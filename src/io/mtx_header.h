/** Reads the banner and the size line of a Matrix Market file. */
#ifndef SP_MTX_HEADER_H
#define SP_MTX_HEADER_H

#include "formats/coo.h"
#include "io/mtx_banner.h"
#include "io/text_chunks.h"

typedef enum sp_field { SP_FIELD_REAL, SP_FIELD_INTEGER, SP_FIELD_PATTERN, SP_FIELD_COMPLEX } sp_field;

typedef struct sp_header {
    int array; /**< 1: array format; 0: coordinate format */
    sp_field field;
    sp_symmetry symmetry;
    int64_t rows, cols; /**< both at most 2^31 - 1 */
    int64_t entries;   /**< number of entries that the body must have; INT64_MAX: not counted yet (edges.c) */
    int64_t size_line; /**< line number of the size line */
    int64_t body;      /**< offset in bytes of the body: the lines after the size line */
    int64_t bytes;     /**< size of the body in bytes; of a compressed file, an upper bound */
    int64_t first_edge; /**< line number of an edge list's first edge; 0: not an edge list (edges.h) */
    int from_zero;      /**< 1: indices count from 0; 0: from 1 */
    char comment;       /**< character that begins a comment, besides '%' */
} sp_header;

/** Reads a Matrix Market file from its beginning up to and including the size line, and sets *header.
 *  \param [out] error  zeroed by the caller; on failure, the message and the line number
 *  \return SPMM_OK, SPMM_ERR_OPEN, _SYNTAX, _UNSUPPORTED */
spmm_status sp_read_header(sp_text *stream, sp_header *header, sp_read_error *error);

/** Writes the text [p, end) to buf as a quotation for an error message: in double quotes, cut short if it is
 *  long, with bytes that are not printable as \xHH.
 *  \param [in] n  size of buf in bytes, at least 48
 *  \return buf; "" if n is less than 48 */
const char *sp_quote(char *buf, size_t n, const char *p, const char *end);

#endif
