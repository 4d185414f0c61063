/** Products with the transpose and new values, on CPUs (test_transposed) and GPUs (test_gpu_transposed). */
#ifndef SP_TRANSPOSED_CASES_H
#define SP_TRANSPOSED_CASES_H

#include "distributed.h"
#include "kernels/kernel.h"

/** Checks A X and A^T X by one plan: `of_x` has the shape of X and gets results of A^T, `of_y` has the shape
 *  of Y. */
static void check_both(const distributed *d, spmm_plan *plan)
{
    const spmm_block *const b = &d->block;
    spmm_multivector of_x, of_y;
    CHECK_INT(spmm_plan_x_create(plan, &of_x), SPMM_OK);
    CHECK_INT(spmm_plan_y_create(plan, &of_y), SPMM_OK);
    for (int times = 0; times < 2; times++) {
        fill(&of_y, b->row_begin);
        CHECK_INT(spmm_apply_transposed(plan, 1, &of_y, 0, &of_x), SPMM_OK);
        check_rows(&d->a, 1, 1, 0, &of_x, b->x_begin);
        fill(&of_x, b->x_begin);
        CHECK_INT(spmm_apply_transposed(plan, 2, &of_y, -3, &of_x), SPMM_OK);
        check_rows(&d->a, 1, 2, -3, &of_x, b->x_begin);
        fill(&of_x, b->x_begin);
        CHECK_INT(spmm_apply(plan, 1, &of_x, 0, &of_y), SPMM_OK);
        check_rows(&d->a, 0, 1, 0, &of_y, b->row_begin);
    }
    spmm_multivector_destroy(&of_x);
    spmm_multivector_destroy(&of_y);
}

static const spmm_plan_study padded = {.ell_limit = 1000}; /* ELLPACK of long rows, too */

static void check_case(const char *spec, spmm_precision precision, int q, int64_t k,
                       const spmm_plan_options *options)
{
    distributed d;
    spmm_plan *plan;
    distributed_create(spec, precision, q, &d);
    CHECK_INT(spmm_plan_create_extended(MPI_COMM_WORLD, &d.block, k, options, &padded, &plan), SPMM_OK);
    check_both(&d, plan);
    spmm_plan_destroy(plan);
    distributed_destroy(&d);
}

static const char *const specs[] = {"uniform:40,6", "longrows:30,2,3,25", "band:50,5,9", "uniform:3,2",
                                    "lap2d5:9",     "rmat:7,8",           "lap2d5:1"};

/** Checks every matrix on every grid with every exchange; `few`: a third of these. */
static void test_products(int few)
{
    static const int64_t ks[] = {1, 3, 8};
    TEST("products with the transpose and with the matrix by one plan, on every grid, by every exchange") {
        for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
            for (int q = 1; q <= size; q++)
                for (int e = SPMM_EXCHANGE_AUTO; e <= SPMM_EXCHANGE_JOINT; e++) {
                    const spmm_plan_options options = {.device = device, .exchange = (spmm_exchange)e};
                    if (size % q || (few && (s + (size_t)(q + e)) % 3)) continue;
                    check_case(specs[s], e % 2 ? SPMM_F32 : SPMM_F64, q, ks[(s + (size_t)e) % 3], &options);
                }
    }
    TEST("the sums of process rows in any way, formats, and a named kernel leave the transpose as it is") {
        for (int q = 1; q <= size; q = next_divisor(size, q)) {
            for (int r = SPMM_REDUCE_AUTO; r <= SPMM_REDUCE_MPI; r++) {
                const spmm_plan_options options = {.device = device, .reduce = (spmm_reduce)r};
                check_case("uniform:40,6", SPMM_F64, q, 5, &options);
            }
        }
        const int formats = device == SPMM_CPU ? SPMM_SELL : SPMM_STAGED;
        for (int f = SPMM_FORMAT_AUTO; f < formats; f++) {
            const spmm_plan_options options = {.device = device, .format = (spmm_format)f};
            check_case("rmat:6,5", SPMM_F64, 1, 4, &options);
        }
    }
}

/** Checks a kernel, or what the library chooses, with three sets of values. */
static void check_updates(const char *spec, spmm_precision precision, int q, const spmm_plan_options *options)
{
    distributed d;
    spmm_plan *plan;
    distributed_create(spec, precision, q, &d);
    const spmm_status status = spmm_plan_create_extended(MPI_COMM_WORLD, &d.block, 4, options, &padded,
                                                         &plan);
    CHECK_INT(status, SPMM_OK);
    for (int version = 1; version <= 3 && status == SPMM_OK; version++) {
        change_values(&d, version);
        CHECK_INT(spmm_plan_update_values(plan), SPMM_OK);
        check_both(&d, plan);
    }
    spmm_plan_destroy(plan);
    distributed_destroy(&d);
}

