/** Helpers for the loops of the x86 instruction sets: masks, streaming stores of one element, and
 *  transpositions in registers. */
#ifndef SP_CPU_LOOPS_X86_H
#define SP_CPU_LOOPS_X86_H

#include <immintrin.h>
#include <string.h>

#include "kernels/loops/cpu_loops.h"

#define AVX512 __attribute__((target("avx512f,avx512vl,avx2,fma")))
#define AVX2 __attribute__((target("avx2,fma")))

/* Tables of loops that other files define. The loops take seconds to compile, so they are spread over several
 * files, which make compiles in parallel. */
extern const sp_loop sp_loops_avx2_f64_32[8][2][SP_RUN_KINDS], sp_loops_avx2_f32_32[8][2][SP_RUN_KINDS];
extern const sp_loop sp_loops_avx512_f64_32[8][2][SP_RUN_KINDS], sp_loops_avx512_f32_32[8][2][SP_RUN_KINDS];
extern const sp_loop sp_loops_avx512_f64_64[16][2][SP_RUN_KINDS], sp_loops_avx512_f32_64[16][2][SP_RUN_KINDS];
extern const sp_loop sp_loops_equal_f64_8[1][2][SP_RUN_KINDS], sp_loops_equal_f32_4[1][2][SP_RUN_KINDS];
extern const sp_loop sp_loops_equal_f64_16[1][2][SP_RUN_KINDS], sp_loops_equal_f32_16[1][2][SP_RUN_KINDS];
extern const sp_loop sp_loops_equal_f64_32[1][2][SP_RUN_KINDS], sp_loops_equal_f32_32[1][2][SP_RUN_KINDS];
extern const sp_loop sp_loops_equal_f64_64[1][2][SP_RUN_KINDS], sp_loops_equal_f32_64[1][2][SP_RUN_KINDS];
extern const sp_loop sp_loops_equal_f64_8_by_64[1][2][SP_RUN_KINDS];
extern const sp_loop sp_loops_narrow_8[1][2][SP_RUN_KINDS], sp_loops_narrow_8_by_64[1][2][SP_RUN_KINDS];
extern const sp_loop sp_loops_narrow_16[1][2][SP_RUN_KINDS], sp_loops_narrow_32[1][2][SP_RUN_KINDS];
extern const sp_loop sp_loops_narrow_64[1][2][SP_RUN_KINDS];
extern const sp_loop sp_loops_c64_8[1][2][SP_RUN_KINDS], sp_loops_c128_16[1][2][SP_RUN_KINDS];
extern const sp_loop sp_loops_c64_16[1][2][SP_RUN_KINDS], sp_loops_c128_32[8][2][SP_RUN_KINDS];
extern const sp_loop sp_loops_c64_32[8][2][SP_RUN_KINDS], sp_loops_c128_64[8][2][SP_RUN_KINDS];
extern const sp_loop sp_loops_c64_64[8][2][SP_RUN_KINDS];

/* Masks for AVX2: a vector that is loaded n elements before the first zero is the mask of the first n
 * lanes. */
static const int64_t window64[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
static const int32_t window32[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
#define WINDOW_128(window, lanes, n) _mm_loadu_si128((const __m128i *)(const void *)(window + lanes - (n)))
#define WINDOW_256(window, lanes, n) _mm256_loadu_si256((const __m256i *)(const void *)(window + lanes - (n)))
#define BITS(n) ((1u << (n)) - 1)

/* Signs for the lanes of a vector of complex values. Read from the first element, they negate the real parts;
 * from the second element, the imaginary parts. */
__attribute__((unused)) static const double signs64[9] = {-1, 1, -1, 1, -1, 1, -1, 1, -1};
__attribute__((unused)) static const float signs32[17] = {-1, 1,  -1, 1,  -1, 1,  -1, 1, -1,
                                                          1,  -1, 1,  -1, 1,  -1, 1,  -1};

/** Stores the f64 value v at p by a streaming store. */
static inline void sp_stream_f64(double *p, double v)
{
    long long bits;
    memcpy(&bits, &v, sizeof bits);
    _mm_stream_si64((long long *)(void *)p, bits);
}

/** Stores the f32 value v at p by a streaming store. */
static inline void sp_stream_f32(float *p, float v)
{
    int bits;
    memcpy(&bits, &v, sizeof bits);
    _mm_stream_si32((int *)(void *)p, bits);
}

/** Transposes, in place, the 4 x 4 matrix with the rows t[0] .. t[3]. */
AVX2 SP_INLINE static void sp_transpose_4_f64(__m256d *t)
{
    const __m256d a = _mm256_unpacklo_pd(t[0], t[1]), b = _mm256_unpackhi_pd(t[0], t[1]),
                  c = _mm256_unpacklo_pd(t[2], t[3]), d = _mm256_unpackhi_pd(t[2], t[3]);
    t[0] = _mm256_permute2f128_pd(a, c, 0x20);
    t[1] = _mm256_permute2f128_pd(b, d, 0x20);
    t[2] = _mm256_permute2f128_pd(a, c, 0x31);
    t[3] = _mm256_permute2f128_pd(b, d, 0x31);
}

AVX2 SP_INLINE static void sp_transpose_8_f32(__m256 *t)
{
    __m256 u[8], v[8];
    SP_UNROLL for (int i = 0; i < 8; i += 2)
    {
        u[i] = _mm256_unpacklo_ps(t[i], t[i + 1]);
        u[i + 1] = _mm256_unpackhi_ps(t[i], t[i + 1]);
    }
    SP_UNROLL for (int i = 0; i < 8; i += 4)
    {
        v[i] = _mm256_shuffle_ps(u[i], u[i + 2], 0x44);
        v[i + 1] = _mm256_shuffle_ps(u[i], u[i + 2], 0xee);
        v[i + 2] = _mm256_shuffle_ps(u[i + 1], u[i + 3], 0x44);
        v[i + 3] = _mm256_shuffle_ps(u[i + 1], u[i + 3], 0xee);
    }
    SP_UNROLL for (int i = 0; i < 4; i++)
    {
        t[i] = _mm256_permute2f128_ps(v[i], v[i + 4], 0x20);
        t[i + 4] = _mm256_permute2f128_ps(v[i], v[i + 4], 0x31);
    }
}

AVX512 SP_INLINE static void sp_transpose_8_f64(__m512d *t)
{
    __m512d u[8], v[8];
    SP_UNROLL for (int i = 0; i < 8; i += 2)
    {
        u[i] = _mm512_unpacklo_pd(t[i], t[i + 1]);
        u[i + 1] = _mm512_unpackhi_pd(t[i], t[i + 1]);
    }
    /* u[i], u[i + 2], u[i + 4], u[i + 6]: each has columns i, i + 2, i + 4, i + 6 of two rows of t */
    SP_UNROLL for (int i = 0; i < 2; i++)
    {
        v[i] = _mm512_shuffle_f64x2(u[i], u[i + 2], 0x88);
        v[i + 2] = _mm512_shuffle_f64x2(u[i], u[i + 2], 0xdd);
        v[i + 4] = _mm512_shuffle_f64x2(u[i + 4], u[i + 6], 0x88);
        v[i + 6] = _mm512_shuffle_f64x2(u[i + 4], u[i + 6], 0xdd);
    }
    /* v[i] has columns i and i + 4 of rows 0 to 3 of t, v[i + 4] has these columns of rows 4 to 7 */
    SP_UNROLL for (int i = 0; i < 4; i++)
    {
        t[i] = _mm512_shuffle_f64x2(v[i], v[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_f64x2(v[i], v[i + 4], 0xdd);
    }
}

#endif
