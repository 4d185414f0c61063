/** Instantiates the loops of cpu_loops_vector.h and cpu_loops_shift.h for matrices whose values are all
 *  equal, for one vector per row of X and Y. These loops read 4 bytes per entry of A instead of 12 (f64) or 8
 *  (f32); if rows share a list of columns, almost none. With several vectors per row, most of the time is
 *  spent on X. */
#include "kernels/cpu/cpu_loops.h"

#if defined(__x86_64__)
#include "kernels/cpu/cpu_loops_x86.h"

/* ---- AVX2 ---- */

#define EQUAL_VALUES
#define TARGET AVX2
#define VALUE double
#define NAME(name) name##_f64_32
#define LANES 4
#define VECTOR __m256d
#define INTRINSIC(op) _mm256_##op##_pd
#include "kernels/cpu/cpu_loops_shift.h"

#define EQUAL_VALUES
#define TARGET AVX2
#define VALUE float
#define NAME(name) name##_f32_32
#define LANES 8
#define VECTOR __m256
#define INTRINSIC(op) _mm256_##op##_ps
#include "kernels/cpu/cpu_loops_shift.h"

#define EQUAL_VALUES
#define TARGET AVX2
#define VALUE double
#define NAME(name) name##_f64_8
#define TABLE const sp_loop sp_loops_equal_f64_8
#define SHIFT_BY_LANES(b) shift_by_lanes_f64_32(b)
#define VECTORS 1
#define FMA(a, x, c) __builtin_fma(a, x, c)
#define STREAM(p, v) sp_stream_f64(p, v)
#include "kernels/cpu/cpu_loops_vector.h"

#define EQUAL_VALUES
#define TARGET AVX2
#define VALUE float
#define NAME(name) name##_f32_4
#define TABLE const sp_loop sp_loops_equal_f32_4
#define SHIFT_BY_LANES(b) shift_by_lanes_f32_32(b)
#define VECTORS 1
#define FMA(a, x, c) __builtin_fmaf(a, x, c)
#define STREAM(p, v) sp_stream_f32(p, v)
#include "kernels/cpu/cpu_loops_vector.h"

#define EQUAL_VALUES
#define TARGET AVX2
#define VALUE double
#define NAME(name) name##_f64_16
#define TABLE const sp_loop sp_loops_equal_f64_16
#define LANES 2
#define VECTORS 1
#define VECTOR __m128d
#define INTRINSIC(op) _mm_##op##_pd
#define MASK __m128i
#define MASK_OF(n) WINDOW_128(window64, 4, n)
#include "kernels/cpu/cpu_loops_vector.h"

#define EQUAL_VALUES
#define TARGET AVX2
#define VALUE float
#define NAME(name) name##_f32_16
#define TABLE const sp_loop sp_loops_equal_f32_16
#define LANES 4
#define VECTORS 1
#define VECTOR __m128
#define INTRINSIC(op) _mm_##op##_ps
#define MASK __m128i
#define MASK_OF(n) WINDOW_128(window32, 8, n)
#include "kernels/cpu/cpu_loops_vector.h"

#define EQUAL_VALUES
#define TARGET AVX2
#define VALUE double
#define NAME(name) name##_f64_32
#define TABLE const sp_loop sp_loops_equal_f64_32
#define LANES 4
#define VECTORS 1
#define VECTOR __m256d
#define INTRINSIC(op) _mm256_##op##_pd
#define MASK __m256i
#define MASK_OF(n) WINDOW_256(window64, 4, n)
#include "kernels/cpu/cpu_loops_vector.h"

#define EQUAL_VALUES
#define TARGET AVX2
#define VALUE float
#define NAME(name) name##_f32_32
#define TABLE const sp_loop sp_loops_equal_f32_32
#define LANES 8
#define VECTORS 1
#define VECTOR __m256
#define INTRINSIC(op) _mm256_##op##_ps
#define MASK __m256i
#define MASK_OF(n) WINDOW_256(window32, 8, n)
#include "kernels/cpu/cpu_loops_vector.h"

/* ---- AVX-512 ---- */

#define BIT_MASKS
#define EQUAL_VALUES
#define TARGET AVX512
#define VALUE double
#define NAME(name) name##_f64_64
#define LANES 8
#define VECTOR __m512d
#define INTRINSIC(op) _mm512_##op##_pd
#include "kernels/cpu/cpu_loops_shift.h"

#define EQUAL_VALUES
#define TARGET AVX2
#define VALUE double
#define NAME(name) name##_f64_8_by_64
#define TABLE const sp_loop sp_loops_equal_f64_8_by_64
#define SHIFT_BY_LANES(b) shift_by_lanes_f64_64(b)
#define VECTORS 1
#define FMA(a, x, c) __builtin_fma(a, x, c)
#define STREAM(p, v) sp_stream_f64(p, v)
#include "kernels/cpu/cpu_loops_vector.h"

#define EQUAL_VALUES
#define TARGET AVX512
#define VALUE double
#define NAME(name) name##_f64_64
#define TABLE const sp_loop sp_loops_equal_f64_64
#define LANES 8
#define VECTORS 1
#define VECTOR __m512d
#define INTRINSIC(op) _mm512_##op##_pd
#define MASK __mmask8
#define MASK_OF(n) ((__mmask8)BITS(n))
#include "kernels/cpu/cpu_loops_vector.h"

#define EQUAL_VALUES
#define TARGET AVX512
#define VALUE float
#define NAME(name) name##_f32_64
#define TABLE const sp_loop sp_loops_equal_f32_64
#define LANES 16
#define VECTORS 1
#define VECTOR __m512
#define INTRINSIC(op) _mm512_##op##_ps
#define MASK __mmask16
#define MASK_OF(n) ((__mmask16)BITS(n))
#include "kernels/cpu/cpu_loops_vector.h"
#endif
