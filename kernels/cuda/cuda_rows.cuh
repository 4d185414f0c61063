/** The kernel template of csr_rows, csr_balanced, csr_clustered, csr_deep, ell_rows and ell_nopad_rows: one
 *  sub-warp of L lanes computes one row of Y, with the columns divided among its lanes. The first blocks of
 *  the grid sum the sections of long rows (cuda_long_rows.cuh), with one or a few sub-warps per leaf.
 *
 *  A warp computes 32 / L rows. Each lane of a row's sub-warp owns N vectors of V columns (16 bytes per
 *  vector if the alignment of X and Y allows it) and keeps their sums in registers. The entries of a row are
 *  loaded coalesced, one chunk ahead of their use, and pass through shared memory, where one 16-byte read
 *  gives every lane four column indices. Broadcasting each entry by shuffles, or loading it in every lane,
 *  would take as much of the bandwidth of the L1 cache as X does. The loads of X for a group of entries are
 *  issued before the fma chain of the group, so that several loads are in flight.
 *
 *  csr_rows computes short rows in runs: a sub-warp computes consecutive rows one after the other, from
 *  entries that it reads as if they were one row.
 *
 *  Each element of Y, or partial sum, is added in the order of summation.h, so that Y equals the serial
 *  product bit for bit.
 *
 *  All 32 lanes of a warp stay in the loop over chunks until the longest row of the warp is done, so that all
 *  lanes reach the warp-wide votes and barriers. Rows that have ended yield column index -1 in that loop. */
#ifndef SP_CUDA_ROWS_CUH
#define SP_CUDA_ROWS_CUH

#include "kernels/cuda/cuda_long_rows.cuh"
extern "C" {
#include "kernels/features.h"
}

