/** Finds on the GPU whether all values of A are equal, bit for bit, and whether f32 represents all of them
 *  exactly. Collects the bits that are set in some value and the bits that are clear in some value: values
 *  are equal if no bit is in both sets. Complex values are not examined. */
#include "kernels/cuda/cuda_long_rows.cuh"
#include "kernels/cuda/cuda_passes.cuh"
extern "C" {
#include "formats/panel.h"
}

namespace {

enum { SPARE = 4 }; /* a copy takes at most 1 / SPARE of the free memory */

/** Returns 1 if f32 does not represent the value with these bits exactly. */
__device__ inline int is_wide(unsigned long long bits)
{
    const double value = __longlong_as_double((long long)bits);
    return (unsigned long long)__double_as_longlong((double)(float)value) != bits;
}
__device__ inline int is_wide(unsigned) { return 1; }

/** Sets bits of a word that all warps set, mostly the same ones: an atomic operation of each warp would take
 *  longer than reading the values. */
template <typename E> __device__ inline void add_bits(E *word, E bits)
{
    if (bits & ~*(volatile E *)word) atomicOr(word, bits);
}

/** Examines values; a thread stops when it has found that they differ, and that f32 does not represent one of
 *  them exactly.
 *  \param [in]     wide    1: it does not matter whether f32 represents them
 *  \param [in]     col     [count]: a column index of -1 marks padding, which is skipped; NULL: there is no
 *                          padding
 *  \param [in,out] common  [SP_FOUND], zero at first */
template <typename E>
__global__ void __launch_bounds__(THREADS) compare_values(int wide, const int32_t *__restrict__ col,
                                                          const E *__restrict__ val, int64_t count, E *common)
{
    E has = 0, lacks = 0;
    for (int64_t i = first_item(); i < count && ((has & lacks) == 0 || !wide); i += grid_size()) {
        if (col && col[i] < 0) continue;
        has |= val[i];
        lacks |= ~val[i];
        wide |= is_wide(val[i]);
    }
    wide = __any_sync(ALL_LANES, wide);
    for (int step = WARP / 2; step > 0; step /= 2) {
        has |= __shfl_xor_sync(ALL_LANES, has, step);
        lacks |= __shfl_xor_sync(ALL_LANES, lacks, step);
    }
    if (threadIdx.x % WARP > 0) return;
    add_bits(common + SP_HAS, has);
    add_bits(common + SP_LACKS, lacks);
    add_bits(common + SP_WIDE, (E)wide);
}

__global__ void __launch_bounds__(THREADS)
    copy_narrow(const double *__restrict__ val, int64_t count, float *__restrict__ narrow)
{
    for (int64_t i = first_item(); i < count; i += grid_size()) narrow[i] = (float)val[i];
}

/** Returns the number of stored values. */
int64_t count_values(const sp_matrix *a)
{
    if (a->format == SPMM_CSR) return a->nnz;
    const int64_t count = a->bytes[SP_VAL] / sp_value_size(a->precision);
    return a->format == SPMM_PANEL ? count - SP_PANEL_PADDING : count;
}

/** Copies the values to f32, which represents them exactly, if products gain by it or if a copy exists,
 *  because a CUDA graph may contain a product that reads it. If memory is short, products read f64. Products
 *  with panels do not gain: panel_mma takes 1.07 times as long with values in f32 (H100). */
spmm_status copy_values(const sp_setup *setup, sp_work_lists *s)
{
    const int64_t count = count_values(setup->a);
    cudaStream_t stream = (cudaStream_t)sp_device_stream(SP_STREAM_MAIN);
    if (!s->narrow) {
        const int64_t bytes = count * (int64_t)sizeof *s->narrow;
        sp_device_info gpu;
        if (s->equal || setup->k > SP_MOST_EQUAL || setup->a->format == SPMM_PANEL) return SPMM_OK;
        TRY(sp_device_current(&gpu));
        if (gpu.free_bytes / SPARE < bytes) return SPMM_OK;
        TRY(sp_device_alloc((void **)&s->narrow, bytes, "values in f32"));
    }
    copy_narrow<<<blocks_for(count), THREADS, 0, stream>>>((const double *)setup->a->val, count, s->narrow);
    TRY(sp_device_launched("copy of values"));
    return sp_device_sync();
}

/** Examines the values of a matrix.
 *  \param [out] equal  1: all values are equal
 *  \param [out] wide   1: f32 does not represent all values exactly, or they are f32 already, or the format
 *                      is SPMM_PANEL, for which values are not copied to f32 */
template <typename E> spmm_status examine(const sp_matrix *a, void *common, int *equal, int *wide)
{
    const int64_t count = count_values(a);
    const int32_t *const col = a->format == SPMM_SELL ? a->col : NULL;
    cudaStream_t stream = (cudaStream_t)sp_device_stream(SP_STREAM_MAIN);
    E bits[SP_FOUND] = {0};
    if (!stream) return SPMM_ERR_NO_DEVICE; /* sp_device_stream() has set the message */
    TRY(sp_device_zero(common, sizeof bits));
    compare_values<<<blocks_for(count), THREADS, 0, stream>>>(a->format == SPMM_PANEL, col, (const E *)a->val,
                                                              count, (E *)common);
    TRY(sp_device_launched("comparison of values"));
    TRY(sp_device_download(bits, common, sizeof bits));
    *equal = (bits[SP_HAS] & bits[SP_LACKS]) == 0;
    *wide = bits[SP_WIDE] != 0;
    return SPMM_OK;
}

} // namespace

spmm_status sp_cuda_find_common(const sp_setup *setup, void **state)
{
    const sp_matrix *const a = setup->a;
    if (!*state) TRY(sp_alloc_zero(state, 1, sizeof(sp_work_lists), "work lists"));
    sp_work_lists *const s = (sp_work_lists *)*state;
    s->equal = 0;
    s->wide = 1;
    if (a->nnz == 0 || sp_is_complex(a->precision)) return SPMM_OK;
    if (!s->common) TRY(sp_device_alloc(&s->common, SP_FOUND * sp_value_size(a->precision), "a value"));
    TRY(with_real(a->precision, [&](auto value) {
        return examine<bit_pattern<decltype(value)>>(a, s->common, &s->equal, &s->wide);
    }));
    return s->wide ? SPMM_OK : copy_values(setup, s);
}

spmm_status sp_cuda_set_k(const sp_setup *setup, void *state)
{
    sp_work_lists *const s = (sp_work_lists *)state;
    return s && s->common && !s->wide && !s->narrow ? copy_values(setup, s) : SPMM_OK;
}

spmm_status sp_cuda_new_values(const sp_setup *setup, void *state)
{
    return state ? sp_cuda_find_common(setup, &state) : SPMM_OK;
}
