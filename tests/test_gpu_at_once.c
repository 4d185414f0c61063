/* MPI: 1
 * Products without a plan of a matrix in GPU memory have the bits of the products on the CPU. */
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "kernels/features.h"
#include "plan/plan_struct.h"
#include "planned.h"
#include "sample.h"
#include "spmm_extended.h"

static const char *const specs[] = {"lap3d27:6", "rmat:8,6", "longrows:300,2,1,290", "longrows:5000,2,2,4900",
                                    "uniform:200,3"};

static void *on_gpu(const void *from, int64_t bytes)
{
    void *to;
    CHECK_INT(sp_device_alloc(&to, bytes, "a test"), SPMM_OK);
    CHECK_INT(sp_device_upload(to, from, bytes), SPMM_OK);
    return to;
}

/** Copies integers to GPU memory, as integers of `bytes` bytes. */
static void *integers_on_gpu(const void *from, int from_bytes, int64_t count, int bytes)
{
    char *const to = malloc((size_t)(count + 1) * 8);
    for (int64_t i = 0; i < count; i++) {
        const int64_t value = from_bytes == 8 ? ((const int64_t *)from)[i] : ((const int32_t *)from)[i];
        if (bytes == 8)
            ((int64_t *)(void *)to)[i] = value;
        else
            ((int32_t *)(void *)to)[i] = (int32_t)value;
    }
    void *const there = on_gpu(to, count * bytes);
    free(to);
    return there;
}

static spmm_rows rows_on_gpu(const spmm_csr *a, int irp_bytes, int ja_bytes)
{
    return (spmm_rows){.irp = integers_on_gpu(a->irp, 8, a->rows + 1, irp_bytes),
                       .ja = integers_on_gpu(a->ja, 4, a->nnz, ja_bytes),
                       .as = on_gpu(a->as, a->nnz * (a->precision == SPMM_F64 ? 8 : 4)),
                       .irp_bytes = irp_bytes,
                       .ja_bytes = ja_bytes};
}

static void drop(const spmm_rows *r)
{
    sp_device_free((void *)(uintptr_t)r->irp);
    sp_device_free((void *)(uintptr_t)r->ja);
    sp_device_free((void *)(uintptr_t)r->as);
}

/** Returns a multivector of that layout. */
static spmm_multivector made(int64_t rows, int64_t k, spmm_precision precision, spmm_device space,
                             spmm_layout layout)
{
    const int by_columns = layout == SPMM_COLUMN_MAJOR;
    spmm_multivector v;
    CHECK_INT(spmm_multivector_create(by_columns ? k : rows, by_columns ? rows : k, precision, space, &v),
              SPMM_OK);
    v.rows = rows;
    v.k = k;
    v.layout = layout;
    return v;
}

/** Compares a product with the one on the CPU, bit by bit. */
static void check_product(const spmm_csr *a, const spmm_rows *there, int64_t k, double alpha, double beta,
                          spmm_layout layout)
{
    const spmm_rows here = {.irp = a->irp, .ja = a->ja, .as = a->as, .irp_bytes = 8, .ja_bytes = 4};
    enum { X, GPU_X, Y, GPU_Y, BACK, PLAIN, PLAIN_BACK, ALL };
    spmm_multivector v[ALL];
    for (int i = 0; i < ALL; i++)
        v[i] = made(i <= GPU_X ? a->cols : a->rows, k, a->precision,
                    i == GPU_X || i == GPU_Y ? SPMM_CUDA : SPMM_CPU, i >= PLAIN ? SPMM_ROW_MAJOR : layout);
    sample_fill(&v[PLAIN], SAMPLE_REALS, 5);
    CHECK_INT(spmm_multivector_copy(&v[PLAIN], &v[Y]), SPMM_OK);
    for (int64_t i = 0; i < a->cols * k; i++)
        sample_set(v[X].data, a->precision,
                   i / (layout == SPMM_ROW_MAJOR ? k : a->cols) * v[X].ld +
                       i % (layout == SPMM_ROW_MAJOR ? k : a->cols),
                   sample_value(SAMPLE_REALS, 9, (uint64_t)i, 0));
    CHECK_INT(spmm_multivector_copy(&v[X], &v[GPU_X]), SPMM_OK);
    CHECK_INT(spmm_multivector_copy(&v[Y], &v[GPU_Y]), SPMM_OK);
    CHECK_INT(spmm_rows_apply(there, alpha, &v[GPU_X], beta, &v[GPU_Y], 0), SPMM_OK);
    CHECK_INT(spmm_multivector_copy(&v[GPU_Y], &v[BACK]), SPMM_OK);
    CHECK_INT(spmm_rows_apply(&here, alpha, &v[X], beta, &v[Y], 0), SPMM_OK);
    CHECK_INT(spmm_multivector_copy(&v[Y], &v[PLAIN]), SPMM_OK);
    CHECK_INT(spmm_multivector_copy(&v[BACK], &v[PLAIN_BACK]), SPMM_OK);
    CHECK(sample_same(&v[PLAIN_BACK], &v[PLAIN]));
    for (int i = 0; i < ALL; i++) spmm_multivector_destroy(&v[i]);
}

