/** Compares products of a plan on GPUs with the same products on CPUs, through the public interface; for
 *  test_gpu_exchange.c and test_gpu_shared.c. */
#ifndef SP_GPU_PRODUCTS_CASES_H
#define SP_GPU_PRODUCTS_CASES_H

#include <math.h>

#include "planned.h"
#include "sample.h"

static const char *const transports[] = {"auto", "mpi", "staged", "cuda-aware", "nccl", "peer"};
static const char *const exchanges[] = {"auto", "halo", "bcast"};
static const char *const reductions[] = {"auto", "linear", "tree", "butterfly", "mpi", "nccl"};

/** The values of A and X: with small integers every sum is exact, in any order. */
typedef enum numbers { REALS, INTEGERS } numbers;

/** Returns element (i, j) of a multivector in host memory. */
static inline double get(const spmm_multivector *v, int64_t i, int64_t j)
{
    return sample_get(v->data, v->precision, i * v->ld + j);
}

/** Sets element (i, j) of a multivector in host memory. */
static inline void set(spmm_multivector *v, int64_t i, int64_t j, double value)
{
    sample_set(v->data, v->precision, i * v->ld + j, value);
}

/** Fills rows of X in host memory; the first is row `first` of the whole. */
static inline void fill_x(spmm_multivector *x, int64_t first, numbers kind)
{
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < x->k; j++) {
            const int64_t n = ((first + i) * 37 + j * 11) % 101;
            set(x, i, j, kind == INTEGERS ? (double)(n - 50) : (double)n / 63 - 0.7);
        }
}

/** Makes this rank's block of a generated matrix on a P x Q grid. Collective over MPI_COMM_WORLD. */
static inline void make_block(const char *spec, spmm_precision precision, numbers kind, int p, int q,
                              spmm_block *block)
{
    spmm_csr a = {0};
    if (test_.rank == 0) CHECK_INT(spmm_csr_generate(spec, precision, &a), SPMM_OK);
    for (int64_t e = 0; kind == INTEGERS && e < a.nnz; e++)
        sample_set(a.as, precision, e, (double)(e % 7 - 3));
    CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, &a, p, q, block), SPMM_OK);
    spmm_csr_destroy(&a);
}

/** This rank's rows of X and of A X, in host memory. */
typedef struct reference {
    int64_t k;
    numbers kind;
    spmm_multivector x, y;
} reference;

/** Computes A X by a plan on the CPU. Collective over MPI_COMM_WORLD.
 *  \param [in] reduce  the reduction of the plan to compare with, which determines the ranks that have Y */
static inline void reference_create(const spmm_block *block, int64_t k, numbers kind, spmm_reduce reduce,
                                    reference *r)
{
    const spmm_plan_options options = {.threads = 2,
                                       .reduce = reduce == SPMM_REDUCE_BUTTERFLY ? reduce : SPMM_REDUCE_TREE};
    spmm_plan *plan;
    *r = (reference){.k = k, .kind = kind};
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, block, k, &options, &plan), SPMM_OK);
    CHECK_INT(spmm_plan_x_create(plan, &r->x), SPMM_OK);
    CHECK_INT(spmm_plan_y_create(plan, &r->y), SPMM_OK);
    fill_x(&r->x, block->x_begin, kind);
    CHECK_INT(spmm_apply(plan, 1, &r->x, 0, &r->y), SPMM_OK);
    spmm_plan_destroy(plan);
}

/** Frees the multivectors. */
static inline void reference_destroy(reference *r)
{
    spmm_multivector_destroy(&r->x);
    spmm_multivector_destroy(&r->y);
}

/** Tells whether Y on the GPU equals `factor`, a power of two, times the reference's Y exactly. */
static inline int is_right(const reference *r, const spmm_multivector *y, double factor)
{
    spmm_multivector back;
    int same = y->rows == r->y.rows;
    if (!same || spmm_multivector_create(y->rows, y->k, y->precision, SPMM_CPU, &back) != SPMM_OK) return 0;
    if (spmm_multivector_copy(y, &back) != SPMM_OK) same = 0;
    for (int64_t i = 0; same && i < y->rows; i++)
        for (int64_t j = 0; j < y->k; j++) same = same && get(&back, i, j) == factor * get(&r->y, i, j);
    spmm_multivector_destroy(&back);
    return same;
}

