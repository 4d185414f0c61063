/* MPI: 1 2 3. limit: 300. The gradient of the values of a plan's matrix on GPUs, also if the plan's CSR is in
 * GPU memory, and in a stream. */
#include "values_gradient_cases.h"

static void test_csr_on_gpu(void)
{
    TEST("the gradient of a CSR in GPU memory, in a plan's stream of one rank")
        for (int64_t products = 0; products <= 10; products += 10) {
            spmm_plan_options options = {.device = SPMM_CUDA, .products = products};
            distributed d, there;
            spmm_plan *plan;
            distributed_create("rmat:7,8", SPMM_F64, 1, &d);
            there = d;
            CHECK_INT(spmm_csr_upload(&d.block.csr, &there.block.csr), SPMM_OK);
            CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &there.block, 16, &options, &plan), SPMM_OK);
            if (size == 1) CHECK_INT(spmm_plan_set_stream(plan, sp_device_stream(SP_STREAM_MOVE)), SPMM_OK);
            for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
                check_gradient(plan, &d, widths[w], (int)w % 16);
                if (w == 4) check_products(plan, &d.a, &d.block);
            }
            spmm_plan_destroy(plan);
            spmm_csr_destroy(&there.block.csr);
            distributed_destroy(&d);
        }
}

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    device = SPMM_CUDA;
    if (!gpu_opened("the gradient of the values on GPUs")) return test_mpi_end();
    test_gradients();
    test_csr_on_gpu();
    test_wrong_gradients();
    spmm_device_close();
    return test_mpi_end();
}
