/** Instantiates the loops of cpu_loops_vector.h for AVX-512, with vectors of 64 bytes. */
#include "kernels/cpu/cpu_loops.h"

#if defined(__x86_64__)
#include "kernels/cpu/cpu_loops_x86.h"

#define BIT_MASKS
#define TARGET AVX512
#define VALUE double
#define NAME(name) name##_f64_64
#define TABLE const sp_loop sp_loops_avx512_f64_64
#define LANES 8
#define VECTORS 16
#define BLOCKED 8
#define VECTOR __m512d
#define INTRINSIC(op) _mm512_##op##_pd
#define MASK __mmask8
#define MASK_OF(n) ((__mmask8)BITS(n))
#include "kernels/cpu/cpu_loops_vector.h"

#define TARGET AVX512
#define VALUE float
#define NAME(name) name##_f32_64
#define TABLE const sp_loop sp_loops_avx512_f32_64
#define LANES 16
#define VECTORS 16
#define BLOCKED 8
#define VECTOR __m512
#define INTRINSIC(op) _mm512_##op##_ps
#define MASK __mmask16
#define MASK_OF(n) ((__mmask16)BITS(n))
#include "kernels/cpu/cpu_loops_vector.h"
#endif
