/** Instantiates the loops of cpu_loops_vector.h for AVX-512, with vectors of 32 bytes. AVX-512 has 32 vector
 *  registers, twice as many as AVX2, so the loops for SP_RUN_BLOCK2 and SP_RUN_BLOCK3 can handle up to 8
 *  vectors per row. */
#include "kernels/loops/cpu_loops.h"

#if defined(__x86_64__)
#include "kernels/loops/cpu_loops_x86.h"

#define TARGET AVX512
#define SHAPE F64_32
#define TABLE const sp_loop sp_loops_avx512_f64_32
#define VECTORS 8
#define BLOCKED 8
#include "kernels/loops/cpu_loops_vector.h"

#define TARGET AVX512
#define SHAPE F32_32
#define TABLE const sp_loop sp_loops_avx512_f32_32
#define VECTORS 8
#define BLOCKED 8
#include "kernels/loops/cpu_loops_vector.h"
#endif
