/* Column blocks of X: which numbers of blocks fit, which number is best, and where the blocks are in
 * memory. */
#include "base/memory.h"
#include "formats/multivector.h"
#include "product/column_blocks.h"
#include "test.h"

static void test_numbers(void)
{
    TEST("column blocks are of equal width and begin at multiples of 32 bytes; there are at most 16") {
        CHECK(sp_column_blocks_fit(64, SPMM_F64, 16) && !sp_column_blocks_fit(64, SPMM_F64, 32));
        CHECK(sp_column_blocks_fit(64, SPMM_F32, 8) && !sp_column_blocks_fit(64, SPMM_F32, 16));
        CHECK(sp_column_blocks_fit(12, SPMM_F64, 3) && !sp_column_blocks_fit(12, SPMM_F32, 3));
        CHECK(!sp_column_blocks_fit(64, SPMM_F64, 3) && !sp_column_blocks_fit(10, SPMM_F64, 5));
        CHECK(sp_column_blocks_fit(7, SPMM_F32, 1) && !sp_column_blocks_fit(8, SPMM_F64, 0));
    }
    TEST("the best number is the greatest up to 4 that leaves 128 bytes per row and 8 MB per exchange") {
        static const int k[] = {1, 16, 31, 32, 48, 64, 96, 128, 1024}, f64[] = {1, 1, 1, 2, 3, 4, 4, 4, 4},
                         f32[] = {1, 1, 1, 1, 1, 2, 3, 4, 4};
        for (int i = 0; i < 9; i++) {
            CHECK_INT(sp_column_blocks_best(k[i], SPMM_F64, INT64_MAX), f64[i]);
            CHECK_INT(sp_column_blocks_best(k[i], SPMM_F32, INT64_MAX), f32[i]);
        }
        CHECK_INT(sp_column_blocks_best(64, SPMM_F64, 65536), 4); /* 8 MB each */
        CHECK_INT(sp_column_blocks_best(64, SPMM_F64, 65535), 2);
        CHECK_INT(sp_column_blocks_best(64, SPMM_F64, 32767), 1);
    }
}

static const sp_moves moves = {.ghost_low = 2, .own = 3, .ghost_high = 1};

static void test_places(void)
{
    sp_column_blocks blocks;
    TEST("one column block is X itself, and needs no memory") {
        CHECK_INT(sp_column_blocks_create(&moves, 7, SPMM_F64, SPMM_CPU, NULL, 1, &blocks), SPMM_OK);
        CHECK(blocks.count == 1 && blocks.width == 7 && !blocks.memory && !blocks.x[0].data);
        sp_column_blocks_destroy(&blocks);
    }
    TEST("column blocks lie one behind the other, each with its ghost rows around its own") {
        CHECK_INT(sp_column_blocks_create(&moves, 16, SPMM_F32, SPMM_CPU, NULL, 2, &blocks), SPMM_OK);
        CHECK(blocks.count == 2 && blocks.width == 8);
        for (int s = 0; s < 2; s++) {
            const spmm_multivector *const x = &blocks.x[s];
            CHECK(x->rows == 3 && x->k == 8 && x->ld == 8 && x->ghost_low == 2 && x->ghost_high == 1);
            CHECK((char *)x->data == (char *)blocks.memory + (s * 6 + 2) * 8 * 4);
        }
        sp_column_blocks_destroy(&blocks);
        CHECK(blocks.count == 0 && !blocks.memory && !blocks.x[0].data);
    }
}

static void test_contents(void)
{
    sp_column_blocks blocks;
    TEST("several column blocks are copied, and one is X") {
        spmm_multivector x;
        CHECK_INT(sp_multivector_create(2, 3, 1, 16, SPMM_F32, SPMM_CPU, &x), SPMM_OK);
        sp_multivector_generate(&x, SP_X_INDEX, 0, 0, 1);
        for (int count = 1; count <= 2; count++) {
            CHECK_INT(sp_column_blocks_create(&moves, 16, SPMM_F32, SPMM_CPU, NULL, count, &blocks), SPMM_OK);
            CHECK_INT(sp_column_blocks_set(&blocks, &x, NULL, 1), SPMM_OK);
            for (int s = 0; s < count; s++) {
                const spmm_multivector all = sp_column_blocks_x(&blocks, s),
                                       y = sp_column_blocks_y(&blocks, s, &x);
                CHECK(all.rows == 6 && all.k == 16 / count && all.ghost_low == 0 && all.ghost_high == 0);
                CHECK((count == 1) == (blocks.x[s].data == x.data) && (count == 1) == blocks.in_x);
                CHECK(all.ld == 16 / count && y.k == 16 / count && y.ld == x.ld);
                for (int64_t i = 0; i < 3; i++)
                    for (int64_t j = 0; j < all.k; j++)
                        CHECK(sp_multivector_get(&all, 2 + i, j) ==
                                  sp_multivector_get(&x, i, s * all.k + j) &&
                              sp_multivector_get(&y, i, j) == sp_multivector_get(&x, i, s * all.k + j));
            }
            sp_column_blocks_destroy(&blocks);
        }
        spmm_multivector_destroy(&x);
    }
    TEST("column blocks beyond 64-bit sizes are refused") {
        const sp_moves huge = {.own = INT64_MAX / 64};
        CHECK_INT(sp_column_blocks_create(&huge, 16, SPMM_F64, SPMM_CPU, NULL, 2, &blocks), SPMM_ERR_LIMIT);
        CHECK(!blocks.memory);
        sp_column_blocks_destroy(&blocks);
    }
}

int main(void)
{
    test_numbers();
    test_places();
    test_contents();
    return test_end();
}
