/** Instantiates the loops of cpu_loops_vector.h for complex values and AVX-512. */
#include "kernels/loops/cpu_loops.h"

#if defined(__x86_64__)
#include "kernels/loops/cpu_loops_x86.h"

#define BIT_MASKS
#define TARGET AVX512
#define SHAPE C128_64
#define TABLE const sp_loop sp_loops_c128_64
#define VECTORS 8
#define BLOCKED 4
#include "kernels/loops/cpu_loops_vector.h"

#define TARGET AVX512
#define SHAPE C64_64
#define TABLE const sp_loop sp_loops_c64_64
#define VECTORS 8
#define BLOCKED 4
#include "kernels/loops/cpu_loops_vector.h"
#endif