namespace {

/** The format from which the rows of A are read. */
enum rows_source {
    FROM_CSR,
    FROM_ELL,
    FROM_ELL_NOPAD,
    FROM_LIST /* CSR, in the order of a list of its short rows */
};

/** Arguments of rows_kernel(). x and y point to the first column to compute, in row 0 of X and of Y. */
template <typename T> struct rows_args : long_row_args<T> {
    const int64_t *row_start;  /* only for FROM_CSR and FROM_ELL_NOPAD */
    const int32_t *nz_per_row; /* only for FROM_ELL_NOPAD */
    const sp_short_row *row;   /* only for FROM_LIST: [rows] */
    const int32_t *col;
    const T *val;
    const T *common;     /* from common_of() */
    const float *narrow; /* from common_of() */
    int64_t rows;
    int64_t width; /* only for FROM_ELL: entries per row, with padding */
    const T *x;
    T *y;
    int64_t ldy;
    uint32_t x_pitch; /* bytes from one row of X to the next; 32 bits, so that an address takes one
                         multiply-add */
    int columns;
    int run;          /* number of rows of a run; 0: sum_runs() is not used */
    bool shortest;    /* the rows have at most SP_SHORTEST entries on average */
    uint32_t y_pitch; /* only for sum_runs(): bytes from one row of Y to the next */
};

/** Whether the kernel has a variant for runs of short rows, sum_runs(). */
template <rows_source F, bool deep, int L, int N>
constexpr bool can_run = F == FROM_CSR && !deep && (L >= 8 || N > 1);

/** How many loads of X are in flight. DEEP has more of them than FLAT: in small matrices, the latency of a
 *  few warps takes longer than the memory traffic. Kernels that are FLAT use OF_PARTS where a block sums
 *  sections for a part of a tile. */
enum depths { FLAT, DEEP, OF_PARTS };

/** Tuning parameters of rows_kernel() for L lanes per row and N vectors per lane: `group`: number of entries
 *  whose loads of X (N per entry) are in flight together. `chunk`: number of entries that a sub-warp loads at
 *  a time; `per_lane`: how many of them each lane loads. `at_once`: whether the loads of X of a full chunk
 *  are in flight together. `blocks`: number of blocks that must fit on a multiprocessor, which tells the
 *  compiler how many registers it may use. Without this number the compiler saves registers by starting the
 *  sums of a group before the last loads of the group, and the code for long rows uses more registers than
 *  the rest needs. */
template <int L, int N, int depth> struct shape {
    static constexpr int group = depth != FLAT && L > 1 ? 8 : 4;
    static constexpr int chunk = L == 1 ? 4 : L <= 4 || depth == OF_PARTS ? 8 : L == 8 ? 16 : L;
    static constexpr int per_lane = chunk / L;
    static constexpr bool at_once = depth == DEEP && N == 1 && chunk == 16;
    static constexpr int blocks = depth != FLAT ? (N > 1 || at_once ? 4 : 6) : N == 1 ? 9 : 7;
};

/** The entries of a chunk that one lane loads: element s of the arrays is entry s * L + lane of the chunk. */
template <typename T, int S> struct entries {
    int32_t col[S];
    T val[S];
};

/** Returns the stored values that the policy `values` reads. */
template <int values, typename T> __device__ inline const stored<values, T> *values_of(const rows_args<T> &a)
{
    if constexpr (values == NARROW)
        return a.narrow;
    else
        return a.val;
}

/** Number of chunks in a block's shared memory: one per sub-warp, and in deep kernels twice as many if
 *  sub-warps of PART_VECTORS lanes need them. */
template <bool deep, int L>
constexpr int stages = L == 1 ? 1 : (!deep || L <= PART_VECTORS ? 1 : 2) * BLOCK / L;

/** A chunk of C entries in shared memory, from which all lanes of the sub-warp read it. */
template <typename T, int C> struct alignas(16) staged_chunk {
    T val[C];
    int32_t col[C];
};

/** The entries of a row or leaf, and the row of Y to which they belong; -1 if they are not a whole row. */
struct row_span {
    int64_t begin;
    unsigned length; /* number of entries: below 2^31, as the columns of a row are distinct */
    int32_t row;
};

/** Returns the entries of row number `row` of A or, with FROM_LIST, of the list. A long row yields no
 *  entries. */
template <rows_source F, typename T> __device__ inline row_span span_of(const rows_args<T> &a, int64_t row)
{
    if (row >= a.rows) return {0, 0, -1};
    if constexpr (F == FROM_LIST) {
        const int4 listed = __ldg((const int4 *)(a.row + row)); /* one load for the whole sp_short_row */
        return {(int64_t)((uint64_t)(uint32_t)listed.y << 32 | (uint32_t)listed.x), (unsigned)listed.z,
                listed.w};
    } else if constexpr (F == FROM_ELL) {
        const bool is_long = a.width > SP_CHAIN && __ldg(a.col + row * a.width + SP_CHAIN) >= 0;
        return is_long ? row_span{0, 0, -1} : row_span{row * a.width, (unsigned)a.width, (int32_t)row};
    } else {
        const int64_t begin = __ldg(a.row_start + row);
        const unsigned length = F == FROM_ELL_NOPAD ? (unsigned)__ldg(a.nz_per_row + row)
                                                    : (unsigned)(__ldg(a.row_start + row + 1) - begin);
        return length <= SP_CHAIN ? row_span{begin, length, (int32_t)row} : row_span{begin, 0, -1};
    }
}

/** Loads an element of the arrays of A. Elements of A are used once, so they should be evicted first
 *  (__ldcs). But if a sub-warp reads less than a sector at a time, its next loads should find the rest of the
 *  sector in the L1 cache (__ldg). */
template <int L, typename E> __device__ inline E load_entry(const E *p)
{
    return L >= 8 ? load_once(p) : load_cached(p);
}

/** Loads this lane's entries of the chunk that starts at entry p of the row. An entry past the end of the row
 *  gets column index -1. Equal values are not loaded. */
template <typename T, int L, int values, int S>
__device__ inline void fetch(const rows_args<T> &a, const row_span &span, unsigned p, int lane,
                             entries<stored<values, T>, S> &e)
{
#pragma unroll
    for (int s = 0; s < S; s++) {
        const unsigned q = p + s * L + lane;
        e.col[s] = -1;
        e.val[s] = {};
        if (q < span.length) {
            e.col[s] = load_entry<L>(a.col + span.begin + q);
            if (values != EQUAL) e.val[s] = a.factor(load_entry<L>(values_of<values>(a) + span.begin + q));
        }
    }
}

/** Adds the products of G entries to the sums. All loads of X are issued before the first fma. If all_valid
 *  is false, entries past the end of a row (column index -1) are skipped, without loading X: adding 0 * x
 *  would turn a sum into NaN if x is infinite, and a sum of -0 into +0. */
template <bool all_valid, typename T, typename X, int N, int G>
__device__ inline void add_valid(const int32_t (&col)[G], const T (&val)[G], const char *const (&x)[N],
                                 uint32_t x_pitch, X (&sum)[N])
{
    X loaded[G][N];
#pragma unroll
    for (int u = 0; u < G; u++) {
        if (!all_valid && col[u] < 0) continue;
#pragma unroll
        for (int n = 0; n < N; n++) loaded[u][n] = load_cached((const X *)row_of(x[n], col[u], x_pitch));
    }
#pragma unroll
    for (int u = 0; u < G; u++) {
        if (!all_valid && col[u] < 0) continue;
#pragma unroll
        for (int n = 0; n < N; n++) multiply_add(sum[n], val[u], loaded[u][n]);
    }
}

/** Adds the products of a group of G entries to the sums. Most groups are full and need no test per entry. */
template <typename T, typename X, int N, int G>
__device__ inline void add_group(const int32_t (&col)[G], const T (&val)[G], const char *const (&x)[N],
                                 uint32_t x_pitch, X (&sum)[N])
{
    if (col[G - 1] >= 0)
        add_valid<true>(col, val, x, x_pitch, sum);
    else
        add_valid<false>(col, val, x, x_pitch, sum);
}

/** Copies G entries of a chunk in shared memory, starting at entry g, into registers, with 16-byte reads.
 *  Equal values are `common`. */
template <bool equal, typename T, int C, int G>
__device__ inline void read_group(const staged_chunk<T, C> &stage, int g, T common, int32_t (&col)[G],
                                  T (&val)[G])
{
    constexpr int per_read = VECTOR_BYTES / sizeof(T);
    using vec = typename vector_of<T, per_read>::type;
#pragma unroll
    for (int u = 0; u < G; u += 4) *(int4 *)(col + u) = *(const int4 *)(stage.col + g + u);
#pragma unroll
    for (int u = 0; u < G; u += per_read)
        if (!equal) *(vec *)(val + u) = *(const vec *)(stage.val + g + u);
    if (equal) set_all(val, common);
}

/** Adds the products of all entries of a chunk in shared memory to the sums, with the loads of X of G entries
 *  in flight together or, if `at_once` is true and the chunk is full, all of them. */
template <int G, bool at_once, bool equal, typename T, typename X, int N, int C>
__device__ inline void add_chunk(const staged_chunk<T, C> &stage, T common, const char *const (&x)[N],
                                 uint32_t x_pitch, X (&sum)[N])
{
    if constexpr (at_once)
        if (stage.col[C - 1] >= 0) {
            alignas(16) int32_t col[C];
            alignas(16) T val[C];
            read_group<equal>(stage, 0, common, col, val);
            return add_valid<true>(col, val, x, x_pitch, sum);
        }
#pragma unroll 1
    for (int g = 0; g < C; g += G) {
        alignas(16) int32_t col[G];
        alignas(16) T val[G];
        read_group<equal>(stage, g, common, col, val);
        if (col[0] < 0) break;
        add_group(col, val, x, x_pitch, sum);
    }
}

/** Computes the sums of one row or leaf per sub-warp; all 32 lanes of the warp must call it. Equal values are
 *  `common`. */
template <int depth, int values, typename T, int L, int N, typename X>
__device__ inline void sum_row(const rows_args<T> &a, T common, row_span span, int lane,
                               const char *const (&x)[N], staged_chunk<T, shape<L, N, depth>::chunk> &stage,
                               X (&sum)[N])
{
    using S = shape<L, N, depth>;
    constexpr bool equal = values == EQUAL;
    entries<stored<values, T>, S::per_lane> e;
    fetch<T, L, values>(a, span, 0, lane, e);
    wait_for_previous();
    use_after(e.col);
    bool more = span.length > 0;
    for (unsigned p = S::chunk; __any_sync(ALL_LANES, more); p += S::chunk) {
        if constexpr (L == 1) {
            entries<T, S::per_lane> now;
#pragma unroll
            for (int s = 0; s < S::per_lane; s++) {
                now.col[s] = e.col[s];
                now.val[s] = equal ? common : T(e.val[s]);
            }
            more = p < span.length && now.col[S::chunk - 1] >= 0;
            if (!more) span.length = 0;
            fetch<T, L, values>(a, span, p, lane, e);
            add_group(now.col, now.val, x, a.x_pitch, sum);
        } else {
#pragma unroll
            for (int s = 0; s < S::per_lane; s++) {
                stage.col[s * L + lane] = e.col[s];
                if (!equal) stage.val[s * L + lane] = e.val[s];
            }
            __syncwarp();
            more = p < span.length && stage.col[S::chunk - 1] >= 0; /* padding may end a row early */
            if (!more) span.length = 0;
            fetch<T, L, values>(a, span, p, lane, e);
            add_chunk<S::group, S::at_once, equal>(stage, common, x, a.x_pitch, sum);
            __syncwarp();
        }
    }
}

/** Sums the leaves of a pack that belong to this sub-warp. Stores their sums, or the sums of its segments, in
 *  `sums`. All threads of the block must call it.
 *  \param [in]  first  number of the sub-warp's first leaf in pack p
 *  \param [out] sums   [S::sums * S::vectors] in shared memory: the sums of the pack */
template <typename S, int depth, typename T, int L, int N, typename X>
__device__ inline void sum_leaves(const rows_args<T> &a, int64_t p, int first, int lane,
                                  const char *const (&x)[N],
                                  staged_chunk<T, shape<L, N, depth>::chunk> &stage, X *sums)
{
    constexpr int each = SECTION_LEAVES / S::sums; /* leaves per sum */
    sp_segment s = segment_of(a, p, first / SP_LEAVES);
    for (int i = 0; i < S::leaves; i++) {
        const int leaf = (first + i) % SP_LEAVES;
        if (i > 0 && leaf == 0) s = segment_of(a, p, (first + i) / SP_LEAVES);
        const int length = leaf_length(s, leaf);
        X sum[N] = {};
        sum_row<depth, OWN, T, L, N>(a, T{}, {s.begin + leaf * SP_LEAF, (unsigned)length, -1}, lane, x, stage,
                                     sum);
#pragma unroll
        for (int n = 0; n < N; n++) {
            X *const to = sums + (first + i) / each * S::vectors + n * L + lane;
            if (i % each > 0 && length == 0) continue;
            /* all leaves of a segment belong to one sub-warp, and each lane has its own columns */
            if (i % each > 0) {
                X segment = *to;
                add(segment, sum[n]);
                sum[n] = segment;
            }
            *to = sum[n];
        }
    }
}

/** Sums the block's packs of sections. Not inlined, so that rows_kernel() can use its registers for short
 *  rows. */
template <bool staged, int depth, typename T, int L, int N, typename X>
__device__ __noinline__ void sum_sections(const rows_args<T> &a, const section_place &place,
                                          staged_chunk<T, shape<L, N, depth>::chunk> *stage)
{
    using S = section_shape<L, N, staged>;
    constexpr int V = sizeof(X) / sizeof(T);
    extern __shared__ uint4 memory[];
    X *const sums = (X *)memory;
    const int subwarp = threadIdx.x / (BLOCK / S::subwarps), pack = subwarp * S::leaves / SECTION_LEAVES;
    const int64_t p = place.block * S::packs + pack;
    const int first = subwarp * S::leaves % SECTION_LEAVES, lane = threadIdx.x % L;
    const int first_column = place.first_column;
    const block_sections sections = sections_of_block<S>(a, place.block);
    if constexpr (staged) {
        const int column = first_column + (int)threadIdx.x % S::vectors * V;
        sum_staged<S::vectors>(a, a.col, a.val,
                               (const char *)(a.x + (column < a.columns ? column : first_column)), a.x_pitch,
                               place.block, *(staged_leaves<T, X, S::vectors> *)memory, sums);
    } else {
        const char *x[N];
#pragma unroll
        for (int n = 0; n < N; n++) {
            const int column = first_column + (n * L + lane) * V;
            x[n] = (const char *)(a.x + (column < a.columns ? column : first_column));
        }
        sum_leaves<S, depth, T, L, N>(a, p, first, lane, x, stage[subwarp],
                                      sums + pack * S::sums * S::vectors);
    }
    if (S::vectors <= FEW_VECTORS) let_next_start();
    __syncthreads();
    finish_sections<S>(a, sections, place, sums, a.y, a.ldy, a.columns);
}

/** Sums the block's packs of sections: in parts of the tile, staged, or neither. */
template <bool deep, typename T, int L, int N, typename X>
__device__ inline void sum_long_rows(const rows_args<T> &a, int first_column,
                                     staged_chunk<T, shape<L, N, deep>::chunk> *stage)
{
    constexpr bool can = can_stage<L * N>;
    const section_place whole = {blockIdx.x, blockIdx.y, first_column};
    if constexpr (can_part<L, N>)
        if (a.parts > 1) {
            constexpr int V = sizeof(X) / sizeof(T);
            const unsigned part = blockIdx.x / a.pack_blocks;
            const section_place place = {blockIdx.x - part * a.pack_blocks, blockIdx.y * a.parts + part,
                                         first_column + (int)part * PART_VECTORS * V};
            constexpr int depth = deep ? DEEP : OF_PARTS;
            using chunk = staged_chunk<T, shape<PART_VECTORS, 1, depth>::chunk>;
            static_assert(BLOCK / PART_VECTORS * sizeof(chunk) <= stages<deep, L> * sizeof *stage, "");
            return sum_sections<false, depth, T, PART_VECTORS, 1, X>(a, place, (chunk *)stage);
        }
    if (can && a.staged)
        sum_sections<can, deep, T, L, N, X>(a, whole, stage);
    else if (L > 1)
        sum_sections<L == 1, deep, T, L, N, X>(a, whole, stage);
}

/** Sums the short rows, as rows_kernel(). Equal values are `common`.
 *  \param [in] column, x  [N] first column of each of this lane's vectors, and address of row 0 of X there */
template <rows_source F, bool deep, int values, int V, int L, typename T, int N>
__device__ inline void sum_short_rows(const rows_args<T> &a, T common, int lane, const int (&column)[N],
                                      const char *const (&x)[N],
                                      staged_chunk<T, shape<L, N, deep>::chunk> &stage)
{
    using X = typename vector_of<T, V>::type;
    constexpr int rows_per_block = BLOCK / L;
    for (int64_t first = (int64_t)(blockIdx.x - a.section_blocks) * rows_per_block; first < a.rows;
         first += (int64_t)(gridDim.x - a.section_blocks) * rows_per_block) {
        const row_span span = span_of<F>(a, first + threadIdx.x / L);
        X sum[N] = {};
        sum_row<deep, values, T, L, N>(a, common, span, lane, x, stage, sum);
        if (L * N <= FEW_VECTORS) let_next_start();
        if (span.row < 0) continue;
        T *const y = a.y + span.row * a.ldy;
#pragma unroll
        for (int n = 0; n < N; n++)
            if (column[n] < a.columns) store_once((X *)(y + column[n]), sum[n]);
    }
}

/** Returns, in all lanes, the bitwise or of the words of all lanes of the warp. */
__device__ inline unsigned or_of_warp(unsigned word)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(ALL_LANES, word);
#else
    for (int step = WARP / 2; step > 0; step /= 2) word |= __shfl_xor_sync(ALL_LANES, word, step);
    return word;
#endif
}