static void check_products(spmm_precision precision)
{
    static const int64_t ks[] = {1, 3, 8, 64};
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
        for (int n = 0; n < 4; n++) {
            spmm_csr a;
            CHECK_INT(spmm_csr_generate(specs[s], precision, &a), SPMM_OK);
            for (int64_t e = 0; e < a.nnz; e++)
                sample_set(a.as, precision, e, sample_value(SAMPLE_REALS, 3, (uint64_t)e, 0));
            const spmm_rows there = rows_on_gpu(&a, n & 1 ? 4 : 8, n & 2 ? 8 : 4);
            check_product(&a, &there, ks[n], 1, 0, SPMM_ROW_MAJOR);
            check_product(&a, &there, ks[n], -2, 1, n & 1 ? SPMM_COLUMN_MAJOR : SPMM_ROW_MAJOR);
            drop(&there);
            spmm_csr_destroy(&a);
        }
}

/** Checks that a product with these changes of the matrix's indices is refused. */
static void refused(spmm_csr *a, int64_t start, int64_t by, int64_t entry, int32_t column, const char *text)
{
    const int32_t before = a->ja[entry];
    spmm_multivector x, y;
    a->irp[start] += by;
    a->ja[entry] = column;
    const spmm_rows rows = rows_on_gpu(a, 4, 8);
    CHECK_INT(spmm_multivector_create(a->cols, 2, SPMM_F64, SPMM_CUDA, &x), SPMM_OK);
    CHECK_INT(spmm_multivector_create(a->rows, 2, SPMM_F64, SPMM_CUDA, &y), SPMM_OK);
    CHECK_ERROR(spmm_rows_apply(&rows, 1, &x, 0, &y, 0), SPMM_ERR_USAGE, text);
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
    drop(&rows);
    a->irp[start] -= by;
    a->ja[entry] = before;
}

static void test_copies(void)
{
    spmm_csr a, gpu;
    CHECK_INT(spmm_csr_generate("rmat:8,6", SPMM_F64, &a), SPMM_OK);
    TEST("a copy of a matrix on the GPU is multiplied by a plan for few products as it is") {
        spmm_plan_options options = {.device = SPMM_CUDA, .products = 10};
        spmm_block block = {.rows = a.rows, .cols = a.cols, .x_rows = a.cols, .p = 1, .q = 1};
        spmm_multivector host = sample_multivector(a.cols, 3, 3, SPMM_F64), back = host, right = host;
        planned p;
        char *text;
        CHECK_INT(spmm_csr_upload(&a, &gpu), SPMM_OK);
        block.csr = gpu;
        planned_of(&block, 3, &options, &p);
        back = sample_multivector(a.rows, 3, 3, SPMM_F64);
        right = sample_multivector(a.rows, 3, 3, SPMM_F64);
        sample_fill(&host, SAMPLE_REALS, 3);
        const spmm_rows rows = {.irp = a.irp, .ja = a.ja, .as = a.as, .irp_bytes = 8, .ja_bytes = 4};
        CHECK_INT(spmm_rows_apply(&rows, 1, &host, 0, &right, 0), SPMM_OK);
        CHECK_INT(spmm_multivector_copy(&host, &p.x), SPMM_OK);
        CHECK_INT(spmm_apply(p.plan, 1, &p.x, 0, &p.y), SPMM_OK);
        CHECK_INT(spmm_multivector_copy(&p.y, &back), SPMM_OK);
        CHECK(sample_same(&back, &right));
        CHECK_INT(spmm_plan_view_text(p.plan, &text), SPMM_OK);
        CHECK_TEXT(text, "csr_rows on csr, few products, of a matrix in GPU memory");
        free(text);
        planned_destroy(&p);
        spmm_csr_destroy(&gpu);
        free(host.data);
        free(back.data);
        free(right.data);
    }
    TEST("a matrix with wrong indices is not copied") {
        a.ja[a.nnz - 1] = (int32_t)a.cols;
        CHECK_ERROR(spmm_csr_upload(&a, &gpu), SPMM_ERR_USAGE, "or are outside 0 to 255");
        CHECK(gpu.irp == NULL && gpu.ja == NULL && gpu.as == NULL);
    }
    spmm_csr_destroy(&a);
}

