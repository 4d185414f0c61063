/** Instantiates the loops of cpu_loops_vector.h and cpu_loops_shift.h for matrices whose values are all
 *  equal, for one vector per row of X and Y. These loops read 4 bytes per entry of A instead of 12 (f64) or 8
 *  (f32); if rows share a list of columns, almost none. With several vectors per row, most of the time is
 *  spent on X. */
#include "kernels/loops/cpu_loops.h"

#if defined(__x86_64__)
#include "kernels/loops/cpu_loops_x86.h"

/* ---- AVX2 ---- */

#define EQUAL_VALUES
#define TARGET AVX2
#define SHAPE F64_32
#include "kernels/loops/cpu_loops_shift.h"

#define EQUAL_VALUES
#define TARGET AVX2
#define SHAPE F32_32
#include "kernels/loops/cpu_loops_shift.h"

#define EQUAL_VALUES
#define TARGET AVX2
#define SHAPE F64_8
#define TABLE const sp_loop sp_loops_equal_f64_8
#define SHIFT_BY_LANES(b) shift_by_lanes_f64_32(b)
#include "kernels/loops/cpu_loops_vector.h"

#define EQUAL_VALUES
#define TARGET AVX2
#define SHAPE F32_4
#define TABLE const sp_loop sp_loops_equal_f32_4
#define SHIFT_BY_LANES(b) shift_by_lanes_f32_32(b)
#include "kernels/loops/cpu_loops_vector.h"

#define EQUAL_VALUES
#define TARGET AVX2
#define SHAPE F64_16
#define TABLE const sp_loop sp_loops_equal_f64_16
#include "kernels/loops/cpu_loops_vector.h"

#define EQUAL_VALUES
#define TARGET AVX2
#define SHAPE F32_16
#define TABLE const sp_loop sp_loops_equal_f32_16
#include "kernels/loops/cpu_loops_vector.h"

#define EQUAL_VALUES
#define TARGET AVX2
#define SHAPE F64_32
#define TABLE const sp_loop sp_loops_equal_f64_32
#include "kernels/loops/cpu_loops_vector.h"

#define EQUAL_VALUES
#define TARGET AVX2
#define SHAPE F32_32
#define TABLE const sp_loop sp_loops_equal_f32_32
#include "kernels/loops/cpu_loops_vector.h"

/* ---- AVX-512 ---- */

#define BIT_MASKS
#define EQUAL_VALUES
#define TARGET AVX512
#define SHAPE F64_64
#include "kernels/loops/cpu_loops_shift.h"

#define EQUAL_VALUES
#define TARGET AVX2
#define SHAPE F64_8
#define NAME(name) name##_f64_8_by_64
#define TABLE const sp_loop sp_loops_equal_f64_8_by_64
#define SHIFT_BY_LANES(b) shift_by_lanes_f64_64(b)
#include "kernels/loops/cpu_loops_vector.h"

#define EQUAL_VALUES
#define TARGET AVX512
#define SHAPE F64_64
#define TABLE const sp_loop sp_loops_equal_f64_64
#include "kernels/loops/cpu_loops_vector.h"

#define EQUAL_VALUES
#define TARGET AVX512
#define SHAPE F32_64
#define TABLE const sp_loop sp_loops_equal_f32_64
#include "kernels/loops/cpu_loops_vector.h"
#endif
