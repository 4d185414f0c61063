#include "sink.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct sp_sink {
    FILE *file;
    enum { JSON, CSV_HEAD, CSV_ROW } kind;
    const char *group; /* NULL: top level */
    int fields;        /* of the object or the row so far */
};

static void quoted(FILE *f, const char *text, int json)
{
    fputc('"', f);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (json && *p < 0x20)
            fprintf(f, "\\u%04x", *p);
        else if (json && (*p == '"' || *p == '\\'))
            fprintf(f, "\\%c", *p);
        else if (!json && *p == '"')
            fputs("\"\"", f);
        else
            fputc(*p, f);
    }
    fputc('"', f);
}

/** Starts a field: comma, and its name where the form has names. 1: a value must follow. */
static int field(sp_sink *s, const char *name)
{
    if (s->fields++) fputc(',', s->file);
    if (s->kind == JSON) fprintf(s->file, "\"%s\":", name);
    if (s->kind == CSV_HEAD) fprintf(s->file, "%s%s%s", s->group ? s->group : "", s->group ? "." : "", name);
    return s->kind != CSV_HEAD;
}

void sp_sink_text(sp_sink *s, const char *name, const char *value)
{
    if (field(s, name)) quoted(s->file, value, s->kind == JSON);
}

void sp_sink_whole(sp_sink *s, const char *name, int64_t value)
{
    if (field(s, name)) fprintf(s->file, "%" PRId64, value);
}

void sp_sink_real(sp_sink *s, const char *name, double value)
{
    if (!field(s, name)) return;
    if (isfinite(value))
        fprintf(s->file, "%.9g", value);
    else
        fputs(s->kind == JSON ? "null" : "", s->file); /* JSON has no inf and nan */
}

void sp_sink_truth(sp_sink *s, const char *name, int value)
{
    if (field(s, name)) fputs(value ? "true" : "false", s->file);
}

void sp_sink_pair(sp_sink *s, const char *name, const char *first, const char *second, const int *pair)
{
    if (s->kind == JSON) {
        field(s, name);
        fprintf(s->file, "[%d,%d]", pair[0], pair[1]);
    } else {
        sp_sink_whole(s, first, pair[0]);
        sp_sink_whole(s, second, pair[1]);
    }
}

void sp_sink_stats(sp_sink *s, const sp_stats *stats)
{
    sp_sink_whole(s, "n", stats->n);
    sp_sink_real(s, "median", stats->median);
    sp_sink_real(s, "mean", stats->mean);
    sp_sink_real(s, "stddev", stats->stddev);
    sp_sink_real(s, "variance", stats->stddev * stats->stddev);
    sp_sink_real(s, "min", stats->min);
    sp_sink_real(s, "max", stats->max);
    sp_sink_real(s, "median_low", stats->low);
    sp_sink_real(s, "median_high", stats->high);
}

void sp_sink_open(sp_sink *s, const char *group)
{
    s->group = group;
    if (s->kind != JSON) return;
    if (s->fields) fputc(',', s->file);
    fprintf(s->file, "\"%s\":{", group);
    s->fields = 0;
}

void sp_sink_close(sp_sink *s)
{
    s->group = NULL;
    if (s->kind == JSON) fputc('}', s->file);
    s->fields = 1;
}

static spmm_status cannot_write(const char *path)
{
    return sp_fail(SPMM_ERR_OUTPUT, "%s: cannot write: %s", path, strerror(errno));
}

static spmm_status finish(FILE *f, const char *path)
{
    const int bad = ferror(f);
    return fclose(f) != 0 || bad ? cannot_write(path) : SPMM_OK;
}

spmm_status sp_sink_json(const char *path, sp_sink_visit visit, const void *record)
{
    FILE *f = fopen(path, "a");
    if (!f) return cannot_write(path);
    sp_sink s = {f, JSON, NULL, 0};
    fputc('{', f);
    visit(&s, record);
    fputs("}\n", f);
    return finish(f, path);
}

spmm_status sp_sink_csv(const char *path, sp_sink_visit visit, const void *record)
{
    FILE *f = fopen(path, "a");
    if (!f) return cannot_write(path);
    fseek(f, 0, SEEK_END);
    if (ftell(f) == 0) {
        sp_sink head = {f, CSV_HEAD, NULL, 0};
        visit(&head, record);
        fputc('\n', f);
    }
    sp_sink row = {f, CSV_ROW, NULL, 0};
    visit(&row, record);
    fputc('\n', f);
    return finish(f, path);
}
