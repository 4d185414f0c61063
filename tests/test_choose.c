#include "formats/panel.h"
#include "io/generators.h"
#include "formats/summation.h"
#include "plan/choose.h"
#include "sample.h"
#include "test.h"

/** Checks what is chosen for a GPU, in both precisions.
 *  \param [in] names   the kernels of which one is expected
 *  \param [in] reason  a part of the reasons */
static void expect(const sp_features *f, int64_t k, int64_t products, const char *names, const char *reason)
{
    for (int p = 0; p < 2; p++) {
        const sp_kernel *kernel;
        char why[128] = "";
        CHECK_INT(sp_choose(f, k, products, (spmm_precision)p, SPMM_CUDA, SPMM_FORMAT_AUTO, &kernel, why,
                            sizeof why),
                  SPMM_OK);
        CHECK_TEXT(names, kernel->id);
        CHECK_TEXT(why, reason);
        CHECK_TEXT(why, p ? "f32" : "f64");
    }
}

/** A matrix of rows of one length, whose panels use a fetched row of X `reuse` times. */
static sp_features even_rows(double rows, double length, double reuse)
{
    sp_features f = {.sum = {.blocks = 1,
                             .rows = rows,
                             .nnz = rows * length,
                             .squares = rows * length * length,
                             .panel_columns = rows * length / reuse},
                     .longest = length};
    for (int b = 0; b < SP_LENGTH_BOUNDS; b++) f.sum.over[b] = length > 4 << b ? f.sum.nnz : 0;
    return f;
}

static sp_features features_of(const char *spec)
{
    spmm_csr a;
    sp_features f;
    CHECK_INT(sp_gen_csr(spec, SPMM_F64, 1, &a), SPMM_OK);
    sp_features_of(&a, 0, 1, &f);
    spmm_csr_destroy(&a);
    return f;
}

static void add(sp_features *sum, const sp_features *f)
{
    for (size_t i = 0; i < sizeof f->sum / sizeof(double); i++)
        ((double *)&sum->sum)[i] += ((const double *)&f->sum)[i];
    if (f->longest > sum->longest) sum->longest = f->longest;
    sum->cache = f->cache;
    sum->unstaged = f->unstaged;
}

static void test_features(void)
{
    spmm_csr a = {0};
    sp_features f;
    TEST("the facts of a matrix are those of its rows, with any number of threads") {
        for (int s = 0; s < SAMPLES; s++)
            for (int threads = 1; threads < 4; threads += 2) {
                double squares = 0, longest = 0, in_long_rows = 0;
                sample_csr((sample)s, SAMPLE_INTEGERS, SPMM_F64, &a);
                for (int64_t i = 0; i < a.rows; i++) {
                    const double n = (double)(a.irp[i + 1] - a.irp[i]);
                    squares += n * n;
                    if (n > longest) longest = n;
                    if (n > SP_CHAIN) in_long_rows += n;
                }
                sp_features_of(&a, 0, threads, &f);
                CHECK(f.sum.rows == (double)a.rows && f.sum.nnz == (double)a.nnz);
                CHECK(f.sum.squares == squares && f.longest == longest &&
                      f.sum.over[SP_LENGTH_BOUNDS - 1] == in_long_rows);
                CHECK(f.sum.panel_columns == sp_panel_columns(&a, a.rows));
                CHECK((sp_features_reuse(&f) >= 1) == (a.nnz > 0 && in_long_rows <= 0.02 * (double)a.nnz));
                spmm_csr_destroy(&a);
            }
    }
    TEST("entries of rows beyond a piece are counted, and their lengths vary") {
        CHECK_INT(sp_gen_csr("longrows:4000,2,3,1000", SPMM_F64, 1, &a), SPMM_OK);
        sp_features_of(&a, 0, 2, &f);
        CHECK(f.longest == 1000 && f.sum.over[SP_LENGTH_BOUNDS - 1] == 3000 && sp_features_variation(&f) > 5);
        spmm_csr_destroy(&a);
    }
    TEST("rows of one length vary by nothing, and no rows neither") {
        f = even_rows(1e6, 7, 1.3);
        CHECK(sp_features_variation(&f) < 1e-6);
        memset(&f, 0, sizeof f);
        CHECK(sp_features_variation(&f) == 0 && sp_features_reuse(&f) == 0);
    }
    TEST("the facts of blocks add up to the matrix's") {
        sp_features part, sum = {0};
        spmm_csr rows;
        CHECK_INT(sp_gen_csr("lap3d27:12", SPMM_F64, 1, &a), SPMM_OK);
        sp_features_of(&a, 0, 1, &f);
        for (int64_t begin = 0; begin < a.rows; begin += 576) {
            CHECK_INT(sp_csr_rows(&a, begin, begin + 576, &rows), SPMM_OK);
            sp_features_of(&rows, begin, 1, &part);
            add(&sum, &part);
            spmm_csr_destroy(&rows);
        }
        CHECK(fabs(sum.sum.panel_columns / f.sum.panel_columns - 1) < 0.01); /* samples, scaled */
        sum.sum.panel_columns = f.sum.panel_columns;
        /* a sample, without the neighbours in other blocks */
        CHECK(fabs(sp_trait_of(&sum, SP_SHARED, 1, SPMM_F64) - sp_trait_of(&f, SP_SHARED, 1, SPMM_F64)) <
              0.1);
        sum.sum.columns = f.sum.columns;
        CHECK(sum.sum.changes <= f.sum.changes &&
              sum.sum.changes >= f.sum.changes - 2); /* nor with other blocks' rows */
        sum.sum.changes = f.sum.changes;
        sum.sum.shared = f.sum.shared;
        CHECK(sum.sum.blocks == 3);
        sum.sum.blocks = 1;
        CHECK(memcmp(&sum, &f, sizeof f) == 0);
        spmm_csr_destroy(&a);
    }
}

