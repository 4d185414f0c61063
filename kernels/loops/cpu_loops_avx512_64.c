/** Instantiates the loops of cpu_loops_vector.h for AVX-512, with vectors of 64 bytes. */
#include "kernels/loops/cpu_loops.h"

#if defined(__x86_64__)
#include "kernels/loops/cpu_loops_x86.h"

#define BIT_MASKS
#define TARGET AVX512
#define SHAPE F64_64
#define TABLE const sp_loop sp_loops_avx512_f64_64
#define VECTORS 16
#define BLOCKED 8
#include "kernels/loops/cpu_loops_vector.h"

#define TARGET AVX512
#define SHAPE F32_64
#define TABLE const sp_loop sp_loops_avx512_f32_64
#define VECTORS 16
#define BLOCKED 8
#include "kernels/loops/cpu_loops_vector.h"
#endif
