/* MPI: 1 2 3 4 6
 * always on: 6
 * limit: 300 */
#include <malloc.h>
#include <math.h>
#include <omp.h>
#include <sys/resource.h>

#include "base/threads.h"
#include "comm/comm.h"
#include "distributed.h"
#include "files.h"
#include "formats/multivector.h"
#include "kernels/cpu/cpu_rows.h"
#include "plan/plan.h"

/** Sets the values of the matrix, and of this rank's block of it on a size x 1 grid, to those of a stage. 0:
 *  all 3; 1: every 500th is 1, the others 3; 2: all -2; 3: as 1, but the last one is 5 or, in f64, a number
 *  that is not exact in f32. */
static void stage_values(distributed *d, int stage)
{
    spmm_csr *const a = &d->a;
    for (int64_t e = 0; e < a->nnz; e++)
        sample_set(a->as, a->precision, e, stage == 2 ? -2 : stage % 2 == 1 && e % 500 == 499 ? 1 : 3);
    if (stage == 3 && a->nnz > 0)
        sample_set(a->as, a->precision, a->nnz - 1, a->precision == SPMM_F64 ? 0x1p30 + 1 : 5);
    const int64_t bytes = a->precision == SPMM_F64 ? 8 : 4;
    memcpy(d->block.csr.as, (const char *)a->as + a->irp[d->block.row_begin] * bytes,
           (size_t)(d->block.csr.nnz * bytes));
}

/** Checks a plan with the given kernel while the matrix's values change: all are equal at first, then not,
 *  then equal again. Some sets of values are exact in f32, others are not. */
static void change_kinds_of_values(const char *spec, const char *kernel, spmm_precision precision, int64_t k)
{
    static const int stages[] = {0, 1, 2, 1, 3, 3, 1, 0};
    const spmm_plan_options options = {.kernel = kernel};
    distributed d;
    planned p;
    distributed_create(spec, precision, 1, &d);
    stage_values(&d, stages[0]);
    planned_create(&d, k, &options, &p);
    for (size_t n = 0; n < sizeof stages / sizeof *stages; n++) {
        if (n > 0) stage_values(&d, stages[n]);
        if (n > 0) CHECK_INT(spmm_plan_update_values(p.plan), SPMM_OK);
        CHECK_INT(spmm_apply(p.plan, 1, &p.x, 0, &p.y), SPMM_OK);
        check_rows(&d.a, 0, 1, 0, &p.y, d.block.row_begin);
    }
    planned_destroy(&p);
    distributed_destroy(&d);
}

/** Checks a plan made for 16 columns that computes with fewer and again with 16, with new values in
 *  between. */
static void change_columns(void)
{
    static const struct stage {
        int64_t k;
        int values;
    } stages[] = {{16, 1}, {1, 1}, {16, 1}, {16, 3}, {2, 3}, {16, 3}, {16, 1}, {8, 1}};
    distributed d;
    planned p;
    distributed_create("lap2d5:30", SPMM_F64, 1, &d);
    stage_values(&d, stages[0].values);
    planned_create(&d, 16, &(spmm_plan_options){.kernel = "cpu_csr"}, &p);
    for (size_t n = 0; n < sizeof stages / sizeof *stages; n++) {
        stage_values(&d, stages[n].values);
        if (n > 0 && stages[n].values != stages[n - 1].values)
            CHECK_INT(spmm_plan_update_values(p.plan), SPMM_OK);
        CHECK_INT(spmm_plan_set_k(p.plan, stages[n].k), SPMM_OK);
        p.x.k = p.y.k = stages[n].k;
        CHECK_INT(spmm_apply(p.plan, 1, &p.x, 0, &p.y), SPMM_OK);
        check_rows(&d.a, 0, 1, 0, &p.y, d.block.row_begin);
    }
    planned_destroy(&p);
    distributed_destroy(&d);
}

