/* MPI: 1 2 3 4 6. Inner products and norms of multivectors, compared with naive sums; products with small
 * matrices in columns of the same memory; what is refused. test_differential has the other operations. */
#include <math.h>
#include <omp.h>

#include "formats/multivector.h"
#include "sample.h"
#include "spmm.h"
#include "test_mpi.h"

static int size;

/** A global shape. Ranks have different numbers of rows; the last of several ranks has none. */
typedef struct shape {
    int64_t rows, kx, ky, more; /* more: by how much leading dimensions exceed their minimum */
    int low, high;              /* ghost rows */
} shape;

static const shape shapes[] = {{0, 3, 2, 0, 0, 0},     {1, 1, 1, 0, 0, 0},    {5, 1, 7, 0, 2, 1},
                               {67, 8, 8, 0, 0, 3},    {301, 13, 9, 3, 1, 0}, {1500, 5, 33, 0, 7, 0},
                               {700, 70, 65, 1, 0, 0}, {4099, 16, 3, 5, 0, 0}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static int64_t first_row(int64_t rows, int rank)
{
    const int parts = size > 1 ? size - 1 : 1;
    return rank >= parts ? rows : rows * rank / parts;
}

static double element(int seed, int64_t row, int64_t column)
{
    return sp_random_unit((uint64_t)seed, (uint64_t)row, (uint64_t)column);
}

/** Makes this rank's rows, with NaNs in padding and ghost rows. The caller frees *memory. */
static spmm_multivector make(const shape *s, int64_t k, int seed, spmm_precision precision, void **memory)
{
    const int64_t begin = first_row(s->rows, test_.rank), rows = first_row(s->rows, test_.rank + 1) - begin;
    const int64_t ld = k + s->more, all = s->low + rows + s->high;
    *memory = malloc((size_t)(all * ld * sp_value_size(precision) + 1));
    memset(*memory, 0xff, (size_t)(all * ld * sp_value_size(precision)));
    spmm_multivector v = {rows, k, ld, precision, SPMM_CPU, *memory, s->low, s->high, SPMM_ROW_MAJOR};
    v.data = sp_row(&v, s->low);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < k; j++)
            sp_value_set(v.data, precision, i * ld + j, element(seed, begin + i, j));
    return v;
}

/** Element (i, j) of the whole X^T Y, by one sum. */
static double naive_dot(const shape *s, int seed_x, int64_t i, int seed_y, int64_t j)
{
    double sum = 0;
    for (int64_t r = 0; r < s->rows; r++) sum += element(seed_x, r, i) * element(seed_y, r, j);
    return sum;
}

static int close_to(double found, double expected, double bound) { return fabs(found - expected) <= bound; }

static void check_dot(const shape *s, spmm_precision precision)
{
    enum { LEAST = 3 };
    void *mx, *my;
    const spmm_multivector x = make(s, s->kx, 1, precision, &mx), y = make(s, s->ky, 2, precision, &my);
    const int64_t ldg = s->ky + LEAST, elements = s->kx * ldg;
    double *const g = malloc(sizeof *g * (size_t)elements), *const again = malloc(sizeof *g *
                                                                                  (size_t)elements);
    for (int64_t e = 0; e < elements; e++) g[e] = again[e] = 77;
    CHECK_INT(spmm_multivector_dot(MPI_COMM_WORLD, &x, &y, g, ldg), SPMM_OK);
    for (int64_t i = 0; i < s->kx; i++)
        for (int64_t j = 0; j < ldg; j++)
            if (j >= s->ky)
                CHECK(g[i * ldg + j] == 77);
            else /* elements are multiples of 2^-23: f32 represents them, and f64 their products */
                CHECK(close_to(g[i * ldg + j], naive_dot(s, 1, i, 2, j), 1e-15 * (double)(s->rows + 1)));
    const int threads = omp_get_max_threads();
    omp_set_num_threads(threads == 3 ? 2 : 3);
    CHECK_INT(spmm_multivector_dot(MPI_COMM_WORLD, &x, &y, again, ldg), SPMM_OK);
    omp_set_num_threads(threads);
    CHECK(memcmp(g, again, sizeof *g * (size_t)elements) == 0);
    MPI_Bcast(again, (int)elements, MPI_DOUBLE, size - 1, MPI_COMM_WORLD);
    CHECK(memcmp(g, again, sizeof *g * (size_t)elements) == 0);
    free(g), free(again), free(mx), free(my);
}