/** The vectors that a lane of sum_runs() computes in each row: vectors n * L for each n < count, counted from
 *  x in X and from y in Y. */
struct lane_columns {
    const char *x; /* in row 0 of X */
    char *y;       /* in the first row of the run, in Y */
    int count;
};

/** Stores this lane's vectors of row i of a run. */
template <int L, typename X, int N>
__device__ inline void store_row(const lane_columns &c, int i, uint32_t y_pitch, const X (&sum)[N])
{
    X *const y = (X *)row_of(c.y, i, y_pitch);
#pragma unroll
    for (int n = 0; n < N; n++)
        if (n < c.count) store_once(y + n * L, sum[n]);
}

/** Loads this lane's vectors of a row of X. */
template <int L, typename X, int N>
__device__ inline void load_row(const lane_columns &c, int32_t col, uint32_t x_pitch, X (&loaded)[N])
{
    const X *const x = (const X *)row_of(c.x, col, x_pitch);
#pragma unroll
    for (int n = 0; n < N; n++)
        if (n == 0 || n < c.count) loaded[n] = load_cached(x + n * L);
}

/** Adds the products of the chunk in shared memory, and stores the rows that end there. Bit u of `ends` is 1
 *  if entry u is the last of its row. Sums of entries after the end of the run are not stored. */