/** Checks alpha A X + beta Y, computed through the public interface, against the definition, on small
 *  integers: with X and Y made by the plan, and with the caller's own. */
static void multiply(const distributed *d, const spmm_plan_options *options, int64_t k)
{
    static const spmm_plan_study quick = {.quick_plan = 1}; /* exchanges are timed in a test of their own */
    static const double factors[][2] = {{1, 0}, {1, 0}, {-2, 0}, {1, 1}, {3, -1}};
    const spmm_block *const b = &d->block;
    spmm_plan *plan;
    spmm_multivector x[2], y[2];
    CHECK_INT(spmm_plan_create_extended(MPI_COMM_WORLD, b, k, options, &quick, &plan), SPMM_OK);
    CHECK_INT(spmm_plan_x_create(plan, &x[0]), SPMM_OK);
    CHECK_INT(spmm_plan_y_create(plan, &y[0]), SPMM_OK);
    CHECK_INT(x[0].rows, b->x_rows);
    CHECK_INT(spmm_multivector_create(b->x_rows, k, d->a.precision, SPMM_CPU, &x[1]), SPMM_OK);
    CHECK_INT(spmm_multivector_create(y[0].rows, k, d->a.precision, SPMM_CPU, &y[1]), SPMM_OK);
    for (int own = 0; own < 2; own++) {
        fill(&x[own], b->x_begin);
        for (size_t f = 0; f < sizeof factors / sizeof *factors; f++) {
            const double alpha = factors[f][0], beta = factors[f][1];
            memset(y[own].data, 0xff, (size_t)sp_multivector_bytes(&y[own])); /* NaN */
            if (beta != 0) fill(&y[own], b->row_begin);
            CHECK_INT(spmm_apply(plan, alpha, &x[own], beta, &y[own]), SPMM_OK);
            check_rows(&d->a, 0, alpha, beta, &y[own], b->row_begin);
        }
    }
    spmm_plan_destroy(plan);
    for (int i = 0; i < 2; i++) {
        spmm_multivector_destroy(&x[i]);
        spmm_multivector_destroy(&y[i]);
    }
}

/** Limits the address space to a little more than this process uses. Returns the limit before. */
static struct rlimit limit_memory(void)
{
    struct rlimit old, now;
    CHECK_INT(getrlimit(RLIMIT_AS, &old), 0);
    now = old;
    now.rlim_cur = (rlim_t)status_bytes("VmSize") + (4 << 20);
    CHECK_INT(setrlimit(RLIMIT_AS, &now), 0);
    return old;
}

/** A product in which rank `bad` passes a wrong X and has no memory left. No rank may wait for it, and ranks
 *  that depend on it must not get a product: they fail, or their Y has NaNs. */
static void fail_without_memory(const spmm_block *block, const spmm_plan_options *options, int bad)
{
    enum { K = 64 };
    planned p;
    planned_of(block, K, options, &p);
    sp_multivector_generate(&p.x, SP_X_ONES, 0, 0, 1);
    if (test_.rank == bad) {
        const struct rlimit old = limit_memory();
        p.x.k--;
        CHECK_INT(spmm_apply(p.plan, 1, &p.x, 0, &p.y), SPMM_ERR_USAGE);
        p.x.k++;
        CHECK_INT(setrlimit(RLIMIT_AS, &old), 0);
    } else {
        const spmm_status status = spmm_apply(p.plan, 1, &p.x, 0, &p.y);
        CHECK(status == SPMM_OK || status == SPMM_ERR_MPI);
        if (status == SPMM_OK && p.y.rows > 0 && block->q > 1 && test_.rank / block->q == bad / block->q)
            CHECK(isnan(sp_multivector_get(&p.y, p.y.rows / 2, 1)));
    }
    /* the p.plan still works */
    CHECK_INT(spmm_apply(p.plan, 1, &p.x, 0, &p.y), SPMM_OK);
    if (p.y.rows > 0) CHECK(!isnan(sp_multivector_get(&p.y, p.y.rows / 2, 1)));
    planned_destroy(&p);
}

