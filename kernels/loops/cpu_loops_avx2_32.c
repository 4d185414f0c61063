/** Instantiates the loops of cpu_loops_vector.h for AVX2 with FMA, with vectors of 32 bytes. */
#include "kernels/loops/cpu_loops.h"

#if defined(__x86_64__)
#include "kernels/loops/cpu_loops_x86.h"

#define TARGET AVX2
#define SHAPE F64_32
#define TABLE const sp_loop sp_loops_avx2_f64_32
#define VECTORS 8
#define BLOCKED 4
#include "kernels/loops/cpu_loops_vector.h"

#define TARGET AVX2
#define SHAPE F32_32
#define TABLE const sp_loop sp_loops_avx2_f32_32
#define VECTORS 8
#define BLOCKED 4
#include "kernels/loops/cpu_loops_vector.h"
#endif