template <int L, int G, typename T, typename X, int N, int C>
__device__ inline void add_chunk_of_run(const rows_args<T> &a, const staged_chunk<T, C> &stage, unsigned ends,
                                        const lane_columns &c, unsigned &rows, X (&sum)[N])
{
#pragma unroll 1
    for (int g = 0; g < L; g += G, ends >>= G) {
        alignas(16) int32_t col[G];
        alignas(16) T val[G];
        X loaded[G][N];
        read_group<false>(stage, g, T{}, col, val);
        if (col[0] < 0) break;
        if (col[G - 1] >= 0) {
#pragma unroll
            for (int u = 0; u < G; u++) load_row<L>(c, col[u], a.x_pitch, loaded[u]);
        } else {
#pragma unroll
            for (int u = 0; u < G; u++)
                if (col[u] >= 0) load_row<L>(c, col[u], a.x_pitch, loaded[u]);
        }
        if ((ends & ((1u << G) - 1)) == 0) { /* a run ends with a row, so here all entries are valid */
#pragma unroll
            for (int u = 0; u < G; u++)
#pragma unroll
                for (int n = 0; n < N; n++) multiply_add(sum[n], val[u], loaded[u][n]);
            continue;
        }
#pragma unroll
        for (int u = 0; u < G; u++) {
#pragma unroll
            for (int n = 0; n < N; n++) multiply_add(sum[n], val[u], loaded[u][n]);
            if (ends >> u & 1) {
                store_row<L>(c, __ffs((int)rows) - 1, a.y_pitch, sum);
                rows &= rows - 1;
#pragma unroll
                for (int n = 0; n < N; n++) sum[n] = X{};
            }
        }
    }
}

