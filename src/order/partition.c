/** Partitions rows and columns into consecutive blocks, evenly or balanced by entries. */
#include "order/partition.h"

#include <string.h>

#include "base/memory.h"
#include "base/search.h"

void sp_partition_even(int64_t rows, int parts, int64_t *begin)
{
    const int64_t each = rows / parts, more = rows % parts;
    for (int p = 0; p <= parts; p++) begin[p] = p * each + (p < more ? p : more);
}

void sp_partition_starts(int64_t (*start)(const void *of, int64_t row), const void *of, int64_t rows,
                         int parts, int64_t *begin)
{
    const int64_t nnz = rows ? start(of, rows) : 0;
    if (nnz == 0) {
        sp_partition_even(rows, parts, begin);
        return;
    }
    begin[0] = 0;
    for (int p = 1; p < parts; p++) {
        const int64_t entry = sp_partition_share(nnz, parts, p);
        begin[p] = sp_nearest_total(start, of, begin[p - 1], rows, entry);
    }
    begin[parts] = rows;
}

static int64_t in_array(const void *irp, int64_t row) { return ((const int64_t *)irp)[row]; }

void sp_partition_entries(const int64_t *irp, int64_t rows, int parts, int64_t *begin)
{
    sp_partition_starts(in_array, irp, rows, parts, begin);
}

/** Sets start[j + 1] to the number of entries in columns 0 to j. The caller has zeroed `start`. */
static void column_starts(const spmm_csr *a, int threads, int64_t *start)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t e = 0; e < a->nnz; e++) {
#pragma omp atomic
        start[a->ja[e] + 1]++;
    }
    for (int64_t j = 0; j < a->cols; j++) start[j + 1] += start[j];
}

spmm_status sp_partition_columns(const spmm_csr *a, int threads, int parts, int64_t *begin)
{
    if (parts == 1) {
        sp_partition_even(a->cols, 1, begin);
        return SPMM_OK;
    }
    int64_t *start;
    TRY(sp_alloc_zero((void **)&start, a->cols + 1, sizeof *start, "column starts"));
    column_starts(a, threads, start);
    sp_partition_entries(start, a->cols, parts, begin);
    sp_free(start);
    return SPMM_OK;
}

void sp_x_ranges(int64_t rows, int64_t cols, int P, int Q, const int64_t *row_begin, const int64_t *col_begin,
                 int64_t *x_begin)
{
    if (Q == 1 && rows == cols) {
        memcpy(x_begin, row_begin, ((size_t)P + 1) * sizeof *x_begin);
        return;
    }
    for (int q = 0; q < Q; q++) {
        int64_t *const own = x_begin + (int64_t)q * (P + 1);
        sp_partition_even(col_begin[q + 1] - col_begin[q], P, own);
        for (int p = 0; p <= P; p++) own[p] += col_begin[q];
    }
}
