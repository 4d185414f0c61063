/* The GPU through the public interface, as a program that embeds the library uses it.
 * MPI: 1 2 4 */
#include "device/device.h"
#include "kernels/kernel.h"
#include "planned.h"
#include "spmm_extended.h"
#include "test_mpi.h"

/** Checks that the products of this rank's rows on the GPU are those on the CPU, bit for bit. */
static void compare(const spmm_block *block, int64_t k, spmm_format format, spmm_exchange exchange)
{
    const spmm_plan_options on_cpu = {.exchange = exchange},
                            on_gpu = {.device = SPMM_CUDA, .format = format, .exchange = exchange};
    planned cpu, gpu;
    spmm_multivector back;
    planned_of(block, k, &on_cpu, &cpu);
    planned_of(block, k, &on_gpu, &gpu);
    CHECK_INT(spmm_multivector_create(block->csr.rows, k, SPMM_F64, SPMM_CPU, &back), SPMM_OK);
    for (int64_t i = 0; i < cpu.x.rows * cpu.x.ld; i++)
        ((double *)cpu.x.data)[i] = (double)((block->x_begin + i) * 37 % 101) / 64 - 0.7;
    CHECK_INT(spmm_multivector_copy(&cpu.x, &gpu.x), SPMM_OK);
    CHECK_INT(spmm_apply(cpu.plan, 1, &cpu.x, 0, &cpu.y), SPMM_OK);
    CHECK_INT(spmm_apply(gpu.plan, 1, &gpu.x, 0, &gpu.y), SPMM_OK);
    CHECK_INT(spmm_multivector_copy(&gpu.y, &back), SPMM_OK);
    for (int64_t i = 0; i < back.rows; i++)
        CHECK(memcmp((double *)cpu.y.data + i * cpu.y.ld, (double *)back.data + i * back.ld, (size_t)k * 8) ==
              0);
    CHECK_INT(spmm_apply(gpu.plan, 1, &cpu.x, 0, &cpu.y), SPMM_ERR_USAGE); /* host memory to a GPU plan */
    spmm_multivector_destroy(&back);
    planned_destroy(&cpu);
    planned_destroy(&gpu);
}

/** Memory of the other kind is refused before anything reads it: both plans still work. */
static void wrong_memory(const spmm_block *block)
{
    const spmm_plan_options on_gpu = {.device = SPMM_CUDA};
    planned p[2];
    for (int i = 0; i < 2; i++) planned_of(block, 4, i ? &on_gpu : NULL, &p[i]);
    for (int i = 0; i < 2; i++) {
        spmm_multivector wrong = p[i].x;
        if (sp_device_reach(p[!i].x.data) == SP_REACH_ANY)
            continue; /* a GPU that reads all of the host's memory */
        wrong.data = p[!i].x.data;
        CHECK_ERROR(spmm_apply(p[i].plan, 1, &wrong, 0, &p[i].y), SPMM_ERR_USAGE,
                    i ? "x.data is in host memory, but x.space is SPMM_CUDA"
                      : "x.data is in GPU memory, but x.space is SPMM_CPU");
        CHECK_INT(spmm_multivector_copy(&wrong, &p[i].y), SPMM_ERR_USAGE);
        wrong = p[i].y;
        wrong.data = p[!i].y.data;
        CHECK_ERROR(spmm_apply(p[i].plan, 1, &p[i].x, 0, &wrong), SPMM_ERR_USAGE, "y.data");
    }
    for (int i = 0; i < 2; i++) {
        CHECK_INT(spmm_apply(p[i].plan, 1, &p[i].x, 0, &p[i].y), SPMM_OK);
        planned_destroy(&p[i]);
    }
}

/** Y := A X in f32 by a kernel on a GPU, X of given elements. \return 1; 0: the kernel refuses the matrix or
 *  the GPU */
static int product_f32(MPI_Comm comm, const spmm_block *block, int64_t k, const char *kernel,
                       spmm_multivector *y)
{
    const spmm_plan_options options = {.device = SPMM_CUDA, .format = SPMM_FORMAT_AUTO, .kernel = kernel};
    spmm_plan *plan = NULL;
    spmm_multivector x, x_gpu, y_gpu;
    const spmm_status status = spmm_plan_create(comm, block, k, &options, &plan);
    if (status == SPMM_ERR_LIMIT) return 0;
    CHECK_INT(status, SPMM_OK);
    CHECK_INT(spmm_plan_x_create(plan, &x_gpu), SPMM_OK);
    CHECK_INT(spmm_plan_y_create(plan, &y_gpu), SPMM_OK);
    CHECK_INT(spmm_multivector_create(x_gpu.rows, k, SPMM_F32, SPMM_CPU, &x), SPMM_OK);
    CHECK_INT(spmm_multivector_create(y_gpu.rows, k, SPMM_F32, SPMM_CPU, y), SPMM_OK);
    for (int64_t i = 0; i < x.rows; i++)
        for (int64_t j = 0; j < k; j++)
            ((float *)x.data)[i * x.ld + j] = (float)((block->x_begin + i) * 37 % 101 + j) / 63;
    CHECK_INT(spmm_multivector_copy(&x, &x_gpu), SPMM_OK);
    CHECK_INT(spmm_apply(plan, 1, &x_gpu, 0, &y_gpu), SPMM_OK);
    CHECK_INT(spmm_multivector_copy(&y_gpu, y), SPMM_OK);
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&x_gpu);
    spmm_multivector_destroy(&y_gpu);
    spmm_plan_destroy(plan);
    return 1;
}

