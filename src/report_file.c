#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report.h"

/** Where the fields of a record go: JSON, a CSV header or a CSV row. */
typedef struct sink {
    FILE *file;
    enum { JSON, CSV_HEAD, CSV_ROW } kind;
    const char *group; /* NULL: top level */
    int fields;        /* of the object or the row so far */
} sink;

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
static int field(sink *s, const char *name)
{
    if (s->fields++) fputc(',', s->file);
    if (s->kind == JSON) fprintf(s->file, "\"%s\":", name);
    if (s->kind == CSV_HEAD) fprintf(s->file, "%s%s%s", s->group ? s->group : "", s->group ? "." : "", name);
    return s->kind != CSV_HEAD;
}

static void text(sink *s, const char *name, const char *value)
{
    if (field(s, name)) quoted(s->file, value, s->kind == JSON);
}

static void whole(sink *s, const char *name, int64_t value)
{
    if (field(s, name)) fprintf(s->file, "%" PRId64, value);
}

static void real(sink *s, const char *name, double value)
{
    if (!field(s, name)) return;
    if (isfinite(value))
        fprintf(s->file, "%.9g", value);
    else
        fputs(s->kind == JSON ? "null" : "", s->file); /* JSON has no inf and nan */
}

static void truth(sink *s, const char *name, int value)
{
    if (field(s, name)) fputs(value ? "true" : "false", s->file);
}

static void open_group(sink *s, const char *name)
{
    s->group = name;
    if (s->kind != JSON) return;
    if (s->fields) fputc(',', s->file);
    fprintf(s->file, "\"%s\":{", name);
    s->fields = 0;
}

static void close_group(sink *s)
{
    s->group = NULL;
    if (s->kind == JSON) fputc('}', s->file);
    s->fields = 1;
}

static void grid(sink *s, const int *dims)
{
    if (s->kind == JSON) {
        field(s, "grid");
        fprintf(s->file, "[%d,%d]", dims[0], dims[1]);
    } else {
        whole(s, "grid_p", dims[0]);
        whole(s, "grid_q", dims[1]);
    }
}

static void run_group(sink *s, const sp_record *r)
{
    open_group(s, "run");
    whole(s, "ranks", r->run.ranks);
    grid(s, r->run.grid);
    text(s, "device", r->run.device);
    text(s, "gpu", r->run.gpu);
    text(s, "host", r->run.host);
    whole(s, "threads", r->run.threads);
    text(s, "format", r->run.format);
    text(s, "kernel", r->run.kernel);
    text(s, "precision", r->run.precision);
    whole(s, "k", r->run.k);
    text(s, "partition", r->run.partition);
    text(s, "exchange", r->run.exchange);
    text(s, "transport", r->run.transport);
    whole(s, "repeat", r->run.repeat);
    whole(s, "warmup", r->run.warmup);
    text(s, "x", r->run.x);
    text(s, "verify", r->run.verify);
    close_group(s);
}

static void seconds_group(sink *s, const sp_seconds *t)
{
    open_group(s, "seconds");
    real(s, "read", t->read);
    real(s, "partition", t->partition);
    real(s, "scatter", t->scatter);
    real(s, "convert", t->convert);
    real(s, "x", t->x);
    real(s, "exchange", t->exchange);
    real(s, "kernel", t->kernel);
    real(s, "apply", t->apply);
    real(s, "gather", t->gather);
    real(s, "verify", t->verify);
    real(s, "total", t->total);
    close_group(s);
}

static void error_group(sink *s, const sp_record *r)
{
    const int done = r->mode != SP_VERIFY_NONE;
    open_group(s, "error");
    real(s, "max_relative", done ? r->error.max_relative : NAN);
    real(s, "mean_relative", done ? r->error.mean_relative : NAN);
    whole(s, "checked", r->error.checked);
    whole(s, "wrong", r->error.wrong);
    whole(s, "different", r->error.different);
    truth(s, "passed", r->passed && done);
    close_group(s);
}

