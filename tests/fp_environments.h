/** Floating-point environments that a caller of the library may have set: traps, another rounding mode,
 *  subnormal numbers flushed. Processors and C libraries without one of these keep the default. */
#ifndef SP_FP_ENVIRONMENTS_H
#define SP_FP_ENVIRONMENTS_H

#include <fenv.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

typedef enum fp_environment {
    FP_DEFAULT,
    FP_TRAPS, /* invalid operations, divisions by zero and overflows end the process */
    FP_FLUSH,
    FP_UP,
    FP_DOWN,
    FP_TO_ZERO,
    FP_UP_FLUSH_TRAPS,
    FP_ENVIRONMENTS
} fp_environment;

/** Sets the environment of the calling thread. Flags are cleared. */
static inline void fp_set(fp_environment e)
{
    static const int rounding[] = {FE_TONEAREST, FE_TONEAREST,  FE_TONEAREST, FE_UPWARD,
                                   FE_DOWNWARD,  FE_TOWARDZERO, FE_UPWARD};
    fesetenv(FE_DFL_ENV);
    feclearexcept(FE_ALL_EXCEPT);
    fesetround(rounding[e]);
    if (e == FP_TRAPS || e == FP_UP_FLUSH_TRAPS) feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
#if defined(__SSE2__)
    if (e == FP_FLUSH || e == FP_UP_FLUSH_TRAPS) _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
}

/** Returns 1 if the calling thread has the environment that fp_set() set, and no flag but "inexact" has been
 *  raised. */
static inline int fp_kept(fp_environment e)
{
    fenv_t now;
    const int flags = fetestexcept(FE_ALL_EXCEPT & ~FE_INEXACT), rounding = fegetround(),
              traps = fegetexcept();
    int same = flags == 0;
#if defined(__SSE2__)
    const unsigned inexact = 0x20, csr = _mm_getcsr() & ~inexact;
#endif
    fegetenv(&now);
    fp_set(e);
    same &= rounding == fegetround() && traps == fegetexcept();
#if defined(__SSE2__)
    same &= csr == (_mm_getcsr() & ~inexact);
#endif
    fesetenv(&now);
    return same;
}

#endif
