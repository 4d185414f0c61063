/** Instantiates the loops of cpu_slices_loops.h. A vector of elements of X is assembled from single loads,
 *  because products with the gather instruction take 1.35 times as long on a Zen 5 CPU, and the same time on
 *  a Sapphire Rapids (bench/records/HISTORY.md). */
#include "kernels/cpu/cpu_slices.h"

#include <string.h>

#include "kernels/loops/cpu_loops.h"

#define TARGET
#define VALUE double
#define NAME(name) name##_f64
#define FMA(a, x, c) __builtin_fma(a, x, c)
#include "kernels/cpu/cpu_slices_loops.h"

#define TARGET
#define VALUE float
#define NAME(name) name##_f32
#define FMA(a, x, c) __builtin_fmaf(a, x, c)
#include "kernels/cpu/cpu_slices_loops.h"

/** Returns the value, or its conjugate. */
#define AS_ASKED(a) (conjugate ? SP_CONJUGATE(a) : (a))

#define TARGET
#define COMPLEX
#define VALUE sp_c128
#define REAL double
#define NAME(name) name##_c128
#define FMA(a, x, c) SP_COMPLEX_FMA(__builtin_fma, AS_ASKED(a), x, c)
#include "kernels/cpu/cpu_slices_loops.h"

#define TARGET
#define COMPLEX
#define VALUE sp_c64
#define REAL float
#define NAME(name) name##_c64
#define FMA(a, x, c) SP_COMPLEX_FMA(__builtin_fmaf, AS_ASKED(a), x, c)
#include "kernels/cpu/cpu_slices_loops.h"

#define BOTH(type)                             \
    {                                          \
        own_values_##type, equal_values_##type \
    }

#if defined(__x86_64__)
#include "kernels/loops/cpu_loops_x86.h"

/** Reads two column indices by one load, because the number of loads limits the speed. */
SP_INLINE static uint64_t two(const int32_t *col)
{
    uint64_t pair;
    memcpy(&pair, col, sizeof pair);
    return pair;
}

#define FIRST(pair) (int64_t)(int32_t)(pair)
#define SECOND(pair) (int64_t)((pair) >> 32)

/** Returns the elements x[col[l] * ldx] for l = 0, 1. */
AVX2 SP_INLINE static __m128d gather_2_f64(const double *x, const int32_t *col, const int64_t ldx)
{
    const uint64_t pair = two(col);
    return _mm_loadh_pd(_mm_load_sd(x + FIRST(pair) * ldx), x + SECOND(pair) * ldx);
}

AVX2 SP_INLINE static __m256d gather_4_f64(const double *x, const int32_t *col, const int64_t ldx)
{
    return _mm256_set_m128d(gather_2_f64(x, col + 2, ldx), gather_2_f64(x, col, ldx));
}

AVX512 SP_INLINE static __m512d gather_8_f64(const double *x, const int32_t *col, const int64_t ldx)
{
    return _mm512_insertf64x4(_mm512_castpd256_pd512(gather_4_f64(x, col, ldx)),
                              gather_4_f64(x, col + 4, ldx), 1);
}

AVX2 SP_INLINE static __m128 gather_4_f32(const float *x, const int32_t *col, const int64_t ldx)
{
    const uint64_t low = two(col), high = two(col + 2);
    return _mm_setr_ps(x[FIRST(low) * ldx], x[SECOND(low) * ldx], x[FIRST(high) * ldx],
                       x[SECOND(high) * ldx]);
}

AVX2 SP_INLINE static __m256 gather_8_f32(const float *x, const int32_t *col, const int64_t ldx)
{
    return _mm256_set_m128(gather_4_f32(x, col + 4, ldx), gather_4_f32(x, col, ldx));
}

/** Reads four column indices by one load. */
SP_INLINE static uint64_t four(const uint16_t *col)
{
    uint64_t all;
    memcpy(&all, col, sizeof all);
    return all;
}

#define PART(all, l) (int64_t)((all) >> 16 * (l)&0xffff)

AVX2 SP_INLINE static __m256d near_4_f64(const double *x, const uint16_t *col, const int64_t ldx)
{
    const uint64_t all = four(col);
    return _mm256_set_m128d(_mm_loadh_pd(_mm_load_sd(x + PART(all, 2) * ldx), x + PART(all, 3) * ldx),
                            _mm_loadh_pd(_mm_load_sd(x + PART(all, 0) * ldx), x + PART(all, 1) * ldx));
}

