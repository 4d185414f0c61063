/** The fast reader: what it accepts, what it refuses and with which message, for any number of threads and
 *  wherever chunks are cut.
 *  limit: 300 */
#include <math.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "files.h"
#include "io/mtx_read.h"
#include "io/text_chunks.h"
#include "test.h"

#define REAL "%%MatrixMarket matrix coordinate real general\n"
#define SYMMETRIC "%%MatrixMarket matrix coordinate real symmetric\n"
#define SKEW "%%MatrixMarket matrix coordinate real skew-symmetric\n"
#define PATTERN "%%MatrixMarket matrix coordinate pattern general\n"
#define INTEGER "%%MatrixMarket matrix coordinate integer general\n"
#define ARRAY "%%MatrixMarket matrix array real general\n"

static spmm_status read_with(int threads, int nonfinite, sp_coo *coo)
{
    const sp_read_options options = {.threads = threads, .allow_nonfinite = nonfinite};
    sp_set_message("");
    return sp_read_coo(path, &options, coo, NULL);
}

/* ---- what is accepted ---- */

/** Reads `text`. Returns whether it is rows x cols with exactly the entries of `expected`, "i j value
 *  ...". */
static int reads_as(const char *text, size_t n, int64_t rows, int64_t cols, const char *expected)
{
    sp_coo coo;
    write_bytes(text, n);
    spmm_status status = read_with(2, 0, &coo);
    int ok = status == SPMM_OK && coo.rows == rows && coo.cols == cols;
    if (status != SPMM_OK) printf("  %s\n", spmm_error_message());
    for (int64_t k = 0; ok && k < coo.nnz; k++) {
        int i = 0, j = 0, used = 0;
        double v = 0;
        ok = sscanf(expected, "%d %d %lf%n", &i, &j, &v, &used) == 3 && coo.I[k] == i - 1 &&
             coo.J[k] == j - 1 && (coo.val ? ((double *)coo.val)[k] : 1.0) == v;
        expected += used;
    }
    ok = ok && strspn(expected, " ") == strlen(expected);
    if (status == SPMM_OK) sp_coo_destroy(&coo);
    return ok;
}

#define READS(text, rows, cols, expected) CHECK(reads_as(text, sizeof(text) - 1, rows, cols, expected))

static void test_layout(void)
{
    TEST("entries are read in the order of the file") {
        READS(REAL "3 4 3\n3 4 1.5\n1 1 -2\n2 1 1e2\n", 3, 4, "3 4 1.5 1 1 -2 2 1 100");
    }
    TEST("CRLF ends lines, also mixed with LF") {
        READS("%%MatrixMarket matrix coordinate real general\r\n%\r\n\r\n2 2 2\r\n1 1 1\r\n2 2 2\n", 2, 2,
              "1 1 1 2 2 2");
    }
    TEST("comments and blank lines may stand anywhere behind the banner") {
        READS(REAL "% a\n\n  \n%%\n2 2 2\n\n1 1 1\n% between\n   % indented\n \t \n2 2 2\n%end\n\n\n", 2, 2,
              "1 1 1 2 2 2");
    }
    TEST("the last line needs no newline, comment or entry") {
        READS(REAL "2 2 1\n2 2 2", 2, 2, "2 2 2");
        READS(REAL "2 2 1\n2 2 2\n%", 2, 2, "2 2 2");
        READS(REAL "2 2 0", 2, 2, "");
    }
    TEST("blanks, tabs and other white space may lead, separate and trail") {
        READS(" \t%%MatrixMarket  matrix\tcoordinate real general \n\t2  2\t1 \n \t 2\t  1   \t7\t \n", 2, 2,
              "2 1 7");
        READS(REAL "2 2 1\n2\v1\f7\n", 2, 2, "2 1 7");
    }
    TEST("the banner may be in any case, and follow a byte order mark") {
        READS("\xEF\xBB\xBF%%matrixmarket MATRIX Coordinate REAL General\n1 1 1\n1 1 5\n", 1, 1, "1 1 5");
    }
}

