/** Replaces cpu_series_blas.c in builds that found no BLAS library. */
#include "kernels/series/series.h"

const sp_series_ops sp_series_cpu_blas = {
    .missing = "this build found no BLAS: install libopenblas-dev, then make"};
