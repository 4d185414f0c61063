/* Work lists, orders of rows, sliced ELLPACK and panels that are made on the GPU equal those that are made
 * on the host. limit: 300 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "device/device.h"
#include "order/row_clusters.h"
#include "formats/sell.h"
#include "order/grid_order.h"
#include "order/comm_volume.h"
#include "order/layout_order.h"
#include "order/partition.h"
#include "order/reorder.h"

/** Checks that an array in GPU memory has the same bytes as one in host memory. */
static void check_same(const void *host, const void *device, int64_t bytes, const char *what,
                       const char *spec)
{
    void *copy;
    if (bytes == 0) return;
    CHECK_INT(sp_alloc(&copy, bytes, 1, "a test"), SPMM_OK);
    CHECK_INT(sp_device_download(copy, device, bytes), SPMM_OK);
    int64_t at = 0;
    while (at < bytes && ((const char *)copy)[at] == ((const char *)host)[at]) at++;
    if (at < bytes) printf("      %s of %s differ from byte %lld on\n", what, spec, (long long)at);
    CHECK(memcmp(copy, host, (size_t)bytes) == 0);
    sp_free(copy);
}

static void check_sections(const sp_sections *host, const sp_sections *device, const char *spec)
{
    CHECK(host->count == device->count && host->partials == device->partials);
    CHECK(host->entries == device->entries && host->packs == device->packs);
    if (host->count != device->count || host->packs != device->packs || host->count == 0) return;
    check_same(host->section, device->section, host->count * (int64_t)sizeof *host->section, "sections",
               spec);
    check_same(host->pack, device->pack, (host->packs + 1) * (int64_t)sizeof *host->pack, "packs", spec);
    check_same(host->segment, device->segment, host->packs * SP_SEGMENTS * (int64_t)sizeof *host->segment,
               "segments", spec);
}

/** Checks sp_cuda_row_lists(). */
static void check_lists(const spmm_csr *a, const sp_matrix *csr, int64_t k, const char *spec)
{
    const int64_t limit = sp_short_row_limit(a, k);
    sp_short_row *row, *gpu_row;
    sp_sections sections, gpu_sections;
    int64_t rows, gpu_rows;
    CHECK_INT(sp_short_rows_create(a, limit, SP_ORDER_CLASSES, &row, &rows), SPMM_OK);
    CHECK_INT(sp_sections_create(a, limit, a->irp, 0, &sections), SPMM_OK);
    CHECK_INT(sp_cuda_row_lists(csr, k, NULL, SP_WINDOW_ALL, &gpu_row, &gpu_rows, &gpu_sections), SPMM_OK);
    CHECK_INT(rows, gpu_rows);
    if (rows == gpu_rows) check_same(row, gpu_row, rows * (int64_t)sizeof *row, "short rows", spec);
    check_sections(&sections, &gpu_sections, spec);
    sp_free(row);
    sp_sections_destroy(&sections);
    sp_device_free(gpu_row);
    sp_cuda_sections_destroy(&gpu_sections);
}

/** Checks the lists of the rows of more than SP_CHAIN entries. */
static void check_long_rows(const spmm_csr *a, const sp_matrix *csr, const char *spec)
{
    sp_sections sections, gpu_sections;
    CHECK_INT(sp_sections_create(a, SP_CHAIN, a->irp, 0, &sections), SPMM_OK);
    CHECK_INT(sp_cuda_long_rows(csr, &gpu_sections), SPMM_OK);
    check_sections(&sections, &gpu_sections, spec);
    sp_sections_destroy(&sections);
    sp_cuda_sections_destroy(&gpu_sections);
}