/** Fills x on the GPU with the reference's X times `factor`. */
static inline void put_x(const reference *r, double factor, spmm_multivector *x)
{
    spmm_multivector host;
    CHECK_INT(spmm_multivector_create(x->rows, x->k, x->precision, SPMM_CPU, &host), SPMM_OK);
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < x->k; j++) set(&host, i, j, factor * get(&r->x, i, j));
    CHECK_INT(spmm_multivector_copy(&host, x), SPMM_OK);
    spmm_multivector_destroy(&host);
}

/** Fills a multivector on the GPU with NaNs. */
static inline void put_nan(spmm_multivector *v)
{
    spmm_multivector host;
    CHECK_INT(spmm_multivector_create(v->rows, v->k, v->precision, SPMM_CPU, &host), SPMM_OK);
    for (int64_t i = 0; i < v->rows; i++)
        for (int64_t j = 0; j < v->k; j++) set(&host, i, j, (double)NAN);
    CHECK_INT(spmm_multivector_copy(&host, v), SPMM_OK);
    spmm_multivector_destroy(&host);
}

/** Checks several products, each with other values than the product before: with the plan's X and Y, and with
 *  the caller's own X, which has another leading dimension and no room for ghost rows. With integers, checks
 *  products with alpha and beta, too. */
static inline void multiply(const reference *r, spmm_plan *plan, int64_t x_rows)
{
    static const double factors[] = {1, 2, -0.5};
    spmm_multivector x, y, wide, own;
    CHECK_INT(spmm_plan_x_create(plan, &x), SPMM_OK);
    CHECK_INT(spmm_plan_y_create(plan, &y), SPMM_OK);
    CHECK_INT(spmm_multivector_create(x_rows, r->k + 9, r->x.precision, SPMM_CUDA, &wide), SPMM_OK);
    own = wide;
    own.k = r->k;
    put_nan(&y);
    for (int f = 0; f < 3; f++) {
        put_x(r, factors[f], &x);
        CHECK_INT(spmm_apply(plan, 1, &x, 0, &y), SPMM_OK);
        CHECK(is_right(r, &y, factors[f]));
        put_x(r, 4 * factors[f], &own);
        CHECK_INT(spmm_apply(plan, 1, &own, 0, &y), SPMM_OK);
        CHECK(is_right(r, &y, 4 * factors[f]));
    }
    if (r->kind == INTEGERS) { /* here Y is -2 times the reference's, X -0.5 times */
        CHECK_INT(spmm_apply(plan, 4, &x, -1, &y), SPMM_OK);
        CHECK(is_right(r, &y, 0));
        CHECK_INT(spmm_apply(plan, -4, &x, 0, &y), SPMM_OK);
        CHECK(is_right(r, &y, 2));
    }
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
    spmm_multivector_destroy(&wide);
}

/** Makes a plan on the GPUs and checks its products. Collective over MPI_COMM_WORLD. */
static inline void check_plan(const spmm_block *block, const reference *r, const spmm_plan_options *o)
{
    const int failed = test_.failed;
    spmm_plan *plan;
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, block, r->k, o, &plan), SPMM_OK);
    if (plan) multiply(r, plan, block->x_rows);
    spmm_plan_destroy(plan);
    if (test_.failed > failed && failed < 5)
        printf("  (rank %d: %d x %d, %s, K = %lld, format %d, transport %s, exchange %s, reduce %s%s)\n",
               test_.rank, block->p, block->q, block->csr.precision == SPMM_F64 ? "f64" : "f32",
               (long long)r->k, (int)o->format, transports[o->transport], exchanges[o->exchange],
               reductions[o->reduce], o->no_overlap ? ", no overlap" : "");
}

#endif
