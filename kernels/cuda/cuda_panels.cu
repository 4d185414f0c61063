/** Creates row panels from CSR in GPU memory, and chooses the order of the rows. (formats/panel.c creates row
 *  panels on the host, in the original order of the rows.) A first pass counts the distinct columns of each
 *  panel, a second one writes the tiles. A sub-warp of SP_PANEL lanes merges the rows of a panel,
 *  with one lane per row. */
#include <cub/device/device_scan.cuh>

#include "kernels/cuda/cuda_passes.cuh"

extern "C" {
#include "formats/panel.h"
#include "order/row_clusters.h"
#include "formats/summation.h"
#include "order/grid_order.h"
}

namespace {

constexpr int32_t END = INT32_MAX; /* column of a cursor after the last entry of a row */

/** A row of a panel that is being merged: its next entry, and the column of that entry; END after the last
 *  entry. */
struct cursor {
    int64_t at, end;
    int32_t column;
};

/** Returns the cursor of this lane's row. Rows of more than SP_CHAIN entries are skipped, because their
 *  entries are not added in one chain. */
__device__ inline cursor start_row(const int64_t *row_start, const int32_t *col, int64_t rows,
                                   const int32_t *order, int64_t position)
{
    cursor c = {0, 0, END};
    if (position >= rows) return c;
    const int64_t row = order ? order[position] : position;
    c.at = row_start[row];
    c.end = row_start[row + 1];
    if (c.end - c.at > SP_CHAIN) c.end = c.at;
    if (c.at < c.end) c.column = col[c.at];
    return c;
}

/** Returns the smallest next column of the rows of a panel, in all lanes of the sub-warp. */
__device__ inline int32_t least_column(int32_t column)
{
#pragma unroll
    for (int step = SP_PANEL / 2; step > 0; step /= 2)
        column = min(column, __shfl_xor_sync(~0u, column, step));
    return column;
}

/** Returns true if the warp's panels contain a row whose column indices decrease somewhere. All lanes of the
 *  warp get the same result. */
__device__ inline bool any_decrease(const cursor &c, const int32_t *col)
{
    bool decreases = false;
    for (int64_t e = c.at + 1; e < c.end && !decreases; e++) decreases = col[e] < col[e - 1];
    return __any_sync(~0u, decreases);
}

/** Returns the column that follows in the merge, in all lanes of the sub-warp; END after the last one.
 *
 *  If columns increase in all rows, the smallest next column of the rows follows. In rows of a renumbered
 *  matrix, columns have the order of the caller's numbers, which this function does not know. The search then
 *  starts from the smallest next column. If that column also occurs later in another row, the next column of
 *  the other row must precede it, and replaces it in the search. This is repeated until no row contains the
 *  column later. All rows list columns in the same order, so that each step goes back in this order; there
 *  are fewer steps than rows, and the panel lists each column once. If rows contradict each other, a column
 *  is listed several times.
 *  \param any_order  result of any_decrease() */
__device__ inline int32_t next_column(const cursor &c, const int32_t *col, bool any_order)
{
    int32_t next = least_column(c.column);
    for (int step = 1; any_order && step < SP_PANEL; step++) {
        bool later = false;
        for (int64_t e = c.at + 1; e < c.end && c.column != next && !later; e++) later = col[e] == next;
        if (!__any_sync(~0u, later)) break;
        const int32_t before = least_column(later ? c.column : END);
        if (before != END) next = before;
    }
    return next;
}

/** Advances the cursor if its entry is in column `next`. Returns the index of that entry; -1 if it is in
 *  another column. */
__device__ inline int64_t advance(cursor &c, const int32_t *col, int32_t next)
{
    if (c.column != next || next == END) return -1;
    const int64_t entry = c.at++;
    c.column = c.at < c.end ? col[c.at] : END;
    return entry;
}

/** Counts the tiles and the entries of each panel; the counts at index `panels` are 0.
 *  \param sum [2] incremented by the numbers of tiles and entries of all panels */
__global__ void __launch_bounds__(THREADS)
    count_tiles(const int64_t *row_start, const int32_t *col, int64_t rows, const int32_t *order,
                int64_t panels, int64_t *tiles, int64_t *entries, unsigned long long *sum)
{
    unsigned long long own[2] = {0, 0};
    const int lane = threadIdx.x % SP_PANEL;
    const int64_t padded = (panels + 1 + 3) / 4 * 4; /* a warp has four panels */
    for (int64_t p = first_item() / SP_PANEL; p < padded; p += grid_size() / SP_PANEL) {
        cursor c = start_row(row_start, col, rows, order, p < panels ? p * SP_PANEL + lane : rows);
        const bool any_order = any_decrease(c, col);
        int length = (int)(c.end - c.at), columns = 0;
        for (int32_t next = next_column(c, col, any_order); __any_sync(~0u, next != END);
             next = next_column(c, col, any_order)) {
            columns += next != END;
            advance(c, col, next);
        }
        for (int step = SP_PANEL / 2; step > 0; step /= 2) length += __shfl_xor_sync(~0u, length, step);
        if (lane > 0 || p > panels) continue;
        const int count = (columns + SP_TILE_COLUMNS - 1) / SP_TILE_COLUMNS;
        tiles[p] = count;
        entries[p] = length;
        own[0] += count;
        own[1] += length;
    }
    for (int i = 0; i < 2; i++)
        if (own[i]) atomicAdd(sum + i, own[i]);
}

/** Arrays of the panels, as in sp_matrix. */
template <typename T> struct panel_arrays {
    const int64_t *value_start, *tile_start;
    int32_t *target, *col;
    uint32_t *mask;
    T *val;
};

template <typename T>
__global__ void __launch_bounds__(THREADS)
    fill_panels(const int64_t *row_start, const int32_t *col, const T *val, int64_t rows,
                const int32_t *order, const int32_t *target, int64_t panels,
                const __grid_constant__ panel_arrays<T> to)
{
    const int lane = threadIdx.x % SP_PANEL, shift = lane * SP_TILE_COLUMNS;
    const int64_t padded = (panels + 3) / 4 * 4;
    for (int64_t p = first_item() / SP_PANEL; p < padded; p += grid_size() / SP_PANEL) {
        const int64_t position = p * SP_PANEL + lane;
        cursor c = start_row(row_start, col, rows, order, p < panels ? position : rows);
        if (to.target && p < panels) {
            const int32_t row = position < rows ? order[position] : INT32_MIN;
            to.target[position] = target && row >= 0 ? target[row] : row;
        }
        int64_t tile = p < panels ? to.tile_start[p] : 0, value = p < panels ? to.value_start[p] : 0;
        const bool any_order = any_decrease(c, col);
        for (int32_t next = next_column(c, col, any_order); __any_sync(~0u, next != END);) {
            const bool any = next != END;
            int64_t entry[SP_TILE_COLUMNS];
            uint32_t mask = 0;
            int32_t mine = next;
#pragma unroll
            for (int i = 0; i < SP_TILE_COLUMNS; i++) {
                if (next != END && lane >= i) mine = next; /* positions after the last column repeat it */
                entry[i] = advance(c, col, next);
                mask |= (uint32_t)(entry[i] >= 0) << (shift + i);
                next = next_column(c, col, any_order);
            }
            for (int step = SP_PANEL / 2; step > 0; step /= 2) mask |= __shfl_xor_sync(~0u, mask, step);
            if (!any) continue;
            if (lane < SP_TILE_COLUMNS) to.col[tile * SP_TILE_COLUMNS + lane] = mine;
            if (lane == 0) to.mask[tile] = mask;
            int64_t at = value + __popc(mask & ((1u << shift) - 1));
#pragma unroll
            for (int i = 0; i < SP_TILE_COLUMNS; i++)
                if (entry[i] >= 0) to.val[at++] = val[entry[i]];
            value += __popc(mask);
            tile++;
        }
    }
}

struct panels {
    const sp_matrix *a;
    cudaStream_t stream;
    int32_t *order;       /* order of the rows, in GPU memory; NULL: as in the matrix */
    sp_cut_rows cut;      /* the matrix and the order after cut_rows() */
    sp_stencil_grid grid; /* the grid from which the order was made; parts = 0: the order has no units */
    int64_t count;
    unsigned long long *sum; /* sums of tiles and of entries */
    char *temporary;
    size_t temporary_bytes;
};

/** Counts the tiles and the entries of the panels into m. Waits for the GPU. \param [out] tiles, entries sums
 *  over all panels */
spmm_status count(panels *s, sp_matrix *m, int64_t *tiles, int64_t *entries)
{
    unsigned long long sum[2];
    TRY(sp_device_zero(s->sum, sizeof sum));
    count_tiles<<<blocks_for((s->count + 1) * SP_PANEL), THREADS, 0, s->stream>>>(
        s->a->row_start, s->a->col, s->a->rows, s->order, s->count, m->tile_start, m->row_start, s->sum);
    TRY(sp_device_launched("count of tiles"));
    TRY(sp_device_download(sum, s->sum, sizeof sum));
    *tiles = (int64_t)sum[0];
    *entries = (int64_t)sum[1];
    return SPMM_OK;
}

/** Determines clusters of rows for panels, if they are worth it. */
spmm_status cluster_for_panels(const sp_matrix *a, int32_t **order)
{
    /* MORE: see sp_cuda_row_order(). It is small, because comparing a row only with the next row tells little
     * about panels of 8 rows */
    static const double MORE = 0.5;
    return sp_cuda_row_order(a, MORE, order);
}

enum { LEAST = 8 }; /* an order must save at least 1 / LEAST of the tiles */

/** Uses an order if it saves at least 1 / `least` of the tiles. Frees the order that is not used. Waits for
 *  the GPU.
 *  \param [in,out] tiles, entries  counts for the order in s->order */
spmm_status take_fewer(panels *s, sp_matrix *m, int32_t *order, int64_t least, int64_t *tiles,
                       int64_t *entries)
{
    const int64_t before = *tiles;
    int32_t *const own = s->order;
    s->order = order;
    const spmm_status status = count(s, m, tiles, entries);
    if (status == SPMM_OK && *tiles <= before - before / least) {
        sp_device_free(own);
        return SPMM_OK;
    }
    sp_device_free(order);
    s->order = own;
    TRY(status);
    return count(s, m, tiles, entries);
}

/** Determines the order of a grid, if the matrix is that of a grid. */
spmm_status order_grid(const sp_matrix *a, int32_t **order)
{
    sp_stencil_grid grid;
    return sp_cuda_grid_order(a, &grid, order);
}

/** Counts the tiles for the original order, for the order of a grid, and for clusters, until one of these
 *  saves tiles. */
spmm_status choose_order(panels *s, sp_matrix *m, int64_t *tiles, int64_t *entries)
{
    /* ENOUGH: number of entries per tile at which the rows keep their order; a tile has space for 32. */
    enum { ENOUGH = 16 };
    spmm_status (*const find[])(const sp_matrix *, int32_t **) = {order_grid, cluster_for_panels};
    TRY(count(s, m, tiles, entries));
    for (int i = 0; i < 2 && !s->order && *entries < *tiles * ENOUGH; i++) {
        int32_t *order;
        TRY(find[i](s->a, &order));
        if (order) TRY(take_fewer(s, m, order, LEAST, tiles, entries));
    }
    return SPMM_OK;
}

enum { GROUP = 128, TABLE = 8192, MOST_DISTINCT = TABLE * 3 / 4 };

/** Counts the distinct columns of groups of GROUP consecutive rows in the order, one group per block, and
 *  adds the counts to *sum. The count of a group stops soon after MOST_DISTINCT. Only every step-th group is
 *  counted. */
__global__ void __launch_bounds__(THREADS)
    count_group(const int64_t *row_start, const int32_t *col, int64_t rows, const int32_t *order,
                int64_t step, unsigned long long *sum)
{
    __shared__ int32_t table[TABLE];
    __shared__ int distinct;
    for (int i = threadIdx.x; i < TABLE; i += THREADS) table[i] = END;
    if (threadIdx.x == 0) distinct = 0;
    __syncthreads();
    const int64_t first = blockIdx.x * step * GROUP;
    for (int i = threadIdx.x / SP_PANEL; i < GROUP; i += THREADS / SP_PANEL) {
        cursor c = start_row(row_start, col, rows, order, first + i);
        for (int64_t e = c.at + threadIdx.x % SP_PANEL; e < c.end && distinct < MOST_DISTINCT;
             e += SP_PANEL) {
            bool added;
            table_place(table, col[e], END, &added);
            if (added) atomicAdd(&distinct, 1);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(sum, (unsigned long long)distinct);
}

/** Sets *reads to the mean number of rows of X that a group of rows needs per row, estimated from a sample.
 *  Waits for the GPU. */
spmm_status reads_of_groups(panels *s, const int32_t *order, double *reads)
{
    enum { SAMPLES = 512 };
    unsigned long long sum;
    const int64_t groups = (s->a->rows + GROUP - 1) / GROUP, step = (groups - 1) / SAMPLES + 1,
                  taken = (groups - 1) / step + 1;
    TRY(sp_device_zero(s->sum, sizeof sum));
    count_group<<<(unsigned)taken, THREADS, 0, s->stream>>>(s->a->row_start, s->a->col, s->a->rows, order,
                                                            step, s->sum);
    TRY(sp_device_launched("columns of groups"));
    TRY(sp_device_download(&sum, s->sum, sizeof sum));
    *reads = (double)sum / (double)(taken * GROUP);
    return SPMM_OK;
}

/** Uses an order if it is better than the order in s->order. Frees the order that is not used. Waits for the
 *  GPU.
 *  \param [in,out] reads  reads of groups in the order in s->order */
spmm_status take_better(panels *s, int32_t *order, double *reads)
{
    /* BETTER: maximum ratio of the reads of the new order to those of the old one */
    static const double BETTER = 0.9;
    double other = *reads;
    int32_t *worse = order;
    const spmm_status status = reads_of_groups(s, order, &other);
    if (status == SPMM_OK && other < BETTER * *reads) {
        worse = s->order;
        s->order = order;
        *reads = other;
    }
    sp_device_free(worse);
    return status;
}

/** Orders the rows in clusters or along a curve, if that is better. Waits for the GPU. \param [in,out] reads
 *  as for take_better() */
spmm_status try_clusters_and_curve(panels *s, double *reads)
{
    int32_t *clusters, *curve = NULL;
    TRY(sp_cuda_cluster_rows(s->a, &clusters));
    spmm_status status = sp_cuda_lay_out_rows(s->a, clusters, &curve);
    if (status == SPMM_ERR_MEMORY) status = SPMM_OK; /* not enough memory to try a curve */
    const spmm_status second = take_better(s, clusters, reads),
                      third = curve ? take_better(s, curve, reads) : SPMM_OK;
    TRY(status);
    TRY(second);
    return third;
}

/** Groups rows that share columns into one panel, if that saves tiles. Waits for the GPU. \param [in,out]
 *  tiles number of tiles */
spmm_status regroup(panels *s, sp_matrix *m, int64_t *tiles, int64_t *entries)
{
    /* The order must save at least 1 / LEAST of the tiles: with 5 % fewer tiles, a product took slightly
     * longer, presumably because rows of Y are stored in smaller pieces. */
    enum { LEAST = 12 };
    int32_t *regrouped;
    const spmm_status status = sp_cuda_regroup_rows(s->a, s->order, &regrouped);
    if (status == SPMM_ERR_MEMORY || (status == SPMM_OK && !regrouped)) return SPMM_OK;
    TRY(status);
    return take_fewer(s, m, regrouped, LEAST, tiles, entries);
}

/** Chooses an order in which consecutive rows need the same rows of X: the original order, that of a grid,
 *  clusters, or a curve. Counts the tiles. */
spmm_status choose_walk(panels *s, sp_matrix *m, int64_t *tiles, int64_t *entries)
{
    /* GOOD: if there are at most this many reads per row, the rows keep their order. In matrices of
     * three-dimensional meshes numbered along a curve, a group of 128 rows needs 2 to 3 rows of X per row. */
    static const double GOOD = 3.2;
    if (s->a->rows >= SP_ORDERED_ROWS) {
        double reads;
        int32_t *grid;
        TRY(reads_of_groups(s, NULL, &reads));
        TRY(sp_cuda_grid_order(s->a, &s->grid, &grid));
        if (grid) TRY(take_better(s, grid, &reads));
        if (s->order) return count(s, m, tiles, entries); /* an order of whole cells is not regrouped */
        s->grid.parts = 0;
        if (reads > GOOD && s->a->rows == s->a->cols) TRY(try_clusters_and_curve(s, &reads));
    }
    TRY(count(s, m, tiles, entries));
    return regroup(s, m, tiles, entries);
}

template <typename T> spmm_status fill(panels *s, sp_matrix *m)
{
    fill_panels<T><<<blocks_for(s->count * SP_PANEL), THREADS, 0, s->stream>>>(
        s->a->row_start, s->a->col, (const T *)s->a->val, s->a->rows, s->order, s->cut.target, s->count,
        {m->row_start, m->tile_start, m->target, m->col, m->mask, (T *)m->val});
    return sp_device_launched("panels");
}

/** Computes the exclusive prefix sums of the panels' counts in place. */
spmm_status sum_before(panels *s, int64_t *number)
{
    cub::DeviceScan::ExclusiveSum(s->temporary, s->temporary_bytes, number, number, s->count + 1, s->stream);
    return sp_device_launched("sum of tiles");
}

/** Stores the first panel of each unit of a grid. */
spmm_status make_units(const sp_stencil_grid *grid, sp_matrix *m)
{
    const int64_t units = sp_stencil_units(grid);
    int32_t *start;
    TRY(sp_alloc((void **)&start, units + 1, sizeof *start, "units of panels"));
    for (int64_t u = 0; u <= units; u++)
        start[u] = (int32_t)(u < units ? sp_stencil_unit_begin(grid, u) / SP_PANEL : m->groups);
    for (int64_t u = 0; u < units; u++)
        if (start[u + 1] - start[u] > m->unit_groups) m->unit_groups = start[u + 1] - start[u];
    m->units = units;
    spmm_status status = allocate(m, SP_UNIT_START, &m->unit_start, units + 1, sizeof *start);
    if (status == SPMM_OK) status = sp_device_upload(m->unit_start, start, m->bytes[SP_UNIT_START]);
    sp_free(start);
    return status;
}

/** Allocates the arrays of the starts of panels. */
spmm_status allocate_starts(panels *s, sp_matrix *m)
{
    s->count = m->groups = (s->a->rows + SP_PANEL - 1) / SP_PANEL;
    TRY(allocate(m, SP_ROW_START, &m->row_start, s->count + 1, sizeof *m->row_start));
    return allocate(m, SP_TILE_START, &m->tile_start, s->count + 1, sizeof *m->tile_start);
}

/** Cuts the long rows, and counts the tiles. Rows and leaves are then ordered in clusters, and grouped anew,
 *  if that saves tiles. */
spmm_status cut_rows(panels *s, sp_matrix *m, int64_t *tiles, int64_t *entries)
{
    TRY(sp_cuda_cut_rows(s->a, s->order, &s->cut, m));
    sp_device_free(s->order);
    s->order = s->cut.order;
    s->cut.order = NULL;
    s->grid.parts = 0;
    s->a = &s->cut.a;
    sp_device_free(m->row_start);
    sp_device_free(m->tile_start);
    m->row_start = m->tile_start = NULL;
    TRY(allocate_starts(s, m));
    TRY(count(s, m, tiles, entries));
    int32_t *clusters;
    const spmm_status status = sp_cuda_cluster_rows(s->a, &clusters);
    if (status != SPMM_ERR_MEMORY) TRY(status);
    if (clusters) TRY(take_fewer(s, m, clusters, LEAST, tiles, entries));
    return regroup(s, m, tiles, entries);
}

/** A function that chooses the order of the rows and counts the tiles: choose_order() or choose_walk(). */
using order_chooser = spmm_status (*)(panels *, sp_matrix *, int64_t *tiles, int64_t *entries);

spmm_status convert(panels *s, sp_matrix *m, order_chooser choose)
{
    int64_t tiles = 0, entries = 0;
    TRY(allocate_starts(s, m));
    TRY(choose(s, m, &tiles, &entries));
    if (entries < s->a->nnz) TRY(cut_rows(s, m, &tiles, &entries));
    TRY(sum_before(s, m->tile_start));
    TRY(sum_before(s, m->row_start));
    if (s->order) TRY(allocate(m, SP_TARGET, &m->target, s->count * SP_PANEL, sizeof *m->target));
    if (s->grid.parts > 0) TRY(make_units(&s->grid, m));
    TRY(allocate(m, SP_COL, &m->col, tiles * SP_TILE_COLUMNS, sizeof *m->col));
    TRY(allocate(m, SP_MASK, &m->mask, tiles, sizeof *m->mask));
    const int64_t size = sp_value_size(m->precision);
    TRY(allocate(m, SP_VAL, &m->val, entries + SP_PANEL_PADDING, size));
    TRY(sp_device_zero((char *)m->val + entries * size, SP_PANEL_PADDING * size));
    TRY(with_real(m->precision, [&](auto value) { return fill<decltype(value)>(s, m); }));
    return sp_device_sync();
}

spmm_status make_panels(const sp_matrix *a, spmm_format format, order_chooser choose, sp_matrix *m)
{
    panels s = {};
    arena memory = {};
    *m = {};
    s.stream = (cudaStream_t)sp_device_stream(SP_STREAM_MAIN);
    if (!s.stream) return SPMM_ERR_NO_DEVICE; /* sp_device_stream() has set the message */
    *m = converted(a, format);
    s.a = a;
    cub::DeviceScan::ExclusiveSum(NULL, s.temporary_bytes, m->tile_start, m->tile_start,
                                  (a->rows + sp_most_leaves(a->nnz)) / SP_PANEL + 2, s.stream);
    const auto take_all = [&]() {
        s.sum = take<unsigned long long>(&memory, 2);
        s.temporary = take<char>(&memory, (int64_t)s.temporary_bytes);
    };
    take_all();
    spmm_status status = arena_open(&memory, "panels");
    if (status == SPMM_OK) take_all();
    if (status == SPMM_OK) status = convert(&s, m, choose);
    arena_close(&memory);
    sp_device_free(s.order);
    sp_cuda_cut_free(&s.cut);
    if (status != SPMM_OK) sp_matrix_destroy(m);
    return status;
}

} // namespace

spmm_status sp_cuda_panels(const sp_matrix *a, int64_t k, sp_matrix *m)
{
    (void)k;
    return make_panels(a, SPMM_PANEL, choose_order, m);
}

spmm_status sp_cuda_staged_panels(const sp_matrix *a, int64_t k, sp_matrix *m)
{
    (void)k;
    return make_panels(a, SPMM_STAGED, choose_walk, m);
}
