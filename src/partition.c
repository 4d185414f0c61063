#include "partition.h"

void sp_partition_even(int64_t rows, int parts, int64_t *begin)
{
    const int64_t each = rows / parts, more = rows % parts;
    for (int p = 0; p <= parts; p++) begin[p] = p * each + (p < more ? p : more);
}

int64_t sp_partition_share(int64_t nnz, int parts, int p)
{
    return nnz / parts * p + nnz % parts * p / parts; /* without overflow */
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
        const int64_t entry = sp_partition_share(nnz, parts, p);
        int64_t row = row_at(irp, begin[p - 1], rows, entry);
        if (row > begin[p - 1] && entry - irp[row - 1] < irp[row] - entry) row--;
        begin[p] = row;
    }
    begin[parts] = rows;
}
