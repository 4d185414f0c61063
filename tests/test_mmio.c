/** include/mmio.h, as programs written for NIST's interface use it. */
#include <limits.h>

#include "files.h"
#include "mmio.h"
#include "test.h"

static char other[256];

static FILE *file_of(const char *text)
{
    write_bytes(text, strlen(text));
    return fopen(path, "r+");
}

static int banner_code(const char *text, MM_typecode *matcode)
{
    FILE *const f = file_of(text);
    const int code = mm_read_banner(f, matcode);
    fclose(f);
    return code;
}

static void test_banner(void)
{
    MM_typecode t;
    TEST("the banner's words become the typecode's letters, in any case") {
        CHECK_INT(banner_code("%%MatrixMarket matrix coordinate real general\n", &t), 0);
        CHECK(memcmp(t, "MCRG", 4) == 0);
        CHECK_INT(banner_code("%%MatrixMarket MATRIX Array Complex Hermitian\n", &t), 0);
        CHECK(memcmp(t, "MACH", 4) == 0 && mm_is_dense(t) && mm_is_complex(t) && mm_is_hermitian(t));
        CHECK_INT(banner_code("\xEF\xBB\xBF  %%MatrixMarket matrix coordinate pattern symmetric\r\n", &t), 0);
        CHECK(memcmp(t, "MCPS", 4) == 0 && mm_is_pattern(t) && mm_is_symmetric(t));
        CHECK_INT(banner_code("%%MatrixMarket matrix coordinate integer skew-symmetric", &t), 0);
        CHECK(memcmp(t, "MCIK", 4) == 0 && mm_is_integer(t) && mm_is_skew(t) && mm_is_coordinate(t));
    }
    TEST("a bad banner has NIST's code") {
        CHECK_INT(banner_code("", &t), MM_PREMATURE_EOF);
        CHECK_INT(banner_code("%%MatrixMarket matrix coordinate real\ngeneral\n", &t), MM_PREMATURE_EOF);
        CHECK_INT(banner_code("%%Matrix matrix coordinate real general\n", &t), MM_NO_HEADER);
        CHECK_INT(banner_code("1 1 1\n", &t), MM_NO_HEADER);
        CHECK_INT(banner_code("%%MatrixMarket vector coordinate real general\n", &t), MM_UNSUPPORTED_TYPE);
        CHECK_INT(banner_code("%%MatrixMarket matrix coordinate half general\n", &t), MM_UNSUPPORTED_TYPE);
    }
    TEST("macros set what they test, and a typecode's text is its banner") {
        mm_initialize_typecode(&t);
        CHECK(!mm_is_matrix(t) && mm_is_general(t) && !mm_typecode_to_str(t));
        mm_set_matrix(&t);
        mm_set_sparse(&t);
        mm_set_integer(&t);
        mm_set_skew(&t);
        char *const text = mm_typecode_to_str(t);
        CHECK(text && strcmp(text, "matrix coordinate integer skew-symmetric") == 0);
        free(text);
    }
    TEST("the format's combinations are valid, others are not") {
        static const struct {
            MM_typecode code;
            int valid;
        } codes[] = {{"MCRG", 1}, {"MCPS", 1}, {"MACH", 1}, {"MAIK", 1}, {"MAPG", 0},
                     {"MCRH", 0}, {"MCPK", 0}, {"MCPH", 0}, {" CRG", 0}};
        for (size_t k = 0; k < sizeof codes / sizeof *codes; k++) {
            memcpy(t, codes[k].code, 4);
            CHECK_INT(mm_is_valid(t), codes[k].valid);
        }
    }
}

static int size_code(const char *text, int *M, int *N, int *nz)
{
    FILE *const f = file_of(text);
    const int code = mm_read_mtx_crd_size(f, M, N, nz);
    fclose(f);
    return code;
}

