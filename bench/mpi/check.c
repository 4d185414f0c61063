/* X, and the products that Y is held against: sums in the order of the entries, made row by row on the rank that
 * has the row, without any message. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "bench.h"

double x_element(int64_t row, int64_t column)
{
    uint64_t h = (uint64_t)row * UINT64_C(0xd1342543de82ef95) +
                 (uint64_t)column * UINT64_C(0x9fb21c651e98df25);
    h ^= h >> 32;
    h *= UINT64_C(0xda942042e4dd58b5);
    h ^= h >> 29;
    return (double)(h >> 11) * 0x1p-52 - 1; /* [-1, 1) */
}

/** Sums and sums of magnitudes of one row of the block. */
static void row_sums(const spmm_block *block, int64_t row, int64_t k, double *sum, double *size)
{
    const spmm_csr *const a = &block->csr;
    const double *const value = a->as;
    for (int64_t j = 0; j < k; j++) sum[j] = size[j] = 0;
    for (int64_t e = a->irp[row]; e < a->irp[row + 1]; e++)
        for (int64_t j = 0; j < k; j++) {
            const double term = value[e] * x_element(block->col_begin + a->ja[e], j);
            sum[j] += term;
            size[j] += fabs(term);
        }
}

static void check_row(trial *t, const view *y, int64_t row, int64_t k, int64_t length, const double *sum,
                      const double *size)
{
    /* our sum and theirs may each be off by gamma_n of the sizes */
    const double u = DBL_EPSILON / 2, n = (double)length, bound = 2 * n * u / (1 - n * u);
    for (int64_t j = 0; j < k; j++) {
        const double apart = fabs(y->data[row * y->row_step + j * y->column_step] - sum[j]);
        if (!(apart <= bound * size[j])) t->wrong++; /* a NaN is wrong, too */
        if (size[j] > 0 && !(apart / size[j] <= t->error)) t->error = apart / size[j];
    }
}

static int takes_part(const trial *t) { return !t->problem[0]; }

static void check_rows(const spmm_block *block, int64_t k, outcome *o, double *sum)
{
    view y[MAX_TRIALS];
    for (int i = 0; i < o->count; i++)
        if (takes_part(&o->trial[i])) o->trial[i].c->view(o->trial[i].state, SIDE_Y, &y[i]);
    for (int64_t row = 0; row < block->csr.rows; row++) {
        row_sums(block, row, k, sum, sum + k);
        for (int i = 0; i < o->count; i++)
            if (takes_part(&o->trial[i]))
                check_row(&o->trial[i], &y[i], row, k, block->csr.irp[row + 1] - block->csr.irp[row], sum,
                          sum + k);
    }
    for (int i = 0; i < o->count; i++)
        if (takes_part(&o->trial[i])) o->trial[i].c->release(o->trial[i].state, SIDE_Y, &y[i]);
}

void check(const spmm_block *block, int64_t k, outcome *o)
{
    double *const sum = malloc(2 * (size_t)k * sizeof *sum);
    const char *const problem = agree(sum ? NULL : "no memory to check");
    if (!problem) check_rows(block, k, o, sum);
    for (trial *t = o->trial; t < o->trial + o->count; t++) {
        if (problem) snprintf(t->problem, sizeof t->problem, "%s", problem);
        /* MPI_MAX may lose a NaN, but its element was counted */
        MPI_Allreduce(MPI_IN_PLACE, &t->error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        MPI_Allreduce(MPI_IN_PLACE, &t->wrong, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    }
    free(sum);
}