static void test_choice_on_gpus(void)
{
    sp_features f;
    TEST("on a GPU one column takes sliced ELLPACK, shared columns panels, long rows no panels") {
        f = features_of("lap3d27:64");
        expect(&f, 1, 0, "sell_rows sell_deep", "f");
        f = features_of("fem3:24");
        const sp_kernel *kernel;
        CHECK_INT(sp_choose(&f, 64, 0, SPMM_F64, SPMM_CUDA, SPMM_FORMAT_AUTO, &kernel, NULL, 0), SPMM_OK);
        CHECK_TEXT(kernel->id, "panel_mma");
        f = features_of("longrows:3000,150,2,2900");
        expect(&f, 8, 0, "csr_rows csr_balanced csr_deep csr_clustered sell_rows sell_deep", "entries");
    }
    TEST("for one product the kernel without a set-up is taken, for many the fastest") {
        f = features_of("lap3d27:64");
        expect(&f, 1, 1, "csr_rows", "");
        expect(&f, 1, 1 << 20, "sell_rows sell_deep", "");
    }
}

static void test_choice_on_cpus(void)
{
    sp_features f;
    TEST(
        "on a CPU a large X takes clusters, where rows that share columns are far apart and products are to come") {
        const sp_kernel *kernel;
        struct {
            double reuse;
            int64_t k, products;
            const char *id;
        } cases[] = {{1.01, 64, 0, "cpu_clustered"}, {1.8, 64, 0, "cpu_csr"},
                     {1.01, 8, 0, "cpu_csr"},        {1.01, 64, 5, "cpu_csr"},
                     {0, 64, 0, "cpu_csr"},          {1.01, 16, 100, "cpu_clustered"}};
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            f = even_rows(300000, 7, cases[i].reuse > 0 ? cases[i].reuse : 1e9);
            f.sum.columns = 1000;
            f.sum.shared = 500;
            f.cache = 32 << 20;
            if (cases[i].reuse <= 0) f.sum.shared = 10;
            CHECK_INT(sp_choose(&f, cases[i].k, cases[i].products, SPMM_F64, SPMM_CPU, SPMM_FORMAT_AUTO,
                                &kernel, NULL, 0),
                      SPMM_OK);
            CHECK_TEXT(kernel->id, cases[i].id);
        }
    }
    TEST("on a CPU few columns take rows sorted by length, where lengths change from row to row") {
        const sp_kernel *kernel;
        for (int64_t k = 1; k <= 16; k *= 4)
            for (int changes = 0; changes < 2; changes++)
                for (int64_t products = 1; products <= 1000; products += 999) {
                    f = even_rows(1000, 7, 1.5);
                    f.sum.changes = changes ? 500 : 100;
                    CHECK_INT(
                        sp_choose(&f, k, products, SPMM_F64, SPMM_CPU, SPMM_FORMAT_AUTO, &kernel, NULL, 0),
                        SPMM_OK);
                    CHECK_TEXT(kernel->id, k <= 4 && changes && products > 1 ? "cpu_sorted" : "cpu_csr");
                }
    }
}

