#include "read.h"

#include <omp.h>
#include <pthread.h>
#include <stdio.h>

#include "memory.h"
#include "numparse.h"
#include "read_parse.h"

/** What the threads share while they read the body; all of it is touched under the lock only. */
typedef struct reading {
    sp_stream stream;
    sp_header header;
    sp_read_error error; /* the first one in the file, so far */
    sp_triangles first;
    int stop;             /* no further chunks: an error is certain */
    pthread_mutex_t lock; /* not OpenMP's, which spins: a thread may wait for all of an inflation */
    const sp_read_options *options;
    double next_progress; /* seconds; thread 0's */
} reading;

static void keep_first_error(reading *r, const sp_read_error *e)
{
    if (e->status == SPMM_OK) return;
    if (r->error.status == SPMM_OK || e->line < r->error.line) r->error = *e;
    r->stop = 1;
}

/** Takes the next chunk; 0 when there is none for this thread. Chunks are handed out in file order, so
 *  whoever stops the others knows that all earlier text is being looked at. */
static int next_chunk(reading *r, sp_chunk *chunk, sp_triangles *first, double *fraction)
{
    sp_read_error error = {0};
    int more = 0;
    pthread_mutex_lock(&r->lock);
    if (!r->stop) {
        sp_stream_chunk(&r->stream, chunk, &error);
        keep_first_error(r, &error);
        more = error.status == SPMM_OK && chunk->bytes > 0;
        if (!more) r->stop = 1;
    }
    *first = r->first;
    *fraction = sp_source_fraction(r->stream.source);
    pthread_mutex_unlock(&r->lock);
    return more;
}

static void chunk_done(reading *r, const sp_triangles *first, const sp_read_error *error)
{
    pthread_mutex_lock(&r->lock);
    keep_first_error(r, error);
    if (first->lower_line < r->first.lower_line) r->first.lower_line = first->lower_line;
    if (first->upper_line < r->first.upper_line) r->first.upper_line = first->upper_line;
    if (r->first.lower_line != INT64_MAX && r->first.upper_line != INT64_MAX) r->stop = 1;
    pthread_mutex_unlock(&r->lock);
}

static void report_progress(reading *r, double fraction)
{
    if (!r->options->progress || omp_get_thread_num() != 0) return;
    const double now = omp_get_wtime();
    if (now < r->next_progress) return;
    r->next_progress = now + 0.1;
    r->options->progress(r->options->progress_context, fraction);
}

static void read_chunks(reading *r, const sp_target *target)
{
    sp_chunk chunk = {0};
    sp_triangles first = {INT64_MAX, INT64_MAX};
    sp_read_error error = {0};
    double fraction;
    if (sp_alloc((void **)&chunk.text, sp_stream_chunk_capacity(&r->stream), 1, "a read buffer") != SPMM_OK) {
        sp_error_set(&error, SPMM_ERR_MEMORY, 0, "%s", spmm_error_message());
        chunk_done(r, &first, &error);
        return;
    }
    while (next_chunk(r, &chunk, &first, &fraction)) {
        sp_parse_chunk(target, &chunk, &first, &error);
        chunk_done(r, &first, &error);
        report_progress(r, fraction);
    }
    sp_free(chunk.text);
}

/** A second triangle would be counted twice without a word; too few entries show at the end only. */
static void check_whole(reading *r)
{
    const int64_t lower = r->first.lower_line, upper = r->first.upper_line;
    const char *const kept = lower < upper ? "lower" : "upper", *const other = lower < upper ? "upper"
                                                                                             : "lower";
    sp_read_error error = {0};
    if (lower != INT64_MAX && upper != INT64_MAX) {
        sp_error_set(
            &error, SPMM_ERR_SYNTAX, lower > upper ? lower : upper,
            "found an entry of the %s triangle, expected only the %s one, which line %lld began: the "
            "matrix is %s",
            other, kept, (long long)(lower < upper ? lower : upper),
            r->header.symmetry == SP_SKEW ? "skew-symmetric" : "symmetric");
        keep_first_error(r, &error);
    }
    if (r->error.status == SPMM_OK && r->stream.entries < r->header.entries) {
        sp_error_set(
            &error, SPMM_ERR_SYNTAX, r->stream.lines,
            "found the end of the file after %lld of %lld entries, expected all that line %lld promises",
            (long long)r->stream.entries, (long long)r->header.entries, (long long)r->header.size_line);
        keep_first_error(r, &error);
    }
}