static void test_products(void)
{
    TEST(
        "values that become equal, or that f32 has, or cease to be so, are read anew by every kernel on rows") {
        static const char *const specs[] = {"lap2d5:30", "fem3:5", "rmat:8,8", "longrows:500,5,3,300"};
        static const int64_t ks[] = {1, 2, 4, 8, 16};
        int count;
        const sp_kernel *const kernels = sp_kernels(&count);
        sp_rows_narrow_from(0);
        for (int n = 0; n < count; n++) {
            if (kernels[n].device != SPMM_CPU || !kernels[n].ops->new_values) continue;
            const int most = kernels[n].format == SPMM_ELL ? 2 : 4; /* padded ELLPACK only for short rows */
            for (int s = 0; s < most; s++)
                for (int k = 0; k < 5; k++)
                    change_kinds_of_values(specs[s], kernels[n].id, (n + s + k) % 4 ? SPMM_F64 : SPMM_F32,
                                           ks[k]);
        }
        sp_rows_narrow_from(-1);
    }
    TEST("values that f32 has are found when a plan goes to few columns") {
        sp_rows_narrow_from(0);
        change_columns();
        sp_rows_narrow_from(-1);
    }
}

static void test_without_memory(void)
{
    distributed d;
    TEST("a rank that failed for want of memory keeps no other waiting") {
        (void)mallopt(M_MMAP_THRESHOLD,
                      1 << 20); /* freed memory goes back to the system, so that the limit matters */
        for (int q = 1; q <= size; q = next_divisor(size, q)) {
            distributed_create("lap2d5:300", SPMM_F64, q, &d);
            for (int r = SPMM_REDUCE_LINEAR; r <= (q > 1 ? SPMM_REDUCE_BUTTERFLY : SPMM_REDUCE_LINEAR); r++)
                for (int bad = 0; bad < size; bad += 1 + size / 3)
                    fail_without_memory(
                        &d.block,
                        &(spmm_plan_options){.exchange = SPMM_EXCHANGE_BCAST,
                                             .transport = bad % 2 ? SPMM_TRANSPORT_AUTO : SPMM_TRANSPORT_MPI,
                                             .reduce = (spmm_reduce)r,
                                             .threads = 1},
                        bad);
            distributed_destroy(&d);
        }
    }
}

static void test_messages(void)
{
    distributed d;
    TEST("messages longer than a bound are cut, and arrive") {
        sp_set_chunk_bytes(56);
        distributed_create("uniform:40,6", SPMM_F64, size, &d);
        for (int r = SPMM_REDUCE_LINEAR; r <= SPMM_REDUCE_MPI; r++)
            multiply(&d, &(spmm_plan_options){.reduce = (spmm_reduce)r}, 3);
        distributed_destroy(&d);
        distributed_create("uniform:40,6", SPMM_F64, 1, &d);
        multiply(&d, &(spmm_plan_options){.exchange = SPMM_EXCHANGE_HALO}, 3);
        multiply(&d, &(spmm_plan_options){.exchange = SPMM_EXCHANGE_BCAST}, 3);
        multiply(&d, &(spmm_plan_options){.exchange = SPMM_EXCHANGE_JOINT}, 3);
        distributed_destroy(&d);
        sp_set_chunk_bytes(0);
    }
}