static void test_numbers(void)
{
    TEST("numbers may be written with D, with +, without leading or trailing digits") {
        READS(REAL "9 9 7\n1 1 1D2\n2 2 +3\n3 3 .5\n4 4 5.\n5 5 1E0\n+6 06 2d-1\n7 7 -.25e+1\n", 9, 9,
              "1 1 100 2 2 3 3 3 .5 4 4 5 5 5 1 6 6 .2 7 7 -2.5");
    }
    TEST("an exponent of three digits may lack its letter after a decimal point, as Fortran writes it") {
        READS(REAL "9 9 3\n1 1 0.25-102\n2 2 -1.5+003\n3 3 1.-200\n", 9, 9,
              "1 1 .25e-102 2 2 -1500 3 3 1e-200");
    }
    TEST("explicit zeros on the diagonal of a skew-symmetric matrix stay") {
        READS(SKEW "2 2 2\n2 1 3\n2 2 0.0\n", 2, 2, "2 1 3 2 2 0");
    }
    TEST("values that underflow are 0 or subnormal") {
        READS(REAL "1 2 2\n1 1 1e-400\n1 2 4e-320\n", 1, 2, "1 1 0 1 2 4e-320");
    }
    TEST("explicit zeros and duplicates stay") {
        READS(REAL "2 2 3\n1 1 0\n1 1 2\n1 1 2\n", 2, 2, "1 1 0 1 1 2 1 1 2");
    }
    TEST("double is real, unsigned-integer is integer") {
        READS("%%MatrixMarket matrix coordinate double general\n1 1 1\n1 1 .5\n", 1, 1, "1 1 .5");
        READS("%%MatrixMarket matrix coordinate unsigned-integer general\n1 1 1\n1 1 5\n", 1, 1, "1 1 5");
    }
    TEST("integers are exact up to 2^53 and rounded beyond, of any length") {
        READS(
            INTEGER
            "9 9 5\n1 1 -9007199254740991\n2 2 9223372036854775807\n3 3 +7\n4 4 123456789012345678901234567890\n5 5 -0\n",
            9, 9,
            "1 1 -9007199254740991 2 2 9223372036854775807 3 3 7 4 4 123456789012345678901234567890 5 5 0");
    }
}

static void test_shapes(void)
{
    TEST("a matrix may have no rows, no columns, no entries") {
        READS(PATTERN "0 0 0\n", 0, 0, "");
        READS(REAL "0 5 0\n", 0, 5, "");
        READS(ARRAY "3 0\n", 3, 0, "");
        READS("%%MatrixMarket matrix array real skew-symmetric\n1 1\n", 1, 1, "");
    }
    TEST("2^31 - 1 rows and columns are legal") {
        READS(REAL "2147483647 2147483647 1\n2147483647 2147483647 1\n", INT32_MAX, INT32_MAX,
              "2147483647 2147483647 1");
    }
    TEST("a triangle of a symmetric matrix may be the lower or the upper one") {
        READS(SYMMETRIC "3 3 3\n1 1 1\n3 1 2\n3 2 3\n", 3, 3, "1 1 1 3 1 2 3 2 3");
        READS(SYMMETRIC "3 3 3\n1 1 1\n1 3 2\n2 3 3\n", 3, 3, "1 1 1 1 3 2 2 3 3");
        READS(SKEW "3 3 1\n1 3 2\n", 3, 3, "1 3 2");
    }
    TEST("of an array the nonzeros are kept, column by column, with symmetry the lower triangle") {
        READS(ARRAY "2 3\n1\n0\n-0.0\n4\n5\n0\n", 2, 3, "1 1 1 2 2 4 1 3 5");
        READS("%%MatrixMarket matrix array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n", 3, 3,
              "1 1 1 2 1 2 3 1 3 2 2 4 3 2 5 3 3 6");
        READS("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n\n%c\n3\n", 3, 3,
              "2 1 1 3 1 2 3 2 3");
    }
    TEST("a skew-symmetric pattern has ones as values, a general one has none") {
        sp_coo coo;
        const char skew[] = "%%MatrixMarket matrix coordinate pattern skew-symmetric\n2 2 1\n2 1\n";
        write_bytes(skew, sizeof skew - 1);
        CHECK_INT(read_with(1, 0, &coo), SPMM_OK);
        CHECK(coo.val && ((double *)coo.val)[0] == 1 && coo.symmetry == SP_SKEW);
        sp_coo_destroy(&coo);
        write_bytes(PATTERN "2 2 1\n2 1\n", sizeof(PATTERN) - 1 + 10);
        CHECK_INT(read_with(1, 0, &coo), SPMM_OK);
        CHECK(!coo.val);
        sp_coo_destroy(&coo);
    }
}

