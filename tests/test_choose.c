#define TEST_TRAPS 0 /* panels without columns in common: a division by 0 */
#include <stdlib.h>

#include "device/device.h"
#include "formats/panel.h"
#include "io/generators.h"
#include "formats/summation.h"
#include "product/choose.h"
#include "sample.h"
#include "test.h"

/** Checks what is chosen for a GPU, in both precisions.
 *  \param [in] names   kernels, one of which is expected
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

/** Returns the name of the kernel that is chosen for a CPU, in f64. */
static const char *on_cpu(const sp_features *f, int64_t k, int64_t products)
{
    const sp_kernel *kernel = NULL;
    CHECK_INT(sp_choose(f, k, products, SPMM_F64, SPMM_CPU, SPMM_FORMAT_AUTO, &kernel, NULL, 0), SPMM_OK);
    return kernel ? kernel->id : "";
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
    sp_features_of(&a, 0, 0, 1, &f);
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
    sum->f64_slow = f->f64_slow;
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
                sp_features_of(&a, 0, 0, threads, &f);
                CHECK(f.sum.rows == (double)a.rows && f.sum.nnz == (double)a.nnz);
                CHECK(f.sum.squares == squares && f.longest == longest &&
                      f.sum.over[SP_LENGTH_BOUNDS - 1] == in_long_rows);
                CHECK(f.sum.panel_columns == sp_panel_columns(&a, a.rows, 2));
                CHECK((sp_features_reuse(&f) >= 1) == (a.nnz > 0));
                spmm_csr_destroy(&a);
            }
    }
    TEST("entries of rows beyond a piece are counted, and their lengths vary") {
        CHECK_INT(sp_gen_csr("longrows:4000,2,3,1000", SPMM_F64, 1, &a), SPMM_OK);
        sp_features_of(&a, 0, 0, 2, &f);
        CHECK(f.longest == 1000 && f.sum.over[SP_LENGTH_BOUNDS - 1] == 3000 && sp_features_variation(&f) > 5);
        spmm_csr_destroy(&a);
    }
    TEST("rows of one length vary by nothing, and no rows neither") {
        f = even_rows(1e6, 7, 1.3);
        CHECK(sp_features_variation(&f) < 1e-6);
        memset(&f, 0, sizeof f);
        CHECK(sp_features_variation(&f) == 0 && sp_features_reuse(&f) == 0);
    }
    TEST("features do not depend on the order of the columns of a row, except the columns of panels") {
        static const char *const specs[] = {"lap3d27:12", "longrows:3000,15,2,2900"};
        for (int s = 0; s < 2; s++) {
            sp_features any;
            CHECK_INT(sp_gen_csr(specs[s], SPMM_F64, 1, &a), SPMM_OK);
            sp_features_of(&a, 0, 0, 1, &f);
            CHECK(s == 0 ? f.sum.shared > 0 : f.sum.reach > 0);
            for (int64_t i = 0; i < a.rows; i++) { /* the second half of a row, backwards, then the first */
                const int64_t begin = a.irp[i], length = a.irp[i + 1] - begin;
                int32_t *const row = malloc((size_t)(length + 1) * sizeof *row);
                for (int64_t e = 0; e < length; e++)
                    row[e] = a.ja[begin + (e < length / 2 ? length - 1 - e : e - length / 2)];
                memcpy(a.ja + begin, row, (size_t)length * sizeof *row);
                free(row);
            }
            sp_features_of(&a, 0, 1, 2, &any);
            any.sum.panel_columns = f.sum.panel_columns;
            CHECK(memcmp(&any, &f, sizeof f) == 0);
            spmm_csr_destroy(&a);
        }
    }
    TEST("the facts of blocks add up to the matrix's") {
        sp_features part, sum = {0};
        spmm_csr rows;
        CHECK_INT(sp_gen_csr("lap3d27:12", SPMM_F64, 1, &a), SPMM_OK);
        sp_features_of(&a, 0, 0, 1, &f);
        for (int64_t begin = 0; begin < a.rows; begin += 576) {
            CHECK_INT(sp_csr_rows(&a, begin, begin + 576, &rows), SPMM_OK);
            sp_features_of(&rows, begin, 0, 1, &part);
            add(&sum, &part);
            spmm_csr_destroy(&rows);
        }
        CHECK(fabs(sum.sum.panel_columns / f.sum.panel_columns - 1) < 0.01); /* estimated from samples */
        sum.sum.panel_columns = f.sum.panel_columns;
        /* estimated from samples; blocks do not see neighbors in other blocks */
        CHECK(fabs(sp_trait_of(&sum, SP_SHARED, 1, SPMM_F64) - sp_trait_of(&f, SP_SHARED, 1, SPMM_F64)) <
              0.1);
        sum.sum.columns = f.sum.columns;
        CHECK(sum.sum.changes <= f.sum.changes &&
              sum.sum.changes >= f.sum.changes - 2); /* blocks do not see changes between them */
        sum.sum.changes = f.sum.changes;
        sum.sum.shared = f.sum.shared;
        CHECK(sum.sum.blocks == 3);
        sum.sum.blocks = 1;
        CHECK(memcmp(&sum, &f, sizeof f) == 0);
        spmm_csr_destroy(&a);
    }
}

