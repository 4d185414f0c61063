#include <math.h>
#include <sys/stat.h>

#include "files.h"
#include "formats/multivector.h"
#include "sample.h"
#include "test.h"

static void test_shapes(void)
{
    spmm_multivector v;
    TEST("no row straddles a 32-byte sector, and rows of 32 bytes and more start on one") {
        for (int p = 0; p < 2; p++)
            for (int64_t k = 1; k <= 300; k++) {
                const int64_t size = p == SPMM_F64 ? 8 : 4, ld = sp_multivector_ld(k, (spmm_precision)p),
                              bytes = ld * size;
                CHECK(ld >= k && ld < 2 * k + 1);
                CHECK(bytes % 32 == 0 || 32 % bytes == 0);
            }
    }
    TEST("K = 1 is not padded at all") {
        CHECK_INT(sp_multivector_ld(1, SPMM_F64), 1);
        CHECK_INT(sp_multivector_ld(1, SPMM_F32), 1);
        CHECK_INT(sp_multivector_ld(13, SPMM_F64), 16);
    }
    TEST("a new multivector is zero, and one without rows is allowed") {
        CHECK_INT(spmm_multivector_create(5, 3, SPMM_F64, SPMM_CPU, &v), SPMM_OK);
        for (int64_t i = 0; i < 5 * v.ld; i++) CHECK(((double *)v.data)[i] == 0);
        spmm_multivector_destroy(&v);
        CHECK_INT(spmm_multivector_create(0, 3, SPMM_F32, SPMM_CPU, &v), SPMM_OK);
        CHECK(v.data != NULL);
        spmm_multivector_destroy(&v);
        CHECK(v.data == NULL);
    }
    TEST("bad and overflowing shapes are refused") {
        CHECK_INT(spmm_multivector_create(-1, 3, SPMM_F64, SPMM_CPU, &v), SPMM_ERR_USAGE);
        CHECK_INT(spmm_multivector_create(3, -1, SPMM_F64, SPMM_CPU, &v), SPMM_ERR_USAGE);
        CHECK_INT(spmm_multivector_create(INT64_MAX / 2, 64, SPMM_F64, SPMM_CPU, &v), SPMM_ERR_LIMIT);
        CHECK_INT(spmm_multivector_create(3, INT64_MAX, SPMM_F64, SPMM_CPU, &v), SPMM_ERR_LIMIT);
        CHECK_INT(spmm_multivector_create(INT64_C(1) << 40, 1 << 10, SPMM_F64, SPMM_CPU, &v),
                  SPMM_ERR_MEMORY);
        CHECK(v.data == NULL);
        CHECK_TEXT(spmm_error_message(), "PB");
    }
}

static void test_elements(void)
{
    spmm_multivector v, w;
    TEST("generated X depends on seed, row and column alone, and lies in [-1, 1)") {
        CHECK_INT(spmm_multivector_create(100, 7, SPMM_F64, SPMM_CPU, &v), SPMM_OK);
        CHECK_INT(spmm_multivector_create(30, 12, SPMM_F32, SPMM_CPU, &w), SPMM_OK);
        sp_multivector_generate(&v, SP_X_UNIFORM, 9, 0, 3);
        sp_multivector_generate(&w, SP_X_UNIFORM, 9, 50, 2);
        double sum = 0;
        for (int64_t i = 0; i < 100; i++)
            for (int64_t j = 0; j < 7; j++) {
                const double e = sp_multivector_get(&v, i, j);
                CHECK(e >= -1 && e < 1 && e == (double)(float)e);
                if (i >= 50 && i < 80) CHECK(e == sp_multivector_get(&w, i - 50, j));
                sum += e;
            }
        CHECK(fabs(sum / 700) < 0.1);
        CHECK(sp_x_element(SP_X_UNIFORM, 9, 3, 3) != sp_x_element(SP_X_UNIFORM, 10, 3, 3));
        for (int64_t j = 7; j < v.ld; j++) CHECK(((double *)v.data)[3 * v.ld + j] == 0);
        spmm_multivector_destroy(&v);
        spmm_multivector_destroy(&w);
    }
    TEST("a copy keeps the elements over different leading dimensions") {
        double data[4 * 11];
        const spmm_multivector odd = {4, 3, 11, SPMM_F64, SPMM_CPU, data, 0, 0, SPMM_ROW_MAJOR};
        for (int i = 0; i < 44; i++) data[i] = i;
        CHECK_INT(spmm_multivector_create(4, 3, SPMM_F64, SPMM_CPU, &v), SPMM_OK);
        CHECK_INT(spmm_multivector_copy(&odd, &v), SPMM_OK);
        for (int64_t i = 0; i < 4; i++)
            for (int64_t j = 0; j < 3; j++) CHECK(sp_multivector_get(&v, i, j) == (double)(11 * i + j));
        v.k = 2;
        CHECK_INT(spmm_multivector_copy(&odd, &v), SPMM_ERR_USAGE);
        spmm_multivector_destroy(&v);
    }
}