static void test_options(void)
{
    TEST("inf, nan and values that overflow are taken when allowed") {
        const char text[] = REAL "5 5 5\n1 1 inf\n2 2 -Infinity\n3 3 NaN\n4 4 1E310\n5 5 -1e999\n";
        sp_coo coo;
        write_bytes(text, sizeof text - 1);
        CHECK_INT(read_with(1, 1, &coo), SPMM_OK);
        const double *const v = coo.val;
        CHECK(v && v[0] == INFINITY && v[1] == -INFINITY && isnan(v[2]) && v[3] == INFINITY &&
              v[4] == -INFINITY);
        sp_coo_destroy(&coo);
    }
    TEST("f32 values are the doubles, rounded; those beyond its range are infinities") {
        const sp_read_options options = {.precision = SPMM_F32, .threads = 1};
        sp_coo coo;
        write_bytes(REAL "1 1 1\n1 1 0.1\n", sizeof(REAL) + 13);
        CHECK_INT(sp_read_coo(path, &options, &coo, NULL), SPMM_OK);
        CHECK(coo.precision == SPMM_F32 && ((float *)coo.val)[0] == (float)0.1);
        sp_coo_destroy(&coo);
        write_bytes(REAL "1 1 1\n1 1 1e39\n", sizeof(REAL) + 14);
        CHECK_ERROR(sp_read_coo(path, &options, &coo, NULL), SPMM_ERR_SYNTAX,
                    ":3: found \"1e39\", expected a value within the range of a float");
    }
    TEST("the info says what banner and size line said") {
        const sp_read_options options = {.threads = 1};
        const char text[] = "%%MatrixMarket matrix coordinate Double Skew-Symmetric\n2 2 1\n2 1 3\n";
        sp_coo coo;
        sp_mtx_info info;
        write_bytes(text, sizeof text - 1);
        CHECK_INT(sp_read_coo(path, &options, &coo, &info), SPMM_OK);
        CHECK_TEXT(info.format, "coordinate");
        CHECK_TEXT(info.field, "real");
        CHECK_TEXT(info.symmetry, "skew-symmetric");
        CHECK_INT(info.stored, 1);
        CHECK_INT(info.bytes, sizeof text - 1);
        sp_coo_destroy(&coo);
    }
}

/* ---- what is refused ---- */

typedef struct refusal {
    const char *what, *text;
    size_t bytes;
    spmm_status status;
    const char *message; /* a part of it */
} refusal;

#define BAD(what, text, status, message)                         \
    {                                                            \
        what, text, sizeof(text) - 1, SPMM_ERR_##status, message \
    }

