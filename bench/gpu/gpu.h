/** bench_gpu: every CUDA kernel of the registry beside cuSPARSE, in one process. What its files share. */
#ifndef BENCH_GPU_H
#define BENCH_GPU_H

#include "device/device.h"
#include "kernels/kernel.h"
#include "../common/bench.h"

/* ---- own_kernels.c ---- */

/** The kernels of the registry as an adaptor; form i is sp_kernels()[i] and is for CUDA's only. */
extern const peer own_kernels_peer;

/* ---- matrix_on_gpu.c: the matrix of the run, X and Y in the GPU's memory ---- */

spmm_status gpu_load(run *r);
void gpu_unload(run *r);
/** X and Y of the case, cut from what gpu_load() made. */
spmm_status gpu_arrays(run *r);
/** Runs a contender and checks sampled rows against sums made on the host, and all of Y, on the GPU, against the first
 *  contender's of that layout that agreed with those. */
const char *gpu_check(run *r, contender *c);

/** Sets is_auto to the kernel that `auto` takes for K, and leaves out what is not asked for. */
void gpu_choose(run *r);

/** Seconds that the least traffic of a product takes at `copy` bytes a second. */
double gpu_dram_seconds(const run *r, double copy);

/* ---- summary.c ---- */

/** What a result's value[] holds: times in ms of the best of ours, of what auto takes, of the best SpMM of the peer's and of
 *  its best SpMV become these quotients; above 1, the second is the faster. */
enum { PEER_BEST, PEER_AUTO, VECTOR_BEST, VECTOR_AUTO, BEST_AUTO };

/** Geometric means and worst cases. */
void summary_print(run *r);

#endif