/** Reads the body into target by all threads. */
static void read_body(reading *r, const sp_target *target)
{
    const int64_t left = sp_stream_bytes_left_at_most(&r->stream);
    const int64_t chunks = left / r->stream.chunk_bytes + 1;
    const int threads = chunks < r->options->threads ? (int)chunks : r->options->threads;
    pthread_mutex_init(&r->lock, NULL);
    r->first = (sp_triangles){INT64_MAX, INT64_MAX};
    r->next_progress = 0;
#pragma omp parallel num_threads(threads > 0 ? threads : 1)
    read_chunks(r, target);
    pthread_mutex_destroy(&r->lock);
    check_whole(r);
    if (r->options->progress && r->error.status == SPMM_OK)
        r->options->progress(r->options->progress_context, 1.0);
}

/** Opens the file and reads its header; the caller closes r->stream, also on failure. */
static spmm_status begin(reading *r, const char *path, const sp_read_options *options)
{
    memset(r, 0, sizeof *r);
    r->options = options;
    sp_numparse_init();
    TRY(sp_stream_open(path, 0, &r->stream));
    return sp_read_header(&r->stream, &r->header, &r->error);
}

/** The outcome as the caller's status and message; frees what reading held. */
static spmm_status finish(reading *r, const char *path, spmm_status status)
{
    sp_stream_close(&r->stream);
    if (r->error.status == SPMM_OK) return status;
    if (r->error.line == 0) return sp_fail(r->error.status, "%s: %s", path, r->error.text);
    return sp_fail(r->error.status, "%s:%lld: %s", path, (long long)r->error.line, r->error.text);
}

/** Entries that there can be: no size line is believed beyond what the file's length allows, so a
 *  false one ends as "too few entries" and not as an allocation. */
static int64_t capacity(const reading *r)
{
    const int64_t bytes = sp_stream_bytes_left_at_most(&r->stream);
    /* "1\n", "1 1\n", "1 1 1\n"; the last newline may be missing */
    const int64_t least = r->header.array ? 2 : r->header.field == SP_FIELD_PATTERN ? 4 : 6;
    const int64_t possible = bytes / least + 1;
    return r->header.entries < possible ? r->header.entries : possible;
}

static sp_target target_of(const reading *r)
{
    sp_target t = {0};
    t.header = &r->header;
    t.allow_nonfinite = r->options->allow_nonfinite;
    t.capacity = capacity(r);
    t.precision = r->options->precision;
    return t;
}

static spmm_status read_coordinate(reading *r, sp_coo *coo)
{
    sp_target t = target_of(r);
    /* a skew-symmetric pattern implies -1 in the other triangle, so its ones are written out */
    const int values = r->header.field != SP_FIELD_PATTERN || r->header.symmetry == SP_SKEW;
    TRY(sp_coo_create(r->header.rows, r->header.cols, t.capacity, r->header.symmetry, t.precision, values,
                      coo));
    t.I = coo->I;
    t.J = coo->J;
    t.val = coo->val;
    read_body(r, &t);
    return r->error.status;
}

static double value_at(const void *val, spmm_precision precision, int64_t k)
{
    return precision == SPMM_F64 ? ((const double *)val)[k] : (double)((const float *)val)[k];
}

/** Indices for the nonzeros of values in column-major order, which move to the front. */
static void keep_nonzeros(sp_coo *coo)
{
    const int64_t n = coo->rows;
    const int skew = coo->symmetry == SP_SKEW, general = coo->symmetry == SP_GENERAL;
    const size_t size = sp_value_size(coo->precision);
    char *const val = coo->val;
    int64_t from = 0, to = 0;
    for (int64_t j = 0; j < coo->cols; j++) {
        for (int64_t i = general ? 0 : j + skew; i < n; i++, from++) {
            if (value_at(val, coo->precision, from) == 0.0) continue;
            coo->I[to] = (int32_t)i;
            coo->J[to] = (int32_t)j;
            memmove(val + (size_t)to * size, val + (size_t)from * size, size);
            to++;
        }
    }
}

static spmm_status read_array(reading *r, sp_coo *coo)
{
    sp_target t = target_of(r);
    *coo = (sp_coo){r->header.rows, r->header.cols, 0, r->header.symmetry, t.precision, NULL, NULL, NULL};
    TRY(sp_alloc(&coo->val, t.capacity, sp_value_size(t.precision), "the values of the array"));
    t.val = coo->val;
    read_body(r, &t);
    TRY(r->error.status);
    for (int64_t k = 0; k < r->header.entries; k++) coo->nnz += value_at(coo->val, t.precision, k) != 0.0;
    TRY(sp_alloc((void **)&coo->I, coo->nnz, sizeof *coo->I, "row indices"));
    TRY(sp_alloc((void **)&coo->J, coo->nnz, sizeof *coo->J, "column indices"));
    keep_nonzeros(coo);
    return SPMM_OK;
}

