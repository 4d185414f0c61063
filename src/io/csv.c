/** Reads a CSV file into a multivector: cuts the text into chunks of whole lines ("pieces"), which all
 *  threads parse. */
#include "io/csv.h"

#include <omp.h>
#include <pthread.h>

#include "base/fp_environment.h"
#include "base/memory.h"
#include "formats/multivector.h"
#include "io/csv_parse.h"
#include "io/numparse.h"

/** A CSV file being read: the state that all threads share. Members that change while the file is read,
 *  except next_progress, are accessed only by the thread that holds `lock`. */
typedef struct reading {
    sp_text stream;
    sp_csv_format format;
    sp_csv_values *parsed; /* [parsed_room] one element per piece; the first stream.chunks are in use */
    int64_t parsed_room;
    sp_read_error error; /* the error with the smallest line number found so far */
    int done;            /* 1: no further pieces are handed out; the file has ended or an error is certain */
    pthread_mutex_t lock;
    const sp_read_options *options;
    double next_progress; /* time of the next progress report, seconds; only thread 0 uses it */
} reading;

/** Reads the next piece of the file; c->bytes is 0 at the end of the file. Only one thread may call it at a
 *  time. */
static spmm_status read_piece(reading *r, sp_chunk *c, sp_read_error *error)
{
    TRY(sp_text_chunk(&r->stream, c, error));
    if (c->first_line == 1 && c->bytes > 3 && memcmp(c->text, "\xEF\xBB\xBF", 3) == 0)
        memset(c->text, ' ', 3);
    return SPMM_OK;
}

/* ---- the format ---- */

/** Determines the format of the file from its first series, and goes back to the beginning of the file.
 *  Errors in the text up to that series are not reported here: they will be found when all threads read the
 *  file again. */
static spmm_status detect_format(reading *r, const char *path)
{
    sp_csv_format *const f = &r->format;
    sp_chunk c = {0};
    sp_read_error error = {0};
    f->separator = ',';
    while (read_piece(r, &c, &error) == SPMM_OK && c.bytes > 0 && !sp_csv_find_format(&c, f)) continue;
    sp_free(c.text);
    sp_text_go_back(&r->stream, 0, 0);
    if (error.status == SPMM_ERR_MEMORY) return sp_error_tell(&error, path);
    if (f->values > INT32_MAX)
        return sp_fail(SPMM_ERR_UNSUPPORTED, "%s:%lld: found %lld values, expected at most %d", path,
                       (long long)f->first_line, (long long)f->values, INT32_MAX);
    return SPMM_OK;
}

/* ---- parsing the pieces in threads ---- */

/** Grows the table r->parsed so that it has an element for the next piece. */
static spmm_status reserve_parsed(reading *r)
{
    if (r->stream.chunks < r->parsed_room) return SPMM_OK;
    const int64_t room = 2 * r->parsed_room + 64;
    void *table;
    TRY(sp_alloc_zero(&table, room, sizeof *r->parsed, "the pieces of a CSV file"));
    if (r->stream.chunks > 0) memcpy(table, r->parsed, (size_t)r->stream.chunks * sizeof *r->parsed);
    sp_free(r->parsed);
    r->parsed = table;
    r->parsed_room = room;
    return SPMM_OK;
}

/** Reads the next piece for the calling thread; returns 0 if there is none. Pieces are handed out in file
 *  order: when an error stops the threads, all text before the error is already being parsed, so that the
 *  first error of the file will be found. */
static int next_piece(reading *r, sp_chunk *c, double *fraction)
{
    sp_read_error error = {0};
    int more = 0;
    pthread_mutex_lock(&r->lock);
    if (!r->done) {
        const spmm_status status = reserve_parsed(r);
        if (status == SPMM_OK)
            read_piece(r, c, &error);
        else
            sp_error_set(&error, status, 0, "%s", spmm_error_message());
        r->done |= sp_error_keep_first(&r->error, &error);
        more = error.status == SPMM_OK && c->bytes > 0;
        r->done |= !more;
    }
    *fraction = sp_input_fraction(r->stream.source);
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
    const int64_t most = sp_text_bytes_left_at_most(&r->stream) / r->stream.chunk_bytes + 1;
    const int threads = r->options->threads < most ? r->options->threads : (int)most;
#pragma omp parallel num_threads(threads < 1 ? 1 : threads)
    {
        SP_DEFAULT_FP;
        sp_chunk c = {0};
        double fraction;
        while (next_piece(r, &c, &fraction)) {
            sp_read_error error = {0};
            sp_csv_values out = {0};
            sp_csv_parse(&r->format, &c, &out, &error);
            pthread_mutex_lock(&r->lock);
            r->parsed[c.number] = out;
            r->done |= sp_error_keep_first(&r->error, &error);
            pthread_mutex_unlock(&r->lock);
            report_progress(r, fraction);
        }
        sp_free(c.text);
    }
}

/* ---- the whole file ---- */

/** Copies the series of all pieces to their rows of x and frees the values of the pieces. */
static void put_together(reading *r, spmm_multivector *x)
{
    const int64_t bytes = x->k * sp_value_size(x->precision);
#pragma omp parallel for schedule(dynamic) num_threads(r->options->threads < 1 ? 1 : r->options->threads)
    for (int64_t c = 0; c < r->stream.chunks; c++) {
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
    for (int64_t c = 0; c < r->stream.chunks; c++) {
        r->parsed[c].first = series;
        series += r->parsed[c].series;
    }
    if (series == 0)
        return sp_fail(SPMM_ERR_SYNTAX, "%s:%lld: found %s, expected a line of values", path,
                       (long long)(r->stream.lines > 0 ? r->stream.lines : 1),
                       r->stream.lines > 0 ? "only blank lines and comments" : "an empty file");
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
    for (int64_t c = 0; c < r->stream.chunks; c++) sp_free(r->parsed[c].values);
    sp_text_close(&r->stream);
    sp_free(r->parsed);
    pthread_mutex_destroy(&r->lock);
    return r->error.status == SPMM_OK ? sp_fail_in(path, status) : sp_error_tell(&r->error, path);
}

spmm_status sp_read_csv(const char *path, const sp_read_options *options, spmm_multivector *x)
{
    reading r = {.options = options};
    memset(x, 0, sizeof *x);
    r.format.precision = options->precision;
    r.format.allow_nonfinite = options->allow_nonfinite;
    sp_numparse_init();
    TRY(sp_text_open(path, sp_input_descriptor(path), INT64_MAX, &r.stream));
    pthread_mutex_init(&r.lock, NULL);
    spmm_status status = detect_format(&r, path);
    if (status == SPMM_OK) {
        read_pieces(&r);
        status = r.error.status;
    }
    if (status == SPMM_OK) status = make_multivector(&r, path, x);
    return end_reading(&r, path, status);
}
