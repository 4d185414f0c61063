/* Packing and sums: bound by memory alone, so a thread moves as wide a vector as rows allow. */
#include <algorithm>

extern "C" {
#include "device.h"
#include "move.h"
}

namespace {

constexpr int BLOCK = 256;
constexpr int64_t MOST_BLOCKS = 1 << 20; /* the rest by a stride */

unsigned blocks_for(int64_t threads)
{
    return (unsigned)std::min(std::max((threads + BLOCK - 1) / BLOCK, (int64_t)1), MOST_BLOCKS);
}

/** A thread a vector; `words` vectors a row. */
template <typename V>
__global__ void __launch_bounds__(BLOCK)
    pack(const V *__restrict__ x, int64_t words, const int32_t *__restrict__ list, int64_t count,
         V *__restrict__ out)
{
    const int64_t all = count * words;
    for (int64_t i = blockIdx.x * (int64_t)BLOCK + threadIdx.x; i < all; i += gridDim.x * (int64_t)BLOCK) {
        const int64_t row = i / words;
        out[i] = x[list[row] * words + i - row * words];
    }
}

template <typename V>
void launch_pack(const void *x, int64_t row_bytes, const int32_t *list, int64_t count, void *out,
                 cudaStream_t stream)
{
    const int64_t words = row_bytes / (int64_t)sizeof(V);
    pack<V><<<blocks_for(count * words), BLOCK, 0, stream>>>((const V *)x, words, list, count, (V *)out);
}

template <typename T>
__global__ void __launch_bounds__(BLOCK)
    axpby(T alpha, const T *x, int64_t ldx, T beta, T *y, int64_t ldy, int64_t rows, int64_t k)
{
    const int64_t all = rows * k;
    for (int64_t e = blockIdx.x * (int64_t)BLOCK + threadIdx.x; e < all; e += gridDim.x * (int64_t)BLOCK) {
        const int64_t i = e / k, j = e - i * k;
        T *const to = y + i * ldy + j;
        const T ax = alpha * x[i * ldx + j];
        *to = beta == 0 ? ax : fma(beta, *to, ax);
    }
}

} // namespace

extern "C" spmm_status sp_cuda_pack(const void *x, int64_t row_bytes, const int32_t *list, int64_t count,
                                    void *out, void *stream)
{
    if (count == 0) return SPMM_OK;
    if (row_bytes % 16 == 0)
        launch_pack<uint4>(x, row_bytes, list, count, out, (cudaStream_t)stream);
    else if (row_bytes % 8 == 0)
        launch_pack<uint2>(x, row_bytes, list, count, out, (cudaStream_t)stream);
    else
        launch_pack<uint32_t>(x, row_bytes, list, count, out, (cudaStream_t)stream);
    return sp_device_launched("pack");
}

extern "C" spmm_status sp_cuda_axpby(double alpha, const spmm_multivector *x, double beta,
                                     spmm_multivector *y, void *stream)
{
    const unsigned blocks = blocks_for(y->rows * y->k);
    if (y->rows == 0) return SPMM_OK;
    if (y->precision == SPMM_F64)
        axpby<double><<<blocks, BLOCK, 0, (cudaStream_t)stream>>>(alpha, (const double *)x->data, x->ld, beta,
                                                                  (double *)y->data, y->ld, y->rows, y->k);
    else
        axpby<float><<<blocks, BLOCK, 0, (cudaStream_t)stream>>>(
            (float)alpha, (const float *)x->data, x->ld, (float)beta, (float *)y->data, y->ld, y->rows, y->k);
    return sp_device_launched("axpby");
}