/** Sums the short rows in runs of consecutive rows: a sub-warp reads the entries of a run as if they were one
 *  row, so that short rows cost no more instructions and latency per entry than long ones. */
template <int V, int L, int N, typename T, int C>
__device__ inline void sum_runs(const rows_args<T> &a, int lane, int first_column, staged_chunk<T, C> &stage)
{
    using X = typename vector_of<T, V>::type;
    constexpr unsigned lanes = L == WARP ? ALL_LANES : (1u << L % WARP) - 1;
    const unsigned shift = threadIdx.x % WARP / L * L; /* first bit of the sub-warp in a warp's masks */
    const int64_t first = ((int64_t)(blockIdx.x - a.section_blocks) * (BLOCK / L) + threadIdx.x / L) * a.run;
    const bool mine = lane < a.run && first + lane < a.rows;
    const int64_t start = mine ? __ldg(a.row_start + first + lane) : 0;
    const unsigned length = mine ? (unsigned)(__ldg(a.row_start + first + lane + 1) - start) : 0;
    const int column = first_column + lane * V, left = a.columns - column;
    const lane_columns c = {(const char *)(a.x + (left > 0 ? column : first_column)),
                            (char *)(a.y + first * a.ldy + column), left > 0 ? (left - 1) / (L * V) + 1 : 0};
    /* masks with bit i for row i of the run: rows without entries; short rows that are not summed yet */
    unsigned empty = __ballot_sync(ALL_LANES, mine && length == 0) >> shift & lanes;
    unsigned todo = __ballot_sync(ALL_LANES, length - 1u < SP_CHAIN) >> shift & lanes;
    const unsigned apart = ~(todo | empty) & lanes; /* long rows */
    while (__any_sync(ALL_LANES, todo != 0)) {
        /* sums the rows up to the next long row */
        const unsigned above = apart & ~((todo & -todo) - 1), below = (above & -above) - 1;
        unsigned rows = todo & below;
        todo &= ~below;
        const int64_t begin = __shfl_sync(ALL_LANES, start, rows ? __ffs((int)rows) - 1 : 0, L);
        const unsigned to = (unsigned)(start + length - begin);
        const unsigned all = __shfl_sync(ALL_LANES, to, rows ? 31 - __clz((int)rows) : 0, L);
        const unsigned last = rows >> lane & 1 ? to - 1 : ~0u; /* last entry of row `lane` */
        const row_span span = {begin, rows ? all : 0, -1};
        entries<T, 1> e;
        fetch<T, L, OWN>(a, span, 0, lane, e);
        wait_for_previous();
        use_after(e.col);
        X sum[N] = {};
        for (unsigned p = 0; __any_sync(ALL_LANES, p < span.length); p += L) {
            stage.col[lane] = e.col[0];
            stage.val[lane] = e.val[0];
            const unsigned ends = or_of_warp(last - p < L ? 1u << (shift + last - p) : 0) >> shift;
            __syncwarp();
            fetch<T, L, OWN>(a, span, p + L, lane, e);
            add_chunk_of_run<L, shape<L, N, FLAT>::group>(a, stage, ends, c, rows, sum);
            __syncwarp();
        }
    }
    wait_for_previous();
    for (; empty; empty &= empty - 1) {
        const X zero[N] = {};
        store_row<L>(c, __ffs((int)empty) - 1, a.y_pitch, zero);
    }
}

