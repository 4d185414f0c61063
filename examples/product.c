/* Y := A X with four columns, on any number of MPI processes. Each process prints the sum of its rows of Y.
 *
 *     mpicc product.c -o product $(pkg-config --cflags --libs spmm)
 *     mpirun -np 2 ./product lap2d5:8 */
#include <stdio.h>

#include <spmm.h>

/* If a collective function fails on one rank, it fails on all ranks; local functions, and spmm_apply(), may
 * fail on this rank alone. */
static void must(spmm_status status)
{
    if (status == SPMM_OK) return;
    fprintf(stderr, "product: %s\n", spmm_error_message());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
    int rank;
    spmm_csr a = {.rows = 0};
    spmm_block block;
    spmm_plan *plan;
    spmm_multivector x, y;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    /* rank 0 creates the whole matrix and scatters its rows */
    if (rank == 0) must(spmm_csr_generate(argc > 1 ? argv[1] : "lap2d5:8", SPMM_F64, &a));
    must(spmm_csr_scatter(MPI_COMM_WORLD, 0, &a, 0, 0, &block));
    spmm_csr_destroy(&a);

    /* a plan serves all products with this matrix and this number of columns */
    must(spmm_plan_create(MPI_COMM_WORLD, &block, 4, NULL, &plan));
    must(spmm_plan_x_create(plan, &x));
    must(spmm_plan_y_create(plan, &y));
    for (int64_t i = 0; i < x.rows; i++)
        for (int64_t j = 0; j < x.k; j++) ((double *)x.data)[i * x.ld + j] = (double)(j + 1);
    must(spmm_apply(plan, 1, &x, 0, &y));

    double sum = 0;
    for (int64_t i = 0; i < y.rows; i++)
        for (int64_t j = 0; j < y.k; j++) sum += ((const double *)y.data)[i * y.ld + j];
    printf("rank %d: rows %lld to %lld of Y, sum %g\n", rank, (long long)block.row_begin,
           (long long)(block.row_begin + y.rows - 1), sum);

    spmm_plan_destroy(plan);
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
    spmm_block_destroy(&block);
    MPI_Finalize();
    return 0;
}
