/* Every CUDA kernel with launch shapes that a user may set, and several products with one set-up: small
 * integers make each product exact in any order of summation.
 *
 * --brief: one launch shape, K and product of each kernel, for compute-sanitizer's racecheck. An emulated GPU
 * implies it. */
#include "test.h"

#include "device/device.h"
#include "formats/matrix.h"
#include "formats/serial.h"
#include "kernels/kernel.h"
#include "sample.h"

enum { ROWS = 203, COLS = 3000, LONG_ROW = 7, REPEATS = 3, POISON = 0xff };

static const sp_shape shapes[] = {{0, 0},  {32, 0},  {32, 1},  {96, 2},    {128, 32},
                                  {0, 16}, {512, 8}, {672, 4}, {1024, 32}, {1024, 1}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static int brief;

/** Makes a matrix with rows of 0 to 6 entries, except one that has every column. */
static void make_matrix(spmm_precision precision, spmm_csr *a)
{
    sp_coo coo;
    int64_t n = 0;
    for (int64_t i = 0; i < ROWS; i++) n += i == LONG_ROW ? COLS : i % 7;
    CHECK(sp_coo_create(ROWS, COLS, n, SP_GENERAL, precision, 1, &coo) == SPMM_OK);
    n = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t j = 0; j < (i == LONG_ROW ? COLS : i % 7); j++, n++) {
            coo.I[n] = (int32_t)i;
            coo.J[n] = (int32_t)(i == LONG_ROW ? j : (i * 37 + j * 411) % COLS);
            sample_set(coo.val, precision, n, sample_value(SAMPLE_INTEGERS, 5, (uint64_t)n, 0));
        }
    }
    CHECK(sp_csr_from_coo(&coo, 1, a, NULL) == SPMM_OK);
}

/** Checks the record of the last launch: numbers that a GPU allows, and for kernels that support them the
 *  block size and the subwarp that the user asked for. */
static void check_launch(const sp_kernel *kernel, sp_shape asked)
{
    const sp_launch_shape taken = sp_device_last_launch();
    CHECK(taken.blocks > 0 && taken.block > 0 && taken.block <= 1024);
    CHECK(taken.registers > 0 && taken.registers <= 255);
    CHECK(taken.static_shared >= 0 && taken.dynamic_shared >= 0);
    CHECK(taken.resident > 0 && taken.occupancy > 0 && taken.occupancy <= 1);
    if (strncmp(kernel->id, "csr_scalar", 10) == 0 && asked.block > 0) CHECK_INT(taken.block, asked.block);
    if (strncmp(kernel->id, "csr_vector_subwarp", 18) == 0 && asked.subwarp > 0)
        CHECK_INT(taken.subwarp, asked.subwarp);
    CHECK_INT(sp_device_last_launch().block, 0); /* reading clears the record */
}

/** Checks several products with one set-up, each into a Y of NaN. */
static void check_kernel(const sp_kernel *kernel, const sp_matrix *m, const spmm_csr *csr, sp_shape shape,
                         const spmm_multivector *x, spmm_multivector *y, const spmm_multivector *expected)
{
    const sp_setup setup = {m, csr, x->k, 1, shape, x->k, 0};
    const int64_t bytes = y->rows * y->ld * (int64_t)sp_value_size(y->precision);
    spmm_multivector back = sample_multivector(y->rows, y->k, y->ld, y->precision);
    void *state = NULL;
    int right = 1;
    if (kernel->ops->prepare) right = kernel->ops->prepare(&setup, &state) == SPMM_OK;
    const sp_launch launch = {
        .a = m, .state = state, .shape = shape, .x = x, .y = y, .stream = sp_device_stream(SP_STREAM_MAIN)};
    for (int n = 0; n < (brief ? 1 : REPEATS) && right; n++) {
        memset(back.data, POISON, (size_t)bytes);
        right = sp_device_upload(y->data, back.data, bytes) == SPMM_OK &&
                kernel->ops->run(&launch) == SPMM_OK && sp_device_sync() == SPMM_OK &&
                spmm_multivector_copy(y, &back) == SPMM_OK && sample_same(&back, expected);
        if (!right && test_.failed++ < 10)
            printf("  kernel %s, block %d, sub-warp %d, K = %lld, product %d: wrong (%s)\n", kernel->id,
                   shape.block, shape.subwarp, (long long)x->k, n + 1, spmm_error_message());
    }
    CHECK(right);
    check_launch(kernel, shape);
    if (kernel->ops->release) kernel->ops->release(state);
    free(back.data);
}

static void check_columns(const spmm_csr *csr, const sp_matrix device[SP_FORMATS], int64_t k)
{
    int count;
    const sp_kernel *const kernels = sp_kernels(&count);
    sp_matrix host;
    spmm_multivector x_host = sample_multivector(csr->cols, k, k, csr->precision), x, y,
                     expected = sample_multivector(csr->rows, k, k, csr->precision);
    sample_fill(&x_host, SAMPLE_INTEGERS, 8);
    sp_matrix_view_csr(csr, &host);
    sp_serial_product(&host, 0, csr->rows, &x_host, &expected);
    CHECK(spmm_multivector_create(csr->cols, k, csr->precision, SPMM_CUDA, &x) == SPMM_OK);
    CHECK(spmm_multivector_create(csr->rows, k, csr->precision, SPMM_CUDA, &y) == SPMM_OK);
    CHECK(spmm_multivector_copy(&x_host, &x) == SPMM_OK);
    for (int i = 0; i < count; i++)
        for (int s = 0; s < (brief ? 1 : SHAPES) && kernels[i].device == SPMM_CUDA; s++)
            check_kernel(&kernels[i], &device[kernels[i].format], csr, shapes[s], &x, &y, &expected);
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
    free(x_host.data);
    free(expected.data);
}

static void check_precision(spmm_precision precision)
{
    static const int64_t ks[] = {5, 1, 64, 300};
    spmm_csr csr;
    sp_matrix device[SP_FORMATS];
    make_matrix(precision, &csr);
    for (int f = SP_FIRST_FORMAT; f < SP_FORMATS; f++)
        CHECK(sp_matrix_create(&csr, (spmm_format)f, SPMM_CUDA, 1e9, 0, 2, &device[f]) == SPMM_OK);
    for (size_t n = 0; n < (brief ? 1 : sizeof ks / sizeof *ks); n++) check_columns(&csr, device, ks[n]);
    for (int f = SP_FIRST_FORMAT; f < SP_FORMATS; f++) sp_matrix_destroy(&device[f]);
    spmm_csr_destroy(&csr);
}

int main(int argc, char **argv)
{
    const char *why;
    brief = (argc > 1 && strcmp(argv[1], "--brief") == 0) || sample_gpu_is_emulated();
    if (sp_device_count(&why) == 0) {
        SKIP("every GPU kernel is right with any launch shape and for product after product", why);
        return test_end();
    }
    TEST("a GPU is opened") { CHECK(sp_device_open(0) == SPMM_OK); }
    if (!sp_device_stream(SP_STREAM_MAIN)) return test_end();
    TEST("every GPU kernel is right with any launch shape and for product after product: f64") {
        check_precision(SPMM_F64);
    }
    TEST("every GPU kernel is right with any launch shape and for product after product: f32") {
        check_precision(SPMM_F32);
    }
    sp_device_close();
    return test_end();
}
