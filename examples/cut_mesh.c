/* Y := A X with the matrix of a mesh whose points are numbered at random, on any number of MPI processes.
 * With a cut by entries alone, nearly all rows of X travel between ranks; with renumbered rows, few do. X and
 * Y are in the caller's numbering.
 *
 *     mpicc -std=c11 cut_mesh.c -o cut_mesh $(pkg-config --cflags --libs spmm)
 *     mpirun -np 4 ./cut_mesh [SIDE]
 *
 * Exit status 1 if a bit of Y differs between the two cuts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spmm.h>

enum { K = 4 };
static int rank, size;

static void must(spmm_status status)
{
    if (status == SPMM_OK) return;
    fprintf(stderr, "cut_mesh: %s\n", spmm_error_message());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *memory(int64_t count, size_t bytes)
{
    void *const p = calloc((size_t)count + 1, bytes);
    if (!p) MPI_Abort(MPI_COMM_WORLD, 1);
    return p;
}

/** Makes the matrix of a square mesh of side x side points, numbered at random. */
static void make_mesh(int64_t side, spmm_csr *a)
{
    const int64_t n = side * side;
    int64_t *const number = memory(n, sizeof *number), *const row = memory(5 * n, sizeof *row),
                   *const col = memory(5 * n, sizeof *col), entries = 0;
    double *const value = memory(5 * n, sizeof *value);
    for (int64_t i = 0; i < n; i++) { /* Fisher and Yates */
        const int64_t j = rand() % (i + 1);
        number[i] = number[j];
        number[j] = i;
    }
    for (int64_t y = 0; y < side; y++)
        for (int64_t x = 0; x < side; x++) {
            const int64_t neighbor[5][2] = {{x, y}, {x - 1, y}, {x + 1, y}, {x, y - 1}, {x, y + 1}};
            for (int i = 0; i < 5; i++) {
                const int64_t u = neighbor[i][0], v = neighbor[i][1];
                if (u < 0 || u >= side || v < 0 || v >= side) continue;
                row[entries] = number[y * side + x];
                col[entries] = number[v * side + u];
                value[entries++] = i ? -1.0 / (double)(3 + x + y) : 4;
            }
        }
    must(spmm_csr_from_triplets(n, n, entries, row, col, value, SPMM_F64, a));
    free(number), free(row), free(col), free(value);
}

/** Computes this rank's rows of Y, and gathers Y on rank 0 in the caller's numbering.
 *  \param [in] row  the caller's numbers of this rank's rows
 *  \return on rank 0 Y, [rows x K], row-major; the caller frees it */
static double *product(const spmm_block *block, const spmm_plan_options *options, const int64_t *row)
{
    spmm_plan *plan;
    spmm_multivector x, y;
    must(spmm_plan_create(MPI_COMM_WORLD, block, K, options, &plan));
    must(spmm_plan_x_create(plan, &x));
    must(spmm_plan_y_create(plan, &y));
    for (int64_t i = 0; i < x.rows; i++)
        for (int64_t j = 0; j < K; j++)
            ((double *)x.data)[i * x.ld + j] = 1 / (double)(1 + row[i] % 1000 + j);
    must(spmm_apply(plan, 1, &x, 0, &y));

    double *const mine = memory(y.rows * K, sizeof *mine);
    for (int64_t i = 0; i < y.rows; i++) memcpy(mine + i * K, (double *)y.data + i * y.ld, K * sizeof *mine);
    double *const whole = rank == 0 ? memory(block->rows * K, sizeof *whole) : NULL;
    for (int r = 0; r < size; r++) { /* rank 0 stores each rank's rows in the caller's numbering */
        int64_t rows = y.rows, *numbers = NULL;
        double *values = NULL;
        if (rank != 0 && r == rank) {
            MPI_Send(&rows, 1, MPI_INT64_T, 0, 0, MPI_COMM_WORLD);
            MPI_Send(row, (int)rows, MPI_INT64_T, 0, 0, MPI_COMM_WORLD);
            MPI_Send(mine, (int)rows * K, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
        }
        if (rank != 0) continue;
        if (r > 0) {
            MPI_Recv(&rows, 1, MPI_INT64_T, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            numbers = memory(rows, sizeof *numbers);
            values = memory(rows * K, sizeof *values);
            MPI_Recv(numbers, (int)rows, MPI_INT64_T, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(values, (int)rows * K, MPI_DOUBLE, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        for (int64_t i = 0; i < rows; i++)
            memcpy(whole + (numbers ? numbers : row)[i] * K, (values ? values : mine) + i * K,
                   K * sizeof *whole);
        free(numbers), free(values);
    }
    free(mine);
    spmm_plan_destroy(plan);
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
    return whole;
}

int main(int argc, char **argv)
{
    const int64_t side = argc > 1 ? atoi(argv[1]) : 100;
    const spmm_plan_options options = {.exact = 1}; /* the bits of the serial product */
    int unlike = 0;
    spmm_csr a = {.rows = 0};
    spmm_cut cut;
    spmm_block block;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) make_mesh(side > 0 ? side : 1, &a);

    /* SPMM_CUT_AUTO would not renumber for ranks of one node, which share X in memory */
    must(spmm_cut_create(MPI_COMM_WORLD, 0, &a, SPMM_CUT_LAYOUT, K, &options, &cut));
    must(spmm_cut_scatter(MPI_COMM_WORLD, 0, &a, &cut, &block));
    double *const y = product(&block, &options, cut.row);
    spmm_block_destroy(&block);

    /* the same product without renumbering: this rank's rows are consecutive */
    must(spmm_csr_scatter(MPI_COMM_WORLD, 0, &a, 0, 0, &block));
    int64_t *const row = memory(block.csr.rows, sizeof *row);
    for (int64_t i = 0; i < block.csr.rows; i++) row[i] = block.row_begin + i;
    double *const by_entries = product(&block, &options, row);
    spmm_block_destroy(&block);

    if (rank == 0) {
        unlike = memcmp(y, by_entries, (size_t)(a.rows * K) * sizeof *y) != 0;
        printf("%lld points on %d ranks: a product moves %lld rows of X by entries, %lld by a layout\n",
               (long long)a.rows, size, (long long)cut.moved_by_entries, (long long)cut.moved);
        printf("Y has %s bits\n", unlike ? "OTHER" : "the same");
    }
    free(row), free(y), free(by_entries);
    spmm_cut_destroy(&cut);
    spmm_csr_destroy(&a);
    MPI_Finalize();
    return unlike;
}
