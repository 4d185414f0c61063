/** Stands in for cpu_series_blas.c where the build found no BLAS. */
#include "kernels/series/series.h"

const sp_series_ops sp_series_cpu_blas = {.missing = "this build found no BLAS (libopenblas-dev has one)"};
