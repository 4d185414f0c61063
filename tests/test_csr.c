/* limit: 60 */
#include "formats/csr.h"
#include "formats/thread_ranges.h"
#include "sample.h"
#include "test.h"

/** One entry of the reference, which sorts all triplets with qsort. */
typedef struct entry {
    int64_t row;
    int32_t column;
    double value;
} entry;

static int by_place(const void *p, const void *q)
{
    const entry *const a = p, *const b = q;
    if (a->row != b->row) return a->row < b->row ? -1 : 1;
    if (a->column != b->column) return a->column < b->column ? -1 : 1;
    if (a->value != b->value) return a->value < b->value ? -1 : 1;
    return signbit(b->value) - signbit(a->value) < 0 ? -1 : signbit(b->value) < signbit(a->value);
}

/** The reference: converts by sorting all triplets. */
static void reference(const sp_coo *coo, spmm_csr *a, int64_t *duplicates)
{
    sp_coo general;
    if (sp_coo_expand(coo, &general) != SPMM_OK) abort();
    const int64_t n = general.nnz;
    entry *const list = malloc((size_t)(n + 1) * sizeof *list);
    for (int64_t t = 0; t < n; t++)
        list[t] = (entry){general.I[t], general.J[t], sample_get(general.val, coo->precision, t)};
    qsort(list, (size_t)n, sizeof *list, by_place);
    if (sp_csr_create(coo->rows, coo->cols, n, coo->precision, a) != SPMM_OK) abort();
    int64_t kept = 0;
    for (int64_t t = 0; t < n; t++) {
        if (t > 0 && list[t].row == list[t - 1].row && list[t].column == list[t - 1].column) {
            sample_set(a->as, a->precision, kept - 1,
                       a->precision == SPMM_F64 ? sample_get(a->as, a->precision, kept - 1) + list[t].value
                                                : (double)((float)sample_get(a->as, a->precision, kept - 1) +
                                                           (float)list[t].value));
            continue;
        }
        a->ja[kept] = list[t].column;
        sample_set(a->as, a->precision, kept++, list[t].value);
        a->irp[list[t].row + 1]++;
    }
    for (int64_t i = 0; i < a->rows; i++) a->irp[i + 1] += a->irp[i];
    a->nnz = kept;
    *duplicates = n - kept;
    free(list);
    sp_coo_destroy(&general);
}

static sp_coo copy_of(const sp_coo *coo)
{
    sp_coo copy;
    if (sp_coo_create(coo->rows, coo->cols, coo->nnz, coo->symmetry, coo->precision, coo->val != NULL,
                      &copy) != SPMM_OK)
        abort();
    memcpy(copy.I, coo->I, (size_t)coo->nnz * sizeof *copy.I);
    memcpy(copy.J, coo->J, (size_t)coo->nnz * sizeof *copy.J);
    if (coo->val) memcpy(copy.val, coo->val, (size_t)coo->nnz * sp_value_size(coo->precision));
    return copy;
}

/** Converts with 1, 2, 3, 7 and 40 threads and compares with the reference. */
static void check_conversion(const sp_coo *coo)
{
    static const int threads[] = {1, 2, 3, 7, 40};
    spmm_csr expected;
    int64_t duplicates;
    reference(coo, &expected, &duplicates);
    for (int n = 0; n < 5; n++) {
        spmm_csr a;
        int64_t summed = -1;
        sp_coo copy = copy_of(coo);
        CHECK_INT(sp_csr_from_coo(&copy, threads[n], &a, &summed), SPMM_OK);
        CHECK(!copy.I && !copy.J && !copy.val);
        CHECK_INT(sp_csr_check(&a, 1), SPMM_OK);
        CHECK_INT(summed, duplicates);
        CHECK(sample_same_csr(&a, &expected));
        spmm_csr_destroy(&a);
    }
    spmm_csr_destroy(&expected);
}

/** Makes random triplets, many of which are duplicates.
 *  \param [in] triangle  -1: in the lower triangle; 1: in the upper one; 0: in both */
static void random_coo(int64_t rows, int64_t cols, int64_t nnz, sp_symmetry symmetry, int triangle,
                       int with_values, spmm_precision precision, sp_coo *coo)
{
    if (sp_coo_create(rows, cols, nnz, symmetry, precision, with_values, coo) != SPMM_OK) abort();
    for (int64_t t = 0; t < nnz; t++) {
        int32_t i = (int32_t)sp_random_below(5, (uint64_t)t, 0, (uint64_t)rows);
        int32_t j = (int32_t)sp_random_below(5, (uint64_t)t, 1, (uint64_t)cols);
        if ((triangle < 0 && i < j) || (triangle > 0 && i > j)) {
            const int32_t swap = i;
            i = j;
            j = swap;
        }
        if (symmetry == SP_SKEW && i == j) i = (i + 1) % (int32_t)rows;
        coo->I[t] = i;
        coo->J[t] = j;
        if (with_values) sample_set(coo->val, precision, t, sp_random_unit(5, (uint64_t)t, 2));
    }
}

