/** Helpers of the baseline OpenMP kernels (docs/KERNELS.md): chunks of rows, the fma step of a sum, and the
 *  transposition of X. */
#ifndef SP_CPU_BASELINE_H
#define SP_CPU_BASELINE_H

#include <math.h>

#include "base/cpu_isa.h"
#include "kernels/kernel.h"

/** Returns the number of iterations per chunk of a static schedule: the number of rows divided by the number
 *  of threads, rounded down to a multiple of 16, so that two threads seldom write to the same cache line; at
 *  least 1. */
int64_t sp_baseline_chunk(int64_t rows, int threads);

/** Computes the rows [begin, end) of Y. */
typedef void sp_baseline_product(const sp_launch *launch, int64_t begin, int64_t end);

/** Calls `product` for all rows of A: the threads of launch->ranges take chunks of sp_baseline_chunk() rows
 *  in turn, as by schedule(static, chunk) of a loop over the rows. */
void sp_baseline_rows(const sp_launch *launch, sp_baseline_product *product);

/** The prepare() of kernels that transpose X: allocates the workspace for X transposed, [k x columns of A].
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_baseline_prepare(const sp_setup *setup, void **state);

/** Writes X transposed to the workspace launch->state; this is the first step of each product. */
void sp_baseline_transpose(const sp_launch *launch);

/** The release() of kernels that transpose X: frees the workspace for X transposed; accepts NULL. */
void sp_baseline_release(void *state);

/** Returns sum + a * x, rounded once: one step of the sum that is an element of Y. The fma makes the result
 *  equal to the serial product bit for bit in rows of up to SP_CHAIN entries. */
static inline double sp_baseline_fma_f64(double a, double x, double sum) { return fma(a, x, sum); }

/** Returns sum + a * x in f32, rounded once; see sp_baseline_fma_f64(). */
static inline float sp_baseline_fma_f32(float a, float x, float sum) { return fmaf(a, x, sum); }

/* The products are compiled twice: for processors that have an fma instruction, and for the others, on which
 * fma() is a library call that gives the same bits. SP_BASELINE_PRODUCTS(PRODUCT) expands PRODUCT(TARGET,
 * VALUE, SUFFIX, NAME) for both cases and for both precisions. SP_BASELINE_PRODUCT(a) is the function to call
 * for the matrix a on this processor. */
#if defined(__x86_64__)
#define SP_BASELINE_PRODUCTS(PRODUCT)                                          \
    PRODUCT(, double, f64, product_f64)                                        \
    PRODUCT(, float, f32, product_f32)                                         \
    PRODUCT(__attribute__((target("avx2,fma"))), double, f64, product_fma_f64) \
    PRODUCT(__attribute__((target("avx2,fma"))), float, f32, product_fma_f32)
#define SP_BASELINE_PRODUCT(a)                                            \
    (sp_cpu_isa() == SP_ISA_GENERIC ? SP_OF_REAL(product, (a)->precision) \
                                    : SP_OF_REAL(product_fma, (a)->precision))
#else
#define SP_BASELINE_PRODUCTS(PRODUCT)   \
    PRODUCT(, double, f64, product_f64) \
    PRODUCT(, float, f32, product_f32)
#define SP_BASELINE_PRODUCT(a) SP_OF_REAL(product, (a)->precision)
#endif

#endif