static void check_squares(const shape *s, spmm_precision precision)
{
    void *m;
    const spmm_multivector x = make(s, s->kx, 1, precision, &m);
    spmm_multivector copy = x;
    void *other = malloc((size_t)(x.rows * sp_row_bytes(&x) + 1));
    const size_t bytes = sizeof(double) * (size_t)(s->kx * s->kx);
    double *const g = malloc(bytes), *const h = malloc(bytes), *const norm = malloc(bytes);
    copy.data = memcpy(other, x.data, (size_t)(x.rows * sp_row_bytes(&x)));
    copy.ghost_low = copy.ghost_high = 0;
    CHECK_INT(spmm_multivector_dot(MPI_COMM_WORLD, &x, &x, g, s->kx), SPMM_OK);
    CHECK_INT(spmm_multivector_dot(MPI_COMM_WORLD, &x, &copy, h, s->kx), SPMM_OK);
    CHECK(memcmp(g, h, bytes) == 0);
    CHECK_INT(spmm_multivector_norms(MPI_COMM_WORLD, &x, norm), SPMM_OK);
    for (int64_t i = 0; i < s->kx; i++)
        CHECK(close_to(norm[i], sqrt(naive_dot(s, 1, i, 1, i)), 1e-15 * (double)(s->rows + 1)));
    free(g), free(h), free(norm), free(m), free(other);
}

static void test_collective(void)
{
    for (int p = 0; p < 2; p++) {
        TEST(
            "X^T Y is that of all ranks' rows, with the same bits on every rank and for any number of threads")
            for (int i = 0; i < SHAPES; i++) check_dot(&shapes[i], (spmm_precision)p);
        TEST(
            "X^T X is symmetric and has the bits of the product with a copy, and norms are its diagonal's roots")
            for (int i = 0; i < SHAPES; i++) check_squares(&shapes[i], (spmm_precision)p);
    }
    TEST("with every instruction set X^T Y has the same bits") {
        const shape *const s = &shapes[4];
        void *mx, *my;
        double g[13 * 9], h[13 * 9];
        const spmm_multivector x = make(s, s->kx, 1, SPMM_F64, &mx), y = make(s, s->ky, 2, SPMM_F64, &my);
        CHECK_INT(spmm_multivector_dot(MPI_COMM_WORLD, &x, &y, g, 9), SPMM_OK);
        setenv("SPMM_ISA", "generic", 1);
        CHECK_INT(spmm_multivector_dot(MPI_COMM_WORLD, &x, &y, h, 9), SPMM_OK);
        unsetenv("SPMM_ISA");
        CHECK(memcmp(g, h, sizeof g) == 0);
        free(mx), free(my);
    }
}

/* ---- local operations ---- */

static double small(int64_t i, int64_t j) { return element(9, i, j); }

/** Element (row, j) of X R. */
static double naive_times(const shape *s, int64_t row, int64_t j)
{
    double sum = 0;
    for (int64_t i = 0; i < s->kx; i++) sum += element(1, row, i) * small(i, j);
    return sum;
}

static double tolerance(const shape *s, spmm_precision precision)
{
    return (double)(s->kx + 3) * (precision == SPMM_F64 ? 0x1p-51 : 0x1p-22);
}

static void check_columns(spmm_precision precision)
{
    enum { ROWS = 130, K = 3, LD = 10 };
    double memory[ROWS * LD], r[K * K];
    for (int64_t e = 0; e < ROWS * LD; e++) sp_value_set(memory, precision, e, element(1, e / LD, e % LD));
    for (int e = 0; e < K * K; e++) r[e] = small(e / K, e % K);
    const spmm_multivector x = {ROWS, K, LD, precision, SPMM_CPU, memory, 0, 0, SPMM_ROW_MAJOR};
    spmm_multivector y = x;
    y.data = (char *)memory + 5 * sp_value_size(precision);
    CHECK_INT(spmm_multivector_times(1, &x, r, K, 0, &y), SPMM_OK);
    const shape s = {ROWS, K, K, 0, 0, 0};
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < LD; j++)
            CHECK(close_to(sp_value_get(memory, precision, i * LD + j),
                           j >= 5 && j < 8 ? naive_times(&s, i, j - 5) : element(1, i, j),
                           tolerance(&s, precision)));
    CHECK_INT(
        spmm_multivector_axpby(
            1, &y, 0, &(spmm_multivector){ROWS, K, LD, precision, SPMM_CPU, memory, 0, 0, SPMM_ROW_MAJOR}),
        SPMM_OK);
    for (int i = 0; i < ROWS; i++)
        CHECK(sp_value_get(memory, precision, i * LD) == sp_value_get(memory, precision, i * LD + 5));
    y.data = (char *)memory + 2 * sp_value_size(precision);
    CHECK_ERROR(spmm_multivector_axpby(1, &x, 0, &y), SPMM_ERR_USAGE, "x and y overlap in memory");
    y.data = (char *)memory +
             5 * sp_value_size(precision); /* y's last element precedes the first one of `rows` */
    const spmm_multivector rows = {
        ROWS / 2,  K,        LD,
        precision, SPMM_CPU, (char *)memory + (ROWS / 2 * LD - 2) * sp_value_size(precision),
        0,         0,        SPMM_ROW_MAJOR};
    y.rows = ROWS / 2;
    CHECK_INT(spmm_multivector_axpby(1, &rows, 0, &y), SPMM_OK);
    y.rows = ROWS;
    y.data = (char *)memory + 8 * sp_value_size(precision); /* its last column is the first of x's next row */
    CHECK_INT(spmm_multivector_times(1, &x, r, K, 0, &y), SPMM_ERR_USAGE);
}

