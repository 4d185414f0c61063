/** The kernel cpu_ell_transposed, the baseline OpenMP product on padded ELLPACK; transposes X first (see
 *  cpu_baseline_ell.h). */
#define ROW_BEGIN(a, i) ((i) * (a)->width)
#define ROW_LENGTH(a, i) ((a)->width)
#include "kernels/baseline/cpu_baseline_ell.h"

SP_KERNEL(cpu_ell_transposed) = {run, sp_baseline_prepare, sp_baseline_release, NULL, NULL, NULL};
