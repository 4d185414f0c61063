#include "kernel.h"

/** Position after the last entry of the row that begins at `begin`: the padding of col is -1, behind
 *  the entries, so most rows cost one look and the others a binary search. */
static inline int64_t row_end(const sp_matrix *a, int64_t begin)
{
    int64_t low = begin, high = begin + a->width; /* the first padding lies in [low, high] */
    if (low < high && a->col[high - 1] >= 0) return high;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (a->col[middle] >= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#define ROW_BEGIN(a, i) ((i) * (a)->width)
#define ROW_END(a, i, begin) row_end(a, begin)
#include "cpu_rows_impl.h"

static spmm_status run(const sp_launch *launch)
{
    run_rows(launch);
    return SPMM_OK;
}

const sp_kernel_ops sp_kernel_cpu_ell = {run, NULL, NULL};
