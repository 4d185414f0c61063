/** Padded ELLPACK by rows: where they end is found once. */
#include "base/memory.h"
#include "kernels/cpu/cpu_rows.h"

/** Position after the last entry of the row that begins at `begin`: the padding of col is -1, behind
 *  the entries, so most rows cost one look and the others a binary search. */
static int64_t row_end(const sp_matrix *a, int64_t begin)
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

static spmm_status prepare(const sp_setup *setup, void **state)
{
    const sp_matrix *const a = setup->a;
    int64_t *begin = NULL;
    *state = NULL;
    TRY(sp_alloc((void **)&begin, 2 * a->rows, sizeof *begin, "row starts and ends"));
#pragma omp parallel for schedule(static) num_threads(setup->threads)
    for (int64_t i = 0; i < a->rows; i++) {
        begin[i] = i * a->width;
        begin[a->rows + i] = row_end(a, begin[i]);
    }
    return sp_rows_create(setup, begin, begin + a->rows, begin, state);
}

const sp_kernel_ops sp_kernel_cpu_ell = {sp_rows_run, prepare, sp_rows_destroy};
