/** Edge lists are read into CSR, in pieces of any size and by any number of threads: the result is the matrix
 *  of the triplets, bit for bit. */
#include "files.h"
#include "files/matrix_file.h"
#include "sample.h"
#include "test.h"

enum { EDGES = 400, VERTICES = 37 };

static spmm_status read_edges(const sp_read_options *options, spmm_csr *a, int64_t *stored,
                              int64_t *duplicates)
{
    sp_matrix_file f;
    *a = (spmm_csr){0};
    const spmm_status status = sp_matrix_file_open(path, options, &f);
    return status == SPMM_OK ? sp_matrix_file_read(&f, a, NULL, stored, duplicates) : status;
}

/** Writes a list of random edges, and sets *a to the matrix of their triplets. */
static spmm_status make(uint64_t seed, int base, int weights, spmm_precision precision, spmm_csr *a)
{
    static char text[EDGES * 64];
    static int64_t row[EDGES], col[EDGES];
    static double value[EDGES];
    int n = 0;
    for (int k = 0; k < EDGES; k++) {
        const uint64_t edge = (uint64_t)k;
        row[k] = k == 0 ? VERTICES - 1 : (int64_t)sp_random_below(seed, 0, edge, VERTICES);
        col[k] = (int64_t)sp_random_below(seed, 1, edge, VERTICES);
        value[k] = weights ? sp_random_unit(seed, 2, edge) : 1.0;
        if (k % 50 == 7) n += sprintf(text + n, k % 100 == 7 ? "# %d\n\n" : " %% %d\r\n", k);
        n += sprintf(text + n, k % 3 ? "%lld %lld" : "%lld\t%lld", (long long)row[k] + base,
                     (long long)col[k] + base);
        if (weights) n += sprintf(text + n, " %.17g", value[k]);
        if (k < EDGES - 1) text[n++] = '\n';
    }
    write_bytes(text, (size_t)n);
    return spmm_csr_from_triplets(VERTICES, VERTICES, EDGES, row, col, value, precision, a);
}

static void test_same(int weights)
{
    static const char *const pieces[] = {"1", "7", "64", "333", "1500", ""};
    for (int k = 0; k < 48; k++) {
        const sp_read_options options = {
            .threads = 1 + k % 3, .precision = k % 4 < 2 ? SPMM_F64 : SPMM_F32, .edges = 1 + k % 2};
        spmm_csr a, b;
        int64_t stored = -1, duplicates = -1;
        CHECK_INT(make((uint64_t)k, k % 2, weights, options.precision, &b), SPMM_OK);
        setenv("SPMM_READ_CHUNK_BYTES", pieces[k / 2 % 6], 1);
        CHECK_INT(read_edges(&options, &a, &stored, &duplicates), SPMM_OK);
        CHECK(sample_same_csr(&a, &b));
        CHECK(stored == EDGES && duplicates == EDGES - b.nnz);
        spmm_csr_destroy(&a);
        spmm_csr_destroy(&b);
    }
    unsetenv("SPMM_READ_CHUNK_BYTES");
}

/** Checks that the first of two errors is reported, by any number of threads. */
static void test_first_error(void)
{
    static const char text[] = "# weights\n0 1 1\n1 2 0.5\n2 3 heavy\n3 -1 1\n4 5 1\n";
    for (int threads = 1; threads <= 3; threads++) {
        const sp_read_options options = {.threads = threads, .edges = 1};
        spmm_csr a;
        write_bytes(text, sizeof text - 1);
        setenv("SPMM_READ_CHUNK_BYTES", threads == 1 ? "" : "8", 1);
        CHECK_ERROR(read_edges(&options, &a, NULL, NULL), SPMM_ERR_SYNTAX,
                    ":4: found \"heavy\", expected a real value");
        CHECK(!a.irp && !a.ja && !a.as);
    }
    unsetenv("SPMM_READ_CHUNK_BYTES");
}

int main(void)
{
    files_begin("edges.txt");
    TEST("edges without weights give the matrix of their triplets") { test_same(0); }
    TEST("edges with weights give the matrix of their triplets") { test_same(1); }
    TEST("the first of two errors is told, by any number of threads") { test_first_error(); }
    TEST("the public function reads, and numbers vertices from its base") {
        spmm_csr a, b;
        CHECK_INT(make(5, 1, 1, SPMM_F64, &b), SPMM_OK);
        CHECK_INT(spmm_csr_read_edges(path, 1, SPMM_F64, &a), SPMM_OK);
        CHECK(sample_same_csr(&a, &b));
        spmm_csr_destroy(&a);
        spmm_csr_destroy(&b);
        write_bytes("1 2\n0 1\n", 8);
        CHECK_ERROR(spmm_csr_read_edges(path, 1, SPMM_F64, &a), SPMM_ERR_SYNTAX,
                    ":2: found the vertex id \"0\", expected a vertex id from 1");
        CHECK_INT(spmm_csr_read_edges(path, 0, SPMM_F64, &a), SPMM_OK);
        CHECK_INT(a.rows, 3);
        spmm_csr_destroy(&a);
    }
    files_end();
    return test_end();
}
