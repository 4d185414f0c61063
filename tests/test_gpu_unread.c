/* What kernels on GPUs need not read. If X has few columns: values of A that are all equal, and f64 values
 * that are exact in f32, also while values change and in products of a CUDA graph. In addition, 32-bit column
 * indices where 16 bits suffice.
 * MPI: 1 2
 * limit: 300 */
#include "spmm.h"

#include "gpu_main.h"

static void skip_all(const char *why)
{
    SKIP("equal values are not read on GPUs", why);
    SKIP("equal values that change, in plans and in CUDA graphs", why);
    SKIP("column indices of 16 bits", why);
}

#ifdef TEST_CUDA
#include <cuda_runtime.h>

#include "device/device.h"
#include "formats/multivector.h"
#include "distributed.h"
#include "plan/plan_struct.h"

#define CUDA_OK(call) CHECK_INT(call, cudaSuccess)
/* the strictest mode, except with several ranks, where MPI may have threads that call CUDA */
#define MODE (size == 1 ? cudaStreamCaptureModeGlobal : cudaStreamCaptureModeThreadLocal)

static const char *const kernels[] = {"sell_rows", "sell_deep", "csr_balanced", "panel_mma", "csr_deep"};
enum {
    KERNELS = sizeof kernels / sizeof *kernels,
    UNREAD = 4, /* the first UNREAD kernels do not read equal values */
    NARROW = 3, /* the first NARROW read f64 values that are exact in f32 as f32 */
    MOST_EQUAL = 8
};
static const int64_t columns[] = {1, 2, 3, 8, 64};
enum { WIDTHS = sizeof columns / sizeof *columns };

/** The last entry of each rank's block: the value of the other entries; another value, exact in f32; one that
 *  is not exact in f32, if the precision is f64. */
typedef enum last_value { LIKE, UNLIKE, WIDE } last_value;

static double value_of_last(last_value last, double value, spmm_precision precision)
{
    return last == WIDE && precision == SPMM_F64 ? value + 0x1p-30 : value + 1;
}

/** Sets all entries to the same value, except the last one of each rank's block unless `differ` is LIKE. */
static void give(distributed *d, double value, last_value differ)
{
    const double other = value_of_last(differ, value, d->a.precision);
    spmm_csr *const a = &d->a, *const mine = &d->block.csr;
    const int64_t last = mine->nnz > 0 ? a->irp[d->block.row_begin] + mine->nnz - 1 : -1;
    for (int64_t e = 0; e < a->nnz; e++) sample_set(a->as, a->precision, e, value);
    for (int64_t e = 0; e < mine->nnz; e++) sample_set(mine->as, mine->precision, e, value);
    if (differ == LIKE) return;
    if (mine->nnz > 0) sample_set(mine->as, mine->precision, mine->nnz - 1, other);
    for (int r = 0; r < size; r++) { /* every rank has the whole matrix */
        int64_t at = last;
        MPI_Bcast(&at, 1, MPI_INT64_T, r, MPI_COMM_WORLD);
        if (at >= 0) sample_set(a->as, a->precision, at, other);
    }
}

/** \param [in] in  the stream of products, or NULL */
static void on_gpu(const distributed *d, const char *kernel, int64_t k, void *in, planned *p)
{
    const spmm_plan_options options = {
        .device = SPMM_CUDA, .format = SPMM_FORMAT_AUTO, .kernel = kernel, .products = 1, .stream = in};
    planned_create(d, k, &options, p);
}

/** Overwrites the plan's arrays of values with NaNs, without telling the plan. */
static void spoil_values(const spmm_plan *plan)
{
    const sp_row_blocks *const parts = &plan->forward->parts;
    for (int i = 0; i < parts->count; i++)
        if (parts->part[i].a.val)
            CHECK_INT(sp_device_nan(parts->part[i].a.val, parts->part[i].a.bytes[SP_VAL]), SPMM_OK);
    CHECK_INT(sp_device_sync(), SPMM_OK);
}

static void product(const distributed *d, planned *p)
{
    CHECK_INT(sp_device_nan(p->y.data, sp_multivector_bytes(&p->y)), SPMM_OK);
    CHECK_INT(sp_device_sync(), SPMM_OK); /* a product in the plan's own stream does not wait for that */
    CHECK_INT(spmm_apply(p->plan, 1, &p->x, 0, &p->y), SPMM_OK);
    check_rows(&d->a, 0, 1, 0, &p->y, d->block.row_begin);
}