static const refusal refusals[] = {
    BAD("an empty file", "", SYNTAX, ":1: found an empty file, expected the banner"),
    BAD("a file of blank lines", "\n \n\n", SYNTAX, ":3: found only blank lines, expected the banner"),
    BAD("a file without a banner", "1 1 1\n1 1 1\n", SYNTAX,
        ":1: found \"1\", expected the banner: %%MatrixMarket"),
    BAD("a binary file", "\x89PNG\r\n\x1a\n\0\0\0", SYNTAX, ":1: found \"\\x89PNG\", expected the banner"),
    BAD("a .spmm file", "SPMMfile\x08\7\6\5\4\3\2\1", UNSUPPORTED,
        "found a .spmm file of an earlier version, expected text"),
    BAD("an unknown object", "%%MatrixMarket mangled coordinate real general\n", SYNTAX,
        ":1: found the unknown object \"mangled\", expected matrix"),
    BAD("an unknown format", "%%MatrixMarket matrix coo real general\n", SYNTAX,
        "unknown format \"coo\", expected coordinate or array"),
    BAD("an unknown field", "%%MatrixMarket matrix coordinate half general\n", SYNTAX,
        "unknown field \"half\", expected real, complex, integer or pattern"),
    BAD("an unknown symmetry", "%%MatrixMarket matrix coordinate real lower\n", SYNTAX,
        "unknown symmetry \"lower\", expected general, symmetric, skew-symmetric or hermitian"),
    BAD("a banner cut short", "%%MatrixMarket matrix array real", SYNTAX,
        ":1: found the end of the banner, expected the symmetry"),
    BAD("a vector", "%%MatrixMarket vector array real general\n3\n", UNSUPPORTED,
        ":1: found the object \"vector\", expected matrix"),
    BAD("complex values", "%%MatrixMarket matrix coordinate Complex general\n1 1 1\n1 1 1 0\n", UNSUPPORTED,
        ":1: found complex values, expected real ones, or a complex type (--precision c128)"),
    BAD("an array of patterns", "%%MatrixMarket matrix array pattern general\n1 1\n1\n", SYNTAX,
        ":1: found an array of field pattern"),
    BAD("a missing size line", REAL "% nothing\n", SYNTAX,
        ":2: found the end of the file, expected the size line: rows columns entries"),
    BAD("a size line of two numbers", REAL "3 3\n1 1 1\n", SYNTAX,
        ":2: found the end of the size line, expected the number of entries"),
    BAD("a size line of four numbers", REAL "3 3 1 1\n1 1 1\n", SYNTAX,
        ":2: found \"1\", expected the end of the size line"),
    BAD("a size that is no number", REAL "3 x 1\n1 1 1\n", SYNTAX,
        ":2: found \"x\", expected the number of columns"),
    BAD("negative rows", REAL "-3 3 1\n", SYNTAX,
        ":2: found \"-3\", expected a number of rows that is not negative"),
    BAD("negative entries", REAL "3 3 -99999999999999999999\n", SYNTAX,
        "expected a number of entries that is not negative"),
    BAD("2^31 rows", REAL "2147483648 1 0\n", UNSUPPORTED,
        ":2: found \"2147483648\" rows, expected at most 2147483647"),
    BAD("more columns than int64 holds", REAL "1 9223372036854775808 0\n", SYNTAX,
        ":2: found \"9223372036854775808\" columns"),
    BAD("an array of 2^31 x 2^31", ARRAY "2147483648 2147483648\n1\n", UNSUPPORTED, ":2: found"),
    BAD("a symmetric matrix that is not square", SYMMETRIC "2 3 0\n", SYNTAX,
        ":2: found 2 x 3, expected a square matrix"),
    BAD("row index 0", REAL "3 3 1\n0 1 1\n", SYNTAX,
        ":3: found the row index \"0\", expected a row index from 1 to 3"),
    BAD("a column index too large", PATTERN "3 3 1\n3 4\n", SYNTAX,
        ":3: found the column index \"4\", expected a column index from 1 to 3"),
    BAD("an index beyond int64", REAL "3 3 1\n1 99999999999999999999 1\n", SYNTAX,
        ":3: found the column index \"99999999999999999999\""),
    BAD("a negative index", REAL "3 3 1\n1 -1 1\n", SYNTAX, ":3: found the column index \"-1\", expected"),
    BAD("too few entries", REAL "3 3 3\n1 1 1\n2 2 2\n", SYNTAX,
        ":4: found the end of the file after 2 of 3 entries, expected all that line 2 announces"),
    BAD("a size line that claims the world", REAL "3 3 9223372036854775807\n1 1 1\n", SYNTAX,
        ":3: found the end of the file after 1 of 9223372036854775807 entries"),
    BAD("an array that claims the world", ARRAY "2147483647 2147483647\n1\n", SYNTAX,
        ":3: found the end of the file after 1 of 4611686014132420609 entries"),
    BAD("too many entries", REAL "3 3 1\n1 1 1\n% c\n2 2 2\n3 3 3\n", SYNTAX,
        ":5: found entry number 2, expected 1 entries as line 2 says"),
    BAD("a value that is no number", REAL "3 3 1\n1 1 forty-two\n", SYNTAX,
        ":3: found \"forty-two\", expected a real value"),
    BAD("an exponent without digits", REAL "3 3 1\n1 1 1e\n", SYNTAX,
        ":3: found \"1e\", expected a real value"),
    BAD("a fraction in an integer matrix", INTEGER "3 3 1\n1 1 1.5\n", SYNTAX,
        ":3: found \"1.5\", expected an integer value"),
    BAD("a missing value", REAL "3 3 2\n1 1\n2 2 2\n", SYNTAX,
        ":3: found the end of the line after the indices, expected a real value"),
    BAD("a missing column", REAL "3 3 1\n1", SYNTAX,
        ":3: found the end of the line after the row index, expected a column index"),
    BAD("an extra number", REAL "3 3 1\n1 1 1 7\n", SYNTAX, ":3: found \"7\", expected the end of the line"),
    BAD("a value in a pattern", PATTERN "3 3 1\n1 1 1\n", SYNTAX,
        ":3: found \"1\", expected the end of the line"),
    BAD("two values on a line of an array", ARRAY "2 1\n1 2\n", SYNTAX,
        ":3: found \"2\", expected the end of the line"),
    BAD("a comment behind an entry", REAL "3 3 1\n1 1 1 % c\n", SYNTAX,
        ":3: found \"%\", expected the end of the line"),
    BAD("NUL bytes", REAL "3 3 2\n1 1 1\n\0\0\0\0\n", SYNTAX,
        ":4: found \"\\x00\\x00\\x00\\x00\", expected a row index"),
    BAD("a NUL byte in a number", REAL "3 3 1\n1 1 1\0\n", SYNTAX,
        ":3: found \"1\\x00\", expected a real value"),
    BAD("a long word, quoted in part",
        REAL "3 3 1\n1 1 abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz\n", SYNTAX,
        ":3: found \"abcdefghijklmnopqrstuvwxyzabcdef...\", expected"),
    BAD("inf", REAL "3 3 1\n1 1 -inf\n", SYNTAX, ":3: found \"-inf\", expected a finite value"),
    BAD("nan", INTEGER "3 3 1\n1 1 NaN\n", SYNTAX, ":3: found \"NaN\", expected a finite value"),
    BAD("a value that overflows", REAL "3 3 1\n1 1 1E310\n", SYNTAX,
        ":3: found \"1E310\", expected a value within the range of a double"),
    BAD("both triangles of a symmetric matrix", SYMMETRIC "3 3 4\n1 1 1\n2 1 1\n3 1 1\n1 2 1\n", SYNTAX,
        ":6: found an entry of the upper triangle, expected only the lower one, which line 4 began"),
    BAD("both triangles, the upper one first", SKEW "3 3 2\n1 2 1\n2 1 1\n", SYNTAX,
        ":4: found an entry of the lower triangle, expected only the upper one, which line 3 began: the matrix is skew"),
    BAD("the diagonal of a skew-symmetric matrix", SKEW "3 3 2\n2 1 1\n2 2 1e-300\n", SYNTAX,
        ":4: found the diagonal entry (2, 2), expected none but zeros"),
    BAD("lines that end in CR alone", "%%MatrixMarket matrix coordinate real general\r1 1 1\r1 1 1\r", SYNTAX,
        ":1: found lines that end in CR alone, expected LF or CR LF"),
    BAD("an edge list", "# Nodes: 3\n0\t1\n", SYNTAX,
        "(this looks like an edge list: --read-as edges reads it"),
    BAD("bare edges", "0 1\n3 0\n", SYNTAX, "(this looks like an edge list: --read-as edges reads it)"),
    BAD("edges with weights", "10\t1 -2.5e-3\n", SYNTAX, "(this looks like an edge list: --read-as edges"),
    BAD("edges below comments", "% sym unweighted\n1 2\n", SYNTAX,
        "(this looks like an edge list: --read-as edges"),
    BAD("names of columns", "source target weight\n1 2 3\n", SYNTAX,
        "(this looks like column names: remove them (tail -n +2 FILE > OTHER), and add --read-as edges"),
    BAD("hypre's IJ matrix, or four columns", "0 2 0 2\n0 0 2.0\n", SYNTAX,
        "(this looks like output of hypre's IJ interface, or an edge list of four columns: remove the first"),
    BAD("PETSc's ASCII output", "Mat Object: 1 MPI process\n  type: seqaij\n", SYNTAX,
        "(this looks like PETSc's ASCII output: write it to a binary viewer"),
    BAD("comma-separated values", "row,column,value\n1,1,2\n", SYNTAX,
        "(this looks like comma-separated values: convert them to an edge list without column names (tr ',' ' '"),
    BAD("the first of two errors", REAL "3 3 2\n1 1 x\n9 9 1\n", SYNTAX, ":3: found \"x\""),
};