static void check_random(int64_t rows, int64_t cols, int64_t nnz, sp_symmetry symmetry, int triangle,
                         int with_values)
{
    for (int p = 0; p < 2; p++) {
        sp_coo coo;
        random_coo(rows, cols, nnz, symmetry, triangle, with_values, p ? SPMM_F32 : SPMM_F64, &coo);
        check_conversion(&coo);
        sp_coo_destroy(&coo);
    }
}

static void test_conversion(void)
{
    TEST("every sample's triplets become the CSR that sorting them gives, for any number of threads") {
        for (int s = 0; s < SAMPLES; s++)
            for (int p = 0; p < 2; p++) {
                sp_coo coo;
                sample_coo((sample)s, SAMPLE_REALS, p ? SPMM_F32 : SPMM_F64, &coo);
                check_conversion(&coo);
                sp_coo_destroy(&coo);
            }
    }
    TEST("rows of any length and disorder come out sorted") {
        for (int kind = 0; kind < 5; kind++)
            for (int64_t n = 1; n < 3000; n = n * 5 / 4 + 1) {
                sp_coo coo;
                CHECK_INT(sp_coo_create(3, n, n, SP_GENERAL, SPMM_F64, 1, &coo), SPMM_OK);
                for (int64_t t = 0; t < n; t++) {
                    const int64_t half = (n + 1) / 2;
                    const int64_t column[] = {n - 1 - t, t / 2 + (t % 2) * half,
                                              t < half ? 2 * t : 2 * (n - 1 - t) + 1, (t * t) % n, t % 3};
                    coo.I[t] = 1;
                    coo.J[t] = (int32_t)(column[kind] % n);
                    ((double *)coo.val)[t] = sp_random_unit(8, (uint64_t)t, 0);
                }
                check_conversion(&coo);
                sp_coo_destroy(&coo);
            }
    }
    TEST("a matrix of many blocks of triplets is converted like a small one") {
        check_random(30000, 25000, 150000, SP_GENERAL, 0, 1);
        check_random(50000, 50000, 100000, SP_SYMMETRIC, -1, 1);
    }
    TEST("a conversion with 0 threads is refused, and the triplets are freed all the same") {
        sp_coo coo;
        spmm_csr a;
        sample_coo(SAMPLE_RANDOM, SAMPLE_REALS, SPMM_F64, &coo);
        CHECK_INT(sp_csr_from_coo(&coo, 0, &a, NULL), SPMM_ERR_USAGE);
        CHECK(!coo.I && !a.irp);
    }
}

static void test_duplicates(void)
{
    TEST("duplicates are summed in increasing order of value") {
        check_random(20, 20, 5000, SP_GENERAL, 0, 1);
    }
    TEST("duplicates have the same sum in whatever order they come, zeros of either sign included") {
        static const double values[] = {1e16, 1, -1e16, 1, 3, -0.0, 0.0, 1e-3};
        enum { N = sizeof values / sizeof values[0] };
        double first[2] = {0, 0};
        for (int turn = 0; turn < N; turn++)
            for (int step = 1; step < N; step += 2) {
                sp_coo coo;
                spmm_csr a;
                int64_t summed;
                CHECK_INT(sp_coo_create(2, 9, 2 * N, SP_GENERAL, SPMM_F64, 1, &coo), SPMM_OK);
                for (int t = 0; t < 2 * N; t++) {
                    const double v = values[(turn + t / 2 * step) % N];
                    coo.I[t] = 1;
                    coo.J[t] = t % 2 ? 5 : 2;
                    ((double *)coo.val)[t] = t % 2 ? v : v * 0.0; /* column 2: only zeros, of both signs */
                }
                CHECK_INT(sp_csr_from_coo(&coo, 1, &a, &summed), SPMM_OK);
                CHECK_INT(a.nnz, 2);
                CHECK_INT(summed, 2 * N - 2);
                if (turn == 0 && step == 1) memcpy(first, a.as, sizeof first);
                CHECK(memcmp(first, a.as, sizeof first) == 0);
                spmm_csr_destroy(&a);
            }
        CHECK(first[1] == ((((-1e16 + 1e-3) + 1) + 1) + 3) + 1e16);
    }
}

