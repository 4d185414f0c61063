/* Sliced ELLPACK contains the matrix from which it was made, each entry once and in place; columns of panels
 * are counted. Panels are made on GPUs (test_gpu_lists). */
#include "test.h"

#include "base/memory.h"
#include "formats/matrix.h"
#include "formats/panel.h"
#include "order/row_clusters.h"
#include "formats/sell.h"
#include "sample.h"

/** A matrix with rows of 0 to 40 entries, and some of several sections. */
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

/** Checks that entry e of m is the entry of row `row` of a with the same column, that the entries of a row
 *  keep their order, and that no entry occurs twice.
 *  \param [in,out] at    the row's previous entry in a; -1: this is the row's first
 *  \param [in,out] seen  [a->nnz] 1 for entries that were found */
static void check_entry(const spmm_csr *a, const sp_matrix *m, int64_t e, int64_t row, int64_t *at,
                        char *seen)
{
    *at = *at < 0 ? a->irp[row] : *at + 1;
    CHECK(*at < a->irp[row + 1] && a->ja[*at] == m->col[e] && !seen[*at]);
    CHECK(sample_get(m->val, a->precision, e) == sample_get(a->as, a->precision, *at));
    seen[*at] = 1;
}

/** Checks that the packs of m have all sections, in order, and at most SP_SEGMENTS segments each. */
static void check_packs(const sp_matrix *m)
{
    if (m->packs == 0) return;
    CHECK(m->pack[0] == 0 && m->pack[m->packs] == m->sections);
    for (int64_t p = 0; p < m->packs; p++) {
        int64_t segments = 0;
        for (int64_t s = m->pack[p]; s < m->pack[p + 1]; s++) {
            CHECK(m->section[s].slot == segments);
            segments += (m->section[s].length - 1) / SP_SEGMENT + 1;
        }
        CHECK(segments > 0 && segments <= SP_SEGMENTS);
    }
}

/** Checks the segments of a section, of which `segment` is the first. */
static void check_segments(const spmm_csr *a, const sp_matrix *m, const sp_section *section,
                           const sp_segment *segment, char *seen)
{
    int64_t at = a->irp[section->row] + (int64_t)section->index * SP_SECTION - 1, entries = 0;
    for (; entries < section->length; entries += segment++->length) {
        CHECK(segment->length > 0 && segment->length <= SP_SEGMENT && segment->chain == section->chain);
        for (int64_t e = segment->begin; e < segment->begin + segment->length; e++)
            check_entry(a, m, e, section->row, &at, seen);
        if (segment->length <= 0) return;
    }
    CHECK_INT(entries, section->length);
}

/** Checks the list of sections of m, which is matrix `a` in another format.
 *  \param [in] limit  rows of at most so many entries are in slices; longer rows are in sections */
static void check_sections(const spmm_csr *a, const sp_matrix *m, int64_t limit, char *seen)
{
    int64_t several = 0;
    check_packs(m);
    for (int64_t s = 0; s < m->sections; s++) {
        const sp_section *const section = &m->section[s];
        const int64_t first = a->irp[section->row], length = a->irp[section->row + 1] - first;
        CHECK(length > limit && section->chain == (length <= SP_CHAIN));
        CHECK(section->count == (length - 1) / SP_SECTION + 1);
        CHECK(section->index == 0 || m->section[s - 1].row == section->row);
        several += section->count > 1;
        CHECK((s < m->partials) == (section->count > 1));
    }
    CHECK_INT(several, m->partials);
    for (int64_t p = 0; p < m->packs; p++)
        for (int64_t s = m->pack[p]; s < m->pack[p + 1]; s++)
            check_segments(a, m, &m->section[s], &m->segment[p * SP_SEGMENTS + m->section[s].slot], seen);
}

static void check_sell(const spmm_csr *a, const sp_matrix *m, int64_t limit)
{
    int64_t rows = 0, short_rows = 0;
    void *p;
    CHECK(sp_alloc_zero(&p, a->nnz, 1, "a test") == SPMM_OK);
    char *const seen = p;
    for (int64_t s = 0; s < m->groups; s++)
        for (int64_t r = 0; r < SP_SLICE; r++) {
            const int32_t row = m->target[s * SP_SLICE + r];
            int64_t at = -1;
            if (row == INT32_MIN) continue;
            CHECK(row >= 0 && row < a->rows);
            rows++;
            for (int64_t e = m->row_start[s] + r; e < m->row_start[s + 1] && m->col[e] >= 0; e += SP_SLICE)
                check_entry(a, m, e, row, &at, seen);
        }
    check_sections(a, m, limit, seen);
    for (int64_t e = 0; e < a->nnz; e++) CHECK(seen[e]);
    for (int64_t i = 0; i < a->rows; i++) short_rows += a->irp[i + 1] - a->irp[i] <= limit;
    CHECK_INT(rows, short_rows);
    sp_free(seen);
}