static void test_environment(void)
{
    distributed d;
    TEST("more threads than a machine bears are refused on every rank, an absurd default is bounded") {
        spmm_plan *plan;
        const int most = sp_threads_most(), before = omp_get_max_threads();
        distributed_create("lap2d5:12", SPMM_F64, 1, &d);
        for (int n = 0; n < 3; n++) { /* only the last rank asks for so many */
            const int asked = (const int[]){most + 1, 1000000, -1}[n];
            const spmm_plan_options many = {.threads = test_.rank == size - 1 ? asked : 1};
            CHECK_ERROR(spmm_plan_create(MPI_COMM_WORLD, &d.block, 2, &many, &plan), SPMM_ERR_USAGE,
                        "threads = ");
            CHECK(plan == NULL);
        }
        if (size <= 2) { /* more ranks would start too many threads for a small machine */
            omp_set_num_threads(1000000);
            multiply(&d, &(spmm_plan_options){.threads = 0}, 2);
            omp_set_num_threads(before);
        }
        distributed_destroy(&d);
    }
    TEST("an environment variable with a value of no sense fails a plan") {
        spmm_plan *plan;
        distributed_create("lap2d5:12", SPMM_F64, 1, &d);
        setenv("SPMM_ISA", "sse9", 1);
        CHECK_ERROR(spmm_plan_create(MPI_COMM_WORLD, &d.block, 2, NULL, &plan), SPMM_ERR_USAGE,
                    "SPMM_ISA=sse9: expected one of generic");
        unsetenv("SPMM_ISA");
        distributed_destroy(&d);
    }
}

static void test_kernels(void)
{
    distributed d;
    distributed_create("lap2d5:9", SPMM_F64, 1, &d);
    TEST("a wrong kernel, K or format is every rank's error, and leaves no plan") {
        const spmm_plan_options wrong[] = {
            {.kernel = "no_such"}, {.format = SPMM_CSR, .kernel = "cpu_ell"}, {.kernel = "csr_rows"}};
        spmm_plan *plan;
        for (int i = 0; i < 3; i++) {
            CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &d.block, 3, &wrong[i], &plan), SPMM_ERR_USAGE);
            CHECK(plan == NULL);
        }
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &d.block, -1, NULL, &plan), SPMM_ERR_USAGE);
        const spmm_plan_options padded = {.format = SPMM_ELL};
        const spmm_plan_study tight = {.ell_limit = 0.01};
        CHECK_ERROR(spmm_plan_create_extended(MPI_COMM_WORLD, &d.block, 3, &padded, &tight, &plan),
                    SPMM_ERR_LIMIT, "ell-nopad");
        CHECK_INT(spmm_plan_create_extended(MPI_COMM_WORLD, &d.block, 3, &padded, NULL, &plan), SPMM_OK);
        spmm_plan_destroy(plan);
        CHECK_ERROR(spmm_plan_create_extended(MPI_COMM_WORLD, &d.block, 3, &padded, &tight, &plan),
                    SPMM_ERR_LIMIT, "ell-nopad");
        spmm_plan_destroy(NULL);
    }
    TEST("a plan chooses a kernel of its format, of any for auto, and a named kernel's format follows") {
        static const struct {
            spmm_plan_options options;
            const char *kernel;
        } plans[] = {{{.format = SPMM_CSR}, "cpu_csr"},
                     {{.kernel = "cpu_ell"}, "cpu_ell"},
                     {{.format = SPMM_ELL}, "cpu_ell"},
                     {{.format = SPMM_FORMAT_AUTO}, "cpu_csr"},
                     {{.format = SPMM_FORMAT_AUTO, .kernel = "cpu_ell_nopad"}, "cpu_ell_nopad"}};
        spmm_plan *plan;
        for (int i = 0; i < 5; i++) {
            CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &d.block, 8, &plans[i].options, &plan), SPMM_OK);
            CHECK_TEXT(spmm_plan_kernel(plan), plans[i].kernel);
            spmm_plan_destroy(plan);
        }
        const spmm_plan_options none = {.format = SPMM_PANEL};
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &d.block, 8, &none, &plan), SPMM_ERR_USAGE);
    }
    TEST("exact bits are a plan's, or refused with what cannot keep them") {
        static const struct {
            spmm_plan_options options;
            const char *says; /* NULL: a plan is made */
        } plans[] = {{{.exact = 1}, NULL},
                     {{.exact = 1, .format = SPMM_ELL_NOPAD}, NULL},
                     {{.exact = 1, .kernel = "cpu_segmented"}, NULL},
                     {{.exact = 1, .exchange = SPMM_EXCHANGE_JOINT}, "the joint exchange adds partial sums"},
                     {{.exact = 1, .any_order = 1}, "options.exact and options.any_order"},
                     {{.exact = 1, .kernel = "cpu_csr_static"}, "cpu_csr_static does not keep"}};
        spmm_plan *plan;
        for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
            const char *const kernel = plans[i].options.kernel;
            if (kernel && !sp_kernel_find(kernel)) continue; /* a build without the baseline */
            CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &d.block, 8, &plans[i].options, &plan),
                      plans[i].says ? SPMM_ERR_USAGE : SPMM_OK);
            if (plans[i].says) CHECK_TEXT(spmm_error_message(), plans[i].says);
            spmm_plan_destroy(plan);
        }
        for (int q = 2; q <= size; q++) {
            distributed cut;
            if (size % q) continue;
            distributed_create("lap2d5:9", SPMM_F64, q, &cut);
            CHECK_ERROR(
                spmm_plan_create(MPI_COMM_WORLD, &cut.block, 8, &(spmm_plan_options){.exact = 1}, &plan),
                SPMM_ERR_USAGE, "choose a P x 1 grid");
            distributed_destroy(&cut);
        }
    }
    TEST("every rank knows the facts of the whole matrix") {
        sp_features whole;
        CHECK_INT(sp_features_of_blocks(MPI_COMM_WORLD, &d.block, NULL, 1, &whole), SPMM_OK);
        CHECK(whole.sum.rows == 81 && whole.sum.nnz == 369 && whole.longest == 5);
    }
    distributed_destroy(&d);
}

