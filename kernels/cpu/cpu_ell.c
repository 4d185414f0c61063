/** The kernel cpu_ell: runs the CPU products of cpu_rows.h on padded ELLPACK. cpu_ell_prepare() finds where
 *  the padding of each row begins. */
#include "base/memory.h"
#include "kernels/cpu/cpu_rows.h"

/** Returns the position after the last entry of the row that begins at position `begin`. Padding (column
 *  index -1) follows the entries of a row, so checking the last position suffices if the row is full;
 *  otherwise a binary search finds its end. */
static int64_t row_end(const sp_matrix *a, int64_t begin)
{
    int64_t low = begin, high = begin + a->width; /* low <= end of the row <= high */
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

static spmm_status cpu_ell_prepare(const sp_setup *setup, void **state)
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

SP_KERNEL(cpu_ell) = {sp_rows_run,    cpu_ell_prepare, sp_rows_destroy,
                      sp_rows_values, sp_rows_set_k,   sp_rows_new_values};