static void transposed_product(const distributed *d, planned *p)
{
    fill(&p->y, d->block.row_begin);
    CHECK_INT(spmm_apply_transposed(p->plan, 1, &p->y, 0, &p->x), SPMM_OK);
    check_rows(&d->a, 1, 1, 0, &p->x, d->block.x_begin);
    fill(&p->x, d->block.x_begin);
}

/** Checks values that are equal, then differ in one entry, exact in f32 or not, then are equal again.
 *  \param [in] kernel      NULL: auto
 *  \param [in] transposed  1: also products with the transpose
 *  \param [in] unread      1: no row is long, and equal values are not read
 *  \param [in] narrow      1: values that are exact in f32 are not read in f64 either */
static void change(const char *spec, const char *kernel, spmm_precision precision, int64_t k, int transposed,
                   int unread, int narrow)
{
    static const struct stage {
        double value;
        last_value last;
    } stages[] = {{3, LIKE},   {3, UNLIKE}, {-2, LIKE}, {5, WIDE},
                  {5, UNLIKE}, {4, WIDE},   {5, LIKE},  {0, LIKE}};
    distributed d;
    planned p;
    distributed_create(spec, precision, 1, &d);
    give(&d, stages[0].value, stages[0].last);
    on_gpu(&d, kernel, k, NULL, &p);
    for (size_t n = 0; n < sizeof stages / sizeof *stages; n++) {
        if (n > 0) give(&d, stages[n].value, stages[n].last);
        if (n > 0) CHECK_INT(spmm_plan_update_values(p.plan), SPMM_OK);
        product(&d, &p);
        if (transposed) transposed_product(&d, &p);
        if (!unread || k > MOST_EQUAL || stages[n].last == WIDE) continue;
        if (stages[n].last == UNLIKE && !narrow) continue;
        spoil_values(p.plan);
        product(&d, &p);
    }
    planned_destroy(&p);
    distributed_destroy(&d);
}

static void test_changes(void)
{
    TEST(
        "equal values, and narrow ones in f64, are not read with up to 8 columns; values that cease to be so are") {
        static const char *const specs[] = {"lap3d27:5", "lap2d5:17", "uniform:70,5", "band:90,4,9"};
        for (int n = 0; n < UNREAD; n++)
            for (int s = 0; s < 4; s++)
                for (int k = 0; k < WIDTHS; k++)
                    for (int f32 = 0; f32 < 2; f32++)
                        change(specs[s], kernels[n], f32 ? SPMM_F32 : SPMM_F64, columns[k], 0, 1,
                               !f32 && n < NARROW);
    }
    TEST("the same with long rows, with empty rows, with odd shapes, and for products with the transpose") {
        static const char *const specs[] = {"longrows:400,5,3,300", "rmat:7,6", "uniform:3,2", "lap2d5:1"};
        for (int n = 0; n <= KERNELS; n++)
            for (int s = 0; s < 4; s++)
                for (int k = 0; k < WIDTHS; k++)
                    change(specs[s], n < KERNELS ? kernels[n] : NULL, (n + s + k) % 2 ? SPMM_F32 : SPMM_F64,
                           columns[k], 1, 0, 0);
    }
}

/* ---- graphs ---- */

static cudaStream_t stream;

static cudaGraphExec_t captured(const planned *p)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec = NULL;
    spmm_multivector y = p->y;
    CUDA_OK(cudaStreamBeginCapture(stream, MODE));
    CHECK_INT(spmm_apply(p->plan, 1, &p->x, 0, &y), SPMM_OK);
    CUDA_OK(cudaStreamEndCapture(stream, &graph));
    CUDA_OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    CUDA_OK(cudaGraphDestroy(graph));
    return exec;
}

