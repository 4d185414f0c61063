/** Instantiates the loops of cpu_loops_vector.h for AVX2 with FMA, with vectors of 32 bytes. */
#include "kernels/cpu/cpu_loops.h"

#if defined(__x86_64__)
#include "kernels/cpu/cpu_loops_x86.h"

#define TARGET AVX2
#define VALUE double
#define NAME(name) name##_f64_32
#define TABLE const sp_loop sp_loops_avx2_f64_32
#define LANES 4
#define VECTORS 8
#define BLOCKED 4
#define VECTOR __m256d
#define INTRINSIC(op) _mm256_##op##_pd
#define MASK __m256i
#define MASK_OF(n) WINDOW_256(window64, 4, n)
#include "kernels/cpu/cpu_loops_vector.h"

#define TARGET AVX2
#define VALUE float
#define NAME(name) name##_f32_32
#define TABLE const sp_loop sp_loops_avx2_f32_32
#define LANES 8
#define VECTORS 8
#define BLOCKED 4
#define VECTOR __m256
#define INTRINSIC(op) _mm256_##op##_ps
#define MASK __m256i
#define MASK_OF(n) WINDOW_256(window32, 8, n)
#include "kernels/cpu/cpu_loops_vector.h"
#endif
