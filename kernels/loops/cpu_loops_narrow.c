/** Instantiates the loops of cpu_loops_vector.h and cpu_loops_shift.h for f64 matrices whose values are
 *  stored in f32, which represents them exactly, and one vector per row of X and Y. These loops read 8 bytes
 *  per entry of A instead of 12, and widen the values in registers, so Y has the same bits. With several
 *  vectors per row, most of the time is spent on X. */
#include "kernels/loops/cpu_loops.h"

#if defined(__x86_64__)
#include "kernels/loops/cpu_loops_x86.h"

/* ---- AVX2 ---- */

#define NARROW_VALUES
#define TARGET AVX2
#define SHAPE F64_32
#define LOAD_FIRST(p, n) _mm256_cvtps_pd(_mm_maskload_ps(p, WINDOW_128(window32, 8, n)))
#define TRANSPOSE(t) sp_transpose_4_f64(t)
#include "kernels/loops/cpu_loops_shift.h"

#define NARROW_VALUES
#define TARGET AVX2
#define SHAPE F64_8
#define TABLE const sp_loop sp_loops_narrow_8
#define SHIFT_BY_LANES(b) shift_by_lanes_f64_32(b)
#define SPREAD_NARROW(p) ((double)*(p))
#include "kernels/loops/cpu_loops_vector.h"

#define NARROW_VALUES
#define TARGET AVX2
#define SHAPE F64_16
#define TABLE const sp_loop sp_loops_narrow_16
#define SPREAD_NARROW(p) _mm_cvtps_pd(_mm_set1_ps(*(p)))
#include "kernels/loops/cpu_loops_vector.h"

#define NARROW_VALUES
#define TARGET AVX2
#define SHAPE F64_32
#define TABLE const sp_loop sp_loops_narrow_32
#define SPREAD_NARROW(p) _mm256_cvtps_pd(_mm_set1_ps(*(p)))
#include "kernels/loops/cpu_loops_vector.h"

/* ---- AVX-512 ---- */

#define BIT_MASKS
#define NARROW_VALUES
#define TARGET AVX512
#define SHAPE F64_64
#define LOAD_FIRST(p, n) _mm512_cvtps_pd(_mm256_maskz_loadu_ps((__mmask8)BITS(n), p))
#define TRANSPOSE(t) sp_transpose_8_f64(t)
#include "kernels/loops/cpu_loops_shift.h"

#define NARROW_VALUES
#define TARGET AVX2
#define SHAPE F64_8
#define NAME(name) name##_f64_8_by_64
#define TABLE const sp_loop sp_loops_narrow_8_by_64
#define SHIFT_BY_LANES(b) shift_by_lanes_f64_64(b)
#define SPREAD_NARROW(p) ((double)*(p))
#include "kernels/loops/cpu_loops_vector.h"

#define NARROW_VALUES
#define TARGET AVX512
#define SHAPE F64_64
#define TABLE const sp_loop sp_loops_narrow_64
#define SPREAD_NARROW(p) _mm512_cvtps_pd(_mm256_set1_ps(*(p)))
#include "kernels/loops/cpu_loops_vector.h"
#endif