/** Checks that in f32 a plan with option `exact` uses no kernel that sums in f64, and is refused for the
 *  formats of these kernels. */
static void check_exact(const spmm_block *block, int64_t k)
{
    for (int f = SPMM_FORMAT_AUTO; f <= SPMM_STAGED; f++) {
        const spmm_plan_options options = {.device = SPMM_CUDA, .format = (spmm_format)f, .exact = 1};
        const spmm_plan_study padded = {.ell_limit = 1e9};
        const int refused = f == SPMM_PANEL || f == SPMM_STAGED;
        spmm_plan *plan = NULL;
        CHECK_INT(spmm_plan_create_extended(MPI_COMM_WORLD, block, k, &options, &padded, &plan),
                  refused ? SPMM_ERR_USAGE : SPMM_OK);
        if (refused) CHECK_TEXT(spmm_error_message(), "keeps the serial product's bits in f32");
        CHECK(strncmp(spmm_plan_kernel(plan), "panel", 5) != 0);
        spmm_plan_destroy(plan);
    }
}

/** Compares products by the kernels that plans choose from, which may differ from each other in f32. */
static void compare_ranks(const char *spec, int size)
{
    enum { K = 32 };
    int count;
    const sp_kernel *const kernels = sp_kernels(&count);
    spmm_csr a;
    spmm_block block, whole;
    CHECK_INT(spmm_csr_generate(spec, SPMM_F32, &a), SPMM_OK);
    for (int64_t e = 0; e < a.nnz; e++) ((float *)a.as)[e] = (float)(e * 29 % 97) / 61 - 0.7F;
    CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, &a, size, 1, &block), SPMM_OK);
    CHECK_INT(spmm_csr_scatter(MPI_COMM_SELF, 0, &a, 1, 1, &whole), SPMM_OK);
    for (const sp_kernel *kernel = kernels; kernel < kernels + count; kernel++) {
        spmm_multivector y, alone;
        if (kernel->device != SPMM_CUDA || kernel->chosen == SP_AUTO_NO) continue;
        if (!product_f32(MPI_COMM_WORLD, &block, K, kernel->id, &y)) continue;
        CHECK_INT(product_f32(MPI_COMM_SELF, &whole, K, kernel->id, &alone), 1);
        for (int64_t i = 0; i < y.rows; i++)
            CHECK(memcmp((float *)y.data + i * y.ld, (float *)alone.data + (block.row_begin + i) * alone.ld,
                         K * sizeof(float)) == 0);
        spmm_multivector_destroy(&y);
        spmm_multivector_destroy(&alone);
    }
    check_exact(&block, K);
    spmm_block_destroy(&block);
    spmm_block_destroy(&whole);
    spmm_csr_destroy(&a);
}

int main(int argc, char **argv)
{
    int size;
    spmm_block block;
    spmm_multivector v;
    test_mpi_begin(&argc, &argv, &size);
    TEST("before a GPU is opened, memory on it is refused") {
        CHECK_INT(spmm_multivector_create(3, 2, SPMM_F64, SPMM_CUDA, &v), SPMM_ERR_NO_DEVICE);
        CHECK(v.data == NULL && strlen(spmm_error_message()) > 0);
    }
    const spmm_status opened = spmm_device_open(MPI_COMM_WORLD);
    if (opened != SPMM_OK) {
        TEST("without a GPU, opening one fails alike on every rank and says why") {
            CHECK_ERROR(opened, SPMM_ERR_NO_DEVICE, "no usable GPU on");
        }
        SKIP("GPU and CPU plans agree bit for bit through the public interface", "no usable GPU");
        return test_mpi_end();
    }
    TEST("GPU and CPU plans agree bit for bit through the public interface, in every format") {
        scattered("lap3d27:9", SPMM_F64, 0, 0, &block);
        for (int f = SPMM_CSR; f <= SPMM_ELL_NOPAD; f++)
            for (int64_t k = 1; k <= 40; k += 13) compare(&block, k, (spmm_format)f, SPMM_EXCHANGE_AUTO);
        spmm_block_destroy(&block);
    }
    TEST("in f32 a kernel that plans choose gives the same bits on any number of ranks, panels too") {
        compare_ranks("fem3:3", size);
        compare_ranks("rmat:7,6", size);
    }
    TEST("partial rows of Y of the joint exchange agree, too") {
        scattered("rmat:10,8", SPMM_F64, 0, 0, &block);
        for (int64_t k = 1; k <= 40; k += 13) compare(&block, k, SPMM_CSR, SPMM_EXCHANGE_JOINT);
        spmm_block_destroy(&block);
    }
    TEST("host memory given as the GPU's, and the GPU's as host memory, are refused") {
        scattered("lap3d27:9", SPMM_F64, 0, 0, &block);
        wrong_memory(&block);
        spmm_block_destroy(&block);
    }
    spmm_device_close();
    TEST("after the GPU is closed, memory on it is refused again") {
        CHECK_INT(spmm_multivector_create(3, 2, SPMM_F64, SPMM_CUDA, &v), SPMM_ERR_NO_DEVICE);
    }
    return test_mpi_end();
}
