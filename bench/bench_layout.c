/** Times products with column-major X and Y, and with row-major ones for comparison.
 *
 *      mpirun -np RANKS bench_layout cpu|cuda[:KERNEL] K MATRIX...
 *
 *  MATRIX is a generator's spec or a matrix file.
 *
 *  Each time is that of the slowest rank; the calls take turns, and the medians of ROUNDS rounds are shown,
 *  in milliseconds. `pinched` is a product with row-major X and Y whose leading dimension is K, as in
 *  programs that allocate X and Y themselves. A column-major Y is compared with a row-major one, bit by bit:
 *  exit status 1 if they differ. CSV on the standard output. */
#include <omp.h>
#include <string.h>

#include "comm/comm.h"
#include "common/bench.h"
#include "formats/multivector.h"

enum { ROUNDS = 21 };

/** The operands: [0] row-major, created by the plan, [1] column-major, [2] row-major with leading dimension
 *  K. */
typedef struct operands {
    spmm_plan *plan;
    spmm_multivector x[3], y[3];
} operands;

/** A timed call: the indices of its X and Y in the operands. */
typedef struct call {
    const char *name;
    int x, y, transposed;
} call;

static const call calls[] = {
    {"rows_ms", 0, 0, 0},
    {"columns_ms", 1, 1, 0},
    {"x_columns_ms", 1, 0, 0},
    {"y_columns_ms", 0, 1, 0},
    {"pinched_ms", 2, 2, 0},
    {"transposed_rows_ms", 0, 0, 1},
    {"transposed_columns_ms", 1, 1, 1},
};
enum { CALLS = sizeof calls / sizeof *calls };

static int rank, wrong;

static spmm_status multiply(operands *o, const call *c)
{
    return c->transposed ? spmm_apply_transposed(o->plan, 1, &o->y[c->y], 0, &o->x[c->x])
                         : spmm_apply(o->plan, 1, &o->x[c->x], 0, &o->y[c->y]);
}

static spmm_status time_call(operands *o, const call *c, double *seconds)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    const spmm_status status = multiply(o, c);
    *seconds = MPI_Wtime() - start;
    TRY(sp_agree(MPI_COMM_WORLD, "apply", status));
    return sp_slowest(MPI_COMM_WORLD, seconds, 1);
}

/** Makes two copies of v: `columns` is column-major, `plain` row-major with leading dimension k. */
static spmm_status make_others(const spmm_multivector *v, spmm_multivector *columns, spmm_multivector *plain)
{
    spmm_multivector memory;
    const int64_t elements = v->rows * v->k;
    for (int i = 0; i < 2; i++) {
        spmm_multivector *const to = i == 0 ? columns : plain;
        TRY(spmm_multivector_create(elements, 1, v->precision, v->space, &memory));
        *to = *v;
        to->data = memory.data;
        to->ghost_low = to->ghost_high = 0;
        to->layout = i == 0 ? SPMM_COLUMN_MAJOR : SPMM_ROW_MAJOR;
        to->ld = i == 1 ? v->k : v->rows > 0 ? v->rows : 1;
        TRY(spmm_multivector_copy(v, to));
    }
    return SPMM_OK;
}

/** Counts the rows in which the column-major Y differs from the row-major Y. */
static spmm_status compare(operands *o)
{
    spmm_multivector back, rows, columns;
    const spmm_multivector *const y = &o->y[0];
    TRY(multiply(o, &calls[0]));
    TRY(multiply(o, &calls[1]));
    TRY(spmm_multivector_create(y->rows, y->k, y->precision, y->space, &back));
    TRY(spmm_multivector_create(y->rows, y->k, y->precision, SPMM_CPU, &rows));
    TRY(spmm_multivector_create(y->rows, y->k, y->precision, SPMM_CPU, &columns));
    TRY(spmm_multivector_copy(&o->y[1], &back));
    TRY(spmm_multivector_copy(&back, &columns));
    TRY(spmm_multivector_copy(y, &rows));
    for (int64_t i = 0; i < y->rows; i++)
        wrong += memcmp(sp_row(&rows, i), sp_row(&columns, i),
                        (size_t)(y->k * sp_value_size(y->precision))) != 0;
    spmm_multivector_destroy(&back);
    spmm_multivector_destroy(&rows);
    spmm_multivector_destroy(&columns);
    return SPMM_OK;
}

static spmm_status time_all(const char *name, operands *o)
{
    double seconds[CALLS][ROUNDS], first;
    TRY(sp_agree(MPI_COMM_WORLD, "apply", compare(o)));
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int c = 0; c < CALLS; c++) TRY(time_call(o, &calls[c], &first));
    for (int round = 0; round < ROUNDS; round++)
        for (int c = 0; c < CALLS; c++) TRY(time_call(o, &calls[c], &seconds[c][round]));
    if (rank != 0) return SPMM_OK;
    printf("\"%s\",%lld,%s", name, (long long)o->x[0].k, spmm_plan_kernel(o->plan));
    for (int c = 0; c < CALLS; c++) printf(",%.4f", sp_stats_of(seconds[c], ROUNDS).median * 1e3);
    printf(",%d\n", wrong);
    fflush(stdout);
    return SPMM_OK;
}

static spmm_status make(const spmm_block *block, const device_run *r, operands *o)
{
    spmm_multivector host;
    TRY(spmm_plan_create_extended(MPI_COMM_WORLD, block, r->k, &r->options, &r->study, &o->plan));
    TRY(spmm_plan_x_create(o->plan, &o->x[0]));
    TRY(spmm_plan_y_create(o->plan, &o->y[0]));
    TRY(spmm_multivector_create(o->x[0].rows, r->k, SPMM_F64, SPMM_CPU, &host));
    sp_multivector_generate(&host, SP_X_UNIFORM, 1, block->x_begin, omp_get_max_threads());
    const spmm_status status = spmm_multivector_copy(&host, &o->x[0]);
    spmm_multivector_destroy(&host);
    TRY(status);
    TRY(make_others(&o->x[0], &o->x[1], &o->x[2]));
    return make_others(&o->y[0], &o->y[1], &o->y[2]);
}

static spmm_status run_matrix(const char *name, const device_run *r)
{
    bench_matrix m;
    operands o;
    memset(&o, 0, sizeof o);
    TRY(bench_matrix_create(NULL, name, SPMM_F64, &m));
    spmm_status status = sp_agree(MPI_COMM_WORLD, "apply", make(&m.block, r, &o));
    if (status == SPMM_OK) status = time_all(name, &o);
    for (int i = 0; i < 3; i++) {
        spmm_multivector_destroy(&o.x[i]);
        spmm_multivector_destroy(&o.y[i]);
    }
    spmm_plan_destroy(o.plan);
    bench_matrix_destroy(&m);
    return status;
}

static spmm_status work(int argc, char **argv)
{
    device_run r;
    TRY(device_run_ready("bench_layout", argc, argv, &r));
    if (rank == 0) {
        printf("# on %s, ms, median of %d\nmatrix,k,kernel", r.on, ROUNDS);
        for (int c = 0; c < CALLS; c++) printf(",%s", calls[c].name);
        printf(",wrong\n");
    }
    for (int i = 3; i < argc; i++) TRY(run_matrix(argv[i], &r));
    return SPMM_OK;
}

int main(int argc, char **argv)
{
    const int failed = run_under_mpi(argc, argv, "bench_layout", &rank, work);
    return wrong > 0 ? 1 : failed;
}