static void test_refused(void)
{
    distributed d;
    distributed_create("lap2d5:9", SPMM_F64, 1, &d);
    TEST("a fault in one rank's conversion is every rank's, and nobody hangs") {
        spmm_plan *plan;
        char fault[32];
        snprintf(fault, sizeof fault, "convert:%d", size - 1);
        setenv("SPMM_FAULT", fault, 1);
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &d.block, 3, NULL, &plan), SPMM_ERR_INTERNAL);
        CHECK(plan == NULL);
        unsetenv("SPMM_FAULT");
    }
    TEST("a transport or a reduction that needs a GPU is refused on the CPU, and the message says why") {
        const spmm_plan_options wrong[] = {{.transport = SPMM_TRANSPORT_NCCL},
                                           {.transport = SPMM_TRANSPORT_CUDA_AWARE},
                                           {.transport = SPMM_TRANSPORT_STAGED},
                                           {.transport = SPMM_TRANSPORT_PEER},
                                           {.reduce = SPMM_REDUCE_NCCL}};
        spmm_plan *plan;
        for (int i = 0; i < 5; i++)
            CHECK_ERROR(spmm_plan_create(MPI_COMM_WORLD, &d.block, 3, &wrong[i], &plan), SPMM_ERR_USAGE,
                        "host memory");
    }
    distributed_destroy(&d);
}

static void test_neighbors(void)
{
    TEST("one rank's wrong argument is told to its neighbors, and nobody waits; the next product is right") {
        for (int q = 1, blocks = 0; q <= size; blocks = !blocks, q += !blocks)
            for (int e = SPMM_EXCHANGE_HALO; e <= SPMM_EXCHANGE_JOINT; e++) {
                const spmm_plan_options options = {.exchange = (spmm_exchange)e,
                                                   .column_blocks = e == SPMM_EXCHANGE_JOINT ? 1 : 1 + blocks,
                                                   .transport = SPMM_TRANSPORT_MPI};
                distributed d;
                planned p;
                if (size % q) continue;
                distributed_create("lap2d5:9", SPMM_F64, q, &d);
                planned_create(&d, 8, &options, &p);
                spmm_multivector wrong = p.x;
                wrong.k = 2;
                const spmm_status status = spmm_apply(p.plan, 1, test_.rank == 0 ? &wrong : &p.x, 0, &p.y);
                if (test_.rank == 0) CHECK_INT(status, SPMM_ERR_USAGE);
                /* rank 1 is a neighbor of rank 0 if Q is 1; if not, rank 1 receives no sum and need not
                 * fail */
                if (test_.rank == 1 && q == 1) CHECK_ERROR(status, SPMM_ERR_MPI, "rank 0");
                CHECK_INT(spmm_apply(p.plan, 1, &p.x, 0, &p.y), SPMM_OK);
                check_rows(&d.a, 0, 1, 0, &p.y, d.block.row_begin);
                planned_destroy(&p);
                distributed_destroy(&d);
            }
    }
}

