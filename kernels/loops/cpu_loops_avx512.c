/** Instantiates the loops of cpu_loops_vector.h and cpu_loops_shift.h for AVX-512, with vectors of one
 *  element. cpu_loops_avx512_32.c and cpu_loops_avx512_64.c do so with vectors of 32 bytes and of 64
 *  bytes. */
#include "kernels/loops/cpu_loops.h"

#if defined(__x86_64__)
#include "kernels/loops/cpu_loops_x86.h"

#define TARGET AVX512
#define SHAPE F64_64
#define LOAD_FIRST(p, n) _mm512_maskz_loadu_pd((__mmask8)BITS(n), p)
#define TRANSPOSE(t) sp_transpose_8_f64(t)
#include "kernels/loops/cpu_loops_shift.h"

#define TARGET AVX2
#define SHAPE F64_8
#define SHIFT_BY_LANES(b) shift_by_lanes_f64_64(b)
#include "kernels/loops/cpu_loops_vector.h"

static const sp_width widths[] = {
    {SPMM_F64, 1, 1, loops_f64_8, sp_loops_equal_f64_8_by_64, sp_loops_narrow_8_by_64},
    {SPMM_F64, 4, 8, sp_loops_avx512_f64_32, sp_loops_equal_f64_32, sp_loops_narrow_32},
    {SPMM_F64, 8, 16, sp_loops_avx512_f64_64, sp_loops_equal_f64_64, sp_loops_narrow_64},
    {SPMM_F32, 8, 8, sp_loops_avx512_f32_32, sp_loops_equal_f32_32, NULL},
    {SPMM_F32, 16, 16, sp_loops_avx512_f32_64, sp_loops_equal_f32_64, NULL},
    {SPMM_C128, 4, 8, sp_loops_c128_64, NULL, NULL},
    {SPMM_C64, 8, 8, sp_loops_c64_64, NULL, NULL},
};

const sp_width *sp_widths_avx512(int *count)
{
    *count = sizeof widths / sizeof *widths;
    return widths;
}
#else
const sp_width *sp_widths_avx512(int *count)
{
    *count = 0;
    return NULL;
}
#endif