static void test_local(void)
{
    for (int p = 0; p < 2; p++) {
        const spmm_precision precision = (spmm_precision)p;
        TEST("other columns of the same memory may be the result, and columns that overlap may not")
            check_columns(precision);
    }
}

/* ---- wrong arguments ---- */

enum { ROWS = 6, K = 3 };

static double data[3][ROWS * K], g[K * K];

static spmm_multivector good(int which)
{
    return (spmm_multivector){ROWS, K, K, SPMM_F64, SPMM_CPU, data[which], 0, 0, SPMM_ROW_MAJOR};
}

/** Checks that a wrong argument of the last rank is an error on every rank.
 *  \param [in] said  a part of the message */
static void refused(const spmm_multivector *x, const spmm_multivector *y, double *to, int64_t ldg,
                    const char *said)
{
    const spmm_multivector a = good(0), b = good(1);
    const int wrong = test_.rank == size - 1;
    CHECK_ERROR(
        spmm_multivector_dot(MPI_COMM_WORLD, wrong ? x : &a, wrong ? y : &b, wrong ? to : g, wrong ? ldg : K),
        SPMM_ERR_USAGE, said);
    CHECK_TEXT(spmm_error_message(), "spmm_multivector_dot");
}

/** good(0) with one thing wrong. */
static const spmm_multivector *bad(int which)
{
    static spmm_multivector v;
    v = good(0);
    switch (which) {
    case 0: v.rows = -1; break;
    case 1: v.k = -1; break;
    case 2: v.ld = K - 1; break;
    case 3: v.precision = (spmm_precision)7; break;
    case 4: v.space = (spmm_device)7; break;
    case 5: v.data = NULL; break;
    case 6: v.ghost_low = -1; break;
    default: v.data = (char *)data[0] + 1; break;
    }
    return &v;
}
static const char *const said[] = {"rows >= 0",   "k >= 0",       "leading dimension", "spmm_precision",
                                   "spmm_device", "data is NULL", "ghost_low",         "aligned"};

static void test_wrong_collective(void)
{
    spmm_multivector other = good(1);
    TEST("an argument that is wrong on one rank is an error on every rank") {
        const spmm_multivector x = good(0), y = good(1);
        for (int i = 0; i < 8; i++) refused(bad(i), &y, g, K, said[i]);
        for (int i = 0; i < 8; i++) refused(&x, bad(i), g, K, said[i]);
        refused(NULL, &y, g, K, "x is NULL");
        refused(&x, NULL, g, K, "y is NULL");
        refused(&x, &y, NULL, K, "g is NULL");
        refused(&x, &y, g, K - 1, "ldg is 2, expected at least the 3 columns of y");
        other.rows = ROWS - 1;
        refused(&x, &other, g, K, "x has 6 rows of f64 in host memory and y 5 rows");
        other = good(1), other.precision = SPMM_F32;
        refused(&x, &other, g, K, "6 rows of f32");
        CHECK_ERROR(spmm_multivector_norms(MPI_COMM_WORLD, test_.rank ? &x : NULL, g), SPMM_ERR_USAGE,
                    "spmm_multivector_norms: x is NULL");
        CHECK_INT(spmm_multivector_norms(MPI_COMM_WORLD, &x, test_.rank == size - 1 ? NULL : g),
                  SPMM_ERR_USAGE);
        CHECK_INT(spmm_multivector_dot(MPI_COMM_NULL, &x, &y, g, K), SPMM_ERR_USAGE);
        CHECK_INT(spmm_multivector_norms(MPI_COMM_NULL, &x, g), SPMM_ERR_USAGE);
        CHECK_INT(spmm_multivector_dot(MPI_COMM_WORLD, &x, &y, g, K), SPMM_OK); /* nothing was left behind */
    }
    TEST("more inner products than fit are refused") {
        const spmm_multivector wide = {0, 1 << 20, 1 << 20, SPMM_F64, SPMM_CPU, NULL, 0, 0, SPMM_ROW_MAJOR};
        CHECK_INT(spmm_multivector_dot(MPI_COMM_WORLD, &wide, &wide, g, 1 << 20), SPMM_ERR_LIMIT);
    }
    if (size == 1) return;
    TEST("columns and precision must be the same on every rank") {
        const spmm_multivector x = good(0), y = good(1);
        other = good(1), other.k = 2;
        CHECK_ERROR(spmm_multivector_dot(MPI_COMM_WORLD, &x, test_.rank ? &y : &other, g, K), SPMM_ERR_USAGE,
                    "y.k is 2 on one rank and 3 on another");
        CHECK_INT(spmm_multivector_norms(MPI_COMM_WORLD, test_.rank ? &y : &other, g), SPMM_ERR_USAGE);
        other = good(1), other.precision = SPMM_F32;
        CHECK_ERROR(spmm_multivector_norms(MPI_COMM_WORLD, test_.rank ? &y : &other, g), SPMM_ERR_USAGE,
                    "precision is 0 on one rank and 1 on another");
    }
    TEST("a rank that fails ends the call on every rank") {
        setenv("SPMM_FAULT", "dot:1", 1);
        const spmm_multivector x = good(0);
        CHECK_INT(spmm_multivector_norms(MPI_COMM_WORLD, &x, g), SPMM_ERR_INTERNAL);
        unsetenv("SPMM_FAULT");
        CHECK_TEXT(spmm_error_message(), "rank 1: SPMM_FAULT");
    }
}

