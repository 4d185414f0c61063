/** The kernel panel_mma: multiplies row panels by X on the FP64 tensor cores, with one warp per panel of 8
 *  rows of A. One mma.m8n8k4 multiplies a tile of A (8 rows, 4 columns) by four rows of X, so that each row
 *  of X, once it is fetched, is used for all rows of the panel.
 *
 *  The tensor core adds the four products of a tile to the sum one after another and rounds each time, which
 *  gives the same bits as four fma operations (measured; see docs/SURPRISES.md). The zeros of a tile are
 *  multiplied, too. This is harmless unless they meet an infinity or a NaN of X; then the sum is a NaN, and
 *  the panel is computed again entry by entry. If the precision is f32, values are widened to f64 for the
 *  product, and each sum is rounded to f32 once at the end. */
#include "kernels/cuda/cuda_long_rows.cuh"

namespace {

enum { PANEL_WARPS = 4, PANEL_THREADS = PANEL_WARPS * WARP };

/** Number of tiles whose loads of X are in flight together: as many as the registers allow if five blocks are
 *  to run on a multiprocessor. */
template <int NT> constexpr int unroll = NT > 2 ? 2 : 3;

template <typename T> struct panel_args {
    const int64_t *value_start, *tile_start;
    const int32_t *target; /* NULL: the rows are in their order */
    const int32_t *col;
    const uint32_t *mask;
    const T *val;
    int64_t panels, rows;
    const T *x;
    T *y;
    int64_t ldy;
    uint32_t x_pitch; /* bytes from one row of X to the next */
    int columns;
};

/** Computes sum += a b, where a is [8 x 4], b is [4 x 8] and sum is [8 x 8]. The matrices are distributed
 *  over the lanes of a warp: lane l holds a(l/4, l%4), b(l%4, l/4), and in sum[0] and sum[1] the elements
 *  (l/4, 2 (l%4)) and (l/4, 2 (l%4) + 1). See PTX ISA, "mma.m8n8k4 with .f64". */
__device__ inline void multiply_tile(double (&sum)[2], double a, double b)
{
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(sum[0]), "+d"(sum[1])
        : "d"(a), "d"(b));
#else
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int k = 0; k < SP_TILE_COLUMNS; k++) {
        const double ak = __shfl_sync(ALL_LANES, a, lane / 4 * 4 + k);
        sum[0] = fma(ak, __shfl_sync(ALL_LANES, b, lane % 4 * 8 + k), sum[0]);
        sum[1] = fma(ak, __shfl_sync(ALL_LANES, b, lane % 4 * 8 + 4 + k), sum[1]);
    }
#endif
}

template <typename T, int V> union pack {
    typename vector_of<T, V>::type vector;
    T element[V];
    uint32_t word[V * sizeof(T) / 4];
};

/** Moves vectors of X from the lanes that loaded them to the lanes that multiply them. Lane l loads vector
 *  l%8 of row l/8 of the four rows of X, so that adjacent lanes load adjacent memory, and multiplies vector
 *  l/4 of row l%4. If lanes loaded what they multiply, 8 lanes would touch four rows of X, but the L1 cache
 *  looks up one line per cycle. */
template <typename T, int V> __device__ inline pack<T, V> to_fragment(const pack<T, V> &p, int lane)
{
    pack<T, V> q;
#pragma unroll
    for (int w = 0; w < (int)(V * sizeof(T) / 4); w++)
        q.word[w] = __shfl_sync(ALL_LANES, p.word[w], lane % 4 * 8 + lane / 4);
    return q;
}

/** Reads the tiles of a panel, for one lane. */
template <typename T> struct panel_reader {
    const int32_t *col;   /* points to a column index in the first tile: that of the row of X that this lane
                             loads */
    const uint32_t *mask; /* points to the mask of the first tile of the panel */
    int count, lane;
    const T *val; /* points to the values of the next tile, which next_value() will read */

    __device__ uint32_t mask_of(int t) const { return t < count ? __ldg(mask + t) : 0; }
    /* Past the last tile of the panel, column_of() repeats the last tile; mask_of() is 0 there. */
    __device__ int32_t column_of(int t) const { return __ldg(col + min(t, count - 1) * SP_TILE_COLUMNS); }
    /* Returns this lane's value of the next tile, whose mask is m; 0 if the tile has no entry for the
     * lane. */
    __device__ double next_value(uint32_t m)
    {
        const T *const p = val + __popc(m & ((1u << lane) - 1));
        val += __popc(m);
        return m >> lane & 1 ? (double)__ldcs(p) : 0.0;
    }
};

/** Computes the sums of a panel for NT groups of 8 vectors of V columns. The loads of X for U tiles are in
 *  flight together, while the column indices and values of the next U tiles are loaded. */
template <typename T, int V, int NT>
__device__ inline void sum_tiles(panel_reader<T> in, const char *const (&x)[NT], uint32_t x_pitch,
                                 double (&sum)[NT][V][2])
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
        for (int u = 0; u < U; u++)
#pragma unroll
            for (int j = 0; j < NT; j++) {
                const pack<T, V> fragment = to_fragment(b[u][j], in.lane);
#pragma unroll
                for (int v = 0; v < V; v++) multiply_tile(sum[j][v], now[u], (double)fragment.element[v]);
            }
    }
}

/** Returns the row of Y that is number r of a panel; -1 if there is none. */
template <typename T> __device__ inline int64_t row_of_panel(const panel_args<T> &a, int64_t panel, int r)
{
    const int64_t position = panel * SP_PANEL + r;
    if (a.target) return __ldg(a.target + position); /* INT32_MIN: none */
    return position < a.rows ? position : -1;
}

