/** Reads a Matrix Market file into CSR: directly, in two passes, or through COO triplets, in one pass. */
#include <string.h>

#include "base/arguments.h"
#include "base/environment.h"
#include "base/memory.h"
#include "base/threads.h"
#include "formats/csr.h"
#include "io/mtx_body.h"

enum {
    ONCE_CHUNKS = 4,   /* files of at most this many chunks are read in one pass: they need little memory */
    ROWS_PER_ENTRY = 4 /* a matrix with more than 4 rows per entry is read in one pass */
};

/* the first pass of two takes about this share of the time; for progress reports */
#define FIRST_PASS 0.4

static spmm_status read_once(sp_reading *r, spmm_csr *a, int64_t *stored, int64_t *duplicates)
{
    sp_coo coo = {0};
    const spmm_status status = sp_reading_coo(r, &coo);
    *stored = coo.nnz;
    if (status == SPMM_OK) return sp_csr_from_coo(&coo, r->options.threads, a, duplicates);
    sp_coo_destroy(&coo);
    return status;
}

/** Returns 1 if the file is to be read in two passes. One pass is better for a matrix with mostly empty rows:
 *  two passes would save little, because the row starts take most of the memory; and the size line may be
 *  wrong about so many rows. */
static int worth_two_passes(const sp_reading *r)
{
    return !r->header.array && sp_reading_repeatable(r) &&
           r->header.bytes > ONCE_CHUNKS * r->whole.stream.chunk_bytes &&
           r->header.rows / ROWS_PER_ENTRY <= sp_reading_capacity(r);
}

/** Checks, before anything is allocated, that the CSR matrix fits in memory. If `once` is 1 (the file is read
 *  in one pass), the triplets must fit in addition. */
static spmm_status check_memory(const sp_reading *r, int once)
{
    const double size = (double)sp_value_size(r->options.precision), entries = (double)sp_reading_capacity(r);
    const sp_sizes sizes = {r->header.rows, r->header.cols, r->header.array ? 0 : (int64_t)entries};
    if (r->header.array) return sp_memory_needs(entries * size + 8 * (double)sizes.rows, r->path);
    /* The triplets take 8 + size bytes per entry but count as 4 + size, because the column indices of the CSR
     * (4 bytes) are allocated only after the values of the triplets have been freed. */
    return sp_memory_needs(sp_csr_bytes_of(&sizes, r->options.precision) + (once ? entries * (4 + size) : 0),
                           r->path);
}

/* sinks for sp_reading_pass(): count() in the first pass, place() in the second */
static int count(void *context, const sp_entries *entries)
{
    sp_csr_builder_count(context, entries);
    return 1;
}

static int place(void *context, const sp_entries *entries) { return sp_csr_builder_insert(context, entries); }

static spmm_status read_twice(sp_reading *r, spmm_csr *a, int64_t *duplicates)
{
    const sp_header *const h = &r->header;
    sp_csr_builder fill;
    int same;
    TRY(sp_csr_builder_begin(h->rows, h->cols, h->symmetry, r->options.precision, r->options.threads, a,
                             &fill));
    r->progress_to = FIRST_PASS;
    if (sp_reading_pass(r, SP_WANT_LENGTHS, 1, count, &fill) != SPMM_OK) return sp_reading_explain(r);
    TRY(sp_csr_builder_start(&fill));
    r->progress_from = FIRST_PASS;
    r->progress_to = 1.0;
    if (sp_reading_pass(r, SP_WANT_ALL, 1, place, &fill) != SPMM_OK) return sp_reading_explain(r);
    TRY(sp_csr_builder_finish(&fill, &same, duplicates));
    return same ? SPMM_OK : sp_reading_changed(r);
}

spmm_status sp_read_csr(const char *path, const sp_read_options *options, spmm_csr *a, sp_mtx_info *info,
                        int64_t *stored, int64_t *duplicates)
{
    sp_reading r;
    int64_t entries = 0, summed = 0;
    *a = (spmm_csr){0};
    if (info) memset(info, 0, sizeof *info);
    spmm_status status = sp_reading_begin(&r, path, options, NULL);
    const int once = status == SPMM_OK && !worth_two_passes(&r);
    if (status == SPMM_OK) status = check_memory(&r, once);
    entries = r.header.entries;
    if (status == SPMM_OK) status = once ? read_once(&r, a, &entries, &summed) : read_twice(&r, a, &summed);
    if (status == SPMM_OK && info) sp_reading_describe(&r, info);
    status = sp_reading_end(&r, status);
    if (status != SPMM_OK) spmm_csr_destroy(a);
    if (stored) *stored = entries;
    if (duplicates) *duplicates = summed;
    return status;
}

spmm_status spmm_csr_read(const char *path, spmm_precision precision, spmm_csr *a)
{
    const sp_read_options options = {.precision = precision, .threads = sp_threads_default()};
    TRY(sp_given(__func__, "a", a, "a place for the matrix"));
    memset(a, 0, sizeof *a);
    TRY(sp_given(__func__, "path", path, "the name of a file"));
    TRY(sp_precision_check(__func__, precision));
    TRY(sp_environment_check());
    return sp_read_csr(path, &options, a, NULL, NULL, NULL);
}
