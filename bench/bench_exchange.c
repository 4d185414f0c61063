/** Measures what the exchange of a small halo costs: times products on several GPUs with and without the
 *  exchange, with each available exchange backend.
 *
 *      mpirun -np GPUS bench_exchange [K [MATRIX...]]
 *
 *  MATRIX is a generator's spec or a matrix file. Prints CSV: for each backend the median time of a product
 *  over ROUNDS rounds in microseconds, the median over the rounds of what the exchange adds, the time of
 *  the exchange alone, and the GB/s at which the rank with the most rows receives. A time is the mean of
 *  PRODUCTS consecutive products on the slowest rank. The backends take turns. Each backend's Y is compared
 *  with the Y of the CPU, bit by bit: exit status 1 if they differ. The target, which is
 *  reported but does not change the exit status: with the fastest backend the exchange adds at most 12
 *  microseconds. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "comm/binding.h"
#include "comm/comm.h"
#include "common/bench.h"
#include "exchange/exchange_backend.h"
#include "formats/multivector.h"
#include "plan/plan.h"

enum { ROUNDS = 15, PRODUCTS = 50, WARM_UP = 20, MOST = 16 };
static const double BAR = 12;

/** The exchange backends, from SP_EXCHANGE_BACKENDS. Only those for X in GPU memory are timed. */
static const struct backend {
    spmm_device space;
    spmm_transport transport;
    const char *name;
} backends[] = {
#define ROW(space, transport, name, trial) {space, transport, #name},
    SP_EXCHANGE_BACKENDS(ROW)
#undef ROW
};
enum { BACKENDS = sizeof backends / sizeof *backends };

typedef struct exchange_contender {
    const struct backend *backend;
    spmm_plan *plan;
    spmm_multivector x, y;
    /* seconds: of a product with and without its exchange, and of an exchange */
    double with[ROUNDS], without[ROUNDS], alone[ROUNDS];
} exchange_contender;

/** What is timed. */
typedef enum timed { WITHOUT, WITH, ALONE } timed;

static int rank, wrong, slow;

static spmm_status once(exchange_contender *c, timed what)
{
    if (what == ALONE) return sp_plan_exchange(c->plan, &c->x);
    return what == WITH ? spmm_apply(c->plan, 1, &c->x, 0, &c->y)
                        : sp_plan_apply_local(c->plan, &c->x, &c->y);
}

/** Measures the mean seconds of `products` consecutive products or exchanges on the slowest rank. */
static spmm_status time_row(exchange_contender *c, timed what, int products, double *seconds)
{
    spmm_status status = SPMM_OK;
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int i = 0; i < products && status == SPMM_OK; i++) status = once(c, what);
    *seconds = (MPI_Wtime() - start) / products;
    TRY(sp_agree(MPI_COMM_WORLD, "apply", status));
    return sp_slowest(MPI_COMM_WORLD, seconds, 1);
}

/** Creates X, and computes Y on the CPU. */
static spmm_status make_reference(const spmm_block *block, int64_t k, spmm_multivector *x,
                                  spmm_multivector *y)
{
    spmm_plan *plan;
    TRY(spmm_plan_create(MPI_COMM_WORLD, block, k, NULL, &plan));
    spmm_status status = spmm_plan_x_create(plan, x);
    if (status == SPMM_OK) status = spmm_plan_y_create(plan, y);
    status = sp_agree(MPI_COMM_WORLD, "apply", status);
    if (status == SPMM_OK) {
        dense_fill(&(dense_view){x->data, x->precision, x->ld, 1}, block->x_begin, x->rows, k);
        status = spmm_apply(plan, 1, x, 0, y);
    }
    spmm_plan_destroy(plan);
    return status;
}

/** Sets a contender up, and compares its Y with y. If its backend is not available, prints why. */
static spmm_status begin(const spmm_block *block, const spmm_multivector *x, const spmm_multivector *y,
                         exchange_contender *c, int *there)
{
    const spmm_plan_options options = {.device = SPMM_CUDA, .transport = c->backend->transport};
    spmm_multivector back = {.rows = 0};
    double seconds;
    setenv("SPMM_EXCHANGE_BACKEND", c->backend->name, 1);
    *there = spmm_plan_create(MPI_COMM_WORLD, block, x->k, &options, &c->plan) == SPMM_OK;
    if (!*there) {
        if (rank == 0) printf("# without %s: %s\n", c->backend->name, spmm_error_message());
        return SPMM_OK;
    }
    spmm_status status = spmm_plan_x_create(c->plan, &c->x);
    if (status == SPMM_OK) status = spmm_plan_y_create(c->plan, &c->y);
    if (status == SPMM_OK) status = spmm_multivector_create(y->rows, y->k, y->precision, SPMM_CPU, &back);
    if (status == SPMM_OK) status = spmm_multivector_copy(x, &c->x);
    TRY(sp_agree(MPI_COMM_WORLD, "apply", status));
    TRY(time_row(c, WITH, WARM_UP, &seconds));
    TRY(time_row(c, WITHOUT, WARM_UP, &seconds));
    TRY(time_row(c, WITH, 1, &seconds));
    status = spmm_multivector_copy(&c->y, &back);
    double differs = 0;
    for (int64_t i = 0; status == SPMM_OK && i < y->rows; i++)
        differs += memcmp((char *)back.data + i * back.ld * 8, (char *)y->data + i * y->ld * 8,
                          (size_t)y->k * 8) != 0;
    spmm_multivector_destroy(&back);
    TRY(sp_agree(MPI_COMM_WORLD, "apply", status));
    TRY(sp_sum(MPI_COMM_WORLD, &differs, 1));
    wrong += differs > 0;
    if (differs > 0 && rank == 0) printf("# WRONG: %s: %.0f rows of Y\n", c->backend->name, differs);
    return SPMM_OK;
}

