/** The floating-point environment in which the library computes: rounding to nearest, subnormal numbers kept,
 *  no traps. So results do not depend on the caller's environment, and a caller that traps exceptions gets no
 *  trap from the library. GPUs always compute in this environment.
 *
 *  Each exported function begins with SP_DEFAULT_FP. So does each parallel region that computes with values,
 *  because an OpenMP thread has an environment of its own: its creator's, or one that the program set. */
#ifndef SP_FP_ENVIRONMENT_H
#define SP_FP_ENVIRONMENT_H

#if defined(__x86_64__)

#include <xmmintrin.h>

/* SSE, which computes with float and double, and the x87 unit, whose rounding mode glibc's strtod() and
 * printf() take. <fenv.h> would save more, which takes as long as a small product. */
typedef struct sp_fp {
    unsigned sse;
    unsigned short x87;
} sp_fp;

/* the defaults, and bits of flags */
enum { SP_FP_SSE = 0x1f80, SP_FP_SSE_FLAGS = 0x3f, SP_FP_SSE_INEXACT = 0x20, SP_FP_X87 = 0x37f };

static inline sp_fp sp_fp_begin(void)
{
    static const unsigned short x87 = SP_FP_X87;
    sp_fp own = {.sse = _mm_getcsr()};
    __asm__ volatile("fnstcw %0" : "=m"(own.x87));
    if ((own.sse & ~(unsigned)SP_FP_SSE_FLAGS) != SP_FP_SSE) _mm_setcsr(SP_FP_SSE);
    if (own.x87 != SP_FP_X87) __asm__ volatile("fldcw %0" : : "m"(x87));
    __asm__ volatile("" ::: "memory"); /* loads are not moved before this point */
    return own;
}

static inline void sp_fp_end(const sp_fp *own)
{
    __asm__ volatile("" ::: "memory"); /* stores are not moved after this point */
    if ((_mm_getcsr() ^ own->sse) & ~(unsigned)SP_FP_SSE_INEXACT) _mm_setcsr(own->sse);
    if (own->x87 != SP_FP_X87) __asm__ volatile("fldcw %0" : : "m"(own->x87));
}

#else

#include <fenv.h>

typedef fenv_t sp_fp;

static inline sp_fp sp_fp_begin(void)
{
    sp_fp own;
    fegetenv(&own);
    fesetenv(FE_DFL_ENV);
    return own;
}

static inline void sp_fp_end(const sp_fp *own) { fesetenv(own); }

#endif

/** Sets the default environment for the calling thread until the end of the block, which may be left by
 *  return. Then the thread regains its own environment and flags. Only the flag "inexact" may stay raised: if
 *  it were cleared, reading the flags after the next product would take 0.25 us on an AMD Zen 5. */
#define SP_DEFAULT_FP const sp_fp sp_fp_own __attribute__((cleanup(sp_fp_end), unused)) = sp_fp_begin()

#endif
