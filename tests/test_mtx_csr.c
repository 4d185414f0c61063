/** A file is converted to CSR in two passes: the same matrix as by triplets, bit for bit, within the memory
 *  of the CSR.
 *  limit: 300 */
#include "base/memory.h"
#include "files.h"
#include "io/mtx_read.h"
#include "same_info.h"
#include "sample.h"
#include "test.h"

enum { ENTRIES = 400, ROWS = 37, TEXT = 30000 };

/** Many entries are duplicates, and row 5 is long. */
#define KIND(field, symmetry)                            \
    {                                                    \
        NULL, field, symmetry, ROWS, ROWS, ENTRIES, 1, 5 \
    }
static const mtx_kind kinds[] = {KIND("real", "general"),           KIND("real", "symmetric"),
                                 KIND("real", "skew-symmetric"),    KIND("integer", "general"),
                                 KIND("integer", "skew-symmetric"), KIND("pattern", "general"),
                                 KIND("pattern", "symmetric"),      KIND("pattern", "skew-symmetric")};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/** Reads the file by triplets, with one thread and in one chunk. */
static spmm_status by_triplets(const sp_read_options *options, spmm_csr *a, sp_mtx_info *info,
                               int64_t *duplicates)
{
    sp_coo coo;
    sp_read_options plain = *options;
    plain.threads = 1;
    plain.progress = NULL;
    *a = (spmm_csr){0};
    chunk_bytes(1 << 20);
    const spmm_status status = sp_read_coo(path, &plain, &coo, info);
    return status == SPMM_OK ? sp_csr_from_coo(&coo, 1, a, duplicates) : status;
}

static const int threads[] = {1, 2, 3, 7};
static const int64_t chunks[] = {1, 7, 64, 333, 1500};

static void test_same(void)
{
    static char text[TEXT];
    for (int t = 0; t < KINDS; t++) {
        TEST(test_name("a %s %s file gives the matrix that its triplets give", kinds[t].field,
                       kinds[t].symmetry)) {
            for (int k = 0; k < 40; k++) {
                sp_read_options options = {.threads = threads[k % 4],
                                           .precision = k % 8 < 4 ? SPMM_F64 : SPMM_F32};
                spmm_csr a, b;
                sp_mtx_info info, expected;
                int64_t stored = -1, duplicates = -1, summed = -1;
                write_bytes(text, (size_t)mtx_text(&kinds[t], (uint64_t)k, 1, text));
                CHECK_INT(by_triplets(&options, &b, &expected, &summed), SPMM_OK);
                /* entries in another order are the same matrix */
                write_bytes(text, (size_t)mtx_text(&kinds[t], (uint64_t)k, k % 3 ? 1 : 7, text));
                chunk_bytes(chunks[k / 8]);
                CHECK_INT(sp_read_csr(path, &options, &a, &info, &stored, &duplicates), SPMM_OK);
                CHECK(sample_same_csr(&a, &b));
                CHECK_INT(sp_csr_check(&a, 1), SPMM_OK);
                CHECK_INT(stored, ENTRIES);
                CHECK_INT(duplicates, summed);
                CHECK(summed > 20);
                CHECK(same_info(&info, &expected));
                spmm_csr_destroy(&a);
                spmm_csr_destroy(&b);
            }
        }
    }
    chunk_bytes(0);
}

static void test_errors(void)
{
    static char text[TEXT];
    TEST("of a wrong value and a wrong index behind it the value is told") {
        const char wrong[] = "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 x\n9 9 1\n";
        const sp_read_options options = {.threads = 2};
        spmm_csr a;
        write_bytes(wrong, sizeof wrong - 1);
        chunk_bytes(1);
        CHECK_ERROR(sp_read_csr(path, &options, &a, NULL, NULL, NULL), SPMM_ERR_SYNTAX,
                    "a.mtx:4: found \"x\", expected a real value");
    }
    TEST("a size line that claims the world is not believed") {
        static const struct {
            const char *sizes, *message;
        } lines[] = {
            {"2147483647 2147483647 1\n9 9 1\n", ":3: found \"1\", expected the end of the line"},
            {"9 9 9223372036854775807\n1 1\n", "after 1 of 9223372036854775807 entries"},
            {"2147483647 1 9223372036854775807\n2147483647 1\n", "after 1 of 9223372036854775807 entries"}};
        for (int k = 0; k < 3; k++) {
            const sp_read_options options = {.threads = 2};
            spmm_csr a;
            write_bytes(text, (size_t)sprintf(text, "%%%%MatrixMarket matrix coordinate pattern general\n%s",
                                              lines[k].sizes));
            chunk_bytes(1);
            CHECK_ERROR(sp_read_csr(path, &options, &a, NULL, NULL, NULL), SPMM_ERR_SYNTAX, lines[k].message);
            CHECK(a.irp == NULL);
        }
    }
    chunk_bytes(0);
}

