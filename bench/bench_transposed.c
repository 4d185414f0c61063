/** Times products with the transpose and updates of values, and for comparison products with the matrix and
 *  copies of its values.
 *
 *      mpirun -np RANKS bench_transposed cpu|cuda[:KERNEL] K MATRIX...
 *
 *  MATRIX is a generator's spec or a matrix file.
 *
 *  Each time is that of the slowest rank; the calls take turns, each after an untimed call of the same kind,
 *  and the medians of ROUNDS rounds are shown, in milliseconds. `first` are the first calls, which make the
 *  transpose and the map of values. `copy` is memcpy() of the values by all threads, or their copy to the GPU
 *  if the plan is on one. The product of A^T with ones is compared with the column sums of A, whose values
 *  are integers: exit status 1 if an element differs. CSV on the standard output. The bars, which this
 *  program does not check: A^T Y at no less than 0.6 times the speed of A X, an update of values in at most
 *  twice the time of a copy. */

#include "base/memory.h"
#include "comm/comm.h"
#include "common/bench.h"
#include "device/device.h"
#include "formats/csr.h"

enum { ROUNDS = 15, CALLS = 5 };

/** The operands of the timed calls. */
typedef struct operands {
    spmm_plan *plan, *alone; /* alone: a second plan, which never makes the transpose */
    spmm_multivector x, y;
    const spmm_csr *a;
    spmm_device device;
    void *copy;
} operands;

static int rank, wrong;

static spmm_status product(operands *o) { return spmm_apply(o->plan, 1, &o->x, 0, &o->y); }
static spmm_status transposed(operands *o) { return spmm_apply_transposed(o->plan, 1, &o->y, 0, &o->x); }
static spmm_status update(operands *o) { return spmm_plan_update_values(o->alone); }
static spmm_status update_both(operands *o) { return spmm_plan_update_values(o->plan); }

static spmm_status copy(operands *o)
{
    enum { PIECE = 1 << 16 };
    const spmm_csr *const a = o->a;
    if (o->device == SPMM_CUDA) return sp_device_upload(o->copy, a->as, a->nnz * sp_value_size(a->precision));
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < a->nnz; e += PIECE)
        sp_values_copy(a->precision, a->as, e, e + PIECE < a->nnz ? PIECE : a->nnz - e, o->copy, e);
    return SPMM_OK;
}

typedef spmm_status (*call)(operands *o);
static const call calls[CALLS] = {product, transposed, update, update_both, copy};

static spmm_status time_call(call what, operands *o, double *seconds)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    const spmm_status status = what(o);
    *seconds = MPI_Wtime() - start;
    TRY(sp_agree(MPI_COMM_WORLD, "apply", status));
    return sp_slowest(MPI_COMM_WORLD, seconds, 1);
}

/** Compares A^T X, where all elements of X are 1, with the column sums of A. The values of A are small
 *  integers, so both results are exact and must be equal. */
static spmm_status check(const spmm_block *b, operands *o)
{
    spmm_multivector host = {0};
    double *sums = NULL;
    spmm_status status = sp_alloc_zero((void **)&sums, b->cols, sizeof *sums, "sums");
    if (status == SPMM_OK)
        status = spmm_multivector_create(o->y.rows, o->y.k, o->y.precision, SPMM_CPU, &host);
    for (int64_t e = 0; status == SPMM_OK && e < host.rows * host.ld; e++) ((double *)host.data)[e] = 1;
    if (status == SPMM_OK) status = spmm_multivector_copy(&host, &o->y);
    spmm_multivector_destroy(&host);
    if (status == SPMM_OK) status = transposed(o);
    if (status == SPMM_OK)
        status = spmm_multivector_create(o->x.rows, o->x.k, o->x.precision, SPMM_CPU, &host);
    if (status == SPMM_OK) status = spmm_multivector_copy(&o->x, &host);
    TRY(sp_agree(MPI_COMM_WORLD, "apply", status));
    for (int64_t e = 0; e < b->csr.nnz; e++) sums[b->csr.ja[e]] += ((const double *)b->csr.as)[e];
    TRY(SP_MPI(MPI_Allreduce(MPI_IN_PLACE, sums, (int)b->cols, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)));
    for (int64_t i = 0; i < host.rows; i++)
        for (int64_t j = 0; j < host.k; j++)
            wrong += ((const double *)host.data)[i * host.ld + j] != sums[b->x_begin + i];
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    spmm_multivector_destroy(&host);
    sp_free(sums);
    return SPMM_OK;
}

