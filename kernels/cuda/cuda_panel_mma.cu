/** The kernel panel_mma: multiplies row panels by X on the FP64 tensor cores, with one warp per panel of 8
 *  rows of A (cuda_panels.cuh). Each fetched row of X is used for all rows of the panel. */
#include "kernels/cuda/cuda_long_rows.cuh"
#include "kernels/cuda/cuda_panels.cuh"

namespace {

enum { PANEL_WARPS = 4, PANEL_THREADS = PANEL_WARPS * WARP };

/** Number of tiles of A whose loads of X are in flight together: the registers allow this many if five blocks
 *  run on a multiprocessor. */
template <int NT> constexpr int unroll = NT > 2 ? 2 : 3;

/** Moves vectors of X from the lanes that loaded them to the lanes that multiply them. Lane l loads vector
 *  l%8 of row l/8 of the four rows of X, so that adjacent lanes load adjacent memory, and multiplies vector
 *  l/4 of row l%4. If lanes loaded what they multiply, 8 lanes would touch four rows of X, and the L1 cache
 *  looks up only one line per cycle. */
template <typename T, int V> __device__ inline pack<T, V> to_fragment(const pack<T, V> &p, int lane)
{
    pack<T, V> q;
#pragma unroll
    for (int w = 0; w < (int)(V * sizeof(T) / 4); w++)
        q.word[w] = __shfl_sync(ALL_LANES, p.word[w], lane % 4 * 8 + lane / 4);
    return q;
}

/** Reads the tiles of a panel, for one lane. If `equal` is true, all values are `common`. */
template <typename T, bool equal> struct panel_reader {
    const int32_t *col;   /* address, in the first tile, of the column index of the row of X that this lane
                             loads */
    const uint32_t *mask; /* mask of the first tile of the panel */
    int count, lane;
    const T *val; /* values of the next tile, which next_value() will read; unused if they are equal */
    T common;

    __device__ uint32_t mask_of(int t) const { return t < count ? __ldg(mask + t) : 0; }
    /* Past the last tile of the panel, column_of() repeats the last tile; mask_of() is 0 there. */
    __device__ int32_t column_of(int t) const { return __ldg(col + min(t, count - 1) * SP_TILE_COLUMNS); }
    /* Returns this lane's value of the next tile, whose mask is m; 0 if the tile has no entry for the
     * lane. */
    __device__ double next_value(uint32_t m)
    {
        if (equal) return m >> lane & 1 ? (double)common : 0.0;
        const T *const p = val + __popc(m & ((1u << lane) - 1));
        val += __popc(m);
        return m >> lane & 1 ? (double)__ldcs(p) : 0.0;
    }
};

/** Computes the sums of a panel for NT groups of 8 vectors of V columns. The loads of X for U tiles are in
 *  flight together, while the column indices and values of the next U tiles are loaded. */
template <typename T, int V, int NT, bool equal>
__device__ inline void sum_tiles(panel_reader<T, equal> in, const char *const (&x)[NT], uint32_t x_pitch,
                                 panel_sums<V, NT> &sums)
{
    using X = typename vector_of<T, V>::type;
    constexpr int U = unroll<NT>;
    uint32_t mask[U];
    int32_t col[U];
    double value[U];
    if (in.count == 0) return;
#pragma unroll
    for (int u = 0; u < U; u++) {
        col[u] = in.column_of(u);
        value[u] = in.next_value(in.mask_of(u));
        mask[u] = in.mask_of(U + u);
    }
    for (int t = 0; t < in.count; t += U) {
        pack<T, V> b[U][NT];
        double now[U];
#pragma unroll
        for (int u = 0; u < U; u++)
#pragma unroll
            for (int j = 0; j < NT; j++) b[u][j].vector = __ldg((const X *)row_of(x[j], col[u], x_pitch));
#pragma unroll
        for (int u = 0; u < U; u++) {
            now[u] = value[u];
            col[u] = in.column_of(t + U + u);
            value[u] = in.next_value(mask[u]);
            mask[u] = in.mask_of(t + 2 * U + u);
        }
#pragma unroll
        for (int u = 0; u < U; u++) sums.add(now[u], [&](int j) { return to_fragment(b[u][j], in.lane); });
    }
}

/** If `equal` is true, the panels' values are read only if they are no longer all equal. */
template <typename T, int V, int NT, bool equal>
__global__ void __launch_bounds__(PANEL_THREADS, 5) panel_mma_kernel(const __grid_constant__ panel_args<T> a)
{
    wait_for_previous();
    const int lane = threadIdx.x % WARP, first_column = blockIdx.y * (8 * V * NT);
    common_value<T> common = {T(0), false};
    if (equal) common = load_common(a.common);
    const char *x[NT];
#pragma unroll
    for (int j = 0; j < NT; j++) {
        const int column = first_column + (j * 8 + lane % 8) * V;
        x[j] = (const char *)(a.x + (column < a.columns ? column : first_column));
    }
    for (int64_t panel = (int64_t)blockIdx.x * PANEL_WARPS + threadIdx.x / WARP; panel < a.panels;
         panel += (int64_t)gridDim.x * PANEL_WARPS) {
        const int64_t first = __ldg(a.tile_start + panel);
        const int32_t *const col = a.col + first * SP_TILE_COLUMNS + lane / 8;
        const int count = (int)(__ldg(a.tile_start + panel + 1) - first);
        panel_sums<V, NT> sums = {};
        if (equal && common.all)
            sum_tiles<T, V, NT>(panel_reader<T, equal>{col, a.mask + first, count, lane, NULL, common.value},
                                x, a.x_pitch, sums);
        else
            sum_tiles<T, V, NT>(panel_reader<T, false>{col, a.mask + first, count, lane,
                                                       a.val + __ldg(a.value_start + panel), T(0)},
                                x, a.x_pitch, sums);
        store_panel<T, V, NT>(a, panel, first_column, lane / 4, sums);
    }
}

template <typename T, int V, int NT> void launch(const panel_args<T> &a, int tiles, cudaStream_t stream)
{
    constexpr bool can_be_equal = V == 1 && NT == 1; /* up to 8 columns of X */
    const dim3 grid(grid_of(a.panels, PANEL_WARPS), (unsigned)tiles);
    launch_early(can_be_equal && a.common ? panel_mma_kernel<T, V, NT, can_be_equal>
                                          : panel_mma_kernel<T, V, NT, false>,
                 grid, PANEL_THREADS, 0, stream, a);
}

/** Launches panel_mma_kernel() for all columns. Divides the columns of X into as few tiles of columns as
 *  possible (blockIdx.y), of about equal widths, with at most `most` groups of 8 vectors each. If one launch
 *  cannot compute all columns, several are queued. */
template <typename T, int V> void launch_all(panel_args<T> a, cudaStream_t stream)
{
    constexpr int most = V == 2 ? 4 : 2, step = MAX_TILES * 8 * V;
    for (int left = a.columns; left > 0; left -= step, a.x += step, a.y += step) {
        a.columns = left < step ? left : step;
        const int groups = (a.columns - 1) / (8 * V) + 1, tiles = (groups - 1) / most + 1,
                  wide = (groups - 1) / tiles + 1;
        /* `wide` is at most `most`, which is 2 or 4 */
        const auto go = wide == 1   ? launch<T, V, 1>
                        : wide == 2 ? launch<T, V, 2>
                        : wide == 3 ? launch<T, V, most - 1>
                                    : launch<T, V, most>;
        go(a, tiles, stream);
        if (a.leaf) a.leaf += step;
    }
}

template <typename T> void run_typed(const sp_launch *l, cudaStream_t stream)
{
    const sp_work_lists *const lists = (const sp_work_lists *)l->state;
    panel_args<T> a = panel_args_of<T>(l, lists->leaf);
    const float *narrow; /* NULL: values of panels are not copied to f32 */
    a.common = common_of<T>(l, lists, &narrow);
    const int width = vector_width(l, (int)sizeof(T));
    if (width == 1 || a.columns <= 8)
        launch_all<T, 1>(a, stream);
    else if (sizeof(T) == 8 || width == 2 || a.columns <= 16)
        launch_all<T, 2>(a, stream);
    else
        launch_all<T, VECTOR_BYTES / sizeof(T)>(a, stream);
    sp_cuda_add_leaves(l, lists->leaf, stream);
}

spmm_status prepare(const sp_setup *setup, void **state)
{
    *state = NULL;
    spmm_status status = sp_cuda_find_common(setup, state);
    if (status == SPMM_OK) status = sp_cuda_leaf_sums(setup, &((sp_work_lists *)*state)->leaf);
    if (status == SPMM_OK) return status;
    sp_cuda_release_lists(*state);
    *state = NULL;
    return status;
}

spmm_status run(const sp_launch *l)
{
    TRY(check_pitch(l, "panel_mma"));
    return launch_product<run_typed<double>, run_typed<float>>(l, "panel_mma");
}

} // namespace

SP_KERNEL(panel_mma) = {run, prepare, sp_cuda_release_lists, NULL, sp_kernel_any_k, sp_cuda_new_values};