/** Checks the conversion to sliced ELLPACK. */
static void check_sell(const spmm_csr *a, int64_t k, const char *spec)
{
    sp_matrix m, gpu;
    CHECK_INT(sp_matrix_create(a, SPMM_SELL, SPMM_CPU, 0, k, 2, &m), SPMM_OK);
    CHECK_INT(sp_matrix_create(a, SPMM_SELL, SPMM_CUDA, 0, k, 2, &gpu), SPMM_OK);
    CHECK(m.groups == gpu.groups && m.sections == gpu.sections && m.packs == gpu.packs);
    CHECK(m.rows == gpu.rows && m.cols == gpu.cols && m.nnz == gpu.nnz && m.partials == gpu.partials);
    for (int i = 0; i < SP_ARRAYS; i++) CHECK_INT(m.bytes[i], gpu.bytes[i]);
    if (memcmp(m.bytes, gpu.bytes, sizeof m.bytes) == 0) {
        check_same(m.row_start, gpu.row_start, m.bytes[SP_ROW_START], "slice starts", spec);
        check_same(m.target, gpu.target, m.bytes[SP_TARGET], "slices' rows", spec);
        check_same(m.col, gpu.col, m.bytes[SP_COL], "columns", spec);
        check_same(m.val, gpu.val, m.bytes[SP_VAL], "values", spec);
        check_same(m.section, gpu.section, m.bytes[SP_LONG_ROWS], "sections", spec);
        check_same(m.pack, gpu.pack, m.bytes[SP_PACK], "packs", spec);
        check_same(m.segment, gpu.segment, m.bytes[SP_PACKED], "segments", spec);
    }
    sp_matrix_destroy(&m);
    sp_matrix_destroy(&gpu);
}

/** Checks the conversion to panels: panels in the order of the rows are as on the host, panels of clusters
 *  have fewer tiles and as many entries. */
static void check_panels(const spmm_csr *a, const char *spec)
{
    sp_matrix m, gpu;
    CHECK_INT(sp_matrix_create(a, SPMM_PANEL, SPMM_CPU, 0, 8, 2, &m), SPMM_OK);
    CHECK_INT(sp_matrix_create(a, SPMM_PANEL, SPMM_CUDA, 0, 8, 2, &gpu), SPMM_OK);
    CHECK(m.groups == gpu.groups && m.bytes[SP_VAL] == gpu.bytes[SP_VAL]);
    if (gpu.target) CHECK(gpu.bytes[SP_MASK] < m.bytes[SP_MASK]);
    if (!gpu.target) {
        check_same(m.row_start, gpu.row_start, m.bytes[SP_ROW_START], "panel starts", spec);
        check_same(m.tile_start, gpu.tile_start, m.bytes[SP_TILE_START], "tile starts", spec);
        check_same(m.col, gpu.col, m.bytes[SP_COL], "columns", spec);
        check_same(m.mask, gpu.mask, m.bytes[SP_MASK], "masks", spec);
        check_same(m.val, gpu.val, m.bytes[SP_VAL], "values", spec);
    }
    sp_matrix_destroy(&m);
    sp_matrix_destroy(&gpu);
}

/** Checks sp_cuda_cluster_rows(). */
static void check_clusters(const spmm_csr *a, const sp_matrix *csr, const char *spec)
{
    int32_t *order, *gpu_order;
    CHECK_INT(sp_alloc((void **)&order, a->rows, sizeof *order, "a test"), SPMM_OK);
    CHECK_INT(sp_cluster_rows(a, 2, order), SPMM_OK);
    CHECK_INT(sp_cuda_cluster_rows(csr, &gpu_order), SPMM_OK);
    if (gpu_order) check_same(order, gpu_order, a->rows * (int64_t)sizeof *order, "order", spec);
    sp_free(order);
    sp_device_free(gpu_order);
}

/** Checks sp_cuda_grid_order(): the order has each row where the grid puts it; without a grid there is no
 *  order. */
static void check_grid(const char *spec)
{
    spmm_csr a;
    sp_matrix view, csr;
    sp_stencil_grid grid = {0}, gpu_grid = {0};
    int32_t *order, *gpu_order;
    sp_stencil_sample *const sample = malloc(SP_STENCIL_SAMPLES * sizeof *sample);
    CHECK_INT(spmm_csr_generate(spec, SPMM_F32, &a), SPMM_OK);
    sp_matrix_view_csr(&a, &view);
    CHECK_INT(sp_matrix_upload(&view, &csr), SPMM_OK);
    for (int i = 0; i < SP_STENCIL_SAMPLES; i++)
        sp_stencil_ask(a.irp, a.ja, a.rows, sp_stencil_sampled_row(a.rows, i, SP_STENCIL_SAMPLES), 0, 1,
                       sample + i);
    CHECK_INT(sp_cuda_grid_order(&csr, &gpu_grid, &gpu_order), SPMM_OK);
    const int found = a.rows >= SP_ORDERED_ROWS &&
                      sp_stencil_grid_find(sample, SP_STENCIL_SAMPLES, a.rows, 1, &grid);
    CHECK_INT(gpu_order != NULL, found);
    if (found && gpu_order) {
        CHECK(memcmp(grid.points, gpu_grid.points, sizeof grid.points) == 0 &&
              grid.unknowns == gpu_grid.unknowns);
        grid = gpu_grid; /* grid.columns depends on the GPU */
    }
    if (found && gpu_order) {
        CHECK_INT(sp_alloc((void **)&order, a.rows, sizeof *order, "a test"), SPMM_OK);
        for (int64_t row = 0; row < a.rows; row++) order[sp_stencil_grid_position(&grid, row)] = (int32_t)row;
        check_same(order, gpu_order, a.rows * (int64_t)sizeof *order, "a grid's order", spec);
        sp_free(order);
    }
    sp_device_free(gpu_order);
    sp_matrix_destroy(&csr);
    spmm_csr_destroy(&a);
    free(sample);
}

