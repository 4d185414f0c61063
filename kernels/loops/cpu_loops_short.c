/** Loops for products with one column of X on runs of rows of one to four entries each. For such rows the
 *  loops of cpu_loops_vector.h spend most of their time between rows. The loops below are in a separate file,
 *  so that they do not change how the compiler optimizes the other loops. */
#include "kernels/loops/cpu_loops.h"

#if defined(__x86_64__)
#include "kernels/loops/cpu_loops_x86.h"

/** Defines the loop for rows of N entries each, each one chain. AT(e) is the value of entry e of the row,
 *  and VALUES the address of value 0 of A, in the type STORED. */
#define SHORT(VALUE, NAME, FMA, N, STORED, VALUES, AT)                                           \
    AVX2 static void NAME##_##N(sp_block *b)                                                     \
    {                                                                                            \
        const int64_t first = b->first, at = b->begin[first], stride = b->begin[first + 1] - at; \
        const int64_t rows = b->last - first;                                                    \
        const int32_t *col = b->col + at;                                                        \
        const STORED *val = (const STORED *)(VALUES) + at;                                       \
        const VALUE common = b->common ? *(const VALUE *)b->common : 0;                          \
        const VALUE *const x = b->x;                                                             \
        VALUE *const y = b->y;                                                                   \
        (void)common;                                                                            \
        for (int64_t i = 0; i < rows; i++, col += stride, val += stride) {                       \
            VALUE sum = 0;                                                                       \
            SP_UNROLL for (int e = 0; e < (N); e++) sum = FMA(AT(e), x[col[e]], sum);            \
            y[b->row ? b->row[first + i] : first + i] = sum;                                     \
        }                                                                                        \
        b->first = b->last;                                                                      \
    }
#define OWN(e) val[e]
#define COMMON(e) common
#define ALL(VALUE, NAME, FMA, STORED, VALUES, AT)  \
    SHORT(VALUE, NAME, FMA, 1, STORED, VALUES, AT) \
    SHORT(VALUE, NAME, FMA, 2, STORED, VALUES, AT) \
    SHORT(VALUE, NAME, FMA, 3, STORED, VALUES, AT) SHORT(VALUE, NAME, FMA, 4, STORED, VALUES, AT)
ALL(double, f64, __builtin_fma, double, b->val, OWN)
ALL(float, f32, __builtin_fmaf, float, b->val, OWN)
ALL(double, f64_equal, __builtin_fma, double, b->val, COMMON)
ALL(float, f32_equal, __builtin_fmaf, float, b->val, COMMON)
ALL(double, narrow, __builtin_fma, float, b->narrow, OWN)

sp_loop sp_choose_short(sp_isa isa, spmm_precision precision, int64_t n, const sp_block *b)
{
    static const sp_loop loops[2][3][4] = {
        [SPMM_F64] = {{f64_1, f64_2, f64_3, f64_4},
                      {f64_equal_1, f64_equal_2, f64_equal_3, f64_equal_4},
                      {narrow_1, narrow_2, narrow_3, narrow_4}},
        [SPMM_F32] = {{f32_1, f32_2, f32_3, f32_4}, {f32_equal_1, f32_equal_2, f32_equal_3, f32_equal_4}}};
    return isa == SP_ISA_GENERIC || n < 1 || n > 4 || sp_is_complex(precision)
               ? NULL
               : loops[precision][b->common   ? 1
                                  : b->narrow ? 2
                                              : 0][n - 1];
}
#else
sp_loop sp_choose_short(sp_isa isa, spmm_precision precision, int64_t n, const sp_block *b)
{
    (void)isa, (void)precision, (void)n, (void)b;
    return NULL;
}
#endif
