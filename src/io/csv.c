/** Reads a CSV file into a multivector: cuts the text into chunks of whole lines ("pieces"), which all
 *  threads parse. */
#include "io/csv.h"

#include <omp.h>
#include <pthread.h>

#include "base/memory.h"
#include "formats/multivector.h"
#include "io/csv_parse.h"
#include "io/numparse.h"

/** A growing buffer of text. */
typedef struct csv_text {
    char *at;
    int64_t bytes, room; /* bytes: length of the text; room: bytes allocated */
} csv_text;

/** A chunk ("piece") of the CSV file. Its text is at the beginning of the buffer `text`, which may hold other
 *  text after it. */
typedef struct file_range {
    sp_chunk chunk;
    int64_t number; /* index of the piece in the file, from 0 */
    csv_text text;
} file_range;

/** A CSV file being read: the state that all threads share. Members that change while the file is read,
 *  except next_progress, are accessed only by the thread that holds `lock`. */
typedef struct reading {
    sp_input *source;
    int64_t piece_bytes;
    csv_text kept;         /* text that was read beyond the end of the last piece */
    int64_t lines, pieces; /* lines: lines handed out to threads so far; pieces: pieces so far */
    sp_csv_format format;
    sp_csv_values *parsed; /* the parsed series of each piece, [parsed_room]; the first `pieces` are in use */
    int64_t parsed_room;
    sp_read_error error; /* the error with the smallest line number found so far */
    int done;            /* 1: no further pieces are handed out; the file has ended or an error is certain */
    pthread_mutex_t lock;
    const sp_read_options *options;
    double next_progress; /* time of the next progress report, seconds; only thread 0 uses it */
} reading;

/* ---- reading the file in pieces ---- */

/** Grows the buffer *t so that it can hold `bytes` bytes of text and the padding; keeps the present text. */
static spmm_status reserve(csv_text *t, int64_t bytes)
{
    if (bytes + SP_CHUNK_PAD <= t->room) return SPMM_OK;
    const int64_t room = bytes + bytes / 2 + SP_CHUNK_PAD;
    void *at;
    TRY(sp_alloc(&at, room, 1, "the text of a CSV file"));
    if (t->bytes > 0) memcpy(at, t->at, (size_t)t->bytes);
    sp_free(t->at);
    t->at = at;
    t->room = room;
    return SPMM_OK;
}

static spmm_status copy_text(csv_text *to, const char *from, int64_t bytes)
{
    to->bytes = 0;
    TRY(reserve(to, bytes));
    if (bytes > 0) memcpy(to->at, from, (size_t)bytes);
    to->bytes = bytes;
    return SPMM_OK;
}

/** Appends text from the file to *t until a newline has been read. Sets *newline to the last newline in *t,
 *  or to NULL if the file ends before a newline. */
static spmm_status read_lines(reading *r, csv_text *t, char **newline, sp_read_error *error)
{
    *newline = NULL;
    while (!*newline) {
        /* the step grows with the length of the line, so that a long line takes only a few reads */
        const int64_t step = r->piece_bytes > t->bytes / 8 ? r->piece_bytes : t->bytes / 8;
        int64_t got;
        TRY(reserve(t, t->bytes + step));
        const spmm_status status = sp_input_read(r->source, t->at + t->bytes, step, &got);
        /* if the file is damaged, its incomplete last line is not parsed */
        if (status != SPMM_OK)
            return sp_error_set(error, status, r->lines + 1, "%s", sp_input_error(r->source));
        if (got == 0) return SPMM_OK;
        *newline = memrchr(t->at + t->bytes, '\n', (size_t)got);
        t->bytes += got;
    }
    return SPMM_OK;
}

/** Reads the next piece of the file into *c; c->chunk.bytes is 0 at the end of the file. Only one thread may
 *  call it at a time. */