/** Returns the place of the kernel with that name in the list; -1 if it is not there. */
static int place_of(const char *name, const sp_kernel *const *list, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i]->id, name) == 0) return i;
    return -1;
}

/** Returns the place of a CUDA kernel in the order of kernels of all formats; -1 if it is not listed. */
static int place(const char *name, const sp_features *f, int64_t k, int64_t products,
                 spmm_precision precision, int all)
{
    const sp_kernel *list[SP_MAX_CANDIDATES];
    const int count = sp_order_kernels(f, k, products, precision, SPMM_CUDA, SPMM_FORMAT_AUTO, all, list,
                                       NULL, 0);
    return place_of(name, list, count);
}

static void test_choice_on_gpus(void)
{
    sp_features f;
    TEST("on a GPU one column takes sliced ELLPACK, shared columns panels, long rows no panels") {
        f = features_of("lap3d27:64");
        expect(&f, 1, 0, "sell_rows sell_deep", "f");
        f = features_of("fem3:24");
        for (int p = 0; p < 2; p++) { /* panel_staged may precede it, but only with a GPU */
            const int at = place("panel_mma", &f, 64, 0, (spmm_precision)p, 0);
            CHECK(at >= 0 && at < SP_TRIED);
        }
        f = features_of("longrows:3000,150,2,2900");
        expect(&f, 8, 0, "csr_balanced csr_deep sell_rows sell_deep", "entries");
    }
    TEST("for few products a kernel without a conversion is taken, for many the fastest") {
        f = features_of("lap3d27:64");
        expect(&f, 1, 1, "csr_balanced csr_deep", "");
        expect(&f, 1, SP_PRODUCTS_TIMED - 1, "csr_balanced csr_deep", "few products");
        expect(&f, 1, SP_PRODUCTS_TIMED, "sell_rows sell_deep", "");
    }
    TEST("panel_staged is for GPUs that can, for whole tiles and for products that repay it") {
        f = even_rows(1e6, 20, 2);
        CHECK_INT(place("panel_staged", &f, 64, 0, SPMM_F64, 0), 0);
        CHECK_INT(place("panel_staged", &f, 64, 129, SPMM_F64, 1), -1);
        CHECK_INT(place("panel_staged", &f, 64, 130, SPMM_F64, 0), 0);
        CHECK_INT(place("panel_staged", &f, 31, 0, SPMM_F64, 1), -1);
        CHECK_INT(place("panel_staged", &f, 33, 0, SPMM_F64, 0), -1); /* half of 64 columns are padding */
        CHECK(place("panel_staged", &f, 33, 0, SPMM_F64, 1) >= SP_TRIED);
        CHECK_INT(place("panel_staged", &f, 60, 0, SPMM_F64, 0), 0);
        CHECK_INT(place("panel_staged", &f, 257, 0, SPMM_F64, 1), -1);
        f.unstaged = 1;
        CHECK_INT(place("panel_staged", &f, 64, 0, SPMM_F64, 1), -1);
        CHECK(place("panel_mma", &f, 64, 0, SPMM_F64, 0) >= 0);
    }
    TEST("where units for f64 are few, kernels that sum f32 in f64 are no candidates") {
        f = even_rows(1e6, 20, 4);
        for (f.f64_slow = 0; f.f64_slow < 2; f.f64_slow++)
            for (int64_t k = 1; k <= 128; k *= 2) {
                CHECK((place("panel_mma", &f, k, 0, SPMM_F32, 1) < 0) == (f.f64_slow > 0));
                CHECK((place("panel_staged", &f, k, 0, SPMM_F32, 1) < 0) == (f.f64_slow > 0 || k < 64));
                CHECK(place("panel_mma", &f, k, 0, SPMM_F64, 1) >= 0);
            }
    }
    TEST(
        "csr_rows comes first for very short rows, and for short rows of even lengths with short rows of X; with "
        "long rows of X it joins three others") {
        struct {
            double length, variation;
            int64_t k;
            int place;
        } cases[] = {{2, 0, 16, 0},        {2, 0, 15, -1},     {2, 9, 64, 0},     {3.5, 0, 64, SP_TRIED},
                     {3.5, 0, 63, -1},     {3.5, 0.6, 64, -1}, {3.5, 0.4, 16, 0}, {8, 0, 31, 0},
                     {8, 0, 64, SP_TRIED}, {8, 0, 32, -1},     {8.1, 0, 16, -1},  {5, 0.6, 16, -1}};
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            f = even_rows(1e5, cases[i].length, 1);
            f.sum.squares *= 1 + cases[i].variation * cases[i].variation;
            for (int64_t products = 1; products <= 1000; products += 999)
                for (int p = 0; p < 2; p++)
                    CHECK_INT(place("csr_rows", &f, cases[i].k * (p + 1), products, (spmm_precision)p, 1),
                              cases[i].place);
        }
    }
    TEST("csr_clustered joins three others for a large X of scattered rows that share columns") {
        struct {
            double rows, shared, reuse;
            int64_t k;
            int joins;
        } cases[] = {{1e6, 0.5, 1.01, 16, 1}, {1e6, 0.5, 0, 16, 1}, /* 0: many long rows */
                     {1e6, 0.5, 1.5, 16, 0},  {1e6, 0.05, 1.01, 16, 0},
                     {1e4, 0.5, 1.01, 16, 0}, {1e6, 0.5, 1.01, 8, 0}};
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            f = even_rows(cases[i].rows, 7, cases[i].reuse);
            f.sum.columns = 1000;
            f.sum.shared = 1000 * cases[i].shared;
            if (cases[i].reuse == 0) f.sum.over[SP_LENGTH_BOUNDS - 1] = f.sum.nnz / 10;
            CHECK_INT(place("csr_clustered", &f, cases[i].k, 0, SPMM_F64, 0), cases[i].joins ? SP_TRIED : -1);
            CHECK(place("csr_clustered", &f, cases[i].k, 0, SPMM_F64, 1) >= SP_TRIED);
        }
    }
}

