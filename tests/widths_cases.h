/** A plan's products of fewer columns than it was made for, each compared bit by bit with the product of a
 *  plan made for that number of columns. */
#ifndef SP_WIDTHS_CASES_H
#define SP_WIDTHS_CASES_H

#include "distributed.h"
#include "plan/plan_struct.h"

enum { MOST = 64 };

/** How a plan is made; the grid has q process columns. */
typedef struct way {
    const char *matrix, *kernel;
    spmm_precision precision;
    spmm_plan_options options;
    spmm_plan_study study;
    int q;
} way;

/** A plan for MOST columns, and what it is made of. */
typedef struct wide {
    const way *how;
    distributed of;
    spmm_plan *plan;
} wide;

/** Values that use all bits of the significand. */
static double bits_of(int64_t row, int64_t column, int64_t version)
{
    return sin((double)(row * 131 + column * 17 + version * 7 + 1));
}

static void fill_bits(spmm_multivector *v, int64_t first, int64_t version)
{
    spmm_multivector host;
    CHECK_INT(spmm_multivector_create(v->rows, v->k, v->precision, SPMM_CPU, &host), SPMM_OK);
    for (int64_t i = 0; i < v->rows; i++)
        for (int64_t j = 0; j < v->k; j++)
            sample_set(host.data, v->precision, i * host.ld + j, bits_of(first + i, j, version));
    CHECK_INT(spmm_multivector_copy(&host, v), SPMM_OK);
    spmm_multivector_destroy(&host);
}

/** Sets the values of this rank's block to bits_of(). */
static void block_values(wide *w, int64_t version)
{
    const spmm_csr *const a = &w->of.block.csr;
    for (int64_t e = 0; e < a->nnz; e++)
        sample_set(a->as, a->precision, e, bits_of(e, test_.rank, 1000 + version));
}

static int make_plan(const wide *w, int64_t k, spmm_plan **plan)
{
    spmm_plan_options o = w->how->options;
    o.device = device;
    o.threads = device == SPMM_CPU ? 2 : 0;
    o.kernel = w->how->kernel;
    if (k % 16 != 0 || k == 0) o.column_blocks = o.column_blocks > 1;
    const spmm_status status = spmm_plan_create_extended(MPI_COMM_WORLD, &w->of.block, k, &o, &w->how->study,
                                                         plan);
    if (status != SPMM_OK) printf("  %s\n", spmm_error_message());
    CHECK_INT(status, SPMM_OK);
    return status == SPMM_OK;
}

/** The ways of computing a product. */
enum { WHOLE, BEGUN, BY_COLUMNS, TRANSPOSED, SCALED, HOWS };

/** Computes a product with k columns.
 *  \param [out] out  the result, in host memory */
static spmm_status compute(const wide *w, spmm_plan *plan, int64_t k, int how, spmm_multivector *out)
{
    spmm_multivector x, y, by_columns = {0};
    const int transposed = how == TRANSPOSED;
    CHECK_INT(spmm_plan_x_create_k(plan, k, &x), SPMM_OK);
    CHECK_INT(spmm_plan_y_create_k(plan, k, &y), SPMM_OK);
    spmm_multivector *const in = transposed ? &y : &x, *const to = transposed ? &x : &y;
    fill_bits(in, transposed ? w->of.block.row_begin : w->of.block.x_begin, 1);
    fill_bits(to, transposed ? w->of.block.x_begin : w->of.block.row_begin, 2);
    if (how == BY_COLUMNS) {
        CHECK_INT(spmm_multivector_create(k, x.rows, x.precision, device, &by_columns), SPMM_OK);
        by_columns = (spmm_multivector){x.rows, k, by_columns.ld,    x.precision, device, by_columns.data,
                                        0,      0, SPMM_COLUMN_MAJOR};
        CHECK_INT(spmm_multivector_copy(&x, &by_columns), SPMM_OK);
    }
    spmm_status status;
    if (transposed)
        status = spmm_apply_transposed(plan, 1, &y, 0, &x);
    else if (how == BEGUN) {
        status = spmm_apply_begin(plan, 1, &x, 0, &y);
        status = spmm_apply_end(plan);
    } else
        status = spmm_apply(plan, how == SCALED ? 0.75 : 1, how == BY_COLUMNS ? &by_columns : &x,
                            how == SCALED ? -0.3 : 0, &y);
    CHECK_INT(spmm_multivector_create(to->rows, k, to->precision, SPMM_CPU, out), SPMM_OK);
    CHECK_INT(spmm_multivector_copy(to, out), SPMM_OK);
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
    if (how == BY_COLUMNS) spmm_multivector_destroy(&by_columns);
    return status;
}

