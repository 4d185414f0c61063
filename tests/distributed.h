/** A matrix of small integers, whole on every rank, its blocks, and its products by definition. */
#ifndef SP_DISTRIBUTED_H
#define SP_DISTRIBUTED_H

#include "spmm_extended.h"

#include "formats/csr.h"
#include "planned.h"
#include "sample.h"
#include "test_mpi.h"

static int size;
static spmm_device device;

/** A matrix of small integers, whole on every rank, and its blocks. */
typedef struct distributed {
    spmm_csr a;
    spmm_block block;
} distributed;

static double value_of(int64_t e, int64_t version) { return (double)((e * 5 + version * 3) % 11 - 5); }

/** Sets the values, each of which depends on the entry's index in the whole matrix. */
static void set_values(spmm_csr *a, int64_t version)
{
    for (int64_t e = 0; e < a->nnz; e++) sample_set(a->as, a->precision, e, value_of(e, version));
}

static void distributed_create(const char *spec, spmm_precision precision, int q, distributed *d)
{
    CHECK_INT(spmm_csr_generate(spec, precision, &d->a), SPMM_OK);
    set_values(&d->a, 0);
    CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, &d->a, size / q, q, &d->block), SPMM_OK);
}

static void distributed_destroy(distributed *d)
{
    spmm_block_destroy(&d->block);
    spmm_csr_destroy(&d->a);
}

/** Changes the values on all ranks; the pattern stays. */
static inline void change_values(distributed *d, int64_t version)
{
    const spmm_csr *const mine = &d->block.csr;
    spmm_block fresh;
    int q = d->block.q;
    set_values(&d->a, version);
    CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, &d->a, size / q, q, &fresh), SPMM_OK);
    CHECK_INT(fresh.csr.nnz, mine->nnz);
    if (mine->nnz > 0 && fresh.csr.as != mine->as)
        memcpy(mine->as, fresh.csr.as, (size_t)(mine->nnz * sp_value_size(mine->precision)));
    spmm_block_destroy(&fresh);
}

static double x_of(int64_t row, int64_t column) { return (double)((row * 7 + column * 3) % 13 - 6); }

/** Fills a multivector with x_of(); its first row is row `first` of the whole. */
static inline void fill(spmm_multivector *x, int64_t first)
{
    spmm_multivector host;
    CHECK_INT(spmm_multivector_create(x->rows, x->k, x->precision, SPMM_CPU, &host), SPMM_OK);
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < x->k; j++)
            sample_set(host.data, x->precision, i * host.ld + j, x_of(first + i, j));
    CHECK_INT(spmm_multivector_copy(&host, x), SPMM_OK);
    spmm_multivector_destroy(&host);
}

/** Makes a plan for d; X is filled by fill(). */
static inline void planned_create(const distributed *d, int64_t k, const spmm_plan_options *options,
                                  planned *p)
{
    planned_of(&d->block, k, options, p);
    fill(&p->x, d->block.x_begin);
}

/** Adds scale * A X or, if `transposed`, scale * A^T X, to y [rows x k]; y has all rows. */
static void add_product(const spmm_csr *a, int transposed, int64_t k, double scale, double *y)
{
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++)
            for (int64_t j = 0; j < k; j++) {
                const int64_t to = transposed ? a->ja[e] : i, from = transposed ? i : a->ja[e];
                y[to * k + j] += scale * sample_get(a->as, a->precision, e) * x_of(from, j);
            }
}

/** Checks that y has the rows from row `first` on of alpha A X + beta Y or, if `transposed`, of alpha A^T X +
 *  beta Y. X and Y were filled by fill(). */
static inline void check_rows(const spmm_csr *a, int transposed, double alpha, double beta,
                              const spmm_multivector *y, int64_t first)
{
    const int64_t rows = transposed ? a->cols : a->rows, k = y->k;
    double *const expected = calloc((size_t)(rows * k + 1), sizeof *expected);
    spmm_multivector host;
    CHECK_INT(spmm_multivector_create(y->rows, k, y->precision, SPMM_CPU, &host), SPMM_OK);
    CHECK_INT(spmm_multivector_copy(y, &host), SPMM_OK);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < k; j++) expected[i * k + j] = beta * x_of(i, j);
    add_product(a, transposed, k, alpha, expected);
    for (int64_t i = 0; i < y->rows; i++)
        for (int64_t j = 0; j < k; j++)
            CHECK(sample_get(host.data, y->precision, i * host.ld + j) == expected[(first + i) * k + j]);
    spmm_multivector_destroy(&host);
    free(expected);
}

/** Checks A X and A^T X; `place` is the block of a, whose arrays may be gone. */
static inline void check_products(spmm_plan *plan, const spmm_csr *a, const spmm_block *place)
{
    spmm_multivector x, y;
    CHECK_INT(spmm_plan_x_create(plan, &x), SPMM_OK);
    CHECK_INT(spmm_plan_y_create(plan, &y), SPMM_OK);
    fill(&x, place->x_begin);
    CHECK_INT(spmm_apply(plan, 1, &x, 0, &y), SPMM_OK);
    check_rows(a, 0, 1, 0, &y, place->row_begin);
    fill(&y, place->row_begin);
    CHECK_INT(spmm_apply_transposed(plan, 1, &y, 0, &x), SPMM_OK);
    check_rows(a, 1, 1, 0, &x, place->x_begin);
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
}

#endif
