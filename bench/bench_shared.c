/** Times products on CPU ranks with two transports of X, mpi and shared. They take turns, so that both are
 *  exposed to the same noise of the machine.
 *
 *      mpirun -np 2 bench_shared PAIRS K,K,.. MATRIX...
 *
 *  PAIRS is the number of rounds; in each, both transports are timed. MATRIX is a generator's spec or a
 *  matrix file.
 *
 *  One thread per rank, f64. A CSV row contains for each transport the medians of a product and of its
 *  exchange alone in ms and the exchange's share of the product in %, and the median over the pairs of
 *  (product shared / product mpi). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/stats.h"
#include "formats/multivector.h"
#include "plan/plan.h"

enum { MPI_ALONE, SHARED, WAYS, WARMUP = 2 };

typedef struct way {
    spmm_plan *plan;
    spmm_multivector x, y;
    double *product, *exchange; /* [pairs] seconds */
} way;

static void must(spmm_status status)
{
    if (status == SPMM_OK) return;
    fprintf(stderr, "bench_shared: %s\n", spmm_error_message());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void create(const spmm_block *block, int64_t k, spmm_transport transport, int pairs, way *w)
{
    const spmm_plan_options options = {.format = SPMM_FORMAT_AUTO, .threads = 1, .transport = transport};
    must(spmm_plan_create(MPI_COMM_WORLD, block, k, &options, &w->plan));
    must(spmm_plan_x_create(w->plan, &w->x));
    must(spmm_plan_y_create(w->plan, &w->y));
    sp_multivector_generate(&w->x, SP_X_UNIFORM, 1, block->x_begin, 1);
    must(sp_alloc_zero((void **)&w->product, pairs, sizeof(double), "times"));
    must(sp_alloc_zero((void **)&w->exchange, pairs, sizeof(double), "times"));
}

static void destroy(way *w)
{
    spmm_plan_destroy(w->plan);
    spmm_multivector_destroy(&w->x);
    spmm_multivector_destroy(&w->y);
    sp_free(w->product);
    sp_free(w->exchange);
}

/** Times one product, or one exchange alone, between two barriers. */
static double seconds_of(way *w, int product)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    must(product ? spmm_apply(w->plan, 1, &w->x, 0, &w->y) : sp_plan_exchange(w->plan, &w->x));
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime() - start;
}

static void measure(way w[WAYS], int pairs)
{
    for (int r = -WARMUP; r < pairs; r++)
        for (int i = 0; i < WAYS; i++) {
            way *const one = &w[(i + r + WARMUP) % WAYS];
            const double product = seconds_of(one, 1), exchange = seconds_of(one, 0);
            if (r < 0) continue;
            one->product[r] = product;
            one->exchange[r] = exchange;
        }
}

static void report(const char *matrix, int64_t k, const way w[WAYS], int pairs)
{
    double *ratio, product[WAYS], exchange[WAYS];
    must(sp_alloc((void **)&ratio, pairs, sizeof *ratio, "ratios"));
    for (int r = 0; r < pairs; r++) ratio[r] = w[SHARED].product[r] / w[MPI_ALONE].product[r];
    for (int i = 0; i < WAYS; i++) {
        product[i] = sp_stats_of(w[i].product, pairs).median;
        exchange[i] = sp_stats_of(w[i].exchange, pairs).median;
    }
    printf("%s,%lld,%s,%.4f,%.4f,%.4f,%.4f,%.2f,%.2f,%.3f\n", matrix, (long long)k,
           spmm_plan_kernel(w[0].plan), 1e3 * product[MPI_ALONE], 1e3 * product[SHARED],
           1e3 * exchange[MPI_ALONE], 1e3 * exchange[SHARED], 100 * exchange[MPI_ALONE] / product[MPI_ALONE],
           100 * exchange[SHARED] / product[SHARED], sp_stats_of(ratio, pairs).median);
    fflush(stdout);
    sp_free(ratio);
}

/** Runs every K of a list for one matrix, which rank 0 reads or generates. Rank 0 reports. */
static void run(const char *matrix, const char *columns, int pairs, int rank)
{
    const char *const name = strrchr(matrix, '/');
    spmm_csr a = {0};
    spmm_block block;
    if (rank == 0)
        must(strchr(matrix, '/') ? spmm_csr_read(matrix, SPMM_F64, &a)
                                 : spmm_csr_generate(matrix, SPMM_F64, &a));
    must(spmm_csr_scatter(MPI_COMM_WORLD, 0, &a, 0, 0, &block));
    for (const char *k = columns; k && *k; k = strchr(k, ',') ? strchr(k, ',') + 1 : NULL) {
        way w[WAYS];
        create(&block, atoll(k), SPMM_TRANSPORT_MPI, pairs, &w[MPI_ALONE]);
        create(&block, atoll(k), SPMM_TRANSPORT_SHARED, pairs, &w[SHARED]);
        measure(w, pairs);
        if (rank == 0) report(name ? name + 1 : matrix, atoll(k), w, pairs);
        for (int i = 0; i < WAYS; i++) destroy(&w[i]);
    }
    spmm_block_destroy(&block);
    spmm_csr_destroy(&a);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int pairs = argc > 3 ? atoi(argv[1]) : 0;
    if (pairs < 1) {
        fprintf(stderr, "usage: bench_shared PAIRS K,K,.. MATRIX...\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (rank == 0)
        printf("matrix,k,kernel,mpi_ms,shared_ms,mpi_exchange_ms,shared_exchange_ms,mpi_exchange_percent,"
               "shared_exchange_percent,shared_over_mpi\n");
    for (int i = 3; i < argc; i++) run(argv[i], argv[2], pairs, rank);
    MPI_Finalize();
    return 0;
}