static void replay(const char *spec, const char *kernel, spmm_precision precision, int64_t k,
                   last_value differ)
{
    distributed d;
    planned p;
    distributed_create(spec, precision, 1, &d);
    give(&d, 3, differ);
    on_gpu(&d, kernel, k, stream, &p);
    product(&d, &p);
    if (sp_product_queues(p.plan->forward)) {
        cudaGraphExec_t const graph = captured(&p);
        for (int n = 0; n < 7; n++) {
            if (n > 0) give(&d, n, (last_value)(n % 3));
            if (n > 0) CHECK_INT(spmm_plan_update_values(p.plan), SPMM_OK);
            CHECK_INT(sp_device_nan(p.y.data, sp_multivector_bytes(&p.y)), SPMM_OK);
            CHECK_INT(sp_device_sync(), SPMM_OK);
            CUDA_OK(cudaGraphLaunch(graph, stream));
            CUDA_OK(cudaStreamSynchronize(stream));
            check_rows(&d.a, 0, 1, 0, &p.y, d.block.row_begin);
        }
        CUDA_OK(cudaGraphExecDestroy(graph));
    }
    CUDA_OK(cudaStreamSynchronize(stream));
    planned_destroy(&p);
    distributed_destroy(&d);
}

static void test_graphs(void)
{
    TEST("a product in a CUDA graph follows values that become equal and cease to be") {
        CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        for (int n = 0; n < KERNELS; n++)
            for (int k = 0; k < WIDTHS; k++)
                for (int differ = 0; differ < 3; differ++)
                    replay(k % 2 ? "lap3d27:5" : "rmat:7,6", kernels[n],
                           (n + k + differ) % 3 ? SPMM_F64 : SPMM_F32, columns[k], (last_value)differ);
        CUDA_OK(cudaStreamDestroy(stream));
    }
}

/* ---- column indices of 16 bits ---- */

/** Makes 100 rows of 3 entries. Rows 32 n to 32 n + 31 have their columns between 20000 n and 20000 n +
 *  `reach`, which is at least 7. */
static void make_wide(int64_t reach, spmm_precision precision, distributed *d)
{
    enum { ROWS = 100, EACH = 3, STEP = 20000 };
    spmm_csr *const a = &d->a;
    *a = (spmm_csr){.rows = ROWS, .cols = 4 * STEP + reach, .nnz = ROWS * EACH, .precision = precision};
    CHECK_INT(sp_alloc((void **)&a->irp, ROWS + 1, sizeof *a->irp, "a test"), SPMM_OK);
    CHECK_INT(sp_alloc((void **)&a->ja, a->nnz, sizeof *a->ja, "a test"), SPMM_OK);
    CHECK_INT(sp_alloc(&a->as, a->nnz, sp_value_size(precision), "a test"), SPMM_OK);
    for (int64_t i = 0; i <= ROWS; i++) a->irp[i] = i * EACH;
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < EACH; j++)
            a->ja[i * EACH + j] = (int32_t)(i / 32 * STEP + (j == 0 ? 0 : j == 1 ? 1 + i % 7 : reach));
    set_values(a, 0);
    CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, a, size, 1, &d->block), SPMM_OK);
}

/** \param [in] unread  1: the 32-bit column indices are not read */
static void product_of_wide(int64_t reach, spmm_precision precision, int64_t k, int equal, int unread)
{
    distributed d;
    planned p;
    make_wide(reach, precision, &d);
    if (equal) give(&d, 2, LIKE);
    on_gpu(&d, "sell_rows", k, NULL, &p);
    product(&d, &p);
    const sp_row_blocks *const parts = &p.plan->forward->parts;
    for (int i = 0; unread && i < parts->count; i++)
        CHECK_INT(sp_device_zero(parts->part[i].a.col, parts->part[i].a.bytes[SP_COL]), SPMM_OK);
    if (unread) product(&d, &p);
    planned_destroy(&p);
    distributed_destroy(&d);
}

static void test_short_columns(void)
{
    TEST("with one column of X, column indices of 16 bits are read where all slices allow it") {
        for (int f32 = 0; f32 < 2; f32++)
            for (int equal = 0; equal < 2; equal++)
                for (int64_t k = 1; k <= 2; k++)
                    for (int64_t reach = 65533; reach <= 65537; reach++)
                        product_of_wide(reach, f32 ? SPMM_F32 : SPMM_F64, k, equal,
                                        size == 1 && k == 1 && reach < 65535);
    }
}

static void test_all(void)
{
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    device = SPMM_CUDA;
    test_changes();
    test_short_columns();
    test_graphs();
}
#else
static void test_all(void) { skip_all("a build without CUDA"); }
#endif

int main(int argc, char **argv) { return gpu_main(argc, argv, skip_all, test_all); }
