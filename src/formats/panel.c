/** Converts CSR blocks to the format SPMM_PANEL: panels of rows that share their column indices. */
#include "formats/panel.h"

#include <stddef.h>
#include <string.h>

#include "base/memory.h"
#include "formats/format.h"
#include "formats/summation.h"

/** State of a merge of the column indices of the rows of one panel. */
typedef struct merge {
    int64_t at[SP_PANEL], end[SP_PANEL]; /* at[r] to end[r] - 1: entries of row r not merged yet */
    int rows;
    int any_order; /* 1: in one of the rows, columns do not increase */
} merge;

/** Begins a merge at the first entry of each row of a panel. Rows of more than SP_CHAIN entries are left out,
 *  because their entries are not added in one chain. */
static merge merge_start(const spmm_csr *a, int64_t panel)
{
    merge m = {.rows = 0};
    for (int64_t i = panel * SP_PANEL; i < a->rows && m.rows < SP_PANEL; i++, m.rows++) {
        const int64_t end = a->irp[i + 1], is_long = end - a->irp[i] > SP_CHAIN;
        m.at[m.rows] = is_long ? end : a->irp[i];
        m.end[m.rows] = end;
        for (int64_t e = m.at[m.rows] + 1; e < end && !m.any_order; e++)
            m.any_order = a->ja[e] < a->ja[e - 1];
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

/** Finds the next column in which a row of the panel has an entry. Sets entry[r] to the index of the entry of
 *  row r in that column, or to -1 if row r has none. Returns 0 if there are no more columns. Where columns do
 *  not increase, the order of the columns is that of next_column() of kernels/cuda/cuda_panels.cu. */
static int merge_next(const spmm_csr *a, merge *m, int32_t *column, int64_t entry[SP_PANEL])
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
    for (int r = 0; r < SP_PANEL; r++) {
        const int has = r < m->rows && m->at[r] < m->end[r] && a->ja[m->at[r]] == next;
        entry[r] = has ? m->at[r]++ : -1;
    }
    *column = next;
    return 1;
}

/** Counts the entries of a panel, without those of rows of more than SP_CHAIN entries. */
static int64_t count_entries(const spmm_csr *a, int64_t panel)
{
    const merge m = merge_start(a, panel);
    int64_t count = 0;
    for (int r = 0; r < m.rows; r++) count += m.end[r] - m.at[r];
    return count;
}

/** Counts the columns in the list of a panel: a column counts several times if the rows contradict each
 *  other in the order of their columns. */
static int64_t count_columns(const spmm_csr *a, int64_t panel)
{
    merge m = merge_start(a, panel);
    int32_t column;
    int64_t entry[SP_PANEL], count = 0;
    while (merge_next(a, &m, &column, entry)) count++;
    return count;
}

/** A tile that is being built: the columns of a panel are added to it one by one. */
typedef struct tile {
    int32_t col[SP_TILE_COLUMNS];
    int64_t entry[SP_PANEL][SP_TILE_COLUMNS];
    int columns;
} tile;

/** Stores tile t in m as tile number `index`, and its values in m->val from index `value` on. Returns the
 *  number of values stored. */
static int64_t put_tile(const spmm_csr *a, const tile *t, int64_t index, int64_t value, sp_matrix *m)
{
    uint32_t mask = 0;
    int64_t count = 0;
    for (int c = 0; c < SP_TILE_COLUMNS; c++)
        m->col[index * SP_TILE_COLUMNS + c] = t->col[c < t->columns ? c : t->columns - 1];
    for (int r = 0; r < SP_PANEL; r++)
        for (int c = 0; c < t->columns; c++) {
            const int64_t from = t->entry[r][c];
            if (from < 0) continue;
            mask |= 1u << (r * SP_TILE_COLUMNS + c);
            sp_value_set(m->val, a->precision, value + count++, sp_value_get(a->as, a->precision, from));
        }
    m->mask[index] = mask;
    return count;
}

static void fill_panel(const spmm_csr *a, int64_t panel, sp_matrix *m)
{
    merge in = merge_start(a, panel);
    tile t = {.columns = 0};
    int64_t index = m->tile_start[panel], value = m->row_start[panel], entry[SP_PANEL];
    int32_t column;
    while (merge_next(a, &in, &column, entry)) {
        t.col[t.columns] = column;
        for (int r = 0; r < SP_PANEL; r++) t.entry[r][t.columns] = entry[r];
        if (++t.columns < SP_TILE_COLUMNS) continue;
        value += put_tile(a, &t, index++, value, m);
        t.columns = 0;
    }
    if (t.columns) put_tile(a, &t, index, value, m);
}

static spmm_status panel_allocate(const spmm_csr *a, int64_t panels, int threads, sp_matrix *m)
{
    TRY(sp_matrix_alloc(m, SP_ROW_START, panels + 1, "panel starts"));
    TRY(sp_matrix_alloc(m, SP_TILE_START, panels + 1, "panels' tiles"));
    m->tile_start[0] = m->row_start[0] = 0;
#pragma omp parallel for schedule(dynamic, 64) num_threads(threads)
    for (int64_t p = 0; p < panels; p++) {
        m->row_start[p + 1] = count_entries(a, p);
        m->tile_start[p + 1] = (count_columns(a, p) + SP_TILE_COLUMNS - 1) / SP_TILE_COLUMNS;
    }
    for (int64_t p = 0; p < panels; p++) {
        m->row_start[p + 1] += m->row_start[p];
        m->tile_start[p + 1] += m->tile_start[p];
    }
    const int64_t tiles = m->tile_start[panels];
    TRY(sp_matrix_alloc(m, SP_COL, tiles * SP_TILE_COLUMNS, "tiles' columns"));
    TRY(sp_matrix_alloc(m, SP_MASK, tiles, "tiles' masks"));
    return sp_matrix_alloc(m, SP_VAL, m->row_start[panels] + SP_PANEL_PADDING, "panels' values");
}

static spmm_status panel_convert(const spmm_csr *a, double ell_limit, int64_t k, int threads, sp_matrix *m)
{
    const int64_t panels = (a->rows + SP_PANEL - 1) / SP_PANEL;
    (void)ell_limit;
    (void)k;
    m->groups = panels;
    TRY(panel_allocate(a, panels, threads, m));
#pragma omp parallel for schedule(dynamic, 64) num_threads(threads)
    for (int64_t p = 0; p < panels; p++) fill_panel(a, p, m);
    const size_t size = (size_t)sp_value_size(m->precision);
    memset((char *)m->val + (size_t)m->row_start[panels] * size, 0, SP_PANEL_PADDING * size);
    return SPMM_OK;
}

const sp_format sp_format_panel = {panel_convert, sp_cuda_panels, NULL};

double sp_panel_columns(const spmm_csr *a, int64_t samples, int threads)
{
    const int64_t panels = (a->rows + SP_PANEL - 1) / SP_PANEL;
    if (panels == 0) return 0;
    if (samples > panels) samples = panels;
    double entries = 0, columns = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : entries, columns)
    for (int64_t s = 0; s < samples; s++) {
        const int64_t p = s * panels / samples;
        const int64_t end = (p + 1) * SP_PANEL < a->rows ? (p + 1) * SP_PANEL : a->rows;
        entries += (double)(a->irp[end] - a->irp[p * SP_PANEL]);
        columns += (double)count_columns(a, p);
    }
    return entries > 0 ? columns / entries * (double)a->nnz : 0;
}

/** On the host, SPMM_STAGED has the same panels as SPMM_PANEL, with the rows in their original order. Only
 *  the conversion on the GPU finds a better order. */
const sp_format sp_format_staged = {panel_convert, sp_cuda_staged_panels, NULL};
