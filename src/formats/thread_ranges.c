/** Divides rows, and parts of long rows, among OpenMP threads. */
#include "formats/thread_ranges.h"

#include <string.h>

#include "base/memory.h"
#include "base/search.h"

int64_t sp_row_parts(int64_t entries) { return entries <= SP_PART ? 0 : (entries - 1) / SP_PART + 1; }

/** The rows that are divided among the threads, and the long rows among them. */
typedef struct load {
    const int64_t *row_start;
    const sp_thread_ranges *w;
    int64_t *entries; /* [long_rows + 1]: entries[g] is the number of entries of the first g long rows */
} load;

/** Returns the cost of rows [0, i): the number of their entries plus two per row, for the start of the loop
 *  and the store to Y (without these two, one thread could get nearly all empty rows). Entries of long rows
 *  do not count here, because the parts of long rows are divided separately. */
static int64_t cost_before(const void *of, int64_t i)
{
    const load *const l = of;
    if (!l->row_start) return i;
    const int64_t long_rows = sp_lower_bound(l->w->long_row, 0, l->w->long_rows, i);
    return l->row_start[i] - l->row_start[0] - l->entries[long_rows] + 2 * i;
}

/** Returns the cost of parts [0, p), that is the number of their entries: SP_PART for each part except
 *  the last one of each long row. */
static int64_t cost_of_parts(const load *l, int64_t p)
{
    int64_t cost = 0;
    for (int64_t g = 0; g < l->w->long_rows && p > 0; g++) {
        const int64_t entries = l->entries[g + 1] - l->entries[g], parts = sp_row_parts(entries);
        cost += p < parts ? p * SP_PART : entries;
        p -= parts;
    }
    return cost;
}

/** Divides the parts evenly by number. Then divides the rows such that the rows and parts of each thread
 *  together cost about the same. */
static void thread_ranges_divide(const load *l, int64_t rows, sp_thread_ranges *w)
{
    int64_t parts = 0;
    for (int64_t g = 0; g < w->long_rows; g++) parts += sp_row_parts(l->entries[g + 1] - l->entries[g]);
    const int64_t total = cost_before(l, rows) + l->entries[w->long_rows], threads = w->threads;
    for (int64_t t = 0; t < threads; t++) {
        w->part[t] = sp_partition_share(parts, threads, t);
        const int64_t wanted = sp_partition_share(total, threads, t);
        w->begin[t] = sp_nearest_total(cost_before, l, 0, rows, wanted - cost_of_parts(l, w->part[t]));
        if (t > 0 && w->begin[t] < w->begin[t - 1]) w->begin[t] = w->begin[t - 1];
    }
    w->part[threads] = parts;
    w->begin[threads] = rows;
}

/** Lists the long rows in w->long_row, and sets l->entries[g] to the number of entries of the first g long
 *  rows. */
static spmm_status find_long_rows(load *l, int64_t rows, sp_thread_ranges *w)
{
    const int64_t *const start = l->row_start;
    for (int64_t i = 0; start && i < rows; i++) w->long_rows += sp_row_parts(start[i + 1] - start[i]) > 0;
    TRY(sp_alloc((void **)&w->long_row, w->long_rows, sizeof *w->long_row, "long rows"));
    TRY(sp_alloc((void **)&l->entries, w->long_rows + 1, sizeof *l->entries, "entries of long rows"));
    l->entries[0] = 0;
    for (int64_t i = 0, g = 0; g < w->long_rows; i++) {
        if (sp_row_parts(start[i + 1] - start[i]) == 0) continue;
        w->long_row[g] = i;
        l->entries[g + 1] = l->entries[g] + start[i + 1] - start[i];
        g++;
    }
    return SPMM_OK;
}

spmm_status sp_thread_ranges_create(const int64_t *row_start, int64_t rows, int threads, sp_thread_ranges *w)
{
    return sp_thread_ranges_create_for(row_start, rows, INT64_MAX, threads, w);
}

spmm_status sp_thread_ranges_create_for(const int64_t *row_start, int64_t rows, int64_t longest, int threads,
                                        sp_thread_ranges *w)
{
    load l = {row_start, w, NULL};
    spmm_status status;
    memset(w, 0, sizeof *w);
    if (rows < 0 || threads < 1)
        return sp_fail(SPMM_ERR_USAGE, "%lld rows for %d threads: expected rows >= 0 and threads >= 1",
                       (long long)rows, threads);
    w->threads = threads;
    TRY_GOTO(
        sp_alloc((void **)&w->begin, (int64_t)threads + 1, sizeof *w->begin, "row ranges of the threads"),
        done);
    TRY_GOTO(sp_alloc((void **)&w->part, (int64_t)threads + 1, sizeof *w->part, "threads' parts of rows"),
             done);
    TRY_GOTO(find_long_rows(&l, sp_row_parts(longest) > 0 ? rows : 0, w), done);
    thread_ranges_divide(&l, rows, w);
done:
    sp_free(l.entries);
    if (status != SPMM_OK) sp_thread_ranges_destroy(w);
    return status;
}

void sp_thread_ranges_destroy(sp_thread_ranges *w)
{
    if (!w) return;
    sp_free(w->begin);
    sp_free(w->long_row);
    sp_free(w->part);
    memset(w, 0, sizeof *w);
}
