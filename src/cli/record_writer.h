/** Writes the fields of a record to a file, as JSON Lines or CSV. One function of the caller visits the fields, for
 *  either form; nothing here depends on what a record holds. Everything is local; only rank 0 calls it. */
#ifndef SP_RECORD_WRITER_H
#define SP_RECORD_WRITER_H

#include <stdint.h>

#include "base/stats.h"
#include "base/status.h"

/** A record writer, to which the fields go: it writes a JSON object, a CSV header or a CSV row. */
typedef struct sp_writer sp_writer;

/** Passes every field of a record to the record writer, once, by the functions below. It must pass the same fields
 *  in the same order for every record, since the CSV header is that of the first one. New fields belong at the end,
 *  where they do not shift the columns that readers know. */
typedef void (*sp_writer_visit)(sp_writer *sink, const void *record);

/* The functions of one field. name: the field's name in JSON; the CSV column of a field in a group is GROUP.NAME */

/** Writes a string, which must not be NULL. */
void sp_writer_text(sp_writer *s, const char *name, const char *value);

/** Writes an integer. */
void sp_writer_int(sp_writer *s, const char *name, int64_t value);

/** Writes a number; infinities and NaNs become null in JSON and an empty field in CSV. */
void sp_writer_double(sp_writer *s, const char *name, double value);

/** Writes true or false. */
void sp_writer_bool(sp_writer *s, const char *name, int value);

/** Writes the fields n, median, mean, stddev, variance, min, max, median_low and median_high. */
void sp_writer_stats(sp_writer *s, const sp_stats *stats);

/** Writes two integers: an array in JSON, two columns in CSV.
 *  \param [in] name           name of the array
 *  \param [in] first, second  names of the columns
 *  \param [in] pair           [2] */
void sp_writer_pair(sp_writer *s, const char *name, const char *first, const char *second, const int *pair);

/** Opens a group, which has the fields up to sp_writer_close() and is an object in JSON. Groups do not nest; the
 *  string must live until the group is closed. */
void sp_writer_open(sp_writer *s, const char *group);

/** Closes the group. */
void sp_writer_close(sp_writer *s);

/** Appends the record to a file as a line with one JSON object, whole or not at all (base/append.h). The text is
 *  UTF-8 whatever the fields hold: a byte that is not part of a UTF-8 character, as file names may contain, becomes
 *  the four characters \xHH.
 *  \return SPMM_OK, SPMM_ERR_OUTPUT with the file's name and the reason, SPMM_ERR_MEMORY */
spmm_status sp_writer_json(const char *path, sp_writer_visit visit, const void *record);

/** Does the same with a row of CSV; a new or empty file gets the header first. */
spmm_status sp_writer_csv(const char *path, sp_writer_visit visit, const void *record);

#endif