static spmm_status fill(reading *r, file_range *c, sp_read_error *error)
{
    csv_text *const t = &c->text;
    char *newline;
    c->chunk = (sp_chunk){0};
    TRY(copy_text(t, r->kept.at, r->kept.bytes));
    r->kept.bytes = 0;
    TRY(read_lines(r, t, &newline, error));
    if (!newline) {
        if (t->bytes == 0) return SPMM_OK;
        newline = t->at + t->bytes;
        t->at[t->bytes++] = '\n'; /* there is room: reserve() has allocated the padding too */
    }
    const int64_t bytes = newline + 1 - t->at;
    TRY(copy_text(&r->kept, newline + 1, t->bytes - bytes));
    memset(t->at + bytes, 'x', SP_CHUNK_PAD - 1);
    if (r->pieces == 0 && bytes > 3 && memcmp(t->at, "\xEF\xBB\xBF", 3) == 0) memset(t->at, ' ', 3);
    c->number = r->pieces++;
    c->chunk = (sp_chunk){.text = t->at, .bytes = bytes, .first_line = r->lines + 1};
    c->chunk.lines = sp_count_lines(t->at, bytes, &c->chunk.entries);
    r->lines += c->chunk.lines;
    return SPMM_OK;
}

static spmm_status open_reading(reading *r, const char *path)
{
    TRY(sp_input_open(path, &r->source));
    r->piece_bytes = sp_text_chunk_default();
    return SPMM_OK;
}

/* ---- the format ---- */

/** Determines the format of the file from its first series. Errors in the text up to that series are not
 *  reported here: they will be found when all threads read the file again. */
static spmm_status detect_format(const char *path, sp_csv_format *f)
{
    reading r = {0};
    file_range c = {0};
    sp_read_error error = {0};
    f->separator = ',';
    TRY(open_reading(&r, path));
    spmm_status status = SPMM_OK;
    do {
        status = fill(&r, &c, &error);
    } while (status == SPMM_OK && c.chunk.bytes > 0 && !sp_csv_find_format(&c.chunk, f));
    sp_free(c.text.at);
    sp_free(r.kept.at);
    sp_input_close(r.source);
    if (status != SPMM_OK && error.status == SPMM_OK) /* the text has no error: an allocation failed */
        return sp_fail(status, "%s: %s", path, spmm_error_message());
    if (f->values > INT32_MAX)
        return sp_fail(SPMM_ERR_UNSUPPORTED, "%s:%lld: found %lld values, expected at most %d", path,
                       (long long)f->first_line, (long long)f->values, INT32_MAX);
    return SPMM_OK;
}

/* ---- parsing the pieces in threads ---- */

/** Grows the table r->parsed so that it has an element for the next piece. */
static spmm_status reserve_parsed(reading *r)
{
    if (r->pieces < r->parsed_room) return SPMM_OK;
    const int64_t room = 2 * r->parsed_room + 64;
    void *table;
    TRY(sp_alloc_zero(&table, room, sizeof *r->parsed, "the pieces of a CSV file"));
    if (r->pieces > 0) memcpy(table, r->parsed, (size_t)r->pieces * sizeof *r->parsed);
    sp_free(r->parsed);
    r->parsed = table;
    r->parsed_room = room;
    return SPMM_OK;
}

static void keep_first_error(reading *r, const sp_read_error *e)
{
    if (e->status == SPMM_OK) return;
    if (r->error.status == SPMM_OK || e->line < r->error.line) r->error = *e;
    r->done = 1;
}

/** Reads the next piece for the calling thread; returns 0 if there is none. Pieces are handed out in file
 *  order: when an error stops the threads, all text before the error is already being parsed, so that the
 *  first error of the file will be found. */
static int next_piece(reading *r, file_range *c, double *fraction)
{
    sp_read_error error = {0};
    int more = 0;
    pthread_mutex_lock(&r->lock);
    if (!r->done) {
        spmm_status status = reserve_parsed(r);
        if (status == SPMM_OK) status = fill(r, c, &error);
        if (status != SPMM_OK && error.status == SPMM_OK)
            sp_error_set(&error, status, 0, "%s", spmm_error_message());
        keep_first_error(r, &error);
        more = status == SPMM_OK && c->chunk.bytes > 0;
        r->done |= !more;
    }
    *fraction = sp_input_fraction(r->source);
    pthread_mutex_unlock(&r->lock);
    return more;
}

