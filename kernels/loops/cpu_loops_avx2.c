/** Instantiates the loops of cpu_loops_vector.h and cpu_loops_shift.h for AVX2 with FMA, with vectors of one
 *  element and of 16 bytes. cpu_loops_avx2_32.c does so with vectors of 32 bytes. */
#include "kernels/loops/cpu_loops.h"

#if defined(__x86_64__)
#include "kernels/loops/cpu_loops_x86.h"

#define TARGET AVX2
#define SHAPE F64_32
#define LOAD_FIRST(p, n) _mm256_maskload_pd(p, WINDOW_256(window64, 4, n))
#define TRANSPOSE(t) sp_transpose_4_f64(t)
#include "kernels/loops/cpu_loops_shift.h"

#define TARGET AVX2
#define SHAPE F32_32
#define LOAD_FIRST(p, n) _mm256_maskload_ps(p, WINDOW_256(window32, 8, n))
#define TRANSPOSE(t) sp_transpose_8_f32(t)
#include "kernels/loops/cpu_loops_shift.h"

#define TARGET AVX2
#define SHAPE F64_8
#define SHIFT_BY_LANES(b) shift_by_lanes_f64_32(b)
#include "kernels/loops/cpu_loops_vector.h"

#define TARGET AVX2
#define SHAPE F32_4
#define SHIFT_BY_LANES(b) shift_by_lanes_f32_32(b)
#include "kernels/loops/cpu_loops_vector.h"

#define TARGET AVX2
#define SHAPE F64_16
#include "kernels/loops/cpu_loops_vector.h"

#define TARGET AVX2
#define SHAPE F32_16
#include "kernels/loops/cpu_loops_vector.h"

static const sp_width widths[] = {
    {SPMM_F64, 1, 1, loops_f64_8, sp_loops_equal_f64_8, sp_loops_narrow_8},
    {SPMM_F64, 2, 1, loops_f64_16, sp_loops_equal_f64_16, sp_loops_narrow_16},
    {SPMM_F64, 4, 8, sp_loops_avx2_f64_32, sp_loops_equal_f64_32, sp_loops_narrow_32},
    {SPMM_F32, 1, 1, loops_f32_4, sp_loops_equal_f32_4, NULL},
    {SPMM_F32, 4, 1, loops_f32_16, sp_loops_equal_f32_16, NULL},
    {SPMM_F32, 8, 8, sp_loops_avx2_f32_32, sp_loops_equal_f32_32, NULL},
    {SPMM_C128, 1, 1, sp_loops_c128_16, NULL, NULL},
    {SPMM_C128, 2, 8, sp_loops_c128_32, NULL, NULL},
    {SPMM_C64, 1, 1, sp_loops_c64_8, NULL, NULL},
    {SPMM_C64, 2, 1, sp_loops_c64_16, NULL, NULL},
    {SPMM_C64, 4, 8, sp_loops_c64_32, NULL, NULL},
};

const sp_width *sp_widths_avx2(int *count)
{
    *count = sizeof widths / sizeof *widths;
    return widths;
}
#else
const sp_width *sp_widths_avx2(int *count)
{
    *count = 0;
    return NULL;
}
#endif
