/** The kernel sell_rows, sliced ELLPACK: one thread, or a few lanes, per row segment. A slice is stored
 *  column by column, so that the lanes of a warp read adjacent column indices and values. This kernel is
 *  meant for few columns of X, with which most lanes of a sub-warp per row would be idle. The sum of a
 *  segment is one fma chain in column order. */
#include "kernels/cuda/cuda_vector.cuh"

namespace {

enum { SELL_BLOCK = 128, GROUP = 4 /* entries per lane whose loads are in flight together */ };

template <typename T> struct sell_args {
    const int64_t *slice_start;
    const int32_t *col, *target;
    const T *val;
    int64_t slices;
    const T *x;
    T *y, *partial;
    int64_t ldy, partial_ld;
    uint32_t x_pitch;
    int columns;
};

/** G consecutive entries of a segment. An entry past the end of the segment has column index -1. */
template <typename T, int G> struct sell_group {
    int32_t col[G];
    T val[G];
};

template <typename T, int G>
__device__ inline void load_group(const sell_args<T> &a, int64_t at, int64_t end, sell_group<T, G> &g)
{
#pragma unroll
    for (int u = 0; u < G; u++) {
        const int64_t p = at + u * SP_SLICE;
        g.col[u] = p < end ? __ldcs(a.col + p) : -1;
        g.val[u] = p < end ? __ldcs(a.val + p) : T(0);
    }
}

template <typename T, typename X, int N, int G>
__device__ inline void add_group(const sell_group<T, G> &g, const char *const (&x)[N], uint32_t pitch,
                                 X (&sum)[N])
{
    X loaded[G][N];
#pragma unroll
    for (int u = 0; u < G; u++)
        if (g.col[u] >= 0)
#pragma unroll
            for (int n = 0; n < N; n++) loaded[u][n] = __ldg((const X *)row_of(x[n], g.col[u], pitch));
#pragma unroll
    for (int u = 0; u < G; u++)
        if (g.col[u] >= 0)
#pragma unroll
            for (int n = 0; n < N; n++) multiply_add(sum[n], g.val[u], loaded[u][n]);
}

/** Sums each segment with L lanes, which compute N vectors of V columns each. */
template <typename T, int V, int L, int N>
__global__ void __launch_bounds__(SELL_BLOCK) sell_rows_kernel(const sell_args<T> a)
{
    using X = typename vector_of<T, V>::type;
    constexpr int G = GROUP;
    const int lane = threadIdx.x % L, first_column = blockIdx.y * (L * N * V);
    int column[N];
    const char *x[N];
#pragma unroll
    for (int n = 0; n < N; n++) {
        column[n] = first_column + (n * L + lane) * V;
        x[n] = (const char *)(a.x + (column[n] < a.columns ? column[n] : first_column));
    }
    for (int64_t segment = (int64_t)blockIdx.x * (SELL_BLOCK / L) + threadIdx.x / L;
         segment < a.slices * SP_SLICE; segment += (int64_t)gridDim.x * (SELL_BLOCK / L)) {
        const int64_t slice = segment / SP_SLICE, end = __ldg(a.slice_start + slice + 1);
        const int32_t target = __ldg(a.target + segment);
        X sum[N] = {};
        sell_group<T, G> g;
        int64_t at = __ldg(a.slice_start + slice) + segment % SP_SLICE;
        load_group(a, at, end, g);
        while (at < end) {
            const sell_group<T, G> now = g;
            at += G * SP_SLICE;
            load_group(a, at, end, g);
            add_group(now, x, a.x_pitch, sum);
        }
        if (target == INT32_MIN) continue;
        T *const y = target < 0 ? a.partial + ~target * a.partial_ld : a.y + target * a.ldy;
#pragma unroll
        for (int n = 0; n < N; n++)
            if (column[n] < a.columns) *(X *)(y + column[n]) = sum[n];
    }
}

/** Queues the product for the first `tiles` tiles, but not for more tiles than a grid allows. A tile has
 *  L * N * V columns; the last one may have fewer. Returns the number of columns that the product covers. */
template <typename T, int V, int L, int N> int launch(sell_args<T> a, int tiles, cudaStream_t stream)
{
    constexpr int tile = L * N * V;
    if (tiles > MAX_TILES) tiles = MAX_TILES;
    if (a.columns > tiles * tile) a.columns = tiles * tile;
    const dim3 grid(grid_of(a.slices * SP_SLICE, SELL_BLOCK / L), (unsigned)tiles);
    sell_rows_kernel<T, V, L, N><<<grid, SELL_BLOCK, 0, stream>>>(a);
    return a.columns;
}

/** Queues the product for the first columns of X and returns their number. The product covers as many whole
 *  tiles of 16 vectors as one launch takes. If there is less than one tile, it covers all columns. */
template <typename T, int V> int launch_columns(const sell_args<T> &a, cudaStream_t stream)
{
    const int vectors = (a.columns + V - 1) / V;
    if (a.columns >= 16 * V) return launch<T, V, 8, 2>(a, a.columns / (16 * V), stream);
    if (vectors <= 1) return launch<T, V, 1, 1>(a, 1, stream);
    if (vectors <= 2) return launch<T, V, 2, 1>(a, 1, stream);
    if (vectors <= 4) return launch<T, V, 4, 1>(a, 1, stream);
    if (vectors <= 8) return launch<T, V, 8, 1>(a, 1, stream);
    return launch<T, V, 8, 2>(a, 1, stream);
}

template <typename T> void run_typed(const sp_launch *l, cudaStream_t stream)
{
    const sp_matrix *const m = l->a;
    sell_args<T> a = vector_args<sell_args, T>(l);
    a.slice_start = m->row_start;
    a.target = m->target;
    a.slices = m->groups;
    a.partial = (T *)l->state;
    a.partial_ld = partial_ld(l->x->k);
    launch_vectors(l, a, [=](const auto &rest, auto V) { return launch_columns<T, V>(rest, stream); });
    launch_partials<T>({m->split, m->sections, m->splits, a.partial, a.partial_ld, a.y, a.ldy, a.columns, 1},
                       stream);
}

spmm_status run(const sp_launch *l)
{
    TRY(check_pitch(l, "sell_rows"));
    return launch_product<run_typed<double>, run_typed<float>>(l, "sell_rows");
}

/** Allocates GPU memory for the partial sums of long rows and stores its address in *state; NULL if no row is
 *  long. */
spmm_status prepare(const sp_setup *s, void **state)
{
    *state = NULL;
    if (s->a->partials == 0) return SPMM_OK;
    return sp_device_alloc(state, s->a->partials * partial_ld(s->k) * sp_value_size(s->a->precision),
                           "partial sums of long rows");
}

void release(void *state) { sp_device_free(state); }

} // namespace

const sp_kernel_ops sp_kernel_sell_rows = {run, prepare, release};