/* ---- files sorted by row or by column ---- */

typedef struct order_kind {
    const char *field, *symmetry, *order;
} order_kind;

/** Writes 240 entries sorted by major index (row or column), except that the last `late` entries have major
 *  index 1, and entry `swapped` has the major index of two groups later. Returns the length. Within a major
 *  index the minor indices decrease, and the last entry is written twice. */
static int text_in_order(const order_kind *kind, int late, int swapped, char *text)
{
    enum { N = 240, SIZE = 160 };
    const int by_column = strcmp(kind->order, "column") == 0, skew = kind->symmetry[1] == 'k';
    int n = sprintf(text, "%%%%MatrixMarket matrix coordinate %s %s\n%% a comment\n%d %d %d\n", kind->field,
                    kind->symmetry, SIZE, kind->symmetry[0] == 'g' ? SIZE + 20 : SIZE, N);
    for (int k = 0; k < N; k++) {
        const int major = k < N - late ? 1 + (k + (k == swapped ? 12 : 0)) / 6 * 3 : 1;
        const int minor = major + skew + 4 - (k % 6 < 5 ? k % 6 : 4);
        n += sprintf(text + n, "%d %d", by_column ? minor : major, by_column ? major : minor);
        n += sprintf(text + n, kind->field[0] == 'p' ? "\n" : " %d.25\n", k % 11 - 5);
        if (k % 50 == 9) n += sprintf(text + n, "\n%% between\n");
    }
    return n;
}

/** Checks that the compressed text is read as the matrix `expected`, and destroys the matrix. */
static void check_compressed(const char *text, int n, const sp_read_options *options, spmm_csr *expected)
{
    spmm_csr a;
    int64_t stored = -1;
    write_gzip(text, (size_t)n, (size_t)n / 2 + 1);
    CHECK_INT(sp_read_csr(path, options, &a, NULL, &stored, NULL), SPMM_OK);
    CHECK(sample_same_csr(&a, expected));
    CHECK_INT(stored, 240);
    spmm_csr_destroy(&a);
    spmm_csr_destroy(expected);
}

static void test_sorted(void)
{
    static char text[TEXT];
    static const order_kind orders[] = {
        {"real", "general", "row"},        {"pattern", "general", "row"},
        {"real", "general", "column"},     {"pattern", "general", "column"},
        {"real", "symmetric", "row"},      {"real", "symmetric", "column"},
        {"real", "skew-symmetric", "row"}, {"real", "skew-symmetric", "column"},
        {"pattern", "symmetric", "column"}};
    static const char *const but[] = {"", ", but for its last lines,", ", but for a line,"};
    for (int t = 0; t < 27; t++) {
        const order_kind *const kind = &orders[t / 3];
        TEST(test_name("a %s %s file sorted by %s%s gives the matrix that its triplets give", kind->field,
                       kind->symmetry, kind->order, but[t % 3])) {
            for (int k = 0; k < 64; k++) {
                sp_read_options options = {.threads = threads[k % 4],
                                           .precision = k % 8 < 4 ? SPMM_F64 : SPMM_F32};
                spmm_csr a, b;
                int64_t stored = -1, duplicates = -1, summed = -1;
                const int n = text_in_order(kind, t % 3 == 1 ? 1 + 3 * k : 0, t % 3 == 2 ? 3 * k : -1, text);
                write_bytes(text, (size_t)n);
                CHECK_INT(by_triplets(&options, &b, NULL, &summed), SPMM_OK);
                /* chunks of about one line and more, so that some chunk begins where the order ends */
                chunk_bytes(7 + k / 4 * 7);
                CHECK_INT(sp_read_csr(path, &options, &a, NULL, &stored, &duplicates), SPMM_OK);
                CHECK(sample_same_csr(&a, &b));
                CHECK_INT(stored, 240);
                CHECK_INT(duplicates, summed);
                CHECK(summed >= 10);
                spmm_csr_destroy(&a);
                check_compressed(text, n, &options, &b);
            }
        }
    }
    chunk_bytes(0);
}