/** Reads the values of the short rows according to the policy `values`. If that is EQUAL or NARROW but the
 *  values are no longer equal or narrow, reads them as with OWN. */
template <rows_source F, bool deep, int values, typename T, int V, int L, int N>
__global__ void __launch_bounds__(BLOCK, blocks_for_type<T>(shape<L, N, deep>::blocks))
    rows_kernel(const __grid_constant__ rows_args<T> a)
{
    using S = shape<L, N, deep>;
    using X = typename vector_of<T, V>::type;
    __shared__ staged_chunk<T, S::chunk> stage[stages<deep, L>]; /* per sub-warp */
    const int lane = threadIdx.x % L;
    const int first_column = blockIdx.y * (L * N * V);

    /* A lane past the last column stores nothing. It loads the first column of the tile, which lane 0 loads
     * anyway, so its loads cause no further memory traffic. */
    int column[N];
    const char *x[N];
#pragma unroll
    for (int n = 0; n < N; n++) {
        column[n] = first_column + (n * L + lane) * V;
        x[n] = (const char *)(a.x + (column[n] < a.columns ? column[n] : first_column));
    }
    if (blockIdx.x < a.section_blocks) {
        sum_long_rows<deep, T, L, N, X>(a, first_column, stage);
        return;
    }
    staged_chunk<T, S::chunk> &own = stage[L == 1 ? 0 : threadIdx.x / L];
    if constexpr (values == EQUAL) {
        const common_value<T> common = load_common(a.common);
        if (common.all) return sum_short_rows<F, deep, EQUAL, V, L>(a, common.value, lane, column, x, own);
    }
    if constexpr (values == NARROW)
        if (are_narrow(a.common)) return sum_short_rows<F, deep, NARROW, V, L>(a, T{}, lane, column, x, own);
    if constexpr (can_run<F, deep, L, N>) {
        if (a.run > 0) return sum_runs<V, L, N>(a, lane, first_column, own);
    }
    sum_short_rows<F, deep, OWN, V, L>(a, T{}, lane, column, x, own);
}

