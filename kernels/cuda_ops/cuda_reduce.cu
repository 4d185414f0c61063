/** Norms and differences of multivectors in device memory. One launch reduces over the whole grid: each
 *  thread sums its elements, each block adds the sums of its threads in a tree in shared memory, and the last
 *  block to finish (see last_block()) adds the sums of all blocks. The order of all additions depends only on
 *  the shape of the multivectors and on the GPU. */
#include <math.h>
#include <string.h>

#include "kernels/cuda/cuda_block.cuh"
extern "C" {
#include "device/difference.h"
#include "formats/multivector.h"
}

namespace {

enum { REDUCE_BLOCK = 256 };

/** The sums and maxima from which an sp_difference or an sp_norms is computed. */
struct totals {
    long long different, unmatched, not_finite;
    double max_absolute, max_relative, max_reference;
    double sum_relative, sum_squares, sum_squares_reference;
};

/** The two multivectors to compare; both are [rows x k]. */
template <typename T> struct operands {
    const T *y, *ref;
    int64_t rows, k, ldy, ldref;
};

__device__ inline void add_element(totals &t, double y, double ref)
{
    const bool same = (y == ref && signbit(y) == signbit(ref)) || (isnan(y) && isnan(ref));
    t.different += !same;
    t.not_finite += !isfinite(ref);
    if (!isfinite(y) || !isfinite(ref)) {
        t.unmatched += !same;
        return;
    }
    const double difference = fabs(y - ref), relative = ref == 0 ? difference : difference / fabs(ref);
    t.max_absolute = fmax(t.max_absolute, difference);
    t.max_relative = fmax(t.max_relative, relative);
    t.max_reference = fmax(t.max_reference, fabs(ref));
    t.sum_relative += relative;
    t.sum_squares = fma(difference, difference, t.sum_squares);
    t.sum_squares_reference = fma(ref, ref, t.sum_squares_reference);
}

__device__ inline void add_totals(totals &t, const totals &u)
{
    t.different += u.different;
    t.unmatched += u.unmatched;
    t.not_finite += u.not_finite;
    t.max_absolute = fmax(t.max_absolute, u.max_absolute);
    t.max_relative = fmax(t.max_relative, u.max_relative);
    t.max_reference = fmax(t.max_reference, u.max_reference);
    t.sum_relative += u.sum_relative;
    t.sum_squares += u.sum_squares;
    t.sum_squares_reference += u.sum_squares_reference;
}

/** Returns the totals of the elements of this thread, which are gridDim.x * blockDim.x apart. Steps from one
 *  element to the next without a division. */
template <typename T> __device__ inline totals thread_totals(const operands<T> &o)
{
    totals t = {};
    const int64_t stride = (int64_t)gridDim.x * blockDim.x, rows = stride / o.k, columns = stride % o.k;
    position p = position_of((int64_t)blockIdx.x * blockDim.x + threadIdx.x, o.k);
    while (p.row < o.rows) {
        add_element(t, o.y[p.row * o.ldy + p.column], o.ref[p.row * o.ldref + p.column]);
        p.row += rows;
        p.column += columns;
        if (p.column >= o.k) {
            p.column -= o.k;
            p.row++;
        }
    }
    return t;
}

/** Returns in thread 0 the totals of all threads of the block; all threads must call it. */
__device__ inline totals block_totals(const totals &mine)
{
    __shared__ totals all[REDUCE_BLOCK];
    __syncthreads(); /* all threads have read what an earlier call left in all[] */
    all[threadIdx.x] = mine;
    for (int half = REDUCE_BLOCK / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) add_totals(all[threadIdx.x], all[threadIdx.x + half]);
    }
    return all[threadIdx.x];
}

/** Sets block[b] to the totals of the elements of block b, and block[gridDim.x] to the totals of all
 *  elements. */