static void report_progress(reading *r, double fraction)
{
    const sp_read_options *const o = r->options;
    if (!o->progress || omp_get_thread_num() != 0 || omp_get_wtime() < r->next_progress) return;
    r->next_progress = omp_get_wtime() + 0.1;
    o->progress(o->progress_context, fraction);
}

static void read_pieces(reading *r)
{
    const int64_t most = sp_input_bytes_left_at_most(r->source) / r->piece_bytes + 1;
    const int threads = r->options->threads < most ? r->options->threads : (int)most;
#pragma omp parallel num_threads(threads < 1 ? 1 : threads)
    {
        file_range c = {0};
        double fraction;
        while (next_piece(r, &c, &fraction)) {
            sp_read_error error = {0};
            sp_csv_values out = {0};
            sp_csv_parse(&r->format, &c.chunk, &out, &error);
            pthread_mutex_lock(&r->lock);
            r->parsed[c.number] = out;
            keep_first_error(r, &error);
            pthread_mutex_unlock(&r->lock);
            report_progress(r, fraction);
        }
        sp_free(c.text.at);
    }
}

/* ---- the whole file ---- */

/** Copies the series of all pieces to their rows of x and frees the values of the pieces. */
static void put_together(reading *r, spmm_multivector *x)
{
    const int64_t bytes = x->k * sp_value_size(x->precision);
#pragma omp parallel for schedule(dynamic) num_threads(r->options->threads < 1 ? 1 : r->options->threads)
    for (int64_t c = 0; c < r->pieces; c++) {
        sp_csv_values *const from = &r->parsed[c];
        for (int64_t i = 0; i < from->series; i++)
            memcpy(sp_row(x, from->first + i), (char *)from->values + i * bytes, (size_t)bytes);
        sp_free(from->values);
        from->values = NULL;
    }
}

static spmm_status make_multivector(reading *r, const char *path, spmm_multivector *x)
{
    int64_t series = 0;
    for (int64_t c = 0; c < r->pieces; c++) {
        r->parsed[c].first = series;
        series += r->parsed[c].series;
    }
    if (series == 0)
        return sp_fail(SPMM_ERR_SYNTAX, "%s:%lld: found %s, expected a line of values", path,
                       (long long)(r->lines > 0 ? r->lines : 1),
                       r->lines > 0 ? "only blank lines and comments" : "an empty file");
    if (series > INT32_MAX)
        return sp_fail(SPMM_ERR_UNSUPPORTED, "%s: found %lld series, expected at most %d", path,
                       (long long)series, INT32_MAX);
    TRY(spmm_multivector_create(series, r->format.values, r->format.precision, SPMM_CPU, x));
    put_together(r, x);
    if (r->options->progress) r->options->progress(r->options->progress_context, 1.0);
    return SPMM_OK;
}

static spmm_status end_reading(reading *r, const char *path, spmm_status status)
{
    sp_input_close(r->source);
    for (int64_t c = 0; c < r->pieces; c++) sp_free(r->parsed[c].values);
    sp_free(r->parsed);
    sp_free(r->kept.at);
    pthread_mutex_destroy(&r->lock);
    if (r->error.status == SPMM_OK) return status;
    if (r->error.line == 0) return sp_fail(r->error.status, "%s: %s", path, r->error.text);
    return sp_fail(r->error.status, "%s:%lld: %s", path, (long long)r->error.line, r->error.text);
}

spmm_status sp_read_csv(const char *path, const sp_read_options *options, spmm_multivector *x)
{
    reading r = {.options = options};
    memset(x, 0, sizeof *x);
    r.format.precision = options->precision;
    r.format.allow_nonfinite = options->allow_nonfinite;
    sp_numparse_init();
    TRY(detect_format(path, &r.format));
    TRY(open_reading(&r, path));
    pthread_mutex_init(&r.lock, NULL);
    read_pieces(&r);
    spmm_status status = r.error.status;
    if (status == SPMM_OK) status = make_multivector(&r, path, x);
    return end_reading(&r, path, status);
}