AVX512 SP_INLINE static __m512d near_8_f64(const double *x, const uint16_t *col, const int64_t ldx)
{
    return _mm512_insertf64x4(_mm512_castpd256_pd512(near_4_f64(x, col, ldx)), near_4_f64(x, col + 4, ldx),
                              1);
}

AVX2 SP_INLINE static __m128 near_4_f32(const float *x, const uint16_t *col, const int64_t ldx)
{
    const uint64_t all = four(col);
    return _mm_setr_ps(x[PART(all, 0) * ldx], x[PART(all, 1) * ldx], x[PART(all, 2) * ldx],
                       x[PART(all, 3) * ldx]);
}

AVX2 SP_INLINE static __m256 near_8_f32(const float *x, const uint16_t *col, const int64_t ldx)
{
    return _mm256_set_m128(near_4_f32(x, col + 4, ldx), near_4_f32(x, col, ldx));
}

/** Returns a vector whose first four bytes are those at p. (gcc has the right _mm_loadu_si32 since 11.3.) */
AVX2 SP_INLINE static __m128i bytes_4(const uint8_t *p)
{
    int32_t bytes;
    memcpy(&bytes, p, sizeof bytes);
    return _mm_cvtsi32_si128(bytes);
}

#define BYTES_8(p) _mm_loadl_epi64((const __m128i *)(const void *)(p))

#define TARGET AVX2
#define SHAPE F64_32
#define GATHER(x, col, ldx) gather_4_f64(x, col, ldx)
#define GATHER_NEAR(x, col, ldx) near_4_f64(x, col, ldx)
#define LENGTHS __m256i
#define LENGTHS_OF(p) _mm256_cvtepu8_epi64(bytes_4(p))
#define WHERE_LONGER(n, e, v, c) \
    _mm256_blendv_pd(c, v, _mm256_castsi256_pd(_mm256_cmpgt_epi64(n, _mm256_set1_epi64x(e))))
#include "kernels/cpu/cpu_slices_loops.h"

#define TARGET AVX2
#define SHAPE F32_32
#define GATHER(x, col, ldx) gather_8_f32(x, col, ldx)
#define GATHER_NEAR(x, col, ldx) near_8_f32(x, col, ldx)
#define LENGTHS __m256i
#define LENGTHS_OF(p) _mm256_cvtepu8_epi32(BYTES_8(p))
#define WHERE_LONGER(n, e, v, c) \
    _mm256_blendv_ps(c, v, _mm256_castsi256_ps(_mm256_cmpgt_epi32(n, _mm256_set1_epi32(e))))
#include "kernels/cpu/cpu_slices_loops.h"

#define TARGET AVX512
#define SHAPE F64_64
#define GATHER(x, col, ldx) gather_8_f64(x, col, ldx)
#define GATHER_NEAR(x, col, ldx) near_8_f64(x, col, ldx)
#define LENGTHS __m512i
#define LENGTHS_OF(p) _mm512_cvtepu8_epi64(BYTES_8(p))
#define WHERE_LONGER(n, e, v, c) _mm512_mask_mov_pd(c, _mm512_cmpgt_epi64_mask(n, _mm512_set1_epi64(e)), v)
#include "kernels/cpu/cpu_slices_loops.h"

AVX2 SP_INLINE static __m256d spread_c128_32(const sp_c128 a)
{
    return _mm256_setr_pd(__real__ a, __imag__ a, __real__ a, __imag__ a);
}

AVX2 SP_INLINE static __m256 spread_c64_32(const sp_c64 a)
{
    return _mm256_setr_ps(__real__ a, __imag__ a, __real__ a, __imag__ a, __real__ a, __imag__ a, __real__ a,
                          __imag__ a);
}

AVX512 SP_INLINE static __m512d spread_c128_64(const sp_c128 a)
{
    return _mm512_broadcast_f64x4(spread_c128_32(a));
}

/** Returns the complex number at p in the lower half of a vector. */
AVX2 SP_INLINE static __m128 pair_c64(const sp_c64 *p)
{
    return _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)p));
}

