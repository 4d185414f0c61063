/* Sliced ELLPACK and panels hold the matrix that they were made of, each entry once and in place. */
#include "test.h"

#include "base/memory.h"
#include "formats/matrix.h"
#include "formats/panel.h"
#include "formats/sell.h"
#include "sample.h"

/** A matrix with rows of 0 to 40 entries, and some of several pieces. */
static void make_uneven(spmm_precision precision, spmm_csr *a)
{
    enum { ROWS = 401, COLS = 3000 };
    int64_t *i, *j, n = 0;
    void *p, *q;
    CHECK(sp_alloc(&p, ROWS * 41 + 3 * COLS, sizeof *i, "a test") == SPMM_OK);
    CHECK(sp_alloc(&q, ROWS * 41 + 3 * COLS, sizeof *j, "a test") == SPMM_OK);
    i = p;
    j = q;
    for (int64_t r = 0; r < ROWS; r++) {
        const int64_t length = r % 150 == 7 ? SP_CHAIN * 8 + r % 100 : r * 13 % 41;
        for (int64_t e = 0; e < length; e++, n++) {
            i[n] = r;
            j[n] = (r * 7 + e * (COLS / (length + 1))) % COLS;
        }
    }
    CHECK_INT(spmm_csr_from_triplets(ROWS, COLS, n, i, j, NULL, precision, a), SPMM_OK);
    for (int64_t e = 0; e < a->nnz; e++) sample_set(a->as, precision, e, (double)(e % 1000 + 1));
    sp_free(i);
    sp_free(j);
}

/** Row of A that each entry of a sum belongs to: for partial sums through the sections, and the rows of several. */
static int64_t row_of_target(const sp_matrix *m, int32_t target)
{
    if (target >= 0) return target;
    for (int64_t s = 0; s < m->sections + m->splits; s++)
        if (~target >= m->split[s].first && ~target < m->split[s].first + m->split[s].count)
            return row_of_target(m, m->split[s].target);
    return -1;
}

static void check_sell(const spmm_csr *a, const sp_matrix *m)
{
    int64_t found = 0, pieces = 0, expected = 0;
    void *p;
    CHECK(sp_alloc_zero(&p, a->nnz, 1, "a test") == SPMM_OK);
    char *const seen = p;
    for (int64_t s = 0; s < m->groups; s++)
        for (int64_t r = 0; r < SP_SLICE; r++) {
            const int32_t target = m->target[s * SP_SLICE + r];
            int64_t at = -1;
            if (target == INT32_MIN) continue;
            const int64_t row = row_of_target(m, target);
            CHECK(row >= 0 && row < a->rows);
            pieces++;
            for (int64_t e = m->row_start[s] + r; e < m->row_start[s + 1] && m->col[e] >= 0; e += SP_SLICE) {
                if (at < 0)
                    for (at = a->irp[row]; a->ja[at] != m->col[e]; at++) {}
                CHECK(at < a->irp[row + 1] && a->ja[at] == m->col[e] && !seen[at]);
                CHECK(sample_get(m->val, a->precision, e) == sample_get(a->as, a->precision, at));
                seen[at++] = 1;
                found++;
            }
        }
    CHECK_INT(found, a->nnz);
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t length = a->irp[i + 1] - a->irp[i];
        expected += length <= SP_CHAIN ? 1 : (length - 1) / SP_LEAF + 1;
    }
    CHECK_INT(pieces, expected);
    sp_free(seen);
}

/** Entries of row i that are in its panel: none of a long row; there may be no such row. */
static int64_t entries_in_panel(const spmm_csr *a, int64_t i)
{
    const int64_t length = i < a->rows ? a->irp[i + 1] - a->irp[i] : 0;
    return length <= SP_CHAIN ? length : 0;
}

static void check_panel(const spmm_csr *a, const sp_matrix *m)
{
    int64_t found = 0, all = 0;
    CHECK_INT(m->groups, (a->rows + SP_PANEL - 1) / SP_PANEL);
    for (int64_t p = 0; p < m->groups; p++) {
        int64_t value = m->row_start[p], at[SP_PANEL];
        for (int r = 0; r < SP_PANEL; r++) at[r] = p * SP_PANEL + r < a->rows ? a->irp[p * SP_PANEL + r] : -1;
        for (int64_t t = m->tile_start[p]; t < m->tile_start[p + 1]; t++)
            for (int bit = 0; bit < SP_PANEL * SP_TILE_COLUMNS; bit++) {
                const int r = bit / SP_TILE_COLUMNS;
                const int32_t column = m->col[t * SP_TILE_COLUMNS + bit % SP_TILE_COLUMNS];
                CHECK(column >= 0 && column < a->cols); /* without an entry too: the kernel fetches it */
                if (!(m->mask[t] >> bit & 1)) continue;
                CHECK(at[r] >= 0 && a->ja[at[r]] == column);
                CHECK(sample_get(m->val, a->precision, value++) == sample_get(a->as, a->precision, at[r]++));
                found++;
            }
        for (int r = 0; r < SP_PANEL; r++) all += entries_in_panel(a, p * SP_PANEL + r);
        CHECK_INT(found, all);
        CHECK(value <= m->row_start[p + 1]);
    }
}