static void test_updates(int few)
{
    TEST("new values on the same pattern, by every kernel and precision") {
        int count;
        const sp_kernel *const kernel = sp_kernels(&count);
        for (int n = 0; n < count; n++)
            for (int p = 0; p < 2; p++) {
                const spmm_plan_options options = {
                    .device = device, .format = SPMM_FORMAT_AUTO, .kernel = kernel[n].id};
                if (kernel[n].device != device || (few && (n + p) % 2 != size % 2)) continue;
                check_updates(n % 2 ? "longrows:300,5,2,200" : "rmat:7,8", p ? SPMM_F32 : SPMM_F64, 1,
                              &options);
            }
    }
    TEST("so with every exchange and grid, the joint exchange's partial rows included") {
        for (int q = 1; q <= size; q = next_divisor(size, q))
            for (int e = SPMM_EXCHANGE_AUTO; e <= SPMM_EXCHANGE_JOINT; e++) {
                const spmm_plan_options options = {.device = device, .exchange = (spmm_exchange)e};
                check_updates("rmat:6,8", SPMM_F64, q, &options);
                check_updates("lap2d5:9", SPMM_F32, q, &options); /* whose values stay on their ranks */
            }
    }
    TEST("a plan that is NULL has no new values") {
        CHECK_INT(spmm_plan_update_values(NULL), SPMM_ERR_USAGE);
        CHECK(strstr(spmm_error_message(), "spmm_plan_update_values: plan is NULL"));
    }
}

static void test_rectangles(void)
{
    TEST("rectangles, and matrices with fewer rows or columns than ranks, have transposes, too") {
        for (int s = SAMPLE_NO_ROWS; s < SAMPLES; s++)
            for (int q = 1; q <= size; q = next_divisor(size, q)) {
                distributed d;
                spmm_plan *plan;
                const spmm_plan_options options = {.device = device};
                sample_csr((sample)s, SAMPLE_INTEGERS, SPMM_F64, &d.a);
                CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, &d.a, size / q, q, &d.block), SPMM_OK);
                CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &d.block, 3, &options, &plan), SPMM_OK);
                check_both(&d, plan);
                spmm_plan_destroy(plan);
                distributed_destroy(&d);
            }
    }
}

/** Checks a plan's view after its products, of which none was with the transpose if `transposed` is 0. */
static void check_view(const spmm_plan *plan, const char *text, int transposed)
{
    char kernel[80];
    const char *const lines[] = {kernel,
                                 size == 1 ? "matrix      400 x 400, 1920 entries\n"
                                           : "matrix      400 x 400, 1920 entries on a ",
                                 device == SPMM_CPU ? "device      cpu, " : "device      cuda, ",
                                 size == 1 ? "" : "exchange    halo by ",
                                 transposed ? "products    2: mean " : "products    none yet\n",
                                 transposed ? "products    4: mean " : "",
                                 transposed ? "Y := A^T X, K = 4, f64\n" : ""};
    snprintf(kernel, sizeof kernel, "kernel      %s on ", spmm_plan_kernel(plan));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) CHECK_TEXT(text, lines[i]);
    CHECK(transposed || !strstr(text, "Y := A^T X"));
    CHECK_INT(size == 1 && (strstr(text, "rank") || strstr(text, "exchange") || strstr(text, "transport")),
              0);
    const char *const of_transpose = strstr(text, "Y := A^T X");
    if (of_transpose) CHECK_TEXT(of_transpose, "matrix      400 x 400, 1920 entries");
    if (transposed) CHECK_TEXT(text, " ms, median ");
}

