/** Sums, partitions and redistributes row counts. */
#include "distribute/row_counts.h"

#include "base/memory.h"

spmm_status sp_row_counts_create(const sp_grid *grid, int64_t size, sp_row_counts *t)
{
    *t = (sp_row_counts){.size = size};
    TRY(sp_alloc((void **)&t->begin, grid->size + 1, sizeof *t->begin, "ranges of rows"));
    sp_partition_even(size, grid->size, t->begin);
    return sp_alloc_zero((void **)&t->count, t->begin[grid->rank + 1] - t->begin[grid->rank] + 1,
                         sizeof *t->count, "the lengths of rows");
}

void sp_row_counts_destroy(sp_row_counts *t)
{
    sp_free(t->begin);
    sp_free(t->count);
    *t = (sp_row_counts){0};
}

static int64_t range(const sp_grid *grid, const sp_row_counts *t)
{
    return t->begin[grid->rank + 1] - t->begin[grid->rank];
}

spmm_status sp_row_counts_sum(const sp_grid *grid, sp_row_counts *t)
{
    const int64_t n = range(grid, t);
    int64_t sum = 0, before = 0;
    for (int64_t i = 0; i < n; i++) sum += t->count[i + 1];
    TRY(SP_MPI(MPI_Exscan(&sum, &before, 1, MPI_INT64_T, MPI_SUM, grid->comm)));
    t->count[0] = grid->rank > 0 ? before : 0;
    for (int64_t i = 0; i < n; i++) t->count[i + 1] += t->count[i];
    return SPMM_OK;
}

spmm_status sp_row_counts_lengths(const sp_grid *grid, const sp_row_counts *t, int64_t *longest,
                                  int64_t *empty)
{
    const int64_t n = range(grid, t);
    *longest = *empty = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t length = t->count[i + 1] - t->count[i];
        if (length > *longest) *longest = length;
        *empty += length == 0;
    }
    TRY(SP_MPI(MPI_Allreduce(MPI_IN_PLACE, longest, 1, MPI_INT64_T, MPI_MAX, grid->comm)));
    return SP_MPI(MPI_Allreduce(MPI_IN_PLACE, empty, 1, MPI_INT64_T, MPI_SUM, grid->comm));
}

/** Searches this rank's range of rows for the first row of the matrix whose row start is >= entry. Returns -1
 *  if that row is in the range of another rank. Otherwise returns 2 * row + b: b is 1 if the start of the
 *  preceding row is nearer to `entry`, so that a part should begin at the preceding row; else b is 0. */
static int64_t find_row(const sp_grid *grid, const sp_row_counts *t, int64_t entry)
{
    const int64_t n = range(grid, t);
    if (entry == 0) return 0;
    if (t->count[0] >= entry || t->count[n] < entry) return -1;
    const int64_t row = sp_lower_bound(t->count, 1, n, entry);
    const int before = entry - t->count[row - 1] < t->count[row] - entry;
    return 2 * (t->begin[grid->rank] + row) + before;
}

spmm_status sp_row_counts_partition(const sp_grid *grid, const sp_row_counts *t, int parts, int64_t *begin)
{
    int64_t nnz = t->count[range(grid, t)];
    TRY(SP_MPI(MPI_Bcast(&nnz, 1, MPI_INT64_T, grid->size - 1, grid->comm)));
    if (nnz == 0) {
        sp_partition_even(t->size, parts, begin);
        return SPMM_OK;
    }
    for (int p = 0; p < parts; p++) begin[p] = find_row(grid, t, sp_partition_share(nnz, parts, p));
    TRY(SP_MPI(MPI_Allreduce(MPI_IN_PLACE, begin, parts, MPI_INT64_T, MPI_MAX, grid->comm)));
    /* sp_partition_entries() searches for each boundary only from the previous boundary on; find_row()
     * searches all rows. If find_row() found a row after the previous boundary, both find the same row;
     * otherwise the boundary is equal to the previous boundary */
    begin[0] = 0;
    for (int p = 1; p < parts; p++) {
        const int64_t row = begin[p] / 2;
        const int before = (int)(begin[p] % 2);
        begin[p] = row > begin[p - 1] ? row - before : begin[p - 1];
    }
    begin[parts] = t->size;
    return SPMM_OK;
}

/** Returns the length of the intersection of the ranges [a[0], a[1]) and [b[0], b[1]); *first is where it
 *  begins. */
static int64_t common(const int64_t *a, const int64_t *b, int64_t *first)
{
    const int64_t begin = a[0] > b[0] ? a[0] : b[0], end = a[1] < b[1] ? a[1] : b[1];
    *first = begin;
    return begin < end ? end - begin : 0;
}

/** Sends `sent` numbers to rank `to` and concurrently receives `received` numbers from rank `from`, in
 *  messages of at most SPMM_CHUNK_BYTES. */
static spmm_status swap(MPI_Comm comm, int to, const int64_t *out, int64_t sent, int from, int64_t *in,
                        int64_t received)
{
    const int64_t chunk = sp_chunk_bytes() > (int64_t)sizeof *in ? sp_chunk_bytes() / (int64_t)sizeof *in : 1;
    for (int64_t at = 0; at < sent || at < received; at += chunk) {
        const int64_t s = sent - at < chunk ? sent - at : chunk,
                      r = received - at < chunk ? received - at : chunk;
        TRY(SP_MPI(MPI_Sendrecv(out + (s > 0 ? at : 0), s > 0 ? (int)s : 0, MPI_INT64_T,
                                s > 0 ? to : MPI_PROC_NULL, SP_TAG_ROW_COUNTS, in + (r > 0 ? at : 0),
                                r > 0 ? (int)r : 0, MPI_INT64_T, r > 0 ? from : MPI_PROC_NULL,
                                SP_TAG_ROW_COUNTS, comm, MPI_STATUS_IGNORE)));
    }
    return SPMM_OK;
}

spmm_status sp_row_counts_give(const sp_grid *grid, sp_row_counts *t, const int64_t *begin, int64_t *count)
{
    const int64_t *const mine = begin + grid->rank, *const held = t->begin + grid->rank;
    const int64_t n = range(grid, t);
    for (int64_t i = 0; i < n; i++) t->count[i] = t->count[i + 1] - t->count[i];
    for (int shift = 0; shift < grid->size; shift++) {
        const int to = (grid->rank + shift) % grid->size,
                  from = (grid->rank - shift + grid->size) % grid->size;
        int64_t out, in;
        const int64_t sent = common(held, begin + to, &out), received = common(t->begin + from, mine, &in);
        TRY(swap(grid->comm, to, t->count + (sent > 0 ? out - held[0] : 0), sent, from,
                 count + (received > 0 ? in - mine[0] : 0), received));
    }
    return SPMM_OK;
}
