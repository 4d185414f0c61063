/* MPI: 1 2 4. The diagonal of a plan's matrix on GPUs, also if the plan's CSR is in GPU memory, and scaled
 * rows there. */
#include "diagonal_cases.h"

/** A copy in GPU memory. */
static void *upload(const void *from, int64_t bytes)
{
    void *there;
    CHECK_INT(sp_device_alloc(&there, bytes, "a test"), SPMM_OK);
    CHECK_INT(sp_device_upload(there, from, bytes), SPMM_OK);
    return there;
}

static void test_csr_on_gpu(void)
{
    TEST("the diagonal of a CSR in GPU memory, also with new values there") {
        const spmm_plan_options options = {.device = SPMM_CUDA};
        for (int q = 1; q <= size; q = next_divisor(size, q)) {
            distributed d;
            spmm_plan *plan;
            distributed_create("rmat:7,8", SPMM_F64, q, &d);
            spmm_block block = d.block;
            spmm_csr *const a = &block.csr;
            const int64_t bytes = a->nnz * (int64_t)sizeof(double);
            a->irp = upload(a->irp, (a->rows + 1) * (int64_t)sizeof *a->irp);
            a->ja = upload(a->ja, a->nnz * (int64_t)sizeof *a->ja);
            a->as = upload(a->as, bytes);
            CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, 4, &options, &plan), SPMM_OK);
            check_diagonal(&d, plan);
            change_values(&d, 1);
            CHECK_INT(sp_device_upload(a->as, d.block.csr.as, bytes), SPMM_OK);
            CHECK_INT(spmm_plan_update_values(plan), SPMM_OK);
            check_diagonal(&d, plan);
            spmm_plan_destroy(plan);
            sp_device_free(a->irp);
            sp_device_free(a->ja);
            sp_device_free(a->as);
            distributed_destroy(&d);
        }
    }
}

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    device = SPMM_CUDA;
    if (!gpu_opened("diagonals and scaled rows on GPUs")) return test_mpi_end();
    test_diagonals();
    test_wrong_diagonals();
    test_csr_on_gpu();
    test_scaled_rows();
    test_wrong_rows();
    spmm_device_close();
    return test_mpi_end();
}
