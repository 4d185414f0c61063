/** Writes records as JSON Lines or CSV. */
#include "cli/record_writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "cli/append.h"

struct sp_writer {
    FILE *file;
    enum { JSON, CSV_HEAD, CSV_ROW } kind;
    const char *group; /* name of the open group; NULL: none */
    int fields;        /* 0: the current object or row has no field yet; the next needs no comma */
};

/** Returns the length in bytes, 1 to 4, of the UTF-8 character at p; 0 if the bytes at p are not a UTF-8
 *  character (RFC 3629: no overlong forms, no surrogates, nothing beyond U+10FFFF). */
static int character(const unsigned char *p)
{
    if (p[0] < 0x80) return 1;
    const int bytes = p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF5 ? 4 : 0;
    const unsigned least = p[0] == 0xE0   ? 0xA0
                           : p[0] == 0xF0 ? 0x90
                                          : 0x80,
                   most = p[0] == 0xED   ? 0x9F
                          : p[0] == 0xF4 ? 0x8F
                                         : 0xBF; /* bounds of the second byte */
    if (!bytes || p[1] < least || p[1] > most) return 0;
    for (int i = 2; i < bytes; i++)
        if ((p[i] & 0xC0) != 0x80) return 0;
    return bytes;
}

/** Writes text as a quoted UTF-8 string. A byte that is not part of a UTF-8 character (file names may have
 *  such bytes) is written as the four characters \xHH; in CSV, so are control characters. A CSV cell that
 *  spreadsheets would evaluate as a formula gets an apostrophe at the beginning. */
static void quoted(FILE *f, const char *text, int json)
{
    fputs(!json && *text && strchr("=+-@", *text) ? "\"'" : "\"", f);
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        const int control = json ? 0 : sp_control((const char *)p), bytes = control ? 0 : character(p);
        if (!bytes)
            fprintf(f, "%s\\x%02x", json ? "\\" : "", *p);
        else if (json && *p < 0x20)
            fprintf(f, "\\u%04x", *p);
        else if (json && (*p == '"' || *p == '\\'))
            fprintf(f, "\\%c", *p);
        else if (!json && *p == '"')
            fputs("\"\"", f);
        else
            fwrite(p, 1, (size_t)bytes, f);
        p += bytes ? bytes : 1;
    }
    fputc('"', f);
}

/** Starts a field: writes the comma before it and, in JSON and in a CSV header, its name. Returns 1 if the
 *  caller must write the value next, 0 in a CSV header. */
static int field(sp_writer *s, const char *name)
{
    if (s->fields++) fputc(',', s->file);
    if (s->kind == JSON) fprintf(s->file, "\"%s\":", name);
    if (s->kind == CSV_HEAD) fprintf(s->file, "%s%s%s", s->group ? s->group : "", s->group ? "." : "", name);
    return s->kind != CSV_HEAD;
}

void sp_writer_text(sp_writer *s, const char *name, const char *value)
{
    if (field(s, name)) quoted(s->file, value, s->kind == JSON);
}

void sp_writer_int(sp_writer *s, const char *name, int64_t value)
{
    if (field(s, name)) fprintf(s->file, "%" PRId64, value);
}

void sp_writer_double(sp_writer *s, const char *name, double value)
{
    if (!field(s, name)) return;
    if (isfinite(value))
        fprintf(s->file, "%.9g", value);
    else
        fputs(s->kind == JSON ? "null" : "", s->file); /* JSON has neither infinities nor NaNs */
}

void sp_writer_bool(sp_writer *s, const char *name, int value)
{
    if (field(s, name)) fputs(value ? "true" : "false", s->file);
}

void sp_writer_pair(sp_writer *s, const char *name, const char *first, const char *second, const int *pair)
{
    if (s->kind == JSON) {
        field(s, name);
        fprintf(s->file, "[%d,%d]", pair[0], pair[1]);
    } else {
        sp_writer_int(s, first, pair[0]);
        sp_writer_int(s, second, pair[1]);
    }
}