template <rows_source F, bool deep, typename T, int V, int L, int N>
void launch(const rows_args<T> &a, int tiles, cudaStream_t stream)
{
    /* other kernels have no variants for equal and narrow values: they are for small matrices, or `auto` does
     * not choose them */
    constexpr bool few = F == FROM_LIST && !deep && has_few<T, V, L, N>;
    const auto kernel = with_policy<few, T>(
        a, [](auto values) { return rows_kernel<F, deep, values, T, V, L, N>; });
    const bool in_runs = can_run<F, deep, L, N> && a.run > 0;
    launch_rows_and_sections<typename vector_of<T, V>::type, L, N>(
        kernel, a, in_runs ? (a.rows - 1) / a.run + 1 : a.rows, tiles, stream);
}

/** Queues the product for the first columns of X and returns their number. If exactly 32 vectors of columns
 *  are left, or at least 64, the product covers whole tiles of 32 vectors, as many as one launch can compute.
 *  Otherwise it covers all columns. blockIdx.y is the number of the tile. It varies slowest, so that while a
 *  tile runs, only its columns of X compete for the L2 cache. This saves more time than reading A again for
 *  each tile costs. Each lane has two vectors if there are more than 8 vectors (in a deep kernel with 16-byte
 *  vectors, more than 16): with one per lane, a warp has fewer bytes of X in flight. With the shortest rows,
 *  it has two if there are more than 4. */
