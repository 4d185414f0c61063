/** The serial reference products, deliberately simple: one fma per entry of the matrix and column of X, in
 *  storage order. They share no code with the kernels that are verified with them. */
#include "formats/serial.h"

#include <math.h>

#include "formats/format.h"
#include "formats/multivector.h"
#include "formats/summation.h"

enum { BLOCK = 64 }; /* number of columns of X for which a long row is summed at a time */

/** Returns the entries of row i; none if the format does not store rows contiguously. Kernels for such
 *  formats are verified with CSR. */
static inline sp_row_range row_of(const sp_matrix *m, int64_t i)
{
    sp_row_range (*const row)(const sp_matrix *, int64_t) = sp_formats[m->format]->row;
    return row ? row(m, i) : (sp_row_range){0, 0};
}

/* __builtin_fma is one instruction if the target has it, otherwise a call of fma() with the same result to
 * the bit. On x86-64, each product is compiled both with and without that instruction, and one of the two is
 * chosen at run time. */
#define FMA_C128(a, x, sum) SP_COMPLEX_FMA(__builtin_fma, a, x, sum)
#define FMA_C64(a, x, sum) SP_COMPLEX_FMA(__builtin_fmaf, a, x, sum)

#if defined(__x86_64__)
#define VALUE double
#define FMA __builtin_fma
#define NAME(name) name##_fma_f64
#define TARGET __attribute__((target("avx2,fma")))
#include "formats/serial_impl.h"

#define VALUE float
#define FMA __builtin_fmaf
#define NAME(name) name##_fma_f32
#define TARGET __attribute__((target("avx2,fma")))
#include "formats/serial_impl.h"

#define VALUE sp_c128
#define FMA FMA_C128
#define NAME(name) name##_fma_c128
#define TARGET __attribute__((target("avx2,fma")))
#include "formats/serial_impl.h"

#define VALUE sp_c64
#define FMA FMA_C64
#define NAME(name) name##_fma_c64
#define TARGET __attribute__((target("avx2,fma")))
#include "formats/serial_impl.h"
#endif

#define VALUE double
#define FMA __builtin_fma
#define NAME(name) name##_f64
#define TARGET
#include "formats/serial_impl.h"

#define VALUE float
#define FMA __builtin_fmaf
#define NAME(name) name##_f32
#define TARGET
#include "formats/serial_impl.h"

#define VALUE sp_c128
#define FMA FMA_C128
#define NAME(name) name##_c128
#define TARGET
#include "formats/serial_impl.h"

#define VALUE sp_c64
#define FMA FMA_C64
#define NAME(name) name##_c64
#define TARGET
#include "formats/serial_impl.h"

/** Computes rows [begin, end) of y = m x; rows of up to `chain` entries are one chain. */
static void product(const sp_matrix *m, int64_t begin, int64_t end, int64_t chain, const spmm_multivector *x,
                    spmm_multivector *y)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        SP_OF_TYPE(product_fma, m->precision)(m, begin, end, chain, x, y);
        return;
    }
#endif
    SP_OF_TYPE(product, m->precision)(m, begin, end, chain, x, y);
}

void sp_serial_product(const sp_matrix *m, int64_t begin, int64_t end, const spmm_multivector *x,
                       spmm_multivector *y)
{
    product(m, begin, end, SP_CHAIN, x, y);
}

void sp_serial_plain_product(const sp_matrix *m, int64_t begin, int64_t end, const spmm_multivector *x,
                             spmm_multivector *y)
{
    product(m, begin, end, INT64_MAX, x, y);
}

void sp_serial_bound(const sp_matrix *m, int64_t begin, int64_t end, const spmm_multivector *x, double *bound)
{
    const int64_t k = x->k;
    for (int64_t i = begin; i < end; i++) {
        const sp_row_range r = row_of(m, i);
        double *const sum = bound + i * k;
        for (int64_t j = 0; j < k; j++) sum[j] = 0;
        for (int64_t e = r.begin; e < r.end; e++) {
            const double a = sp_magnitude(sp_value_at(m->val, m->precision, e));
            for (int64_t j = 0; j < k; j++) sum[j] += a * sp_magnitude(sp_multivector_at(x, m->col[e], j));
        }
    }
}
