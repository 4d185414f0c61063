/** Making series on the CPU. */
#include <math.h>

#include "philox.h"
#include "series.h"

/* a fused multiply-add that the processor lacks is a slow function of libm, with the same result: the loops are
   compiled for those that have it, too */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define WITH_FMA __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WITH_FMA
#endif

enum { STRETCH = 64 };

#define T double
#define NAME(x) x##_f64
#define FMA fma
#include "series_walk_impl.h"
#define T float
#define NAME(x) x##_f32
#define FMA fmaf
#include "series_walk_impl.h"

static spmm_status run(const sp_series_launch *l)
{
    const sp_series *const x = l->x;
    const int64_t groups = (x->count + SP_PHILOX_LANES - 1) / SP_PHILOX_LANES;
#pragma omp parallel for schedule(static) num_threads(l->threads)
    for (int64_t g = 0; g < groups; g++) {
        const int64_t m = g * SP_PHILOX_LANES, left = x->count - m;
        const int lanes = left < SP_PHILOX_LANES ? (int)left : SP_PHILOX_LANES;
        if (x->v.precision == SPMM_F64)
            walk_f64(x, l->walk, m, lanes);
        else
            walk_f32(x, l->walk, m, lanes);
    }
    return SPMM_OK;
}

static spmm_status run_serial(const sp_series_launch *l)
{
    for (int64_t m = 0; m < l->x->count; m++)
        if (l->x->v.precision == SPMM_F64)
            walk_one_f64(l->x, l->walk, m);
        else
            walk_one_f32(l->x, l->walk, m);
    return SPMM_OK;
}

const sp_series_ops sp_series_cpu_walk = {.run = run};
const sp_series_ops sp_series_cpu_walk_serial = {.run = run_serial};