template <rows_source F, bool deep, typename T, int V> int launch_columns(rows_args<T> a, cudaStream_t stream)
{
    constexpr int tile = WARP * V;
    const int vectors = (a.columns + V - 1) / V;
    if (a.columns >= 2 * tile || a.columns == tile) {
        const int whole = a.columns / tile, tiles = whole < MAX_TILES ? whole : MAX_TILES;
        a.columns = tiles * tile;
        launch<F, deep, T, V, 16, 2>(a, tiles, stream);
        return a.columns;
    }
    if constexpr (V * sizeof(T) == VECTOR_BYTES) {
        constexpr int most = can_run<F, deep, 4, 2> ? 4 : 8;
        const auto eight = a.shortest ? launch<F, deep, T, V, most, 8 / most> : launch<F, deep, T, V, 8, 1>;
        const auto go = vectors <= 1    ? launch<F, deep, T, V, 1, 1>
                        : vectors <= 2  ? launch<F, deep, T, V, 2, 1>
                        : vectors <= 4  ? launch<F, deep, T, V, 4, 1>
                        : vectors <= 8  ? eight
                        : vectors <= 16 ? launch<F, deep, T, V, (deep ? 16 : 8), (deep ? 1 : 2)>
                        : vectors <= 32 ? launch<F, deep, T, V, 16, 2>
                                        : launch<F, deep, T, V, 32, 2>;
        go(a, 1, stream);
    } else { /* K = 1, or a leading dimension set by the caller; only few shapes are compiled, which saves
                compile time */
        const auto go = vectors <= 1   ? launch<F, deep, T, V, 1, 1>
                        : vectors <= 8 ? launch<F, deep, T, V, 8, 1>
                                       : launch<F, deep, T, V, 32, 2>;
        go(a, 1, stream);
    }
    return a.columns;
}

/** Queues rows_kernel() for all columns of Y. */
template <rows_source F, bool deep, typename T>
void launch_rows(const sp_launch *l, const rows_args<T> &a, cudaStream_t stream)
{
    launch_vectors(l, a,
                   [=](const auto &rest, auto V) { return launch_columns<F, deep, T, V>(rest, stream); });
}

template <typename T> rows_args<T> rows_args_of(const sp_launch *l)
{
    rows_args<T> a = vector_args<rows_args, T>(l);
    a.set_conjugate(l->conjugate);
    a.row_start = l->a->row_start;
    a.nz_per_row = l->a->nz_per_row;
    a.rows = l->a->rows;
    a.width = l->a->width;
    return a;
}

/** Sets the number of rows of a run: several if rows are short. With more entries in a run, fewer of the rows
 *  that the sub-warps of a multiprocessor compute at a time would be neighbors, which share rows of X in the
 *  L1 cache (bench/records/2026-11-29-short-rows-H200.csv). */
template <typename T> void set_runs(rows_args<T> &a, const sp_launch *l)
{
    const double mean = (double)l->a->nnz / (double)l->a->rows;
    const int64_t y_pitch = l->y->ld * (int64_t)sizeof(T);
    if (y_pitch > UINT32_MAX) return;
    a.shortest = mean <= SP_SHORTEST;
    a.run = mean <= SP_RUN_OF_4 ? 4 : mean <= SP_RUN_OF_2 ? 2 : 0;
    a.y_pitch = (uint32_t)y_pitch;
}

template <rows_source F, typename T> void run_typed(const sp_launch *l, cudaStream_t stream)
{
    rows_args<T> a = rows_args_of<T>(l);
    set_long_rows(a, (const sp_work_lists *)l->state, l->a, l->x->k);
    set_runs(a, l);
    launch_rows<F, false>(l, a, stream);
}

/** Queues a product with the rows that the work lists of l->state list. */
template <bool deep, typename T> void run_lists(const sp_launch *l, cudaStream_t stream)
{
    const sp_work_lists *const lists = (const sp_work_lists *)l->state;
    rows_args<T> a = rows_args_of<T>(l);
    a.common = common_of<T>(l, lists, &a.narrow);
    a.row = lists->row;
    a.rows = lists->rows;
    set_long_rows(a, lists, l->a, l->x->k);
    launch_rows<FROM_LIST, deep>(l, a, stream);
}

template <rows_source F> spmm_status run_rows(const sp_launch *l, const char *id)
{
    TRY(check_pitch(l, id));
    return launch_product<run_typed<F, double>, run_typed<F, float>>(l, id);
}

} // namespace

#endif
