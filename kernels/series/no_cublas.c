/** Replaces cuda_series_blas.cu in CUDA builds that found no cuBLAS. */
#include "kernels/series/series.h"

const sp_series_ops sp_series_cublas = {.missing = "this build found no cuBLAS"};