/** Checks a text with more blank lines than are accepted, before the size line or after it. */
static void check_blank(const char *before, const char *after, const char *expected)
{
    const size_t first = strlen(before), blank = SP_BLANK_MAX + 100, last = strlen(after);
    char *const text = malloc(first + blank + last);
    sp_coo coo;
    if (!text) abort();
    memcpy(text, before, first);
    memset(text + first, '\n', blank);
    memcpy(text + first + blank, after, last);
    write_bytes(text, first + blank + last);
    CHECK_ERROR(read_with(2, 0, &coo), SPMM_ERR_SYNTAX, expected);
    free(text);
}

static void test_blank(void)
{
    TEST("ten million blank lines are too many, before the size line and after it") {
        check_blank(REAL, "1 1 1\n1 1 1\n", "blank or comments, expected the size line");
        check_blank(REAL "2 2 2\n1 1 1\n", "2 2 1\n",
                    "that are blank or comments, expected at most 10000000");
    }
}

static void test_refused(void)
{
    sp_coo coo;
    for (size_t k = 0; k < sizeof refusals / sizeof *refusals; k++) {
        const refusal *const r = &refusals[k];
        TEST(test_name("refused with its line: %s", r->what)) {
            write_bytes(r->text, r->bytes);
            CHECK_ERROR(read_with(2, 0, &coo), r->status, r->message);
            CHECK_TEXT(spmm_error_message(), path);
            CHECK(!strchr(spmm_error_message(), '\n'));
            CHECK(!coo.I && !coo.J && !coo.val);
        }
    }
    TEST("a file that is not there, a folder, and a pipe cannot be opened") {
        const sp_read_options options = {.threads = 1};
        CHECK_ERROR(sp_read_coo("/no/such/file.mtx", &options, &coo, NULL), SPMM_ERR_OPEN,
                    "/no/such/file.mtx: cannot be opened: No such file");
        CHECK_ERROR(sp_read_coo(folder, &options, &coo, NULL), SPMM_ERR_OPEN, "found a folder, expected");
        remove(path);
        CHECK_INT(mkfifo(path, 0600), 0);
        CHECK_ERROR(read_with(1, 0, &coo), SPMM_ERR_OPEN, "found a pipe or a device");
        remove(path);
    }
    if (geteuid() == 0) {
        SKIP("a file without read permission cannot be opened", "root may read all");
    } else {
        TEST("a file without read permission cannot be opened") {
            write_bytes(REAL, 3);
            chmod(path, 0);
            CHECK_ERROR(read_with(1, 0, &coo), SPMM_ERR_OPEN, "cannot be opened: Permission denied");
            remove(path);
        }
    }
}