static void test_sizes(void)
{
    int M, N, nz;
    int64_t M64, N64, nz64;
    TEST("sizes are read behind comments of any length and blank lines") {
        char text[5000];
        memset(text, '%', 4000);
        strcpy(text + 4000, "\n\n  \n 3 4\t5 \n1 1 1\n");
        CHECK_INT(size_code(text, &M, &N, &nz), 0);
        CHECK(M == 3 && N == 4 && nz == 5);
    }
    TEST("what follows the size line is next for fscanf") {
        FILE *const f = file_of("%%c\n3 4 5\n7 8\n");
        int i, j;
        CHECK_INT(mm_read_mtx_crd_size(f, &M, &N, &nz), 0);
        CHECK(fscanf(f, "%d %d", &i, &j) == 2 && i == 7 && j == 8);
        fclose(f);
    }
    TEST("a bad size line has its code") {
        CHECK_INT(size_code("", &M, &N, &nz), MM_PREMATURE_EOF);
        CHECK_INT(size_code("% only\n", &M, &N, &nz), MM_PREMATURE_EOF);
        CHECK_INT(size_code("3 4\n5\n", &M, &N, &nz), MM_PREMATURE_EOF);
        CHECK_INT(size_code("3 x 5\n", &M, &N, &nz), MM_PREMATURE_EOF);
        CHECK_INT(size_code("3 -4 5\n", &M, &N, &nz), MM_UNSUPPORTED_TYPE);
        CHECK_INT(size_code("3 4 2147483648\n", &M, &N, &nz), MM_UNSUPPORTED_TYPE);
        CHECK(M == 0 && N == 0 && nz == 0);
    }
    TEST("the 64-bit functions read and write sizes beyond int") {
        FILE *f = file_of("2147483648 3 9223372036854775807\n");
        CHECK_INT(mm_read_mtx_crd_size64(f, &M64, &N64, &nz64), 0);
        CHECK(M64 == INT64_C(2147483648) && N64 == 3 && nz64 == INT64_MAX);
        fclose(f);
        f = file_of("");
        CHECK_INT(mm_write_mtx_array_size64(f, INT64_C(5000000000), 2), 0);
        rewind(f);
        CHECK_INT(mm_read_mtx_array_size64(f, &M64, &N64), 0);
        CHECK(M64 == INT64_C(5000000000) && N64 == 2);
        rewind(f);
        CHECK_INT(mm_read_mtx_array_size(f, &M, &N), MM_UNSUPPORTED_TYPE);
        fclose(f);
        f = file_of("");
        CHECK_INT(mm_write_mtx_array_size(f, 6, 7), 0);
        rewind(f);
        CHECK_INT(mm_read_mtx_array_size(f, &M, &N), 0);
        CHECK(M == 6 && N == 7);
        fclose(f);
    }
}

static void test_round_trip(void)
{
    int M, N, nz, *I, *J;
    double *val;
    MM_typecode t;
    TEST("a matrix that is written is read back bit for bit, real, complex, integer and pattern") {
        static const MM_typecode codes[] = {"MCRG", "MCCG", "MCIS", "MCPG"};
        int rows[] = {1, 2, 3}, cols[] = {3, 1, 2};
        double values[] = {0.1, -1e300, 5e-324, 1.0 / 3, 7, 1e22};
        for (int k = 0; k < 4; k++) {
            memcpy(t, codes[k], 4);
            if (mm_is_integer(t)) values[0] = 5, values[1] = -6, values[2] = 1234567890123;
            CHECK_INT(mm_write_mtx_crd(path, 3, 3, 3, rows, cols, values, t), 0);
            CHECK_INT(mm_read_mtx_crd(path, &M, &N, &nz, &I, &J, &val, &t), 0);
            CHECK(M == 3 && N == 3 && nz == 3 && memcmp(t, codes[k], 4) == 0);
            CHECK(memcmp(I, rows, sizeof rows) == 0 && memcmp(J, cols, sizeof cols) == 0);
            const size_t n = mm_is_pattern(t) ? 0 : mm_is_complex(t) ? 6 : 3;
            CHECK(n == 0 ? val == NULL : memcmp(val, values, n * sizeof(double)) == 0);
            free(I), free(J), free(val);
        }
    }
    TEST("a hundred thousand entries make the arrays grow as they should") {
        enum { COUNT = 100000 };
        int *const i = malloc(COUNT * sizeof *i);
        double *const v = malloc(COUNT * sizeof *v);
        for (int k = 0; k < COUNT; k++) {
            i[k] = k + 1;
            v[k] = 1.0 / (k + 1);
        }
        memcpy(t, "MCRG", 4);
        CHECK_INT(mm_write_mtx_crd(path, COUNT, COUNT, COUNT, i, i, v, t), 0);
        CHECK_INT(mm_read_mtx_crd(path, &M, &N, &nz, &I, &J, &val, &t), 0);
        CHECK(nz == COUNT && memcmp(I, i, COUNT * sizeof *i) == 0 && memcmp(J, i, COUNT * sizeof *i) == 0 &&
              memcmp(val, v, COUNT * sizeof *v) == 0);
        free(i);
        free(v);
        free(I), free(J), free(val);
    }
}

