/* CUDA kernels that start while the previous one ends: a chain of products, each of which needs the one
 * before, is queued without a wait in between, and equals the serial products. */
#include "test.h"

#include "device/device.h"
#include "formats/matrix.h"
#include "formats/multivector.h"
#include "formats/serial.h"
#include "kernels/kernel.h"
#include "sample.h"

enum { PRODUCTS = 8, TIMES = 3 };

/** A matrix and a multivector, and the result of PRODUCTS products in host memory. */
typedef struct chain {
    const char *spec;
    spmm_csr a;
    sp_matrix device[SP_FORMATS];
    spmm_multivector start, end;
} chain;

static void serial_chain(chain *c, int64_t k)
{
    sp_matrix view;
    spmm_multivector next;
    c->start = sample_multivector(c->a.rows, k, k, c->a.precision);
    c->end = sample_multivector(c->a.rows, k, k, c->a.precision);
    next = sample_multivector(c->a.rows, k, k, c->a.precision);
    sp_multivector_generate(&c->start, SP_X_UNIFORM, 7, 0, 1);
    sp_matrix_view_csr(&c->a, &view);
    sp_serial_product(&view, 0, c->a.rows, &c->start, &c->end);
    for (int n = 1; n < PRODUCTS; n++) {
        sp_serial_product(&view, 0, c->a.rows, &c->end, &next);
        const spmm_multivector swap = c->end;
        c->end = next;
        next = swap;
    }
    free(next.data);
}

/** Runs the chain on the GPU; the result is in v[0], as PRODUCTS is even. */
static spmm_status run_chain(const sp_kernel *kernel, void *state, const sp_matrix *m, spmm_multivector v[2])
{
    for (int n = 0; n < PRODUCTS; n++) {
        const sp_launch launch = {.a = m,
                                  .state = state,
                                  .x = &v[n % 2],
                                  .y = &v[(n + 1) % 2],
                                  .stream = sp_device_stream(SP_STREAM_MAIN)};
        TRY(kernel->ops->run(&launch));
    }
    return sp_device_sync();
}

static void check_kernel(const chain *c, const sp_kernel *kernel, spmm_multivector v[2])
{
    const int64_t k = c->start.k;
    const sp_setup setup = {&c->device[kernel->format], &c->a, k, 1, {0}, k, 0};
    spmm_multivector back = sample_multivector(c->a.rows, k, k, c->a.precision);
    void *state = NULL;
    if (kernel->ops->prepare) CHECK_INT(kernel->ops->prepare(&setup, &state), SPMM_OK);
    for (int n = 0; n < TIMES; n++) {
        CHECK_INT(spmm_multivector_copy(&c->start, &v[0]), SPMM_OK);
        CHECK_INT(run_chain(kernel, state, setup.a, v), SPMM_OK);
        CHECK_INT(spmm_multivector_copy(&v[0], &back), SPMM_OK);
        const int same = sample_same(&back, &c->end);
        if (!same)
            printf("      kernel %s, %s, K = %lld: another result\n", kernel->id, c->spec, (long long)k);
        CHECK(same);
    }
    if (kernel->ops->release) kernel->ops->release(state);
    free(back.data);
}

/** Whether a kernel computes the bits of the serial product. */
static int is_exact(const sp_kernel *kernel, spmm_precision precision)
{
    return kernel->device == SPMM_CUDA &&
           (kernel->exact == SP_EXACT_YES || (kernel->exact == SP_EXACT_F64 && precision == SPMM_F64));
}

static void check_columns(chain *c, int64_t k)
{
    int count;
    const sp_kernel *const kernels = sp_kernels(&count);
    spmm_multivector v[2];
    serial_chain(c, k);
    for (int i = 0; i < 2; i++)
        CHECK_INT(spmm_multivector_create(c->a.rows, k, c->a.precision, SPMM_CUDA, &v[i]), SPMM_OK);
    for (int i = 0; i < count; i++)
        if (is_exact(&kernels[i], c->a.precision) && c->device[kernels[i].format].rows > 0)
            check_kernel(c, &kernels[i], v);
    for (int i = 0; i < 2; i++) spmm_multivector_destroy(&v[i]);
    free(c->start.data);
    free(c->end.data);
}

/** Checks the exact kernels on a matrix. If a row is too long for padded ELLPACK, that format's kernels are
 *  skipped. */
static void check_spec(const char *spec, spmm_precision precision)
{
    static const int64_t columns[] = {1, 2, 4, 8, 64};
    chain c = {.spec = spec};
    CHECK_INT(spmm_csr_generate(spec, precision, &c.a), SPMM_OK);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        for (int f = SP_FIRST_FORMAT; f < SP_FORMATS; f++) {
            const spmm_status status = sp_matrix_create(&c.a, (spmm_format)f, SPMM_CUDA, 3, columns[i], 2,
                                                        &c.device[f]);
            CHECK(status == SPMM_OK || status == SPMM_ERR_LIMIT);
        }
        check_columns(&c, columns[i]);
        for (int f = SP_FIRST_FORMAT; f < SP_FORMATS; f++) sp_matrix_destroy(&c.device[f]);
    }
    spmm_csr_destroy(&c.a);
}

int main(void)
{
    /* short rows; medium and long rows; a long row of many sections; many blocks; more than SP_STAGED_ENTRIES
     * entries */
    static const char *const specs[] = {"lap3d7:20", "rmat:11,40", "longrows:3000,2,3,2900",
                                        "longrows:300000,1,3,20000", "rmat:15,40"};
    const char *why;
    if (sp_device_count(&why) == 0) {
        SKIP("products that need each other, queued without a wait, are right", why);
        return test_end();
    }
    CHECK_INT(sp_device_open(0), SPMM_OK);
    TEST("products that need each other, queued without a wait, are right: f64") {
        for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) check_spec(specs[s], SPMM_F64);
    }
    TEST("products that need each other, queued without a wait, are right: f32") {
        for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) check_spec(specs[s], SPMM_F32);
    }
    sp_device_close();
    return test_end();
}
