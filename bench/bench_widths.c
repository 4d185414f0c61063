/** Times a plan that was made for MOST columns in products with fewer columns (spmm_plan_set_k()), and for
 *  comparison a plan that is made for that smaller number.
 *
 *      mpirun -np RANKS bench_widths cpu|cuda[:KERNEL] MOST MATRIX...    MATRIX: a generator's spec, a Matrix
 *      Market or an .npz file
 *
 *  For 1, 8, 33 and MOST columns: both plans multiply in turn, each after a product that is not timed, and
 *  the medians of ROUNDS products of the slowest rank are shown, in milliseconds. `same` is 1 where Y has the
 *  same bits. CSV on the standard output. `over` is the time of the plan for MOST columns
 *  over that of the other plan. The bars: `over` at most 1.15 in 90 % of the rows and 1.5 in all, `same` 1.
 *  Exit status 1 if bits differ; `over` is not checked. */

#include <math.h>
#include <string.h>

#include "comm/comm.h"
#include "common/bench.h"

enum { ROUNDS = 21 };

static int rank, wrong;

/** A plan with operands of k columns. */
typedef struct planned {
    spmm_plan *plan;
    spmm_multivector x, y;
} planned;

static spmm_status operands_create(planned *p, const spmm_block *b, int64_t k)
{
    TRY(spmm_plan_x_create_k(p->plan, k, &p->x));
    TRY(spmm_plan_y_create_k(p->plan, k, &p->y));
    spmm_multivector host;
    TRY(spmm_multivector_create(p->x.rows, k, p->x.precision, SPMM_CPU, &host));
    for (int64_t i = 0; i < host.rows; i++)
        for (int64_t j = 0; j < k; j++)
            ((double *)host.data)[i * host.ld + j] = sin((double)((b->x_begin + i) * 7 + j));
    const spmm_status status = spmm_multivector_copy(&host, &p->x);
    spmm_multivector_destroy(&host);
    return status;
}

static void operands_destroy(planned *p)
{
    spmm_multivector_destroy(&p->x);
    spmm_multivector_destroy(&p->y);
}

static spmm_status product(planned *p, double *seconds)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    const spmm_status status = spmm_apply(p->plan, 1, &p->x, 0, &p->y);
    *seconds = MPI_Wtime() - start;
    TRY(sp_agree(MPI_COMM_WORLD, "apply", status));
    return sp_slowest(MPI_COMM_WORLD, seconds, 1);
}

/** Sets *same to 1 if both products have the same bits on all ranks, else to 0. */
static spmm_status compare(const planned *a, const planned *b, int *same)
{
    spmm_multivector here, there;
    TRY(spmm_multivector_create(a->y.rows, a->y.k, a->y.precision, SPMM_CPU, &here));
    TRY(spmm_multivector_create(b->y.rows, b->y.k, b->y.precision, SPMM_CPU, &there));
    TRY(spmm_multivector_copy(&a->y, &here));
    TRY(spmm_multivector_copy(&b->y, &there));
    *same = 1;
    for (int64_t i = 0; i < here.rows; i++)
        *same = *same && memcmp((double *)here.data + i * here.ld, (double *)there.data + i * there.ld,
                                (size_t)here.k * sizeof(double)) == 0;
    spmm_multivector_destroy(&here);
    spmm_multivector_destroy(&there);
    MPI_Allreduce(MPI_IN_PLACE, same, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return SPMM_OK;
}

static spmm_status time_both(const char *name, int64_t k, planned *both)
{
    double seconds[2][ROUNDS], median[2];
    int same;
    for (int round = 0; round < ROUNDS; round++)
        for (int n = 0; n < 2; n++) {
            TRY(product(&both[n], &seconds[n][round])); /* overwritten; fills the caches for this plan */
            TRY(product(&both[n], &seconds[n][round]));
        }
    for (int n = 0; n < 2; n++) median[n] = sp_stats_of(seconds[n], ROUNDS).median * 1e3;
    TRY(compare(&both[0], &both[1], &same));
    wrong += !same;
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0)
        printf("\"%s\",%d,%lld,%s,%s,%.4f,%.4f,%.3f,%d\n", name, ranks, (long long)k,
               spmm_plan_kernel(both[0].plan), spmm_plan_kernel(both[1].plan), median[0], median[1],
               median[0] / median[1], same);
    fflush(stdout);
    return SPMM_OK;
}

static spmm_status run_columns(const char *name, const bench_matrix *m, const device_run *r, int64_t k,
                               spmm_plan *wide)
{
    planned both[2] = {{.plan = wide}};
    TRY(spmm_plan_set_k(wide, k));
    spmm_status status = spmm_plan_create_extended(MPI_COMM_WORLD, &m->block, k, &r->options, &r->study,
                                                   &both[1].plan);
    for (int n = 0; n < 2 && status == SPMM_OK; n++) status = operands_create(&both[n], &m->block, k);
    status = sp_agree(MPI_COMM_WORLD, "apply", status);
    if (status == SPMM_OK) status = time_both(name, k, both);
    for (int n = 0; n < 2; n++) operands_destroy(&both[n]);
    spmm_plan_destroy(both[1].plan);
    return status;
}

static spmm_status run_matrix(const char *name, const device_run *r)
{
    const int64_t columns[] = {r->k, 8, 1, 33};
    bench_matrix m;
    spmm_plan *wide;
    TRY(bench_matrix_create(NULL, name, SPMM_F64, &m));
    spmm_status status = spmm_plan_create_extended(MPI_COMM_WORLD, &m.block, r->k, &r->options, &r->study,
                                                   &wide);
    for (int n = 0; n < 4 && status == SPMM_OK; n++)
        if (columns[n] <= r->k) status = run_columns(name, &m, r, columns[n], wide);
    spmm_plan_destroy(wide);
    bench_matrix_destroy(&m);
    return status;
}

static spmm_status work(int argc, char **argv)
{
    device_run r;
    TRY(device_run_ready("bench_widths", argc, argv, &r));
    if (rank == 0)
        printf("# on %s, ms, median of %d\nmatrix,ranks,k,kernel,kernel_for_k,ms,ms_for_k,over,same\n", r.on,
               ROUNDS);
    for (int i = 3; i < argc; i++) TRY(run_matrix(argv[i], &r));
    return SPMM_OK;
}

int main(int argc, char **argv)
{
    const int failed = run_under_mpi(argc, argv, "bench_widths", &rank, work);
    return wrong > 0 ? 1 : failed;
}
