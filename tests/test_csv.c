/** Series from CSV files: what is accepted, what is refused and with which message, for any number of threads
 *  and wherever the text is cut into chunks.
 *  limit: 300 */
#define TEST_TRAPS 0 /* values of all bits */
#include <math.h>

#include "files.h"
#include "formats/multivector.h"
#include "io/csv.h"
#include "test.h"

static spmm_status read_with(int threads, spmm_precision precision, int nonfinite, spmm_multivector *x)
{
    const sp_read_options options = {
        .precision = precision, .threads = threads, .allow_nonfinite = nonfinite};
    sp_set_message("");
    return sp_read_csv(path, &options, x);
}

/** Whether the file is read as `rows` series of k values, the numbers in `expected`. */
static int reads_as(int64_t rows, int64_t k, const char *expected)
{
    spmm_multivector x;
    const spmm_status status = read_with(2, SPMM_F64, 0, &x);
    int ok = status == SPMM_OK && x.rows == rows && x.k == k && x.space == SPMM_CPU;
    if (status != SPMM_OK) printf("  %s\n", spmm_error_message());
    for (int64_t i = 0; ok && i < rows * k; i++) {
        char *end;
        ok = strtod(expected, &end) == sp_multivector_get(&x, i / k, i % k) && end != expected;
        expected = end;
    }
    ok = ok && *expected == 0;
    spmm_multivector_destroy(&x);
    return ok;
}

#define READS(text, rows, k, expected)                        \
    do {                                                      \
        write_bytes(text, sizeof(text) - 1);                  \
        CHECK(reads_as(rows, k, expected));                   \
        write_gzip(text, sizeof(text) - 1, sizeof(text) - 1); \
        CHECK(reads_as(rows, k, expected));                   \
        chunk_bytes(1);                                       \
        CHECK(reads_as(rows, k, expected));                   \
        chunk_bytes(0);                                       \
    } while (0)

static void test_accepted(void)
{
    TEST("a line is a series, its values separated by commas, semicolons or tabs") {
        READS("1,2,3\n4,5,6\n", 2, 3, "1 2 3 4 5 6");
        READS("1;2;3\n4;5;6\n", 2, 3, "1 2 3 4 5 6");
        READS("1\t2\t3\n4\t5\t6\n", 2, 3, "1 2 3 4 5 6");
        READS("7\n8\n9\n", 3, 1, "7 8 9");
        READS("7", 1, 1, "7");
    }
    TEST("numbers may be written in all the ways that sp_parse_real() takes") {
        READS("1e3,+2,-.5,5.,1D2,0007,-0.000000000000000000000000001,123456789012345678901234567890\n", 1, 8,
              "1000 2 -.5 5 100 7 -1e-27 123456789012345678901234567890");
        READS("1e-400,4e-320\n", 1, 2, "0 4e-320");
    }
    TEST("blanks around values are skipped, and tabs where commas or semicolons separate") {
        READS("  1 ,2  ,  3\n\t4\t,\t5 , 6\t\n", 2, 3, "1 2 3 4 5 6");
        READS(" 1\t;2\n", 1, 2, "1 2");
        READS(" 1 \t 2 \n3\t4\n", 2, 2, "1 2 3 4");
        READS("1\n2 \t\n", 2, 1, "1 2");
    }
    TEST("lines may end in CRLF, the last one in nothing") {
        READS("1,2\r\n3,4\r\n", 2, 2, "1 2 3 4");
        READS("1,2\n3,4\r\n\r\n5,6", 3, 2, "1 2 3 4 5 6");
        READS("1\t2\r\n3\t4\r", 2, 2, "1 2 3 4");
    }
    TEST("blank lines and lines that begin with # are skipped") {
        READS("# time, a, b\n\n1,2\n  \t\n #x\n3,4\n#\n\n", 2, 2, "1 2 3 4");
        READS("#;\n   \n1\t2\n", 1, 2, "1 2");
    }
    TEST("a byte order mark may come first") {
        READS("\xEF\xBB\xBF"
              "1,2\n",
              1, 2, "1 2");
    }
}

