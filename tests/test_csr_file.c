/** Binary matrix files: a matrix is read back as it was written, whole and in ranges.
 *  limit: 120 */
#include <math.h>

#include "files.h"
#include "files/csr_file.h"
#include "files/matrix_file.h"
#include "files/matrix_write.h"
#include "io/generators.h"
#include "sample.h"
#include "test.h"

static const char *const endings[] = {".npz", ".petsc"};
enum { ENDINGS = sizeof endings / sizeof *endings };

/** Sets `path` to a name with the ending, and writes the matrix there. */
static void put(const spmm_csr *a, const char *ending)
{
    snprintf(path, sizeof path, "%.190s/a%s", folder, ending);
    CHECK_INT(sp_matrix_write(path, a), SPMM_OK);
}

/** Opens the file at `path`; `f` owns the result. */
static sp_csr_file *open_rows(sp_matrix_file *f)
{
    const sp_read_options options = {.threads = 1};
    CHECK_INT(sp_matrix_file_open(path, &options, f), SPMM_OK);
    return f->format->csr(f->file);
}

static spmm_status read_whole(const sp_read_options *options, spmm_csr *a)
{
    sp_matrix_file f;
    CHECK_INT(sp_matrix_file_open(path, options, &f), SPMM_OK);
    return sp_matrix_file_read(&f, a, NULL, NULL, NULL);
}

static spmm_status read_block(const sp_csr_file_range *r, spmm_csr *a)
{
    sp_matrix_file f;
    sp_csr_file *const rows = open_rows(&f);
    const spmm_status status = sp_csr_file_block(rows, r, a, NULL);
    sp_matrix_file_close(&f);
    return status;
}

static void test_whole(void)
{
    static const char *const all[] = {".npz", ".petsc", ".mtx", ".mtx.gz"};
    for (int s = 0; s < SAMPLES; s++) {
        char name[160];
        snprintf(name, sizeof name, "a matrix comes back as it was written: %s", sample_name((sample)s));
        TEST(name) {
            for (int k = 0; k < 16; k++) {
                const spmm_precision precision = k % 2 ? SPMM_F32 : SPMM_F64;
                const sp_read_options options = {.precision = precision, .threads = 1 + k / 8 * 2};
                spmm_csr a, b;
                sample_csr((sample)s, SAMPLE_REALS, precision, &a);
                put(&a, all[k / 2 % 4]);
                if (k / 2 % 4 < ENDINGS) {
                    CHECK_INT(read_whole(&options, &b), SPMM_OK);
                    CHECK_INT(sp_csr_check(&b, 1), SPMM_OK);
                    CHECK(sample_same_csr(&a, &b));
                    spmm_csr_destroy(&b);
                }
                CHECK_INT(spmm_csr_read(path, precision, &b), SPMM_OK);
                CHECK(sample_same_csr(&a, &b));
                spmm_csr_destroy(&a);
                spmm_csr_destroy(&b);
            }
        }
    }
    TEST(
        "f32 values are widened for f64, f64 values rounded for f32; one beyond it is an error or an infinity") {
        sp_read_options options = {.precision = SPMM_F64, .threads = 2};
        spmm_csr a, b;
        sample_csr(SAMPLE_RANDOM, SAMPLE_REALS, SPMM_F32, &a);
        put(&a, ".npz");
        CHECK_INT(read_whole(&options, &b), SPMM_OK);
        int wrong = b.precision != SPMM_F64 || b.nnz != a.nnz;
        for (int64_t e = 0; e < a.nnz && !wrong; e++)
            wrong |= ((double *)b.as)[e] != (double)((float *)a.as)[e];
        CHECK(!wrong);
        spmm_csr_destroy(&a);
        ((double *)b.as)[7] = 0.1;
        put(&b, ".npz");
        options.precision = SPMM_F32;
        CHECK_INT(read_whole(&options, &a), SPMM_OK);
        wrong = a.precision != SPMM_F32;
        for (int64_t e = 0; e < a.nnz && !wrong; e++)
            wrong |= ((float *)a.as)[e] != (float)((double *)b.as)[e];
        CHECK(!wrong);
        spmm_csr_destroy(&a);
        ((double *)b.as)[8] = -1e39;
        put(&b, ".npz");
        CHECK_INT(read_whole(&options, &a), SPMM_ERR_SYNTAX);
        CHECK_TEXT(spmm_error_message(), "a.npz: found a value beyond the range of a float");
        CHECK(a.irp == NULL);
        options.allow_nonfinite = 1;
        CHECK_INT(read_whole(&options, &a), SPMM_OK);
        CHECK(isinf(((float *)a.as)[8]));
        spmm_csr_destroy(&a);
        spmm_csr_destroy(&b);
    }
}

