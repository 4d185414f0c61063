/* MPI: 1 2 3 4 6. Blocks made of rows in the forms that other libraries use, compared with the matrix of
 * which the rows are parts. */
#include "sample.h"
#include "spmm.h"
#include "test_mpi.h"

static int size;

/** One part in separate arrays, whose integers have 4 or 8 bytes. */
typedef struct arrays {
    spmm_rows part;
    void *irp, *ja, *as, *map;
} arrays;

static int sizes; /* bit 0: irp, bit 1: ja, bit 2: map have 8 bytes */

static void *integers(const int64_t *from, int64_t count, int bytes)
{
    char *const to = malloc((size_t)(count * bytes) + 1);
    for (int64_t i = 0; i < count; i++) {
        if (bytes == 8)
            ((int64_t *)to)[i] = from[i];
        else
            ((int32_t *)to)[i] = (int32_t)from[i];
    }
    return to;
}

static void arrays_destroy(arrays *a) { free(a->irp), free(a->ja), free(a->as), free(a->map); }

/** The entries of its rows that a part contains: all, those in own columns [low, high), the others. */
typedef enum choice { ALL, OWN, OTHERS } choice;

/** Copies entries of rows [begin, end) of `a`, each row backward. Column indices are A's (ALL), relative to
 *  `low` (OWN), or indices into a map (OTHERS). */
static arrays take(const spmm_csr *a, int64_t begin, int64_t end, int64_t low, int64_t high, choice which)
{
    const int64_t most = a->irp[end] - a->irp[begin];
    const int irp_bytes = sizes & 1 ? 8 : 4, ja_bytes = sizes & 2 ? 8 : 4, map_bytes = sizes & 4 ? 8 : 4;
    int64_t *const irp = malloc((size_t)(end - begin + 1) * sizeof *irp),
                   *const ja = malloc((size_t)(most + 1) * sizeof *ja),
                   *const map = malloc((size_t)(a->cols + 1) * sizeof *map),
                   *const place = malloc((size_t)(a->cols + 1) * sizeof *place);
    arrays r = {.as = malloc((size_t)((most + 1) * sp_value_size(a->precision)))};
    int64_t n = 0, columns = 0;
    for (int64_t j = 0; j < a->cols; j++)
        if (j < low || j >= high) place[j] = columns, map[columns++] = j;
    for (int64_t i = begin; i < end; i++) {
        irp[i - begin] = n;
        for (int64_t e = a->irp[i + 1]; e-- > a->irp[i];) {
            const int64_t j = a->ja[e];
            const int own = j >= low && j < high;
            if (which != ALL && own != (which == OWN)) continue;
            sample_set(r.as, a->precision, n, sample_get(a->as, a->precision, e));
            ja[n++] = which == ALL ? j : own ? j - low : place[j];
        }
    }
    irp[end - begin] = n;
    r.irp = integers(irp, end - begin + 1, irp_bytes);
    r.ja = integers(ja, n, ja_bytes);
    r.map = integers(map, columns, map_bytes);
    r.part = (spmm_rows){.irp = r.irp, .irp_bytes = irp_bytes, .ja = r.ja, .ja_bytes = ja_bytes, .as = r.as};
    if (which == OWN) r.part.first_column = low;
    if (which == OTHERS) r.part.map = r.map, r.part.map_bytes = map_bytes, r.part.map_size = columns;
    free(irp), free(ja), free(map), free(place);
    return r;
}

/** First row of a rank. Even ranks have fewer rows than odd ones. */
static int64_t first_of(int64_t n, int rank)
{
    return n * (rank - rank % 2) / size + (rank % 2 ? n / size / 3 : 0);
}

static int64_t begin_of(int64_t n, int rank) { return rank >= size ? n : rank == 0 ? 0 : first_of(n, rank); }

/** Makes this rank's block from one part or two, and compares it with the rows of the matrix. */
static void check_block(const spmm_csr *a, int two)
{
    const int64_t begin = begin_of(a->rows, test_.rank), end = begin_of(a->rows, test_.rank + 1);
    const int64_t low = begin_of(a->cols, test_.rank), high = begin_of(a->cols, test_.rank + 1);
    arrays own = take(a, begin, end, low, high, two ? OWN : ALL),
           others = take(a, begin, end, low, high, OTHERS);
    const spmm_rows part[] = {own.part, others.part};
    spmm_block block;
    CHECK_INT(spmm_block_from_rows(MPI_COMM_WORLD, end - begin, high - low, a->precision, part, two ? 2 : 1,
                                   &block),
              SPMM_OK);
    CHECK(block.rows == a->rows && block.cols == a->cols && block.row_begin == begin && block.col_begin == 0);
    CHECK(block.x_begin == low && block.x_rows == high - low && block.p == size && block.q == 1);
    CHECK(sample_is_block(a, begin, end, 0, a->cols, &block.csr));
    arrays_destroy(&own);
    arrays_destroy(&others);
    spmm_plan *plan;
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, 2, NULL, &plan), SPMM_OK);
    spmm_plan_destroy(plan);
    spmm_block_destroy(&block);
    CHECK(block.csr.irp == NULL);
}