/** Computes `count` columns of the rows of a panel, from column `first` on, entry by entry in column order;
 *  each lane computes one element of Y at a time. This function has sums of its own: if the sums of
 *  sum_tiles() were passed to it, the compiler would not keep them in registers. */
template <typename T>
__device__ __noinline__ void sum_entries(const panel_args<T> &a, int64_t panel, int first, int count)
{
    for (int e = threadIdx.x % WARP; e < SP_PANEL * count; e += WARP) {
        const int r = e / count, column = first + e % count;
        const int64_t row = row_of_panel(a, panel, r);
        if (row < 0 || column >= a.columns) continue;
        const T *val = a.val + a.value_start[panel];
        double sum = 0;
        for (int64_t t = a.tile_start[panel]; t < a.tile_start[panel + 1]; t++) {
            const uint32_t m = a.mask[t];
            for (int c = 0; c < SP_TILE_COLUMNS; c++) {
                const int bit = r * SP_TILE_COLUMNS + c;
                if (!(m >> bit & 1)) continue;
                const T *const x = (const T *)row_of((const char *)a.x, a.col[t * SP_TILE_COLUMNS + c],
                                                     a.x_pitch);
                sum = fma((double)val[__popc(m & ((1u << bit) - 1))], (double)x[column], sum);
            }
            val += __popc(m);
        }
        a.y[row * a.ldy + column] = (T)sum;
    }
}

template <typename T, int V, int NT>
__device__ inline void store_sums(const panel_args<T> &a, int64_t row, int column,
                                  const double (&sum)[NT][V][2])
{
#pragma unroll
    for (int j = 0; j < NT; j++)
#pragma unroll
        for (int n = 0; n < 2; n++) {
            pack<T, V> out;
#pragma unroll
            for (int v = 0; v < V; v++) out.element[v] = (T)sum[j][v][n];
            const int c = column + (j * 8 + n) * V;
            if (c < a.columns) __stcs((typename vector_of<T, V>::type *)(a.y + row * a.ldy + c), out.vector);
        }
}

template <typename T, int V, int NT>
__global__ void __launch_bounds__(PANEL_THREADS, 5) panel_mma_kernel(const __grid_constant__ panel_args<T> a)
{
    wait_for_previous();
    const int lane = threadIdx.x % WARP, first_column = blockIdx.y * (8 * V * NT);
    const char *x[NT];
#pragma unroll
    for (int j = 0; j < NT; j++) {
        const int column = first_column + (j * 8 + lane % 8) * V;
        x[j] = (const char *)(a.x + (column < a.columns ? column : first_column));
    }
    for (int64_t panel = (int64_t)blockIdx.x * PANEL_WARPS + threadIdx.x / WARP; panel < a.panels;
         panel += (int64_t)gridDim.x * PANEL_WARPS) {
        const int64_t first = __ldg(a.tile_start + panel);
        const panel_reader<T> in = {a.col + first * SP_TILE_COLUMNS + lane / 8, a.mask + first,
                                    (int)(__ldg(a.tile_start + panel + 1) - first), lane,
                                    a.val + __ldg(a.value_start + panel)};
        double sum[NT][V][2] = {};
        bool odd = false;
        sum_tiles<T, V, NT>(in, x, a.x_pitch, sum);
#pragma unroll
        for (int j = 0; j < NT; j++)
#pragma unroll
            for (int v = 0; v < V; v++) odd |= isnan(sum[j][v][0]) || isnan(sum[j][v][1]);
        const int64_t row = row_of_panel(a, panel, lane / 4);
        if (__any_sync(ALL_LANES, odd))
            sum_entries(a, panel, first_column, 8 * V * NT);
        else if (row >= 0)
            store_sums<T, V, NT>(a, row, first_column + lane % 4 * 2 * V, sum);
    }
}

template <typename T, int V, int NT> void launch(const panel_args<T> &a, int tiles, cudaStream_t stream)
{
    const dim3 grid(grid_of(a.panels, PANEL_WARPS), (unsigned)tiles);
    launch_early(panel_mma_kernel<T, V, NT>, grid, PANEL_THREADS, 0, stream, a);
}

/** Launches panel_mma_kernel() for all columns. Divides the columns into as few tiles as possible, of about
 *  equal widths, with at most `most` groups of 8 vectors per tile. If one launch cannot take all columns,
 *  several are made. */
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
    }
}

template <typename T> void run_typed(const sp_launch *l, cudaStream_t stream)
{
    panel_args<T> a = vector_args<panel_args, T>(l);
    a.value_start = l->a->row_start;
    a.tile_start = l->a->tile_start;
    a.target = l->a->target;
    a.mask = l->a->mask;
    a.panels = l->a->groups;
    a.rows = l->a->rows;
    const int width = vector_width(l, (int)sizeof(T));
    if (width == 1 || a.columns <= 8)
        launch_all<T, 1>(a, stream);
    else if (sizeof(T) == 8 || width == 2 || a.columns <= 16)
        launch_all<T, 2>(a, stream);
    else
        launch_all<T, VECTOR_BYTES / sizeof(T)>(a, stream);
    sp_cuda_launch_lists(l, (const sp_work_lists *)l->state, stream);
}

spmm_status run(const sp_launch *l)
{
    TRY(check_pitch(l, "panel_mma"));
    return launch_product<run_typed<double>, run_typed<float>>(l, "panel_mma");
}

} // namespace

const sp_kernel_ops sp_kernel_panel_mma = {run, sp_cuda_prepare_copied_rows, sp_cuda_release_lists};
