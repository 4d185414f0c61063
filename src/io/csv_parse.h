/** Lines of a CSV file -> series: chunks of text, each by itself. */
#ifndef SP_CSV_PARSE_H
#define SP_CSV_PARSE_H

#include "io/text_chunks.h"

/** What the first series of the file says of all, and what was asked for. */
typedef struct sp_csv_format {
    char separator;     /**< comma, semicolon or tab */
    int64_t values;     /**< of a series; 0: the file has none */
    int64_t first_line; /**< number of the line that says so */
    spmm_precision precision;
    int allow_nonfinite;
} sp_csv_format;

/** What a chunk held. */
typedef struct sp_csv_values {
    void *values;   /**< [series x format.values]; freed by sp_free() */
    int64_t series; /**< those before a wrong line, if there is one */
    int64_t first;  /**< the caller's: series of the file before these */
} sp_csv_values;

/** Looks for the first series of a chunk, whatever it is made of, and sets separator, values and first_line.
 *  Returns whether there is one. */
int sp_csv_find_format(const sp_chunk *chunk, sp_csv_format *format);

/** Parses a chunk (of which entries and first_entry are not looked at) up to its first wrong line, which *error then
 *  tells. \param [out] out  must be zeroed; also on failure the caller frees the values */
void sp_csv_parse(const sp_csv_format *format, const sp_chunk *chunk, sp_csv_values *out,
                  sp_read_error *error);

#endif
