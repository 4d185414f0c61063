/** Instantiates the loops of cpu_loops_vector.h for any processor, with vectors of one element. */
#include "kernels/loops/cpu_loops.h"

#define TARGET
#define VALUE double
#define NAME(name) name##_f64
#define VECTORS 8
#define BLOCKED 4
#define FMA(a, x, c) __builtin_fma(a, x, c)
#include "kernels/loops/cpu_loops_vector.h"

#define TARGET
#define VALUE float
#define NAME(name) name##_f32
#define VECTORS 8
#define BLOCKED 4
#define FMA(a, x, c) __builtin_fmaf(a, x, c)
#include "kernels/loops/cpu_loops_vector.h"

#define TARGET
#define COMPLEX
#define VALUE sp_c128
#define REAL double
#define NAME(name) name##_c128
#define VECTORS 8
#define BLOCKED 4
#define FMA(a, x, c) SP_COMPLEX_FMA(__builtin_fma, a, x, c)
#include "kernels/loops/cpu_loops_vector.h"

#define TARGET
#define COMPLEX
#define VALUE sp_c64
#define REAL float
#define NAME(name) name##_c64
#define VECTORS 8
#define BLOCKED 4
#define FMA(a, x, c) SP_COMPLEX_FMA(__builtin_fmaf, a, x, c)
#include "kernels/loops/cpu_loops_vector.h"

static const sp_width widths[] = {{SPMM_F64, 1, 8, loops_f64, NULL, NULL},
                                  {SPMM_F32, 1, 8, loops_f32, NULL, NULL},
                                  {SPMM_C128, 1, 8, loops_c128, NULL, NULL},
                                  {SPMM_C64, 1, 8, loops_c64, NULL, NULL}};

const sp_width *sp_widths_generic(int *count)
{
    *count = sizeof widths / sizeof *widths;
    return widths;
}
