/** One sub-warp per row of A, the columns of X across its lanes: the kernel that csr_rows, csr_balanced, ell_rows
 *  and ell_nopad_rows share; for csr_balanced its rows are row segments.
 *
 *  A warp computes 32 / L rows. Each of a row's L lanes owns N vectors of V columns (of 16 bytes if the alignment
 *  of X and Y allows it) and keeps their sums in registers. A row's entries are loaded coalesced, one chunk ahead
 *  of their use, and pass through shared memory, where one 16-byte read gives every lane four column indices: to
 *  broadcast each entry by shuffles, or to load it by all lanes, would take as much of the L1's bandwidth as X
 *  does. The loads of X for a group of entries are issued before its fma chain, so that several are in flight.
 *
 *  Each element of Y is one fma chain in column order from +0: bit for bit the serial product.
 *
 *  All 32 lanes of a warp stay in the loop over chunks until its longest row is done (rows that have ended see
 *  column index -1), so that all of them reach the warp-wide votes and barriers. */
#ifndef SP_CUDA_ROWS_CUH
#define SP_CUDA_ROWS_CUH

#include "kernels/cuda/cuda_vector.cuh"

namespace {

enum { BLOCK_WARPS = 4, BLOCK = WARP * BLOCK_WARPS };

/** The format that rows are read from. */
enum rows_source { FROM_CSR, FROM_ELL, FROM_ELL_NOPAD, FROM_SEGMENTS };

/** The kernel's arguments; x and y point to the first column to compute. */
template <typename T> struct rows_args {
    const int64_t *row_start;  /* FROM_CSR, FROM_ELL_NOPAD */
    const int32_t *nz_per_row; /* FROM_ELL_NOPAD */
    const sp_segment *segment; /* FROM_SEGMENTS, [rows] */
    T *partial;                /* FROM_SEGMENTS: partial sums of long rows */
    int64_t partial_ld;
    const int32_t *col;
    const T *val;
    int64_t rows;
    int64_t width; /* FROM_ELL */
    const T *x;
    T *y;
    int64_t ldy;
    uint32_t x_pitch; /* bytes between rows of X: 32 bits, so that an address is one multiply-add */
    int columns;
};

/** Tuning parameters: `group` entries have their N loads of X each in flight together; `chunk` entries are loaded
 *  at a time, `per_lane` by each lane; `blocks` are to fit on a multiprocessor. The last one tells the compiler
 *  how many registers it may use: left alone it saves some by starting a group's sums before its last loads. */
template <int L, int N> struct shape {
    static constexpr int group = 4;
    static constexpr int chunk = L == 1 ? 4 : L <= 4 ? 8 : L == 8 ? 16 : L;
    static constexpr int per_lane = chunk / L;
    static constexpr int blocks = N == 1 ? 8 : 6;
};

/** The entries of a chunk that one lane loads: slot s has the chunk's entry s * L + lane. */
template <typename T, int S> struct entries {
    int32_t col[S];
    T val[S];
};

/** A chunk in shared memory, from which all lanes of the sub-warp read it. */
template <typename T, int C> struct alignas(16) staged {
    T val[C];
    int32_t col[C];
};

/** The entries of a row or row segment. */
struct row_span {
    int64_t begin;
    unsigned length; /* fewer than 2^31, as the columns of a row are distinct */
    int32_t target;  /* row of Y, or ~p for partial sum p */
};

template <rows_source F, typename T> __device__ inline row_span span_of(const rows_args<T> &a, int64_t row)
{
    if (row >= a.rows) return {0, 0, -1};
    if constexpr (F == FROM_SEGMENTS) {
        const int4 segment = __ldg((const int4 *)(a.segment + row)); /* in one load */
        return {(int64_t)((uint64_t)(uint32_t)segment.y << 32 | (uint32_t)segment.x), (unsigned)segment.z,
                segment.w};
    } else if constexpr (F == FROM_ELL) {
        return {row * a.width, (unsigned)a.width, (int32_t)row};
    } else {
        const int64_t begin = __ldg(a.row_start + row);
        if constexpr (F == FROM_ELL_NOPAD)
            return {begin, (unsigned)__ldg(a.nz_per_row + row), (int32_t)row};
        else
            return {begin, (unsigned)(__ldg(a.row_start + row + 1) - begin), (int32_t)row};
    }
}

/** Loads from A, which is used once and hence should be evicted first. But if a sub-warp reads less than a sector
 *  at a time, its next slots are to find the rest of the sector in the L1. */
template <int L, typename E> __device__ inline E load_entry(const E *p)
{
    return L >= 8 ? __ldcs(p) : __ldg(p);
}

/** Loads this lane's entries of the chunk that starts at entry p of the row; column index -1 past the row's end. */
template <typename T, int L, int S>
__device__ inline void fetch(const rows_args<T> &a, const row_span &span, unsigned p, int lane,
                             entries<T, S> &e)
{
#pragma unroll
    for (int s = 0; s < S; s++) {
        const unsigned q = p + s * L + lane;
        e.col[s] = -1;
        e.val[s] = T(0);
        if (q < span.length) {
            e.col[s] = load_entry<L>(a.col + span.begin + q);
            e.val[s] = load_entry<L>(a.val + span.begin + q);
        }
    }
}

/** Adds the valid ones of G entries to the sums; their loads of X are issued before the first sum, which waits for
 *  them. For the others, past a row's end (column index -1), nothing is loaded or added: adding 0 * x would turn
 *  an infinite x into NaN, and -0 into +0. */
template <bool all_valid, typename T, typename X, int N, int G>
__device__ inline void add_valid(const int32_t (&col)[G], const T (&val)[G], const char *const (&x)[N],
                                 uint32_t x_pitch, X (&sum)[N])
{
    X loaded[G][N];
#pragma unroll
    for (int u = 0; u < G; u++) {
        if (!all_valid && col[u] < 0) continue;
#pragma unroll
        for (int n = 0; n < N; n++) loaded[u][n] = __ldg((const X *)row_of(x[n], col[u], x_pitch));
    }
#pragma unroll
    for (int u = 0; u < G; u++) {
        if (!all_valid && col[u] < 0) continue;
#pragma unroll
        for (int n = 0; n < N; n++) multiply_add(sum[n], val[u], loaded[u][n]);
    }
}

/** Adds a group; most groups are whole and need no test per entry. */
template <typename T, typename X, int N, int G>
__device__ inline void add_group(const int32_t (&col)[G], const T (&val)[G], const char *const (&x)[N],
                                 uint32_t x_pitch, X (&sum)[N])
{
    if (col[G - 1] >= 0)
        add_valid<true>(col, val, x, x_pitch, sum);
    else
        add_valid<false>(col, val, x, x_pitch, sum);
}

/** Copies G entries of a staged chunk into registers by 16-byte reads. */
template <typename T, int C, int G>
__device__ inline void read_group(const staged<T, C> &stage, int g, int32_t (&col)[G], T (&val)[G])
{
    constexpr int per_read = VECTOR_BYTES / sizeof(T);
    using vec = typename vector_of<T, per_read>::type;
#pragma unroll
    for (int u = 0; u < G; u += 4) *(int4 *)(col + u) = *(const int4 *)(stage.col + g + u);
#pragma unroll
    for (int u = 0; u < G; u += per_read) *(vec *)(val + u) = *(const vec *)(stage.val + g + u);
}

/** Adds a chunk from shared memory. */
template <typename T, typename X, int N, int G, int C>
__device__ inline void add_chunk(const staged<T, C> &stage, const char *const (&x)[N], uint32_t x_pitch,
                                 X (&sum)[N])
{
#pragma unroll 1
    for (int g = 0; g < C; g += G) {
        alignas(16) int32_t col[G];
        alignas(16) T val[G];
        read_group(stage, g, col, val);
        if (col[0] < 0) break;
        add_group(col, val, x, x_pitch, sum);
    }
}

/** Sums one row per sub-warp; all 32 lanes call it. */
template <rows_source F, typename T, int L, int N, typename X>
__device__ inline void sum_row(const rows_args<T> &a, row_span span, int lane, const char *const (&x)[N],
                               staged<T, shape<L, N>::chunk> &stage, X (&sum)[N])
{
    using S = shape<L, N>;
    entries<T, S::per_lane> e;
    fetch<T, L>(a, span, 0, lane, e);
    bool more = span.length > 0;
    for (unsigned p = S::chunk; __any_sync(ALL_LANES, more); p += S::chunk) {
        if constexpr (L == 1) {
            const entries<T, S::per_lane> now = e;
            more = p < span.length && now.col[S::chunk - 1] >= 0;
            if (!more) span.length = 0;
            fetch<T, L>(a, span, p, lane, e);
            add_group(now.col, now.val, x, a.x_pitch, sum);
        } else {
#pragma unroll
            for (int s = 0; s < S::per_lane; s++) {
                stage.col[s * L + lane] = e.col[s];
                stage.val[s * L + lane] = e.val[s];
            }
            __syncwarp();
            more = p < span.length && stage.col[S::chunk - 1] >= 0; /* padded rows end before width */
            if (!more) span.length = 0;
            fetch<T, L>(a, span, p, lane, e);
            add_chunk<T, X, N, S::group>(stage, x, a.x_pitch, sum);
            __syncwarp();
        }
    }
}

template <rows_source F, typename T, int V, int L, int N>
__global__ void __launch_bounds__(BLOCK, (shape<L, N>::blocks)) rows_kernel(const rows_args<T> a)
{
    using S = shape<L, N>;
    using X = typename vector_of<T, V>::type;
    __shared__ staged<T, S::chunk> stage[L == 1 ? 1 : BLOCK / L];
    const int lane = threadIdx.x % L;
    const int first_column = blockIdx.y * (L * N * V);
    const int row_in_block = threadIdx.x / L, rows_per_block = BLOCK / L;

    /* a lane past the last column loads what lane 0 loads, which costs nothing, and stores nothing */
    int column[N];
    const char *x[N];
#pragma unroll
    for (int n = 0; n < N; n++) {
        column[n] = first_column + (n * L + lane) * V;
        x[n] = (const char *)(a.x + (column[n] < a.columns ? column[n] : first_column));
    }
    for (int64_t first = (int64_t)blockIdx.x * rows_per_block; first < a.rows;
         first += (int64_t)gridDim.x * rows_per_block) {
        const int64_t row = first + row_in_block;
        const row_span span = span_of<F>(a, row);
        X sum[N] = {};
        sum_row<F, T, L, N>(a, span, lane, x, stage[L == 1 ? 0 : row_in_block], sum);
        if (row >= a.rows) continue;
        T *const y = F == FROM_SEGMENTS && span.target < 0 ? a.partial + ~span.target * a.partial_ld
                                                           : a.y + span.target * a.ldy;
#pragma unroll
        for (int n = 0; n < N; n++)
            if (column[n] < a.columns) __stcs((X *)(y + column[n]), sum[n]);
    }
}

template <rows_source F, typename T, int V, int L, int N>
void launch(const rows_args<T> &a, int tiles, cudaStream_t stream)
{
    const int64_t rows_per_block = BLOCK / L;
    const int64_t blocks = (a.rows - 1) / rows_per_block + 1;
    const dim3 grid((unsigned)(blocks < INT32_MAX ? blocks : INT32_MAX), (unsigned)tiles);
    rows_kernel<F, T, V, L, N><<<grid, BLOCK, 0, stream>>>(a);
}

/** Queues the product for the first columns of a and returns how many: of 64 vectors or more, or exactly 32, as many
 *  whole tiles of 32 vectors as one launch takes; otherwise all columns. A tile is a grid.y, which varies slowest, so
 *  that while it runs only its columns of X compete for the L2; to read A again for each tile costs less than that
 *  saves. (Tiles of 64 vectors were 18 % slower on lap3d7 and 8 % on band and R-MAT, 8 % faster on fem3.) */
template <rows_source F, typename T, int V> int launch_columns(rows_args<T> a, cudaStream_t stream)
{
    constexpr int tile = WARP * V;
    const int vectors = (a.columns + V - 1) / V;
    if (a.columns >= 2 * tile || a.columns == tile) {
        const int whole = a.columns / tile, tiles = whole < MAX_TILES ? whole : MAX_TILES;
        a.columns = tiles * tile;
        launch<F, T, V, 16, 2>(a, tiles, stream);
        return a.columns;
    }
    if constexpr (V * sizeof(T) == VECTOR_BYTES) {
        if (vectors <= 1)
            launch<F, T, V, 1, 1>(a, 1, stream);
        else if (vectors <= 2)
            launch<F, T, V, 2, 1>(a, 1, stream);
        else if (vectors <= 4)
            launch<F, T, V, 4, 1>(a, 1, stream);
        else if (vectors <= 8)
            launch<F, T, V, 8, 1>(a, 1, stream);
        else if (vectors <= 16)
            launch<F, T, V, 16, 1>(a, 1, stream);
        else if (vectors <= 32)
            launch<F, T, V, 16, 2>(a, 1, stream);
        else
            launch<F, T, V, 32, 2>(a, 1, stream);
    } else { /* K = 1, or a caller's own leading dimension: few shapes, to keep compile time low */
        if (vectors <= 1)
            launch<F, T, V, 1, 1>(a, 1, stream);
        else if (vectors <= 8)
            launch<F, T, V, 8, 1>(a, 1, stream);
        else
            launch<F, T, V, 32, 2>(a, 1, stream);
    }
    return a.columns;
}

template <rows_source F, typename T, int V> void launch_all(rows_args<T> a, cudaStream_t stream)
{
    while (a.columns > 0) {
        const int done = launch_columns<F, T, V>(a, stream);
        a.x += done;
        a.y += done;
        if (a.partial) a.partial += done;
        a.columns -= done;
    }
}

/** Queues the kernel for all columns, `width` of them per vector. */
template <rows_source F, typename T> void launch_rows(rows_args<T> a, int width, cudaStream_t stream)
{
    if (a.rows == 0) return;
    if (width == 1)
        launch_all<F, T, 1>(a, stream);
    else if (width == 2)
        launch_all<F, T, 2>(a, stream);
    else if constexpr (sizeof(T) == 4)
        launch_all<F, T, 4>(a, stream);
}

template <typename T> rows_args<T> rows_args_of(const sp_launch *l)
{
    const sp_matrix *m = l->a;
    rows_args<T> a = {};
    a.row_start = m->row_start;
    a.nz_per_row = m->nz_per_row;
    a.col = m->col;
    a.val = (const T *)m->val;
    a.rows = m->rows;
    a.width = m->width;
    a.x = (const T *)l->x->data;
    a.y = (T *)l->y->data;
    a.ldy = l->y->ld;
    a.x_pitch = (uint32_t)(l->x->ld * sizeof(T));
    a.columns = (int)l->x->k;
    return a;
}

template <rows_source F> spmm_status run_rows(const sp_launch *l, const char *id)
{
    TRY(check_pitch(l, id));
    const cudaStream_t stream = (cudaStream_t)sp_device_stream();
    if (!stream) return SPMM_ERR_NO_DEVICE; /* the message is sp_device_stream's */
    if (l->a->precision == SPMM_F64)
        launch_rows<F>(rows_args_of<double>(l), vector_width(l, sizeof(double)), stream);
    else
        launch_rows<F>(rows_args_of<float>(l), vector_width(l, sizeof(float)), stream);
    return sp_device_launched(id);
}

} // namespace

#endif
