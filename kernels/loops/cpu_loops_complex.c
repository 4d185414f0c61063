/** Instantiates the loops of cpu_loops_vector.h for complex values and AVX2 with FMA. */
#include "kernels/loops/cpu_loops.h"

#if defined(__x86_64__)
#include "kernels/loops/cpu_loops_x86.h"

#define TARGET AVX2
#define SHAPE C64_8
#define TABLE const sp_loop sp_loops_c64_8
#include "kernels/loops/cpu_loops_vector.h"

#define TARGET AVX2
#define SHAPE C128_16
#define TABLE const sp_loop sp_loops_c128_16
#include "kernels/loops/cpu_loops_vector.h"

#define TARGET AVX2
#define SHAPE C64_16
#define TABLE const sp_loop sp_loops_c64_16
#include "kernels/loops/cpu_loops_vector.h"

#define TARGET AVX2
#define SHAPE C128_32
#define TABLE const sp_loop sp_loops_c128_32
#define VECTORS 8
#define BLOCKED 4
#include "kernels/loops/cpu_loops_vector.h"

#define TARGET AVX2
#define SHAPE C64_32
#define TABLE const sp_loop sp_loops_c64_32
#define VECTORS 8
#define BLOCKED 4
#include "kernels/loops/cpu_loops_vector.h"
#endif