/* ---- a file that changes between the passes ---- */

typedef struct change {
    const char *text; /* [bytes] */
    size_t bytes;
    double calls, last, wrong;
} change;

/** Receives the reports of progress, and replaces the file at the report with which the first pass ends. */
static void change_file(void *context, double fraction)
{
    change *const c = context;
    c->calls++;
    c->wrong += fraction < c->last || fraction > 1;
    c->last = fraction;
    if (c->text && fraction > 0.399) {
        write_bytes(c->text, c->bytes);
        c->text = NULL;
    }
}

/** How a file changes. */
typedef enum change_kind { SAME, OTHER_ROW, LAST_ROW, FEWER, MORE, NOTHING, OTHER_VALUES } change_kind;

enum { DIAGONAL = 16 };

/** Writes a diagonal matrix as a symmetric file, with a change. Its lines are in no order, so that it is read
 *  in two passes. */
static int diagonal_text(change_kind kind, char *text)
{
    const int lines = kind == FEWER ? 2 : kind == MORE ? DIAGONAL + 1 : DIAGONAL;
    int n = kind == NOTHING ? 0
                            : sprintf(text, "%%%%MatrixMarket matrix coordinate real symmetric\n%d %d %d\n",
                                      DIAGONAL, DIAGONAL, DIAGONAL);
    for (int k = 0; k < lines && kind != NOTHING; k++) {
        const int j = 1 + (k ^ 1) % DIAGONAL, i = kind == LAST_ROW              ? DIAGONAL
                                                  : kind == OTHER_ROW && j == 2 ? 3
                                                                                : j;
        n += sprintf(text + n, "%d %d %d\n", i, j, kind == OTHER_VALUES ? 9 - j : j);
    }
    return n;
}

static void test_changed(void)
{
    static char before[TEXT], after[TEXT];
    static const struct {
        const char *what;
        change_kind kind;
        spmm_status status;
        const char *message;
    } changes[] = {
        {"another row", OTHER_ROW, SPMM_ERR_SYNTAX, "a.mtx: found other entries than"},
        {"all in the last row", LAST_ROW, SPMM_ERR_SYNTAX, "a.mtx: found other entries than"},
        {"fewer lines", FEWER, SPMM_ERR_SYNTAX, "after 2 of 16 entries"},
        {"more lines", MORE, SPMM_ERR_SYNTAX, ":19: found entry number 17"},
        {"nothing at all", NOTHING, SPMM_ERR_SYNTAX, "after 0 of 16 entries"},
        {"other values, which only the second pass looks at", OTHER_VALUES, SPMM_OK, ""},
    };
    const int n_before = diagonal_text(SAME, before);
    for (size_t k = 0; k < sizeof changes / sizeof changes[0]; k++) {
        const int n_after = diagonal_text(changes[k].kind, after);
        TEST(test_name("a file that changes between the passes, %s, is %s", changes[k].what,
                       changes[k].status == SPMM_OK ? "taken" : "refused")) {
            for (int n = 0; n < 4; n++) {
                change c = {.text = after, .bytes = (size_t)n_after};
                const sp_read_options options = {
                    .threads = threads[n], .progress = change_file, .progress_context = &c};
                spmm_csr a;
                write_bytes(before, (size_t)n_before);
                chunk_bytes(14); /* two lines */
                CHECK_INT(sp_read_csr(path, &options, &a, NULL, NULL, NULL), changes[k].status);
                CHECK(c.text == NULL && c.wrong == 0);
                if (changes[k].status != SPMM_OK) CHECK_TEXT(spmm_error_message(), changes[k].message);
                CHECK((a.irp != NULL) == (changes[k].status == SPMM_OK));
                if (a.irp) CHECK(((double *)a.as)[0] == 8);
                spmm_csr_destroy(&a);
            }
        }
    }
    chunk_bytes(0);
}