static void test_view(void)
{
    TEST(
        "a view, printed or as a string, has the kernel, the exchange and the products, also of the transpose") {
        static char printed[1 << 14];
        const spmm_plan_options options = {.device = device};
        distributed d;
        spmm_plan *plan;
        char unset, *text = &unset;
        distributed_create("lap2d5:20", SPMM_F64, 1, &d);
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &d.block, 4, &options, &plan), SPMM_OK);
        for (int transposed = 0; transposed < 2; transposed++) {
            FILE *const f = tmpfile();
            text = &unset;
            if (transposed) check_both(&d, plan);
            CHECK_INT(spmm_plan_view(plan, test_.rank == 0 || transposed ? f : NULL), SPMM_OK);
            CHECK_INT(spmm_plan_view_text(plan, &text), SPMM_OK);
            rewind(f);
            printed[fread(printed, 1, sizeof printed - 1, f)] = '\0';
            fclose(f);
            CHECK((test_.rank == 0) == (text != NULL));
            CHECK(strcmp(text ? text : "", printed) == 0);
            if (text) check_view(plan, text, transposed);
            free(text);
        }
        CHECK_INT(spmm_plan_view_text(plan, test_.rank == 0 ? &text : NULL), SPMM_OK);
        if (test_.rank == 0) free(text);
        text = &unset;
        CHECK_ERROR(spmm_plan_view_text(plan, test_.rank == 0 ? NULL : &text), SPMM_ERR_USAGE,
                    "spmm_plan_view_text: text is NULL, expected a place for the text");
        CHECK(test_.rank == 0 || text == NULL);
        text = &unset;
        CHECK_INT(spmm_plan_view_text(NULL, &text), SPMM_ERR_USAGE);
        CHECK(text == NULL);
        FILE *const unwritable = fopen("/dev/full", "w");
        CHECK_INT(spmm_plan_view(NULL, unwritable), SPMM_ERR_USAGE);
        CHECK_INT(spmm_plan_view(plan, test_.rank == 0 ? NULL : unwritable), SPMM_ERR_USAGE);
        CHECK_INT(spmm_plan_view(plan, unwritable), SPMM_ERR_OUTPUT);
        fclose(unwritable);
        spmm_plan_destroy(plan);
        distributed_destroy(&d);
    }
}

/** Makes x wrong in one way. Returns x, or NULL in place of it. y: the result, which x must not overlap. */
static const spmm_multivector *wrong_x(int n, const spmm_multivector *y, spmm_multivector *x)
{
    switch (n) {
    case 0: return NULL;
    case 1: x->precision = SPMM_F32; break;
    case 2: x->ld = x->k - 1; break;
    case 3: x->k++, x->ld++; break;
    case 4: x->rows++; break;
    case 5: x->space = (spmm_device)7; break;
    default: x->data = y->data; break;
    }
    return x;
}

/** Passes a wrong X on each rank in turn, also on the ranks of a process row that have no rows of X. */
static void check_wrong_x(spmm_plan *plan, const spmm_multivector *y, spmm_multivector *x)
{
    enum { MISTAKES = 7 };
    for (int who = 0; who < size; who++)
        for (int n = 0; n < MISTAKES; n++) {
            spmm_multivector changed = *y; /* the X of a product with the transpose has the shape of Y */
            const int bad = test_.rank == who && (n < MISTAKES - 1 || y->rows > 0);
            const spmm_multivector *const given = bad ? wrong_x(n, x, &changed) : y;
            const spmm_status status = spmm_apply_transposed(plan, 1, given, 0, x);
            if (bad) CHECK_INT(status, SPMM_ERR_USAGE);
            if (bad) CHECK_TEXT(spmm_error_message(), "spmm_apply_transposed: ");
        }
}

static void test_misuse(void)
{
    TEST("a wrong argument on one rank is an error there, and hangs nobody") {
        for (int q = 1; q <= size; q = next_divisor(size, q)) {
            const spmm_plan_options options = {.device = device};
            distributed d;
            planned p;
            spmm_multivector other;
            distributed_create("uniform:60,4", SPMM_F64, q, &d);
            planned_of(&d.block, 4, &options, &p);
            CHECK_INT(spmm_multivector_create(p.x.rows + 1, 4, SPMM_F64, device, &other), SPMM_OK);
            const int bad = test_.rank == size - 1;
            CHECK_INT(spmm_apply_transposed(NULL, 1, &p.y, 0, &p.x), SPMM_ERR_USAGE);
            spmm_status status = spmm_apply_transposed(p.plan, 1, &p.y, 0, bad ? &other : &p.x);
            CHECK(!bad || status == SPMM_ERR_USAGE);
            CHECK(!bad || strstr(spmm_error_message(), "spmm_apply_transposed: y is "));
            status = spmm_apply_transposed(p.plan, 1, test_.rank == 0 ? NULL : &p.y, 0, &p.x);
            CHECK(test_.rank != 0 || status == SPMM_ERR_USAGE);
            status = spmm_apply_transposed(p.plan, 1, bad ? &p.x : &p.y, 0, bad ? NULL : &p.x);
            CHECK(!bad || status == SPMM_ERR_USAGE);
            check_wrong_x(p.plan, &p.y, &p.x);
            fill(&p.y, d.block.row_begin);
            CHECK_INT(spmm_apply_transposed(p.plan, 1, &p.y, 0, &p.x), SPMM_OK);
            check_rows(&d.a, 1, 1, 0, &p.x, d.block.x_begin);
            spmm_multivector_destroy(&other);
            planned_destroy(&p);
            distributed_destroy(&d);
        }
    }
}

#endif
