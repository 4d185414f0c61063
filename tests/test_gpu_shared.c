/* Ranks that share one GPU: NCCL is refused, auto does not use it, and no rank hangs.
 * MPI: 1 2 4 */
#include "gpu_products_cases.h"

/** Hides all but the first of the GPUs that this process sees. */
static void hide_others(void)
{
    static char first[256];
    const char *const visible = getenv("CUDA_VISIBLE_DEVICES");
    snprintf(first, sizeof first, "%.*s", visible ? (int)strcspn(visible, ",") : 1, visible ? visible : "0");
    setenv("CUDA_VISIBLE_DEVICES", first, 1);
}

int main(int argc, char **argv)
{
    int size;
    spmm_block block;
    reference r;
    spmm_plan *plan;
    hide_others(); /* before any call of CUDA */
    test_mpi_begin(&argc, &argv, &size);
    if (!gpu_opened("ranks share a GPU")) return test_mpi_end();
    make_block("lap3d7:12", SPMM_F64, INTEGERS, 0, 0, &block);
    reference_create(&block, 5, INTEGERS, SPMM_REDUCE_AUTO, &r);
    TEST("where ranks share a GPU, NCCL is refused on every rank, with the reason") {
        const spmm_plan_options nccl = {.device = SPMM_CUDA, .transport = SPMM_TRANSPORT_NCCL};
        const spmm_status status = spmm_plan_create(MPI_COMM_WORLD, &block, 5, &nccl, &plan);
        if (status == SPMM_ERR_USAGE) /* a build without NCCL */
            CHECK_TEXT(spmm_error_message(), "NCCL");
        else if (size > 1)
            CHECK_ERROR(status, SPMM_ERR_DEVICE, "share a GPU");
        CHECK(size == 1 || plan == NULL);
        spmm_plan_destroy(plan);
    }
    TEST("the other transports, and auto, multiply right") {
        for (int t = SPMM_TRANSPORT_AUTO; t <= SPMM_TRANSPORT_PEER; t++)
            for (int o = 0; o < 2 && t != SPMM_TRANSPORT_CUDA_AWARE && t != SPMM_TRANSPORT_NCCL; o++)
                check_plan(&block, &r,
                           &(spmm_plan_options){
                               .device = SPMM_CUDA, .transport = (spmm_transport)t, .no_overlap = o});
    }
    reference_destroy(&r);
    spmm_block_destroy(&block);
    TEST("so do they with process columns") {
        make_block("uniform:300,5", SPMM_F64, INTEGERS, 1, size, &block);
        for (int s = SPMM_REDUCE_AUTO; s <= SPMM_REDUCE_MPI; s++) {
            reference_create(&block, 3, INTEGERS, (spmm_reduce)s, &r);
            check_plan(&block, &r, &(spmm_plan_options){.device = SPMM_CUDA, .reduce = (spmm_reduce)s});
            reference_destroy(&r);
        }
        spmm_block_destroy(&block);
    }
    spmm_device_close();
    return test_mpi_end();
}
