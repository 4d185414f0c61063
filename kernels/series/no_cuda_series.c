/** Replaces the CUDA functions and kernels of series.h in builds without CUDA. The kernels are still listed,
 *  but marked as missing. */
#include "base/refuse.h"
#include "kernels/series/series.h"

#define CPU(id)
#define CUDA(id) const sp_series_ops sp_series_##id = {.missing = "this build was made without CUDA"};
#define SERIES(id, device, step, layout, operators, what) device(id)
#include "kernels/series/series.def"
#undef SERIES

static spmm_status refuse(void)
{
    return sp_fail(SPMM_ERR_NO_DEVICE, "a GPU cannot process series: this build was made without CUDA");
}

REFUSE(sp_cuda_center, const sp_series *x, const sp_spread *spread, spmm_multivector *z)
REFUSE(sp_cuda_transpose, const sp_series *from, sp_series *to)
REFUSE(sp_cuda_histogram, const sp_tile *tile, sp_histogram *histogram)
REFUSE_EMPTY(sp_cuda_find, *found = 0, const sp_tile *tile, double low, double high, sp_pair *pair,
             int64_t room, int64_t *found)
REFUSE(sp_cuda_combine, const spmm_multivector *z, const double *weight, double *sum)
REFUSE(sp_cuda_project, const spmm_multivector *z, const double *sum, double *dot)
