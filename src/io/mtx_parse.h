/** Parses chunks of a Matrix Market file into arrays of entries. A fast path parses lines in the usual
 *  spelling; a careful path parses all other lines and writes the error messages. */
#ifndef SP_MTX_PARSE_H
#define SP_MTX_PARSE_H

#include "io/mtx_header.h"

/** Selects the numbers of a line that the fast path parses; fewer numbers take less time. The careful path
 *  always parses all. */
typedef enum sp_wanted {
    SP_WANT_ALL,
    SP_WANT_INDICES, /**< row and column indices, no values */
    SP_WANT_LENGTHS  /**< row indices; column indices only if the matrix is not general (else ignore J) */
} sp_wanted;

/** The arrays that the entries of a file are stored in, and how to parse the entries. */
typedef struct sp_parse_output {
    const sp_header *header;
    int allow_nonfinite;
    int64_t capacity; /**< maximum number of entries: header->entries, or fewer if the file is too short */
    spmm_precision precision;
    sp_wanted wanted;    /**< coordinate files: what to parse; if not SP_WANT_ALL, val must be NULL */
    int64_t first_entry; /**< coordinate files: number in the file of the entry at I[0] and J[0] */
    int32_t *I, *J;      /**< coordinate files: 0-based indices, [number of entries to parse] */
    /** Values. Coordinate files: one per element of I, or NULL to store no values. Array files: [capacity],
     *  in file order; but if `dense` is 1, a dense matrix. */
    void *val;
    int dense;  /**< array files: if 1, val is [rows x ld] row-major, with both triangles stored */
    int64_t ld; /**< leading dimension of val if dense is 1 */
} sp_parse_output;

/** Line numbers of the first entry in the strict lower triangle and of the first one in the strict upper
 *  triangle. */
typedef struct sp_triangles {
    int64_t lower_line, upper_line; /**< INT64_MAX: the triangle has no entry */
} sp_triangles;

typedef struct sp_entry {
    int64_t i, j; /**< row and column index, as they stand in the file */
    sp_c128 value;
} sp_entry;

typedef enum sp_line_kind { SP_LINE_SKIP, SP_LINE_ENTRY, SP_LINE_WRONG } sp_line_kind;

/** Parses one line on the careful path.
 *  \param [in]  p      the line, ended by a newline
 *  \param [in]  line   line number of p, for the error message
 *  \param [out] entry  set if the return value is SP_LINE_ENTRY
 *  \param [out] error  set if the return value is SP_LINE_WRONG
 *  \return SP_LINE_ENTRY; SP_LINE_SKIP if the line is blank or a comment; SP_LINE_WRONG */
sp_line_kind sp_parse_line(const sp_parse_output *target, const char *p, int64_t line, sp_entry *entry,
                           sp_read_error *error);

/** Parses a chunk up to its first wrong line. Stores its entries at the positions that chunk->first_entry
 *  implies, so that several threads may parse chunks in any order.
 *  \param [in,out] first  line numbers of the first entries in the two strict triangles; each is lowered if
 *                         the chunk has an earlier entry in that triangle (before its first wrong line)
 *  \param [out]    error  the first error in the chunk
 *  \return error->status */
spmm_status sp_parse_chunk(const sp_parse_output *target, const sp_chunk *chunk, sp_triangles *first,
                           sp_read_error *error);

#endif
