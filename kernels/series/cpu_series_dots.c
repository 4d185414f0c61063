/** Computes the numerators of Pearson's coefficients on the CPU without a BLAS library: for builds that have
 *  none, and to check the results of a BLAS independently. */
#include "kernels/series/series.h"

#define T double
#define NAME(x) x##_f64
#include "kernels/series/series_dots_impl.h"
#define T float
#define NAME(x) x##_f32
#include "kernels/series/series_dots_impl.h"

static spmm_status dots(const sp_dots *d)
{
    if (d->precision == SPMM_F64)
        dots_f64(d);
    else
        dots_f32(d);
    return SPMM_OK;
}

const sp_series_ops sp_series_cpu_dots = {.dots = dots};