/** Checks that staged panels have each row once, in whatever order, and all entries of the rows that are not
 *  long. */
static void check_staged(const char *spec)
{
    spmm_csr a;
    sp_matrix m, panels;
    int32_t *target;
    CHECK_INT(spmm_csr_generate(spec, SPMM_F64, &a), SPMM_OK);
    CHECK_INT(sp_matrix_create(&a, SPMM_STAGED, SPMM_CUDA, 0, 64, 2, &m), SPMM_OK);
    CHECK_INT(sp_matrix_create(&a, SPMM_PANEL, SPMM_CPU, 0, 64, 2, &panels), SPMM_OK);
    CHECK(m.groups == panels.groups && m.bytes[SP_VAL] == panels.bytes[SP_VAL]);
    printf("      %s: %lld tiles, %lld in the order of the rows%s\n", spec,
           (long long)m.bytes[SP_MASK] / (long long)sizeof *m.mask,
           (long long)panels.bytes[SP_MASK] / (long long)sizeof *m.mask, m.target ? "" : ", which is taken");
    if (m.target) {
        const int64_t places = m.groups * SP_PANEL;
        char *seen = calloc((size_t)a.rows, 1);
        int64_t once = 0;
        CHECK_INT(sp_alloc((void **)&target, places, sizeof *target, "a test"), SPMM_OK);
        CHECK_INT(sp_device_download(target, m.target, places * (int64_t)sizeof *target), SPMM_OK);
        for (int64_t i = 0; i < places; i++) {
            if (target[i] < 0 || target[i] >= a.rows) continue;
            once += !seen[target[i]];
            seen[target[i]] = 1;
        }
        CHECK_INT(once, a.rows);
        sp_free(target);
        free(seen);
    }
    sp_matrix_destroy(&panels);
    sp_matrix_destroy(&m);
    spmm_csr_destroy(&a);
}

static void check_matrix(const char *spec, spmm_precision precision)
{
    spmm_csr a;
    sp_matrix view, csr;
    CHECK_INT(spmm_csr_generate(spec, precision, &a), SPMM_OK);
    sp_matrix_view_csr(&a, &view);
    CHECK_INT(sp_matrix_upload(&view, &csr), SPMM_OK);
    for (int64_t k = 1; k <= 64; k = k == 1 ? 4 : 16 * k) {
        check_lists(&a, &csr, k, spec);
        check_sell(&a, k, spec);
    }
    check_long_rows(&a, &csr, spec);
    check_clusters(&a, &csr, spec);
    check_panels(&a, spec);
    sp_matrix_destroy(&csr);
    spmm_csr_destroy(&a);
}

/** Checks the panels of a matrix whose rows have their columns in the order of another numbering. */
static void check_renumbered(const char *spec)
{
    spmm_csr a, b;
    int64_t *number;
    CHECK_INT(spmm_csr_generate(spec, SPMM_F64, &a), SPMM_OK);
    CHECK_INT(sp_alloc((void **)&number, a.rows, sizeof *number, "a test"), SPMM_OK);
    for (int64_t i = 0; i < a.rows; i++)
        number[i] = i / 100 * 100 + (a.rows - i / 100 * 100 >= 100 ? i * 37 % 100 : i % 100);
    CHECK_INT(sp_csr_permute_in_order(&a, number, 2, &b), SPMM_OK);
    check_panels(&b, spec);
    sp_free(number);
    spmm_csr_destroy(&a);
    spmm_csr_destroy(&b);
}

