#include "order/partition.h"
#include "spmm_mpi/verify.h"
#include "sample.h"
#include "test.h"

enum { ROWS = 200 };

static void row_starts(int64_t *irp, int64_t rows, int64_t (*length)(int64_t))
{
    irp[0] = 0;
    for (int64_t i = 0; i < rows; i++) irp[i + 1] = irp[i] + length(i);
}
static int64_t seven(int64_t i) { return (void)i, 7; }
static int64_t none(int64_t i) { return (void)i, 0; }
static int64_t growing(int64_t i) { return i; }
static int64_t one_giant(int64_t i) { return i == 3 ? 100000 : 1; }
static int64_t every_other(int64_t i) { return i % 2 ? 5 : 0; }

static int64_t longest(const int64_t *irp, int64_t rows)
{
    int64_t most = 0;
    for (int64_t i = 0; i < rows; i++)
        if (irp[i + 1] - irp[i] > most) most = irp[i + 1] - irp[i];
    return most;
}

/** Checks that blocks cover all rows in order, and that none has more entries than its share plus the longest
 *  row. */
static void check_blocks(const int64_t *irp, int64_t rows, int parts, const int64_t *begin)
{
    const int64_t bound = irp[rows] / parts + 1 + longest(irp, rows);
    CHECK_INT(begin[0], 0);
    CHECK_INT(begin[parts], rows);
    for (int p = 0; p < parts; p++) {
        CHECK(begin[p] <= begin[p + 1]);
        CHECK(irp[begin[p + 1]] - irp[begin[p]] <= bound);
    }
}

static void test_rows(void)
{
    int64_t irp[ROWS + 1], begin[ROWS + 10];
    TEST("even blocks differ by at most one row, and the first ones are the longer") {
        for (int64_t rows = 0; rows <= 40; rows++)
            for (int parts = 1; parts <= 12; parts++) {
                sp_partition_even(rows, parts, begin);
                CHECK_INT(begin[0], 0);
                CHECK_INT(begin[parts], rows);
                for (int p = 0; p < parts; p++)
                    CHECK_INT(begin[p + 1] - begin[p], rows / parts + (p < rows % parts));
            }
    }
    TEST("blocks by entries cover the rows in order and exceed their share by at most one row") {
        int64_t (*const lengths[])(int64_t) = {seven, growing, one_giant, every_other};
        for (int n = 0; n < 4; n++)
            for (int64_t rows = 0; rows <= ROWS; rows += 13)
                for (int parts = 1; parts <= 9; parts++) {
                    row_starts(irp, rows, lengths[n]);
                    sp_partition_entries(irp, rows, parts, begin);
                    check_blocks(irp, rows, parts, begin);
                }
    }
    TEST("equal rows give even blocks when they divide") {
        row_starts(irp, ROWS, seven);
        sp_partition_entries(irp, ROWS, 4, begin);
        for (int p = 0; p <= 4; p++) CHECK_INT(begin[p], p * ROWS / 4);
    }
    TEST("without entries the blocks are even") {
        row_starts(irp, 10, none);
        sp_partition_entries(irp, 10, 3, begin);
        CHECK_INT(begin[1], 4);
        CHECK_INT(begin[2], 7);
        CHECK_INT(begin[3], 10);
    }
    TEST("more blocks than rows leaves some empty") {
        row_starts(irp, 2, seven);
        sp_partition_entries(irp, 2, 5, begin);
        check_blocks(irp, 2, 5, begin);
    }
    TEST("counts of entries near 2^63 do not overflow") {
        for (int64_t i = 0; i <= ROWS; i++) irp[i] = i * (INT64_MAX / ROWS);
        sp_partition_entries(irp, ROWS, 7, begin);
        for (int p = 0; p < 7; p++)
            CHECK(begin[p + 1] - begin[p] >= ROWS / 7 && begin[p + 1] - begin[p] <= ROWS / 7 + 1);
    }
}