template <typename T>
__global__ void __launch_bounds__(REDUCE_BLOCK)
    reduce_kernel(const operands<T> o, totals *block, unsigned *finished)
{
    totals t = block_totals(thread_totals(o));
    if (threadIdx.x == 0) block[blockIdx.x] = t;
    if (!last_block(finished)) return;
    t = {};
    for (unsigned b = threadIdx.x; b < gridDim.x; b += REDUCE_BLOCK) add_totals(t, block[b]);
    t = block_totals(t);
    if (threadIdx.x == 0) block[gridDim.x] = t;
}

template <typename T>
spmm_status launch(const spmm_multivector *y, const spmm_multivector *ref, totals *result)
{
    const operands<T> o = {(const T *)y->data, (const T *)ref->data, y->rows, y->k, y->ld, ref->ld};
    const cudaStream_t stream = (cudaStream_t)sp_device_stream(SP_STREAM_MAIN);
    int resident = 0;
    void *memory = NULL;
    if (!stream) return SPMM_ERR_NO_DEVICE;
    TRY(count_resident((const void *)reduce_kernel<T>, REDUCE_BLOCK, 0, &resident));
    const unsigned needed = grid_of(o.rows * o.k, REDUCE_BLOCK),
                   grid = needed < (unsigned)resident ? needed : (unsigned)resident;
    TRY(sp_device_alloc(&memory, (grid + 1) * (int64_t)sizeof(totals) + (int64_t)sizeof(unsigned),
                        "a reduction"));
    totals *const block = (totals *)memory;
    unsigned *const finished = (unsigned *)(block + grid + 1);
    spmm_status status = sp_device_zero(finished, sizeof *finished);
    if (status == SPMM_OK) {
        reduce_kernel<T><<<grid, REDUCE_BLOCK, 0, stream>>>(o, block, finished);
        status = sp_device_launched("sp_device_compare");
    }
    if (status == SPMM_OK) status = sp_device_download(result, block + grid, sizeof *result);
    sp_device_free(memory);
    return status;
}

spmm_status reduce(const spmm_multivector *y, const spmm_multivector *ref, totals *result)
{
    memset(result, 0, sizeof *result);
    if (y->space != SPMM_CUDA || ref->space != SPMM_CUDA)
        return sp_fail(SPMM_ERR_USAGE,
                       "reduction on the GPU: a multivector is in host memory, expected GPU memory");
    if (y->rows != ref->rows || y->k != ref->k || y->precision != ref->precision)
        return sp_fail(SPMM_ERR_USAGE,
                       "cannot compare a %lld x %lld multivector with one of %lld x %lld: "
                       "expected the same shape and precision",
                       (long long)y->rows, (long long)y->k, (long long)ref->rows, (long long)ref->k);
    if (y->rows == 0 || y->k == 0) return SPMM_OK;
    const spmm_multivector a = sp_multivector_reals(y), b = sp_multivector_reals(ref);
    return with_real(a.precision, [&](auto value) { return launch<decltype(value)>(&a, &b, result); });
}

} // namespace

spmm_status sp_device_compare(const spmm_multivector *y, const spmm_multivector *ref, sp_difference *result)
{
    totals t;
    memset(result, 0, sizeof *result);
    TRY(reduce(y, ref, &t));
    const double elements = (double)y->rows * (double)y->k;
    *result = {t.different,
               t.unmatched,
               t.max_absolute,
               t.max_relative,
               elements > 0 ? t.sum_relative / elements : 0,
               sqrt(t.sum_squares),
               t.max_reference,
               sqrt(t.sum_squares_reference)};
    return SPMM_OK;
}

spmm_status sp_device_norms(const spmm_multivector *v, sp_norms *result)
{
    totals t;
    memset(result, 0, sizeof *result);
    TRY(reduce(v, v, &t));
    *result = {t.not_finite, t.max_reference, sqrt(t.sum_squares_reference)};
    return SPMM_OK;
}
