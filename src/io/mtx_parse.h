/** Chunks of text -> entries, in place: a fast path for lines as programs write them, a careful one
 *  for all others, which also words the errors. */
#ifndef SP_MTX_PARSE_H
#define SP_MTX_PARSE_H

#include "io/mtx_header.h"

/** What is looked at in plain lines (in others all is): less is quicker. */
typedef enum sp_wanted {
    SP_WANT_ALL,
    SP_WANT_INDICES, /**< no values */
    SP_WANT_LENGTHS  /**< the row and, with symmetry, the column; otherwise J gets zeros */
} sp_wanted;

/** Where the entries of a file go. */
typedef struct sp_parse_output {
    const sp_header *header;
    int allow_nonfinite;
    int64_t capacity; /**< entries that there may be: header->entries, or what the file can hold at most */
    spmm_precision precision;
    sp_wanted wanted;    /**< coordinate files; without values val must be NULL */
    int64_t first_entry; /**< coordinate files: number of the entry that I, J and val begin with */
    int32_t *I, *J;      /**< coordinate files: [capacity - first_entry], or as many as will be parsed */
    void *val; /**< like I, NULL for none; array files: [capacity], or, if dense, [rows x ld] row-major */
    int dense; /**< array files: place values by row and column, symmetric parts written out */
    int64_t ld;
} sp_parse_output;

/** The first entries of a chunk in the strict triangles. */
typedef struct sp_triangles {
    int64_t lower_line, upper_line; /**< INT64_MAX: none */
} sp_triangles;

typedef struct sp_entry {
    int64_t i, j; /**< from 1 */
    double value;
} sp_entry;

typedef enum sp_line_kind { SP_LINE_SKIP, SP_LINE_ENTRY, SP_LINE_WRONG } sp_line_kind;

/** One line, carefully. \param [in] p  the line, ended by a newline; \param [in] line  its number */
sp_line_kind sp_parse_line(const sp_parse_output *target, const char *p, int64_t line, sp_entry *entry,
                           sp_read_error *error);

/** Stores a chunk's entries; the chunk's place says where. Chunks may be parsed in any order, by
 *  several threads. Stops at the first wrong line.
 *  \param [in,out] first  lowered to the lines of this chunk's first entries in either triangle, up to
 *                         the wrong line if there is one; only where they are below what it holds */
spmm_status sp_parse_chunk(const sp_parse_output *target, const sp_chunk *chunk, sp_triangles *first,
                           sp_read_error *error);

#endif