/** Checks small matrices in host memory that overlap a multivector, by one element at either end or
 *  inside. */
static void test_overlaps(void)
{
    static double many[4 * ROWS * K];
    spmm_multivector x = good(0), y = good(1);
    double *const at = many + ROWS * K;
    double *const in_x[] = {at - (K * K - 1), at, at + 4, at + ROWS * K - 1};
    x.data = at;
    TEST("G, norms, R and factors that overlap a multivector are refused, and what only touches it is not") {
        for (int i = 0; i < 4; i++) {
            CHECK_ERROR(spmm_multivector_dot(MPI_COMM_WORLD, &x, &y, in_x[i], K), SPMM_ERR_USAGE,
                        "spmm_multivector_dot: g and x overlap in memory");
            CHECK_ERROR(spmm_multivector_dot(MPI_COMM_WORLD, &y, &x, in_x[i], K), SPMM_ERR_USAGE,
                        "spmm_multivector_dot: g and y overlap in memory");
            CHECK_ERROR(spmm_multivector_times(1, &y, in_x[i], K, 0, &x), SPMM_ERR_USAGE,
                        "spmm_multivector_times: r and y overlap in memory");
            CHECK_INT(spmm_multivector_times(1, &x, in_x[i], K, 0, &y), SPMM_OK); /* both are only read */
            double *const few = i == 0 ? at - (K - 1) : in_x[i];
            CHECK_ERROR(spmm_multivector_norms(MPI_COMM_WORLD, &x, few), SPMM_ERR_USAGE,
                        "spmm_multivector_norms: norm and x overlap in memory");
            CHECK_ERROR(spmm_multivector_scale(few, &x), SPMM_ERR_USAGE,
                        "spmm_multivector_scale: factor and x overlap in memory");
        }
        CHECK_INT(spmm_multivector_dot(MPI_COMM_WORLD, &x, &x, at - K * K, K), SPMM_OK);
        CHECK_INT(spmm_multivector_norms(MPI_COMM_WORLD, &x, at + ROWS * K), SPMM_OK);
        refused(&y, &x, at, K, "g and y overlap"); /* on the last rank alone */
    }
    TEST("leading dimensions of small matrices beyond 64 bits are refused") {
        const int64_t huge = INT64_C(1) << 60;
        CHECK_ERROR(spmm_multivector_dot(MPI_COMM_WORLD, &x, &y, g, huge), SPMM_ERR_USAGE, "64 bits");
        CHECK_ERROR(spmm_multivector_times(1, &x, g, huge, 0, &y), SPMM_ERR_USAGE, "64 bits");
    }
}