static void test_writing(void)
{
    spmm_multivector v;
    TEST("a written Y is a Matrix Market array, column by column, with digits enough, and no .part is left") {
        char line[128];
        files_begin("y.mtx");
        CHECK_INT(spmm_multivector_create(2, 2, SPMM_F64, SPMM_CPU, &v), SPMM_OK);
        double *d = v.data;
        d[0] = 0.1, d[1] = 1.0 / 3, d[v.ld] = -2e-300, d[v.ld + 1] = 5;
        CHECK_INT(sp_multivector_write(&v, path), SPMM_OK);
        FILE *f = fopen(path, "r");
        const double expected[] = {0.1, -2e-300, 1.0 / 3, 5};
        CHECK(f && fgets(line, sizeof line, f));
        CHECK_TEXT(line, "%%MatrixMarket matrix array real general");
        CHECK(f && fgets(line, sizeof line, f) && strcmp(line, "2 2\n") == 0);
        for (int i = 0; i < 4; i++)
            CHECK(f && fgets(line, sizeof line, f) && strtod(line, NULL) == expected[i]);
        if (f) fclose(f);
        CHECK_INT(parts_in(folder), 0);
        files_end();
        spmm_multivector_destroy(&v);
    }
    TEST("a full disk is an error, and a device is never replaced by a file") {
        struct stat st;
        CHECK_INT(spmm_multivector_create(5000, 4, SPMM_F64, SPMM_CPU, &v), SPMM_OK);
        CHECK_ERROR(sp_multivector_write(&v, "/dev/full"), SPMM_ERR_OUTPUT, "/dev/full");
        CHECK(stat("/dev/full", &st) == 0 && S_ISCHR(st.st_mode));
        CHECK_INT(sp_multivector_write(&v, "/no/such/folder/y"), SPMM_ERR_OUTPUT);
        spmm_multivector_destroy(&v);
    }
}

static void test_renumbering(void)
{
    TEST("rows are renumbered, by columns 0 to K - 1 alone, and the inverse undoes it") {
        const int64_t perm[] = {3, 0, 4, 1, 2};
        for (int p = 0; p < 2; p++) {
            spmm_multivector u = sample_multivector(5, 3, 3, (spmm_precision)p),
                             moved = sample_multivector(5, 3, 7, (spmm_precision)p),
                             back = sample_multivector(5, 3, 4, (spmm_precision)p);
            sample_fill(&u, SAMPLE_REALS, 5);
            CHECK_INT(sp_multivector_permute(&u, perm, 0, &moved), SPMM_OK);
            for (int64_t i = 0; i < 5; i++) {
                for (int64_t j = 0; j < 3; j++)
                    CHECK(sp_multivector_get(&moved, perm[i], j) == sp_multivector_get(&u, i, j));
                for (int64_t j = 3; j < 7; j++)
                    CHECK(isnan(sample_get(moved.data, moved.precision, i * 7 + j)));
            }
            CHECK_INT(sp_multivector_permute(&moved, perm, 1, &back), SPMM_OK);
            CHECK(sample_same(&u, &back));
            free(u.data), free(moved.data), free(back.data);
        }
    }
    TEST("rows are not renumbered to where there are none, nor into another shape") {
        const int64_t perm[] = {0, 1, 5, 3, 4}, negative[] = {0, 1, 2, 3, -1}, same[] = {0, 1, 2, 3, 4};
        spmm_multivector u = sample_multivector(5, 3, 3, SPMM_F64), t = sample_multivector(5, 3, 3, SPMM_F64);
        CHECK_INT(sp_multivector_permute(&u, perm, 0, &t), SPMM_ERR_USAGE);
        CHECK_INT(sp_multivector_permute(&u, negative, 1, &t), SPMM_ERR_USAGE);
        CHECK_INT(sp_multivector_permute(&u, same, 0, &t), SPMM_OK);
        t.k = 2;
        CHECK_INT(sp_multivector_permute(&u, same, 0, &t), SPMM_ERR_USAGE);
        t.k = 3, t.rows = 4;
        CHECK_INT(sp_multivector_permute(&u, same, 0, &t), SPMM_ERR_USAGE);
        t.rows = 5, t.precision = SPMM_F32;
        CHECK_INT(sp_multivector_permute(&u, same, 0, &t), SPMM_ERR_USAGE);
        free(u.data), free(t.data);
    }
}

int main(void)
{
    test_shapes();
    test_elements();
    test_writing();
    test_renumbering();
    return test_end();
}