static void check_both(const spmm_csr *a)
{
    for (int threads = 1; threads <= 3; threads += 2) {
        sp_matrix m;
        for (int64_t k = 1; k <= 64; k += 63) {
            CHECK_INT(sp_matrix_create(a, SPMM_SELL, SPMM_CPU, 0, k, threads, &m), SPMM_OK);
            check_sell(a, &m, sp_short_row_limit(a, k));
            sp_matrix_destroy(&m);
        }
    }
}

static void test_short_rows(void)
{
    TEST("short rows come longest first, or in the matrix's order where that is asked for") {
        spmm_csr a;
        sp_short_row *list;
        int64_t count, long_rows = 0;
        make_uneven(SPMM_F64, &a);
        CHECK(sp_has_long_rows(&a, 2));
        CHECK(sp_short_row_limit(&a, 1) == SP_LEAF && sp_short_row_limit(&a, 4) == SP_LEAF);
        CHECK(sp_short_row_limit(&a, 5) == SP_CHAIN);
        /* For two vectors of columns the limit is SP_LEAF if the matrix has at most SP_STAGED_ENTRIES
         * entries, and at most half of these entries are in rows of medium length. */
        CHECK(sp_short_row_limit_for(50, 100, 4, SPMM_F64) == SP_LEAF);
        CHECK(sp_short_row_limit_for(51, 100, 4, SPMM_F64) == SP_CHAIN);
        CHECK(sp_short_row_limit_for(50, SP_STAGED_ENTRIES + 1, 8, SPMM_F32) == SP_CHAIN);
        for (int64_t i = 0; i < a.rows; i++) long_rows += a.irp[i + 1] - a.irp[i] > SP_CHAIN;
        CHECK_INT(sp_short_rows_create(&a, SP_CHAIN, SP_ORDER_LENGTHS, &list, &count), SPMM_OK);
        CHECK_INT(count, a.rows - long_rows);
        for (int64_t i = 1; i < count; i++)
            CHECK(list[i].length < list[i - 1].length ||
                  (list[i].length == list[i - 1].length && list[i].row > list[i - 1].row));
        CHECK(list[0].length == 40 && list[count - 1].length == 0);
        sp_free(list);
        CHECK_INT(sp_short_rows_create(&a, SP_CHAIN, SP_ORDER_ROWS, &list, &count), SPMM_OK);
        for (int64_t i = 1; i < count; i++) CHECK(list[i].row > list[i - 1].row);
        sp_free(list);
        CHECK_INT(sp_short_rows_create(&a, SP_CHAIN, SP_ORDER_CLASSES, &list, &count), SPMM_OK);
        for (int64_t i = 1; i < count; i++)
            CHECK(list[i].length < 2 * list[i - 1].length || list[i].length == 0);
        sp_free(list);
        spmm_csr_destroy(&a);
    }
}

/** Makes the permutation that numbers the rows of a in the order that sp_cluster_rows() finds. */
static void cluster(const spmm_csr *a, int threads, int64_t *position)
{
    int32_t *order;
    CHECK_INT(sp_alloc((void **)&order, a->rows, sizeof *order, "a test"), SPMM_OK);
    for (int64_t i = 0; i < a->rows; i++) position[i] = -1;
    CHECK_INT(sp_cluster_rows(a, threads, order), SPMM_OK);
    for (int64_t i = 0; i < a->rows; i++) {
        CHECK(order[i] >= 0 && order[i] < a->rows && position[order[i]] < 0); /* each row once */
        position[order[i]] = i;
    }
    sp_free(order);
}

/** Returns how often a row of X is used in a panel, if the rows of a have these positions. */
static double reuse(const spmm_csr *a, const int64_t *position)
{
    spmm_csr b;
    CHECK_INT(sp_csr_permute(a, position, 2, &b), SPMM_OK);
    const double columns = sp_panel_columns(&b, b.rows, 1);
    spmm_csr_destroy(&b);
    return columns > 0 ? (double)a->nnz / columns : 0;
}

