/** A user's program: it uses only spmm.h and an installed libspmm (tests/test_install.sh). Computes row sums
 *  of the 5-point Laplacian, through the product with ones, on any number of ranks. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <spmm.h>

#define DO(call)                                                      \
    do {                                                              \
        if ((call) != SPMM_OK) {                                      \
            fprintf(stderr, "%s: %s\n", #call, spmm_error_message()); \
            MPI_Abort(MPI_COMM_WORLD, 1);                             \
        }                                                             \
    } while (0)

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    const int64_t k = 3;
    spmm_csr a;
    spmm_block block;
    memset(&a, 0, sizeof a);
    if (rank == 0) DO(spmm_csr_generate("lap2d5:20", SPMM_F64, &a));
    DO(spmm_csr_scatter(MPI_COMM_WORLD, 0, &a, 0, 0, &block));
    spmm_csr_destroy(&a);

    spmm_plan *plan = NULL;
    spmm_multivector x, y;
    DO(spmm_plan_create(MPI_COMM_WORLD, &block, k, NULL, &plan));
    DO(spmm_plan_x_create(plan, &x));
    DO(spmm_plan_y_create(plan, &y));
    for (int64_t i = 0; i < x.rows; i++)
        for (int64_t j = 0; j < k; j++) ((double *)x.data)[i * x.ld + j] = 1;
    DO(spmm_apply(plan, 1, &x, 0, &y));

    long long wrong = 0, rows = block.csr.rows, all_wrong, all_rows;
    for (int64_t i = 0; i < block.csr.rows; i++) {
        double sum = 0;
        for (int64_t e = block.csr.irp[i]; e < block.csr.irp[i + 1]; e++)
            sum += ((const double *)block.csr.as)[e];
        for (int64_t j = 0; j < k; j++) wrong += fabs(((const double *)y.data)[i * y.ld + j] - sum) > 1e-12;
    }
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&rows, &all_rows, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("spmm %s, %d ranks, %lld rows, kernel %s, %lld wrong\n", SPMM_VERSION, size, all_rows,
               spmm_plan_kernel(plan), all_wrong);

    spmm_plan_destroy(plan);
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
    spmm_block_destroy(&block);
    MPI_Finalize();
    return all_wrong || all_rows != 400;
}
