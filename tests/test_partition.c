#include "partition.h"
#include "test.h"
#include "verify.h"

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

/** Blocks cover all rows in order, and none has more than its share and one row. */
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

int main(void)
{
    enum { ROWS = 200 };
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
    return test_end();
}