static void test_symmetries(void)
{
    TEST("a symmetric matrix may store the lower, the upper or either triangle") {
        for (int triangle = -1; triangle <= 1; triangle++)
            check_random(70, 70, 900, SP_SYMMETRIC, triangle, 1);
    }
    TEST("a skew-symmetric matrix gets negated mirror images") {
        for (int triangle = -1; triangle <= 1; triangle++) check_random(70, 70, 900, SP_SKEW, triangle, 1);
    }
    TEST("a pattern without values is all ones, and minus ones where mirrored in a skew one") {
        check_random(50, 50, 300, SP_GENERAL, 0, 0);
        check_random(50, 50, 300, SP_SYMMETRIC, -1, 0);
        check_random(50, 50, 300, SP_SKEW, -1, 0);
    }
}

static void test_giant_row(void)
{
    TEST("one giant row is sorted in good time") {
        check_random(1, 70000, 200000, SP_GENERAL, 0, 1);
        sp_coo coo;
        spmm_csr a;
        const int64_t n = 1000000; /* in reverse: an insertion sort would take minutes */
        CHECK_INT(sp_coo_create(3, n, n, SP_GENERAL, SPMM_F64, 1, &coo), SPMM_OK);
        for (int64_t t = 0; t < n; t++) {
            coo.I[t] = 1;
            coo.J[t] = (int32_t)(n - 1 - t);
            ((double *)coo.val)[t] = (double)t;
        }
        CHECK_INT(sp_csr_from_coo(&coo, 2, &a, NULL), SPMM_OK);
        CHECK_INT(sp_csr_check(&a, 1), SPMM_OK);
        CHECK_INT(a.irp[1], 0);
        CHECK_INT(a.irp[2], n);
        CHECK(((const double *)a.as)[0] == (double)(n - 1));
        spmm_csr_destroy(&a);
    }
}

static void test_triplets(void)
{
    TEST("triplets of the public interface are copied, and duplicates are summed") {
        const int64_t i[] = {2, 0, 2, 0}, j[] = {1, 3, 1, 0};
        const double v[] = {1, 2, 3, 4};
        spmm_csr a;
        CHECK_INT(spmm_csr_from_triplets(3, 4, 4, i, j, v, SPMM_F32, &a), SPMM_OK);
        CHECK_INT(a.nnz, 3);
        CHECK_INT(a.irp[1], 2);
        CHECK_INT(a.irp[2], 2);
        CHECK_INT(a.ja[0], 0);
        CHECK_INT(a.ja[1], 3);
        CHECK(((const float *)a.as)[0] == 4 && ((const float *)a.as)[1] == 2 &&
              ((const float *)a.as)[2] == 4);
        spmm_csr_destroy(&a);
        CHECK_INT(spmm_csr_from_triplets(3, 4, 4, i, j, NULL, SPMM_F64, &a), SPMM_OK);
        CHECK(((const double *)a.as)[2] == 2);
        spmm_csr_destroy(&a);
    }
    TEST("an index out of range is refused with its place") {
        const int64_t i[] = {0, 3}, j[] = {0, 1}, negative[] = {0, -1};
        spmm_csr a;
        CHECK_ERROR(spmm_csr_from_triplets(3, 4, 2, i, j, NULL, SPMM_F64, &a), SPMM_ERR_USAGE,
                    "triplet 1 is at (3, 1), which is outside the 3 x 4 matrix");
        CHECK(!a.irp);
        CHECK_INT(spmm_csr_from_triplets(3, 4, 2, j, negative, NULL, SPMM_F64, &a), SPMM_ERR_USAGE);
    }
    TEST("2^31 rows or columns are refused") {
        spmm_csr a;
        CHECK_INT(spmm_csr_from_triplets(INT64_C(1) << 31, 4, 0, NULL, NULL, NULL, SPMM_F64, &a),
                  SPMM_ERR_LIMIT);
        CHECK_INT(spmm_csr_from_triplets(4, INT64_C(1) << 31, 0, NULL, NULL, NULL, SPMM_F64, &a),
                  SPMM_ERR_LIMIT);
        CHECK_INT(spmm_csr_from_triplets(-1, 4, 0, NULL, NULL, NULL, SPMM_F64, &a), SPMM_ERR_USAGE);
    }
}