static void end(exchange_contender *c)
{
    spmm_multivector_destroy(&c->x);
    spmm_multivector_destroy(&c->y);
    spmm_plan_destroy(c->plan);
}

/** Returns the bytes of X that a rank receives, maximum over the ranks. Collective. */
static double received(const exchange_contender *c)
{
    sp_plan_facts facts;
    sp_plan_facts_of(c->plan, &facts);
    double bytes = (double)(facts.ghosted->moves.ghost_low + facts.ghosted->moves.ghost_high) *
                   (double)sp_multivector_ld(c->x.k, SPMM_F64) * 8;
    return sp_slowest(MPI_COMM_WORLD, &bytes, 1) == SPMM_OK ? bytes : 0;
}

static void report(const bench_matrix *m, int64_t k, double bytes, exchange_contender *all, int count)
{
    double least = 0;
    for (exchange_contender *c = all; c < all + count; c++) {
        double differences[ROUNDS];
        for (int r = 0; r < ROUNDS; r++) differences[r] = c->with[r] - c->without[r];
        const double more = sp_stats_of(differences, ROUNDS).median * 1e6;
        const sp_stats with = sp_stats_of(c->with, ROUNDS), without = sp_stats_of(c->without, ROUNDS);
        if (c == all || more < least) least = more;
        const double alone = sp_stats_of(c->alone, ROUNDS).median;
        sp_plan_facts facts;
        sp_plan_facts_of(c->plan, &facts);
        printf("\"%s\",%lld,%lld,%s,%s,%.2f,%.2f,%.2f,%.2f,%.2f,%d,%.2f,%.1f\n", m->name,
               (long long)m->block.rows, (long long)k, sp_transport_word(c->backend->transport),
               c->backend->name, with.median * 1e6, with.min * 1e6, without.median * 1e6, without.min * 1e6,
               more, facts.column_blocks, alone * 1e6, bytes / alone * 1e-9);
    }
    slow += least > BAR;
    if (count > 0)
        printf("# %s, K = %lld: the exchange adds %.2f us at least (bar %.0f: %s)\n", m->name, (long long)k,
               least, BAR, least <= BAR ? "reached" : "missed");
    fflush(stdout);
}

static spmm_status time_all(exchange_contender *all, int count)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < count; i++) {
            exchange_contender *const c = &all[(round + i) % count];
            TRY(time_row(c, WITH, PRODUCTS, &c->with[round]));
            TRY(time_row(c, WITHOUT, PRODUCTS, &c->without[round]));
            TRY(time_row(c, ALONE, PRODUCTS, &c->alone[round]));
        }
    return SPMM_OK;
}

static spmm_status run_matrix(const char *name, int64_t k)
{
    bench_matrix m;
    spmm_multivector x = {.rows = 0}, y = {.rows = 0};
    static exchange_contender all[MOST];
    int count = 0;
    TRY(bench_matrix_create(NULL, name, SPMM_F64, &m));
    spmm_status status = make_reference(&m.block, k, &x, &y);
    for (int b = 0; b < BACKENDS && count < MOST && status == SPMM_OK; b++) {
        int there = 0;
        if (backends[b].space != SPMM_CUDA) continue;
        all[count] = (exchange_contender){.backend = &backends[b]};
        status = begin(&m.block, &x, &y, &all[count], &there);
        count += there;
    }
    if (status == SPMM_OK) status = time_all(all, count);
    const double bytes = status == SPMM_OK && count > 0 ? received(&all[0]) : 0;
    if (status == SPMM_OK && rank == 0) report(&m, k, bytes, all, count);
    for (int i = 0; i < count; i++) end(&all[i]);
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
    bench_matrix_destroy(&m);
    return status;
}

static spmm_status work(int argc, char **argv)
{
    static const char *const usual[] = {"lap2d5:64", "lap2d5:200", "lap3d7:24", "band:50000,8,100"};
    const int64_t k = argc > 1 ? atoll(argv[1]) : 4;
    const int named = argc > 2, count = named ? argc - 2 : (int)(sizeof usual / sizeof *usual);
    sp_binding binding;
    if (k < 1) return sp_fail(SPMM_ERR_USAGE, "usage: bench_exchange [K [MATRIX...]]");
    TRY(sp_bind_rank(MPI_COMM_WORLD, SP_DEVICE_CUDA, 0, &binding));
    omp_set_num_threads(binding.threads);
    if (rank == 0) printf("# %s on %s, us of a product\n", binding.gpu.name, binding.host);
    if (rank == 0)
        printf(
            "matrix,rows,k,transport,backend,with_us,with_min_us,without_us,without_min_us,more_us,column_blocks,"
            "exchange_us,gb_per_s\n");
    spmm_status status = SPMM_OK;
    for (int i = 0; i < count && status == SPMM_OK; i++)
        status = run_matrix(named ? argv[i + 2] : usual[i], k);
    if (slow > 0 && rank == 0) printf("# %d cases missed the bar\n", slow);
    return status;
}

int main(int argc, char **argv)
{
    const int failed = run_under_mpi(argc, argv, "bench_exchange", &rank, work);
    return wrong > 0 ? 1 : failed;
}