/* ---- what is refused ---- */

typedef struct refusal {
    const char *what, *text;
    size_t bytes;
    const char *message; /* the part after the file's name */
} refusal;

#define BAD(what, text, message)              \
    {                                         \
        what, text, sizeof(text) - 1, message \
    }
#define NUMBER "expected a number (a header line begins with #)"

static const refusal refusals[] = {
    BAD("an empty file", "", ":1: found an empty file, expected a line of values"),
    BAD("comments only", "# a\n\n \t\n",
        ":3: found only blank lines and comments, expected a line of values"),
    BAD("a header", "time,a\n1,2\n", ":1: found \"time\" in field 1, " NUMBER),
    BAD("text", "1,2,3\n\n4,5, two words \n", ":3: found \"two words\" in field 3, " NUMBER),
    BAD("trailing garbage", "1,2\n1,2x\n", ":2: found \"2x\" in field 2, " NUMBER),
    BAD("blanks as separators", "1 2\n", ":1: found \"1 2\" in field 1, " NUMBER),
    BAD("quoted values", "\"1\",\"2\"\n", ":1: found \"\\\"1\\\"\" in field 1, " NUMBER),
    BAD("decimal commas", "1,5;2,5\n", ":1: found \"5;2\" in field 2, " NUMBER),
    BAD("two separators", "1,2\n3;4\n", ":2: found \"3;4\" in field 1, " NUMBER),
    BAD("an empty field", "1,,3\n", ":1: found nothing in field 2, " NUMBER),
    BAD("an empty first field", "1,2\n , 2\n", ":2: found nothing in field 1, " NUMBER),
    BAD("a separator at the end", "1;2;\r\n", ":1: found nothing in field 3, " NUMBER),
    BAD("a missing value between tabs", "1\t\t3\n", ":1: found nothing in field 2, " NUMBER),
    BAD("a series of nothing but tabs", "1\t2\n\t\n", ":2: found nothing in field 1, " NUMBER),
    BAD("too few values", "# c\n1,2,3,4,5,6,7,8,9,10\n1,2,3,4,5,6,7,8,9\n",
        ":3: found 9 values, expected 10 as in line 2"),
    BAD("too many values", "1,2\n1,2,3\n", ":2: found 3 values, expected 2 as in line 1"),
    BAD("two values where one is expected", "1\n2,3\n", ":2: found 2 values, expected 1 as in line 1"),
    BAD("inf", "1,-inf\n", ":1: found \"-inf\" in field 2, expected a finite value (or --allow-nonfinite)"),
    BAD("nan", "1,2\nNaN,1\n", ":2: found \"NaN\" in field 1, expected a finite value"),
    BAD("overflow", "1e309 ,2\n",
        ":1: found \"1e309\" in field 1, expected a value within the range of a double (or --allow-nonfinite)"),
    BAD("a NUL byte", "1,2\0\n", ":1: found \"2\\x00\" in field 2, " NUMBER),
    BAD("the first of two wrong lines", "1,2\n3\nx,y\n", ":2: found 1 value"),
};

static void test_refused(void)
{
    spmm_multivector x;
    for (size_t k = 0; k < sizeof refusals / sizeof *refusals; k++) {
        const refusal *const r = &refusals[k];
        char message[800];
        snprintf(message, sizeof message, "%s%s", path, r->message);
        TEST(test_name("refused with its line: %s", r->what)) {
            for (int way = 0; way < 8; way++) {
                if (way & 1)
                    write_gzip(r->text, r->bytes, r->bytes);
                else
                    write_bytes(r->text, r->bytes);
                chunk_bytes(way & 2 ? 1 : 1 << 20);
                CHECK_ERROR(read_with(way & 4 ? 3 : 1, SPMM_F64, 0, &x), SPMM_ERR_SYNTAX, message);
                CHECK(!strchr(spmm_error_message(), '\n'));
                CHECK(!x.data && x.rows == 0);
            }
            chunk_bytes(0);
        }
    }
    TEST("a file that is not there, and a folder, cannot be opened") {
        const sp_read_options options = {.threads = 1};
        CHECK_ERROR(sp_read_csv("/no/such/file.csv", &options, &x), SPMM_ERR_OPEN,
                    "/no/such/file.csv: cannot be opened: No such file");
        CHECK_ERROR(sp_read_csv(folder, &options, &x), SPMM_ERR_OPEN, "found a folder, expected");
    }
}