#define AT_C128(i) _mm_loadu_pd((const double *)(const void *)(x + (i)*ldx))
#define AT_C64(i) pair_c64(x + (i)*ldx)
#define FOUR_C64(a, b, c, d) \
    _mm256_set_m128(_mm_movelh_ps(AT_C64(c), AT_C64(d)), _mm_movelh_ps(AT_C64(a), AT_C64(b)))
#define FOUR_C128(a, b, c, d)                                                            \
    _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_set_m128d(AT_C128(b), AT_C128(a))), \
                       _mm256_set_m128d(AT_C128(d), AT_C128(c)), 1)

/** Returns the lengths of two pieces, each twice, for both parts of a value. */
AVX2 SP_INLINE static __m128i twice_2(const uint8_t *p)
{
    uint16_t bytes;
    memcpy(&bytes, p, sizeof bytes);
    const __m128i both = _mm_cvtsi32_si128(bytes);
    return _mm_unpacklo_epi8(both, both);
}

AVX2 SP_INLINE static __m128i twice_4(const uint8_t *p) { return _mm_unpacklo_epi8(bytes_4(p), bytes_4(p)); }

#define TARGET AVX2
#define SHAPE C128_32
#define RE(v) _mm256_movedup_pd(v)
#define IM(v) _mm256_permute_pd(v, 15)
#define GATHER(x, col, ldx) _mm256_set_m128d(AT_C128((col)[1]), AT_C128((col)[0]))
#define GATHER_NEAR(x, col, ldx) GATHER(x, col, ldx)
#define LENGTHS __m256i
#define LENGTHS_OF(p) _mm256_cvtepu8_epi64(twice_2(p))
#define WHERE_LONGER(n, e, v, c) \
    _mm256_blendv_pd(c, v, _mm256_castsi256_pd(_mm256_cmpgt_epi64(n, _mm256_set1_epi64x(e))))
#include "kernels/cpu/cpu_slices_loops.h"

#define TARGET AVX2
#define SHAPE C64_32
#define RE(v) _mm256_moveldup_ps(v)
#define IM(v) _mm256_movehdup_ps(v)
#define GATHER(x, col, ldx) FOUR_C64((col)[0], (col)[1], (col)[2], (col)[3])
#define GATHER_NEAR(x, col, ldx) GATHER(x, col, ldx)
#define LENGTHS __m256i
#define LENGTHS_OF(p) _mm256_cvtepu8_epi32(twice_4(p))
#define WHERE_LONGER(n, e, v, c) \
    _mm256_blendv_ps(c, v, _mm256_castsi256_ps(_mm256_cmpgt_epi32(n, _mm256_set1_epi32(e))))
#include "kernels/cpu/cpu_slices_loops.h"

#define TARGET AVX512
#define SHAPE C128_64
#define RE(v) _mm512_movedup_pd(v)
#define IM(v) _mm512_permute_pd(v, 0xff)
#define GATHER(x, col, ldx) FOUR_C128((col)[0], (col)[1], (col)[2], (col)[3])
#define GATHER_NEAR(x, col, ldx) GATHER(x, col, ldx)
#define LENGTHS __m512i
#define LENGTHS_OF(p) _mm512_cvtepu8_epi64(twice_4(p))
#define WHERE_LONGER(n, e, v, c) _mm512_mask_mov_pd(c, _mm512_cmpgt_epi64_mask(n, _mm512_set1_epi64(e)), v)
#include "kernels/cpu/cpu_slices_loops.h"

sp_slice_loop sp_slices_loop(sp_isa isa, spmm_precision precision, int equal)
{
    static const sp_slice_loop loops[3][SP_TYPES][2] = {
        {BOTH(f64), BOTH(f32), BOTH(c128), BOTH(c64)},
        {BOTH(f64_32), BOTH(f32_32), BOTH(c128_32), BOTH(c64_32)},
        {BOTH(f64_64), BOTH(f32_32), BOTH(c128_64), BOTH(c64_32)}};
    return loops[isa][precision][equal];
}
#else
sp_slice_loop sp_slices_loop(sp_isa isa, spmm_precision precision, int equal)
{
    static const sp_slice_loop loops[SP_TYPES][2] = {BOTH(f64), BOTH(f32), BOTH(c128), BOTH(c64)};
    (void)isa;
    return loops[precision][equal];
}
#endif