/** Computes with two plans of a block that has been destroyed; both kinds of arrays of the library. */
static void test_destroyed_block(void)
{
    static const char *const kernel[] = {NULL, "cpu_csr", "cpu_sorted"};
    TEST("plans outlive their block and the name of their kernel: products, new values, other columns") {
        for (int n = 0; n < 6; n++) {
            char name[32] = "";
            const spmm_plan_options options = {.kernel = kernel[n % 3] ? name : NULL, .any_order = n >= 3};
            spmm_plan *plan[2];
            distributed of;
            spmm_csr theirs = {0};
            spmm_multivector d;
            int same;
            distributed_create("lap2d5:20", SPMM_F64, 1, &of);
            if (kernel[n % 3]) strcpy(name, kernel[n % 3]);
            const spmm_block place = of.block;
            if (n >= 3)
                theirs = of.block.csr; /* a block that the program fills in with a matrix of the library */
            for (int i = 0; i < 2; i++)
                CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &of.block, 8, &options, &plan[i]), SPMM_OK);
            if (n < 3) spmm_block_destroy(&of.block);
            spmm_csr_destroy(&theirs);
            memset(&of.block, 0xff, sizeof of.block);
            memset(name, 'x', sizeof name - 1);
            for (int i = n % 2; i >= 0 && i < 2; i += n % 2 ? -1 : 1) {
                check_products(plan[i], &of.a, &place);
                CHECK_INT(spmm_plan_set_k(plan[i], 1), SPMM_OK);
                CHECK_INT(spmm_plan_update_values(plan[i]), SPMM_OK);
                check_products(plan[i], &of.a, &place);
                CHECK_INT(spmm_multivector_create(place.csr.rows, 1, SPMM_F64, SPMM_CPU, &d), SPMM_OK);
                CHECK_INT(spmm_plan_diagonal(plan[i], &d), SPMM_OK);
                for (int64_t row = 0; row < d.rows; row++)
                    CHECK(sp_multivector_get(&d, row, 0) ==
                          sample_entry(&of.a, place.row_begin + row, place.row_begin + row));
                spmm_multivector_destroy(&d);
                for (int64_t e = 0; e < of.a.nnz; e++) ((double *)of.a.as)[e] *= 2;
                const spmm_rows new = {.as = (double *)of.a.as + of.a.irp[place.row_begin]};
                CHECK_INT(spmm_plan_update_rows(plan[i], &new, &same), SPMM_OK);
                CHECK_INT(same, 1);
                check_products(plan[i], &of.a, &place);
                for (int64_t e = 0; e < of.a.nnz; e++) ((double *)of.a.as)[e] /= 2;
                CHECK_INT(spmm_plan_update_rows(plan[i], &new, &same), SPMM_OK);
                spmm_plan_destroy(plan[i]);
            }
            spmm_csr_destroy(&of.a);
        }
    }
}

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    device = SPMM_CPU;
    test_products();
    test_without_memory();
    test_messages();
    test_environment();
    test_kernels();
    test_refused();
    test_neighbors();
    test_destroyed_block();
    return test_mpi_end();
}
