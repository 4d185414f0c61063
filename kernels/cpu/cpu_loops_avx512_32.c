/** Instantiates the loops of cpu_loops_vector.h for AVX-512, with vectors of 32 bytes. AVX-512 has 32 vector
 *  registers, twice as many as AVX2, so the loops for SP_RUN_BLOCK2 and SP_RUN_BLOCK3 can handle up to 8
 *  vectors per row. */
#include "kernels/cpu/cpu_loops.h"

#if defined(__x86_64__)
#include "kernels/cpu/cpu_loops_x86.h"

#define TARGET AVX512
#define VALUE double
#define NAME(name) name##_f64_32
#define TABLE const sp_loop sp_loops_avx512_f64_32
#define LANES 4
#define VECTORS 8
#define BLOCKED 8
#define VECTOR __m256d
#define INTRINSIC(op) _mm256_##op##_pd
#define MASK __m256i
#define MASK_OF(n) WINDOW_256(window64, 4, n)
#include "kernels/cpu/cpu_loops_vector.h"

#define TARGET AVX512
#define VALUE float
#define NAME(name) name##_f32_32
#define TABLE const sp_loop sp_loops_avx512_f32_32
#define LANES 8
#define VECTORS 8
#define BLOCKED 8
#define VECTOR __m256
#define INTRINSIC(op) _mm256_##op##_ps
#define MASK __m256i
#define MASK_OF(n) WINDOW_256(window32, 8, n)
#include "kernels/cpu/cpu_loops_vector.h"
#endif
