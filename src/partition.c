#include "partition.h"

#include <string.h>

#include "memory.h"

void sp_partition_even(int64_t rows, int parts, int64_t *begin)
{
    const int64_t each = rows / parts, more = rows % parts;
    for (int p = 0; p <= parts; p++) begin[p] = p * each + (p < more ? p : more);
}

/** First row in [low, rows] that starts at or behind `entry`. */
static int64_t row_at(const int64_t *irp, int64_t low, int64_t rows, int64_t entry)
{
    int64_t high = rows;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (irp[middle] < entry)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void sp_partition_entries(const int64_t *irp, int64_t rows, int parts, int64_t *begin)
{
    const int64_t nnz = rows ? irp[rows] : 0;
    if (nnz == 0) {
        sp_partition_even(rows, parts, begin);
        return;
    }
    begin[0] = 0;
    for (int p = 1; p < parts; p++) {
        /* p/parts of nnz without overflow */
        const int64_t entry = nnz / parts * p + nnz % parts * p / parts;
        int64_t row = row_at(irp, begin[p - 1], rows, entry);
        if (row > begin[p - 1] && entry - irp[row - 1] < irp[row] - entry) row--;
        begin[p] = row;
    }
    begin[parts] = rows;
}

spmm_status sp_partition_columns(const spmm_csr *a, sp_partition partition, int parts, int64_t *begin)
{
    int64_t *start;
    if (parts == 1 || partition == SP_PARTITION_ROWS) {
        sp_partition_even(a->cols, parts, begin);
        return SPMM_OK;
    }
    TRY(sp_alloc_zero((void **)&start, a->cols + 1, sizeof *start, "entries a column"));
    for (int64_t e = 0; e < a->nnz; e++) start[a->ja[e] + 1]++;
    for (int64_t j = 0; j < a->cols; j++) start[j + 1] += start[j];
    sp_partition_entries(start, a->cols, parts, begin);
    sp_free(start);
    return SPMM_OK;
}

void sp_x_ranges(int64_t rows, int64_t cols, int p, int q, const int64_t *row_begin, const int64_t *col_begin,
                 int64_t *x_begin)
{
    if (q == 1 && rows == cols) {
        memcpy(x_begin, row_begin, (size_t)(p + 1) * sizeof *x_begin);
        return;
    }
    for (int j = 0; j < q; j++) {
        int64_t *const first = x_begin + (int64_t)j * (p + 1);
        sp_partition_even(col_begin[j + 1] - col_begin[j], p, first);
        for (int i = 0; i <= p; i++) first[i] += col_begin[j];
    }
}
