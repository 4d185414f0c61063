/** Reads edge lists with the reader of Matrix Market files: finds the sizes that a header would state. */
#include "io/edges.h"

#include <strings.h>

/** The largest vertex that was found, 0-based. */
typedef struct largest {
    pthread_mutex_t lock;
    int32_t vertex; /* -1: no edge has been found */
} largest;

/** Sink for sp_reading_pass(). */
static int find_largest(void *context, const sp_entries *e)
{
    largest *const l = context;
    int32_t most = -1;
#pragma omp simd reduction(max : most)
    for (int64_t k = 0; k < e->n; k++) {
        const int32_t larger = e->I[k] > e->J[k] ? e->I[k] : e->J[k];
        most = larger > most ? larger : most;
    }
    pthread_mutex_lock(&l->lock);
    if (most > l->vertex) l->vertex = most;
    pthread_mutex_unlock(&l->lock);
    return 1;
}

/** Sets *p to the first line with an edge. */
static spmm_status find_edge(sp_text *s, const char **p, sp_read_error *error)
{
    static const char banner[] = "%%MatrixMarket";
    const char *end;
    do {
        if (s->lines >= SP_BLANK_MAX)
            return sp_error_set(error, SPMM_ERR_SYNTAX, s->lines,
                                "found %d lines, blank or comments, expected an edge", SP_BLANK_MAX);
        TRY(sp_text_line(s, p, &end, error));
        if (!*p)
            return sp_error_set(error, SPMM_ERR_SYNTAX, s->lines > 0 ? s->lines : 1,
                                "found %s, expected edges: u v, or u v weight",
                                s->bytes == 0 ? "an empty file" : "no edge");
        if (strncasecmp(sp_skip_blanks(*p), banner, sizeof banner - 1) == 0)
            return sp_error_set(
                error, SPMM_ERR_SYNTAX, s->lines,
                "found the banner of a Matrix Market file, expected an edge list: omit --read-as");
    } while (!sp_is_entry_line(*p, s->comment));
    return SPMM_OK;
}

/** Determines from the first edge whether the edges have weights. */
static spmm_status read_first(sp_reading *r)
{
    sp_header *const h = &r->header;
    sp_text *const s = &r->whole.stream;
    const char *p;
    s->comment = h->comment;
    h->bytes = sp_text_bytes_left_at_most(s);
    TRY(find_edge(s, &p, &r->error));
    h->first_edge = s->lines;
    p = sp_word_end(sp_skip_blanks(p));
    p = sp_word_end(sp_skip_blanks(p));
    h->field = *sp_skip_blanks(p) == '\n' ? SP_FIELD_PATTERN : SP_FIELD_REAL;
    return SPMM_OK;
}

/** Counts the edges and finds the size of the matrix. */
static spmm_status measure(sp_reading *r)
{
    sp_header *const h = &r->header;
    const sp_progress_fn progress = r->options.progress;
    largest l = {PTHREAD_MUTEX_INITIALIZER, -1};
    r->options.progress = NULL;
    if (sp_reading_pass(r, SP_WANT_INDICES, 0, find_largest, &l) != SPMM_OK) return sp_reading_explain(r);
    r->options.progress = progress;
    r->reported = 0;
    h->entries = sp_reading_entries(r);
    h->rows = h->cols = (int64_t)l.vertex + 1;
    return h->entries > 0 ? SPMM_OK : sp_reading_changed(r);
}

spmm_status sp_edges_begin_open(sp_reading *r, const char *path, int fd, const sp_read_options *options)
{
    const sp_header unread = {.symmetry = SP_GENERAL,
                              .rows = INT32_MAX,
                              .cols = INT32_MAX,
                              .entries = INT64_MAX,
                              .from_zero = options->edges == 1,
                              .comment = '#'};
    TRY(sp_reading_begin_open(r, path, fd, options, &unread));
    TRY(read_first(r));
    return measure(r);
}