/** Compares a plan whose matrix stays in GPU memory with one of a matrix in host memory: the kernel, and the
 *  bits of products, also after updates of values and with the transpose. */
static void check_plans(const char *spec, spmm_precision precision, spmm_format format, int64_t k)
{
    spmm_plan_options options = {
        .device = SPMM_CUDA, .format = format, .products = precision == SPMM_F64 ? 200 : 30};
    const spmm_plan_study study = {.quick_plan = 1};
    spmm_csr a, gpu;
    spmm_plan *plan[2];
    spmm_multivector v[2][4]; /* X, Y, X from Y, a copy in host memory */
    CHECK_INT(spmm_csr_generate(spec, precision, &a), SPMM_OK);
    for (int64_t e = 0; e < a.nnz; e++)
        sample_set(a.as, precision, e, sample_value(SAMPLE_REALS, 3, (uint64_t)e, 0));
    CHECK_INT(spmm_csr_upload(&a, &gpu), SPMM_OK);
    for (int there = 0; there < 2; there++) {
        const spmm_block block = {
            .csr = there ? gpu : a, .rows = a.rows, .cols = a.cols, .x_rows = a.cols, .p = 1, .q = 1};
        CHECK_INT(spmm_plan_create_extended(MPI_COMM_WORLD, &block, k, &options, &study, &plan[there]),
                  SPMM_OK);
        for (int i = 0; i < 4; i++)
            CHECK_INT(spmm_multivector_create(i % 2 ? a.rows : a.cols, k, precision,
                                              i == 3 ? SPMM_CPU : SPMM_CUDA, &v[there][i]),
                      SPMM_OK);
    }
    CHECK_TEXT(spmm_plan_kernel(plan[1]), spmm_plan_kernel(plan[0]));
    CHECK((plan[1]->own->host.csr.irp == NULL) == (plan[1]->forward->given->on_gpu != NULL));
    spmm_multivector x = sample_multivector(a.cols, k, k, precision),
                     back = sample_multivector(a.cols, k, k, precision),
                     right = sample_multivector(a.cols, k, k, precision);
    sample_fill(&x, SAMPLE_REALS, 9);
    for (int version = 0; version < 3; version++) {
        for (int there = 0; there < 2; there++) {
            CHECK_INT(spmm_multivector_copy(&x, &v[there][0]), SPMM_OK);
            CHECK_INT(spmm_apply(plan[there], 1, &v[there][0], 0, &v[there][1]), SPMM_OK);
            CHECK_INT(spmm_multivector_copy(&v[there][1], &v[there][3]), SPMM_OK);
            if (version > 0)
                CHECK_INT(spmm_apply_transposed(plan[there], 1, &v[there][1], 0, &v[there][2]), SPMM_OK);
            if (version > 0) CHECK_INT(spmm_multivector_copy(&v[there][2], there ? &back : &right), SPMM_OK);
        }
        CHECK(sample_same(&v[1][3], &v[0][3]));
        CHECK(version == 0 || sample_same(&back, &right));
        for (int64_t e = 0; e < a.nnz; e++)
            sample_set(a.as, precision, e, sample_value(SAMPLE_REALS, 4 + version, (uint64_t)e, 0));
        CHECK_INT(sp_device_upload(gpu.as, a.as, a.nnz * sp_value_size(precision)), SPMM_OK);
        for (int there = 0; there < 2; there++) CHECK_INT(spmm_plan_update_values(plan[there]), SPMM_OK);
    }
    CHECK((plan[1]->own->host.csr.irp == NULL) == (plan[1]->forward->given->on_gpu != NULL));
    for (int there = 0; there < 2; there++) {
        spmm_plan_destroy(plan[there]);
        for (int i = 0; i < 4; i++) spmm_multivector_destroy(&v[there][i]);
    }
    free(x.data);
    free(back.data);
    free(right.data);
    spmm_csr_destroy(&gpu);
    spmm_csr_destroy(&a);
}

