/** Parses chunks of a CSV file into series; each chunk is parsed independently of the others. */
#ifndef SP_CSV_PARSE_H
#define SP_CSV_PARSE_H

#include "io/text_chunks.h"

/** The format of a CSV file, as its first series shows it, and the caller's options precision and
 *  allow_nonfinite. */
typedef struct sp_csv_format {
    char separator;     /**< comma, semicolon or tab */
    int64_t values;     /**< number of values per series; 0: the file has no series */
    int64_t first_line; /**< line number of the first series in the file */
    spmm_precision precision;
    int allow_nonfinite;
} sp_csv_format;

/** The series of one chunk of a CSV file. */
typedef struct sp_csv_values {
    void *values;   /**< [series x values per series], row-major: the parsed values; free with sp_free() */
    int64_t series; /**< number of series that were parsed: those before the first wrong line, if any */
    int64_t first;  /**< number of series in the file before this chunk; set by the caller */
} sp_csv_values;

/** Determines the format of the file from the first series of a chunk; the series need not be valid. Sets
 *  format->values and format->first_line. Sets format->separator if the series contains a comma, semicolon
 *  or tab. Returns 1; returns 0 if the chunk has no series. */
int sp_csv_find_format(const sp_chunk *chunk, sp_csv_format *format);

/** Parses the series of a chunk. Stops at the first wrong line, which *error then describes. Ignores
 *  chunk->entries and chunk->first_entry.
 *  \param [out] out  zeroed by the caller, who frees out->values by sp_free(), also on failure */
void sp_csv_parse(const sp_csv_format *format, const sp_chunk *chunk, sp_csv_values *out,
                  sp_read_error *error);

#endif
