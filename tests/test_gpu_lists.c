/* Work lists, orders of rows and sliced ELLPACK that are made on the GPU equal those that are made on the
 * host; panels contain the matrix, each entry once and in place. limit: 300 */
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
static void check_lists(const spmm_csr *a, const sp_matrix *csr, int64_t k, sp_order order, const char *spec)
{
    const int64_t limit = sp_short_row_limit(a, k);
    sp_short_row *row, *gpu_row;
    sp_sections sections, gpu_sections;
    int64_t rows, gpu_rows;
    CHECK_INT(sp_short_rows_create(a, limit, order, &row, &rows), SPMM_OK);
    CHECK_INT(sp_sections_create(a, limit, a->irp, 0, &sections), SPMM_OK);
    CHECK_INT(sp_cuda_row_lists(csr, k, NULL, SP_WINDOW_ALL, order, &gpu_row, &gpu_rows, &gpu_sections),
              SPMM_OK);
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

/** Copies an array of a matrix from GPU memory. */
static void *download(const void *device, int64_t bytes)
{
    void *host;
    CHECK_INT(sp_alloc(&host, bytes + 1, 1, "a test"), SPMM_OK);
    if (bytes > 0) CHECK_INT(sp_device_download(host, device, bytes), SPMM_OK);
    return host;
}

/** A row of panels: a short row, or a leaf of a long one. */
typedef struct panel_row {
    int64_t begin, end;
    int seen;
} panel_row;

/** Lists the rows of A as rows of panels: element i is row i, the leaves follow. Checks the list of the long
 *  rows and the packs of m. */
static panel_row *rows_of_panels(const spmm_csr *a, const sp_matrix *m)
{
    panel_row *const rows = calloc((size_t)(a->rows + m->leaves + 1), sizeof *rows);
    sp_leaves *const leaf = download(m->leaf, m->bytes[SP_LEAF_LIST]);
    int32_t *const pack = download(m->pack, m->bytes[SP_PACK]);
    int64_t leaves = 0, sections = 0, longs = 0, packs = 0;
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t begin = a->irp[i], length = a->irp[i + 1] - begin;
        rows[i] = (panel_row){begin, a->irp[i + 1], length > SP_CHAIN};
        if (length <= SP_CHAIN) continue;
        CHECK(leaf[longs].row == i && leaf[longs].leaf == leaves && leaf[longs].section == sections);
        for (; packs * SP_LEAF_PACK <= sections; packs++) CHECK_INT(pack[packs], longs);
        for (int64_t e = begin; e < a->irp[i + 1]; e += SP_LEAF, leaves++) {
            const int64_t end = e + SP_LEAF;
            if (leaves < m->leaves)
                rows[a->rows + leaves] = (panel_row){e, end < a->irp[i + 1] ? end : a->irp[i + 1], 0};
        }
        sections += (length - 1) / SP_SECTION + 1;
        longs++;
    }
    CHECK_INT(leaves, m->leaves);
    CHECK_INT(m->packs, (sections + SP_LEAF_PACK - 1) / SP_LEAF_PACK);
    if (longs > 0) {
        CHECK(leaf[longs].leaf == leaves && leaf[longs].section == sections);
        for (; packs <= m->packs; packs++) CHECK_INT(pack[packs], longs);
    }
    sp_free(leaf), sp_free(pack);
    return rows;
}

/** Checks a conversion to panels: each row is in one panel, with its entries in order. Returns the number of
 *  tiles. */
