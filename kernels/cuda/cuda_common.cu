/** Finds whether all values of A are equal, bit for bit, on the GPU. The result is two numbers, the bits that
 *  some value has and the bits that some value lacks: values are equal if no bit is in both. */
#include "kernels/cuda/cuda_long_rows.cuh"
#include "kernels/cuda/cuda_passes.cuh"
extern "C" {
#include "formats/panel.h"
}

namespace {

/** Examines values; a thread stops when it has found that they differ.
 *  \param [in]     col     [count]: a column index of -1 marks padding, which is skipped; NULL: there is none
 *  \param [in,out] common  [2]: bits that some value has, bits that some value lacks; zero at first */
template <typename E>
__global__ void __launch_bounds__(THREADS)
    compare_values(const int32_t *__restrict__ col, const E *__restrict__ val, int64_t count, E *common)
{
    E has = 0, lacks = 0;
    for (int64_t i = first_item(); i < count && (has & lacks) == 0; i += grid_size()) {
        if (col && col[i] < 0) continue;
        has |= val[i];
        lacks |= ~val[i];
    }
    for (int step = WARP / 2; step > 0; step /= 2) {
        has |= __shfl_xor_sync(ALL_LANES, has, step);
        lacks |= __shfl_xor_sync(ALL_LANES, lacks, step);
    }
    if (threadIdx.x % WARP > 0) return;
    atomicOr(common, has);
    atomicOr(common + 1, lacks);
}

/** Returns the number of stored values. */
int64_t count_values(const sp_matrix *a)
{
    if (a->format == SPMM_CSR) return a->nnz;
    const int64_t count = a->bytes[SP_VAL] / sp_value_size(a->precision);
    return a->format == SPMM_PANEL ? count - SP_PANEL_PADDING : count;
}

/** Examines the values of a matrix. \param [out] equal  1: they are equal */
template <typename E> spmm_status examine(const sp_matrix *a, void *common, int *equal)
{
    const int64_t count = count_values(a);
    const int32_t *const col = a->format == SPMM_SELL ? a->col : NULL;
    cudaStream_t stream = (cudaStream_t)sp_device_stream(SP_STREAM_MAIN);
    E bits[2] = {0, 0};
    if (!stream) return SPMM_ERR_NO_DEVICE; /* sp_device_stream() has set the message */
    TRY(sp_device_zero(common, sizeof bits));
    compare_values<<<blocks_for(count), THREADS, 0, stream>>>(col, (const E *)a->val, count, (E *)common);
    TRY(sp_device_launched("comparison of values"));
    TRY(sp_device_download(bits, common, sizeof bits));
    *equal = (bits[0] & bits[1]) == 0;
    return SPMM_OK;
}

} // namespace

spmm_status sp_cuda_find_common(const sp_setup *setup, void **state)
{
    const sp_matrix *const a = setup->a;
    if (!*state) TRY(sp_alloc_zero(state, 1, sizeof(sp_work_lists), "work lists"));
    sp_work_lists *const s = (sp_work_lists *)*state;
    s->equal = 0;
    if (a->nnz == 0) return SPMM_OK;
    if (!s->common) TRY(sp_device_alloc(&s->common, 2 * sp_value_size(a->precision), "a value"));
    return a->precision == SPMM_F64 ? examine<unsigned long long>(a, s->common, &s->equal)
                                    : examine<unsigned>(a, s->common, &s->equal);
}

spmm_status sp_cuda_new_values(const sp_setup *setup, void *state)
{
    return state ? sp_cuda_find_common(setup, &state) : SPMM_OK;
}
