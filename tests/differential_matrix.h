/** Random matrices, whole on every rank, and blocks of them: made by spmm_csr_scatter(), or with the tester's
 *  own cuts. */
#ifndef SP_DIFFERENTIAL_MATRIX_H
#define SP_DIFFERENTIAL_MATRIX_H

#include "differential_environment.h"

/** A matrix of any precision, and the numbers of its values in f64. */
typedef struct whole {
    spmm_csr a;     /* as the library made it */
    double *values; /* the current ones, for products, [a.nnz x parts] */
} whole;

typedef struct triplets {
    int64_t count, room;
    int64_t *row, *col;
} triplets;

static inline void triplets_add(triplets *t, int64_t row, int64_t col)
{
    if (t->count == t->room) {
        t->room = 2 * t->room + 100;
        t->row = realloc(t->row, (size_t)t->room * sizeof *t->row);
        t->col = realloc(t->col, (size_t)t->room * sizeof *t->col);
        if (!t->row || !t->col) abort();
    }
    t->row[t->count] = row;
    t->col[t->count++] = col;
}

/** Draws the places of entries of an m x n matrix; places may repeat. */
static inline triplets draw_entries(int64_t m, int64_t n)
{
    enum { NONE, BAND, FEW_COLUMNS, UNEVEN, MOST_ROWS_EMPTY, EVEN, DENSE_ROW, DENSE_COLUMN, KINDS };
    triplets t = {0};
    const int kind = (int)draw_below(KINDS);
    const int64_t per_row = draw_below(10), band = 1 + draw_below(8);
    if (m == 0 || n == 0 || kind == NONE) return t;
    for (int64_t i = 0; i < m; i++) {
        int64_t count = per_row;
        if (kind == UNEVEN) count = draw_below(INT64_C(1) << draw_below(7));
        if (kind == MOST_ROWS_EMPTY) count = draw_percent(70) ? 0 : draw_below(10);
        for (int64_t e = 0; e < count; e++) {
            int64_t col = draw_below(kind == FEW_COLUMNS ? 1 + n / 10 : n);
            if (kind == BAND) col = i * n / m + draw_below(2 * band + 1) - band;
            triplets_add(&t, i, col < 0 ? 0 : col >= n ? n - 1 : col);
        }
    }
    const int64_t row = draw_below(m), col = draw_below(n);
    for (int64_t j = 0; j < n && kind == DENSE_ROW; j++) triplets_add(&t, row, j);
    for (int64_t i = 0; i < m && kind == DENSE_COLUMN; i++) triplets_add(&t, i, col);
    return t;
}

/** Draws a matrix. Returns 0, noting a difference, if the library cannot make it. */
static inline int draw_whole(spmm_precision precision, whole *w)
{
    static const int64_t sizes[] = {0, 1, 2, 3, 5, 7, 8, 9, 16, 17, 31, 33, 50, 64, 100, 129, 200, 300, 1000};
    const int64_t m = DRAW_FROM(sizes), other = DRAW_FROM(sizes), n = draw_percent(60) ? m : other;
    triplets t = draw_entries(m, n);
    const diff_values kind = draw_values(0);
    const uint64_t key = draw();
    const int parts = diff_parts(precision);
    double *const values = draw_percent(95) ? diff_malloc((size_t)(t.count * parts) * sizeof *values) : NULL;
    for (int64_t e = 0; values && e < t.count * parts; e++)
        values[e] = diff_element(kind, key, e, 0, precision);
    const int made = went_well(
        parts == 1 ? spmm_csr_from_triplets(m, n, t.count, t.row, t.col, values, precision, &w->a)
                   : spmm_csr_from_triplets_complex(m, n, t.count, t.row, t.col, (const spmm_complex *)values,
                                                    precision, &w->a),
        "from_triplets");
    w->values = diff_malloc((size_t)(w->a.nnz * parts) * sizeof *w->values);
    for (int64_t e = 0; e < w->a.nnz * parts; e++) w->values[e] = diff_number(w->a.as, precision, e);
    free(t.row);
    free(t.col);
    free(values);
    return made;
}

static inline void whole_destroy(whole *w)
{
    spmm_csr_destroy(&w->a);
    free(w->values);
    memset(w, 0, sizeof *w);
}

