/* Operations on multivectors in GPU memory, compared with those in host memory, which test_multivector_ops
 * tests.
 * MPI: 1 2 */
#include <math.h>

#include "device/device.h"
#include "formats/multivector.h"
#include "planned.h"
#include "sample.h"

/** more: by how much leading dimensions exceed their minimum. */
typedef struct shape {
    int64_t rows, kx, ky, more;
} shape;

static const shape shapes[] = {{0, 3, 2, 0},    {1, 1, 1, 0},      {5, 1, 7, 3},     {130, 8, 8, 0},
                               {999, 13, 9, 2}, {3000, 17, 33, 1}, {300, 70, 65, 0}, {7001, 16, 3, 0}};
enum { SHAPES = sizeof shapes / sizeof *shapes, MOST = 300 };

/** A multivector of random numbers, and a copy in the GPU's memory. */
typedef struct pair {
    spmm_multivector host, gpu;
    void *there;
} pair;

static pair make(const shape *s, int64_t k, uint64_t seed, spmm_precision precision)
{
    pair p = {.host = sample_multivector(s->rows, k, k + s->more, precision)};
    const int64_t bytes = sp_multivector_bytes(&p.host);
    for (int64_t i = 0; i < s->rows; i++)
        for (int64_t j = 0; j < k; j++)
            sp_value_set(p.host.data, precision, i * p.host.ld + j,
                         sp_random_unit(seed + 10 * (uint64_t)test_.rank, (uint64_t)i, (uint64_t)j));
    CHECK_INT(sp_device_alloc(&p.there, bytes, "a test"), SPMM_OK);
    CHECK_INT(sp_device_upload(p.there, p.host.data, bytes), SPMM_OK);
    p.gpu = p.host;
    p.gpu.data = p.there;
    p.gpu.space = SPMM_CUDA;
    return p;
}

static void release(pair *p)
{
    free(p->host.data);
    sp_device_free(p->there);
}

/** Checks that both multivectors of the pair have the same elements, up to rounding, and that padding is as
 *  it was. */
static void check_same(const pair *p, double tolerance)
{
    const spmm_multivector *const v = &p->host;
    spmm_multivector back = sample_multivector(v->rows, v->k, v->ld, v->precision);
    CHECK_INT(sp_device_download(back.data, p->there, sp_multivector_bytes(v)), SPMM_OK);
    for (int64_t i = 0; i < v->rows; i++)
        for (int64_t j = 0; j < v->ld; j++) {
            const double found = sp_multivector_get(&back, i, j);
            CHECK(j < v->k ? fabs(found - sp_multivector_get(v, i, j)) <= tolerance : isnan(found));
        }
    free(back.data);
}

static double tolerance(const shape *s, spmm_precision precision)
{
    return (double)(s->kx + 3) * (precision == SPMM_F64 ? 0x1p-51 : 0x1p-22);
}

static void check_dot(const shape *s, spmm_precision precision)
{
    pair x = make(s, s->kx, 1, precision), y = make(s, s->ky, 2, precision);
    static double g[3][MOST * MOST];
    const size_t bytes = sizeof(double) * (size_t)(s->kx * s->ky);
    CHECK_INT(spmm_multivector_dot(MPI_COMM_WORLD, &x.host, &y.host, g[0], s->ky), SPMM_OK);
    CHECK_INT(spmm_multivector_dot(MPI_COMM_WORLD, &x.gpu, &y.gpu, g[1], s->ky), SPMM_OK);
    CHECK_INT(spmm_multivector_dot(MPI_COMM_WORLD, &x.gpu, &y.gpu, g[2], s->ky), SPMM_OK);
    CHECK(memcmp(g[1], g[2], bytes) == 0);
    for (int64_t e = 0; e < s->kx * s->ky; e++)
        CHECK(fabs(g[0][e] - g[1][e]) <= 1e-14 * (double)(s->rows + 1));
    CHECK_INT(spmm_multivector_norms(MPI_COMM_WORLD, &x.host, g[0]), SPMM_OK);
    CHECK_INT(spmm_multivector_norms(MPI_COMM_WORLD, &x.gpu, g[1]), SPMM_OK);
    for (int64_t e = 0; e < s->kx; e++) CHECK(fabs(g[0][e] - g[1][e]) <= 1e-14 * (double)(s->rows + 1));
    CHECK_INT(spmm_multivector_dot(MPI_COMM_WORLD, &x.gpu, &x.gpu, g[2], s->kx), SPMM_OK);
    for (int64_t i = 0; i < s->kx; i++)
        for (int64_t j = 0; j < i; j++) CHECK(g[2][i * s->kx + j] == g[2][j * s->kx + i]);
    release(&x), release(&y);
}