static void test_reading(void)
{
    int M, N, nz, *I, *J;
    double *val;
    MM_typecode t;
    TEST("an unsymmetric sparse matrix is read with indices from 0") {
        fclose(file_of(
            "%%MatrixMarket matrix coordinate real general\n% c\n2 3 2\n1 3 2.5\n% between\n2 1 -1D1"));
        CHECK_INT(mm_read_unsymmetric_sparse(path, &M, &N, &nz, &val, &I, &J), 0);
        CHECK(M == 2 && N == 3 && nz == 2 && I[0] == 0 && J[0] == 2 && val[0] == 2.5 && I[1] == 1 &&
              J[1] == 0 && val[1] == -10);
        free(I), free(J), free(val);
        CHECK_INT(mm_read_unsymmetric_sparse("/no/such/file", &M, &N, &nz, &val, &I, &J), -1);
        fclose(file_of("%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n"));
        CHECK_INT(mm_read_unsymmetric_sparse(path, &M, &N, &nz, &val, &I, &J), -1);
        CHECK(!I && !J && !val);
    }
    TEST("what cannot be read leaves no memory behind and has its code") {
        CHECK_INT(mm_read_mtx_crd("/no/such/file", &M, &N, &nz, &I, &J, &val, &t), MM_COULD_NOT_READ_FILE);
        fclose(file_of("%%MatrixMarket matrix array real general\n1 1\n1\n"));
        CHECK_INT(mm_read_mtx_crd(path, &M, &N, &nz, &I, &J, &val, &t), MM_UNSUPPORTED_TYPE);
        fclose(file_of("%%MatrixMarket matrix coordinate real general\n3 3 2000000000\n1 1 1\n"));
        CHECK_INT(mm_read_mtx_crd(path, &M, &N, &nz, &I, &J, &val, &t), MM_PREMATURE_EOF);
        CHECK(!I && !J && !val);
        fclose(file_of("%%MatrixMarket matrix coordinate real general\n3 3 1\n4 1 1\n"));
        CHECK_INT(mm_read_mtx_crd(path, &M, &N, &nz, &I, &J, &val, &t), MM_PREMATURE_EOF);
        fclose(file_of("%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 x\n"));
        CHECK_INT(mm_read_mtx_crd(path, &M, &N, &nz, &I, &J, &val, &t), MM_PREMATURE_EOF);
        memcpy(t, "MCRG", 4);
        CHECK_INT(mm_write_mtx_crd("/no/such/folder/file", 0, 0, 0, NULL, NULL, NULL, t),
                  MM_COULD_NOT_WRITE_FILE);
        CHECK_INT(mm_write_banner(stdout, (char *)"????"), MM_COULD_NOT_WRITE_FILE);
    }
}

/** Compiles tests/nist_client.c against mmio.h and libmm alone, by `compiler`, and runs it. */
static int client_runs(const char *compiler, const char *input)
{
    char command[12000];
    snprintf(command, sizeof command,
             "%s -Iinclude -o '%s/client' tests/nist_client.c '%s/libmm.a' -lm >'%s/log' 2>&1 && '%s/client' "
             "'%s' '%s' >>'%s/log' 2>&1 && cmp -s '%s' '%s'",
             compiler, folder, getenv("BUILD"), folder, folder, input, other, folder, input, other);
    const int status = system(command);
    snprintf(command, sizeof command, "[ %d = 0 ] || cat '%s/log'; rm -f '%s/client' '%s/log'", status,
             folder, folder, folder);
    return system(command) == 0 && status == 0;
}

static void test_client(void)
{
    const char *const build = getenv("BUILD"), *const mpicc = getenv("MPICC");
    if (!build || !mpicc || access("tests/nist_client.c", R_OK) != 0 || TEST_SANITIZED) {
        SKIP("a program written for NIST's mmio.h compiles against ours and runs",
             "needs tests/run, and no sanitizers");
        return;
    }
    TEST("a program written for NIST's mmio.h compiles against ours and runs") {
        fclose(
            file_of("%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 0.5\n2 1 -2\n3 3 1024\n"));
        CHECK(client_runs(mpicc, path));
        fclose(file_of("%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 1\n2 3\n"));
        CHECK(client_runs(mpicc, path));
    }
}

int main(void)
{
    files_begin("a.mtx");
    snprintf(other, sizeof other, "%s/b.mtx", folder);
    test_banner();
    test_sizes();
    test_round_trip();
    test_reading();
    test_client();
    files_end();
    return test_end();
}
