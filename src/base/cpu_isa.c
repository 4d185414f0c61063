/** Determines which vector instruction set the CPU kernels use, and the size of the last cache. */
#include "base/cpu_isa.h"

#include <stdatomic.h>
#include <stdio.h>
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

/** Reads the size in bytes of the last-level cache. sysconf() is not used, because on some systems it returns
 *  the sum over all sockets. */
static int64_t read_cache_bytes(void)
{
    enum { UNKNOWN = 32 << 20 };
    for (int index = 3; index >= 2; index--) {
        char path[80], unit = 0;
        long long n = 0;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
        FILE *const f = fopen(path, "r");
        const int found = f ? fscanf(f, "%lld%c", &n, &unit) : 0;
        if (f) fclose(f);
        if (found == 2 && n > 0) return (int64_t)n << (unit == 'M' ? 20 : unit == 'K' ? 10 : 0);
    }
    return UNKNOWN;
}

int64_t sp_last_cache_bytes(void)
{
    static atomic_llong bytes;
    if (bytes == 0) bytes = read_cache_bytes();
    return bytes;
}