enum { LINE_MOST = 1 << 20 };

/** Writes a file of 7 lines, of which line `line` is filled up with blanks to `bytes` bytes. Line 7 has no
 *  newline. */
static void write_long_line(int line, int bytes, int crlf, int packed)
{
    static const char *const lines[] = {
        "%%MatrixMarket matrix coordinate real general", "% c", "3 3 3", "1 1 1", "% c", "2 2 2", "3 3 3"};
    char *const text = malloc(LINE_MOST + 400);
    int at = 0;
    for (int k = 1; k <= 7; k++) {
        const int from = at;
        at += sprintf(text + at, "%s", lines[k - 1]);
        if (k == line) {
            memset(text + at, ' ', (size_t)bytes);
            at = from + bytes;
        }
        if (crlf && k == line) text[at - 1] = '\r';
        if (k < 7) text[at++] = '\n';
    }
    if (packed)
        write_gzip(text, (size_t)at, LINE_MOST / 2);
    else
        write_bytes(text, (size_t)at);
    free(text);
}

static void test_line_limit(void)
{
    static const int chunks[] = {1000, 4096, 100000, 262144, LINE_MOST, LINE_MOST + 1, 3 << 20};
    static const struct {
        int line, crlf, packed;
    } files[] = {{2, 0, 0}, {2, 0, 1}, {5, 0, 0}, {5, 0, 1}, {5, 1, 0}, {7, 0, 0}, {7, 0, 1}};
    TEST(
        "a line of 2^20 bytes is read and one of a byte more is refused, whatever the chunks and the reader") {
        for (int k = 0; k < 7 * 7 * 2; k++) {
            const int f = k % 7, over = k / 49;
            const spmm_status expected = over ? SPMM_ERR_SYNTAX : SPMM_OK;
            const sp_read_options options = {.threads = 1 + k % 3};
            char message[80];
            sp_coo coo;
            spmm_csr a;
            snprintf(message, sizeof message, ":%d: found a line of more than 1048576 bytes", files[f].line);
            write_long_line(files[f].line, LINE_MOST + over, files[f].crlf, files[f].packed);
            chunk_bytes(chunks[k / 7 % 7]);
            CHECK_INT(read_with(1 + k % 3, 0, &coo), expected);
            if (over) CHECK_TEXT(spmm_error_message(), message);
            sp_coo_destroy(&coo);
            sp_set_message("");
            CHECK_INT(sp_read_csr(path, &options, &a, NULL, NULL, NULL), expected);
            if (over) CHECK_TEXT(spmm_error_message(), message);
            spmm_csr_destroy(&a);
        }
    }
    TEST("what is wrong in a line before the long one comes first, also in the same chunk") {
        char *const text = malloc(LINE_MOST + 400);
        int at = sprintf(text, "%s3 3 2\n1 1 x\n", REAL);
        sp_coo coo;
        memset(text + at, '%', LINE_MOST + 9);
        write_bytes(text, (size_t)at + LINE_MOST + 9);
        for (int k = 0; k < 7; k++) {
            chunk_bytes(chunks[k]);
            CHECK_ERROR(read_with(2, 0, &coo), SPMM_ERR_SYNTAX, ":3: found \"x\"");
        }
        free(text);
    }
    chunk_bytes(0);
}

