/** Replaces the CUDA functions and kernels of series.h in builds without CUDA. The kernels are still listed,
 *  but marked as missing. */
#include "base/status.h"
#include "kernels/series/series.h"

#define CPU(id)
#define CUDA(id) const sp_series_ops sp_series_##id = {.missing = "this build was made without CUDA"};
#define SERIES(id, device, step, layout, operators, what) device(id)
#include "kernels/series/series.def"
#undef SERIES

static spmm_status refuse(void)
{
    return sp_fail(SPMM_ERR_NO_DEVICE, "series on a GPU: this build was made without CUDA");
}

spmm_status sp_cuda_center(const sp_series *x, const sp_spread *spread, spmm_multivector *z)
{
    (void)x, (void)spread, (void)z;
    return refuse();
}

spmm_status sp_cuda_transpose(const sp_series *from, sp_series *to)
{
    (void)from, (void)to;
    return refuse();
}

spmm_status sp_cuda_histogram(const sp_tile *tile, sp_histogram *histogram)
{
    (void)tile, (void)histogram;
    return refuse();
}

spmm_status sp_cuda_find(const sp_tile *tile, double low, double high, sp_pair *pair, int64_t room,
                         int64_t *found)
{
    (void)tile, (void)low, (void)high, (void)pair, (void)room;
    *found = 0;
    return refuse();
}

spmm_status sp_cuda_combine(const spmm_multivector *z, const double *weight, double *sum)
{
    (void)z, (void)weight, (void)sum;
    return refuse();
}

spmm_status sp_cuda_project(const spmm_multivector *z, const double *sum, double *dot)
{
    (void)z, (void)sum, (void)dot;
    return refuse();
}
