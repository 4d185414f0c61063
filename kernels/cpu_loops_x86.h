/** What the loops of the x86 instruction sets share. */
#ifndef SP_CPU_LOOPS_X86_H
#define SP_CPU_LOOPS_X86_H

#include <immintrin.h>
#include <string.h>

#include "cpu_loops.h"

#define AVX512 __attribute__((target("avx512f,avx512vl,avx2,fma")))
#define AVX2 __attribute__((target("avx2,fma")))

/* The first n lanes of an AVX2 mask are those before the zeros. */
static const int64_t window64[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
static const int32_t window32[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
#define WINDOW_128(window, lanes, n) _mm_loadu_si128((const __m128i *)(const void *)(window + lanes - (n)))
#define WINDOW_256(window, lanes, n) _mm256_loadu_si256((const __m256i *)(const void *)(window + lanes - (n)))
#define BITS(n) ((1u << (n)) - 1)

static inline void sp_stream_f64(double *p, double v)
{
    long long bits;
    memcpy(&bits, &v, sizeof bits);
    _mm_stream_si64((long long *)(void *)p, bits);
}

static inline void sp_stream_f32(float *p, float v)
{
    int bits;
    memcpy(&bits, &v, sizeof bits);
    _mm_stream_si32((int *)(void *)p, bits);
}

#endif