static void check_times(const shape *s, spmm_precision precision, double alpha, double beta, int place)
{
    pair x = make(s, s->kx, 1, precision), y = make(s, s->ky, 2, precision);
    static double r[MOST * MOST];
    const int64_t ldr = s->ky + 1;
    for (int64_t e = 0; e < s->kx * ldr; e++) r[e] = sp_random_unit(3, (uint64_t)e, 0);
    if (place) {
        release(&y);
        y = x;
        y.host.k = y.gpu.k = s->ky < s->kx ? s->ky : s->kx;
    }
    CHECK_INT(spmm_multivector_times(alpha, &x.host, r, ldr, beta, &y.host), SPMM_OK);
    CHECK_INT(spmm_multivector_times(alpha, &x.gpu, r, ldr, beta, &y.gpu), SPMM_OK);
    if (place)
        y.host.k = y.gpu.k = x.host.k;
    else
        release(&x);
    check_same(&y, tolerance(s, precision));
    release(&y);
}

static void check_sums(const shape *s, spmm_precision precision)
{
    pair x = make(s, s->kx, 1, precision), y = make(s, s->kx, 2, precision);
    double factor[MOST];
    for (int64_t j = 0; j < s->kx; j++) factor[j] = (double)(j % 5) - 1.5;
    CHECK_INT(spmm_multivector_axpby(0.5, &x.host, -2, &y.host), SPMM_OK);
    CHECK_INT(spmm_multivector_axpby(0.5, &x.gpu, -2, &y.gpu), SPMM_OK);
    CHECK_INT(spmm_multivector_scale(factor, &x.host), SPMM_OK);
    CHECK_INT(spmm_multivector_scale(factor, &x.gpu), SPMM_OK);
    check_same(&x, 0);
    check_same(&y, tolerance(s, precision));
    release(&x), release(&y);
}

static void test_operations(void)
{
    for (int p = 0; p < 2; p++) {
        const spmm_precision precision = (spmm_precision)p;
        TEST("inner products and norms on the GPU are those of the CPU, with the same bits in every run")
            for (int i = 0; i < SHAPES; i++) check_dot(&shapes[i], precision);
        TEST("Y := alpha X R + beta Y on the GPU is that of the CPU, in place, too")
            for (int i = 0; i < SHAPES; i++)
                for (int place = 0; place < 2; place++) {
                    check_times(&shapes[i], precision, 1, 0, place);
                    check_times(&shapes[i], precision, -0.75, 1.5, place);
                    check_times(&shapes[i], precision, 0, 0, place);
                    check_times(&shapes[i], precision, 0, 1.5, place);
                }
        TEST("sums and scaled columns on the GPU are those of the CPU")
            for (int i = 0; i < SHAPES; i++) check_sums(&shapes[i], precision);
    }
}

static void test_spaces(void)
{
    double g[4];
    TEST("x and y in different memory are refused") {
        pair x = make(&shapes[1], 1, 1, SPMM_F64);
        CHECK_ERROR(spmm_multivector_dot(MPI_COMM_WORLD, &x.host, &x.gpu, g, 1), SPMM_ERR_USAGE,
                    "in host memory and y 1 rows of f64 in GPU memory");
        CHECK_INT(spmm_multivector_times(1, &x.gpu, g, 1, 0, &x.host), SPMM_ERR_USAGE);
        CHECK_INT(spmm_multivector_axpby(1, &x.gpu, 0, &x.host), SPMM_ERR_USAGE);
        x.gpu.space = SPMM_CPU;
        CHECK_ERROR(spmm_multivector_norms(MPI_COMM_WORLD, &x.gpu, g), SPMM_ERR_USAGE,
                    "x.data is in GPU memory");
        x.gpu.space = SPMM_CUDA;
        release(&x);
    }
}

int main(int argc, char **argv)
{
    int size;
    test_mpi_begin(&argc, &argv, &size);
    double one = 1;
    spmm_multivector v = {1, 1, 1, SPMM_F64, SPMM_CUDA, &one, 0, 0, SPMM_ROW_MAJOR};
    TEST("without an open GPU operations on its memory are refused") {
        CHECK_INT(spmm_multivector_dot(MPI_COMM_WORLD, &v, &v, &one, 1), SPMM_ERR_NO_DEVICE);
        CHECK_INT(spmm_multivector_norms(MPI_COMM_WORLD, &v, &one), SPMM_ERR_NO_DEVICE);
        CHECK_INT(spmm_multivector_times(1, &v, &one, 1, 0, &v), SPMM_ERR_NO_DEVICE);
        CHECK_INT(spmm_multivector_axpby(1, &v, 0, &v), SPMM_ERR_NO_DEVICE);
        CHECK_INT(spmm_multivector_scale(&one, &v), SPMM_ERR_NO_DEVICE);
    }
    if (!gpu_opened("operations on multivectors in GPU memory")) return test_mpi_end();
    test_operations();
    test_spaces();
    spmm_device_close();
    return test_mpi_end();
}