/** Tests with the GPU of this machine, which may be the emulated one. */
static void test_open_gpu(void)
{
    static const char *const what = "the open GPU's rate of f32 to f64 decides whether f32 is summed in f64";
    sp_device_info gpu;
    sp_features f;
    const char *why;
    if (sp_device_count(&why) == 0) {
        SKIP(what, why);
        return;
    }
    TEST(what) {
        for (int slow = 0; slow < 2; slow++) {
            setenv("EMULATED_F32_PER_F64", slow ? "64" : "2", 1);
            CHECK_INT(sp_device_open(0), SPMM_OK);
            CHECK_INT(sp_device_current(&gpu), SPMM_OK);
            f = features_of("fem3:12");
            CHECK(sp_device_f32_per_f64() >= 1);
            CHECK(f.f64_slow == (sp_device_f32_per_f64() > 4));
            if (strcmp(gpu.name, "emulated") == 0) CHECK(f.f64_slow == slow);
            CHECK((place("panel_mma", &f, 32, 0, SPMM_F32, 1) < 0) == (f.f64_slow > 0));
            CHECK(place("panel_mma", &f, 32, 0, SPMM_F64, 1) >= 0);
            sp_device_close();
        }
        unsetenv("EMULATED_F32_PER_F64");
        CHECK_INT(sp_device_f32_per_f64(), 0);
    }
}

