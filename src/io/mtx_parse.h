/** Parses chunks of text into arrays of entries: lines as programs write them on a fast path, all others on a careful
 *  path, which also words the errors. */
#ifndef SP_MTX_PARSE_H
#define SP_MTX_PARSE_H

#include "io/mtx_header.h"

/** What is parsed of lines on the fast path (on the careful path everything is): less is faster. */
typedef enum sp_wanted {
    SP_WANT_ALL,
    SP_WANT_INDICES, /**< no values */
    SP_WANT_LENGTHS  /**< row indices and, with symmetry, column indices; without it J means nothing */
} sp_wanted;

/** Where the entries of a file go. */
typedef struct sp_parse_output {
    const sp_header *header;
    int allow_nonfinite;
    int64_t capacity; /**< maximum number of entries: header->entries, or fewer if the file is shorter */
    spmm_precision precision;
    sp_wanted wanted;    /**< coordinate files; if not SP_WANT_ALL, val must be NULL */
    int64_t first_entry; /**< coordinate files: number of the entry that I[0], J[0] and val[0] hold */
    int32_t *I, *J;      /**< coordinate files: [capacity - first_entry], or as many as will be parsed */
    void *val;           /**< as I, NULL: none; array files: [capacity], if dense [rows x ld] row-major */
    int dense;           /**< array files: store values by row and column, symmetric parts written out */
    int64_t ld;          /**< leading dimension of val, if dense */
} sp_parse_output;

/** Lines of the first entries in the strict lower and upper triangle. */
typedef struct sp_triangles {
    int64_t lower_line, upper_line; /**< INT64_MAX: none */
} sp_triangles;

typedef struct sp_entry {
    int64_t i, j; /**< 1-based */
    double value;
} sp_entry;

typedef enum sp_line_kind { SP_LINE_SKIP, SP_LINE_ENTRY, SP_LINE_WRONG } sp_line_kind;

/** Parses one line on the careful path.
 *  \param [in]  p      the line, ended by a newline
 *  \param [in]  line   its number, for the error
 *  \param [out] entry  set for SP_LINE_ENTRY
 *  \param [out] error  set for SP_LINE_WRONG
 *  \return whether the line holds an entry, is blank or a comment, or is wrong */
sp_line_kind sp_parse_line(const sp_parse_output *target, const char *p, int64_t line, sp_entry *entry,
                           sp_read_error *error);

/** Stores the entries of a chunk at the positions that chunk->first_entry implies, so that chunks may be parsed in
 *  any order and by several threads. Stops at the first wrong line.
 *  \param [in,out] first  lines of the first entries in either triangle: lowered where this chunk has an earlier
 *                         one (before its wrong line, if there is one)
 *  \param [out]    error  the first error of the chunk
 *  \return error->status */
spmm_status sp_parse_chunk(const sp_parse_output *target, const sp_chunk *chunk, sp_triangles *first,
                           sp_read_error *error);

#endif
