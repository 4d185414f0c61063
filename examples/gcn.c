/* The forward step of a graph convolution network of two layers, H2 := A relu(A H0 W0) W1 in f32, on any
 * number of MPI processes. It uses an installed libspmm and MPI, nothing else:
 *     mpicc gcn.c -o gcn $(pkg-config --cflags --libs spmm) -lm
 *     mpirun -np 4 ./gcn GRAPH [FILE [FEATURES [HIDDEN [CLASSES]]]]
 * GRAPH is a square matrix, in a file or by a generator's spec such as rmat:10,8: an entry of row i and
 * column j other than the diagonal is an edge from j to i, whatever its value. A is the adjacency matrix with
 * a loop at each vertex, normalized: D^-1/2 (adjacency + I) D^-1/2, where the diagonal matrix D has the row
 * lengths of adjacency + I (Kipf and Welling, ICLR 2017). FILE receives H2, row-major, in binary. H0, W0 and
 * W1 are made up: input() below. Exit status: 0, 2 usage, 4 an error.
 *
 * H W is computed first, because it has fewer columns than H; no messages are needed. The product A (H W)
 * then exchanges rows between ranks. The bits of both do not depend on the number of ranks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <spmm.h>

static void must(spmm_status status)
{
    if (status == SPMM_OK) return;
    fprintf(stderr, "gcn: %s\n", spmm_error_message());
    MPI_Abort(MPI_COMM_WORLD, 4);
}

static void stop(int code, const char *text)
{
    fprintf(stderr, "gcn: %s\n", text);
    MPI_Abort(MPI_COMM_WORLD, code);
}

/** Element (i, j) of H0 (which 0), W0 (1) or W1 (2): a multiple of 1/16 from -1 to 1. */
static double input(int which, int64_t i, int64_t j)
{
    return (double)((i * 7 + j * 13 + i * j % 11 + which * 5) % 33 - 16) / 16;
}

/** The normalized adjacency of the graph whose edges are the entries of g. */
static spmm_csr normalize(const spmm_csr *g)
{
    const int64_t most = g->nnz + g->rows;
    int64_t *const row = malloc((size_t)(2 * most + 1) * sizeof *row), *const col = row + most, count = 0;
    double *const value = malloc((size_t)(most + g->rows + 1) * sizeof *value), *const degree = value + most;
    spmm_csr a;
    if (!row || !value) stop(4, "no memory");
    for (int64_t i = 0; i < g->rows; i++) {
        const int64_t first = count;
        row[count] = i, col[count++] = i;
        for (int64_t e = g->irp[i]; e < g->irp[i + 1]; e++)
            if (g->ja[e] != i) row[count] = i, col[count++] = g->ja[e];
        degree[i] = (double)(count - first);
    }
    for (int64_t e = 0; e < count; e++) value[e] = 1 / sqrt(degree[row[e]] * degree[col[e]]);
    must(spmm_csr_from_triplets(g->rows, g->cols, count, row, col, value, SPMM_F32, &a));
    free(row);
    free(value);
    return a;
}

/** Reads the graph on rank 0 and scatters its normalized adjacency matrix: each rank gets rows. */
static spmm_block load(const char *graph, int rank)
{
    spmm_csr g = {.rows = 0}, a = {.rows = 0};
    spmm_block block;
    if (rank == 0) {
        const int made = strchr(graph, ':') != NULL;
        must(made ? spmm_csr_generate(graph, SPMM_F32, &g) : spmm_csr_read(graph, SPMM_F32, &g));
        if (g.rows != g.cols) stop(4, "the matrix of a graph is square");
        a = normalize(&g);
    }
    must(
        spmm_csr_scatter(MPI_COMM_WORLD, 0, &a, 0, 0, &block)); /* ranks x 1: X and Y are distributed alike */
    spmm_csr_destroy(&g);
    spmm_csr_destroy(&a);
    return block;
}

/** A layer before its activation, A H W: h has this rank's rows of H, [rows x features], W is [features x
 *  k]. */
