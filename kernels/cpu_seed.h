/** What the OpenMP kernels of the course reports share: chunks of rows, and X transposed. */
#ifndef SP_CPU_SEED_H
#define SP_CPU_SEED_H

#include <math.h>

#include "kernel.h"

/** Iterations of a static chunk: `count` over the threads, rounded down to a multiple of 16, so that two
 *  threads seldom write into one cache line; at least one. */
int64_t sp_seed_chunk(int64_t count, int threads);

/** X transposed, [k x columns]: the workspace that prepare() makes, and the copy that every product starts
 *  with. */
spmm_status sp_seed_prepare(const sp_setup *setup, void **state);
void sp_seed_transpose(const sp_launch *launch);
void sp_seed_release(void *state);

/* The reports' partial_sum, as the reference has it: fma from +0. */
static inline double sp_seed_fma_f64(double a, double x, double sum) { return fma(a, x, sum); }
static inline float sp_seed_fma_f32(float a, float x, float sum) { return fmaf(a, x, sum); }

#if defined(__x86_64__)
/* one instruction instead of a call where the processor has it; the same bits either way */
#define SP_SEED_CLONES __attribute__((target_clones("fma", "default")))
#else
#define SP_SEED_CLONES
#endif

#endif
