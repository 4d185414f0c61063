/* Defines the macros that depend only on SHAPE, the element type and vector width: VALUE; NAME(name), unless
 * it is defined already; and LANES, VECTOR, INTRINSIC(op), MASK and MASK_OF(n) or, for vectors of one
 * element, FMA and STREAM. Included by cpu_loops_vector.h and cpu_loops_shift.h, which describe and undefine
 * them. */
#define F64_8 1
#define F32_4 2
#define F64_16 3
#define F32_16 4
#define F64_32 5
#define F32_32 6
#define F64_64 7
#define F32_64 8
#define C64_8 9
#define C128_16 10
#define C64_16 11
#define C128_32 12
#define C64_32 13
#define C128_64 14
#define C64_64 15

#if SHAPE == F64_8
#define VALUE double
#ifndef NAME
#define NAME(name) name##_f64_8
#endif
#define FMA(a, x, c) __builtin_fma(a, x, c)
#define STREAM(p, v) sp_stream_f64(p, v)
#elif SHAPE == F32_4
#define VALUE float
#define NAME(name) name##_f32_4
#define FMA(a, x, c) __builtin_fmaf(a, x, c)
#define STREAM(p, v) sp_stream_f32(p, v)
#elif SHAPE == F64_16
#define VALUE double
#define NAME(name) name##_f64_16
#define LANES 2
#define VECTOR __m128d
#define INTRINSIC(op) _mm_##op##_pd
#define MASK __m128i
#define MASK_OF(n) WINDOW_128(window64, 4, n)
#elif SHAPE == F32_16
#define VALUE float
#define NAME(name) name##_f32_16
#define LANES 4
#define VECTOR __m128
#define INTRINSIC(op) _mm_##op##_ps
#define MASK __m128i
#define MASK_OF(n) WINDOW_128(window32, 8, n)
#elif SHAPE == F64_32
#define VALUE double
#define NAME(name) name##_f64_32
#define LANES 4
#define VECTOR __m256d
#define INTRINSIC(op) _mm256_##op##_pd
#define MASK __m256i
#define MASK_OF(n) WINDOW_256(window64, 4, n)
#elif SHAPE == F32_32
#define VALUE float
#define NAME(name) name##_f32_32
#define LANES 8
#define VECTOR __m256
#define INTRINSIC(op) _mm256_##op##_ps
#define MASK __m256i
#define MASK_OF(n) WINDOW_256(window32, 8, n)
#elif SHAPE == F64_64
#define VALUE double
#define NAME(name) name##_f64_64
#define LANES 8
#define VECTOR __m512d
#define INTRINSIC(op) _mm512_##op##_pd
#define MASK __mmask8
#define MASK_OF(n) ((__mmask8)BITS(n))
#elif SHAPE == F32_64
#define VALUE float
#define NAME(name) name##_f32_64
#define LANES 16
#define VECTOR __m512
#define INTRINSIC(op) _mm512_##op##_ps
#define MASK __mmask16
#define MASK_OF(n) ((__mmask16)BITS(n))
#elif SHAPE == C64_8
#define COMPLEX
#define VALUE sp_c64
#define REAL float
#define NAME(name) name##_c64_8
#define FMA(a, x, c) SP_COMPLEX_FMA(__builtin_fmaf, a, x, c)
#elif SHAPE == C128_16
#define COMPLEX
#define VALUE sp_c128
#define REAL double
#define NAME(name) name##_c128_16
#define LANES 1
#define VECTOR __m128d
#define INTRINSIC(op) _mm_##op##_pd
#define MASK __m128i
#define MASK_OF(n) WINDOW_128(window64, 4, 2 * (n))
#define SWAP(v) _mm_permute_pd(v, 1)
#define SIGNS signs64
#elif SHAPE == C64_16
#define COMPLEX
#define VALUE sp_c64
#define REAL float
#define NAME(name) name##_c64_16
#define LANES 2
#define VECTOR __m128
#define INTRINSIC(op) _mm_##op##_ps
#define MASK __m128i
#define MASK_OF(n) WINDOW_128(window32, 8, 2 * (n))
#define SWAP(v) _mm_permute_ps(v, 0xb1)
#define SIGNS signs32
#elif SHAPE == C128_32
#define COMPLEX
#define VALUE sp_c128
#define REAL double
#define NAME(name) name##_c128_32
#define LANES 2
#define VECTOR __m256d
#define INTRINSIC(op) _mm256_##op##_pd
#define MASK __m256i
#define MASK_OF(n) WINDOW_256(window64, 4, 2 * (n))
#define SWAP(v) _mm256_permute_pd(v, 5)
#define SIGNS signs64
#elif SHAPE == C64_32
#define COMPLEX
#define VALUE sp_c64
#define REAL float
#define NAME(name) name##_c64_32
#define LANES 4
#define VECTOR __m256
#define INTRINSIC(op) _mm256_##op##_ps
#define MASK __m256i
#define MASK_OF(n) WINDOW_256(window32, 8, 2 * (n))
#define SWAP(v) _mm256_permute_ps(v, 0xb1)
#define SIGNS signs32
#elif SHAPE == C128_64
#define COMPLEX
#define VALUE sp_c128
#define REAL double
#define NAME(name) name##_c128_64
#define LANES 4
#define VECTOR __m512d
#define INTRINSIC(op) _mm512_##op##_pd
#define MASK __mmask8
#define MASK_OF(n) ((__mmask8)BITS(2 * (n)))
#define SWAP(v) _mm512_permute_pd(v, 0x55)
#define SIGNS signs64
#elif SHAPE == C64_64
#define COMPLEX
#define VALUE sp_c64
#define REAL float
#define NAME(name) name##_c64_64
#define LANES 8
#define VECTOR __m512
#define INTRINSIC(op) _mm512_##op##_ps
#define MASK __mmask16
#define MASK_OF(n) ((__mmask16)BITS(2 * (n)))
#define SWAP(v) _mm512_permute_ps(v, 0xb1)
#define SIGNS signs32
#endif