static void test_choice_on_cpus(void)
{
    sp_features f;
    TEST(
        "on a CPU a large X takes clusters, where rows that share columns are far apart and products are to come") {
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
            CHECK_TEXT(on_cpu(&f, cases[i].k, cases[i].products), cases[i].id);
        }
    }
    TEST(
        "on a CPU few columns take rows by length, one column in slices, where lengths change from row to row") {
        for (int64_t k = 1; k <= 16; k *= 4)
            for (int changes = 0; changes < 2; changes++)
                for (int64_t products = 1; products <= 1000; products += 999) {
                    f = even_rows(1000, 7, 1.5);
                    f.sum.changes = changes ? 500 : 100;
                    const char *const uneven = k == 1 ? "cpu_sell" : k <= 4 ? "cpu_sorted" : "cpu_csr";
                    CHECK_TEXT(on_cpu(&f, k, products), changes && products > 1 ? uneven : "cpu_csr");
                }
    }
}

static void test_choice_of_segments(void)
{
    sp_features f;
    TEST("on a CPU long rows that reach over a large X take segments") {
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
            CHECK_TEXT(on_cpu(&f, cases[i].k, cases[i].products), cases[i].id);
        }
        f = features_of("longrows:3000,15,2,2900");
        /* two rows have 2900 entries each, in 3000 columns; no other row is long */
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

/** Checks the choice among the kernels of a format. */
static void check_format(spmm_device device, spmm_format format, spmm_precision precision)
{
    const sp_features f = even_rows(1e6, 80, 6);
    const sp_kernel *const usual = sp_kernel_default(device, format), *kernel;
    const spmm_status status = sp_choose(&f, 64, 0, precision, device, format, &kernel, NULL, 0);
    if (!usual || !sp_kernel_takes(usual, precision)) {
        CHECK_INT(status, SPMM_ERR_USAGE);
        CHECK(kernel == NULL);
    } else {
        CHECK_INT(status, SPMM_OK);
        CHECK(kernel->device == device && kernel->format == format && sp_kernel_takes(kernel, precision));
    }
}

static void test_choice_of_a_format(void)
{
    TEST("a format keeps the choice to its kernels, and one without kernels for the values is refused") {
        for (int device = SPMM_CPU; device <= SPMM_CUDA; device++)
            for (int format = SP_FIRST_FORMAT; format < SP_FORMATS; format++)
                for (int p = 0; p < SP_TYPES; p++)
                    check_format((spmm_device)device, (spmm_format)format, (spmm_precision)p);
    }
}

static int holds(const sp_kernel *const *list, int count, const sp_kernel *kernel)
{
    int times = 0;
    for (int i = 0; i < count; i++) times += list[i] == kernel;
    return times;
}

/** Checks the two lists of kernels for one matrix: the list of all kernels begins with the kernels that are
 *  worth a trial. */
static void check_lists(const sp_features *f, int64_t k, int64_t products, spmm_device device, int format)
{
    const sp_kernel *tried[SP_MAX_CANDIDATES], *all[SP_MAX_CANDIDATES], *kernel;
    for (int p = 0; p < 2; p++) {
        const spmm_precision precision = (spmm_precision)p;
        char why[256] = "", no_less[256] = "";
        const int few = sp_order_kernels(f, k, products, precision, device, (spmm_format)format, 0, tried,
                                         why, sizeof why);
        const int many = sp_order_kernels(f, k, products, precision, device, (spmm_format)format, 1, all,
                                          no_less, sizeof no_less);
        CHECK_INT(few > 0, sp_kernel_default(
                               device, format == SPMM_FORMAT_AUTO ? SPMM_CSR : (spmm_format)format) != NULL);
        CHECK(few <= SP_TRIED + 2 && few <= many && many <= SP_MAX_CANDIDATES);
        for (int i = 0; i < many; i++) {
            CHECK(all[i]->device == device && (format == SPMM_FORMAT_AUTO || (int)all[i]->format == format));
            CHECK(all[i]->chosen != SP_AUTO_NO || all[i] == sp_kernel_default(device, all[i]->format));
            CHECK_INT(holds(all, many, all[i]), 1);
            if (i < few) CHECK(tried[i] == all[i]);
        }
        CHECK(strcmp(why, no_less) == 0);
        if (few == 0) continue;
        CHECK(why[0]);
        CHECK_INT(sp_choose(f, k, products, precision, device, (spmm_format)format, &kernel, NULL, 0),
                  SPMM_OK);
        CHECK(kernel == tried[0]);
        if (device == SPMM_CPU && format <= SPMM_CSR)
            CHECK_INT(holds(tried, few, sp_kernel_find("cpu_csr")), 1);
        if (format == SPMM_FORMAT_AUTO && products > 0 && products < SP_PRODUCTS_TIMED)
            CHECK(kernel->format == SPMM_CSR);
        if (format == SPMM_FORMAT_AUTO && products >= 1000) CHECK(device == SPMM_CPU || few >= SP_TRIED);
    }
}

static void test_lists(void)
{
    sp_features f;
    TEST("lists of kernels are distinct, of the device and the format, and what is tried comes first") {
        for (int device = SPMM_CPU; device <= SPMM_CUDA; device++)
            for (int format = SPMM_FORMAT_AUTO; format < SP_FORMATS; format++)
                for (int64_t k = 1; k <= 256; k *= 2)
                    for (int i = 0; i < 48; i++) {
                        static const int64_t products[] = {0, 1, 40, 1000};
                        f = even_rows(i & 1 ? 1e5 : 1e7, i & 2 ? 5 : 200, i & 4 ? 1.01 : 4);
                        f.sum.columns = 100;
                        f.sum.shared = i & 8 ? 50 : 1;
                        f.sum.changes = f.sum.rows / 2;
                        f.cache = 1 << 25;
                        f.unstaged = f.f64_slow = i % 3 == 1;
                        check_lists(&f, k, products[i % 4], (spmm_device)device, format);
                    }
    }
    TEST(
        "on a CPU few products are for cpu_csr alone, and a trial has the kernels that may gain at this width of X") {
        static const struct {
            int64_t k;
            const char *list;
        } expected[] = {{1, "cpu_csr cpu_sell "},
                        {8, "cpu_csr cpu_segmented cpu_sorted "},
                        {16, "cpu_csr cpu_clustered cpu_segmented cpu_sorted "},
                        {64, "cpu_csr cpu_clustered cpu_segmented "}};
        const sp_kernel *list[SP_MAX_CANDIDATES];
        f = even_rows(1e6, 7, 1.5);
        for (int e = 0; e < 4; e++) {
            char text[200] = "";
            const int count = sp_order_kernels(&f, expected[e].k, 100, SPMM_F64, SPMM_CPU, SPMM_FORMAT_AUTO,
                                               0, list, NULL, 0);
            for (int i = 0; i < count; i++) strcat(strcat(text, list[i]->id), " ");
            CHECK(strcmp(text, expected[e].list) == 0);
        }
        CHECK_INT(sp_order_kernels(&f, 8, 5, SPMM_F64, SPMM_CPU, SPMM_FORMAT_AUTO, 0, list, NULL, 0), 1);
        CHECK_INT(sp_order_kernels(&f, 8, 0, SPMM_F64, SPMM_CPU, SPMM_FORMAT_AUTO, 1, list, NULL, 0), 6);
    }
    TEST("the reason says what decided") {
        char why[256];
        const sp_kernel *kernel;
        CHECK_INT(sp_choose(&f, 8, 0, SPMM_F64, SPMM_CPU, SPMM_ELL, &kernel, why, sizeof why), SPMM_OK);
        CHECK_TEXT(why, "the only kernel for the format");
        CHECK_INT(sp_choose(&f, 8, 0, SPMM_F64, SPMM_CPU, SPMM_CSR, &kernel, why, sizeof why), SPMM_OK);
        CHECK_TEXT(why, "no other order of rows");
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
    test_lists();
    test_open_gpu();
    return test_end();
}