static void test_columns(void)
{
    TEST(
        "blocks of columns are those that the transposed matrix's rows would get, for any number of threads") {
        for (int s = 0; s < SAMPLES; s++) {
            spmm_csr a;
            sample_csr((sample)s, SAMPLE_INTEGERS, SPMM_F64, &a);
            int64_t *const start = calloc((size_t)a.cols + 1, sizeof *start), expected[9], found[9];
            for (int64_t j = 0; j < a.cols; j++) {
                start[j + 1] = start[j];
                for (int64_t e = 0; e < a.nnz; e++) start[j + 1] += a.ja[e] == j;
            }
            for (int parts = 1; parts <= 8; parts++) {
                if (parts > 1) sp_partition_entries(start, a.cols, parts, expected);
                expected[0] = 0, expected[parts] = a.cols;
                CHECK_INT(sp_partition_columns(&a, parts % 3 + 1, parts, found), SPMM_OK);
                for (int p = 0; p <= parts; p++) CHECK_INT(found[p], expected[p]);
            }
            free(start);
            spmm_csr_destroy(&a);
        }
    }
    TEST("rows of X are owned like rows of Y on P x 1 of a square matrix") {
        const int64_t rows[] = {0, 3, 3, 4, 10}, cols[] = {0, 10};
        int64_t x[5];
        sp_x_ranges(10, 10, 4, 1, rows, cols, x);
        for (int p = 0; p <= 4; p++) CHECK_INT(x[p], rows[p]);
    }
    TEST("otherwise each column block's rows of X are shared evenly by its process column") {
        const int64_t rows[] = {0, 3, 3, 4, 10}, whole[] = {0, 11}, cols[] = {0, 7, 7, 10};
        int64_t x[3 * 5];
        sp_x_ranges(10, 11, 4, 1, rows, whole, x);
        const int64_t tall[] = {0, 3, 6, 9, 11};
        for (int p = 0; p <= 4; p++) CHECK_INT(x[p], tall[p]);
        sp_x_ranges(10, 10, 4, 3, rows, cols, x);
        const int64_t grid[] = {0, 2, 4, 6, 7, 7, 7, 7, 7, 7, 7, 8, 9, 10, 10};
        for (int p = 0; p < 15; p++) CHECK_INT(x[p], grid[p]);
    }
}

static void test_samples(void)
{
    TEST("a sample has rows of every block, increasing, at most 1000 and one a block") {
        static int64_t rows[SP_SAMPLE_ROWS + 5], first[6];
        const int64_t blocks[][6] = {{0, 10, 20, 30, 40, 50},
                                     {0, 1, 1, 2, 500000, 1000000},
                                     {0, 0, 0, 0, 0, 0},
                                     {0, 1000000, 1000001, 1000002, 1000003, 1000003}};
        for (int n = 0; n < 4; n++) {
            sp_sample_rows(blocks[n], 5, rows, first);
            CHECK(first[5] <= SP_SAMPLE_ROWS + 5);
            if (blocks[n][5] > 0 && blocks[n][5] <= SP_SAMPLE_ROWS) CHECK_INT(first[5], blocks[n][5]);
            for (int b = 0; b < 5; b++) {
                CHECK((first[b + 1] > first[b]) == (blocks[n][b + 1] > blocks[n][b]));
                for (int64_t i = first[b]; i < first[b + 1]; i++) {
                    CHECK(rows[i] >= blocks[n][b] && rows[i] < blocks[n][b + 1]);
                    CHECK(i == 0 || rows[i] > rows[i - 1]);
                }
            }
        }
    }
    TEST("a sample of any matrix of up to 3000 rows has no row twice, and all of up to 1000") {
        static int64_t rows[SP_SAMPLE_ROWS + 7], first[8];
        for (int64_t size = 1; size <= 3000; size++) {
            const int64_t shapes[4][8] = {
                {0, size},
                {0, size / 2, size},
                {0, size / 3, size - size / 3, size},
                {0, 0, size / 7, size / 5, size / 2, size / 2, size - size / 9, size},
            };
            const int blocks[] = {1, 2, 3, 7};
            for (int n = 0; n < 4; n++) {
                const int64_t *const bounds = shapes[n];
                int bad = 0;
                sp_sample_rows(bounds, blocks[n], rows, first);
                const int64_t count = first[blocks[n]];
                bad += size <= SP_SAMPLE_ROWS
                           ? count != size
                           : count < SP_SAMPLE_ROWS - blocks[n] || count > SP_SAMPLE_ROWS + blocks[n];
                for (int b = 0; b < blocks[n]; b++)
                    for (int64_t i = first[b]; i < first[b + 1]; i++)
                        bad += rows[i] < bounds[b] || rows[i] >= bounds[b + 1] ||
                               (i > 0 && rows[i] <= rows[i - 1]);
                CHECK_INT(bad, 0);
            }
        }
    }
}

int main(void)
{
    test_rows();
    test_columns();
    test_samples();
    return test_end();
}