static void test_array(void)
{
    TEST("an array, which is read once, comes out like the same matrix by entries") {
        static const char array[] = "%%MatrixMarket matrix array real general\n2 2\n1\n0\n3\n4\n";
        const sp_read_options options = {.threads = 2};
        spmm_csr a;
        int64_t stored = 0;
        write_bytes(array, sizeof array - 1);
        chunk_bytes(1);
        CHECK_INT(sp_read_csr(path, &options, &a, NULL, &stored, NULL), SPMM_OK);
        CHECK_INT(stored, 3);
        CHECK(a.nnz == 3 && a.irp[1] == 2 && ((double *)a.as)[1] == 3 && ((double *)a.as)[2] == 4);
        spmm_csr_destroy(&a);
    }
    chunk_bytes(0);
}

/* ---- memory ---- */

/** In a child process: prints the growth of its peak, the CSR's bytes, and the growth of its resident
 *  memory. */
static int read_and_measure(const char *file)
{
    const sp_read_options options = {.threads = 2};
    spmm_csr a;
    const int64_t before = status_bytes("VmHWM");
    if (sp_read_csr(file, &options, &a, NULL, NULL, NULL) != SPMM_OK) return 1;
    printf("%lld %lld %lld\n", (long long)(status_bytes("VmHWM") - before), (long long)sp_csr_bytes(&a),
           (long long)(status_bytes("VmRSS") - before));
    spmm_csr_destroy(&a);
    return 0;
}

/** Writes a large file. \param [in] copies  number of copies of each entry
 *  \param [in] sorted  1: by row */
static void write_big(const char *symmetry, int entries, int copies, int sorted)
{
    enum { N = 200000 };
    FILE *const f = fopen(path, "w");
    if (!f) exit(1);
    fprintf(f, "%%%%MatrixMarket matrix coordinate real %s\n%d %d %d\n", symmetry, N, N, entries);
    for (int k = 0; k < entries; k++) {
        const uint64_t r = sp_random(1, (uint64_t)(k / copies), 0);
        const int i = 1 + (sorted ? (int)((int64_t)k * N / entries) : (int)(r % N)),
                  j = 1 + (int)((r >> 20) % (uint64_t)(sorted ? i : N));
        fprintf(f, "%d %d %d.5\n", i > j ? i : j, i > j ? j : i, (int)(r >> 50) + k % copies);
    }
    fclose(f);
}

static void test_memory(const char *self)
{
    static const struct {
        const char *symmetry;
        int entries, copies, sorted;
    } files[] = {{"general", 2400000, 1, 0},
                 {"symmetric", 1300000, 1, 0},
                 {"general", 2400000, 2, 0},
                 {"general", 2400000, 1, 1}};
    if (TEST_SANITIZED) {
        SKIP("a file is read within 1.25 times the CSR", "the sanitizer has memory of its own");
        return;
    }
    for (int k = 0; k < 4; k++) {
        char command[1400], line[100] = "";
        long long grown = 0, csr = 0, resident = 0;
        TEST(test_name("a %s file%s is read within 1.25 times the CSR%s and 8 MiB", files[k].symmetry,
                       files[k].sorted ? " sorted by row" : "",
                       files[k].copies > 1 ? " of all its entries, duplicates too," : "")) {
            write_big(files[k].symmetry, files[k].entries, files[k].copies, files[k].sorted);
            snprintf(command, sizeof command, "'%s' child '%s'", self, path);
            FILE *const f = popen(command, "r");
            CHECK(f && fgets(line, sizeof line, f) &&
                  sscanf(line, "%lld %lld %lld", &grown, &csr, &resident) == 3);
            CHECK(f && pclose(f) == 0);
            CHECK(grown >= csr && csr > 10 << 20);
            CHECK((double)grown <= 1.25 * (double)csr * files[k].copies + (8 << 20));
            /* the memory of duplicates was given back */
            CHECK((double)resident <= (double)csr * 1.05 + (8 << 20));
            if (test_.failed) printf("  grown %lld, CSR %lld, in the end %lld\n", grown, csr, resident);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "child") == 0) return read_and_measure(argv[2]);
    files_begin("a.mtx");
    test_same();
    test_errors();
    test_sorted();
    test_changed();
    test_array();
    test_memory(argv[0]);
    files_end();
    return test_end();
}