static int64_t check_panels(const spmm_csr *a, spmm_format format, const char *spec)
{
    sp_matrix m;
    CHECK_INT(sp_matrix_create(a, format, SPMM_CUDA, 0, 64, 2, &m), SPMM_OK);
    panel_row *const rows = rows_of_panels(a, &m);
    const int64_t all = a->rows + m.leaves, tiles = m.bytes[SP_MASK] / (int64_t)sizeof *m.mask;
    int64_t *const tile_start = download(m.tile_start, m.bytes[SP_TILE_START]);
    int64_t *const row_start = download(m.row_start, m.bytes[SP_ROW_START]);
    int32_t *const target = download(m.target, m.bytes[SP_TARGET]), *const col = download(m.col,
                                                                                          m.bytes[SP_COL]);
    uint32_t *const mask = download(m.mask, m.bytes[SP_MASK]);
    void *const val = download(m.val, m.bytes[SP_VAL]);
    int64_t found = 0, wrong = 0;
    for (int64_t p = 0; p < m.groups; p++) {
        panel_row *of[SP_PANEL], none = {0, 0, 0};
        int64_t value = row_start[p];
        for (int r = 0; r < SP_PANEL; r++) {
            const int64_t at = p * SP_PANEL + r, row = m.target ? target[at] : at < a->rows ? at : -1;
            of[r] = row >= 0 && row < all ? rows + row : &none;
            wrong += row >= all || (m.target && row < 0 && target[at] != INT32_MIN);
            of[r]->seen++;
        }
        for (int64_t t = tile_start[p]; t < tile_start[p + 1]; t++)
            for (int bit = 0; bit < SP_PANEL * SP_TILE_COLUMNS; bit++) {
                const int32_t column = col[t * SP_TILE_COLUMNS + bit % SP_TILE_COLUMNS];
                panel_row *const row = of[bit / SP_TILE_COLUMNS];
                /* also without an entry, because the kernel fetches row `column` of X all the same */
                wrong += column < 0 || column >= a->cols;
                if (!(mask[t] >> bit & 1)) continue;
                const int64_t e = row->begin++;
                wrong += e >= row->end || a->ja[e] != column ||
                         sp_value_get(val, a->precision, value++) != sp_value_get(a->as, a->precision, e);
                found++;
            }
        wrong += value != row_start[p + 1];
    }
    for (int64_t i = 0; i < all; i++) wrong += rows[i].seen != 1;
    CHECK_INT(found, a->nnz);
    CHECK_INT(tile_start[m.groups], tiles);
    if (wrong) printf("      %s: %lld errors in panels\n", spec, (long long)wrong);
    CHECK_INT(wrong, 0);
    free(rows);
    sp_free(tile_start), sp_free(row_start), sp_free(target), sp_free(col), sp_free(mask), sp_free(val);
    sp_matrix_destroy(&m);
    return tiles;
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

/** Checks panels in both orders. */
static void check_orders(const char *spec)
{
    spmm_csr a;
    CHECK_INT(spmm_csr_generate(spec, SPMM_F64, &a), SPMM_OK);
    const int64_t tiles = check_panels(&a, SPMM_PANEL, spec), staged = check_panels(&a, SPMM_STAGED, spec);
    printf("      %s: %lld tiles, %lld staged\n", spec, (long long)tiles, (long long)staged);
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
        check_lists(&a, &csr, k, SP_ORDER_CLASSES, spec);
        check_lists(&a, &csr, k, SP_ORDER_LENGTHS, spec);
        check_sell(&a, k, spec);
    }
    check_long_rows(&a, &csr, spec);
    check_clusters(&a, &csr, spec);
    check_panels(&a, SPMM_PANEL, spec);
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
    check_panels(&b, SPMM_PANEL, spec);
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
    TEST("panels of rows in the order of another numbering contain the matrix") {
        static const char *const renumbered[] = {"lap3d7:20", "rmat:12,40", "band:3000,16,40",
                                                 "longrows:3000,150,2,2900"};
        for (size_t s = 0; s < sizeof renumbered / sizeof *renumbered; s++) check_renumbered(renumbered[s]);
    }
    TEST("panels contain the matrix in any order, with leaves of long rows") {
        static const char *const samples[] = {"lap3d27:30",
                                              "fem3:18",
                                              "uniform:20000,6",
                                              "rmat:15,8",
                                              "lap3d7:10",
                                              "longrows:36000,3,1,35000",
                                              "longrows:1500,100,2,1100",
                                              "longrows:900,900,1,129"};
        for (size_t s = 0; s < sizeof samples / sizeof *samples; s++) check_orders(samples[s]);
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