static void test_csr(void)
{
    spmm_csr a, b, c;
    sample_csr(SAMPLE_RANDOM, SAMPLE_REALS, SPMM_F64, &a);

    TEST("rows begin to end are a matrix of their own") {
        CHECK_INT(sp_csr_rows(&a, 40, 90, &b), SPMM_OK);
        CHECK_INT(sp_csr_check(&b, 1), SPMM_OK);
        CHECK_INT(b.rows, 50);
        CHECK_INT(b.nnz, a.irp[90] - a.irp[40]);
        CHECK(memcmp(b.ja, a.ja + a.irp[40], (size_t)b.nnz * sizeof *b.ja) == 0);
        spmm_csr_destroy(&b);
        CHECK_INT(sp_csr_rows(&a, 150, 150, &b), SPMM_OK);
        CHECK_INT(b.rows, 0);
        CHECK_INT(b.irp[0], 0);
        spmm_csr_destroy(&b);
        CHECK_INT(sp_csr_rows(&a, 100, 151, &b), SPMM_ERR_USAGE);
        CHECK(!b.irp);
    }
    TEST("picked rows come in the order asked for") {
        const int64_t all[] = {7, 3, 7}, wrong[] = {150};
        CHECK_INT(sp_csr_pick(&a, all, 3, &b), SPMM_OK);
        CHECK_INT(sp_csr_check(&b, 1), SPMM_OK);
        for (int n = 0; n < 3; n++) {
            CHECK_INT(sp_csr_rows(&a, all[n], all[n] + 1, &c), SPMM_OK);
            CHECK_INT(b.irp[n + 1] - b.irp[n], c.nnz);
            CHECK(memcmp(b.ja + b.irp[n], c.ja, (size_t)c.nnz * sizeof *c.ja) == 0);
            CHECK(memcmp((double *)b.as + b.irp[n], c.as, (size_t)c.nnz * sizeof(double)) == 0);
            spmm_csr_destroy(&c);
        }
        spmm_csr_destroy(&b);
        CHECK_INT(sp_csr_pick(&a, wrong, 1, &b), SPMM_ERR_USAGE);
    }
    TEST("the check finds wrong row starts, columns out of range and columns out of order") {
        CHECK_INT(sp_csr_check(&a, 1), SPMM_OK);
        a.irp[5] += 1000;
        CHECK_INT(sp_csr_check(&a, 1), SPMM_ERR_USAGE);
        a.irp[5] -= 1000;
        const int32_t second = a.ja[1];
        a.ja[1] = a.ja[0];
        CHECK_ERROR(sp_csr_check(&a, 1), SPMM_ERR_USAGE, "follows column");
        a.ja[1] = 150;
        CHECK_INT(sp_csr_check(&a, 1), SPMM_ERR_USAGE);
        a.ja[1] = second;
        a.nnz++;
        CHECK_INT(sp_csr_check(&a, 1), SPMM_ERR_USAGE);
        a.nnz--;
    }
    TEST("the bytes are those of the three arrays") { CHECK_INT(sp_csr_bytes(&a), 151 * 8 + a.nnz * 12); }
    spmm_csr_destroy(&a);
    spmm_csr_destroy(&a);
    spmm_csr_destroy(NULL);
}

static void test_work(void)
{
    TEST("the threads' ranges cover all rows and are balanced by entries + 2 rows") {
        for (int s = 0; s < SAMPLES; s++)
            for (int threads = 1; threads < 9; threads++) {
                spmm_csr a;
                sp_thread_ranges w;
                sample_csr((sample)s, SAMPLE_REALS, SPMM_F64, &a);
                CHECK_INT(sp_thread_ranges_create(a.irp, a.rows, threads, &w), SPMM_OK);
                CHECK_INT(w.begin[0], 0);
                CHECK_INT(w.begin[threads], a.rows);
                int64_t longest = 0;
                for (int64_t i = 0; i < a.rows; i++)
                    if (a.irp[i + 1] - a.irp[i] > longest) longest = a.irp[i + 1] - a.irp[i];
                for (int t = 0; t < threads; t++) {
                    CHECK(w.begin[t] <= w.begin[t + 1]);
                    const int64_t cost = a.irp[w.begin[t + 1]] - a.irp[w.begin[t]] +
                                         2 * (w.begin[t + 1] - w.begin[t]);
                    CHECK(cost <= (a.nnz + 2 * a.rows) / threads + longest + 3);
                }
                sp_thread_ranges_destroy(&w);
                spmm_csr_destroy(&a);
            }
    }
    TEST("without row starts all rows count the same") {
        sp_thread_ranges w;
        CHECK_INT(sp_thread_ranges_create(NULL, 10, 4, &w), SPMM_OK);
        for (int t = 0; t < 4; t++)
            CHECK(w.begin[t + 1] - w.begin[t] == 2 || w.begin[t + 1] - w.begin[t] == 3);
        sp_thread_ranges_destroy(&w);
        CHECK_INT(sp_thread_ranges_create(NULL, 10, 0, &w), SPMM_ERR_USAGE);
        sp_thread_ranges_destroy(&w);
        sp_thread_ranges_destroy(NULL);
    }
}

int main(void)
{
    test_conversion();
    test_duplicates();
    test_symmetries();
    test_giant_row();
    test_triplets();
    test_csr();
    test_work();
    return test_end();
}
