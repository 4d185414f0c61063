/** Generates series on the CPU. */
#include <math.h>

#include "base/cpu_isa.h"
#include "kernels/series/philox.h"
#include "kernels/series/series.h"

enum { STRETCH = 64 };

/* Without FMA instructions, fma() is a slow function of libm, with the same result. So the generator loops
 * are also compiled for instruction sets that include FMA. */
#define T double
#define NAME(x) x##_f64
#define FMA fma
#define TARGET
#include "kernels/series/series_walk_impl.h"
#define T float
#define NAME(x) x##_f32
#define FMA fmaf
#define TARGET
#include "kernels/series/series_walk_impl.h"
#if defined(__x86_64__)
#define T double
#define NAME(x) x##_f64_avx2
#define FMA fma
#define TARGET __attribute__((target("avx2,fma")))
#include "kernels/series/series_walk_impl.h"
#define T float
#define NAME(x) x##_f32_avx2
#define FMA fmaf
#define TARGET __attribute__((target("avx2,fma")))
#include "kernels/series/series_walk_impl.h"
#define T double
#define NAME(x) x##_f64_avx512
#define FMA fma
#define TARGET __attribute__((target("avx512f,avx512vl,avx2,fma")))
#include "kernels/series/series_walk_impl.h"
#define T float
#define NAME(x) x##_f32_avx512
#define FMA fmaf
#define TARGET __attribute__((target("avx512f,avx512vl,avx2,fma")))
#include "kernels/series/series_walk_impl.h"
#endif

/** The functions that generate series of one type, compiled for one instruction set. */
typedef struct walks {
    void (*lanes)(const sp_series *x, const sp_walk *w, int64_t m, int lanes);
    void (*one)(const sp_series *x, const sp_walk *w, int64_t m);
} walks;

static walks walks_of(const sp_series *x)
{
    static const walks list[][2] = {
        [SP_ISA_GENERIC] = {{walk_f64, walk_one_f64}, {walk_f32, walk_one_f32}},
#if defined(__x86_64__)
        [SP_ISA_AVX2] = {{walk_f64_avx2, walk_one_f64_avx2}, {walk_f32_avx2, walk_one_f32_avx2}},
        [SP_ISA_AVX512] = {{walk_f64_avx512, walk_one_f64_avx512}, {walk_f32_avx512, walk_one_f32_avx512}},
#endif
    };
    return list[sp_cpu_isa()][x->v.precision];
}

static spmm_status cpu_series_walk_run(const sp_series_launch *l)
{
    const sp_series *const x = l->x;
    const walks walk = walks_of(x);
    const int64_t groups = (x->count + SP_PHILOX_LANES - 1) / SP_PHILOX_LANES;
#pragma omp parallel for schedule(static) num_threads(l->threads)
    for (int64_t g = 0; g < groups; g++) {
        const int64_t m = g * SP_PHILOX_LANES, left = x->count - m;
        walk.lanes(x, l->walk, m, left < SP_PHILOX_LANES ? (int)left : SP_PHILOX_LANES);
    }
    return SPMM_OK;
}

static spmm_status run_serial(const sp_series_launch *l)
{
    const walks walk = walks_of(l->x);
    for (int64_t m = 0; m < l->x->count; m++) walk.one(l->x, l->walk, m);
    return SPMM_OK;
}

const sp_series_ops sp_series_cpu_walk = {.run = cpu_series_walk_run};
const sp_series_ops sp_series_cpu_walk_serial = {.run = run_serial};