/* ---- ranges ---- */

/** Compares random ranges of the file at `path` with matrix a. */
static void check_ranges(const spmm_csr *a, uint64_t times)
{
    spmm_csr b;
    for (uint64_t k = 0; k < times; k++) {
        sp_csr_file_range r = {.precision = a->precision, .threads = 1 + (int)(k % 3)};
        r.row_begin = (int64_t)sp_random_below(k, 0, 0, (uint64_t)a->rows + 1);
        r.row_end = r.row_begin + (int64_t)sp_random_below(k, 0, 1, (uint64_t)(a->rows - r.row_begin) + 1);
        r.col_begin = k % 4 ? (int64_t)sp_random_below(k, 0, 2, (uint64_t)a->cols + 1) : 0;
        r.col_end = k % 4 ? r.col_begin +
                                (int64_t)sp_random_below(k, 0, 3, (uint64_t)(a->cols - r.col_begin) + 1)
                          : a->cols;
        CHECK_INT(read_block(&r, &b), SPMM_OK);
        CHECK(sample_is_block(a, r.row_begin, r.row_end, r.col_begin, r.col_end, &b));
        spmm_csr_destroy(&b);
    }
}

static void test_ranges(void)
{
    for (int s = 0; s < SAMPLES; s++) {
        char name[160];
        snprintf(name, sizeof name, "any rows and columns can be read alone: %s", sample_name((sample)s));
        TEST(name) {
            spmm_csr a;
            sample_csr((sample)s, SAMPLE_REALS, s % 2 ? SPMM_F32 : SPMM_F64, &a);
            for (int k = 0; k < ENDINGS; k++) {
                put(&a, endings[k]);
                check_ranges(&a, 60);
            }
            spmm_csr_destroy(&a);
        }
    }
    TEST("any rows and columns of a file that is read in several pieces can be read alone") {
        spmm_csr a;
        CHECK_INT(sp_gen_csr("band:30000,20,100", SPMM_F64, 1, &a), SPMM_OK);
        CHECK(a.nnz > 1 << 19);
        for (int k = 0; k < ENDINGS; k++) {
            put(&a, endings[k]);
            check_ranges(&a, 16);
        }
        spmm_csr_destroy(&a);
    }
    TEST("row starts and columns come in ranges of their own; what is beyond the matrix is refused") {
        for (int k = 0; k < ENDINGS; k++) {
            spmm_csr a, b;
            sp_matrix_file file;
            int64_t irp[200];
            int32_t ja[2000];
            sample_csr(SAMPLE_RANDOM, SAMPLE_REALS, SPMM_F64, &a);
            put(&a, endings[k]);
            sp_csr_file *const f = open_rows(&file);
            CHECK_INT(sp_csr_file_row_starts(f, 10, 73, irp), SPMM_OK);
            CHECK(memcmp(irp, a.irp + 10, 64 * sizeof *irp) == 0);
            CHECK_INT(sp_csr_file_columns(f, 33, 1001, 2, ja), SPMM_OK);
            CHECK(memcmp(ja, a.ja + 33, 968 * sizeof *ja) == 0);
            CHECK_INT(sp_csr_file_row_starts(f, 10, a.rows + 1, irp), SPMM_ERR_USAGE);
            CHECK_INT(sp_csr_file_row_starts(f, -1, 0, irp), SPMM_ERR_USAGE);
            CHECK_INT(sp_csr_file_columns(f, -1, 5, 1, ja), SPMM_ERR_USAGE);
            CHECK_INT(sp_csr_file_columns(f, 1, 0, 1, ja), SPMM_ERR_USAGE);
            CHECK_INT(sp_csr_file_columns(f, a.nnz, a.nnz + 1, 1, ja), SPMM_ERR_USAGE);
            const sp_csr_file_range rows = {.row_end = a.rows + 1, .col_end = a.cols, .threads = 1},
                                    columns = {.row_end = a.rows, .col_end = a.cols + 1, .threads = 1};
            CHECK_INT(sp_csr_file_block(f, &rows, &b, NULL), SPMM_ERR_USAGE);
            CHECK_INT(sp_csr_file_block(f, &columns, &b, NULL), SPMM_ERR_USAGE);
            sp_matrix_file_close(&file);
            spmm_csr_destroy(&a);
        }
    }
}

