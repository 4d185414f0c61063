/** bench_gpu: every CUDA kernel of the registry beside cuSPARSE, in one process. What its files share. */
#ifndef BENCH_GPU_H
#define BENCH_GPU_H

#include "device/device.h"
#include "kernels/kernel.h"
#include "product/choose.h"
#include "../common/bench.h"

/* ---- own_kernels.c ---- */

/** The kernels of the registry as an adaptor; form i is sp_kernels()[i]. Only forms of CUDA kernels are
 *  used. */
extern const peer_adaptor own_kernels_peer;

/* ---- matrix_on_gpu.c: the matrix of the run, X and Y in the GPU's memory ---- */

spmm_status gpu_load(run *r);
void gpu_unload(void);
/** Sets X and Y of the case: parts of the arrays that gpu_load() allocated. */
spmm_status gpu_arrays(run *r);
/** Runs a contender and checks sampled rows against the reference, and all of Y, on the GPU, against the Y of
 *  the first contender of its layout that was right. */
const char *gpu_check(run *r, contender *c);

/** Sets is_auto for the kernel that `auto` selects for K, and skip for contenders that were not requested. */
void gpu_choose(run *r);

/** The features of the matrix of the run. */
const sp_features *gpu_features(void);

/** Returns 1 for cuSPARSE's transposed operation, on A^T. */
int gpu_is_transposed(const contender *c);

/** Returns the seconds of a product's least traffic at `copy` bytes per second. */
double gpu_dram_seconds(const run *r, double copy);

#endif
