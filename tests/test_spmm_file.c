/** The binary matrix file: a matrix is read back as it was written, whole and in ranges; a damaged file is
 *  refused.
 *  limit: 120 */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "files/spmm_file.h"
#include "files/spmm_file_layout.h"
#include "sample.h"
#include "test.h"

static const sp_csr_file_facts facts = {.info = {.format = "coordinate",
                                                 .field = "real",
                                                 .symmetry = "skew-symmetric",
                                                 .stored = 77,
                                                 .bytes = 1234},
                                        .duplicates = 5};

/** Bytes of a chunk: with 64 every section has several chunks; 0: the default. */
static const int64_t chunks[] = {64, 192, 0};

static int is_binary(void)
{
    const int fd = open(path, O_RDONLY), is = sp_spmm_file_is(fd);
    if (fd >= 0) close(fd);
    return is;
}

static void test_whole(void)
{
    for (int s = 0; s < SAMPLES; s++) {
        TEST(test_name("a matrix comes back as it was written: %s", sample_name((sample)s))) {
            for (int k = 0; k < 12; k++) {
                const spmm_precision precision = k % 2 ? SPMM_F32 : SPMM_F64;
                const sp_read_options options = {.precision = precision, .threads = 1 + k / 6 * 2};
                spmm_csr a, b;
                sp_csr_file_facts found;
                sample_csr((sample)s, SAMPLE_REALS, precision, &a);
                CHECK_INT(sp_spmm_file_write(path, &a, &facts, chunks[k / 2 % 3], 1 + k / 6), SPMM_OK);
                CHECK(is_binary());
                CHECK_INT(sp_spmm_file_read(path, &options, &b, &found), SPMM_OK);
                CHECK_INT(sp_csr_check(&b), SPMM_OK);
                CHECK(sample_same_csr(&a, &b));
                CHECK(found.rows == a.rows && found.cols == a.cols && found.nnz == a.nnz &&
                      found.precision == precision && found.duplicates == 5);
                CHECK(memcmp(&found.info, &facts.info, sizeof found.info) == 0);
                spmm_csr_destroy(&b);
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
        CHECK_INT(sp_spmm_file_write(path, &a, &facts, 64, 1), SPMM_OK);
        CHECK_INT(sp_spmm_file_read(path, &options, &b, NULL), SPMM_OK);
        int wrong = b.precision != SPMM_F64 || b.nnz != a.nnz;
        for (int64_t e = 0; e < a.nnz && !wrong; e++)
            wrong |= ((double *)b.as)[e] != (double)((float *)a.as)[e];
        CHECK(!wrong);
        spmm_csr_destroy(&a);
        ((double *)b.as)[7] = 0.1;
        CHECK_INT(sp_spmm_file_write(path, &b, &facts, 64, 1), SPMM_OK);
        options.precision = SPMM_F32;
        CHECK_INT(sp_spmm_file_read(path, &options, &a, NULL), SPMM_OK);
        wrong = a.precision != SPMM_F32;
        for (int64_t e = 0; e < a.nnz && !wrong; e++)
            wrong |= ((float *)a.as)[e] != (float)((double *)b.as)[e];
        CHECK(!wrong);
        spmm_csr_destroy(&a);
        ((double *)b.as)[8] = -1e39;
        CHECK_INT(sp_spmm_file_write(path, &b, &facts, 64, 1), SPMM_OK);
        CHECK_ERROR(sp_spmm_file_read(path, &options, &a, NULL), SPMM_ERR_SYNTAX,
                    "a.spmm: found a value beyond the range of a float");
        CHECK(a.irp == NULL);
        options.allow_nonfinite = 1;
        CHECK_INT(sp_spmm_file_read(path, &options, &a, NULL), SPMM_OK);
        CHECK(isinf(((float *)a.as)[8]));
        spmm_csr_destroy(&a);
        spmm_csr_destroy(&b);
    }
}

/* ---- ranges ---- */

static void test_ranges(void)
{
    for (int s = 0; s < SAMPLES; s++) {
        TEST(test_name("any rows and columns can be read alone: %s", sample_name((sample)s))) {
            spmm_csr a, b;
            sp_csr_file *f;
            sample_csr((sample)s, SAMPLE_REALS, s % 2 ? SPMM_F32 : SPMM_F64, &a);
            for (int c = 0; c < 3; c++) {
                CHECK_INT(sp_spmm_file_write(path, &a, &facts, chunks[c], 1), SPMM_OK);
                CHECK_INT(sp_spmm_file_open(path, &f), SPMM_OK);
                for (uint64_t k = 0; k < 60; k++) {
                    sp_csr_file_range r = {.precision = a.precision, .threads = 1 + (int)(k % 3)};
                    r.row_begin = (int64_t)sp_random_below(k, 0, 0, (uint64_t)a.rows + 1);
                    r.row_end = r.row_begin +
                                (int64_t)sp_random_below(k, 0, 1, (uint64_t)(a.rows - r.row_begin) + 1);
                    r.col_begin = k % 4 ? (int64_t)sp_random_below(k, 0, 2, (uint64_t)a.cols + 1) : 0;
                    r.col_end = k % 4 ? r.col_begin + (int64_t)sp_random_below(
                                                          k, 0, 3, (uint64_t)(a.cols - r.col_begin) + 1)
                                      : a.cols;
                    CHECK_INT(sp_csr_file_block(f, &r, &b, NULL), SPMM_OK);
                    CHECK(sample_is_block(&a, r.row_begin, r.row_end, r.col_begin, r.col_end, &b));
                    spmm_csr_destroy(&b);
                }
                sp_csr_file_close(f);
            }
            spmm_csr_destroy(&a);
        }
    }
    TEST("row starts and columns come in ranges of their own; what is beyond the matrix is refused") {
        spmm_csr a, b;
        sp_csr_file *f;
        int64_t irp[200];
        int32_t ja[2000];
        sample_csr(SAMPLE_RANDOM, SAMPLE_REALS, SPMM_F64, &a);
        CHECK_INT(sp_spmm_file_write(path, &a, &facts, 64, 1), SPMM_OK);
        CHECK_INT(sp_spmm_file_open(path, &f), SPMM_OK);
        CHECK_INT(sp_csr_file_row_starts(f, 10, 73, irp), SPMM_OK);
        CHECK(memcmp(irp, a.irp + 10, 64 * sizeof *irp) == 0);
        CHECK_INT(sp_csr_file_columns(f, 33, 1001, 2, ja), SPMM_OK);
        CHECK(memcmp(ja, a.ja + 33, 968 * sizeof *ja) == 0);
        CHECK_INT(sp_csr_file_row_starts(f, 10, 151, irp), SPMM_ERR_USAGE);
        CHECK_INT(sp_csr_file_columns(f, -1, 5, 1, ja), SPMM_ERR_USAGE);
        const sp_csr_file_range beyond = {.row_end = 151, .col_end = 150, .threads = 1};
        CHECK_INT(sp_csr_file_block(f, &beyond, &b, NULL), SPMM_ERR_USAGE);
        sp_csr_file_close(f);
        spmm_csr_destroy(&a);
    }
}

static void test_chunk_memory(void)
{
    const char *const sentence =
        "a file of few bytes takes little memory, however long it says that its chunks are";
    if (TEST_SANITIZED) {
        SKIP(sentence, "the sanitizer has memory of its own");
        return;
    }
    TEST(sentence) {
        struct rlimit before, small;
        sp_csr_file_range r = {.precision = SPMM_F32, .threads = 3};
        spmm_csr a, b;
        sp_csr_file *f;
        sample_csr(SAMPLE_RANDOM, SAMPLE_REALS, SPMM_F64, &a);
        CHECK_INT(sp_spmm_file_write(path, &a, &facts, 1 << 30, 1), SPMM_OK);
        r.row_end = a.rows;
        r.col_end = a.cols;
        CHECK_INT(sp_spmm_file_open(path, &f), SPMM_OK);
        CHECK_INT(sp_csr_file_block(f, &r, &b, NULL), SPMM_OK); /* the threads have their stacks now */
        spmm_csr_destroy(&b);
        CHECK(getrlimit(RLIMIT_AS, &before) == 0);
        small = before;
        small.rlim_cur = (rlim_t)(status_bytes("VmSize") + (256 << 20));
        CHECK(setrlimit(RLIMIT_AS, &small) == 0);
        for (int k = 0; k < 2; k++) {
            r.col_end = a.cols - k;
            CHECK_INT(sp_csr_file_block(f, &r, &b, NULL), SPMM_OK);
            spmm_csr_destroy(&b);
        }
        setrlimit(RLIMIT_AS, &before);
        sp_csr_file_close(f);
        spmm_csr_destroy(&a);
    }
}

static void test_nonfinite(void)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    static const char *const name[] = {"\"nan\"", "\"inf\"", "\"-inf\""};
    TEST(
        "nan and inf are refused like those of a text, with row and column, or taken where that is allowed") {
        for (int k = 0; k < 12; k++) {
            spmm_csr a, b;
            sp_csr_file *f;
            char message[120];
            sample_csr(SAMPLE_RANDOM, SAMPLE_REALS, k % 2 ? SPMM_F32 : SPMM_F64, &a);
            const int64_t row = 40, e = a.irp[row] + 1;
            sp_csr_file_range r = {.col_end = a.cols, .row_end = a.rows, .threads = 1 + k % 3};
            r.precision = k % 4 < 2 ? SPMM_F64 : SPMM_F32;
            for (int64_t at = e; at < a.nnz; at += 500) /* the first one is reported */
                if (k % 2)
                    ((float *)a.as)[at] = (float)bad[k / 4];
                else
                    ((double *)a.as)[at] = bad[k / 4];
            CHECK_INT(sp_spmm_file_write(path, &a, &facts, 64, 1), SPMM_OK);
            CHECK_INT(sp_spmm_file_open(path, &f), SPMM_OK);
            snprintf(message, sizeof message,
                     "a.spmm: found %s in row 41, column %d, expected a finite value (or --allow-nonfinite)",
                     name[k / 4], a.ja[e] + 1);
            for (int part = 0; part < 3; part++) {
                r.row_begin = part ? row - 3 : 0;
                r.col_begin = part == 2 ? a.ja[e] : 0;
                r.allow_nonfinite = 0;
                CHECK_ERROR(sp_csr_file_block(f, &r, &b, NULL), SPMM_ERR_SYNTAX, message);
                CHECK(b.irp == NULL);
                r.allow_nonfinite = 1;
                CHECK_INT(sp_csr_file_block(f, &r, &b, NULL), SPMM_OK);
                CHECK(!isfinite(sample_get(b.as, b.precision, part == 0 ? e : b.irp[3] + (part == 1))));
                spmm_csr_destroy(&b);
            }
            sp_csr_file_close(f);
            spmm_csr_destroy(&a);
        }
    }
}

/* ---- damage ---- */

/** Changes a byte of the file: exclusive or with `by`. */
static void poison(int64_t at, int by)
{
    FILE *const f = fopen(path, "r+b");
    if (!f) exit(1);
    fseek(f, (long)at, SEEK_SET);
    const int c = fgetc(f);
    fseek(f, (long)at, SEEK_SET);
    fputc(c ^ by, f);
    fclose(f);
}

/** Writes another header into the file, with a right checksum. */
static void put_header(sp_spmm_file_header h)
{
    FILE *const f = fopen(path, "r+b");
    h.check = sp_spmm_file_check(&h, offsetof(sp_spmm_file_header, check));
    if (!f || fwrite(&h, sizeof h, 1, f) != 1) exit(1);
    fclose(f);
}

static void refused(spmm_status status, const char *message)
{
    const sp_read_options options = {.threads = 2};
    spmm_csr a;
    sp_set_message("");
    CHECK_ERROR(sp_spmm_file_read(path, &options, &a, NULL), status, message);
    CHECK(a.irp == NULL);
}

static sp_spmm_file_header written(spmm_csr *a)
{
    sp_spmm_file_header h;
    CHECK_INT(sp_spmm_file_write(path, a, &facts, 256, 1), SPMM_OK);
    size_t bytes;
    char *const text = read_file(path, &bytes);
    CHECK(bytes >= sizeof h);
    memcpy(&h, text, sizeof h);
    free(text);
    return h;
}

static void test_damaged_bytes(void)
{
    spmm_csr a, b;
    sample_csr(SAMPLE_RANDOM, SAMPLE_REALS, SPMM_F64, &a);
    const sp_spmm_file_header h = written(&a);
    TEST("a damaged byte anywhere is found, and its section is named") {
        const char *const names[] = {"row starts", "columns", "values"};
        char message[100];
        for (int64_t at = 24; at < (int64_t)sizeof h; at += 7) {
            poison(at, 1);
            refused(SPMM_ERR_SYNTAX, "a.spmm: its header is damaged (checksum)");
            poison(at, 1);
        }
        poison(sizeof h + 5, 64);
        refused(SPMM_ERR_SYNTAX, "a.spmm: its table of checksums is damaged");
        poison(sizeof h + 5, 64);
        for (int s = 0; s < SP_FILE_SECTIONS; s++)
            for (int64_t at = 0; at < h.bytes[s]; at += 101) {
                const int64_t chunk = h.offset[s] + at / 256 * 256;
                const int64_t end = chunk + 256 < h.offset[s] + h.bytes[s] ? chunk + 256
                                                                           : h.offset[s] + h.bytes[s];
                snprintf(message, sizeof message,
                         "a.spmm: bytes %lld to %lld, of its %s, are damaged (checksum)", (long long)chunk,
                         (long long)end, names[s]);
                poison(h.offset[s] + at, 1 << at % 8);
                refused(SPMM_ERR_SYNTAX, message);
                poison(h.offset[s] + at, 1 << at % 8);
            }
    }
    TEST("who reads other parts does not notice") {
        sp_csr_file *f;
        sp_csr_file_range r = {.row_end = 20, .col_end = a.cols, .threads = 1};
        poison(h.offset[SP_FILE_VALUES] + h.bytes[SP_FILE_VALUES] - 1, 1);
        CHECK_INT(sp_spmm_file_open(path, &f), SPMM_OK);
        CHECK_INT(sp_csr_file_block(f, &r, &b, NULL), SPMM_OK);
        CHECK(sample_is_block(&a, r.row_begin, r.row_end, r.col_begin, r.col_end, &b));
        spmm_csr_destroy(&b);
        r.row_end = a.rows;
        CHECK_INT(sp_csr_file_block(f, &r, &b, NULL), SPMM_ERR_SYNTAX);
        sp_csr_file_close(f);
    }
    spmm_csr_destroy(&a);
}

static void test_cut_short(void)
{
    spmm_csr a;
    sample_csr(SAMPLE_RANDOM, SAMPLE_REALS, SPMM_F64, &a);
    const sp_spmm_file_header h = written(&a);
    TEST("a file that is cut short anywhere is refused, and one with something behind it") {
        for (int64_t bytes = h.file_bytes - 1; bytes > 0; bytes -= bytes > 600 ? 555 : 13) {
            CHECK(truncate(path, bytes) == 0);
            refused(SPMM_ERR_SYNTAX, bytes < 8 ? "it is not a .spmm file" : "it is cut short");
        }
        written(&a);
        FILE *const f = fopen(path, "ab");
        fputc(0, f);
        fclose(f);
        refused(SPMM_ERR_SYNTAX, "something was added");
    }
    TEST("a missing file, a folder and an empty file are refused") {
        char file[sizeof path];
        memcpy(file, path, sizeof path);
        CHECK(truncate(path, 0) == 0);
        refused(SPMM_ERR_SYNTAX, "a.spmm: found 0 bytes, expected 512 of header");
        snprintf(path, sizeof path, "%s", folder);
        refused(SPMM_ERR_OPEN, "is not a regular file");
        snprintf(path, sizeof path, "%s/none", folder);
        refused(SPMM_ERR_OPEN, "none: cannot be opened");
        CHECK(!is_binary());
        memcpy(path, file, sizeof path);
    }
    spmm_csr_destroy(&a);
}

/** Writes the header h with a change, and checks the message about it. */
#define HEADER(status, message, ...)   \
    do {                               \
        sp_spmm_file_header other = h; \
        __VA_ARGS__;                   \
        put_header(other);             \
        refused(status, message);      \
    } while (0)
#define LIE(field, ...) HEADER(SPMM_ERR_SYNTAX, "a.spmm: wrong field in its header: " field, __VA_ARGS__)

static void test_foreign(void)
{
    spmm_csr a;
    sample_csr(SAMPLE_RANDOM, SAMPLE_REALS, SPMM_F64, &a);
    const sp_spmm_file_header h = written(&a);
    TEST("what is no .spmm file, of a newer version or of the other byte order, is told") {
        HEADER(SPMM_ERR_UNSUPPORTED, "a.spmm: is of version 2, and this program reads up to version 1",
               other.version = 2);
        HEADER(SPMM_ERR_UNSUPPORTED, "a.spmm: was written on a machine of the other byte order",
               other.mark = __builtin_bswap64(other.mark));
        HEADER(SPMM_ERR_SYNTAX, "it is not a .spmm file", other.magic[3] = 'x');
        CHECK(!is_binary());
        HEADER(SPMM_ERR_SYNTAX, "byte order mark", other.mark = 5);
        const char text[] = "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n";
        write_bytes(text, sizeof text - 1);
        refused(SPMM_ERR_SYNTAX, "it is not a .spmm file");
    }
    spmm_csr_destroy(&a);
}

static void test_lying_header(void)
{
    spmm_csr a;
    sample_csr(SAMPLE_RANDOM, SAMPLE_REALS, SPMM_F64, &a);
    const sp_spmm_file_header h = written(&a);
    TEST("a header that lies, with a right checksum, is refused") {
        LIE("rows", other.rows = INT64_MAX);
        LIE("rows", other.rows = INT64_C(1) << 31);
        LIE("columns", other.cols = INT64_C(1) << 31);
        LIE("columns", other.cols = -1);
        LIE("entries", other.nnz = -1);
        LIE("where its row starts lie", other.nnz = INT64_C(1) << 54);
        LIE("entries", other.nnz = INT64_MIN);
        LIE("precision", other.precision = 2);
        LIE("precision", other.precision = -1);
        LIE("bytes of a chunk", other.chunk_bytes = 100);
        LIE("bytes of a chunk", other.chunk_bytes = 0);
        LIE("bytes of a chunk", other.chunk_bytes = INT64_C(1) << 31);
        LIE("where its row starts lie", other.offset[0] = -4096);
        LIE("where its columns lie", other.offset[1] += 64);
        LIE("where its columns lie", other.offset[1] = other.offset[0]); /* the sections overlap */
        LIE("where its values lie", other.bytes[2] = INT64_MAX);
        LIE("length of the file", other.file_bytes--);
        LIE("length of the file", other.file_bytes = INT64_MAX);
        LIE("format of the text", memset(other.format, 'x', sizeof other.format));
        LIE("field of the text", memcpy(other.field, "\xC3\x28", 3));
        LIE("symmetry of the text", memcpy(other.symmetry, "\n\"", 3));
        LIE("entries of the text", other.stored = -1);
        LIE("bytes of the text", other.text_bytes = INT64_MIN);
        LIE("duplicates", other.duplicates = -5);
        LIE("version", other.version = 0);
        HEADER(SPMM_ERR_SYNTAX, "it is cut short", other.nnz = INT64_C(1) << 40,
               sp_spmm_file_lay_out(&other));
    }
    spmm_csr_destroy(&a);
}

static void test_wrong_indices(void)
{
    spmm_csr a, b;
    sample_csr(SAMPLE_RANDOM, SAMPLE_REALS, SPMM_F64, &a);
    TEST("row starts and columns that make no sense, with right checksums, are refused") {
        const int64_t start = a.irp[40];
        a.irp[40] = a.irp[41] + 1;
        written(&a);
        refused(SPMM_ERR_SYNTAX, "a.spmm: its row starts decrease or are out of range");
        a.irp[40] = start;
        a.irp[0] = -8;
        written(&a);
        refused(SPMM_ERR_SYNTAX, "a.spmm: its row starts decrease or are out of range");
        a.irp[0] = 0;
        const int32_t column = a.ja[a.irp[9] + 1];
        a.ja[a.irp[9] + 1] = a.ja[a.irp[9]];
        written(&a);
        refused(SPMM_ERR_SYNTAX, "a.spmm: the columns of row 10 are not in order");
        sp_csr_file *f;
        const sp_csr_file_range part = {.row_end = a.rows, .col_end = 3, .threads = 1};
        CHECK_INT(sp_spmm_file_open(path, &f), SPMM_OK);
        CHECK_ERROR(sp_csr_file_block(f, &part, &b, NULL), SPMM_ERR_SYNTAX,
                    "the columns of row 10 are not in order");
        sp_csr_file_close(f);
        for (int k = 0; k < 2; k++) { /* refused also in a range of other columns */
            const sp_csr_file_range first = {.row_end = 12, .col_end = 3, .threads = 2};
            a.ja[a.irp[9] + 1] = k ? -1 : (int32_t)a.cols;
            written(&a);
            refused(SPMM_ERR_SYNTAX, "has a column index outside of 1 to");
            CHECK_INT(sp_spmm_file_open(path, &f), SPMM_OK);
            CHECK_ERROR(sp_csr_file_block(f, &first, &b, NULL), SPMM_ERR_SYNTAX,
                        "has a column index outside of 1 to");
            sp_csr_file_close(f);
        }
        a.ja[a.irp[9] + 1] = column;
    }
    spmm_csr_destroy(&a);
}

static void test_writing(void)
{
    spmm_csr a, b;
    sample_csr(SAMPLE_RANDOM, SAMPLE_REALS, SPMM_F64, &a);
    TEST("a full disk leaves the file that was there, and no half one") {
        const struct rlimit small = {9000, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
        const sp_read_options options = {.threads = 1};
        CHECK_INT(sp_spmm_file_write(path, &a, &facts, 0, 1), SPMM_OK);
        signal(SIGXFSZ, SIG_IGN);
        CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
        const spmm_status status = sp_spmm_file_write(path, &a, &facts, 64, 1);
        setrlimit(RLIMIT_FSIZE, &all);
        CHECK_ERROR(status, SPMM_ERR_OUTPUT, "a.spmm: cannot write: ");
        CHECK_INT(parts_in(folder), 0);
        CHECK_INT(sp_spmm_file_read(path, &options, &b, NULL), SPMM_OK);
        CHECK(sample_same_csr(&a, &b));
        spmm_csr_destroy(&b);
    }
    TEST("a folder that is not there, and a name that is a folder's, are refused") {
        char file[sizeof path];
        snprintf(file, sizeof file, "%s/none/a.spmm", folder);
        CHECK_ERROR(sp_spmm_file_write(file, &a, &facts, 0, 1), SPMM_ERR_OUTPUT,
                    "none/a.spmm: cannot write: ");
        CHECK_ERROR(sp_spmm_file_write(folder, &a, &facts, 0, 1), SPMM_ERR_OUTPUT, "found a folder");
        CHECK_INT(parts_in(folder), 0);
    }
    TEST("chunks of an odd size are refused") {
        CHECK_INT(sp_spmm_file_write(path, &a, &facts, 100, 1), SPMM_ERR_USAGE);
        CHECK_INT(sp_spmm_file_write(path, &a, &facts, -64, 1), SPMM_ERR_USAGE);
    }
    spmm_csr_destroy(&a);
}

int main(void)
{
    files_begin("a.spmm");
    test_whole();
    test_ranges();
    test_chunk_memory();
    test_nonfinite();
    test_damaged_bytes();
    test_cut_short();
    test_foreign();
    test_lying_header();
    test_wrong_indices();
    test_writing();
    files_end();
    return test_end();
}
