/** Operations on tiles of coefficients on the GPU: histogram, and search for pairs with extreme values. */
#include "kernels/series/cuda_series.cuh"

namespace {

enum { HISTOGRAM_THREADS = 1024 };

/** Atomically replaces *to by the minimum of *to and `value`; by the maximum if `higher` is true. */
__device__ inline void extend(double *to, double value, bool higher)
{
    unsigned long long *const bits = (unsigned long long *)to;
    unsigned long long seen = *(volatile unsigned long long *)bits;
    for (;;) {
        const double now = __longlong_as_double((long long)seen);
        if (higher ? value <= now : value >= now) return;
        const unsigned long long before = atomicCAS(bits, seen,
                                                    (unsigned long long)__double_as_longlong(value));
        if (before == seen) return;
        seen = before;
    }
}

/** Reduces `low` to its minimum and `high` to its maximum over the block; only thread 0 gets the results. */
__device__ inline void block_extremes(double &low, double &high)
{
    __shared__ double lows[HISTOGRAM_THREADS / WARP], highs[HISTOGRAM_THREADS / WARP];
    for (int pass = 0; pass < 2; pass++) {
        for (int away = WARP / 2; away > 0; away /= 2) {
            low = fmin(low, __shfl_down_sync(ALL_LANES, low, away));
            high = fmax(high, __shfl_down_sync(ALL_LANES, high, away));
        }
        if (pass == 1) break;
        if (threadIdx.x % WARP == 0) {
            lows[threadIdx.x / WARP] = low;
            highs[threadIdx.x / WARP] = high;
        }
        __syncthreads();
        /* All warps run the second pass, so that there is no branch around the shuffles. */
        low = lows[threadIdx.x % (HISTOGRAM_THREADS / WARP)];
        high = highs[threadIdx.x % (HISTOGRAM_THREADS / WARP)];
    }
}

/** Turns the numerators of a tile into coefficients. Each block counts its coefficients in shared memory and
 *  adds the counts to *histogram at the end. */
template <typename T>
__global__ void __launch_bounds__(HISTOGRAM_THREADS)
    histogram_kernel(const sp_tile t, T *c, sp_histogram *histogram)
{
    __shared__ unsigned bin[SP_BINS];
    for (int b = threadIdx.x; b < SP_BINS; b += HISTOGRAM_THREADS) bin[b] = 0;
    __syncthreads();
    double low = 2, high = -2;
    for (int64_t j = blockIdx.x; j < t.cols; j += gridDim.x) {
        const double wcol = t.wcol[j];
        T *const column = c + j * t.rows;
        const int64_t pairs = sp_tile_pairs(&t, j);
#pragma unroll 4
        for (int64_t i = threadIdx.x; i < pairs; i += HISTOGRAM_THREADS) {
            const double weight = t.wrow[i] * wcol;
            if (weight == 0) {
                column[i] = (T)NAN;
                continue;
            }
            const T r = (T)fmin(fmax((double)column[i] * weight, -1.0), 1.0); /* rounding may give |r| > 1 */
            column[i] = r;
            low = fmin(low, (double)r);
            high = fmax(high, (double)r);
            atomicAdd(&bin[sp_bin((double)r)], 1u);
        }
    }
    block_extremes(low, high);
    __syncthreads();
    unsigned long long pairs = 0;
    /* Blocks start at 128 different bins: if all started at the same one, all would contend for it. */
    for (int n = threadIdx.x; n < SP_BINS; n += HISTOGRAM_THREADS) {
        const int b = (int)((n + blockIdx.x * 37u * WARP) % SP_BINS);
        if (!bin[b]) continue;
        atomicAdd((unsigned long long *)&histogram->bin[b], (unsigned long long)bin[b]);
        pairs += bin[b];
    }
    pairs = shuffled_sum(pairs); /* only one atomicAdd per block: atomics on one address are serialized */
    if (threadIdx.x == 0) {
        atomicAdd((unsigned long long *)&histogram->pairs, pairs);
        extend(&histogram->low, low, false);
        extend(&histogram->high, high, true);
    }
}

/** Finds the coefficients in a tile that are at most `low` or at least `high`, and appends their pairs to
 *  `pair`, up to `room` pairs. *count counts all such pairs, also those beyond `room`. */
template <typename T>
__global__ void __launch_bounds__(HISTOGRAM_THREADS)
    find_kernel(const sp_tile t, const T *c, double low, double high, sp_pair *pair, unsigned long long room,
                unsigned long long *count)
{
    for (int64_t j = blockIdx.x; j < t.cols; j += gridDim.x)
#pragma unroll 4
        for (int64_t i = threadIdx.x; i < sp_tile_pairs(&t, j); i += HISTOGRAM_THREADS) {
            const double r = (double)c[j * t.rows + i];
            if (!(r <= low || r >= high)) continue;
            const unsigned long long at = atomicAdd(count, 1ull);
            if (at >= room) continue;
            pair[at] = sp_pair_of(r, t.first_row + i, t.first_col + j);
        }
}

template <typename T> spmm_status histogram(const sp_tile *t, sp_histogram *to, cudaStream_t stream)
{
    int resident;
    TRY(count_resident((const void *)histogram_kernel<T>, HISTOGRAM_THREADS, 0, &resident));
    const unsigned grid = t->cols < resident ? (unsigned)t->cols : (unsigned)resident;
    histogram_kernel<T><<<grid, HISTOGRAM_THREADS, 0, stream>>>(*t, (T *)t->c, to);
    return sp_device_launched("the histogram");
}

template <typename T>
spmm_status find(const sp_tile *t, double low, double high, sp_pair *pair, int64_t room,
                 unsigned long long *count, cudaStream_t stream)
{
    find_kernel<T><<<grid_of(t->cols, 1), HISTOGRAM_THREADS, 0, stream>>>(
        *t, (const T *)t->c, low, high, pair, (unsigned long long)room, count);
    return sp_device_launched("a search for pairs");
}

} // namespace

spmm_status sp_cuda_histogram(const sp_tile *t, sp_histogram *to)
{
    const cudaStream_t stream = main_stream();
    if (!stream) return SPMM_ERR_NO_DEVICE;
    if (t->rows == 0 || t->cols == 0) return SPMM_OK;
    return with_real(t->precision, [&](auto value) { return histogram<decltype(value)>(t, to, stream); });
}

spmm_status sp_cuda_find(const sp_tile *t, double low, double high, sp_pair *pair, int64_t room,
                         int64_t *found)
{
    const cudaStream_t stream = main_stream();
    void *memory = NULL;
    if (!stream) return SPMM_ERR_NO_DEVICE;
    if (t->rows == 0 || t->cols == 0) return SPMM_OK;
    TRY(sp_device_alloc(&memory, 256 + room * (int64_t)sizeof(sp_pair), "pairs"));
    sp_pair *const list = (sp_pair *)((char *)memory + 256);
    spmm_status status = sp_device_zero(memory, 256);
    if (status == SPMM_OK)
        status = with_real(t->precision, [&](auto value) {
            return find<decltype(value)>(t, low, high, list, room, (unsigned long long *)memory, stream);
        });
    if (status == SPMM_OK) status = sp_device_download(found, memory, sizeof *found);
    const int64_t there = status != SPMM_OK ? 0 : *found < room ? *found : room;
    if (there > 0) status = sp_device_download(pair, list, there * (int64_t)sizeof(sp_pair));
    sp_device_free(memory);
    return status;
}
