/** The gradient of the values of A on GPUs, in the order of formats/summation.h (SP_SUMS). A warp computes 32
 *  consecutive entries, whatever the lengths of rows. L lanes, a sub-warp, compute L entries together: lane q
 *  has the columns c with c / 4 mod L = q, so 4 partial sums of each entry. In each step of the tree a lane
 *  adds half of its entries and sends the others, so that at the end each lane has the sum of one entry. */
#include "kernels/cuda/cuda_passes.cuh"
#include "kernels/cuda/cuda_vector.cuh"

#define SP_HOST_DEVICE __host__ __device__
extern "C" {
#include "base/search.h"
#include "device/device_ops.h"
}

namespace {

enum { GRADIENT_BLOCK = 128, OWN_SUMS = 4, MOST_LANES = SP_SUMS / OWN_SUMS };

template <typename T> struct dots {
    const int32_t *row, *col; /* [nnz] */
    const T *g, *x;
    T *values;
    int64_t nnz, k, ldg, ldx, stride;
};

__global__ void __launch_bounds__(THREADS)
    find_rows(const int64_t *start, int64_t rows, int64_t nnz, int32_t *row)
{
    for (int64_t e = first_item(); e < nnz; e += grid_size())
        row[e] = (int32_t)sp_lower_bound(start, 1, rows, e + 1) - 1;
}

/** Adds the products of the next 4 columns to the partial sums of N entries.
 *  \param [in] left  number of columns that remain, these included */
template <int V, int N, typename T>
__device__ inline void add_columns(T (&s)[N][OWN_SUMS], const T *const (&g)[N], const T *const (&x)[N],
                                   int64_t c, int64_t left)
{
    using vector = typename vector_of<T, V>::type;
    union columns {
        vector all[OWN_SUMS / V];
        T one[OWN_SUMS];
        __device__ columns() {}
    } gs[N], xs[N];
    if (left >= OWN_SUMS) {
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int i = 0; i < OWN_SUMS / V; i++) {
                gs[n].all[i] = load_cached((const vector *)(g[n] + c) + i);
                xs[n].all[i] = load_cached((const vector *)(x[n] + c) + i);
            }
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int j = 0; j < OWN_SUMS; j++) multiply_add(s[n][j], gs[n].one[j], xs[n].one[j]);
        return;
    }
#pragma unroll
    for (int n = 0; n < N; n++)
#pragma unroll
        for (int j = 0; j < OWN_SUMS; j++)
            if (j < left) multiply_add(s[n][j], load_cached(g[n] + c + j), load_cached(x[n] + c + j));
}

/** Adds the partial sums of N entries over the lanes that differ in the bits `distance`, distance / 2 and so
 *  on: log2(N) of them. s[0] then has the entry whose number has these bits of the lane. */
template <int N, typename T> __device__ inline void add_over_lanes(T (&s)[N][OWN_SUMS], int distance)
{
#pragma unroll
    for (int half = N / 2; half > 0; half /= 2, distance /= 2) {
        const bool upper = threadIdx.x & distance;
#pragma unroll
        for (int n = 0; n < half; n++)
#pragma unroll
            for (int j = 0; j < OWN_SUMS; j++) {
                const T sent = upper ? s[n][j] : s[n + half][j], kept = upper ? s[n + half][j] : s[n][j];
                s[n][j] = kept + __shfl_xor_sync(ALL_LANES, sent, distance);
            }
    }
}

/** V: columns per load. L: lanes per entry; fewer than MOST_LANES if k is so small that the other lanes would
 *  have no column. Entries are processed in rounds of N: 8 need so many registers that few warps have room,
 *  and take 2 to 3 times as long (H200). */
