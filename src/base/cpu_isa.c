/** Determines which vector instruction set the CPU kernels use. */
#include "base/cpu_isa.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"generic", "avx2", "avx512"};

const char *sp_isa_name(sp_isa isa) { return names[isa]; }

sp_isa sp_machine_isa(void)
{
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return SP_ISA_GENERIC;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl")) return SP_ISA_AVX2;
    return SP_ISA_AVX512;
#else
    return SP_ISA_GENERIC;
#endif
}

sp_isa sp_cpu_isa(void)
{
    sp_isa isa = sp_machine_isa();
    const char *const cap = getenv("SPMM_ISA");
    for (int i = 0; cap && i < (int)isa; i++)
        if (strcmp(cap, names[i]) == 0) isa = (sp_isa)i;
    return isa;
}
