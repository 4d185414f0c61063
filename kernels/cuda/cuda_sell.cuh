/** The kernel template of sell_rows and sell_deep, sliced ELLPACK: one thread, or a few lanes, per row. A
 *  slice is stored column by column, so that the lanes of a warp read adjacent column indices and values.
 *  These kernels are meant for few columns of X, for which a sub-warp per row would leave most lanes idle.
 *  The first blocks of the grid sum the sections of long rows, as in cuda_rows.cuh.
 *
 *  With one thread per row, sell_deep has more loads in flight per thread, up to twice as many, and fewer
 *  threads. It is for small matrices with uneven rows, in which all threads wait for the longest row. */
#ifndef SP_CUDA_SELL_CUH
#define SP_CUDA_SELL_CUH

#include "kernels/cuda/cuda_rows.cuh"

namespace {

enum { IN_FLIGHT = 4 /* entries per lane whose loads of X are in flight together */ };

template <typename T> struct sell_args : rows_args<T> {
    const int64_t *slice_start;
    const int32_t *target;
    int64_t slices;
    const int32_t *base;         /* as in sp_work_lists; NULL: 32-bit column indices are read */
    const uint32_t *column_pair; /* as in sp_work_lists */
};

/** Entries of a row in a slice whose loads of X are in flight together. An entry past the end of the row has
 *  column index -1. S is the type in which the values are stored. */
template <typename S, int G> struct sell_group {
    int32_t col[G];
    S val[G];
};

/** The column indices of the entries of a row in a slice that have not been added yet. */
struct full_columns {
    const int32_t *next;

    /* Loads the column indices of the next G entries; `count` entries are left. */
    template <int G> __device__ void load(int count, int32_t (&col)[G]) const
    {
#pragma unroll
        for (int u = 0; u < G; u++) col[u] = u < count ? __ldcs(next + u * SP_SLICE) : -1;
    }
    __device__ void skip(int entries) { next += entries * SP_SLICE; }
};

/** Like full_columns, for column indices of 16 bits. They are loaded and skipped in pairs. */
struct short_columns {
    const uint32_t *next;
    int32_t base;