/* ---- sizes ---- */

static void test_sizes(void)
{
    static const struct {
        const char *text;
        int64_t rows, cols, entries;
    } files[] = {{REAL "2147483647 3 1\n1 1 1\n", 2147483647, 3, 1},
                 {REAL "% c\n\n5 6 2\n1 1 1\n2 2 x\n", 5, 6, 2},
                 {PATTERN "9 9 4000000000\n1 1\n2 2\n", 9, 9, 3}, /* as many as fit into 8 bytes, plus 1 */
                 {ARRAY "3 4\n1\n", 3, 4, 0}};
    TEST("the sizes of a file come from its header, its entries within what its length can bear") {
        sp_sizes s;
        for (int k = 0; k < 4; k++) {
            write_bytes(files[k].text, strlen(files[k].text));
            CHECK_INT(sp_read_sizes(path, &s), SPMM_OK);
            CHECK(s.rows == files[k].rows && s.cols == files[k].cols);
            CHECK_INT(s.entries, files[k].entries);
        }
        write_bytes(REAL "3 x 1\n", sizeof(REAL) + 5);
        CHECK_ERROR(sp_read_sizes(path, &s), SPMM_ERR_SYNTAX, ":2: found \"x\"");
        CHECK_INT(s.rows, 0);
    }
}

/* ---- threads and chunks ---- */

static int same_coo(const sp_coo *a, const sp_coo *b)
{
    const size_t n = (size_t)a->nnz;
    return a->nnz == b->nnz && memcmp(a->I, b->I, 4 * n) == 0 && memcmp(a->J, b->J, 4 * n) == 0 &&
           !a->val == !b->val && (!a->val || memcmp(a->val, b->val, 8 * n) == 0);
}

static void test_chunks(void)
{
    static char text[30000];
    static const int threads[] = {1, 2, 3, 7}, bytes[] = {1, 2, 3, 7, 20, 64, 333, 1000, 65536};
    static const mtx_kind kinds[] = {{NULL, "real", "general", 99, 99, 200, 1, 0},
                                     {NULL, "real", "symmetric", 99, 99, 200, 1, 0}};
    TEST("1, 2, 3 and 7 threads and chunks of 1 to 65536 bytes give the same entries, and the same errors") {
        int errors = 0;
        for (uint64_t seed = 0; seed < 24; seed++) {
            const int n = mtx_text(&kinds[seed % 3 == 0], seed, 1, text);
            if (seed % 4) mtx_spoil(text, n, seed);
            char message[SP_MESSAGE_BYTES];
            sp_coo first, coo;
            if (seed % 2)
                write_gzip(text, (size_t)n, 1500);
            else
                write_bytes(text, (size_t)n);
            chunk_bytes(1 << 20);
            const spmm_status expected = read_with(1, 0, &first);
            snprintf(message, sizeof message, "%s", spmm_error_message());
            errors += expected != SPMM_OK;
            for (int k = 0; k < 36; k++) {
                chunk_bytes(bytes[k / 4]);
                CHECK_ERROR(read_with(threads[k % 4], 0, &coo), expected, message);
                if (expected == SPMM_OK) CHECK(same_coo(&first, &coo));
                sp_coo_destroy(&coo);
            }
            sp_coo_destroy(&first);
        }
        CHECK(errors > 5 && errors < 20);
    }
    TEST("lines longer than a chunk are whole") {
        const char long_comment[] = REAL
            "%0123456789012345678901234567890123456789\n2 2 2\n1 1 1\n%01234567890123456789\n2 2 2";
        for (int k = 1; k < 120; k++) {
            chunk_bytes(k);
            CHECK(reads_as(long_comment, sizeof long_comment - 1, 2, 2, "1 1 1 2 2 2"));
        }
    }
    chunk_bytes(0);
}

static void count_calls(void *context, double fraction)
{
    double *const c = context;
    c[0]++;
    if (fraction < c[1] || fraction > 1) c[2]++; /* the fraction only grows */
    c[1] = fraction;
}

