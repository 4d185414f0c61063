/* MPI: 1 4. Results do not depend on the floating-point environment of the caller or of its threads, and
 * each call leaves these environments as they were. limit: 240 */
#include <math.h>
#include <omp.h>

#include "files.h"
#include "fp_environments.h"
#include "mmio.h"
#include "formats/csr.h"
#include "formats/multivector.h"
#include "spmm.h"
#include "test_mpi.h"

enum { THREADS = 3, ROWS = 300, K = 5, LEAST_K = 1 };

static fp_environment mine, of_workers;
static uint64_t digest;
static int size;
/* 0: OpenMP sets the calling thread's environment for all threads, as LLVM's does */
static int threads_differ;

/* Calls a function of the library in the environment that is being tested. */
#define CALL(call)                                       \
    do {                                                 \
        fp_set(mine);                                    \
        const int status_ = (call);                      \
        const int kept_ = fp_kept(mine);                 \
        fp_set(FP_DEFAULT);                              \
        CHECK_INT(status_, 0);                           \
        if (!kept_) printf("  not kept by %s\n", #call); \
        CHECK(kept_);                                    \
    } while (0)

static void add(const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        digest = (digest ^ ((const unsigned char *)bytes)[i]) * UINT64_C(1099511628211);
}

static void add_values(const spmm_csr *a)
{
    add(a->irp, (size_t)(a->rows + 1) * sizeof *a->irp);
    add(a->as, (size_t)(a->nnz * sp_value_size(a->precision)));
}

static int64_t place(const spmm_multivector *v, int64_t i, int64_t j)
{
    return v->layout == SPMM_COLUMN_MAJOR ? j * v->ld + i : i * v->ld + j;
}

static void add_elements(const spmm_multivector *v)
{
    for (int64_t i = 0; i < v->rows; i++)
        for (int64_t j = 0; j < v->k; j++) {
            const double e = sp_value_get(v->data, v->precision, place(v, i, j));
            add(&e, sizeof e);
        }
}

/** Sets the environment of each thread but the calling one. */
static void set_workers(fp_environment e)
{
#pragma omp parallel num_threads(THREADS)
    if (omp_get_thread_num() > 0) fp_set(e);
}

static int workers_keep(fp_environment e)
{
    int kept = 1;
#pragma omp parallel num_threads(THREADS) reduction(& : kept)
    if (omp_get_thread_num() > 0) kept &= fp_kept(e);
    return kept;
}

/** A value that f64 does not represent exactly, in one case of eight a subnormal number. */
static double value(int64_t i, int64_t j, spmm_precision precision)
{
    const double v = (double)((i * 31 + j * 17) % 101 - 50) / 7;
    return (i + j) % 8 ? v : v * (precision == SPMM_F32 ? 1e-40 : 1e-310);
}

static void fill_values(spmm_multivector *x, int64_t first)
{
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < x->k; j++)
            sp_value_set(x->data, x->precision, place(x, i, j), value(first + i, j, x->precision));
}

/** Triplets with three entries per place, a few thousand, so that several threads take part. */
static void from_triplets(spmm_precision precision, spmm_csr *a)
{
    enum { N = 9 * ROWS };
    static int64_t row[N], col[N];
    static double values[N];
    for (int64_t t = 0; t < N; t++) {
        row[t] = t % ROWS;
        col[t] = (t % ROWS * 7 + t / (3 * ROWS)) % ROWS;
        values[t] = value(t, t / ROWS, precision);
    }
    CALL(spmm_csr_from_triplets(ROWS, ROWS, N, row, col, values, precision, a));
}

