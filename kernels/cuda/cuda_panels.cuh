/** Common code of the kernels on row panels: the product of a tile on the FP64 tensor cores, and the storing
 *  of the sums.
 *
 *  A tile of A (8 rows, 4 columns) is multiplied by 16 columns of four rows of X in one mma.m16n8k4, as Y^T =
 *  X^T A^T: the shape m8n8k4, in which A is the first operand, runs at half the rate (measured; see
 *  bench/records/FACTS.md).
 *
 *  The tensor core adds the four products of a tile to the sum one after another and rounds each time, which
 *  gives the same bits as four fma operations (measured; see bench/records/FACTS.md). The zeros of a tile are
 *  also multiplied. This is harmless unless they meet an infinity or a NaN of X; then the sum is a NaN, and
 *  the panel is computed again entry by entry. If the precision is f32, values are widened to f64 for the
 *  product, and each sum is rounded to f32 once at the end. */
#ifndef SP_CUDA_PANELS_CUH
#define SP_CUDA_PANELS_CUH

#include "kernels/cuda/cuda_vector.cuh"

/** Allocates memory for the sums of leaves, with setup->most columns; none without leaves. Local.
 *  \param [out] sums  the caller frees it with sp_device_free(); NULL on failure, and without leaves
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
spmm_status sp_cuda_leaf_sums(const sp_setup *setup, void **sums);

/** Queues the addition of the sums of leaves, which stores the long rows of Y. Does nothing if the matrix has
 *  none. Local.
 *  \param [in] sums  [leaves x partial_ld(k)] in GPU memory */
void sp_cuda_add_leaves(const sp_launch *l, const void *sums, cudaStream_t stream);

namespace {

template <typename T> struct panel_args {
    const int64_t *value_start, *tile_start;
    const int32_t *target; /* the row of Y for each position; NULL: rows are in their original order */
    const int32_t *col;
    const uint32_t *mask;
    const T *val;
    const T *common; /* from common_of(); only for panel_mma */
    int64_t panels, rows;
    const T *x;
    T *y;
    int64_t ldy;
    T *leaf; /* the sums of leaves, as for sp_cuda_add_leaves(); NULL: there are none */
    int64_t leaf_ld;
    uint32_t x_pitch; /* bytes from one row of X to the next */
    int columns;
};

/** \param [in] leaf  the sums of leaves; NULL: there are none */
template <typename T> panel_args<T> panel_args_of(const sp_launch *l, void *leaf)
{
    panel_args<T> a = vector_args<panel_args, T>(l);
    a.value_start = l->a->row_start;
    a.tile_start = l->a->tile_start;
    a.target = l->a->target;
    a.mask = l->a->mask;
    a.panels = l->a->groups;
    a.rows = l->a->rows;
    a.leaf = (T *)leaf;
    a.leaf_ld = partial_ld(l->x->k);
    return a;
}

/** Computes sum^T += x^T a^T, where x is [4 x 16], a is [8 x 4] and sum is [8 x 16]. The matrices are
 *  distributed over the lanes of a warp: lane l holds columns l/4 and l/4 + 8 of x in row l%4, and the
 *  element a(l/4, l%4). Of the sum, it holds column l/4 of rows 2 (l%4) and 2 (l%4) + 1, then column l/4 + 8
 *  of both rows. See PTX ISA, "mma.m16n8k4 with .f64". */
__device__ inline void multiply_tile(double (&sum)[4], double x0, double x1, double a)
{
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
        : "d"(x0), "d"(x1), "d"(a));
#elif __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(sum[0]), "+d"(sum[1])
        : "d"(x0), "d"(a));
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(sum[2]), "+d"(sum[3])
        : "d"(x1), "d"(a));
#else
    const int lane = threadIdx.x % WARP, first = lane % 4 * 2 * SP_TILE_COLUMNS;
#pragma unroll
    for (int k = 0; k < SP_TILE_COLUMNS; k++) {
        const double x0k = __shfl_sync(ALL_LANES, x0, lane / 4 * 4 + k),
                     x1k = __shfl_sync(ALL_LANES, x1, lane / 4 * 4 + k);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const double ak = __shfl_sync(ALL_LANES, a, first + i * SP_TILE_COLUMNS + k);
            sum[i] = fma(ak, x0k, sum[i]);
            sum[2 + i] = fma(ak, x1k, sum[2 + i]);
        }
    }
#endif
}