static void test_plans(void)
{
    static const char *const of[] = {"lap3d27:9",     "lap2d5:40", "rmat:9,8", "longrows:3000,3,4,2500",
                                     "uniform:700,5", "fem3:6",    "lap2d5:1"};
    TEST("the features of a matrix in GPU memory are, bit by bit, those that the host finds")
        for (size_t s = 0; s < sizeof of / sizeof *of; s++) {
            spmm_csr a, gpu;
            sp_features here, there;
            CHECK_INT(spmm_csr_generate(of[s], SPMM_F32, &a), SPMM_OK);
            CHECK_INT(spmm_csr_upload(&a, &gpu), SPMM_OK);
            for (int64_t diagonal = 0; diagonal < 3; diagonal++) {
                sp_features_of(&a, diagonal, 0, 1, &here);
                CHECK_INT(sp_cuda_features(&gpu, diagonal, &there), SPMM_OK);
                CHECK(memcmp(&here, &there, sizeof here) == 0);
            }
            spmm_csr_destroy(&gpu);
            spmm_csr_destroy(&a);
        }
    TEST("a plan of a matrix in GPU memory has the kernel and the bits of a plan of one in host memory")
        for (size_t s = 0; s < sizeof of / sizeof *of; s++)
            for (int format = SPMM_FORMAT_AUTO; format < SPMM_FORMAT_COUNT; format++)
                for (int precision = SPMM_F64; precision <= SPMM_F32 && format != SPMM_ELL; precision++)
                    check_plans(of[s], (spmm_precision)precision, (spmm_format)format, format % 2 ? 3 : 16);
}

static void test_refused(void)
{
    spmm_csr a;
    CHECK_INT(spmm_csr_generate("lap2d5:9", SPMM_F64, &a), SPMM_OK);
    TEST("wrong indices in GPU memory are refused") {
        refused(&a, 0, 1, 0, 0, "row starts");
        refused(&a, 3, 40, 0, 0, "row starts");
        refused(&a, 0, 0, 0, -1, "or are outside 0 to 80");
        refused(&a, 0, 0, a.nnz - 1, 81, "or are outside 0 to 80");
        refused(&a, 0, 0, a.nnz - 1, a.ja[a.nnz - 2], "do not increase");
        refused(&a, 0, 0, 1, 0, "do not increase");
    }
    TEST("a matrix in another memory than X is refused") {
        const spmm_rows rows = {.irp = a.irp, .ja = a.ja, .as = a.as, .irp_bytes = 8, .ja_bytes = 4};
        spmm_multivector x, y;
        CHECK_INT(spmm_multivector_create(a.cols, 2, SPMM_F64, SPMM_CUDA, &x), SPMM_OK);
        CHECK_INT(spmm_multivector_create(a.rows, 2, SPMM_F64, SPMM_CUDA, &y), SPMM_OK);
        CHECK_ERROR(spmm_rows_apply(&rows, 1, &x, 0, &y, 0), SPMM_ERR_USAGE, "a is in host memory");
        spmm_multivector_destroy(&x);
        spmm_multivector_destroy(&y);
    }
    spmm_csr_destroy(&a);
}

int main(int argc, char **argv)
{
    int size;
    test_mpi_begin(&argc, &argv, &size);
    if (!gpu_opened("a product at once on a GPU has the bits of one on the CPU")) return test_mpi_end();
    TEST("a product at once on a GPU has the bits of one on the CPU, in f64") { check_products(SPMM_F64); }
    TEST("a product at once on a GPU has the bits of one on the CPU, in f32") { check_products(SPMM_F32); }
    test_copies();
    test_plans();
    test_refused();
    spmm_device_close();
    return test_mpi_end();
}