void sp_writer_list(sp_writer *s, const char *name, int64_t count,
                    int64_t (*of)(const void *data, int64_t index, int which), const void *data, int which)
{
    if (!field(s, name)) return;
    if (s->kind == JSON) fputc('[', s->file);
    for (int64_t i = 0; i < count; i++)
        fprintf(s->file, "%s%" PRId64, i == 0 ? "" : s->kind == JSON ? "," : " ", of(data, i, which));
    if (s->kind == JSON) fputc(']', s->file);
}

void sp_writer_schema(sp_writer *s) { sp_writer_int(s, "schema", SP_RECORD_SCHEMA); }

void sp_writer_stats(sp_writer *s, const sp_stats *stats)
{
    sp_writer_int(s, "n", stats->n);
    sp_writer_double(s, "median", stats->median);
    sp_writer_double(s, "mean", stats->mean);
    sp_writer_double(s, "stddev", stats->stddev);
    sp_writer_double(s, "variance", stats->stddev * stats->stddev);
    sp_writer_double(s, "min", stats->min);
    sp_writer_double(s, "max", stats->max);
    sp_writer_double(s, "median_low", stats->low);
    sp_writer_double(s, "median_high", stats->high);
}

void sp_writer_open(sp_writer *s, const char *group)
{
    s->group = group;
    if (s->kind != JSON) return;
    if (s->fields) fputc(',', s->file);
    fprintf(s->file, "\"%s\":{", group);
    s->fields = 0;
}

void sp_writer_close(sp_writer *s)
{
    s->group = NULL;
    if (s->kind == JSON) fputc('}', s->file);
    s->fields = 1;
}

/* ---- lines ---- */

/** Returns 1 if `line` is an incomplete JSON object, i.e. a line whose writing was interrupted. */
static int cut_object(const char *line, size_t bytes)
{
    int depth = 0, inside = 0; /* depth: number of open braces; inside: 1 within a string */
    if (bytes == 0 || line[0] != '{') return 0;
    for (size_t i = 0; i < bytes; i++) {
        if (inside && line[i] == '\\')
            i++;
        else if (line[i] == '"')
            inside = !inside;
        else if (!inside)
            depth += (line[i] == '{') - (line[i] == '}');
    }
    return inside || depth > 0;
}

/** Formats a record as one line of text in memory.
 *  \param [in]  kind  JSON, CSV_HEAD or CSV_ROW
 *  \param [out] text  [*bytes] the line; the caller frees it with free() */
static spmm_status compose(int kind, sp_writer_visit visit, const void *record, char **text, size_t *bytes)
{
    *text = NULL;
    FILE *const f = open_memstream(text, bytes);
    sp_writer s = {.file = f, .kind = kind};
    if (f) {
        if (s.kind == JSON) fputc('{', f);
        visit(&s, record);
        fputs(s.kind == JSON ? "}\n" : "\n", f);
    }
    const int bad = !f || ferror(f);
    if ((f && fclose(f) != 0) || bad) {
        free(*text);
        *text = NULL;
        return sp_fail(SPMM_ERR_MEMORY, "cannot allocate memory for a record");
    }
    return SPMM_OK;
}

spmm_status sp_writer_json(const char *path, sp_writer_visit visit, const void *record)
{
    char *line;
    size_t bytes;
    TRY(compose(JSON, visit, record, &line, &bytes));
    const spmm_status status = sp_append(path, NULL, cut_object, line, bytes);
    free(line);
    return status;
}

spmm_status sp_writer_csv(const char *path, sp_writer_visit visit, const void *record)
{
    char *head, *row = NULL;
    size_t head_bytes, bytes;
    TRY(compose(CSV_HEAD, visit, record, &head, &head_bytes));
    spmm_status status = compose(CSV_ROW, visit, record, &row, &bytes);
    if (status == SPMM_OK) status = sp_append(path, head, NULL, row, bytes);
    free(head);
    free(row);
    return status;
}

spmm_status sp_writer_files(const char *json, const char *csv, sp_writer_visit visit, const void *record)
{
    if (json) TRY(sp_writer_json(json, visit, record));
    return csv ? sp_writer_csv(csv, visit, record) : SPMM_OK;
}
