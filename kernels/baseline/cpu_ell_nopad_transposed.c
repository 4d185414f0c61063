/** The kernel cpu_ell_nopad_transposed, the baseline OpenMP product on ELLPACK without padding; transposes X
 *  first (see cpu_baseline_ell.h). */
#define ROW_BEGIN(a, i) ((a)->row_start[i])
#define ROW_LENGTH(a, i) ((a)->nz_per_row[i])
#include "kernels/baseline/cpu_baseline_ell.h"

SP_KERNEL(cpu_ell_nopad_transposed) = {run, sp_baseline_prepare, sp_baseline_release, NULL, NULL, NULL};
