/** Computes the gradient of the values of A on cores: threads take equal numbers of entries, whatever the
 *  lengths of rows. */
#include "base/fp_environment.h"
#include "base/search.h"
#include "base/value_type.h"
#include "kernels/cpu/cpu_choose.h"

/** What the loops need. */
typedef struct gradient_dots {
    const spmm_csr *a;
    const void *g, *x;
    void *values;
    int64_t k, ldg, ldx, stride; /* stride: elements from one value to the next */
    int64_t prefetch;            /* rows of X are prefetched this many entries ahead; 0: they are not
                                    prefetched */
} gradient_dots;

/** Computes entries begin .. end - 1. */
typedef void dots_loop(const gradient_dots *d, int64_t begin, int64_t end);

/** Returns the row with entry e. */
static int64_t row_with(const spmm_csr *a, int64_t e)
{
    return sp_lower_bound(a->irp, 1, a->rows, e + 1) - 1;
}

/** Defines the loop for any processor. */
#define LOOP(VALUE, NAME, FMA)                                                                               \
    static VALUE dot_##NAME(const VALUE *g, const VALUE *x, int64_t k)                                       \
    {                                                                                                        \
        VALUE s[SP_SUMS] = {0};                                                                              \
        int64_t c = 0;                                                                                       \
        for (; c + SP_SUMS <= k; c += SP_SUMS)                                                               \
            for (int l = 0; l < SP_SUMS; l++) s[l] = FMA(g[c + l], x[c + l], s[l]);                          \
        for (int l = 0; c + l < k; l++) s[l] = FMA(g[c + l], x[c + l], s[l]);                                \
        for (int h = SP_SUMS / 2; h > 0; h /= 2)                                                             \
            for (int l = 0; l < h; l++) s[l] += s[l + h];                                                    \
        return s[0];                                                                                         \
    }                                                                                                        \
    static void loop_##NAME(const gradient_dots *d, int64_t begin, int64_t end)                              \
    {                                                                                                        \
        const spmm_csr *const a = d->a;                                                                      \
        int64_t i = row_with(a, begin);                                                                      \
        for (int64_t e = begin; e < end; e++) {                                                              \
            while (e >= a->irp[i + 1]) i++;                                                                  \
            ((VALUE *)d->values)[e * d->stride] = dot_##NAME((const VALUE *)d->g + i * d->ldg,               \
                                                             (const VALUE *)d->x + a->ja[e] * d->ldx, d->k); \
        }                                                                                                    \
    }
LOOP(double, f64, __builtin_fma)
LOOP(float, f32, __builtin_fmaf)

#if defined(__x86_64__)
#include "kernels/loops/cpu_loops_x86.h"

/** Returns the sums of the elements of t[n] in element n, in the order of SP_SUMS, plus zero. */
AVX2 SP_INLINE static __m256d sums_f64(const __m256d *t, __m256d zero)
{
    __m256d u[2];
    SP_UNROLL for (int n = 0; n < 2; n++) u[n] = _mm256_add_pd(_mm256_permute2f128_pd(t[n], t[n + 2], 0x20),
                                                               _mm256_permute2f128_pd(t[n], t[n + 2], 0x31));
    return _mm256_add_pd(_mm256_add_pd(_mm256_unpacklo_pd(u[0], u[1]), _mm256_unpackhi_pd(u[0], u[1])), zero);
}

AVX2 SP_INLINE static __m256 sums_f32(const __m256 *t, __m256 zero)
{
    __m256 u[4], v[2];
    SP_UNROLL for (int n = 0; n < 4; n++) u[n] = _mm256_add_ps(_mm256_permute2f128_ps(t[n], t[n + 4], 0x20),
                                                               _mm256_permute2f128_ps(t[n], t[n + 4], 0x31));
    SP_UNROLL for (int n = 0; n < 2; n++) v[n] = _mm256_add_ps(
        _mm256_shuffle_ps(u[2 * n], u[2 * n + 1], 0x44), _mm256_shuffle_ps(u[2 * n], u[2 * n + 1], 0xee));
    return _mm256_add_ps(
        _mm256_add_ps(_mm256_shuffle_ps(v[0], v[1], 0x88), _mm256_shuffle_ps(v[0], v[1], 0xdd)), zero);
}

#define HALVES_F64(v) _mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1))
#define HALVES_F32(v) \
    _mm256_add_ps(_mm512_castps512_ps256(v), _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(v), 1)))

#define SHAPE F64_32
#define HALF __m256d
#define SUMS sums_f64
#include "kernels/cpu/cpu_values_gradient_loops.h"

#define SHAPE F32_32
#define HALF __m256
#define SUMS sums_f32
#include "kernels/cpu/cpu_values_gradient_loops.h"

#define SHAPE F64_64
#define HALF __m256d
#define HALVES HALVES_F64
#define SUMS sums_f64
#include "kernels/cpu/cpu_values_gradient_loops.h"

#define SHAPE F32_64
#define HALF __m256
#define HALVES HALVES_F32
#define SUMS sums_f32
#include "kernels/cpu/cpu_values_gradient_loops.h"

/** Returns the loop for this processor. */
static dots_loop *loop_for(spmm_precision p)
{
    switch (sp_cpu_isa()) {
    case SP_ISA_AVX512: return p == SPMM_F64 ? loop_f64_64 : loop_f32_64;
    case SP_ISA_AVX2: return p == SPMM_F64 ? loop_f64_32 : loop_f32_32;
    default: return SP_OF_REAL(loop, p);
    }
}
#else
#define loop_for(p) SP_OF_REAL(loop, p)
#endif

void sp_cpu_values_gradient(const spmm_csr *a, const spmm_multivector *g, const spmm_multivector *x,
                            spmm_multivector *values, int threads)
{
    enum {
        FEW = 1 << 14,       /* with fewer entries, choosing a distance would take too long */
        NEAR_BYTES = 8 << 20 /* of an X whose rows come from caches: loads ahead of time suffice */
    };
    dots_loop *const loop = loop_for(a->precision);
    gradient_dots d = {.a = a,
                       .g = g->data,
                       .x = x->data,
                       .values = values->data,
                       .k = x->k,
                       .ldg = g->ld,
                       .ldx = x->ld,
                       .stride = values->layout == SPMM_ROW_MAJOR ? values->ld : 1};
    if (a->nnz == 0) return;
    const sp_matrix view = {.rows = a->rows, .nnz = a->nnz, .col = a->ja};
    if (a->nnz > FEW && a->cols * x->ld * sp_value_size(a->precision) > NEAR_BYTES)
        d.prefetch = sp_choose_prefetch(&view, a->irp, a->irp + 1, x->k * sp_value_size(a->precision), 1);
#pragma omp parallel num_threads(threads)
    {
        SP_DEFAULT_FP;
#pragma omp for schedule(static)
        for (int t = 0; t < threads; t++) {
            const int64_t begin = sp_partition_share(a->nnz, threads, t);
            const int64_t end = sp_partition_share(a->nnz, threads, t + 1);
            if (begin < end) loop(&d, begin, end);
        }
    }
}