static void test_damaged(void)
{
    static char text[40000];
    size_t bytes;
    spmm_multivector x;
    int n = 0;
    for (int k = 0; k < 3000; k++) n += sprintf(text + n, "%d,%d\n", k, k * 7 % 1000);
    write_gzip(text, (size_t)n, (size_t)n);
    char *const packed = read_file(path, &bytes);
    TEST("damaged gzip data are refused, with the line") {
        packed[bytes - 6] ^= 1; /* the check sum */
        write_bytes(packed, bytes);
        chunk_bytes(1000);
        CHECK_ERROR(read_with(2, SPMM_F64, 0, &x), SPMM_ERR_OPEN,
                    ":3001: found damaged gzip data (incorrect data check)");
        chunk_bytes(0);
    }
    free(packed);
}

static void test_options(void)
{
    spmm_multivector x;
    TEST("inf, nan and values that overflow are taken when allowed") {
        write_bytes("inf,-Infinity,nan,1e999,1\n", 26);
        CHECK_INT(read_with(1, SPMM_F64, 1, &x), SPMM_OK);
        const double *const v = x.data;
        CHECK(v && v[0] == INFINITY && v[1] == -INFINITY && isnan(v[2]) && v[3] == INFINITY && v[4] == 1);
        spmm_multivector_destroy(&x);
        write_bytes("1e39\n", 5);
        CHECK_INT(read_with(1, SPMM_F32, 1, &x), SPMM_OK);
        CHECK(x.data && ((float *)x.data)[0] == INFINITY);
        spmm_multivector_destroy(&x);
    }
    TEST("f32 values are the doubles, rounded; those beyond its range are refused") {
        write_bytes("0.1,2\n-0.3,4\n", 13);
        CHECK_INT(read_with(1, SPMM_F32, 0, &x), SPMM_OK);
        CHECK(x.precision == SPMM_F32 && x.data && ((float *)x.data)[0] == (float)0.1 &&
              ((float *)x.data)[x.ld] == (float)-0.3);
        spmm_multivector_destroy(&x);
        write_bytes("1,2\n3,1e39\n", 11);
        CHECK_ERROR(
            read_with(1, SPMM_F32, 0, &x), SPMM_ERR_SYNTAX,
            ":2: found \"1e39\" in field 2, expected a value within the range of a float (or --allow-nonfinite)");
    }
}

static void note_progress(void *context, double fraction)
{
    double *const last = context;
    *last = fraction >= *last ? fraction : 2.0;
}

/* ---- threads and pieces ---- */

static int same(const spmm_multivector *a, const spmm_multivector *b)
{
    return a->rows == b->rows && a->k == b->k && a->ld == b->ld && a->data && b->data &&
           memcmp(a->data, b->data, (size_t)sp_multivector_bytes(a)) == 0;
}

static const int thread_counts[] = {1, 2, 3, 7};

/** Reads the file with several numbers of threads and chunk sizes: each reading must return `expected`, or
 *  the same failure. */
static void check_all_ways(spmm_status status, const char *message, const spmm_multivector *expected)
{
    static const int64_t bytes[] = {1, 3, 20, 64, 333, 1000, 65536};
    for (int way = 0; way < 28; way++) {
        spmm_multivector x;
        chunk_bytes(bytes[way / 4]);
        CHECK_INT(read_with(thread_counts[way % 4], SPMM_F64, 0, &x), status);
        if (status == SPMM_OK)
            CHECK(same(&x, expected));
        else
            CHECK_TEXT(spmm_error_message(), message);
        spmm_multivector_destroy(&x);
    }
    chunk_bytes(0);
}