/** V adjacent columns of a row of X or Y. */
template <typename T, int V> union pack {
    typename vector_of<T, V>::type vector;
    T element[V];
    uint32_t word[V * sizeof(T) / 4];
};

/** The sums that lane l holds for one panel. The columns of Y form NT groups of 8 vectors of V columns. In
 *  each group j the lane holds one vector, for the two rows 2 (l%4) + r, r = 0 and 1. In panel_mma it is
 *  vector l/4; panel_staged uses another order. pair[i] holds two of its columns in both rows: the four sums
 *  that one mma computes. */
template <int V, int NT> struct panel_sums {
    static constexpr int pairs = (V * NT + 1) / 2;
    double pair[pairs][4];

    __device__ double of(int r, int j, int v) const { return pair[(j * V + v) / 2][(j * V + v) % 2 * 2 + r]; }
    /** Returns true if a sum in the first `count` columns of Y is a NaN. The lane's vector in group 0 begins
     *  with column `first`. */
    __device__ bool any_nan(int first, int count) const
    {
        bool nan = false;
#pragma unroll
        for (int j = 0; j < NT; j++)
#pragma unroll
            for (int v = 0; v < V; v++)
                nan |= first + j * 8 * V + v < count && (isnan(of(0, j, v)) || isnan(of(1, j, v)));
        return nan;
    }
    /** Adds the product of a tile, in which this lane has the entry `a` and the vectors get(j) of X. */
    template <typename F> __device__ void add(double a, F get)
    {
#pragma unroll
        for (int j = 0; j < NT; j += V == 1 ? 2 : 1) {
            const auto x = get(j);
            if constexpr (V == 1) {
                const double second = j + 1 < NT ? (double)get(j + 1 < NT ? j + 1 : j).element[0] : 0;
                multiply_tile(pair[j / 2], (double)x.element[0], second, a);
            } else {
#pragma unroll
                for (int v = 0; v < V; v += 2)
                    multiply_tile(pair[(j * V + v) / 2], (double)x.element[v], (double)x.element[v + 1], a);
            }
        }
    }
};

/** Returns the row of Y for row r of a panel. If row r is a leaf, returns a.rows plus the number of the leaf;
 *  if the panel has no row r, a negative number. */
template <typename T> __device__ inline int64_t row_of_panel(const panel_args<T> &a, int64_t panel, int r)
{
    const int64_t position = panel * SP_PANEL + r;
    if (a.target) return __ldg(a.target + position); /* INT32_MIN: there is no row */
    return position < a.rows ? position : -1;
}

/** Returns the address of the first column of a row_of_panel(), in Y or in the sums of leaves. */
template <typename T> __device__ inline T *sums_of_row(const panel_args<T> &a, int64_t row)
{
    return row < a.rows ? a.y + row * a.ldy : a.leaf + (row - a.rows) * a.leaf_ld;
}

/** Computes `count` columns of Y in the rows of a panel, from column `first` on. Adds the entries of each row
 *  one by one, in the order of the tiles, without the zeros of the tiles; each lane computes one element of Y
 *  at a time. This function has its own sums: if the kernel's sums were passed to it, the compiler would not
 *  keep them in registers. */
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
        sums_of_row(a, row)[column] = (T)sum;
    }
}

/** Stores the sums of a panel in the columns starting at `first`, or computes them again if any is a NaN. All
 *  lanes must call it.
 *  \param vector index, within each group of 8, of the vector whose sums this lane has */
template <typename T, int V, int NT>
__device__ inline void store_panel(const panel_args<T> &a, int64_t panel, int first, int vector,
                                   const panel_sums<V, NT> &sums)
{
    const int lane = threadIdx.x % WARP;
    if (__any_sync(ALL_LANES, sums.any_nan(first + vector * V, a.columns))) {
        sum_entries(a, panel, first, 8 * V * NT);
        return;
    }
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const int64_t row = row_of_panel(a, panel, lane % 4 * 2 + r);
        if (row < 0) continue;
        T *const to = sums_of_row(a, row);
#pragma unroll
        for (int j = 0; j < NT; j++) {
            pack<T, V> out;
#pragma unroll
            for (int v = 0; v < V; v++) out.element[v] = (T)sums.of(r, j, v);
            const int column = first + (j * 8 + vector) * V;
            if (column < a.columns) __stcs((typename vector_of<T, V>::type *)(to + column), out.vector);
        }
    }
}

} // namespace

#endif
