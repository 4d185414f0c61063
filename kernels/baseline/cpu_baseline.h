/** What the OpenMP kernels of the course reports share: chunk sizes, the fma of a sum, and X transposed. */
#ifndef SP_CPU_BASELINE_H
#define SP_CPU_BASELINE_H

#include <math.h>

#include "base/cpu_isa.h"
#include "kernels/kernel.h"

/** Returns the iterations per static chunk: `count` divided by the threads, rounded down to a multiple of 16, so
 *  that two threads seldom write to one cache line; at least 1. */
int64_t sp_baseline_chunk(int64_t count, int threads);

/** A kernel's prepare(): allocates the workspace for X transposed, [k x columns of A].
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_baseline_prepare(const sp_setup *setup, void **state);

/** Copies X, transposed, to the workspace launch->state: the first step of every product. */
void sp_baseline_transpose(const sp_launch *launch);

/** A kernel's release(): frees the workspace; accepts NULL. */
void sp_baseline_release(void *state);

/** One step of the reports' partial_sum. It is an fma as in the serial product, so that the bits are the same. */
static inline double sp_baseline_fma_f64(double a, double x, double sum) { return fma(a, x, sum); }

/** The same in f32. */
static inline float sp_baseline_fma_f32(float a, float x, float sum) { return fmaf(a, x, sum); }

/* The products are compiled twice: for processors with an fma instruction, and for those where fma is a library
 * call, with the same bits. SP_BASELINE_PRODUCTS expands PRODUCT(TARGET, VALUE, SUFFIX, NAME) for each of the two
 * and for both precisions; SP_BASELINE_PRODUCT(a) is the function for a matrix on this processor. */
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