/** Numbers whose last bit depends on the rounding mode, also halfway between two f64 numbers. */
static void read_text(spmm_precision precision)
{
    static const char *const numbers[] = {"0.1",
                                          "9007199254740993",
                                          "1.7976931348623157e308",
                                          "2.2250738585072011e-308",
                                          "5e-324",
                                          "123456789.123456789e-3",
                                          "0.1000000000000000055511151231257827021181583404541015625"};
    static char text[1 << 16];
    size_t used = 0;
    spmm_csr a;
    for (int i = 0; i < ROWS; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%d %d %s%s\n", i + 1, i + 1,
                                 i % 2 ? "-" : "", numbers[precision == SPMM_F32 && i % 7 == 2 ? 0 : i % 7]);
    char head[100];
    const int bytes = snprintf(
        head, sizeof head, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", ROWS, ROWS, ROWS);
    FILE *const f = fopen(path, "w");
    fwrite(head, 1, (size_t)bytes, f);
    fwrite(text, 1, used, f);
    fclose(f);
    CALL(spmm_csr_read(path, precision, &a));
    add_values(&a);
    spmm_csr_destroy(&a);
}

/** Reads a file and adds its values. \param [in] edges  1: it is a list of edges */
static void read_as(const char *name, int edges, const char *text, spmm_precision precision)
{
    char file[300];
    spmm_csr a;
    snprintf(file, sizeof file, "%s/%s", folder, name);
    write_file(file, text, strlen(text));
    if (edges)
        CALL(spmm_csr_read_edges(file, 0, precision, &a));
    else
        CALL(spmm_csr_read(file, precision, &a));
    add_values(&a);
    spmm_csr_destroy(&a);
}

/** Values that are inexact, duplicates, and in f32 a subnormal number. */
static void read_others(spmm_precision precision)
{
    char text[1000];
    const int n = sprintf(text, "%-72s%-8s\n%14d%14d%14d%14d\n%-14s%14d%14d%14d%14d\n%-16s%-16s%-20s\n",
                          "title", "key", 3, 1, 1, 1, "RUA", 2, 1, 2, 0, "(16I5)", "(16I5)", "(2E12.4)");
    sprintf(text + n, "    1    3\n    1    2\n  0.1000E+00  0.3000E-41\n");
    read_as("rb", 0, text, precision);
    read_as("edges", 1, "0 1 0.1\n1 0 0.7\n0 1 1e-5\n", precision);
}

static void by_mmio(void)
{
    int rows, cols, nz, *I, *J;
    double *val;
    char copy[300];
    MM_typecode code;
    snprintf(copy, sizeof copy, "%s.2", path);
    CALL(mm_read_mtx_crd(path, &rows, &cols, &nz, &I, &J, &val, &code));
    add(val, (size_t)nz * sizeof *val);
    CALL(mm_write_mtx_crd(copy, rows, cols, nz, I, J, val, code));
    FILE *const f = fopen(copy, "r");
    for (int c; (c = getc(f)) != EOF;) add(&c, 1);
    fclose(f);
    free(I);
    free(J);
    free(val);
}

static void products(const spmm_block *block, const spmm_plan_options *options, int64_t k)
{
    spmm_plan *plan;
    spmm_multivector x, y, d, by_columns;
    double r[K * K], gram[K * K], norm[K], factor[K];
    char *text;
    CALL(spmm_plan_create(MPI_COMM_WORLD, block, k, options, &plan));
    CALL(spmm_plan_x_create(plan, &x));
    CALL(spmm_plan_y_create(plan, &y));
    fill_values(&x, block->x_begin);
    set_workers(of_workers); /* OpenMP may have replaced threads, when it needed fewer */
    CALL(spmm_apply(plan, 1, &x, 0, &y));
    CHECK(!threads_differ || workers_keep(of_workers));
    add_elements(&y);
    CALL(spmm_apply_begin(plan, 0.1, &x, 1 / 3., &y));
    CALL(spmm_apply_end(plan));
    add_elements(&y);
    CALL(spmm_plan_update_values(plan));
    CALL(spmm_multivector_create(y.rows, k, y.precision, SPMM_CPU, &by_columns));
    by_columns.layout = SPMM_COLUMN_MAJOR;
    by_columns.ld = y.rows > 0 ? y.rows : 1;
    fill_values(&by_columns, 3);
    CALL(spmm_apply(plan, 0.7, &x, 0.1, &by_columns));
    add_elements(&by_columns);
    spmm_multivector_destroy(&by_columns);
    CALL(spmm_apply_transposed(plan, 0.3, &y, 0, &x));
    add_elements(&x);
    CALL(spmm_multivector_create(y.rows, 1, y.precision, SPMM_CPU, &d));
    CALL(spmm_plan_diagonal(plan, &d));
    add_elements(&d);
    for (int i = 0; i < K * K; i++) r[i] = value(i, 1, y.precision);
    for (int i = 0; i < K; i++) factor[i] = 1 / (i + 3.);
    CALL(spmm_multivector_scale_rows(&d, &y));
    CALL(spmm_multivector_scale(factor, &y));
    CALL(spmm_multivector_dot(MPI_COMM_WORLD, &y, &y, gram, k));
    CALL(spmm_multivector_norms(MPI_COMM_WORLD, &y, norm));
    add(gram, (size_t)(k * k) * sizeof *gram);
    add(norm, (size_t)k * sizeof *norm);
    if (x.rows == y.rows) {
        CALL(spmm_multivector_axpby(0.1, &y, 1.1, &x));
        CALL(spmm_multivector_times(0.1, &y, r, K, 0.9, &x));
        add_elements(&x);
    }
    if (k > LEAST_K) {
        CALL(spmm_plan_set_k(plan, LEAST_K));
        spmm_multivector one_x = x, one_y = y;
        one_x.k = one_y.k = LEAST_K;
        CALL(spmm_apply(plan, 1, &one_x, 0, &one_y));
        add_elements(&one_y);
    }
    CALL(spmm_plan_view_text(plan, &text));
    free(text);
    spmm_multivector_destroy(&d);
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
    spmm_plan_destroy(plan);
}

/** Computes the digest of all results in the environments `caller` and `workers`. */
static uint64_t run(fp_environment caller, fp_environment workers)
{
    static const char *const kernels[] = {NULL,       "cpu_csr", "cpu_sorted", "cpu_segmented",
                                          "cpu_sell", "cpu_ell"};
    digest = UINT64_C(1469598103934665603);
    mine = caller;
    of_workers = workers;
    set_workers(workers);
    for (int p = 0; p < 2; p++) {
        const spmm_precision precision = p ? SPMM_F32 : SPMM_F64;
        const char *const specs[] = {"lap2d5:20", "uniform:200,9", "longrows:200,9,2,180"};
        spmm_csr a;
        spmm_block block;
        for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
            CALL(spmm_csr_generate(specs[s], precision, &a));
            add_values(&a);
            spmm_csr_destroy(&a);
        }
        if (test_.rank == 0) {
            read_text(precision);
            read_others(precision);
            by_mmio();
        }
        from_triplets(precision, &a);
        add_values(&a);
        for (int q = 1; q <= 2 && size % q == 0; q++) {
            CALL(spmm_csr_scatter(MPI_COMM_WORLD, 0, &a, size / q, q, &block));
            for (size_t n = 0; n < sizeof kernels / sizeof *kernels; n++) {
                const spmm_plan_options options = {
                    .kernel = kernels[n],
                    .threads = THREADS,
                    .exchange_precision = p == 0 && q == 1 && n == 1 ? SPMM_F32 : SPMM_F64};
                products(&block, &options, n % 2 ? LEAST_K : K);
            }
            spmm_block_destroy(&block);
        }
        spmm_cut cut;
        CALL(spmm_cut_create(MPI_COMM_WORLD, 0, &a, SPMM_CUT_LAYOUT, K, NULL, &cut));
        CALL(spmm_cut_scatter(MPI_COMM_WORLD, 0, &a, &cut, &block));
        add(cut.begin, (size_t)(size + 1) * sizeof *cut.begin);
        products(&block, NULL, K);
        spmm_block_destroy(&block);
        spmm_cut_destroy(&cut);
        spmm_csr_destroy(&a);
    }
    set_workers(FP_DEFAULT);
    return digest;
}

int main(int argc, char **argv)
{
    /* teams of other sizes would have new threads, which have none of the environments that are set here */
    setenv("OMP_DYNAMIC", "false", 1);
    static const char *const names[] = {"the default environment",
                                        "trapped exceptions",
                                        "flushed subnormal numbers",
                                        "rounding up",
                                        "rounding down",
                                        "rounding to zero",
                                        "all of them"};
    test_mpi_begin(&argc, &argv, &size);
    files_begin("numbers.mtx");
    omp_set_num_threads(THREADS);
    uint64_t expected = 0;
    set_workers(FP_UP);
    threads_differ = workers_keep(FP_UP);
    for (int e = 0; e < FP_ENVIRONMENTS; e++) {
        TEST(test_name("results and environments are kept: %s", names[e])) {
            if (e == 0) expected = run(FP_DEFAULT, FP_DEFAULT);
            CHECK(run((fp_environment)e, FP_DEFAULT) == expected);
            CHECK(run(FP_DEFAULT, (fp_environment)e) == expected);
            CHECK(run((fp_environment)e, (fp_environment)e) == expected);
        }
    }
    files_end();
    return test_mpi_end();
}