static void test_round_trip(void)
{
    enum { SERIES = 150, VALUES = 13 };
    static char text[SERIES * (VALUES * 30 + 40)];
    TEST("random values, written with 17 digits, come back bit by bit in any number of pieces and threads") {
        for (uint64_t seed = 0; seed < 6; seed++) {
            spmm_multivector x;
            int n = 0;
            CHECK_INT(spmm_multivector_create(SERIES, VALUES, SPMM_F64, SPMM_CPU, &x), SPMM_OK);
            for (int k = 0; k < SERIES * VALUES; k++) {
                uint64_t bits = sp_random(seed, (uint64_t)k, 0);
                double v;
                memcpy(&v, &bits, sizeof v);
                if (!isfinite(v) || k % 2) v = (double)(int64_t)bits * 0x1p-60;
                ((double *)x.data)[k / VALUES * x.ld + k % VALUES] = v;
                n += sprintf(text + n, "%s%.17g%s", bits % 7 ? "" : " ", v, bits % 5 ? "" : " ");
                n += sprintf(text + n, "%s",
                             k % VALUES < VALUES - 1 ? &",\0;\0\t"[2 * (seed % 3)]
                             : bits % 3              ? "\n"
                             : bits % 2              ? "\r\n"
                                                     : "\n#c\n\n");
            }
            if (seed < 3)
                write_bytes(text, (size_t)n);
            else
                write_gzip(text, (size_t)n, (size_t)n);
            check_all_ways(SPMM_OK, "", &x);
            spmm_multivector_destroy(&x);
        }
    }
}

/** Writes `series` series of `values` values each; value k of the file is k * 0.25. */
static void write_long(int64_t series, int64_t values)
{
    FILE *const f = fopen(path, "wb");
    for (int64_t k = 0; k < series * values; k++)
        fprintf(f, "%.2f%c", (double)k * 0.25, (k + 1) % values ? ',' : '\n');
    fclose(f);
}

static void test_long_lines(void)
{
    TEST("lines may be longer than a piece, and than a megabyte") {
        enum { SERIES = 5, VALUES = 300000 };
        write_long(SERIES, VALUES);
        for (int way = 0; way < 6; way++) {
            spmm_multivector x;
            int64_t wrong = 0;
            double progress = 0;
            const sp_read_options options = {
                .threads = 1 + way % 2 * 2, .progress = note_progress, .progress_context = &progress};
            chunk_bytes(way < 2 ? 1 : way < 4 ? 1000 : SP_MESSAGE_BYTES << 8);
            CHECK_INT(sp_read_csv(path, &options, &x), SPMM_OK);
            CHECK_INT(x.rows, SERIES);
            CHECK_INT(x.k, VALUES);
            for (int64_t k = 0; x.data && k < SERIES * VALUES; k++)
                wrong += sp_multivector_get(&x, k / VALUES, k % VALUES) != (double)k * 0.25;
            CHECK_INT(wrong, 0);
            CHECK(progress == 1.0);
            spmm_multivector_destroy(&x);
        }
        chunk_bytes(0);
    }
    TEST("many wrong, short lines behind a long one need no memory for long ones") {
        spmm_multivector x;
        write_long(1, 300000);
        FILE *const f = fopen(path, "ab");
        for (int k = 0; k < 200000; k++) fprintf(f, "1\n");
        fclose(f);
        CHECK_ERROR(read_with(3, SPMM_F64, 0, &x), SPMM_ERR_SYNTAX,
                    ":2: found 1 value, expected 300000 as in line 1");
    }
}

int main(void)
{
    files_begin("a.csv");
    test_accepted();
    test_refused();
    test_damaged();
    test_options();
    test_round_trip();
    test_long_lines();
    files_end();
    return test_end();
}