static void test_nonfinite(void)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    static const char *const name[] = {"\"nan\"", "\"inf\"", "\"-inf\""};
    TEST("nan and inf are refused with row and column, as in a text file, unless they are allowed") {
        for (int k = 0; k < 12; k++) {
            spmm_csr a, b;
            char message[120];
            sample_csr(SAMPLE_RANDOM, SAMPLE_REALS, k % 2 ? SPMM_F32 : SPMM_F64, &a);
            const int64_t row = 40, e = a.irp[row] + 1;
            sp_csr_file_range r = {.col_end = a.cols, .row_end = a.rows, .threads = 1 + k % 3};
            r.precision = k % 4 < 2 ? SPMM_F64 : SPMM_F32;
            for (int64_t at = e; at < a.nnz; at += 500) /* the first one is reported */
                sample_set(a.as, a.precision, at, bad[k / 4]);
            put(&a, endings[k % ENDINGS]);
            snprintf(message, sizeof message,
                     ": found %s in row 41, column %d, expected a finite value (or --allow-nonfinite)",
                     name[k / 4], a.ja[e] + 1);
            for (int part = 0; part < 3; part++) {
                r.row_begin = part ? row - 3 : 0;
                r.col_begin = part == 2 ? a.ja[e] : 0;
                r.allow_nonfinite = 0;
                CHECK_INT(read_block(&r, &b), SPMM_ERR_SYNTAX);
                CHECK_TEXT(spmm_error_message(), message);
                CHECK(b.irp == NULL);
                r.allow_nonfinite = 1;
                CHECK_INT(read_block(&r, &b), SPMM_OK);
                CHECK(!isfinite(sample_get(b.as, b.precision, part == 0 ? e : b.irp[3] + (part == 1))));
                spmm_csr_destroy(&b);
            }
            spmm_csr_destroy(&a);
        }
    }
}

/* ---- damage ---- */

/** Checks that the whole matrix, and the columns [0, 3) of its rows, are refused. */
static void refused(const spmm_csr *a, const char *ending, const char *message)
{
    const sp_csr_file_range ranges[] = {{.row_end = a->rows, .col_end = a->cols, .threads = 2},
                                        {.row_end = a->rows, .col_end = 3, .threads = 2}};
    spmm_csr b;
    put(a, ending);
    for (int k = 0; k < 2; k++) {
        sp_set_message("");
        CHECK_INT(read_block(&ranges[k], &b), SPMM_ERR_SYNTAX);
        CHECK_TEXT(spmm_error_message(), message);
        CHECK(b.irp == NULL);
    }
}

static void test_wrong_indices(void)
{
    TEST("row starts and columns that make no sense are refused, in a range of other columns, too") {
        static const char decrease[] = "a.npz: its row starts decrease or are out of range";
        spmm_csr a;
        sample_csr(SAMPLE_RANDOM, SAMPLE_REALS, SPMM_F64, &a);
        const int64_t start = a.irp[40];
        a.irp[40] = a.irp[41] + 1;
        refused(&a, ".npz", decrease);
        refused(&a, ".petsc", "a.petsc: row 41: found a length of -1 entries");
        a.irp[40] = start;
        a.irp[0] = -8;
        refused(&a, ".npz", decrease);
        a.irp[0] = 0;
        for (int k = 0; k < 4; k++) {
            const int32_t column = a.ja[a.irp[9] + 1];
            a.ja[a.irp[9] + 1] = k / 2 ? -1 : (int32_t)a.cols;
            refused(&a, endings[k % 2], "has a column index outside of 1 to 150");
            a.ja[a.irp[9] + 1] = column;
        }
        spmm_csr_destroy(&a);
    }
}

int main(void)
{
    files_begin("a");
    test_whole();
    test_ranges();
    test_nonfinite();
    test_wrong_indices();
    files_end();
    return test_end();
}