template <typename T, int V, int L>
__global__ void __launch_bounds__(GRADIENT_BLOCK) values_gradient(dots<T> d)
{
    constexpr int N = L < 4 ? L : 4, ROUNDS = L / N;
    const int lane = (int)(threadIdx.x % WARP), q = lane % L;
    const int64_t own = (int64_t)blockIdx.x * GRADIENT_BLOCK + threadIdx.x;
    if (own - lane >= d.nnz) return;
    const int64_t e = own < d.nnz ? own : d.nnz - 1;
    const T *const g = d.g + __ldg(d.row + e) * d.ldg, *const x = d.x + __ldg(d.col + e) * d.ldx;
    T sum[ROUNDS][OWN_SUMS];
#pragma unroll
    for (int round = 0; round < ROUNDS; round++) {
        T s[N][OWN_SUMS];
        const T *gs[N], *xs[N];
#pragma unroll
        for (int n = 0; n < N; n++) {
            const int from = lane - q + n * ROUNDS + round;
            set_all(s[n], (T)0);
            gs[n] = (const T *)__shfl_sync(ALL_LANES, (unsigned long long)g, from);
            xs[n] = (const T *)__shfl_sync(ALL_LANES, (unsigned long long)x, from);
        }
        for (int64_t c = q * OWN_SUMS; c < d.k; c += L * OWN_SUMS) add_columns<V>(s, gs, xs, c, d.k - c);
        add_over_lanes(s, L / 2);
#pragma unroll
        for (int j = 0; j < OWN_SUMS; j++) sum[round][j] = s[0][j];
    }
    add_over_lanes(sum, ROUNDS / 2);
    /* partial sums without a column are +0, which turns a sum of -0 into +0; adding -0 changes nothing */
    const T zero = d.k < SP_SUMS ? (T)0 : (T)-0.0;
    if (own < d.nnz) d.values[own * d.stride] = (sum[0][0] + sum[0][2]) + (sum[0][1] + sum[0][3]) + zero;
}

template <typename T, int V> void launch(const dots<T> &d, cudaStream_t stream)
{
    const auto kernel = d.k <= 2 * OWN_SUMS   ? values_gradient<T, V, 2>
                        : d.k <= 4 * OWN_SUMS ? values_gradient<T, V, 4>
                                              : values_gradient<T, V, MOST_LANES>;
    kernel<<<grid_of(d.nnz, GRADIENT_BLOCK), GRADIENT_BLOCK, 0, stream>>>(d);
}

} // namespace

extern "C" spmm_status sp_cuda_find_rows(const int64_t *start, int64_t rows, int64_t nnz, int32_t *row)
{
    cudaStream_t stream = (cudaStream_t)sp_device_stream(SP_STREAM_MAIN);
    if (!stream) return SPMM_ERR_NO_DEVICE; /* sp_device_stream() has set the message */
    find_rows<<<blocks_for(nnz), THREADS, 0, stream>>>(start, rows, nnz, row);
    TRY(sp_device_launched("find_rows"));
    return sp_device_sync();
}

extern "C" spmm_status sp_cuda_values_gradient(int64_t nnz, const int32_t *row, const int32_t *col,
                                               const spmm_multivector *g, const spmm_multivector *x,
                                               spmm_multivector *values, void *stream)
{
    if (!stream) return SPMM_ERR_NO_DEVICE; /* sp_device_stream() has set the message */
    if (nnz == 0) return SPMM_OK;
    with_real(x->precision, [&](auto value) {
        using T = decltype(value);
        const int64_t stride = values->layout == SPMM_ROW_MAJOR ? values->ld : 1;
        const dots<T> d = {
            row,   col,   (const T *)g->data, (const T *)x->data, (T *)values->data, nnz, x->k, g->ld,
            x->ld, stride};
        const uintptr_t mixed = (uintptr_t)d.g | (uintptr_t)d.x |
                                (uintptr_t)((d.ldg | d.ldx) * (int64_t)sizeof(T));
        if (mixed % VECTOR_BYTES == 0)
            launch<T, VECTOR_BYTES / (int)sizeof(T)>(d, (cudaStream_t)stream);
        else
            launch<T, 1>(d, (cudaStream_t)stream);
    });
    return sp_device_launched("values_gradient");
}