static spmm_status time_all(const char *name, const spmm_block *b, operands *o)
{
    double seconds[CALLS][ROUNDS], first[CALLS], median[CALLS];
    for (int c = 0; c < CALLS; c++) TRY(time_call(calls[c], o, &first[c]));
    for (int round = 0; round < ROUNDS; round++)
        for (int c = 0; c < CALLS; c++) {
            /* this time is overwritten; the call fills the caches with its own data */
            TRY(time_call(calls[c], o, &seconds[c][round]));
            TRY(time_call(calls[c], o, &seconds[c][round]));
        }
    for (int c = 0; c < CALLS; c++) median[c] = sp_stats_of(seconds[c], ROUNDS).median * 1e3;
    TRY(check(b, o));
    if (rank == 0)
        printf("\"%s\",%lld,%s,%.4f,%.4f,%.2f,%.4f,%.4f,%.4f,%.2f,%.2f,%.3f,%.3f,%d\n", name,
               (long long)o->x.k, spmm_plan_kernel(o->plan), median[0], median[1], median[0] / median[1],
               median[2], median[3], median[4], median[2] / median[4], median[3] / median[4], first[1] * 1e3,
               first[2] * 1e3, wrong);
    fflush(stdout);
    return SPMM_OK;
}

static spmm_status run_matrix(const char *name, const device_run *r)
{
    bench_matrix m;
    operands o = {.device = r->options.device};
    TRY(bench_matrix_create(NULL, name, SPMM_F64, &m));
    for (int64_t e = 0; e < m.block.csr.nnz; e++) ((double *)m.block.csr.as)[e] = (double)(e % 9 - 4);
    o.a = &m.block.csr;
    const int64_t bytes = o.a->nnz * 8;
    spmm_status status = spmm_plan_create_extended(MPI_COMM_WORLD, &m.block, r->k, &r->options, &r->study,
                                                   &o.plan);
    if (status == SPMM_OK)
        status = spmm_plan_create_extended(MPI_COMM_WORLD, &m.block, r->k, &r->options, &r->study, &o.alone);
    if (status == SPMM_OK) status = spmm_plan_x_create(o.plan, &o.x);
    if (status == SPMM_OK) status = spmm_plan_y_create(o.plan, &o.y);
    if (status == SPMM_OK)
        status = r->options.device == SPMM_CUDA ? sp_device_alloc(&o.copy, bytes, "values")
                                                : sp_alloc(&o.copy, bytes, 1, "values");
    status = sp_agree(MPI_COMM_WORLD, "apply", status);
    if (status == SPMM_OK) status = time_all(name, &m.block, &o);
    if (r->options.device == SPMM_CUDA)
        sp_device_free(o.copy);
    else
        sp_free(o.copy);
    spmm_multivector_destroy(&o.x);
    spmm_multivector_destroy(&o.y);
    spmm_plan_destroy(o.plan);
    spmm_plan_destroy(o.alone);
    bench_matrix_destroy(&m);
    return status;
}

static spmm_status work(int argc, char **argv)
{
    device_run r;
    TRY(device_run_ready("bench_transposed", argc, argv, &r));
    if (rank == 0)
        printf(
            "# on %s, ms, median of %d\n"
            "matrix,k,kernel,ax_ms,atx_ms,atx_speed,update_ms,update_both_ms,copy_ms,update_copies,update_both_copies,first_atx_ms,first_update_ms,wrong\n",
            r.on, ROUNDS);
    for (int i = 3; i < argc; i++) TRY(run_matrix(argv[i], &r));
    return SPMM_OK;
}

int main(int argc, char **argv)
{
    const int failed = run_under_mpi(argc, argv, "bench_transposed", &rank, work);
    return wrong > 0 ? 1 : failed;
}
