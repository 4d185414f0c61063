/** How products are called: begun and ended by separate calls, with row-major and column-major multivectors,
 *  with factors of 0. On CPUs (test_apply) and on GPUs (test_gpu_stream). */
#ifndef SP_APPLY_CASES_H
#define SP_APPLY_CASES_H

#include "distributed.h"

static int says(const char *text) { return strstr(spmm_error_message(), text) != NULL; }

/* ---- begin and end ---- */

/** Checks products of two plans: the plan `other` computes a product between the begin and the end of a
 *  product of the plan `one`. X of `one` is made by the plan or by the caller. */
static void begin_and_end(const char *spec, spmm_precision precision, int q, const spmm_plan_options *options)
{
    enum { K = 4 };
    distributed d;
    planned one, other;
    spmm_multivector x;
    distributed_create(spec, precision, q, &d);
    planned_create(&d, K, options, &one);
    planned_create(&d, K, options, &other);
    CHECK_INT(spmm_multivector_create(d.block.x_rows, K, precision, device, &x), SPMM_OK);
    fill(&x, d.block.x_begin);
    for (int times = 0; times < 3; times++) {
        CHECK_INT(spmm_apply_begin(one.plan, 1, times == 1 ? &x : &one.x, 0, &one.y), SPMM_OK);
        CHECK_INT(spmm_apply(other.plan, 3, &other.x, 0, &other.y), SPMM_OK);
        CHECK_INT(spmm_apply_end(one.plan), SPMM_OK);
        check_rows(&d.a, 0, 1, 0, &one.y, d.block.row_begin);
        check_rows(&d.a, 0, 3, 0, &other.y, d.block.row_begin);
        fill(&one.y, d.block.row_begin);
        CHECK_INT(spmm_apply_begin(one.plan, -2, &one.x, 3, &one.y), SPMM_OK);
        CHECK_INT(spmm_apply_end(one.plan), SPMM_OK);
        check_rows(&d.a, 0, -2, 3, &one.y, d.block.row_begin);
    }
    spmm_multivector_destroy(&x);
    planned_destroy(&other);
    planned_destroy(&one);
    distributed_destroy(&d);
}

static void test_begin_and_end(void)
{
    TEST("a product that is begun and ended apart is the product") {
        for (int t = SPMM_TRANSPORT_AUTO; t <= SPMM_TRANSPORT_MPI; t++)
            for (int q = 1; q <= size; q = next_divisor(size, q)) {
                spmm_plan_options options = {.device = device, .transport = (spmm_transport)t, .products = 1};
                begin_and_end("lap3d7:5", SPMM_F64, q, &options);
                options.exchange = SPMM_EXCHANGE_JOINT;
                begin_and_end("rmat:6,8", SPMM_F32, q, &options);
                options.exchange = SPMM_EXCHANGE_HALO;
                options.column_blocks = device == SPMM_CUDA || t == SPMM_TRANSPORT_MPI ? 1 : 0;
                begin_and_end("uniform:70,5", SPMM_F64, q, &options);
            }
        spmm_plan_options blocks = {.device = device, .transport = SPMM_TRANSPORT_MPI, .column_blocks = 1};
        begin_and_end("uniform:70,5", SPMM_F64, 1, &blocks);
    }
}

static void test_order_of_calls(void)
{
    TEST("calls in another order than begin, end are errors without effect") {
        const spmm_plan_options options = {.device = device};
        distributed d;
        planned p;
        distributed_create("uniform:60,4", SPMM_F64, 1, &d);
        planned_create(&d, 4, &options, &p);
        CHECK_INT(spmm_apply_end(p.plan), SPMM_ERR_USAGE);
        CHECK(says("spmm_apply_end: no product of the plan has begun: call spmm_apply_begin() first"));
        CHECK_INT(spmm_apply_begin(p.plan, 1, &p.x, 0, &p.y), SPMM_OK);
        CHECK_INT(spmm_apply_begin(p.plan, 1, &p.x, 0, &p.y), SPMM_ERR_USAGE);
        CHECK(says("spmm_apply_begin: a product of the plan has begun: call spmm_apply_end() first"));
        CHECK_INT(spmm_apply(p.plan, 1, &p.x, 0, &p.y), SPMM_ERR_USAGE);
        CHECK(says("spmm_apply: a product of the plan has begun"));
        CHECK_INT(spmm_apply_transposed(p.plan, 1, &p.y, 0, &p.x), SPMM_ERR_USAGE);
        CHECK(says("spmm_apply_transposed: a product of the plan has begun"));
        CHECK_INT(spmm_plan_update_values(p.plan), SPMM_ERR_USAGE);
        CHECK(says("spmm_plan_update_values: a product of the plan has begun"));
        CHECK_INT(spmm_apply_end(p.plan), SPMM_OK);
        check_rows(&d.a, 0, 1, 0, &p.y, d.block.row_begin);
        CHECK_INT(spmm_apply_end(p.plan), SPMM_ERR_USAGE);
        CHECK_INT(spmm_apply_begin(p.plan, 1, &p.x, 0, &p.y), SPMM_OK);
        planned_destroy(&p); /* ends the product */
        distributed_destroy(&d);
    }
}

