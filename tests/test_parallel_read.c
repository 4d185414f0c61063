/* MPI: 1 2 3 4 5, limit: 240. Matrices read by all ranks: the blocks are those of the matrix that one rank
 * reads. */
#include <math.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "files.h"
#include "files/matrix_file.h"
#include "files/matrix_write.h"
#include "distribute/parallel_read.h"
#include "same_info.h"
#include "sample.h"
#include "test_mpi.h"

static int me, ranks;

enum { TEXT = 60000 };

/** Writes the file on rank 0, before any rank reads it. */
static void write_text(const char *text, int64_t n)
{
    if (me == 0) write_bytes(text, (size_t)n);
    MPI_Barrier(MPI_COMM_WORLD);
}

/** Writes a binary file on rank 0, which the other ranks do not read any more, and then lets all ranks read
 *  it. */
static void write_binary(const spmm_csr *a, const char *ending)
{
    char name[300];
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        snprintf(name, sizeof name, "%s%s", path, ending);
        CHECK_INT(sp_matrix_write(name, a), SPMM_OK);
        CHECK(rename(name, path) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/** Reads the file at `path` by one rank. */
static void read_binary(const sp_read_options *options, spmm_csr *a, sp_mtx_info *info, int64_t *stored,
                        int64_t *duplicates)
{
    sp_matrix_file f;
    CHECK_INT(sp_matrix_file_open(path, options, &f), SPMM_OK);
    CHECK_INT(sp_matrix_file_read(&f, a, info, stored, duplicates), SPMM_OK);
}

static const mtx_kind kinds[] = {
    {"a general matrix with duplicates", "real", "general", 41, 29, 500, 1, 0},
    {"a symmetric matrix with duplicates", "real", "symmetric", 41, 41, 300, 1, 0},
    {"a skew-symmetric matrix with duplicates", "real", "skew-symmetric", 41, 41, 300, 1, 0},
    {"integers", "integer", "general", 300, 500, 400, 1, 0},
    {"a pattern", "pattern", "general", 41, 97, 400, 1, 0},
    {"a symmetric pattern", "pattern", "symmetric", 41, 41, 200, 1, 0},
    {"a skew-symmetric pattern", "pattern", "skew-symmetric", 41, 41, 200, 1, 0},
    {"a matrix whose first rows have nearly all duplicates", "real", "general", 60, 60, 900, 40, 0},
    {"a symmetric matrix whose first rows have nearly all duplicates", "real", "symmetric", 60, 60, 900, 40,
     0},
    {"one row", "real", "general", 1, 700, 200, 1, 0},
    {"one column", "real", "general", 700, 1, 200, 1, 0},
    {"fewer rows than ranks", "real", "general", 2, 3, 40, 1, 0},
    {"rows that are mostly empty", "real", "general", 5000, 5000, 30, 1, 0},
    {"a matrix without entries", "real", "general", 7, 5, 0, 1, 0},
    {"a matrix without rows", "real", "general", 0, 5, 0, 1, 0},
    {"a matrix without columns", "pattern", "general", 5, 0, 0, 1, 0},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* ---- grids and expected blocks ---- */

static void make_grid(int p, int q, sp_grid *grid)
{
    CHECK_INT(sp_grid_create(MPI_COMM_WORLD, p, q, grid), SPMM_OK);
}

/** Computes the boundaries that are used if one rank has the whole matrix. */
static void expected_bounds(const spmm_csr *a, const sp_grid *grid, sp_partition partition, int64_t *rows,
                            int64_t *cols)
{
    sp_partition_even(a->rows, grid->dims[0], rows);
    sp_partition_even(a->cols, grid->dims[1], cols);
    if (partition == SP_PARTITION_ROWS) return;
    sp_partition_entries(a->irp, a->rows, grid->dims[0], rows);
    CHECK_INT(sp_partition_columns(a, 1, grid->dims[1], cols), SPMM_OK);
}

static void check_load(const spmm_csr *a, int64_t stored, int64_t duplicates, const sp_mtx_info *info,
                       const sp_grid *grid, sp_partition partition, const sp_load *l)
{
    int64_t rows[16], cols[16], longest = 0, empty = 0;
    const int p = grid->coords[0], q = grid->coords[1];
    expected_bounds(a, grid, partition, rows, cols);
    for (int k = 0; k <= grid->dims[0]; k++) CHECK_INT(l->row_begin[k], rows[k]);
    for (int k = 0; k <= grid->dims[1]; k++) CHECK_INT(l->col_begin[k], cols[k]);
    CHECK(sample_is_block(a, rows[p], rows[p + 1], cols[q], cols[q + 1], &l->csr));
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t n = a->irp[i + 1] - a->irp[i];
        longest = n > longest ? n : longest;
        empty += n == 0;
    }
    CHECK_INT(l->rows, a->rows);
    CHECK_INT(l->cols, a->cols);
    CHECK_INT(l->nnz, a->nnz);
    CHECK_INT(l->stored, stored);
    CHECK_INT(l->duplicates, duplicates);
    CHECK_INT(l->longest, longest);
    CHECK_INT(l->empty, empty);
    CHECK(same_info(&l->info, info));
}

/** Bounds on the bytes of a round of reading and of a message, from tiny to default (0). */
static const struct {
    int64_t read, send;
} bounds[] = {{3, 9}, {40, 200}, {0, 0}};
enum { BOUNDS = sizeof bounds / sizeof bounds[0] };

/** Loads the file at `path` on every grid, with both partitions, and compares with matrix a. */
static void check_grids(const spmm_csr *a, int64_t stored, int64_t duplicates, const sp_mtx_info *info,
                        int binary, sp_read_options *options)
{
    int turn = 0;
    for (int q = 1; q <= ranks; q = next_divisor(ranks, q)) {
        sp_grid grid;
        make_grid(ranks / q, q, &grid);
        for (int partition = 0; partition < 2; partition++) {
            for (int b = 0; b < BOUNDS; b++) {
                sp_load l;
                chunk_bytes(bounds[b].read);
                sp_set_chunk_bytes(bounds[b].send);
                options->threads = 1 + turn++ % 3;
                CHECK_INT(
                    (binary ? sp_load_csr : sp_load_text)(&grid, path, options, (sp_partition)partition, &l),
                    SPMM_OK);
                if (l.row_begin) check_load(a, stored, duplicates, info, &grid, (sp_partition)partition, &l);
                sp_load_destroy(&l);
            }
        }
        sp_grid_destroy(&grid);
    }
    chunk_bytes(0);
    sp_set_chunk_bytes(0);
}

static void test_blocks(void)
{
    static char text[TEXT];
    for (int k = 0; k < KINDS; k++) {
        TEST(test_name("every rank gets its block on every grid: %s", kinds[k].what)) {
            for (int p = 0; p < 2; p++) {
                sp_read_options options = {.precision = p ? SPMM_F32 : SPMM_F64, .threads = 1};
                spmm_csr a, b;
                sp_mtx_info info;
                int64_t stored, duplicates;
                write_text(text, mtx_text(&kinds[k], (uint64_t)(k + p), 1, text));
                CHECK_INT(sp_read_csr(path, &options, &a, &info, &stored, &duplicates), SPMM_OK);
                if (kinds[k].copies > 1) CHECK(duplicates > 300);
                check_grids(&a, stored, duplicates, &info, 0, &options);
                write_binary(&a, p ? ".petsc" : ".npz");
                read_binary(&options, &b, &info, &stored, &duplicates);
                CHECK(sample_same_csr(&a, &b) && stored == a.nnz && duplicates == 0);
                check_grids(&a, stored, duplicates, &info, 1, &options);
                spmm_csr_destroy(&a);
                spmm_csr_destroy(&b);
                MPI_Barrier(MPI_COMM_WORLD);
            }
        }
    }
}

/* ---- errors ---- */

/** Checks that loading fails on every rank with this status and a message that contains `message`. */
static void refused(int binary, spmm_status status, const char *message)
{
    for (int q = 1; q <= ranks; q = next_divisor(ranks, q)) {
        const sp_read_options options = {.threads = 2};
        sp_grid grid;
        sp_load l;
        make_grid(ranks / q, q, &grid);
        sp_set_message("");
        CHECK_ERROR((binary ? sp_load_csr : sp_load_text)(&grid, path, &options, SP_PARTITION_NNZ, &l),
                    status, message);
        CHECK(!l.row_begin && !l.csr.irp);
        sp_grid_destroy(&grid);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void test_damaged_text(void)
{
    static char text[TEXT];
    TEST(
        "a text with damage is refused on all ranks with the message that one rank has for it, or is the same") {
        int wrong = 0;
        for (uint64_t seed = 0; seed < 60; seed++) {
            const mtx_kind *const t = &kinds[seed % 7];
            sp_read_options options = {.threads = 1};
            char message[SP_MESSAGE_BYTES];
            spmm_csr a;
            int n = mtx_text(t, seed, 1, text);
            mtx_spoil(text, n, seed);
            if (seed % 7 == 0) n = 60 + (int)(sp_random(seed, 0, 5) % (uint64_t)(n - 60));
            write_text(text, n);
            const spmm_status status = sp_read_csr(path, &options, &a, NULL, NULL, NULL);
            snprintf(message, sizeof message, "%s", spmm_error_message());
            chunk_bytes(seed % 2 ? 10 : 0);
            if (status != SPMM_OK) refused(0, status, message);
            chunk_bytes(0);
            wrong += status != SPMM_OK;
            spmm_csr_destroy(&a);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        CHECK(wrong > 25);
    }
    TEST("too many entries, too few and both triangles are told with their lines") {
        const char many[] = "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1\n2 2 2\n%\n3 3 3\n";
        const char few[] = "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 1\n2 2 2\n%\n3 3 3\n";
        const char both[] = "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n2 1 1\n2 2 2\n1 3 3\n";
        write_text(many, sizeof many - 1);
        refused(0, SPMM_ERR_SYNTAX, ":6: found entry number 3, expected 2 entries as line 2 says");
        write_text(few, sizeof few - 1);
        refused(0, SPMM_ERR_SYNTAX, ":6: found the end of the file after 3 of 4 entries");
        write_text(both, sizeof both - 1);
        refused(0, SPMM_ERR_SYNTAX, ":5: found an entry of the upper triangle, expected only the lower one");
    }
}

static void test_long_lines(void)
{
    TEST("a line that is too long is refused wherever the parts of the ranks are cut") {
        enum { LONG = 6 << 20 };
        char *const line = malloc(LONG + 200);
        int n = sprintf(line, "%%%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 1\n%%");
        memset(line + n, 'a', LONG);
        n += LONG;
        n += sprintf(line + n, "\n");
        write_text(line, n);
        refused(0, SPMM_ERR_SYNTAX, ":4: found a line of more than 1048576 bytes");
        for (int k = 0; k < 6; k++) { /* the line's bytes: 2^20, and one more */
            const int64_t bytes = (1 << 20) + k % 2;
            const sp_read_options options = {.threads = 2};
            sp_grid grid;
            sp_load l;
            n = sprintf(line, "%%%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1\n");
            memset(line + n, '%', (size_t)bytes);
            n += (int)bytes;
            n += sprintf(line + n, "\n3 3 3\n");
            write_text(line, n);
            chunk_bytes(k < 2 ? 1000 : k < 4 ? 0 : 1 << 21);
            make_grid(ranks, 1, &grid);
            CHECK_INT(sp_load_text(&grid, path, &options, SP_PARTITION_NNZ, &l),
                      k % 2 ? SPMM_ERR_SYNTAX : SPMM_OK);
            if (k % 2) CHECK_TEXT(spmm_error_message(), ":4: found a line of more than 1048576 bytes");
            sp_load_destroy(&l);
            sp_grid_destroy(&grid);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        chunk_bytes(0);
        free(line);
    }
}

static void test_damaged_binary(void)
{
    static char text[TEXT];
    TEST("all ranks refuse a damaged binary file, whichever rank reads the damaged part") {
        spmm_csr a;
        const sp_read_options options = {.threads = 1};
        write_text(text, mtx_text(&kinds[0], 3, 1, text));
        CHECK_INT(sp_read_csr(path, &options, &a, NULL, NULL, NULL), SPMM_OK);
        for (int at = 0; at < 8; at++) {
            int32_t *const column = a.ja + (a.nnz - 1) * at / 7, right = *column;
            *column = at % 2 ? -1 : (int32_t)a.cols;
            write_binary(&a, at % 4 < 2 ? ".npz" : ".petsc");
            refused(1, SPMM_ERR_SYNTAX, "has a column index outside of 1 to ");
            *column = right;
        }
        for (int at = 1; at < 8; at++) {
            int64_t *const start = a.irp + a.rows * at / 8, right = *start;
            *start = a.irp[a.rows] + 1;
            write_binary(&a, ".npz");
            refused(1, SPMM_ERR_SYNTAX, "its row starts decrease or are out of range");
            *start = right;
        }
        ((double *)a.as)[a.nnz - 1] = NAN;
        write_binary(&a, ".npz");
        refused(1, SPMM_ERR_SYNTAX, "a.mtx: found \"nan\" in row ");
        spmm_csr_destroy(&a);
    }
}

static void test_refused(void)
{
    static char text[TEXT];
    TEST("what cannot be read in parts is refused, with what to do") {
        const char array[] = "%%MatrixMarket matrix array real general\n2 2\n1\n0\n3\n4\n";
        const int n = mtx_text(&kinds[0], 3, 1, text);
        if (me == 0) write_gzip(text, (size_t)n, (size_t)n);
        MPI_Barrier(MPI_COMM_WORLD);
        refused(
            0, SPMM_ERR_UNSUPPORTED,
            "a.mtx: is compressed by gzip, and ranks cannot read parts of it: unpack it first (gunzip -k FILE)");
        write_text(array, sizeof array - 1);
        refused(0, SPMM_ERR_UNSUPPORTED, "a.mtx: is of format array");
        const char wrong[] = "%%MatrixMarket matrix array real general\n2 2\n1\n0\n% c\n3 1\n4\n";
        write_text(wrong, sizeof wrong - 1);
        refused(0, SPMM_ERR_SYNTAX, "a.mtx:6: found \"1\", expected the end of the line");
        write_text(array, sizeof array - 3);
        refused(0, SPMM_ERR_SYNTAX, "a.mtx:5: found the end of the file after 3 of 4 entries");
        if (me == 0) {
            remove(path);
            if (mkfifo(path, 0600) != 0) MPI_Abort(MPI_COMM_WORLD, 2);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        refused(0, SPMM_ERR_UNSUPPORTED, "a.mtx: is a pipe or a device");
        if (me == 0) remove(path);
        MPI_Barrier(MPI_COMM_WORLD);
        refused(0, SPMM_ERR_OPEN, "a.mtx: cannot be opened");
        refused(1, SPMM_ERR_OPEN, "a.mtx: cannot be opened");
        write_text("%%MatrixMarket matrix coordinate real general\n3 x 1\n", 52);
        refused(0, SPMM_ERR_SYNTAX, "a.mtx:2: found \"x\", expected the number of columns");
        refused(1, SPMM_ERR_SYNTAX, "a.mtx:2: found \"x\", expected the number of columns");
        write_text(array, sizeof array - 1);
        refused(1, SPMM_ERR_UNSUPPORTED,
                "a.mtx: found a Matrix Market file, which ranks cannot read in parts");
    }
    TEST("a value beyond f32 is refused, or an infinity when that is allowed") {
        sp_read_options options = {.precision = SPMM_F32, .threads = 1};
        sp_grid grid;
        sp_load l;
        const char big[] = "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 2\n3 3 1e39\n";
        write_text(big, sizeof big - 1);
        make_grid(ranks, 1, &grid);
        CHECK_ERROR(sp_load_text(&grid, path, &options, SP_PARTITION_NNZ, &l), SPMM_ERR_SYNTAX,
                    "a.mtx:5: found \"1e39\", expected a value within the range of a float");
        options.allow_nonfinite = 1;
        CHECK_INT(sp_load_text(&grid, path, &options, SP_PARTITION_NNZ, &l), SPMM_OK);
        CHECK_INT(l.nnz, 3);
        sp_load_destroy(&l);
        sp_grid_destroy(&grid);
    }
    TEST("a rank that fails is everybody's failure, and nobody waits") {
        char fault[32];
        write_text(text, mtx_text(&kinds[0], 3, 1, text));
        for (int k = 0; k < 2 * ranks; k++) {
            snprintf(fault, sizeof fault, "%s:%d", k % 2 ? "read" : "load", k / 2);
            setenv("SPMM_FAULT", fault, 1);
            refused(0, SPMM_ERR_INTERNAL, "SPMM_FAULT: failing in stage");
            unsetenv("SPMM_FAULT");
        }
    }
}

/* ---- a file that changes ---- */

typedef struct change {
    const char *text;
    double last;
    int wrong;
} change;

static void change_file(void *context, double fraction)
{
    change *const c = context;
    c->wrong += fraction < c->last || fraction > 1;
    c->last = fraction;
    if (!c->text || fraction < 0.5) return;
    FILE *const f = fopen(path, "r+b"); /* in place: a process that has the file open sees the change */
    fputs(c->text, f);
    fclose(f);
    c->text = NULL;
}

static void test_changed(void)
{
    static char text[TEXT], other[TEXT];
    TEST("a file that changes between the passes is refused on all ranks") {
        const mtx_kind before = {"", "pattern", "general", 9, 9, 200, 1, 0};
        const int n = mtx_text(&before, 2, 1, text);
        memcpy(other, text, (size_t)n + 1);
        for (int k = 100; k < n; k++) /* same lines, other rows */
            if (other[k - 1] == '\n' && other[k] >= '1' && other[k] <= '8') other[k] = '9';
        for (int q = 1; q <= ranks; q = next_divisor(ranks, q)) {
            sp_grid grid;
            sp_load l;
            change c = {.text = other};
            sp_read_options options = {.threads = 1};
            if (me == 0) {
                options.progress = change_file;
                options.progress_context = &c;
            }
            write_text(text, n);
            make_grid(ranks / q, q, &grid);
            chunk_bytes(1);
            CHECK_ERROR(sp_load_text(&grid, path, &options, SP_PARTITION_NNZ, &l), SPMM_ERR_SYNTAX,
                        "a.mtx: found other entries than in the first pass");
            CHECK(!l.csr.irp);
            if (me == 0) CHECK(!c.text && !c.wrong);
            chunk_bytes(0);
            sp_grid_destroy(&grid);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
}

/* ---- memory ---- */

/** Writes a symmetric matrix: a band of `width` entries up to the diagonal, its rows in order or shuffled. */
static void write_big(int n, int width, int shuffled)
{
    if (me == 0) {
        FILE *const f = fopen(path, "w");
        int64_t entries = 0;
        if (!f) MPI_Abort(MPI_COMM_WORLD, 2);
        for (int i = 0; i < n; i++) entries += i < width ? i + 1 : width;
        fprintf(f, "%%%%MatrixMarket matrix coordinate real symmetric\n%d %d %lld\n", n, n,
                (long long)entries);
        for (int k = 0; k < n; k++) {
            const int i = shuffled ? (int)((int64_t)k * 7919 % n) : k;
            for (int j = i < width ? 0 : i - width + 1; j <= i; j++)
                fprintf(f, "%d %d %d\n", i + 1, j + 1, i - j);
        }
        fclose(f);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void test_memory(void)
{
    if (TEST_SANITIZED || ranks != 4) {
        SKIP("no rank needs more than its share of the CSR and 32 MiB",
             TEST_SANITIZED ? "the sanitizer has memory of its own" : "with 4 ranks only");
        return;
    }
    TEST("no rank needs more than 1.3 times its share of the CSR and 32 MiB, for a text and for an .npz") {
        for (int k = 0; k < 4; k++) {
            const sp_read_options options = {.threads = 2};
            sp_grid grid;
            sp_load l;
            if (k < 2) write_big(200000, 20, k);
            make_grid(k % 2 ? 2 : 4, k % 2 ? 2 : 1, &grid);
            sp_peak_restart();
            const int64_t before = status_bytes("VmHWM");
            CHECK_INT((k < 2 ? sp_load_text : sp_load_csr)(&grid, path, &options, SP_PARTITION_NNZ, &l),
                      SPMM_OK);
            const double grown = (double)(status_bytes("VmHWM") - before),
                         share = (double)sp_csr_bytes(&l.csr);
            CHECK(k % 2 || share > 20 << 20); /* blocks off the diagonal are small */
            CHECK(grown <= 1.3 * share + (32 << 20));
            if (test_.failed || getenv("SPMM_TEST_SHOW"))
                printf("  rank %d: %.1f MB grown, share %.1f MB\n", me, grown / 1e6, share / 1e6);
            sp_load_destroy(&l);
            sp_grid_destroy(&grid);
            if (k == 1) {
                spmm_csr a;
                CHECK_INT(sp_read_csr(path, &options, &a, NULL, NULL, NULL), SPMM_OK);
                write_binary(&a, ".npz");
                spmm_csr_destroy(&a);
            }
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
}

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &ranks);
    me = test_.rank;
    if (me == 0) files_begin("a.mtx");
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    test_blocks();
    test_damaged_text();
    test_long_lines();
    test_damaged_binary();
    test_refused();
    test_changed();
    test_memory();
    if (me == 0) files_end();
    return test_mpi_end();
}
