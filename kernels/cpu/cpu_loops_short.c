/** Loops for products with one column of X on runs of rows of one to four entries each. For such rows the
 *  loops of cpu_loops_vector.h spend most of their time between rows. They are in a separate file, so that
 *  they do not change how the compiler optimizes the other loops. */
#include "kernels/cpu/cpu_choose.h"

#if defined(__x86_64__)
#include "kernels/cpu/cpu_loops_x86.h"

/** Defines the loop for rows of N entries each, each one chain. AT(e) is the value of entry e of the row. */
#define SHORT(VALUE, NAME, FMA, N, AT)                                                           \
    AVX2 static void NAME##_##N(sp_block *b)                                                     \
    {                                                                                            \
        const int64_t first = b->first, at = b->begin[first], stride = b->begin[first + 1] - at; \
        const int64_t rows = b->last - first;                                                    \
        const int32_t *col = b->col + at;                                                        \
        const VALUE *val = (const VALUE *)b->val + at;                                           \
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
#define ALL(VALUE, NAME, FMA, AT)  \
    SHORT(VALUE, NAME, FMA, 1, AT) \
    SHORT(VALUE, NAME, FMA, 2, AT) SHORT(VALUE, NAME, FMA, 3, AT) SHORT(VALUE, NAME, FMA, 4, AT)
ALL(double, f64, __builtin_fma, OWN)
ALL(float, f32, __builtin_fmaf, OWN)
ALL(double, f64_equal, __builtin_fma, COMMON)
ALL(float, f32_equal, __builtin_fmaf, COMMON)

sp_loop sp_choose_short(sp_isa isa, spmm_precision precision, int64_t n, int equal_values)
{
    static const sp_loop loops[2][2][4] = {
        [SPMM_F64] = {{f64_1, f64_2, f64_3, f64_4}, {f64_equal_1, f64_equal_2, f64_equal_3, f64_equal_4}},
        [SPMM_F32] = {{f32_1, f32_2, f32_3, f32_4}, {f32_equal_1, f32_equal_2, f32_equal_3, f32_equal_4}}};
    return isa == SP_ISA_GENERIC || n < 1 || n > 4 ? NULL : loops[precision][equal_values][n - 1];
}
#else
sp_loop sp_choose_short(sp_isa isa, spmm_precision precision, int64_t n, int equal_values)
{
    (void)isa, (void)precision, (void)n, (void)equal_values;
    return NULL;
}
#endif
