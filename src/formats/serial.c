/** The serial reference products, plain on purpose: one fma per entry of the matrix and column of X, in
 *  storage order, directly into Y. They share no code with the kernels that are checked against them. */
#include "formats/serial.h"

#include <math.h>

#include "formats/multivector.h"

/** The entries of a row: [begin, end) in the arrays of the matrix. */
typedef struct row {
    int64_t begin, end;
} row;

static row row_of(const sp_matrix *m, int64_t i)
{
    row r = {0, 0};
    switch (m->format) {
    case SPMM_CSR: return (row){m->row_start[i], m->row_start[i + 1]};
    case SPMM_ELL_NOPAD: return (row){m->row_start[i], m->row_start[i] + m->nz_per_row[i]};
    case SPMM_ELL:
        r.begin = r.end = i * m->width;
        while (r.end < r.begin + m->width && m->col[r.end] >= 0) r.end++;
        return r;
    case SPMM_FORMAT_AUTO:
    case SPMM_SELL:
    case SPMM_PANEL: break; /* not stored row by row: kernels for these formats are checked against CSR */
    }
    return r;
}

/* __builtin_fma is one instruction if the target has it, otherwise a call of fma() with the same result to
 * the bit. On x86-64, each product is compiled both with and without that instruction, and one of the two is
 * chosen at run time. */
#if defined(__x86_64__)
#define VALUE double
#define FMA __builtin_fma
#define NAME(name) name##_f64_fma
#define TARGET __attribute__((target("avx2,fma")))
#include "formats/serial_impl.h"

#define VALUE float
#define FMA __builtin_fmaf
#define NAME(name) name##_f32_fma
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

void sp_serial_product(const sp_matrix *m, int64_t begin, int64_t end, const spmm_multivector *x,
                       spmm_multivector *y)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        (m->precision == SPMM_F64 ? product_f64_fma : product_f32_fma)(m, begin, end, x, y);
        return;
    }
#endif
    (m->precision == SPMM_F64 ? product_f64 : product_f32)(m, begin, end, x, y);
}

void sp_serial_bound(const sp_matrix *m, int64_t begin, int64_t end, const spmm_multivector *x, double *bound)
{
    const int64_t k = x->k;
    for (int64_t i = begin; i < end; i++) {
        const row r = row_of(m, i);
        double *const sum = bound + i * k;
        for (int64_t j = 0; j < k; j++) sum[j] = 0;
        for (int64_t e = r.begin; e < r.end; e++) {
            const double a = fabs(sp_value_get(m->val, m->precision, e));
            for (int64_t j = 0; j < k; j++) sum[j] += a * fabs(sp_multivector_get(x, m->col[e], j));
        }
    }
}