static void test_wrong_begin(void)
{
    TEST("a wrong argument of a begin on one rank is an error of begin and end, and hangs nobody") {
        for (int q = 1; q <= size; q = next_divisor(size, q)) {
            const spmm_plan_options options = {.device = device};
            const int bad = test_.rank == size - 1;
            distributed d;
            planned p;
            spmm_multivector wrong;
            distributed_create("uniform:60,4", SPMM_F64, q, &d);
            planned_create(&d, 4, &options, &p);
            CHECK_INT(spmm_multivector_create(p.x.rows + 1, 4, SPMM_F64, device, &wrong), SPMM_OK);
            CHECK_INT(spmm_apply_begin(NULL, 1, &p.x, 0, &p.y), SPMM_ERR_USAGE);
            CHECK(says("spmm_apply_begin: plan is NULL"));
            CHECK_INT(spmm_apply_end(NULL), SPMM_ERR_USAGE);
            CHECK(says("spmm_apply_end: plan is NULL"));
            for (int kind = 0; kind < 4; kind++) {
                const spmm_multivector *const x = kind == 0 ? &wrong : kind == 1 ? NULL : &p.x;
                spmm_multivector *const y = kind == 2 ? &wrong : kind == 3 ? NULL : &p.y;
                spmm_status status = spmm_apply_begin(p.plan, 1, bad ? x : &p.x, 0, bad ? y : &p.y);
                CHECK_INT(status, bad ? SPMM_ERR_USAGE : SPMM_OK);
                MPI_Barrier(MPI_COMM_WORLD);          /* begin does not wait for other ranks */
                (void)spmm_plan_x_create(NULL, NULL); /* replaces the error message */
                status = spmm_apply_end(p.plan);
                CHECK(bad ? status == SPMM_ERR_USAGE : status == SPMM_OK || status == SPMM_ERR_MPI);
                CHECK(!bad || says(kind < 2 ? "spmm_apply_begin: x is " : "spmm_apply_begin: y is "));
            }
            CHECK_INT(spmm_apply(p.plan, 1, &p.x, 0, &p.y), SPMM_OK);
            check_rows(&d.a, 0, 1, 0, &p.y, d.block.row_begin);
            spmm_multivector_destroy(&wrong);
            planned_destroy(&p);
            distributed_destroy(&d);
        }
    }
}

/* ---- layouts ---- */

/** A column-major multivector in memory that the caller allocated on the device. Between its columns there
 *  are gaps, whose elements are 77. */
typedef struct by_columns {
    spmm_multivector v;
    void *host; /* [elements], the copy in host memory */
    int64_t elements;
} by_columns;

static void *device_memory(int64_t bytes)
{
    spmm_multivector v;
    const int64_t rows = bytes / 8 + 1;
    if (device == SPMM_CPU) return malloc((size_t)bytes + 1);
    CHECK_INT(spmm_multivector_create(rows, 1, SPMM_F64, SPMM_CUDA, &v), SPMM_OK);
    return v.data;
}

static void device_release(void *memory)
{
    spmm_multivector v = {.data = memory, .space = SPMM_CUDA};
    if (device == SPMM_CPU)
        free(memory);
    else
        spmm_multivector_destroy(&v);
}