/** Checks factors of 0: what they multiply is not read, and its NaNs and infinities have no effect. */
static void check_zero_factors(spmm_precision precision, double zero)
{
    static const double betas[] = {0, 1, -2}; /* exact in f32, too */
    const shape s = {40, 3, 3, 2, 0, 0};
    for (int b = 0; b < 3; b++)
        for (int times = 0; times < 2; times++) {
            void *mx, *my;
            spmm_multivector x = make(&s, K, 1, precision, &mx), y = make(&s, K, 2, precision, &my);
            double r[K * K];
            for (int i = 0; i < K * K; i++) r[i] = i % 2 ? NAN : INFINITY;
            memset(mx, 0xff, (size_t)(x.rows * sp_row_bytes(&x)));
            for (int64_t i = 0; i < y.rows; i++) {
                if (betas[b] == 0) sp_value_set(y.data, precision, i * y.ld, NAN);
                if (betas[b] == 1) sp_value_set(y.data, precision, i * y.ld, -0.0);
            }
            CHECK_INT(times ? spmm_multivector_times(zero, &x, r, K, betas[b], &y)
                            : spmm_multivector_axpby(zero, &x, betas[b], &y),
                      SPMM_OK);
            for (int64_t i = 0; i < y.rows; i++)
                for (int64_t j = 0; j < y.ld; j++) {
                    const double e = element(2, first_row(s.rows, test_.rank) + i, j),
                                 found = sp_value_get(y.data, precision, i * y.ld + j);
                    if (j >= K)
                        CHECK(isnan(found)); /* padding stays */
                    else if (j == 0 && betas[b] == 1)
                        CHECK(found == 0 && signbit(found));
                    else
                        CHECK(betas[b] == 0 ? found == 0 : found == betas[b] * e);
                }
            free(mx), free(my);
        }
}

static void test_zero_factors(void)
{
    TEST("with alpha = 0 neither X nor R is read, and Y is beta Y: zeros, unchanged, multiplied") {
        check_zero_factors(SPMM_F64, 0);
        check_zero_factors(SPMM_F32, -0.0);
        check_zero_factors(SPMM_F32, 1e-60); /* 0 in the precision of X */
    }
}

static void test_wrong_local(void)
{
    const spmm_multivector x = good(0);
    spmm_multivector y = good(1), v;
    TEST("local operations refuse each wrong argument by name") {
        for (int i = 0; i < 8; i++) {
            v = *bad(i);
            CHECK_ERROR(spmm_multivector_times(1, &v, g, K, 0, &y), SPMM_ERR_USAGE, said[i]);
            CHECK_INT(spmm_multivector_times(1, &x, g, K, 0, &v), SPMM_ERR_USAGE);
            CHECK_ERROR(spmm_multivector_axpby(1, &v, 0, &y), SPMM_ERR_USAGE, said[i]);
            CHECK_INT(spmm_multivector_axpby(1, &x, 0, &v), SPMM_ERR_USAGE);
            CHECK_ERROR(spmm_multivector_scale(g, &v), SPMM_ERR_USAGE, said[i]);
        }
        CHECK_INT(spmm_multivector_times(1, NULL, g, K, 0, &y), SPMM_ERR_USAGE);
        CHECK_ERROR(spmm_multivector_times(1, &x, NULL, K, 0, &y), SPMM_ERR_USAGE,
                    "r is NULL, expected a matrix with a row for each column of x");
        CHECK_INT(spmm_multivector_times(1, &x, g, K, 0, NULL), SPMM_ERR_USAGE);
        CHECK_ERROR(spmm_multivector_times(1, &x, g, K - 1, 0, &y), SPMM_ERR_USAGE,
                    "spmm_multivector_times: ldr is 2");
        CHECK_INT(spmm_multivector_axpby(1, NULL, 0, &y), SPMM_ERR_USAGE);
        CHECK_INT(spmm_multivector_axpby(1, &x, 0, NULL), SPMM_ERR_USAGE);
        CHECK_INT(spmm_multivector_scale(NULL, &y), SPMM_ERR_USAGE);
        CHECK_INT(spmm_multivector_scale(g, NULL), SPMM_ERR_USAGE);
        y.k = 2;
        CHECK_ERROR(spmm_multivector_axpby(1, &x, 0, &y), SPMM_ERR_USAGE,
                    "x has 3 columns and y 2, expected the same");
        y = good(1), y.rows = 5;
        CHECK_INT(spmm_multivector_times(1, &x, g, K, 0, &y), SPMM_ERR_USAGE);
        y = good(0), y.data = data[0] + 1, y.rows = ROWS;
        CHECK_ERROR(spmm_multivector_times(1, &x, g, K, 0, &y), SPMM_ERR_USAGE,
                    "spmm_multivector_times: x and y overlap in memory");
    }
}

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    test_collective();
    test_local();
    test_wrong_collective();
    test_wrong_local();
    test_overlaps();
    test_zero_factors();
    return test_mpi_end();
}
