/** Instantiates the loops of cpu_loops_vector.h and cpu_loops_shift.h for f64 matrices whose values are
 *  stored in f32, which represents them exactly, and one vector per row of X and Y. These loops read 8 bytes
 *  per entry of A instead of 12, and widen the values in registers, so Y has the same bits. With several
 *  vectors per row, most of the time is spent on X. */
#include "kernels/cpu/cpu_loops.h"

#if defined(__x86_64__)
#include "kernels/cpu/cpu_loops_x86.h"

/* ---- AVX2 ---- */

#define NARROW_VALUES
#define TARGET AVX2
#define VALUE double
#define NAME(name) name##_f64_32
#define LANES 4
#define VECTOR __m256d
#define INTRINSIC(op) _mm256_##op##_pd
#define LOAD_FIRST(p, n) _mm256_cvtps_pd(_mm_maskload_ps(p, WINDOW_128(window32, 8, n)))
#define TRANSPOSE(t) sp_transpose_4_f64(t)
#include "kernels/cpu/cpu_loops_shift.h"

#define NARROW_VALUES
#define TARGET AVX2
#define VALUE double
#define NAME(name) name##_f64_8
#define TABLE const sp_loop sp_loops_narrow_8
#define SHIFT_BY_LANES(b) shift_by_lanes_f64_32(b)
#define VECTORS 1
#define FMA(a, x, c) __builtin_fma(a, x, c)
#define STREAM(p, v) sp_stream_f64(p, v)
#define SPREAD_NARROW(p) ((double)*(p))
#include "kernels/cpu/cpu_loops_vector.h"

#define NARROW_VALUES
#define TARGET AVX2
#define VALUE double
#define NAME(name) name##_f64_16
#define TABLE const sp_loop sp_loops_narrow_16
#define LANES 2
#define VECTORS 1
#define VECTOR __m128d
#define INTRINSIC(op) _mm_##op##_pd
#define MASK __m128i
#define MASK_OF(n) WINDOW_128(window64, 4, n)
#define SPREAD_NARROW(p) _mm_cvtps_pd(_mm_set1_ps(*(p)))
#include "kernels/cpu/cpu_loops_vector.h"

#define NARROW_VALUES
#define TARGET AVX2
#define VALUE double
#define NAME(name) name##_f64_32
#define TABLE const sp_loop sp_loops_narrow_32
#define LANES 4
#define VECTORS 1
#define VECTOR __m256d
#define INTRINSIC(op) _mm256_##op##_pd
#define MASK __m256i
#define MASK_OF(n) WINDOW_256(window64, 4, n)
#define SPREAD_NARROW(p) _mm256_cvtps_pd(_mm_set1_ps(*(p)))
#include "kernels/cpu/cpu_loops_vector.h"

/* ---- AVX-512 ---- */

#define BIT_MASKS
#define NARROW_VALUES
#define TARGET AVX512
#define VALUE double
#define NAME(name) name##_f64_64
#define LANES 8
#define VECTOR __m512d
#define INTRINSIC(op) _mm512_##op##_pd
#define LOAD_FIRST(p, n) _mm512_cvtps_pd(_mm256_maskz_loadu_ps((__mmask8)BITS(n), p))
#define TRANSPOSE(t) sp_transpose_8_f64(t)
#include "kernels/cpu/cpu_loops_shift.h"

#define NARROW_VALUES
#define TARGET AVX2
#define VALUE double
#define NAME(name) name##_f64_8_by_64
#define TABLE const sp_loop sp_loops_narrow_8_by_64
#define SHIFT_BY_LANES(b) shift_by_lanes_f64_64(b)
#define VECTORS 1
#define FMA(a, x, c) __builtin_fma(a, x, c)
#define STREAM(p, v) sp_stream_f64(p, v)
#define SPREAD_NARROW(p) ((double)*(p))
#include "kernels/cpu/cpu_loops_vector.h"

#define NARROW_VALUES
#define TARGET AVX512
#define VALUE double
#define NAME(name) name##_f64_64
#define TABLE const sp_loop sp_loops_narrow_64
#define LANES 8
#define VECTORS 1
#define VECTOR __m512d
#define INTRINSIC(op) _mm512_##op##_pd
#define MASK __mmask8
#define MASK_OF(n) ((__mmask8)BITS(n))
#define SPREAD_NARROW(p) _mm512_cvtps_pd(_mm256_set1_ps(*(p)))
#include "kernels/cpu/cpu_loops_vector.h"
#endif