/** Copies all elements between host memory and the multivector's memory. */
static void move_elements(const by_columns *b, int to_device)
{
    const spmm_multivector host = {
        .rows = 1, .k = b->elements, .ld = b->elements, .precision = b->v.precision, .data = b->host};
    spmm_multivector there = host;
    there.data = b->v.data;
    there.space = device;
    CHECK_INT(to_device ? spmm_multivector_copy(&host, &there)
                        : spmm_multivector_copy(&there, &(spmm_multivector){.rows = 1,
                                                                            .k = b->elements,
                                                                            .ld = b->elements,
                                                                            .precision = b->v.precision,
                                                                            .data = b->host}),
              SPMM_OK);
}

/** Values that are not exact in binary, and whose sums are rounded. */
static double real_of(int64_t row, int64_t column) { return 1.0 / (double)(3 + row * 7 + column * 11); }

static void by_columns_create(int64_t rows, int64_t k, int gap, spmm_precision precision, int64_t first,
                              by_columns *b)
{
    b->v = (spmm_multivector){.rows = rows,
                              .k = k,
                              .ld = rows + gap + (rows + gap == 0),
                              .precision = precision,
                              .space = device,
                              .layout = SPMM_COLUMN_MAJOR};
    b->elements = b->v.ld * k;
    b->host = malloc((size_t)(b->elements * sp_value_size(precision)));
    b->v.data = device_memory(b->elements * sp_value_size(precision));
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < b->v.ld; i++)
            sample_set(b->host, precision, j * b->v.ld + i, i < rows ? real_of(first + i, j) : 77);
    move_elements(b, 1);
}

static void by_columns_destroy(by_columns *b)
{
    device_release(b->v.data);
    free(b->host);
}

/** Checks that b has the bits of the row-major y, and that nothing was written between its columns.
 *  \param [in] what  what b is, for the message */
static void check_same(by_columns *b, const spmm_multivector *y, const char *what)
{
    int wrong = 0;
    spmm_multivector host;
    CHECK_INT(spmm_multivector_create(y->rows, y->k, y->precision, SPMM_CPU, &host), SPMM_OK);
    CHECK_INT(spmm_multivector_copy(y, &host), SPMM_OK);
    move_elements(b, 0);
    for (int64_t j = 0; j < y->k; j++)
        for (int64_t i = 0; i < b->v.ld; i++) {
            const double found = sample_get(b->host, y->precision, j * b->v.ld + i);
            const double expected = i < y->rows ? sample_get(host.data, y->precision, i * host.ld + j) : 77;
            CHECK(found == expected);
            if (found != expected && wrong++ < 3)
                printf("  (rank %d) %s: row %lld of %lld, column %lld of %lld is %.17g, expected %.17g\n",
                       test_.rank, what, (long long)i, (long long)y->rows, (long long)j, (long long)y->k,
                       found, expected);
        }
    spmm_multivector_destroy(&host);
}

static void check_layouts(const char *spec, spmm_precision precision, int64_t k, int q,
                          const spmm_plan_options *options)
{
    static const double factors[][2] = {{1, 0}, {0.3, 0}, {1, 1}, {0.7, -1.3}, {0, 0}, {0, -1.3}};
    distributed d;
    planned p;
    distributed_create(spec, precision, q, &d);
    planned_create(&d, k, options, &p);
    for (int transposed = 0; transposed < 2; transposed++)
        for (size_t f = 0; f < sizeof factors / sizeof *factors; f++) {
            const double alpha = factors[f][0], beta = factors[f][1];
            const int64_t first_x = d.block.x_begin, first_y = d.block.row_begin;
            spmm_multivector *const x = transposed ? &p.y : &p.x, *const y = transposed ? &p.x : &p.y;
            by_columns cx, cy, cz;
            by_columns_create(x->rows, k, (int)f, precision, transposed ? first_y : first_x, &cx);
            by_columns_create(y->rows, k, 2 * (int)f, precision, transposed ? first_x : first_y, &cy);
            by_columns_create(y->rows, k, 3, precision, transposed ? first_x : first_y, &cz);
            CHECK_INT(spmm_multivector_copy(&cx.v, x), SPMM_OK); /* changes the layout */
            CHECK_INT(spmm_multivector_copy(&cy.v, y), SPMM_OK);
            char what[128];
            snprintf(what, sizeof what, "%s, %d process columns, factors %g and %g%s", spec, q, alpha, beta,
                     transposed ? ", transposed" : "");
            check_same(&cx, x, what);
            if (transposed) {
                CHECK_INT(spmm_apply_transposed(p.plan, alpha, &cx.v, beta, &cy.v), SPMM_OK);
                CHECK_INT(spmm_apply_transposed(p.plan, alpha, x, beta, &cz.v), SPMM_OK);
                CHECK_INT(spmm_apply_transposed(p.plan, alpha, x, beta, y), SPMM_OK);
            } else {
                CHECK_INT(spmm_apply_begin(p.plan, alpha, &cx.v, beta, &cy.v), SPMM_OK);
                CHECK_INT(spmm_apply_end(p.plan), SPMM_OK);
                CHECK_INT(spmm_apply(p.plan, alpha, x, beta, &cz.v), SPMM_OK);
                CHECK_INT(spmm_apply(p.plan, alpha, &cx.v, beta, y), SPMM_OK);
            }
            check_same(&cy, y, what);
            check_same(&cz, y, what);
            by_columns_destroy(&cx);
            by_columns_destroy(&cy);
            by_columns_destroy(&cz);
        }
    planned_destroy(&p);
    distributed_destroy(&d);
}

