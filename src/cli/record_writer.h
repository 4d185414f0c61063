/** Writes records to a file as JSON Lines or CSV. The caller provides one function that passes the fields of
 *  a record to the writer, for both formats. All functions are local, and only rank 0 calls them. */
#ifndef SP_RECORD_WRITER_H
#define SP_RECORD_WRITER_H

#include <stdint.h>

#include "cli/stats.h"
#include "base/status.h"

/** The version of docs/record.schema.json that the records follow: its $defs/schema has the same number. It
 *  is increased when a field is removed or changes its name, meaning or unit, but not when a field is
 *  added. */
enum { SP_RECORD_SCHEMA = 2 };

/** A record writer: receives the fields of a record and writes a JSON object, a CSV header or a CSV row. */
typedef struct sp_writer sp_writer;

/** A function that passes every field of a record to the writer `sink`, by calls of the functions below. It
 *  must pass the same fields in the same order for every record, since the CSV header is written only once,
 *  with the first record. New fields belong at the end, so that the existing CSV columns keep their
 *  positions. docs/record.schema.json describes every field. */
typedef void (*sp_writer_visit)(sp_writer *sink, const void *record);

/* The following functions write one field each. `name` is the name of the field in JSON and of the column in
 * CSV, where a field of a group is called GROUP.NAME. */

/** Writes a string field; `value` must not be NULL. */
void sp_writer_text(sp_writer *s, const char *name, const char *value);

/** Writes an integer field. */
void sp_writer_int(sp_writer *s, const char *name, int64_t value);

/** Writes a floating-point field; infinities and NaNs become null in JSON and an empty field in CSV. */
void sp_writer_double(sp_writer *s, const char *name, double value);

/** Writes a field that is true or false. */
void sp_writer_bool(sp_writer *s, const char *name, int value);

/** Writes the version of the record schema as the field "schema". Every record contains this field once,
 *  after all fields that are older. */
void sp_writer_schema(sp_writer *s);

/** Writes *stats as the fields n, median, mean, stddev, variance, min, max, median_low and median_high. */
void sp_writer_stats(sp_writer *s, const sp_stats *stats);

/** Writes two integers: one array in JSON, two columns in CSV.
 *  \param [in] name           name of the array in JSON
 *  \param [in] first, second  names of the columns in CSV
 *  \param [in] pair           [2] the integers */
void sp_writer_pair(sp_writer *s, const char *name, const char *first, const char *second, const int *pair);

/** Writes `count` integers: an array in JSON, one field with blanks between them in CSV.
 *  \param [in] of  called with `data`, 0 to count - 1 and `which`; returns the integer */
void sp_writer_list(sp_writer *s, const char *name, int64_t count,
                    int64_t (*of)(const void *data, int64_t index, int which), const void *data, int which);

/** Opens a group: the fields that follow, up to sp_writer_close(), form an object in JSON. Groups cannot be
 *  nested. The string `group` must stay valid until the group is closed. */
void sp_writer_open(sp_writer *s, const char *group);

/** Closes the open group. */
void sp_writer_close(sp_writer *s);

/** Appends a record to the file `path` as one line with a JSON object, completely or not at all
 *  (cli/append.h). The line is always valid UTF-8: a byte of a string that is not part of a UTF-8 character
 *  (file names may have such bytes) is written as the four characters \xHH.
 *  \return SPMM_OK, SPMM_ERR_OUTPUT with the file's name and the reason, SPMM_ERR_MEMORY */
spmm_status sp_writer_json(const char *path, sp_writer_visit visit, const void *record);

/** Appends a record to the file `path` as one CSV row, whole or not at all; a new or empty file first gets
 *  the header. Bytes that are not UTF-8, and control characters, are written as by sp_writer_json(). A text
 *  that begins with =, +, - or @ gets an apostrophe at the beginning, because spreadsheets would evaluate it;
 *  numbers are not changed.
 *  \return SPMM_OK, SPMM_ERR_OUTPUT with the file's name and the reason, SPMM_ERR_MEMORY */
spmm_status sp_writer_csv(const char *path, sp_writer_visit visit, const void *record);

/** Appends a record to the files of --json and --csv; NULL: the option was not given.
 *  \return as sp_writer_json() and sp_writer_csv() */
spmm_status sp_writer_files(const char *json, const char *csv, sp_writer_visit visit, const void *record);

#endif