/** 1 if entry e of the whole matrix is in the columns of the block. */
static inline int in_block(const spmm_block *b, const whole *w, int64_t e)
{
    return w->a.ja[e] >= b->col_begin && w->a.ja[e] < b->col_begin + b->csr.cols;
}

/** Writes the whole matrix's values into a block. Notes a difference if the number of entries is wrong. */
static inline void block_take_values(const whole *w, spmm_block *b)
{
    const int parts = diff_parts(b->csr.precision);
    int64_t at = 0;
    if (b->csr.rows == 0) return;
    for (int64_t e = w->a.irp[b->row_begin]; e < w->a.irp[b->row_begin + b->csr.rows]; e++)
        if (in_block(b, w, e) && at < b->csr.nnz) {
            for (int p = 0; p < parts; p++)
                diff_set_number(b->csr.as, b->csr.precision, at * parts + p, w->values[e * parts + p]);
            at++;
        }
    if (at != b->csr.nnz)
        differs("a block has %lld entries, expected %lld", (long long)b->csr.nnz, (long long)at);
}

/* ---- cuts of the tester's own ---- */

static inline int compare_places(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/** Cuts [0, n) into `parts` ranges: evenly, at random, or all into one; cut[0] is 0, cut[parts] is n. */
static inline void draw_cuts(int64_t n, int parts, int64_t *cut)
{
    const int kind = (int)draw_below(3), one = (int)draw_below(parts);
    cut[0] = 0;
    for (int i = 1; i < parts; i++)
        cut[i] = kind == 0 ? n * i / parts : kind == 1 ? draw_below(n + 1) : i > one ? n : 0;
    cut[parts] = n;
    qsort(cut + 1, (size_t)(parts - 1), sizeof *cut, compare_places);
}

/** Makes the entries of a block whose ranges are set. */
static inline void own_entries(const whole *w, int64_t rows, int64_t cols, spmm_block *b)
{
    b->csr = (spmm_csr){.rows = rows, .cols = cols, .precision = w->a.precision};
    b->csr.irp = diff_malloc((size_t)(rows + 1) * sizeof *b->csr.irp);
    b->csr.irp[0] = 0;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t e = w->a.irp[b->row_begin + i]; e < w->a.irp[b->row_begin + i + 1]; e++)
            b->csr.nnz += in_block(b, w, e);
        b->csr.irp[i + 1] = b->csr.nnz;
    }
    b->csr.ja = diff_malloc((size_t)b->csr.nnz * sizeof *b->csr.ja);
    b->csr.as = diff_malloc((size_t)b->csr.nnz * diff_size(w->a.precision));
    int64_t at = 0;
    for (int64_t e = w->a.irp[b->row_begin]; e < w->a.irp[b->row_begin + rows]; e++)
        if (in_block(b, w, e)) b->csr.ja[at++] = (int32_t)(w->a.ja[e] - b->col_begin);
    block_take_values(w, b);
}

/** Makes this rank's block of a P x Q grid with random cuts of rows, columns and rows of X. */
static inline void draw_own_block(const whole *w, int p, int q, spmm_block *b)
{
    int64_t row[DIFF_RANKS + 1], col[DIFF_RANKS + 1], x[DIFF_RANKS + 1];
    const int mine_p = diff_.rank / q, mine_q = diff_.rank % q;
    *b = (spmm_block){.rows = w->a.rows, .cols = w->a.cols, .p = p, .q = q};
    draw_cuts(w->a.rows, p, row);
    draw_cuts(w->a.cols, q, col);
    for (int c = 0; c < q; c++) {
        draw_cuts(col[c + 1] - col[c], p, x);
        if (c != mine_q) continue;
        b->x_begin = col[c] + x[mine_p];
        b->x_rows = x[mine_p + 1] - x[mine_p];
    }
    b->row_begin = row[mine_p];
    b->col_begin = col[mine_q];
    own_entries(w, row[mine_p + 1] - row[mine_p], col[mine_q + 1] - col[mine_q], b);
}

/** Frees a block of draw_own_block(). */
static inline void own_block_destroy(spmm_block *b)
{
    free(b->csr.irp);
    free(b->csr.ja);
    free(b->csr.as);
    memset(b, 0, sizeof *b);
}

#endif