static void test_choice_of_segments(void)
{
    sp_features f;
    TEST("on a CPU long rows that reach over a large X take segments") {
        const sp_kernel *kernel;
        struct {
            double length, reach;
            int64_t k, products;
            const char *id;
        } cases[] = {{2000, 50000, 16, 0, "cpu_segmented"}, {2000, 50000, 16, 10, "cpu_segmented"},
                     {2000, 50000, 16, 5, "cpu_csr"},       {2000, 50000, 8, 0, "cpu_csr"},
                     {2000, 1500, 32, 0, "cpu_csr"},        {100, 50000, 64, 0, "cpu_csr"},
                     {2000, 50000, 1, 0, "cpu_csr"}};
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            f = even_rows(100, cases[i].length, 1);
            f.sum.reach = f.sum.over[SP_LENGTH_BOUNDS - 1] * cases[i].reach;
            CHECK_INT(sp_choose(&f, cases[i].k, cases[i].products, SPMM_F64, SPMM_CPU, SPMM_FORMAT_AUTO,
                                &kernel, NULL, 0),
                      SPMM_OK);
            CHECK_TEXT(kernel->id, cases[i].id);
        }
        f = features_of("longrows:3000,15,2,2900");
        /* two rows of 2900 entries of 3000 columns, and no other long one */
        CHECK(f.sum.over[SP_LENGTH_BOUNDS - 1] == 2 * 2900 && f.sum.reach > 5800 * 2900.0 &&
              f.sum.reach <= 5800 * 3000.0);
    }
}

static void test_extremes(void)
{
    sp_features f;
    TEST("a trait is what its name says") {
        f = even_rows(1e6, 20, 2);
        CHECK(sp_trait_of(&f, SP_X_BYTES, 3, SPMM_F32) == 12 && sp_trait_of(&f, SP_MEAN, 3, SPMM_F32) == 20);
        CHECK(sp_trait_of(&f, SP_OVER_16, 3, SPMM_F32) == 1 && sp_trait_of(&f, SP_OVER_32, 3, SPMM_F32) == 0);
        CHECK(sp_trait_of(&f, SP_REUSE, 3, SPMM_F32) == 2 && sp_trait_of(&f, SP_ENTRIES, 3, SPMM_F32) == 2e7);
        f.sum.blocks = 4;
        CHECK(sp_trait_of(&f, SP_ENTRIES, 3, SPMM_F32) == 5e6);
    }
    TEST("no matrix is without a kernel: no rows, no entries, one column") {
        const sp_features none = {0};
        for (int device = SPMM_CPU; device <= SPMM_CUDA; device++)
            for (int64_t k = 1; k < 200; k += 33) {
                const sp_kernel *kernel = NULL;
                CHECK_INT(
                    sp_choose(&none, k, 0, SPMM_F64, (spmm_device)device, SPMM_FORMAT_AUTO, &kernel, NULL, 0),
                    SPMM_OK);
                CHECK(kernel && (int)kernel->device == device);
            }
    }
}

static void test_choice_of_a_format(void)
{
    TEST("a format keeps the choice to its kernels, and one without kernels is refused") {
        const sp_features f = even_rows(1e6, 80, 6);
        for (int device = SPMM_CPU; device <= SPMM_CUDA; device++)
            for (int format = SPMM_CSR; format < SP_FORMATS; format++) {
                const sp_kernel *kernel;
                const spmm_status status = sp_choose(&f, 64, 0, SPMM_F64, (spmm_device)device,
                                                     (spmm_format)format, &kernel, NULL, 0);
                if (!sp_kernel_default((spmm_device)device, (spmm_format)format)) {
                    CHECK_INT(status, SPMM_ERR_USAGE);
                    CHECK(kernel == NULL);
                } else {
                    CHECK_INT(status, SPMM_OK);
                    CHECK((int)kernel->device == device && (int)kernel->format == format);
                }
            }
    }
}

static void test_candidates(void)
{
    sp_features f;
    TEST("the candidates are distinct, of the device and the format, and whatever is chosen is one") {
        for (int device = SPMM_CPU; device <= SPMM_CUDA; device++)
            for (int format = SPMM_FORMAT_AUTO; format < SP_FORMATS; format++) {
                const sp_kernel *list[SP_MAX_CANDIDATES], *kernel;
                const int count = sp_candidates((spmm_device)device, (spmm_format)format, list);
                for (int i = 0; i < count; i++) {
                    CHECK((int)list[i]->device == device);
                    CHECK(format == SPMM_FORMAT_AUTO || (int)list[i]->format == format);
                    for (int j = 0; j < i; j++) CHECK(list[i] != list[j]);
                }
                for (int64_t k = 1; k <= 256 && count; k *= 2)
                    for (double reuse = 1; reuse <= 8; reuse *= 2) {
                        int there = 0;
                        f = even_rows(1e5, 20, reuse);
                        if (k % 3 == 1) f.longest = 1e5;
                        CHECK_INT(sp_choose(&f, k, 0, SPMM_F32, (spmm_device)device, (spmm_format)format,
                                            &kernel, NULL, 0),
                                  SPMM_OK);
                        for (int i = 0; i < count; i++) there |= list[i] == kernel;
                        CHECK(there);
                    }
            }
    }
}

int main(void)
{
    test_features();
    test_choice_on_gpus();
    test_choice_on_cpus();
    test_choice_of_segments();
    test_extremes();
    test_choice_of_a_format();
    test_candidates();
    return test_end();
}
