/** Computes the numerators of Pearson's coefficients on the CPU without a BLAS library: for builds that have
 *  none, and to check the results of a BLAS independently. */
#include "base/value_type.h"
#include "kernels/series/series.h"

#define T double
#define NAME(x) x##_f64
#include "kernels/series/series_dots_impl.h"
#define T float
#define NAME(x) x##_f32
#include "kernels/series/series_dots_impl.h"

static spmm_status dots(const sp_dots *d)
{
    SP_OF_REAL(dots, d->precision)(d);
    return SPMM_OK;
}

const sp_series_ops sp_series_cpu_dots = {.dots = dots};