static void check_both(const spmm_csr *a)
{
    for (int threads = 1; threads <= 3; threads += 2) {
        sp_matrix m;
        CHECK_INT(sp_matrix_create(a, SPMM_SELL, SPMM_CPU, 0, threads, &m), SPMM_OK);
        check_sell(a, &m);
        sp_matrix_destroy(&m);
        CHECK_INT(sp_matrix_create(a, SPMM_PANEL, SPMM_CPU, 0, threads, &m), SPMM_OK);
        check_panel(a, &m);
        sp_matrix_destroy(&m);
    }
}

static void test_long_rows(void)
{
    TEST("long rows alone are cut as among all rows, and left out when they are not wanted") {
        static const int64_t cuts[] = {SP_LEAF, SP_SEGMENT};
        spmm_csr a;
        make_uneven(SPMM_F64, &a);
        CHECK(sp_has_long_rows(&a, 2));
        for (int c = 0; c < 2; c++) {
            sp_segments all, of_long_rows, others;
            int64_t n = 0, m = 0;
            CHECK_INT(sp_segments_create(&a, cuts[c], SP_ORDER_ROWS, &all), SPMM_OK);
            CHECK_INT(sp_long_rows_create(&a, a.irp, 0, cuts[c], &of_long_rows), SPMM_OK);
            CHECK_INT(sp_segments_create(&a, 0, SP_ORDER_ROWS, &others), SPMM_OK);
            CHECK_INT(of_long_rows.count + others.count, all.count);
            CHECK(of_long_rows.sections == all.sections && of_long_rows.splits == all.splits);
            CHECK(of_long_rows.partials == all.partials && others.partials == 0);
            CHECK(memcmp(of_long_rows.split, all.split,
                         (size_t)(all.sections + all.splits) * sizeof *all.split) == 0);
            for (int64_t i = 0; i < all.count; i++) {
                const sp_segment *const one = all.segment[i].target < 0 ? &of_long_rows.segment[n++]
                                                                        : &others.segment[m++];
                CHECK(memcmp(one, &all.segment[i], sizeof *one) == 0);
            }
            sp_segments_destroy(&all);
            sp_segments_destroy(&of_long_rows);
            sp_segments_destroy(&others);
        }
        spmm_csr_destroy(&a);
    }
}

int main(void)
{
    TEST("slices and panels hold every entry once and in place, on all samples") {
        for (int s = 0; s < SAMPLES; s++) {
            spmm_csr a;
            sample_csr((sample)s, SAMPLE_REALS, s % 2 ? SPMM_F32 : SPMM_F64, &a);
            check_both(&a);
            spmm_csr_destroy(&a);
        }
    }
    TEST("long rows are cut, and their pieces listed") {
        for (int p = 0; p < 2; p++) {
            spmm_csr a;
            sp_matrix m;
            make_uneven((spmm_precision)p, &a);
            check_both(&a);
            CHECK_INT(sp_matrix_create(&a, SPMM_SELL, SPMM_CPU, 0, 1, &m), SPMM_OK);
            CHECK(m.splits == 3 && m.sections == 6);
            sp_matrix_destroy(&m);
            spmm_csr_destroy(&a);
        }
    }
    TEST("pieces come longest first, and rows in their order where that is asked for") {
        spmm_csr a;
        sp_segments p;
        make_uneven(SPMM_F64, &a);
        CHECK_INT(sp_segments_create(&a, SP_SEGMENT, SP_ORDER_LENGTHS, &p), SPMM_OK);
        for (int64_t i = 1; i < p.count; i++) CHECK(p.segment[i].length <= p.segment[i - 1].length);
        CHECK(p.segment[0].length == SP_SEGMENT && p.segment[p.count - 1].length == 0);
        sp_segments_destroy(&p);
        CHECK_INT(sp_segments_create(&a, SP_LEAF, SP_ORDER_ROWS, &p), SPMM_OK);
        for (int64_t i = 1; i < p.count; i++)
            CHECK(p.segment[i].begin >= p.segment[i - 1].begin + p.segment[i - 1].length);
        sp_segments_destroy(&p);
        sp_segments_destroy(NULL);
        spmm_csr_destroy(&a);
    }
    test_long_rows();
    TEST("panels' distinct columns are counted, from a sample too") {
        spmm_csr a;
        CHECK_INT(spmm_csr_generate("fem3:12", SPMM_F64, &a), SPMM_OK);
        const double all = sp_panel_columns(&a, a.rows), some = sp_panel_columns(&a, 40);
        CHECK(all > (double)a.nnz / 8 && all < (double)a.nnz / 3);
        CHECK(some > 0.7 * all && some < 1.3 * all);
        spmm_csr_destroy(&a);
    }
    return test_end();
}
