/** Fields of a record -> a file, as JSON Lines or CSV. One function visits the fields, whatever the form. Knows no
 *  record. Rank 0 alone calls this. */
#ifndef SP_RECORD_WRITER_H
#define SP_RECORD_WRITER_H

#include <stdint.h>

#include "base/stats.h"
#include "base/status.h"

/** Where the fields go: a JSON object, a CSV header or a CSV row. */
typedef struct sp_writer sp_writer;

/** Hands every field of a record to the sink, once, by the functions below. The same fields in the same order for
 *  every record, since the CSV header is that of the first. New ones belong at the end, where readers of columns
 *  do not miss them. */
typedef void (*sp_writer_visit)(sp_writer *sink, const void *record);

/* One field each. name: as JSON has it; in a group the CSV's column is GROUP.NAME */
void sp_writer_text(sp_writer *s, const char *name, const char *value); /**< not NULL */
void sp_writer_int(sp_writer *s, const char *name, int64_t value);
void sp_writer_double(sp_writer *s, const char *name,
                      double value); /**< inf and nan: null in JSON, empty in CSV */
void sp_writer_bool(sp_writer *s, const char *name, int value); /**< true or false */

/** n, median, mean, stddev, variance, min, max, median_low and median_high. */
void sp_writer_stats(sp_writer *s, const sp_stats *stats);

/** Two whole numbers: an array in JSON, two columns in CSV.
 *  \param [in] name           of the array
 *  \param [in] first, second  of the columns
 *  \param [in] pair           [2] */
void sp_writer_pair(sp_writer *s, const char *name, const char *first, const char *second, const int *pair);

/** The fields until sp_writer_close() are a group: an object in JSON. Groups do not nest; `group` must last as long. */
void sp_writer_open(sp_writer *s, const char *group);
void sp_writer_close(sp_writer *s);

/** Append the record: a line with one JSON object, or a row, whole or not at all, as append.h says. The CSV gets its header
 *  when the file is new or empty. The text is UTF-8 whatever the fields hold: a byte that is no part of a UTF-8 character,
 *  as names of files may have them, becomes the four characters \xHH.
 *  \return SPMM_OK, SPMM_ERR_OUTPUT with the file's name and the reason, SPMM_ERR_MEMORY */
spmm_status sp_writer_json(const char *path, sp_writer_visit visit, const void *record);
spmm_status sp_writer_csv(const char *path, sp_writer_visit visit, const void *record);

#endif