static void test_blocks(void)
{
    TEST("rows of one part with columns of A, or of two, are the rows of A, by integers of all sizes")
        for (int s = 0; s < SAMPLES; s++)
            for (sizes = 0; sizes < 8; sizes++) {
                spmm_csr a;
                sample_csr((sample)s, SAMPLE_REALS, sizes % 3 ? SPMM_F64 : SPMM_F32, &a);
                check_block(&a, 0);
                check_block(&a, 1);
                spmm_csr_destroy(&a);
            }
}

/** Three rows on each rank, and as many columns. */
enum { ROWS = 3 };

static spmm_block made;

static spmm_status make(const spmm_rows *part, int parts)
{
    spmm_block_destroy(&made);
    return spmm_block_from_rows(MPI_COMM_WORLD, ROWS, ROWS, SPMM_F64, part, parts, &made);
}

static void test_entries(void)
{
    const int64_t irp[] = {5, 9, 9, 10}, ja[] = {-7, -7, -7, -7, -7, 2, 0, 2, 2, 0};
    const double as[] = {NAN, NAN, NAN, NAN, NAN, 1e16, 4, 1, -1e16, 8};
    const spmm_rows part[] = {{.irp = irp, .ja = ja, .as = as, .irp_bytes = 8, .ja_bytes = 8},
                              {.irp = irp, .ja = ja, .irp_bytes = 8, .ja_bytes = 8}};
    TEST("row starts may begin anywhere, and duplicates are summed from the least on") {
        CHECK_INT(make(part, 1), SPMM_OK);
        CHECK(made.csr.nnz == 3 && made.csr.irp[1] == 2 && made.csr.irp[2] == 2 && made.csr.irp[3] == 3);
        const double *const found = made.csr.as;
        CHECK(found[0] == 4 && found[1] == (-1e16 + 1) + 1e16 && found[2] == 8);
        CHECK(made.csr.ja[0] == 0 && made.csr.ja[1] == 2 && made.csr.ja[2] == 0);
    }
    TEST("without values all are 1; parts are summed, and there may be none") {
        CHECK_INT(make(part, 2), SPMM_OK);
        const double *const found = made.csr.as;
        CHECK(made.csr.nnz == 3 && found[0] == 5 && found[2] == 9);
        CHECK_INT(make(test_.rank ? part : NULL, test_.rank ? 1 : 0), SPMM_OK);
        CHECK_INT(made.csr.nnz, test_.rank ? 3 : 0);
        CHECK_INT(made.rows, ROWS * (int64_t)size);
        spmm_block_destroy(&made);
    }
}

/** Checks that all ranks are refused if the part of the last rank is wrong. */
static void refused(const spmm_rows *bad, const char *said)
{
    static const int32_t irp[ROWS + 1] = {0, 0, 0, 0};
    const spmm_rows none = {.irp = irp, .irp_bytes = 4};
    CHECK_ERROR(make(test_.rank == size - 1 ? bad : &none, 1), SPMM_ERR_USAGE, said);
    CHECK_TEXT(spmm_error_message(), "spmm_block_from_rows: ");
    CHECK(made.csr.irp == NULL);
}

/** Checks that a copy of `right` with a change is refused. */
#define WRONG(right, change, said) \
    do {                           \
        spmm_rows bad = right;     \
        change;                    \
        refused(&bad, said);       \
    } while (0)