    template <int G> __device__ void load(int count, int32_t (&col)[G]) const
    {
#pragma unroll
        for (int u = 0; u < G; u += 2) {
            const uint32_t pair = u < count ? __ldcs(next + u / 2 * SP_SLICE) : ~0u;
            col[u] = column_of(pair & 0xffff);
            col[u + 1] = column_of(pair >> 16);
        }
    }
    __device__ int32_t column_of(uint32_t relative) const
    {
        return relative == SP_NO_COLUMN ? -1 : base + (int32_t)relative;
    }
    __device__ void skip(int entries) { next += entries / 2 * SP_SLICE; }
};

/** The entries of a row in a slice that have not been added yet: the next entry, and the number of entries
 *  that are left. */
template <typename S, typename C> struct sell_rest {
    C columns;
    const S *val;
    int count;
};

/** Loads the values; equal values are `common`. */
template <int values, typename S, typename C, int G>
__device__ inline void load_values(const sell_rest<S, C> &r, S common, sell_group<S, G> &g)
{
    if constexpr (values == EQUAL) {
        set_all(g.val, common);
    } else {
#pragma unroll
        for (int u = 0; u < G; u++) g.val[u] = u < r.count ? load_once(r.val + u * SP_SLICE) : S{};
    }
}

/** Sums this lane's row of a slice, with the loads of X of G entries in flight. The next column indices are
 *  loaded at the same time; with one column of X, which needs few registers, the next values are also loaded.
 *  If `waits` is true, the kernel waits here for the previous kernel of the stream, after loading the first
 *  entries. T is the type of an element of X, S that of the stored values. Equal values are `common`. */
template <bool waits, int values, int G, typename T, typename S, typename C, typename X, int N>
__device__ inline void sum_slice(const conjugation<T> &c, sell_rest<S, C> r, S common,
                                 const char *const (&x)[N], uint32_t pitch, X (&sum)[N])
{
    constexpr bool ahead = sizeof(X) == sizeof(T);
    sell_group<S, G> next;
    r.columns.load(r.count, next.col);
    if (ahead || waits) load_values<values>(r, common, next);
    if (waits) {
        wait_for_previous();
        use_after(next.col);
    }
    while (r.count > 0) {
        sell_group<S, G> g = next;
        X loaded[G][N];
        if (!ahead && !waits) load_values<values>(r, common, g);
#pragma unroll
        for (int u = 0; u < G; u++)
            if (g.col[u] >= 0)
#pragma unroll
                for (int n = 0; n < N; n++)
                    loaded[u][n] = load_cached((const X *)row_of(x[n], g.col[u], pitch));
        r.columns.skip(G);
        r.val += G * SP_SLICE;
        r.count -= G;
        r.columns.load(r.count, next.col);
        if (ahead) load_values<values>(r, common, next);
#pragma unroll
        for (int u = 0; u < G; u++)
            if (g.col[u] >= 0)
#pragma unroll
                for (int n = 0; n < N; n++) multiply_add(sum[n], c.factor(T(g.val[u])), loaded[u][n]);
        if (!ahead && waits) load_values<values>(r, common, next);
    }
}

/** Returns the column indices of a row. \param [in] first  index of its first entry */
template <typename T>
__device__ inline full_columns columns_of(const sell_args<T> &a, int64_t slice, int64_t first, full_columns)
{
    return {a.col + first};
}
template <typename T>
__device__ inline short_columns columns_of(const sell_args<T> &a, int64_t slice, int64_t first, short_columns)
{
    const int64_t lane = first % SP_SLICE;
    return {a.column_pair + (first - lane + slice * SP_SLICE) / 2 + lane, __ldg(a.base + slice)};
}

/** Sums the rows of the slices, as sell_rows_kernel(). With the policy EQUAL each value of A is `common`. If
 *  V = 1, the registers that equal or narrow values save hold more entries in flight.
 *  \param [in] column, x  [N] first column of each of this lane's vectors, and address of row 0 of X there */
template <bool deep, int values, typename C, int V, int L, typename T, int N>
__device__ inline void sum_slices(const sell_args<T> &a, T common, const int (&column)[N],
                                  const char *const (&x)[N])
{
    using X = typename vector_of<T, V>::type;
    /* further entries in flight: as many as fit in the registers that equal or narrow values save */
    constexpr int more = V > 1 || values == OWN                                ? 0
                         : values == EQUAL || std::is_same_v<C, short_columns> ? IN_FLIGHT
                                                                               : IN_FLIGHT / 2;
    constexpr int in_flight = (deep ? 2 : 1) * IN_FLIGHT + more;
    for (int64_t r = (int64_t)(blockIdx.x - a.section_blocks) * (BLOCK / L) + threadIdx.x / L;
         r < a.slices * SP_SLICE; r += (int64_t)(gridDim.x - a.section_blocks) * (BLOCK / L)) {
        const int64_t slice = r / SP_SLICE, start = __ldg(a.slice_start + slice);
        const int width = (int)(__ldg(a.slice_start + slice + 1) - start) / SP_SLICE;
        const int32_t target = __ldg(a.target + r);
        X sum[N] = {};
        const int64_t first = start + r % SP_SLICE;
        using S = stored<values, T>;
        const sell_rest<S, C> rest = {columns_of(a, slice, first, C()), values_of<values>(a) + first, width};
        sum_slice<L == 1, values, in_flight, T>(a, rest, S(common), x, a.x_pitch, sum);
        if (L * N <= FEW_VECTORS) let_next_start();
        if (target == INT32_MIN) continue;
#pragma unroll
        for (int n = 0; n < N; n++)
            if (column[n] < a.columns) *(X *)(a.y + target * a.ldy + column[n]) = sum[n];
    }
}

/** Sums each row with L lanes, which compute N vectors of V columns each. Reads the values of the slices
 *  according to the policy `values`; if that is EQUAL or NARROW but the values are no longer equal or narrow,
 *  as with OWN. C is full_columns or short_columns. */
template <bool deep, int values, typename C, typename T, int V, int L, int N>
__global__ void __launch_bounds__(BLOCK, blocks_for_type<T>(deep     ? 5
                                                            : N == 1 ? 9
                                                                     : 6))
    sell_rows_kernel(const __grid_constant__ sell_args<T> a)
{
    using X = typename vector_of<T, V>::type;
    __shared__ staged_chunk<T, shape<L, N, false>::chunk> stage[stages<false, L>]; /* for long rows */
    const int lane = threadIdx.x % L, first_column = blockIdx.y * (L * N * V);
    if (L > 1) wait_for_previous(); /* waiting later would need more registers */
    int column[N];
    const char *x[N];
#pragma unroll
    for (int n = 0; n < N; n++) {
        column[n] = first_column + (n * L + lane) * V;
        x[n] = (const char *)(a.x + (column[n] < a.columns ? column[n] : first_column));
    }
    if (blockIdx.x < a.section_blocks) {
        sum_long_rows<false, T, L, N, X>(a, first_column, stage);
        return;
    }
    if constexpr (values == EQUAL) {
        const common_value<T> common = load_common(a.common);
        if (common.all) return sum_slices<deep, EQUAL, C, V, L>(a, common.value, column, x);
    }
    if constexpr (values == NARROW)
        if (are_narrow(a.common)) return sum_slices<deep, NARROW, C, V, L>(a, T{}, column, x);
    sum_slices<deep, OWN, C, V, L>(a, T{}, column, x);
}

/** Returns the kernel for the column indices and values of the matrix. With one column of X, sell_rows reads
 *  16-bit column indices (short_columns) if the matrix has them; sell_deep always reads 32-bit ones. A trial
 *  times both kernels. */
template <bool deep, typename T, int V, int L, int N> auto kernel_of(const sell_args<T> &a)
{
    using shortest = std::conditional_t<!deep && V == 1 && L == 1, short_columns, full_columns>;
    const bool is_short = a.base && a.columns == 1;
    return with_policy<has_few<T, V, L, N>, T>(a, [=](auto values) {
        return is_short ? sell_rows_kernel<deep, values, shortest, T, V, L, N>
                        : sell_rows_kernel<deep, values, full_columns, T, V, L, N>;
    });
}

/** Queues the product for the first `tiles` tiles, but not for more tiles than a grid allows. A tile has
 *  L * N * V columns; the last one may have fewer. Returns the number of columns that the product covers. */
template <bool deep, typename T, int V, int L, int N>
int launch_tiles(sell_args<T> a, int tiles, cudaStream_t stream)
{
    constexpr int tile = L * N * V;
    if (tiles > MAX_TILES) tiles = MAX_TILES;
    if (a.columns > tiles * tile) a.columns = tiles * tile;
    /* with several lanes per row, sell_deep is the same as sell_rows */
    constexpr bool deeper = L == 1 && deep;
    launch_rows_and_sections<typename vector_of<T, V>::type, L, N>(kernel_of<deeper, T, V, L, N>(a), a,
                                                                   a.slices * SP_SLICE, tiles, stream);
    return a.columns;
}

/** Queues the product for the first columns of X and returns their number. The product covers as many whole
 *  tiles of 16 vectors as one launch can compute. If there is less than one tile, it covers all columns. */
template <bool deep, typename T, int V> int launch_columns(const sell_args<T> &a, cudaStream_t stream)
{
    const int vectors = (a.columns + V - 1) / V;
    if (a.columns >= 16 * V) return launch_tiles<deep, T, V, 8, 2>(a, a.columns / (16 * V), stream);
    if (vectors <= 1) return launch_tiles<deep, T, V, 1, 1>(a, 1, stream);
    if (vectors <= 2) return launch_tiles<deep, T, V, 2, 1>(a, 1, stream);
    if (vectors <= 4) return launch_tiles<deep, T, V, 4, 1>(a, 1, stream);
    if (vectors <= 8) return launch_tiles<deep, T, V, 8, 1>(a, 1, stream);
    return launch_tiles<deep, T, V, 8, 2>(a, 1, stream);
}

template <bool deep, typename T> void run_sell(const sp_launch *l, cudaStream_t stream)
{
    const sp_matrix *const m = l->a;
    const sp_work_lists *const lists = (const sp_work_lists *)l->state;
    sell_args<T> a = vector_args<sell_args, T>(l);
    a.set_conjugate(l->conjugate);
    a.base = lists->base;
    a.column_pair = lists->column_pair;
    a.slice_start = m->row_start;
    a.target = m->target;
    a.slices = m->groups;
    a.common = common_of<T>(l, lists, &a.narrow);
    set_long_rows(a, lists, m, l->x->k);
    launch_vectors(l, a, [=](const auto &rest, auto V) { return launch_columns<deep, T, V>(rest, stream); });
}

} // namespace

#endif