static void test_clusters(void)
{
    TEST("clusters bring together rows that were numbered at random, with any number of threads") {
        static const char *const specs[] = {"lap2d5:40", "lap3d7:14", "lap3d27:14", "fem3:8"};
        for (int s = 0; s < 3; s++) {
            spmm_csr a, b;
            int64_t *at_random, *position, *again;
            CHECK_INT(spmm_csr_generate(specs[s], SPMM_F64, &a), SPMM_OK);
            CHECK_INT(sp_alloc((void **)&at_random, 3 * a.rows, sizeof *at_random, "a test"), SPMM_OK);
            position = at_random + a.rows;
            again = position + a.rows;
            for (int64_t i = 0; i < a.rows; i++) at_random[i] = again[i] = i;
            const double own = reuse(&a, again);
            for (int64_t i = a.rows - 1; i > 0; i--) {
                const int64_t j = (int64_t)(sp_hash((uint32_t)i, 99) % (uint32_t)(i + 1)), t = at_random[i];
                at_random[i] = at_random[j];
                at_random[j] = t;
            }
            CHECK_INT(sp_csr_permute(&a, at_random, 2, &b), SPMM_OK);
            cluster(&b, 1, position);
            cluster(&b, 3, again);
            CHECK(memcmp(position, again, (size_t)b.rows * sizeof *again) == 0);
            CHECK(reuse(&a, at_random) < 0.8 * own);
            CHECK(reuse(&b, position) > 0.7 * own);
            sp_free(at_random);
            spmm_csr_destroy(&a);
            spmm_csr_destroy(&b);
        }
    }
    TEST("any matrix has an order of clusters: empty rows, long rows, more columns than rows, no entries") {
        for (int s = 0; s < SAMPLES; s++) {
            spmm_csr a;
            int64_t *position;
            sample_csr((sample)s, SAMPLE_REALS, SPMM_F64, &a);
            CHECK_INT(sp_alloc((void **)&position, a.rows, sizeof *position, "a test"), SPMM_OK);
            cluster(&a, 2, position);
            sp_free(position);
            spmm_csr_destroy(&a);
        }
    }
    TEST("hashes have an inverse") {
        for (uint32_t x = 0; x < 100000; x += 7)
            for (uint32_t seed = 0; seed < 40; seed += 13)
                CHECK(sp_unhash(sp_hash(x, seed), seed) == x && sp_unhash(sp_hash(~x, seed), seed) == ~x);
    }
}

/** Numbers the rows of a as they were before `number` renumbered them, with the entries in the order of the
 *  columns of a. */
static void number_back(const spmm_csr *a, const int64_t *number, spmm_csr *b)
{
    int64_t *back;
    CHECK_INT(sp_alloc((void **)&back, a->rows, sizeof *back, "a test"), SPMM_OK);
    for (int64_t i = 0; i < a->rows; i++) back[number[i]] = i;
    CHECK_INT(sp_csr_permute_in_order(a, back, 2, b), SPMM_OK);
    sp_free(back);
}

static void test_panels_in_any_order(void)
{
    TEST("panels of a renumbered matrix list as many columns as if its rows were sorted") {
        static const char *const specs[] = {"lap2d5:40", "lap3d27:14", "fem3:8"};
        for (int s = 0; s < 3; s++) {
            spmm_csr a, mixed, b;
            int64_t *number;
            CHECK_INT(spmm_csr_generate(specs[s], SPMM_F64, &a), SPMM_OK);
            CHECK_INT(sp_alloc((void **)&number, a.rows, sizeof *number, "a test"), SPMM_OK);
            for (int64_t i = 0; i < a.rows; i++) number[i] = i * 1009 % a.rows;
            CHECK_INT(sp_csr_permute(&a, number, 2, &mixed), SPMM_OK);
            number_back(&mixed, number, &b);
            CHECK(sp_panel_columns(&b, b.rows, 1) == sp_panel_columns(&a, a.rows, 1));
            sp_free(number);
            spmm_csr_destroy(&a), spmm_csr_destroy(&mixed), spmm_csr_destroy(&b);
        }
    }
    TEST("panels of rows that contradict each other list columns several times") {
        static int64_t irp[] = {0, 2, 5, 7};
        static int32_t ja[] = {0, 1, 1, 2, 0, 2, 1};
        static double as[] = {1, 2, 3, 4, 5, 6, 7};
        const spmm_csr a = {.rows = 3, .cols = 3, .nnz = 7, .irp = irp, .ja = ja, .as = as};
        CHECK(sp_panel_columns(&a, 1, 1) > 3);
    }
}

int main(void)
{
    TEST("slices hold every entry once and in place, on all samples") {
        for (int s = 0; s < SAMPLES; s++) {
            spmm_csr a;
            sample_csr((sample)s, SAMPLE_REALS, s % 2 ? SPMM_F32 : SPMM_F64, &a);
            check_both(&a);
            spmm_csr_destroy(&a);
        }
    }
    TEST("the sections of long rows are listed") {
        for (int p = 0; p < 2; p++) {
            spmm_csr a;
            sp_matrix m;
            make_uneven((spmm_precision)p, &a);
            check_both(&a);
            CHECK_INT(sp_matrix_create(&a, SPMM_SELL, SPMM_CPU, 0, 64, 1, &m), SPMM_OK);
            CHECK(m.partials == 6 && m.sections == 6 && m.packs == 6);
            sp_matrix_destroy(&m);
            spmm_csr_destroy(&a);
        }
    }
    test_short_rows();
    test_clusters();
    test_panels_in_any_order();
    TEST("panels' distinct columns are counted, from a sample too") {
        spmm_csr a;
        CHECK_INT(spmm_csr_generate("fem3:12", SPMM_F64, &a), SPMM_OK);
        const double all = sp_panel_columns(&a, a.rows, 1), some = sp_panel_columns(&a, 40, 1);
        CHECK(all > (double)a.nnz / 8 && all < (double)a.nnz / 3);
        CHECK(some > 0.7 * all && some < 1.3 * all);
        spmm_csr_destroy(&a);
    }
    return test_end();
}