/** Checks the parts of a grid that was numbered at random. */
static void check_parts(void)
{
    enum { PARTS = 3 };
    spmm_csr a, b;
    int64_t *number, begin[PARTS + 1], by_entries[PARTS + 1], moved[PARTS], moved_by_entries[PARTS];
    int32_t *order;
    CHECK_INT(spmm_csr_generate("lap3d7:48", SPMM_F64, &a), SPMM_OK);
    const int64_t n = a.rows;
    CHECK_INT(sp_alloc((void **)&number, n, sizeof *number, "a test"), SPMM_OK);
    CHECK_INT(sp_alloc((void **)&order, 2 * n, sizeof *order, "a test"), SPMM_OK);
    for (int64_t i = 0; i < n; i++) number[i] = i * 50021 % n;
    CHECK_INT(sp_csr_permute(&a, number, 2, &b), SPMM_OK);
    CHECK_INT(sp_layout_order(&b, PARTS, 1, 2, order, order + n), SPMM_OK);
    for (int64_t i = 0; i < n; i++) number[i] = -1;
    for (int64_t i = 0; i < n; i++) {
        CHECK(order[i] >= 0 && order[i] < n && number[order[i]] < 0); /* each row once */
        number[order[i]] = i;
        if (i > 0) CHECK(order[n + order[i]] >= order[n + order[i - 1]]);
    }
    CHECK_INT(sp_order_parts(&b, PARTS, order + n, order, 2, number, begin), SPMM_OK);
    CHECK_INT(sp_cut_volume(&b, PARTS, number, begin, 2, moved), SPMM_OK);
    sp_partition_entries(b.irp, n, PARTS, by_entries);
    CHECK_INT(sp_cut_volume(&b, PARTS, NULL, by_entries, 2, moved_by_entries), SPMM_OK);
    for (int p = 0; p < PARTS; p++) {
        CHECK(begin[p + 1] - begin[p] > n / PARTS * 95 / 100 &&
              begin[p + 1] - begin[p] < n / PARTS * 105 / 100);
        printf("      part %d receives %lld rows, by entries %lld\n", p, (long long)moved[p],
               (long long)moved_by_entries[p]);
        CHECK(4 * moved[p] < moved_by_entries[p]);
    }
    sp_free(number);
    sp_free(order);
    spmm_csr_destroy(&a), spmm_csr_destroy(&b);
}

int main(void)
{
    static const char *const specs[] = {"lap3d7:20",
                                        "lap2d5:1",
                                        "band:3000,16,40",
                                        "rmat:12,40",
                                        "uniform:1000,60",
                                        "longrows:4000,2,3,1000",
                                        "longrows:3000,150,2,2900",
                                        "uniform:3000,1",
                                        "longrows:200000,1,3,150000"};
    const char *why;
    if (sp_device_count(&why) == 0) {
        SKIP("lists, orders, slices and panels made on the GPU equal those of the host", why);
        return test_end();
    }
    CHECK_INT(sp_device_open(0), SPMM_OK);
    TEST("lists, orders, slices and panels made on the GPU equal those of the host") {
        for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
            for (int precision = SPMM_F64; precision <= SPMM_F32; precision++)
                check_matrix(specs[s], (spmm_precision)precision);
    }
    TEST("panels of rows in the order of another numbering equal those of the host") {
        static const char *const renumbered[] = {"lap3d7:20", "rmat:12,40", "band:3000,16,40",
                                                 "longrows:3000,150,2,2900"};
        for (size_t s = 0; s < sizeof renumbered / sizeof *renumbered; s++) check_renumbered(renumbered[s]);
    }
    TEST("panels in an order of their own have each row once") {
        static const char *const staged[] = {"lap3d27:30", "fem3:18", "uniform:20000,6", "rmat:15,8",
                                             "lap3d7:10"};
        for (size_t s = 0; s < sizeof staged / sizeof *staged; s++) check_staged(staged[s]);
    }
    TEST("parts of a grid that was numbered at random are compact") { check_parts(); }
    TEST("the rows of a grid have the order of the host") {
        static const char *const grids[] = {"lap2d5:131", "lap3d7:27", "lap3d27:31",
                                            "fem3:19",    "lap3d7:20", "uniform:20000,6"};
        for (size_t s = 0; s < sizeof grids / sizeof *grids; s++) check_grid(grids[s]);
    }
    sp_device_close();
    return test_end();
}