/* ---- a factor of 0 ---- */

/** Fills a multivector with NaNs. */
static void fill_nan(spmm_multivector *v)
{
    spmm_multivector host;
    CHECK_INT(spmm_multivector_create(v->rows, v->k, v->precision, SPMM_CPU, &host), SPMM_OK);
    if (v->rows > 0) memset(host.data, 0xff, (size_t)(v->rows * host.ld * sp_value_size(v->precision)));
    CHECK_INT(spmm_multivector_copy(&host, v), SPMM_OK);
    spmm_multivector_destroy(&host);
}

/** Checks products with alpha = 0 on some ranks: on these ranks Y does not depend on A and X.
 *  \param [in] nan  1: alpha is 0 on all ranks; X has NaNs, and A may have them */
static void check_zero(const distributed *d, planned *p, int transposed, int nan, double beta)
{
    spmm_multivector *const x = transposed ? &p->y : &p->x, *const y = transposed ? &p->x : &p->y;
    const int64_t first_x = transposed ? d->block.row_begin : d->block.x_begin,
                  first_y = transposed ? d->block.x_begin : d->block.row_begin;
    const double alpha = nan || test_.rank % 2 ? 0 : 2;
    if (nan) fill_nan(x);
    if (!nan) fill(x, first_x);
    if (beta == 0) fill_nan(y);
    if (beta != 0) fill(y, first_y);
    if (transposed) {
        CHECK_INT(spmm_apply_transposed(p->plan, alpha, x, beta, y), SPMM_OK);
    } else {
        CHECK_INT(spmm_apply_begin(p->plan, alpha, x, beta, y), SPMM_OK);
        CHECK_INT(spmm_apply_end(p->plan), SPMM_OK);
    }
    check_rows(&d->a, transposed, alpha, beta, y, first_y);
}

static void check_all_zero(const char *spec, spmm_precision precision, int q,
                           const spmm_plan_options *options)
{
    static const double betas[] = {0, 1, -3};
    distributed d;
    planned p;
    distributed_create(spec, precision, q, &d);
    planned_create(&d, 4, options, &p);
    for (int n = 0; n < 12; n++) check_zero(&d, &p, n % 2, n / 2 % 2, betas[n / 4]);
    /* now A has NaNs, too */
    if (d.block.csr.nnz > 0)
        memset(d.block.csr.as, 0xff, (size_t)(d.block.csr.nnz * sp_value_size(precision)));
    CHECK_INT(spmm_plan_update_values(p.plan), SPMM_OK);
    for (int n = 0; n < 6; n++) check_zero(&d, &p, n % 2, 1, betas[n / 2]);
    planned_destroy(&p);
    distributed_destroy(&d);
}

static void test_zero(void)
{
    TEST("with alpha = 0 Y is beta Y, whatever A and X have, also on some ranks alone") {
        for (int q = 1; q <= size; q = next_divisor(size, q))
            for (int e = SPMM_EXCHANGE_AUTO; e <= SPMM_EXCHANGE_JOINT; e++) {
                const spmm_plan_options options = {
                    .device = device, .exchange = (spmm_exchange)e, .products = 1};
                check_all_zero("rmat:6,8", e % 2 ? SPMM_F32 : SPMM_F64, q, &options);
                check_all_zero("lap2d5:9", SPMM_F64, q, &options);
            }
    }
}