static int same_bits(const spmm_multivector *a, const spmm_multivector *b)
{
    const int64_t size_of = sp_value_size(a->precision);
    int same = a->rows == b->rows && a->k == b->k;
    for (int64_t i = 0; i < a->rows && a->k > 0 && same; i++)
        same = memcmp((const char *)a->data + i * a->ld * size_of,
                      (const char *)b->data + i * b->ld * size_of, (size_t)(a->k * size_of)) == 0;
    return same;
}

/** Whether two plans' products must have the same bits. In f32 a GPU's kernels sum in f32 or in f64, and a
 *  plan may choose either: for products without a named kernel, and for all products with the transpose. */
static int has_bits(const way *how, int product)
{
    return device == SPMM_CPU || how->precision == SPMM_F64 || (how->kernel && product != TRANSPOSED);
}

static int same_to_rounding(const spmm_multivector *a, const spmm_multivector *b)
{
    int same = a->rows == b->rows && a->k == b->k;
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t j = 0; j < a->k && same; j++)
            same = fabs(sample_get(a->data, a->precision, i * a->ld + j) -
                        sample_get(b->data, b->precision, i * b->ld + j)) < 1e-3;
    return same;
}

/** Compares all products of k columns of the wide plan with those of a plan made for k. */
static void compare(wide *w, int64_t k)
{
    spmm_plan *own;
    spmm_multivector here, there;
    if (!make_plan(w, k, &own)) return;
    CHECK_INT(spmm_plan_set_k(w->plan, k), SPMM_OK);
    for (int how = 0; how < HOWS; how++) {
        CHECK_INT(compute(w, w->plan, k, how, &here), SPMM_OK);
        CHECK_INT(compute(w, own, k, how, &there), SPMM_OK);
        const int same = has_bits(w->how, how) ? same_bits(&here, &there) : same_to_rounding(&here, &there);
        if (!same)
            printf("  rank %d: k = %lld, product of kind %d: differs\n", test_.rank, (long long)k, how);
        CHECK(same);
        spmm_multivector_destroy(&here);
        spmm_multivector_destroy(&there);
    }
    spmm_plan_destroy(own);
}

/** A product with an X of another number of columns on one rank fails, and the plan still computes. */
static void misuse(wide *w, int64_t k)
{
    spmm_multivector x, y;
    const int64_t wrong = test_.rank == 0 ? k + 1 : k;
    CHECK_INT(spmm_multivector_create(w->of.block.x_rows, wrong, w->how->precision, device, &x), SPMM_OK);
    CHECK_INT(spmm_plan_y_create(w->plan, &y), SPMM_OK);
    const spmm_status status = spmm_apply(w->plan, 1, &x, 0, &y);
    CHECK(test_.rank == 0 ? status == SPMM_ERR_USAGE : status == SPMM_OK || status == SPMM_ERR_MPI);
    CHECK_INT(spmm_plan_set_k(w->plan, MOST + 1), SPMM_ERR_USAGE);
    CHECK_INT(spmm_plan_set_k(w->plan, -1), SPMM_ERR_USAGE);
    if (size > 1) CHECK_INT(spmm_plan_set_k(w->plan, test_.rank == 0 ? 1 : 2), SPMM_ERR_USAGE);
    CHECK_INT(w->plan->forward->k, k);
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
    CHECK_INT(spmm_plan_x_create_k(w->plan, MOST + 1, &x), SPMM_ERR_USAGE);
    CHECK_INT(spmm_plan_y_create_k(w->plan, -1, &y), SPMM_ERR_USAGE);
}

/** Compares products of several numbers of columns, which grow and shrink, with new values in between. */
static void compare_all(wide *w)
{
    static const int64_t ks[] = {64, 8, 0, 1, 33, 3, 64, 1};
    for (size_t n = 0; n < sizeof ks / sizeof *ks; n++) {
        if (n > 0) {
            block_values(w, (int64_t)n);
            CHECK_INT(spmm_plan_update_values(w->plan), SPMM_OK);
        }
        compare(w, ks[n]);
        if (n == 4) misuse(w, ks[n]);
        /* what a kernel has made for one column gets the new values, too */
        if (ks[n] == 1) CHECK_INT(spmm_plan_set_k(w->plan, 5), SPMM_OK);
    }
}

static void test_way(const way *how)
{
    wide w = {.how = how};
    TEST(test_name("%s of %s, %s, exchange %d, transport %d, %d x %d, %d column blocks",
                   how->kernel ? how->kernel : "auto", how->matrix,
                   how->precision == SPMM_F64 ? "f64" : "f32", how->options.exchange, how->options.transport,
                   size / how->q, how->q, how->options.column_blocks)) {
        distributed_create(how->matrix, how->precision, how->q, &w.of);
        block_values(&w, 0);
        if (make_plan(&w, MOST, &w.plan)) {
            compare_all(&w);
            spmm_plan_destroy(w.plan);
        }
        distributed_destroy(&w.of);
    }
}

#endif