/** What a product moves between ranks, and where its time goes. */
static void moved_group(sink *s, const sp_record *r)
{
    open_group(s, "moved");
    text(s, "reduce", r->run.reduce);
    truth(s, "overlap", r->run.overlap);
    whole(s, "rows", r->moved.rows);
    whole(s, "all_rows", r->moved.all_rows);
    whole(s, "bcast_rows", r->moved.bcast_rows);
    whole(s, "neighbours", r->moved.neighbours);
    whole(s, "slices", r->moved.slices);
    real(s, "interior_share", r->moved.interior);
    real(s, "hidden", r->moved.all_rows > 0 ? r->moved.hidden : NAN);
    real(s, "halo_seconds", r->seconds.halo);
    real(s, "interior_seconds", r->seconds.interior);
    real(s, "boundary_seconds", r->seconds.boundary);
    real(s, "reduce_seconds", r->seconds.reduce);
    real(s, "still_seconds", r->moved.all_rows > 0 ? r->seconds.still : NAN);
    close_group(s);
}

/** Of --probe. */
static void probe_group(sink *s, const sp_record *r)
{
    open_group(s, "probe");
    real(s, "latency_seconds", r->probe.latency > 0 ? r->probe.latency : NAN);
    real(s, "seconds_per_byte", r->probe.per_byte > 0 ? r->probe.per_byte : NAN);
    real(s, "seconds_per_flop", r->probe.per_flop > 0 ? r->probe.per_flop : NAN);
    close_group(s);
}

/** Every field, once, whatever the form. */
static void visit(sink *s, const sp_record *r)
{
    text(s, "version", SPMM_VERSION);
    open_group(s, "matrix");
    text(s, "source", r->matrix.source);
    whole(s, "rows", r->matrix.rows);
    whole(s, "cols", r->matrix.cols);
    whole(s, "nnz", r->matrix.nnz);
    text(s, "field", r->matrix.field);
    text(s, "symmetry", r->matrix.symmetry);
    close_group(s);
    run_group(s, r);
    seconds_group(s, &r->seconds);
    open_group(s, "apply");
    whole(s, "n", r->apply.n);
    real(s, "median", r->apply.median);
    real(s, "mean", r->apply.mean);
    real(s, "stddev", r->apply.stddev);
    real(s, "variance", r->apply.stddev * r->apply.stddev);
    real(s, "min", r->apply.min);
    real(s, "max", r->apply.max);
    real(s, "median_low", r->apply.low);
    real(s, "median_high", r->apply.high);
    close_group(s);
    real(s, "gflops", r->gflops);
    real(s, "imbalance", r->imbalance);
    error_group(s, r);
    open_group(s, "memory");
    whole(s, "root_peak_bytes", r->memory.root_peak_bytes);
    whole(s, "rank_peak_bytes", r->memory.rank_peak_bytes);
    whole(s, "load_peak_bytes", r->memory.load_peak_bytes);
    close_group(s);
    /* new fields go to the end, where readers of columns do not miss them */
    const int measured = r->floor.copy_rate > 0;
    real(s, "floor_share", measured ? r->floor.share : NAN);
    real(s, "copy_bytes_per_second", measured ? r->floor.copy_rate : NAN);
    moved_group(s, r);
    probe_group(s, r);
}

static spmm_status finish(FILE *f, const char *path)
{
    const int bad = ferror(f);
    if (fclose(f) != 0 || bad) return sp_fail(SPMM_ERR_OUTPUT, "%s: cannot write: %s", path, strerror(errno));
    return SPMM_OK;
}

spmm_status sp_report_check(const char *path)
{
    FILE *f = path ? fopen(path, "a") : NULL;
    if (path && !f) return sp_fail(SPMM_ERR_OUTPUT, "%s: cannot write: %s", path, strerror(errno));
    return f ? finish(f, path) : SPMM_OK;
}

spmm_status sp_report_json(const char *path, const sp_record *r)
{
    FILE *f = fopen(path, "a");
    if (!f) return sp_fail(SPMM_ERR_OUTPUT, "%s: cannot write: %s", path, strerror(errno));
    sink s = {f, JSON, NULL, 0};
    fputc('{', f);
    visit(&s, r);
    fputs("}\n", f);
    return finish(f, path);
}

spmm_status sp_report_csv(const char *path, const sp_record *r)
{
    FILE *f = fopen(path, "a");
    if (!f) return sp_fail(SPMM_ERR_OUTPUT, "%s: cannot write: %s", path, strerror(errno));
    fseek(f, 0, SEEK_END);
    if (ftell(f) == 0) {
        sink head = {f, CSV_HEAD, NULL, 0};
        visit(&head, r);
        fputc('\n', f);
    }
    sink row = {f, CSV_ROW, NULL, 0};
    visit(&row, r);
    fputc('\n', f);
    return finish(f, path);
}