static void describe(const reading *r, sp_mtx_info *info)
{
    static const char *const field[] = {"real", "integer", "pattern"};
    static const char *const symmetry[] = {"general", "symmetric", "skew-symmetric"};
    snprintf(info->format, sizeof info->format, "%s", r->header.array ? "array" : "coordinate");
    snprintf(info->field, sizeof info->field, "%s", field[r->header.field]);
    snprintf(info->symmetry, sizeof info->symmetry, "%s", symmetry[r->header.symmetry]);
    info->stored = r->header.entries;
    info->bytes = r->stream.bytes;
}

spmm_status sp_read_coo(const char *path, const sp_read_options *options, sp_coo *coo, sp_mtx_info *info)
{
    reading r;
    memset(coo, 0, sizeof *coo);
    if (info) memset(info, 0, sizeof *info);
    spmm_status status = begin(&r, path, options);
    if (status == SPMM_OK) status = r.header.array ? read_array(&r, coo) : read_coordinate(&r, coo);
    if (status == SPMM_OK && info) describe(&r, info);
    if (status != SPMM_OK) sp_coo_destroy(coo);
    return finish(&r, path, status);
}

/* ---- dense ---- */

static spmm_status create_dense(const reading *r, const char *path, spmm_multivector *x)
{
    const sp_header *const h = &r->header;
    const double bytes = (double)h->rows * (double)h->cols * (double)sp_value_size(r->options->precision);
    if (h->cols == 0)
        return sp_fail(SPMM_ERR_SYNTAX, "%s:%lld: found a multivector of 0 columns, expected at least 1",
                       path, (long long)h->size_line);
    if (bytes > (double)sp_available_bytes()) {
        char text[32];
        return sp_fail(SPMM_ERR_MEMORY,
                       "%s:%lld: found a multivector of %lld x %lld, %s, expected one that fits "
                       "the memory",
                       path, (long long)h->size_line, (long long)h->rows, (long long)h->cols,
                       sp_bytes_text(text, sizeof text, bytes));
    }
    return spmm_multivector_create(h->rows, h->cols, r->options->precision, SPMM_CPU, x);
}

static spmm_status read_dense_array(reading *r, const char *path, spmm_multivector *x)
{
    sp_target t = target_of(r);
    void *values = NULL;
    /* where the file is too short for its size line, x is not made: reading on shows what is missing */
    const int complete = t.capacity == r->header.entries;
    if (complete) {
        TRY(create_dense(r, path, x));
        t.val = x->data;
        t.ld = x->ld;
        t.dense = 1;
    } else {
        TRY(sp_alloc(&values, t.capacity, sp_value_size(t.precision), "the values of the array"));
        t.val = values;
    }
    read_body(r, &t);
    sp_free(values);
    return r->error.status;
}

static void add(spmm_multivector *x, int64_t i, int64_t j, double value)
{
    if (x->precision == SPMM_F64)
        ((double *)x->data)[i * x->ld + j] += value;
    else
        ((float *)x->data)[i * x->ld + j] += (float)value;
}

static spmm_status read_dense_coordinate(reading *r, const char *path, spmm_multivector *x)
{
    sp_coo coo = {0};
    spmm_status status = read_coordinate(r, &coo);
    if (status == SPMM_OK) status = create_dense(r, path, x);
    for (int64_t k = 0; status == SPMM_OK && k < coo.nnz; k++) {
        const double value = coo.val ? value_at(coo.val, coo.precision, k) : 1.0;
        add(x, coo.I[k], coo.J[k], value);
        if (coo.symmetry != SP_GENERAL && coo.I[k] != coo.J[k])
            add(x, coo.J[k], coo.I[k], coo.symmetry == SP_SKEW ? -value : value);
    }
    sp_coo_destroy(&coo);
    return status;
}

spmm_status sp_read_dense(const char *path, const sp_read_options *options, spmm_multivector *x)
{
    reading r;
    memset(x, 0, sizeof *x);
    spmm_status status = begin(&r, path, options);
    if (status == SPMM_OK)
        status = r.header.array ? read_dense_array(&r, path, x) : read_dense_coordinate(&r, path, x);
    if (status != SPMM_OK) spmm_multivector_destroy(x);
    return finish(&r, path, status);
}
