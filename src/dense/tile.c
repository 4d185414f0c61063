/** Instantiates the loop of tile_impl.h for AVX2 with FMA and for any processor. */
#include "dense/tile.h"

#include "base/cpu_isa.h"

#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#define TARGET
#define NAME tile_f64_generic
#define VALUE double
#define COLUMNS SP_TILE_F64
#define LANES 1
#define VECTOR double
#define LOAD(p) (*(p))
#define STORE(p, v) (*(p) = (v))
#define FILL(e) (e)
#define FMA(a, x, c) __builtin_fma(a, x, c)
#include "dense/tile_impl.h"

#define TARGET
#define NAME tile_f32_generic
#define VALUE float
#define COLUMNS SP_TILE_F32
#define LANES 1
#define VECTOR float
#define LOAD(p) (*(p))
#define STORE(p, v) (*(p) = (v))
#define FILL(e) (e)
#define FMA(a, x, c) __builtin_fmaf(a, x, c)
#include "dense/tile_impl.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx2,fma")))
#define NAME tile_f64_avx2
#define VALUE double
#define COLUMNS SP_TILE_F64
#define LANES 4
#define VECTOR __m256d
#define LOAD(p) _mm256_loadu_pd(p)
#define STORE(p, v) _mm256_storeu_pd(p, v)
#define FILL(e) _mm256_set1_pd(e)
#define FMA(a, x, c) _mm256_fmadd_pd(a, x, c)
#include "dense/tile_impl.h"

#define TARGET __attribute__((target("avx2,fma")))
#define NAME tile_f32_avx2
#define VALUE float
#define COLUMNS SP_TILE_F32
#define LANES 8
#define VECTOR __m256
#define LOAD(p) _mm256_loadu_ps(p)
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define FILL(e) _mm256_set1_ps(e)
#define FMA(a, x, c) _mm256_fmadd_ps(a, x, c)
#include "dense/tile_impl.h"
#endif

sp_tile_f64 sp_tile_of_f64(void)
{
#if defined(__x86_64__)
    if (sp_cpu_isa() >= SP_ISA_AVX2) return tile_f64_avx2;
#endif
    return tile_f64_generic;
}

sp_tile_f32 sp_tile_of_f32(void)
{
#if defined(__x86_64__)
    if (sp_cpu_isa() >= SP_ISA_AVX2) return tile_f32_avx2;
#endif
    return tile_f32_generic;
}