static void test_layouts(void)
{
    TEST("column-major X and Y give the bits of row-major ones") {
        for (int q = 1; q <= size; q = next_divisor(size, q)) {
            spmm_plan_options options = {.device = device, .products = 1};
            check_layouts("lap3d7:5", SPMM_F64, 1, q, &options);
            check_layouts("uniform:150,4", SPMM_F32, 5, q, &options);
            check_layouts("lap2d5:20", SPMM_F64, 64, q, &options);
            options.transport = SPMM_TRANSPORT_MPI;
            check_layouts("rmat:6,8", SPMM_F64, 33, q, &options);
            options.column_blocks = 2;
            check_layouts("lap2d5:20", SPMM_F32, 32, q, &options);
            options = (spmm_plan_options){.device = device, .exchange = SPMM_EXCHANGE_JOINT};
            check_layouts("rmat:6,8", SPMM_F64, 4, q, &options);
        }
    }
    TEST("what is wrong with a column-major multivector, and where none is taken, is an error") {
        const spmm_plan_options options = {.device = device, .products = 1};
        distributed d;
        planned p;
        by_columns c;
        double g[16];
        distributed_create("lap2d5:20", SPMM_F64, 1, &d);
        planned_create(&d, 4, &options, &p);
        by_columns_create(p.x.rows, 4, 0, SPMM_F64, 0, &c);
        spmm_multivector wrong = c.v;
        wrong.ld = wrong.rows - 1;
        CHECK_INT(spmm_apply(p.plan, 1, &wrong, 0, &p.y), SPMM_ERR_USAGE);
        CHECK(says("spmm_apply: x has leading dimension") && says("expected at least rows = "));
        wrong = c.v;
        wrong.layout = (spmm_layout)2;
        CHECK_INT(spmm_apply(p.plan, 1, &p.x, 0, &wrong), SPMM_ERR_USAGE);
        CHECK(says("spmm_apply: layout is 2, expected a value of spmm_layout"));
        wrong = c.v;
        wrong.ghost_high = 1;
        CHECK_INT(spmm_apply(p.plan, 1, &wrong, 0, &p.y), SPMM_ERR_USAGE);
        CHECK(says("spmm_apply: x is column-major and has ghost rows, expected none"));
        CHECK_INT(spmm_apply(p.plan, 1, &c.v, 0, &c.v), SPMM_ERR_USAGE);
        CHECK(says("spmm_apply: x and y overlap"));
        CHECK_INT(spmm_multivector_dot(MPI_COMM_WORLD, &c.v, &c.v, g, 4), SPMM_ERR_USAGE);
        CHECK(says("spmm_multivector_dot: x is column-major, expected row-major"));
        CHECK_INT(spmm_multivector_norms(MPI_COMM_WORLD, &c.v, g), SPMM_ERR_USAGE);
        CHECK_INT(spmm_multivector_times(1, &c.v, g, 4, 0, &p.y), SPMM_ERR_USAGE);
        CHECK_INT(spmm_multivector_axpby(1, &p.x, 1, &c.v), SPMM_ERR_USAGE);
        CHECK(says("spmm_multivector_axpby: y is column-major, expected row-major"));
        CHECK_INT(spmm_multivector_scale(g, &c.v), SPMM_ERR_USAGE);
        if (device == SPMM_CUDA) {
            spmm_multivector host;
            CHECK_INT(spmm_multivector_create(c.v.rows, 4, SPMM_F64, SPMM_CPU, &host), SPMM_OK);
            CHECK_INT(spmm_multivector_copy(&c.v, &host), SPMM_ERR_USAGE);
            CHECK(says("src is column-major in GPU memory and dst row-major in host memory"));
            spmm_multivector_destroy(&host);
        }
        CHECK_INT(spmm_apply(p.plan, 1, &p.x, 0, &p.y), SPMM_OK);
        by_columns_destroy(&c);
        planned_destroy(&p);
        distributed_destroy(&d);
    }
}

#endif
