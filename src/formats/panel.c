/** Estimates the numbers of columns of row panels, which are built only on GPUs
 *  (kernels/cuda/cuda_panels.cu). */
#include "formats/panel.h"

#include <stddef.h>

#include "formats/format.h"

/** State of a merge of the column indices of the rows of one panel. */
typedef struct merge {
    int64_t at[SP_PANEL], end[SP_PANEL]; /* at[r] to end[r] - 1: entries of row r not merged yet */
    int rows;
    int any_order; /* 1: in one of the rows, columns do not increase */
    int64_t entries;
} merge;

/** Begins a merge at the first entry of each row of a panel. */
static merge merge_start(const spmm_csr *a, int64_t panel)
{
    merge m = {.rows = 0};
    int32_t column = -1;
    for (int64_t i = panel * SP_PANEL; i < a->rows && m.rows < SP_PANEL; i++, m.rows++) {
        int64_t *const at = m.at + m.rows, *const end = m.end + m.rows;
        sp_sampled_part(a->irp, a->ja, i, panel, &column, at, end);
        m.entries += *end - *at;
        for (int64_t e = *at + 1; e < *end && !m.any_order; e++) m.any_order = a->ja[e] < a->ja[e - 1];
    }
    return m;
}

/** Considers the rows that have an entry in column `next`, but have entries in other columns before it. These
 *  columns must be merged before `next`. Returns the smallest column of the next entries of these rows, or
 *  INT32_MAX if there is no such row. */
static int32_t column_before(const spmm_csr *a, const merge *m, int32_t next)
{
    int32_t before = INT32_MAX;
    for (int r = 0; r < m->rows; r++) {
        const int64_t at = m->at[r];
        if (at == m->end[r] || a->ja[at] == next || a->ja[at] >= before) continue;
        for (int64_t e = at + 1; e < m->end[r] && before != a->ja[at]; e++)
            if (a->ja[e] == next) before = a->ja[at];
    }
    return before;
}

/** Merges the next column in which a row of the panel has an entry. Returns 0 if there are no more columns.
 *  Where columns do not increase, the order of the columns is that of next_column() of
 *  kernels/cuda/cuda_panels.cu. */
static int merge_next(const spmm_csr *a, merge *m)
{
    int32_t next = INT32_MAX;
    int any = 0;
    for (int r = 0; r < m->rows; r++) {
        if (m->at[r] == m->end[r]) continue;
        any = 1;
        if (a->ja[m->at[r]] < next) next = a->ja[m->at[r]];
    }
    if (!any) return 0;
    for (int step = 1; m->any_order && step < SP_PANEL; step++) {
        const int32_t before = column_before(a, m, next);
        if (before == INT32_MAX) break;
        next = before;
    }
    for (int r = 0; r < m->rows; r++) m->at[r] += m->at[r] < m->end[r] && a->ja[m->at[r]] == next;
    return 1;
}

/** Counts the columns in the list of a panel: a column counts several times if the rows contradict each
 *  other in the order of their columns. \param [out] entries number of entries of the panel */
static int64_t count_columns(const spmm_csr *a, int64_t panel, int64_t *entries)
{
    merge m = merge_start(a, panel);
    int64_t count = 0;
    while (merge_next(a, &m)) count++;
    *entries = m.entries;
    return count;
}

double sp_panel_columns(const spmm_csr *a, int64_t samples, int threads)
{
    const int64_t panels = (a->rows + SP_PANEL - 1) / SP_PANEL;
    if (panels == 0) return 0;
    if (samples > panels) samples = panels;
    double entries = 0, columns = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : entries, columns)
    for (int64_t s = 0; s < samples; s++) {
        int64_t of_panel;
        columns += (double)count_columns(a, s * panels / samples, &of_panel);
        entries += (double)of_panel;
    }
    return entries > 0 ? columns / entries * (double)a->nnz : 0;
}

const sp_format sp_format_panel = {NULL, sp_cuda_panels, NULL};

const sp_format sp_format_staged = {NULL, sp_cuda_staged_panels, NULL};
