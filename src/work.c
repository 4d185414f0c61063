#include "work.h"

#include <string.h>

#include "memory.h"

/** Cost of the rows before row i. A row costs its entries, and about two entries more for the
 *  loop's start and the store of Y: without that, many empty rows would fall to one thread. */
static int64_t cost_before(const int64_t *row_start, int64_t i)
{
    return row_start ? row_start[i] - row_start[0] + 2 * i : i;
}

/** The boundary whose cost is nearest to `wanted`. */
static int64_t find_boundary(const int64_t *row_start, int64_t rows, int64_t wanted)
{
    int64_t low = 0, high = rows; /* the first row boundary with cost >= wanted lies in [low, high] */
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (cost_before(row_start, middle) < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0 && wanted - cost_before(row_start, low - 1) < cost_before(row_start, low) - wanted) low--;
    return low;
}

spmm_status sp_work_create(const int64_t *row_start, int64_t rows, int threads, sp_work *w)
{
    memset(w, 0, sizeof *w);
    if (rows < 0 || threads < 1)
        return sp_fail(SPMM_ERR_USAGE, "%lld rows for %d threads: rows must be >= 0 and threads >= 1",
                       (long long)rows, threads);
    TRY(sp_alloc((void **)&w->begin, (int64_t)threads + 1, sizeof *w->begin, "row ranges of the threads"));
    w->threads = threads;
    const int64_t total = cost_before(row_start, rows);
    for (int t = 0; t < threads; t++) /* quotient and remainder apart: total * t could overflow */
        w->begin[t] = find_boundary(row_start, rows, total / threads * t + total % threads * t / threads);
    w->begin[threads] = rows;
    return SPMM_OK;
}

void sp_work_destroy(sp_work *w)
{
    if (!w) return;
    sp_free(w->begin);
    memset(w, 0, sizeof *w);
}