static void test_mistakes(void)
{
    static const int32_t irp[] = {0, 1, 2, 3}, down[] = {0, 2, 1, 3}, below[] = {-1, 0, 0, 0};
    static int32_t ja[] = {0, 1, 2};
    static int64_t map[] = {0, 1, 2};
    const spmm_rows good = {.irp = irp, .ja = ja, .irp_bytes = 4, .ja_bytes = 4};
    const spmm_rows mapped = {
        .irp = irp, .ja = ja, .irp_bytes = 4, .ja_bytes = 4, .map = map, .map_size = 3, .map_bytes = 8};
    TEST("arrays that are wrong on one rank are an error on all, which says what is wrong") {
        WRONG(good, bad.irp = NULL, "part[0].irp is NULL");
        WRONG(good, bad.ja = NULL, "part[0].ja is NULL");
        WRONG(good, bad.irp_bytes = 0, "part[0].irp_bytes is 0, expected 4 or 8");
        WRONG(good, bad.ja_bytes = 2, "part[0].ja_bytes is 2");
        WRONG(mapped, bad.map_bytes = 16, "part[0].map_bytes is 16");
        WRONG(mapped, bad.map_size = -1, "part[0].map_size is -1");
        WRONG(good, bad.irp = down, "part[0].irp[2] is 1, expected at least 2");
        WRONG(good, bad.irp = below, "part[0].irp[0] is -1, expected 0 or more");
        if (test_.rank == size - 1)
            refused(NULL, "part is NULL");
        else
            refused(&good, "part is NULL");
    }
    TEST("and so are columns and indices that are out of range") {
        WRONG(good, bad.first_column = ROWS * (int64_t)size - 2, "part[0].ja[2] is 2 and first_column ");
        WRONG(good, bad.first_column = -1,
              "part[0].ja[0] is 0 and first_column -1, expected their sum to be a column, below ");
        WRONG(good, bad.first_column = INT64_MAX, "part[0].ja[0] is 0 and first_column 9223372036854775807");
        WRONG(mapped, bad.map_size = 2, "part[0].ja[2] is 2, expected an index of map, below 2");
        ja[1] = -1;
        refused(&mapped, "part[0].ja[1] is -1, expected an index of map, below 3");
        ja[1] = 1;
        map[1] = ROWS * (int64_t)size;
        refused(&mapped, "part[0].map[1] is ");
        map[1] = INT64_C(1) << 32;
        refused(&mapped, "part[0].map[1] is 4294967296, expected a column, below ");
        map[1] = 1;
        CHECK_INT(make(&mapped, 1), SPMM_OK);
        spmm_block_destroy(&made);
    }
    TEST("numbers of rows, precision, parts, block and communicator are looked at") {
        const int64_t few = test_.rank ? ROWS : -1;
        CHECK_ERROR(spmm_block_from_rows(MPI_COMM_WORLD, few, ROWS, SPMM_F64, &good, 1, &made),
                    SPMM_ERR_USAGE, "rows is -1");
        CHECK_ERROR(spmm_block_from_rows(MPI_COMM_WORLD, ROWS, few, SPMM_F64, &good, 1, &made),
                    SPMM_ERR_USAGE, "x_rows is -1");
        CHECK_ERROR(make(&good, -1), SPMM_ERR_USAGE, "parts is -1");
        CHECK_INT(spmm_block_from_rows(MPI_COMM_WORLD, ROWS, ROWS, (spmm_precision)7, &good, 1, &made),
                  SPMM_ERR_USAGE);
        CHECK_ERROR(spmm_block_from_rows(MPI_COMM_WORLD, ROWS, ROWS, SPMM_F64, &good, 1, NULL),
                    SPMM_ERR_USAGE, "block is NULL");
        CHECK_INT(spmm_block_from_rows(MPI_COMM_NULL, ROWS, ROWS, SPMM_F64, &good, 1, &made), SPMM_ERR_USAGE);
        CHECK_INT(spmm_block_from_rows(MPI_COMM_WORLD, ROWS, INT64_C(1) << 31, SPMM_F64, &good, 1, &made),
                  SPMM_ERR_LIMIT);
        CHECK_INT(spmm_block_from_rows(MPI_COMM_WORLD, ROWS, INT64_MAX, SPMM_F64, &good, 1, &made),
                  SPMM_ERR_LIMIT);
        if (size == 1) return;
        CHECK_ERROR(spmm_block_from_rows(MPI_COMM_WORLD, ROWS, ROWS, test_.rank ? SPMM_F64 : SPMM_F32, &good,
                                         1, &made),
                    SPMM_ERR_USAGE, "precision is 0 on one rank and 1 on another");
        setenv("SPMM_FAULT", "block:1", 1);
        CHECK_INT(make(&good, 1), SPMM_ERR_INTERNAL);
        unsetenv("SPMM_FAULT");
        CHECK_INT(make(&good, 1), SPMM_OK);
        spmm_block_destroy(&made);
    }
}

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    test_blocks();
    test_entries();
    test_mistakes();
    return test_mpi_end();
}