static void test_large(void)
{
    TEST("a file of many chunks is read within its arrays and a few megabytes, progress ends at 1") {
        enum { N = 1000000 };
        FILE *const f = fopen(path, "w");
        fprintf(f, "%s%d %d %d\n", "%%MatrixMarket matrix coordinate integer general\n", N, N, N);
        for (int k = 0; k < N; k++) fprintf(f, "%d %d %d\n", k + 1, N - k, k % 1000 - 500);
        fclose(f);
        double calls[3] = {0, 0, 0};
        const sp_read_options options = {.threads = 2, .progress = count_calls, .progress_context = calls};
        sp_coo coo;
        const int64_t before = sp_peak_bytes();
        CHECK_INT(sp_read_coo(path, &options, &coo, NULL), SPMM_OK);
        const int64_t grown = sp_peak_bytes() - before;
        int wrong = 0;
        for (int k = 0; k < N && coo.nnz == N; k++)
            wrong += coo.I[k] != k || coo.J[k] != N - k - 1 || ((double *)coo.val)[k] != k % 1000 - 500;
        CHECK_INT(coo.nnz, N);
        CHECK_INT(wrong, 0);
        CHECK(calls[0] >= 1 && calls[0] < 1000 && calls[1] == 1 && calls[2] == 0);
        CHECK(TEST_SANITIZED || grown < 16 * (int64_t)N + (16 << 20)); /* huge pages round up */
        sp_coo_destroy(&coo);
        remove(path);
    }
}

/* ---- dense ---- */

static int dense_is(const char *text, size_t n, int64_t rows, int64_t cols, const double *expected)
{
    const sp_read_options options = {.threads = 3};
    spmm_multivector x;
    write_bytes(text, n);
    if (sp_read_dense(path, &options, &x) != SPMM_OK) {
        printf("  %s\n", spmm_error_message());
        return 0;
    }
    int ok = x.rows == rows && x.k == cols;
    for (int64_t i = 0; ok && i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            ok = ok && ((double *)x.data)[i * x.ld + j] == expected[i * cols + j];
    spmm_multivector_destroy(&x);
    return ok;
}

#define DENSE(text, rows, cols, ...) \
    CHECK(dense_is(text, sizeof(text) - 1, rows, cols, (const double[]){__VA_ARGS__}))

static void test_dense(void)
{
    for (int64_t bytes = 1; bytes < 100; bytes = 3 * bytes + 1) {
        chunk_bytes(bytes);
        TEST(
            "a multivector is read row-major from array and coordinate files, symmetry written out, cut anywhere") {
            DENSE(ARRAY "3 2\n10\n11\n12\n20\n21\n22\n", 3, 2, 10, 20, 11, 21, 12, 22);
            DENSE("%%MatrixMarket matrix array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n", 3, 3, 1, 2, 3, 2,
                  4, 5, 3, 5, 6);
            DENSE("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n", 3, 3, 0, -1, -2, 1, 0,
                  -3, 2, 3, 0);
            DENSE("%%MatrixMarket matrix array real skew-symmetric\n4 4\n1\n2\n3\n4\n5\n6\n", 4, 4, 0, -1, -2,
                  -3, 1, 0, -4, -5, 2, 4, 0, -6, 3, 5, 6, 0);
            DENSE(REAL "2 2 3\n1 1 1\n1 1 2\n2 1 5\n", 2, 2, 3, 0, 5, 0);
            DENSE(SKEW "2 2 1\n2 1 3\n", 2, 2, 0, -3, 3, 0);
            DENSE(PATTERN "2 1 1\n2 1\n", 2, 1, 0, 1);
        }
    }
    TEST("a multivector of no columns, one that is cut short and one beyond the memory are refused") {
        const sp_read_options options = {.threads = 1};
        spmm_multivector x;
        write_bytes(ARRAY "3 0\n", sizeof(ARRAY) + 3);
        CHECK_ERROR(sp_read_dense(path, &options, &x), SPMM_ERR_SYNTAX,
                    ":2: found a multivector of 0 columns");
        write_bytes(ARRAY "2147483647 2\n1\n", sizeof(ARRAY) + 14);
        CHECK_ERROR(sp_read_dense(path, &options, &x), SPMM_ERR_SYNTAX,
                    ":3: found the end of the file after 1 of 4294967294 entries");
        write_bytes(REAL "2147483647 2147483647 0\n", sizeof(REAL) + 23);
        CHECK_ERROR(sp_read_dense(path, &options, &x), SPMM_ERR_MEMORY,
                    ":2: found a multivector of 2147483647 x 2147483647");
        CHECK(!x.data);
    }
    chunk_bytes(0);
}

int main(void)
{
    files_begin("a.mtx");
    test_layout();
    test_numbers();
    test_shapes();
    test_options();
    test_blank();
    test_refused();
    test_line_limit();
    test_sizes();
    test_chunks();
    test_large();
    test_dense();
    files_end();
    return test_end();
}
