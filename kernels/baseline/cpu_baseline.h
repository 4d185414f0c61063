/** What the OpenMP kernels of the course reports share: chunks of rows, and X transposed. */
#ifndef SP_CPU_BASELINE_H
#define SP_CPU_BASELINE_H

#include <math.h>

#include "base/cpu_isa.h"
#include "kernels/kernel.h"

/** Iterations of a static chunk: `count` over the threads, rounded down to a multiple of 16, so that two
 *  threads seldom write into one cache line; at least one. */
int64_t sp_baseline_chunk(int64_t count, int threads);

/** X transposed, [k x columns]: the workspace that prepare() makes, and the copy that every product starts
 *  with. */
spmm_status sp_baseline_prepare(const sp_setup *setup, void **state);
void sp_baseline_transpose(const sp_launch *launch);
void sp_baseline_release(void *state);

/* The reports' partial_sum, as the reference has it: fma from +0. */
static inline double sp_baseline_fma_f64(double a, double x, double sum) { return fma(a, x, sum); }
static inline float sp_baseline_fma_f32(float a, float x, float sum) { return fmaf(a, x, sum); }

/* The products are compiled for processors with that instruction and for those where it is a call, which has the same
 * bits: PRODUCT(TARGET, VALUE, SUFFIX, NAME) is expanded for each and for both precisions, and SP_BASELINE_PRODUCT(a) is
 * the function of a matrix. */
#if defined(__x86_64__)
#define SP_BASELINE_PRODUCTS(PRODUCT)                                          \
    PRODUCT(, double, f64, product_f64)                                        \
    PRODUCT(, float, f32, product_f32)                                         \
    PRODUCT(__attribute__((target("avx2,fma"))), double, f64, product_f64_fma) \
    PRODUCT(__attribute__((target("avx2,fma"))), float, f32, product_f32_fma)
#define SP_BASELINE_PRODUCT(a)                                                                 \
    (sp_cpu_isa() == SP_ISA_GENERIC ? ((a)->precision == SPMM_F64 ? product_f64 : product_f32) \
                                    : ((a)->precision == SPMM_F64 ? product_f64_fma : product_f32_fma))
#else
#define SP_BASELINE_PRODUCTS(PRODUCT)   \
    PRODUCT(, double, f64, product_f64) \
    PRODUCT(, float, f32, product_f32)
#define SP_BASELINE_PRODUCT(a) ((a)->precision == SPMM_F64 ? product_f64 : product_f32)
#endif

#endif