static spmm_multivector layer(const spmm_block *block, const spmm_multivector *h, int which, int k)
{
    const spmm_plan_options options = {.products = 1}; /* one per plan here; training computes thousands */
    double *const w = malloc((size_t)(h->k * k) * sizeof *w);
    spmm_multivector hw, y;
    spmm_plan *plan;
    if (!w) stop(4, "no memory");
    for (int64_t e = 0; e < h->k * k; e++) w[e] = input(which, e / k, e % k);
    must(spmm_plan_create(MPI_COMM_WORLD, block, k, &options, &plan));
    must(spmm_plan_x_create(plan, &hw)); /* with memory for rows of other ranks */
    must(spmm_plan_y_create(plan, &y));
    must(spmm_multivector_times(1, h, w, k, 0, &hw));
    must(spmm_apply(plan, 1, &hw, 0, &y));
    spmm_multivector_destroy(&hw);
    spmm_plan_destroy(plan);
    free(w);
    return y;
}

static void relu(spmm_multivector *h)
{
    float *const value = h->data;
    for (int64_t i = 0; i < h->rows; i++)
        for (int64_t j = 0; j < h->k; j++)
            if (value[i * h->ld + j] < 0) value[i * h->ld + j] = 0;
}

/** Writes the rows of all ranks, without padding. */
static void save(const char *path, const spmm_multivector *h, int64_t first_row)
{
    MPI_File f;
    const MPI_Offset bytes = h->k * (MPI_Offset)sizeof(float);
    if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &f) !=
        MPI_SUCCESS)
        stop(4, "the file cannot be written");
    MPI_File_set_size(f, 0);
    for (int64_t i = 0; i < h->rows; i++)
        if (MPI_File_write_at(f, (first_row + i) * bytes, (const float *)h->data + i * h->ld, (int)h->k,
                              MPI_FLOAT, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            stop(4, "the file cannot be written");
    MPI_File_close(&f);
}

int main(int argc, char **argv)
{
    int rank, k[3] = {64, 16, 7}; /* features, hidden features, classes */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 3; i < argc && i < 6; i++) k[i - 3] = atoi(argv[i]);
    if (argc < 2 || argc > 6 || k[0] < 1 || k[1] < 1 || k[2] < 1) {
        if (rank == 0) fprintf(stderr, "usage: gcn GRAPH [FILE [FEATURES [HIDDEN [CLASSES]]]]\n");
        MPI_Finalize();
        return 2;
    }
    spmm_block block = load(argv[1], rank);
    spmm_multivector h0;
    must(spmm_multivector_create(block.x_rows, k[0], SPMM_F32, SPMM_CPU, &h0));
    for (int64_t i = 0; i < h0.rows; i++)
        for (int64_t j = 0; j < h0.k; j++)
            ((float *)h0.data)[i * h0.ld + j] = (float)input(0, block.x_begin + i, j);
    const double start = MPI_Wtime();
    spmm_multivector h1 = layer(&block, &h0, 1, k[1]);
    relu(&h1);
    spmm_multivector h2 = layer(&block, &h1, 2, k[2]);
    const double seconds = MPI_Wtime() - start;
    double *const norm = malloc((size_t)k[2] * sizeof *norm);
    if (!norm) stop(4, "no memory");
    must(spmm_multivector_norms(MPI_COMM_WORLD, &h2, norm));
    if (rank == 0)
        printf("%s: %lld vertices, two layers in %.6f s; norms of classes:", argv[1], (long long)block.rows,
               seconds);
    for (int j = 0; rank == 0 && j < k[2]; j++) printf(" %.6g%s", norm[j], j + 1 < k[2] ? "" : "\n");
    if (argc > 2) save(argv[2], &h2, block.row_begin);
    free(norm);
    spmm_multivector_destroy(&h0);
    spmm_multivector_destroy(&h1);
    spmm_multivector_destroy(&h2);
    spmm_block_destroy(&block);
    MPI_Finalize();
    return 0;
}
