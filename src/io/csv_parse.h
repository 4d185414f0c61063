/** Parses lines of a CSV file into series, each chunk of text independently. */
#ifndef SP_CSV_PARSE_H
#define SP_CSV_PARSE_H

#include "io/text_chunks.h"

/** What the first series of the file determines for all of them, and what the caller asked for. */
typedef struct sp_csv_format {
    char separator;     /**< comma, semicolon or tab */
    int64_t values;     /**< per series; 0: the file has no series */
    int64_t first_line; /**< line number of the first series */
    spmm_precision precision;
    int allow_nonfinite;
} sp_csv_format;

/** The series found in one chunk. */
typedef struct sp_csv_values {
    void *values;   /**< [series x format.values]; freed by sp_free() */
    int64_t series; /**< number of series, up to the first wrong line if there is one */
    int64_t first;  /**< number of the file's series before these; set by the caller */
} sp_csv_values;

/** Looks for the first series of a chunk, whether it is valid or not, and sets values, first_line and, if the series
 *  has one, separator. Returns whether there is a series. */
int sp_csv_find_format(const sp_chunk *chunk, sp_csv_format *format);

/** Parses a chunk up to its first wrong line, which *error then describes. Does not use chunk->entries or
 *  chunk->first_entry. \param [out] out  zeroed before the call; the caller frees its values, also on failure */
void sp_csv_parse(const sp_csv_format *format, const sp_chunk *chunk, sp_csv_values *out,
                  sp_read_error *error);

#endif
